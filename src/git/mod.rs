//! Git: the only user of libgit2's repositories and remotes.
//!
//! Connections over HTTPS use the same client as the service; connections over ssh run the `ssh` program. Plain `http`,
//! `git` and `ext` do not exist here, nor do passwords in URLs.

mod access;
mod libgit2;
mod os_error;
mod pool;
mod remote;
mod repository;
mod ssh_address;
#[cfg(test)]
pub(crate) mod testing;
mod url;

pub use access::{GitAccess, GitCredentials};
pub use os_error::{Libgit2Error, io_fault, is_full, os_error};
pub use pool::{Handle, Handles};
pub use remote::{Advertised, GitError, HostWords, Offered, SshHost, advertised, moved_to, with_remote};
pub use repository::{init, open, open_bare};
pub use url::{RepoUrl, RepoUrlError};
