//! Reads commits and their ancestry. Decodes their messages by the encoding that the commit names.

use std::collections::HashSet;

use git2::{ErrorCode, Object, Oid, Repository, Revwalk, Sort};

use super::RepositoryError;
use super::error::Libgit2Error;
use crate::model::{AuthoredCommit, Commit, CommitId, ObjectId};

/// The parents of a merge that a walk follows.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Parents {
    /// All parents, which finds the commit of a merged branch.
    #[default]
    All,
    /// The first parent, which finds the merge.
    First,
}

/// A commit without its message.
pub(crate) struct CommitNode {
    pub(crate) id: CommitId,
    /// The commit time, in seconds since 1970-01-01 UTC.
    pub(crate) time: i64,
    pub(crate) tree: ObjectId,
    parents: Vec<CommitId>,
}

impl CommitNode {
    pub(crate) fn read(repository: &Repository, id: CommitId) -> Result<Self, Libgit2Error> {
        let commit = repository.find_commit(oid(id.0))?;
        let parents = commit.parent_ids().map(|id| CommitId(object_id(id)));
        Ok(Self {
            id,
            time: commit.committer().when().seconds(),
            tree: object_id(commit.tree_id()),
            parents: parents.collect(),
        })
    }

    /// Returns the parents that a walk follows.
    pub(crate) fn parents(&self, parents: Parents) -> &[CommitId] {
        let count = match parents {
            Parents::All => self.parents.len(),
            // The first commit has no parent.
            Parents::First => self.parents.len().min(1),
        };
        &self.parents[..count]
    }
}

pub(crate) fn commit(repository: &Repository, id: CommitId) -> Result<Commit, Libgit2Error> {
    Ok(authored(repository, id)?.commit)
}

pub(crate) fn authored(repository: &Repository, id: CommitId) -> Result<AuthoredCommit, Libgit2Error> {
    let commit = repository.find_commit(oid(id.0))?;
    let encoding = commit.header_field_bytes("encoding").ok();
    let encoding = encoding.as_deref().map(String::from_utf8_lossy);
    let text = |bytes: &[u8]| decode(bytes, encoding.as_deref());
    let author = commit.author();
    Ok(AuthoredCommit {
        commit: Commit {
            id,
            message: text(commit.message_raw_bytes()),
            committed_at: commit.committer().when().seconds(),
        },
        author: text(author.name_bytes()),
        email: text(author.email_bytes()),
    })
}

/// Returns the bytes of the commit, which its signature covers.
pub(crate) fn raw_commit(repository: &Repository, id: CommitId) -> Result<Vec<u8>, Libgit2Error> {
    Ok(repository.odb()?.read(oid(id.0))?.data().to_vec())
}

/// Returns whether the repository lacks the tree of a parent of the commit.
pub(crate) fn lacks_parent_tree(repository: &Repository, id: CommitId) -> bool {
    let commit = repository.find_commit(oid(id.0));
    commit.is_ok_and(|commit| commit.parents().any(|parent| parent.tree().is_err()))
}

/// Decodes `bytes`. An unsupported encoding is read as UTF-8, and malformed bytes become replacement
/// characters.
fn decode(bytes: &[u8], encoding: Option<&str>) -> String {
    let name = encoding.unwrap_or("utf-8").replace('_', "-");
    // The decoder knows the names of the web platform. Those of iconv, which git uses, differ in dashes.
    let names = [encoding.unwrap_or("utf-8"), &name, &name.replace('-', "")];
    let known = names.iter().find_map(|name| encoding_rs::Encoding::for_label(name.as_bytes()));
    // Encodings that browsers refuse decode to a single replacement character.
    let usable = known.filter(|encoding| *encoding != encoding_rs::REPLACEMENT);
    let decoder = usable.unwrap_or(encoding_rs::UTF_8);
    decoder.decode_without_bom_handling(bytes).0.into_owned()
}

pub(crate) fn oid(id: ObjectId) -> Oid {
    Oid::from_bytes(&id.0).expect("an id has 20 bytes")
}

pub(crate) fn object_id(oid: Oid) -> ObjectId {
    let mut id = [0; 20];
    id.copy_from_slice(&oid.as_bytes()[..20]);
    ObjectId(id)
}

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
pub(crate) fn find(repository: &Repository, expression: &str) -> Result<NamedObject, Libgit2Error> {
    let object = match repository.revparse_single(expression) {
        Ok(object) => object,
        Err(error) => {
            return match error.code() {
                ErrorCode::Ambiguous => Ok(NamedObject::Ambiguous),
                // libgit2 reports an unknown ref log, upstream and message in different ways.
                ErrorCode::NotFound | ErrorCode::InvalidSpec | ErrorCode::GenericError => {
                    Ok(NamedObject::Unknown)
                }
                _ => Err(error.into()),
            };
        }
    };
    Ok(named(&object))
}

/// Returns the object whose id begins with `digits`, in lower case. Among several, the only commit counts.
pub(crate) fn by_id(repository: &Repository, digits: &str) -> Result<NamedObject, Libgit2Error> {
    let error = match repository.find_object_by_prefix(digits, None) {
        Ok(object) => return Ok(named(&object)),
        Err(error) => error,
    };
    match error.code() {
        ErrorCode::Ambiguous => Ok(match repository.find_commit_by_prefix(digits) {
            Ok(commit) => NamedObject::Commit(CommitId(object_id(commit.id()))),
            Err(_) => NamedObject::Ambiguous,
        }),
        ErrorCode::NotFound => Ok(NamedObject::Unknown),
        _ => Err(error.into()),
    }
}

/// Returns the commit that `id` is or, as an annotated tag, names.
pub(crate) fn peel(repository: &Repository, id: CommitId) -> Option<CommitId> {
    let object = repository.find_object(oid(id.0), None).ok()?;
    Some(CommitId(object_id(object.peel_to_commit().ok()?.id())))
}

fn named(object: &Object<'_>) -> NamedObject {
    match object.peel_to_commit() {
        Ok(commit) => NamedObject::Commit(CommitId(object_id(commit.id()))),
        Err(_) => NamedObject::Other(object.kind().map_or("object", |kind| kind.str())),
    }
}

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

/// Returns the commits of the history of `start`, newest first: children come before their parents even if
/// clocks were wrong. Leaves out the histories of `hidden`.
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

/// Returns the best common ancestors of `one` and of a merge of `others`. There are several if branches were
/// merged in both directions.
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

/// Returns whether the history of `tips` is complete down to `ends`: a shallow clone lacks the parents of
/// none of these commits.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_decoded_by_its_encoding() {
        for (bytes, encoding, text) in [
            (&b"na\xefve"[..], Some("ISO-8859-1"), "naïve"),
            (b"5 \x80 \x96", Some("windows-1252"), "5 € –"),
            (b"5 \xa4", Some("ISO-8859-15"), "5 €"),
            ("naïve".as_bytes(), None, "naïve"),
            (b"na\xefve", None, "na\u{fffd}ve"),
            (b"na\xefve", Some("klingon"), "na\u{fffd}ve"),
            (b"na\xefve", Some("latin-1"), "naïve"),
            (b"\x93\xfa\x96\x7b", Some("Shift_JIS"), "日本"),
            (b"\xc6\xfc\xcb\xdc", Some("EUC-JP"), "日本"),
            (b"\xf0\xd2\xc9", Some("KOI8-R"), "При"),
            ("naïve".as_bytes(), Some("ISO-2022-KR"), "naïve"),
            (b"na\xefve", Some("iso_2022_kr"), "na\u{fffd}ve"),
            (b"plain", Some("ISO-2022-CN"), "plain"),
            (b"plain", Some("ISO-2022-CN-EXT"), "plain"),
            (b"plain", Some("HZ-GB-2312"), "plain"),
            (b"plain", Some("HZ"), "plain"),
            (b"plain", Some("replacement"), "plain"),
        ] {
            assert_eq!(decode(bytes, encoding), text, "{encoding:?}");
        }
    }
}
