//! Checks documents for `validate`, with the comparison and the reading of a pass and an empty applied state, and
//! reads the files of a source outside a pass.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest, Sha256};

use super::Error;
use super::planning::with_snapshot;
use crate::document::{self, Diagnostic, Document, LARGEST_DOCUMENT, Layout, MOST_FILES, PathKind, layout};
use crate::git::ObjectReader;
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{
    Blob, EntryKind, FoldedId, Format, ObjectId, Scope, ServiceKind, ToggleId, Tree, TreeEntry, Trees,
};
use crate::pass::read::{ReadContext, read};
use crate::plan::compare::{AppliedTree, Comparison, Difference, Places, Roots, compare, is_within, join};
use crate::plan::{Candidate, OnRemove};
use crate::source::worktree::WorkTree;
use crate::source::{self, Snapshot, Source, SourceConfig, worktree};

#[derive(Clone, Debug)]
pub enum CheckTarget {
    File(PathBuf, String),
    /// The files of this folder below this root, committed or not.
    Folder(PathBuf, String),
    Revision(Box<SourceConfig>),
}

#[derive(Debug, Default)]
pub struct Checked {
    pub documents: Vec<String>,
    pub findings: Vec<Diagnostic>,
    /// The findings that a comment in the document accepts.
    pub waived: Vec<Diagnostic>,
    /// The globs of the scope that match no toggle.
    pub unmatched: BTreeSet<String>,
}

#[derive(Clone, Copy, Debug)]
pub struct Checks<'a> {
    /// The layout below the root.
    pub layout: &'a Layout,
    /// The kind of service, which decides on the checks.
    pub kind: ServiceKind,
    pub scope: &'a Scope,
    /// The paths to check, as findings show them; empty means all.
    pub within: &'a [String],
}

/// Checks every document in scope. A pass with the same settings accepts every document that passes this check.
pub fn check(target: &CheckTarget, checks: Checks<'_>) -> Result<Checked, Error> {
    let run = |root: &str| Run { checks, root: root.to_owned() };
    match target {
        CheckTarget::File(folder, path) => {
            let files = Folder::of_file(folder, path)?;
            run("").check(files.root_tree(), || Ok(files.clone()))
        }
        CheckTarget::Folder(folder, root) => {
            let files = Folder::open(folder, root)?;
            run(root).check(files.root_tree(), || Ok(files.clone()))
        }
        CheckTarget::Revision(config) => {
            with_snapshot(config, |snapshot| check_snapshot(snapshot, &config.root, checks))
        }
    }
}

/// Checks every document of a snapshot in scope.
pub(super) fn check_snapshot(snapshot: &Snapshot, root: &str, checks: Checks<'_>) -> Result<Checked, Error> {
    let root = root.to_owned();
    Run { checks, root }.check(snapshot.root_tree(), || Ok(snapshot.reader()?))
}

struct Run<'a> {
    checks: Checks<'a>,
    root: String,
}

impl Run<'_> {
    fn check<S: Trees<Error = source::Error>>(
        &self,
        root_tree: ObjectId,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Checked, Error> {
        let Checks { layout, scope, .. } = self.checks;
        let roots = Roots { source: root_tree, applied: None };
        let places = Places { layout, root: &self.root, scope, side: AppliedTree::State };
        let mut found =
            match compare::<S, ObjectReader, Error>(&open()?, None, roots, &places, &BTreeSet::new()) {
                Err(Error::TooManyFiles) => return Ok(self.too_many_files()),
                found => found?,
            };
        found.differences.retain(|difference| scope.contains(&difference.id) && self.wants(difference));
        found.findings.retain(|finding| is_within(&finding.path, self.checks.within));
        let documents = self.documents(&found);
        let mut findings = self.read(found.differences, open)?;
        findings.extend(found.findings);
        findings.sort_unstable();
        let (waived, findings): (Vec<_>, Vec<_>) =
            findings.into_iter().partition(|found| found.waived.is_some());
        Ok(Checked { documents, findings, waived, unmatched: found.unmatched.into_iter().collect() })
    }

    fn too_many_files(&self) -> Checked {
        let root = match self.root.as_str() {
            "" => ".",
            root => root,
        };
        Checked { findings: vec![layout::too_many_files(root)], ..Checked::default() }
    }

    /// Returns the paths of the files.
    fn documents(&self, found: &Comparison) -> Vec<String> {
        let paths = found.differences.iter().flat_map(|one| self.paths(one));
        paths
            .filter(|path| is_within(path, self.checks.within))
            // Several differences can share a file.
            .collect::<BTreeSet<_>>()
            .into_iter()
            .collect()
    }

    fn read<S: Trees<Error = source::Error>>(
        &self,
        differences: Vec<Difference>,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Vec<Diagnostic>, Error> {
        let (nothing, renamed) = (BTreeMap::new(), BTreeSet::new());
        let context = ReadContext {
            kind: self.checks.kind,
            root: &self.root,
            scope: self.checks.scope,
            // There is no other side.
            on_remove: OnRemove::Keep,
            layout: self.checks.layout,
            unknown: &nothing,
            settled: &nothing,
            renamed: &renamed,
        };
        let open = || Ok((open()?, None));
        let (_, findings) = read(differences, context, drop::<Candidate>, open)?;
        Ok(findings)
    }

    fn wants(&self, difference: &Difference) -> bool {
        self.paths(difference).any(|path| is_within(&path, self.checks.within))
    }

    /// Returns the paths of the files of a toggle.
    fn paths(&self, difference: &Difference) -> impl Iterator<Item = String> {
        let paths = difference.desired.paths(&difference.id, self.checks.layout);
        paths.map(|(_, path)| join(&self.root, &path))
    }
}

// The files of a source outside a pass: the documents and expectations of a folder or a revision, and uncommitted files as
// trees, so that the same comparison works for them.

/// The files of a work tree or of a revision, listed once and read on demand.
pub struct DocumentFiles {
    files: Box<dyn Trees<Error = source::Error>>,
    ids: BTreeSet<ToggleId>,
    /// The documents that claim each toggle.
    claims: HashMap<FoldedId, Vec<DocumentFile>>,
    tests: BTreeMap<ToggleId, TestFile>,
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
            CheckTarget::File(folder, path) => (Folder::of_file(folder, path)?, ""),
            CheckTarget::Folder(folder, root) => (Folder::open(folder, root)?, root.as_str()),
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

    /// Walks the tree as deep as the layout has folders.
    fn list(
        files: Box<dyn Trees<Error = source::Error>>,
        top: ObjectId,
        root: &str,
        layout: &Layout,
        kind: ServiceKind,
    ) -> Result<Self, Error> {
        let (ids, claims, tests) = (BTreeSet::new(), HashMap::new(), BTreeMap::new());
        let mut documents = Self { files, ids, claims, tests, root: root.to_owned(), kind };
        let depth = layout.pattern().split('/').count() - 1;
        let mut open = vec![(String::new(), top, 0)];
        while let Some((folder, id, level)) = open.pop() {
            for entry in documents.files.tree(id)?.entries() {
                // A key is ASCII, so a name that is not UTF-8 belongs to no toggle.
                let Ok(name) = std::str::from_utf8(entry.name) else {
                    continue;
                };
                let path = join(&folder, name);
                match entry.kind() {
                    EntryKind::Tree if level < depth => open.push((path, entry.id, level + 1)),
                    EntryKind::Blob if level == depth => documents.file(layout, path, entry.id),
                    _ => {}
                }
            }
        }
        Ok(documents)
    }

    fn file(&mut self, layout: &Layout, path: String, object: ObjectId) {
        if let Some(stem) = path.strip_suffix(".test.yaml") {
            if let PathKind::Document { id, .. } = layout.classify(format!("{stem}.yaml").as_bytes()) {
                let path = join(&self.root, &path);
                self.tests.insert(id, TestFile { path, object });
            }
        } else if let PathKind::Document { id, .. } = layout.classify(path.as_bytes()) {
            self.ids.insert(id.clone());
            let claims = self.claims.entry(FoldedId::from(&id)).or_default();
            claims.push(DocumentFile { id, path, object });
        }
    }

    /// Returns the toggles with a document, sorted.
    pub fn toggles(&self) -> impl Iterator<Item = &ToggleId> {
        self.ids.iter()
    }

    pub fn tests(&self) -> &BTreeMap<ToggleId, TestFile> {
        &self.tests
    }

    /// Returns the content of a file of expectations.
    pub fn test(&self, file: &TestFile) -> Result<Blob, Error> {
        Ok(self.files.blob(file.object, LARGEST_DOCUMENT)?)
    }

    /// Reads the document of a toggle; `None` if it has none. A toggle that several files claim is invalid.
    pub fn read(&self, id: &ToggleId) -> Result<Option<ReadDocument>, Error> {
        let claims = self.claims.get(&FoldedId::from(id)).map(Vec::as_slice).unwrap_or_default();
        let Some(DocumentFile { path, object, .. }) = claims.iter().find(|file| file.id == *id) else {
            return Ok(None);
        };
        let content = self.files.blob(*object, LARGEST_DOCUMENT)?;
        let path = join(&self.root, path);
        let document = match claims.len() {
            1 => document::read(&path, &content, self.kind),
            _ => Document { payload: None, diagnostics: self.duplicates(id, claims) },
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

/// The files of a folder, read once. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Arc<Files>);

#[derive(Debug, Default)]
struct Files {
    trees: HashMap<ObjectId, Tree>,
    blobs: HashMap<ObjectId, Blob>,
}

impl Folder {
    /// Reads the folder `root` of `folder`.
    pub(crate) fn open(folder: &Path, root: &str) -> Result<Self, source::Error> {
        let tree = WorkTree::open(folder, root)?;
        let (files, links) = tree.files_and_links(|_| true)?;
        Self::read(&files, &links, |path| tree.content(path, LARGEST_DOCUMENT))
    }

    /// Reads the folder `root` of `folder`, and from `committed` the files that are not checked out: nobody removed them.
    pub(crate) fn with_left_out(
        folder: &Path,
        root: &str,
        committed: &impl Trees<Error = source::Error>,
    ) -> Result<Self, source::Error> {
        let tree = WorkTree::open(folder, root)?;
        let left_out = worktree::not_checked_out(folder, root)?;
        let (mut paths, links) = tree.files_and_links(|_| true)?;
        paths.extend(left_out.keys().cloned());
        Self::read(&paths, &links, |path| match left_out.get(path) {
            Some(id) => committed.blob(*id, LARGEST_DOCUMENT),
            None => tree.content(path, LARGEST_DOCUMENT),
        })
    }

    /// Reads only the file `path` of `folder`.
    pub(crate) fn of_file(folder: &Path, path: &str) -> Result<Self, source::Error> {
        let tree = WorkTree::open(folder, "")?;
        Self::read(&[path.as_bytes().to_vec()], &[], |path| tree.content(path, LARGEST_DOCUMENT))
    }

    fn read(
        paths: &[Vec<u8>],
        links: &[Vec<u8>],
        content: impl Fn(&[u8]) -> Result<Blob, source::Error>,
    ) -> Result<Self, source::Error> {
        let mut files = Files::default();
        let mut folders: BTreeMap<Vec<u8>, Vec<Child>> = BTreeMap::from([(Vec::new(), Vec::new())]);
        // The comparison refuses too many files, whatever their contents.
        let is_read = |name| paths.len() <= MOST_FILES && could_be_document(name);
        for path in paths {
            let (parent, name) = split(path);
            let id = match is_read(name) {
                true => files.keep(content(path)?, path),
                false => path_id(b"file", path),
            };
            entries(&mut folders, parent).push(Child::File(name.to_vec(), id));
        }
        for path in links {
            let (parent, name) = split(path);
            entries(&mut folders, parent).push(Child::Link(name.to_vec(), path_id(b"link", path)));
        }
        files.trees = folders
            .into_iter()
            .map(|(path, children)| (path_id(b"tree", &path), Tree::of(children.iter().map(Child::entry))))
            .collect();
        Ok(Self(Arc::new(files)))
    }

    pub(crate) fn root_tree(&self) -> ObjectId {
        path_id(b"tree", b"")
    }
}

impl Files {
    fn keep(&mut self, blob: Blob, path: &[u8]) -> ObjectId {
        let id = match &blob {
            Blob::Content(content) => id_of(ObjectKind::Blob, content),
            // Without content, the path identifies the file, so that two such files stay different.
            Blob::Missing | Blob::TooLarge(_) => path_id(b"file", path),
        };
        self.blobs.insert(id, blob);
        id
    }
}

impl Trees for Folder {
    type Error = source::Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, source::Error> {
        self.find_tree(id).ok_or(source::Error::MissingObject(id))
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        self.0.trees.get(&id).cloned()
    }

    fn blob(&self, blob: ObjectId, _: usize) -> Result<Blob, source::Error> {
        self.0.blobs.get(&blob).cloned().ok_or(source::Error::MissingObject(blob))
    }
}

/// An entry of a folder.
enum Child {
    File(Vec<u8>, ObjectId),
    Folder(Vec<u8>, ObjectId),
    Link(Vec<u8>, ObjectId),
}

impl Child {
    fn entry(&self) -> TreeEntry<'_> {
        match self {
            Self::File(name, id) => TreeEntry::file(name, *id),
            Self::Folder(name, id) => TreeEntry::folder(name, *id),
            Self::Link(name, id) => TreeEntry { mode: 0o120_000, name, id: *id },
        }
    }
}

/// Returns the entries of `folder`. Adds it and its parents if they are new.
fn entries<'a>(folders: &'a mut BTreeMap<Vec<u8>, Vec<Child>>, folder: &[u8]) -> &'a mut Vec<Child> {
    if !folders.contains_key(folder) {
        let (parent, name) = split(folder);
        let child = Child::Folder(name.to_vec(), path_id(b"tree", folder));
        entries(folders, parent).push(child);
    }
    folders.entry(folder.to_vec()).or_default()
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

fn could_be_document(name: &[u8]) -> bool {
    let endings = Format::ALL.map(|format| format!(".{}", format.as_str()));
    endings.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

fn path_id(kind: &[u8], path: &[u8]) -> ObjectId {
    let digest = Sha256::new()
        .chain_update(kind)
        // No path contains a zero byte, so a kind and a path have only one reading.
        .chain_update([0])
        .chain_update(path)
        .finalize();
    let mut id = [0; 20];
    id.copy_from_slice(&digest[..20]);
    ObjectId(id)
}
