//! Defines the commands, flags and help texts for clap.

use clap::{Args as _, Command as Clap, Subcommand as _};

use super::command_args::CommandArgs;
use super::examples;
use super::verbosity::Verbosity;
use crate::config::{Command, SettingInfo, settings};
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

/// Where to begin, and where to read more.
pub(super) const MORE: &str = "\
To start, run `gitoggle demo`, which needs no setup.
Read more: `gitoggle man`, and README.md in gitoggle's
repository.";

/// Builds the command-line parser.
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
        .filter(|setting| setting.commands().contains(&command));
    let clap = clap.mut_args(|arg| {
        let has_value = arg.get_action().takes_values();
        // The help texts name the defaults themselves.
        arg.hide_default_value(has_value)
    });
    let clap = clap
        .args(taken.flat_map(SettingInfo::flags))
        .after_help("More options, examples and explanations: --help")
        .after_long_help(examples::after_help(command));
    match command {
        // They log nothing.
        Command::Completions | Command::Man => clap,
        _ => Verbosity::augment_args(clap),
    }
}

/// Returns the command that a subcommand of the parser stands for.
pub(super) fn command_of(clap: &Clap) -> Command {
    let command = clap.get_name().parse();
    command.expect("every subcommand of the parser is named as a command")
}
