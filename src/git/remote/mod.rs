//! Git connections over HTTPS and ssh, through libgit2.
//!
//! libgit2 speaks the protocol; the bytes go through sub-transports of our own: HTTPS over the client that also
//! talks to the service, ssh over the `ssh` program. A connection's settings wait in a table under a number; the
//! URL that libgit2 sees is `gitoggle://<number>`, so neither the address, nor a secret, nor a rewriting rule in
//! somebody's Git configuration ever gets in between.

mod connection;
mod error;
mod https;
mod ls_refs;
mod moved;
mod pkt_line;
mod ssh;
mod ssh_host;
mod words;

pub use error::{GitError, Offered};
pub use moved::moved_to;
pub use ssh_host::SshHost;
pub use words::HostWords;

use super::libgit2::libgit2;
use super::objects::object_id;
use super::{GitAccess, RepoUrl};
use crate::model::ObjectId;
use connection::{Connection, Ticket};
use ssh::Environment;

/// The scheme that libgit2 knows our sub-transports by.
pub(super) const SCHEME: &str = "gitoggle";

/// A ref that a remote advertises.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advertised {
    /// Its full name; `HEAD` is one, and peeled tags end in `^{}`.
    pub name: String,
    /// The object it points at.
    pub id: ObjectId,
    /// The ref that it stands for, where it is a symbolic one and the server says so.
    pub target: Option<String>,
}

/// Calls `work` with a remote for `url` that is not connected yet: its `fetch`, `push` and `connect` all go through
/// our own transports, which authenticate by themselves and need no callbacks for that.
///
/// Blocks; must not run on a thread that drives asynchronous tasks.
///
/// # Errors
/// What went wrong on the way, in preference to the vaguer words of libgit2 for it. [`GitError::Local`] for a path:
/// that is opened, not connected to.
pub fn with_remote<T>(
    repository: &git2::Repository,
    url: &RepoUrl,
    access: &GitAccess,
    work: impl FnOnce(&mut git2::Remote<'_>) -> Result<T, git2::Error>,
) -> Result<T, GitError> {
    with_remote_in(repository, url, access, Environment::of_process(), work)
}

/// Fetches what `refspecs` name into `repository`, and no tags besides.
///
/// # Errors
/// As [`with_remote`].
pub fn fetch(
    repository: &git2::Repository,
    url: &RepoUrl,
    access: &GitAccess,
    refspecs: &[impl AsRef<str>],
) -> Result<(), GitError> {
    let refspecs: Vec<&str> = refspecs.iter().map(AsRef::as_ref).collect();
    with_remote(repository, url, access, |remote| {
        let mut options = git2::FetchOptions::new();
        options
            .download_tags(git2::AutotagOption::None)
            .update_fetchhead(false);
        remote.fetch(&refspecs, Some(&mut options), None)
    })
}

fn with_remote_in<T>(
    repository: &git2::Repository,
    url: &RepoUrl,
    access: &GitAccess,
    environment: Environment,
    work: impl FnOnce(&mut git2::Remote<'_>) -> Result<T, git2::Error>,
) -> Result<T, GitError> {
    libgit2()?;
    let ticket = Ticket::new(url, access, environment)?;
    let mut remote = repository.remote_anonymous(&ticket.url())?;
    let result = work(&mut remote);
    drop(remote);
    result.map_err(|error| ticket.explain(error))
}

/// Returns the refs that `url` advertises to readers and that begin with one of `prefixes` (all, if there is none), in
/// one lookup and without a repository.
///
/// # Errors
/// As [`with_remote`].
pub fn advertised(url: &RepoUrl, access: &GitAccess, prefixes: &[&str]) -> Result<Vec<Advertised>, GitError> {
    advertised_in(url, access, Environment::of_process(), prefixes)
}

fn advertised_in(
    url: &RepoUrl,
    access: &GitAccess,
    environment: Environment,
    prefixes: &[&str],
) -> Result<Vec<Advertised>, GitError> {
    if url.https().is_some() {
        let connection = Connection::new(url, access, environment)?;
        return ls_refs::ls_refs(&connection, prefixes);
    }
    libgit2()?;
    let ticket = Ticket::new(url, access, environment)?;
    let mut remote = git2::Remote::create_detached(ticket.url())?;
    let refs = list(&mut remote);
    drop(remote);
    let mut refs = refs.map_err(|error| ticket.explain(error))?;
    refs.retain(|found| begins_with_one_of(&found.name, prefixes));
    Ok(refs)
}

/// Returns whether `name` is asked for, which every name is where no prefix is given.
fn begins_with_one_of(name: &str, prefixes: &[&str]) -> bool {
    prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the refs of `remote`, and leaves it disconnected.
fn list(remote: &mut git2::Remote<'_>) -> Result<Vec<Advertised>, git2::Error> {
    let connected = remote.connect_auth(git2::Direction::Fetch, None, None)?;
    let heads = connected.list()?.iter().map(|head| Advertised {
        name: head.name().to_owned(),
        id: object_id(head.oid()),
        target: head.symref_target().map(str::to_owned),
    });
    Ok(heads.collect())
}

/// Makes the transport for a remote that [`with_remote`] made; libgit2 calls this.
pub(super) fn transport(remote: &git2::Remote<'_>) -> Result<git2::transport::Transport, git2::Error> {
    let connection = connection::find(remote.url_bytes())
        .ok_or_else(|| git2::Error::from_str("this remote was not made by gitoggle"))?;
    match connection.url.https().is_some() {
        true => git2::transport::Transport::smart(remote, true, https::Https(connection)),
        false => git2::transport::Transport::smart(remote, false, ssh::Ssh(connection)),
    }
}

#[cfg(test)]
mod https_tests;
#[cfg(test)]
mod ls_refs_tests;
#[cfg(test)]
mod ssh_tests;
