//! Plans one pass: a pure function from repository, state and policy to a [`Plan`].
//!
//! A plan lists everything that a pass would do, complete enough that publishing has no decision left. `plan` prints
//! it, and `apply` and the daemon publish it. This module reads no clock, disk or network and publishes nothing.
//!
//! # Promises
//!
//! * Every candidate ends in exactly one list: published, withheld, recorded without a publish, or orphan. (An orphan
//!   whose last outcome is unknown has that in its explanation.)
//! * The same input yields the same plan, byte for byte: all lists are sorted by toggle.
//! * A plan that was carried out completely is empty when planned again.
//! * Nothing is published without [`Plan::approve`]: publishing accepts only an [`Approved`] plan.
//!
//! # Order of decisions
//!
//! 1. `compare` walks the two trees by object id and yields the toggles that differ. Equal folders are skipped, so an
//!    ordinary commit costs a few tree reads.
//! 2. [`DecisionContext::decide`] decides on each toggle alone: scope, validity, the meaning of the document, and
//!    `on_remove`. It runs while documents are read, so that the content of an unchanged document is dropped at once.
//! 3. [`Draft::new`] collects the decisions. The caller then looks up commits for the changes in the draft only, since
//!    history is the expensive part.
//! 4. [`Draft::attribute`] adds the commits and decides what depends on them or on several toggles, in this order:
//!    held environments, first passes, parked requests, orphans, rails, suspensions, `on_invalid: stop`.
//!
//! # Why this order
//!
//! * The most general reason wins: a held environment hides the first pass in it, and a first pass hides a parked
//!   request, because the operator has to resolve the general reason first.
//! * Rails come after commits because a trailer can exempt a commit's changes, and after first passes because an adopted
//!   document changes nothing on the service.
//! * Suspensions come after rails: a suspended change still counts, so resuming cannot publish more than a rail allows.
//! * A retry of a request with an unknown outcome skips the rails, which it passed before. It repeats the journaled body
//!   and comment, so the service cannot end up with a third version.
//! * `on_invalid: stop` comes last and withholds all remaining changes; the plan still shows them.

mod change;
pub(crate) mod compare;
mod decide;
mod differences;
mod draft;
mod drift;
pub(crate) mod hold;
mod json;
mod live;
mod policy;
pub(crate) mod sentences;
#[cfg(test)]
mod tests;
mod value;
mod window;

pub(crate) use change::document_text;
pub use change::{Before, Change, Orphan, OrphanReason, Overwrite, Replaced, ReplacedFile, StateEdit};
pub use decide::{AppliedVersion, Candidate, DecidedToggle, DecisionContext, Desired};
pub(crate) use differences::listed;
pub use differences::{
    DeployedContent, DeployedDiff, DeploymentJson, DeploymentLog, EnvironmentDiff, EnvironmentDiffJson,
    HistoryJson, ToggleDiff, deployment_json, history_json,
};
pub use draft::{Draft, Input, WantedDocument};
pub use drift::{
    DraftedToggle, DriftJson, DriftReport, DriftedToggle, Lack, LiveDifferences, MissingToggle, UnreadToggle,
    drift_json,
};
pub use hold::WithheldToggle;
pub use json::{PlanJson, json, json_for, page_pieces};
pub use live::{LiveDecision, Resolution, decide_by_versions, decide_live, resolve};
pub(crate) use policy::by_operator;
pub use policy::{
    FirstPass, HistoryRule, OnApproval, OnDrift, OnInvalid, OnMissing, OnRemove, Overrides, Policy,
};
pub use sentences::sentences;
pub use value::{
    Approved, Base, FETCH_ALL, HISTORY_CUT, Lane, Plan, PlanCounts, SourceInfo, Stopped, guessed,
};
pub use window::{Closed, Windows};
