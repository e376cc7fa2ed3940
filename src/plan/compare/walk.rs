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

/// One folder in the source and in the applied tree.
type Sides = [Option<ObjectId>; 2];

/// Folders that are still to be read, with their paths.
type Folders = Vec<(String, ObjectId)>;

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
            self.folder("", 0, [Some(roots.source), roots.applied])?;
        } else {
            let root = |id: Option<ObjectId>| id.map(|id| (String::new(), id)).into_iter().collect();
            self.all_files([root(Some(roots.source)), root(roots.applied)])?;
        }
        Ok(self.classifier.finish())
    }

    fn folder(&mut self, prefix: &str, depth: usize, sides: Sides) -> Result<(), E> {
        let [source, applied] = sides;
        let is_equal = source.is_some() && source == applied;
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
            self.classifier.environment_folder(prefix, &ours, &theirs);
        } else {
            // Documents are only in the folders of environments; the call reports misplaced files.
            self.classifier.documents(prefix, ours.entries());
        }
        self.subfolders(prefix, depth, &ours, &theirs)
    }

    fn subfolders(&mut self, prefix: &str, depth: usize, ours: &Tree, theirs: &Tree) -> Result<(), E> {
        // Deeper folders cannot contain documents, and the walk recurses.
        if depth == DEEPEST_FOLDER {
            return Ok(());
        }
        // By their names in lower case: folders whose names differ only in case can contain the same toggles.
        let mut folders: BTreeMap<String, BTreeMap<&str, Sides>> = BTreeMap::new();
        for (side, tree) in [ours, theirs].into_iter().enumerate() {
            // The state has the default layout, so it has no deeper folders.
            let is_read = side == 0 || depth < ENVIRONMENT_DEPTH;
            for entry in tree.folders().filter(|entry| is_read && !is_hidden(entry.name)) {
                if let Ok(name) = std::str::from_utf8(entry.name) {
                    let same = folders.entry(name.to_ascii_lowercase()).or_default();
                    same.entry(name).or_default()[side] = Some(entry.id);
                } else if side == 0 {
                    self.classifier.not_utf8(prefix, entry.name);
                }
            }
        }
        for same in folders.into_values() {
            let on = |side: usize| {
                let folders = same.iter().filter_map(|(name, ids)| Some((join(prefix, name), ids[side]?)));
                folders.collect()
            };
            match same.first_key_value() {
                Some((name, sides)) if same.len() == 1 => {
                    self.folder(&join(prefix, name), depth + 1, *sides)?;
                }
                _ => self.all_files([on(0), on(1)])?,
            }
        }
        Ok(())
    }

    /// Compares the files below folders of the source and of the applied tree one by one: those of other
    /// layouts, and of folders that can contain the same toggles.
    fn all_files(&mut self, [mut left, applied]: [Folders; 2]) -> Result<(), E> {
        let mut environments: BTreeMap<EnvironmentId, (ToggleFiles, ToggleFiles)> = BTreeMap::new();
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.source_tree(Some(folder))?;
            for (id, file) in self.classifier.documents(&prefix, tree.entries()) {
                let sides = environments.entry(id.environment()).or_default();
                sides.0.push((id, file));
            }
            left.extend(inner_folders(&prefix, &tree));
        }
        left = applied;
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
