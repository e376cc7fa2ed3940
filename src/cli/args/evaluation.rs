//! Arguments of the commands that evaluate toggles.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, value_parser};

use super::option;
use crate::config::Command;
use crate::model::{ToggleId, seconds};

/// The arguments of `explain`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ExplainArgs {
    /// The toggle.
    pub toggle: ToggleId,
    /// The user's attributes.
    pub attributes: Vec<(String, String)>,
    /// The user's key.
    pub key: Option<String>,
    /// The time of evaluation, in seconds since 1970-01-01 UTC; none means now.
    pub at: Option<i64>,
}

/// The audience of `plan`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct AudienceArgs {
    /// The file of users: JSON lines or CSV.
    pub file: PathBuf,
    /// The time of evaluation, in seconds since 1970-01-01 UTC.
    pub at: Option<i64>,
}

/// The arguments of `test`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct TestArgs {
    /// Folders and files to test; none means all.
    pub paths: Vec<PathBuf>,
    /// Whether to list what no test reaches.
    pub coverage: Coverage,
}

/// Whether `test` lists the serves that no test reaches.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Coverage {
    /// It lists them.
    Listed,
    /// It does not.
    #[default]
    Omitted,
}

/// Returns the arguments of `command` that are not settings.
pub(super) fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Explain => vec![
            Arg::new("toggle")
                .value_name("TOGGLE")
                .help("The toggle, written project/environment/toggle")
                .required(true)
                .value_parser(value_parser!(ToggleId)),
            option(
                "attr",
                "NAME=VALUE",
                "Give the user this attribute; repeat it for others",
            )
            .action(ArgAction::Append)
            .value_parser(attribute),
            option("key", "KEY", "Give the user this key, which decides on splits"),
            option(
                "at",
                "TIME",
                "Evaluate at this time, such as 2024-12-31T23:59:59Z [now]",
            )
            .value_parser(seconds),
        ],
        Command::Plan => vec![
            option(
                "audience",
                "FILE",
                "Count how many of these users each change affects: JSON lines or CSV",
            )
            .value_parser(value_parser!(PathBuf))
            .help_heading("Users"),
            option(
                "at",
                "TIME",
                "Evaluate the audience at this time, such as 2024-12-31T23:59:59Z",
            )
            .value_parser(seconds)
            .requires("audience")
            .help_heading("Users"),
        ],
        Command::Test => vec![
            Arg::new("paths")
                .value_name("PATH")
                .help("Test these files and folders only")
                .num_args(0..)
                .value_parser(value_parser!(PathBuf)),
            Arg::new("coverage")
                .long("coverage")
                .help("List the rules and serves that no test reaches")
                .action(ArgAction::SetTrue),
        ],
        _ => Vec::new(),
    }
}

fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, such as age=20".to_owned()),
    }
}

pub(super) fn explain(matches: &ArgMatches) -> ExplainArgs {
    ExplainArgs {
        toggle: matches
            .get_one::<ToggleId>("toggle")
            .expect("it is required")
            .clone(),
        attributes: matches.get_many("attr").into_iter().flatten().cloned().collect(),
        key: matches.get_one("key").cloned(),
        at: matches.get_one("at").copied(),
    }
}

pub(super) fn audience(matches: &ArgMatches) -> Option<AudienceArgs> {
    Some(AudienceArgs {
        file: matches.get_one::<PathBuf>("audience")?.clone(),
        at: matches.get_one("at").copied(),
    })
}

pub(super) fn test(matches: &ArgMatches) -> TestArgs {
    TestArgs {
        paths: matches.get_many("paths").into_iter().flatten().cloned().collect(),
        coverage: match matches.get_flag("coverage") {
            false => Coverage::Omitted,
            true => Coverage::Listed,
        },
    }
}
