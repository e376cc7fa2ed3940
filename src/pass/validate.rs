//! Checks documents for `validate`, with the comparison and the reading of a pass and an empty applied state.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Error;
use super::planning::with_snapshot;
use crate::document::{Diagnostic, LARGEST_DOCUMENT, Layout, MOST_FILES, layout};
use crate::git::ObjectReader;
use crate::model::{ObjectId, Scope, Sdks, ServiceKind, Trees};
use crate::pass::read::{ReadContext, read};
use crate::pass::references::{self, Library, Noted};
use crate::plan::compare::{AppliedTree, Comparison, Difference, Places, Roots, compare, is_within, join};
use crate::plan::{Candidate, OnRemove};
use crate::source::folder::{Folder, FolderLimits};
use crate::source::{self, Snapshot, SourceConfig};

/// How much of a folder is read: larger files are findings, and so are too many.
pub(super) const LIMITS: FolderLimits =
    FolderLimits { largest_file: LARGEST_DOCUMENT, most_files: MOST_FILES };

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
    /// The SDKs that a document must mean the same to.
    pub sdks: Sdks,
    pub scope: &'a Scope,
    /// The paths to check, as findings show them; empty means all.
    pub within: &'a [String],
}

/// Checks every document in scope. A pass with the same settings accepts every document that passes this
/// check.
pub fn check(target: &CheckTarget, checks: Checks<'_>) -> Result<Checked, Error> {
    let run = |root: &str| Run { checks, root: root.to_owned(), is_alone: false };
    match target {
        CheckTarget::File(folder, path) => {
            let files = Folder::of_file(folder, path, LIMITS)?;
            Run { is_alone: true, ..run("") }.check(files.root_tree(), || Ok(files.clone()))
        }
        CheckTarget::Folder(folder, root) => {
            let files = Folder::open(folder, root, LIMITS)?;
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
    Run { checks, root, is_alone: false }.check(snapshot.root_tree(), || Ok(snapshot.reader()?))
}

struct Run<'a> {
    checks: Checks<'a>,
    root: String,
    /// Whether only one file is known.
    is_alone: bool,
}

impl Run<'_> {
    fn check<S: Trees<Error = source::Error>>(
        &self,
        root_tree: ObjectId,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Checked, Error> {
        let Checks { layout, scope, .. } = self.checks;
        let roots = Roots { source: root_tree, applied: None };
        let places = Places { layout, root: &self.root, scope, others: &[], side: AppliedTree::State };
        let mut found =
            match compare::<S, ObjectReader, Error>(&open()?, None, roots, &places, &BTreeSet::new()) {
                Err(Error::TooManyFiles) => return Ok(self.too_many_files()),
                found => found?,
            };
        found.differences.retain(|difference| scope.contains(&difference.id) && self.wants(difference));
        found.findings.retain(|finding| is_within(&finding.path, self.checks.within));
        let documents = self.documents(&found);
        let (mut findings, noted) = self.read(found.differences, &open)?;
        let Checks { kind, sdks, .. } = self.checks;
        let library = Library::new(open()?, root_tree, layout, &self.root, kind);
        let library = library.alone(self.is_alone).for_sdks(sdks);
        findings.extend(references::check(noted, library)?.findings);
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
    ) -> Result<(Vec<Diagnostic>, Vec<Noted>), Error> {
        let nothing = BTreeMap::new();
        let context = ReadContext {
            kind: self.checks.kind,
            sdks: self.checks.sdks,
            root: &self.root,
            scope: self.checks.scope,
            // There is no other side.
            on_remove: OnRemove::Keep,
            layout: self.checks.layout,
            unknown: &nothing,
            settled: &nothing,
        };
        let open = || Ok((open()?, None));
        let (_, findings, noted) = read(differences, context, drop::<Candidate>, open)?;
        Ok((findings, noted))
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;
    use crate::model::{Blob, Tree};

    /// A folder that counts what is read of it.
    struct Counted {
        folder: Folder,
        reads: Arc<AtomicUsize>,
    }

    impl Counted {
        fn count(&self) -> &Folder {
            self.reads.fetch_add(1, Ordering::Relaxed);
            &self.folder
        }
    }

    impl Trees for Counted {
        type Error = source::Error;

        fn tree(&self, id: ObjectId) -> Result<Tree, source::Error> {
            self.count().tree(id)
        }

        fn find_tree(&self, id: ObjectId) -> Option<Tree> {
            self.count().find_tree(id)
        }

        fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, source::Error> {
            self.count().blob(blob, limit)
        }
    }

    /// Returns the number of files and folders that a check of `count` toggles reads, and of its findings.
    /// Toggle `n` needs those with the numbers `needed(n)`.
    fn work(count: usize, needed: impl Fn(usize) -> Vec<usize>) -> (usize, usize) {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("shop/prod");
        std::fs::create_dir_all(&place).unwrap();
        let name = |number: usize| format!("t{number:06}");
        for number in 0..count {
            let needs = needed(number)
                .into_iter()
                .filter(|other| *other < count)
                .map(|other| format!("    - {{ key: {}, type: boolean, value: \"true\" }}\n", name(other)));
            let needs: String = needs.collect();
            let prerequisites = if needs.is_empty() { needs } else { format!("  prerequisites:\n{needs}") };
            let text = format!(
                "disabled: false\ncontent:\n  variations:\n    - {{ name: \"off\", value: \"false\" }}\n    - {{ name: \
                 \"on\", value: \"true\" }}\n{prerequisites}  rules: []\n  disabledServe: {{ select: 0 }}\n  defaultServe: {{ \
                 select: 1 }}\n"
            );
            std::fs::write(place.join(format!("{}.yaml", name(number))), text).unwrap();
        }
        let layout = Layout::default();
        let checks = Checks {
            layout: &layout,
            kind: ServiceKind::FeatureProbe,
            sdks: "rust".parse().unwrap(),
            scope: &Scope::default(),
            within: &[],
        };
        let files = Folder::open(folder.path(), "", LIMITS).unwrap();
        let reads = Arc::new(AtomicUsize::new(0));
        let run = Run { checks, root: String::new(), is_alone: false };
        let open = || Ok(Counted { folder: files.clone(), reads: Arc::clone(&reads) });
        let checked = run.check(files.root_tree(), open).unwrap();
        assert_eq!(checked.documents.len(), count);
        (reads.load(Ordering::Relaxed), checked.findings.len())
    }

    #[test]
    fn what_a_check_reads_grows_with_the_number_of_documents() {
        // Each document is read once, and once more if it has a finding about another one. The folders add a few.
        const FOLDERS: usize = 40;
        type Needed = fn(usize) -> Vec<usize>;
        let chain: Needed = |number| vec![number + 1];
        let backwards: Needed = |number| number.checked_sub(1).into_iter().collect();
        let star: Needed = |number| if number > 0 { vec![0] } else { Vec::new() };
        let web: Needed = |number| vec![number + 1, number + 2, number + 7];
        let cases = [(chain, 1_000, 10_000), (backwards, 100, 1_000), (star, 100, 1_000), (web, 100, 1_000)];
        for (case, (needed, small, large)) in cases.into_iter().enumerate() {
            for count in [small, large] {
                let (reads, findings) = work(count, needed);
                assert!(
                    reads <= count + findings + FOLDERS,
                    "{case}: {count} documents, {findings} findings, {reads} reads"
                );
            }
        }
    }
}
