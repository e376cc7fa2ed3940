//! Notices: telling people when a toggle fails, recovers, is held or is released.
//!
//! One message per pass in which something changed, so grouped by the commit that was looked at; each toggle once
//! per change of state, never again while nothing changes, a restart included. Nothing waits for a receiver: one
//! that cannot be reached costs a metric.
//!
//! Invariant: a receiver gets text of a repository or the service only as JSON, or in Slack's case in a code span.

mod change;
mod message;
mod receiver;
mod signature;
mod worker;

pub use change::{Change, ChangeKind, Notice, Told};
pub use receiver::{Receiver, ReceiverFormat};
pub use worker::Notifier;

pub(crate) use signature::{SignatureCheck, SigningKey, hmac_sha256};
