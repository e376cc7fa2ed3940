//! Prints results in the form that the settings ask for, and job summaries.

use std::io::Write;

use serde::Serialize;

use crate::config::OutputFormat;
use crate::model::{HarmlessJsonWriter, escaped};
use crate::plan::render::{ANY_COMMENT, JOB_SUMMARY};
use crate::telemetry::Stream;

use super::failure::Failure;

/// Prints a value as JSON. Escapes characters that could reorder or hide text on a terminal.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let written = Stream::Stdout.print_with(|to| {
        serde_json::to_writer_pretty(HarmlessJsonWriter(&mut *to), value)?;
        to.write_all(b"\n")
    });
    written.map_err(Failure::failed)
}

/// Prints a result that is not about documents: as text, as JSON, or as Markdown of at most so many bytes.
pub(super) fn result<J: Serialize>(
    output: OutputFormat,
    text: impl FnOnce() -> String,
    json: impl FnOnce() -> J,
    markdown: impl FnOnce(usize) -> String,
) -> Result<(), Failure> {
    match output {
        OutputFormat::Github => step_summary(markdown),
        OutputFormat::Human => super::print(&text()),
        OutputFormat::Json => self::json(&json()),
        OutputFormat::Markdown => super::print(&markdown(ANY_COMMENT)),
        OutputFormat::Gitlab | OutputFormat::Junit | OutputFormat::Sarif => {
            Err(super::unsupported_output(output))
        }
    }
}

/// Appends Markdown of at most so many bytes to GitHub's job summary.
pub(super) fn step_summary(markdown: impl FnOnce(usize) -> String) -> Result<(), Failure> {
    const VARIABLE: &str = "GITHUB_STEP_SUMMARY";
    let Some(path) = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()) else {
        return super::note(&format!(
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
    written.map_err(Failure::could_not(format!(
        "write the job summary to `{}`",
        escaped(&path)
    )))
}

/// Returns the counts that are not zero, each with its word.
pub(super) fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
}
