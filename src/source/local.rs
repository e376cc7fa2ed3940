//! A repository on this machine: opened in place, anew at each look, and only read.

use std::path::Path;

use super::error::{Error, cannot_open};
use super::resolve::{Resolved, resolve};
use crate::git::{self, Repository};

/// Opens the repository at `path`: a work tree, a bare one, a linked work tree, or a symbolic link to one. Never
/// one further up.
pub(super) fn open(path: &Path) -> Result<Repository, Error> {
    git::open(path).map_err(|error| cannot_open(path, error))
}

/// Resolves `reference` in the repository at `path`, and returns both.
pub(super) fn look_up(path: &Path, reference: Option<&str>) -> Result<(Repository, Resolved), Error> {
    let repository = open(path)?;
    match resolve(&repository, reference) {
        Ok(resolved) => Ok((repository, resolved)),
        Err(_) if !repository.path().exists() => Err(Error::Vanished(path.to_owned())),
        Err(error) => Err(error),
    }
}

/// Returns the URL of `origin`, the only thing that is read from the repository's configuration. A relative path counts
/// from the top of the work tree, or from a bare repository itself, as for git.
pub(super) fn origin_url(path: &Path) -> Result<Option<String>, Error> {
    let repository = open(path)?;
    let top = repository.workdir().unwrap_or_else(|| repository.path());
    match repository.config()?.get_string("remote.origin.url") {
        Ok(url) if is_relative(&url) => Ok(Some(top.join(url).to_string_lossy().into_owned())),
        Ok(url) => Ok(Some(url)),
        Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether a remote's URL is a path that is not absolute: neither `https://…` nor `host:path`.
fn is_relative(url: &str) -> bool {
    let first = url.split('/').next().unwrap_or_default();
    !first.contains(':') && Path::new(url).is_relative()
}
