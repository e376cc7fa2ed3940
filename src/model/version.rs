//! One version of a toggle's document.

use serde::{Deserialize, Serialize};

use super::{ObjectId, Payload, ToggleId};

/// The extension of a document, which determines how it is parsed.
#[derive(Clone, Copy, Debug, Deserialize, Eq, Ord, PartialEq, PartialOrd, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// `.json`.
    Json,
    /// `.yaml`.
    Yaml,
    /// `.yml`.
    Yml,
}

impl Format {
    /// Every format. A toggle has one document, whichever its extension.
    pub const ALL: [Self; 3] = [Self::Json, Self::Yaml, Self::Yml];

    /// Returns the format of the file at `path`, if it is one of documents.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let (_, extension) = path.rsplit_once('.')?;
        Self::ALL.into_iter().find(|format| format.as_str() == extension)
    }

    /// Returns the extension without its dot: `json`, `yaml` or `yml`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Yaml => "yaml",
            Self::Yml => "yml",
        }
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
