//! What was applied, what was sent and is not recorded yet, and what several processes share of both.
//!
//! # What the module promises
//!
//! The record is never ahead of the service. Wherever the process dies, a toggle whose request may have been stored is
//! recorded as applied or is unknown, never forgotten. Nothing is sent that is not on record: a full disk or a read-only
//! folder stops a pass before its first request. On shared state, only one process sends at a time, and no older revision
//! follows a newer one.
//!
//! # The parts
//!
//! `applied` holds the record: a ref of a bare repository, whose tree contains exactly the applied documents. A diff
//! against it is a Git diff, and its history is the deployment history. `journal` holds each request before it is sent,
//! and its outcome afterwards. `shared` holds the protocol of a ref on a remote. A [`Store`] owns the three, one per
//! folder, and calls them; a [`View`] reads them and writes nothing. `sidecar` and `orders` hold small files: failures,
//! the last clean pass, suspensions, and allowances.
//!
//! # The order of a pass
//!
//! 1. [`Store::refresh`] waits until no other process publishes. Whatever this folder may have stored, and the ref does
//!    not know, is on the ref's list before the pass plans: a plan that does not know it could leave it on the service.
//! 2. [`Store::start`] writes the documents as one synced pack, opens the journal, and pushes an announcement. The
//!    documents come first, because a confirmed request must be recordable without the source.
//! 3. Lanes ask [`Journal::granted`], then [`Journal::begin`]. The clock is checked after the intent is synced, as the
//!    last thing before the request, because a sync may take long.
//! 4. [`Store::checkpoint`] commits outcomes every few seconds and pushes them. They leave the journal only once the
//!    shared ref has them: a push that fails is repeated with everything since.
//! 5. [`Store::record`] ends the pass with a record, and [`Store::finish_pass`] closes the journal.
//!
//! A time that another machine wrote is never compared with a local clock. Every rule of the shared state is a pure
//! function in `shared::protocol`, so that a simulation can run thousands of histories against it.

mod applied;
mod clock;
mod error;
mod files;
mod folder;
mod journal;
mod lock;
mod orders;
mod shared;
mod sidecar;
mod snapshot;
mod store;

pub use crate::git::FailpointHook;
pub use applied::{AppliedEdit, Revisions, Tip};
pub use clock::Clock;
#[cfg(test)]
pub use clock::SimulatedClock;
pub use error::Error;
pub use folder::foreign;
pub use journal::{Begun, Journal};
pub use lock::{Holder, this_process};
pub use orders::Orders;
#[cfg(test)]
pub(crate) use shared::head::SharedHead;
pub use shared::{SharedRemote, Stop};
pub use sidecar::{Alone, Failures, PassMemory, Refusal, Tried};
pub use snapshot::{Unknown, View};
pub use store::{Options, PassHead, SharedOptions, Store};

#[cfg(test)]
mod tests;
