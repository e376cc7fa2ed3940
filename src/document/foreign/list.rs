//! A mapping, or names alone, in place of a list of mappings.

use super::condition::shorthand;
use super::names::has_field;
use super::prerequisite::prerequisite;
use super::restriction::Restriction;
use super::serve::value_of;
use crate::document::finding::shown;
use crate::document::keys::{CONDITION, PREREQUISITE, RULE, VARIATION};
use crate::document::meant;
use crate::document::modifier;
use crate::document::node::{Node, NodeKind, is_null, quoted, scalar};

/// Returns the help on variations or prerequisites that are not a list of mappings: a mapping of names, or
/// names alone.
pub(in crate::document) fn list_of(field: &str, value: &Node) -> Option<String> {
    const SUCH_AS: &str = "list the values to serve, such as `variations: [{ name: \"off\", value: \"false\" }, { name: \"on\", value: \"true\" }]`";
    let one = |name: &str, value: Option<&str>| match field {
        "variations" => {
            let value = value.unwrap_or(name);
            format!("{{ name: {}, value: {} }}", quoted(&shown(name)), quoted(value))
        }
        _ => format!("{{ {} }}", prerequisite(name, value)),
    };
    let known: &[&str] = match field {
        "variations" => VARIATION,
        "prerequisites" => PREREQUISITE,
        _ => return None,
    };
    let what = if field == "variations" { "a variation" } else { "a prerequisite" };
    let is_named = |name: &str| !is_null(name);
    let all: Option<Vec<String>> = match &value.kind {
        NodeKind::Mapping(entries) if has_field(entries, what, known) => None,
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|(name, value)| {
                Some(one(scalar(name).filter(|name| is_named(name))?, Some(value_of(value)?)))
            })
            .collect(),
        NodeKind::Sequence(items) => {
            items.iter().map(|item| Some(one(scalar(item).filter(|name| !is_null(name))?, None))).collect()
        }
        NodeKind::Scalar(name, _) if field == "prerequisites" && !is_null(name) => {
            Some(vec![one(name, None)])
        }
        NodeKind::Scalar(..) | NodeKind::Refused => None,
    };
    let is_short = |all: &Vec<String>| {
        let length: usize = all.iter().map(String::len).sum();
        !all.is_empty() && length <= 2 * meant::LONGEST
    };
    if let Some(all) = all.filter(is_short) {
        return Some(format!("write a list: `{field}: [{}]`", all.join(", ")));
    }
    let is_empty = matches!(&value.kind, NodeKind::Mapping(entries) if entries.is_empty());
    let is_text = matches!(&value.kind, NodeKind::Scalar(..));
    (field == "variations" && (is_empty || is_text)).then(|| SUCH_AS.to_owned())
}

/// Returns the help on a mapping in place of a list of mappings: the fields of one item, or items by their names.
pub(in crate::document) fn not_a_list(field: &str, value: &Node) -> Option<String> {
    let NodeKind::Mapping(entries) = &value.kind else { return None };
    let (what, known): (_, &[&str]) = match field {
        "conditions" => ("a condition", CONDITION),
        "prerequisites" => ("a prerequisite", PREREQUISITE),
        "rules" => ("a rule", RULE),
        "variations" => ("a variation", VARIATION),
        _ => return None,
    };
    if has_field(entries, what, known) {
        // Only in braces, a mapping has an end.
        let is_flow = !value.raw.is_empty();
        return Some(match is_flow {
            true => "write `[` before it and `]` after it".to_owned(),
            false => "write `- ` before the first key, in place of the two blanks there".to_owned(),
        });
    }
    match field {
        "conditions" => {
            if let Some(help) = modifier::quantified(entries) {
                return Some(help.to_owned());
            }
            let mut all = Vec::new();
            for (name, value) in entries {
                let name = scalar(name)?;
                let condition = match Restriction::of_key(name, value) {
                    Some(Restriction::Condition(condition)) => condition,
                    // An example could say the opposite.
                    Some(other) => {
                        return Some(format!(
                            "write a list of conditions. Of `{}`: {}",
                            shown(name),
                            other.words()
                        ));
                    }
                    None => shorthand(name, value)?,
                };
                all.push(format!("{{ {condition} }}"));
            }
            let all = all.join(", ");
            (!all.is_empty() && all.len() <= 2 * meant::LONGEST)
                .then(|| format!("write a list: `conditions: [{all}]`"))
        }
        "rules" => {
            let (name, rule) = entries.first()?;
            let name = scalar(name).filter(|_| matches!(rule.kind, NodeKind::Mapping(_)))?;
            let (key, name) = (shown(name), quoted(&shown(name)));
            Some(format!("write a list, whose items have their names: `- name: {name}` in place of `{key}:`"))
        }
        _ => None,
    }
}
