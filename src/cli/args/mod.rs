//! Parses arguments. The flags of settings come from the table in `config`; arguments of single commands are defined
//! here.

mod authoring;
mod drift;
mod evaluation;
mod examples;
mod foreign;
mod import;
mod local;
mod log;
mod pages;
mod pointers;
mod program;
mod remote;
mod schema;
mod table;
#[cfg(test)]
mod tests;

pub use drift::DriftArgs;
pub use evaluation::{AudienceArgs, Coverage, ExplainArgs, TestArgs};
pub use local::{DemoArgs, DemoPause, SandboxArgs};
pub use log::{LogArgs, LogDetail};
pub use pages::{ManArgs, page_end};
pub use program::program;
pub use remote::{AllowArgs, ResumeArgs, SuspendArgs};
pub use schema::SchemaSubject;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches};

use crate::config::{Command, Flags, LogLevel, SettingInfo, ValueShape, settings};
use crate::model::EnvironmentId;
use crate::pass::Files;
use crate::pass::authoring::FormatMode;
use program::{command_named, opposite};

/// The parsed arguments.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// The command with its arguments.
    pub args: CommandArgs,
    /// The values of the settings' flags.
    pub flags: Flags,
    /// The verbosity of `-v` and `-q`.
    pub verbosity: Verbosity,
}

/// A command with the arguments that are not settings.
#[derive(Clone, Debug, PartialEq)]
pub enum CommandArgs {
    /// Releases what a running daemon holds.
    Allow(AllowArgs),
    /// Makes one pass.
    Apply,
    /// Prints the completions of a shell.
    Completions(clap_complete::Shell),
    /// Demonstrates the whole loop on loopback.
    Demo(DemoArgs),
    /// Traces one user through a toggle.
    Explain(ExplainArgs),
    /// Compares two environments.
    Diff {
        /// The environments before and after.
        environments: [EnvironmentId; 2],
        /// The meaning of the exit code.
        exit: PlanExit,
    },
    /// Compares the service with what was last applied.
    Drift(DriftArgs),
    /// Creates a starter repository.
    Init {
        /// The folder of the repository.
        folder: PathBuf,
    },
    /// Copies documents between environments.
    Promote {
        /// The environments to copy from and to.
        environments: [EnvironmentId; 2],
        /// Globs over the keys of the toggles to copy; none means all.
        globs: Vec<String>,
    },
    /// Rewrites documents in the canonical layout.
    Fmt {
        /// Folders and files to rewrite; none means all.
        paths: Vec<PathBuf>,
        /// Whether files are written.
        mode: FormatMode,
    },
    /// Writes the documents of toggles that exist on the service.
    Import {
        /// Valid globs over the toggles to import; none means everything.
        globs: Vec<String>,
    },
    /// Prints the deployment history.
    Log(LogArgs),
    /// Prints manual pages.
    Man(ManArgs),
    /// Prints what would be published, and why.
    Plan {
        /// The files to plan.
        files: Files,
        /// The meaning of the exit code.
        exit: PlanExit,
        /// The users whom the changes may affect.
        audience: Option<AudienceArgs>,
    },
    /// Requests a pass from a running daemon.
    Reconcile,
    /// Ends a suspension of a running daemon.
    Resume(ResumeArgs),
    /// Runs the daemon.
    Run,
    /// Serves a local stand-in for the service.
    Sandbox(SandboxArgs),
    /// Prints a JSON Schema.
    Schema {
        /// What it describes.
        of: SchemaSubject,
    },
    /// Prints the state of the toggles.
    Status {
        /// The toggles that are listed as text.
        list: StatusList,
    },
    /// Suspends publishing in a running daemon.
    Suspend(SuspendArgs),
    /// Compares what toggles serve with expectations.
    Test(TestArgs),
    /// Checks documents.
    Validate {
        /// Folders and files to check; none means all.
        paths: Vec<PathBuf>,
    },
}

/// The toggles that `status` lists as text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum StatusList {
    /// Every toggle.
    All,
    /// The toggles that are not in sync.
    NotInSync,
}

impl CommandArgs {
    /// Returns the command.
    #[must_use]
    pub fn command(&self) -> Command {
        match self {
            Self::Allow(_) => Command::Allow,
            Self::Apply => Command::Apply,
            Self::Completions(_) => Command::Completions,
            Self::Demo(_) => Command::Demo,
            Self::Explain(_) => Command::Explain,
            Self::Drift(_) => Command::Drift,
            Self::Diff { .. } => Command::Diff,
            Self::Fmt { .. } => Command::Fmt,
            Self::Init { .. } => Command::Init,
            Self::Promote { .. } => Command::Promote,
            Self::Import { .. } => Command::Import,
            Self::Log(_) => Command::Log,
            Self::Man(_) => Command::Man,
            Self::Plan { .. } => Command::Plan,
            Self::Reconcile => Command::Reconcile,
            Self::Resume(_) => Command::Resume,
            Self::Run => Command::Run,
            Self::Sandbox(_) => Command::Sandbox,
            Self::Schema { .. } => Command::Schema,
            Self::Status { .. } => Command::Status,
            Self::Suspend(_) => Command::Suspend,
            Self::Test(_) => Command::Test,
            Self::Validate { .. } => Command::Validate,
        }
    }
}

/// The meaning of a plan's exit code.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PlanExit {
    /// It also shows whether there are changes.
    Detailed,
    /// It shows only errors and holds.
    Plain,
}

/// The log level of `-v` and `-q`.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Verbosity {
    /// Neither flag.
    #[default]
    Usual,
    /// `-v`: one level more than the default.
    More,
    /// `-vv`: two levels more than the default.
    Most,
    /// `-q`: errors only.
    Quiet,
}

impl Verbosity {
    /// Returns the log level of `command`, given the setting `level`.
    #[must_use]
    pub fn level(self, command: Command, level: Option<LogLevel>) -> Option<LogLevel> {
        // The default of `run` is already one level higher than that of the other commands.
        let daemon = command == Command::Run;
        match (self, daemon) {
            (Self::Usual, _) => level,
            (Self::Quiet, _) => Some(LogLevel::Error),
            (Self::More, false) => Some(LogLevel::Info),
            (Self::More, true) | (Self::Most, false) => Some(LogLevel::Debug),
            (Self::Most, true) => Some(LogLevel::Trace),
        }
    }
}

/// Parses the arguments `typed`, the program's name first.
///
/// # Errors
/// A `clap::Error` with the message to print: the requested help or version, or a usage error. See [`exit_code`].
pub fn parse(typed: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let typed: Vec<OsString> = typed.into_iter().collect();
    let matches = program()
        .try_get_matches_from(&typed)
        .map_err(|error| pointers::pointed(error, &typed))?;
    let Some((name, matches)) = matches.subcommand() else {
        unreachable!("a subcommand is required");
    };
    Ok(Invocation {
        args: command_args(name, matches),
        flags: flags(command_named(name), matches),
        verbosity: match command_named(name) {
            Command::Completions | Command::Man => Verbosity::Usual,
            _ => verbosity(matches),
        },
    })
}

/// Returns the exit code of a `clap::Error`.
#[must_use]
pub fn exit_code(error: &clap::Error) -> u8 {
    // clap's own code for usage errors, 2, means changes in `plan`.
    if error.use_stderr() { 64 } else { 0 }
}

/// Returns the first command that is named in `typed`, whose first word is the name of the program.
#[must_use]
pub fn command_in(typed: &[OsString]) -> Option<Command> {
    let words = typed.iter().skip(1).filter_map(|word| word.to_str());
    let mut commands = words.filter_map(|word| table::COMMANDS.iter().find(|(name, ..)| *name == word));
    commands.next().map(|(_, command, ..)| *command)
}

fn command_args(name: &str, matches: &ArgMatches) -> CommandArgs {
    match command_named(name) {
        Command::Allow => CommandArgs::Allow(remote::allow(matches)),
        Command::Apply => CommandArgs::Apply,
        Command::Completions => CommandArgs::Completions(pages::shell(matches)),
        Command::Demo => CommandArgs::Demo(local::demo(matches)),
        Command::Explain => CommandArgs::Explain(evaluation::explain(matches)),
        Command::Drift => CommandArgs::Drift(drift::args(matches)),
        command @ (Command::Diff | Command::Fmt | Command::Init | Command::Promote) => {
            authoring::args(command, matches)
        }
        Command::Import => CommandArgs::Import {
            globs: matches.get_many("globs").into_iter().flatten().cloned().collect(),
        },
        Command::Log => CommandArgs::Log(log::args(matches)),
        Command::Man => CommandArgs::Man(pages::man(matches)),
        Command::Plan => CommandArgs::Plan {
            files: match matches.get_flag("worktree") {
                true => Files::WorkTree,
                false => Files::Committed,
            },
            exit: plan_exit(matches),
            audience: evaluation::audience(matches),
        },
        Command::Reconcile => CommandArgs::Reconcile,
        Command::Resume => CommandArgs::Resume(remote::resume(matches)),
        Command::Run => CommandArgs::Run,
        Command::Sandbox => CommandArgs::Sandbox(local::sandbox(matches)),
        Command::Schema => CommandArgs::Schema {
            of: schema::subject(matches),
        },
        Command::Status => CommandArgs::Status {
            list: match matches.get_flag("all") {
                true => StatusList::All,
                false => StatusList::NotInSync,
            },
        },
        Command::Suspend => CommandArgs::Suspend(remote::suspend(matches)),
        Command::Test => CommandArgs::Test(evaluation::test(matches)),
        Command::Validate => CommandArgs::Validate {
            paths: matches.get_many("paths").into_iter().flatten().cloned().collect(),
        },
    }
}

fn plan_exit(matches: &ArgMatches) -> PlanExit {
    match matches.get_flag("detailed-exitcode") {
        true => PlanExit::Detailed,
        false => PlanExit::Plain,
    }
}

fn flags(command: Command, matches: &ArgMatches) -> Flags {
    let taken = settings()
        .iter()
        .filter(|setting| setting.flag.is_some() && setting.commands.contains(&command));
    let mut flags = BTreeMap::new();
    for setting in taken {
        let values: Vec<String> = match setting.shape {
            ValueShape::Switch => switched(setting, matches).into_iter().collect(),
            // Values stay text, because `config` parses all three sources by the same rules.
            _ => matches
                .get_many::<String>(setting.name)
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
        };
        if !values.is_empty() {
            flags.insert(setting.name.to_owned(), values);
        }
    }
    flags
}

fn switched(setting: &'static SettingInfo, matches: &ArgMatches) -> Option<String> {
    let negative = setting
        .flag
        .as_deref()
        .is_some_and(|flag| flag.starts_with("--no-"));
    let is_opposite = opposite(setting).is_some_and(|opposite| matches.get_flag(opposite));
    match (matches.get_flag(setting.name), is_opposite) {
        (true, _) => Some((!negative).to_string()),
        (false, true) => Some(negative.to_string()),
        (false, false) => None,
    }
}

fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help)
        // The help texts name the defaults themselves.
        .hide_default_value(true)
}

fn toggle(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn verbosity(matches: &ArgMatches) -> Verbosity {
    match (matches.get_flag("quiet"), matches.get_count("verbose")) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Usual,
        (false, 1) => Verbosity::More,
        (false, _) => Verbosity::Most,
    }
}
