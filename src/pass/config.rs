//! What a pass needs to know: where documents and state are, what shapes a plan, and the service.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};

use super::reviews::ReviewSource;
use crate::document::Layout;
use crate::git::{GitAccess, GitCredentials, RepoUrl, TrustedKeys, UserConfig};
use crate::model::{Scope, Sdks, ServiceKind, Thresholds};
use crate::pass::Error;
use crate::pass::publish::Limits;
use crate::plan::{HistoryRule, Policy};
use crate::service::{Client, ClientConfig};
use crate::source::{CacheMode, Parents, Source, SourceConfig};
use crate::state::{Clock, GitProgram, RemoteRef, SharedRemote, SystemClock};
use crate::transport::{Network, SecretSource};

/// Everything a pass needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where documents come from.
    pub source: SourceConfig,
    /// What shapes a plan.
    pub rules: Rules,
    /// The number of toggles of undecided first passes whose commits are looked up. The output shows no more
    /// of them.
    pub most_undecided: usize,
    /// Where state is kept.
    pub state_dir: PathBuf,
    /// Where state is shared, if it is.
    pub shared: Option<SharedState>,
    /// The service; a plan needs none.
    pub service: Option<ClientConfig>,
    /// Whether a pass may publish over what was changed on the service before it was read
    /// (`--overwrite-drift`).
    pub overwrite_drift: bool,
    /// The keys, one of which must have signed the revision to apply.
    pub trusted_keys: TrustedKeys,
    /// Where the reviews are without which no change is published; none if a change needs no review.
    pub(crate) reviews: Option<ReviewSource>,
    /// How many requests may be open.
    pub limits: Limits,
    /// Where functions take another path.
    pub thresholds: Thresholds,
    /// Where the time comes from.
    pub clock: Arc<dyn Clock>,
    /// What reads and moves the ref of shared state.
    pub(crate) remote_ref: Arc<dyn RemoteRef>,
}

/// What shapes a plan, besides the documents.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The repository as it is shown.
    pub repo: String,
    /// The root, empty for the top.
    pub root: String,
    /// Where documents are.
    pub layout: Layout,
    /// Which checks there are.
    pub kind: ServiceKind,
    /// The SDKs that the team uses.
    pub sdks: Sdks,
    /// Rails and the like.
    pub policy: Policy,
    /// What a rewritten history means; none is to follow it where that is safe.
    pub history: Option<HistoryRule>,
    /// The service, where one is given.
    pub base_url: Option<String>,
}

impl Rules {
    /// Returns SHA-256, in hexadecimal, over everything that shapes a plan besides the documents.
    pub(super) fn digest(&self) -> String {
        // `repo` only shapes the output, and the history guard decides before digests are compared. A pattern that no
        // SDK in use knows makes a document invalid.
        let Self { repo: _, root, layout, kind, sdks, policy, history: _, base_url } = self;
        let text = format!("{root}\n{layout}\n{kind:?}\n{sdks:?}\n{}\n{base_url:?}", policy.digest());
        crate::model::hex(&Sha256::digest(text))
    }
}

impl Config {
    /// Returns a client of the service with the token, the CA file and the proxy as they are now. Every pass
    /// and every scan makes its own, so that a file that was replaced counts from the next one on.
    pub(crate) fn client(&self) -> Result<Client, Error> {
        let service = self.service.clone().ok_or(Error::NoService)?;
        Ok(Client::new(service)?)
    }

    /// Makes `git` read only the configuration of the machine, as a daemon does, unless `GIT_CONFIG_GLOBAL`
    /// names another.
    pub(crate) fn ignore_user_git_config(&mut self) {
        self.source.access.user_config = UserConfig::Ignored;
        match &mut self.shared {
            Some(SharedState::At(remote)) => remote.access.user_config = UserConfig::Ignored,
            Some(SharedState::Origin(state)) => state.access.user_config = UserConfig::Ignored,
            None => {}
        }
    }

    /// Returns the configuration for the repository at `path`, with every setting at its default: no service,
    /// and state in a folder that a plan only reads.
    pub fn local(path: &Path, state_dir: PathBuf) -> Self {
        Self {
            source: SourceConfig {
                location: RepoUrl::local(path),
                reference: None,
                root: String::new(),
                parents: Parents::All,
                access: GitAccess {
                    network: Network::default(),
                    credentials: None,
                    timeout: Duration::from_secs(60),
                    user_config: UserConfig::Ignored,
                },
                cache: None,
                mode: CacheMode::Untouched,
                thresholds: Thresholds::default(),
            },
            rules: Rules {
                repo: path.display().to_string(),
                root: String::new(),
                layout: Layout::default(),
                kind: ServiceKind::default(),
                sdks: Sdks::ALL,
                policy: Policy::default(),
                history: None,
                base_url: None,
            },
            most_undecided: usize::MAX,
            state_dir,
            shared: None,
            service: None,
            overwrite_drift: false,
            trusted_keys: TrustedKeys::default(),
            reviews: None,
            limits: Limits {
                in_flight: 16,
                in_flight_per_environment: 1,
                give_up_after: Duration::from_secs(60),
            },
            thresholds: Thresholds::default(),
            clock: Arc::new(SystemClock),
            remote_ref: Arc::new(GitProgram),
        }
    }

    /// Returns the rule for a revision that does not follow the recorded one. With trusted keys, it is
    /// refused unless set otherwise: an older commit is signed as well, but nobody signed the move back to
    /// it.
    pub(crate) fn history(&self) -> Option<HistoryRule> {
        let refuses = !self.trusted_keys.is_empty();
        self.rules.history.or(refuses.then_some(HistoryRule::Refuse))
    }

    /// Publishes to the service of `client`, which the plan names.
    pub fn with_service(mut self, client: ClientConfig) -> Self {
        self.rules.base_url = Some(client.base_url.to_string());
        self.service = Some(client);
        self
    }
}

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
    /// [`Error::Source`] without a checkout, [`Error::NoOrigin`] and [`Error::BadOrigin`] without a usable
    /// `origin`.
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
        // Credentials are sent to one host only (src/git/README.md, "Addresses"), and a path has no host.
        let credentials = remote.host().zip(self.login.clone());
        let credentials =
            credentials.map(|(host, (username, password))| GitCredentials { host, username, password });
        Ok(SharedRemote {
            remote,
            name: self.name.clone(),
            access: GitAccess { credentials, ..self.access.clone() },
            holder: self.holder.clone(),
        })
    }
}

fn origin(source: &SourceConfig) -> Result<RepoUrl, Error> {
    let url = Source::new(source.clone()).origin_url()?;
    Ok(url.ok_or(Error::NoOrigin)?.parse()?)
}

/// Refuses a scope of which no glob matches a toggle: it would always succeed (src/cli/README.md, "Never green
/// by accident").
pub(crate) fn matches_something(scope: &Scope, unmatched: &[String]) -> Result<(), Error> {
    match !unmatched.is_empty() && unmatched.len() == scope.globs().len() {
        true => Err(Error::NothingMatches(unmatched.to_owned())),
        false => Ok(()),
    }
}

/// Warns of globs that match no toggle.
///
/// # Errors
/// [`Error::NothingMatches`] if no glob matches a toggle.
pub fn check_scope(scope: &Scope, unmatched: &[String]) -> Result<(), Error> {
    matches_something(scope, unmatched)?;
    for glob in unmatched {
        tracing::warn!(name: "scope_unmatched", glob, "no toggle matches this glob of `--only`");
    }
    Ok(())
}
