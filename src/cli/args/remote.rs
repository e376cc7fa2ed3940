//! Arguments of the commands that a running daemon executes.

use clap::Args;

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
    /// Suspend only the toggles that this glob matches; repeatable [everything]
    #[arg(long = "scope", value_name = "GLOB")]
    pub(crate) scopes: Vec<String>,
    /// Resume after this time [never]
    #[arg(long = "for", value_name = "TIME")]
    pub(crate) lasts: Option<String>,
    /// Show this reason in the log, on the page and in /api/status
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
}

#[derive(Args, Clone, Debug, PartialEq)]
pub(crate) struct ResumeArgs {
    /// End only the suspension with this glob; repeatable [all suspensions]
    #[arg(long = "scope", value_name = "GLOB")]
    pub(crate) scopes: Vec<String>,
}
