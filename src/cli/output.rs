//! How results are printed: each command has a table of the forms that it prints, and each form shows
//! failures, too.

use std::io::Write as _;

use serde::Serialize;

use super::failure::{ExitStatus, Failure};
use crate::config::{Command, OutputFormat, Settings};
use crate::model::{Color, HarmlessJsonWriter, escaped, hinted, junit};
use crate::report::{self, JOB_SUMMARY};
use crate::telemetry::Stream;

/// The forms of a command's result: a row each, with the function that prints it. The values of `--output` in
/// its help and in completions follow.
pub(super) type Formats<R> = &'static [(OutputFormat, fn(&R, &Settings) -> Result<(), Failure>)];

/// The forms of a command that takes no `--output`.
pub(super) const NO_FORMATS: Formats<()> = &[];

/// Prints a result in the form that the settings ask for.
pub(super) fn show<R>(formats: Formats<R>, result: &R, settings: &Settings) -> Result<(), Failure> {
    match formats.iter().find(|(format, _)| *format == settings.output) {
        Some((_, print)) => print(result, settings),
        None => Err(unsupported(settings.output)),
    }
}

/// Returns the error that a command has no such form.
pub(super) fn unsupported(output: OutputFormat) -> Failure {
    let message = format!("this command has no `{}` output", output.as_str());
    Failure::new(ExitStatus::Usage, message)
        .hint("`--help` lists the commands; `-o human` and `-o json` always work")
}

/// Prints a failure in the form of the results. A script that parses stdout needs the error there; stderr has
/// it in words. `command` is none if it is not known.
pub(super) fn show_failure(
    command: Option<Command>,
    output: OutputFormat,
    failure: &Failure,
) -> Result<(), Failure> {
    let error = failure.json_error().message;
    // A hold that the exit code does not show is not a failed test or an annotation either.
    let is_shown = failure.status() != ExitStatus::Clean;
    let page = |_| report::failed(None, &failure.to_string());
    match output {
        OutputFormat::Human => Ok(()),
        OutputFormat::Json => print_json(&failure.json()),
        OutputFormat::Junit if is_shown => print(&junit(&[report::failed_suite("command", &error)])),
        OutputFormat::Sarif => print_json(&report::sarif(&[], &[], Some(&error))),
        OutputFormat::Gitlab => print_json(&report::code_quality(&[], &[], Some(&error))),
        OutputFormat::Github if is_shown => {
            print(&report::failed_annotation(&error))?;
            if command == Some(Command::Plan) { step_summary(page) } else { Ok(()) }
        }
        OutputFormat::Markdown if command == Some(Command::Plan) => print(&page(0)),
        OutputFormat::Junit | OutputFormat::Github | OutputFormat::Markdown => Ok(()),
    }
}

pub(super) fn print(text: &str) -> Result<(), Failure> {
    Stream::Stdout.print(text).map_err(Failure::could_not("write to stdout"))
}

pub(super) fn note(text: &str) -> Result<(), Failure> {
    Stream::Stderr.print(&hinted(text)).map_err(Failure::could_not("write to stderr"))
}

/// Returns whether results are colored.
pub(super) fn color(settings: &Settings) -> Color {
    Stream::Stdout.color(settings.color)
}

/// Breaks the reasons that this process prints from here on at the width of the terminal, if stdout is one, without
/// a margin of so many columns.
pub(super) fn wrap_reasons(margin: usize) {
    if let Some(columns) = Stream::Stdout.columns() {
        report::wrap_at(columns.saturating_sub(margin));
    }
}

/// Prints a value as JSON. Escapes characters that could reorder or hide text on a terminal.
pub(super) fn print_json(value: &impl Serialize) -> Result<(), Failure> {
    let written = Stream::Stdout.print_with(|to| {
        serde_json::to_writer_pretty(HarmlessJsonWriter(&mut *to), value)?;
        to.write_all(b"\n")
    });
    written.map_err(Failure::failed)
}

/// Appends Markdown to GitHub's job summary. `markdown` gets the number of bytes that are left there.
pub(super) fn step_summary(markdown: impl FnOnce(usize) -> String) -> Result<(), Failure> {
    const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
        return note(&format!(
            "note: `{VARIABLE}` is not set, so there is no job summary; `-o markdown` prints it\n"
        ));
    };
    // Earlier commands of the step may have written to the summary.
    let file = std::fs::OpenOptions::new().append(true).create(true).open(&path);
    let written = file.and_then(|mut file| {
        let used = usize::try_from(file.metadata()?.len()).unwrap_or(usize::MAX);
        file.write_all(markdown(JOB_SUMMARY.saturating_sub(used)).as_bytes())
    });
    let path = path.to_string_lossy();
    written.map_err(Failure::could_not(format!("write the job summary to `{}`", escaped(&path))))
}

/// Returns the counts that are not zero, each with its word.
pub(super) fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
}
