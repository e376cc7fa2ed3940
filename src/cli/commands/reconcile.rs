//! `gitoggle reconcile`: requests a pass from a running daemon.

use clap::Args;
use serde_json::json;

use crate::cli::daemon::Daemon;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::Settings;
use crate::model::escaped;

/// Request a pass from a running daemon
#[derive(Args, Clone, Debug, PartialEq)]
#[command(long_about = "Requests a pass from a running daemon. The pass also retries refused toggles.")]
pub(crate) struct ReconcileArgs {}

pub(super) fn run(settings: &Settings, _: &ReconcileArgs) -> Result<ExitStatus, Failure> {
    let reply = Daemon::of(settings)?.send("/reconcile", &json!({}))?;
    // The service said how long it wants no request, so not even an order comes before that.
    let wait = reply["reason"].as_str().map(|reason| format!("; {}", escaped(reason)));
    let wait = wait.unwrap_or_default();
    print(&format!("requested a pass, which also retries refused toggles{wait}\n"))?;
    Ok(ExitStatus::Clean)
}
