//! Orphans: toggles that are applied and whose file is gone, and why the plan only lists them.

use super::guesses::FETCH_ALL;
use crate::model::ToggleId;

/// A toggle that is applied and whose file is gone.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Orphan {
    /// The toggle.
    pub id: ToggleId,
    /// Where its file was.
    pub path: String,
    /// Why it is only listed.
    pub reason: OrphanReason,
    /// Whether the outcome of its last publish is known.
    pub outcome: LastOutcome,
}

impl Orphan {
    /// Returns why it is only listed, with what is not known about it, as one line of harmless text.
    #[must_use]
    pub fn explanation(&self) -> String {
        match self.outcome {
            LastOutcome::Known => self.reason.to_string(),
            LastOutcome::Unknown => format!("{}; the outcome of its last publish is unknown", self.reason),
        }
    }
}

/// Whether the outcome of the last publish of a toggle is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum LastOutcome {
    /// The service confirmed or refused it.
    Known,
    /// It was sent, and the service may or may not have it.
    Unknown,
}

/// Why an orphan is only listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrphanReason {
    /// It should be disabled, but part of the source's history is missing, and the rest does not hold what was applied.
    HistoryCut,
    /// `--on-remove keep` says so.
    Keep,
    /// It should be disabled, but the source's history does not hold what was applied.
    NotInHistory,
    /// It should be disabled, but what was applied can no longer be read.
    Unreadable,
}

impl std::fmt::Display for OrphanReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::HistoryCut => write!(
                f,
                "not disabled: the history is cut, and no commit that is there has what was applied at this path; {FETCH_ALL}"
            ),
            Self::Keep => f.write_str("the file is gone; `--on-remove keep` leaves the toggle as it is"),
            Self::NotInHistory => {
                f.write_str("not disabled: what was applied is not in the history of the source at this path")
            }
            Self::Unreadable => f.write_str("not disabled: what was applied can no longer be read"),
        }
    }
}
