//! What scans have found out, for the next ones, and the applied documents that they compare with the service.

use std::collections::{BTreeMap, BTreeSet};

use crate::document::{self, LARGEST_DOCUMENT};
use crate::drift::reading::ExpectedLive;
use crate::git::ObjectReader;
use crate::model::{Action, EnvironmentId, Format, Hold, ObjectId, Scope, ToggleId, Trees as _, Version};
use crate::pass::{Error, Report, Rules, applied_tree};
use crate::plan::compare::join;
use crate::plan::{DriftReport, DriftedToggle, MissingToggle, OnMissing, StateEdit};
use crate::state::{LiveVersions, OtherVersion, StateSnapshot};

/// The findings of earlier scans. Only `versions` outlives the process.
#[derive(Debug, Default)]
pub(super) struct ScanMemory {
    pub(super) versions: LiveVersions,
    /// The differences that scans have found and no scan or pass has ended.
    pub(super) known: BTreeMap<ToggleId, KnownDifference>,
    /// The differences that an earlier process found, of toggles that this one has not compared yet.
    pub(super) earlier: BTreeMap<ToggleId, OtherVersion>,
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

    /// Returns why each toggle counts as drifted, as far as scans have found out, also those of an earlier process.
    pub(super) fn facts(&self, on_missing: OnMissing) -> BTreeMap<ToggleId, Hold> {
        let earlier = self.earlier.iter();
        let earlier = earlier.map(|(id, other)| (id.clone(), other.fact.clone()));
        let mut facts: BTreeMap<_, _> = earlier.collect();
        facts.extend(self.differences().facts(on_missing));
        facts
    }

    /// Returns what is to be kept for the next process.
    pub(super) fn kept(&mut self, on_missing: OnMissing) -> &LiveVersions {
        let other = |(id, fact): (ToggleId, Hold)| {
            let object = self.known.get(&id).map(KnownDifference::object);
            let object = object.or_else(|| Some(self.earlier.get(&id)?.object))?;
            Some((id, OtherVersion { object, fact }))
        };
        self.versions.differences = self.facts(on_missing).into_iter().filter_map(other).collect();
        &self.versions
    }

    /// Ends the differences of toggles that a pass has applied or recorded.
    pub(super) fn settle(&mut self, report: &Report) {
        for (change, _) in report.lines().filter(|(_, result)| result.is_recorded()) {
            self.known.remove(&change.id);
            self.earlier.remove(&change.id);
        }
        self.versions.settle(&report.live);
        for edit in report.plan.state_edits() {
            match (edit, self.earlier.get_mut(edit.id())) {
                (StateEdit::SameMeaning(version), Some(other)) => other.object = version.object,
                _ => drop(self.earlier.remove(edit.id())),
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
                _ => drop(self.known.remove(edit.id())),
            }
        }
    }

    /// Forgets what was found out about documents that are not applied anymore. A scan that keeps the version of the payload
    /// for SDKs compares only the toggles in scope with that payload, so `others` are forgotten, too.
    pub(super) fn forget(&mut self, applied: &AppliedDocuments<'_>, others: bool) {
        let is_left_out = |id: &ToggleId| !others && !applied.is_wanted(id);
        let is_applied = |id: &ToggleId, object| is_left_out(id) || applied.object(id) == Some(object);
        self.versions.toggles.retain(|id, equal| is_applied(id, equal.object));
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

#[derive(Debug)]
pub(super) struct AppliedDocuments<'a> {
    view: &'a StateSnapshot,
    pub(super) rules: &'a Rules,
    reader: Option<ObjectReader>,
    globs: Option<&'a Scope>,
    documents: BTreeMap<ToggleId, (ObjectId, Format)>,
    /// The toggles whose last outcome is unknown.
    pub(super) unknown: BTreeSet<ToggleId>,
}

impl<'a> AppliedDocuments<'a> {
    /// Lists the applied documents of the toggles that match `--only` and `globs`.
    pub(super) fn of(
        view: &'a StateSnapshot,
        rules: &'a Rules,
        globs: Option<&'a Scope>,
    ) -> Result<Self, Error> {
        let is_wanted = |id: &ToggleId| is_wanted(id, rules, globs);
        let reader = view.reader()?;
        let mut documents = applied_tree(view, reader.as_ref())?;
        for (id, sent) in view.settled() {
            match sent.action {
                Action::Disable => documents.remove(id),
                Action::Adopt | Action::Create | Action::Update => {
                    documents.insert(id.clone(), (sent.object, sent.format))
                }
            };
        }
        // The tree cannot be trusted before the outcome of the request is known (DESIGN, section 4, *Unknown*).
        documents.retain(|id, _| !view.unknown().contains_key(id) && is_wanted(id));
        let unknown = view.unknown().keys().filter(|id| is_wanted(id));
        Ok(Self { view, rules, reader, globs, documents, unknown: unknown.cloned().collect() })
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&ToggleId, ObjectId)> {
        self.documents.iter().map(|(id, (object, _))| (id, *object))
    }

    /// Returns whether a toggle matches `--only` and the globs.
    pub(super) fn is_wanted(&self, id: &ToggleId) -> bool {
        is_wanted(id, self.rules, self.globs)
    }

    pub(super) fn len(&self) -> usize {
        self.documents.len() + self.unknown.len()
    }

    pub(super) fn object(&self, id: &ToggleId) -> Option<ObjectId> {
        self.documents.get(id).map(|(object, _)| *object)
    }

    pub(super) fn contains(&self, id: &ToggleId) -> bool {
        self.documents.contains_key(id) || self.unknown.contains(id)
    }

    /// Reads the applied document of a toggle; none if there is none, or if the current rules cannot read it.
    pub(super) fn version(&self, id: &ToggleId) -> Result<Option<Version>, Error> {
        let Some((object, format)) = self.documents.get(id).copied() else {
            return Ok(None);
        };
        let path = self.rules.layout.path(id, format);
        let version =
            |payload| Version { id: id.clone(), path: path.as_str().into(), format, object, payload };
        if let Some(sent) = self.view.settled().get(id) {
            return Ok(Some(version(sent.payload.for_kind(self.rules.kind))));
        }
        let Some(reader) = &self.reader else {
            return Ok(None);
        };
        let blob = reader.blob(object, LARGEST_DOCUMENT)?;
        let name = join(&self.rules.root, &path);
        let read = document::read(&name, &blob, self.rules.kind);
        Ok(read.payload.map(version))
    }
}

fn is_wanted(id: &ToggleId, rules: &Rules, globs: Option<&Scope>) -> bool {
    rules.policy.scope.contains(id) && globs.is_none_or(|globs| globs.contains(id))
}
