//! `validate`: the comparison and the checks of a pass, with nothing applied to compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::Error;
use super::planning::read::{ReadContext, read};
use super::planning::reading;
use super::worktree::Folder;
use crate::document::{Diagnostic, Layout, tree};
use crate::git::ObjectReader;
use crate::model::{ObjectId, Scope, ServiceKind, Trees};
use crate::plan::Candidate;
use crate::plan::compare::{Comparison, Difference, Places, Roots, compare, join};
use crate::source::{self, SourceConfig};

/// Where the documents to check are.
#[derive(Clone, Debug)]
pub enum Place {
    /// The file at this path of this folder, and nothing else.
    File(PathBuf, String),
    /// In a folder, committed or not; the second is the root within it.
    Folder(PathBuf, String),
    /// At the revision that a source's ref leads to.
    Revision(Box<SourceConfig>),
}

/// What checking found.
#[derive(Debug, Default)]
pub struct Checked {
    /// How many documents were checked.
    pub documents: usize,
    /// What was found, by file.
    pub findings: Vec<Diagnostic>,
    /// The globs of the scope that match no toggle.
    pub unmatched: BTreeSet<String>,
}

/// What is checked, and how.
#[derive(Clone, Copy, Debug)]
pub struct Checks<'a> {
    /// Where documents are under the root.
    pub layout: &'a Layout,
    /// Which checks there are.
    pub kind: ServiceKind,
    /// Which toggles are checked.
    pub scope: &'a Scope,
    /// The paths that are checked, from the top as findings show them; none means all.
    pub within: &'a [String],
}

/// Checks every document in scope, by the comparison and the reading of a pass: what passes here is never refused there
/// under the same settings.
///
/// # Errors
/// When the files cannot be read.
pub fn check(place: &Place, checks: Checks<'_>) -> Result<Checked, Error> {
    let run = |root: &str| Run {
        checks,
        root: root.to_owned(),
    };
    match place {
        Place::File(folder, path) => {
            let files = Folder::of_file(folder, path)?;
            run("").check(files.root_tree(), || Ok(files.clone()))
        }
        Place::Folder(folder, root) => {
            let files = Folder::open(folder, root)?;
            run(root).check(files.root_tree(), || Ok(files.clone()))
        }
        Place::Revision(config) => {
            let run = run(&config.root);
            reading(config, |snapshot| {
                run.check(snapshot.root_tree(), || Ok(snapshot.reader()?))
            })
        }
    }
}

struct Run<'a> {
    checks: Checks<'a>,
    root: String,
}

impl Run<'_> {
    fn check<S: Trees<Error = source::Error>>(
        &self,
        root_tree: ObjectId,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Checked, Error> {
        let Checks {
            layout, kind, scope, ..
        } = self.checks;
        let roots = Roots {
            source: root_tree,
            applied: None,
        };
        let places = Places {
            layout,
            root: &self.root,
            scope,
            kind,
        };
        let mut found =
            match compare::<S, ObjectReader, Error>(&open()?, None, roots, &places, &BTreeSet::new()) {
                Err(Error::TooManyFiles) => return Ok(self.too_many_files()),
                found => found?,
            };
        found
            .differences
            .retain(|difference| scope.contains(&difference.id) && self.wants(difference));
        found.findings.retain(|finding| self.is_within(&finding.path));
        let documents = self.documents(&found);
        let mut findings = self.read(found.differences, open)?;
        findings.extend(found.findings);
        findings.sort();
        Ok(Checked {
            documents,
            findings,
            unmatched: found.unmatched.into_iter().collect(),
        })
    }

    fn too_many_files(&self) -> Checked {
        let root = match self.root.as_str() {
            "" => ".",
            root => root,
        };
        Checked {
            findings: vec![tree::too_many_files(root)],
            ..Checked::default()
        }
    }

    /// Counts the files of the differences: one file can be in several of them.
    fn documents(&self, found: &Comparison) -> usize {
        let files = found
            .differences
            .iter()
            .flat_map(|difference| &difference.desired);
        let paths = files.map(|file| join(&self.root, &file.path));
        paths
            .filter(|path| self.is_within(path))
            .collect::<BTreeSet<_>>()
            .len()
    }

    /// Reads and checks the documents of `differences`, with nothing applied to compare with.
    fn read<S: Trees<Error = source::Error>>(
        &self,
        differences: Vec<Difference>,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Vec<Diagnostic>, Error> {
        let nothing = BTreeMap::new();
        let reading = ReadContext {
            kind: self.checks.kind,
            root: &self.root,
            scope: self.checks.scope,
            layout: self.checks.layout,
            unknown: &nothing,
            settled: &nothing,
        };
        let open = || Ok((open()?, None));
        let (_, findings) = read(differences, reading, drop::<Candidate>, open)?;
        Ok(findings)
    }

    fn wants(&self, difference: &Difference) -> bool {
        difference
            .desired
            .iter()
            .any(|file| self.is_within(&join(&self.root, &file.path)))
    }

    fn is_within(&self, path: &str) -> bool {
        let below = |folder: &String| {
            folder.is_empty()
                || path
                    .strip_prefix(folder.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        self.checks.within.is_empty() || self.checks.within.iter().any(below)
    }
}
