//! The walk over the two trees of a comparison, side by side.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::marker::PhantomData;

use super::environment::applied_documents;
use super::{CompareError, Comparison, Difference, File, Places, Roots, TooManyFiles, clash, join};
use crate::document::{MOST_FILES, Place, tree};
use crate::model::{Entry, EntryKind, EnvironmentId, ObjectId, ServiceKind, ToggleId, Tree, Trees};

/// A walk, and what it has found so far.
pub(super) struct Walk<'a, S, A, E> {
    source: &'a S,
    applied: Option<&'a A>,
    pub(super) places: Places<'a>,
    pub(super) always: &'a BTreeSet<ToggleId>,
    pub(super) found: Comparison,
    /// Every toggle that was seen, by its id in lower case.
    pub(super) folded: HashMap<String, ToggleId>,
    /// How many folders of the source were looked at.
    folders: usize,
    error: PhantomData<E>,
}

/// Documents, by the toggle they claim.
pub(super) type Placed = Vec<(ToggleId, File)>;

/// How deep the folder of an environment lies.
const ENVIRONMENT_DEPTH: usize = 2;

/// The deepest folder that is looked into. A layout has a handful of folders, and a hostile tree a hundred thousand.
const DEEPEST_FOLDER: usize = 128;

/// One folder as it is on both sides.
#[derive(Clone, Copy, Debug)]
struct Sides {
    source: Option<ObjectId>,
    applied: Option<ObjectId>,
    /// Whether it is read even if both sides are equal: another folder, whose name differs only in case, may hold the same
    /// toggles.
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
            places,
            always,
            found: Comparison::default(),
            folded: HashMap::new(),
            folders: 0,
            error: PhantomData,
        }
    }

    /// Walks over the trees under `roots`.
    pub(super) fn run(mut self, roots: Roots) -> Result<Comparison, E> {
        if self.places.layout.is_default_shape() {
            let sides = Sides {
                source: Some(roots.source),
                applied: roots.applied,
                is_twin: false,
            };
            self.folder("", 0, sides)?;
        } else {
            self.everything(roots)?;
        }
        Ok(self.finish())
    }

    fn folder(&mut self, prefix: &str, depth: usize, sides: Sides) -> Result<(), E> {
        let Sides {
            source,
            applied,
            is_twin,
        } = sides;
        let is_equal = source.is_some() && source == applied && !is_twin;
        if is_equal && !self.is_always(prefix) {
            self.found.any_document = true;
            return Ok(());
        }
        // The older one first: Git keeps it as what differs from the newer one, which is then at hand.
        let theirs = self.applied_tree(applied)?;
        let ours = self.source_tree(source)?;
        if depth == ENVIRONMENT_DEPTH {
            self.environment_folder(prefix, &ours, &theirs, is_twin);
        } else {
            self.documents(prefix, ours.entries());
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
        if depth == DEEPEST_FOLDER {
            return Ok(());
        }
        let mut pairs: BTreeMap<&[u8], (Option<ObjectId>, Option<ObjectId>)> = BTreeMap::new();
        for entry in ours.folders().filter(|entry| !is_hidden(entry.name)) {
            pairs.entry(entry.name).or_default().0 = Some(entry.id);
        }
        let twins = self.twins(depth, pairs.keys().copied());
        if depth < ENVIRONMENT_DEPTH {
            for entry in theirs.folders() {
                pairs.entry(entry.name).or_default().1 = Some(entry.id);
            }
        }
        for (name, (source, applied)) in pairs {
            let is_twin = is_twin || (!twins.is_empty() && twins.contains(&name.to_ascii_lowercase()));
            let sides = Sides {
                source,
                applied,
                is_twin,
            };
            match std::str::from_utf8(name) {
                Ok(name) => self.folder(&join(prefix, name), depth + 1, sides)?,
                Err(_) => self.not_utf8(prefix, name),
            }
        }
        Ok(())
    }

    /// Returns, in lower case, the names of projects or environments that FeatureProbe takes for one.
    fn twins<'n>(&self, depth: usize, names: impl Iterator<Item = &'n [u8]>) -> BTreeSet<Vec<u8>> {
        let mut twins = BTreeSet::new();
        if self.places.kind == ServiceKind::FeatureProbe && depth < ENVIRONMENT_DEPTH {
            let mut seen = BTreeSet::new();
            let folded = names.map(<[u8]>::to_ascii_lowercase);
            twins.extend(folded.filter(|name| !seen.insert(name.clone())));
        }
        twins
    }

    /// Sorts the files of one folder of the source into documents and findings.
    pub(super) fn documents<'e>(&mut self, prefix: &str, entries: impl Iterator<Item = Entry<'e>>) -> Placed {
        let mut documents = Vec::new();
        for entry in entries.filter(is_file) {
            match std::str::from_utf8(entry.name) {
                Ok(name) => documents.extend(self.place(join(prefix, name), entry.id)),
                Err(_) if is_hidden(entry.name) => {}
                Err(_) => self.not_utf8(prefix, entry.name),
            }
        }
        documents
    }

    fn place(&mut self, path: String, id: ObjectId) -> Option<(ToggleId, File)> {
        match self.places.layout.place(path.as_bytes()) {
            Place::Document { id: toggle, format } => {
                self.found.any_document = true;
                return Some((toggle, File { path, format, id }));
            }
            Place::BadKey { claim, .. } if !self.places.scope.contains_text(&claim) => {}
            Place::BadKey { component, error, .. } => {
                let finding = tree::bad_key(&self.shown(&path), &component, &error);
                self.found.findings.push(finding);
            }
            Place::Elsewhere => {
                let finding = tree::elsewhere(&self.shown(&path), self.places.layout.pattern());
                self.found.findings.push(finding);
            }
            Place::ExtensionCase => {
                let finding = tree::extension_case(&self.shown(&path));
                self.found.findings.push(finding);
            }
            Place::Ignored => {}
        }
        None
    }

    fn not_utf8(&mut self, prefix: &str, name: &[u8]) {
        let path = [join(self.places.root, prefix).as_bytes(), b"/", name].concat();
        self.found
            .findings
            .push(tree::not_utf8_path(path.strip_prefix(b"/").unwrap_or(&path)));
    }

    /// Compares file by file, for layouts whose folders are not those of the state.
    fn everything(&mut self, roots: Roots) -> Result<(), E> {
        let mut environments: BTreeMap<EnvironmentId, (Placed, Placed)> = BTreeMap::new();
        let mut left = vec![(String::new(), roots.source)];
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.source_tree(Some(folder))?;
            for (id, file) in self.documents(&prefix, tree.entries()) {
                environments
                    .entry(id.environment())
                    .or_default()
                    .0
                    .push((id, file));
            }
            let is_deep = prefix.bytes().filter(|byte| *byte == b'/').count() >= DEEPEST_FOLDER;
            let inner = tree.folders().filter(|entry| !is_deep && !is_hidden(entry.name));
            left.extend(inner.map(|entry| (join(&prefix, &String::from_utf8_lossy(entry.name)), entry.id)));
        }
        left.extend(roots.applied.map(|id| (String::new(), id)));
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.applied_tree(Some(folder))?;
            for (id, file) in applied_documents(&prefix, tree.entries()) {
                environments
                    .entry(id.environment())
                    .or_default()
                    .1
                    .push((id, file));
            }
            let inner = tree.folders();
            left.extend(inner.map(|entry| (join(&prefix, &String::from_utf8_lossy(entry.name)), entry.id)));
        }
        for (desired, applied) in environments.into_values() {
            let count = applied.len();
            self.environment(desired, applied, count, false);
        }
        Ok(())
    }

    fn finish(mut self) -> Comparison {
        let differences = &mut self.found.differences;
        if self.places.kind == ServiceKind::FeatureProbe {
            clash::merge(differences);
            differences.retain(|one| !one.is_unchanged() || self.always.contains(&one.id));
        }
        let clashes = clash::duplicates(differences, &self.places);
        self.found.findings.extend(clashes);
        let mut nowhere = self.always.clone();
        for found in &self.found.differences {
            nowhere.remove(&found.id);
        }
        let nowhere = nowhere.into_iter().map(|id| Difference {
            id,
            desired: Vec::new(),
            applied: None,
        });
        self.found.differences.extend(nowhere);
        self.found.differences.sort_by(|a, b| a.id.cmp(&b.id));
        self.found.findings.sort();
        self.found
    }

    fn is_always(&self, prefix: &str) -> bool {
        self.always.iter().any(|id| id.as_str().starts_with(prefix))
    }

    fn shown(&self, path: &str) -> String {
        join(self.places.root, path)
    }

    /// Reads a tree of the source. One tree may stand for millions of files by being in many places.
    fn source_tree(&mut self, tree: Option<ObjectId>) -> Result<Tree, E> {
        let Some(tree) = tree else {
            return Ok(Tree::empty());
        };
        let tree = self.source.tree(tree)?;
        self.found.files += tree.files();
        self.folders += 1;
        match self.found.files.max(self.folders) > MOST_FILES {
            true => Err(TooManyFiles.into()),
            false => Ok(tree),
        }
    }

    /// Reads an applied tree where the source has it too, as that of an earlier commit: beside its successor it costs
    /// little, and the search for commits asks for it again.
    fn applied_tree(&self, tree: Option<ObjectId>) -> Result<Tree, E> {
        let (Some(tree), Some(applied)) = (tree, self.applied) else {
            return Ok(Tree::empty());
        };
        match self.source.find_tree(tree) {
            Some(found) => Ok(found),
            None => Ok(applied.tree(tree)?),
        }
    }
}

pub(super) fn is_file(entry: &Entry<'_>) -> bool {
    entry.kind() == EntryKind::Blob
}

/// A component that begins with `.` or `_` holds no documents.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}
