//! Converts settings to the configuration of a pass, and reads every secret and the CA file at startup, so
//! that a missing file is reported before a pass needs it.

use std::sync::Arc;

use super::failure::{ExitStatus, Failure};
use crate::config::{Command, OutputFormat, Settings, StateRemote, settings};
use crate::git::{GitAccess, GitCredentials, RepoUrl, TrustedKeys, UserConfig};
use crate::model::{Thresholds, escaped};
use crate::notification::{Receiver, ReceiverFormat};
use crate::pass;
use crate::pass::{Config, Limits, OriginState, Rules, SharedState};
use crate::plan::{OnDrift, Policy};
use crate::report::MOST_SHOWN;
use crate::service::{BaseUrl, ClientConfig, ClientError};
use crate::source::{CacheMode, Parents, SourceConfig};
use crate::state::{self, GitProgram, SharedRemote, SystemClock};
use crate::transport::{Network, Secret, SecretSource};

/// Builds the configuration of a pass.
pub(crate) fn config(settings: &Settings, mode: CacheMode) -> Result<Config, Failure> {
    let state_dir = settings.state_dir.clone().ok_or_else(|| usage("give a folder with `--state-dir`"))?;
    // A mistyped folder must not be filled with packs (src/state/README.md, "One writer, one place, one
    // service").
    if let Some(name) = state::foreign(&state_dir) {
        let (dir, name) = (state_dir.to_string_lossy(), escaped(&name));
        let message = format!("the state folder `{}` contains other files, such as `{name}`", escaped(&dir));
        return Err(usage(&message).hint("give an empty or new folder with `--state-dir`"));
    }
    let base_url = settings.base_url.clone();
    let source = source(settings, mode);
    let shared = shared(settings, &source, base_url.as_ref())?;
    let rules = rules(settings);
    let service = client(settings);
    let limits = Limits {
        in_flight: settings.max_in_flight,
        in_flight_per_environment: settings.max_in_flight_per_environment,
        give_up_after: settings.give_up_after,
    };
    Ok(Config {
        source,
        rules,
        most_undecided: match settings.output {
            OutputFormat::Human => MOST_SHOWN,
            _ => usize::MAX,
        },
        state_dir,
        shared,
        service,
        overwrite_drift: settings.overwrite_drift,
        trusted_keys: TrustedKeys {
            allowed_signers: settings.allowed_signers.clone(),
            gpg_keyring: settings.gpg_keyring.clone(),
        },
        reviews: None,
        limits,
        thresholds: Thresholds::default(),
        clock: Arc::new(SystemClock),
        remote_ref: Arc::new(GitProgram),
    })
}

/// Returns the settings of connections to the service, if its address and a token are known.
pub(super) fn client(settings: &Settings) -> Option<ClientConfig> {
    Some(ClientConfig {
        kind: settings.service_kind,
        base_url: settings.base_url.clone()?,
        token: settings.token.clone()?,
        network: network(settings),
        timeout: settings.timeout,
    })
}

/// Returns what shapes a plan, besides the documents.
pub(super) fn rules(settings: &Settings) -> Rules {
    Rules {
        repo: settings.repo.to_string(),
        root: settings.root.clone(),
        layout: settings.layout.clone(),
        kind: settings.service_kind,
        sdks: settings.sdks,
        policy: policy(settings),
        history: settings.history,
        base_url: settings.base_url.as_ref().map(ToString::to_string),
    }
}

/// Returns the service's address without its scheme, for messages.
pub(crate) fn service(config: &Config) -> String {
    let url = config.service.as_ref().map(|service| service.base_url.to_string()).unwrap_or_default();
    url.trim_start_matches("https://").to_owned()
}

pub(crate) fn source(settings: &Settings, mode: CacheMode) -> SourceConfig {
    SourceConfig {
        location: settings.repo.clone(),
        reference: settings.reference.clone(),
        root: settings.root.clone(),
        parents: if settings.first_parent { Parents::First } else { Parents::All },
        access: access(
            settings,
            settings.repo.host(),
            settings.git_username.clone(),
            settings.git_password.clone(),
        ),
        cache: settings.state_dir.as_ref().map(|dir| dir.join("source.git")),
        mode,
        thresholds: Thresholds::default(),
    }
}

fn policy(settings: &Settings) -> Policy {
    Policy {
        scope: settings.only.clone(),
        first_pass: settings.first_pass,
        on_remove: settings.on_remove,
        on_invalid: settings.on_invalid,
        max_change_ratio: settings.max_change_ratio,
        fewest_for_ratio: Thresholds::default().fewest_for_share,
        max_change_count: settings.max_change_count,
        allows_trailers: settings.allow_trailer,
        allows_mass_change: settings.allow_mass_change,
        windows: settings.windows.clone(),
        ignores_windows: settings.ignore_windows,
        comment_max_chars: settings.comment_max_chars,
        on_drift: match settings.on_drift {
            // What is to be overwritten must be read.
            OnDrift::Ignore if settings.overwrite_drift => OnDrift::Hold,
            on_drift => on_drift,
        },
        on_approval: settings.on_approval,
        on_missing: settings.on_missing,
        is_readable: settings.service_kind.can().read_live,
    }
}

pub(super) fn network(settings: &Settings) -> Network {
    Network { ca_file: settings.ca_file.clone(), ..Network::default() }
}

fn access(
    settings: &Settings,
    host: Option<String>,
    username: Option<String>,
    password: Option<SecretSource>,
) -> GitAccess {
    let credentials = host.zip(password).map(|(host, password)| GitCredentials { host, username, password });
    GitAccess {
        network: network(settings),
        credentials,
        timeout: settings.git_timeout,
        user_config: UserConfig::Read,
    }
}

/// Returns the remote and the name of shared state.
fn shared(
    settings: &Settings,
    source: &SourceConfig,
    base_url: Option<&BaseUrl>,
) -> Result<Option<SharedState>, Failure> {
    let Some(remote) = &settings.state_remote else {
        return Ok(None);
    };
    let given = settings.state_name.clone();
    let known = given.or_else(|| base_url.map(BaseUrl::name));
    let mut shared = match remote {
        StateRemote::Url(url) => SharedState::At(SharedRemote {
            remote: url.clone(),
            name: known.clone().unwrap_or_default(),
            access: state_access(settings, url),
            holder: state::this_process(),
        }),
        // Resolved when the state is opened, because a daemon may start before the checkout exists.
        StateRemote::Origin => SharedState::Origin(OriginState {
            name: known.clone().unwrap_or_default(),
            access: access(settings, None, None, None),
            login: own_login(settings).or_else(|| source_login(settings)),
            holder: state::this_process(),
        }),
    };
    // Without a base URL, `plan` and `status` use the only state that exists (src/cli/README.md, "Commands
    // that only read").
    if known.is_none() {
        let mut only = shared.resolve(source)?;
        only.name = only_name(&only.remote, &only.access)?;
        shared = SharedState::At(only);
    }
    Ok(Some(shared))
}

fn state_access(settings: &Settings, remote: &RepoUrl) -> GitAccess {
    let host = settings.repo.host();
    let login = own_login(settings).or_else(|| {
        // Git credentials are sent only to the host that they belong to. A path has no host: its credentials
        // are for the host of the state remote (src/git/README.md, "Addresses").
        let is_same_host = host.is_none() || host == remote.host();
        is_same_host.then(|| source_login(settings)).flatten()
    });
    let (username, password) = login.unzip();
    access(settings, remote.host(), username.flatten(), password)
}

type Login = (Option<String>, SecretSource);

fn own_login(settings: &Settings) -> Option<Login> {
    let password = settings.state_git_password.clone()?;
    Some((settings.state_git_username.clone(), password))
}

fn source_login(settings: &Settings) -> Option<Login> {
    Some((settings.git_username.clone(), settings.git_password.clone()?))
}

fn only_name(remote: &RepoUrl, access: &GitAccess) -> Result<String, Failure> {
    let mut names = SharedRemote::list(remote, access).map_err(Failure::failed)?;
    match names.len() {
        1 => Ok(names.remove(0)),
        0 => Err(usage("no state is shared there yet; give `--base-url` or `--state-name`")),
        _ => Err(usage(&format!(
            "several states are shared there: {}; give `--base-url` or `--state-name`",
            names.join(", ")
        ))),
    }
}

pub(super) fn receivers(settings: &Settings) -> Vec<Receiver> {
    let standard = settings.notify_url.clone().map(|url| Receiver {
        url: SecretSource::Value(Secret::new(url)),
        format: ReceiverFormat::Standard(settings.notify_secret.clone()),
    });
    let slack = settings.notify_slack_url.clone().map(|url| Receiver { url, format: ReceiverFormat::Slack });
    standard.into_iter().chain(slack).collect()
}

fn usage(message: &str) -> Failure {
    Failure::new(ExitStatus::Usage, message.to_owned())
}

/// Reads the secrets and the CA file that `command` uses.
pub(super) fn check_secrets(command: Command, settings: &Settings) -> Result<(), Failure> {
    // Without `--live`, `plan` and `status` need no token, so they do not read it (src/cli/README.md,
    // "Commands that only read").
    if let Some(token) = settings.token.as_ref().filter(|_| settings.uses_service(command)) {
        check_token(token)?;
    }
    for (name, secret) in settings.secrets().filter(|(name, _)| *name != "token" && is_used(name, command)) {
        readable(name, secret)?;
    }
    // Like the token, it may be absent where nothing is sent.
    let state_host = match &settings.state_remote {
        Some(StateRemote::Url(url)) => url.host(),
        Some(StateRemote::Origin) | None => None,
    };
    let is_sent = settings.uses_service(command) || settings.repo.host().or(state_host).is_some();
    match is_sent {
        true if is_used("ca_file", command) => Ok(network(settings).check()?),
        _ => Ok(()),
    }
}

fn check_token(token: &SecretSource) -> Result<(), Failure> {
    let token = token.read().map_err(|error| pass::Error::Service(ClientError::Token(error)))?;
    // The token is configured alone, and the kind of service says what is sent before it.
    let has_scheme = |text: &str| text.len() > 7 && text.as_bytes()[..7].eq_ignore_ascii_case(b"Bearer ");
    if !has_scheme(token.expose()) {
        return Ok(());
    }
    let message = "the token begins with `Bearer`, but the service expects the token without a scheme";
    Err(Failure::new(ExitStatus::Usage, message)
        .hint("remove `Bearer ` from GITOGGLE_TOKEN or the token file"))
}

fn is_used(name: &str, command: Command) -> bool {
    let setting = settings().iter().find(|setting| setting.name == name);
    setting.is_some_and(|setting| setting.commands().contains(&command))
}

fn readable(name: &str, secret: &SecretSource) -> Result<(), Failure> {
    let Err(error) = secret.read() else {
        return Ok(());
    };
    let hint = error.hint();
    let flag = name.replace('_', "-");
    Err(Failure::could_not(format!("use `--{flag}-file`"))(error).hint(hint))
}
