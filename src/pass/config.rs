//! What a pass needs to know.

use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

use super::origin::SharedState;
use super::publish::Limits;
use super::reviews::ReviewSource;
use crate::document::Layout;
use crate::git::{GitAccess, RepoUrl, UserConfig};
use crate::model::ServiceKind;
use crate::plan::{HistoryRule, Policy};
use crate::service::ClientConfig;
use crate::source::{CacheMode, Parents, SourceConfig};
use crate::state::Clock;
use crate::transport::Network;

/// Everything a pass needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where documents come from.
    pub source: SourceConfig,
    /// What shapes a plan.
    pub rules: Rules,
    /// The number of toggles of undecided first passes whose commits are looked up. The output shows no more of them.
    pub most_undecided: usize,
    /// Where state is kept.
    pub state_dir: PathBuf,
    /// Where state is shared, if it is.
    pub shared: Option<SharedState>,
    /// The service; a plan needs none.
    pub service: Option<ClientConfig>,
    /// Whether a pass may publish over what was changed on the service before it was read (`--overwrite-drift`).
    pub overwrite_drift: bool,
    /// Where the reviews are without which no change is published; none if a change needs no review.
    pub(crate) reviews: Option<ReviewSource>,
    /// How many requests may be open.
    pub limits: Limits,
    /// Where the time comes from.
    pub clock: Clock,
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
        // `repo` only shapes the output, and the history guard decides before digests are compared.
        let Self {
            repo: _,
            root,
            layout,
            kind,
            policy,
            history: _,
            base_url,
        } = self;
        let text = format!("{root}\n{layout}\n{kind:?}\n{}\n{base_url:?}", policy.digest());
        crate::model::hex(&Sha256::digest(text))
    }
}

impl Config {
    /// Makes `git` read only the configuration of the machine, as a daemon does, unless `GIT_CONFIG_GLOBAL` names another.
    pub(crate) fn ignore_user_git_config(&mut self) {
        self.source.access.user_config = UserConfig::Ignored;
        match &mut self.shared {
            Some(SharedState::At(remote)) => remote.access.user_config = UserConfig::Ignored,
            Some(SharedState::Origin(state)) => state.access.user_config = UserConfig::Ignored,
            None => {}
        }
    }

    /// Returns the configuration for the repository at `path`, with every setting at its default: no service, and state
    /// in a folder that a plan only reads.
    #[must_use]
    pub fn local(path: &Path, state_dir: PathBuf) -> Self {
        Self {
            source: SourceConfig {
                location: RepoUrl::local(path),
                reference: None,
                root: String::new(),
                first_parent: Parents::All,
                access: GitAccess {
                    network: Network::default(),
                    credentials: None,
                    timeout: Duration::from_secs(60),
                    user_config: UserConfig::Ignored,
                },
                cache: None,
                mode: CacheMode::Untouched,
            },
            rules: Rules {
                repo: path.display().to_string(),
                root: String::new(),
                layout: Layout::default(),
                kind: ServiceKind::Documented,
                policy: Policy::default(),
                history: None,
                base_url: None,
            },
            most_undecided: usize::MAX,
            state_dir,
            shared: None,
            service: None,
            overwrite_drift: false,
            reviews: None,
            limits: Limits {
                in_flight: 16,
                in_flight_per_environment: 1,
                give_up_after: Duration::from_secs(60),
            },
            clock: Clock::System,
        }
    }

    /// Publishes to the service of `client`, which the plan names.
    #[must_use]
    pub fn with_service(mut self, client: ClientConfig) -> Self {
        self.rules.base_url = Some(client.base_url.to_string());
        self.service = Some(client);
        self
    }
}
