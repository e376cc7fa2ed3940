//! `gitoggle resume`: lets a suspended daemon publish again.

use clap::Args;
use serde_json::json;

use super::suspend::{ScopeFlags, scope};
use crate::cli::args::part;
use crate::cli::daemon::Daemon;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::Settings;
use crate::model::escaped;

/// Let a suspended daemon publish again
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Ends the suspensions of a running daemon: all of them, or the one with the same globs."
)]
pub(crate) struct ResumeArgs {
    /// End only the suspension of this environment, toggle or glob; repeatable [all suspensions]
    #[arg(value_name = "SCOPE", value_parser = part)]
    pub(crate) scopes: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ScopeFlags,
}

pub(super) fn run(settings: &Settings, args: &ResumeArgs) -> Result<ExitStatus, Failure> {
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
