//! The command line as clap knows it: commands, flags, help.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Arg, ArgAction, Command as Clap, value_parser};

use super::remote;
use crate::config::{Command, SettingInfo, ValueShape, count, ratio, settings};
use crate::model::duration;

const COMMANDS: [(&str, Command, &str, &str); 12] = [
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
        "Run continuously, as a daemon or a sidecar",
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
        "allow",
        Command::Allow,
        "Release what a running daemon holds",
        "Releases what a rail or a first pass holds in one environment of a running daemon, without a restart, and \
         prints what that is. The decision is valid once, for one revision, and is recorded with the caller and the \
         time. history lets the daemon continue from a revision that does not descend from the recorded one.",
    ),
    (
        "suspend",
        Command::Suspend,
        "Keep a running daemon from publishing",
        "Keeps a running daemon from publishing, everywhere or in the part that a glob over \
         project/environment/toggle matches. Planning continues. Survives a restart of the daemon.",
    ),
    (
        "resume",
        Command::Resume,
        "Let a suspended daemon publish again",
        "Ends the suspensions of a running daemon: all of them, or the one that was given with the same globs.",
    ),
    (
        "reconcile",
        Command::Reconcile,
        "Ask a running daemon for a pass now",
        "Asks a running daemon for a pass now, in which refused toggles are tried again.",
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
   4  something is held: rail, first pass (not for plan), suspension or stale checkout
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
    COMMANDS
        .iter()
        .fold(program, |program, (name, command, short, long)| {
            let subcommand = Clap::new(*name)
                .about(*short)
                .long_about(*long)
                .after_help("--help says more, -h less");
            let subcommand = match remote::examples(*command) {
                Some(examples) => subcommand.after_long_help(examples),
                None => subcommand,
            };
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
    let other = Arg::new(opposite)
        .long(opposite)
        .hide(true)
        .action(ArgAction::SetTrue)
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
        Command::Allow | Command::Reconcile | Command::Resume | Command::Suspend => remote::own(command),
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

pub(super) fn option(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name)
        .long(name)
        .value_name(value)
        .help(help)
        .hide_default_value(true)
}

fn path(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    option(name, value, help).value_parser(value_parser!(PathBuf))
}

/// Returns the command of that name, which clap knows.
pub(super) fn command_named(name: &str) -> Command {
    let named = COMMANDS.iter().find(|(known, ..)| *known == name);
    named.expect("clap knows only the commands of the table").1
}
