//! Completions and manual pages: accepted by the shells and by mandoc, and complete.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use gitoggle::cli::args;

use crate::support::World;

/// Runs `program` with `input`. Returns nothing if the machine does not have it.
fn run(program: &str, args: &[&str], input: &str) -> Option<Output> {
    let mut command = Command::new(program);
    command.args(args).env("TERM", "dumb").stdin(Stdio::piped());
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Ok(mut child) = child else {
        skipped(program);
        return None;
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    Some(child.wait_with_output().unwrap())
}

#[expect(clippy::print_stderr, reason = "the person who runs the tests should know what was not tested")]
fn skipped(program: &str) {
    eprintln!("skipped: this machine has no `{program}`");
}

fn completions(shell: &str) -> String {
    let world = World::new();
    let script = world.bare(&format!("completions {shell}")).exit(0).stderr("").both();
    assert!(!script.is_empty());
    script
}

fn commands() -> Vec<String> {
    let program = args::program();
    let names = program.get_subcommands().map(|command| command.get_name().to_owned());
    names.collect()
}

#[test]
fn the_shells_accept_their_completions() {
    for (shell, check) in [("bash", "-n"), ("fish", "--no-execute"), ("zsh", "-n")] {
        let script = completions(shell);
        let Some(output) = run(shell, &[check], &script) else {
            continue;
        };
        assert!(output.status.success() && output.stderr.is_empty(), "{shell}: {output:?}");
    }
    for (shell, begin) in [("elvish", "cand "), ("powershell", "::new('")] {
        let script = completions(shell);
        for command in commands() {
            assert!(script.contains(&format!("{begin}{command}")), "{shell} lacks {command}");
        }
    }
}

/// Returns what bash offers for a command line.
fn offered(line: &str) -> BTreeSet<String> {
    let words: Vec<String> = line.split(' ').map(|word| format!("'{word}'")).collect();
    let (current, before) = (words.len() - 1, &words[words.len() - 2]);
    let script = format!(
        "{}\nCOMP_WORDS=({})\nCOMP_CWORD={current}\n_gitoggle gitoggle {} {before}\nprintf '%s\\n' \"${{COMPREPLY[@]}}\"\n",
        completions("bash"),
        words.join(" "),
        words[current],
    );
    let output = run("bash", &["--norc"], &script).expect("the tests need bash");
    let text = String::from_utf8(output.stdout).unwrap();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_the_words_of_choices() {
    let all = offered("gitoggle ");
    assert!(commands().iter().all(|command| all.contains(command)), "{all:?}");
    let expected = ["plan", "promote"].map(str::to_owned).into();
    assert_eq!(offered("gitoggle p"), expected);
    let expected = ["--base-url"].map(str::to_owned).into();
    assert_eq!(offered("gitoggle apply --ba"), expected);
    let expected = ["disable", "forget", "keep"].map(str::to_owned).into();
    assert_eq!(offered("gitoggle apply --on-remove "), expected);
    let expected = ["bash"].map(str::to_owned).into();
    assert_eq!(offered("gitoggle completions ba"), expected);
}

#[test]
fn an_error_in_a_setting_does_not_break_completions_or_manual_pages() {
    let world = World::new();
    for line in ["completions bash", "man"] {
        let run = world.bare(line).env("GITOGGLE_TIMEOUT", "soon").env("GITOGGLE_NONSENSE", "1");
        run.exit(0).stderr("").any_stdout();
    }
    let usage = world.bare("completions").exit(64).stdout("");
    usage.stderr_contains(&["required arguments were not provided", "<SHELL>"]);
    let usage = world.bare("completions tcsh").exit(64).stdout("");
    usage.stderr_contains(&["tcsh", "bash", "zsh"]);
    let usage = world.bare("man nonsense").exit(64).stdout("");
    usage.stderr_contains(&["nonsense", "plan"]);
}

#[test]
fn the_pages_of_all_commands_are_written_and_valid() {
    let world = World::new();
    let count = commands().len() + 1;
    let done = format!("wrote {count} pages to `pages/man1`\n");
    world.bare("man --out pages/man1").within(world.root()).exit(0).stderr("").stdout(&done);
    let folder = world.path("pages/man1");
    let mut names = BTreeSet::from(["gitoggle.1".to_owned()]);
    names.extend(commands().iter().map(|name| format!("gitoggle-{name}.1")));
    let found: BTreeSet<String> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_eq!(found, names);
    for name in names {
        let page = std::fs::read_to_string(Path::new(&folder).join(&name)).unwrap();
        let Some(output) = run("mandoc", &["-T", "lint", "-W", "error"], &page) else {
            return;
        };
        assert!(output.stdout.is_empty() && output.status.success(), "{name}: {output:?}");
    }
    world
        .bare("man --out /dev/null/man1")
        .exit(1)
        .stdout("")
        .stderr("error: could not write `/dev/null/man1/gitoggle.1`\n  caused by: Not a directory\n");
}

#[test]
fn a_page_has_the_usage_the_flags_examples_and_exit_codes() {
    let world = World::new();
    let read = |line: &str| {
        let page = world.bare(line).exit(0).stderr("").both();
        let output = run("mandoc", &["-T", "utf8", "-O", "width=80"], &page)?;
        // Overstriking is how a terminal shows bold text.
        let mut text = Vec::new();
        for byte in output.stdout {
            match byte {
                8 => drop(text.pop()),
                byte => text.push(byte),
            }
        }
        Some(String::from_utf8(text).unwrap())
    };
    let (Some(program), Some(plan)) = (read("man"), read("man plan")) else {
        return;
    };
    let commands = commands().into_iter().map(|name| format!("gitoggle-{name}(1)"));
    let mut expected: Vec<String> = commands.collect();
    expected.extend(
        ["GITOGGLE(1)", "gitoggle <COMMAND>", "EXIT STATUS", "64  an unknown flag"].map(str::to_owned),
    );
    let missing: Vec<_> = expected.iter().filter(|text| !program.contains(*text)).collect();
    assert!(missing.is_empty(), "{missing:?} in {program}");
    for text in [
        "GITOGGLE-PLAN(1)",
        "gitoggle plan [OPTIONS]",
        "--detailed-exitcode",
        "[variable: GITOGGLE_BASE_URL]",
        "gitoggle plan --pull-request -o markdown",
        "EXIT STATUS",
        "gitoggle(1)",
    ] {
        assert!(plan.contains(text), "{text} in {plan}");
    }
    let flattened = plan.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flattened.contains("Shows what would be published, and why."), "{plan}");
}
