//! Reads the documents and expectations of a source outside a pass: of a folder, a file or a revision.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::Error;
use super::validate::{CheckTarget, LIMITS};
use crate::document::{
    self, Diagnostic, Document, LARGEST_DOCUMENT, Layout, PathKind, Severity, Unread, layout,
};
use crate::model::{Blob, EntryKind, FoldedId, ObjectId, ServiceKind, ToggleId, Trees};
use crate::plan::compare::join;
use crate::source::folder::Folder;
use crate::source::{self, Snapshot, Source};

/// The files of a work tree or of a revision, listed once and read on demand.
pub struct DocumentFiles {
    files: Box<dyn Trees<Error = source::Error>>,
    ids: BTreeSet<ToggleId>,
    /// The documents that claim each toggle.
    claims: HashMap<FoldedId, Vec<DocumentFile>>,
    tests: BTreeMap<ToggleId, TestFile>,
    /// The findings about files of expectations that belong to no toggle because of their paths.
    stray_tests: Vec<Diagnostic>,
    root: String,
    kind: ServiceKind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
struct DocumentFile {
    id: ToggleId,
    path: String,
    object: ObjectId,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TestFile {
    pub path: String,
    object: ObjectId,
}

#[derive(Clone, Debug)]
pub struct ReadDocument {
    pub path: String,
    pub content: Blob,
    pub document: Document,
}

impl DocumentFiles {
    /// Lists the files of `target` that match `layout`.
    pub fn open(target: &CheckTarget, layout: &Layout, kind: ServiceKind) -> Result<Self, Error> {
        let (files, root) = match target {
            CheckTarget::File(folder, path) => (Folder::of_file(folder, path, LIMITS)?, ""),
            CheckTarget::Folder(folder, root) => (Folder::open(folder, root, LIMITS)?, root.as_str()),
            CheckTarget::Revision(config) => {
                let snapshot = Source::new(config.as_ref().clone()).snapshot()?;
                return Self::at(&snapshot, &config.root, layout, kind);
            }
        };
        let top = files.root_tree();
        Self::list(Box::new(files), top, root, layout, kind)
    }

    /// Lists the files of `snapshot` below `root` that match `layout`.
    pub(super) fn at(
        snapshot: &Snapshot,
        root: &str,
        layout: &Layout,
        kind: ServiceKind,
    ) -> Result<Self, Error> {
        Self::list(Box::new(snapshot.reader()?), snapshot.root_tree(), root, layout, kind)
    }

    /// Walks the whole tree, because expectations in any other folder are findings.
    fn list(
        files: Box<dyn Trees<Error = source::Error>>,
        top: ObjectId,
        root: &str,
        layout: &Layout,
        kind: ServiceKind,
    ) -> Result<Self, Error> {
        let (ids, claims, tests) = (BTreeSet::new(), HashMap::new(), BTreeMap::new());
        let root = root.to_owned();
        let mut documents = Self { files, ids, claims, tests, stray_tests: Vec::new(), root, kind };
        let mut open = vec![(String::new(), top)];
        while let Some((folder, id)) = open.pop() {
            for entry in documents.files.tree(id)?.entries() {
                // A key is ASCII, so a name that is not UTF-8 belongs to no toggle.
                let Ok(name) = std::str::from_utf8(entry.name) else {
                    continue;
                };
                let path = join(&folder, name);
                match entry.kind() {
                    EntryKind::Tree if !name.starts_with(['.', '_']) => open.push((path, entry.id)),
                    EntryKind::Blob => documents.file(layout, path, entry.id),
                    _ => {}
                }
            }
        }
        Ok(documents)
    }

    fn file(&mut self, layout: &Layout, path: String, object: ObjectId) {
        match layout.classify(path.as_bytes()) {
            PathKind::Document { id, .. } => {
                self.ids.insert(id.clone());
                let claims = self.claims.entry(id.folded()).or_default();
                claims.push(DocumentFile { id, path, object });
            }
            PathKind::Test { id } => {
                let path = join(&self.root, &path);
                self.tests.insert(id, TestFile { path, object });
            }
            PathKind::Unread { why: Unread::Test, .. } => {
                self.stray_tests.push(stray_test(&join(&self.root, &path)));
            }
            PathKind::BadKey { .. } | PathKind::Elsewhere | PathKind::Unread { .. } | PathKind::Ignored => {}
        }
    }

    /// Returns the toggles with a document, sorted.
    pub fn toggles(&self) -> impl Iterator<Item = &ToggleId> {
        self.ids.iter()
    }

    pub fn tests(&self) -> &BTreeMap<ToggleId, TestFile> {
        &self.tests
    }

    /// Returns the findings about expectations that are not run, because of their paths. Those under the name of a
    /// document, such as `pay.test.yml`, are known by what is in the file.
    pub fn stray_tests(&self, is_wanted: impl Fn(&str) -> bool) -> Result<Vec<Diagnostic>, Error> {
        let mut stray: Vec<Diagnostic> =
            self.stray_tests.iter().filter(|found| is_wanted(&found.path)).cloned().collect();
        // The document of a toggle that is tested is read, and reported, in any case.
        let untested = self.claims.values().flatten().filter(|file| !self.tests.contains_key(&file.id));
        for DocumentFile { path, object, .. } in untested {
            let path = join(&self.root, path);
            if is_wanted(&path)
                && document::is_expectations(&path, &self.files.blob(*object, LARGEST_DOCUMENT)?)
            {
                stray.push(stray_test(&path));
            }
        }
        stray.sort_unstable();
        Ok(stray)
    }

    /// Returns the content of a file of expectations.
    pub fn test(&self, file: &TestFile) -> Result<Blob, Error> {
        Ok(self.files.blob(file.object, LARGEST_DOCUMENT)?)
    }

    /// Reads the document of a toggle; `None` if it has none. A toggle that several files claim is invalid.
    pub fn read(&self, id: &ToggleId) -> Result<Option<ReadDocument>, Error> {
        let claims = self.claims.get(&id.folded()).map(Vec::as_slice).unwrap_or_default();
        let Some(DocumentFile { path, object, .. }) = claims.iter().find(|file| file.id == *id) else {
            return Ok(None);
        };
        let content = self.files.blob(*object, LARGEST_DOCUMENT)?;
        let path = join(&self.root, path);
        let document = match claims.len() {
            1 => document::read(&path, &content, self.kind),
            _ => Document::invalid(self.duplicates(id, claims)),
        };
        Ok(Some(ReadDocument { path, content, document }))
    }

    fn duplicates(&self, id: &ToggleId, claims: &[DocumentFile]) -> Vec<Diagnostic> {
        let (own, folded): (Vec<_>, Vec<_>) = claims.iter().partition(|file| file.id == *id);
        let paths = |files: Vec<&DocumentFile>| -> Vec<String> {
            files.into_iter().map(|file| join(&self.root, &file.path)).collect()
        };
        layout::duplicate(id, &paths(own), &paths(folded))
    }
}

/// Returns the finding that expectations are not run, as an error: a run that leaves them out must not be green.
fn stray_test(path: &str) -> Diagnostic {
    let mut found = layout::not_read(path, Unread::Test, None);
    found.severity = Severity::Error;
    found
}
