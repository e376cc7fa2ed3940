//! Small pieces of what commands print.

use std::fmt::Write as _;

use crate::document::{Diagnostic, Severity};
use crate::model::{escaped, is_harmful};

use super::failure::Failure;

/// What was attempted, with its cause.
#[derive(Debug, thiserror::Error)]
#[error("{what}")]
pub(super) struct Attempt<E: std::error::Error + 'static> {
    what: String,
    source: E,
}

impl<E: std::error::Error> Attempt<E> {
    pub(super) fn new(what: String, source: E) -> Self {
        Self { what, source }
    }
}

/// "1 document", "2 documents".
pub(super) fn counted(count: usize, noun: &str) -> String {
    match count {
        1 => format!("1 {noun}"),
        _ => format!("{count} {noun}s"),
    }
}

/// A JSON value as it is printed: what could reorder or hide text on a terminal is escaped, which means the same.
pub(super) fn json(value: &serde_json::Value) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value).map_err(Failure::failed)?;
    let mut shown = String::with_capacity(text.len() + 1);
    for character in text.chars() {
        match character {
            '\n' => shown.push('\n'),
            character if is_harmful(character) => {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    let _ = write!(shown, "\\u{unit:04x}");
                }
            }
            character => shown.push(character),
        }
    }
    shown.push('\n');
    Ok(shown)
}

/// Findings as a Markdown list.
pub(super) fn markdown(findings: &[Diagnostic]) -> String {
    let mut text = String::new();
    for finding in findings {
        let place = format!("{}:{}:{}", finding.path, finding.line, finding.column);
        let kind = match finding.severity {
            Severity::Error => "**error**",
            Severity::Warning => "warning",
        };
        let code = |text: &str| escaped(text).to_string().replace('`', "'");
        let _ = writeln!(
            text,
            "- {kind} `{}` `{}`: `{}`",
            code(&place),
            finding.id,
            code(&finding.message)
        );
    }
    if !text.is_empty() {
        text.push('\n');
    }
    text
}
