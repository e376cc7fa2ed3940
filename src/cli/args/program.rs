//! Defines the commands, flags and help texts for clap.

use clap::{Arg, ArgAction, Args as _, Command as Clap, Subcommand as _, ValueHint};

use super::command_args::CommandArgs;
use super::examples;
use super::verbosity::Verbosity;
use crate::config::{Command, SettingInfo, ValueShape, settings};
use crate::model::BUILD;

/// How settings are given. Like the other texts with line breaks of their own, it fits 60 columns.
pub(super) const SETTINGS: &str = "\
Every setting is a flag, a variable (--base-url is
GITOGGLE_BASE_URL) and a key in the file that --config names
(base_url). Flags take precedence over variables, and
variables over the file. Tokens and passwords are never
flags: use variables or separate files.";

/// The meaning of the exit codes.
pub(super) const EXIT_CODES: &str = "\
Exit codes:
   0  success
   1  failure, or interruption before all work was done
   2  with --detailed-exitcode: there are changes, or there
      is drift
   3  at least one document is invalid
   4  at least one change is held: by a rail, because of a
      first pass (not for plan), by a suspension, or because
      the checkout is stale
  64  an unknown flag, or a missing or malformed setting";

/// The settings in the short help.
const COMMON: &[&str] = &[
    "admin_token_file",
    "allow_mass_change",
    "base_url",
    "ca_file",
    "config",
    "first_pass",
    "from",
    "from_revision",
    "listen",
    "live",
    "only",
    "output",
    "overwrite",
    "pull_request",
    "ref",
    "repo",
    "service_kind",
    "state_remote",
    "to",
    "token_file",
    "url",
    "webhook_secret_file",
];

/// Where to begin, and where to read more.
pub(super) const MORE: &str = "\
To start, run `gitoggle demo`, which needs no setup.
Read more: `gitoggle man`, and README.md in gitoggle's
repository.";

/// Builds the command-line parser.
#[must_use]
pub fn program() -> Clap {
    CommandArgs::augment_subcommands(Clap::new("gitoggle"))
        .version(BUILD.text)
        .about("Keep a feature-toggle service in sync with a Git repository")
        .bin_name("gitoggle")
        .after_help("For details, run `gitoggle help COMMAND`; to start, `gitoggle demo`")
        .after_long_help(format!("{SETTINGS}\n\n{EXIT_CODES}\n\n{MORE}"))
        .max_term_width(110)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand_value_name("COMMAND")
        .infer_subcommands(false)
        // Deferred, so that clap builds only the command that was typed.
        .mut_subcommands(|clap| clap.defer(completed))
}

/// Adds the examples of a command, and its flags that are settings.
fn completed(clap: Clap) -> Clap {
    let command = command_of(&clap);
    let taken = settings()
        .iter()
        .filter(|setting| setting.commands.contains(&command));
    let clap = clap.mut_args(|arg| {
        let has_value = arg.get_action().takes_values();
        // The help texts name the defaults themselves.
        arg.hide_default_value(has_value)
    });
    let clap = clap
        .args(taken.flat_map(flag))
        .after_help("More options, examples and explanations: --help")
        .after_long_help(examples::after_help(command));
    match command {
        // They log nothing.
        Command::Completions | Command::Man => clap,
        _ => Verbosity::augment_args(clap),
    }
}

/// Returns the flag of a setting and, for a switch, the hidden opposite flag.
fn flag(setting: &'static SettingInfo) -> Vec<Arg> {
    let Some(dashed) = setting.flag.as_deref().and_then(|flag| flag.strip_prefix("--")) else {
        return Vec::new();
    };
    let arg = Arg::new(setting.name)
        .help_heading(setting.group.as_str())
        .hide_short_help(!COMMON.contains(&setting.name))
        .long(dashed)
        .help(short_help(setting))
        .long_help(long_help(setting));
    match setting.shape {
        ValueShape::Switch => switch(setting, arg),
        ValueShape::Texts(..) => vec![arg.value_name(value_name(setting)).action(ArgAction::Append)],
        ValueShape::Path(..) => vec![arg.value_name(value_name(setting)).value_hint(ValueHint::AnyPath)],
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

/// Returns the command that a subcommand of the parser stands for.
pub(super) fn command_of(clap: &Clap) -> Command {
    let command = clap.get_name().parse();
    command.expect("every subcommand of the parser is named as a command")
}
