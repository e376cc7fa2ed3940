//! The arguments of `completions` and `man`, and the ends of manual pages.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Command as Clap, value_parser};
use clap_complete::Shell;

use super::program::{EXIT_CODES, SETTINGS, command_named};
use super::table::COMMANDS;
use super::{examples, option};
use crate::config::Command;

/// The arguments of `man`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ManArgs {
    /// The name of the command whose page to print; none means the page of the program.
    pub command: Option<String>,
    /// The folder to write the pages of the program and all commands to.
    pub out: Option<PathBuf>,
}

/// Returns the arguments that are not settings.
pub(super) fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Completions => vec![
            Arg::new("shell")
                .value_name("SHELL")
                .help("bash, elvish, fish, powershell or zsh")
                .hide_possible_values(true)
                .required(true)
                .value_parser(value_parser!(Shell)),
        ],
        _ => vec![
            Arg::new("command")
                .value_name("COMMAND")
                .help("Print the page of this command [the program]")
                .hide_possible_values(true)
                .value_parser(PossibleValuesParser::new(COMMANDS.iter().map(|(name, ..)| *name))),
            option("out", "DIR", "Write the pages of all commands into this folder")
                .value_parser(value_parser!(PathBuf))
                .conflicts_with("command"),
        ],
    }
}

pub(super) fn shell(matches: &ArgMatches) -> Shell {
    *matches.get_one("shell").expect("it is required")
}

pub(super) fn man(matches: &ArgMatches) -> ManArgs {
    ManArgs {
        command: matches.get_one("command").cloned(),
        out: matches.get_one("out").cloned(),
    }
}

/// Returns the last sections of the manual page of a command, or of the program: the headings and the lines.
#[must_use]
pub fn page_end(page: &Clap) -> Vec<(&'static str, String)> {
    let exit = EXIT_CODES.trim_start_matches("Exit codes:\n").to_owned();
    if page.has_subcommands() {
        let see = "gitoggle-apply(1), gitoggle-plan(1), gitoggle-run(1), git(1)".to_owned();
        return vec![
            ("SETTINGS", SETTINGS.to_owned()),
            ("EXIT STATUS", exit),
            ("SEE ALSO", see),
        ];
    }
    let command = command_named(page.get_name());
    let see = format!(
        "gitoggle(1), and {} in gitoggle's repository",
        examples::manual(command)
    );
    let lines = examples::lines(command, "");
    vec![("EXAMPLES", lines), ("EXIT STATUS", exit), ("SEE ALSO", see)]
}
