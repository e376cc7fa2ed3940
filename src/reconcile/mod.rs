//! The conductor: the only module that sees every edge.
//!
//! A *pass* looks at the source, compares it with what was applied, plans, publishes and records. It takes no
//! hints: poll, webhook, file event, restart and `apply` in CI are the same thing. The driver repeats it for ever.

mod attribution;
mod breaker;
mod candidates;
mod check;
mod checkpoints;
mod clash;
mod compare;
mod delays;
mod dispatch;
mod driver;
mod election;
mod emptied;
mod ended;
mod environment;
mod error;
mod evidence;
mod exposition;
mod freshness;
mod heartbeat;
mod history;
mod history_guard;
mod inherited;
mod lanes;
mod look;
mod matched;
mod memory;
mod metrics;
mod names;
mod order;
mod orders;
mod origin;
mod pass;
mod progress;
mod publish;
mod publish_outcome;
mod readiness;
mod record;
mod release;
mod report;
mod rules;
mod schedule;
mod scout;
mod sender;
mod source_age;
mod spent;
mod standing;
mod status;
mod status_json;
mod tries;
mod trigger;
mod uncommitted;
mod underway;
mod waiting;
mod walk;
mod withheld;
mod worktree;

pub use check::{Checked, Checks, Place, check};
pub use driver::Driver;
pub use error::{Error, Stale};
pub use exposition::MetricsFormat;
pub use heartbeat::Heartbeat;
pub use look::{Files, Look, Standing, plan, status};
pub use matched::check as check_scope;
pub use metrics::{Metrics, Writing};
pub use origin::{OriginState, SharedState};
pub use pass::{Around, Config, Reconciler};
pub use progress::{Progress, Quiet};
pub use publish::Limits;
pub use publish_outcome::PublishOutcome;
pub use readiness::Readiness;
pub use release::{AllowRequest, Rejection, Released, Where};
pub use report::{Report, Sending, StopReason};
pub use rules::{HistoryRule, Rules};
pub use status::{
    LastPass, PassResult, Role, SourceStatus, Status, Success, ToggleState, ToggleStatus, Waiting,
};
pub use status_json::{ScopedSuspensionJson, StatusJson, SuspensionJson};
pub use trigger::{Command, Control, ControlError, Trigger};
pub use withheld::{Withheld, WithheldGroup, WithheldReason};

#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod delays_tests;
#[cfg(test)]
mod dispatch_tests;
#[cfg(test)]
mod driver_tests;
#[cfg(test)]
mod lanes_tests;
