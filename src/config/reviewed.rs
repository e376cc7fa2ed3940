//! Where the reviews are that `apply` requires.

use std::convert::Infallible;
use std::path::PathBuf;
use std::str::FromStr;

use crate::forge::ForgeApi;

/// Where the reviews are that `apply` requires.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reviewed {
    /// In the JSON of a plan.
    File(PathBuf),
    /// In the comments on the merged pull requests.
    Forge(ForgeApi),
}

impl FromStr for Reviewed {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::File(text.into()), Self::Forge))
    }
}
