//! Finds commits by the expressions of `git rev-parse`, and the common ancestors of commits.

use std::collections::HashSet;

use git2::{ErrorCode, Oid, Repository};

use super::ids::{object_id, oid};
use crate::model::CommitId;

/// The object that an expression names.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NamedObject {
    /// Several objects: the expression is a short id.
    Ambiguous,
    Commit(CommitId),
    /// An object of this kind, such as `blob`.
    Other(&'static str),
    /// Nothing, or the expression is malformed.
    Unknown,
}

/// Returns the object that `expression` names, such as `HEAD~2` or `origin/main`.
pub(crate) fn find(repository: &Repository, expression: &str) -> Result<NamedObject, git2::Error> {
    let object = match repository.revparse_single(expression) {
        Ok(object) => object,
        Err(error) => {
            return match error.code() {
                ErrorCode::Ambiguous => Ok(NamedObject::Ambiguous),
                // libgit2 reports an unknown ref log, upstream and message in different ways.
                ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::GenericError => {
                    Ok(NamedObject::Unknown)
                }
                _ => Err(error),
            };
        }
    };
    Ok(match object.peel_to_commit() {
        Ok(commit) => NamedObject::Commit(CommitId(object_id(commit.id()))),
        Err(_) => NamedObject::Other(object.kind().map_or("object", |kind| kind.str())),
    })
}

/// Returns the parents of a commit; `None` if the repository lacks the commit.
pub(crate) fn parents(repository: &Repository, commit: CommitId) -> Option<Vec<CommitId>> {
    let commit = repository.find_commit(oid(commit.0)).ok()?;
    Some(commit.parent_ids().map(|id| CommitId(object_id(id))).collect())
}

/// Returns the best common ancestors of `one` and of a merge of `others`. There are several if branches were merged in
/// both directions.
pub(crate) fn merge_bases(
    repository: &Repository,
    one: CommitId,
    others: &[CommitId],
) -> Result<Vec<CommitId>, git2::Error> {
    let commits: Vec<Oid> = [one].iter().chain(others).map(|commit| oid(commit.0)).collect();
    match repository.merge_bases_many(&commits) {
        Ok(bases) => Ok(bases.iter().map(|id| CommitId(object_id(*id))).collect()),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}

/// Returns whether the history of `tips` is complete down to `ends`: a shallow clone lacks the parents of none of these
/// commits.
pub(crate) fn is_complete(
    repository: &Repository,
    tips: &[CommitId],
    ends: &[CommitId],
) -> Result<bool, git2::Error> {
    if !repository.is_shallow() {
        return Ok(true);
    }
    let boundary = shallow(repository);
    let mut walk = repository.revwalk()?;
    tips.iter().try_for_each(|tip| walk.push(oid(tip.0)))?;
    ends.iter().try_for_each(|end| walk.hide(oid(end.0)))?;
    for id in walk {
        if boundary.contains(&id?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the commits whose parents a shallow clone lacks.
fn shallow(repository: &Repository) -> HashSet<Oid> {
    let text = std::fs::read_to_string(repository.commondir().join("shallow")).unwrap_or_default();
    let lines = text.lines();
    lines.filter_map(|line| Oid::from_str(line.trim()).ok()).collect()
}
