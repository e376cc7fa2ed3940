//! A number with a unit, with groups of digits or with a comparison, as the decimal number that it means.

use crate::document::compared::ComparedObject;
use crate::model::{ReturnType, variation_fits};

/// Returns the decimal number that a text with another notation has: a decimal comma, and groups of three
/// digits. Three digits after the only comma are a group or decimals.
pub(in crate::document) fn number(text: &str) -> Option<MeantNumber> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let marks: Vec<char> = digits.chars().filter(|c| !c.is_ascii_digit()).collect();
    let last = *marks.last()?;
    let is_decimal = match last {
        ',' => marks.iter().filter(|mark| **mark == ',').count() == 1,
        '.' => marks.len() > 1 && marks.iter().filter(|mark| **mark == '.').count() == 1,
        _ => false,
    };
    let (whole, fraction) = match digits.rsplit_once(last) {
        Some((whole, fraction)) if is_decimal => (whole, Some(fraction)),
        _ => (digits, None),
    };
    let mut groups = whole.split([',', '.', '_', '\'', ' ', '\u{a0}', '\u{202f}']);
    let first = groups.next().filter(|first| is_digits(first))?;
    let groups: Vec<&str> = groups.collect();
    let is_grouped = groups.iter().all(|group| group.len() == 3 && is_digits(group));
    let is_version = fraction.is_none() && marks.iter().all(|mark| *mark == '.');
    if !is_grouped || is_version || !fraction.is_none_or(is_digits) {
        return None;
    }
    let is_group = marks.len() == 1 && (1..=3).contains(&first.len()) && !first.starts_with('0');
    let other = fraction.filter(|fraction| is_group && fraction.len() == 3);
    let other = other.map(|fraction| format!("{sign}{first}{fraction}"));
    let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    let decimal = format!("{sign}{first}{}{fraction}", groups.concat());
    Some(match other {
        Some(grouped) => MeantNumber { number: grouped, other: Some(decimal) },
        None => MeantNumber { number: decimal, other: None },
    })
}

/// The number that a text means.
#[derive(Debug, Eq, PartialEq)]
pub(in crate::document) struct MeantNumber {
    pub(in crate::document) number: String,
    /// What the text means to other readers.
    pub(in crate::document) other: Option<String>,
}

impl MeantNumber {
    /// Returns what to write, with what goes before it.
    pub(in crate::document) fn help(&self, before: &str) -> String {
        match &self.other {
            Some(other) => format!("write `{before}{}` or `{before}{other}`", self.number),
            None => format!("write `{before}{}`", self.number),
        }
    }
}

/// Returns what an author means by a value that is not a number beside values that are; none if it may well be
/// text. The reading is none if only its kind is certain.
pub(in crate::document) fn almost_number(text: &str) -> Option<Option<MeantNumber>> {
    let fits = |text: &str| variation_fits(ReturnType::Number, text).is_ok();
    let one = |number: String| Some(Some(MeantNumber { number, other: None }));
    let trimmed = text.trim();
    if trimmed.is_empty()
        || ["nan", "inf", "infinity", ".nan", ".inf"]
            .contains(&trimmed.to_lowercase().trim_start_matches(['+', '-']))
    {
        return Some(None);
    }
    if is_decimal(trimmed) && !fits(trimmed) {
        return Some(None);
    }
    if let Some(number) = number(trimmed) {
        return Some(Some(number));
    }
    let is_sign = |c: char| c.is_whitespace() || matches!(c, '%' | '‰' | '€' | '$' | '£' | '¥');
    let bare = trimmed.trim_matches(is_sign);
    if bare != text && !bare.is_empty() {
        let read =
            if fits(bare) { MeantNumber { number: bare.to_owned(), other: None } } else { number(bare)? };
        let share = trimmed.ends_with('%').then(|| read.number.parse::<f64>().ok()).flatten();
        let other = share.map(|share| ((share * 1e8).round() / 1e10).to_string()).or(read.other);
        return Some(Some(MeantNumber { number: read.number, other }));
    }
    let lower = trimmed.to_lowercase();
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] {
        if let Some(digits) = lower.strip_prefix(prefix) {
            return one(u64::from_str_radix(digits, radix).ok()?.to_string());
        }
    }
    // An exponent without digits.
    let mantissa = lower.trim_end_matches(['+', '-']).strip_suffix('e')?;
    fits(mantissa).then_some(None)
}

/// Returns a number that lacks a digit beside its point: `.5`, `5.`.
pub(in crate::document) fn full_number(text: &str) -> Option<String> {
    let text = text.trim();
    let full = match text.strip_suffix('.') {
        Some(whole) => whole.to_owned(),
        None => text.replacen("-.", "-0.", 1),
    };
    let full = if full.starts_with('.') { format!("0{full}") } else { full };
    (full != text && fits_number(&full)).then_some(full)
}

/// Returns what a number with a comparison means: `>=18`, `18+`, `5-10`.
pub(in crate::document) fn compared_number(text: &str) -> Option<ComparedObject> {
    let text = text.trim();
    let with = |predicate, number: &str| {
        let number = number.trim();
        fits_number(number).then(|| ComparedObject::With(predicate, number.to_owned()))
    };
    if let Some(number) = text.strip_suffix('+') {
        return with(">=", number);
    }
    for (sign, predicate) in [
        (">=", ">="),
        ("<=", "<="),
        ("≥", ">="),
        ("≤", "<="),
        ("!=", "!="),
        ("==", "="),
        (">", ">"),
        ("<", "<"),
        ("=", "="),
    ] {
        if let Some(number) = text.strip_prefix(sign) {
            return with(predicate, number);
        }
    }
    let (low, high) = ["..", " to ", "–", "-"].into_iter().find_map(|sign| {
        let (low, high) = text.split_once(sign)?;
        (fits_number(low.trim()) && fits_number(high.trim())).then(|| (low.trim(), high.trim()))
    })?;
    // The other way around, it is none: `2024-12` is a month.
    let is_range = low.parse::<f64>().ok()? <= high.parse::<f64>().ok()?;
    is_range.then(|| ComparedObject::Range { low: low.to_owned(), high: high.to_owned(), is_open: false })
}

fn fits_number(text: &str) -> bool {
    variation_fits(ReturnType::Number, text).is_ok() && text.ends_with(is_digit)
}

fn is_digit(c: char) -> bool {
    c.is_ascii_digit()
}

/// Returns whether `text` is a decimal number: optional sign, digits, fraction, exponent; no hexadecimal
/// digits, no `_`, no NaN, no infinity.
pub(in crate::document) fn is_decimal(text: &str) -> bool {
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    is_digits(whole)
        && fraction.is_none_or(is_digits)
        && exponent.is_none_or(|exponent| is_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_number_has_sign_digits_fraction_and_exponent() {
        for good in ["0", "18", "-1", "+1", "1.10", "007", "1e3", "1E-3", "-0.5e+10"] {
            assert!(is_decimal(good), "{good}");
        }
        for bad in
            ["", "-", ".5", "5.", "1e", "0x1F", "1_000", "NaN", "inf", ".inf", " 1", "1 ", "1d", "١", "1.2.3"]
        {
            assert!(!is_decimal(bad), "{bad}");
        }
    }

    #[test]
    fn a_number_in_another_notation_is_recognized() {
        for (text, expected) in [
            ("49,90", Some("49.90")),
            ("-0,5", Some("-0.5")),
            ("1.000,50", Some("1000.50")),
            ("1,000.50", Some("1000.50")),
            ("1_000", Some("1000")),
            ("1 000 000", Some("1000000")),
            ("1'000.5", Some("1000.5")),
            ("1,000,000", Some("1000000")),
            ("49.90", None),
            ("1.2.3", None),
            ("12px", None),
            ("1_00", None),
            (",5", None),
            ("5,", None),
            ("", None),
        ] {
            let found = number(text);
            assert!(found.as_ref().is_none_or(|found| found.other.is_none()), "{text}");
            assert_eq!(found.map(|found| found.number).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn three_digits_after_the_only_comma_are_a_group_or_decimals() {
        for (text, grouped, decimal) in
            [("1,000", "1000", "1.000"), ("-999,500", "-999500", "-999.500"), ("12,345", "12345", "12.345")]
        {
            let expected = MeantNumber { number: grouped.to_owned(), other: Some(decimal.to_owned()) };
            assert_eq!(number(text), Some(expected), "{text}");
        }
        for text in ["0,500", "1000,500", "1,00", "1,0000", "1.000,500", "1,000.500"] {
            assert!(number(text).is_some_and(|one| one.other.is_none()), "{text}");
        }
    }
}
