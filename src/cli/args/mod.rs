//! Parses arguments. The flags of settings come from the table in `config`; each command defines its
//! arguments in its own file.

mod program;
#[cfg(test)]
mod tests;
mod verbosity;

pub use program::program;
pub(crate) use program::{choices, page_end};

use std::collections::BTreeMap;
use std::ffi::OsString;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{ArgMatches, Command as Clap, FromArgMatches as _};

use super::commands::CommandArgs;
use crate::config::{Command, Flags, SettingInfo, settings};
use crate::document::evaluation_time;
use crate::model::{EnvironmentId, Scope, ToggleId, can_be_key, chain, escaped, listed, unmatchable_advice};
use verbosity::Verbosity;

/// The parsed arguments.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The command.
    pub command: Command,
    pub(super) args: CommandArgs,
    /// The values of the settings' flags.
    pub flags: Flags,
    pub(crate) verbosity: Verbosity,
}

/// Parses the arguments `typed`, the program's name first.
///
/// # Errors
/// A `clap::Error` with the message to print: the requested help or version, or a usage error. See
/// [`exit_code`].
pub fn parse(typed: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let matches = program().try_get_matches_from(&typed).map_err(|error| pointed(error, &typed))?;
    let Some((name, flags_of)) = matches.subcommand() else {
        unreachable!("a subcommand is required");
    };
    let command = name.parse().expect("clap accepts only the names of commands");
    Ok(Invocation {
        command,
        args: CommandArgs::from_arg_matches(&matches)?,
        flags: flags(command, flags_of),
        verbosity: match command.takes_settings() {
            true => Verbosity::from_arg_matches(flags_of)?,
            false => Verbosity::default(),
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

/// Adds a pointer to a usage error, where there is one. `typed` are all arguments, the program's name first.
fn pointed(mut error: clap::Error, typed: &[OsString]) -> clap::Error {
    if !error.use_stderr() {
        return error;
    }
    let mut program = program();
    program.build();
    let value = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.clone()),
        _ => None,
    };
    let unknown = value(ContextKind::InvalidArg);
    let is_unknown = |word: &str| unknown.as_ref().is_some_and(|unknown| word.starts_with(unknown.as_str()));
    let words = typed.iter().skip(1).filter_map(|word| word.to_str());
    let command = words.take_while(|word| !is_unknown(word)).find_map(|word| program.find_subcommand(word));
    let pointer = match error.kind() {
        ErrorKind::UnknownArgument => unknown.and_then(|arg| of_argument(&program, command, &arg)),
        ErrorKind::MissingRequiredArgument if command.is_some_and(|command| command.get_name() == "diff") => {
            Some(DIFF.to_owned())
        }
        _ => None,
    };
    if error.kind() == ErrorKind::UnknownArgument {
        // clap shows the usage with the flags that it guesses by their spelling.
        let usage = command.unwrap_or(&program).clone().render_usage();
        error.insert(ContextKind::Usage, ContextValue::StyledStr(usage));
    }
    if let Some(pointer) = pointer {
        // A guess by spelling would contradict the pointer.
        for guess in [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand] {
            error.remove(guess);
        }
        let pointer = vec![StyledStr::from(pointer)];
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(pointer));
    }
    error
}

const DIFF: &str = "to compare the repository with what was applied, run `gitoggle plan`; to compare two revisions, run \
                    `gitoggle plan --from main --to HEAD`";

/// Returns the pointer for an argument that `command`, or the program if there is none, does not have.
fn of_argument(program: &Clap, command: Option<&Clap>, arg: &str) -> Option<String> {
    let arg = arg.split('=').next().unwrap_or(arg);
    let owners: Vec<&Clap> = program.get_subcommands().filter(|clap| has(clap, arg)).collect();
    let Some(command) = command else {
        return (!owners.is_empty()).then(|| format!("flags follow the command: `gitoggle COMMAND {arg}`"));
    };
    if !arg.starts_with('-') {
        let pointer = "`--only 'PROJECT/ENVIRONMENT/*'` selects toggles";
        return has(command, "--only").then(|| pointer.to_owned());
    }
    let owners: Vec<String> = owners.iter().map(|clap| format!("`{}`", clap.get_name())).collect();
    (!owners.is_empty()).then(|| format!("`{arg}` belongs to {}", listed(&owners)))
}

/// Returns whether a command has a flag, written with its dashes.
fn has(command: &Clap, flag: &str) -> bool {
    let long = flag.strip_prefix("--");
    let short = flag.strip_prefix('-').filter(|_| long.is_none());
    command.get_arguments().any(|arg| match (long, short) {
        (Some(long), _) => arg.get_long() == Some(long),
        (_, Some(short)) => arg.get_short().is_some_and(|known| short.starts_with(known)),
        (None, None) => false,
    })
}

pub(super) fn attribute(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write it as NAME=VALUE, such as age=20".to_owned()),
    }
}

/// Parses the time of an evaluation, in seconds since 1970-01-01 UTC.
pub(super) fn time(text: &str) -> Result<i64, String> {
    evaluation_time(text).map_err(|help| format!("`{text}` is not a time: {help}"))
}

/// Parses an environment, or a toggle.
pub(super) fn place(text: &str) -> Result<String, String> {
    match (text.parse::<EnvironmentId>(), text.parse::<ToggleId>()) {
        (Err(error), Err(_)) => Err(error.to_string()),
        _ => Ok(text.to_owned()),
    }
}

/// Parses a part of the toggles as a glob over whole toggles.
pub(super) fn part(text: &str) -> Result<String, String> {
    match text.parse::<EnvironmentId>() {
        Ok(environment) => Ok(format!("{environment}/**")),
        Err(_) => glob(text),
    }
}

pub(super) fn environment(text: &str) -> Result<EnvironmentId, String> {
    text.parse().map_err(|error| chain(&error))
}

/// Parses a glob over whole toggles.
pub(super) fn glob(text: &str) -> Result<String, String> {
    let scope = Scope::new(&[text]).map_err(|error| error.to_string())?;
    match scope.unmatchable().next() {
        None => Ok(text.to_owned()),
        Some(glob) if glob == text => Err(format!("it matches no toggle: {}", unmatchable_advice(text))),
        Some(glob) => Err(format!("`{}` matches no toggle: {}", escaped(&glob), unmatchable_advice(&glob))),
    }
}

/// Parses a glob over the keys of toggles.
pub(super) fn key_glob(text: &str) -> Result<String, String> {
    Scope::new(&[text]).map_err(|error| error.to_string())?;
    if text.contains('/') {
        Err("it is compared with the key of the toggle, which has no slash".to_owned())
    } else if !can_be_key(text) {
        Err("it matches no toggle: a key begins with a letter or digit, and has only these, `.`, `_` and `-`"
            .to_owned())
    } else {
        Ok(text.to_owned())
    }
}
