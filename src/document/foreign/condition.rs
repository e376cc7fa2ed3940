//! Conditions in the notation of another tool.

use super::ForeignKey;
use super::names::own_of;
use crate::document::check::quoted as in_backticks;
use crate::document::dialects;
use crate::document::finding::shown;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, field, is_null, quoted, scalar};
use crate::model::{CONDITION_TYPES, is_accepted_time, is_semver, listed};

/// Returns what a key of a condition means that is an attribute or a predicate, with what it is compared:
/// `{ country: AT }`, `{ subject: country, in: [AT] }`.
pub(super) fn comparison(
    name: &str,
    plain: &str,
    value: &Node,
    beside: &[(Node, Node)],
) -> Option<ForeignKey> {
    let is_attribute = matches!(plain, "key" | "name") || own_of("a condition", plain).is_none();
    if beside.len() == 1 && is_attribute {
        let help = format!("write `{}`", shorthand(name, value)?);
        return Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] });
    }
    let objects = objects_of(value)?;
    let kind = field(beside, "type").and_then(scalar);
    let has_predicate = ["predicate", "operator", "op"].iter().any(|name| field(beside, name).is_some());
    let has_objects = field(beside, "objects").is_some();
    let types = dialects::other_types("", name);
    let own = |(other, _): &&(&'static str, &'static str)| kind.is_none_or(|kind| kind == *other);
    // What the patterns of `LIKE` mean, its own key says.
    let is_like = plain.contains("like");
    let (own, predicate) = types.iter().find(own).filter(|_| !has_predicate && !is_like && !has_objects)?;
    let predicate =
        if predicate.starts_with(char::is_alphabetic) { (*predicate).to_owned() } else { quoted(predicate) };
    let (own, stands_for): (_, &[_]) = match kind {
        Some(_) => (String::new(), &["predicate", "objects"]),
        None => (format!("type: {own}, "), &["type", "predicate", "objects"]),
    };
    Some(ForeignKey {
        help: format!("write `{own}predicate: {predicate}, objects: [{objects}]`"),
        stands_for,
    })
}

/// Returns what `segment` means in a condition: its type and what it compares with.
pub(super) fn segment(value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let objects = format!("objects: [{}]", objects_of(value)?);
    let parts = [("type", "type: segment"), ("predicate", "predicate: is in"), ("objects", &objects)];
    let missing: Vec<&str> =
        parts.into_iter().filter(|(name, _)| field(beside, name).is_none()).map(|(_, part)| part).collect();
    let is_segment = field(beside, "type").and_then(scalar).is_none_or(|kind| kind == "segment");
    let help = match is_segment && field(beside, "objects").is_none() {
        true => format!("write `{}` instead", missing.join(", ")),
        false => format!("write a condition of its own: `{{ type: segment, predicate: is in, {objects} }}`"),
    };
    Some(ForeignKey { help, stands_for: &["type", "subject", "predicate", "objects"] })
}

/// Returns the condition that an attribute with its values means.
pub(super) fn shorthand(subject: &str, values: &Node) -> Option<String> {
    let subject = quoted(&shown(subject));
    // `{ country: { in: [AT] } }`
    if let NodeKind::Mapping(entries) = &values.kind {
        let [(predicate, values)] = entries.as_slice() else { return None };
        let types = dialects::other_types("", scalar(predicate)?);
        let (kind, predicate) = types.first()?;
        let (predicate, objects) = (quoted(predicate), objects_of(values)?);
        return Some(format!(
            "type: {kind}, subject: {subject}, predicate: {predicate}, objects: [{objects}]"
        ));
    }
    let objects = objects_of(values)?;
    Some(format!("type: string, subject: {subject}, predicate: is one of, objects: [{objects}]"))
}

/// Returns a text, or several, as they stand between the brackets of a list.
pub(super) fn objects_of(value: &Node) -> Option<String> {
    let texts: Vec<String> = match &value.kind {
        NodeKind::Scalar(text, _) if !is_null(text) => vec![text.clone()],
        NodeKind::Sequence(items) => {
            items.iter().map(|item| scalar(item).map(str::to_owned)).collect::<Option<_>>()?
        }
        _ => return None,
    };
    meant::list(&texts).filter(|objects| !objects.is_empty())
}

/// Returns the text that an object means which is a mapping: `{ value: 18 }`, or `a: b` without quotes.
pub(in crate::document) fn object(entries: &[(Node, Node)]) -> Option<String> {
    let [(name, value)] = entries else { return None };
    let (name, value) = (scalar(name)?, scalar(value).filter(|text| !is_null(text))?);
    Some(match name {
        "value" | "name" | "key" | "id" => value.to_owned(),
        _ => format!("{name}: {value}"),
    })
}

/// Returns the values of a mapping as they stand between the brackets of a list.
pub(in crate::document) fn values(entries: &[(Node, Node)]) -> Option<String> {
    // `{ 18, 21 }` is a mapping of keys without values.
    let is_set = entries.iter().all(|(_, value)| value.is_null());
    let texts = entries.iter().map(|(key, value)| {
        let text = scalar(if is_set { key } else { value })?;
        (!is_null(text)).then(|| text.to_owned())
    });
    meant::list(&texts.collect::<Option<Vec<_>>>()?).filter(|list| !list.is_empty())
}

/// Returns the types that a condition can have: those with its predicate, and with its objects if several have
/// it.
pub(in crate::document) fn types(predicate: Option<&Node>, objects: Option<&Node>) -> Vec<&'static str> {
    let Some(predicate) = predicate.and_then(scalar) else { return Vec::new() };
    let named = dialects::other_types("", predicate);
    let exact: Vec<&str> = named.iter().filter(|(_, own)| *own == predicate).map(|(kind, _)| *kind).collect();
    let types = match exact.is_empty() {
        true => named.into_iter().map(|(kind, _)| kind).collect(),
        false => exact,
    };
    let objects: Vec<&str> = match objects.map(|objects| &objects.kind) {
        Some(NodeKind::Sequence(items)) => items.iter().filter_map(scalar).collect(),
        _ => Vec::new(),
    };
    let takes = |kind: &&&str| {
        objects.iter().all(|object| match **kind {
            "number" => object.parse::<f64>().is_ok(),
            "semver" => is_semver(object),
            "datetime" => is_accepted_time(object),
            _ => true,
        })
    };
    let fitting: Vec<&str> = types.iter().filter(takes).copied().collect();
    if objects.is_empty() || fitting.is_empty() { types } else { fitting }
}

/// Returns the help on a condition without type.
pub(in crate::document) fn missing_type(types: &[&'static str]) -> String {
    match types {
        [] => {
            let all: Vec<&str> = CONDITION_TYPES.iter().map(|kind| kind.name).collect();
            format!("name the type: the types are {}", listed(&in_backticks(&all)))
        }
        [kind] => format!("name the type, such as `type: {kind}`"),
        several => {
            let all: Vec<String> = several.iter().map(|kind| format!("`type: {kind}`")).collect();
            format!("name the type: one of {}", listed(&all))
        }
    }
}
