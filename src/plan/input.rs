//! What a plan is made of.

use std::collections::BTreeMap;

use super::decide::{Decided, Wanted};
use super::{HoldReason, Overrides};
use crate::document::Diagnostic;
use crate::model::{
    CommitId, EnvironmentId, Format, ObjectId, Payload, RequestDigest, Sent, Suspensions, ToggleId, Version,
};

/// Everything a plan depends on besides the policy.
#[derive(Clone, Debug)]
pub struct Input {
    /// Where the documents come from.
    pub source: SourceInfo,
    /// The service, where it is known.
    pub base_url: Option<String>,
    /// What was decided about the toggles whose object differs from what is applied, and the unknown ones; each toggle
    /// once.
    pub decided: Vec<Decided>,
    /// How many toggles are applied per environment; absent or 0 makes it a first pass.
    pub applied_counts: BTreeMap<EnvironmentId, usize>,
    /// Environments nothing may be done to, with the reason.
    pub environment_holds: BTreeMap<EnvironmentId, String>,
    /// Toggles that are not tried again yet.
    pub parked: BTreeMap<ToggleId, Parked>,
    /// What is suspended now.
    pub suspensions: Suspensions,
    /// What operators allowed for this revision.
    pub overrides: Overrides,
    /// What was found in the documents in scope.
    pub findings: Vec<Diagnostic>,
}

/// A request that is not tried again yet. Any other request for the toggle is new (DESIGN, section 6).
#[derive(Clone, Debug, PartialEq)]
pub struct Parked {
    /// The request.
    pub request: RequestDigest,
    /// Why: the service refused it, or it failed alone.
    pub reason: HoldReason,
}

impl Parked {
    /// Returns whether `wanted` is the request that is parked.
    pub(super) fn is_about(&self, wanted: &Wanted) -> bool {
        self.request == RequestDigest::new(wanted.action, &wanted.version.payload)
    }
}

/// Where the documents of a plan come from.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SourceInfo {
    /// The repository as it was given.
    pub repo: String,
    /// The resolved ref.
    pub reference: String,
    /// The commit.
    pub revision: CommitId,
    /// Whether its history is there.
    pub history: History,
}

/// How much history a source has.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub enum History {
    /// All of it.
    #[default]
    Complete,
    /// Not all of it: the clone is shallow or partial. Comments can be guesses.
    Cut,
}

/// One toggle where the repository and the state differ, or whose last outcome is unknown.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The toggle.
    pub id: ToggleId,
    /// What the repository asks for.
    pub desired: Desired,
    /// What is known to have been written.
    pub applied: Applied,
}

/// What the repository asks for.
#[derive(Clone, Debug)]
pub enum Desired {
    /// There is no file.
    Absent {
        /// Where it was.
        path: String,
    },
    /// A valid document.
    Document(Version),
    /// A file that is no valid document.
    Invalid {
        /// Its path under the root.
        path: String,
    },
}

/// What is known to have been written.
#[derive(Clone, Debug)]
pub enum Applied {
    /// A document.
    Document {
        /// Its blob.
        object: ObjectId,
        /// Its extension.
        format: Format,
        /// Its meaning.
        payload: Payload,
    },
    /// Nothing.
    Nothing,
    /// Something was sent, and what came of it is not known.
    Unknown {
        /// What was sent.
        sent: Sent,
    },
    /// A document that the rules of today cannot read.
    Unreadable {
        /// Its blob.
        object: ObjectId,
        /// Its extension.
        format: Format,
    },
}
