//! What an author meant by a value in another notation: what to write instead, for the help of findings.
//!
//! Each file has one kind of value. A notation that could mean something else has no suggestion, because a wrong one
//! would change whom a toggle serves.

mod bound;
mod entry;
mod enumeration;
mod json;
mod number;
mod pattern;
mod split;
mod time;

pub(super) use bound::{Bound, bound, bounds, is_before, sorted};
pub(super) use entry::{cut_at_comma, in_braces, is_entry, without_blank, without_colon};
pub(super) use enumeration::enumerated;
pub(super) use json::{json, repaired_json};
pub(super) use number::{almost_number, compared_number, full_number, is_decimal};
pub(super) use pattern::RegexLiteral;
pub(super) use split::{hundredths, only_share, percentage, percentages, split, with_rest};
pub(super) use time::{MeantTime, time};

use super::node::quoted;
use crate::model::{closest, escaped};

/// The longest text that a help writes out.
pub(super) const LONGEST: usize = 200;

/// Returns texts as they stand between the brackets of a list; none if they are long.
pub(super) fn list(items: &[String]) -> Option<String> {
    short(&items.iter().map(|item| quoted(item)).collect::<Vec<_>>().join(", "))
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
    let parts: Vec<String> = parts.into_iter().map(|part| unquoted(part.trim()).to_owned()).collect();
    (parts.len() > 1 && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

/// Returns the items of a text that is a list or an enumeration.
pub(super) fn several(text: &str) -> Option<Vec<String>> {
    items(text).or_else(|| enumerated(text))
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

/// Returns a text without the quotes around it.
pub(super) fn unquoted(text: &str) -> &str {
    let inner = ['"', '\''].iter().find_map(|quote| text.strip_prefix(*quote)?.strip_suffix(*quote));
    inner.unwrap_or(text)
}

/// Returns a text as a help writes it out; none if it is long.
pub(super) fn short(text: &str) -> Option<String> {
    (text.len() <= LONGEST).then(|| escaped(text).to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

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
