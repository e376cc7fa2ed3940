//! State that is shared through the `origin` of the checkout that is the source.
//!
//! The URL is read whenever the state is opened and compared before each pass: the checkout may not be there yet, and the
//! process that keeps it up to date may name another `origin` later.

use super::Error;
use crate::git::{GitAccess, GitCredentials, RepoUrl};
use crate::source::{Source, SourceConfig};
use crate::state::SharedRemote;
use crate::transport::SecretSource;

/// Where state is shared.
#[derive(Clone, Debug)]
pub enum SharedState {
    /// On a remote that is known.
    At(SharedRemote),
    /// On the `origin` of the checkout that is the source.
    Origin(OriginState),
}

/// State on the `origin` of a checkout.
#[derive(Clone, Debug)]
pub struct OriginState {
    /// The name of the state.
    pub name: String,
    /// How to reach the remote, apart from the credentials.
    pub access: GitAccess,
    /// The user name and the password for the host of the remote.
    pub login: Option<(Option<String>, SecretSource)>,
    /// This process, as other processes are shown it.
    pub holder: String,
}

impl SharedState {
    /// Returns the state's remote, name and credentials as of now.
    ///
    /// # Errors
    /// [`Error::Source`] without a checkout, [`Error::NoOrigin`] and [`Error::BadOrigin`] without a usable `origin`.
    pub fn resolve(&self, source: &SourceConfig) -> Result<SharedRemote, Error> {
        match self {
            Self::At(shared) => Ok(shared.clone()),
            Self::Origin(state) => state.at(origin(source)?),
        }
    }

    /// Returns whether `opened` is still the remote. An `origin` that cannot be read has not moved: the pass reports why.
    pub(super) fn is_at(&self, opened: &RepoUrl, source: &SourceConfig) -> bool {
        match self {
            Self::At(_) => true,
            Self::Origin(_) => origin(source).map_or(true, |origin| origin == *opened),
        }
    }
}

impl OriginState {
    fn at(&self, remote: RepoUrl) -> Result<SharedRemote, Error> {
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
