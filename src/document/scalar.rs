//! Reads the scalars of a document: text as it is written, booleans, and the index of a variation.

use super::check::{self, Check};
use super::finding::shown;
use super::help::ROLLOUT;
use super::node::{NodeKind, Style, is_null};

/// A value that cannot be read.
pub(super) struct Problem {
    pub(super) check: &'static Check,
    pub(super) message: String,
    pub(super) help: Option<String>,
}

/// A value; without one, the problem, or `None` if it was reported already.
type Read<T> = Result<T, Option<Problem>>;

/// Returns the problem that the value of `name` is not `wanted`.
pub(super) fn wrong_type(
    name: &str,
    value: &NodeKind,
    wanted: &str,
    help: Option<&'static str>,
) -> Option<Problem> {
    let found = match value {
        NodeKind::Mapping(_) => "a mapping".to_owned(),
        NodeKind::Scalar(text, Style::Plain) if is_null(text) => "null".to_owned(),
        NodeKind::Scalar(text, Style::Plain) => format!("`{}`", shown(text)),
        NodeKind::Scalar(text, Style::Quoted) => format!("the text `{}`", shown(text)),
        NodeKind::Sequence(_) => "a list".to_owned(),
        NodeKind::Refused => return None,
    };
    Some(Problem {
        check: &check::WRONG_TYPE,
        message: format!("`{}` is {wanted}, not {found}", shown(name)),
        help: help.map(str::to_owned),
    })
}

/// Reads a text verbatim.
pub(super) fn text(name: &str, value: &NodeKind) -> Read<String> {
    match value {
        // A null where text is expected is an error (DESIGN, section 2), because YAML parsers disagree on what it
        // means.
        NodeKind::Scalar(text, Style::Plain) if is_null(text) => {
            let name = shown(name);
            let (message, help) = match text.as_str() {
                "" => (format!("`{name}` has no value"), format!("write `{name}: \"\"` for empty text")),
                text => (
                    format!("`{name}` is text, and this is null"),
                    format!("write `\"{text}\"` if the text is meant"),
                ),
            };
            Err(Some(Problem { check: &check::NULL_TEXT, message, help: Some(help) }))
        }
        // A plain scalar is text as well: `1.10` must stay `1.10` (DESIGN, section 2).
        NodeKind::Scalar(text, _) => Ok(text.clone()),
        _ => Err(wrong_type(name, value, "text", Some("if it is text, put it in quotes"))),
    }
}

/// Reads a boolean of YAML's core schema.
pub(super) fn boolean(name: &str, value: &NodeKind) -> Read<bool> {
    if let NodeKind::Scalar(text, Style::Plain) = value {
        match text.as_str() {
            "true" | "True" | "TRUE" => return Ok(true),
            "false" | "False" | "FALSE" => return Ok(false),
            _ => {}
        }
    }
    let help = match value {
        NodeKind::Scalar(text, _) => match text.to_ascii_lowercase().as_str() {
            // YAML 1.1 reads these words as booleans, so authors write them.
            "true" | "yes" | "on" | "y" => "write `true`, without quotes",
            "false" | "no" | "off" | "n" => "write `false`, without quotes",
            text if text.ends_with(',') => "remove the comma: outside of brackets, a line ends without one",
            text if text.contains("//") => "begin comments with `# `, not with `//`",
            _ => "write `true` or `false`, without quotes",
        },
        _ => "write `true` or `false`",
    };
    Err(wrong_type(name, value, "`true` or `false`", Some(help)))
}

/// Reads the index of a variation.
pub(super) fn index(name: &str, value: &NodeKind) -> Read<u32> {
    let not_whole = |help| Err(wrong_type(name, value, "a whole number", help));
    let text = match value {
        // A percent sign is an attempt at a percentage rollout, so the help explains that.
        NodeKind::Scalar(text, _) if text.ends_with('%') => return not_whole(Some(ROLLOUT)),
        NodeKind::Scalar(text, Style::Plain) => text,
        NodeKind::Scalar(..) => {
            return not_whole(Some("write it without quotes, or write `variation` to name a variation"));
        }
        _ => return not_whole(Some(ROLLOUT)),
    };
    match integer(text) {
        Integer::Index(index) => Ok(index),
        Integer::Negative => Err(Some(Problem {
            check: &check::SELECT_NEGATIVE,
            message: format!("`select` is `{}`, below zero", shown(text)),
            help: Some("the first variation is 0".to_owned()),
        })),
        Integer::TooLarge => Err(Some(Problem {
            check: &check::SELECT_OUT_OF_RANGE,
            message: format!("`select` is `{}`, and no toggle has that many variations", shown(text)),
            help: None,
        })),
        Integer::No if is_null(text) => not_whole(None),
        Integer::No if text.starts_with(|c: char| c.is_ascii_digit()) => {
            not_whole(Some("write it in decimal digits without leading zeros"))
        }
        Integer::No => not_whole(Some("write `variation` instead of `select` to name a variation")),
    }
}

/// A plain scalar as an index.
enum Integer {
    Index(u32),
    Negative,
    No,
    TooLarge,
}

/// Reads a plain scalar by the core schema of YAML 1.2: decimal with an optional sign, `0x` or `0o`. Refuses leading
/// zeros.
fn integer(text: &str) -> Integer {
    let is_negative = text.starts_with('-');
    // The core schema allows a sign only before decimal digits, so the prefixes are tried on the text with its sign.
    let (digits, radix) = [("0x", 16), ("0o", 8)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((text.strip_prefix(prefix)?, radix)))
        .unwrap_or((text.strip_prefix(['+', '-']).unwrap_or(text), 10));
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(radix)) {
        return Integer::No;
    }
    // Other YAML parsers read a leading zero as octal, so the value would depend on the parser.
    if radix == 10 && digits.len() > 1 && digits.starts_with('0') {
        return Integer::No;
    }
    if is_negative {
        return Integer::Negative;
    }
    u32::from_str_radix(digits, radix).map_or(Integer::TooLarge, Integer::Index)
}
