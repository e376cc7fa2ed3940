//! The SDKs that evaluate toggles in a team's services.

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
}

/// The SDKs that a team uses.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Sdks(u8);

impl Sdks {
    pub(crate) const ALL: Self = Self(0b1_1111);
    /// For a document whose findings nobody reads.
    pub(crate) const NONE: Self = Self(0);

    pub(crate) fn has(self, sdk: Sdk) -> bool {
        self.0 & (1 << sdk as u8) != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromStr for Sdks {
    type Err = String;

    /// Reads names that are separated by white space.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut sdks = Self::NONE;
        for name in text.split_whitespace() {
            let sdk: Sdk = name.parse()?;
            sdks.0 |= 1 << sdk as u8;
        }
        match sdks.is_empty() {
            true => Err("name at least one SDK".to_owned()),
            false => Ok(sdks),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sdks_are_named() {
        let all: Sdks = "rust go java node python".parse().unwrap();
        assert_eq!(all, Sdks::ALL);
        let two: Sdks = " node  python ".parse().unwrap();
        assert!(two.has(Sdk::Node) && two.has(Sdk::Python) && !two.has(Sdk::Rust));
        for bad in ["", " ", "ruby", "rust ruby"] {
            assert!(bad.parse::<Sdks>().is_err(), "{bad}");
        }
    }
}
