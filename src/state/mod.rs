//! What was applied, and what was sent and not yet recorded.
//!
//! The record is a ref of a bare Git repository of our own, `refs/gitoggle/applied` in `state.git`: the tree of its
//! commit holds exactly the documents that were applied. Beside it lies the journal, which knows of every request
//! before it is sent. A [`Store`] writes both, one per folder; a [`View`] reads them and writes nothing.
//!
//! Refuses: a folder that somebody else writes to, the state of another service, and to let anything be sent that is
//! not on record.
//!
//! Invariant: the record is never ahead of the service. Wherever the process dies, a toggle whose request may have been
//! stored is recorded as applied or is unknown, never forgotten.

mod clock;
mod error;
mod files;
mod fold;
mod folder;
mod intent;
mod journal;
mod journal_file;
mod ledger;
mod link;
mod lock;
mod memory;
mod orders;
mod record;
mod revisions;
mod shared;
mod store;
mod tree;
mod view;
mod work;

pub use crate::git::FailpointHook;
pub use clock::Clock;
#[cfg(test)]
pub use clock::SimulatedClock;
pub use error::Error;
pub use folder::foreign;
pub use journal::{Begun, Journal};
pub use ledger::Finish;
pub use lock::{Holder, this_process};
pub use memory::{Alone, Failures, PassMemory, Refusal, Tried};
pub use orders::Orders;
pub use record::Tip;
pub use revisions::Revisions;
pub use shared::Shared;
pub use store::{Options, PassHead, Store};
pub use view::{Unknown, View};
pub use work::Record;

#[cfg(test)]
mod shared_tests;
#[cfg(test)]
mod tests;
