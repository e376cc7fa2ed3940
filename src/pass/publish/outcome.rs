//! The outcomes of one publish, as the metrics count them: a closed set of label values.

/// How one publish ended.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum PublishOutcome {
    /// The service confirmed it.
    Applied,
    /// The service had no time for it, or could not be reached.
    Busy,
    /// The token may not change the toggle.
    Forbidden,
    /// The request left and no answer came.
    Lost,
    /// Something answered that is not the service.
    Misrouted,
    /// The service refused the request.
    Refused,
    /// The service did not accept the token.
    Unauthorised,
    /// The server's certificate does not verify.
    Untrusted,
}

impl PublishOutcome {
    /// All outcomes.
    pub const ALL: [Self; 8] = [
        Self::Applied,
        Self::Busy,
        Self::Forbidden,
        Self::Lost,
        Self::Misrouted,
        Self::Refused,
        Self::Unauthorised,
        Self::Untrusted,
    ];

    /// Returns the word for it, as in the metric's label.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Applied => "applied",
            Self::Busy => "busy",
            Self::Forbidden => "forbidden",
            Self::Lost => "lost",
            Self::Misrouted => "misrouted",
            Self::Refused => "refused",
            Self::Unauthorised => "unauthorised",
            Self::Untrusted => "untrusted",
        }
    }
}
