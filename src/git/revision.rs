//! Finds commits by an id or by an expression of `git rev-parse`.

use git2::{ErrorCode, Object, Repository};

use super::ids::{object_id, oid};
use super::libgit2_error::Libgit2Error;
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
