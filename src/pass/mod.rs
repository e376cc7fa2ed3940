//! The use case: look at the source, compare, plan, publish, and record.

mod checkpoints;
mod config;
mod context;
mod error;
mod origin;
pub(crate) mod planning;
pub(crate) mod publish;
mod reconciler;
mod record;
mod report;
mod runtime;
mod scope;
mod spent;
mod validate;
mod worktree;

pub use config::{Config, HistoryRule, Rules};
pub use context::{Event, Observe, PassContext};
pub use error::{Error, Stale};
pub use origin::{OriginState, SharedState};
pub use planning::{Files, Planned, plan};
pub use publish::{Limits, PublishOutcome};
pub use reconciler::Reconciler;
pub use report::{ChangeResult, Report, StopReason};
pub use runtime::Runtime;
pub use scope::check_scope;
pub use validate::{Checked, Checks, Place, check};
