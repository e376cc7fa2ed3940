//! What each kind of service can do beyond the documented endpoint: a constant for each.
//!
//! Callers ask for an ability, never which kind of service it is.

use super::ServiceKind;

/// A kind of service, as far as it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialect {
    pub can: Abilities,
    /// The length of the longest comment that it stores, in characters; none if no limit is known.
    pub longest_comment: Option<usize>,
}

/// What a kind of service can do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Abilities {
    /// Toggles can be read: what they serve, their versions, drafts and approvals.
    pub read_live: bool,
    /// Documents refer to other toggles and to segments, which have to exist.
    pub refer: bool,
}

/// Any service with the documented endpoint, which only stores.
const DOCUMENTED: Dialect =
    Dialect { can: Abilities { read_live: false, refer: false }, longest_comment: None };

const FEATURE_PROBE: Dialect = Dialect {
    can: Abilities { read_live: true, refer: true },
    // It responds to a longer comment with a 500, which looks like an outage.
    longest_comment: Some(1024),
};

impl ServiceKind {
    /// Returns what is known about services of this kind.
    pub const fn dialect(self) -> &'static Dialect {
        match self {
            Self::Documented => &DOCUMENTED,
            Self::FeatureProbe => &FEATURE_PROBE,
        }
    }

    /// Returns what services of this kind can do.
    pub const fn can(self) -> Abilities {
        self.dialect().can
    }
}
