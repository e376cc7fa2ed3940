//! The examples in the help and in the manual pages.

use crate::config::Command;

/// Returns the end of the long help of `command`: its examples, and where to read more.
pub(super) fn after_help(command: Command) -> String {
    format!(
        "Examples:\n{}\n\nRead more: `gitoggle man {}`, and {} in gitoggle's repository",
        lines(command, "  "),
        command.as_str(),
        manual(command)
    )
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

/// Returns at least one example of `command`. All of them work when copied, given a repository with these toggles.
fn examples(command: Command) -> &'static str {
    match command {
        Command::Allow => {
            r#"# Publish all documents of a new environment
gitoggle allow first-pass-assert shop/production

# Only if the daemon is at this revision
gitoggle allow mass-change shop/production --revision 4efd69fb56

# A daemon on another host
gitoggle allow history --url https://gitoggle.example.com

# A daemon in Kubernetes: forward its port, then as above
kubectl -n gitoggle port-forward deployment/gitoggle 8077"#
        }
        Command::Apply => {
            r#"# The first time, for toggles that the service already has as documented
gitoggle apply --base-url https://toggles.example.com --first-pass adopt

# In CI, with the state in the repository; GITOGGLE_TOKEN has the token
gitoggle apply --base-url https://toggles.example.com --state-remote origin"#
        }
        Command::Completions => {
            r#"# For bash, as root, with the package bash-completion
gitoggle completions bash > /etc/bash_completion.d/gitoggle

# For zsh, in a folder of $fpath
gitoggle completions zsh > ~/.zfunc/_gitoggle

# For fish
gitoggle completions fish > ~/.config/fish/completions/gitoggle.fish"#
        }
        Command::Demo => {
            r#"# Watch it
gitoggle demo

# Keep the repository and the state, to continue with them
gitoggle demo --keep demo --no-pause"#
        }
        Command::Diff => {
            r#"# What users of staging would get in production
gitoggle diff shop/staging shop/production

# For scripts: exit with 2 if they differ
gitoggle diff shop/staging shop/production --detailed-exitcode"#
        }
        Command::Drift => {
            r#"# Everything that was applied
gitoggle drift

# One environment
gitoggle drift 'shop/production/*'

# For scheduled jobs: exit with 2 if there is drift
gitoggle drift --detailed-exitcode

# Keep what was changed on the service: then commit
gitoggle import --overwrite shop/production/pay

# Publish over it, as the trailer `Gitoggle-Allow: overwrite-drift` does
gitoggle apply --overwrite-drift"#
        }
        Command::Explain => {
            r#"# Which rule serves this user, and why the others do not
gitoggle explain shop/production/new-checkout --key user-7 --attr country=DE

# At another time
gitoggle explain shop/production/sale --at 2026-12-24T18:00:00Z"#
        }
        Command::Fmt => {
            r#"# All documents of the work tree
gitoggle fmt

# One document
gitoggle fmt shop/production/pay.yaml

# For CI: change nothing, and exit with 1 if a document has another layout
gitoggle fmt --check"#
        }
        Command::Import => {
            r#"# Everything that the token can read
gitoggle import

# All environments of a project
gitoggle import 'shop/**'

# Accept what was changed on the service
gitoggle import shop/production/pay --overwrite

# Files exported/PROJECT/ENVIRONMENT/TOGGLE.json
gitoggle import --from exported

# Lines {"toggle": …, "disabled": …, "content": …}
gitoggle import --from - < toggles.jsonl

# Then: commit, compare with `gitoggle plan --live`, and record it as applied
gitoggle apply --first-pass adopt"#
        }
        Command::Init => {
            r#"# In a new folder
gitoggle init toggles

# In this folder; existing files stay
gitoggle init"#
        }
        Command::Log => {
            r#"# The last deployments
gitoggle log

# How one toggle changed, with diffs
gitoggle log -p shop/production/pay

# Every deployment of one environment
gitoggle log -n 0 'shop/production/*'

# For scripts; `gitoggle schema --of log` describes it
gitoggle log -o json"#
        }
        Command::Man => {
            r#"# Read the page of a command
gitoggle man plan | man -l -

# For packages: write the pages of all commands
gitoggle man --out share/man/man1"#
        }
        Command::Plan => {
            r#"# What a pass would publish
gitoggle plan --base-url https://toggles.example.com

# Files that are not committed yet
gitoggle plan --worktree

# What a branch changes, with the effect on real users
gitoggle plan --from main --to HEAD --audience users.csv

# In the CI job of a pull request
gitoggle plan --pull-request -o markdown"#
        }
        Command::Promote => {
            r#"# All toggles; `git restore` undoes it, and `gitoggle diff` shows it before
gitoggle promote shop/staging shop/production

# Some toggles
gitoggle promote shop/staging shop/production 'checkout-*'"#
        }
        Command::Reconcile => {
            r#"# The daemon on this machine
gitoggle reconcile

# A daemon on another host
gitoggle reconcile --url https://gitoggle.example.com"#
        }
        Command::Resume => {
            r#"# Everything
gitoggle resume

# One suspension
gitoggle resume --scope 'shop/production/**'"#
        }
        Command::Run => {
            r#"# A daemon with its own clone
gitoggle run --repo https://git.example.com/toggles.git --config daemon.yaml

# A sidecar of a process that updates the checkout
gitoggle run --repo /git/current --config /etc/gitoggle/config.yaml"#
        }
        Command::Sandbox => {
            r#"# Serve it in one terminal
gitoggle sandbox --ca-out ca.pem

# Publish to it in another one, with GITOGGLE_TOKEN=sandbox-token
gitoggle apply --first-pass assert \
  --base-url https://127.0.0.1:8443 --ca-file ca.pem

# A service that fails one of ten requests
gitoggle sandbox --fail-rate 0.1 --latency 50ms"#
        }
        Command::Schema => {
            r#"# For the YAML language server of an editor
gitoggle schema > targeting.schema.json

# For a script that reads plans
gitoggle schema --of plan"#
        }
        Command::Status => {
            r#"# What is not in sync
gitoggle status

# The shared state of the CI jobs
gitoggle status --state-remote origin

# For scripts
gitoggle status -o json"#
        }
        Command::Suspend => {
            r#"# Everything, for two hours
gitoggle suspend --reason 'release freeze' --for 2h

# One environment, until it is resumed
gitoggle suspend --scope 'shop/production/**' --reason sale"#
        }
        Command::Test => {
            r#"# All tests of the work tree
gitoggle test

# One folder, and the rules that no test reaches
gitoggle test shop/production --coverage

# For CI systems that show tests
gitoggle test -o junit"#
        }
        Command::Validate => {
            r#"# All documents of the work tree
gitoggle validate

# Some documents, as a pre-commit hook
gitoggle validate shop/production/pay.yaml shop/staging

# A revision
gitoggle validate --ref origin/main"#
        }
    }
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
