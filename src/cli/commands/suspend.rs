//! `gitoggle suspend`: keeps a running daemon from publishing.

use clap::Args;
use serde_json::json;

use crate::cli::args::part;
use crate::cli::daemon::Daemon;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{note, print};
use crate::config::Settings;
use crate::model::{command_line, escaped, shell_word};

/// Keep a running daemon from publishing
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Keeps a running daemon from publishing, either all toggles or those that a glob over \
                  project/environment/toggle matches. Planning continues. Survives a restart of the daemon."
)]
pub(crate) struct SuspendArgs {
    /// Suspend only this environment, this toggle, or the toggles that this glob matches; repeatable
    /// [everything]
    #[arg(value_name = "SCOPE", value_parser = part)]
    pub(crate) scopes: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ScopeFlags,
    /// Resume after this time [never]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasts: Option<String>,
    /// Show this reason in the log, on the page and in /api/status
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

/// The scope as it was written before it was a word.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ScopeFlags {
    /// Another spelling of SCOPE
    #[arg(long = "scope", value_name = "SCOPE", value_parser = part, hide = true)]
    pub(crate) scope: Vec<String>,
}

pub(super) fn run(settings: &Settings, args: &SuspendArgs) -> Result<ExitStatus, Failure> {
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

/// Returns the globs as one scope; none means everything.
pub(super) fn scope(globs: &[String], flags: &ScopeFlags) -> Option<String> {
    let globs = [globs, &flags.scope].concat();
    (!globs.is_empty()).then(|| globs.join(" "))
}

/// Returns the words that name a scope, quoted for a shell.
fn words(scope: Option<&str>) -> String {
    let globs = scope.into_iter().flat_map(|globs| globs.split(' '));
    globs.map(|glob| format!(" {}", shell_word(glob))).collect()
}
