//! `validate`: the comparison and the checks of a pass, with nothing applied to compare with.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use crate::document::{Diagnostic, Layout};
use crate::model::{ObjectId, Scope, ServiceKind, Trees};
use crate::plan::{Deciding, Policy};
use crate::source::{self, SourceConfig};
use crate::state;

use super::Error;
use super::candidates::{Reading, decided};
use super::compare::{Difference, Places, Roots, compare, join};
use super::look::reading;
use super::worktree::Folder;

/// Where the documents to check are.
#[derive(Clone, Debug)]
pub enum Place {
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
}

/// Checks every document in scope. `within` filters by path (from the top, as findings show them); none means all.
///
/// # Errors
/// When the files cannot be read.
pub fn check(
    place: &Place,
    layout: &Layout,
    kind: ServiceKind,
    scope: &Scope,
    within: &[String],
) -> Result<Checked, Error> {
    let run = |root: &str| Run {
        layout,
        kind,
        scope,
        within,
        root: root.to_owned(),
    };
    match place {
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
    layout: &'a Layout,
    kind: ServiceKind,
    scope: &'a Scope,
    within: &'a [String],
    root: String,
}

impl Run<'_> {
    fn check<S: Trees<Error = source::Error>>(
        &self,
        root_tree: ObjectId,
        open: impl Fn() -> Result<S, Error> + Sync,
    ) -> Result<Checked, Error> {
        let roots = Roots {
            source: root_tree,
            applied: None,
        };
        let places = Places {
            layout: self.layout,
            root: &self.root,
            scope: self.scope,
        };
        let mut found = compare::<S, state::Reader>(&open()?, None, roots, &places, &BTreeSet::new())?;
        found
            .differences
            .retain(|difference| self.scope.contains(&difference.id) && self.wants(difference));
        found.findings.retain(|finding| self.is_within(&finding.path));
        let documents = found
            .differences
            .iter()
            .map(|difference| difference.desired.len())
            .sum();
        let nothing = BTreeMap::new();
        let reading = Reading {
            kind: self.kind,
            root: &self.root,
            scope: self.scope,
            layout: self.layout,
            unknown: &nothing,
            settled: &nothing,
        };
        let deciding = Deciding {
            policy: &Policy::default(),
            applied_counts: &BTreeMap::new(),
            environment_holds: &BTreeMap::new(),
        };
        let (_, mut findings) =
            decided::<S, state::Reader, Error, _>(found.differences, reading, deciding, || {
                Ok((open()?, None))
            })?;
        findings.extend(found.findings);
        findings.sort();
        Ok(Checked { documents, findings })
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
        self.within.is_empty() || self.within.iter().any(below)
    }
}
