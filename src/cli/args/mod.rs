//! What can be typed. Flags of settings follow from the table in `config`; what is about one invocation is here.

mod program;
mod remote;
#[cfg(test)]
mod tests;

pub use program::program;
pub use remote::{AllowArgs, ResumeArgs, SuspendArgs};

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::ArgMatches;

use crate::config::{Command, Flags, LogLevel, SettingInfo, ValueShape, settings};
use crate::pass::Files;
use program::{command_named, opposite};

/// What was typed, before variables and the file are looked at.
#[derive(Clone, Debug)]
pub struct Invocation {
    /// What to do.
    pub asked: Asked,
    /// What the flags of settings say.
    pub flags: Flags,
    /// What `-v` and `-q` say.
    pub verbosity: Verbosity,
}

/// A command with what belongs to no setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Asked {
    /// Releases what a daemon holds.
    Allow(AllowArgs),
    /// One pass, then exit.
    Apply,
    /// The whole loop on loopback.
    Demo(DemoArgs),
    /// What would be published and why.
    Plan {
        /// Which files are looked at.
        files: Files,
        /// What the exit code tells.
        exit: Exit,
    },
    /// Asks a daemon for a pass.
    Reconcile,
    /// Ends a suspension of a daemon.
    Resume(ResumeArgs),
    /// The daemon.
    Run,
    /// A local service.
    Sandbox(SandboxArgs),
    /// The JSON Schema of a document.
    Schema,
    /// Where every toggle stands.
    Status,
    /// Keeps a daemon from publishing.
    Suspend(SuspendArgs),
    /// Checks documents.
    Validate {
        /// Folders and files to check; none means all.
        paths: Vec<PathBuf>,
    },
}

impl Asked {
    /// Returns the command.
    #[must_use]
    pub fn command(&self) -> Command {
        match self {
            Self::Allow(_) => Command::Allow,
            Self::Apply => Command::Apply,
            Self::Demo(_) => Command::Demo,
            Self::Plan { .. } => Command::Plan,
            Self::Reconcile => Command::Reconcile,
            Self::Resume(_) => Command::Resume,
            Self::Run => Command::Run,
            Self::Sandbox(_) => Command::Sandbox,
            Self::Schema => Command::Schema,
            Self::Status => Command::Status,
            Self::Suspend(_) => Command::Suspend,
            Self::Validate { .. } => Command::Validate,
        }
    }
}

/// What the exit code of a plan tells.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Exit {
    /// Whether there are changes, too.
    Detailed,
    /// Whether something is wrong.
    Plain,
}

/// How a demonstration goes.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DemoArgs {
    /// Where the sample repository and the state stay; none removes them at the end.
    pub keep: Option<PathBuf>,
    /// Whether to wait between steps.
    pub pause: Pause,
}

/// Whether a demonstration waits for its reader.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Pause {
    /// It waits this long between steps.
    For(Duration),
    /// It waits on a terminal and does not elsewhere.
    OnTerminal,
}

/// What the sandbox does, and what goes wrong in it.
#[derive(Clone, Debug, PartialEq)]
pub struct SandboxArgs {
    /// Where it listens.
    pub listen: SocketAddr,
    /// Where its certificate authority is written.
    pub ca_out: Option<PathBuf>,
    /// Where what was published is written, one JSON object a line.
    pub history_file: Option<PathBuf>,
    /// The share of requests that get a 500, between 0 and 1.
    pub fail_rate: f64,
    /// How long each answer takes.
    pub latency: Duration,
    /// The share of requests that are stored and get no answer, between 0 and 1.
    pub drop_rate: f64,
    /// The share of requests that get a 429, between 0 and 1.
    pub too_many_rate: f64,
    /// What a 429 says in `Retry-After`; nothing when it is not given.
    pub retry_after: Option<Duration>,
    /// What its accidents follow from.
    pub seed: u64,
}

/// What `-v` and `-q` say about logs.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum Verbosity {
    /// Neither was given.
    #[default]
    Usual,
    /// `-v`: one level more than usual.
    More,
    /// `-vv`: two levels more than usual.
    Most,
    /// `-q`: errors only.
    Quiet,
}

impl Verbosity {
    /// Returns what to log in `command` when `level` is set, or is not.
    #[must_use]
    pub fn level(self, command: Command, level: Option<LogLevel>) -> Option<LogLevel> {
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

/// Reads what was typed, the program's name first.
///
/// # Errors
/// A `clap::Error` with the whole message: help and version when they were asked for, usage otherwise. Its exit
/// code is not ours: see [`exit_code`].
pub fn parse(typed: impl IntoIterator<Item = OsString>) -> Result<Invocation, clap::Error> {
    let matches = program().try_get_matches_from(typed)?;
    let Some((name, matches)) = matches.subcommand() else {
        unreachable!("a subcommand is required");
    };
    Ok(Invocation {
        asked: asked(name, matches),
        flags: flags(command_named(name), matches),
        verbosity: verbosity(matches),
    })
}

/// Returns the exit code that a `clap::Error` means here: 2 is taken by `plan`.
#[must_use]
pub fn exit_code(error: &clap::Error) -> u8 {
    if error.use_stderr() { 64 } else { 0 }
}

fn asked(name: &str, matches: &ArgMatches) -> Asked {
    match command_named(name) {
        Command::Allow => Asked::Allow(remote::allow(matches)),
        Command::Apply => Asked::Apply,
        Command::Demo => Asked::Demo(DemoArgs {
            keep: matches.get_one("keep").cloned(),
            pause: match (matches.get_flag("no-pause"), matches.get_one("pause")) {
                (true, _) => Pause::For(Duration::ZERO),
                (false, Some(pause)) => Pause::For(*pause),
                (false, None) => Pause::OnTerminal,
            },
        }),
        Command::Plan => Asked::Plan {
            files: match matches.get_flag("worktree") {
                true => Files::WorkTree,
                false => Files::Committed,
            },
            exit: match matches.get_flag("detailed-exitcode") {
                true => Exit::Detailed,
                false => Exit::Plain,
            },
        },
        Command::Reconcile => Asked::Reconcile,
        Command::Resume => Asked::Resume(remote::resume(matches)),
        Command::Run => Asked::Run,
        Command::Sandbox => Asked::Sandbox(sandbox_args(matches)),
        Command::Schema => Asked::Schema,
        Command::Status => Asked::Status,
        Command::Suspend => Asked::Suspend(remote::suspend(matches)),
        Command::Validate => Asked::Validate {
            paths: matches.get_many("paths").into_iter().flatten().cloned().collect(),
        },
    }
}

fn sandbox_args(matches: &ArgMatches) -> SandboxArgs {
    let rate = |name| *matches.get_one(name).expect("rates have defaults");
    SandboxArgs {
        listen: *matches.get_one("listen").expect("it has a default"),
        ca_out: matches.get_one("ca-out").cloned(),
        history_file: matches.get_one("history-file").cloned(),
        fail_rate: rate("fail-rate"),
        latency: *matches.get_one("latency").expect("it has a default"),
        drop_rate: rate("drop-rate"),
        too_many_rate: rate("too-many-rate"),
        retry_after: matches.get_one("retry-after").copied(),
        seed: *matches.get_one("seed").expect("it has a default"),
    }
}

fn flags(command: Command, matches: &ArgMatches) -> Flags {
    let taken = settings()
        .iter()
        .filter(|setting| setting.flag.is_some() && setting.commands.contains(&command));
    let mut flags = BTreeMap::new();
    for setting in taken {
        let said: Vec<String> = match setting.shape {
            ValueShape::Switch => switched(setting, matches).into_iter().collect(),
            _ => matches
                .get_many::<String>(setting.name)
                .into_iter()
                .flatten()
                .cloned()
                .collect(),
        };
        if !said.is_empty() {
            flags.insert(setting.name.to_owned(), said);
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

fn verbosity(matches: &ArgMatches) -> Verbosity {
    match (matches.get_flag("quiet"), matches.get_count("verbose")) {
        (true, _) => Verbosity::Quiet,
        (false, 0) => Verbosity::Usual,
        (false, 1) => Verbosity::More,
        (false, _) => Verbosity::Most,
    }
}
