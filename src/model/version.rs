//! One version of a toggle's document.

use serde::Deserialize;

use super::{ObjectId, Payload, ToggleId};

super::words! {
    /// The extension of a document, which determines how it is parsed. A toggle has one document, whichever it is.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Format {
        /// `.json`.
        Json = "json",
        /// `.yaml`.
        Yaml = "yaml",
        /// `.yml`.
        Yml = "yml",
    }
}

impl Format {
    /// Returns the format of the file at `path`, if it is one of documents.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        extension.parse().ok()
    }
}

/// A valid document and its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version {
    /// The toggle.
    pub id: ToggleId,
    /// The path under the root.
    pub path: String,
    /// The extension.
    pub format: Format,
    /// The blob; of a `disable`, the one that was applied.
    pub object: ObjectId,
    /// The targeting; of a `disable`, the one that is sent.
    pub payload: Payload,
}
