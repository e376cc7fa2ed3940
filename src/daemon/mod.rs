//! The loop around the pass: it decides when a pass is due, makes it, and reports what came of it.
//!
//! # What the daemon promises
//!
//! * One pass at a time, by one process: the driver owns the [`Reconciler`](crate::pass::Reconciler), which holds the lock
//!   of the state. A second process on the same state is a follower until the first one ends.
//! * It never ends because of an error. A failed pass is retried after a growing wait, and at once when the source moves or
//!   an operator asks.
//! * It can always be stopped and asked. While a pass is running, however long that takes, the loop still answers
//!   operators, looks up the source, and beats its heart. A newer commit, a suspension or a shutdown lets the pass start no
//!   further request.
//! * An operator's order is on disk before it is answered, and takes effect with the next pass.
//!
//! # The order of things
//!
//! One turn of [`Driver::run`]:
//!
//! 1. *Leader.* Without the reconciler, try to open the state; if another process holds the lock, wait and try again.
//! 2. *Wait* for the first of: stop, an order, a trigger, the schedule, a look-up of the source, a tick. All triggers are the
//!    same question ("look now"): the pass compares states and needs no event to be complete, so none can be lost.
//! 3. *Pass*, on one blocking thread. It is the only place where the reconciler changes threads, and it comes back with the
//!    result.
//! 4. *Conclude.* Schedule the next pass, count, publish the [`Status`], and log what has changed since the last pass; a
//!    message that stays true is logged once.
//! 5. *Orders* that had to wait for the end of the pass.
//!
//! # Where decisions are made
//!
//! `schedule` decides when a pass is due: a value that is given the time, without a clock of its own. `probe` looks up the
//! ref between passes; what it finds only starts a pass and is never applied. `loop_state` keeps what lasts from pass to
//! pass and outlives the reconciler. Readiness and metrics are functions of the status, so that `/readyz`, the page and the
//! notifications cannot disagree.

mod after_pass;
mod control;
mod decisions;
mod driver;
#[cfg(test)]
mod driver_tests;
mod freshness;
mod heartbeat;
mod leader;
mod loop_state;
mod metrics;
mod pass_outcome;
mod probe;
mod release;
mod schedule;
mod status;
mod underway;
mod waiting;
mod watch;

pub use crate::model::{ToggleState, WithheldReason};
pub use control::{Command, Control, ControlError, Trigger};
pub use driver::Driver;
pub use heartbeat::Heartbeat;
pub use metrics::{Metrics, Writing};
pub use release::{AllowRequest, Rejection, Released, Where};
pub use status::{
    LastPass, PassResult, Readiness, Role, ScopedSuspensionJson, SourceStatus, Standing, Status, StatusJson,
    Success, SuspensionJson, ToggleStatus, Waiting, Withheld, WithheldGroup, status,
};
pub use watch::watch_source;
