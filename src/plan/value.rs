//! The plan as a value: what would be done and why, complete and immutable.

use std::collections::BTreeMap;
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::orphan::Orphan;
use super::{Held, HoldReason, Overrides, SourceInfo};
use crate::document::{Diagnostic, Severity};
use crate::model::{
    Action, Attribution, EnvironmentId, Payload, RequestDigest, ToggleId, Version, counted, hex,
};

/// Everything one pass would do. Sorted by toggle throughout.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) source: SourceInfo,
    pub(super) base_url: Option<String>,
    pub(super) changes: Vec<Change>,
    pub(super) held: Vec<Held>,
    pub(super) orphans: Vec<Orphan>,
    pub(super) records: Vec<Record>,
    pub(super) environment_holds: BTreeMap<EnvironmentId, String>,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) overrides: Overrides,
    pub(super) stopped: Option<Stopped>,
}

/// One publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// What is sent, and the document it comes from.
    pub version: Version,
    /// What it does.
    pub action: Action,
    /// What it replaces, as far as that is known.
    pub before: Before,
    /// The commit that it is attributed to.
    pub attribution: Attribution,
    /// The comment, already cut.
    pub comment: String,
    /// Whether it was sent before.
    pub resend: Resend,
}

impl std::ops::Deref for Change {
    type Target = Version;

    fn deref(&self) -> &Version {
        &self.version
    }
}

impl Change {
    /// Returns the digest of what is sent.
    #[must_use]
    pub fn request(&self) -> RequestDigest {
        RequestDigest::new(self.action, &self.payload)
    }
}

/// What a change replaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Before {
    /// This was applied.
    Applied(Payload),
    /// Nothing was applied.
    Nothing,
    /// This was sent last, and what came of it is not known.
    Unknown(Payload),
    /// Something was applied that can no longer be read.
    Unreadable,
}

impl Before {
    /// Returns what was last applied or sent, where it can be read.
    #[must_use]
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Applied(payload) | Self::Unknown(payload) => Some(payload),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// Whether a change was sent before.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Resend {
    /// For the first time.
    No,
    /// The body and comment of an unknown one, again.
    Same,
}

/// A change of the state without a publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Record {
    /// Record a document as applied, because `--first-pass adopt` says that it is.
    Adopt(Version),
    /// Drop the toggle.
    Forget {
        /// The toggle.
        id: ToggleId,
    },
    /// Record a document that means what is applied.
    SameMeaning(Version),
}

impl Record {
    /// Returns the toggle.
    #[must_use]
    pub fn id(&self) -> &ToggleId {
        match self {
            Self::Adopt(version) | Self::SameMeaning(version) => &version.id,
            Self::Forget { id } => id,
        }
    }
}

/// How many toggles a plan has of each kind that decides an exit code.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct Verdict {
    /// Publishes.
    pub changes: usize,
    /// Invalid documents.
    pub invalid: usize,
    /// Toggles and whole environments held until somebody decides.
    pub held: usize,
    /// Those of the held ones that wait for a decision about a first pass.
    pub first_pass: usize,
    /// Toggles refused by the service.
    pub failed: usize,
}

/// The changes of one environment, in the order in which they are sent.
#[derive(Clone, Debug)]
pub struct Lane<'a> {
    /// The environment.
    pub environment: EnvironmentId,
    /// Its changes: what becomes disabled first, then by path.
    pub changes: Vec<&'a Change>,
}

/// A plan that may be published. Only [`Plan::approve`] makes one, and publishing takes nothing else.
#[derive(Clone, Debug)]
pub struct Approved(Arc<Plan>);

impl std::ops::Deref for Approved {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

/// `--on-invalid stop`, and something is invalid.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("nothing is published because of `on_invalid: stop`: {} in scope", counted(*invalid, "invalid document"))]
pub struct Stopped {
    /// How many documents are invalid.
    pub invalid: usize,
}

impl Plan {
    /// The version of the JSON form.
    pub const VERSION: u32 = 1;

    /// Returns where the documents come from.
    #[must_use]
    pub fn source(&self) -> &SourceInfo {
        &self.source
    }

    /// Returns the service, where it is known.
    #[must_use]
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Returns what would be published, by toggle.
    #[must_use]
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns what is left alone, by toggle.
    #[must_use]
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// Returns the toggles whose file is gone and that stay as they are.
    #[must_use]
    pub fn orphans(&self) -> &[Orphan] {
        &self.orphans
    }

    /// Returns what changes in the state without a publish.
    #[must_use]
    pub fn records(&self) -> &[Record] {
        &self.records
    }

    /// Returns the environments that are held as a whole from outside, with the reason.
    #[must_use]
    pub fn environment_holds(&self) -> &BTreeMap<EnvironmentId, String> {
        &self.environment_holds
    }

    /// Returns what operators allowed for this revision.
    #[must_use]
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// Returns what was found in the documents.
    #[must_use]
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// Returns `sha256:` and the digest of what would be sent. Commits and comments are not in it, so it survives
    /// a merge.
    #[must_use]
    pub fn digest(&self) -> String {
        let mut hash = Sha256::new();
        for change in &self.changes {
            for part in [
                change.id.as_str(),
                change.action.as_str(),
                change.payload.as_json(),
            ] {
                hash.update(part);
                hash.update([0]);
            }
        }
        format!("sha256:{}", hex(&hash.finalize()))
    }

    /// Returns the changes per environment in the order in which they are sent.
    #[must_use]
    pub fn lanes(&self) -> Vec<Lane<'_>> {
        let mut lanes: Vec<Lane<'_>> = self
            .changes
            .chunk_by(|a, b| same_environment(&a.id, &b.id))
            .filter_map(|chunk| {
                Some(Lane {
                    environment: chunk.first()?.id.environment(),
                    changes: chunk.iter().collect(),
                })
            })
            .collect();
        for lane in &mut lanes {
            lane.changes.sort_by(|a, b| {
                (!a.payload.is_disabled(), &a.path).cmp(&(!b.payload.is_disabled(), &b.path))
            });
        }
        lanes
    }

    /// Returns the numbers that decide an exit code.
    #[must_use]
    pub fn verdict(&self) -> Verdict {
        let count =
            |test: fn(&HoldReason) -> bool| self.held.iter().filter(|held| test(&held.reason)).count();
        let errors = self
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error);
        let files: std::collections::BTreeSet<&str> = errors.map(|finding| finding.path.as_str()).collect();
        Verdict {
            changes: self.changes.len(),
            invalid: count(HoldReason::is_invalid).max(files.len()),
            held: count(HoldReason::is_stop).max(self.environment_holds.len()),
            first_pass: count(|reason| matches!(reason, HoldReason::FirstPass(_))),
            failed: count(|reason| matches!(reason, HoldReason::Refused(_))),
        }
    }

    /// Returns whether there is anything to publish.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty()
    }

    /// Returns whether a document is invalid.
    #[must_use]
    pub fn has_invalid(&self) -> bool {
        self.verdict().invalid > 0
    }

    /// Returns whether something waits for somebody to decide (exit code 4).
    #[must_use]
    pub fn has_held(&self) -> bool {
        self.verdict().held > 0
    }

    /// Returns whether something is held for another reason than a first pass about which nothing is decided.
    #[must_use]
    pub fn has_held_besides_first_passes(&self) -> bool {
        let verdict = self.verdict();
        verdict.held > verdict.first_pass
    }

    /// Returns whether there is nothing to publish, record or tell.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.held.is_empty()
            && self.orphans.is_empty()
            && self.records.is_empty()
            && self.environment_holds.is_empty()
            && self.findings.is_empty()
    }

    /// Returns why nothing of the plan may be published, if that is so.
    #[must_use]
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Returns the plan as one that may be published.
    ///
    /// # Errors
    /// [`Stopped`] if a document is invalid and `--on-invalid stop` is given.
    pub fn approve(self: &Arc<Self>) -> Result<Approved, Stopped> {
        match self.stopped {
            Some(stopped) => Err(stopped),
            None => Ok(Approved(Arc::clone(self))),
        }
    }
}

/// Compares without allocating.
pub(super) fn same_environment(a: &ToggleId, b: &ToggleId) -> bool {
    (a.project(), a.environment_key()) == (b.project(), b.environment_key())
}
