//! Parses values. Flags, variables and the file share these parsers.

use std::fmt::Display;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use crate::model::{Scope, duration, escaped};
use crate::transport::{Secret, SecretSource};

/// Parses the address on which the daemon listens; none means nowhere.
pub(super) fn listen(text: &str) -> Result<Option<SocketAddr>, String> {
    match (text, text.parse()) {
        ("none", _) => Ok(None),
        (_, Ok(address)) => Ok(Some(address)),
        (_, Err(_)) => Err(format!(
            "`{text}` is not an address: write `127.0.0.1:8077`, `[::1]:8077`, `0.0.0.0:8077` or `none`"
        )),
    }
}

pub(super) fn parsed<T: FromStr<Err: Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

pub(super) fn switch(text: &str) -> Result<bool, String> {
    text.parse()
        .map_err(|_| format!("`{text}` is neither `true` nor `false`"))
}

pub(super) fn secret(text: &str) -> Result<SecretSource, String> {
    // Secrets are sent in HTTP headers. The message does not quote the secret.
    match text.contains(char::is_control) {
        true => Err("the secret contains a line break or another control character".to_owned()),
        false => Ok(SecretSource::Value(Secret::new(text.to_owned()))),
    }
}

pub(super) fn secret_file(text: &str) -> Result<SecretSource, String> {
    // Only the path is kept, because the file is read again at each use and may be rotated.
    path(text).map(SecretSource::File)
}

#[expect(
    clippy::unnecessary_wraps,
    reason = "every parser of the table returns a result"
)]
pub(super) fn path(text: &str) -> Result<PathBuf, String> {
    Ok(PathBuf::from(text))
}

pub(super) fn size(text: &str) -> Result<usize, String> {
    count(text).map(|count| usize::try_from(count).unwrap_or(usize::MAX))
}

/// Parses a whole number of at least 1.
///
/// # Errors
/// A sentence for the user.
pub fn count(text: &str) -> Result<u64, String> {
    match digits(text).and_then(|text| text.parse().ok()) {
        Some(0) | None => Err(format!("`{text}` is not a whole number of at least 1")),
        Some(number) => Ok(number),
    }
}

/// Parses a number between 0 and 1, both included.
///
/// # Errors
/// A sentence for the user.
pub fn ratio(text: &str) -> Result<f64, String> {
    // Rejects the other forms that Rust's parser accepts, such as `1e-1`, `+0.3` and `NaN`.
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = text.parse::<f64>().ok().filter(|_| plain);
    match number.filter(|number| (0.0..=1.0).contains(number)) {
        Some(number) => Ok(number),
        None => Err(format!(
            "`{text}` is not a number between 0 and 1; write `0.3` for 30 %"
        )),
    }
}

/// Longer durations could overflow when they are added to a clock's time.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

pub(super) fn positive_duration(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("must be greater than zero".to_owned()),
        time if time > LONGEST => Err("must not be longer than a year".to_owned()),
        time => Ok(time),
    }
}

/// Parses a duration; `0`, with or without a unit, means never.
pub(super) fn interval(text: &str) -> Result<Duration, String> {
    match text == "0" || duration(text) == Ok(Duration::ZERO) {
        true => Ok(Duration::ZERO),
        false => positive_duration(text),
    }
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

pub(super) fn any_text(text: &str) -> Result<String, String> {
    match text.contains(char::is_control) {
        true => Err("must not contain a control character".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(super) fn scope(text: &str) -> Result<Scope, String> {
    let globs: Vec<&str> = text.split_whitespace().collect();
    Scope::new(&globs).map_err(|error| error.to_string())
}

/// Parses an expression that names a commit. Rejects ranges and what Git would read as an option.
pub(super) fn revision(text: &str) -> Result<String, String> {
    if text.starts_with('-') || text.contains("..") || text.chars().any(char::is_control) {
        return Err(format!(
            "`{}` is not one revision, such as `main` or `HEAD~2`",
            escaped(text)
        ));
    }
    Ok(text.to_owned())
}

/// Parses a folder of the repository, with `/` between its components; the empty text is the top folder.
pub(super) fn root(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
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
    fn ratios_and_counts_are_within_limits() {
        for (text, is) in [
            ("0", Some(0.0)),
            ("0.3", Some(0.3)),
            ("1", Some(1.0)),
            (".5", Some(0.5)),
        ] {
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
}
