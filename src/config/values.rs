//! Types and parsers of values. Flags, variables and the file share them. No error repeats a URL, because it
//! may contain a password.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::git::{RepoUrl, RepoUrlError};
use crate::model::{DEFAULT_LISTEN, Forge, Scope, Sdks, duration, escaped, words};
use crate::plan::Windows;
use crate::transport::{Secret, SecretSource, UrlUser, https};

words! {
    OutputFormat {
        /// Text for a terminal.
        Human = "human",
        /// One JSON value.
        Json = "json",
        /// Markdown for a comment on a pull request.
        Markdown = "markdown",
        /// A job summary and annotations of GitHub Actions.
        Github = "github",
        /// A code-quality report of GitLab.
        Gitlab = "gitlab",
        /// SARIF 2.1.0, for code scanning.
        Sarif = "sarif",
        /// JUnit XML, for CI systems that show tests.
        Junit = "junit",
    }
    /// When to use color.
    ColorChoice {
        /// On a terminal, unless NO_COLOR is set.
        Auto = "auto",
        /// Always.
        Always = "always",
        /// Never.
        Never = "never",
    }
    LogFormat {
        /// Text.
        Pretty = "pretty",
        /// One JSON object per line.
        Json = "json",
    }
    /// The log level; each level includes those before it.
    LogLevel {
        /// Failures.
        Error = "error",
        /// Possible failures.
        Warn = "warn",
        /// Events of interest to an operator.
        Info = "info",
        /// Details for debugging.
        Debug = "debug",
        /// Everything.
        Trace = "trace",
    }
}

/// Where the reviews are that `apply` requires.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Reviewed {
    /// In the JSON of a plan.
    File(PathBuf),
    /// In the comments on the merged pull requests.
    Forge(Forge),
}

impl FromStr for Reviewed {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(text.parse().map_or_else(|_| Self::File(text.into()), Self::Forge))
    }
}

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
    match https(text, UrlUser::Refused) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Parses a branch, tag, commit or full ref. Rejects what Git would read as an option, an expression or a
/// refspec.
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

/// Parses the address on which the daemon listens; none means nowhere.
pub(super) fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(None),
        (_, Ok(address)) => Ok(Some(address)),
        (_, Err(_)) => Err(format!(
            "`{text}` is not an address: write `{DEFAULT_LISTEN}`, `[::1]:8077`, `[::]:8077` or `none`"
        )),
    }
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    text.parse().map_err(|_| format!("`{text}` is neither `true` nor `false`"))
}

pub(super) fn secret(text: &str) -> Result<SecretSource, String> {
    // A variable may have the content of a file, such as one that Kubernetes made a secret of.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    // Secrets are sent in HTTP headers. The message does not quote the secret.
    if text.contains(char::is_control) {
        Err("the secret contains a line break or another control character".to_owned())
    } else {
        Ok(SecretSource::Value(Secret::new(text.to_owned())))
    }
}

pub(super) fn usize_count(text: &str) -> Result<usize, String> {
    count(text).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Parses a whole number of at least 1.
pub fn count(text: &str) -> Result<u64, String> {
    match digits(text).and_then(|text| text.parse().ok()) {
        Some(0) | None => Err(format!("`{text}` is not a whole number of at least 1")),
        Some(number) => Ok(number),
    }
}

/// Parses a number between 0 and 1, both included.
pub fn ratio(text: &str) -> Result<f64, String> {
    // Rejects the other forms that Rust's parser accepts, such as `1e-1`, `+0.3` and `NaN`.
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = text.parse::<f64>().ok().filter(|_| plain);
    match number.filter(|number| (0.0..=1.0).contains(number)) {
        Some(number) => Ok(number),
        None => Err(format!("`{text}` is not a number between 0 and 1; write `0.3` for 30 %")),
    }
}

/// Longer durations could overflow when they are added to a clock's time.
const LONGEST_TIME: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be greater than zero".to_owned()),
        time if time > LONGEST_TIME => Err("must not be longer than a year".to_owned()),
        time => Ok(time),
    }
}

/// Parses a duration; `0`, with or without a unit, means never.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    if text == "0" || duration(text) == Ok(Duration::ZERO) {
        Ok(Duration::ZERO)
    } else {
        positive_duration(text)
    }
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

pub(super) fn any_text(text: &str) -> Result<String, String> {
    if text.contains(char::is_control) {
        Err("must not contain a control character".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

pub(super) fn windows(text: &str) -> Result<Windows, String> {
    text.parse()
}

pub(super) fn sdks(text: &str) -> Result<Sdks, String> {
    text.parse()
}

pub(super) fn scope(text: &str) -> Result<Scope, String> {
    let globs: Vec<&str> = text.split_whitespace().collect();
    Scope::new(&globs).map_err(|error| error.to_string())
}

/// Parses an expression that names a commit. Rejects ranges and what Git would read as an option.
pub(super) fn revision(text: &str) -> Result<String, String> {
    if text.starts_with('-') || text.contains("..") || text.chars().any(char::is_control) {
        return Err(format!("`{}` is not one revision, such as `main` or `HEAD~2`", escaped(text)));
    }
    Ok(text.to_owned())
}

/// Parses a folder of the repository, with `/` between its components; the empty text is the top folder.
pub(super) fn root(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    if Path::new(text).is_absolute() || parts.contains(&"..") || text.contains(char::is_control) {
        return Err(format!("`{text}` is not a folder inside the repository"));
    }
    Ok(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_setting_has_a_minimum_and_a_maximum() {
        assert_eq!(positive_duration("1h30m"), Ok(Duration::from_secs(5400)));
        for text in ["0s", "367d", "30"] {
            assert!(positive_duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_secret_in_a_variable_has_no_byte_order_mark() {
        for text in ["word", "\u{feff}word"] {
            let Ok(SecretSource::Value(found)) = secret(text) else { panic!("{text:?}") };
            assert_eq!(found.expose(), "word");
        }
    }

    #[test]
    fn ratios_and_counts_are_within_limits() {
        for (text, is) in [("0", Some(0.0)), ("0.3", Some(0.3)), ("1", Some(1.0)), (".5", Some(0.5))] {
            assert_eq!(ratio(text).ok(), is, "{text}");
        }
        for text in ["", "1.01", "-0.1", "30%", "NaN", "inf", "1e-3", "."] {
            assert!(ratio(text).is_err(), "{text}");
        }
        for text in ["", "0", "-1", "+1", "1.0", "x", "99999999999999999999"] {
            assert!(count(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_root_is_inside_the_repository_and_normalized() {
        for (text, normalized) in [(".", ""), ("./a//b/", "a/b"), ("a", "a")] {
            assert_eq!(root(text).unwrap(), normalized);
        }
        for text in ["/a", "../a", "a/../b", "a\nb"] {
            assert!(root(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_ref_is_a_name_and_not_an_expression() {
        for good in ["main", "refs/heads/a/b", "v1.0", "HEAD", "feature/ü", "0123abc"] {
            assert!(reference(good).is_ok(), "{good}");
        }
        for bad in ["-x", "a..b", "HEAD~1", "a b", "a:b", "a*", "/a", "a/", "a@{1}", "a.lock", "a\nb", "a/.b"]
        {
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
