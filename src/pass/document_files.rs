//! Reads single documents and their expectations, for commands that evaluate toggles.

use std::collections::BTreeMap;

use super::Error;
use super::file_trees::Folder;
use super::validate::CheckTarget;
use crate::document::{self, Diagnostic, Document, LARGEST_DOCUMENT, Layout, PathKind, tree};
use crate::model::{Blob, EntryKind, ObjectId, ServiceKind, ToggleId, Trees};
use crate::plan::compare::join;
use crate::source::{self, Source};

/// The files of a work tree or of a revision, listed once and read on demand.
pub struct DocumentFiles {
    files: Box<dyn Trees<Error = source::Error>>,
    /// The documents that claim each toggle.
    claims: BTreeMap<ToggleId, Vec<DocumentFile>>,
    tests: BTreeMap<ToggleId, TestFile>,
    root: String,
    kind: ServiceKind,
}

/// A document in a tree.
#[derive(Clone, Debug, Eq, PartialEq)]
struct DocumentFile {
    path: String,
    object: ObjectId,
}

/// A file of expectations.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct TestFile {
    /// The path with the root.
    pub path: String,
    object: ObjectId,
}

/// A document with its file.
#[derive(Clone, Debug)]
pub struct ReadDocument {
    /// The path with the root.
    pub path: String,
    /// The content of the file.
    pub content: Blob,
    /// The document.
    pub document: Document,
}

impl DocumentFiles {
    /// Lists the files of `target` that match `layout`.
    ///
    /// # Errors
    /// If the files cannot be read.
    pub fn open(target: &CheckTarget, layout: &Layout, kind: ServiceKind) -> Result<Self, Error> {
        let (files, top, root): (Box<dyn Trees<Error = source::Error>>, _, _) = match target {
            CheckTarget::File(folder, path) => {
                let files = Folder::of_file(folder, path)?;
                let top = files.root_tree();
                (Box::new(files), top, String::new())
            }
            CheckTarget::Folder(folder, root) => {
                let files = Folder::open(folder, root)?;
                let top = files.root_tree();
                (Box::new(files), top, root.clone())
            }
            CheckTarget::Revision(config) => {
                let snapshot = Source::new(config.as_ref().clone()).snapshot()?;
                let top = snapshot.root_tree();
                (Box::new(snapshot.reader()?), top, config.root.clone())
            }
        };
        let mut documents = Self {
            files,
            claims: BTreeMap::new(),
            tests: BTreeMap::new(),
            root,
            kind,
        };
        documents.list(layout, top)?;
        Ok(documents)
    }

    /// Walks the tree as deep as the layout has folders.
    fn list(&mut self, layout: &Layout, top: ObjectId) -> Result<(), Error> {
        let depth = layout.pattern().split('/').count() - 1;
        let mut open = vec![(String::new(), top, 0)];
        while let Some((folder, id, level)) = open.pop() {
            for entry in self.files.tree(id)?.entries() {
                // A key is ASCII, so a name that is not UTF-8 belongs to no toggle.
                let Ok(name) = std::str::from_utf8(entry.name) else {
                    continue;
                };
                let path = join(&folder, name);
                match entry.kind() {
                    EntryKind::Tree if level < depth => open.push((path, entry.id, level + 1)),
                    EntryKind::Blob if level == depth => self.file(layout, path, entry.id),
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, layout: &Layout, path: String, object: ObjectId) {
        if let Some(stem) = path.strip_suffix(".test.yaml") {
            if let PathKind::Document { id, .. } = layout.classify(format!("{stem}.yaml").as_bytes()) {
                let path = join(&self.root, &path);
                self.tests.insert(id, TestFile { path, object });
            }
        } else if let PathKind::Document { id, .. } = layout.classify(path.as_bytes()) {
            let file = DocumentFile { path, object };
            self.claims.entry(id).or_default().push(file);
        }
    }

    /// Returns the toggles with a document, sorted.
    pub fn toggles(&self) -> impl Iterator<Item = &ToggleId> {
        self.claims.keys()
    }

    /// Returns the files of expectations, by toggle.
    #[must_use]
    pub fn tests(&self) -> &BTreeMap<ToggleId, TestFile> {
        &self.tests
    }

    /// Returns the content of a file of expectations.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn test(&self, file: &TestFile) -> Result<Blob, Error> {
        Ok(self.files.blob(file.object, LARGEST_DOCUMENT)?)
    }

    /// Reads the document of a toggle; `None` if it has none. A toggle that several files claim is invalid.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn read(&self, id: &ToggleId) -> Result<Option<ReadDocument>, Error> {
        let Some(claims) = self.claims.get(id) else {
            return Ok(None);
        };
        let DocumentFile { path, object } = &claims[0];
        let content = self.files.blob(*object, LARGEST_DOCUMENT)?;
        let path = join(&self.root, path);
        let document = match claims.len() {
            1 => document::read(&path, &content, self.kind),
            _ => Document {
                payload: None,
                diagnostics: self.duplicates(id, claims),
            },
        };
        Ok(Some(ReadDocument {
            path,
            content,
            document,
        }))
    }

    fn duplicates(&self, id: &ToggleId, claims: &[DocumentFile]) -> Vec<Diagnostic> {
        let paths: Vec<String> = claims.iter().map(|file| join(&self.root, &file.path)).collect();
        tree::duplicate(id, &paths, &[])
    }
}
