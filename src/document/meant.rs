//! What an author meant by a value in another notation: what to write instead, for the help of findings.

use super::node::{Node, NodeKind, Style, is_null, quoted};
use crate::model::{WHOLE, escaped};

/// The longest text that a help writes out.
pub(super) const LONGEST: usize = 200;

/// Returns a mapping or a list as JSON in single quotes, as a document has it; none if it is long.
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
/// digits.
pub(super) fn number(text: &str) -> Option<String> {
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
    let fraction = fraction.map(|fraction| format!(".{fraction}")).unwrap_or_default();
    Some(format!("{sign}{first}{}{fraction}", groups.concat()))
}

/// Returns a share in percent, however it is written: `50 %`, `50,5`. At most two decimals are kept.
pub(super) fn percentage(text: &str) -> Option<f64> {
    let text = text.trim().strip_suffix('%').unwrap_or(text).trim().replacen(',', ".", 1);
    let is_decimal = text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let share: f64 = text.parse().ok().filter(|share| is_decimal && (0.0..=100.0).contains(share))?;
    Some((share * 100.0).round() / 100.0)
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

/// Returns what an author wrote whose value ends at a comma, because a key without a value follows: `50,5` or
/// `a, b`.
pub(super) fn cut_at_comma(before: Option<&(Node, Node)>, (key, value): &(Node, Node)) -> Option<CutValue> {
    let (_, before) = before?;
    let plain = |node: &Node| match &node.kind {
        NodeKind::Scalar(text, Style::Plain) => Some(text.clone()),
        _ => None,
    };
    let (before, key) = (plain(before)?, plain(key)?);
    if plain(value)?.is_empty() && value.span.is_empty() && !before.is_empty() && !key.is_empty() {
        let joined = format!("{before},{key}");
        let decimal = number(&joined);
        let text = decimal.unwrap_or_else(|| quoted(&format!("{before}, {key}")));
        return Some(CutValue { joined: short(&joined)?, text: short(&text)? });
    }
    None
}

/// A value that ends at a comma.
pub(super) struct CutValue {
    /// The value as it was meant.
    pub(super) joined: String,
    /// What to write.
    pub(super) text: String,
}

impl CutValue {
    pub(super) fn message(&self) -> String {
        format!("a comma ends a value in braces, so `{}` is not one", self.joined)
    }

    pub(super) fn help(&self) -> String {
        format!("write `{}`", self.text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(number(text).as_deref(), expected, "{text}");
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
}
