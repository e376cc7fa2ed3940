//! Arguments of the commands for authors.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, value_parser};

use super::{CommandArgs, plan_exit, toggle};
use crate::config::Command;
use crate::model::{EnvironmentId, Scope, chain};
use crate::pass::authoring::FormatMode;

/// Returns the arguments of `command` that are not settings.
pub(super) fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Diff => vec![
            environment("before", "A", "The environment before, as project/environment"),
            environment("after", "B", "The environment after"),
            toggle("detailed-exitcode", "Exit with 2 if they differ"),
        ],
        Command::Fmt => vec![
            Arg::new("paths")
                .value_name("PATH")
                .help("Format these files and folders only")
                .num_args(0..)
                .value_parser(value_parser!(PathBuf)),
            toggle(
                "check",
                "Write nothing; list the documents with another layout, and exit with 1",
            ),
        ],
        Command::Init => vec![
            Arg::new("folder")
                .value_name("DIR")
                .help("Create the repository in this folder [.]")
                .default_value(".")
                .hide_default_value(true)
                .value_parser(value_parser!(PathBuf)),
        ],
        Command::Promote => vec![
            environment(
                "before",
                "FROM",
                "The environment to copy from, as project/environment",
            ),
            environment("after", "TO", "The environment to copy to"),
            Arg::new("globs")
                .value_name("GLOB")
                .help("Copy only the toggles whose key this glob matches [everything]")
                .num_args(0..)
                .value_parser(glob),
        ],
        _ => Vec::new(),
    }
}

fn environment(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .value_name(value)
        .help(help)
        .required(true)
        .value_parser(|text: &str| text.parse::<EnvironmentId>().map_err(|error| chain(&error)))
}

fn glob(text: &str) -> Result<String, String> {
    Scope::new(&[text]).map_err(|error| error.to_string())?;
    match text.contains('/') {
        false => Ok(text.to_owned()),
        true => Err("it is compared with the key of the toggle, which has no slash".to_owned()),
    }
}

pub(super) fn args(command: Command, matches: &ArgMatches) -> CommandArgs {
    let environments = || {
        let one = |name| {
            let found: Option<&EnvironmentId> = matches.get_one(name);
            found.expect("clap requires it").clone()
        };
        [one("before"), one("after")]
    };
    match command {
        Command::Diff => CommandArgs::Diff {
            environments: environments(),
            exit: plan_exit(matches),
        },
        Command::Init => CommandArgs::Init {
            folder: matches.get_one("folder").cloned().expect("it has a default"),
        },
        Command::Promote => CommandArgs::Promote {
            environments: environments(),
            globs: matches.get_many("globs").into_iter().flatten().cloned().collect(),
        },
        _ => CommandArgs::Fmt {
            paths: matches.get_many("paths").into_iter().flatten().cloned().collect(),
            mode: match matches.get_flag("check") {
                true => FormatMode::Check,
                false => FormatMode::Write,
            },
        },
    }
}
