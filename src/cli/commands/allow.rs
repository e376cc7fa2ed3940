//! `gitoggle allow`: releases what a running daemon holds.

use std::ffi::OsStr;
use std::fmt::Write as _;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Arg, Args, Command as Clap};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::cli::args::place;
use crate::cli::daemon::Daemon;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::Settings;
use crate::model::{Override, ToggleId, counted, escaped};

/// Release what a running daemon holds
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Releases the toggles that a rail, a first pass, a change window, a renamed document, or a change on the service holds in \
                  one environment of a running daemon, without a restart, and prints them. The decision is valid as long as its revision is the \
                  one to apply, and is recorded with the caller and the time. `history` lets the daemon continue from a revision that does not \
                  descend from the recorded one."
)]
pub(crate) struct AllowArgs {
    /// What to release
    #[arg(value_name = "WHAT", value_parser = OverrideParser)]
    pub(crate) what: Override,
    /// The environment, written project/environment, or one toggle for overwrite-drift; history needs none
    #[arg(
        value_name = "ENVIRONMENT",
        value_parser = place,
        required_if_eq_any = about_environments()
    )]
    pub(crate) environment: Option<String>,
    /// Allow this revision only; at least 7 digits [the one that the daemon reports]
    #[arg(long, value_name = "REV")]
    pub(crate) revision: Option<String>,
}

fn text<'a>(reply: &'a Value, name: &str) -> &'a str {
    reply[name].as_str().unwrap_or_default()
}

/// The maximum number of toggles to print.
const MOST_LISTED: usize = 20;

/// Returns the values of `what` that need an environment.
fn about_environments() -> impl Iterator<Item = (&'static str, &'static str)> {
    let needing = Override::ALL.into_iter().filter(|what| what.needs_environment());
    needing.map(|what| ("what", what.as_str()))
}

/// Parses the name of a decision, and lists all of them with their effects in the help.
#[derive(Clone)]
struct OverrideParser;

impl TypedValueParser for OverrideParser {
    type Value = Override;

    fn parse_ref(&self, clap: &Clap, arg: Option<&Arg>, value: &OsStr) -> Result<Override, clap::Error> {
        TypedValueParser::parse_ref(&Override::named, clap, arg, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let all = Override::ALL.into_iter();
        Some(Box::new(all.map(|what| PossibleValue::new(what.as_str()).help(what.effect()))))
    }
}

pub(super) fn run(settings: &Settings, args: &AllowArgs) -> Result<ExitStatus, Failure> {
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
    for toggle in toggles.iter().take(MOST_LISTED) {
        let toggle = toggle.as_str().unwrap_or_default();
        let version = versions[toggle].as_u64().map(|version| match version {
            0 => " (not on the service)".to_owned(),
            version => format!(" (version {version} on the service)"),
        });
        let _ = writeln!(out, "  {}{}", escaped(toggle), version.unwrap_or_default());
        for event in reply["releases"]["overwrites"][toggle].as_array().into_iter().flatten() {
            let _ = writeln!(out, "      {}", escaped(event.as_str().unwrap_or_default()));
        }
    }
    let more = count.saturating_sub(toggles.len().min(MOST_LISTED));
    if more > 0 {
        let _ = writeln!(out, "  … and {more} more");
    }
    if versions.is_object() {
        out.push_str("a later change there is held\n");
    }
    out
}
