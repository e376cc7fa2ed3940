//! The SDKs that evaluate toggles in a team's services.

use std::fmt;
use std::str::FromStr;

super::words! {
    /// An SDK of FeatureProbe.
    Sdk {
        /// The Go SDK.
        Go = "go",
        /// The Java SDK.
        Java = "java",
        /// The Node SDK.
        Node = "node",
        /// The Python SDK.
        Python = "python",
        /// The Rust SDK.
        Rust = "rust",
    }
}

impl Sdk {
    /// Returns the name of its language.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Go => "Go",
            Self::Java => "Java",
            Self::Node => "Node",
            Self::Python => "Python",
            Self::Rust => "Rust",
        }
    }

    /// Returns its name with the version whose rules `evaluate` follows.
    pub(crate) fn versioned(self) -> &'static str {
        match self {
            Self::Go => "the Go SDK 2.3",
            Self::Java => "the Java SDK 2.3",
            Self::Node => "the Node SDK 2.2",
            Self::Python => "the Python SDK 2.2",
            Self::Rust => "the Rust SDK 2.3",
        }
    }
}

/// The SDKs that a team uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sdks {
    /// A bit for each.
    used: u8,
    first: Sdk,
}

impl Sdks {
    pub(crate) const ALL: Self = Self { used: 0b1_1111, first: Sdk::Rust };
    /// For a document whose findings nobody reads.
    pub(crate) const NONE: Self = Self { used: 0, first: Sdk::Rust };

    pub(crate) fn has(self, sdk: Sdk) -> bool {
        self.used & (1 << sdk as u8) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.used == 0
    }

    pub(crate) fn is_all(self) -> bool {
        self.used == Self::ALL.used
    }

    /// Returns the one that is named first.
    pub(crate) fn first(self) -> Sdk {
        self.first
    }
}

impl Default for Sdks {
    fn default() -> Self {
        Self::ALL
    }
}

impl fmt::Display for Sdks {
    /// Writes the names as [`Sdks::from_str`] reads them, the first one first.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.first.as_str())?;
        let others = Sdk::ALL.into_iter().filter(|sdk| self.has(*sdk) && *sdk != self.first);
        others.into_iter().try_for_each(|sdk| write!(f, " {}", sdk.as_str()))
    }
}

impl FromStr for Sdks {
    type Err = String;

    /// Reads names that are separated by white space.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut sdks = Self::NONE;
        for name in text.split_whitespace() {
            let sdk: Sdk = name.parse()?;
            if sdks.is_empty() {
                sdks.first = sdk;
            }
            sdks.used |= 1 << sdk as u8;
        }
        match sdks.is_empty() {
            true => Err("name at least one SDK".to_owned()),
            false => Ok(sdks),
        }
    }
}

/// Returns whether all SDKs to which a blank attribute is a missing one take a text for blank. About other white
/// space, they disagree.
pub(crate) fn is_blank(text: &str) -> bool {
    text.chars().all(|one| matches!(one, ' ' | '\t' | '\r' | '\n'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdks_are_known_words_of_which_the_first_one_leads() {
        let all: Sdks = "rust go java node python".parse().unwrap();
        assert_eq!(all, Sdks::ALL);
        let two: Sdks = " node  python ".parse().unwrap();
        assert!(two.has(Sdk::Node) && two.has(Sdk::Python) && !two.has(Sdk::Rust));
        assert_eq!((all.first(), two.first()), (Sdk::Rust, Sdk::Node));
        assert_eq!("python node".parse::<Sdks>().unwrap().first(), Sdk::Python);
        for bad in ["", " ", "ruby", "rust ruby"] {
            assert!(bad.parse::<Sdks>().is_err(), "{bad}");
        }
    }
}
