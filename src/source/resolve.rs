//! Resolves the configured ref to a commit.

use std::path::Path;

use super::error::{Error, HeadKind, cannot_open};
use crate::git::commit::{self, NamedObject};
use crate::git::refs::{self, HeadTarget, RefTarget};
use crate::git::{self, Repository};
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
    if name.starts_with("refs/") { &[""] } else { &["refs/heads/", "refs/tags/", "refs/remotes/", "refs/"] }
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
    match commit::by_id(repository, &name.to_ascii_lowercase())? {
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
        head: if refs::is_detached(repository) { HeadKind::Detached } else { HeadKind::Branch },
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

pub(super) fn open(path: &Path) -> Result<Repository, Error> {
    git::open(path).map_err(|error| cannot_open(path, error))
}

pub(super) fn open_and_resolve(
    path: &Path,
    reference: Option<&str>,
) -> Result<(Repository, Resolved), Error> {
    let repository = open(path)?;
    match resolve(&repository, reference) {
        Ok(resolved) => Ok((repository, resolved)),
        // A sidecar may have swapped the checkout since it was opened (DESIGN section 5).
        Err(_) if !repository.path().exists() => Err(Error::Vanished(path.to_owned())),
        Err(error) => Err(error),
    }
}

/// Returns the URL of `origin`, the only value that is read from the repository's configuration. As in git, a relative
/// path is relative to the top of the work tree, or to a bare repository itself.
pub(super) fn origin_url(path: &Path) -> Result<Option<String>, Error> {
    let repository = open(path)?;
    let top = repository.workdir().unwrap_or_else(|| repository.path());
    let url = git::config_value(&repository, "remote.origin.url")?;
    Ok(url.map(|url| if is_relative(&url) { top.join(url).to_string_lossy().into_owned() } else { url }))
}

/// Returns whether a remote's URL is a relative path.
fn is_relative(url: &str) -> bool {
    // As in git, `host:path` is an address only if the colon comes before any slash.
    let first = url.split('/').next().unwrap_or_default();
    !first.contains(':') && Path::new(url).is_relative()
}
