//! Prints JSON, job summaries and findings.

use std::io::Write;

use serde::Serialize;

use crate::model::{HarmlessJsonWriter, escaped};
use crate::plan::render::JOB_SUMMARY;
use crate::telemetry::Stream;

use super::failure::Failure;

/// An error with a description of the attempt.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct FailedAttempt<E: std::error::Error + 'static> {
    what: String,
    source: E,
}

impl<E: std::error::Error> FailedAttempt<E> {
    pub(super) fn new(what: String, source: E) -> Self {
        Self { what, source }
    }
}

/// Prints a value as JSON. Escapes characters that could reorder or hide text on a terminal.
pub(super) fn json(value: &impl Serialize) -> Result<(), Failure> {
    let written = Stream::Stdout.print_with(|to| {
        serde_json::to_writer_pretty(HarmlessJsonWriter(&mut *to), value)?;
        to.write_all(b"\n")
    });
    written.map_err(Failure::failed)
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
    written.map_err(|error| {
        let path = path.to_string_lossy();
        let what = format!("could not write the job summary to `{}`", escaped(&path));
        Failure::failed(FailedAttempt::new(what, error))
    })
}
