//! Classifies files and compares environments: which files claim which toggle, and which toggles differ.

use std::collections::hash_map::Entry as Seen;
use std::collections::{BTreeSet, HashMap};

use super::folded::FoldedId;
use super::{AppliedTree, Claims, Comparison, Difference, File, Places, clash, join};
use crate::document::{Layout, PathKind, tree};
use crate::model::{EntryKind, ObjectId, ServiceKind, ToggleId, Tree, TreeDiff, TreeEntry};

/// Files, by the toggle that they claim.
pub(super) type ToggleFiles = Vec<(ToggleId, File)>;

/// Collects the comparison while trees are walked. Reads no tree itself.
pub(super) struct Classifier<'a> {
    pub(super) places: Places<'a>,
    /// The toggles that are differences even if both sides are equal.
    always: &'a BTreeSet<ToggleId>,
    pub(super) found: Comparison,
    /// All toggles so far, and whether a finding about the toggle is wanted.
    folded: HashMap<FoldedId, bool>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(places: Places<'a>, always: &'a BTreeSet<ToggleId>) -> Self {
        Self {
            places,
            always,
            found: Comparison::default(),
            folded: HashMap::new(),
        }
    }

    /// Returns whether `always` has a toggle under `prefix`.
    pub(super) fn is_always(&self, prefix: &str) -> bool {
        self.always.iter().any(|id| under(id, prefix).is_some())
    }

    /// Returns the documents among `entries` of one folder of the source. Reports misplaced files.
    pub(super) fn documents<'e>(
        &mut self,
        prefix: &str,
        entries: impl Iterator<Item = TreeEntry<'e>>,
    ) -> ToggleFiles {
        let mut documents = Vec::new();
        for entry in entries.filter(is_file) {
            match std::str::from_utf8(entry.name) {
                Ok(name) => documents.extend(self.place(&join(prefix, name), entry.id)),
                // No document has a hidden name, so its bytes do not matter.
                Err(_) if is_hidden(entry.name) => {}
                Err(_) => self.not_utf8(prefix, entry.name),
            }
        }
        documents
    }

    /// Returns the documents among `entries` of one folder of the applied tree.
    pub(super) fn applied_documents<'e>(
        &self,
        prefix: &str,
        entries: impl Iterator<Item = TreeEntry<'e>>,
    ) -> ToggleFiles {
        documents_among(&self.places.side.layout(self.places.layout), prefix, entries)
    }

    /// Returns the number of documents among the files of one folder at a revision.
    fn count<'e>(&self, prefix: &str, files: impl Iterator<Item = TreeEntry<'e>>) -> usize {
        self.places.layout.count(prefix, files.map(|file| file.name))
    }

    fn place(&mut self, path: &str, id: ObjectId) -> Option<(ToggleId, File)> {
        match self.places.layout.classify(path.as_bytes()) {
            PathKind::Document { id: toggle, format } => {
                self.found.any_document = true;
                return Some((toggle, File { format, id }));
            }
            // A mistake outside `--only` must not stop the toggles inside it.
            PathKind::BadKey { claim, .. } if !self.places.scope.contains_text(&claim) => {}
            PathKind::BadKey { component, error, .. } => {
                let finding = tree::bad_key(&self.shown(path), &component, &error);
                self.found.findings.push(finding);
            }
            PathKind::Elsewhere => {
                let finding = tree::elsewhere(&self.shown(path), self.places.layout.pattern());
                self.found.findings.push(finding);
            }
            PathKind::ExtensionCase => {
                let finding = tree::extension_case(&self.shown(path));
                self.found.findings.push(finding);
            }
            PathKind::Ignored => {}
        }
        None
    }

    pub(super) fn not_utf8(&mut self, prefix: &str, name: &[u8]) {
        let path = [join(self.places.root, prefix).as_bytes(), b"/", name].concat();
        self.found
            .findings
            .push(tree::not_utf8_path(path.strip_prefix(b"/").unwrap_or(&path)));
    }

    /// Compares the folder of one environment. Skips files that are equal on both sides unless another file could claim
    /// the same toggle.
    pub(super) fn environment_folder(&mut self, prefix: &str, ours: &Tree, theirs: &Tree, is_twin: bool) {
        if is_twin {
            // Every toggle may clash with one of the twin folder, so no file is skipped.
            let recorded = self.applied_documents(prefix, theirs.entries());
            let desired = self.documents(prefix, ours.entries());
            let count = recorded.len();
            return self.environment(desired, recorded, count, false);
        }
        let (mut desired, mut recorded, mut differing) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (our, their) in TreeDiff::new(ours, theirs) {
            let (our, their) = (our.filter(is_file), their.filter(is_file));
            if our.map(|entry| entry.id) == their.map(|entry| entry.id) {
                continue;
            }
            let names = our.into_iter().chain(their).map(|entry| stem(entry.name));
            // In lower case, because files whose keys differ only in case can clash.
            differing.extend(names.map(<[u8]>::to_ascii_lowercase));
            desired.extend(our);
            recorded.extend(their);
        }
        let folder = format!("{prefix}/");
        let always = self.always.iter().filter_map(|id| under(id, &folder));
        differing.extend(always.map(|toggle| toggle.to_ascii_lowercase().into_bytes()));
        // A file that is equal on both sides may still claim a toggle that differs.
        let differing: Vec<Vec<u8>> = differing.into_iter().collect();
        let is_new = |name| desired.binary_search_by(|one| one.name.cmp(name)).is_err();
        let mut siblings = Vec::new();
        // In one pass with the count, because it parses every entry.
        let files = ours.entries().filter(is_file).inspect(|entry| {
            if contains_folded(&differing, stem(entry.name)) && is_new(entry.name) {
                siblings.push(*entry);
            }
        });
        let (same, other) = match self.places.side {
            // It contains nothing but documents.
            AppliedTree::State => (files.count() - desired.len(), recorded.len()),
            AppliedTree::Revision => {
                let all = self.count(prefix, files);
                let count = |entries: &[_]| self.count(prefix, entries.iter().copied());
                (all - count(&desired), count(&recorded))
            }
        };
        self.found.any_document |= same > 0;
        if differing.is_empty() {
            return;
        }
        let with_siblings = |mut entries: Vec<_>| {
            entries.extend_from_slice(&siblings);
            entries.sort_by_key(|entry: &TreeEntry<'_>| entry.name);
            entries.into_iter()
        };
        let recorded = self.applied_documents(prefix, with_siblings(recorded));
        let desired = with_siblings(desired);
        let desired = self.documents(prefix, desired);
        self.environment(desired, recorded, same + other, same > 0);
    }

    /// Compares documents of one environment, in which `count` toggles are applied. `has_others` is set if the source has
    /// more documents there.
    pub(super) fn environment(
        &mut self,
        desired: ToggleFiles,
        applied: ToggleFiles,
        count: usize,
        has_others: bool,
    ) {
        let Some(environment) = desired
            .iter()
            .chain(&applied)
            .next()
            .map(|(id, _)| id.environment())
        else {
            return;
        };
        // An environment that loses all of its documents is held, not emptied (DESIGN, section 5).
        if !has_others && desired.is_empty() {
            self.found.lost.insert(environment.clone());
        }
        self.found.applied_counts.insert(environment, count);
        let desired = desired.into_iter().map(|(id, file)| Difference {
            desired: Claims::One(file),
            ..Difference::of(id)
        });
        let applied = applied.into_iter().map(|(id, file)| Difference {
            applied: Claims::One(file),
            ..Difference::of(id)
        });
        let mut differences: Vec<Difference> = desired.chain(applied).collect();
        // Both sides are almost sorted, so this costs one comparison for each file, and a map about ten.
        differences.sort_by(|a, b| a.id.cmp(&b.id));
        differences.dedup_by(|next, first| {
            let is_same = next.id == first.id;
            if is_same {
                first
                    .desired
                    .add(&first.id, (&next.id, std::mem::take(&mut next.desired)));
                first
                    .applied
                    .add(&first.id, (&next.id, std::mem::take(&mut next.applied)));
            }
            is_same
        });
        for difference in differences {
            self.fold(&difference);
            if self.is_relevant(&difference) {
                self.found.differences.push(difference);
            }
        }
    }

    /// Adds the clashes, which show only at the end, and sorts everything.
    pub(super) fn finish(mut self) -> Comparison {
        // First, because the file of an unknown toggle may be renamed too.
        self.add_unknown_without_files();
        let differences = &mut self.found.differences;
        let mut renamed = clash::renamed(differences, &self.folded);
        if self.places.kind == ServiceKind::FeatureProbe {
            // The environment has its documents under a name that is equal to the service.
            let is_removed = |one: &&Difference| {
                one.desired.is_empty() && !one.applied.is_empty() && !renamed.contains_key(&one.id)
            };
            let emptied: BTreeSet<_> = differences
                .iter()
                .filter(is_removed)
                .map(|one| one.id.environment())
                .collect();
            self.found.lost.retain(|lost| emptied.contains(lost));
            // Otherwise, a clash that the revision had already would look new. Before the inheritance, because a former
            // name is not a second file.
            if self.places.side == AppliedTree::Revision {
                clash::merge(differences, |one| &mut one.applied);
            }
            clash::inherit(differences, &mut renamed, self.always);
            clash::merge(differences, |one| &mut one.desired);
            // Unchanged toggles were kept only to find clashes.
            differences.retain(|one| !one.is_unchanged() || self.always.contains(&one.id));
        }
        self.found.renamed = renamed;
        let clashes = clash::duplicates(differences, &self.places);
        self.found.findings.extend(clashes);
        self.found.differences.sort_by(|a, b| a.id.cmp(&b.id));
        self.found.findings.sort();
        self.found
    }

    /// Adds the unknown toggles that have neither a file nor an applied document, which are in the plan like all others.
    fn add_unknown_without_files(&mut self) {
        let mut nowhere = self.always.clone();
        for found in &self.found.differences {
            nowhere.remove(&found.id);
        }
        let nowhere = nowhere.into_iter();
        self.found.differences.extend(nowhere.map(Difference::of));
    }

    fn shown(&self, path: &str) -> String {
        join(self.places.root, path)
    }

    /// Returns whether a difference stays in the comparison.
    fn is_relevant(&self, difference: &Difference) -> bool {
        !difference.is_unchanged()
            || self.always.contains(&difference.id)
            // Equal sides may still clash with another toggle, which shows only at the end.
            || self.places.kind == ServiceKind::FeatureProbe
    }

    /// Warns of toggles whose ids differ only in case: the documented API does not define whether they are equal.
    fn fold(&mut self, difference: &Difference) {
        let id = &difference.id;
        // FeatureProbe folds keys, so such toggles are errors there, which `clash` finds.
        let file = match (difference.desired.first(), self.places.kind) {
            (Some(file), ServiceKind::Documented) => file,
            _ => return,
        };
        // The findings of a comparison of revisions are about what changed.
        let is_new = self.places.side == AppliedTree::State || !difference.is_unchanged();
        match self.folded.entry(FoldedId::from(id)) {
            Seen::Vacant(free) => drop(free.insert(is_new)),
            Seen::Occupied(taken) if is_new || *taken.get() => {
                let path = join(self.places.root, &self.places.layout.path(id, file.format));
                let finding = tree::case_fold(id, &path, taken.key().id());
                self.found.findings.push(finding);
            }
            Seen::Occupied(_) => {}
        }
    }
}

/// Returns the rest of an id after `prefix`. The case does not matter, because a folder may be renamed.
fn under<'i>(id: &'i ToggleId, prefix: &str) -> Option<&'i str> {
    let (begin, rest) = id.as_str().split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns whether sorted names in lower case contain a name in any case. Allocates nothing, because it is called for every
/// file.
fn contains_folded(names: &[Vec<u8>], name: &[u8]) -> bool {
    let order = |other: &Vec<u8>| other.iter().copied().cmp(name.iter().map(u8::to_ascii_lowercase));
    names.binary_search_by(order).is_ok()
}

/// Returns a file's name without its last extension.
fn stem(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|byte| *byte == b'.')
        .map_or(name, |dot| &name[..dot])
}

/// Returns the documents among `entries` of one folder.
fn documents_among<'e>(
    layout: &Layout,
    prefix: &str,
    entries: impl Iterator<Item = TreeEntry<'e>>,
) -> ToggleFiles {
    entries
        .filter(is_file)
        .filter_map(|entry| {
            let path = join(prefix, std::str::from_utf8(entry.name).ok()?);
            match layout.classify(path.as_bytes()) {
                PathKind::Document { id: toggle, format } => Some((toggle, File { format, id: entry.id })),
                _ => None,
            }
        })
        .collect()
}

fn is_file(entry: &TreeEntry<'_>) -> bool {
    entry.kind() == EntryKind::Blob
}

/// Returns whether a component begins with `.` or `_`, so that no document is under it.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}
