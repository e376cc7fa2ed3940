//! Colors text for a terminal.

use crate::model::{Color, DeploymentEffect};

/// Returns the sign of a toggle in a list and its color.
pub(in crate::plan) fn sign(effect: Option<DeploymentEffect>) -> (&'static str, &'static str) {
    match effect {
        Some(DeploymentEffect::Create) => ("+", "32"),
        Some(DeploymentEffect::Update | DeploymentEffect::Overwrite) | None => ("~", "33"),
        Some(DeploymentEffect::Disable | DeploymentEffect::Forget) => ("-", "31"),
        Some(DeploymentEffect::Adopt | DeploymentEffect::Converge | DeploymentEffect::Record) => ("=", "36"),
    }
}

/// Writes sentences about a toggle and its diff, each line indented.
pub(in crate::plan) fn difference(
    out: &mut String,
    indent: &str,
    (sentences, diff): (Vec<String>, Vec<String>),
    color: Color,
) {
    let diff = diff.into_iter().map(|line| painted(line, color));
    for line in sentences.into_iter().chain(diff) {
        out.extend([indent, &line, "\n"]);
    }
}

/// Colors a line of a diff.
fn painted(text: String, color: Color) -> String {
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
