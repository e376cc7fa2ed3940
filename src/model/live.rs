//! The targeting of a toggle as the service reports it (DESIGN, section 8.2).

use super::{Payload, ReturnType};

/// What the service has for a toggle in one environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Live {
    /// The service has no such toggle.
    Missing {
        /// Whether changes in its environment need an approval.
        needs_approval: bool,
    },
    /// The toggle exists.
    Toggle(Box<LiveToggle>),
    /// The toggle exists, but without a targeting in this environment.
    Untargeted,
}

/// The live state of a toggle. What the service does not report is absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveToggle {
    /// The number of the live version. Never that of a draft.
    pub version: u64,
    /// The live targeting. Never that of a draft.
    pub content: LiveContent,
    /// The account that made this version.
    pub modified_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC. Only for display: the service's dates differ by a second.
    pub modified_at: Option<i64>,
    /// The change that awaits approval.
    pub draft: Option<LiveDraft>,
    pub is_archived: bool,
    /// Whether changes in this environment need an approval.
    pub needs_approval: bool,
    /// The type of its values.
    pub return_type: Option<ReturnType>,
}

/// A change on the service that awaits approval there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LiveDraft {
    /// The account that submitted it.
    pub submitted_by: Option<String>,
}

/// The targeting that the service has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveContent {
    /// A document cannot express it, for this reason.
    Inexpressible(String),
    /// The targeting.
    Known(Payload),
}

impl LiveContent {
    /// Returns the targeting, if a document can express it.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Inexpressible(_) => None,
            Self::Known(payload) => Some(payload),
        }
    }
}

/// One entry of a toggle's history on the service.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveVersion {
    /// The number.
    pub version: u64,
    /// The targeting.
    pub content: LiveContent,
    /// The comment of the publish.
    pub comment: String,
    /// The account that published it.
    pub created_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC.
    pub created_at: Option<i64>,
}
