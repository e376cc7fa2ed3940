//! What is left alone, and why.

use std::sync::Arc;

use super::{Change, Rail, Undecided};
use crate::model::{SuspensionScope, ToggleId, ToggleState, WithheldReason};

/// A toggle that is deliberately left alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Held {
    /// The toggle.
    pub id: ToggleId,
    /// Why.
    pub reason: HoldReason,
    /// What it would be, were it not held. Not there for what is invalid.
    pub change: Option<Box<Change>>,
}

/// Why a toggle is left alone.
#[derive(Clone, Debug, PartialEq)]
pub enum HoldReason {
    /// Its whole environment is, with this reason.
    Environment(String),
    /// It failed while others were applied, like this. It is tried again after a while.
    FailedAlone(String),
    /// Nothing is applied in its environment, and nothing decides about the first pass.
    FirstPass(Arc<Undecided>),
    /// Its document is invalid.
    Invalid,
    /// Its environment is over a limit.
    Rail(Box<Rail>),
    /// The service refused it and said this; it is not tried again yet.
    Refused(String),
    /// Another document is invalid, and that stops everything.
    Stopped,
    /// Publishing is suspended.
    Suspended {
        /// The suspended part.
        scope: SuspensionScope,
        /// Why, in the operator's words.
        reason: Option<String>,
    },
    /// Its last outcome is unknown, and it cannot be sent again.
    Unknown(Kept),
}

/// Why an unknown toggle is not sent again.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Kept {
    /// Its document is invalid.
    Invalid,
    /// It is outside `--only`.
    OutsideScope,
}

impl HoldReason {
    /// Returns the state of the toggle.
    #[must_use]
    pub fn state(&self) -> ToggleState {
        match self {
            Self::Environment(_) | Self::FirstPass(_) | Self::Invalid | Self::Rail(_) | Self::Stopped => {
                ToggleState::Held
            }
            Self::FailedAlone(_) | Self::Refused(_) => ToggleState::Failed,
            Self::Suspended { .. } | Self::Unknown(_) => ToggleState::Pending,
        }
    }

    /// Returns the kind of reason.
    #[must_use]
    pub fn kind(&self) -> WithheldReason {
        match self {
            Self::Environment(_) => WithheldReason::Environment,
            Self::FailedAlone(_) => WithheldReason::FailedAlone,
            Self::FirstPass(_) => WithheldReason::FirstPass,
            Self::Invalid => WithheldReason::Invalid,
            Self::Rail(_) => WithheldReason::Rail,
            Self::Refused(_) => WithheldReason::Refused,
            Self::Stopped => WithheldReason::Stopped,
            Self::Suspended { .. } => WithheldReason::Suspended,
            Self::Unknown(_) => WithheldReason::Unknown,
        }
    }

    /// Returns whether a document is invalid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid | Self::Unknown(Kept::Invalid))
    }

    /// Returns whether it is what exit code 4 is about: somebody has to decide.
    pub(super) fn is_stop(&self) -> bool {
        matches!(
            self,
            Self::Environment(_) | Self::FirstPass(_) | Self::Rail(_) | Self::Suspended { .. }
        )
    }
}

impl std::fmt::Display for HoldReason {
    /// One line of harmless text.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        use crate::model::escaped;
        match self {
            Self::FailedAlone(reason) => {
                write!(f, "failed alone, tried again after a while: {}", escaped(reason))
            }
            Self::Environment(reason) => escaped(reason).fmt(f),
            Self::FirstPass(undecided) => undecided.fmt(f),
            Self::Invalid => f.write_str("the document is invalid; what was last applied stays"),
            Self::Rail(rail) => rail.fmt(f),
            Self::Refused(reason) => write!(f, "refused by the service: {}", escaped(reason)),
            Self::Stopped => {
                f.write_str("nothing is published while a document is invalid (`on_invalid: stop`)")
            }
            Self::Suspended { scope, reason } => {
                match scope.globs() {
                    None => f.write_str("publishing is suspended")?,
                    Some(globs) => write!(f, "publishing to `{}` is suspended", escaped(&globs))?,
                }
                match reason {
                    None => Ok(()),
                    Some(reason) => write!(f, ": {}", escaped(reason)),
                }
            }
            Self::Unknown(kept) => f.write_str(match kept {
                Kept::Invalid => {
                    "the outcome of the last publish is unknown, and the document is now invalid"
                }
                Kept::OutsideScope => {
                    "the outcome of the last publish is unknown, and the toggle is outside `--only`"
                }
            }),
        }
    }
}
