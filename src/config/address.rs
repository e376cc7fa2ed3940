//! Parses addresses and names. No error repeats a URL, because it may contain a password.

use std::str::FromStr;

use crate::git::{RepoUrl, RepoUrlError};
use crate::service;

/// The remote that shares state.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StateRemote {
    /// The `origin` of the source repository.
    Origin,
    /// The repository with this URL or path.
    Url(RepoUrl),
}

impl FromStr for StateRemote {
    type Err = RepoUrlError;

    fn from_str(text: &str) -> Result<Self, RepoUrlError> {
        match text {
            "origin" => Ok(Self::Origin),
            _ => text.parse().map(Self::Url),
        }
    }
}

pub(super) fn notify_url(text: &str) -> Result<String, String> {
    match service::https(text) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a branch, tag, commit or full ref. Rejects what Git would read as an option, an expression or a refspec.
pub(super) fn reference(text: &str) -> Result<String, String> {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    // The rules of `git check-ref-format`, and no leading `-`.
    if text.contains(odd)
        || text.contains("..")
        || text.contains("@{")
        || text.starts_with('-')
        || text.ends_with('.')
        || text.split('/').any(bad_part)
    {
        return Err(format!("`{text}` is not a branch, tag, commit or full ref"));
    }
    Ok(text.to_owned())
}

/// Parses one component of a ref that is also a portable file name.
pub(super) fn state_name(text: &str) -> Result<String, String> {
    // The name is one component of `refs/gitoggle/<name>/applied`.
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let fits = text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.len() <= 128;
    if fits && text.chars().all(plain) && reference(text).is_ok() {
        return Ok(text.to_owned());
    }
    Err(format!(
        "`{text}` is not a valid state name: use up to 128 letters, digits, `.`, `_` and `-`, beginning with a letter \
         or digit, without `..`, and not ending in `.` or `.lock`"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ref_is_a_name_and_not_an_expression() {
        for good in ["main", "refs/heads/a/b", "v1.0", "HEAD", "feature/ü", "0123abc"] {
            assert!(reference(good).is_ok(), "{good}");
        }
        for bad in [
            "-x", "a..b", "HEAD~1", "a b", "a:b", "a*", "/a", "a/", "a@{1}", "a.lock", "a\nb", "a/.b",
        ] {
            assert!(reference(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_state_name_is_one_component_of_a_ref() {
        assert!(state_name("toggles.example-1a2b3c4d").is_ok());
        for bad in ["a/b", ".a", "-a", "a..b", "a.lock", "a b", "ü"] {
            let error = state_name(bad).unwrap_err();
            assert!(error.contains("is not a valid state name"), "{error}");
        }
    }
}
