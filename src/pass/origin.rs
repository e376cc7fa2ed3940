//! Resolves the remote of shared state, which may be the `origin` of the source's checkout.
//!
//! The URL of `origin` is read when the state is opened and compared before each pass: the checkout may not exist yet,
//! and the process that updates it may set another `origin` later.

use super::Error;
use crate::git::{GitAccess, GitCredentials, RepoUrl};
use crate::source::{Source, SourceConfig};
use crate::state::SharedRemote;
use crate::transport::SecretSource;

/// The remote of shared state.
#[derive(Clone, Debug)]
pub enum SharedState {
    /// A remote with a configured URL.
    At(SharedRemote),
    /// The `origin` of the source's checkout.
    Origin(OriginState),
}

/// Shared state on the `origin` of a checkout.
#[derive(Clone, Debug)]
pub struct OriginState {
    /// The name of the state.
    pub name: String,
    /// The access to the remote, without credentials.
    pub access: GitAccess,
    /// The user name and password for the host of the remote.
    pub login: Option<(Option<String>, SecretSource)>,
    /// The name of this process, as other processes show it.
    pub holder: String,
}

impl SharedState {
    /// Returns the remote of the state. Reads `origin` if necessary.
    ///
    /// # Errors
    /// [`Error::Source`] without a checkout, [`Error::NoOrigin`] and [`Error::BadOrigin`] without a usable `origin`.
    pub fn resolve(&self, source: &SourceConfig) -> Result<SharedRemote, Error> {
        match self {
            Self::At(shared) => Ok(shared.clone()),
            Self::Origin(state) => state.at(origin(source)?),
        }
    }

    /// Returns whether `opened` is still the remote.
    pub(super) fn is_at(&self, opened: &RepoUrl, source: &SourceConfig) -> bool {
        match self {
            Self::At(_) => true,
            // The pass reports why `origin` cannot be read.
            Self::Origin(_) => origin(source).map_or(true, |origin| origin == *opened),
        }
    }
}

impl OriginState {
    fn at(&self, remote: RepoUrl) -> Result<SharedRemote, Error> {
        // Credentials are sent to one host only (DESIGN, section 5), and a path has no host.
        let credentials = remote.host().zip(self.login.clone());
        let credentials = credentials.map(|(host, (username, password))| GitCredentials {
            host,
            username,
            password,
        });
        Ok(SharedRemote {
            remote,
            name: self.name.clone(),
            access: GitAccess {
                credentials,
                ..self.access.clone()
            },
            holder: self.holder.clone(),
        })
    }
}

fn origin(source: &SourceConfig) -> Result<RepoUrl, Error> {
    let url = Source::new(source.clone()).origin_url()?;
    Ok(url.ok_or(Error::NoOrigin)?.parse()?)
}
