//! Pointers in usage errors: to the command that a flag belongs to.

use std::ffi::OsString;

use clap::Command as Clap;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::program;
use crate::model::listed;

/// Adds a pointer to a usage error, where there is one. `typed` are all arguments, the program's name first.
pub(super) fn pointed(mut error: clap::Error, typed: &[OsString]) -> clap::Error {
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Returns the message for a command line, which must be a usage error.
    fn message(line: &str) -> String {
        let typed = std::iter::once("gitoggle").chain(line.split(' '));
        let error = super::super::parse(typed.map(OsString::from)).expect_err(line);
        assert_eq!(super::super::exit_code(&error), 64, "{line}");
        error.render().to_string()
    }

    fn built() -> Clap {
        let mut program = program();
        program.build();
        program
    }

    #[test]
    fn a_flag_of_another_command_names_that_command() {
        let program = built();
        let commands: Vec<&Clap> =
            program.get_subcommands().filter(|clap| clap.get_name() != "help").collect();
        let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for command in &commands {
            for arg in command.get_arguments() {
                let long = arg.get_long().map(|long| format!("--{long}"));
                let short = arg.get_short().map(|short| format!("-{short}"));
                for flag in long.into_iter().chain(short) {
                    let owner = format!("`{}`", command.get_name());
                    owners.entry(flag).or_default().push(owner);
                }
            }
        }
        let mut checked = 0;
        for command in &commands {
            for (flag, owners) in owners.iter().filter(|(flag, _)| !has(command, flag)) {
                let pointer = of_argument(&program, Some(command), flag);
                let expected = format!("`{flag}` belongs to {}", listed(owners));
                assert_eq!(pointer, Some(expected), "{}", command.get_name());
                checked += 1;
            }
        }
        assert!(checked > 1000, "{checked}");
        let tip = "tip: `--listen` belongs to `run` and `sandbox`\n";
        assert!(message("apply --listen").contains(tip));
        for line in ["apply --listen", "apply --ca-file a --poll-interval 5s", "apply --token=x"] {
            let usage = "\n\nUsage: gitoggle apply [OPTIONS]\n\n";
            assert!(message(line).contains(usage), "{}", message(line));
        }
        assert!(message("--bogus").contains("\n\nUsage: gitoggle <COMMAND>\n\n"));
    }

    #[test]
    fn a_flag_before_the_command_has_a_pointer() {
        for line in ["--repo . plan", "-v plan", "--output=json status", "--repo"] {
            let flag = line.split([' ', '=']).next().unwrap();
            let pointer = format!("tip: flags follow the command: `gitoggle COMMAND {flag}`\n");
            assert!(message(line).contains(&pointer), "{}", message(line));
        }
    }

    #[test]
    fn diff_without_environments_and_a_surplus_word_have_pointers() {
        for line in ["diff", "diff shop/staging"] {
            assert!(message(line).contains(DIFF), "{}", message(line));
        }
        let pointer = "tip: `--only 'PROJECT/ENVIRONMENT/*'` selects toggles\n";
        assert!(message("apply shop/production").contains(pointer));
        assert!(!message("apply --bogus").contains("tip: `--only"));
    }
}
