//! Opening and making repositories: nobody else does, so that libgit2 is set up before it is used.

use std::path::Path;

use git2::{Repository, RepositoryInitOptions, RepositoryOpenFlags};

use super::libgit2::libgit2;

/// Opens the repository at `path`: a work tree, a bare one, a linked work tree, or a symbolic link to one. Never one
/// further up.
///
/// # Errors
/// When there is none, or it is damaged.
pub fn open(path: &Path) -> Result<Repository, git2::Error> {
    open_with(path, RepositoryOpenFlags::NO_SEARCH)
}

/// Opens the repository whose objects and refs are in exactly `folder`, whatever it says of a work tree.
///
/// # Errors
/// As [`open`].
pub fn open_bare(folder: &Path) -> Result<Repository, git2::Error> {
    open_with(folder, RepositoryOpenFlags::NO_SEARCH | RepositoryOpenFlags::BARE)
}

/// Makes a repository in `folder` as `options` say, without what a template of the machine would put into it.
///
/// # Errors
/// When it cannot be written.
pub fn init(folder: &Path, options: &mut RepositoryInitOptions) -> Result<Repository, git2::Error> {
    libgit2()?;
    Repository::init_opts(folder, options.external_template(false))
}

fn open_with(path: &Path, flags: RepositoryOpenFlags) -> Result<Repository, git2::Error> {
    libgit2()?;
    let none: [&str; 0] = [];
    Repository::open_ext(path, flags, none)
}
