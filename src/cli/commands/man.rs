//! `gitoggle man`: prints manual pages.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::Command as Clap;
use clap::builder::PossibleValuesParser;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};

use crate::cli::args;
use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::{note, print};
use crate::config::{Command, Settings};
use crate::model::{BUILD, counted};
use crate::telemetry::Stream;

/// Print the manual page
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Prints the manual page of the program, or of a command. With --out, writes the pages of the \
                  program and of all commands, as packages need them."
)]
pub(crate) struct ManArgs {
    /// Print the page of this command [the program]
    #[arg(
        value_name = "COMMAND",
        hide_possible_values = true,
        value_parser = PossibleValuesParser::new(Command::WORDS)
    )]
    pub(crate) command: Option<String>,
    /// Write the pages of all commands into this folder
    #[arg(long, value_name = "DIR", conflicts_with = "command")]
    pub(crate) out: Option<PathBuf>,
}

pub(super) fn run(_: &Settings, args: &ManArgs) -> Result<ExitStatus, Failure> {
    let command = args.command.as_deref();
    let mut program = args::program().disable_help_subcommand(true);
    program.build();
    if let Some(folder) = &args.out {
        let pages: Vec<&Clap> = std::iter::once(&program).chain(program.get_subcommands()).collect();
        for page in &pages {
            write(folder, page)?;
        }
        print(&format!("wrote {} to `{}`\n", counted(pages.len(), "page"), folder.display()))?;
        return Ok(ExitStatus::Clean);
    }
    let page = command.and_then(|name| program.find_subcommand(name)).unwrap_or(&program);
    print(&rendered(page))?;
    if Stream::Stdout.is_terminal() {
        let name = command.map(|name| format!(" {name}")).unwrap_or_default();
        note(&format!("hint: to read it, run `gitoggle man{name} | man -l -`\n"))?;
    }
    Ok(ExitStatus::Clean)
}

fn write(folder: &Path, page: &Clap) -> Result<(), Failure> {
    let path = folder.join(format!("{}.1", title(page)));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, rendered(page)));
    written.map_err(Failure::could_not(format!("write `{}`", path.display())))
}

fn title(page: &Clap) -> String {
    page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned()
}

fn rendered(page: &Clap) -> String {
    let title = title(page);
    let mut command = page.clone();
    // The generator would list every flag in the synopsis.
    let usage = command.render_usage().to_string();
    let command = command
        .override_usage(usage.trim_start_matches("Usage: ").to_owned())
        .after_help(None)
        .after_long_help(None);
    let mut text = Vec::new();
    Man::new(command)
        .title(title.to_uppercase())
        // An empty argument would be left out, and the next one would take its place.
        .date(BUILD.date.unwrap_or(" "))
        .source(format!("gitoggle {}", BUILD.version))
        .manual("gitoggle manual")
        .render(&mut text)
        .expect("memory can be written");
    let mut end = Roff::new();
    for (heading, lines) in args::page_end(page) {
        end.control("SH", [heading]).control("nf", []);
        for line in lines.lines() {
            end.text([roman(line)]);
        }
        end.control("fi", []);
    }
    String::from_utf8_lossy(&text).into_owned() + &end.render()
}
