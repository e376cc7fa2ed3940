//! Orphans: applied toggles whose file was removed and that the plan only lists.

use super::{Before, FETCH_ALL};
use crate::model::{HistoryEvidence, ObjectId, ToggleId};

/// An applied toggle whose file was removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Orphan {
    pub id: ToggleId,
    /// The path that its file had.
    pub path: String,
    /// Why it is only listed.
    pub reason: OrphanReason,
    /// Whether the outcome of its last publish is known.
    pub outcome: LastOutcome,
    /// The blob that is applied, if it is known.
    pub object: Option<ObjectId>,
    /// The new toggle whose document is the removed file.
    pub renamed_to: Option<ToggleId>,
}

impl Orphan {
    /// Returns the reason, and whether the last outcome is unknown, as one line of escaped text.
    pub fn explanation(&self) -> String {
        let reason = match &self.renamed_to {
            Some(id) => format!(
                "{}; the file was renamed to that of `{id}`, which is a new toggle, and the old one keeps serving",
                self.reason
            ),
            None => self.reason.to_string(),
        };
        match self.outcome {
            LastOutcome::Known => reason,
            LastOutcome::Unknown => format!("{reason}; the outcome of its last publish is unknown"),
        }
    }
}

/// Whether the outcome of the last publish of a toggle is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LastOutcome {
    /// The service confirmed or refused it.
    Known,
    /// A request was sent, and the service may or may not have applied it.
    Unknown,
}

impl LastOutcome {
    pub(super) fn of(before: &Before) -> Self {
        match before {
            Before::Unknown { .. } => Self::Unknown,
            Before::Applied(_) | Before::Live(_) | Before::Nothing | Before::Unreadable => Self::Known,
        }
    }
}

/// Why an orphan is only listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrphanReason {
    /// `--on-remove disable`, but part of the source's history is missing, and the rest does not contain the applied
    /// document.
    HistoryCut,
    /// `--on-remove keep`.
    Keep,
    /// `--on-remove disable`, but the source's history does not contain the applied document.
    NotInHistory,
    /// `--on-remove disable`, but the applied document can no longer be read.
    Unreadable,
    /// `--on-remove disable`, but the document at the older of two revisions cannot be read. What is applied is unknown.
    UnreadableBase,
}

impl OrphanReason {
    /// Returns the reason why an orphan is not disabled, unless the history contains the applied document.
    pub(super) fn of(evidence: Option<&HistoryEvidence>) -> Option<Self> {
        match evidence {
            Some(HistoryEvidence::Found) => None,
            Some(HistoryEvidence::Unknown) => Some(Self::HistoryCut),
            Some(HistoryEvidence::Nowhere) | None => Some(Self::NotInHistory),
        }
    }
}

impl std::fmt::Display for OrphanReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::HistoryCut => write!(
                f,
                "not disabled: the history is cut, and no available commit contains the applied document at this path; {FETCH_ALL}"
            ),
            Self::Keep => f.write_str("the file was removed; `--on-remove keep` leaves the toggle as it is"),
            Self::NotInHistory => f.write_str(
                "not disabled: the history of the source does not contain the applied document at this path",
            ),
            Self::Unreadable => f.write_str("not disabled: the applied document can no longer be read"),
            Self::UnreadableBase => f.write_str(
                "the document at the older revision cannot be read: `apply` disables the toggle if an earlier version of \
                 the document is applied",
            ),
        }
    }
}
