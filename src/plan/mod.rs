#![doc = include_str!("README.md")]

mod change;
pub(crate) mod compare;
mod decide;
mod differences;
mod draft;
mod drift;
mod first_pass;
pub(crate) mod hold;
mod json;
mod live;
mod order;
mod overrides;
mod policy;
mod rails;
pub(crate) mod sentences;
#[cfg(test)]
pub(crate) mod tests;
mod value;
mod waits;
mod window;

pub(crate) use change::document_text;
pub use change::{
    Before, Change, Dependents, Orphan, OrphanReason, Overwrite, Replaced, ReplacedFile, StateEdit,
};
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
pub(crate) use first_pass::by_operator;
pub use hold::WithheldToggle;
pub(crate) use json::{PassCounts, if_few};
pub use json::{PlanJson, json, json_for, page_pieces};
pub(crate) use live::{CircleSearch, ListedType, needed_id, needed_types, other_type};
pub use live::{LiveDecision, Resolution, decide_by_versions, decide_live, resolve};
pub(crate) use order::Needs;
pub use order::Turn;
pub use overrides::Overrides;
pub use policy::{FirstPass, HistoryRule, OnApproval, OnDrift, OnInvalid, OnMissing, OnRemove, Policy};
pub use sentences::sentences;
pub(crate) use value::Mixed;
pub use value::{
    Approved, Base, FETCH_ALL, HISTORY_CUT, Lane, Plan, PlanCounts, SourceInfo, Stopped, guessed,
};
pub(crate) use waits::{ChangeFate, EnvironmentChanges};
pub use window::{Closed, Windows};
