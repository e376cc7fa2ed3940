//! Candidates: toggles whose documents differ between the repository and the state, or whose last outcome is unknown.

use crate::model::{Format, ObjectId, Payload, Sent, ToggleId, Version};

/// A toggle that a pass has to decide on.
#[derive(Clone, Debug)]
pub struct Candidate {
    pub id: ToggleId,
    /// The repository's side.
    pub desired: Desired,
    /// The state's side.
    pub applied: AppliedVersion,
}

/// What the repository contains for a toggle.
#[derive(Clone, Debug)]
pub enum Desired {
    /// No file.
    Absent {
        /// The path that the applied document had.
        path: String,
    },
    /// A valid document.
    Document(Version),
    /// No file, but a document whose id differs only in case.
    Renamed,
    /// A file that is not a valid document, or is not read.
    Invalid,
}

/// What the state records for a toggle.
#[derive(Clone, Debug)]
pub enum AppliedVersion {
    Document {
        /// Its blob.
        object: ObjectId,
        /// Its extension.
        format: Format,
        /// Its targeting.
        payload: Payload,
    },
    Nothing,
    /// A request whose outcome is unknown.
    Unknown {
        /// The request.
        sent: Box<Sent>,
        /// The targeting that was applied before it, if the current rules can read it.
        applied: Option<Box<Payload>>,
    },
    /// A document that the current rules cannot read.
    Unreadable,
}
