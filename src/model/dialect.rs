//! The kinds of services, and what each can do beyond the documented endpoint: a constant for each.
//!
//! Callers ask for an ability or a limit, never which kind of service it is. How a service is asked is a row in
//! `service/kind`.

super::words! {
    /// The kind of service, which determines the features that gitoggle relies on.
    #[derive(Default)]
    ServiceKind {
        /// Any service with the documented endpoint.
        #[default]
        Documented = "documented",
        /// FeatureProbe, whose types of conditions are known.
        FeatureProbe = "featureprobe",
    }
}

/// A kind of service, as far as it is known.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Dialect {
    pub can: Abilities,
    /// What the service refuses or breaks on; none if no limit is known.
    pub limits: Option<ServiceLimits>,
}

/// What a kind of service can do.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Abilities {
    /// Toggles can be read: what they serve, their versions, drafts and approvals.
    pub read_live: bool,
    /// Documents refer to other toggles and to segments, which have to exist.
    pub refer: bool,
    /// A serve can be a `split`, which shares the users out between several variations.
    pub split: bool,
    /// A condition can compare with `between`, and has the fields of it.
    pub between: bool,
    /// A toggle that was never configured is disabled and has no default serve.
    pub unconfigured: bool,
    /// The SDKs of FeatureProbe evaluate the documents. Then an unknown word in a condition is an error, what a
    /// condition compares with is checked as they parse it, and findings say what users would see.
    pub evaluate: bool,
}

impl Dialect {
    /// Returns the most steps from one toggle to the next in a chain of prerequisites.
    pub(crate) fn longest_chain(&self) -> usize {
        self.limits.map_or(usize::MAX, |limits| limits.chain)
    }
}

/// The limits of a kind of service.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct ServiceLimits {
    /// In characters.
    pub comment: usize,
    /// In characters.
    pub variation_name: usize,
    /// In bytes.
    pub variation_value: usize,
    /// The bytes of the content as sent.
    pub content: usize,
    /// The steps from one toggle to the next in a chain of prerequisites.
    pub chain: usize,
}

/// Any service with the documented endpoint, which only stores.
const DOCUMENTED: Dialect = Dialect {
    can: Abilities {
        read_live: false,
        refer: false,
        split: false,
        between: false,
        unconfigured: false,
        evaluate: false,
    },
    limits: None,
};

/// FeatureProbe (src/service/featureprobe.md).
const FEATURE_PROBE: Dialect = Dialect {
    can: Abilities {
        read_live: true,
        refer: true,
        split: true,
        between: true,
        unconfigured: true,
        evaluate: true,
    },
    limits: Some(ServiceLimits {
        // It responds to a longer comment with a 500, which looks like an outage.
        comment: 1024,
        variation_name: 128,
        variation_value: 65_535,
        content: 1024 * 1024,
        chain: 19,
    }),
};

impl ServiceKind {
    /// Returns what is known about services of this kind.
    pub const fn dialect(self) -> &'static Dialect {
        match self {
            Self::Documented => &DOCUMENTED,
            Self::FeatureProbe => &FEATURE_PROBE,
        }
    }

    /// Returns the words of the kinds with an ability, as a message names them after the name of the setting.
    pub fn words_with(has: impl Fn(Abilities) -> bool) -> String {
        let kinds = Self::ALL.into_iter().filter(|kind| has(kind.can()));
        kinds.map(Self::as_str).collect::<Vec<_>>().join("|")
    }

    /// Returns what services of this kind can do.
    pub const fn can(self) -> Abilities {
        self.dialect().can
    }
}
