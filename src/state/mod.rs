//! Records applied documents and open requests, and shares them between processes.
//!
//! # Guarantees
//!
//! The record is never ahead of the service. Wherever the process dies, a toggle whose request may have been stored is
//! applied or unknown afterwards. A request is recorded before it is sent, so that a full disk or a read-only folder stops
//! a pass before its first request. On shared state, only one process sends at a time, and no older revision follows a
//! newer one.
//!
//! # Parts
//!
//! `applied` is the record: a ref of a bare repository, whose tree has exactly the applied documents. A diff against it
//! is a Git diff, and its history is the deployment history. `journal` has each request before it is sent, and its
//! outcome. `shared` is the protocol of a ref on a remote. A [`Store`] owns the three and calls them. A
//! [`StateSnapshot`] reads them without writing. `sidecar` and `orders` keep small files: failures, the last clean
//! pass, suspensions, and allowances.
//!
//! # The order of a pass
//!
//! 1. [`Store::refresh`] waits until no other process publishes. It pushes the requests that this folder may have stored
//!    and that the ref does not list. A plan without them could leave their documents on the service.
//! 2. [`Store::start`] writes the documents as one synced pack, opens the journal, and pushes an announcement. The
//!    documents come first, because recording a confirmed request must not need the source.
//! 3. Lanes call [`Journal::granted`], then [`Journal::begin`]. It checks the clock after the sync of the intent, directly
//!    before the request, because a sync may take long.
//! 4. [`Store::checkpoint`] commits and pushes outcomes every few seconds. They stay in the journal until the shared ref
//!    has them, so that the next checkpoint can repeat a failed push.
//! 5. [`Store::record`] ends the pass with a record, and [`Store::finish_pass`] closes the journal.
//!
//! No rule compares a time that another machine wrote with a local clock. Every rule of the shared state is a pure
//! function in `shared::protocol`, so that a simulation can run thousands of histories.

mod applied;
mod error;
mod files;
mod journal;
mod lock;
mod orders;
pub(crate) mod place;
mod shared;
mod sidecar;
mod snapshot;
mod store;

pub use crate::git::FailpointHook;
pub use applied::{
    AppliedEdit, AppliedHistory, AppliedRevision, DeploymentQuery, DocumentPair, DocumentReader, PassHead,
    Revisions, Tip,
};
pub use error::Error;
#[cfg(test)]
pub use files::SimulatedClock;
pub use files::{Clock, Stop};
pub use journal::{Begun, Journal};
pub use lock::{Holder, this_process};
pub use orders::Orders;
pub use place::foreign;
#[cfg(test)]
pub(crate) use shared::head::SharedHead;
pub use shared::{MayRestore, RemoteFault, SharedOptions, SharedRemote};
pub use sidecar::{CleanPass, Failures};
pub use sidecar::{EqualVersion, LiveVersions, OtherVersion};
pub use snapshot::StateSnapshot;
pub use store::{Options, Store};

#[cfg(test)]
mod tests;
