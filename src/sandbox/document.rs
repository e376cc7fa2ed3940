//! The documents that were stored.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::body::Accepted;
use crate::model::ToggleId;

/// A document, which is also one line of the history file.
#[derive(Debug, Deserialize, Serialize)]
pub(super) struct StoredDocument {
    /// Its number, from 0, in order of storing.
    pub(super) seq: usize,
    pub(super) toggle: ToggleId,
    /// The number of documents that were stored for this toggle, this one included.
    pub(super) version: u64,
    #[serde(with = "as_text")]
    pub(super) at: Timestamp,
    #[serde(flatten)]
    pub(super) body: Accepted,
}

mod as_text {
    use jiff::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(at: &Timestamp, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(at)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map_err(D::Error::custom)
    }
}
