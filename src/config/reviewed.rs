//! Where the digest of the reviewed plan is.

use std::str::FromStr;

use crate::forge::ForgeApi;
use crate::model::PlanDigest;

/// Where the digest of the reviewed plan is.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reviewed {
    /// In the comment on the merged pull request.
    Comment(ForgeApi),
    /// In the setting.
    Digest(PlanDigest),
}

impl FromStr for Reviewed {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(api) = text.parse() {
            return Ok(Self::Comment(api));
        }
        let digest = text.parse().map_err(|error| {
            let forges = ForgeApi::WORDS.join("`, `");
            format!("{error}; or name the forge that has the reviewed plan in a comment: `{forges}`")
        })?;
        Ok(Self::Digest(digest))
    }
}
