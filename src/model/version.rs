//! A version of a toggle's document.

use serde::Deserialize;

use super::{ObjectId, Payload, ToggleId};

super::words! {
    /// The extension of a document, which determines its parser. A toggle has one document in one of the formats.
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
    /// Returns the format of the file at `path`, if it has a document's extension.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        extension.parse().ok()
    }
}

/// A valid document and its path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version {
    /// The toggle.
    pub id: ToggleId,
    /// The path under the root.
    pub path: Box<str>,
    /// The extension.
    pub format: Format,
    /// The blob; for a `disable`, the applied one.
    pub object: ObjectId,
    /// The targeting; for a `disable`, the one that is sent.
    pub payload: Payload,
}
