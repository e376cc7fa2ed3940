//! `gitoggle allow`, `suspend`, `resume` and `reconcile`: commands that a running daemon carries out.

mod allow;
mod client;

use serde_json::{Value, json};

use crate::config::Settings;
use crate::model::escaped;

use super::args::{ResumeArgs, ScopeFlags, SuspendArgs};
use super::commands::word;
use super::failure::{ExitStatus, Failure};
use super::{note, print};
use client::Daemon;

pub(super) use allow::run as allow;

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
        "suspended {}{}; planning continues; to publish again, run `gitoggle resume{}`\n",
        escaped(suspended["scope"].as_str().unwrap_or("everything")),
        escaped(&until.unwrap_or_default()),
        // The hint names the scope, because `resume` without one ends every suspension.
        escaped(&words(scope.as_deref()))
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
    globs.map(|glob| format!(" {}", word(glob))).collect()
}

fn text<'a>(reply: &'a Value, name: &str) -> &'a str {
    reply[name].as_str().unwrap_or_default()
}
