//! A valid document: where it is, and what it says.

use serde::Deserialize;

use super::{ObjectId, Payload, ToggleId};

super::words! {
    /// The extension of a document.
    #[derive(Deserialize)]
    #[serde(rename_all = "lowercase")]
    Format {
        /// `.json`: only in what earlier versions recorded.
        Json = "json",
        /// `.yaml`.
        Yaml = "yaml",
        /// `.yml`.
        Yml = "yml",
    }
}

/// A valid document and its path.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Version {
    pub id: ToggleId,
    /// The path under the root.
    pub path: Box<str>,
    pub format: Format,
    /// The blob; for a `disable`, the applied one.
    pub object: ObjectId,
    /// The targeting; for a `disable`, the one that is sent.
    pub payload: Payload,
}
