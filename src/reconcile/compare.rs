//! Desired against applied, by object id: the two trees are walked side by side and equal folders are skipped.
//!
//! Nothing is read or parsed here. With the default layout both trees have one shape, so that a commit that
//! touches ten files costs ten folders; any other layout is compared file by file (DESIGN, section 4, "Compare").

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::document::{Diagnostic, Format, Layout, Place, tree};
use crate::model::{Entry, EntryKind, EnvironmentId, ObjectId, ToggleId, Trees};

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
/// (their last outcome is unknown); `root` is what findings put before a path.
pub(crate) fn compare<S: Trees, A: Trees>(
    source: &S,
    applied: Option<&A>,
    roots: Roots,
    layout: &Layout,
    root: &str,
    always: &BTreeSet<ToggleId>,
) -> Result<Comparison, CompareError<S::Error, A::Error>> {
    let mut walk = Walk {
        source,
        applied,
        layout,
        root,
        always,
        found: Comparison::default(),
        folded: HashMap::new(),
    };
    if layout.is_default_shape() {
        walk.folder("", 0, Some(roots.source), roots.applied)?;
    } else {
        walk.everything(roots)?;
    }
    Ok(walk.finish())
}

struct Walk<'a, S, A> {
    source: &'a S,
    applied: Option<&'a A>,
    layout: &'a Layout,
    root: &'a str,
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
        let ours = self.source_entries(source)?;
        let theirs = self.applied_entries(applied)?;
        self.found.files += blobs(&ours).count();
        if depth == ENVIRONMENT_DEPTH {
            self.environment_folder(prefix, &ours, &theirs);
        } else {
            self.documents(prefix, ours.iter());
        }
        self.subfolders(prefix, depth, &ours, &theirs)
    }

    fn subfolders(&mut self, prefix: &str, depth: usize, ours: &[Entry], theirs: &[Entry]) -> Outcome<S, A> {
        let mut pairs: BTreeMap<&[u8], (Option<ObjectId>, Option<ObjectId>)> = BTreeMap::new();
        for entry in ours
            .iter()
            .filter(|entry| entry.kind == EntryKind::Tree && !is_hidden(&entry.name))
        {
            pairs.entry(&entry.name).or_default().0 = Some(entry.id);
        }
        if depth < ENVIRONMENT_DEPTH {
            for entry in theirs.iter().filter(|entry| entry.kind == EntryKind::Tree) {
                pairs.entry(&entry.name).or_default().1 = Some(entry.id);
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
    fn documents<'e>(&mut self, prefix: &str, entries: impl Iterator<Item = &'e Entry>) -> Placed {
        let mut documents = Vec::new();
        for entry in entries.filter(|entry| entry.kind == EntryKind::Blob) {
            match std::str::from_utf8(&entry.name) {
                Ok(name) => documents.extend(self.place(join(prefix, name), entry.id)),
                Err(_) if is_hidden(&entry.name) => {}
                Err(_) => self.not_utf8(prefix, &entry.name),
            }
        }
        documents
    }

    fn place(&mut self, path: String, id: ObjectId) -> Option<(ToggleId, File)> {
        match self.layout.place(path.as_bytes()) {
            Place::Document { id: toggle, format } => {
                self.found.any_document = true;
                return Some((toggle, File { path, format, id }));
            }
            Place::BadKey { component, error } => {
                let finding = tree::bad_key(&self.shown(&path), &component, &error);
                self.found.findings.push(finding);
            }
            Place::Elsewhere => {
                let finding = tree::elsewhere(&self.shown(&path), self.layout.pattern());
                self.found.findings.push(finding);
            }
            Place::Ignored => {}
        }
        None
    }

    /// Compares the folder of one environment. Files that are the same on both sides are passed over by name and id,
    /// unless another file could claim the same toggle.
    fn environment_folder(&mut self, prefix: &str, ours: &[Entry], theirs: &[Entry]) {
        let (ours, theirs): (Vec<_>, Vec<_>) = (blobs(ours).collect(), blobs(theirs).collect());
        let (mut same, mut differing) = (0, BTreeSet::new());
        for (our, their) in pairs(&ours, &theirs) {
            match (our, their) {
                (Some(our), Some(their)) if our.id == their.id => same += 1,
                (Some(entry), _) | (None, Some(entry)) => {
                    differing.insert(stem(&entry.name).to_ascii_lowercase());
                }
                (None, None) => {}
            }
        }
        let folder = format!("{prefix}/");
        let always = self
            .always
            .iter()
            .filter_map(|id| id.as_str().strip_prefix(folder.as_str()));
        differing.extend(always.map(|toggle| toggle.to_ascii_lowercase().into_bytes()));
        self.found.any_document |= same > 0;
        if differing.is_empty() {
            return;
        }
        let wanted = |entry: &&Entry| differing.contains(&stem(&entry.name).to_ascii_lowercase());
        let count = theirs.len();
        let desired = self.documents(prefix, ours.into_iter().filter(wanted));
        let recorded = applied_documents(prefix, theirs.into_iter().filter(wanted));
        let left = if same == 0 { Left::OnlyThese } else { Left::Others };
        self.environment(desired, recorded, count, left);
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
            if desired.len() > 1 {
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
                let finding = tree::case_fold(id, &join(self.root, path), taken.get());
                self.found.findings.push(finding);
            }
        }
    }

    fn not_utf8(&mut self, prefix: &str, name: &[u8]) {
        let path = [join(self.root, prefix).as_bytes(), b"/", name].concat();
        self.found
            .findings
            .push(tree::not_utf8_path(path.strip_prefix(b"/").unwrap_or(&path)));
    }

    /// Compares file by file, for layouts whose folders are not those of the state.
    fn everything(&mut self, roots: Roots) -> Outcome<S, A> {
        let mut environments: BTreeMap<EnvironmentId, (Placed, Placed)> = BTreeMap::new();
        let mut folders = vec![(String::new(), roots.source)];
        while let Some((prefix, folder)) = folders.pop() {
            let entries = self.source_entries(Some(folder))?;
            self.found.files += blobs(&entries).count();
            for (id, file) in self.documents(&prefix, entries.iter()) {
                environments
                    .entry(id.environment())
                    .or_default()
                    .0
                    .push((id, file));
            }
            let inner = entries
                .iter()
                .filter(|e| e.kind == EntryKind::Tree && !is_hidden(&e.name));
            folders.extend(inner.map(|e| (join(&prefix, &String::from_utf8_lossy(&e.name)), e.id)));
        }
        let mut folders: Vec<(String, ObjectId)> =
            roots.applied.map(|id| (String::new(), id)).into_iter().collect();
        while let Some((prefix, folder)) = folders.pop() {
            let entries = self.applied_entries(Some(folder))?;
            for (id, file) in applied_documents(&prefix, blobs(&entries)) {
                environments
                    .entry(id.environment())
                    .or_default()
                    .1
                    .push((id, file));
            }
            let inner = entries.iter().filter(|e| e.kind == EntryKind::Tree);
            folders.extend(inner.map(|e| (join(&prefix, &String::from_utf8_lossy(&e.name)), e.id)));
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
        join(self.root, path)
    }

    fn source_entries(&self, tree: Option<ObjectId>) -> Result<Vec<Entry>, CompareError<S::Error, A::Error>> {
        tree.map_or(Ok(Vec::new()), |tree| {
            self.source.entries(tree).map_err(CompareError::Source)
        })
    }

    fn applied_entries(
        &self,
        tree: Option<ObjectId>,
    ) -> Result<Vec<Entry>, CompareError<S::Error, A::Error>> {
        match (tree, self.applied) {
            (Some(tree), Some(applied)) => applied.entries(tree).map_err(CompareError::Applied),
            _ => Ok(Vec::new()),
        }
    }
}

/// Whether an environment has documents besides those that are compared.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Left {
    OnlyThese,
    Others,
}

/// Pairs two lists of files, both sorted by name as Git sorts files, by name.
fn pairs<'e>(
    ours: &[&'e Entry],
    theirs: &[&'e Entry],
) -> impl Iterator<Item = (Option<&'e Entry>, Option<&'e Entry>)> {
    let (mut ours, mut theirs) = (ours.iter().copied().peekable(), theirs.iter().copied().peekable());
    std::iter::from_fn(move || {
        let order = match (ours.peek(), theirs.peek()) {
            (Some(our), Some(their)) => our.name.cmp(&their.name),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        Some(match order {
            Ordering::Less => (ours.next(), None),
            Ordering::Equal => (ours.next(), theirs.next()),
            Ordering::Greater => (None, theirs.next()),
        })
    })
}

fn blobs(entries: &[Entry]) -> impl Iterator<Item = &Entry> {
    entries.iter().filter(|entry| entry.kind == EntryKind::Blob)
}

/// A file's name without its last extension.
fn stem(name: &[u8]) -> &[u8] {
    name.iter()
        .rposition(|byte| *byte == b'.')
        .map_or(name, |dot| &name[..dot])
}

/// The documents among some files of one folder of the state, whose layout is always the default one.
fn applied_documents<'e>(prefix: &str, entries: impl Iterator<Item = &'e Entry>) -> Placed {
    let layout = Layout::default();
    entries
        .filter_map(|entry| {
            let path = join(prefix, std::str::from_utf8(&entry.name).ok()?);
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

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use sha1::{Digest, Sha1};

    use super::*;
    use crate::model::Blob;

    /// Trees made of paths and contents; ids follow from content, as Git's do.
    #[derive(Default)]
    struct Memory(HashMap<ObjectId, Vec<Entry>>);

    fn id_of(text: &str) -> ObjectId {
        let digest = Sha1::digest(text);
        ObjectId(digest.as_slice().try_into().unwrap())
    }

    impl Memory {
        fn tree(&mut self, files: &[(&str, &str)]) -> ObjectId {
            let mut folders: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
            let mut entries = Vec::new();
            for (path, content) in files {
                match path.split_once('/') {
                    Some((folder, rest)) => folders.entry(folder).or_default().push((rest, content)),
                    None => {
                        let id = id_of(content);
                        entries.push(Entry {
                            name: path.as_bytes().to_vec(),
                            kind: EntryKind::Blob,
                            id,
                        });
                    }
                }
            }
            for (folder, files) in folders {
                let id = self.tree(&files);
                entries.push(Entry {
                    name: folder.as_bytes().to_vec(),
                    kind: EntryKind::Tree,
                    id,
                });
            }
            entries.sort_by(|a, b| a.name.cmp(&b.name));
            let id = id_of(&format!("{entries:?}"));
            self.0.insert(id, entries);
            id
        }
    }

    impl Trees for Memory {
        type Error = Infallible;

        fn entries(&self, tree: ObjectId) -> Result<Vec<Entry>, Infallible> {
            Ok(self.0[&tree].clone())
        }

        fn blob(&self, _: ObjectId, _: usize) -> Result<Blob, Infallible> {
            unreachable!("nothing is read to compare")
        }
    }

    fn compared(
        layout: &str,
        source: &[(&str, &str)],
        applied: &[(&str, &str)],
        always: &[&str],
    ) -> Comparison {
        let mut trees = Memory::default();
        let roots = Roots {
            source: trees.tree(source),
            applied: Some(trees.tree(applied)),
        };
        let always = always.iter().map(|id| id.parse().unwrap()).collect();
        let found = compare(&trees, Some(&trees), roots, &layout.parse().unwrap(), "", &always);
        found.unwrap_or_else(|_| unreachable!("memory never fails"))
    }

    const DEFAULT: &str = "{project}/{environment}/{toggle}.yaml";
    const OTHER: &str = "{environment}/{project}/{toggle}.yaml";

    /// Says `toggle: desired paths <- applied path` for each difference.
    fn shown(found: &Comparison) -> Vec<String> {
        let paths = |files: &[File]| {
            files
                .iter()
                .map(|file| file.path.clone())
                .collect::<Vec<_>>()
                .join("+")
        };
        let line = |one: &Difference| {
            let applied = one.applied.as_ref().map_or("", |file| &file.path);
            format!("{}: {} <- {applied}", one.id, paths(&one.desired))
        };
        found.differences.iter().map(line).collect()
    }

    #[test]
    fn what_differs_is_found_and_what_is_equal_is_not() {
        let applied = [
            ("p/e/a.yaml", "1"),
            ("p/e/b.yaml", "1"),
            ("p/e/c.yaml", "1"),
            ("q/e/a.yaml", "1"),
        ];
        let source = [
            ("p/e/a.yaml", "1"),
            ("p/e/b.yaml", "2"),
            ("p/e/d.json", "1"),
            ("q/e/a.yaml", "1"),
        ];
        let found = compared(DEFAULT, &source, &applied, &[]);
        let expected = [
            "p/e/b: p/e/b.yaml <- p/e/b.yaml",
            "p/e/c:  <- p/e/c.yaml",
            "p/e/d: p/e/d.json <- ",
        ];
        assert_eq!(shown(&found), expected);
        assert_eq!(found.applied_counts.values().collect::<Vec<_>>(), [&3]);
        assert!(found.findings.is_empty() && found.lost.is_empty() && found.any_document);
    }

    #[test]
    fn another_layout_finds_the_same() {
        let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1"), ("q/e/a.yaml", "1")];
        let source = [("e/p/a.yaml", "1"), ("e/p/b.yaml", "2"), ("e/q/a.yaml", "1")];
        let found = compared(OTHER, &source, &applied, &[]);
        assert_eq!(shown(&found), ["p/e/b: e/p/b.yaml <- p/e/b.yaml"]);
    }

    #[test]
    fn two_files_for_one_toggle_are_found_even_where_one_is_applied() {
        let found = compared(
            DEFAULT,
            &[("p/e/a.yaml", "1"), ("p/e/a.yml", "1")],
            &[("p/e/a.yaml", "1")],
            &[],
        );
        assert_eq!(shown(&found), ["p/e/a: p/e/a.yaml+p/e/a.yml <- p/e/a.yaml"]);
        assert_eq!(found.findings.len(), 2);
    }

    #[test]
    fn a_change_of_extension_alone_is_a_difference() {
        let found = compared(DEFAULT, &[("p/e/a.yml", "1")], &[("p/e/a.yaml", "1")], &[]);
        assert_eq!(shown(&found), ["p/e/a: p/e/a.yml <- p/e/a.yaml"]);
    }

    #[test]
    fn an_environment_without_documents_is_lost_and_the_others_are_not() {
        let applied = [("p/e/a.yaml", "1"), ("p/f/a.yaml", "1"), ("q/e/a.yaml", "1")];
        let found = compared(
            DEFAULT,
            &[("p/e/a.yaml", "2"), ("q/README.md", "")],
            &applied,
            &[],
        );
        let lost: Vec<String> = found.lost.iter().map(ToString::to_string).collect();
        assert_eq!(lost, ["p/f", "q/e"]);
    }

    #[test]
    fn an_unknown_toggle_is_always_a_difference() {
        let files = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
        let found = compared(DEFAULT, &files, &files, &["p/e/a", "x/y/z"]);
        assert_eq!(shown(&found), ["p/e/a: p/e/a.yaml <- p/e/a.yaml", "x/y/z:  <- "]);
    }

    #[test]
    fn odd_paths_are_told_about_and_hidden_ones_are_not() {
        let source = [
            ("p/e/a.yaml", "1"),
            ("p/e/A.yaml", "2"),
            ("p/e/deep/b.yaml", "1"),
            ("p/stray.yml", "1"),
            ("p/e/b c.yaml", "1"),
            (".github/workflows/ci.yml", "1"),
            ("p/_drafts/x.yaml", "1"),
            ("p/e/a.test.yaml", "1"),
            ("README.md", "1"),
        ];
        let found = compared(DEFAULT, &source, &[], &[]);
        assert_eq!(shown(&found), ["p/e/A: p/e/A.yaml <- ", "p/e/a: p/e/a.yaml <- "]);
        let mut findings: Vec<(&str, &str)> = found
            .findings
            .iter()
            .map(|finding| (finding.path.as_str(), finding.id))
            .collect();
        findings.sort_unstable();
        let expected = [
            ("p/e/a.yaml", "case-only-difference"),
            ("p/e/b c.yaml", "bad-key"),
            ("p/e/deep/b.yaml", "elsewhere"),
            ("p/stray.yml", "elsewhere"),
        ];
        assert_eq!(findings, expected);
    }
}
