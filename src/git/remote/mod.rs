//! Connects to Git hosts over HTTPS and ssh.
//!
//! libgit2 implements the protocol, and the sub-transports of this module carry its bytes: HTTPS through the client that
//! also sends requests to the service, ssh through the `ssh` program. The settings of each connection are in a table under
//! a number. libgit2 sees only the URL `gitoggle://<number>`, so it never sees an address or a secret, and rewriting rules
//! in a user's Git configuration have no effect.

mod connection;
mod error;
mod host_message;
mod https;
mod ls_refs;
mod moved;
mod paced;
mod pkt_line;
mod ssh;
mod ssh_command;
mod ssh_host;

pub use error::{GitError, Offered};
pub use host_message::HostMessage;
pub use moved::moved_to;
pub use ssh_host::SshHost;

use super::ids::object_id;
use super::libgit2::libgit2_with_transport;
use super::{GitAccess, RepoUrl};
use crate::model::ObjectId;
use connection::{Connection, Ticket};
use ssh_command::Environment;

/// The URL scheme of the sub-transports in libgit2.
const SCHEME: &str = "gitoggle";

/// A ref that a remote advertises.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Advertised {
    /// The full name or `HEAD`; the name of a peeled tag ends in `^{}`.
    pub name: String,
    /// The target object.
    pub id: ObjectId,
    /// The target of a symbolic ref, if the server reports it.
    pub target: Option<String>,
}

/// Calls `work` with a remote for `url` that is not connected yet. Its `fetch`, `push`, and `connect` use the transports of
/// this module, which authenticate without callbacks.
///
/// Blocks; must not run on a thread that drives asynchronous tasks.
///
/// # Errors
/// The cause of a failed connection in preference to libgit2's less specific error; [`GitError::Local`] for a path.
pub fn with_remote<T>(
    repository: &git2::Repository,
    url: &RepoUrl,
    access: &GitAccess,
    work: impl FnOnce(&mut git2::Remote<'_>) -> Result<T, git2::Error>,
) -> Result<T, GitError> {
    with_remote_in(repository, url, access, Environment::of_process(), work)
}

/// Fetches `refspecs` into `repository`, without following tags.
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
        // Only the requested refs are fetched (DESIGN section 5), and nothing reads `FETCH_HEAD` of the repository.
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
    libgit2_with_transport(SCHEME, transport)?;
    let ticket = Ticket::new(url, access, environment)?;
    let mut remote = repository.remote_anonymous(&ticket.url())?;
    let result = work(&mut remote);
    drop(remote);
    result.map_err(|error| ticket.explain(error))
}

/// Looks up the refs of `url` that begin with one of `prefixes`, or all refs if `prefixes` is empty.
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
    // libgit2 supports only protocol v0, which lists all refs: 1.3 MB instead of 2 kB with 20,000 pull requests.
    if url.https().is_some() {
        let connection = Connection::new(url, access, environment)?;
        return ls_refs::ls_refs(&connection, prefixes);
    }
    libgit2_with_transport(SCHEME, transport)?;
    let ticket = Ticket::new(url, access, environment)?;
    let mut remote = git2::Remote::create_detached(ticket.url())?;
    let refs = list(&mut remote);
    drop(remote);
    let mut refs = refs.map_err(|error| ticket.explain(error))?;
    // Over ssh, libgit2 uses protocol v0, in which the server lists all refs.
    refs.retain(|found| begins_with_one_of(&found.name, prefixes));
    Ok(refs)
}

/// Returns whether `name` begins with one of `prefixes`. Every name does if `prefixes` is empty.
fn begins_with_one_of(name: &str, prefixes: &[&str]) -> bool {
    prefixes.is_empty() || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the refs of `remote` and disconnects it.
fn list(remote: &mut git2::Remote<'_>) -> Result<Vec<Advertised>, git2::Error> {
    let connected = remote.connect_auth(git2::Direction::Fetch, None, None)?;
    let heads = connected.list()?.iter().map(|head| Advertised {
        name: head.name().to_owned(),
        id: object_id(head.oid()),
        target: head.symref_target().map(str::to_owned),
    });
    Ok(heads.collect())
}

/// Creates the transport of a remote. libgit2 calls this.
fn transport(remote: &git2::Remote<'_>) -> Result<git2::transport::Transport, git2::Error> {
    let connection = connection::find(remote.url_bytes())
        .ok_or_else(|| git2::Error::from_str("gitoggle did not create this remote"))?;
    // HTTPS is stateless, with one request for each exchange. ssh keeps one stream for the whole connection.
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
