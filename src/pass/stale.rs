//! Lists the toggles that no longer decide anything (src/model/README.md, "Leftovers"). Contacts no service,
//! and writes nothing.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::Error;
use super::dependents::DependencyIndex;
use super::documents::{DocumentFiles, ReadDocument};
use super::planning::with_snapshot;
use crate::document::{self, CodeOwners, LARGEST_DOCUMENT, Layout, OWNER_FILES};
use crate::model::{
    Blob, EnvironmentId, LastChange, Leftover, Payload, Scope, ServiceKind, StaleReport, StaleToggle,
    ToggleId, Trees, WaivedToggle,
};
use crate::source::{Snapshot, SourceConfig};

/// The settings of a search.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StaleQuery<'a> {
    pub(crate) layout: &'a Layout,
    pub(crate) kind: ServiceKind,
    /// The toggles to look at: those in both scopes.
    pub(crate) scopes: [&'a Scope; 2],
    pub(crate) older_than: Duration,
    /// In seconds since 1970-01-01 UTC.
    pub(crate) now: i64,
}

/// A toggle that decides nothing, before its age is known.
struct Candidate {
    id: ToggleId,
    path: String,
    payload: Payload,
    leftover: Leftover,
    needed_by: Vec<String>,
}

/// Returns the toggles of `source` that have decided nothing for a while.
pub(crate) fn stale(source: &SourceConfig, query: StaleQuery<'_>) -> Result<StaleReport, Error> {
    with_snapshot(source, |snapshot| query.report(snapshot, &source.root))
}

impl StaleQuery<'_> {
    fn report(&self, snapshot: &Snapshot, root: &str) -> Result<StaleReport, Error> {
        let mut report = StaleReport {
            reference: snapshot.reference().to_owned(),
            revision: snapshot.revision(),
            now: self.now,
            older_than: self.older_than,
            documents: 0,
            stale: Vec::new(),
            waived: Vec::new(),
            recent: Vec::new(),
            unclear: Vec::new(),
            invalid: Vec::new(),
        };
        let candidates = self.candidates(snapshot, root, &mut report)?;
        let paths: Vec<&str> = candidates.iter().map(|candidate| candidate.path.as_str()).collect();
        let reader = snapshot.reader()?;
        let changes = snapshot.last_changes(&paths, |number, version| {
            let Candidate { path, payload, .. } = &candidates[number];
            let read = document::read(path, &reader.blob(version, LARGEST_DOCUMENT)?, self.kind);
            Ok(read.payload.as_ref() == Some(payload))
        })?;
        let owners = code_owners(snapshot)?;
        for (candidate, changed) in candidates.into_iter().zip(changes) {
            let Candidate { id, path, leftover, needed_by, .. } = candidate;
            // A rule whose time has passed decides nothing since then, whenever its document was changed.
            let passed = leftover.rule.as_ref().map(|rule| LastChange { at: rule.since, commit: None });
            let is_old =
                |changed: &LastChange| passed.as_ref().unwrap_or(changed).age(self.now) >= self.older_than;
            match changed {
                Some(changed) if is_old(&changed) => {
                    let owners = owners.of(&path);
                    report.stale.push(StaleToggle { id, path, leftover, needed_by, changed, owners });
                }
                Some(LastChange { commit: Some(_), .. }) => report.recent.push(id),
                _ => report.unclear.push(id),
            }
        }
        Ok(report)
    }

    /// Returns the toggles that decide nothing, and counts the others.
    fn candidates(
        &self,
        snapshot: &Snapshot,
        root: &str,
        report: &mut StaleReport,
    ) -> Result<Vec<Candidate>, Error> {
        let documents = DocumentFiles::at(snapshot, root, self.layout, self.kind)?;
        let [mut only, mut globs] = self.scopes.map(Scope::unmatched);
        let mut candidates = Vec::new();
        let mut index: BTreeMap<EnvironmentId, DependencyIndex> = BTreeMap::new();
        let (mut files, mut outside) = (0, Vec::new());
        for id in documents.toggles() {
            files += 1;
            only.remove_matching(id.as_str());
            globs.remove_matching(id.as_str());
            if !self.scopes.iter().all(|scope| scope.contains(id)) {
                outside.push(id);
                continue;
            }
            let Some(found) = documents.read(id)? else { continue };
            report.documents += 1;
            let Some(payload) = &found.document.payload else {
                report.invalid.push(id.clone());
                continue;
            };
            add_dependencies(&mut index, id, payload);
            candidates.extend(self.candidate(id, found, report));
        }
        // A toggle outside of the scope may need one that is in it.
        let concerned: BTreeSet<EnvironmentId> = candidates.iter().map(|one| one.id.environment()).collect();
        for id in outside.into_iter().filter(|id| concerned.contains(&id.environment())) {
            if let Some(payload) = documents.read(id)?.and_then(|found| found.document.payload) {
                add_dependencies(&mut index, id, &payload);
            }
        }
        for candidate in &mut candidates {
            let of_environment = index.get(&candidate.id.environment());
            let needed_by = of_environment.map(|index| index.of(candidate.id.toggle()).direct);
            candidate.needed_by = needed_by.unwrap_or_default();
        }
        if files == 0 {
            let root = if root.is_empty() { "." } else { root }.to_owned();
            let revision = snapshot.revision();
            return Err(Error::NoDocuments { revision, root, files, findings: Vec::new() });
        }
        super::check_scope(self.scopes[0], &only.globs())?;
        match globs.globs() {
            unmatched if unmatched.is_empty() => Ok(candidates),
            unmatched => Err(Error::NoToggleMatches(unmatched)),
        }
    }

    /// Returns a toggle that decides nothing, unless its document says that it is kept, which the report lists.
    fn candidate(&self, id: &ToggleId, found: ReadDocument, report: &mut StaleReport) -> Option<Candidate> {
        let payload = found.document.payload?;
        let targeting = payload.targeting();
        let leftover = targeting.leftover().or_else(|| targeting.passed(self.now))?;
        if let Some(reason) = document::kept(&found.content) {
            report.waived.push(WaivedToggle { toggle: id.clone(), reason });
            return None;
        }
        Some(Candidate { id: id.clone(), path: found.path, payload, leftover, needed_by: Vec::new() })
    }
}

/// Adds what a toggle needs to the index of its environment.
fn add_dependencies(index: &mut BTreeMap<EnvironmentId, DependencyIndex>, id: &ToggleId, payload: &Payload) {
    for prerequisite in payload.prerequisites() {
        index.entry(id.environment()).or_default().add(id.toggle(), &prerequisite.key);
    }
}

/// Reads the first `CODEOWNERS` file.
fn code_owners(snapshot: &Snapshot) -> Result<CodeOwners, Error> {
    for path in OWNER_FILES {
        let Some(id) = snapshot.top_file(path)? else { continue };
        if let Blob::Content(content) = snapshot.reader()?.blob(id, LARGEST_DOCUMENT)? {
            return Ok(CodeOwners::parse(path, &String::from_utf8_lossy(&content)));
        }
    }
    Ok(CodeOwners::default())
}
