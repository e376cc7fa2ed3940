//! Prerequisites in the notation of another tool.

use crate::document::finding::shown;
use crate::document::modifier::truth_of;
use crate::document::node::{Node, NodeKind, quoted, scalar};
use crate::model::ReturnType;

/// Returns the fields of a prerequisite on the toggle `key`, which serves `value` if it is known.
pub(super) fn prerequisite(key: &str, value: Option<&str>) -> String {
    let value = match value.map(|value| truth_of(value).ok_or(value)) {
        Some(Ok(false)) => "false",
        Some(Ok(true)) | None => "true",
        Some(Err(value)) => value,
    };
    let kind = ReturnType::of(&[value]).as_str();
    format!("key: {}, type: {kind}, value: {}", quoted(&shown(key)), quoted(&shown(value)))
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
