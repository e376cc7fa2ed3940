//! Withheld toggles: held, failed or pending, and why.

use std::fmt;
use std::sync::Arc;

use super::{Change, LiveHold, Rail, Trailer};
use crate::model::{EnvironmentId, SuspensionScope, ToggleId, ToggleState, WithheldKind, escaped};

/// A toggle that the pass does not publish.
#[derive(Clone, Debug, PartialEq)]
pub struct WithheldToggle {
    /// The toggle.
    pub id: ToggleId,
    /// The reason.
    pub reason: WithheldReason,
    /// The change that would be published otherwise; `None` for an invalid document.
    pub change: Option<Box<Change>>,
}

impl WithheldToggle {
    pub(super) fn of(reason: WithheldReason, change: Change) -> Self {
        Self {
            id: change.id.clone(),
            reason,
            change: Some(Box::new(change)),
        }
    }
}

/// Why a toggle is withheld.
#[derive(Clone, Debug, PartialEq)]
pub enum WithheldReason {
    /// The whole environment is held, with this reason.
    Environment(String),
    /// The publish failed with this error while others succeeded. It is retried later.
    FailedAlone(String),
    /// Nothing is applied in the environment, and nothing decides on the first pass.
    FirstPass(Arc<Undecided>),
    /// The document is invalid.
    Invalid,
    /// The live state of the toggle does not permit a publish.
    Live(Box<LiveHold>),
    /// No review lists the change, which came from this pull request or commit.
    NotReviewed(String),
    /// The environment is over a limit.
    Rail(Box<Rail>),
    /// The service refused the request with this error; it is not retried yet.
    Refused(String),
    /// Another document is invalid, and `on_invalid: stop` holds everything.
    Stopped,
    /// Publishing is suspended.
    Suspended(Box<SuspensionHold>),
    /// The outcome of the last publish is unknown, and the request cannot be retried.
    Unknown(NotRetried),
}

/// An operator's suspension that holds a toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct SuspensionHold {
    /// The suspended part.
    pub scope: SuspensionScope,
    /// The operator's reason.
    pub reason: Option<String>,
}

impl fmt::Display for SuspensionHold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.scope.globs() {
            None => f.write_str("publishing is suspended")?,
            Some(globs) => write!(f, "publishing to `{}` is suspended", escaped(&globs))?,
        }
        match &self.reason {
            None => Ok(()),
            Some(reason) => write!(f, ": {}", escaped(reason)),
        }
    }
}

/// Why a request with an unknown outcome is not retried.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum NotRetried {
    /// The environment is adopted, and the document is another one than the request's.
    Adopted,
    /// The document is invalid now.
    Invalid,
    /// The toggle is outside `--only`.
    OutsideScope,
}

impl WithheldReason {
    /// Returns the state of the toggle.
    #[must_use]
    pub fn state(&self) -> ToggleState {
        match self {
            Self::Live(hold) => hold.state(),
            Self::Environment(_)
            | Self::FirstPass(_)
            | Self::Invalid
            | Self::NotReviewed(_)
            | Self::Rail(_)
            | Self::Stopped => ToggleState::Held,
            Self::FailedAlone(_) | Self::Refused(_) => ToggleState::Failed,
            Self::Suspended(_) | Self::Unknown(_) => ToggleState::Pending,
        }
    }

    /// Returns the kind of reason.
    #[must_use]
    pub fn kind(&self) -> WithheldKind {
        match self {
            Self::Environment(_) => WithheldKind::Environment,
            Self::FailedAlone(_) => WithheldKind::FailedAlone,
            Self::FirstPass(_) => WithheldKind::FirstPass,
            Self::Invalid => WithheldKind::Invalid,
            Self::Live(hold) => hold.kind(),
            Self::NotReviewed(_) => WithheldKind::NotReviewed,
            Self::Rail(_) => WithheldKind::Rail,
            Self::Refused(_) => WithheldKind::Refused,
            Self::Stopped => WithheldKind::Stopped,
            Self::Suspended(_) => WithheldKind::Suspended,
            Self::Unknown(_) => WithheldKind::Unknown,
        }
    }

    /// Returns the live version that the permission to overwrite drift concerns, if it releases the toggle.
    #[must_use]
    pub const fn live_version(&self) -> Option<u64> {
        match self {
            Self::Live(hold) => hold.live_version(),
            _ => None,
        }
    }

    /// Returns whether the toggle's document is invalid.
    #[must_use]
    pub fn is_invalid(&self) -> bool {
        matches!(self, Self::Invalid | Self::Unknown(NotRetried::Invalid))
    }

    /// Returns whether the change was not tried at this revision, neither on the service nor by reading its live state.
    pub(crate) fn is_untried(&self) -> bool {
        match self {
            Self::Environment(_)
            | Self::FailedAlone(_)
            | Self::FirstPass(_)
            | Self::NotReviewed(_)
            | Self::Rail(_)
            | Self::Stopped
            | Self::Suspended(_) => true,
            Self::Invalid | Self::Live(_) | Self::Refused(_) | Self::Unknown(_) => false,
        }
    }

    /// Returns whether an operator has to decide (exit code 4).
    pub(in crate::plan) fn needs_decision(&self) -> bool {
        // `Stopped` is not among them, because the invalid document behind it has its own exit code (3).
        matches!(
            self,
            Self::Environment(_)
                | Self::FirstPass(_)
                | Self::Live(_)
                | Self::NotReviewed(_)
                | Self::Rail(_)
                | Self::Suspended(_)
                | Self::Unknown(NotRetried::Adopted)
        )
    }
}

impl fmt::Display for WithheldReason {
    /// Formats the reason as one line, with foreign text escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::FailedAlone(reason) => {
                write!(f, "failed alone, tried again after a while: {}", escaped(reason))
            }
            Self::Environment(reason) => escaped(reason).fmt(f),
            Self::FirstPass(undecided) => undecided.fmt(f),
            Self::Invalid => f.write_str("the document is invalid; the last applied version stays"),
            Self::Live(hold) => hold.fmt(f),
            Self::NotReviewed(origin) => write!(
                f,
                "not reviewed: it came from {origin}; to publish it, review what `gitoggle plan -o json >plan.json` writes, \
                 then run `gitoggle apply --reviewed plan.json`"
            ),
            Self::Rail(rail) => rail.fmt(f),
            Self::Refused(reason) => write!(f, "refused by the service: {}", escaped(reason)),
            Self::Stopped => {
                f.write_str("nothing is published while a document is invalid (`on_invalid: stop`)")
            }
            Self::Suspended(hold) => hold.fmt(f),
            Self::Unknown(NotRetried::Adopted) => f.write_str(
                "the outcome of the last publish is unknown, so the service may have other targeting than the document; to \
                 publish the document, use `--first-pass assert`",
            ),
            Self::Unknown(NotRetried::Invalid) => {
                f.write_str("the outcome of the last publish is unknown, and the document is now invalid")
            }
            Self::Unknown(NotRetried::OutsideScope) => {
                f.write_str("the outcome of the last publish is unknown, and the toggle is outside `--only`")
            }
        }
    }
}

/// The key of the trailer that decides on a first pass.
pub const FIRST_PASS_TRAILER: &str = "Gitoggle-First-Pass";

/// A first pass without a decision. Its text lists the ways to decide.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Undecided {
    /// The environment, in which nothing is applied.
    pub environment: EnvironmentId,
    /// Whether a commit's trailer can decide.
    pub trailer: Trailer,
    /// Whether the trailers of commits contradict each other.
    pub dispute: Dispute,
}

/// Whether the trailers of commits contradict each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dispute {
    /// No commit has the trailer.
    None,
    /// Commits request both `assert` and `adopt`.
    Trailers,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            environment,
            trailer,
            dispute,
        } = self;
        f.write_str("nothing is applied here yet")?;
        if *dispute == Dispute::Trailers {
            write!(
                f,
                ", and commits ask for both `{FIRST_PASS_TRAILER}: assert` and `adopt`"
            )?;
        }
        f.write_str(
            ": `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; \
             to decide for this environment only, ",
        )?;
        if *trailer == Trailer::Allowed {
            write!(
                f,
                "put the trailer `{FIRST_PASS_TRAILER}: assert` or `adopt` on a commit, or "
            )?;
        }
        write!(
            f,
            "run `gitoggle allow first-pass-assert {environment}` or `first-pass-adopt` for a running daemon"
        )
    }
}
