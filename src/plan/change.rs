//! Changes: what a pass publishes, what that replaces, and edits of the state that need no publish.

use super::{LiveChange, ReplacedFile};
use crate::model::{Action, Attribution, LiveContent, Payload, RequestDigest, Sent, ToggleId, Version};

/// One publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The targeting that is sent and the document that it comes from.
    pub version: Version,
    /// The kind of change.
    pub action: Action,
    /// The targeting that it replaces.
    pub before: Before,
    /// The commit that the change is attributed to.
    pub attribution: Attribution,
    /// The maximum length of the comment, in Unicode scalar values.
    pub comment_max_chars: u32,
    /// Whether this repeats a request with an unknown outcome.
    pub attempt: PublishAttempt,
    /// Whether it may replace a change that someone else made on the service.
    pub overwrite: Overwrite,
    /// What it replaces besides the targeting, as far as that is known. Boxed, because a plan can have a million changes.
    pub replaces: Option<Box<Replaced>>,
    /// Whether the rails let this version through, now or in an earlier pass, without a permission of the run.
    pub passed: bool,
}

impl std::ops::Deref for Change {
    type Target = Version;

    fn deref(&self) -> &Version {
        &self.version
    }
}

impl Change {
    /// Returns what it replaces that someone changed on the service; none if nothing is known to be replaced.
    pub fn overwrites(&self) -> Option<&LiveChange> {
        self.replaces.as_ref()?.live.as_ref()
    }

    /// Returns the attribution; none of an adoption, which is recorded without a comment, so that its commit is not
    /// looked up.
    pub fn known_attribution(&self) -> Option<&Attribution> {
        (self.action != Action::Adopt).then_some(&self.attribution)
    }

    /// Returns the comment, within the length limit.
    pub fn comment(&self) -> String {
        let max = usize::try_from(self.comment_max_chars).unwrap_or(usize::MAX);
        match (&self.before, self.attempt, self.action) {
            // A retry repeats the journaled comment, so that the service cannot end up with a third version.
            (Before::Unknown { sent, .. }, PublishAttempt::Retry, _) => sent.comment.clone(),
            (.., Action::Disable) => removal_comment(&self.attribution, max),
            (.., Action::Adopt | Action::Create | Action::Update) => self.attribution.comment(max),
        }
    }

    /// Returns whether the rails have nothing to say about the change: it repeats a request that has started, or they let it
    /// through at this version before.
    pub(super) fn is_let_through(&self) -> bool {
        let has_started = match &self.before {
            Before::Unknown { sent, .. } => sent.announced.is_none() && self.attempt == PublishAttempt::Retry,
            _ => false,
        };
        has_started || self.passed
    }

    /// Returns whether it does nothing but disable the toggle.
    pub(super) fn only_switches_off(&self) -> bool {
        let applied = match &self.before {
            Before::Unknown { applied, .. } => applied.as_deref(),
            _ => None,
        };
        let before = [self.before.payload(), applied].into_iter().flatten();
        self.payload.is_disabled() && before.map(Payload::disabled).any(|before| before == self.payload)
    }

    /// Returns the digest of the request.
    pub fn request(&self) -> RequestDigest {
        RequestDigest::new(self.action, &self.payload)
    }
}

/// What a change replaces besides the targeting.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Replaced {
    /// What someone changed on the service, as last read.
    pub live: Option<LiveChange>,
    /// The document's file, in the same format and with another targeting.
    pub file: Option<ReplacedFile>,
}

/// The targeting that a change replaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Before {
    /// The applied targeting.
    Applied(Payload),
    /// Nothing: the change creates the toggle.
    Nothing,
    /// The live targeting of a drifted toggle, whose document is published again.
    Live(Payload),
    /// The targeting of the last request, whose outcome is unknown.
    Unknown {
        /// The request.
        sent: Box<Sent>,
        /// What was applied before it, if that is known. Boxed, because a plan can have a million changes, few of them
        /// with an unknown outcome.
        applied: Option<Box<Payload>>,
    },
    /// An applied document that the current rules cannot read.
    Unreadable,
}

impl Before {
    /// Returns the live targeting of a drifted toggle, whose document is published again.
    pub fn of_live(content: &LiveContent) -> Self {
        content.payload().cloned().map_or(Self::Unreadable, Self::Live)
    }

    /// Returns the targeting that was last applied or sent, if it is readable.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Applied(payload) | Self::Live(payload) => Some(payload),
            Self::Unknown { sent, .. } => Some(&sent.payload),
            Self::Nothing | Self::Unreadable => None,
        }
    }
}

/// Whether a change repeats a request with an unknown outcome.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum PublishAttempt {
    /// A new request.
    First,
    /// The same body and comment as the request with the unknown outcome.
    Retry,
}

/// Whether a change may replace what someone else changed on the service (DESIGN, section 8.4).
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overwrite {
    /// The settings, an operator or a trailer allow it.
    Allowed,
    /// The first pass of its environment is asserted.
    Asserted,
    /// The change is held instead.
    Held,
}

impl Overwrite {
    /// Returns whether the change may be published.
    pub fn is_allowed(self) -> bool {
        self != Self::Held
    }
}

/// A change of the state without a publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StateEdit {
    /// Record a document as applied because of `--first-pass adopt`.
    Adopt(Version),
    /// Record a document that the service has already.
    Converged(Version),
    /// Drop the toggle.
    Forget {
        /// The toggle.
        id: ToggleId,
    },
    /// Record a document that means the same as the applied one.
    SameMeaning(Version),
}

impl StateEdit {
    /// Returns the toggle.
    pub fn id(&self) -> &ToggleId {
        match self {
            Self::Adopt(version) | Self::Converged(version) | Self::SameMeaning(version) => &version.id,
            Self::Forget { id } => id,
        }
    }
}

/// Compares the environments of two toggles without allocating.
pub(super) fn same_environment(a: &ToggleId, b: &ToggleId) -> bool {
    (a.project(), a.environment_key()) == (b.project(), b.environment_key())
}

/// Returns the removing commit's message and ` (file removed)`, together within `max` characters.
fn removal_comment(attribution: &Attribution, max: usize) -> String {
    const SUFFIX: &str = " (file removed)";
    match max.checked_sub(SUFFIX.len()) {
        // With a limit this small, the message matters more than the suffix.
        Some(rest) if rest > 0 => attribution.comment(rest) + SUFFIX,
        _ => attribution.comment(max),
    }
}
