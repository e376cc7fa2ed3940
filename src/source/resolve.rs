//! Resolves the configured ref to a commit.

use git2::{ErrorCode, Reference};

use super::error::{Error, HeadKind};
use crate::git::{Repository, object_id};
use crate::model::CommitId;

/// A ref and its commit.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Resolved {
    /// The full name, a commit id, or `HEAD (detached)`.
    pub(super) reference: String,
    pub(super) commit: CommitId,
}

/// Resolves `reference` as a branch, a tag, a remote's branch, a full ref, or a commit id, in this order. Without a
/// reference, resolves `HEAD`.
pub(super) fn resolve(repository: &Repository, reference: Option<&str>) -> Result<Resolved, Error> {
    let name = match reference {
        None | Some("HEAD") => return head(repository),
        Some(name) => name,
    };
    for prefix in prefixes(name) {
        let full = format!("{prefix}{name}");
        if !Reference::is_valid_name(&full) {
            continue;
        }
        match repository.find_reference(&full) {
            Ok(found) => return peeled(&found, full),
            Err(error) if error.code() == ErrorCode::NotFound => {}
            Err(error) => return Err(error.into()),
        }
    }
    by_id(repository, name)?.ok_or_else(|| unknown(repository, name))
}

/// Returns the prefixes that complete `name`; an empty one for a full ref.
pub(super) fn prefixes(name: &str) -> &'static [&'static str] {
    match name.starts_with("refs/") {
        true => &[""],
        false => &["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"],
    }
}

fn head(repository: &Repository) -> Result<Resolved, Error> {
    match repository.head() {
        Ok(head) if repository.head_detached()? => peeled(&head, "HEAD (detached)".to_owned()),
        Ok(head) => {
            let name = String::from_utf8_lossy(head.name_bytes()).into_owned();
            peeled(&head, name)
        }
        Err(error) if matches!(error.code(), ErrorCode::UnbornBranch | ErrorCode::NotFound) => {
            Err(Error::Unborn(unborn(repository)))
        }
        Err(error) => Err(error.into()),
    }
}

/// Returns the branch that `HEAD` names although it does not exist.
fn unborn(repository: &Repository) -> String {
    let head = repository.find_reference("HEAD").ok();
    let target = head
        .as_ref()
        .and_then(|head| head.symbolic_target().ok().flatten());
    let target = target.unwrap_or("HEAD");
    target.strip_prefix("refs/heads/").unwrap_or(target).to_owned()
}

fn peeled(found: &Reference<'_>, reference: String) -> Result<Resolved, Error> {
    match found.peel_to_commit() {
        Ok(commit) => Ok(Resolved {
            reference,
            commit: CommitId(object_id(commit.id())),
        }),
        Err(error) => match error.code() {
            ErrorCode::Peel | ErrorCode::InvalidSpec | ErrorCode::GenericError => {
                Err(Error::NotACommit(reference))
            }
            _ => Err(error.into()),
        },
    }
}

/// Returns whether `name` can be a full or short commit id.
pub(super) fn is_id(name: &str) -> bool {
    // Git accepts no abbreviation of fewer than four digits.
    (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn by_id(repository: &Repository, name: &str) -> Result<Option<Resolved>, Error> {
    if !is_id(name) {
        return Ok(None);
    }
    let object = match repository.find_object_by_prefix(&name.to_ascii_lowercase(), None) {
        Ok(object) => object,
        Err(error) => match error.code() {
            ErrorCode::Ambiguous => return ambiguous(repository, name),
            ErrorCode::NotFound => return Ok(None),
            _ => return Err(error.into()),
        },
    };
    let commit = object
        .peel_to_commit()
        .map_err(|_| Error::NotACommit(name.to_owned()))?;
    Ok(Some(at(&commit)))
}

fn ambiguous(repository: &Repository, name: &str) -> Result<Option<Resolved>, Error> {
    // Only one of the objects may be a commit.
    match repository.find_commit_by_prefix(&name.to_ascii_lowercase()) {
        Ok(commit) => Ok(Some(at(&commit))),
        Err(_) => Err(Error::AmbiguousId(name.to_owned())),
    }
}

fn at(commit: &git2::Commit<'_>) -> Resolved {
    Resolved {
        reference: commit.id().to_string(),
        commit: CommitId(object_id(commit.id())),
    }
}

fn unknown(repository: &Repository, reference: &str) -> Error {
    let names = repository.references().map(|references| {
        let names = references
            .flatten()
            .filter_map(|found| found.shorthand().ok().map(str::to_owned));
        names.collect::<Vec<_>>()
    });
    Error::UnknownRef {
        reference: reference.to_owned(),
        near: near(reference, names.unwrap_or_default()),
        head: match repository.head_detached() {
            Ok(true) => HeadKind::Detached,
            _ => HeadKind::Branch,
        },
    }
}

/// Returns up to three of `names` that are similar to `wanted`, best first.
pub(super) fn near(wanted: &str, names: Vec<String>) -> Vec<String> {
    let mut scored: Vec<(f64, String)> = names
        .into_iter()
        .map(|name| (strsim::jaro_winkler(wanted, &name), name))
        .filter(|(score, _)| *score > 0.75)
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.dedup();
    scored.into_iter().take(3).map(|(_, name)| name).collect()
}
