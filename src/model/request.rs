//! A request as it is journaled and sent, the digests that identify it, and how it can end.

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

use super::{CommitId, Format, ObjectId, Payload, hex};

super::words! {
    /// The effect of a change on a toggle.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Action {
        /// The document is recorded as applied if the service has the same targeting, and held if not. Never
        /// sent.
        Adopt = "adopt",
        /// The toggle is not applied yet.
        Create = "create",
        /// Its file was removed, and `on_remove: disable` applies.
        Disable = "disable",
        /// Other targeting is applied.
        Update = "update",
    }

    /// Details of a request besides its action, for the deployment history.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    SentNote {
        /// Nothing was sent, because the service had the targeting already.
        Converged = "converged",
        /// The service had other targeting than what was last applied.
        Overwrites = "overwrites",
    }
}

/// A request as it is journaled before it is sent, complete enough to repeat it byte for byte.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct Sent {
    pub action: Action,
    /// The desired targeting.
    #[serde(serialize_with = "unparsed")]
    pub payload: Payload,
    /// The comment, within the length limit.
    pub comment: String,
    /// The blob of the document.
    pub object: ObjectId,
    /// The document's extension.
    pub format: Format,
    /// The document's path under the root.
    pub path: String,
    /// The source revision of the plan.
    pub revision: CommitId,
    /// The live version that the request replaces, if the service compares it (src/pass/README.md, "Reading
    /// before a publish").
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub base_version: Option<u64>,
    /// Details for the deployment history besides the action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<SentNote>,
    /// The requests with an unknown outcome that this one replaced, oldest first. The service may have stored
    /// each of them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<TargetingDigest>,
    /// Whether another process has recorded the outcome of a later request. Only a delayed execution can then
    /// have stored this one on top of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overtaken: bool,
    /// The revision at which the first pass of the environment was asserted, if the request belongs to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asserted: Option<CommitId>,
    /// Whether the rails let the change through without a permission of the run, so that it does not count
    /// again.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub passed: bool,
    /// The mark of the announcement that listed the request, unless it is known to have started. Only the
    /// process with this mark can know that it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub announced: Option<String>,
}

fn unparsed<S: serde::Serializer>(payload: &Payload, serializer: S) -> Result<S::Ok, S::Error> {
    // The payload is JSON already, and parsing it again for each journaled request would take long.
    let raw = RawValue::from_string(payload.json().to_owned()).map_err(serde::ser::Error::custom)?;
    raw.serialize(serializer)
}

/// The number of replaced requests that a request remembers.
const MOST_EARLIER: usize = 16;

impl Sent {
    /// Returns [`Sent::earlier`] of a request with `next` that replaces this one.
    pub(crate) fn earlier_than(&self, next: &Payload) -> Vec<TargetingDigest> {
        let mut earlier = self.earlier.clone();
        let digest = TargetingDigest::new(&self.payload);
        if self.payload != *next && !earlier.contains(&digest) {
            earlier.push(digest);
        }
        let excess = earlier.len().saturating_sub(MOST_EARLIER);
        drop(earlier.drain(..excess));
        earlier
    }

    /// Adds what `other` may have stored, whose place this request takes on a list of unknown requests.
    pub(crate) fn remember(&mut self, other: &Self) {
        let mut earlier = other.earlier_than(&self.payload);
        earlier.retain(|digest| !self.earlier.contains(digest));
        self.earlier.splice(..0, earlier);
        let excess = self.earlier.len().saturating_sub(MOST_EARLIER);
        drop(self.earlier.drain(..excess));
    }

    /// Returns whether the service may have `live` because of this request or one that it replaced.
    pub(crate) fn may_have_stored(&self, live: &Payload) -> bool {
        self.payload == *live || self.earlier.contains(&TargetingDigest::new(live))
    }
}

/// The SHA-256 of targeting, in hexadecimal digits.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct TargetingDigest(String);

impl TargetingDigest {
    /// Returns the digest of `payload`.
    pub(crate) fn new(payload: &Payload) -> Self {
        Self(hex(&Sha256::digest(payload.json())))
    }
}

/// The SHA-256 of an action and its targeting, in hexadecimal digits. Identifies a request for a toggle. The
/// comment is not part of it.
#[derive(Clone, Debug, Default, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct RequestDigest(String);

impl RequestDigest {
    pub(crate) fn new(action: Action, payload: &Payload) -> Self {
        let mut hash = Sha256::new();
        // A refused update must not also park the disable that replaces it. A create sends the same as an
        // update.
        let is_disable = action == Action::Disable;
        hash.update(if is_disable { "disable" } else { "publish" });
        hash.update([0]);
        hash.update(payload.json());
        Self(hex(&hash.finalize()))
    }
}

/// What is known about whether the service stored a request.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub enum Certainty {
    /// It did not.
    // The words are those of journals on disk, so they stay when a variant is renamed.
    #[serde(rename = "not_applied")]
    NotStored,
    /// It did.
    #[serde(rename = "applied")]
    Stored,
    /// Either is possible: the toggle is unknown.
    #[serde(rename = "unknown")]
    Unknown,
}

super::words! {
    /// How a request ended.
    OutcomeKind {
        /// The service confirmed the request.
        Applied = "applied",
        /// The service was overloaded or unreachable.
        Busy = "busy",
        /// The token has no permission to change the toggle.
        Forbidden = "forbidden",
        /// The request was sent, and no response arrived.
        Lost = "lost",
        /// The response does not come from the service.
        Misrouted = "misrouted",
        /// The service refused the request.
        Refused = "refused",
        /// The service rejected the token.
        Unauthorized = "unauthorized",
        /// The server's certificate is not valid.
        Untrusted = "untrusted",
    }
}
