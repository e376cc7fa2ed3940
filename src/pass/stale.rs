//! Lists the toggles that no longer decide anything (src/model/README.md, "Leftovers"). Contacts no service,
//! and writes nothing.

use std::time::Duration;

use super::Error;
use super::documents::DocumentFiles;
use super::planning::with_snapshot;
use crate::document::{self, CodeOwners, LARGEST_DOCUMENT, Layout, OWNER_FILES};
use crate::model::{
    Blob, LastChange, Leftover, Payload, Scope, ServiceKind, StaleReport, StaleToggle, ToggleId, Trees,
    WaivedToggle,
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
            let Candidate { id, path, leftover, .. } = candidate;
            match changed {
                Some(changed) if changed.age(self.now) >= self.older_than => {
                    let owners = owners.of(&path);
                    report.stale.push(StaleToggle { id, path, leftover, changed, owners });
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
        let mut files = 0;
        for id in documents.toggles() {
            files += 1;
            only.remove_matching(id.as_str());
            globs.remove_matching(id.as_str());
            if !self.scopes.iter().all(|scope| scope.contains(id)) {
                continue;
            }
            let Some(found) = documents.read(id)? else { continue };
            report.documents += 1;
            let Some(payload) = found.document.payload else {
                report.invalid.push(id.clone());
                continue;
            };
            let Some(leftover) = payload.targeting().leftover() else { continue };
            match document::kept(&found.content) {
                Some(reason) => report.waived.push(WaivedToggle { toggle: id.clone(), reason }),
                None => candidates.push(Candidate { id: id.clone(), path: found.path, payload, leftover }),
            }
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
