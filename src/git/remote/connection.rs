//! What one connection needs, kept where libgit2's callbacks can find it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

use super::ssh::Environment;
use super::{GitError, SCHEME};
use crate::git::{GitAccess, RepoUrl};

/// Where a connection goes, with what, and what went wrong with it.
#[derive(Debug)]
pub(super) struct Connection {
    pub(super) url: RepoUrl,
    pub(super) access: GitAccess,
    pub(super) environment: Environment,
    /// The true reason of a failure, of which libgit2 keeps a few words at most.
    failure: Mutex<Option<GitError>>,
    /// Where the first request was redirected to.
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

    /// Keeps `error` as the reason, and returns what libgit2 is told.
    pub(super) fn fail(&self, error: GitError) -> git2::Error {
        let message = error.to_string();
        lock(&self.failure).get_or_insert(error);
        git2::Error::from_str(&message.replace('\0', ""))
    }

    /// As [`Connection::fail`], in the middle of a stream.
    pub(super) fn fail_io(&self, error: GitError) -> std::io::Error {
        std::io::Error::other(self.fail(error).message().to_owned())
    }
}

/// The connections that are in use now. A number is given once.
#[derive(Default)]
struct Table {
    last: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

static TABLE: LazyLock<Mutex<Table>> = LazyLock::new(Mutex::default);

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A connection's place in the table, for as long as it is in use.
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

    /// Returns the address that libgit2 is given.
    pub(super) fn url(&self) -> String {
        format!("{SCHEME}://{}/", self.number)
    }

    /// Returns the reason that was kept, or else what libgit2 says.
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

/// Returns the connection that a remote's address stands for.
pub(super) fn find(address: &[u8]) -> Option<Arc<Connection>> {
    let address = std::str::from_utf8(address).ok()?;
    let number = address
        .strip_prefix(SCHEME)?
        .strip_prefix("://")?
        .trim_end_matches('/');
    lock(&TABLE).connections.get(&number.parse().ok()?).cloned()
}
