//! TLS, proxies and secrets, and Git connections over HTTPS and ssh.
//!
//! One set of CA, proxy and time-limit settings serves both the toggle service and the Git hosts. Plain `http`,
//! `git` and `ext` do not exist here, nor do passwords in URLs.
//!
//! Invariant: a secret leaves this module only towards the host that it belongs to.

mod access;
mod certificate;
mod daemon;
mod git;
mod handles;
mod libgit2;
mod network;
mod network_failure;
mod os_error;
mod repo_url;
mod repository;
mod secret;
mod ssh_address;

pub use access::{GitAccess, GitCredentials};
pub use certificate::{CertificateFault, certificate_fault};
pub use daemon::{DaemonClient, DaemonError, DaemonReply, DaemonUrl, DaemonUrlError};
pub use git::{Advertised, GitError, HostWords, Offered, SshHost, advertised, moved_to, with_remote};
pub use handles::{Handle, Handles};
pub use network::{Network, NetworkError, provider};
pub use network_failure::{ProxyFault, Reason, proxy_fault, reason};
pub use os_error::{Libgit2Error, io_fault, is_full, os_error};
pub use repo_url::{RepoUrl, RepoUrlError};
pub use repository::{init, open, open_bare};
pub use secret::{Secret, SecretError, SecretSource};

#[cfg(test)]
pub(crate) mod testing;
