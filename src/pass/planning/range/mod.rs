//! Plans the step from one revision to another: the documents at the base take the place of what was applied. Needs no
//! state, and is otherwise the same as any plan.
//!
//! A pull request is the step from the tip of its target to the result of the merge. So the shape of its branch needs no
//! rules: a commit that the target has already is neither a change nor a revert, however it got there (DESIGN, section
//! 13.1).

mod error;
mod resolve;

use std::collections::BTreeSet;

use super::applied::{AppliedSide, BaseRevision};
use super::attribution::Attributions;
use super::plan_files::{committed, compare, decide};
use super::{Planned, uncommitted};
use crate::document::{Diagnostic, tree};
use crate::model::{EntryKind, EnvironmentId, ObjectId, Trees, escaped};
use crate::pass::Error;
use crate::pass::config::Rules;
use crate::pass::validate::{Checks, check_snapshot};
use crate::plan::{Base, Draft, FIRST_PASS_TRAILER, LiveDifferences, OnInvalid, Plan, Trailer};
use crate::source::{self, NamedCommit, Snapshot, Source, SourceConfig};
pub use error::RangeError;
use resolve::Ends;
pub use resolve::{BranchRange, FetchHints, Range, TargetOrigin};

/// The files whose findings a comparison of revisions reports.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum FindingScope {
    /// All files at the newer revision.
    All,
    /// The files that differ between the revisions.
    Changed,
}

/// Plans the step between two revisions of a repository at a path. Reads no state, writes nothing, and connects to no
/// host.
///
/// # Errors
/// If a revision or the base of a pull request cannot be found, or the repository cannot be read.
pub fn plan_range(
    source: &SourceConfig,
    rules: &Rules,
    range: &Range,
    findings: FindingScope,
) -> Result<Planned, Error> {
    let revisions = Source::new(source.clone()).revisions()?;
    let revisions = revisions.ok_or(RangeError::Remote)?;
    let ends = range.resolve(&revisions)?;
    // The work tree of another commit differs from the planned one in any case.
    let is_checked_out = revisions
        .find("HEAD")
        .is_ok_and(|found| found.commit == ends.head.commit);
    let (snapshot, conflicts) = if ends.is_merge {
        revisions.merge(&ends.base, &ends.head)?
    } else {
        (revisions.snapshot(&ends.head)?, BTreeSet::new())
    };
    let base = BaseRevision::of(&ends.base, &snapshot)?;
    let (files, applied) = (committed(&snapshot), AppliedSide::Revision(&base));
    let compared = compare(&files, applied, rules, &LiveDifferences::new())?;
    let mut input = decide(&files, applied, rules, compared)?;
    // With `--on-invalid stop`, `apply` counts the invalid documents that the step leaves as they are.
    if findings == FindingScope::All || rules.policy.on_invalid == OnInvalid::Stop {
        input.findings = all_findings(input.findings, &snapshot, rules)?;
    }
    let unmerged = explain_conflicts(&mut input.findings, conflicts, &ends);
    let new: Vec<EnvironmentId> = input
        .applied_counts
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(environment, _)| environment.clone())
        .collect();
    let attributions = Attributions {
        snapshot: &snapshot,
        files: files.files,
        rules,
        most_undecided: usize::MAX,
    };
    let plan = attributions.complete(Draft::new(input, &rules.policy), |_| Ok(None))?;
    let uncommitted = is_checked_out.then(|| uncommitted::range_note(source, rules, &snapshot));
    let notes = unmerged
        .into_iter()
        .chain(first_pass_note(&new, &plan, rules))
        .chain(uncommitted.flatten());
    Ok(Planned {
        notes: notes.collect(),
        plan,
        is_forward: true,
    })
}

/// Returns `found`, in which are those about the base, and the findings in all files.
fn all_findings(
    mut found: Vec<Diagnostic>,
    snapshot: &Snapshot,
    rules: &Rules,
) -> Result<Vec<Diagnostic>, Error> {
    let checks = Checks {
        layout: &rules.layout,
        kind: rules.kind,
        scope: &rules.policy.scope,
        within: &[],
    };
    found.extend(check_snapshot(snapshot, &rules.root, checks)?.findings);
    found.sort();
    found.dedup();
    Ok(found)
}

/// Says in the findings about conflict markers which branches contradict each other. Returns a note about the other files
/// that cannot be merged.
fn explain_conflicts(
    findings: &mut [Diagnostic],
    mut conflicts: BTreeSet<String>,
    ends: &Ends,
) -> Option<String> {
    let (target, head) = (escaped(&ends.base.name), escaped(&ends.head.name));
    let advice = format!("merge `{target}` into `{head}`, and resolve the conflict");
    for finding in findings {
        if conflicts.remove(&finding.path) {
            finding.message =
                format!("`{target}` and `{head}` changed this document in ways that cannot be merged");
            finding.help = Some(advice.clone());
        }
    }
    let shown: Vec<String> = conflicts
        .iter()
        .take(3)
        .map(|path| format!("`{}`", escaped(path)))
        .collect();
    let more = conflicts.len() - shown.len();
    (!shown.is_empty()).then(|| {
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        format!(
            "this branch cannot be merged yet: {}{more} changed on both sides; {advice}",
            shown.join(", ")
        )
    })
}

/// Returns a note that `apply` holds what the plan shows for these environments until an operator decides.
fn first_pass_note(new: &[EnvironmentId], plan: &Plan, rules: &Rules) -> Option<String> {
    if rules.policy.first_pass.is_some() {
        return None;
    }
    let is_decided = |environment: &&EnvironmentId| {
        let changes = plan.changes().iter();
        let mut own = changes.filter(|change| change.id.environment() == **environment);
        let decides = |trailer: &str| trailer.parse::<crate::plan::FirstPass>().is_ok();
        rules.policy.trailer == Trailer::Allowed
            && own.any(|change| {
                let trailers = change.attribution.trailers(FIRST_PASS_TRAILER);
                trailers.iter().any(|trailer| decides(trailer))
            })
    };
    let is_planned = |environment: &&EnvironmentId| {
        plan.changes()
            .iter()
            .any(|change| change.id.environment() == **environment)
    };
    let open = new
        .iter()
        .filter(is_planned)
        .filter(|environment| !is_decided(environment));
    let open: Vec<String> = open.map(|environment| format!("`{environment}`")).collect();
    (!open.is_empty()).then(|| {
        let trailer = match rules.policy.trailer {
            Trailer::Allowed => format!(
                "put the trailer `{FIRST_PASS_TRAILER}: assert` on a commit of this branch (`adopt`, if the service has \
                 them already), or "
            ),
            Trailer::Ignored => String::new(),
        };
        format!(
            "no document existed in {} before: unless something is applied there, `apply` holds these changes for a first \
             pass; to publish them, {trailer}pass `--first-pass assert` to `apply`",
            open.join(", ")
        )
    })
}

impl BaseRevision {
    fn of(base: &NamedCommit, snapshot: &Snapshot) -> Result<Self, source::Error> {
        Ok(Self {
            tree: snapshot.root_tree_at(base.commit)?,
            base: Base {
                reference: base.name.clone(),
                revisions: [base.commit],
            },
            snapshot: snapshot.clone(),
        })
    }

    /// Returns `findings` without those about the path of a file that the base has, too.
    pub(super) fn new_findings(
        &self,
        mut findings: Vec<Diagnostic>,
        head: ObjectId,
        rules: &Rules,
    ) -> Result<Vec<Diagnostic>, source::Error> {
        if findings.is_empty() {
            return Ok(findings);
        }
        let trees = self.snapshot.reader()?;
        let mut kept = Vec::new();
        for finding in findings.drain(..) {
            let path = finding
                .path
                .strip_prefix(rules.root.as_str())
                .unwrap_or(&finding.path);
            let is_old = tree::is_about_path(&finding) && {
                let now = file_at(&trees, Some(head), path)?;
                now.is_some() && now == file_at(&trees, self.tree, path)?
            };
            if !is_old {
                kept.push(finding);
            }
        }
        Ok(kept)
    }
}

/// Returns the blob at `path` below `root`.
fn file_at<T: Trees>(trees: &T, root: Option<ObjectId>, path: &str) -> Result<Option<ObjectId>, T::Error> {
    let (mut folder, mut file) = (root, None);
    for part in path.split('/').filter(|part| !part.is_empty()) {
        let Some(id) = folder.take() else {
            return Ok(None);
        };
        let tree = trees.tree(id)?;
        let entry = tree.get(part).map(|entry| (entry.kind(), entry.id));
        (folder, file) = match entry {
            Some((EntryKind::Tree, id)) => (Some(id), None),
            Some((_, id)) => (None, Some(id)),
            None => (None, None),
        };
    }
    Ok(file)
}
