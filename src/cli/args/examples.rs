//! The examples in the help and in the manual pages.

use crate::config::Command;

/// Returns the end of the long help of `command`: its examples, and where to read more.
pub(super) fn after_help(command: Command) -> String {
    let (name, lines, manual) = (command.as_str(), lines(command, "  "), manual(command));
    format!("Examples:\n{lines}\n\nRead more: `gitoggle man {name}`, and {manual} in gitoggle's repository")
}

/// Returns the examples of `command`, each with its note above it.
pub(super) fn lines(command: Command, indent: &str) -> String {
    let lines = examples(command).lines().map(|line| match line {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the part of the manual that describes `command`.
pub(super) fn manual(command: Command) -> &'static str {
    match command {
        Command::Allow
        | Command::Apply
        | Command::Log
        | Command::Reconcile
        | Command::Resume
        | Command::Run
        | Command::Status
        | Command::Suspend => "deploy/README.md",
        Command::Diff
        | Command::Explain
        | Command::Fmt
        | Command::Init
        | Command::Promote
        | Command::Schema
        | Command::Test
        | Command::Validate => "examples/README.md",
        _ => "README.md",
    }
}

/// Returns at least one example of `command`, each with a note. All of them work when copied, given a repository with these
/// toggles.
fn examples(command: Command) -> &'static str {
    let sections = include_str!("examples.txt")
        .split("== ")
        .filter_map(|section| section.split_once('\n'));
    let mut of_command = sections.filter(|(name, _)| *name == command.as_str());
    let (_, examples) = of_command.next().expect("every command has examples");
    examples.trim_end()
}

#[cfg(test)]
mod tests {
    use super::super::{parse, program};
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
            let blocks: Vec<_> = examples(command).split("\n\n").collect();
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
