//! Shows one change: colored on a terminal, and within bounds on the status page, whatever the size of the
//! documents; and the difference of two environments.

use std::fmt::Write as _;

use super::defused;
use super::markup::{block, code, fitting, fold};
use crate::document::{Diagnostic, render};
use crate::model::{Color, DeploymentEffect, EnvironmentId, cut, escaped};
use crate::plan::{Change, DeployedDiff, DriftedToggle, EnvironmentDiff, ToggleDiff, document_text};

const MOST_SENTENCES: usize = 30;
const MOST_LINES: usize = 120;
const MOST_CHARS: usize = 400;

/// A change in sentences, and as a diff. All text is escaped.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Preview {
    /// One sentence per difference.
    pub(crate) sentences: Vec<String>,
    /// The lines of a unified diff, each with its sign; for a new toggle, all lines of its document.
    pub(crate) diff: Vec<String>,
}

impl Preview {
    pub(crate) fn of_change(change: &Change) -> Self {
        let diff = match change.replaced() {
            Some(_) => change.diff(),
            None => {
                let document = document_text(&change.payload);
                let lines = document.lines();
                lines.map(|line| format!("+{}", escaped(line))).collect()
            }
        };
        Self::new(&change.sentences(), &diff)
    }

    /// Shows what was changed on the service: from what was applied to what is live.
    pub(crate) fn of_drift(drifted: &DriftedToggle) -> Self {
        Self::new(&drifted.sentences(), &drifted.diff())
    }

    pub(crate) fn of_deployment(deployed: &DeployedDiff) -> Self {
        Self::new(&deployed.sentences(), &deployed.diff())
    }

    fn new(sentences: &[String], diff: &[String]) -> Self {
        Self {
            sentences: bounded(sentences, MOST_SENTENCES, "… and {} more differences"),
            diff: bounded(diff, MOST_LINES, " … and {} more lines"),
        }
    }
}

/// Returns the findings in the file at `path`, as text for people.
pub(crate) fn findings_in(findings: &[Diagnostic], path: &str) -> String {
    // Findings are sorted by path.
    let start = findings.partition_point(|finding| finding.path.as_str() < path);
    let count = findings[start..].partition_point(|finding| finding.path == path);
    let text = render(&findings[start..start + count], Color::Never);
    let lines: Vec<_> = text.lines().map(str::to_owned).collect();
    bounded(&lines, MOST_LINES, "… and {} more lines").join("\n")
}

/// Returns the first `most` lines, each of a bounded length, and a line with the number of omitted ones.
fn bounded(lines: &[String], most: usize, rest: &str) -> Vec<String> {
    let more = lines.len().saturating_sub(most);
    let shown = lines.iter().take(most).map(|line| cut(line, MOST_CHARS));
    let rest = (more > 0).then(|| rest.replace("{}", &more.to_string()));
    shown.chain(rest).collect()
}

/// Returns the sign of a toggle in a list and its color.
pub(super) fn sign(effect: Option<DeploymentEffect>) -> (&'static str, &'static str) {
    match effect {
        Some(DeploymentEffect::Create) => ("+", "32"),
        Some(DeploymentEffect::Update | DeploymentEffect::Overwrite) | None => ("~", "33"),
        Some(DeploymentEffect::Disable | DeploymentEffect::Forget) => ("-", "31"),
        Some(DeploymentEffect::Adopt | DeploymentEffect::Converge | DeploymentEffect::Record) => ("=", "36"),
    }
}

/// Writes sentences about a toggle and its diff, each line indented.
pub(super) fn difference(
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

fn painted(text: String, color: Color) -> String {
    match text.chars().next() {
        Some('+') => paint(&text, "32", color),
        Some('-') => paint(&text, "31", color),
        Some('@') => paint(&text, "36", color),
        _ => text,
    }
}

/// Colors text with this code of ANSI.
pub(crate) fn paint(text: &str, code: &str, color: Color) -> String {
    match color {
        Color::Always => format!("\u{1b}[{code}m{text}\u{1b}[0m"),
        Color::Never => text.to_owned(),
    }
}

impl ToggleDiff {
    fn sign(&self) -> (&'static str, &'static str) {
        match (&self.before, &self.after) {
            (None, _) => ("+", "32"),
            (Some(_), None) => ("-", "31"),
            (Some(_), Some(_)) => ("~", "33"),
        }
    }

    fn head(&self) -> String {
        match self.remark.as_str() {
            "" => String::new(),
            remark => format!(" ({})", escaped(remark)),
        }
    }
}

impl EnvironmentDiff {
    /// Returns the difference as lines of text.
    pub(crate) fn text(&self, color: Color) -> String {
        let mut out = self.heading(EnvironmentId::to_string) + "\n\n";
        for toggle in &self.toggles {
            let (sign, paint_code) = toggle.sign();
            let head = paint(&format!("{sign} {}", escaped(&toggle.toggle)), paint_code, color);
            let _ = writeln!(out, "{head}{}", toggle.head());
            difference(&mut out, "    ", (toggle.sentences(), toggle.diff()), color);
        }
        if !self.toggles.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}", self.summary);
        defused(&out)
    }

    /// Returns the difference as Markdown of at most `limit` bytes.
    pub(crate) fn markdown(&self, limit: usize) -> String {
        let heading = self.heading(|environment| code(&environment.to_string()));
        let head = format!("### {heading}\n\n{}\n\n", self.summary);
        let toggles = self.toggles.iter().map(|toggle| {
            let mut out = format!("* {} {}", toggle.sign().0, code(&toggle.toggle));
            if !toggle.remark.is_empty() {
                let _ = write!(out, ": {}", code(&toggle.remark));
            }
            out.push('\n');
            for sentence in toggle.sentences() {
                let _ = writeln!(out, "  * {}", code(&sentence));
            }
            let lines = toggle.diff();
            if !lines.is_empty() {
                let _ = write!(out, "\n{}", fold("diff", &(block(&lines) + "\n")));
            }
            out
        });
        fitting([head].into_iter().chain(toggles), limit)
    }

    fn heading(&self, shown: impl Fn(&EnvironmentId) -> String) -> String {
        let (before, after) = (shown(&self.before), shown(&self.after));
        match &self.copied_from {
            None => format!("{before} → {after}"),
            Some(from) => format!("changes in {after}, copied from {}", shown(from)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_preview_is_bounded_in_lines_and_characters() {
        let lines: Vec<_> = (0..1000).map(|number| format!("+{number}{}", "x".repeat(5000))).collect();
        let preview = Preview::new(&[], &lines);
        assert_eq!(preview.diff.len(), MOST_LINES + 1);
        assert_eq!(preview.diff[MOST_LINES], " … and 880 more lines");
        assert!(preview.diff.iter().all(|line| line.chars().count() <= MOST_CHARS));
    }
}
