//! What an author meant by a value in another notation: what to write instead, for the help of findings.

use super::compared::ComparedObject;
use super::dialects::in_both_cases;
use super::finding::shown;
use super::node::{Node, NodeKind, Style, is_null, quoted};
use crate::model::{ReturnType, WHOLE, closest, escaped, rfc3339, seconds, variation_fits};

/// The longest text that a help writes out.
pub(super) const LONGEST: usize = 200;

/// Returns a mapping or a list as JSON in single quotes, as a document has it; none if it is long, or if the
/// type of a part is not certain.
pub(super) fn json(value: &NodeKind) -> Option<String> {
    let mut text = String::new();
    add_json(value, &mut text)?;
    short(&format!("'{}'", text.replace('\'', "''")))
}

fn short(text: &str) -> Option<String> {
    (text.len() <= LONGEST).then(|| escaped(text).to_string())
}

fn add_json(value: &NodeKind, out: &mut String) -> Option<()> {
    let text = |text: &str| serde_json::Value::from(text).to_string();
    if out.len() > LONGEST {
        return None;
    }
    match value {
        NodeKind::Refused => return None,
        NodeKind::Scalar(scalar, Style::Plain) if is_null(scalar) => out.push_str("null"),
        NodeKind::Scalar(scalar, Style::Plain)
            if serde_json::from_str::<serde_json::Value>(scalar).is_ok() =>
        {
            out.push_str(scalar);
        }
        NodeKind::Scalar(scalar, Style::Plain) => match word(scalar) {
            Word::Json(word) => out.push_str(word),
            Word::Text => out.push_str(&text(scalar)),
            Word::Unsure => return None,
        },
        NodeKind::Scalar(scalar, _) => out.push_str(&text(scalar)),
        NodeKind::Sequence(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at == 0 { "" } else { "," });
                add_json(&item.kind, out)?;
            }
            out.push(']');
        }
        NodeKind::Mapping(entries) => {
            out.push('{');
            for (at, (key, value)) in entries.iter().enumerate() {
                let NodeKind::Scalar(key, _) = &key.kind else { return None };
                out.push_str(if at == 0 { "" } else { "," });
                out.push_str(&text(key));
                out.push(':');
                add_json(&value.kind, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

/// What an author means by a plain word that is not JSON.
enum Word {
    Json(&'static str),
    Text,
    /// A number or a boolean in a notation that parsers disagree on.
    Unsure,
}

fn word(text: &str) -> Word {
    let lower = text.to_ascii_lowercase();
    let is_number = text.parse::<f64>().is_ok()
        || number(text).is_some()
        || [".inf", ".nan"].contains(&lower.trim_start_matches(['+', '-']))
        || ["0x", "0o", "0b"].iter().any(|prefix| lower.trim_start_matches(['+', '-']).starts_with(prefix));
    match lower.as_str() {
        "true" => Word::Json("true"),
        "false" => Word::Json("false"),
        "yes" | "no" | "on" | "off" | "none" | "nil" | "undefined" => Word::Unsure,
        _ if is_number => Word::Unsure,
        _ => Word::Text,
    }
}

/// Returns a text that is nearly JSON as JSON in single quotes: without last commas, with quoted keys, closed.
/// None if a part of it could mean something else.
pub(super) fn repaired_json(text: &str) -> Option<String> {
    if text.len() > LONGEST {
        return None;
    }
    let (mut out, mut open) = (String::new(), Vec::new());
    let mut rest = text.trim_start();
    while let Some(c) = rest.chars().next() {
        let length = match c {
            '"' => 1 + end_of_string(&rest[1..])? + 1,
            '\'' => 1 + rest[1..].find('\'')? + 1,
            '{' | '}' | '[' | ']' | ',' | ':' => 1,
            _ => rest.find(|c: char| c.is_whitespace() || "{}[],:\"'".contains(c)).unwrap_or(rest.len()),
        };
        let (token, after) = rest.split_at(length);
        rest = after.trim_start();
        let string = |text: &str| serde_json::Value::from(text).to_string();
        match c {
            '"' => out.push_str(token),
            '\'' if token.contains('\\') => return None,
            '\'' => out.push_str(&string(&token[1..length - 1])),
            '{' | '[' => {
                open.push(if c == '{' { '}' } else { ']' });
                out.push(c);
            }
            '}' | ']' => {
                open.pop();
                out.push(c);
            }
            ',' if rest.is_empty() || rest.starts_with(['}', ']']) => {}
            ',' | ':' => out.push(c),
            _ if rest.starts_with(':') => out.push_str(&string(token)),
            _ => match (token, word(token)) {
                ("None", _) => out.push_str("null"),
                (_, Word::Json(word)) => out.push_str(word),
                // What is not JSON either is found below.
                _ => out.push_str(token),
            },
        }
        // Two values without a comma are not one.
        if !matches!(c, '{' | '}' | '[' | ']' | ',' | ':') && rest.starts_with(|c: char| !"}],:".contains(c))
        {
            return None;
        }
    }
    out.extend(open.iter().rev());
    variation_fits(ReturnType::Json, &out).ok()?;
    short(&format!("'{}'", out.replace('\'', "''")))
}

/// Returns where a JSON string ends.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    text.char_indices().find_map(|(at, c)| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends.then_some(at)
    })
}

/// Returns the items of a list that is written as a text: `- 1 - 2`, with or without line breaks, or `[1,
/// 2]`.
pub(super) fn items(text: &str) -> Option<Vec<String>> {
    let text = text.trim();
    let parts: Vec<&str> = match text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
        Some(inner) => inner.split(',').collect(),
        None => {
            // A folded text has spaces in place of its line breaks.
            let lines = text.split('\n').flat_map(|line| line.split(" - ")).map(str::trim);
            let lines = lines.map(|line| line.strip_prefix("- ").unwrap_or(line));
            let parts: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
            let is_list = text.starts_with("- ") || text.contains("\n- ") || parts.len() > 2;
            if is_list { parts } else { Vec::new() }
        }
    };
    let unquoted = |part: &str| {
        let part = part.trim();
        let inner = ['"', '\''].iter().find_map(|quote| part.strip_prefix(*quote)?.strip_suffix(*quote));
        inner.unwrap_or(part).to_owned()
    };
    let parts: Vec<String> = parts.into_iter().map(unquoted).collect();
    (parts.len() > 1 && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// Returns texts as they stand between the brackets of a list; none if they are long.
pub(super) fn list(items: &[String]) -> Option<String> {
    short(&items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
}

/// Returns the decimal number that a text with another notation has: a decimal comma, and groups of three
/// digits. Three digits after the only comma are a group or decimals.
pub(super) fn number(text: &str) -> Option<MeantNumber> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", text),
    };
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
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
pub(super) struct MeantNumber {
    pub(super) number: String,
    /// What the text means to other readers.
    pub(super) other: Option<String>,
}

impl MeantNumber {
    /// Returns what to write, with what goes before it.
    pub(super) fn help(&self, before: &str) -> String {
        match &self.other {
            Some(other) => format!("write `{before}{}` or `{before}{other}`", self.number),
            None => format!("write `{before}{}`", self.number),
        }
    }
}

/// Returns what an author means by a value that is not a number beside values that are; none if it may well be
/// text. The reading is none if only its kind is certain.
pub(super) fn almost_number(text: &str) -> Option<Option<MeantNumber>> {
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
pub(super) fn full_number(text: &str) -> Option<String> {
    let text = text.trim();
    let full = match text.strip_suffix('.') {
        Some(whole) => whole.to_owned(),
        None => text.replacen("-.", "-0.", 1),
    };
    let full = if full.starts_with('.') { format!("0{full}") } else { full };
    (full != text && fits_number(&full)).then_some(full)
}

/// Returns what a number with a comparison means: `>=18`, `18+`, `5-10`.
pub(super) fn compared_number(text: &str) -> Option<ComparedObject> {
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

/// Returns the boolean that an author means by a value beside booleans; none if it may well be text. The word
/// is none if only the type is certain.
pub(super) fn almost_boolean(text: &str) -> Option<Option<&'static str>> {
    let lower = text.trim().to_lowercase();
    match lower.as_str() {
        "" => Some(None),
        "true" | "t" | "yes" | "y" | "on" | "1" => Some(Some("true")),
        "false" | "f" | "no" | "n" | "off" | "0" => Some(Some("false")),
        _ => closest(&lower, ["true", "false"]).map(Some),
    }
}

/// Returns a share in percent, however it is written: `50 %`, `50,5`. At most two decimals are kept.
pub(super) fn percentage(text: &str) -> Option<f64> {
    let Share { number, rounding } = share(text)?;
    // A fraction may be one of another whole.
    (number <= 100.0 && rounding > 0.0).then_some((number * 100.0).round() / 100.0)
}

/// Returns the attributes of a user that are written as a list of mappings: `[{ age: 20 }, { vip: true }]`.
pub(super) fn attributes(items: &[Node]) -> Option<String> {
    let mut all = Vec::new();
    for item in items {
        let NodeKind::Mapping(entries) = &item.kind else { return None };
        for (name, value) in entries {
            all.push(format!("{}: {}", quoted(scalar(name)?), quoted(scalar(value)?)));
        }
    }
    let all = short(&all.join(", ")).filter(|all| !all.is_empty())?;
    Some(format!("write one mapping: `given: {{ {all} }}`"))
}

/// The time that a text means.
#[derive(Debug, Eq, PartialEq)]
pub(super) struct MeantTime {
    /// In seconds since 1970-01-01 UTC.
    pub(super) seconds: i64,
    /// Whether the text names its zone.
    pub(super) has_zone: bool,
}

impl MeantTime {
    /// Returns what to write, with this offset instead of `Z` if it is not empty.
    pub(super) fn help(&self, offset: &str) -> String {
        let zone = if offset.is_empty() { "Z" } else { offset };
        let write = |seconds| rfc3339(seconds).replace('Z', zone);
        let time = write(self.seconds);
        match self.has_zone {
            _ if !(EARLIEST..=LATEST).contains(&self.seconds) => {
                format!("write a time from `{}` to `{}`", write(EARLIEST), write(LATEST))
            }
            true => format!("write `{time}`, which is the same time"),
            false => format!("write `{time}` if the time is meant in UTC"),
        }
    }
}

/// The first second of the year 0 and the last one of the year 9999. Years have four digits.
const EARLIEST: i64 = -62_167_219_200;
const LATEST: i64 = 253_402_300_799;

/// Returns the time that a text in another notation means: with `Z`, a negative or a large offset or without a
/// zone, with fractions of a second or without seconds, a date alone, or a number of seconds or milliseconds.
/// Days and months in another order have no certain meaning.
pub(super) fn time(text: &str) -> Option<MeantTime> {
    let text = text.trim();
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().ok()?;
        return match text.len() {
            10 => Some(MeantTime { seconds: number, has_zone: true }),
            13 => Some(MeantTime { seconds: number / 1000, has_zone: true }),
            _ => None,
        };
    }
    let (date, rest) = text.split_at_checked("2026-12-01".len())?;
    let rest = rest.trim_start_matches(['T', 't', ' ', '_']);
    let length = rest.find(|c: char| !(c.is_ascii_digit() || c == ':')).unwrap_or(rest.len());
    let (clock, rest) = rest.split_at(length);
    let rest = match rest.strip_prefix(['.', ',']) {
        Some(rest) => rest.trim_start_matches(|c: char| c.is_ascii_digit()),
        None => rest,
    };
    let zone = rest.trim().to_ascii_uppercase();
    let offset = match zone.as_str() {
        "" | "Z" | "UTC" | "GMT" => 0,
        offset => offset_seconds(offset)?,
    };
    let midnight = seconds(&format!("{date}T00:00:00Z")).ok()?;
    Some(MeantTime { seconds: midnight + clock_seconds(clock)? - offset, has_zone: !zone.is_empty() })
}

/// Returns the seconds from midnight to a time such as `09:00`, up to `24:00:00`, the end of the day.
fn clock_seconds(clock: &str) -> Option<i64> {
    let parts = clock.split(':').filter(|_| !clock.is_empty()).map(|part| match part.len() {
        2 => part.parse().ok(),
        _ => None,
    });
    let (hour, minute, second) = match parts.collect::<Option<Vec<i64>>>()?[..] {
        [] => (0, 0, 0),
        [hour, minute] => (hour, minute, 0),
        [hour, minute, second] => (hour, minute, second),
        _ => return None,
    };
    let total = hour * 3600 + minute * 60 + second;
    // A leap second is the beginning of the next minute, as to the service.
    (minute < 60 && second <= 60 && total <= 86_400).then_some(total)
}

/// Returns the seconds of an offset such as `+01:00`, `-0530` or `+01`.
fn offset_seconds(offset: &str) -> Option<i64> {
    let digits = offset.strip_prefix(['+', '-'])?.replace(':', "");
    let is_digits = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number: i64 = digits.parse().ok().filter(|_| is_digits)?;
    let seconds = match digits.len() {
        2 => number * 3600,
        4 if number % 100 < 60 => number / 100 * 3600 + number % 100 * 60,
        _ => return None,
    };
    Some(if offset.starts_with('-') { -seconds } else { seconds })
}

/// A share in any unit.
struct Share {
    number: f64,
    /// The half of its last digit, by which it may have been rounded; 0 for a fraction such as `1/3`.
    rounding: f64,
}

/// Returns a share, however it is written.
fn share(text: &str) -> Option<Share> {
    let text = text.trim().strip_suffix('%').unwrap_or(text).trim().replacen(',', ".", 1);
    let number = |text: &str| {
        let text = text.trim();
        let is_number = text.starts_with(|c: char| c.is_ascii_digit() || c == '.')
            && text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
        text.parse::<f64>().ok().filter(|number| is_number && number.is_finite())
    };
    if let Some((part, whole)) = text.split_once('/') {
        let whole = number(whole).filter(|whole| *whole > 0.0)?;
        return Some(Share { number: number(part)? / whole, rounding: 0.0 });
    }
    let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let number = number(&text)?;
    Some(Share { number, rounding: 0.5 * 10_f64.powi(-i32::try_from(decimals).ok()?) })
}

/// Returns shares as hundredths of a percent if their sum is the whole of a usual unit, apart from what was
/// rounded; none if a sum is probably a mistake.
pub(super) fn hundredths<'a>(shares: impl IntoIterator<Item = &'a str>) -> Option<Vec<u32>> {
    /// Percent, parts of 1, and the weights of other tools.
    const UNITS: &[f64] = &[100.0, 1.0, 1000.0, 10_000.0, 100_000.0];
    /// The largest sum of weights such as `[1, 3]`.
    const SMALLEST_UNIT: f64 = 10.0;
    /// The largest part of the unit that a share is rounded by, unless all are the same.
    const COARSEST: f64 = 1e-3;
    let shares: Vec<Share> = shares.into_iter().map(share).collect::<Option<_>>()?;
    let sum: f64 = shares.iter().map(|share| share.number).sum();
    let is_whole = shares.iter().all(|share| share.number.fract() == 0.0);
    let rounding: f64 = shares.iter().map(|share| share.rounding).sum();
    let finest = shares.iter().map(|share| share.rounding).fold(f64::INFINITY, f64::min);
    let are_same = shares.iter().all(|share| share.number.total_cmp(&shares[0].number).is_eq());
    // A sum of floats is not exact.
    let is_exact = |unit: &f64| (sum / unit - 1.0).abs() < 1e-6;
    let is_rounded = |unit: &f64| {
        (sum - unit).abs() < rounding.max(1.5e-4 * unit) + 1e-6
            && (are_same || finest <= 0.5 * COARSEST * unit)
    };
    let units = || UNITS.iter().copied();
    let unit = units().find(is_exact).or_else(|| units().find(is_rounded));
    unit.or_else(|| (is_whole && sum > 0.0 && sum <= SMALLEST_UNIT).then_some(sum))?;
    let cut = |(at, share): (usize, &Share)| {
        let weight = share.number * f64::from(WHOLE) / sum;
        let whole = (weight + 1e-6).floor();
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is from 0 to 10,000")]
        (at, weight - whole, whole as u32)
    };
    let mut all: Vec<(usize, f64, u32)> = shares.iter().enumerate().map(cut).collect();
    let missing = WHOLE.checked_sub(all.iter().map(|(_, _, weight)| weight).sum())?;
    // The largest parts that were cut get the rest.
    all.sort_by(|(_, a, _), (_, b, _)| b.total_cmp(a));
    for (_, _, weight) in all.iter_mut().take(usize::try_from(missing).ok()?) {
        *weight += 1;
    }
    all.sort_by_key(|(at, ..)| *at);
    let weights: Vec<u32> = all.into_iter().map(|(_, _, weight)| weight).collect();
    (weights.iter().sum::<u32>() == WHOLE).then_some(weights)
}

/// Returns shares with two decimals, which add up to 100, if they are in percent.
pub(super) fn percentages(shares: &[&str]) -> Option<Vec<f64>> {
    let all = hundredths(shares.iter().copied())?.into_iter().map(|weight| f64::from(weight) / 100.0);
    let all: Vec<f64> = all.collect();
    let is_near = |(text, percentage): (&&str, &f64)| {
        share(text).is_some_and(|share| (share.number - percentage).abs() < 1.0)
    };
    shares.iter().zip(&all).all(is_near).then_some(all)
}

/// Returns the split that a node in the notation of another tool means, as a document has it: a list of names
/// with shares, a mapping of them, a list of weights, or the ranges of SDKs.
///
/// Where a name is none of `variations`, it can be the index of one.
pub(super) fn split(node: &Node, variations: &[String]) -> Option<String> {
    const MOST_SHOWN: usize = 8;
    if let Some(weights) = weights(node) {
        return Some(format!("{weights:?}"));
    }
    let mut names: Vec<Option<&str>> = Vec::new();
    let mut shares: Vec<&str> = Vec::new();
    match &node.kind {
        // What other tools call a split, within a split.
        NodeKind::Mapping(entries) if entries.len() == 1 && scalar(&entries[0].1).is_none() => {
            return split(&entries[0].1, variations);
        }
        NodeKind::Mapping(entries) => {
            for (key, value) in entries {
                names.push(Some(scalar(key)?));
                shares.push(only_share(value)?);
            }
        }
        NodeKind::Sequence(items) => {
            for item in items {
                let (name, share) = named_share(item)?;
                names.push(name);
                shares.push(share);
            }
        }
        _ => return None,
    }
    let weights = hundredths(shares).filter(|weights| weights.len() <= MOST_SHOWN)?;
    if names.iter().all(Option::is_none) {
        return Some(format!("{weights:?}"));
    }
    let names: Vec<&str> =
        names.into_iter().map(|name| Some(of_index(name?, variations))).collect::<Option<_>>()?;
    let all = names.iter().zip(weights);
    let all: Vec<String> =
        all.map(|(name, weight)| format!("{}: {}", quoted(name), f64::from(weight) / 100.0)).collect();
    short(&format!("{{ {} }}", all.join(", ")))
}

/// Returns the name of the variation that a text is the index of, unless it is a name itself.
fn of_index<'a>(name: &'a str, variations: &'a [String]) -> &'a str {
    let is_name = variations.iter().any(|known| known == name);
    let index = if is_name { None } else { name.parse::<usize>().ok() };
    index.and_then(|index| variations.get(index)).map_or(name, String::as_str)
}

fn scalar(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Scalar(text, _) => Some(text),
        _ => None,
    }
}

/// Returns the only number in a value: a scalar, or a field such as `weight`.
pub(super) fn only_share(node: &Node) -> Option<&str> {
    let is_share = |text: &&str| share(text).is_some();
    match &node.kind {
        NodeKind::Mapping(entries) => {
            let mut shares = entries.iter().filter_map(|(_, value)| scalar(value)).filter(is_share);
            shares.next().filter(|_| shares.next().is_none())
        }
        _ => scalar(node).filter(is_share),
    }
}

/// Returns the name and the share of an item of a list: `50`, `["on", 50]`, `on: 50`, or a mapping with the
/// name in one field and the share in another.
fn named_share(item: &Node) -> Option<(Option<&str>, &str)> {
    const NAMES: &[&str] = &["variation", "name", "variant", "variantkey", "variationid", "key", "value"];
    match &item.kind {
        NodeKind::Scalar(..) => Some((None, only_share(item)?)),
        NodeKind::Sequence(pair) => match pair.as_slice() {
            [name, share] => Some((Some(scalar(name)?), only_share(share)?)),
            _ => None,
        },
        NodeKind::Mapping(entries) => match entries.as_slice() {
            [(name, value)] => Some((Some(scalar(name)?), only_share(value)?)),
            _ => {
                let named = entries.iter().find(|(key, _)| {
                    scalar(key)
                        .is_some_and(|key| NAMES.contains(&key.to_lowercase().replace('_', "").as_str()))
                })?;
                let mut others = entries.iter().filter(|(key, _)| key.span != named.0.span);
                let share = others.find_map(|(_, value)| only_share(value))?;
                Some((Some(scalar(&named.1)?), share))
            }
        },
        NodeKind::Refused => None,
    }
}

/// Returns the weights of the ranges in which SDKs get a split: a list of ranges for each variation.
pub(super) fn weights(distribution: &Node) -> Option<Vec<u32>> {
    let list = |node: &Node| match &node.kind {
        NodeKind::Sequence(items) => Some(items.clone()),
        _ => None,
    };
    let bound = |node: &Node| match &node.kind {
        NodeKind::Scalar(text, _) => text.parse::<u32>().ok(),
        _ => None,
    };
    let weight = |ranges: &Node| {
        let lengths = list(ranges)?
            .iter()
            .map(|range| match list(range)?.as_slice() {
                [start, end] => bound(end)?.checked_sub(bound(start)?),
                _ => None,
            })
            .collect::<Option<Vec<u32>>>()?;
        lengths.into_iter().try_fold(0_u32, u32::checked_add)
    };
    let weights: Vec<u32> = list(distribution)?.iter().map(weight).collect::<Option<_>>()?;
    let sum: u64 = weights.iter().copied().map(u64::from).sum();
    (sum == u64::from(WHOLE)).then_some(weights)
}

/// A regular expression in the notation of JavaScript: `/^a$/i`.
pub(super) struct RegexLiteral<'a> {
    inner: &'a str,
    flags: &'a str,
}

impl<'a> RegexLiteral<'a> {
    /// Reads an object that is certainly not a path: it has flags, or the signs of a whole text.
    pub(super) fn of(object: &'a str) -> Option<Self> {
        /// More letters are a word of a path.
        const MOST_FLAGS: usize = 2;
        let (inner, flags) = object.strip_prefix('/')?.rsplit_once('/')?;
        let is_flags = flags.chars().all(|flag| "gimsuy".contains(flag));
        let is_anchored = inner.starts_with('^') || inner.ends_with('$');
        let is_literal =
            is_flags && !inner.is_empty() && (is_anchored || (1..=MOST_FLAGS).contains(&flags.len()));
        is_literal.then_some(Self { inner, flags })
    }

    pub(super) fn help(&self) -> String {
        let Self { inner, flags } = self;
        let inner = inner.replace("\\/", "/");
        let is_simple = !inner.contains(['[', '\\']) && !inner.contains("(?");
        let ignores_case = flags.contains('i');
        let written = match ignores_case && is_simple {
            true => inner
                .chars()
                .map(|c| if c.is_alphabetic() { in_both_cases(c) } else { c.to_string() })
                .collect(),
            false => inner,
        };
        let lost: String = flags.chars().filter(|flag| "msu".contains(*flag)).collect();
        let mut help = format!("write `{}`", escaped(&quoted(&written)));
        if ignores_case && !is_simple {
            help.push_str(", and both cases of each letter as a class, such as `[Aa]`");
        }
        if !lost.is_empty() {
            help.push_str(&format!("; no notation for the flags `{lost}` is the same in all SDKs"));
        }
        help
    }
}

/// Returns what an author wrote whose value ends at a comma, because a key without a value follows: `50,5` or
/// `a, b`.
pub(super) fn cut_at_comma(
    before: Option<&(Node, Node)>,
    (key, value): &(Node, Node),
    is_key: impl Fn(&str) -> bool,
) -> Option<CutValue> {
    let (_, before) = before?;
    let plain = |node: &Node| match &node.kind {
        NodeKind::Scalar(text, Style::Plain) => Some(text.clone()),
        _ => None,
    };
    let (before, key) = (plain(before)?, plain(key)?);
    if without_blank(&key, is_key).is_some() {
        return None;
    }
    if plain(value)?.is_empty() && value.span.is_empty() && !before.is_empty() && !key.is_empty() {
        let joined = format!("{before},{key}");
        let text = || short(&quoted(&format!("{before}, {key}")));
        let help = match number(&joined) {
            Some(number) => number.help(""),
            None => format!("write `{}`", text()?),
        };
        return Some(CutValue { joined: short(&joined)?, help });
    }
    None
}

/// Returns the help on a key that is an entry in which no blank follows the colon: `value:5`.
pub(super) fn without_blank(text: &str, is_key: impl Fn(&str) -> bool) -> Option<(&str, String)> {
    let (key, value) = text.split_once(':')?;
    let is_entry = is_key(key) && !value.is_empty() && !value.starts_with("//");
    is_entry.then(|| {
        let entry = format!("{}: {}", in_braces(key), in_braces(value.trim()));
        (key, format!("write a space after the colon: `{}`", shown(&entry)))
    })
}

/// Returns a key or a value as an entry in braces has it.
pub(super) fn in_braces(value: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '/' | '+' | '@' | ' ');
    let is_collection = value.starts_with(['[', '{', '"', '\'']);
    // These keys of splits are booleans in YAML 1.1.
    let is_word = matches!(value, "on" | "off" | "yes" | "no");
    match !is_word
        && (is_collection || value.starts_with(char::is_alphanumeric) && value.chars().all(is_plain))
    {
        true => value.to_owned(),
        false => quoted(value),
    }
}

/// A value that ends at a comma.
pub(super) struct CutValue {
    /// The value as it was meant.
    pub(super) joined: String,
    pub(super) help: String,
}

impl CutValue {
    pub(super) fn message(&self) -> String {
        format!("a comma ends a value in braces, so `{}` is not one", self.joined)
    }
}

/// Returns whether `text` is a decimal number: optional sign, digits, fraction, exponent; no hexadecimal
/// digits, no `_`, no NaN, no infinity.
pub(super) fn is_decimal(text: &str) -> bool {
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
    fn a_time_in_another_notation_is_recognized() {
        for (text, expected, has_zone) in [
            ("2026-12-01T09:00:00Z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01t09:00:00z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00.123Z", "2026-12-01T09:00:00Z", true),
            ("2026-12-01 09:00:00 UTC", "2026-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00-05:00", "2026-12-01T14:00:00Z", true),
            ("2026-12-01T09:00:00+05:30", "2026-12-01T03:30:00Z", true),
            ("2026-12-01T09:00:00+0100", "2026-12-01T08:00:00Z", true),
            ("2026-12-01T09:00:00 +01", "2026-12-01T08:00:00Z", true),
            ("2026-12-01T09:00Z", "2026-12-01T09:00:00Z", true),
            ("1764579600", "2025-12-01T09:00:00Z", true),
            ("1764579600123", "2025-12-01T09:00:00Z", true),
            ("2026-12-01T09:00:00", "2026-12-01T09:00:00Z", false),
            ("2026-12-01 09:00", "2026-12-01T09:00:00Z", false),
            ("2026-12-01", "2026-12-01T00:00:00Z", false),
            ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z", true),
            ("9999-12-31 23:59:59.999", "9999-12-31T23:59:59Z", false),
            ("1969-06-15T10:00:00Z", "1969-06-15T10:00:00Z", true),
            ("2026-12-31T24:00:00Z", "2027-01-01T00:00:00Z", true),
            ("2026-12-31T23:59:60Z", "2027-01-01T00:00:00Z", true),
            ("2026-12-01T09:00:00+24:00", "2026-11-30T09:00:00Z", true),
        ] {
            let found = time(text).map(|time| (rfc3339(time.seconds), time.has_zone));
            assert_eq!(found, Some((expected.to_owned(), has_zone)), "{text}");
        }
        for text in [
            "",
            "tomorrow",
            "01.12.2026",
            "12/01/2026",
            "2026-13-01",
            "2026-02-30",
            "2026-12-01T25:00:00Z",
            "2026-12-01T09:00:00 CET",
            "2026-12-01T9",
            "1764",
            "ä2026-12-01",
            "2026-12-0ä",
            "2026-12-01Tä",
            "2026-12-01T09:00:00ä1:00",
        ] {
            assert_eq!(time(text), None, "{text}");
        }
    }

    #[test]
    fn a_list_in_a_text_is_recognized() {
        for (text, expected) in [
            ("- 1\n- 2", Some(&["1", "2"][..])),
            ("- 1 - 2 - 3", Some(&["1", "2", "3"])),
            ("1 - 2 - 3", Some(&["1", "2", "3"])),
            ("[AT, \"CH\"]", Some(&["AT", "CH"])),
            ("Smith - Jones", None),
            ("- 1", None),
            ("[]", None),
            ("[a]", None),
            ("a-b-c", None),
            ("", None),
        ] {
            let found = items(text);
            let found = found.as_ref().map(|items| items.iter().map(String::as_str).collect::<Vec<_>>());
            assert_eq!(found.as_deref(), expected, "{text}");
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

    #[test]
    fn what_is_nearly_json_keeps_its_types_or_has_no_suggestion() {
        for (text, expected) in [
            ("{a:2}", Some(r#"'{"a":2}'"#)),
            ("{a: 1, b: [1, 2,],}", Some(r#"'{"a":1,"b":[1,2]}'"#)),
            (r#"{"a":1,}"#, Some(r#"'{"a":1}'"#)),
            (r#"{"a": 1"#, Some(r#"'{"a":1}'"#)),
            (r#"{"a": [1, {"b": 2"#, Some(r#"'{"a":[1,{"b":2}]}'"#)),
            ("{'a': 'it'}", Some(r#"'{"a":"it"}'"#)),
            (r#"{"a":True,"b":FALSE,"c":None}"#, Some(r#"'{"a":true,"b":false,"c":null}'"#)),
            (r#"{a: "it's"}"#, Some(r#"'{"a":"it''s"}'"#)),
            (r#"{"a":NaN}"#, None),
            (r#"{"a":01}"#, None),
            (r#"{"a":0x1F}"#, None),
            (r#"{"a":+1}"#, None),
            (r#"{"a":red}"#, None),
            (r#"{"a":yes}"#, None),
            (r#"{"a":1} // x"#, None),
            (r#"{"a":1 2}"#, None),
            (r#"{"a":"b"#, None),
            (r#"{"a" 1}"#, None),
            (r"{'a\': 1}", None),
            ("{name}", None),
            ("[1, 2", None),
            ("", None),
        ] {
            assert_eq!(repaired_json(text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn shares_in_any_notation_are_hundredths_of_a_percent_or_not_known() {
        for (shares, expected) in [
            (&["50", "50"][..], Some(&[5000, 5000][..])),
            (&["1", "1"], Some(&[5000, 5000])),
            (&["1", "3"], Some(&[2500, 7500])),
            (&["500", "500"], Some(&[5000, 5000])),
            (&["50000", "25000", "25000"], Some(&[5000, 2500, 2500])),
            (&["0.25", "0.75"], Some(&[2500, 7500])),
            (&["33.3", "66.7"], Some(&[3330, 6670])),
            (&["50 %", "50,0"], Some(&[5000, 5000])),
            (&["1e1", "9E1"], Some(&[1000, 9000])),
            // What was rounded adds up.
            (&["12.345", "87.655"], Some(&[1235, 8765])),
            (&["33.333", "33.333", "33.334"], Some(&[3333, 3333, 3334])),
            (&["33.333", "33.333", "33.333"], Some(&[3334, 3333, 3333])),
            (&["33.33", "33.33", "33.33"], Some(&[3334, 3333, 3333])),
            (&["33.3", "66.6"], Some(&[3333, 6667])),
            (&["33", "33", "33"], Some(&[3334, 3333, 3333])),
            (&["0.33", "0.33", "0.33"], Some(&[3334, 3333, 3333])),
            (&["14.29", "14.29", "71.43"], Some(&[1429, 1429, 7142])),
            (&["33.333", "66.67"], Some(&[3333, 6667])),
            (&["33.333", "66.667"], Some(&[3333, 6667])),
            (&["100.001"], Some(&[10_000])),
            (&["1/3", "2/3"], Some(&[3333, 6667])),
            (&["1 / 4", "0.75"], Some(&[2500, 7500])),
            (&["1", "2"], Some(&[3333, 6667])),
            (&["60", "60"], None),
            (&["60.001", "60"], None),
            (&["10", "89"], None),
            (&["0.25", "0.74"], None),
            (&["1/3", "1/3"], None),
            (&["1/0", "1"], None),
            (&["0", "0"], None),
            (&["-1", "2"], None),
            (&["a", "100"], None),
            (&["e1", "inf"], None),
            (&[], None),
        ] {
            assert_eq!(hundredths(shares.iter().copied()).as_deref(), expected, "{shares:?}");
        }
    }
}
