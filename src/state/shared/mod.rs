//! Shares state between processes through one ref of a Git repository (DESIGN, section 4, *Shared state*).
//!
//! [`protocol`] decides, [`session`] carries the decisions out, [`tracked_ref`] and [`remote`] move the ref, and [`head`]
//! is the content of its commit. [`merge`] adds the journal of a folder to the ref's list. Invariant: unless a toggle is on
//! that list, the service has the document in the ref's tree.

mod fault;
pub(crate) mod head;
mod lease;
mod lookup;
pub(crate) mod merge;
pub(crate) mod protocol;
mod remote;
pub(crate) mod seen;
pub(crate) mod session;
#[cfg(test)]
mod simulated_remote;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
mod tracked_ref;

pub use fault::RemoteFault;
pub(crate) use lease::Lease;
pub use remote::SharedRemote;
pub use session::{MayRestore, SharedOptions};
