//! How values are written and what they mean. The same for flags, variables and the file.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::definition::Shape;
use crate::document::Layout;
use crate::model::Scope;

/// The value of a setting, parsed by its shape.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Count(u64),
    Duration(Duration),
    Path(PathBuf),
    Ratio(f64),
    Switch(bool),
    Text(String),
    Texts(Vec<String>),
}

impl Shape {
    /// Parses what one source says. Only lists may say several things.
    pub(crate) fn parse(self, said: &[String]) -> Result<Value, String> {
        if let Self::Texts(_, check) = self {
            let words = said.iter().flat_map(|text| text.split_whitespace());
            return words.map(check).collect::<Result<_, _>>().map(Value::Texts);
        }
        let [one] = said else {
            return Err("give one value, not a list".to_owned());
        };
        match self {
            Self::Choice(words) => choice(one, words).map(Value::Text),
            Self::Count => count(one).map(Value::Count),
            Self::Duration => duration(one).and_then(longer_than_nothing).map(Value::Duration),
            Self::Path(_) => Ok(Value::Path(PathBuf::from(one))),
            Self::Ratio => ratio(one).map(Value::Ratio),
            Self::Secret => secret(one).map(Value::Text),
            Self::Switch => switch(one).map(Value::Switch),
            Self::Text(_, check) | Self::Texts(_, check) => check(one).map(Value::Text),
        }
    }
}

fn choice(text: &str, words: &[&str]) -> Result<String, String> {
    match words.contains(&text) {
        true => Ok(text.to_owned()),
        false => Err(format!("`{text}` is none of {}", listed(words))),
    }
}

fn listed(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    quoted.join(", ")
}

fn switch(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("`{text}` is neither `true` nor `false`")),
    }
}

/// A secret travels in a header, and nothing of it is shown when it cannot.
fn secret(text: &str) -> Result<String, String> {
    match text.contains(char::is_control) {
        true => Err("the secret holds a line break or another control character".to_owned()),
        false => Ok(text.to_owned()),
    }
}

/// Reads a whole number of at least 1.
///
/// # Errors
/// A sentence for the person who wrote it.
pub fn count(text: &str) -> Result<u64, String> {
    match digits(text).and_then(|text| text.parse().ok()) {
        Some(0) | None => Err(format!("`{text}` is no whole number of at least 1")),
        Some(number) => Ok(number),
    }
}

/// Reads a number between 0 and 1, both included.
///
/// # Errors
/// A sentence for the person who wrote it.
pub fn ratio(text: &str) -> Result<f64, String> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number = text.parse::<f64>().ok().filter(|_| plain);
    match number.filter(|number| (0.0..=1.0).contains(number)) {
        Some(number) => Ok(number),
        None => Err(format!(
            "`{text}` is no number between 0 and 1; write `0.3` for 30 %"
        )),
    }
}

/// Reads a length of time: numbers with the units `ms`, `s`, `m`, `h` and `d`, the longest first.
///
/// # Errors
/// A sentence for the person who wrote it.
pub fn duration(text: &str) -> Result<Duration, String> {
    if digits(text).is_some() {
        return Err(format!(
            "`{text}` needs a unit: write `{text}s`, `{text}m` or `{text}h`"
        ));
    }
    parts(text).ok_or_else(|| format!("`{text}` is no length of time: write `500ms`, `30s`, `5m` or `1h30m`"))
}

fn parts(mut text: &str) -> Option<Duration> {
    let mut total = Duration::ZERO;
    let mut shortest = u64::MAX;
    while !text.is_empty() || shortest == u64::MAX {
        let unit_at = text.find(|c: char| !c.is_ascii_digit())?;
        let number: u64 = digits(&text[..unit_at])?.parse().ok()?;
        let rest = &text[unit_at..];
        let end = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let milliseconds = unit(&rest[..end]).filter(|unit| *unit < shortest)?;
        total = total.checked_add(Duration::from_millis(number.checked_mul(milliseconds)?))?;
        shortest = milliseconds;
        text = &rest[end..];
    }
    Some(total)
}

/// Returns the unit's length in milliseconds.
fn unit(text: &str) -> Option<u64> {
    match text {
        "ms" => Some(1),
        "s" => Some(1_000),
        "m" => Some(60_000),
        "h" => Some(3_600_000),
        "d" => Some(86_400_000),
        _ => None,
    }
}

/// A clock can be this far ahead: longer times overflow when they are added to one.
const LONGEST: Duration = Duration::from_secs(366 * 24 * 60 * 60);

fn longer_than_nothing(time: Duration) -> Result<Duration, String> {
    match time {
        Duration::ZERO => Err("it must be longer than nothing".to_owned()),
        time if time > LONGEST => Err("it must not be longer than a year".to_owned()),
        time => Ok(time),
    }
}

fn digits(text: &str) -> Option<&str> {
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())).then_some(text)
}

pub(crate) fn any_text(text: &str) -> Result<String, String> {
    match text.contains(char::is_control) {
        true => Err("it holds a control character".to_owned()),
        false => Ok(text.to_owned()),
    }
}

pub(crate) fn check_only(text: &str) -> Result<String, String> {
    match Scope::new(&[text]) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// A folder below the repository's top, with `/` between its components; the empty text is the top.
pub(crate) fn check_root(text: &str) -> Result<String, String> {
    let parts: Vec<&str> = text
        .split('/')
        .filter(|part| !matches!(*part, "" | "."))
        .collect();
    if Path::new(text).is_absolute() || parts.contains(&"..") || text.contains(char::is_control) {
        return Err(format!("`{text}` is no folder below the repository's top"));
    }
    Ok(parts.join("/"))
}

pub(crate) fn check_layout(text: &str) -> Result<String, String> {
    match text.parse::<Layout>() {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

pub(crate) fn check_listen(text: &str) -> Result<String, String> {
    match text == "none" || text.parse::<SocketAddr>().is_ok() {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "`{text}` is no address: write `127.0.0.1:8077`, `[::1]:8077`, `0.0.0.0:8077` or `none`"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_numbers_with_units_the_longest_first() {
        for (text, milliseconds) in [
            ("500ms", 500),
            ("30s", 30_000),
            ("5m", 300_000),
            ("1h30m", 5_400_000),
            ("1d1ms", 86_400_001),
            ("0s", 0),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        for text in [
            "",
            "30",
            "s",
            "30 s",
            "1.5h",
            "-1s",
            "30S",
            "30m1h",
            "1s1s",
            "1w",
            "99999999999999999999s",
            "18446744073709551615d",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
        assert_eq!(
            duration("30").unwrap_err(),
            "`30` needs a unit: write `30s`, `30m` or `30h`"
        );
        assert!(Shape::Duration.parse(&["0s".to_owned()]).is_err());
        assert!(Shape::Duration.parse(&["367d".to_owned()]).is_err());
    }

    #[test]
    fn ratios_and_counts_have_limits() {
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
    fn a_root_stays_below_the_top_and_is_tidied() {
        for (text, root) in [(".", ""), ("./a//b/", "a/b"), ("a", "a")] {
            assert_eq!(check_root(text).unwrap(), root);
        }
        for text in ["/a", "../a", "a/../b", "a\nb"] {
            assert!(check_root(text).is_err(), "{text}");
        }
    }
}
