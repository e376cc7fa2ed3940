//! Classifies files and compares environments: which files claim which toggle, and which toggles differ.
//!
//! Ids that differ only in case are one toggle (src/model/README.md, "Ids"), and a file that is only
//! misspelled is not removed. Both show only when everything is collected, so [`Classifier::finish`] decides
//! about them.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use super::{AppliedTree, Claims, Comparison, Difference, File, Places, join};
use crate::document::{Diagnostic, Layout, PathKind, Unread, layout};
use crate::model::{EntryKind, EnvironmentId, FoldedId, ToggleId, Tree, TreeDiff, TreeEntry};

/// Files, by the toggle that they claim.
pub(super) type ToggleFiles = Vec<(ToggleId, File)>;

/// Collects the comparison while trees are walked. Reads no tree itself.
pub(super) struct Classifier<'a> {
    pub(super) places: Places<'a>,
    /// The toggles that are differences even if both sides are equal.
    always: &'a BTreeSet<ToggleId>,
    pub(super) found: Comparison,
    unread: Vec<UnreadFile>,
}

/// A file that is not read, although it is at the place of a document.
struct UnreadFile {
    path: String,
    id: ToggleId,
    why: Unread,
    /// The path of the toggle's document in the same folder.
    beside: Option<String>,
}

impl<'a> Classifier<'a> {
    pub(super) fn new(places: Places<'a>, always: &'a BTreeSet<ToggleId>) -> Self {
        Self { places, always, found: Comparison::default(), unread: Vec::new() }
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
        let (mut documents, known) = (ToggleFiles::new(), self.unread.len());
        for entry in entries.filter(is_no_folder) {
            match std::str::from_utf8(entry.name) {
                Ok(name) => documents.extend(self.place(&join(prefix, name), &entry)),
                Err(_) if is_file(&entry) && !is_hidden(entry.name) => self.not_utf8(prefix, entry.name),
                // No document has a hidden name or is a link, so its bytes do not matter.
                Err(_) => {}
            }
        }
        for unread in &mut self.unread[known..] {
            let mut same = documents.iter().filter(|(id, _)| id.folded() == unread.id.folded());
            unread.beside = same.next().map(|(id, file)| self.places.layout.path(id, file.format));
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

    fn place(&mut self, path: &str, entry: &TreeEntry<'_>) -> Option<(ToggleId, File)> {
        let id = entry.id;
        match self.places.layout.classify(path.as_bytes()) {
            PathKind::Document { id: toggle, format } if is_file(entry) => {
                self.found.any_document = true;
                return Some((toggle, File { format, id }));
            }
            PathKind::Document { id, .. } => self.not_read(path, id, Unread::Link),
            PathKind::Unread { id: Some(id), why } => self.not_read(path, id, why),
            // A link is never followed, so its name does not matter elsewhere.
            _ if !is_file(entry) => {}
            PathKind::Unread { id: None, why } => {
                self.found.findings.push(layout::not_read(&self.shown(path), why, None));
            }
            // A mistake outside `--only` must not stop the toggles inside it.
            PathKind::BadKey { claim, .. } if !self.places.scope.contains_text(&claim) => {}
            PathKind::BadKey { component, error, .. } => {
                let finding = layout::bad_key(&self.shown(path), &component, &error);
                self.found.findings.push(finding);
            }
            PathKind::Elsewhere => {
                let finding = layout::elsewhere(&self.shown(path), self.places.layout.pattern());
                self.found.findings.push(finding);
            }
            PathKind::Test { .. } | PathKind::Ignored => {}
        }
        None
    }

    fn not_read(&mut self, path: &str, id: ToggleId, why: Unread) {
        self.unread.push(UnreadFile { path: path.to_owned(), id, why, beside: None });
    }

    pub(super) fn not_utf8(&mut self, prefix: &str, name: &[u8]) {
        let path = [join(self.places.root, prefix).as_bytes(), b"/", name].concat();
        self.found.findings.push(layout::not_utf8_path(path.strip_prefix(b"/").unwrap_or(&path)));
    }

    /// Compares the folder of one environment. Skips files that are equal on both sides unless another file
    /// could claim the same toggle.
    pub(super) fn environment_folder(&mut self, prefix: &str, ours: &Tree, theirs: &Tree) {
        let (mut desired, mut recorded, mut differing) = (Vec::new(), Vec::new(), BTreeSet::new());
        for (our, their) in TreeDiff::new(ours, theirs) {
            let (our, their) = (our.filter(is_no_folder), their.filter(is_file));
            if our.filter(is_file).map(|entry| entry.id) == their.map(|entry| entry.id)
                && our.is_none_or(|entry| is_file(&entry))
            {
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
        let differing_files = desired.iter().filter(|entry| is_file(entry)).count();
        let (same, other) = match self.places.side {
            // It contains nothing but documents.
            AppliedTree::State => (files.count() - differing_files, recorded.len()),
            AppliedTree::Revision => {
                let all = self.count(prefix, files);
                let count = |entries: &[_]| self.count(prefix, entries.iter().copied().filter(is_file));
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

    /// Compares documents of one environment, in which `count` toggles are applied. `has_others` is set if
    /// the source has more documents there.
    pub(super) fn environment(
        &mut self,
        desired: ToggleFiles,
        applied: ToggleFiles,
        count: usize,
        has_others: bool,
    ) {
        let Some(environment) = desired.iter().chain(&applied).next().map(|(id, _)| id.environment()) else {
            return;
        };
        // An environment that loses all of its documents is held, not emptied (src/plan/README.md, "Missing
        // and invalid documents").
        if !has_others && desired.is_empty() {
            self.found.lost.insert(environment.clone());
        }
        self.found.applied_counts.insert(environment, count);
        let desired = desired
            .into_iter()
            .map(|(id, file)| Difference { desired: Claims::One(file), ..Difference::of(id) });
        let applied = applied
            .into_iter()
            .map(|(id, file)| Difference { applied: Claims::One(file), ..Difference::of(id) });
        let mut differences: Vec<Difference> = desired.chain(applied).collect();
        // Both sides are almost sorted, so this costs one comparison for each file, and a map about ten.
        differences.sort_by(|a, b| a.id.cmp(&b.id));
        differences.dedup_by(|next, first| {
            let is_same = next.id == first.id;
            if is_same {
                first.desired.add(&first.id, (&next.id, std::mem::take(&mut next.desired)));
                first.applied.add(&first.id, (&next.id, std::mem::take(&mut next.applied)));
            }
            is_same
        });
        // What did not change may still clash with another toggle, which shows only at the end.
        self.found.differences.extend(differences);
    }

    /// Finds clashes, renames and files that are not read, and sorts everything.
    pub(super) fn finish(mut self) -> Comparison {
        // First, because the file of an unknown toggle may be renamed too.
        self.add_unknown_without_files();
        self.unite();
        let always = self.always;
        let differences = &mut self.found.differences;
        differences.retain(|one| !one.is_unchanged() || always.contains(&one.id));
        let clashes = differences.iter().filter(|one| one.desired.is_clash());
        let clashes = clashes.filter(|one| self.places.scope.contains(&one.id));
        let clashes: Vec<_> = clashes.flat_map(|one| clash(one, &self.places)).collect();
        self.found.findings.extend(clashes);
        self.hold_unread();
        let is_removed = |one: &&Difference| matches!(one.desired, Claims::None | Claims::Unread(_));
        let removed = self.found.differences.iter().filter(is_removed);
        let emptied: BTreeSet<_> = removed.map(|one| one.id.environment()).collect();
        self.found.lost.retain(|lost| emptied.contains(lost));
        unite_counts(&mut self.found.applied_counts);
        self.found.differences.sort_by(|a, b| a.id.cmp(&b.id));
        self.found.findings.sort_unstable();
        self.found
    }

    /// Treats toggles whose ids differ only in case as one: their documents clash, and what has no document
    /// was renamed.
    fn unite(&mut self) {
        let differences = &mut self.found.differences;
        for group in same_toggle(differences) {
            merge(differences, &group, |one| &mut one.desired);
            // Otherwise, a clash that the revision had already would look new.
            if self.places.side == AppliedTree::Revision {
                merge(differences, &group, |one| &mut one.applied);
            }
            let (documents, others): (Vec<usize>, Vec<usize>) =
                group.iter().partition(|at| differences[**at].desired.has_document());
            let Some(Difference { id, desired, .. }) = documents.first().map(|at| differences[*at].clone())
            else {
                continue;
            };
            for at in others {
                differences[at].desired = Claims::Renamed;
                if let Some(file) = desired.first().filter(|_| self.places.scope.contains(&id)) {
                    let path = join(self.places.root, &self.places.layout.path(&id, file.format));
                    let finding = layout::case_only_difference(&id, &path, &differences[at].id);
                    self.found.findings.push(finding);
                }
            }
        }
    }

    /// Keeps the toggles whose file is only misspelled or a link: nobody removed them.
    fn hold_unread(&mut self) {
        if self.unread.is_empty() {
            return;
        }
        let mut held = HashSet::new();
        let unread = self.unread.iter().map(|file| (file.id.folded(), join(self.places.root, &file.path)));
        let unread: HashMap<FoldedId, String> = unread.collect();
        for one in self.found.differences.iter_mut().filter(|one| one.desired.is_empty()) {
            if let Some(path) = unread.get(&one.id.folded()) {
                one.desired = Claims::Unread(path.as_str().into());
                held.replace(one.id.folded());
            }
        }
        for UnreadFile { path, id, why, beside } in std::mem::take(&mut self.unread) {
            if self.places.scope.contains(&id) {
                let held = held.get(&id.folded()).map(FoldedId::spelled);
                let path = self.shown(&path);
                self.found.findings.push(match beside {
                    Some(document) => layout::not_read_beside(&path, why, &self.shown(&document)),
                    None => layout::not_read(&path, why, held),
                });
            }
        }
    }

    /// Adds the unknown toggles that have neither a file nor an applied document, which are in the plan like
    /// all others.
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
}

/// Returns the differences of toggles whose ids differ only in case, by index.
fn same_toggle(differences: &[Difference]) -> Vec<Vec<usize>> {
    let mut first = HashMap::with_capacity(differences.len());
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (at, one) in differences.iter().enumerate() {
        let first = *first.entry(one.id.folded()).or_insert(at);
        if first != at {
            groups.entry(first).or_insert_with(|| vec![first]).push(at);
        }
    }
    groups.into_values().collect()
}

/// Gives each toggle of a group that has a document on one side the documents of the others: each claims them
/// all.
fn merge(differences: &mut [Difference], group: &[usize], side: fn(&mut Difference) -> &mut Claims) {
    let mut own = Vec::new();
    for at in group {
        let claims = side(&mut differences[*at]).clone();
        if claims.has_document() {
            own.push((*at, differences[*at].id.clone(), claims));
        }
    }
    for (at, id, _) in &own {
        for (_, other, files) in own.iter().filter(|(other, ..)| other != at) {
            side(&mut differences[*at]).add(id, (other, files.clone()));
        }
    }
}

/// Returns one error for each file that claims a toggle together with another file.
fn clash(difference: &Difference, places: &Places<'_>) -> Vec<Diagnostic> {
    let (mut own, mut others) = (Vec::new(), Vec::new());
    for (toggle, path) in difference.desired.paths(&difference.id, places.layout) {
        let path = join(places.root, &path);
        if *toggle == difference.id {
            own.push(path);
        } else {
            others.push(path);
        }
    }
    layout::duplicate(&difference.id, &own, &others)
}

/// Counts the toggles of environments whose ids differ only in case together: they are one environment.
fn unite_counts(counts: &mut BTreeMap<EnvironmentId, usize>) {
    let folded = |environment: &EnvironmentId| environment.to_string().to_ascii_lowercase();
    let mut sums: HashMap<String, usize> = HashMap::new();
    for (environment, count) in &*counts {
        *sums.entry(folded(environment)).or_default() += count;
    }
    for (environment, count) in counts {
        *count = sums[&folded(environment)];
    }
}

/// Returns the rest of an id after `prefix`. The case does not matter, because a folder may be renamed.
fn under<'i>(id: &'i ToggleId, prefix: &str) -> Option<&'i str> {
    let (begin, rest) = id.as_str().split_at_checked(prefix.len())?;
    begin.eq_ignore_ascii_case(prefix).then_some(rest)
}

/// Returns whether sorted names in lower case contain a name in any case. Allocates nothing, because it is
/// called for every file.
fn contains_folded(names: &[Vec<u8>], name: &[u8]) -> bool {
    let order = |other: &Vec<u8>| other.iter().copied().cmp(name.iter().map(u8::to_ascii_lowercase));
    names.binary_search_by(order).is_ok()
}

/// Returns a file's name without its last extension.
fn stem(name: &[u8]) -> &[u8] {
    name.iter().rposition(|byte| *byte == b'.').map_or(name, |dot| &name[..dot])
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
            let (toggle, format) = layout.recorded(path.as_bytes())?;
            Some((toggle, File { format, id: entry.id }))
        })
        .collect()
}

fn is_file(entry: &TreeEntry<'_>) -> bool {
    entry.kind() == EntryKind::Blob
}

/// Returns whether an entry is a file or a link, which is never followed, but shows that nobody removed the
/// document.
fn is_no_folder(entry: &TreeEntry<'_>) -> bool {
    entry.kind() != EntryKind::Tree
}

/// Returns whether a component begins with `.` or `_`, so that no document is under it.
pub(super) fn is_hidden(name: &[u8]) -> bool {
    matches!(name.first(), Some(b'.' | b'_'))
}
