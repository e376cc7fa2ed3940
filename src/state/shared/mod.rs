//! Shares state between processes through one ref of a Git repository (DESIGN, section 4, *Shared state*).
//!
//! [`protocol`] decides, [`session`] carries the decisions out, [`remote`] moves the ref, and [`head`] is the content of its
//! commit. [`protocol::merge`] adds the journal of a folder to the ref's list. Invariant: unless a toggle is on that list,
//! the service has the document in the ref's tree.

pub(crate) mod head;
pub(crate) mod protocol;
mod remote;
pub(crate) mod session;
#[cfg(test)]
mod simulated_remote;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub use remote::RemoteFault;
pub use remote::SharedRemote;
pub(crate) use session::Lease;
pub use session::{MayRestore, SharedOptions};
