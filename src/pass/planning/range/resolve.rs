//! Finds the two ends of a comparison.

use super::RangeError;
use crate::model::CommitId;
use crate::pass::Error;
use crate::source::{NamedCommit, RevisionError, RevisionLookup};

/// The revisions to compare.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Range {
    /// Those of a pull request: the tip of its target, and the merge of its newest commit into it.
    PullRequest(BranchRange),
    /// Two revisions by name.
    Revisions {
        /// The older one.
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
    /// Who named the target branch.
    pub target_origin: TargetOrigin,
    /// The id of the newest commit; by default that of `HEAD`.
    pub head: Option<String>,
    /// The name of the branch.
    pub source: Option<String>,
    /// How to fetch what is missing.
    pub fetch: FetchHints,
}

/// Who named the target branch of a pull request.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum TargetOrigin {
    /// The user.
    Flag,
    /// The CI job, which may have checked out a merge of the branches.
    Job,
}

/// How to fetch what a clone lacks.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FetchHints {
    /// The whole history.
    pub history: String,
    /// The target branch.
    pub target: String,
}

/// The two ends of a comparison.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Ends {
    pub(super) base: NamedCommit,
    pub(super) head: NamedCommit,
    /// Whether the base is compared with the merge of `head` into it, and not with `head`.
    pub(super) is_merge: bool,
}

impl Range {
    pub(super) fn resolve(&self, revisions: &RevisionLookup) -> Result<Ends, Error> {
        match self {
            Self::PullRequest(range) => range.resolve(revisions),
            Self::Revisions { from, to } => {
                let base = find(revisions, "--from", from)?;
                let head = find(revisions, "--to", to.as_deref().unwrap_or("HEAD"))?;
                Ok(Ends {
                    base,
                    head,
                    is_merge: false,
                })
            }
        }
    }
}

impl BranchRange {
    fn resolve(&self, revisions: &RevisionLookup) -> Result<Ends, Error> {
        let checked_out = find(revisions, "HEAD", "HEAD")?;
        let head = self.head(revisions, &checked_out)?;
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
            Some(bases) if bases.is_empty() => Err(RangeError::Unrelated {
                target: name(&target),
                head: name(&head),
            })?,
            Some(_) => Ok(Ends {
                base: target,
                head,
                is_merge: true,
            }),
        }
    }

    fn head(&self, revisions: &RevisionLookup, checked_out: &NamedCommit) -> Result<NamedCommit, Error> {
        let found = match &self.head {
            None => checked_out.clone(),
            Some(head) => match revisions.find(head) {
                Err(RevisionError::Unknown(_)) => Err(RangeError::NoHead {
                    head: head.clone(),
                    hint: format!("check out the pull request, or {}", self.fetch.history),
                })?,
                found => found.map_err(|error| failed("HEAD", head, revisions, error))?,
            },
        };
        Ok(NamedCommit {
            name: self.source.clone().unwrap_or(found.name),
            ..found
        })
    }

    /// Returns the commit of the target branch if the job has checked out a merge of it with the pull request.
    fn merged_target(
        &self,
        revisions: &RevisionLookup,
        checked_out: &NamedCommit,
        head: &NamedCommit,
    ) -> Option<NamedCommit> {
        // A branch of the user's choice is not the one that the job has merged.
        if self.target_origin == TargetOrigin::Flag {
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
        revisions.parents(commit).map(|_| NamedCommit {
            name: self.target.clone(),
            commit,
        })
    }

    fn target(&self, revisions: &RevisionLookup) -> Result<NamedCommit, Error> {
        if let Some(found) = revisions.branch(&self.target)? {
            return Ok(found);
        }
        match revisions.find(&self.target) {
            Err(RevisionError::Unknown(_)) => Err(RangeError::NoTarget {
                target: self.target.clone(),
                hint: self.fetch.target.clone(),
            })?,
            found => found.map_err(|error| failed("--target", &self.target, revisions, error)),
        }
    }
}

fn find(revisions: &RevisionLookup, flag: &'static str, name: &str) -> Result<NamedCommit, Error> {
    revisions
        .find(name)
        .map_err(|error| failed(flag, name, revisions, error))
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
