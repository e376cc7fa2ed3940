//! The input of a plan.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::decide::DecidedToggle;
use super::{LiveDifferences, Overrides, SourceInfo};
use crate::document::Diagnostic;
use crate::model::{CommitId, EnvironmentId, HeldRequest, Hold, RequestDigest, Suspensions, ToggleId};

/// Everything a plan depends on besides the policy.
#[derive(Clone, Debug)]
pub struct Input {
    /// The source of the documents.
    pub source: SourceInfo,
    /// The service's URL, if it is configured.
    pub base_url: Option<String>,
    /// The decisions on the toggles whose object differs from the applied one, on the unknown ones, and on the drifted ones
    /// that may be overwritten, one per toggle.
    pub decided: Vec<DecidedToggle>,
    /// The number of applied toggles per environment; absent or 0 makes the pass a first pass.
    pub applied_counts: BTreeMap<EnvironmentId, usize>,
    /// The environments whose first pass was asserted and has not ended, with the revision at which it was.
    pub asserted: BTreeMap<EnvironmentId, CommitId>,
    /// The environments that are held as a whole, with the reason.
    pub environment_holds: BTreeMap<EnvironmentId, Arc<Hold>>,
    /// The toggles that are not retried yet.
    pub parked: BTreeMap<ToggleId, HeldRequest>,
    /// The requests that the rails have let through and that no process has sent, as far as this folder knows.
    pub let_through: BTreeMap<ToggleId, RequestDigest>,
    /// What the service has of the toggles that may be overwritten.
    pub overwritten: LiveDifferences,
    /// The time for change windows, in seconds since 1970-01-01 UTC; none if they do not apply, as in a comparison of
    /// revisions.
    pub now: Option<i64>,
    /// The active suspensions.
    pub suspensions: Suspensions,
    /// What operators allowed for this revision.
    pub overrides: Overrides,
    /// The findings in the documents in scope.
    pub findings: Vec<Diagnostic>,
}
