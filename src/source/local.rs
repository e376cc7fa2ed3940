//! Reads a repository on this machine in place. Opens it again for each lookup.

use std::path::Path;

use super::error::{Error, cannot_open};
use super::resolve::{Resolved, resolve};
use crate::git::{self, Repository};

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
    Ok(url.map(|url| match is_relative(&url) {
        true => top.join(url).to_string_lossy().into_owned(),
        false => url,
    }))
}

/// Returns whether a remote's URL is a relative path.
fn is_relative(url: &str) -> bool {
    // As in git, `host:path` is an address only if the colon comes before any slash.
    let first = url.split('/').next().unwrap_or_default();
    !first.contains(':') && Path::new(url).is_relative()
}
