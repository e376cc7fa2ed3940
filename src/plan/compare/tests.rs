//! Comparing two trees, by tables.

use std::collections::{BTreeMap, HashMap};
use std::convert::Infallible;

use sha1::{Digest, Sha1};

use super::*;
use crate::model::{Blob, ObjectId, Scope, Tree, TreeEntry, Trees};

/// Trees made of paths and contents; ids follow from content, as Git's do.
#[derive(Default)]
struct Memory(HashMap<ObjectId, Tree>);

fn id_of(content: impl AsRef<[u8]>) -> ObjectId {
    let digest = Sha1::digest(content);
    ObjectId(digest.as_slice().try_into().unwrap())
}

impl Memory {
    fn keep(&mut self, files: &[(&str, &str)]) -> ObjectId {
        let mut folders: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
        let mut entries = Vec::new();
        for (path, content) in files {
            match path.split_once('/') {
                Some((folder, rest)) => folders.entry(folder).or_default().push((rest, content)),
                None => entries.push(TreeEntry::file(path.as_bytes(), id_of(content))),
            }
        }
        for (folder, files) in folders {
            entries.push(TreeEntry::folder(folder.as_bytes(), self.keep(&files)));
        }
        let tree = Tree::of(entries);
        let id = id_of(tree.bytes());
        self.0.insert(id, tree);
        id
    }
}

impl Trees for Memory {
    type Error = Infallible;

    fn tree(&self, tree: ObjectId) -> Result<Tree, Infallible> {
        Ok(self.0[&tree].clone())
    }

    fn find_tree(&self, tree: ObjectId) -> Option<Tree> {
        self.0.get(&tree).cloned()
    }

    fn blob(&self, _: ObjectId, _: usize) -> Result<Blob, Infallible> {
        unreachable!("nothing is read to compare")
    }
}

/// Memory never fails.
#[derive(Debug)]
struct Fault;

impl From<Infallible> for Fault {
    fn from(never: Infallible) -> Self {
        match never {}
    }
}

impl From<TooManyFiles> for Fault {
    fn from(_: TooManyFiles) -> Self {
        Self
    }
}

fn compared(layout: &str, source: &[(&str, &str)], applied: &[(&str, &str)], always: &[&str]) -> Comparison {
    compared_with(AppliedTree::State, layout, source, applied, always)
}

/// Compares two revisions.
fn between(layout: &str, source: &[(&str, &str)], base: &[(&str, &str)]) -> Comparison {
    compared_with(AppliedTree::Revision, layout, source, base, &[])
}

fn compared_with(
    side: AppliedTree,
    layout: &str,
    source: &[(&str, &str)],
    applied: &[(&str, &str)],
    always: &[&str],
) -> Comparison {
    let mut trees = Memory::default();
    let roots = Roots { source: trees.keep(source), applied: Some(trees.keep(applied)) };
    let always = always.iter().map(|id| id.parse().unwrap()).collect();
    let places =
        Places { layout: &layout.parse().unwrap(), root: "", scope: &Scope::default(), others: &[], side };
    compare::<_, _, Fault>(&trees, Some(&trees), roots, &places, &always).unwrap()
}

const DEFAULT: &str = "{project}/{environment}/{toggle}.yaml";
const OTHER: &str = "{environment}/{project}/{toggle}.yaml";

/// Says `toggle: desired paths <- applied path` for each difference, with the layouts of both sides.
fn shown(found: &Comparison, [source, applied]: [&str; 2]) -> Vec<String> {
    let paths = |layout: &str, files: &Claims, id: &ToggleId| {
        let layout = layout.parse().unwrap();
        let paths = files.paths(id, &layout).map(|(_, path)| path);
        paths.collect::<Vec<_>>().join("+")
    };
    let line = |one: &Difference| {
        let desired = paths(source, &one.desired, &one.id);
        let recorded = paths(applied, &one.applied, &one.id);
        format!("{}: {desired} <- {recorded}", one.id)
    };
    found.differences.iter().map(line).collect()
}

#[test]
fn what_differs_is_found_and_what_is_equal_is_not() {
    let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1"), ("p/e/c.yaml", "1"), ("q/e/a.yaml", "1")];
    let source = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "2"), ("p/e/d.yml", "1"), ("q/e/a.yaml", "1")];
    let found = compared(DEFAULT, &source, &applied, &[]);
    let expected = ["p/e/b: p/e/b.yaml <- p/e/b.yaml", "p/e/c:  <- p/e/c.yaml", "p/e/d: p/e/d.yml <- "];
    assert_eq!(shown(&found, [DEFAULT; 2]), expected);
    assert_eq!(found.applied_counts.values().collect::<Vec<_>>(), [&3]);
    assert!(found.findings.is_empty() && found.lost.is_empty() && found.any_document);
}

#[test]
fn another_layout_finds_the_same() {
    let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1"), ("q/e/a.yaml", "1")];
    let source = [("e/p/a.yaml", "1"), ("e/p/b.yaml", "2"), ("e/q/a.yaml", "1")];
    let found = compared(OTHER, &source, &applied, &[]);
    assert_eq!(shown(&found, [OTHER, DEFAULT]), ["p/e/b: e/p/b.yaml <- p/e/b.yaml"]);
}

#[test]
fn two_files_for_one_toggle_are_found_even_where_one_is_applied() {
    let found = compared(DEFAULT, &[("p/e/a.yaml", "1"), ("p/e/a.yml", "1")], &[("p/e/a.yaml", "1")], &[]);
    assert_eq!(shown(&found, [DEFAULT; 2]), ["p/e/a: p/e/a.yaml+p/e/a.yml <- p/e/a.yaml"]);
    assert_eq!(found.findings.len(), 2);
}

#[test]
fn a_change_of_extension_alone_is_a_difference() {
    let found = compared(DEFAULT, &[("p/e/a.yml", "1")], &[("p/e/a.yaml", "1")], &[]);
    assert_eq!(shown(&found, [DEFAULT; 2]), ["p/e/a: p/e/a.yml <- p/e/a.yaml"]);
}

#[test]
fn an_environment_without_documents_is_lost_and_the_others_are_not() {
    let applied = [("p/e/a.yaml", "1"), ("p/f/a.yaml", "1"), ("q/e/a.yaml", "1")];
    let found = compared(DEFAULT, &[("p/e/a.yaml", "2"), ("q/README.md", "")], &applied, &[]);
    let lost: Vec<String> = found.lost.iter().map(ToString::to_string).collect();
    assert_eq!(lost, ["p/f", "q/e"]);
}

#[test]
fn an_unknown_toggle_is_always_a_difference() {
    let files = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
    let found = compared(DEFAULT, &files, &files, &["p/e/a", "x/y/z"]);
    assert_eq!(shown(&found, [DEFAULT; 2]), ["p/e/a: p/e/a.yaml <- p/e/a.yaml", "x/y/z:  <- "]);
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
    assert_eq!(
        shown(&found, [DEFAULT; 2]),
        ["p/e/A: p/e/A.yaml+p/e/a.yaml <- ", "p/e/a: p/e/a.yaml+p/e/A.yaml <- "]
    );
    let mut findings: Vec<(&str, &str)> =
        found.findings.iter().map(|finding| (finding.path.as_str(), finding.id)).collect();
    findings.sort_unstable();
    let expected = [
        ("p/e/A.yaml", "duplicate-toggle"),
        ("p/e/a.yaml", "duplicate-toggle"),
        ("p/e/b c.yaml", "bad-key"),
        ("p/e/deep/b.yaml", "elsewhere"),
        ("p/stray.yml", "elsewhere"),
    ];
    assert_eq!(findings, expected);
}

#[test]
fn the_other_files_of_a_revision_are_not_counted_as_documents() {
    let base = [
        ("README.md", "1"),
        (".github/workflows/a.yaml", "1"),
        ("p/e/README.md", "1"),
        ("p/e/a.yaml", "1"),
        ("p/e/b.yaml", "1"),
        ("q/e/a.yaml", "1"),
        ("q/e/README.md", "1"),
    ];
    let head = [
        ("README.md", "2"),
        (".github/workflows/a.yaml", "2"),
        ("p/e/README.md", "2"),
        ("p/e/a.yaml", "2"),
        ("p/e/b.yaml", "1"),
        ("q/e/README.md", "1"),
    ];
    let found = between(DEFAULT, &head, &base);
    assert_eq!(shown(&found, [DEFAULT; 2]), ["p/e/a: p/e/a.yaml <- p/e/a.yaml", "q/e/a:  <- q/e/a.yaml"]);
    assert_eq!(found.applied_counts[&"p/e".parse().unwrap()], 2);
    let lost: Vec<_> = found.lost.iter().map(ToString::to_string).collect();
    assert_eq!(lost, ["q/e"], "the file that stays is not a document");
    assert!(!between(DEFAULT, &base[..3], &base[..3]).any_document);
}

#[test]
fn a_revision_has_the_layout_of_the_source() {
    let base = [("e/p/a.yaml", "1"), ("e/p/b.yaml", "1"), ("p/e/x.yaml", "1")];
    let head = [("e/p/a.yaml", "2"), ("e/p/b.yaml", "1"), ("p/e/x.yaml", "1")];
    let found = between(OTHER, &head, &base);
    assert_eq!(shown(&found, [OTHER; 2]), ["p/e/a: e/p/a.yaml <- e/p/a.yaml"]);
    assert_eq!(found.applied_counts[&"p/e".parse().unwrap()], 2);
}

#[test]
fn only_a_clash_that_a_revision_did_not_have_is_a_difference() {
    let base = [("p/e/a.yaml", "1"), ("p/e/a.yml", "1"), ("p/e/b.yaml", "1")];
    for layout in [DEFAULT, OTHER] {
        let head = [base[0], base[1], ("p/e/b.yaml", "2"), ("p/e/b.yml", "3")];
        let found = between(layout, &head, &base);
        let differing: Vec<_> = found.differences.iter().map(|one| one.id.toggle()).collect();
        assert_eq!(differing, ["b"], "{layout}");
        assert_eq!(found.findings.len(), 2, "{layout}: {:?}", found.findings);
        let resolved = between(layout, &base[1..], &base);
        let applied: Vec<_> = resolved
            .differences
            .iter()
            .map(|one| one.applied.paths(&one.id, &Layout::default()).count())
            .collect();
        assert_eq!(applied, [2], "{layout}");
    }
}

#[test]
fn a_toggle_whose_id_has_another_case_now_is_renamed_and_its_environment_is_not_lost() {
    let renamed = |source: &[(&str, &str)], applied: &[(&str, &str)], layout| {
        let found = compared_with(AppliedTree::State, layout, source, applied, &[]);
        let lost: Vec<_> = found.lost.iter().map(ToString::to_string).collect();
        let renamed = found.differences.iter().filter(|one| one.desired == Claims::Renamed);
        let renamed: Vec<_> = renamed.map(|one| one.id.to_string()).collect();
        let warned = found.findings.iter().filter(|found| found.id == "case-only-difference");
        assert_eq!(warned.count(), renamed.len());
        (renamed, lost.join(" "))
    };
    let none: (Vec<String>, String) = (Vec::new(), String::new());
    let only_a = (vec!["p/e/a".to_owned()], String::new());
    // The other document may be new, changed, or the same as before.
    for other in ["1", "2"] {
        let applied = [("p/e/A.yaml", "1"), ("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
        let source = [("p/e/A.yaml", other), ("p/e/b.yaml", "1")];
        assert_eq!(renamed(&source, &applied, DEFAULT), only_a);
        assert_eq!(renamed(&source, &applied[1..], DEFAULT), only_a);
        let other_layout = [("e/p/A.yaml", other), ("e/p/b.yaml", "1")];
        assert_eq!(renamed(&other_layout, &applied, OTHER), only_a);
    }
    let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
    assert_eq!(renamed(&[("p/e/b.yaml", "1")], &applied, DEFAULT), none);
    let source = [("P/E/a.yaml", "1")];
    for applied in [&[("p/e/a.yaml", "1")][..], &[("P/E/a.yaml", "1"), ("p/e/a.yaml", "1")]] {
        assert_eq!(renamed(&source, applied, DEFAULT), only_a);
    }
    let expected = (vec!["p/e/a".to_owned()], "p/e".to_owned());
    assert_eq!(renamed(&source, &applied, DEFAULT), expected, "`b` was removed");
}

#[test]
fn folders_whose_names_differ_only_in_case_are_compared_together_at_every_depth() {
    let other = |files: &[(&'static str, &'static str)]| -> Vec<(String, &'static str)> {
        let swapped = files.iter().map(|(path, content)| {
            let [project, environment, toggle] = path.splitn(3, '/').collect::<Vec<_>>()[..] else {
                panic!("{path}");
            };
            (format!("{environment}/{project}/{toggle}"), *content)
        });
        swapped.collect()
    };
    let files = [
        ("P/e/a.yaml", "1"),
        ("P/e/b.yaml", "1"),
        ("p/E/A.yaml", "1"),
        ("p/e/a.yaml", "1"),
        ("p/e/c.yaml", "1"),
        ("q/e/d.yaml", "1"),
    ];
    // Every pair of subsets, so every kind of clash, rename and removal.
    let subset = |bits: usize| -> Vec<(&'static str, &'static str)> {
        files.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1).map(|(_, file)| *file).collect()
    };
    let (count, mut clashes, mut renames) = (1 << files.len(), 0, 0);
    for (source, applied) in (0..count).flat_map(|source| (0..count).map(move |applied| (source, applied))) {
        let (source, mut applied) = (subset(source), subset(applied));
        // Folders that are equal on both sides are not read in the default layout.
        applied.iter_mut().filter(|(path, _)| !path.starts_with('q')).for_each(|(_, content)| *content = "2");
        let swapped = other(&source);
        let swapped: Vec<_> = swapped.iter().map(|(path, content)| (path.as_str(), *content)).collect();
        let [default, other] = [(DEFAULT, &source), (OTHER, &swapped)]
            .map(|(layout, source)| compared_with(AppliedTree::State, layout, source, &applied, &[]));
        let message = format!("{source:?} {applied:?}");
        assert_eq!(shown(&default, [DEFAULT; 2]), shown(&other, [DEFAULT; 2]), "{message}");
        assert_eq!(default.lost, other.lost, "{message}");
        let claims =
            |found: Comparison| found.differences.into_iter().map(|one| one.desired).collect::<Vec<_>>();
        let (default, other) = (claims(default), claims(other));
        assert_eq!(default, other, "{message}");
        clashes += default.iter().filter(|desired| desired.is_clash()).count();
        renames += default.iter().filter(|desired| **desired == Claims::Renamed).count();
    }
    assert!(clashes > 0 && renames > 0);
    let source = [("P/e/a.yaml", "1"), ("p/e/deep/b.yaml", "1"), ("p/stray.yaml", "1")];
    let found = compared(DEFAULT, &source, &[], &[]);
    let found: Vec<_> = found.findings.iter().map(|finding| (finding.path.as_str(), finding.id)).collect();
    assert_eq!(found, [("p/e/deep/b.yaml", "elsewhere"), ("p/stray.yaml", "elsewhere")]);
}

#[test]
fn environments_whose_ids_differ_only_in_case_count_their_toggles_together() {
    let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
    let found = compared(DEFAULT, &[("P/E/a.yaml", "1"), ("P/E/b.yaml", "1")], &applied, &[]);
    let counts: Vec<_> =
        found.applied_counts.into_iter().map(|(id, count)| format!("{id} {count}")).collect();
    assert_eq!(counts, ["P/E 2", "p/e 2"]);
}

#[test]
fn a_file_that_is_not_read_is_not_a_removed_file() {
    for (file, id) in
        [("p/e/a.YAML", "extension-case"), ("p/e/A.Yml", "extension-case"), ("p/e/a.json", "json-file")]
    {
        let applied = [("p/e/a.yaml", "1"), ("p/e/b.yaml", "1")];
        let found = compared(DEFAULT, &[(file, "1"), ("p/e/b.yaml", "1")], &applied, &[]);
        let [one] = &found.differences[..] else {
            panic!("{file}: {:?}", found.differences);
        };
        assert_eq!((one.id.as_str(), &one.desired), ("p/e/a", &Claims::Unread(file.into())), "{file}");
        let [finding] = &found.findings[..] else {
            panic!("{file}: {:?}", found.findings);
        };
        assert_eq!((finding.id, finding.severity.as_str()), (id, "error"));
        // Beside the document, or for a toggle that is not applied, it is only a warning.
        for source in [&[(file, "1"), ("p/e/a.yml", "1")][..], &[("p/e/b.yaml", "2"), ("p/e/c.JSON", "1")]] {
            let found = compared(DEFAULT, source, &applied[..0], &[]);
            assert!(found.differences.iter().all(|one| one.desired.has_document()), "{file}");
            let finding = &found.findings[0];
            assert_eq!(finding.severity.as_str(), "warning", "{file}");
            let help = finding.help.as_deref().unwrap_or_default();
            // What is renamed to the name of a document would be a second one.
            let is_beside = source.len() > 1 && source[1].0 == "p/e/a.yml";
            assert_eq!(help.contains("rename it to"), !is_beside, "{file}: {help}");
            assert_eq!(help.contains("the document `p/e/a.yml`"), is_beside, "{file}: {help}");
        }
    }
}
