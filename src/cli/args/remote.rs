//! Arguments of the commands that a running daemon executes.

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use crate::config::Command;
use crate::model::{EnvironmentId, Override};

use super::option;

/// The arguments of `allow`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AllowArgs {
    /// The decision.
    pub what: Override,
    /// The environment; `history` needs none.
    pub environment: Option<EnvironmentId>,
    /// The revision; none means the one that the daemon reports.
    pub revision: Option<String>,
}

/// The arguments of `suspend`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct SuspendArgs {
    /// Globs, separated by spaces; none means everything.
    pub scope: Option<String>,
    /// The duration; none means until resumed.
    pub lasts: Option<String>,
    /// The reason, for logs and status.
    pub reason: Option<String>,
}

/// The arguments of `resume`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ResumeArgs {
    /// Globs, separated by spaces; none means everything.
    pub scope: Option<String>,
}

/// Returns the arguments of `command` that are not settings.
pub(super) fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Allow => vec![
            Arg::new("what")
                .value_name("WHAT")
                .help("first-pass-assert, first-pass-adopt, mass-change or history")
                .required(true)
                .value_parser(value_parser!(Override)),
            Arg::new("environment")
                .value_name("ENVIRONMENT")
                .help("The environment, written project/environment; history needs none")
                // Every decision but `history` concerns one environment (DESIGN, section 9.2).
                .required_if_eq_any(
                    [
                        "first-pass-assert",
                        "first-pass-adopt",
                        "mass-change",
                        "overwrite-drift",
                    ]
                    .map(|what| ("what", what)),
                )
                .value_parser(value_parser!(EnvironmentId)),
            option(
                "revision",
                "REV",
                "Allow this revision only; at least 7 digits [the one that the daemon reports]",
            ),
        ],
        Command::Suspend => vec![
            scope("Suspend only the toggles that this glob matches; repeatable [everything]"),
            option("for", "TIME", "Resume after this time [never]"),
            option(
                "reason",
                "TEXT",
                "Show this reason in the log, on the page and in /api/status",
            ),
        ],
        Command::Resume => vec![scope(
            "End only the suspension with this glob; repeatable [all suspensions]",
        )],
        _ => Vec::new(),
    }
}

fn scope(help: &'static str) -> Arg {
    option("scope", "GLOB", help).action(ArgAction::Append)
}

pub(super) fn allow(matches: &ArgMatches) -> AllowArgs {
    AllowArgs {
        what: *matches.get_one("what").expect("it is required"),
        environment: matches.get_one("environment").cloned(),
        revision: matches.get_one("revision").cloned(),
    }
}

pub(super) fn suspend(matches: &ArgMatches) -> SuspendArgs {
    SuspendArgs {
        scope: globs(matches),
        lasts: matches.get_one("for").cloned(),
        reason: matches.get_one("reason").cloned(),
    }
}

pub(super) fn resume(matches: &ArgMatches) -> ResumeArgs {
    ResumeArgs {
        scope: globs(matches),
    }
}

fn globs(matches: &ArgMatches) -> Option<String> {
    let globs: Vec<&str> = matches.get_many::<String>("scope")?.map(String::as_str).collect();
    Some(globs.join(" "))
}
