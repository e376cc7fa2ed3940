//! A value that is written as YAML or nearly as JSON, as the JSON text that a document has.

use super::number::number;
use super::{LONGEST, short};
use crate::document::node::{NodeKind, Style, is_null};
use crate::model::{ReturnType, variation_fits};

/// Returns a mapping or a list as JSON in single quotes, as a document has it; none if it is long, or if the
/// type of a part is not certain.
pub(in crate::document) fn json(value: &NodeKind) -> Option<String> {
    let mut text = String::new();
    add_json(value, &mut text)?;
    short(&format!("'{}'", text.replace('\'', "''")))
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
pub(in crate::document) fn repaired_json(text: &str) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
