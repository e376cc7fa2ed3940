#![doc = include_str!("README.md")]

pub(crate) mod commit;
mod damage;
mod error;
mod failpoint;
mod host_error;
pub(crate) mod merge;
mod objects;
pub(crate) mod pack;
mod process;
mod process_group;
pub(crate) mod refs;
mod remote;
mod repository;
mod sample;
mod temporary_folder;
#[cfg(test)]
pub(crate) mod testing;
mod url;
mod verify;
mod words;
mod work_tree;

pub use commit::Parents;
pub(crate) use commit::{CommitNode, authored, commit, lacks_parent_tree, raw_commit};
pub(crate) use commit::{object_id, oid};
pub(crate) use damage::is_damaged;
pub use error::{Libgit2Error, UnsupportedFormat, is_full};
pub use error::{ObjectError, ObjectFault, RepositoryError};
pub use failpoint::FailpointHook;
pub(crate) use failpoint::Failpoints;
#[cfg(test)]
pub(crate) use failpoint::simulated;
/// An open repository. Other modules pass it on; most name no other type of libgit2.
pub use git2::Repository;
pub use host_error::{GitError, GitFailure, GitFault};
pub use objects::ObjectReader;
pub(crate) use objects::{blob, tree};
pub(crate) use process_group::{kill_all, wind_down};
pub(crate) use remote::{Advertised, PushVerdict, fetch, fetch_named, ls_remote, push};
pub use repository::{PooledRepository, RepositoryPool, init, init_bare, open, open_bare};
pub(crate) use repository::{
    borrow_objects, clear, config_value, open_or_create, set_config_value, sync_folder,
};
pub use sample::Sample;
pub(crate) use temporary_folder::TemporaryFolder;
pub use url::{GitAccess, GitCredentials, UserConfig};
pub use url::{RepoUrl, RepoUrlError};
pub(crate) use verify::CommitVerifier;
pub use verify::{TrustedKeys, UnverifiedCommit};
pub use words::GitWords;
pub(crate) use work_tree::{Ignored, changed_files, not_checked_out, os_path};
