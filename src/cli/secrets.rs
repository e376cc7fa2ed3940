//! Reads every secret and the CA file at startup, so that a missing file is reported before a pass needs it.

use super::failure::{ExitStatus, Failure};
use super::setup::network;
use crate::config::{Command, Settings, StateRemote, settings};
use crate::pass;
use crate::service::ClientError;
use crate::transport::SecretSource;

/// Reads the secrets and the CA file that `command` uses.
///
/// # Errors
/// If one cannot be read, or the token begins with a scheme.
pub(super) fn check(command: Command, settings: &Settings) -> Result<(), Failure> {
    // Without `--live`, `plan` and `status` need no token, so they do not read it (DESIGN, section 3).
    if let Some(token) = settings.token.as_ref().filter(|_| settings.uses_service(command)) {
        check_token(token)?;
    }
    for (name, secret) in [
        ("git_password", &settings.git_password),
        ("state_git_password", &settings.state_git_password),
        ("admin_token", &settings.admin_token),
        ("page_token", &settings.page_token),
        ("forge_token", &settings.forge_token),
        ("webhook_secret", &settings.webhook_secret),
        ("notify_secret", &settings.notify_secret),
        ("notify_slack_url", &settings.notify_slack_url),
    ] {
        match secret {
            Some(secret) if is_used(name, command) => readable(name, secret)?,
            _ => {}
        }
    }
    // Like the token, it may be absent where nothing is sent.
    let state_host = match &settings.state_remote {
        Some(StateRemote::Url(url)) => url.host(),
        Some(StateRemote::Origin) | None => None,
    };
    let is_sent = settings.uses_service(command) || settings.repo.host().or(state_host).is_some();
    match is_sent {
        true if is_used("ca_file", command) => certificates(settings),
        _ => Ok(()),
    }
}

fn certificates(settings: &Settings) -> Result<(), Failure> {
    network(settings).check().map_err(Failure::from)
}

fn check_token(token: &SecretSource) -> Result<(), Failure> {
    let token = token
        .read()
        .map_err(|error| pass::Error::Service(ClientError::Token(error)))?;
    // The service expects the token alone (DESIGN, section 6).
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
