//! Desired against applied, by object id: the two trees are walked side by side and equal folders are skipped.
//!
//! Nothing is read or parsed here. With the default layout both trees have one shape, so that a commit that
//! touches ten files costs ten folders; any other layout is compared file by file (DESIGN, section 4, "Compare").

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::names::Names;
use crate::document::{Diagnostic, Format, Layout, Place, tree};
use crate::model::{Differing, Entry, EntryKind, EnvironmentId, ObjectId, Scope, ToggleId, Tree, Trees};

/// One document on either side.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct File {
    /// The path under the root.
    pub(crate) path: String,
    pub(crate) format: Format,
    pub(crate) id: ObjectId,
}

/// One toggle whose two sides are not the same object.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Difference {
    pub(crate) id: ToggleId,
    /// The files that claim it: none when it is gone, several when people disagree.
    pub(crate) desired: Vec<File>,
    pub(crate) applied: Option<File>,
}

/// What comparing two trees found.
#[derive(Debug, Default)]
pub(crate) struct Comparison {
    /// Sorted by toggle.
    pub(crate) differences: Vec<Difference>,
    /// Toggles applied, for every environment that was looked into.
    pub(crate) applied_counts: BTreeMap<EnvironmentId, usize>,
    /// Environments in which something is applied and no document is left.
    pub(crate) lost: BTreeSet<EnvironmentId>,
    /// What is wrong with paths rather than with documents.
    pub(crate) findings: Vec<Diagnostic>,
    /// Whether the source holds any document at all.
    pub(crate) any_document: bool,
    /// How many files were looked at.
    pub(crate) files: usize,
}

/// Where documents are, and which of them anybody asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Places<'a> {
    pub(crate) layout: &'a Layout,
    /// What findings put before a path.
    pub(crate) root: &'a str,
    /// What is wrong with a path outside it is not told.
    pub(crate) scope: &'a Scope,
}

/// The two trees, either of which may be missing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Roots {
    pub(crate) source: ObjectId,
    pub(crate) applied: Option<ObjectId>,
}

/// Why two trees could not be compared.
#[derive(Debug)]
pub(crate) enum CompareError<S, A> {
    /// The source could not be read.
    Source(S),
    /// The state could not be read.
    Applied(A),
}

/// Compares the trees under `roots`. `always` names toggles that are differences even where both sides are equal
/// (their last outcome is unknown).
pub(crate) fn compare<S: Trees, A: Trees>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    places: &Places<'_>,
    always: &BTreeSet<ToggleId>,
) -> Result<Comparison, CompareError<S::Error, A::Error>> {
    let mut walk = Walk {
        source,
        applied,
        places: *places,
        always,
        found: Comparison::default(),
        folded: HashMap::new(),
    };
    if places.layout.is_default_shape() {
        walk.folder("", 0, Some(roots.source), roots.applied)?;
    } else {
        walk.everything(roots)?;
    }
    Ok(walk.finish())
}

struct Walk<'a, S, A> {
    source: &'a S,
    applied: Option<&'a A>,
    places: Places<'a>,
    always: &'a BTreeSet<ToggleId>,
    found: Comparison,
    /// Every toggle that was seen, by its id in lower case.
    folded: HashMap<String, ToggleId>,
}

type Outcome<S, A> = Result<(), CompareError<<S as Trees>::Error, <A as Trees>::Error>>;

/// Documents, by the toggle they claim.
type Placed = Vec<(ToggleId, File)>;

/// How deep the folder of an environment lies.
const ENVIRONMENT_DEPTH: usize = 2;

impl<S: Trees, A: Trees> Walk<'_, S, A> {
    fn folder(
        &mut self,
        prefix: &str,
        depth: usize,
        source: Option<ObjectId>,
        applied: Option<ObjectId>,
    ) -> Outcome<S, A> {
        if source.is_some() && source == applied && !self.is_always(prefix) {
            self.found.any_document = true;
            return Ok(());
        }
        // The older one first: Git keeps it as what differs from the newer one, which is then at hand.
        let theirs = self.applied_tree(applied)?;
        let ours = self.source_tree(source)?;
        self.found.files += ours.files();
        if depth == ENVIRONMENT_DEPTH {
            self.environment_folder(prefix, &ours, &theirs);
        } else {
            self.documents(prefix, ours.entries());
        }
        self.subfolders(prefix, depth, &ours, &theirs)
    }

    fn subfolders(&mut self, prefix: &str, depth: usize, ours: &Tree, theirs: &Tree) -> Outcome<S, A> {
        let mut pairs: BTreeMap<&[u8], (Option<ObjectId>, Option<ObjectId>)> = BTreeMap::new();
        for entry in ours.folders().filter(|entry| !is_hidden(entry.name)) {
            pairs.entry(entry.name).or_default().0 = Some(entry.id);
        }
        if depth < ENVIRONMENT_DEPTH {
            for entry in theirs.folders() {
                pairs.entry(entry.name).or_default().1 = Some(entry.id);
            }
        }
        for (name, (source, applied)) in pairs {
            match std::str::from_utf8(name) {
                Ok(name) => self.folder(&join(prefix, name), depth + 1, source, applied)?,
                Err(_) => self.not_utf8(prefix, name),
            }
        }
        Ok(())
    }

    /// Sorts the files of one folder of the source into documents and findings.
    fn documents<'e>(&mut self, prefix: &str, entries: impl Iterator<Item = Entry<'e>>) -> Placed {
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

    /// Compares the folder of one environment. Files that are the same on both sides are passed over by name and id,
    /// unless another file could claim the same toggle.
    fn environment_folder(&mut self, prefix: &str, ours: &Tree, theirs: &Tree) {
        let (mut desired, mut recorded, mut differing) = (Vec::new(), Vec::new(), Vec::new());
        for (our, their) in Differing::new(ours, theirs) {
            let (our, their) = (our.filter(is_file), their.filter(is_file));
            if our.map(|entry| entry.id) == their.map(|entry| entry.id) {
                continue;
            }
            let names = our.into_iter().chain(their).map(|entry| stem(entry.name));
            differing.extend(names.map(<[u8]>::to_vec));
            desired.extend(our);
            recorded.extend(their);
        }
        let folder = format!("{prefix}/");
        let always = self
            .always
            .iter()
            .filter_map(|id| id.as_str().strip_prefix(folder.as_str()));
        differing.extend(always.map(|toggle| toggle.as_bytes().to_vec()));
        let same = ours.files() - desired.len();
        self.found.any_document |= same > 0;
        if differing.is_empty() {
            return;
        }
        // A file that is the same on both sides may still claim a toggle that differs.
        let differing = Names::new(differing);
        let is_wanted = |entry: &Entry<'_>| differing.contains(stem(entry.name));
        let is_new = |entry: &Entry<'_>| desired.binary_search_by(|one| one.name.cmp(entry.name)).is_err();
        let siblings = ours.entries().filter(is_file).filter(is_wanted).filter(is_new);
        let siblings: Vec<_> = siblings.collect();
        let with_siblings = |mut entries: Vec<_>| {
            entries.extend_from_slice(&siblings);
            entries.sort_by_key(|entry: &Entry<'_>| entry.name);
            entries.into_iter()
        };
        let recorded = applied_documents(prefix, with_siblings(recorded));
        let desired = with_siblings(desired);
        let desired = self.documents(prefix, desired);
        let left = if same == 0 { Left::OnlyThese } else { Left::Others };
        self.environment(desired, recorded, theirs.files(), left);
    }

    /// Compares the given documents of one environment, in which `count` toggles are applied.
    fn environment(&mut self, desired: Placed, applied: Placed, count: usize, left: Left) {
        let mut sides: BTreeMap<ToggleId, (Vec<File>, Option<File>)> = BTreeMap::new();
        let Some(environment) = desired
            .iter()
            .chain(&applied)
            .next()
            .map(|(id, _)| id.environment())
        else {
            return;
        };
        if left == Left::OnlyThese && desired.is_empty() {
            self.found.lost.insert(environment.clone());
        }
        self.found.applied_counts.insert(environment, count);
        for (id, file) in desired {
            sides.entry(id).or_default().0.push(file);
        }
        for (id, file) in applied {
            sides.entry(id).or_default().1 = Some(file);
        }
        for (id, (desired, applied)) in sides {
            if let Some(file) = desired.first() {
                self.fold(&id, &file.path);
            }
            if desired.len() > 1 && self.places.scope.contains(&id) {
                let paths: Vec<String> = desired.iter().map(|file| self.shown(&file.path)).collect();
                self.found.findings.extend(tree::duplicate(&id, &paths));
            }
            let same = matches!((desired.as_slice(), &applied), ([one], Some(other))
                if one.id == other.id && one.format == other.format);
            if !same || self.always.contains(&id) {
                self.found.differences.push(Difference { id, desired, applied });
            }
        }
    }

    /// Warns of toggles whose ids differ only in case: the service may fold them.
    fn fold(&mut self, id: &ToggleId, path: &str) {
        match self.folded.entry(id.as_str().to_ascii_lowercase()) {
            std::collections::hash_map::Entry::Vacant(free) => drop(free.insert(id.clone())),
            std::collections::hash_map::Entry::Occupied(taken) => {
                let finding = tree::case_fold(id, &join(self.places.root, path), taken.get());
                self.found.findings.push(finding);
            }
        }
    }

    fn not_utf8(&mut self, prefix: &str, name: &[u8]) {
        let path = [join(self.places.root, prefix).as_bytes(), b"/", name].concat();
        self.found
            .findings
            .push(tree::not_utf8_path(path.strip_prefix(b"/").unwrap_or(&path)));
    }

    /// Compares file by file, for layouts whose folders are not those of the state.
    fn everything(&mut self, roots: Roots) -> Outcome<S, A> {
        let mut environments: BTreeMap<EnvironmentId, (Placed, Placed)> = BTreeMap::new();
        let mut left = vec![(String::new(), roots.source)];
        while let Some((prefix, folder)) = left.pop() {
            let tree = self.source_tree(Some(folder))?;
            self.found.files += tree.files();
            for (id, file) in self.documents(&prefix, tree.entries()) {
                environments
                    .entry(id.environment())
                    .or_default()
                    .0
                    .push((id, file));
            }
            let inner = tree.folders().filter(|entry| !is_hidden(entry.name));
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
            self.environment(desired, applied, count, Left::OnlyThese);
        }
        Ok(())
    }

    fn finish(mut self) -> Comparison {
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

    fn source_tree(&self, tree: Option<ObjectId>) -> Result<Tree, CompareError<S::Error, A::Error>> {
        tree.map_or_else(
            || Ok(Tree::empty()),
            |tree| self.source.tree(tree).map_err(CompareError::Source),
        )
    }

    /// Reads an applied tree where the source has it too, as that of an earlier commit: beside its successor it costs
    /// little, and the search for commits asks for it again.
    fn applied_tree(&self, tree: Option<ObjectId>) -> Result<Tree, CompareError<S::Error, A::Error>> {
        let (Some(tree), Some(applied)) = (tree, self.applied) else {
            return Ok(Tree::empty());
        };
        match self.source.find_tree(tree) {
            Some(found) => Ok(found),
            None => applied.tree(tree).map_err(CompareError::Applied),
        }
    }
}

/// Whether an environment has documents besides those that are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Left {
    OnlyThese,
    Others,
}

fn is_file(entry: &Entry<'_>) -> bool {
    entry.kind() == EntryKind::Blob
}

/// A file's name without its last extension.
fn stem(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|byte| *byte == b'.')
        .map_or(name, |dot| &name[..dot])
}

/// The documents among some files of one folder of the state, whose layout is always the default one.
fn applied_documents<'e>(prefix: &str, entries: impl Iterator<Item = Entry<'e>>) -> Placed {
    let layout = Layout::default();
    entries
        .filter(is_file)
        .filter_map(|entry| {
            let path = join(prefix, std::str::from_utf8(entry.name).ok()?);
            match layout.place(path.as_bytes()) {
                Place::Document { id, format } => Some((
                    id,
                    File {
                        path,
                        format,
                        id: entry.id,
                    },
                )),
                _ => None,
            }
        })
        .collect()
}

/// Joins two parts of a path, either of which may be empty.
pub(crate) fn join(prefix: &str, name: &str) -> String {
    match (prefix, name) {
        ("", name) => name.to_owned(),
        (prefix, "") => prefix.to_owned(),
        (prefix, name) => format!("{prefix}/{name}"),
    }
}

/// A component that begins with `.` or `_` holds no documents.
fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}
