//! What was asked of the service for one toggle.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::text::hex;
use super::{CommitId, Format, ObjectId, Payload};

super::words! {
    /// What a change does to a toggle.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Action {
        /// Nothing of the toggle is applied yet.
        Create = "create",
        /// Its file is gone and `on_remove: disable` says to switch it off.
        Disable = "disable",
        /// Something else is applied.
        Update = "update",
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
    /// The document's extension.
    pub format: Format,
    /// The document's path under the root.
    pub path: String,
    /// The source revision it was planned at.
    pub revision: CommitId,
}

/// The SHA-256 of an action and the targeting it sends, in hexadecimal digits. Distinguishes one request for a toggle
/// from any other. The comment is not part of it.
#[derive(Clone, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct RequestDigest(String);

impl RequestDigest {
    /// Returns the digest of a request.
    #[must_use]
    pub fn new(action: Action, payload: &Payload) -> Self {
        let mut hash = Sha256::new();
        hash.update(action.as_str());
        hash.update([0]);
        hash.update(payload.as_json());
        Self(hex(&hash.finalize()))
    }
}

/// What is known about whether the service stored a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Certainty {
    /// It did not.
    #[serde(rename = "not_applied")]
    NotStored,
    /// It did.
    #[serde(rename = "applied")]
    Stored,
    /// Either is possible: the toggle is unknown.
    #[serde(rename = "unknown")]
    Unknown,
}
