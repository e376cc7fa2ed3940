//! What can be typed. Flags of settings follow from the table in `config`; what is about one invocation is here.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Arg, ArgAction, ArgMatches, Command as Clap, value_parser};

use crate::config::{Command, Flags, LogLevel, SettingInfo, Shape, count, duration, ratio, settings};

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
    /// One pass, then exit.
    Apply,
    /// The whole loop on loopback.
    Demo(DemoArgs),
    /// What would be published and why.
    Plan {
        /// Which files are looked at.
        look: Look,
        /// What the exit code tells.
        exit: Exit,
    },
    /// The daemon.
    Run,
    /// A local service.
    Sandbox(SandboxArgs),
    /// The JSON Schema of a document.
    Schema,
    /// Where every toggle stands.
    Status,
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
            Self::Apply => Command::Apply,
            Self::Demo(_) => Command::Demo,
            Self::Plan { .. } => Command::Plan,
            Self::Run => Command::Run,
            Self::Sandbox(_) => Command::Sandbox,
            Self::Schema => Command::Schema,
            Self::Status => Command::Status,
            Self::Validate { .. } => Command::Validate,
        }
    }
}

/// Which files a plan is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Look {
    /// What is committed.
    Committed,
    /// What lies in the work tree.
    WorkTree,
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

const COMMANDS: [(&str, Command, &str, &str); 8] = [
    (
        "validate",
        Command::Validate,
        "Check documents",
        "Checks documents: the work tree by default, a revision with --ref. A PATH inside a repository filters, a \
         folder outside one is a root. Needs no base URL, network or token.",
    ),
    (
        "plan",
        Command::Plan,
        "Show what would be published, and why",
        "Shows what would be published, and why. Needs no token, never contacts the service, takes no lock and \
         writes nothing. May contact the Git hosts.",
    ),
    (
        "apply",
        Command::Apply,
        "Make one pass, then exit",
        "Makes one complete pass, then exits: the command for CI.",
    ),
    (
        "run",
        Command::Run,
        "Make passes for ever",
        "Makes a pass whenever the source moves, a webhook arrives or the poll interval is over: the daemon and \
         the sidecar.",
    ),
    (
        "status",
        Command::Status,
        "Show where every toggle stands",
        "Shows for every toggle the applied revision and whether it is in sync, pending, held, failed or an \
         orphan, and why. As free of side effects as plan.",
    ),
    (
        "schema",
        Command::Schema,
        "Print the JSON Schema of a document",
        "Prints the JSON Schema of a document, for editors.",
    ),
    (
        "sandbox",
        Command::Sandbox,
        "Serve a local toggle service for trying things",
        "Serves a local toggle service with the documented endpoint, over HTTPS, for trying things and for tests. \
         The token it accepts is GITOGGLE_SANDBOX_TOKEN, or sandbox-token.",
    ),
    (
        "demo",
        Command::Demo,
        "Watch the whole loop on this machine",
        "Makes a sample repository, serves the sandbox and makes pass after pass, all on loopback and in one \
         process; what happens is printed as it happens.",
    ),
];

const AFTER: &str = "\
Every setting is a flag, a variable (--base-url is GITOGGLE_BASE_URL) and a key in the file that --config names \
(base_url); flags win over variables, variables over the file. Tokens and passwords are never flags: give a \
variable, or a file of their own.";

const EXIT_CODES: &str = "\
Exit codes:
   0  done and clean
   1  it ran and failed, or was interrupted with work left
   2  plan --detailed-exitcode: there are changes
   3  at least one document is invalid
   4  something is held: rail, first pass, suspension or stale checkout
  64  an unknown flag, or a missing or malformed setting";

/// Builds the whole command line.
#[must_use]
pub fn program() -> Clap {
    let program = Clap::new("gitoggle")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Keep a feature-toggle service in step with a Git repository")
        .after_help("`gitoggle help COMMAND` says more")
        .after_long_help(format!("{AFTER}\n\n{EXIT_CODES}"))
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .infer_subcommands(false);
    COMMANDS.iter().fold(program, |program, (name, _, short, long)| {
        let subcommand = Clap::new(*name)
            .about(*short)
            .long_about(*long)
            .after_help("--help says more, -h less");
        program.subcommand(subcommand.defer(with_flags))
    })
}

/// Adds the flags of a command, which only the one that was typed needs.
fn with_flags(clap: Clap) -> Clap {
    let named = COMMANDS.iter().find(|(name, ..)| *name == clap.get_name());
    let Some((_, command, ..)) = named else {
        return clap;
    };
    let clap = own(*command).into_iter().fold(clap, Clap::arg);
    let groups = settings()
        .iter()
        .filter(|setting| setting.commands.contains(command))
        .flat_map(flag);
    let clap = groups.fold(clap, Clap::arg);
    [verbose(), quiet()].into_iter().fold(clap, Clap::arg)
}

/// The flag of a setting; for a switch also its opposite, which is not listed.
fn flag(setting: &'static SettingInfo) -> Vec<Arg> {
    let Some(dashed) = setting.flag.as_deref().and_then(|flag| flag.strip_prefix("--")) else {
        return Vec::new();
    };
    let arg = Arg::new(setting.name)
        .help_heading(setting.group.as_str())
        .long(dashed)
        .help(short_help(setting))
        .long_help(long_help(setting));
    match setting.shape {
        Shape::Switch => switch(setting, arg),
        Shape::Texts(..) => vec![arg.value_name(value_name(setting)).action(ArgAction::Append)],
        _ if setting.name == "output" => vec![arg.value_name(value_name(setting)).short('o')],
        _ => vec![arg.value_name(value_name(setting))],
    }
}

fn switch(setting: &'static SettingInfo, arg: Arg) -> Vec<Arg> {
    let arg = arg.action(ArgAction::SetTrue);
    let Some(opposite) = opposite(setting) else {
        return vec![arg];
    };
    let other = Arg::new(opposite)
        .long(opposite)
        .hide(true)
        .action(ArgAction::SetTrue)
        .overrides_with(setting.name);
    vec![arg.overrides_with(opposite), other]
}

fn opposite(setting: &'static SettingInfo) -> Option<&'static str> {
    setting
        .opposite
        .as_deref()
        .and_then(|flag| flag.strip_prefix("--"))
}

fn value_name(setting: &'static SettingInfo) -> &'static str {
    setting.value_name().unwrap_or("VALUE")
}

fn short_help(setting: &SettingInfo) -> String {
    match (setting.shape, setting.default) {
        (Shape::Switch, _) | (_, "") => setting.help.to_owned(),
        (_, default) => format!("{} [{default}]", setting.help),
    }
}

fn long_help(setting: &SettingInfo) -> String {
    let mut text = setting.help.to_owned();
    if !setting.more.is_empty() {
        text.push_str(". ");
        text.push_str(setting.more.trim_end_matches('.'));
    }
    if !matches!(setting.shape, Shape::Switch) && !setting.default.is_empty() {
        text.push_str(&format!("\n[default: {}]", setting.default));
    }
    if let Some(variable) = &setting.variable {
        let file = if setting.key.is_some() {
            ""
        } else {
            ", not in the file"
        };
        text.push_str(&format!("\n[variable: {variable}{file}]"));
    }
    text
}

fn verbose() -> Arg {
    Arg::new("verbose")
        .short('v')
        .long("verbose")
        .help_heading("Output")
        .help("Log more; -vv logs most")
        .action(ArgAction::Count)
        .conflicts_with("log_level")
}

fn quiet() -> Arg {
    Arg::new("quiet")
        .short('q')
        .long("quiet")
        .help_heading("Output")
        .help("Log errors only")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["verbose", "log_level"])
}

/// The arguments that are about one invocation of `command`.
fn own(command: Command) -> Vec<Arg> {
    match command {
        Command::Validate => vec![
            Arg::new("paths")
                .value_name("PATH")
                .help("Check these files and folders only")
                .num_args(0..)
                .value_parser(value_parser!(PathBuf)),
        ],
        Command::Plan => vec![
            toggle("worktree", "Look at uncommitted files"),
            toggle("detailed-exitcode", "Exit with 2 when there are changes"),
        ],
        Command::Sandbox => sandbox(),
        Command::Demo => vec![
            path(
                "keep",
                "DIR",
                "Keep the sample repository and the state in this folder",
            ),
            option(
                "pause",
                "TIME",
                "Wait this long between steps [1s on a terminal, else 0s]",
            )
            .value_parser(duration)
            .overrides_with("no-pause"),
            toggle("no-pause", "Do not wait between steps").overrides_with("pause"),
        ],
        Command::Apply | Command::Run | Command::Schema | Command::Status => Vec::new(),
    }
}

fn sandbox() -> Vec<Arg> {
    let rate = |name, help| {
        option(name, "RATIO", help)
            .default_value("0")
            .value_parser(ratio)
            .help_heading("Faults")
    };
    vec![
        option(
            "listen",
            "ADDR",
            "Listen here; port 0 takes a free one [127.0.0.1:8443]",
        )
        .default_value("127.0.0.1:8443")
        .value_parser(value_parser!(SocketAddr)),
        path(
            "ca-out",
            "FILE",
            "Write the certificate authority to this PEM file",
        ),
        path(
            "history-file",
            "FILE",
            "Append what is published to this file, one JSON object a line",
        ),
        rate("fail-rate", "Answer this share of requests with a 500 [0]"),
        rate("drop-rate", "Store this share of requests without answering [0]"),
        rate("too-many-rate", "Answer this share of requests with a 429 [0]"),
        option(
            "retry-after",
            "TIME",
            "Say this in the Retry-After of a 429 [nothing]",
        )
        .value_parser(duration)
        .help_heading("Faults"),
        option("latency", "TIME", "Take this long for every answer [0s]")
            .default_value("0s")
            .value_parser(duration)
            .help_heading("Faults"),
        option("seed", "N", "Let the same accidents happen again [1]")
            .default_value("1")
            .value_parser(count)
            .help_heading("Faults"),
    ]
}

fn toggle(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).help(help).action(ArgAction::SetTrue)
}

fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help)
        .hide_default_value(true)
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

fn command_named(name: &str) -> Command {
    let named = COMMANDS.iter().find(|(known, ..)| *known == name);
    named.expect("clap knows only the commands of the table").1
}

fn asked(name: &str, matches: &ArgMatches) -> Asked {
    match command_named(name) {
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
            look: if matches.get_flag("worktree") {
                Look::WorkTree
            } else {
                Look::Committed
            },
            exit: if matches.get_flag("detailed-exitcode") {
                Exit::Detailed
            } else {
                Exit::Plain
            },
        },
        Command::Run => Asked::Run,
        Command::Sandbox => Asked::Sandbox(sandbox_args(matches)),
        Command::Schema => Asked::Schema,
        Command::Status => Asked::Status,
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
            Shape::Switch => switched(setting, matches).into_iter().collect(),
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

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(line: &str) -> Result<Invocation, clap::Error> {
        parse(
            std::iter::once("gitoggle")
                .chain(line.split(' '))
                .map(OsString::from),
        )
    }

    #[test]
    fn the_definitions_agree_with_each_other() {
        program().debug_assert();
    }

    #[test]
    fn flags_are_told_by_setting_and_only_those_of_the_command_are_taken() {
        let plan = typed("plan --ref main --only a/** --only b/** --no-allow-trailer --first-parent -o json")
            .unwrap();
        let expected = [
            ("allow_trailer", vec!["false"]),
            ("first_parent", vec!["true"]),
            ("only", vec!["a/**", "b/**"]),
            ("output", vec!["json"]),
            ("ref", vec!["main"]),
        ];
        let expected: Flags = expected
            .into_iter()
            .map(|(name, said)| (name.to_owned(), said.into_iter().map(str::to_owned).collect()))
            .collect();
        assert_eq!(plan.flags, expected);
        for (line, taken) in [
            ("plan --listen none", false),
            ("run --listen none", true),
            ("run --allow-mass-change", false),
            ("apply --allow-mass-change", true),
            ("plan --token-file x", false),
            ("apply --token x", false),
            ("validate --base-url x", false),
            ("schema --repo x", false),
            ("apply -v --log-level debug", false),
            ("plan --repo a --repo b", false),
        ] {
            assert_eq!(typed(line).is_ok(), taken, "{line}");
        }
    }

    #[test]
    fn the_last_of_a_switch_and_its_opposite_counts() {
        for (line, said) in [
            ("plan --first-parent --no-first-parent", ("first_parent", "false")),
            ("plan --no-first-parent --first-parent", ("first_parent", "true")),
            (
                "plan --no-allow-trailer --allow-trailer",
                ("allow_trailer", "true"),
            ),
            (
                "plan --allow-trailer --no-allow-trailer",
                ("allow_trailer", "false"),
            ),
        ] {
            let flags = typed(line).unwrap().flags;
            assert_eq!(flags.get(said.0), Some(&vec![said.1.to_owned()]), "{line}");
        }
    }

    #[test]
    fn what_is_about_one_invocation_is_no_setting() {
        let plan = typed("plan --worktree --detailed-exitcode -vv").unwrap();
        assert_eq!(
            plan.asked,
            Asked::Plan {
                look: Look::WorkTree,
                exit: Exit::Detailed
            }
        );
        assert_eq!(plan.verbosity, Verbosity::Most);
        assert!(plan.flags.is_empty());
        let Asked::Sandbox(sandbox) = typed("sandbox --fail-rate 0.1 --latency 5ms --seed 7")
            .unwrap()
            .asked
        else {
            panic!("a sandbox");
        };
        assert_eq!((sandbox.fail_rate, sandbox.seed), (0.1, 7));
        assert_eq!(sandbox.latency, Duration::from_millis(5));
        assert!(typed("sandbox --fail-rate 2").is_err());
    }

    #[test]
    fn wrong_usage_is_64_and_help_and_version_are_0() {
        for (line, code) in [
            ("plan --nonsense", 64),
            ("nonsense", 64),
            ("--help", 0),
            ("plan -h", 0),
            ("--version", 0),
        ] {
            assert_eq!(exit_code(&typed(line).unwrap_err()), code, "{line}");
        }
        let bare = parse([OsString::from("gitoggle")]).unwrap_err();
        assert_eq!(exit_code(&bare), 64);
    }

    #[test]
    fn no_help_is_wider_than_a_terminal_nor_ends_in_a_full_stop() {
        let mut program = program().term_width(80);
        program.build();
        for command in program
            .get_subcommands_mut()
            .filter(|command| command.get_name() != "help")
        {
            for help in [command.render_help(), command.render_long_help()] {
                for line in help.to_string().lines() {
                    assert!(line.chars().count() <= 80, "{line}");
                }
            }
            for arg in command.get_arguments().filter(|arg| !arg.is_hide_set()) {
                let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
                assert!(!help.ends_with('.') && !help.is_empty(), "{arg}");
            }
        }
    }
}
