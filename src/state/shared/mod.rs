//! State that several processes share through one ref of a Git repository (DESIGN, section 4, *Shared state*).
//!
//! [`protocol`] decides, [`remote`] moves the ref, [`head`] is what the ref says, and [`session`] carries the decisions
//! out. Invariant: a toggle that is not on the ref's list is on the service as the ref's tree has it.

pub(crate) mod head;
mod lease;
pub(crate) mod protocol;
mod remote;
pub(crate) mod session;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

pub(crate) use lease::Lease;
pub use remote::SharedRemote;
pub use session::Stop;
