//! What the page shows of a service.

use jiff::Timestamp;
use serde::Serialize;
use serde_json::Value;

use crate::plan::render::text_diff;

/// A service that stores targetings.
pub(in crate::sandbox) trait PageSource: Send + Sync {
    /// Returns all toggles, in any order.
    fn toggles(&self) -> Vec<ShownToggle>;

    /// Returns the newest versions of a toggle, at most `most`, oldest first; none for an unknown toggle.
    fn versions(&self, toggle: &str, most: usize) -> Vec<ShownVersion>;
}

/// A toggle in one environment.
pub(in crate::sandbox) struct ShownToggle {
    /// `project/environment/toggle`.
    pub(in crate::sandbox) id: String,
    pub(in crate::sandbox) changed: Timestamp,
    pub(in crate::sandbox) version_count: usize,
}

/// A targeting that was stored.
pub(in crate::sandbox) struct ShownVersion {
    pub(in crate::sandbox) number: u64,
    pub(in crate::sandbox) at: Timestamp,
    /// The account that published it, if the service knows it.
    pub(in crate::sandbox) author: Option<String>,
    pub(in crate::sandbox) comment: String,
    pub(in crate::sandbox) disabled: bool,
    pub(in crate::sandbox) content: Value,
}

impl ShownVersion {
    /// Returns the first line of the comment.
    pub(super) fn subject(&self) -> &str {
        match self.comment.lines().next() {
            Some(line) if !line.trim().is_empty() => line,
            _ => "(no comment)",
        }
    }

    /// Returns the targeting as JSON on several lines.
    pub(super) fn text(&self) -> String {
        #[derive(Serialize)]
        struct Shown<'a> {
            disabled: bool,
            content: &'a Value,
        }
        let shown = Shown {
            disabled: self.disabled,
            content: &self.content,
        };
        let text = serde_json::to_string_pretty(&shown);
        text.expect("a JSON value always has a JSON form") + "\n"
    }

    /// Returns the lines of a unified diff from `before`.
    pub(super) fn diff(&self, before: &Self) -> Vec<String> {
        text_diff(&before.text(), &self.text())
    }
}
