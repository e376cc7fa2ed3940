//! The walk over the two trees of a comparison, side by side.

use std::collections::{BTreeMap, BTreeSet};
use std::marker::PhantomData;

use super::classify::{Classifier, ToggleFiles, is_hidden};
use super::{AppliedTree, CompareError, Comparison, Places, Roots, TooManyFiles, join};
use crate::document::MOST_FILES;
use crate::model::{EnvironmentId, ObjectId, ToggleId, Tree, Trees};

pub(super) struct Walk<'a, S, A, E> {
    source: &'a S,
    applied: Option<&'a A>,
    classifier: Classifier<'a>,
    /// The number of source folders that were read.
    folders: usize,
    /// The number of applied folders that were read.
    applied_folders: usize,
    error: PhantomData<E>,
}

/// The depth of an environment's folder in the default layout.
const ENVIRONMENT_DEPTH: usize = 2;

/// The deepest folder that is read. A layout has a handful of levels; a hostile tree can have a hundred
/// thousand.
const DEEPEST_FOLDER: usize = 128;

/// One folder on both sides.
#[derive(Clone, Copy, Debug)]
struct Sides {
    source: Option<ObjectId>,
    applied: Option<ObjectId>,
    /// Whether the folder is read even if both sides are equal: another folder, whose name differs only in
    /// case, may contain the same toggles.
    is_twin: bool,
}

impl<'a, S: Trees, A: Trees, E: CompareError<S, A>> Walk<'a, S, A, E> {
    pub(super) fn new(
        source: &'a S,
        applied: Option<&'a A>,
        places: Places<'a>,
        always: &'a BTreeSet<ToggleId>,
    ) -> Self {
        Self {
            source,
            applied,
            classifier: Classifier::new(places, always),
            folders: 0,
            applied_folders: 0,
            error: PhantomData,
        }
    }

    pub(super) fn run(mut self, roots: Roots) -> Result<Comparison, E> {
        if self.classifier.places.layout.is_default_shape() {
            let sides = Sides { source: Some(roots.source), applied: roots.applied, is_twin: false };
            self.folder("", 0, sides)?;
        } else {
            self.all_files(roots)?;
        }
        Ok(self.classifier.finish())
    }

    fn folder(&mut self, prefix: &str, depth: usize, sides: Sides) -> Result<(), E> {
        let Sides { source, applied, is_twin } = sides;
        let is_equal = source.is_some() && source == applied && !is_twin;
        // A toggle whose last outcome is unknown is a difference even in an equal folder.
        if is_equal && !self.classifier.is_always(prefix) {
            // The folders of the state contain documents only, but those of a revision may contain none.
            self.classifier.found.any_document |= self.classifier.places.side == AppliedTree::State;
            return Ok(());
        }
        // The applied tree first: Git stores it as a delta against the newer one, which is then in the cache.
        let theirs = self.applied_tree(applied)?;
        let ours = self.source_tree(source)?;
        if depth == ENVIRONMENT_DEPTH {
            self.classifier.environment_folder(prefix, &ours, &theirs, is_twin);
        } else {
            // Documents are only in the folders of environments; the call reports misplaced files.
            self.classifier.documents(prefix, ours.entries());
        }
        self.subfolders(prefix, depth, (&ours, &theirs), is_twin)
    }

    fn subfolders(
        &mut self,
        prefix: &str,
        depth: usize,
        (ours, theirs): (&Tree, &Tree),
        is_twin: bool,
    ) -> Result<(), E> {
        // Deeper folders cannot contain documents, and the walk recurses.
        if depth == DEEPEST_FOLDER {
            return Ok(());
        }
        let mut pairs: BTreeMap<&[u8], (Option<ObjectId>, Option<ObjectId>)> = BTreeMap::new();
        for entry in ours.folders().filter(|entry| !is_hidden(entry.name)) {
            pairs.entry(entry.name).or_default().0 = Some(entry.id);
        }
        // The state has the default layout, so it has no deeper folders.
        if depth < ENVIRONMENT_DEPTH {
            for entry in theirs.folders().filter(|entry| !is_hidden(entry.name)) {
                pairs.entry(entry.name).or_default().1 = Some(entry.id);
            }
        }
        // With the applied folders, because a folder may be renamed.
        let mut counts: BTreeMap<Vec<u8>, usize> = BTreeMap::new();
        if depth < ENVIRONMENT_DEPTH {
            for name in pairs.keys() {
                *counts.entry(name.to_ascii_lowercase()).or_default() += 1;
            }
        }
        for (name, (source, applied)) in pairs {
            // All folders under a twin can contain the same toggles.
            let is_twin = is_twin || counts.get(&name.to_ascii_lowercase()).is_some_and(|count| *count > 1);
            let sides = Sides { source, applied, is_twin };
            match std::str::from_utf8(name) {
                Ok(name) => self.folder(&join(prefix, name), depth + 1, sides)?,
                Err(_) => self.classifier.not_utf8(prefix, name),
            }
        }
        Ok(())
    }

    /// Compares file by file, for layouts whose folders differ from those of the state.
    fn all_files(&mut self, roots: Roots) -> Result<(), E> {
        let mut environments: BTreeMap<EnvironmentId, (ToggleFiles, ToggleFiles)> = BTreeMap::new();
        let mut left = vec![(String::new(), roots.source)];
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.source_tree(Some(folder))?;
            for (id, file) in self.classifier.documents(&prefix, tree.entries()) {
                let sides = environments.entry(id.environment()).or_default();
                sides.0.push((id, file));
            }
            left.extend(inner_folders(&prefix, &tree));
        }
        left.extend(roots.applied.map(|id| (String::new(), id)));
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.applied_tree(Some(folder))?;
            for (id, file) in self.classifier.applied_documents(&prefix, tree.entries()) {
                let sides = environments.entry(id.environment()).or_default();
                sides.1.push((id, file));
            }
            left.extend(inner_folders(&prefix, &tree));
        }
        for (desired, applied) in environments.into_values() {
            let count = applied.len();
            self.classifier.environment(desired, applied, count, false);
        }
        Ok(())
    }

    /// Reads a tree of the source and enforces the limit.
    fn source_tree(&mut self, tree: Option<ObjectId>) -> Result<Tree, E> {
        let Some(tree) = tree else {
            return Ok(Tree::empty());
        };
        let tree = self.source.tree(tree)?;
        // Counted during the walk: one tree that occurs in many places can stand for millions of files.
        self.classifier.found.files += tree.files();
        // A hostile tree can consist of folders alone.
        self.folders += 1;
        if self.classifier.found.files.max(self.folders) > MOST_FILES {
            Err(TooManyFiles.into())
        } else {
            Ok(tree)
        }
    }

    /// Reads an applied tree, from the source if it contains the tree.
    fn applied_tree(&mut self, tree: Option<ObjectId>) -> Result<Tree, E> {
        let (Some(tree), Some(applied)) = (tree, self.applied) else {
            return Ok(Tree::empty());
        };
        // A hostile revision can repeat one folder in many places. The state cannot.
        self.applied_folders += 1;
        if self.applied_folders > MOST_FILES {
            return Err(TooManyFiles.into());
        }
        // Next to its successor, the tree of an earlier commit is cheap to read, and the search for commits
        // needs it again.
        match self.source.find_tree(tree) {
            Some(found) => Ok(found),
            None => Ok(applied.tree(tree)?),
        }
    }
}

/// Returns the folders in the folder at `prefix` that are read, with their paths.
fn inner_folders(prefix: &str, tree: &Tree) -> impl Iterator<Item = (String, ObjectId)> {
    let is_deep = is_deep(prefix);
    let inner = tree.folders().filter(move |entry| !is_deep && !is_hidden(entry.name));
    inner.map(move |entry| (join(prefix, &String::from_utf8_lossy(entry.name)), entry.id))
}

/// Returns whether the folder at `prefix` is as deep as folders are read.
fn is_deep(prefix: &str) -> bool {
    prefix.bytes().filter(|byte| *byte == b'/').count() >= DEEPEST_FOLDER
}
