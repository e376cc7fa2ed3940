//! `gitoggle completions`: prints the completions of a shell.

use clap::Args;
use clap::Command as Clap;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use crate::cli::args;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::{Settings, settings};

/// Print the completions of a shell
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Prints the completions of bash, elvish, fish, powershell or zsh: commands, flags and the words of \
                  choices."
)]
pub(crate) struct CompletionsArgs {
    /// bash, elvish, fish, powershell or zsh
    #[arg(value_name = "SHELL", hide_possible_values = true)]
    pub(crate) shell: Shell,
}

pub(super) fn run(_: &Settings, args: &CompletionsArgs) -> Result<ExitStatus, Failure> {
    let mut program = args::program();
    program.build();
    let mut program = program.mut_subcommands(with_choices);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut program, "gitoggle", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Clean)
}

/// Lists the words of each choice. The parser does not know them, because `config` parses all values.
fn with_choices(command: Clap) -> Clap {
    let of = command.get_name().to_owned();
    command.mut_args(|arg| {
        let setting = settings().iter().find(|setting| arg.get_id() == setting.name);
        match setting.map(|setting| args::choices(&of, setting)).unwrap_or_default() {
            words if words.is_empty() => arg,
            words => arg.value_parser(PossibleValuesParser::new(words)),
        }
    })
}
