//! Checks of addresses and names. None of them repeats a URL, which may hold a password.

use url::Url;

use crate::git::RepoUrl;
use crate::transport::DaemonUrl;

/// The remote through which state is shared.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StateRemote {
    /// The `origin` of the repository that is the source.
    Origin,
    /// This repository.
    Url(RepoUrl),
}

pub(crate) fn check_repo(text: &str) -> Result<String, String> {
    match text.parse::<RepoUrl>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn check_state_remote(text: &str) -> Result<String, String> {
    match text {
        "origin" => Ok(text.to_owned()),
        _ => check_repo(text),
    }
}

pub(crate) fn check_base_url(text: &str) -> Result<String, String> {
    let url = https(text)?;
    if url.query().is_some() || url.fragment().is_some() {
        return Err("a base URL has no query and no fragment".to_owned());
    }
    Ok(text.trim_end_matches('/').to_owned())
}

pub(crate) fn check_notify_url(text: &str) -> Result<String, String> {
    https(text)?;
    Ok(text.to_owned())
}

pub(crate) fn check_url(text: &str) -> Result<String, String> {
    match text.parse::<DaemonUrl>() {
        Ok(url) => Ok(url.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

fn https(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("this is not a URL: {error}; write `https://…`"))?;
    if !url.username().is_empty() || url.password().is_some() {
        return Err("a user or password must not be in the URL".to_owned());
    }
    match url.scheme() {
        "https" => Ok(url),
        scheme => Err(format!(
            "write `https://…`; `{scheme}` is refused, because secrets would be sent in the clear"
        )),
    }
}

/// A branch, tag, commit or full ref: nothing that Git would take for an option, an expression or a refspec.
pub(crate) fn check_ref(text: &str) -> Result<String, String> {
    let odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad_part = |part: &str| part.is_empty() || part.starts_with('.') || part.ends_with(".lock");
    if text.contains(odd)
        || text.contains("..")
        || text.contains("@{")
        || text.starts_with('-')
        || text.ends_with('.')
        || text.split('/').any(bad_part)
    {
        return Err(format!("`{text}` is no branch, tag, commit or full ref"));
    }
    Ok(text.to_owned())
}

/// One component of a ref, which is also fit for a file name.
pub(crate) fn check_state_name(text: &str) -> Result<String, String> {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    if text.chars().all(plain) && text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.len() <= 128 {
        return check_ref(text);
    }
    Err(format!(
        "`{text}` is no name for state: use letters, digits, `.`, `_` and `-`, beginning with a letter or digit, 128 at most"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_url_is_https_with_nothing_but_a_path() {
        assert_eq!(
            check_base_url("https://t.example/fp/").unwrap(),
            "https://t.example/fp"
        );
        for (text, said) in [
            ("http://127.0.0.1:8080", "`http` is refused"),
            ("https://me:hunter2@t.example", "must not be in the URL"),
            ("http://me:hunter2@t.example", "must not be in the URL"),
            ("https://t.example/?hunter2", "no query"),
            ("https://t.example/#hunter2", "no fragment"),
            ("t.example", "not a URL"),
            ("https://", "not a URL"),
        ] {
            let error = check_base_url(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }

    #[test]
    fn a_ref_is_a_name_and_no_expression() {
        for good in ["main", "refs/heads/a/b", "v1.0", "HEAD", "feature/ü", "0123abc"] {
            assert!(check_ref(good).is_ok(), "{good}");
        }
        for bad in [
            "-x", "a..b", "HEAD~1", "a b", "a:b", "a*", "/a", "a/", "a@{1}", "a.lock", "a\nb", "a/.b",
        ] {
            assert!(check_ref(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_state_name_is_one_component_of_a_ref() {
        assert!(check_state_name("toggles.example-1a2b3c4d").is_ok());
        for bad in ["a/b", ".a", "-a", "a..b", "a.lock", "a b", "ü"] {
            assert!(check_state_name(bad).is_err(), "{bad}");
        }
    }
}
