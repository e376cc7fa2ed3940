//! The conductor: the only module that sees every edge.
//!
//! A *pass* looks at the source, compares it with what was applied, plans, publishes and records. It takes no
//! hints: poll, webhook, file event, restart and `apply` in CI are the same thing. The driver repeats it for ever.

mod heartbeat;
mod metrics;
mod status;
mod trigger;

pub use heartbeat::Heartbeat;
pub use metrics::{Metrics, MetricsFormat, PublishOutcome, Writing};
pub use status::{LastPass, PassResult, Readiness, Role, SourceStatus, Status, ToggleState, ToggleStatus};
pub use trigger::{Command, Control, ControlError, Trigger};
