//! `gitoggle allow`, `suspend`, `resume` and `reconcile`: sends commands to a running daemon and explains its errors.

use std::fmt::Write as _;

use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::args::{AllowArgs, ResumeArgs, ScopeFlags, SuspendArgs};
use super::failure::{ExitStatus, Failure};
use super::{note, print};
use crate::config::Settings;
use crate::model::{ToggleId, command_line, counted, escaped, shell_word};
use crate::transport::{DaemonClient, DaemonError, DaemonReply, DaemonUrl, Network};

pub(super) fn reconcile(settings: &Settings) -> Result<ExitStatus, Failure> {
    Daemon::of(settings)?.send("/reconcile", &json!({}))?;
    print("requested a pass, which also retries refused toggles\n")?;
    Ok(ExitStatus::Clean)
}

pub(super) fn suspend(settings: &Settings, args: &SuspendArgs) -> Result<ExitStatus, Failure> {
    let scope = &scope(&args.scopes, &args.flags);
    let command = json!({ "scope": scope, "for": args.lasts, "reason": args.reason });
    let reply = Daemon::of(settings)?.send("/suspend", &command)?;
    let suspended = &reply["suspended"];
    let until = suspended["until"].as_str().map(|until| format!(" until {until}"));
    print(&format!(
        "suspended {}{}; planning continues; to publish again, run `{}`\n",
        escaped(suspended["scope"].as_str().unwrap_or("everything")),
        escaped(&until.unwrap_or_default()),
        // The hint names the scope, because `resume` without one ends every suspension.
        escaped(&command_line(&format!("gitoggle resume{}", words(scope.as_deref()))))
    ))?;
    if let (Some(scope), Some(0)) = (scope, reply["toggles"].as_u64()) {
        note(&format!(
            "note: no toggle of the last pass matches `{}`, so nothing is held back; check the spelling\n",
            escaped(scope)
        ))?;
    }
    Ok(ExitStatus::Clean)
}

pub(super) fn resume(settings: &Settings, args: &ResumeArgs) -> Result<ExitStatus, Failure> {
    let command = json!({ "scope": scope(&args.scopes, &args.flags) });
    let reply = Daemon::of(settings)?.send("/resume", &command)?;
    let resumed = reply["resumed"].as_array().cloned().unwrap_or_default();
    if resumed.is_empty() {
        print("nothing was suspended\n")?;
    }
    for scope in resumed {
        let scope = scope.as_str().unwrap_or("everything");
        print(&format!("resumed {}\n", escaped(scope)))?;
    }
    Ok(ExitStatus::Clean)
}

/// Returns the globs as one scope; none means everything.
fn scope(globs: &[String], flags: &ScopeFlags) -> Option<String> {
    let globs = [globs, &flags.scope].concat();
    (!globs.is_empty()).then(|| globs.join(" "))
}

/// Returns the words that name a scope, quoted for a shell.
fn words(scope: Option<&str>) -> String {
    let globs = scope.into_iter().flat_map(|globs| globs.split(' '));
    globs.map(|glob| format!(" {}", shell_word(glob))).collect()
}

fn text<'a>(reply: &'a Value, name: &str) -> &'a str {
    reply[name].as_str().unwrap_or_default()
}

/// The maximum number of toggles to print.
const MOST: usize = 20;

pub(super) fn allow(settings: &Settings, args: &AllowArgs) -> Result<ExitStatus, Failure> {
    let AllowArgs { what, environment, revision } = args;
    let daemon = Daemon::of(settings)?;
    let revision = match revision {
        Some(revision) => revision.clone(),
        None => planned(&daemon)?,
    };
    let toggle = environment.as_ref().and_then(|place| place.parse::<ToggleId>().ok());
    let command = match toggle {
        Some(toggle) => {
            let environment = toggle.environment();
            json!({ "what": what, "environment": environment, "toggle": toggle, "revision": revision })
        }
        None => json!({ "what": what, "environment": environment, "revision": revision }),
    };
    let reply = daemon.send("/allow", &command)?;
    print(&released(&reply))?;
    Ok(ExitStatus::Clean)
}

/// The planned revision in `/api/status`.
#[derive(Deserialize)]
struct StatusReply {
    source: SourceReply,
}

#[derive(Deserialize)]
struct SourceReply {
    revision: Option<String>,
    #[serde(default)]
    refused: Option<String>,
}

/// Returns the revision that the daemon refused or, if it refused none, the planned one.
fn planned(daemon: &Daemon) -> Result<String, Failure> {
    let SourceReply { revision, refused } = daemon.read::<StatusReply>("/api/status")?.source;
    // `history` releases the refused revision, which has no plan yet.
    refused.or(revision).ok_or_else(|| {
        let failure = Failure::failed("the daemon has not planned yet");
        failure.hint(format!("for the reason, run `curl {}/readyz`", daemon.url()))
    })
}

fn released(reply: &Value) -> String {
    let environment = reply["environment"].as_str().map(|name| format!(" in {name}"));
    let mut out = String::new();
    let _ = writeln!(
        out,
        "allowed {}{} at {}",
        escaped(text(reply, "what")),
        escaped(&environment.unwrap_or_default()),
        escaped(text(reply, "revision"))
    );
    let toggles = reply["releases"]["toggles"].as_array().cloned().unwrap_or_default();
    // The daemon counts all toggles but names only the first thousand.
    let count = reply["releases"]["count"].as_u64().unwrap_or_default();
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    if count == 0 {
        out.push_str("releases the revision; the next pass plans it\n");
        return out;
    }
    let _ = writeln!(out, "releases {}:", counted(count, "toggle"));
    let versions = &reply["releases"]["versions"];
    for toggle in toggles.iter().take(MOST) {
        let toggle = toggle.as_str().unwrap_or_default();
        let version = versions[toggle].as_u64().map(|version| match version {
            0 => " (not on the service)".to_owned(),
            version => format!(" (version {version} on the service)"),
        });
        let _ = writeln!(out, "  {}{}", escaped(toggle), version.unwrap_or_default());
    }
    let more = count.saturating_sub(toggles.len().min(MOST));
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more");
    }
    if versions.is_object() {
        out.push_str("a later change there is held\n");
    }
    out
}

struct Daemon(DaemonClient);

impl Daemon {
    fn of(settings: &Settings) -> Result<Self, Failure> {
        let Some(token) = &settings.admin_token else {
            let failure = Failure::new(ExitStatus::Usage, "an admin token is required");
            return Err(failure.hint(
                "give the token of the daemon's `--admin-token-file` with `--admin-token-file FILE` or in \
                 GITOGGLE_ADMIN_TOKEN",
            ));
        };
        let token = token.read().map_err(|error| {
            let hint = error.hint();
            Failure::failed(error).hint(hint)
        })?;
        let url = settings.url.clone();
        if url.is_exposed() {
            tracing::warn!(name: "exposed_token", %url, "the admin token is sent unencrypted; use https");
        }
        let network = Network { ca_file: settings.ca_file.clone(), ..Network::default() };
        Ok(Self(DaemonClient::new(url, token, &network)?))
    }

    fn url(&self) -> &DaemonUrl {
        self.0.url()
    }

    /// Sends a command and returns the reply. Omits null members.
    fn send(&self, path: &str, command: &Value) -> Result<Value, Failure> {
        let mut command = command.clone();
        if let Value::Object(members) = &mut command {
            members.retain(|_, value| !value.is_null());
        }
        let reply = self.0.post(path, &command.to_string());
        self.parse(reply)
    }

    fn read<T: DeserializeOwned>(&self, path: &str) -> Result<T, Failure> {
        self.parse(self.0.get(path))
    }

    fn parse<T: DeserializeOwned>(&self, reply: Result<DaemonReply, DaemonError>) -> Result<T, Failure> {
        let reply = reply.map_err(|error| self.unreachable(error))?;
        match reply.status {
            // A proxy or another server may respond with a success that is not JSON.
            200..=299 => serde_json::from_slice(&reply.body).map_err(|_| self.foreign(&reply)),
            _ => Err(self.refused(&reply)),
        }
    }

    fn unreachable(&self, error: DaemonError) -> Failure {
        let is_unreachable = matches!(error, DaemonError::Unreachable(..));
        let hint = "check that `gitoggle run` runs and listens there, or give its address with `--url`; a daemon in \
                    Kubernetes is reached with `kubectl -n gitoggle port-forward deployment/gitoggle 8077`";
        Failure::failed(error).maybe_hint(is_unreachable.then_some(hint))
    }

    fn refused(&self, reply: &DaemonReply) -> Failure {
        // A redirect could send the admin token to another host.
        if let Some(location) = &reply.location {
            let url = self.url();
            let message = format!("`{url}` redirects to `{}`, which is not followed", escaped(location));
            return Failure::failed(message).hint("give the address of the daemon itself with `--url`");
        }
        let Ok(problem) = serde_json::from_slice::<Value>(&reply.body) else {
            return self.foreign(reply);
        };
        let Some(error) = problem["error"].as_str() else {
            return self.foreign(reply);
        };
        let hint = match reply.status {
            401 => Some("use the token of the daemon's `--admin-token-file`"),
            _ => problem["hint"].as_str(),
        };
        Failure::failed(format!("the daemon refused the command ({}): {error}", reply.status))
            .maybe_hint(hint)
    }

    fn foreign(&self, reply: &DaemonReply) -> Failure {
        let message =
            format!("`{}` responded with {}, but not as a gitoggle daemon", self.url(), reply.status);
        Failure::failed(message).hint("give the address of the daemon, which is its `--listen`, with `--url`")
    }
}
