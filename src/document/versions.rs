//! What authors write in place of a semantic version: a leading `v`, fewer numbers, and the ranges of npm and
//! Cargo.

use super::compared::{Beside, ComparedObject};
use crate::model::is_semver;

/// Returns the help on an object that is not a semantic version; of a range or a comparison, if it is known what
/// is beside it.
pub(super) fn help(object: &str, beside: Option<Beside<'_>>) -> String {
    let text = object.trim();
    if let Some(version) = complete(text) {
        return format!("write `{version}`: a version has three numbers, and no leading `v`");
    }
    let compared = beside.and_then(|beside| Some(compared(text)?.help(beside)));
    compared.unwrap_or_else(|| "write three numbers, such as `1.2.3`".to_owned())
}

/// Returns what a text compares with.
pub(super) fn compared(text: &str) -> Option<ComparedObject> {
    match range(text) {
        Some((low, high)) => Some(ComparedObject::Range { low, high, is_open: true }),
        None => comparison(text),
    }
}

/// Returns the version that a text has without a leading `v`, and with zeros for the numbers that lack.
pub(super) fn complete(text: &str) -> Option<String> {
    let text = text.strip_prefix(['v', 'V']).unwrap_or(text).trim_start();
    let end = text.find(['-', '+']).unwrap_or(text.len());
    let (core, suffix) = text.split_at(end);
    let mut numbers: Vec<String> = core.split('.').map(plain_number).collect::<Option<_>>()?;
    numbers.resize(3.max(numbers.len()), "0".to_owned());
    let version = format!("{}{suffix}", numbers.join("."));
    is_semver(&version).then_some(version)
}

/// Returns a number without leading zeros.
fn plain_number(text: &str) -> Option<String> {
    let is_digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let plain = text.trim_start_matches('0');
    is_digits.then(|| if plain.is_empty() { "0" } else { plain }.to_owned())
}

/// Returns the first version of a range and the first one behind it: `^1.2`, `~1.2`, `1.2.x`, `1.2.3 - 1.4.0`,
/// `>=1.2.0 <2.0.0`.
fn range(text: &str) -> Option<(String, String)> {
    if let Some((low, high)) = text.split_once(" - ") {
        return Some((complete(low.trim())?, behind(high.trim())?));
    }
    if let Some((low, high)) = text.strip_prefix(">=").and_then(|text| text.split_once('<')) {
        return Some((complete(low.trim().trim_end_matches(','))?, complete(high.trim())?));
    }
    let (sign, version) = match text.chars().next()? {
        sign @ ('^' | '~') => (sign, text[1..].trim_start()),
        _ => ('x', text.strip_prefix(['v', 'V']).unwrap_or(text)),
    };
    let given: Vec<&str> = version.split('.').take_while(|part| !matches!(*part, "x" | "X" | "*")).collect();
    let has_any = given.len() < version.split('.').count();
    if (sign == 'x' && !has_any) || given.is_empty() {
        return None;
    }
    let low = complete(&given.join("."))?;
    let fixed = match sign {
        '^' => {
            let numbers = low.split(['.', '-', '+']).take(given.len());
            let first = numbers.take(3).position(|number| number != "0");
            first.unwrap_or(given.len() - 1)
        }
        '~' => 1.min(given.len() - 1),
        _ => given.len() - 1,
    };
    let high = next(&low, fixed)?;
    Some((low, high))
}

/// Returns the version that has the next number at `index`, and zeros behind it.
fn next(version: &str, index: usize) -> Option<String> {
    let core = version.split(['-', '+']).next()?;
    let mut numbers: Vec<u64> = core.split('.').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let number = numbers.get_mut(index)?;
    *number = number.checked_add(1)?;
    numbers.iter_mut().skip(index + 1).for_each(|number| *number = 0);
    let numbers: Vec<String> = numbers.iter().map(u64::to_string).collect();
    Some(numbers.join("."))
}

/// Returns the first version behind all that a text with one to three numbers stands for.
fn behind(text: &str) -> Option<String> {
    let count = text.split(['-', '+']).next()?.split('.').count();
    next(&complete(text)?, count.checked_sub(1)?)
}

/// Returns the comparison that a text begins with. With fewer than three numbers, it is one with all versions
/// that begin with them.
fn comparison(text: &str) -> Option<ComparedObject> {
    let signs = [">=", "<=", "!=", "==", ">", "<", "="];
    let sign = signs.into_iter().find(|sign| text.starts_with(sign))?;
    let rest = text[sign.len()..].trim();
    let version = complete(rest)?;
    let is_whole = rest.split(['-', '+']).next()?.split('.').count() == 3;
    Some(match sign {
        "==" | "=" if is_whole => ComparedObject::With("=", version),
        "==" | "=" => ComparedObject::Range { low: version, high: behind(rest)?, is_open: true },
        ">" if !is_whole => ComparedObject::With(">=", behind(rest)?),
        "<=" if !is_whole => ComparedObject::With("<", behind(rest)?),
        "!=" if !is_whole => return None,
        sign => ComparedObject::With(sign, version),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_nearly_a_version_is_one() {
        for (text, expected) in [
            ("v1.2.3", "1.2.3"),
            ("1.2", "1.2.0"),
            ("2", "2.0.0"),
            (" V01.2 ", "1.2.0"),
            ("1.2-rc.1", "1.2.0-rc.1"),
            ("v1.2+build.7", "1.2.0+build.7"),
        ] {
            let help = help(text, None);
            assert!(help.starts_with(&format!("write `{expected}`")), "{text}: {help}");
        }
    }

    #[test]
    fn a_range_is_a_between() {
        for (text, low, high) in [
            ("^1.2.3", "1.2.3", "2.0.0"),
            ("^1.2", "1.2.0", "2.0.0"),
            ("^0.2.3", "0.2.3", "0.3.0"),
            ("^0.0.3", "0.0.3", "0.0.4"),
            ("^0.0", "0.0.0", "0.1.0"),
            ("^0", "0.0.0", "1.0.0"),
            ("^1", "1.0.0", "2.0.0"),
            ("~1.2.3", "1.2.3", "1.3.0"),
            ("~1.2", "1.2.0", "1.3.0"),
            ("~1", "1.0.0", "2.0.0"),
            ("1.2.x", "1.2.0", "1.3.0"),
            ("1.*", "1.0.0", "2.0.0"),
            ("v1.X.X", "1.0.0", "2.0.0"),
            ("^1.2.3-rc.1", "1.2.3-rc.1", "2.0.0"),
            ("1.2.3 - 2.3.4", "1.2.3", "2.3.5"),
            ("1.2.3 - 2.3", "1.2.3", "2.4.0"),
            (">=1.2.0 <2.0.0", "1.2.0", "2.0.0"),
            (">= 1.2, < 2", "1.2.0", "2.0.0"),
        ] {
            assert_eq!(range(text), Some((low.to_owned(), high.to_owned())), "{text}");
        }
        for text in
            ["*", "x", "latest", "~> 1.2", "^", "~a", "1.2.3.4", "", "^1.2.3.4", "18446744073709551615.x"]
        {
            assert_eq!(range(text), None, "{text}");
            assert_eq!(help(text, Some(Beside::EQUAL)), "write three numbers, such as `1.2.3`", "{text}");
        }
    }

    #[test]
    fn a_comparison_is_the_predicate() {
        for (text, sign, version) in [
            (">=1.2", ">=", "1.2.0"),
            ("< v2", "<", "2.0.0"),
            ("==1.2.3", "=", "1.2.3"),
            (">1.2.3", ">", "1.2.3"),
            (">1.2", ">=", "1.3.0"),
            ("<=1.2", "<", "1.3.0"),
            ("<=1", "<", "2.0.0"),
        ] {
            assert_eq!(compared(text), Some(ComparedObject::With(sign, version.to_owned())), "{text}");
        }
        let range =
            ComparedObject::Range { low: "1.2.0".to_owned(), high: "1.3.0".to_owned(), is_open: true };
        assert_eq!(compared("=1.2"), Some(range));
        assert_eq!(compared("!=1.2"), None);
        let unknown = help(">=1.2.3", None);
        assert_eq!(unknown, "write three numbers, such as `1.2.3`");
    }
}
