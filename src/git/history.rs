//! Walks over histories, and compares the histories of commits.

use std::collections::HashSet;

use git2::{ErrorCode, Oid, Repository, Revwalk, Sort};

use super::RepositoryError;
use super::commit::{Parents, object_id, oid};
use super::error::Libgit2Error;
use crate::model::CommitId;

/// Returns the commits of the histories of `tips` without those of `hidden`, in no particular order.
pub(crate) fn commits<'a>(
    repository: &'a Repository,
    tips: &[CommitId],
    hidden: &[CommitId],
) -> Result<impl Iterator<Item = Result<CommitId, Libgit2Error>> + use<'a>, Libgit2Error> {
    let mut walk = repository.revwalk()?;
    tips.iter().try_for_each(|tip| walk.push(oid(tip.0)))?;
    hidden.iter().try_for_each(|end| walk.hide(oid(end.0)))?;
    Ok(ids(walk))
}

/// Returns the commits of the history of `start`, newest first: children come before their parents even if clocks were
/// wrong. Leaves out the histories of `hidden`.
pub(crate) fn newest_first<'a>(
    repository: &'a Repository,
    start: CommitId,
    parents: Parents,
    hidden: &[CommitId],
) -> Result<impl Iterator<Item = Result<CommitId, Libgit2Error>> + use<'a>, Libgit2Error> {
    let mut walk = repository.revwalk()?;
    walk.set_sorting(Sort::TOPOLOGICAL | Sort::TIME)?;
    walk.push(oid(start.0))?;
    hidden.iter().try_for_each(|end| walk.hide(oid(end.0)))?;
    if parents == Parents::First {
        walk.simplify_first_parent()?;
    }
    Ok(ids(walk))
}

fn ids(walk: Revwalk<'_>) -> impl Iterator<Item = Result<CommitId, Libgit2Error>> {
    walk.map(|id| Ok(CommitId(object_id(id?))))
}

/// Returns whether `ancestor` is a proper ancestor of `commit`.
pub(crate) fn is_descendant(
    repository: &Repository,
    commit: CommitId,
    ancestor: CommitId,
) -> Result<bool, Libgit2Error> {
    Ok(repository.graph_descendant_of(oid(commit.0), oid(ancestor.0))?)
}

/// Returns whether `ancestor` is part of the local history of `commit`.
pub(crate) fn descends(
    repository: &Repository,
    commit: CommitId,
    ancestor: CommitId,
) -> Result<bool, RepositoryError> {
    // The walk reports a missing commit and a broken repository as the same error.
    let odb = repository.odb().map_err(RepositoryError::git(repository.path()))?;
    if !odb.exists(oid(ancestor.0)) {
        return Ok(false);
    }
    match is_descendant(repository, commit, ancestor) {
        Err(error) if error.is_not_found() => Ok(false),
        descends => descends.map_err(RepositoryError::git(repository.path())),
    }
}

/// Returns the best common ancestors of `one` and of a merge of `others`. There are several if branches were merged in
/// both directions.
pub(crate) fn merge_bases(
    repository: &Repository,
    one: CommitId,
    others: &[CommitId],
) -> Result<Vec<CommitId>, Libgit2Error> {
    let commits: Vec<Oid> = [one].iter().chain(others).map(|commit| oid(commit.0)).collect();
    match repository.merge_bases_many(&commits) {
        Ok(bases) => Ok(bases.iter().map(|id| CommitId(object_id(*id))).collect()),
        Err(error) if error.code() == ErrorCode::NotFound => Ok(Vec::new()),
        Err(error) => Err(error.into()),
    }
}

/// Returns a common ancestor of all commits; none if there is none, or if a commit is missing here.
pub(crate) fn common_ancestor(
    repository: &Repository,
    commits: &[CommitId],
) -> Result<Option<CommitId>, Libgit2Error> {
    let ids: Vec<Oid> = commits.iter().map(|commit| oid(commit.0)).collect();
    match ids.as_slice() {
        [one] => Ok(Some(CommitId(object_id(*one)))),
        _ => match repository.merge_base_octopus(&ids) {
            Ok(base) => Ok(Some(CommitId(object_id(base)))),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        },
    }
}

/// Returns whether the history of `tips` is complete down to `ends`: a shallow clone lacks the parents of none of these
/// commits.
pub(crate) fn is_complete(
    repository: &Repository,
    tips: &[CommitId],
    ends: &[CommitId],
) -> Result<bool, Libgit2Error> {
    if !repository.is_shallow() {
        return Ok(true);
    }
    let boundary = boundary(repository);
    for commit in commits(repository, tips, ends)? {
        if boundary.contains(&commit?) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the commits whose parents a shallow clone lacks.
pub(crate) fn boundary(repository: &Repository) -> HashSet<CommitId> {
    let text = std::fs::read_to_string(repository.commondir().join("shallow")).unwrap_or_default();
    let lines = text.lines();
    lines.filter_map(|line| line.trim().parse().ok().map(CommitId)).collect()
}
