//! A pass: compare the source with what was applied, plan the difference, publish it, and record the outcomes.
//!
//! `apply` makes one pass, the daemon makes one after the other, and `plan`, `status` and `validate` make its first half.
//!
//! # What a pass promises
//!
//! * Nothing is published that is not part of a plan without objections: publishing takes an `Approved`, and only a plan
//!   creates one.
//! * No request leaves before the journal has it on disk, and none is forgotten. If the process dies at any point, each
//!   toggle is either recorded with what the service has, or listed as unknown and sent again.
//! * At most one request per toggle is open, and the open requests stay below the limits of the settings.
//! * What goes wrong with one toggle is a line in the report. An error means that there was no pass, or that it could not
//!   be finished; once a request has left, there is always a report, and the error is part of it.
//!
//! # The order of things
//!
//! 1. *State.* Shared state is fetched before the source is read. In the other order, another process could apply a newer
//!    revision in between, and this pass would go back behind it.
//! 2. *Source.* The ref is resolved once. Everything in the pass refers to that commit.
//! 3. *History guard.* Decides whether the step from the recorded revision to this one is followed (`planning::staleness`).
//! 4. *Precheck.* If the tree and the rules are those of a pass that left nothing to do, the pass ends here.
//! 5. *Plan.* Compare trees by object id, read only what differs, decide about each toggle while it is in memory, and look
//!    up commits only for what would be published.
//! 6. *Start.* All documents go into the state as one pack, and shared state announces the changes. From here on, other
//!    processes know what may have been sent.
//! 7. *Lanes.* One per environment; for each request: journal the intent, check the lease, send, journal the outcome
//!    (`publish`).
//! 8. *Checkpoints.* Every few seconds while the lanes send, and once at the end, one commit records what was confirmed.
//!
//! If the source vanishes or another process is faster before anything was sent, the pass starts over.
//!
//! # Threads
//!
//! A pass blocks the thread that calls it, because it reads and writes files and repositories. Only the lanes are
//! asynchronous: they run on a [`Runtime`] beside that thread, and share only the journal (with the lease) and the stop
//! signal with it. A checkpoint that hangs on a remote therefore delays neither the lanes nor their end. Time, the runtime
//! and the service are enums with a variant for tests, so that a test can run passes in virtual time.

mod applied_tree;
mod checkpoints;
mod config;
mod context;
mod document_files;
pub mod drift;
mod error;
mod file_trees;
mod history;
mod origin;
pub(crate) mod planning;
pub(crate) mod publish;
mod reconciler;
mod record;
mod report;
mod reviews;
mod runtime;
mod scope;
#[cfg(test)]
mod simulation;
mod stop_reason;
mod validate;

pub(crate) use applied_tree::applied_tree;
pub use config::{Config, Rules};
pub use context::{Event, Observe, PassContext, PublishAnswer};
pub use document_files::{DocumentFiles, ReadDocument, TestFile};
pub use error::{Error, Stale};
pub use history::{DeploymentHistory, DeploymentPart, DeploymentQuery, HistoryReader, name_subjects};
pub use origin::{OriginState, SharedState};
pub use planning::range::{
    BranchRange, FetchHints, FindingScope, Range, RangeError, TargetOrigin, plan_range,
};
pub use planning::{Files, Planned, plan};
pub use publish::Limits;
pub use reconciler::Reconciler;
pub use report::{ChangeResult, Report};
pub(crate) use reviews::ReviewSource;
pub use runtime::Runtime;
pub(crate) use runtime::cores;
pub use scope::check_scope;
pub use stop_reason::StopReason;
pub use validate::{CheckTarget, Checked, Checks, check};
