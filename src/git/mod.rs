//! Git: the only user of libgit2's repositories and remotes.
//!
//! Connections over HTTPS use the same client as the service; connections over ssh run the `ssh` program. Plain `http`,
//! `git` and `ext` do not exist here, nor do passwords in URLs.

mod access;
mod failpoint;
mod libgit2;
mod objects;
mod os_error;
pub(crate) mod pack;
mod pool;
pub(crate) mod refs;
mod remote;
mod repack;
mod repository;
mod ssh_address;
#[cfg(test)]
pub(crate) mod testing;
mod url;

pub use access::{GitAccess, GitCredentials};
pub use failpoint::FailpointHook;
pub(crate) use failpoint::Failpoints;
pub use objects::{ObjectError, ObjectFault, ObjectReader};
pub(crate) use objects::{blob, object_id, oid, tree};
pub use os_error::{Libgit2Error, io_fault, is_full, os_error};
pub use pool::{PooledRepository, RepositoryPool};
pub use remote::{Advertised, GitError, HostWords, Offered, SshHost, advertised, moved_to, with_remote};
pub(crate) use repack::repack;
pub use repository::{RepositoryError, init, open, open_bare};
pub(crate) use repository::{open_or_create, sync_folder};
pub use url::{RepoUrl, RepoUrlError};
