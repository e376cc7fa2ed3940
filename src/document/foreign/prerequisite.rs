//! Prerequisites in the notation of another tool.

use crate::document::finding::shown;
use crate::document::modifier::truth_of;
use crate::document::node::{Node, NodeKind, is_null, quoted, scalar};
use crate::model::{Key, ReturnType};

/// Returns the fields of a prerequisite on the toggle `key`, which serves `value`, and what to write otherwise if that is
/// not certain: without a value, the toggle may have no booleans. A text that is not a key says more than that.
pub(super) fn prerequisite(key: &str, value: Option<&str>) -> (String, String) {
    if !Key::is_key(key.as_bytes()) {
        return (
            "key: …, type: …, value: …".to_owned(),
            ", with the value that the other toggle must serve".to_owned(),
        );
    }
    let value = value.filter(|value| !is_null(value));
    let otherwise = match value {
        None => format!(", or the type and the value of `{}`, if it has no booleans", shown(key)),
        Some(_) => String::new(),
    };
    let value = match value.map(|value| truth_of(value).ok_or(value)) {
        Some(Ok(false)) => "false",
        Some(Ok(true)) | None => "true",
        Some(Err(value)) => value,
    };
    let kind = ReturnType::of(&[value]).as_str();
    let written = format!("key: {}, type: {kind}, value: {}", quoted(&shown(key)), quoted(&shown(value)));
    (written, otherwise)
}

/// Returns the help on a prerequisite without value.
pub(in crate::document) fn missing_value(kind: Option<&Node>) -> &'static str {
    match kind.and_then(scalar) {
        Some("number") => "add the value that the other toggle must serve, such as `value: \"1\"`",
        Some("string") => "add the value that the other toggle must serve, such as `value: \"red\"`",
        Some("json") => "add the value that the other toggle must serve, such as `value: \"{}\"`",
        _ => "add the value that the other toggle must serve, such as `value: \"true\"`",
    }
}

/// Returns the help on a list in place of the value of a prerequisite.
pub(in crate::document) fn one_value(value: &Node) -> Option<String> {
    let NodeKind::Sequence(items) = &value.kind else { return None };
    Some(match items.as_slice() {
        [one] if !one.is_null() && scalar(one).is_some() => {
            format!("write `value: {}`", quoted(&shown(scalar(one)?)))
        }
        _ => "write the one value that the other toggle must serve; if several are right, let a boolean toggle stand for them"
            .to_owned(),
    })
}

/// Returns the help on a prerequisite without type.
pub(in crate::document) fn missing_return_type(value: Option<&Node>) -> String {
    let kind = match value.and_then(scalar) {
        Some(value) => ReturnType::of(&[value]).as_str(),
        None => "boolean",
    };
    format!("name the type of the other toggle, such as `type: {kind}`")
}
