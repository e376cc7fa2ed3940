//! Keeps the settings of open connections in a table, where libgit2's callbacks can find them.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::ssh_command::Environment;
use super::{GitError, SCHEME};
use crate::git::{GitAccess, RepoUrl};

/// The settings and the state of one connection.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) url: RepoUrl,
    pub(super) access: GitAccess,
    pub(super) environment: Environment,
    /// The first failure. libgit2 keeps only its message, cut.
    failure: Mutex<Option<GitError>>,
    /// The target of the first request's redirect.
    pub(super) base: Mutex<Option<url::Url>>,
    pub(super) client: Mutex<Option<reqwest::blocking::Client>>,
}

impl Connection {
    pub(super) fn new(
        url: &RepoUrl,
        access: &GitAccess,
        environment: Environment,
    ) -> Result<Arc<Self>, GitError> {
        if url.local_path().is_some() {
            return Err(GitError::Local);
        }
        Ok(Arc::new(Self {
            url: url.clone(),
            access: access.clone(),
            environment,
            failure: Mutex::default(),
            base: Mutex::default(),
            client: Mutex::default(),
        }))
    }

    /// Records `error` as the failure, and returns it for libgit2.
    pub(super) fn fail(&self, error: GitError) -> git2::Error {
        let message = error.to_string();
        // The first failure is the cause, and later ones follow from it.
        lock(&self.failure).get_or_insert(error);
        // git2 panics when it passes a message with a NUL to libgit2.
        git2::Error::from_str(&message.replace('\0', ""))
    }

    /// Records `error` as [`Connection::fail`] does, and returns it as an I/O error of a stream.
    pub(super) fn fail_io(&self, error: GitError) -> std::io::Error {
        std::io::Error::other(self.fail(error).message().to_owned())
    }
}

/// The connections in use, by a number that is never reused.
#[derive(Default)]
struct Table {
    last: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An entry in the table of connections, which is removed on drop.
pub(super) struct Ticket {
    number: u64,
    connection: Arc<Connection>,
}

impl Ticket {
    pub(super) fn new(url: &RepoUrl, access: &GitAccess, environment: Environment) -> Result<Self, GitError> {
        let connection = Connection::new(url, access, environment)?;
        let mut table = lock(&TABLE);
        table.last += 1;
        let number = table.last;
        table.connections.insert(number, Arc::clone(&connection));
        Ok(Self { number, connection })
    }

    /// Returns the address of the connection for libgit2.
    pub(super) fn url(&self) -> String {
        format!("{SCHEME}://{}/", self.number)
    }

    /// Returns the recorded failure, or else libgit2's error.
    pub(super) fn explain(&self, error: git2::Error) -> GitError {
        lock(&self.connection.failure)
            .take()
            .unwrap_or_else(|| error.into())
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        lock(&TABLE).connections.remove(&self.number);
    }
}

/// Returns the connection with the address that [`Ticket::url`] returned.
pub(super) fn find(address: &[u8]) -> Option<Arc<Connection>> {
    let address = std::str::from_utf8(address).ok()?;
    let number = address
        .strip_prefix(SCHEME)?
        .strip_prefix("://")?
        .trim_end_matches('/');
    lock(&TABLE).connections.get(&number.parse().ok()?).cloned()
}
