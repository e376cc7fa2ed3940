//! The ends of manual pages.

use clap::Command as Clap;

use super::examples;
use super::program::{EXIT_CODES, SETTINGS, command_of};

/// Returns the last sections of the manual page of a command, or of the program: the headings and the lines.
pub(crate) fn page_end(page: &Clap) -> Vec<(&'static str, String)> {
    let exit = EXIT_CODES.trim_start_matches("Exit codes:\n").to_owned();
    if page.has_subcommands() {
        let see = "gitoggle-apply(1), gitoggle-plan(1), gitoggle-run(1), git(1)".to_owned();
        return vec![
            ("SETTINGS", SETTINGS.to_owned()),
            ("EXIT STATUS", exit),
            ("SEE ALSO", see),
        ];
    }
    let command = command_of(page);
    let see = format!(
        "gitoggle(1), and {} in gitoggle's repository",
        examples::manual(command)
    );
    let lines = examples::lines(command, "");
    vec![("EXAMPLES", lines), ("EXIT STATUS", exit), ("SEE ALSO", see)]
}
