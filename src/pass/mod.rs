//! The use case: look at the source, compare, plan, publish, and record.

mod checkpoints;
mod config;
mod error;
mod origin;
pub(crate) mod planning;
mod progress;
pub(crate) mod publish;
mod reconciler;
mod record;
mod report;
mod scope;
mod spent;
mod validate;
mod worktree;

pub use config::{HistoryRule, Rules};
pub use error::{Error, Stale};
pub use origin::{OriginState, SharedState};
pub use planning::{Files, Planned, plan};
pub use progress::{Progress, Quiet};
pub use publish::{Limits, PublishOutcome};
pub(crate) use reconciler::now;
pub use reconciler::{Config, PassContext, Reconciler};
pub use report::{ChangeResult, Report, StopReason};
pub use scope::check_scope;
pub use validate::{Checked, Checks, Place, check};
