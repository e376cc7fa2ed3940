//! What one pass would do, as a value: made of what the repository asks for, what is applied and the policy.
//!
//! A pure function: it reads no clock, disk or network, and it carries nothing out. Every candidate ends in exactly
//! one place (published, held, recorded, or an orphan; an orphan whose last outcome is unknown is also held), and
//! the plan of a world in which a plan was carried out is empty.

pub(crate) mod compare;
mod decide;
mod draft;
mod first_pass;
mod guesses;
mod held;
mod input;
mod nothing;
mod orphan;
mod overrides;
mod policy;
pub mod render;
mod sentences;
#[cfg(test)]
mod tests;
mod value;

pub use decide::{Decided, Deciding};
pub use draft::Draft;
pub use first_pass::{Dispute, TRAILER, Undecided};
pub use guesses::{FETCH_ALL, Guesses};
pub use held::{Held, HoldReason, Kept};
pub use input::{Applied, Candidate, Desired, History, Input, Parked, SourceInfo};
pub use orphan::{LastOutcome, Orphan, OrphanReason};
pub use overrides::Overrides;
pub use policy::{FirstPass, HistoryRule, Limit, MassChange, OnInvalid, OnRemove, Policy, Rail, Trailer};
pub use sentences::sentences;
pub use value::{Approved, Before, Change, Lane, Plan, Record, Resend, Stopped, Verdict};
