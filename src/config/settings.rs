//! The settings of one invocation, typed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::address::StateRemote;
use super::choices::{
    ColorChoice, FirstPass, History, LogFormat, LogLevel, OnInvalid, OnRemove, OutputFormat, Switch,
};
use super::definition::Command;
use super::merge::{Flags, Given, Merged, World, merge};
use super::mistake::{Mistake, Mistakes};
use super::place::state_dir;
use super::repository::work_trees;
use super::typed::Values;
use crate::document::Layout;
use crate::git::RepoUrl;
use crate::model::{Scope, ServiceKind};
use crate::transport::{DaemonUrl, Secret, SecretSource};

/// Where the daemon listens.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Listen {
    /// At this address.
    Address(SocketAddr),
    /// Nowhere.
    Nowhere,
}

/// The settings of one invocation: complete, checked, and without contradictions.
///
/// `Debug` shows no secret.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Where documents come from.
    pub repo: RepoUrl,
    /// The branch, tag, commit or full ref; none is the source's `HEAD`.
    pub reference: Option<String>,
    /// The folder of documents, without slashes at its ends; empty for the top.
    pub root: String,
    /// Where documents are under it.
    pub layout: Layout,
    /// The toggles that this is about.
    pub only: Scope,
    /// Whether `validate` may find nothing to check.
    pub allow_empty: Switch,
    /// Whether merges are named instead of the branch's own commits.
    pub first_parent: Switch,
    /// What a rewritten history means; none is to follow it, without having been told to.
    pub history: Option<History>,
    /// The user at the source's host.
    pub git_username: Option<String>,
    /// The password at the source's host.
    pub git_password: Option<SecretSource>,
    /// The service's address without a slash at its end; always there for `apply` and `run`.
    pub base_url: Option<String>,
    /// The service's token; always there for `apply` and `run`.
    pub token: Option<SecretSource>,
    /// Certificate authorities to trust besides the system's.
    pub ca_file: Option<PathBuf>,
    /// What may be relied on.
    pub service_kind: ServiceKind,
    /// How long one publish may take.
    pub timeout: Duration,
    /// How many requests may be open at once.
    pub max_in_flight: usize,
    /// How many requests may be open at once in one environment.
    pub max_in_flight_per_environment: usize,
    /// How long a pass waits for a service that gives no useful response.
    pub give_up_after: Duration,
    /// How long a comment may be, in Unicode scalar values.
    pub comment_max_chars: usize,
    /// Where state is kept; always there for `plan`, `apply`, `run` and `status`.
    pub state_dir: Option<PathBuf>,
    /// Where state is shared.
    pub state_remote: Option<StateRemote>,
    /// The name of shared state; none means that it follows from the base URL.
    pub state_name: Option<String>,
    /// The user at the state remote's host.
    pub state_git_username: Option<String>,
    /// The password at the state remote's host.
    pub state_git_password: Option<SecretSource>,
    /// What an environment in which nothing is applied begins with; none holds it.
    pub first_pass: Option<FirstPass>,
    /// The share of an environment that may change, between 0 and 1.
    pub max_change_ratio: f64,
    /// The number of toggles of an environment that may change.
    pub max_change_count: Option<u64>,
    /// Whether trailers of commits are believed.
    pub allow_trailer: Switch,
    /// Whether this pass may change as much as it likes.
    pub allow_mass_change: Switch,
    /// Whether `apply` succeeds although something is held.
    pub exit_zero_when_held: Switch,
    /// What becomes of a toggle whose file is gone.
    pub on_remove: OnRemove,
    /// What an invalid document stops.
    pub on_invalid: OnInvalid,
    /// How often the daemon looks.
    pub poll_interval: Duration,
    /// How long after its last success the daemon is no longer ready.
    pub stale_after: Duration,
    /// Where the daemon listens.
    pub listen: Listen,
    /// The token for commands to a running daemon.
    pub admin_token: Option<SecretSource>,
    /// The daemon that commands go to.
    pub url: DaemonUrl,
    /// The secret of webhooks.
    pub webhook_secret: Option<SecretSource>,
    /// Where notifications go.
    pub notify_url: Option<String>,
    /// What notifications are signed with.
    pub notify_secret: Option<SecretSource>,
    /// The Slack webhook that notifications go to: its URL is a secret.
    pub notify_slack_url: Option<SecretSource>,
    /// The token that the sandbox accepts.
    pub sandbox_token: SecretSource,
    /// The form of results.
    pub output: OutputFormat,
    /// When to use colour.
    pub color: ColorChoice,
    /// The form of log lines; none depends on the terminal and the command.
    pub log_format: Option<LogFormat>,
    /// What is logged; none depends on the command.
    pub log_level: Option<LogLevel>,
}

/// Settings, and what to say about them.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The settings.
    pub settings: Settings,
    /// What is odd without being wrong, such as unknown variables. Safe to print.
    pub warnings: Vec<String>,
}

/// Puts together what flags, variables and the file say for `command`.
///
/// # Errors
/// [`Mistakes`] holds everything that is wrong in any of them, and what is missing.
pub fn load(command: Command, flags: &Flags, world: &World) -> Result<Loaded, Mistakes> {
    let mut values = Values(merge(flags, world));
    values.require(command);
    let built = values.settings(command, world);
    if let Some(settings) = &built {
        values.refuse_hopeless_globs(settings);
        values.refuse_long_comments(settings);
    }
    let Merged {
        mistakes, warnings, ..
    } = values.0;
    match built {
        Some(settings) if mistakes.is_empty() => Ok(Loaded { settings, warnings }),
        _ => Err(Mistakes(mistakes)),
    }
}

impl Values {
    fn require(&mut self, command: Command) {
        if !command.publishes() {
            return;
        }
        for (names, message) in [
            (
                ["base_url", "base_url"],
                "missing; give --base-url, GITOGGLE_BASE_URL or the key `base_url`",
            ),
            (
                ["token", "token_file"],
                "missing; give GITOGGLE_TOKEN or --token-file",
            ),
        ] {
            // A value that was refused is not missing.
            let refused = names.iter().any(|name| self.0.refused.contains(*name))
                || self
                    .0
                    .mistakes
                    .iter()
                    .any(|mistake| mentions(&mistake.place, names));
            if !refused && names.iter().all(|name| !self.0.given.contains_key(name)) {
                self.0
                    .mistakes
                    .push(Mistake::new(names[0].replace('_', " "), message));
            }
        }
    }

    /// Returns the settings; they are of no use when there are mistakes.
    fn settings(&mut self, command: Command, world: &World) -> Option<Settings> {
        let given_repo = self.text("repo")?;
        let repo: RepoUrl = given_repo.parse().ok()?;
        let poll_interval = self.duration("poll_interval")?;
        Some(Settings {
            state_dir: self.state_dir(command, &repo, &given_repo, world),
            state_remote: self.text("state_remote").and_then(|text| {
                match (text.as_str(), repo.local_path()) {
                    ("origin", None) => Some(StateRemote::Url(repo.clone())),
                    ("origin", Some(_)) => Some(StateRemote::Origin),
                    (url, _) => url.parse().ok().map(StateRemote::Url),
                }
            }),
            repo,
            reference: self.text("ref"),
            root: self.text("root").unwrap_or_default(),
            layout: self.text("layout")?.parse().ok()?,
            only: Scope::new(&self.texts("only")).ok()?,
            allow_empty: self.switch("allow_empty"),
            first_parent: self.switch("first_parent"),
            history: match self.0.given.contains_key("history") {
                true => self.choice("history", History::of),
                false => None,
            },
            git_username: self.text("git_username"),
            git_password: self.secret("git_password"),
            base_url: self.text("base_url"),
            token: self.secret("token"),
            ca_file: self.path("ca_file"),
            service_kind: match self.text("service_kind")?.as_str() {
                "featureprobe" => ServiceKind::FeatureProbe,
                _ => ServiceKind::Documented,
            },
            timeout: self.duration("timeout")?,
            max_in_flight: self.size("max_in_flight")?,
            max_in_flight_per_environment: self.size("max_in_flight_per_environment")?,
            give_up_after: self.duration("give_up_after")?,
            comment_max_chars: self.size("comment_max_chars")?,
            state_name: self.text("state_name"),
            state_git_username: self.text("state_git_username"),
            state_git_password: self.secret("state_git_password"),
            first_pass: self.choice("first_pass", FirstPass::of),
            max_change_ratio: self.ratio("max_change_ratio")?,
            max_change_count: self.count("max_change_count"),
            allow_trailer: self.switch("allow_trailer"),
            allow_mass_change: self.switch("allow_mass_change"),
            exit_zero_when_held: self.switch("exit_zero_when_held"),
            on_remove: self.choice("on_remove", OnRemove::of)?,
            on_invalid: self.choice("on_invalid", OnInvalid::of)?,
            stale_after: self.duration("stale_after").unwrap_or(poll_interval * 10),
            poll_interval,
            listen: self.listen()?,
            admin_token: self.secret("admin_token"),
            url: self.text("url")?.parse().ok()?,
            webhook_secret: self.secret("webhook_secret"),
            notify_url: self.text("notify_url"),
            notify_secret: self.secret("notify_secret"),
            notify_slack_url: self.secret("notify_slack_url"),
            sandbox_token: self
                .secret("sandbox_token")
                .unwrap_or_else(|| SecretSource::Value(Secret::new("sandbox-token".to_owned()))),
            output: self.choice("output", OutputFormat::of)?,
            color: self.choice("color", ColorChoice::of)?,
            log_format: self.choice("log_format", LogFormat::of),
            log_level: self.choice("log_level", LogLevel::of),
        })
    }

    /// Refuses globs that cannot match a toggle, whatever toggles there are.
    fn refuse_hopeless_globs(&mut self, settings: &Settings) {
        let Some(Given { place, .. }) = self.0.given.get("only") else {
            return;
        };
        let mistake = |glob: &str| {
            let why = format!(
                "`{glob}` matches no toggle: it is compared with all of `project/environment/toggle`, and `*` stops \
                 at a slash; `**` does not"
            );
            Mistake::new(place.clone(), why)
        };
        self.0.mistakes.extend(settings.only.hopeless().map(mistake));
    }

    /// FeatureProbe answers a longer comment with a 500, which looks like an outage.
    fn refuse_long_comments(&mut self, settings: &Settings) {
        const LONGEST: usize = 1024;
        let given = self
            .0
            .given
            .get("comment_max_chars")
            .map(|given| given.place.clone());
        let is_known = settings.service_kind == ServiceKind::FeatureProbe;
        if let Some(place) = given.filter(|_| is_known && settings.comment_max_chars > LONGEST) {
            let why =
                format!("with `service_kind: featureprobe`, a comment has at most {LONGEST} characters");
            self.0.mistakes.push(Mistake::new(place, why));
        }
    }

    fn refuse_state_in_a_work_tree(&mut self, dir: &Path) {
        let Some(tree) = work_trees(dir).into_iter().next() else {
            return;
        };
        let place = self.0.given.get("state_dir").map(|given| given.place.clone());
        let why = format!(
            "this folder lies in the work tree of the repository `{}`; name one outside of any, because state must \
             survive `git clean` and must not be committed",
            tree.display()
        );
        self.0.mistakes.push(Mistake::new(place.unwrap_or_default(), why));
    }

    fn listen(&self) -> Option<Listen> {
        match self.text("listen")?.as_str() {
            "none" => Some(Listen::Nowhere),
            address => address.parse().ok().map(Listen::Address),
        }
    }

    fn state_dir(&mut self, command: Command, repo: &RepoUrl, given: &str, world: &World) -> Option<PathBuf> {
        if let Some(dir) = self.path("state_dir") {
            if command.plans() {
                self.refuse_state_in_a_work_tree(&world.folder.join(&dir));
            }
            return Some(dir);
        }
        if let Some(home) = &world.state_home {
            return Some(state_dir(home, repo, given, &world.folder));
        }
        if command.plans() {
            let why = "there is no home folder to keep state in; give --state-dir or set HOME";
            self.0.mistakes.push(Mistake::new("state dir", why));
        }
        None
    }
}

fn mentions(place: &str, names: [&str; 2]) -> bool {
    names.iter().any(|name| {
        place == format!("--{}", name.replace('_', "-"))
            || place == super::definition::variable(name)
            || place.ends_with(&format!("`{name}`"))
    })
}
