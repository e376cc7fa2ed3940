//! Parses arguments. The flags of settings come from the table in `config`; arguments of single commands are defined
//! here.

#![allow(
    rustdoc::broken_intra_doc_links,
    reason = "the comments of arguments are help texts, which name defaults in brackets"
)]

mod commands;
mod parsers;
mod pointers;
mod program;
#[cfg(test)]
mod tests;

pub use commands::SchemaSubject;
pub(crate) use commands::{
    AllowArgs, AudienceArgs, CommandArgs, Coverage, DemoArgs, DriftArgs, ExplainArgs, FaultArgs, ImportArgs,
    LogArgs, LogDetail, PlanExit, ResumeArgs, SandboxArgs, ScopeFlags, StaleArgs, StatusList, SuspendArgs,
    TestArgs,
};
pub(crate) use program::page_end;
pub use program::program;

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::{ArgMatches, FromArgMatches as _};

use crate::config::{Command, Flags, SettingInfo, settings};
use commands::Verbosity;

/// The parsed arguments.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The command.
    pub command: Command,
    pub(crate) args: CommandArgs,
    /// The values of the settings' flags.
    pub flags: Flags,
    pub(crate) verbosity: Verbosity,
}

/// Parses the arguments `typed`, the program's name first.
///
/// # Errors
/// A `clap::Error` with the message to print: the requested help or version, or a usage error. See [`exit_code`].
pub fn parse(typed: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let matches = program().try_get_matches_from(&typed).map_err(|error| pointers::pointed(error, &typed))?;
    let Some((name, flags_of)) = matches.subcommand() else {
        unreachable!("a subcommand is required");
    };
    let command = name.parse().expect("clap accepts only the names of commands");
    Ok(Invocation {
        command,
        args: CommandArgs::from_arg_matches(&matches)?,
        flags: flags(command, flags_of),
        verbosity: match command {
            Command::Completions | Command::Man => Verbosity::default(),
            _ => Verbosity::from_arg_matches(flags_of)?,
        },
    })
}

/// Returns the exit code of a `clap::Error`.
pub fn exit_code(error: &clap::Error) -> u8 {
    // clap's own code for usage errors, 2, means changes in `plan`.
    if error.use_stderr() { 64 } else { 0 }
}

/// Returns the first command that is named in `typed`, whose first word is the name of the program.
pub fn command_in(typed: &[OsString]) -> Option<Command> {
    let mut words = typed.iter().skip(1).filter_map(|word| word.to_str());
    words.find_map(|word| word.parse().ok())
}

fn flags(command: Command, matches: &ArgMatches) -> Flags {
    let taken =
        settings().iter().filter(|setting| setting.flag.is_some() && setting.commands().contains(&command));
    let mut flags = BTreeMap::new();
    for setting in taken {
        let values: Vec<String> = if setting.is_switch() {
            switched(setting, matches).into_iter().collect()
        } else {
            let values = matches.get_many::<String>(setting.name);
            values.into_iter().flatten().cloned().collect()
        };
        if !values.is_empty() {
            flags.insert(setting.name.to_owned(), values);
        }
    }
    flags
}

fn switched(setting: &SettingInfo, matches: &ArgMatches) -> Option<String> {
    let is_given = |flag: &str| matches.get_flag(flag.trim_start_matches("--"));
    let turns_off = |flag: &str| flag.starts_with("--no-");
    let flag = setting.flag.as_deref()?;
    if matches.get_flag(setting.name) {
        return Some((!turns_off(flag)).to_string());
    }
    let opposite = setting.opposite.as_deref().filter(|flag| is_given(flag))?;
    Some((!turns_off(opposite)).to_string())
}
