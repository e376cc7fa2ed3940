//! `completions`: prints the completions of a shell.

use clap::Command as Clap;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use super::failure::{ExitStatus, Failure};
use super::{args, print};
use crate::config::{SettingInfo, settings};

pub(super) fn run(shell: Shell) -> Result<ExitStatus, Failure> {
    let mut program = args::program();
    program.build();
    let mut program = program.mut_subcommands(with_choices);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "gitoggle", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Clean)
}

/// Lists the words of each choice. The parser does not know them, because `config` parses all values.
fn with_choices(command: Clap) -> Clap {
    command.mut_args(|arg| {
        let setting = settings().iter().find(|setting| arg.get_id() == setting.name);
        match setting.map(SettingInfo::words) {
            None | Some([]) => arg,
            Some(words) => arg.value_parser(PossibleValuesParser::new(words)),
        }
    })
}
