//! Defines the commands, flags and help texts for clap.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command as Clap, value_parser};

use super::table::COMMANDS;
use super::{authoring, drift, evaluation, import, log, option, remote, schema, toggle};
use crate::config::{Command, SettingInfo, ValueShape, count, ratio, settings};
use crate::model::{BUILD, duration};

const AFTER: &str = "\
Every setting is a flag, a variable (--base-url is GITOGGLE_BASE_URL) and a key in the file that --config names \
(base_url). Flags take precedence over variables, and variables over the file. Tokens and passwords are never flags: use \
variables or separate files.";

const EXIT_CODES: &str = "\
Exit codes:
   0  success
   1  failure, or interruption before all work was done
   2  plan --detailed-exitcode: there are changes; drift --detailed-exitcode: there is drift
   3  at least one document is invalid
   4  at least one change is held: rail, first pass (not for plan), suspension or stale checkout
  64  an unknown flag, or a missing or malformed setting";

/// Builds the command-line parser.
#[must_use]
pub fn program() -> Clap {
    let program = Clap::new("gitoggle")
        .version(BUILD.text)
        .about("Keep a feature-toggle service in sync with a Git repository")
        .after_help("For details, run `gitoggle help COMMAND`")
        .after_long_help(format!("{AFTER}\n\n{EXIT_CODES}"))
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .infer_subcommands(false);
    COMMANDS
        .iter()
        .fold(program, |program, (name, command, short, long)| {
            let subcommand = Clap::new(*name)
                .about(*short)
                .long_about(*long)
                .after_help("For details, use --help; for a summary, -h");
            let examples = match command {
                Command::Drift => Some(drift::EXAMPLES),
                Command::Log => Some(log::EXAMPLES),
                Command::Diff | Command::Fmt | Command::Init | Command::Promote => {
                    authoring::examples(*command)
                }
                command => import::examples(*command).or_else(|| remote::examples(*command)),
            };
            let subcommand = match examples {
                Some(examples) => subcommand.after_long_help(examples),
                None => subcommand,
            };
            // Deferred, so that clap builds only the flags of the command that was typed.
            program.subcommand(subcommand.defer(with_flags))
        })
}

/// Adds the flags of a command.
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

/// Returns the flag of a setting and, for a switch, the hidden opposite flag.
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
        ValueShape::Switch => switch(setting, arg),
        ValueShape::Texts(..) => vec![arg.value_name(value_name(setting)).action(ArgAction::Append)],
        _ if setting.name == "output" => vec![arg.value_name(value_name(setting)).short('o')],
        _ => vec![arg.value_name(value_name(setting))],
    }
}

fn switch(setting: &'static SettingInfo, arg: Arg) -> Vec<Arg> {
    let arg = arg.action(ArgAction::SetTrue);
    let Some(opposite) = opposite(setting) else {
        return vec![arg];
    };
    // A flag must be able to override a variable or the file in both directions.
    let other = Arg::new(opposite)
        .long(opposite)
        .hide(true)
        .action(ArgAction::SetTrue)
        // As in other programs, the last of two opposite flags wins.
        .overrides_with(setting.name);
    vec![arg.overrides_with(opposite), other]
}

pub(super) fn opposite(setting: &'static SettingInfo) -> Option<&'static str> {
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
        (ValueShape::Switch, _) | (_, "") => setting.help.to_owned(),
        (_, default) => format!("{} [{default}]", setting.help),
    }
}

fn long_help(setting: &SettingInfo) -> String {
    let mut text = setting.help.to_owned();
    if !setting.more.is_empty() {
        text.push_str(". ");
        text.push_str(setting.more.trim_end_matches('.'));
    }
    if !matches!(setting.shape, ValueShape::Switch) && !setting.default.is_empty() {
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

/// Returns the arguments of `command` that are not settings.
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
            toggle("worktree", "Read uncommitted files").conflicts_with_all([
                "from_revision",
                "to",
                "pull_request",
                "target",
            ]),
            toggle("detailed-exitcode", "Exit with 2 if there are changes"),
        ]
        .into_iter()
        .chain(evaluation::own(command))
        .collect(),
        Command::Drift => drift::own(),
        Command::Log => log::own(),
        Command::Diff | Command::Fmt | Command::Init | Command::Promote => authoring::own(command),
        Command::Import => import::own(),
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
        Command::Allow | Command::Reconcile | Command::Resume | Command::Suspend => remote::own(command),
        Command::Explain | Command::Test => evaluation::own(command),
        Command::Status => vec![toggle("all", "List the toggles that are in sync as well")],
        Command::Apply | Command::Run => Vec::new(),
        Command::Schema => schema::own(),
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
            "Listen on this address; port 0 selects a free port [127.0.0.1:8443]",
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
            "Append published documents to this file, one JSON object per line",
        ),
        path(
            "data",
            "FILE",
            "Start with the projects in this JSON file (with --service-kind featureprobe) [a sample]",
        ),
        rate("fail-rate", "Answer this share of requests with a 500 [0]"),
        rate("drop-rate", "Store this share of requests without a response [0]"),
        rate("too-many-rate", "Answer this share of requests with a 429 [0]"),
        option("retry-after", "TIME", "Send this Retry-After with a 429 [1s]")
            .default_value("1s")
            .value_parser(duration)
            .help_heading("Faults"),
        option("latency", "TIME", "Delay every response by this duration [0s]")
            .default_value("0s")
            .value_parser(duration)
            .help_heading("Faults"),
        option("seed", "N", "Use this seed for the random faults [1]")
            .default_value("1")
            .value_parser(count)
            .help_heading("Faults"),
    ]
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

/// Returns the command with this name.
pub(super) fn command_named(name: &str) -> Command {
    let named = COMMANDS.iter().find(|(known, ..)| *known == name);
    named.expect("clap accepts only the commands of the table").1
}
