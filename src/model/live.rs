//! What the service has for a toggle.

use super::{Payload, ReturnType, ToggleId};

/// What the service has for a toggle in one environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Live {
    /// The service has no such toggle.
    Missing {
        /// Whether changes in its environment need an approval.
        needs_approval: bool,
    },
    Toggle(Box<LiveToggle>),
    /// The toggle exists, but without a targeting in this environment.
    Untargeted,
}

/// The live state of a toggle. What the service does not report is absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct LiveToggle {
    pub id: ToggleId,
    /// The number of the live version. Never that of a draft.
    pub version: u64,
    /// The live targeting. Never that of a draft.
    pub content: LiveContent,
    /// The account that made this version.
    pub modified_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC. Only for display: the service's dates differ by a
    /// second.
    pub modified_at: Option<i64>,
    /// The change that awaits approval.
    pub draft: Option<LiveDraft>,
    pub is_archived: bool,
    /// Whether changes in this environment need an approval.
    pub needs_approval: bool,
    pub return_type: Option<ReturnType>,
    /// The versions that replaced what was applied, oldest first; empty if they were not read.
    pub events: Vec<LiveVersion>,
}

impl LiveToggle {
    /// The number of versions to read if it is not known which one was applied.
    const MOST_UNKNOWN: u64 = 50;

    /// Returns the number of the first version to read for [`LiveToggle::add_events`].
    pub(crate) fn first_event(&self, applied: Option<u64>) -> u64 {
        let unknown = self.version.saturating_sub(Self::MOST_UNKNOWN);
        applied.unwrap_or(unknown).min(self.version.saturating_sub(1)) + 1
    }

    /// Adds the events since this targeting was `applied`, as version `number`, as far as they are known.
    /// `versions` are those from [`LiveToggle::first_event`] on, newest first.
    pub(crate) fn add_events(
        &mut self,
        versions: &[LiveVersion],
        number: Option<u64>,
        applied: Option<&Payload>,
    ) {
        let newest = versions.partition_point(|version| version.version > self.version);
        let versions = &versions[newest..];
        let is_applied = |version: &LiveVersion| match number {
            Some(number) => version.version <= number,
            None => applied.is_some() && version.content.payload() == applied,
        };
        let count = match versions.iter().position(is_applied) {
            Some(count) => count,
            None if number.is_some() => versions.len(),
            // Which version was applied is unknown, so only the last one is certainly newer.
            None => versions.len().min(1),
        };
        self.events = versions[..count].iter().rev().cloned().collect();
    }
}

/// A change on the service that awaits approval there.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct LiveDraft {
    pub submitted_by: Option<String>,
}

/// The targeting that the service has.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveContent {
    /// A document cannot express it, for this reason.
    Inexpressible(String),
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
    pub version: u64,
    pub content: LiveContent,
    pub comment: String,
    /// The account that published it.
    pub created_by: Option<String>,
    /// When it did, in seconds since 1970-01-01 UTC.
    pub created_at: Option<i64>,
}

impl LiveVersion {
    /// Returns the comment without white space around it, unless it is blank.
    pub(crate) fn shown_comment(&self) -> Option<&str> {
        Some(self.comment.trim()).filter(|comment| !comment.is_empty())
    }
}
