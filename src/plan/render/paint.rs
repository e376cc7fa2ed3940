//! Colors text for a terminal.

use crate::model::Color;

/// Colors a line of a diff.
pub(in crate::plan) fn painted(text: String, color: Color) -> String {
    match text.chars().next() {
        Some('+') => paint(&text, "32", color),
        Some('-') => paint(&text, "31", color),
        Some('@') => paint(&text, "36", color),
        _ => text,
    }
}

/// Colors text with this code of ANSI.
pub(in crate::plan) fn paint(text: &str, code: &str, color: Color) -> String {
    match color {
        Color::Always => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        Color::Never => text.to_owned(),
    }
}
