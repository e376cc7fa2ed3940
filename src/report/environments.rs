//! Renders the difference of two environments.

use std::fmt::Write as _;

use super::defused;
use super::difference::{difference, paint};
use super::markup::{block, code, fitting};
use crate::model::{Color, EnvironmentId, escaped};
use crate::plan::{EnvironmentDiff, ToggleDiff};

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
                let _ =
                    write!(out, "\n<details><summary>diff</summary>\n\n{}\n</details>\n\n", block(&lines));
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
