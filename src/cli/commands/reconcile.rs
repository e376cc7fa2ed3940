//! `gitoggle reconcile`: requests a pass from a running daemon.

use clap::Args;
use serde_json::json;

use crate::cli::daemon::Daemon;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::Settings;

/// Request a pass from a running daemon
#[derive(Args, Clone, Debug, PartialEq)]
#[command(long_about = "Requests a pass from a running daemon. The pass also retries refused toggles.")]
pub(crate) struct ReconcileArgs {}

pub(super) fn run(settings: &Settings, _: &ReconcileArgs) -> Result<ExitStatus, Failure> {
    Daemon::of(settings)?.send("/reconcile", &json!({}))?;
    print("requested a pass, which also retries refused toggles\n")?;
    Ok(ExitStatus::Clean)
}
