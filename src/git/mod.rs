//! Git, for the source, the state, and everything else that names a repository.
//!
//! The `git` program does everything on the network, and libgit2 everything local. The module has four parts.
//!
//! * *Addresses.* A [`RepoUrl`] is `https`, ssh, or a path. Plain `http`, `git`, and `ext` are refused, as are passwords in
//!   URLs: an address is printed, logged, and stored, so it never holds a secret. [`GitAccess`] holds the credentials and
//!   the host that may get them.
//! * *Remotes.* `process` runs `git ls-remote`, `git fetch`, and `git push` on bare repositories of gitoggle. Its errors
//!   ([`GitError`]) show what Git or the host said. `verify` runs `git verify-commit` on a copy of one commit.
//! * *Reading.* [`open`] and [`open_bare`] open repositories, and no other module does: libgit2 has process-wide settings
//!   that must be set before its first use. Nothing in a repository's configuration is executed, the configuration of the
//!   user and the machine is not read, and the repository may belong to another user. Opening costs some fifty system
//!   calls, so a [`RepositoryPool`] keeps one handle for the next reader. An [`ObjectReader`] reads trees and blobs with
//!   limits. The reader reports an object that is missing, malformed, or of the wrong
//!   type. The caller decides on the meaning: a source checks its path again or clones again, and a state is broken.
//!   `revision` and `refs` find commits by name, `commit` reads them, `history` walks over them, and `merge` merges two in
//!   memory.
//! * *Writing.* `fetch` writes the objects that a server sends. The state writes its own objects: objects that belong
//!   together become one `pack`, so that a thousand documents cost one sync. The `git` program copies many documents as the
//!   source has packed them, and merges packs before they accumulate. A ref moves by Git's own protocol (`refs`): lock,
//!   compare, write, sync, rename. Each step syncs
//!   its files before the next one relies on them: objects first, then the ref that names them. [`FailpointHook`] lets a
//!   test stop between any two steps.
//!
//! Errors keep the cause that the operating system gave ([`Libgit2Error::io_fault`]), so that a full disk is never reported
//! as a damaged repository. Other modules get handles and errors of libgit2 from here; they do not make repositories or
//! remotes. Besides this module, only the state names types of libgit2, because it writes its own commits and refs.

pub(crate) mod commit;
mod error;
mod failpoint;
mod host_error;
pub(crate) mod merge;
pub(crate) mod pack;
mod process;
mod process_group;
pub(crate) mod refs;
mod repository;
mod sample;
#[cfg(test)]
pub(crate) mod testing;
mod url;
mod verify;

pub use commit::Parents;
pub(crate) use commit::{CommitNode, authored, commit, lacks_parent_tree, raw_commit};
pub(crate) use commit::{object_id, oid};
pub use error::{Libgit2Error, UnsupportedFormat, is_full};
pub use error::{ObjectError, ObjectFault, RepositoryError};
pub use failpoint::FailpointHook;
pub(crate) use failpoint::Failpoints;
#[cfg(test)]
pub(crate) use failpoint::simulated;
/// An open repository. Other modules pass it on; most name no other type of libgit2.
pub use git2::Repository;
pub use host_error::{GitError, GitFailure, GitFault, GitWords};
pub(crate) use process::{Advertised, PushVerdict, fetch, ls_remote, push};
pub(crate) use process_group::{kill_all, wind_down};
pub use repository::ObjectReader;
pub(crate) use repository::{Ignored, changed_files, not_checked_out, os_path};
pub use repository::{PooledRepository, RepositoryPool, init, init_bare, open, open_bare};
pub(crate) use repository::{blob, tree};
pub(crate) use repository::{borrow_objects, config_value, open_or_create, set_config_value, sync_folder};
pub use sample::Sample;
pub use url::{GitAccess, GitCredentials, UserConfig};
pub use url::{RepoUrl, RepoUrlError};
pub(crate) use verify::CommitVerifier;
pub use verify::{TrustedKeys, UnverifiedCommit};
