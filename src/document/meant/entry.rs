//! An entry in which YAML sees another key or value than its author: no blank after the colon, or a comma in the
//! value.

use super::number::number;
use super::short;
use crate::document::finding::shown;
use crate::document::node::{Node, NodeKind, Style, is_hidden, quoted};

/// Returns what an author wrote whose value ends at a comma, because a key without a value follows: `50,5` or
/// `a, b`.
pub(in crate::document) fn cut_at_comma(
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
    if is_entry(&key, is_key) {
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

/// Returns whether a key is an entry whose key and value YAML does not tell apart.
pub(in crate::document) fn is_entry(text: &str, is_key: impl Fn(&str) -> bool) -> bool {
    let has_sign = text.contains(['=', '：']);
    without_blank(text, &is_key).is_some() || has_sign && without_colon(text, &is_key).is_some()
}

/// Returns the key and the value of an entry without a colon: `subject "country"`, `subject = country`.
pub(in crate::document) fn without_colon(text: &str, is_key: impl Fn(&str) -> bool) -> Option<(&str, &str)> {
    let is_separator = |c: char| matches!(c, ' ' | '=' | '：' | ':');
    let (key, rest) = text.split_once(is_separator)?;
    let rest = rest.trim_matches(is_separator);
    (is_key(key) && !rest.is_empty()).then_some((key, rest))
}

/// A value that ends at a comma.
pub(in crate::document) struct CutValue {
    /// The value as it was meant.
    pub(in crate::document) joined: String,
    pub(in crate::document) help: String,
}

impl CutValue {
    pub(in crate::document) fn message(&self) -> String {
        format!("a comma ends a value in braces, so `{}` is not one", self.joined)
    }
}

/// Returns the help on a key that is an entry in which no blank follows the colon: `value:5`.
pub(in crate::document) fn without_blank(
    text: &str,
    is_key: impl Fn(&str) -> bool,
) -> Option<(&str, String)> {
    let (key, value) = text.split_once(':')?;
    let is_entry = is_key(key) && !value.is_empty() && !value.starts_with("//");
    is_entry.then(|| {
        let value = value.trim_matches(|c: char| c.is_whitespace() || is_hidden(c));
        let entry = format!("{}: {}", in_braces(key), in_braces(value));
        (key, format!("write a space after the colon: `{}`", shown(&entry)))
    })
}

/// Returns a key or a value as an entry in braces has it.
pub(in crate::document) fn in_braces(value: &str) -> String {
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
