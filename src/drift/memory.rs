//! What scans remember: the differences that they have found, and which versions they have found equal.

use std::collections::{BTreeMap, BTreeSet};

use super::applied::AppliedDocuments;
use super::reading::ExpectedLive;
use crate::model::{Action, EnvironmentId, Hold, HoldKind, ObjectId, ToggleId};
use crate::pass::Report;
use crate::plan::{DriftReport, DriftedToggle, MissingToggle, OnMissing, StateEdit, hold};
use crate::state::{LiveVersions, OtherVersion};

/// The findings of earlier scans. Only `versions` outlives the process.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    pub(super) versions: LiveVersions,
    /// The differences that scans have found and no scan or pass has ended.
    pub(super) known: BTreeMap<ToggleId, KnownDifference>,
    /// The differences that an earlier process found, of toggles that this one has not compared yet.
    pub(super) earlier: BTreeMap<ToggleId, OtherVersion>,
    /// The applied toggles that were archived when they were read last.
    pub(super) archived: BTreeSet<ToggleId>,
    /// The toggles that the next scan reads, whatever their versions are.
    pub(super) unread: BTreeSet<ToggleId>,
    /// The toggles that a scan of everything has compared before it was interrupted.
    pub(super) compared: BTreeSet<ToggleId>,
    /// Whether a scan has ended, other than by an outage.
    pub(super) has_compared: bool,
    /// The environments whose payload for SDKs could not be read last.
    pub(super) without_payload: BTreeSet<EnvironmentId>,
}

/// A difference between the service and what was applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum KnownDifference {
    Drifted(Box<DriftedToggle>),
    Missing(MissingToggle),
}

impl ScanMemory {
    pub(super) fn new(mut versions: LiveVersions) -> Self {
        Self { earlier: std::mem::take(&mut versions.differences), versions, ..Self::default() }
    }

    pub(super) fn differences(&self) -> DriftReport {
        let mut report = DriftReport::default();
        for difference in self.known.values() {
            match difference {
                KnownDifference::Drifted(drifted) => report.drifted.push((**drifted).clone()),
                KnownDifference::Missing(missing) => report.missing.push(missing.clone()),
            }
        }
        report
    }

    /// Returns why each toggle is reported as drifted, as far as scans have found out, also those of an earlier
    /// process.
    pub(super) fn facts(&self, on_missing: OnMissing) -> BTreeMap<ToggleId, Hold> {
        let earlier = self.earlier.iter();
        let earlier = earlier.map(|(id, other)| (id.clone(), other.fact.clone()));
        let mut facts: BTreeMap<_, _> = earlier.collect();
        let archived = self.archived.iter();
        facts.extend(archived.map(|id| (id.clone(), hold::archived(Action::Update))));
        // Last, because a difference has more to decide.
        facts.extend(self.differences().facts(on_missing));
        facts
    }

    /// Returns what is to be kept for the next process.
    pub(super) fn kept(&mut self, on_missing: OnMissing) -> &LiveVersions {
        let other = |(id, fact): (ToggleId, Hold)| {
            let object = self.known.get(&id).map(KnownDifference::object);
            let object = object.or_else(|| Some(self.earlier.get(&id)?.object));
            let object = object.or_else(|| Some(self.versions.toggles.get(&id)?.object))?;
            let since = match self.known.get(&id) {
                Some(KnownDifference::Drifted(drifted)) => drifted.since,
                Some(KnownDifference::Missing(_)) => None,
                None => self.earlier.get(&id).and_then(|other| other.since),
            };
            Some((id, OtherVersion { object, since, fact }))
        };
        self.versions.differences = self.facts(on_missing).into_iter().filter_map(other).collect();
        &self.versions
    }

    /// Ends the differences of toggles that a pass has applied or recorded.
    pub(super) fn settle(&mut self, report: &Report) {
        for (change, _) in report.lines().filter(|(_, result)| result.is_recorded()) {
            self.known.remove(&change.id);
            self.archived.remove(&change.id);
            self.earlier.remove(&change.id);
        }
        self.versions.settle(&report.live);
        for edit in report.plan.state_edits() {
            match (edit, self.earlier.get_mut(edit.id())) {
                (StateEdit::SameMeaning(version), Some(other)) => other.object = version.object,
                _ => {
                    self.earlier.remove(edit.id());
                }
            }
            match (edit, self.known.get_mut(edit.id())) {
                // What it means has not changed, so it still differs.
                (StateEdit::SameMeaning(version), Some(KnownDifference::Drifted(drifted))) => {
                    drifted.applied = version.clone();
                }
                (StateEdit::SameMeaning(version), Some(KnownDifference::Missing(missing))) => {
                    missing.applied = Some(version.object);
                }
                (StateEdit::SameMeaning(_), None) => {}
                _ => {
                    self.known.remove(edit.id());
                }
            }
        }
    }

    /// Forgets that a toggle was archived: the service lists it.
    pub(super) fn is_listed(&mut self, id: &ToggleId) {
        self.archived.remove(id);
        if self.earlier.get(id).is_some_and(|other| other.fact.kind == Some(HoldKind::Archived)) {
            self.earlier.remove(id);
        }
    }

    /// Forgets what was found out about documents that are not applied anymore. A scan that keeps the version
    /// of the payload for SDKs compares only the toggles in scope with that payload, so `others` are
    /// forgotten, too.
    pub(super) fn forget(&mut self, applied: &AppliedDocuments<'_>, others: bool) {
        let is_left_out = |id: &ToggleId| !others && !applied.is_wanted(id);
        let is_applied = |id: &ToggleId, object| is_left_out(id) || applied.object(id) == Some(object);
        self.versions.toggles.retain(|id, equal| is_applied(id, equal.object));
        self.archived.retain(|id| is_left_out(id) || applied.contains(id));
        self.known.retain(|id, known| is_applied(id, known.object()));
        self.earlier.retain(|id, other| is_applied(id, other.object));
        self.unread.retain(|id| is_left_out(id) || applied.contains(id));
    }

    /// Returns what is known of the toggle whose applied document is `object`.
    pub(super) fn expected(&self, id: &ToggleId, object: ObjectId) -> ExpectedLive {
        if self.unread.contains(id) {
            return ExpectedLive::Unknown;
        }
        match (self.known.get(id), self.versions.toggles.get(id)) {
            (Some(KnownDifference::Drifted(drifted)), _) => ExpectedLive::Version(drifted.live.version),
            (Some(KnownDifference::Missing(_)), _) => ExpectedLive::Lacking,
            (None, Some(equal)) if equal.object == object => ExpectedLive::Version(equal.version),
            (None, _) => ExpectedLive::Unknown,
        }
    }
}

impl KnownDifference {
    /// Returns the blob of the applied document.
    fn object(&self) -> ObjectId {
        match self {
            Self::Drifted(drifted) => drifted.applied.object,
            Self::Missing(missing) => missing.applied.unwrap_or(ObjectId([0; 20])),
        }
    }
}
