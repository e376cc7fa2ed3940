//! Defines the program, its flags and its help texts for clap: examples in the help, and the ends of manual
//! pages.

use clap::{Args as _, Command as Clap, Subcommand as _};

use super::verbosity::Verbosity;
use crate::cli::commands::{self, CommandArgs};
use crate::config::{Command, OutputFormat, SettingInfo, long_help, settings};
use crate::model::BUILD;

/// How settings are given. Like the other texts that contain line breaks, it fits 60 columns.
pub(super) const SETTINGS: &str = "\
Every setting is a flag, a variable (--base-url is
GITOGGLE_BASE_URL) and a key in the file that --config names
(base_url). Flags take precedence over variables, and
variables over the file. Tokens and passwords are never
flags: use variables or separate files.";

pub(super) const EXIT_CODES: &str = "\
Exit codes:
   0  success
   1  failure, or interruption before all work was done
   2  with --detailed-exitcode: there are changes, there is
      drift, or there are stale toggles
   3  at least one document is invalid
   4  at least one change is held: by a rail (too many
      changes at once), a first pass (not for plan), a
      suspension, a change window, a missing review, a
      renamed document, or because of what the service has;
      or the checkout is stale or not signed by a trusted
      key (only a note for plan and status)
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
    let taken = settings().iter().filter(|setting| setting.commands().contains(&command));
    let clap = clap.mut_args(|arg| {
        let has_value = arg.get_action().takes_values();
        let help = long_help(&arg);
        // The help texts name the defaults themselves.
        arg.hide_default_value(has_value).long_help(help)
    });
    let flags = taken.flat_map(|setting| {
        let words = choices(command.as_str(), setting);
        setting.flags().into_iter().map(move |flag| match words.as_slice() {
            [] => flag,
            words => flag.value_name(words.join("|")),
        })
    });
    let clap = clap
        .args(flags)
        .after_help("More options, examples and explanations: --help")
        .after_long_help(after_help(command));
    match command.takes_settings() {
        true => Verbosity::augment_args(clap),
        // It logs nothing.
        false => clap,
    }
}

/// Returns the words of a setting that is a choice, as the command with this name takes it; none if it is not
/// a choice.
pub(crate) fn choices(command: &str, setting: &SettingInfo) -> Vec<&'static str> {
    match (setting.name, command.parse()) {
        ("output", Ok(command)) => commands::formats(command).into_iter().map(OutputFormat::as_str).collect(),
        _ => setting.words().to_vec(),
    }
}

/// Returns the command that a subcommand of the parser stands for.
fn command_of(clap: &Clap) -> Command {
    let command = clap.get_name().parse();
    command.expect("every subcommand of the parser is named as a command")
}

/// Returns the end of the long help of `command`: its examples, and where to read more.
fn after_help(command: Command) -> String {
    let (name, manual) = (command.as_str(), described(command).0);
    let lines = lines(command, "  ");
    format!("Examples:\n{lines}\n\nRead more: `gitoggle man {name}`, and {manual} in gitoggle's repository")
}

/// Returns the examples of `command`, each with its note above it.
pub(super) fn lines(command: Command, indent: &str) -> String {
    let lines = described(command).1.lines().map(|line| match line {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the part of the manual that describes `command`, and at least one example of it, each with a note.
/// All of them work when copied, given a repository with these toggles.
fn described(command: Command) -> (&'static str, &'static str) {
    let sections = include_str!("examples.txt").split("== ").filter_map(|section| section.split_once('\n'));
    let mut of_command = sections.filter_map(|(head, examples)| {
        let manual = head.strip_prefix(command.as_str())?.strip_prefix(' ')?;
        Some((manual, examples.trim_end()))
    });
    of_command.next().expect("every command has examples")
}

/// Returns the last sections of the manual page of a command, or of the program: the headings and the lines.
pub(crate) fn page_end(page: &Clap) -> Vec<(&'static str, String)> {
    let exit = EXIT_CODES.trim_start_matches("Exit codes:\n").to_owned();
    if page.has_subcommands() {
        let see = "gitoggle-apply(1), gitoggle-plan(1), gitoggle-run(1), git(1)".to_owned();
        return vec![("SETTINGS", SETTINGS.to_owned()), ("EXIT STATUS", exit), ("SEE ALSO", see)];
    }
    let command = command_of(page);
    let see = format!("gitoggle(1), and {} in gitoggle's repository", described(command).0);
    let lines = lines(command, "");
    vec![("EXAMPLES", lines), ("EXIT STATUS", exit), ("SEE ALSO", see)]
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    /// Returns the words of an example, without the shell's redirections.
    fn words(line: &str) -> Vec<String> {
        let line = line.split(['<', '>', '|']).next().unwrap_or_default();
        let line = line.replace("\\\n  ", "");
        let (mut words, mut quoted) = (vec![String::new()], false);
        for letter in line.trim().chars() {
            match letter {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                letter => words.last_mut().unwrap().push(letter),
            }
        }
        words
    }

    #[test]
    fn every_example_is_a_valid_invocation() {
        for command in Command::ALL {
            let blocks: Vec<_> = described(command).1.split("\n\n").collect();
            let of_it = format!("gitoggle {}", command.as_str());
            assert!(blocks.iter().any(|block| block.contains(&of_it)), "{of_it}");
            for block in blocks {
                let (note, line) = block.split_once('\n').unwrap();
                assert!(note.starts_with("# ") && !note.ends_with('.'), "{note}");
                if !line.starts_with("kubectl ") {
                    let parsed = parse(words(line).into_iter().map(Into::into));
                    assert!(parsed.is_ok(), "{line}: {parsed:?}");
                }
            }
        }
    }

    #[test]
    fn every_long_help_names_a_part_of_the_manual() {
        let mut program = program();
        program.build();
        for name in Command::WORDS {
            let command = program.find_subcommand_mut(name).unwrap();
            let help = command.clone().term_width(200).render_long_help().to_string();
            let begin = format!("Read more: `gitoggle man {name}`, and ");
            let file = help.split(&begin).nth(1).and_then(|rest| rest.split(' ').next());
            let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
            assert!(root.join(file.unwrap()).is_file(), "{name}: {file:?}");
        }
    }
}
