//! The difference between two environments of a repository, or between two states of one, toggle by toggle.

use serde::Serialize;

use super::change::diff;
use super::sentences;
use crate::model::{EnvironmentId, Payload};

/// The toggles of two environments that do not mean the same.
#[derive(Clone, Debug)]
pub struct EnvironmentDiff {
    pub before: EnvironmentId,
    pub after: EnvironmentId,
    /// The environment that a promotion copied documents from. `before` and `after` are its target then.
    pub copied_from: Option<EnvironmentId>,
    /// The toggles, sorted by key.
    pub toggles: Vec<ToggleDiff>,
    /// The numbers, as text: `1 different, 3 equal`.
    pub summary: String,
}

#[derive(Clone, Debug)]
pub struct ToggleDiff {
    pub toggle: String,
    /// The targeting before; none if there is no document.
    pub before: Option<Payload>,
    /// The targeting after; none if there is no document.
    pub after: Option<Payload>,
    /// Details beside the sign, such as the path of a new file; may be empty.
    pub remark: String,
}

impl ToggleDiff {
    /// Returns one sentence per difference.
    pub(crate) fn sentences(&self) -> Vec<String> {
        let before = self.before.as_ref().map(Payload::targeting);
        let after = self.after.as_ref().map(Payload::targeting);
        after.map_or_else(Vec::new, |after| sentences(before.as_ref(), &after))
    }

    /// Returns the lines of the diff of the documents.
    pub(crate) fn diff(&self) -> Vec<String> {
        diff(self.before.as_ref(), self.after.as_ref())
    }
}

impl EnvironmentDiff {
    /// Returns the difference, ready to serialize.
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
