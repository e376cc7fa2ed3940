//! Runs passes in a loop: decides when a pass is due, runs it, and reports its result.
//!
//! # What the daemon promises
//!
//! * One pass at a time, by one process: the driver owns the [`Reconciler`](crate::pass::Reconciler), which holds the
//!   lock of the state. A second process on the same state is a follower until the first one ends.
//! * An error never ends the daemon. It retries a failed pass after a growing backoff, and immediately if the source
//!   moves or an operator orders it.
//! * The daemon always responds. During a pass, however long, the loop answers operators, looks up the source, and
//!   updates the heartbeat. After a newer commit, a suspension or a shutdown, the pass starts no further request.
//! * An operator's order is on disk before the daemon answers it, and takes effect with the next pass.
//!
//! # One turn of the loop
//!
//! [`Driver::run`] repeats these steps:
//!
//! 1. *Leader.* Without the reconciler, try to open the state; if another process holds the lock, wait and try again.
//! 2. *Wait* for the first of: stop, an order, a trigger, the schedule, a lookup of the source, a tick. A trigger carries
//!    no data. The pass compares states and needs no complete list of events, so it cannot miss a change.
//! 3. *Pass*, on a blocking thread. Only this step moves the reconciler to another thread, which returns it with the
//!    result.
//! 4. *Conclude.* Schedule the next pass, update the metrics, publish the [`Status`], and log the differences from the
//!    last pass. A message that stays true is logged once.
//! 5. *Orders* that had to wait for the end of the pass.
//!
//! # Where decisions are made
//!
//! `schedule` decides when a pass is due: a value that is given the time and reads no clock. `probe` looks up the ref
//! between passes; its result only starts a pass and is never applied. `loop_state` keeps the data that outlives a pass
//! and the reconciler. Readiness and metrics are functions of the status, so `/readyz`, the page and the notifications
//! always agree.

mod control;
mod drift;
mod driver;
mod loop_state;
mod metrics;
mod probe;
mod release;
mod schedule;
mod status;

pub use crate::model::{HoldKind, ToggleState};
pub use crate::pass::{DeploymentHistory, DeploymentPart};
pub use crate::plan::{DeploymentJson, DeploymentLog, HistoryJson, deployment_json, history_json};
pub use control::{Control, ControlError, DriverCommand, Trigger};
pub use driver::Driver;
pub use metrics::{Metrics, ScanResult};
pub use probe::{Heartbeat, watch_source};
pub use release::{AllowRequest, Rejection, Released};
pub(crate) use release::{is_first_pass_over, released_by};
#[cfg(test)]
pub(crate) use schedule::PassOutcome;
#[cfg(test)]
pub(crate) use schedule::{DriftScans, Schedule};
pub use status::{
    DocumentPaths, EnvironmentStatus, LastPass, LastPlan, Overview, PassResult, Readiness, Role,
    ScopedSuspensionJson, ServiceWait, SourceStatus, StateCounts, Status, StatusJson, StatusReport, Success,
    SuspensionJson, ToggleStatus, Withheld, WithheldGroup, status, status_live,
};
