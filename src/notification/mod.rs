//! Sends notifications when a toggle fails, recovers, is held or is released.
//!
//! A pass that changed something sends one message, so that changes are grouped by commit. A toggle is in a message
//! once per change of state, across restarts. Nothing waits for a receiver: one that is unreachable costs a metric.
//!
//! Invariant: a receiver gets text of a repository or the service only as JSON, or in Slack's case in a code span.

mod change;
mod message;
mod worker;

pub use change::ChangeKind;
pub use worker::{Receiver, ReceiverFormat, spawn};
