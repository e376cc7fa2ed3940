//! What was asked of the service for one toggle, and what keeps gitoggle from asking.

use serde::{Deserialize, Serialize};

use super::{CommitId, ObjectId, Payload};

/// What a change does to a toggle.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Hash, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// Nothing of the toggle is applied yet.
    Create,
    /// Its file is gone and `on_remove: disable` says to switch it off.
    Disable,
    /// Something else is applied.
    Update,
}

impl Action {
    /// Returns the word for it: `create`, `disable` or `update`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Disable => "disable",
            Self::Update => "update",
        }
    }
}

/// One request as it is journalled before it is sent, complete enough to be sent again byte for byte.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sent {
    /// What it does.
    pub action: Action,
    /// The targeting asked for.
    pub payload: Payload,
    /// The comment, already cut.
    pub comment: String,
    /// The blob of the document it comes from.
    pub object: ObjectId,
    /// The document's extension: `yaml`, `yml` or `json`.
    pub format: String,
    /// The document's path under the root.
    pub path: String,
    /// The source revision it was planned at.
    pub revision: CommitId,
}

/// An order to write nothing for a while.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Suspension {
    /// Why, in the operator's words.
    pub reason: Option<String>,
    /// When it ends by itself, in seconds since 1970-01-01 UTC.
    pub until: Option<i64>,
}
