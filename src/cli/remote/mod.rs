//! `gitoggle allow`, `suspend`, `resume` and `reconcile`: commands that a running daemon carries out.

mod allow;
mod client;

use serde_json::{Value, json};

use crate::config::Settings;
use crate::model::escaped;

use super::args::{ResumeArgs, SuspendArgs};
use super::failure::{Failure, Verdict};
use super::print;
use client::Daemon;

pub(super) use allow::run as allow;

/// Asks for a pass now.
pub(super) fn reconcile(settings: &Settings) -> Result<Verdict, Failure> {
    Daemon::of(settings)?.order("/reconcile", &json!({}))?;
    print("a pass starts now; refused toggles are tried again\n")?;
    Ok(Verdict::Clean)
}

/// Keeps the daemon from publishing.
pub(super) fn suspend(settings: &Settings, args: &SuspendArgs) -> Result<Verdict, Failure> {
    let SuspendArgs { scope, lasts, reason } = args;
    let order = json!({ "scope": scope, "for": lasts, "reason": reason });
    let answer = Daemon::of(settings)?.order("/suspend", &order)?;
    let suspended = &answer["suspended"];
    let until = suspended["until"].as_str().map(|until| format!(" until {until}"));
    print(&format!(
        "suspended {}{}; planning goes on, `gitoggle resume{}` ends it\n",
        escaped(suspended["scope"].as_str().unwrap_or("everything")),
        escaped(&until.unwrap_or_default()),
        escaped(&flag(scope.as_deref()))
    ))?;
    Ok(Verdict::Clean)
}

/// Ends suspensions.
pub(super) fn resume(settings: &Settings, args: &ResumeArgs) -> Result<Verdict, Failure> {
    let answer = Daemon::of(settings)?.order("/resume", &json!({ "scope": args.scope }))?;
    let resumed = answer["resumed"].as_array().cloned().unwrap_or_default();
    if resumed.is_empty() {
        print("nothing was suspended\n")?;
    }
    for scope in resumed {
        let scope = scope.as_str().unwrap_or("everything");
        print(&format!("resumed {}\n", escaped(scope)))?;
    }
    Ok(Verdict::Clean)
}

/// Returns the flag that names a scope, quoted for a shell.
fn flag(scope: Option<&str>) -> String {
    scope.map_or_else(String::new, |globs| format!(" --scope '{globs}'"))
}

/// Returns a text of an answer.
fn text<'a>(answer: &'a Value, name: &str) -> &'a str {
    answer[name].as_str().unwrap_or_default()
}
