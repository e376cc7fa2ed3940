//! Plans the step from one revision to another: the documents at the base take the place of what was applied.
//! Needs no state, and is otherwise the same as any plan.
//!
//! A pull request is the step from the tip of its target to the result of the merge. So the shape of its
//! branch needs no rules: a commit that the target has already is neither a change nor a revert, however it
//! got there (src/pass/README.md, "Pull requests").

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::Path;

use crate::document::{Diagnostic, PathKind, layout};
use crate::model::{
    Commit, CommitId, EntryKind, EnvironmentId, FIRST_PASS_TRAILER, FoldedId, ObjectId, Trailer, Trees,
    Unlisted, escaped, similar_names,
};
use crate::pass::Error;
use crate::pass::attribution::Attributions;
use crate::pass::compare::{AppliedSide, BaseRevision, PlanFiles, compare, decide, with_files};
use crate::pass::config::Rules;
use crate::pass::dependents::{self, Caused, with_dependents};
use crate::pass::notes::range_note;
use crate::pass::planning::{Files, Planned};
use crate::pass::references::Library;
use crate::pass::validate::{CheckTarget, Checks, LIMITS, check, check_snapshot};
use crate::plan::{Base, Draft, FirstPass, Input, LiveDifferences, OnInvalid, Plan};
use crate::source::{
    self, NamedCommit, Parents, RevisionError, RevisionLookup, Snapshot, Source, SourceConfig,
};
use crate::state::StateSnapshot;

/// Plans the step between two revisions of a repository at a path, or from one to the files of its work tree.
/// Reads no state, writes nothing, and connects to no host. Reports findings in the files that differ, or
/// with `all_findings` in all newer files.
pub fn plan_range(
    source: &SourceConfig,
    rules: &Rules,
    range: &Range,
    files: Files,
    all_findings: bool,
) -> Result<Planned, Error> {
    let revisions = Source::new(source.clone()).revisions()?;
    let revisions = revisions.ok_or(RangeError::Remote)?;
    let ends = range.resolve(&revisions)?;
    // The work tree of another commit differs from the planned one in any case.
    let is_checked_out = revisions.find("HEAD").is_ok_and(|found| found.commit == ends.head.commit);
    let (snapshot, conflicts) = if ends.is_merge {
        revisions.merge(&ends.base, &ends.head, &|path| is_document(path, rules))?
    } else {
        (revisions.snapshot(&ends.head)?, BTreeMap::new())
    };
    let base = BaseRevision::of(&ends.base, &snapshot)?;
    let folder = match files {
        Files::Committed => None,
        Files::WorkTree => Some(source.location.local_path().ok_or(Error::NoWorkTree)?),
    };
    let files = match folder {
        None => PlanFiles::committed(&snapshot),
        Some(folder) => PlanFiles::of_work_tree(folder, source, &snapshot, LIMITS)?,
    };
    let applied = AppliedSide::revision(&base);
    let compared = compare(&files, applied, rules, &LiveDifferences::new(), 0)?;
    let removed = compared.removed();
    let mut input = decide(&files, applied, rules, compared)?;
    if !files.are_committed() {
        "work tree".clone_into(&mut input.source.reference);
    }
    // With `--on-invalid stop`, `apply` counts the invalid documents that the step leaves as they are.
    if all_findings || rules.policy.on_invalid == OnInvalid::Stop {
        input.findings = findings_at(input.findings, &snapshot, folder, rules)?;
    }
    add_caused(&mut input, removed, &files, &base, rules)?;
    explain_conflicts(&mut input.findings, conflicts, &ends);
    let new: Vec<EnvironmentId> = input
        .applied_counts
        .iter()
        .filter(|(_, count)| **count == 0)
        .map(|(environment, _)| environment.clone())
        .collect();
    let attributions = Attributions {
        snapshot: &snapshot,
        are_committed: files.are_committed(),
        rules,
        most_undecided: usize::MAX,
    };
    let plan = attributions.complete(Draft::new(input, &rules.policy), |_| Ok(Unlisted::new()))?;
    let plan = with_dependents(with_files(plan, &files, applied)?, &files, rules)?;
    let uncommitted = (is_checked_out && files.are_committed()).then(|| range_note(source, rules, &snapshot));
    let notes = first_pass_notes(&new, &plan, rules).into_iter().chain(uncommitted.flatten());
    let dropped = ends.is_merge.then(|| trailers_note(&snapshot, ends.base.commit, rules)).transpose()?;
    let notes = notes.chain(plan.order_notes()).chain(dropped.flatten());
    Ok(Planned { notes: notes.collect(), plan: plan.shown(), is_forward: true })
}

/// Returns whether a file at `path` would be a document.
fn is_document(path: &[u8], rules: &Rules) -> bool {
    let inner = path.strip_prefix(rules.root.as_bytes()).unwrap_or(path);
    let inner = inner.strip_prefix(b"/").unwrap_or(inner);
    matches!(rules.layout.classify(inner), PathKind::Document { .. })
}

/// Returns `found`, in which are those about the base, and the findings in all files.
fn findings_at(
    mut found: Vec<Diagnostic>,
    snapshot: &Snapshot,
    folder: Option<&Path>,
    rules: &Rules,
) -> Result<Vec<Diagnostic>, Error> {
    let checks = Checks {
        layout: &rules.layout,
        kind: rules.kind,
        sdks: rules.sdks,
        scope: &rules.policy.scope,
        within: &[],
    };
    let all = match folder {
        None => check_snapshot(snapshot, &rules.root, checks)?,
        Some(folder) => check(&CheckTarget::Folder(folder.to_owned(), rules.root.clone()), checks)?,
    };
    found.extend(all.findings);
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// Adds the findings that the step causes in documents which it leaves as they are: those that the base does
/// not have.
fn add_caused(
    input: &mut Input,
    removed: HashSet<FoldedId>,
    files: &PlanFiles<'_>,
    base: &BaseRevision,
    rules: &Rules,
) -> Result<(), Error> {
    let Caused { unchanged, findings: mut found, broken, needs } =
        dependents::caused(input, removed, files, rules)?;
    (input.broken, input.dependents) = (broken, needs);
    if let Some(tree) = base.tree.filter(|_| !found.is_empty()) {
        let trees = base.snapshot.reader()?;
        let library = Library::new(trees, tree, &rules.layout, &rules.root, rules.kind);
        let library = library.for_sdks(rules.sdks);
        let place = |finding: &Diagnostic| (finding.id, finding.path.clone(), finding.line, finding.column);
        let before: BTreeSet<_> = dependents::found(library, unchanged)?.findings.iter().map(place).collect();
        found.retain(|finding| !before.contains(&place(finding)));
    }
    input.findings.extend(found);
    input.findings.sort_unstable();
    input.findings.dedup();
    Ok(())
}

/// Says in the findings about conflict markers which branches contradict each other, and adds one for each
/// other file that cannot be merged: whatever is in it, the host does not merge the branch.
fn explain_conflicts(
    findings: &mut Vec<Diagnostic>,
    mut conflicts: BTreeMap<String, Option<String>>,
    ends: &Ends,
) {
    let (target, head) = (escaped(&ends.base.name), escaped(&ends.head.name));
    let help = format!("merge `{target}` into `{head}`, and resolve the conflict");
    let changed =
        |what: &str| format!("`{target}` and `{head}` changed this {what} in ways that cannot be merged");
    // Git writes no markers for these kinds, so no line is at fault.
    let at_path = |path: &str, what: &str, kind: &str| {
        Diagnostic::conflict(path, format!("{} ({})", changed(what), escaped(kind)))
    };
    for finding in findings.iter_mut() {
        match conflicts.remove(&finding.path) {
            None => continue,
            Some(None) => finding.message = changed("document"),
            Some(Some(kind)) => *finding = at_path(&finding.path, "document", &kind),
        }
        finding.help = Some(help.clone());
    }
    for (path, kind) in conflicts {
        let mut finding = match kind {
            None => Diagnostic::conflict(&path, changed("file")),
            Some(kind) => at_path(&path, "file", &kind),
        };
        finding.help = Some(help.clone());
        findings.push(finding);
    }
    findings.sort_unstable();
}

/// Returns the notes about the first pass of the environments `new`: which of them `apply` holds until somebody
/// decides, and that a decision to assert replaces what the service has.
fn first_pass_notes(new: &[EnvironmentId], plan: &Plan, rules: &Rules) -> Vec<String> {
    let policy = &rules.policy;
    let is_planned = |environment: &&EnvironmentId| {
        plan.changes().iter().any(|change| change.id.environment() == **environment)
    };
    let decided: Vec<(&EnvironmentId, Option<FirstPass>)> = new
        .iter()
        .filter(is_planned)
        .map(|environment| (environment, policy.first_pass.or_else(|| of_trailers(environment, plan, rules))))
        .collect();
    let open: Vec<String> = decided
        .iter()
        .filter(|(_, decision)| decision.is_none())
        .map(|(environment, _)| format!("`{environment}`"))
        .collect();
    let held = (!open.is_empty()).then(|| {
        let trailer = match policy.allows_trailers {
            true => format!(
                "put the trailer `{FIRST_PASS_TRAILER}: assert` on a commit of this branch (`adopt`, if the service has \
                 them already), or "
            ),
            false => String::new(),
        };
        format!(
            "no document existed in {} before: unless something is applied there, `apply` holds these changes for a first \
             pass; to publish them, {trailer}pass `--first-pass assert` to `apply`",
            open.join(", ")
        )
    });
    let asserts =
        policy.reads_live() && decided.iter().any(|(_, decision)| *decision == Some(FirstPass::Assert));
    let replaces = asserts.then(|| {
        "an asserted first pass replaces what the service has, also what people set there; \
         `gitoggle plan --live --first-pass assert` lists it"
            .to_owned()
    });
    held.into_iter().chain(replaces).collect()
}

/// Returns what the trailers of the changes to an environment decide about its first pass.
fn of_trailers(environment: &EnvironmentId, plan: &Plan, rules: &Rules) -> Option<FirstPass> {
    let changes = plan.changes().iter().filter(|_| rules.policy.allows_trailers);
    let own = changes.filter(|change| change.id.environment() == *environment);
    own.flat_map(|change| change.attribution.trailers(FIRST_PASS_TRAILER))
        .find_map(|trailer| trailer.parse().ok())
}

/// Returns a note about the trailers of a branch, which a squash merge drops.
fn trailers_note(snapshot: &Snapshot, base: CommitId, rules: &Rules) -> Result<Option<String>, Error> {
    if !rules.policy.allows_trailers {
        return Ok(None);
    }
    let commits = snapshot.commits_since(Some(base))?;
    // Those without an effect have a note each.
    let trailers: BTreeSet<Trailer> = commits.iter().flat_map(Commit::own_trailers).collect();
    let lines: Vec<String> = trailers.iter().map(|trailer| format!("`{trailer}`")).collect();
    Ok((!lines.is_empty()).then(|| {
        let reason = match snapshot.parents() {
            Parents::All => "a squash merge drops the messages of the branch",
            Parents::First => "with `--first-parent`, only the last message counts",
        };
        format!("{reason}: {} must end up in the message of the merge or squash commit", lines.join(" and "))
    }))
}

impl BaseRevision {
    fn of(base: &NamedCommit, snapshot: &Snapshot) -> Result<Self, source::Error> {
        Ok(Self {
            tree: snapshot.root_tree_at(base.commit)?,
            base: Base { reference: base.name.clone(), revisions: [base.commit] },
            snapshot: snapshot.clone(),
            nothing: StateSnapshot::default(),
        })
    }

    /// Returns `findings` without those about the path of a file that the base has, too.
    pub(crate) fn new_findings(
        &self,
        mut findings: Vec<Diagnostic>,
        files: &PlanFiles<'_>,
        rules: &Rules,
    ) -> Result<Vec<Diagnostic>, Error> {
        if findings.is_empty() {
            return Ok(findings);
        }
        let (trees, newer) = (self.snapshot.reader()?, files.open()?);
        let mut kept = Vec::new();
        for finding in findings.drain(..) {
            let path = finding.path.strip_prefix(rules.root.as_str()).unwrap_or(&finding.path);
            let is_old = layout::is_about_path(&finding) && {
                let now = file_at(&newer, Some(files.root_tree()), path)?;
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

/// Why two revisions cannot be compared.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RangeError {
    #[error("the commit id `{}` of `{flag}` is ambiguous", escaped(revision))]
    Ambiguous { flag: &'static str, revision: String },
    #[error(
        "the history of this clone is cut before the common ancestor of `{}` and `{}`",
        escaped(target),
        escaped(head)
    )]
    Cut { target: String, head: String, hint: String },
    #[error("the pull request was merged, and which of the merged commits are its own is not known")]
    Merged,
    #[error("the commit `{}` of the {of} is not in this clone", escaped(commit))]
    NoCommit { of: &'static str, commit: String, hint: String },
    #[error("`{}` of `{flag}` names a {kind}, not a commit", escaped(revision))]
    NotARevision { flag: &'static str, revision: String, kind: &'static str },
    #[error("the target branch `{}` is not in this clone", escaped(target))]
    NoTarget { target: String, hint: String },
    #[error("two revisions can be compared only in a repository on this machine")]
    Remote,
    #[error("could not find the revision `{}` of `{flag}`{}", escaped(revision), similar_names(near))]
    Unknown { flag: &'static str, revision: String, near: Vec<String>, hint: String },
    #[error(
        "`{}` and `{}` have no common ancestor: their histories are unrelated",
        escaped(target),
        escaped(head)
    )]
    Unrelated { target: String, head: String },
}

impl RangeError {
    /// Returns what to do about it.
    pub fn hint(&self) -> String {
        match self {
            Self::Ambiguous { .. } => "use more digits of the commit id".to_owned(),
            Self::Cut { hint, .. }
            | Self::NoCommit { hint, .. }
            | Self::NoTarget { hint, .. }
            | Self::Unknown { hint, .. } => hint.clone(),
            Self::Merged => "compare two revisions with `--from` and `--to`".to_owned(),
            Self::NotARevision { .. } => {
                "pass a branch, a tag, a commit, or an expression such as `HEAD~2`".to_owned()
            }
            Self::Remote => "clone the repository, and pass the clone as `--repo`".to_owned(),
            Self::Unrelated { .. } => {
                "check `--target`; to compare any two revisions, pass `--from` and `--to`".to_owned()
            }
        }
    }
}

/// The revisions to compare.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Range {
    /// Those of a pull request: the tip of its target, and the merge of its newest commit into it.
    PullRequest(BranchRange),
    /// Those of a merge queue, which has merged the pull requests already.
    Queue(QueueRange),
    /// Two revisions by name.
    Revisions {
        from: String,
        /// The newer one, by default `HEAD`.
        to: Option<String>,
    },
}

/// The branches of a pull request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct BranchRange {
    /// The target branch, or any other revision.
    pub target: String,
    /// Whether the CI job named the target branch, of which it may have checked out a merge. Otherwise, the
    /// user did.
    pub is_of_job: bool,
    /// The id of the newest commit; by default that of `HEAD`.
    pub head: Option<String>,
    pub source: Option<String>,
    /// The id of a commit that the target had, if the CI system names it.
    pub base: Option<String>,
    /// The id of the commit where the branch began, if the CI system names it.
    pub began: Option<String>,
    /// How it was merged, if it is.
    pub merged: Option<MergedRange>,
    /// How to fetch what is missing.
    pub fetch: FetchHints,
}

/// How a pull request was merged, as its forge knows it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct MergedRange {
    /// What the target had after the merge.
    pub commit: CommitId,
    /// The newest commit of the pull request.
    pub head: Option<CommitId>,
    /// Where its branch began.
    pub base: Option<CommitId>,
    /// Its commits, if the forge lists all of them.
    pub commits: BTreeSet<CommitId>,
}

/// What a merge queue merges at once.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct QueueRange {
    /// The target branch, and the id of its commit.
    pub target: String,
    pub base: String,
    /// The branch of the queue, and the id of its commit.
    pub queue: String,
    pub head: String,
    /// How to fetch the whole history.
    pub history: String,
}

/// How to fetch what a clone lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FetchHints {
    pub history: String,
    pub target: String,
}

/// The two ends of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Ends {
    pub(crate) base: NamedCommit,
    pub(crate) head: NamedCommit,
    /// Whether the base is compared with the merge of `head` into it, and not with `head`.
    pub(crate) is_merge: bool,
}

impl Range {
    pub(crate) fn resolve(&self, revisions: &RevisionLookup) -> Result<Ends, Error> {
        match self {
            Self::PullRequest(range) => range.resolve(revisions),
            Self::Queue(range) => range.resolve(revisions),
            Self::Revisions { from, to } => {
                let base = find(revisions, "--from", from)?;
                let head = find(revisions, "--to", to.as_deref().unwrap_or("HEAD"))?;
                Ok(Ends { base, head, is_merge: false })
            }
        }
    }
}

impl QueueRange {
    fn resolve(&self, revisions: &RevisionLookup) -> Result<Ends, Error> {
        let named = |name: &str, id: &str| match revisions.find(id) {
            Ok(found) => Ok(NamedCommit { name: name.to_owned(), ..found }),
            Err(RevisionError::Source(error)) => Err(Error::from(error)),
            Err(_) => Err(Error::from(RangeError::NoCommit {
                of: "merge queue",
                commit: id.to_owned(),
                hint: self.history.clone(),
            })),
        };
        let (base, head) = (named(&self.target, &self.base)?, named(&self.queue, &self.head)?);
        Ok(Ends { base, head, is_merge: false })
    }
}

impl BranchRange {
    fn resolve(&self, revisions: &RevisionLookup) -> Result<Ends, Error> {
        let checked_out = find(revisions, "HEAD", "HEAD")?;
        let head = self.head(revisions, &checked_out)?;
        if let Some(merged) = &self.merged {
            return self.after_merge(revisions, merged, head);
        }
        let target = match self.merged_target(revisions, &checked_out, &head) {
            Some(target) => target,
            None => self.target(revisions)?,
        };
        let name = |commit: &NamedCommit| commit.name.clone();
        match revisions.merge_bases(target.commit, head.commit)? {
            None => Err(RangeError::Cut {
                target: name(&target),
                head: name(&head),
                hint: self.fetch.history.clone(),
            })?,
            Some(bases) if bases.is_empty() => {
                Err(RangeError::Unrelated { target: name(&target), head: name(&head) })?
            }
            Some(_) => Ok(Ends { base: target, head, is_merge: true }),
        }
    }

    /// Returns the ends of a pull request that is merged: the merge of its newest commit into what the target
    /// had before. What was pushed to the target, or came with the same merge, is not part of it.
    fn after_merge(
        &self,
        revisions: &RevisionLookup,
        merged: &MergedRange,
        head: NamedCommit,
    ) -> Result<Ends, Error> {
        let is_here = |commit: &CommitId| revisions.parents(*commit).is_some();
        let find = |id: Option<&str>| Some(revisions.find(id?).ok()?.commit);
        let newest = merged.head.filter(is_here).unwrap_or(head.commit);
        let began = merged.base.filter(is_here).or_else(|| revisions.base_of(&merged.commits));
        let began = began.or_else(|| find(self.began.as_deref()));
        let parents = revisions.parents(merged.commit).unwrap_or_default();
        let parent = parents.first().copied();
        // What the target had in any case.
        let mut had: Vec<CommitId> = began.into_iter().chain(find(self.base.as_deref())).collect();
        let (before, own) = if newest == merged.commit {
            (began.filter(|began| *began != newest && revisions.has(newest, *began)), newest)
        } else if revisions.has(merged.commit, newest) {
            (parent.filter(|parent| parents.len() > 1 && !revisions.has(*parent, newest)), newest)
        } else {
            had.extend(revisions.merge_bases(merged.commit, newest)?.ok_or(RangeError::Merged)?);
            let before = revisions.before_copies(merged.commit, newest);
            // A squash is the whole of the request.
            (before, if before == parent { merged.commit } else { newest })
        };
        let before = before.filter(|before| had.iter().all(|had| revisions.has(*before, *had)));
        let base = NamedCommit { name: self.target.clone(), commit: before.ok_or(RangeError::Merged)? };
        Ok(Ends { base, head: NamedCommit { commit: own, ..head }, is_merge: own != merged.commit })
    }

    fn head(&self, revisions: &RevisionLookup, checked_out: &NamedCommit) -> Result<NamedCommit, Error> {
        let found = match &self.head {
            None => checked_out.clone(),
            Some(head) => match revisions.find(head) {
                Err(RevisionError::Unknown(_)) => Err(RangeError::NoCommit {
                    of: "pull request",
                    commit: head.clone(),
                    hint: format!("check out the pull request, or {}", self.fetch.history),
                })?,
                found => found.map_err(|error| failed("HEAD", head, revisions, error))?,
            },
        };
        Ok(NamedCommit { name: self.source.clone().unwrap_or(found.name), ..found })
    }

    /// Returns the commit of the target branch if the job has checked out a merge of it with the pull
    /// request.
    fn merged_target(
        &self,
        revisions: &RevisionLookup,
        checked_out: &NamedCommit,
        head: &NamedCommit,
    ) -> Option<NamedCommit> {
        // A branch of the user's choice is not the one that the job has merged.
        if !self.is_of_job {
            return None;
        }
        let parents = revisions.parents(checked_out.commit)?;
        let [one, other]: [CommitId; 2] = parents.try_into().ok()?;
        // GitHub merges the pull request into the target, and Bitbucket the target into the pull request.
        let commit = match (one == head.commit, other == head.commit) {
            (false, true) => one,
            (true, false) => other,
            _ => return None,
        };
        // A shallow clone may lack it.
        revisions.parents(commit).map(|_| NamedCommit { name: self.target.clone(), commit })
    }

    fn target(&self, revisions: &RevisionLookup) -> Result<NamedCommit, Error> {
        if let Some(found) = revisions.branch(&self.target)? {
            return Ok(found);
        }
        match revisions.find(&self.target) {
            Err(RevisionError::Unknown(_)) => {
                Err(RangeError::NoTarget { target: self.target.clone(), hint: self.fetch.target.clone() })?
            }
            found => found.map_err(|error| failed("--target", &self.target, revisions, error)),
        }
    }
}

fn find(revisions: &RevisionLookup, flag: &'static str, name: &str) -> Result<NamedCommit, Error> {
    revisions.find(name).map_err(|error| failed(flag, name, revisions, error))
}

fn failed(flag: &'static str, revision: &str, revisions: &RevisionLookup, error: RevisionError) -> Error {
    let revision = revision.to_owned();
    let error = match error {
        RevisionError::Source(error) => return error.into(),
        RevisionError::Ambiguous => RangeError::Ambiguous { flag, revision },
        RevisionError::NotACommit(kind) => RangeError::NotARevision { flag, revision, kind },
        RevisionError::Unknown(near) => RangeError::Unknown {
            flag,
            revision,
            near,
            hint: match revisions.is_shallow() {
                true => "this clone is shallow: fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0` for \
                         actions/checkout, `GIT_DEPTH: 0` for GitLab CI), or fetch the branch"
                    .to_owned(),
                false => "pass a branch, a tag, a commit, or an expression such as `HEAD~2`; fetch a branch that is not \
                          there (`git fetch origin`)"
                    .to_owned(),
            },
        },
    };
    error.into()
}
