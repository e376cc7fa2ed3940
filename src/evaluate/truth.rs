//! Three-valued results.

crate::model::words! {
    /// The reason why a result cannot be determined.
    Doubt {
        /// No time of evaluation is given.
        CurrentTime = "current-time",
        /// The bucket of a user without a key is random.
        NoKey = "no-key",
        /// An object of a `datetime` condition is not in the service's format.
        NotATime = "not-a-time",
        /// A segment, which the repository does not define.
        Segment = "segment",
        /// A type or predicate outside the vocabulary.
        Undocumented = "undocumented-condition",
        /// The result of a prerequisite cannot be determined.
        UnknownPrerequisite = "unknown-prerequisite",
        /// The toggle has no valid document in the repository.
        UnknownToggle = "unknown-toggle",
        /// The values are equal as numbers but not as text.
        UnsureEquality = "unsure-equality",
    }
}

impl Doubt {
    /// Returns the reason in words.
    #[must_use]
    pub fn reason(self) -> &'static str {
        match self {
            Self::CurrentTime => "the attribute is missing, so the current time decides, and none is given",
            Self::NoKey => "the user has no key, so the SDK picks a random bucket",
            Self::NotATime => "the service does not accept a time in this notation",
            Self::Segment => "the repository does not define the segment",
            Self::Undocumented => "this type or predicate is not documented",
            Self::UnknownPrerequisite => "the value of the prerequisite's toggle cannot be determined",
            Self::UnknownToggle => "the toggle has no valid document in the repository",
            Self::UnsureEquality => "the two numbers differ only in notation",
        }
    }
}

/// The truth of a condition or of a rule for one user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Truth {
    /// It does not match.
    False,
    /// It matches.
    True,
    /// It cannot be determined.
    Unknown(Doubt),
}

impl Truth {
    /// Returns whether both match, by Kleene's logic.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::Unknown(doubt), _) | (_, Self::Unknown(doubt)) => Self::Unknown(doubt),
            (Self::True, Self::True) => Self::True,
        }
    }
}

impl From<bool> for Truth {
    fn from(is_true: bool) -> Self {
        match is_true {
            false => Self::False,
            true => Self::True,
        }
    }
}

/// What a user gets if it is known.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Served {
    /// The default in the caller's code: the toggle has no variation for the user, or the SDKs do not get the toggle.
    CallerDefault,
    /// The variation with this index.
    Variation(u32),
}

/// The result of an evaluation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Verdict {
    /// The repository does not determine the result.
    CannotSay(Doubt),
    /// The user gets this.
    Known(Served),
}
