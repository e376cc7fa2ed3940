//! Attributes changes to commits (src/source/README.md, "Which commit"). The walk through the history does
//! not parse documents, so this module compares the payloads of two versions for it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::document::{self, LARGEST_DOCUMENT};
use crate::model::{
    Attribution, CommitId, EnvironmentId, FIRST_PASS_TRAILER, HistoryEvidence, ObjectId, Payload,
    ServiceKind, ToggleId, Trees, Unlisted,
};
use crate::pass::Error;
use crate::pass::config::Rules;
use crate::plan::{Change, Draft, Plan, WantedDocument};
use crate::source::{self, Reader, Snapshot};

/// What the attribution of changes depends on besides the changes.
pub(crate) struct Attributions<'a> {
    pub(crate) snapshot: &'a Snapshot,
    /// Whether the documents are those of the snapshot, and not of a work tree.
    pub(crate) are_committed: bool,
    pub(crate) rules: &'a Rules,
    /// The number of toggles of undecided first passes whose commits are looked up.
    pub(crate) most_undecided: usize,
}

impl Attributions<'_> {
    /// Finds the commits of all changes and completes the draft with them, and with the changes that no
    /// review lists.
    pub(crate) fn complete(
        &self,
        draft: Draft,
        review: impl FnOnce(&[Change]) -> Result<Unlisted, Error>,
    ) -> Result<Plan, Error> {
        let Self { snapshot, are_committed, rules, most_undecided } = *self;
        let decided = |what, environment: &EnvironmentId, commits: &BTreeSet<CommitId>| {
            Ok(snapshot.decided_by_name(what, environment, commits)?)
        };
        let documents = documents(&draft, snapshot, rules, most_undecided)?;
        if documents.is_empty() {
            return draft.attribute(&BTreeMap::new(), &BTreeMap::new(), review, decided);
        }
        let reader = snapshot.reader()?;
        let wanted = WantedDocuments { documents, kind: rules.kind, reader };
        let mut attributions = wanted.attributions(snapshot, are_committed)?;
        let evidence = evidence(&draft, snapshot, &mut attributions)?;
        // Missing history never blocks content that is there (src/source/README.md, "Which commit").
        for path in wanted.documents.keys() {
            let attribution = attributions.entry((*path).to_owned());
            attribution.or_insert_with(|| Attribution::Guessed(Arc::new(snapshot.commit().clone())));
        }
        draft.attribute(&attributions, &evidence, review, decided)
    }
}

/// Returns the documents whose commits are needed.
fn documents<'a>(
    draft: &'a Draft,
    snapshot: &Snapshot,
    rules: &Rules,
    most_undecided: usize,
) -> Result<BTreeMap<&'a str, WantedDocument<'a>>, Error> {
    // An undecided first pass holds many toggles and shows few, and looking up the commits of all of them
    // would take longer than the rest of the plan.
    let (shown, left_out) = draft.documents(most_undecided);
    // The plan counts all guesses, and a trailer decides only if its commit is attributed to a document.
    let needs_all = || {
        Ok::<_, source::Error>(
            snapshot.may_guess()?
                || (rules.policy.allows_trailers && snapshot.has_trailer(FIRST_PASS_TRAILER)?),
        )
    };
    Ok(if left_out > 0 && needs_all()? { draft.documents(usize::MAX).0 } else { shown })
}

/// The documents whose commits are needed.
struct WantedDocuments<'a> {
    documents: BTreeMap<&'a str, WantedDocument<'a>>,
    kind: ServiceKind,
    reader: Reader,
}

impl WantedDocuments<'_> {
    fn attributions(
        &self,
        snapshot: &Snapshot,
        are_committed: bool,
    ) -> Result<BTreeMap<String, Attribution>, Error> {
        let (mut attributions, mut committed) = (BTreeMap::new(), BTreeSet::new());
        for path in self.documents.keys() {
            if are_committed || self.is_committed(path, snapshot)? {
                committed.insert((*path).to_owned());
            } else {
                attributions.insert((*path).to_owned(), Attribution::Uncommitted);
            }
        }
        attributions.extend(snapshot.last_commits(&committed, |path, version| self.is_same(path, version))?);
        Ok(attributions)
    }

    /// Returns whether the snapshot has the desired payload at `path`.
    fn is_committed(&self, path: &str, snapshot: &Snapshot) -> Result<bool, source::Error> {
        match snapshot.file_at(path)? {
            Some(version) => self.is_same(path, version),
            None => Ok(self.wanted(path).0.is_none()),
        }
    }

    /// Returns whether a version of the document at `path` has the desired payload.
    fn is_same(&self, path: &str, version: ObjectId) -> Result<bool, source::Error> {
        let (wanted, other) = self.wanted(path);
        let Some(wanted) = wanted else {
            // A document that is gone differs from every version of it (src/source/README.md, "Which
            // commit").
            return Ok(false);
        };
        // Usually the next older version, which the plan has read.
        if other == Some(version) {
            return Ok(false);
        }
        asks_for(&self.reader, path, version, wanted, self.kind)
    }

    fn wanted(&self, path: &str) -> WantedDocument<'_> {
        self.documents.get(path).copied().unwrap_or_default()
    }
}

/// Returns whether a version of the document at `path` has this payload.
pub(super) fn asks_for(
    reader: &Reader,
    path: &str,
    version: ObjectId,
    payload: &Payload,
    kind: ServiceKind,
) -> Result<bool, source::Error> {
    let blob = reader.blob(version, LARGEST_DOCUMENT)?;
    Ok(document::read(path, &blob, kind).payload.as_ref() == Some(payload))
}

/// Searches the history for the applied version of each orphan, and for the merge that removed its file.
fn evidence(
    draft: &Draft,
    snapshot: &Snapshot,
    attributions: &mut BTreeMap<String, Attribution>,
) -> Result<BTreeMap<ToggleId, HistoryEvidence>, Error> {
    let mut evidence = BTreeMap::new();
    for (id, path, object) in draft.orphans_to_disable() {
        let found = snapshot.evidence(&path, object)?;
        if found == HistoryEvidence::Found && !attributions.contains_key(&path) {
            // The walk for last commits misses a merge that removed the file.
            let removal = snapshot.removal(&path)?;
            attributions.extend(removal.map(|commit| (path, Attribution::Known(Arc::new(commit)))));
        }
        evidence.insert(id, found);
    }
    Ok(evidence)
}
