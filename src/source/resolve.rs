//! Resolves the configured ref to a commit.

use super::error::{Error, HeadKind};
use crate::git::Repository;
use crate::git::refs::{self, HeadTarget, RefTarget};
use crate::git::revision::{self, NamedObject};
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
        if let Some(target) = refs::target(repository, &full)? {
            return resolved(target, full);
        }
    }
    by_id(repository, name)
}

/// Returns the prefixes that complete `name`; an empty one for a full ref.
pub(super) fn prefixes(name: &str) -> &'static [&'static str] {
    match name.starts_with("refs/") {
        true => &[""],
        false => &["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"],
    }
}

fn head(repository: &Repository) -> Result<Resolved, Error> {
    match refs::head(repository)? {
        HeadTarget::Branch(name, target) => resolved(target, name),
        HeadTarget::Detached(target) => resolved(target, "HEAD (detached)".to_owned()),
        HeadTarget::Unborn(branch) => Err(Error::Unborn(branch)),
    }
}

fn resolved(target: RefTarget, reference: String) -> Result<Resolved, Error> {
    match target {
        RefTarget::Commit(commit) => Ok(Resolved { reference, commit }),
        RefTarget::Other => Err(Error::NotACommit(reference)),
    }
}

/// Returns whether `name` can be a full or short commit id.
pub(super) fn is_id(name: &str) -> bool {
    // Git accepts no abbreviation of fewer than four digits.
    (4..=40).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn by_id(repository: &Repository, name: &str) -> Result<Resolved, Error> {
    if !is_id(name) {
        return Err(unknown(repository, name));
    }
    match revision::by_id(repository, &name.to_ascii_lowercase())? {
        NamedObject::Ambiguous => Err(Error::AmbiguousId(name.to_owned())),
        NamedObject::Commit(commit) => resolved(RefTarget::Commit(commit), commit.to_string()),
        NamedObject::Other(_) => Err(Error::NotACommit(name.to_owned())),
        NamedObject::Unknown => Err(unknown(repository, name)),
    }
}

fn unknown(repository: &Repository, reference: &str) -> Error {
    let names = refs::short_names(repository, "refs/*");
    Error::UnknownRef {
        reference: reference.to_owned(),
        near: near(reference, names.unwrap_or_default()),
        head: match refs::is_detached(repository) {
            true => HeadKind::Detached,
            false => HeadKind::Branch,
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
