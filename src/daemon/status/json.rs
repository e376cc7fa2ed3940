//! Serializes a status for `/api/status` and `gitoggle status -o json` (DESIGN, section 9).

use serde::{Serialize, Serializer};

use super::readiness::Readiness;
use super::withheld::Withheld;
use super::{LastPass, SourceStatus, Status, ToggleStatus};
use crate::model::{CommitId, HoldKind, Suspension, SuspensionScope, ToggleId, ToggleState, rfc3339};

/// A status without its toggles, in serializable form. Times are in RFC 3339 form.
#[derive(Debug, Serialize)]
pub struct StatusJson<'a> {
    ready: bool,
    reason: Option<&'a str>,
    remarks: Vec<String>,
    service: Option<&'a str>,
    source: &'a SourceStatus,
    last_pass: Option<&'a LastPass>,
    last_success: Option<String>,
    /// Absent where nothing schedules passes.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_pass: Option<String>,
    suspended: Option<SuspensionJson<'a>>,
    suspensions: Vec<ScopedSuspensionJson<'a>>,
    groups: &'a Withheld,
}

impl<'a> StatusJson<'a> {
    /// Combines a status with its readiness.
    pub(crate) fn new(status: &'a Status, readiness: &'a Readiness) -> Self {
        // Destructured, so that no new field can be forgotten.
        let Status {
            service,
            source,
            last_pass,
            last_success,
            role: _,
            suspensions,
            waiting: _,
            // One of the remarks.
            doubt: _,
            // One of the remarks.
            drift_failure: _,
            // One of the remarks.
            awaits_scan: _,
            next_pass,
            // Each output lists them in its own way.
            toggles: _,
            withheld,
            // Only in `/api/status`, `/api/plan` and `/api/drift`.
            overview: _,
            plan: _,
            drifted: _,
        } = status;
        Self {
            ready: *readiness == Readiness::Ready,
            reason: readiness.reason(),
            remarks: status.remarks(),
            service: service.as_deref(),
            source,
            last_pass: last_pass.as_ref(),
            last_success: last_success.map(|success| rfc3339(success.at)),
            next_pass: next_pass.map(rfc3339),
            suspended: suspensions.everything().map(SuspensionJson::from),
            suspensions: suspensions.iter().map(ScopedSuspensionJson::from).collect(),
            groups: withheld,
        }
    }
}

/// A suspension in serializable form.
#[derive(Debug, Serialize)]
pub struct SuspensionJson<'a> {
    reason: Option<&'a str>,
    until: Option<String>,
}

impl<'a> From<&'a Suspension> for SuspensionJson<'a> {
    fn from(suspension: &'a Suspension) -> Self {
        let Suspension { reason, until } = suspension;
        Self {
            reason: reason.as_deref(),
            until: until.map(rfc3339),
        }
    }
}

/// A suspension with its scope, which is `null` for everything, in serializable form.
#[derive(Debug, Serialize)]
pub struct ScopedSuspensionJson<'a> {
    scope: &'a SuspensionScope,
    #[serde(flatten)]
    suspension: SuspensionJson<'a>,
}

impl<'a> From<(&'a SuspensionScope, &'a Suspension)> for ScopedSuspensionJson<'a> {
    fn from((scope, suspension): (&'a SuspensionScope, &'a Suspension)) -> Self {
        Self {
            scope,
            suspension: suspension.into(),
        }
    }
}

/// A toggle in serializable form.
#[derive(Serialize)]
struct ToggleJson<'a> {
    toggle: &'a ToggleId,
    state: ToggleState,
    reason: Option<&'a str>,
    kind: Option<HoldKind>,
    revision: Option<CommitId>,
    applied_at: Option<String>,
}

impl Serialize for ToggleStatus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let toggle = ToggleJson {
            toggle: &self.toggle,
            state: self.state(),
            reason: self.reason(),
            kind: self.kind(),
            revision: self.revision,
            applied_at: self.applied_at.map(rfc3339),
        };
        toggle.serialize(serializer)
    }
}
