//! Arguments of the commands that a running daemon executes.

use clap::Args;

use super::parsers::glob;
use crate::model::{EnvironmentId, Override, ToggleId};

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct AllowArgs {
    /// first-pass-assert, first-pass-adopt, mass-change, overwrite-drift or history
    #[arg(value_name = "WHAT")]
    pub(crate) what: Override,
    /// The environment, written project/environment, or one toggle for overwrite-drift; history needs none
    // Every decision but `history` concerns one environment (DESIGN, section 9.2).
    #[arg(
        value_name = "ENVIRONMENT",
        value_parser = place,
        required_if_eq_any = [
            ("what", "first-pass-assert"),
            ("what", "first-pass-adopt"),
            ("what", "mass-change"),
            ("what", "overwrite-drift"),
        ]
    )]
    pub(crate) environment: Option<String>,
    /// Allow this revision only; at least 7 digits [the one that the daemon reports]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,
}

/// Parses an environment, or a toggle.
fn place(text: &str) -> Result<String, String> {
    match (text.parse::<EnvironmentId>(), text.parse::<ToggleId>()) {
        (Err(error), Err(_)) => Err(error.to_string()),
        _ => Ok(text.to_owned()),
    }
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct SuspendArgs {
    /// Suspend only this environment, this toggle, or the toggles that this glob matches; repeatable [everything]
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

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ResumeArgs {
    /// End only the suspension of this environment, toggle or glob; repeatable [all suspensions]
    #[arg(value_name = "SCOPE", value_parser = part)]
    pub(crate) scopes: Vec<String>,
    #[command(flatten)]
    pub(crate) flags: ScopeFlags,
}

/// The scope as it was written before it was a word.
#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ScopeFlags {
    /// Another spelling of SCOPE
    #[arg(long = "scope", value_name = "SCOPE", value_parser = part, hide = true)]
    pub(crate) scope: Vec<String>,
}

/// Parses a part of the toggles as a glob over whole toggles.
fn part(text: &str) -> Result<String, String> {
    match text.parse::<EnvironmentId>() {
        Ok(environment) => Ok(format!("{environment}/**")),
        Err(_) => glob(text),
    }
}
