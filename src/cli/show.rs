//! Prints results in the formats that commands share, and commands to copy: with the flags of this invocation, and quoted
//! for a shell.

use std::io::Write;

use serde::Serialize;

use super::failure::Failure;
use crate::config::{Command, Flags, OutputFormat, settings};
use crate::model::{HarmlessJsonWriter, escaped};
use crate::report::{ANY_COMMENT, JOB_SUMMARY};
use crate::telemetry::Stream;

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
    written.map_err(Failure::could_not(format!("write the job summary to `{}`", escaped(&path))))
}

/// Returns the counts that are not zero, each with its word.
pub(super) fn nonzero(counts: &[(usize, &str)]) -> Vec<String> {
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    counts.map(|(count, what)| format!("{count} {what}")).collect()
}

/// Returns the flags of this invocation that `command` takes, too, except for the settings `without`. Variables and the
/// file apply to it anyway.
pub(super) fn with_flags(command: Command, flags: &Flags, without: &[&str]) -> String {
    let mut text = String::new();
    let common = settings().iter().filter(|setting| {
        setting.commands().contains(&command)
            && !["color", "log_format", "log_level", "output"].contains(&setting.name)
            && !without.contains(&setting.name)
    });
    for setting in common {
        let (Some(values), Some(flag)) = (flags.get(setting.name), &setting.flag) else {
            continue;
        };
        // A switch is a decision about this invocation.
        for value in values.iter().filter(|_| !setting.is_switch()) {
            text.push_str(&format!(" {flag} {}", word(value)));
        }
    }
    text
}

/// Quotes `text` for a POSIX shell if that is necessary.
pub(super) fn word(text: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:,=@%+".contains(c);
    if !text.is_empty() && text.chars().all(is_plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_if_the_shell_would_change_it() {
        for (text, quoted) in [
            ("https://t.example:8443/a", "https://t.example:8443/a"),
            ("+refs/heads/a:b", "+refs/heads/a:b"),
            ("shop/**", "'shop/**'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(word(text), quoted);
        }
    }
}
