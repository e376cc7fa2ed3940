//! Conditions in the notation of another tool.

use super::ForeignKey;
use super::names::own_of;
use super::serve::ReadVariations;
use crate::document::check::quoted as in_backticks;
use crate::document::compared::ComparedObject;
use crate::document::dialects;
use crate::document::finding::shown;
use crate::document::keys::SIMPLE_CONDITION;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Style, field, is_null, quoted, scalar};
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
        let help = match shorthand(name, value) {
            Some(condition) => format!("write `{condition}`"),
            None => in_words(name),
        };
        return Some(ForeignKey { help, stands_for: SIMPLE_CONDITION });
    }
    let objects = compared_with(value, name)?;
    let kind = field(beside, "type").and_then(scalar);
    let has_predicate = ["predicate", "operator", "op"].iter().any(|name| field(beside, name).is_some());
    let has_objects = field(beside, "objects").is_some();
    let types = dialects::other_types("", name);
    let own = |(other, _): &&(&'static str, &'static str)| kind.is_none_or(|kind| kind == *other);
    // What the patterns of `LIKE` mean, its own key says.
    let is_like = plain.contains("like");
    let (own, predicate) = types.iter().find(own).filter(|_| !has_predicate && !is_like && !has_objects)?;
    let predicate = meant::in_braces(predicate);
    let (own, stands_for): (_, &[_]) = match kind {
        Some(_) => (String::new(), &["predicate", "objects"]),
        None => (format!("type: {own}, "), &["type", "predicate", "objects"]),
    };
    Some(ForeignKey {
        help: format!("write `{own}predicate: {predicate}, objects: [{objects}]`"),
        stands_for,
    })
}

/// Returns the help on an attribute whose comparison is not certain.
pub(super) fn in_words(subject: &str) -> String {
    format!(
        "write a condition that says the same: its `type`, `subject: {}`, `predicate` and `objects`",
        quoted(&shown(subject))
    )
}

/// Returns what `segment` means in a condition: its type and what it compares with.
pub(super) fn segment(value: &Node, beside: &[(Node, Node)]) -> Option<ForeignKey> {
    let plain = |text: &String| is_plain(text);
    let objects = compared_with(value, "is in").filter(|_| texts_of(value).iter().flatten().all(plain))?;
    let objects = format!("objects: [{objects}]");
    let parts = [("type", "type: segment"), ("predicate", "predicate: is in"), ("objects", &objects)];
    let missing: Vec<&str> =
        parts.into_iter().filter(|(name, _)| field(beside, name).is_none()).map(|(_, part)| part).collect();
    let is_segment = field(beside, "type").and_then(scalar).is_none_or(|kind| kind == "segment");
    let help = match is_segment && field(beside, "objects").is_none() {
        true => format!("write `{}` instead", missing.join(", ")),
        false => format!("write a condition of its own: `{{ type: segment, predicate: is in, {objects} }}`"),
    };
    Some(ForeignKey { help, stands_for: SIMPLE_CONDITION })
}

/// Returns the condition that an attribute with its values means; none if a sign in them, or their type, could mean
/// something else: a condition that looks right and matches others is worse than none.
pub(super) fn shorthand(subject: &str, values: &Node) -> Option<String> {
    let subject = quoted(&shown(subject));
    let write = |kind: &str, predicate: &str, objects: &str| {
        format!("type: {kind}, subject: {subject}, predicate: {predicate}, objects: [{objects}]")
    };
    // `{ country: { in: [AT] } }`
    if let NodeKind::Mapping(entries) = &values.kind {
        let [(predicate, values)] = entries.as_slice() else { return None };
        let word = scalar(predicate)?;
        let types = dialects::other_types("", word);
        let (texts, objects) = (texts_of(values)?, compared_with(values, word)?);
        let has_types = |kind: &str| texts.iter().all(|one| takes(kind, one));
        let are_numbers = is_unquoted(values) && has_types("number");
        let of_numbers = types.iter().find(|(kind, _)| *kind == "number" && are_numbers);
        let (kind, predicate) = of_numbers.or_else(|| types.iter().find(|(kind, _)| has_types(kind)))?;
        // `after` is `>=`, and `before` is `<`; a range has two parts.
        let of_number = dialects::exact("number", word);
        let is_exact = *kind != "datetime"
            || matches!(word, "after" | "before")
            || !matches!(of_number, Some(">" | "<="));
        if !is_exact || *predicate == "between" {
            return None;
        }
        let is_pattern = *predicate == "contains" && objects.contains('%');
        return (!is_pattern).then(|| write(kind, &quoted(predicate), &objects));
    }
    let texts = texts_of(values)?;
    if let [one] = texts.as_slice() {
        let denied = ["!=", "!", "not ", "NOT "].iter().find_map(|sign| one.strip_prefix(*sign));
        if let Some(denied) = denied.map(str::trim).filter(|denied| is_plain(denied)) {
            let all = meant::several(denied).unwrap_or_else(|| vec![denied.to_owned()]);
            // What has a sign of its own can be denied, too, or not.
            let is_certain =
                |one: &String| is_plain(one) && !one.contains([',', ';', '!', '(', ')', '[', ']', '{', '}']);
            let objects = meant::list(&all).filter(|_| all.iter().all(is_certain))?;
            return match (all.as_slice(), all.iter().any(|one| takes("number", one))) {
                ([_], true) => Some(write("number", "\"!=\"", &objects)),
                (_, true) => None,
                (_, false) => Some(write("string", "is not any of", &objects)),
            };
        }
        if let Some(ComparedObject::With(predicate, number)) = meant::compared_number(one) {
            return Some(write("number", &quoted(predicate), &quoted(&number)));
        }
    }
    let texts = match texts.as_slice() {
        [one] => meant::several(one).unwrap_or(texts),
        _ => texts,
    };
    let objects =
        meant::list(&texts).filter(|_| !texts.is_empty() && texts.iter().all(|one| is_plain(one)))?;
    let are_numbers = is_unquoted(values) && texts.iter().all(|one| takes("number", one));
    Some(match are_numbers {
        // Two numbers can be a range.
        true if texts.len() == 2 => return None,
        true => write("number", "\"=\"", &objects),
        false => write("string", "is one of", &objects),
    })
}

/// Returns whether a text has no sign that compares elsewhere: a range, a negation, a pattern.
pub(super) fn is_plain(text: &str) -> bool {
    const WORDS: &[&str] = &[
        "in ",
        "not ",
        "no ",
        "except ",
        "all but ",
        "under ",
        "over ",
        "above ",
        "below ",
        "at least ",
        "at most ",
        "up to ",
        "more than ",
        "less than ",
    ];
    let signs = ['!', '=', '<', '>', '^', '~', '≠', '≤', '≥', '/', '%', '¬'];
    let lower = text.to_lowercase();
    let is_sign = text.starts_with(signs)
        || text.contains('*')
        || [" or ", " not "].iter().any(|word| lower.contains(word))
        || WORDS.iter().any(|word| lower.starts_with(word))
        || ["all", "any", "anyone", "everyone", "none"].contains(&lower.as_str())
        || text.starts_with('-') && !takes("number", text);
    !text.is_empty() && !is_sign && meant::compared_number(text).is_none()
}

/// Returns whether a value, or each of a list, is without quotes.
pub(super) fn is_unquoted(values: &Node) -> bool {
    match &values.kind {
        NodeKind::Scalar(_, style) => *style == Style::Plain,
        NodeKind::Sequence(items) => items.iter().all(is_unquoted),
        NodeKind::Mapping(_) | NodeKind::Refused => false,
    }
}

/// Returns whether a condition of this type can have the object.
pub(in crate::document) fn takes(kind: &str, object: &str) -> bool {
    match kind {
        "number" => object.parse::<f64>().is_ok(),
        "semver" => is_semver(object),
        "datetime" => is_accepted_time(object),
        _ => true,
    }
}

/// Returns a text, or several, as they stand between the brackets of a list.
pub(super) fn objects_of(value: &Node) -> Option<String> {
    meant::list(&texts_of(value)?).filter(|objects| !objects.is_empty())
}

/// Returns the objects that `predicate` compares with, as they stand between the brackets of a list. To a predicate of
/// equality, a text that is a list or an enumeration has several.
pub(super) fn compared_with(value: &Node, predicate: &str) -> Option<String> {
    let types = dialects::other_types("", predicate);
    let equals = ["is one of", "is not any of", "is in", "is not in", "=", "!="];
    let is_equality = types.iter().all(|(_, own)| equals.contains(own));
    match &value.kind {
        NodeKind::Scalar(text, _) if is_equality => match meant::several(text) {
            Some(items) => meant::list(&items),
            None => objects_of(value),
        },
        _ => objects_of(value),
    }
}

fn texts_of(value: &Node) -> Option<Vec<String>> {
    match &value.kind {
        NodeKind::Scalar(text, _) if !is_null(text) => Some(vec![text.clone()]),
        NodeKind::Sequence(items) => items.iter().map(|item| scalar(item).map(str::to_owned)).collect(),
        _ => None,
    }
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

/// A condition whose type is a share of users, which is none here: its type, and the help on it.
pub(in crate::document) fn share<'n>(
    node: &'n Node,
    variations: &ReadVariations,
) -> Option<(&'n Node, String)> {
    const SHARES: &[&str] =
        &["percentage", "percent", "rollout", "weight", "threshold", "value", "values", "objects"];
    let NodeKind::Mapping(entries) = &node.kind else { return None };
    let kind = field(entries, "type")?;
    let is_complete = ["subject", "predicate", "objects"].iter().all(|name| field(entries, name).is_some());
    if is_complete || !scalar(kind).is_some_and(dialects::is_rollout) {
        return None;
    }
    let share = SHARES.iter().find_map(|name| field(entries, name)).map(Node::alone);
    let split = share.map_or_else(|| variations.any_split(), |share| variations.rollout(share, None));
    Some((kind, format!("a rule has this in its `serve`, not in a condition: {split}")))
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
    let takes_all = |kind: &&&str| objects.iter().all(|object| takes(kind, object));
    let fitting: Vec<&str> = types.iter().filter(takes_all).copied().collect();
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
