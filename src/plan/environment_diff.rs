//! The difference between two environments of a repository, or between two states of one, toggle by toggle.

use std::fmt::Write as _;

use serde::Serialize;

use super::render::{block, code, defused, diff, difference, fitting, paint};
use super::sentences;
use crate::model::{Color, EnvironmentId, Payload, escaped};

/// The toggles of two environments that do not mean the same.
#[derive(Clone, Debug)]
pub struct EnvironmentDiff {
    /// The environment before the change.
    pub before: EnvironmentId,
    /// The environment after the change.
    pub after: EnvironmentId,
    /// The environment that a promotion copied documents from. `before` and `after` are its target then.
    pub copied_from: Option<EnvironmentId>,
    /// The toggles, sorted by key.
    pub toggles: Vec<ToggleDiff>,
    /// The numbers, as text: `1 different, 3 equal`.
    pub summary: String,
}

/// One toggle with a difference.
#[derive(Clone, Debug)]
pub struct ToggleDiff {
    /// The key of the toggle.
    pub toggle: String,
    /// The targeting before; none if there is no document.
    pub before: Option<Payload>,
    /// The targeting after; none if there is no document.
    pub after: Option<Payload>,
    /// Details beside the sign, such as the path of a new file; may be empty.
    pub remark: String,
}

impl ToggleDiff {
    fn sign(&self) -> (&'static str, &'static str) {
        match (&self.before, &self.after) {
            (None, _) => ("+", "32"),
            (Some(_), None) => ("-", "31"),
            (Some(_), Some(_)) => ("~", "33"),
        }
    }

    fn sentences(&self) -> Vec<String> {
        let before = self.before.as_ref().map(Payload::targeting);
        let after = self.after.as_ref().map(Payload::targeting);
        after.map_or_else(Vec::new, |after| sentences(before.as_ref(), &after))
    }

    fn diff(&self) -> Vec<String> {
        diff(self.before.as_ref(), self.after.as_ref())
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
    #[must_use]
    pub fn text(&self, color: Color) -> String {
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
    #[must_use]
    pub fn markdown(&self, limit: usize) -> String {
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
                let _ = write!(
                    out,
                    "\n<details><summary>diff</summary>\n\n{}\n</details>\n\n",
                    block(&lines)
                );
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

    /// Returns the difference, ready to serialize.
    #[must_use]
    pub fn json(&self) -> EnvironmentDiffJson<'_> {
        let toggles = self.toggles.iter().map(|toggle| ToggleDiffJson {
            toggle: &toggle.toggle,
            sentences: toggle.sentences(),
            before: toggle.before.as_ref(),
            after: toggle.after.as_ref(),
        });
        EnvironmentDiffJson {
            before: &self.before,
            after: &self.after,
            copied_from: self.copied_from.as_ref(),
            summary: &self.summary,
            toggles: toggles.collect(),
        }
    }
}

/// The JSON form of an [`EnvironmentDiff`].
#[derive(Debug, Serialize)]
pub struct EnvironmentDiffJson<'a> {
    before: &'a EnvironmentId,
    after: &'a EnvironmentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    copied_from: Option<&'a EnvironmentId>,
    summary: &'a str,
    toggles: Vec<ToggleDiffJson<'a>>,
}

#[derive(Debug, Serialize)]
struct ToggleDiffJson<'a> {
    toggle: &'a str,
    sentences: Vec<String>,
    before: Option<&'a Payload>,
    after: Option<&'a Payload>,
}
