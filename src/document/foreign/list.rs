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
    if let Some(FormOfList { list, otherwise }) = form_of_list(field, value) {
        return Some(format!("write a list: `{list}`{otherwise}"));
    }
    let is_empty = matches!(&value.kind, NodeKind::Mapping(entries) if entries.is_empty());
    let is_text = matches!(&value.kind, NodeKind::Scalar(..));
    (field == "variations" && (is_empty || is_text)).then(|| SUCH_AS.to_owned())
}

/// A list of mappings, and what to write otherwise if that is not certain.
pub(super) struct FormOfList {
    pub(super) list: String,
    pub(super) otherwise: String,
}

/// Returns the list that variations or prerequisites mean in another notation.
pub(super) fn form_of_list(field: &str, value: &Node) -> Option<FormOfList> {
    let one = |name: &str, value: Option<&str>| match field {
        "variations" => {
            let value = value.unwrap_or(name);
            (format!("name: {}, value: {}", quoted(&shown(name)), quoted(value)), String::new())
        }
        _ => prerequisite(name, value),
    };
    let (what, known): (_, &[&str]) = match field {
        "variations" => ("a variation", VARIATION),
        "prerequisites" => ("a prerequisite", PREREQUISITE),
        _ => return None,
    };
    let named = |node| scalar(node).filter(|name| !is_null(name));
    let all: Vec<(String, String)> = match &value.kind {
        NodeKind::Mapping(entries) if has_field(entries, what, known) => return None,
        NodeKind::Mapping(entries) => entries
            .iter()
            .map(|(name, value)| Some(one(named(name)?, Some(value_of(value)?))))
            .collect::<Option<_>>()?,
        NodeKind::Sequence(items) => {
            items.iter().map(|item| Some(one(named(item)?, None))).collect::<Option<_>>()?
        }
        NodeKind::Scalar(name, _) if field == "prerequisites" && !is_null(name) => vec![one(name, None)],
        NodeKind::Scalar(..) | NodeKind::Refused => return None,
    };
    let length: usize = all.iter().map(|(item, _)| item.len()).sum();
    if all.is_empty() || length > 2 * meant::LONGEST {
        return None;
    }
    let mut uncertain = all.iter().filter(|(_, otherwise)| !otherwise.is_empty());
    let otherwise = match (uncertain.next(), uncertain.next()) {
        (None, _) => String::new(),
        (Some((_, otherwise)), None) => otherwise.clone(),
        _ => ", or the type and the value of each toggle that has no booleans".to_owned(),
    };
    let items: Vec<String> = all.into_iter().map(|(item, _)| format!("{{ {item} }}")).collect();
    Some(FormOfList { list: format!("{field}: [{}]", items.join(", ")), otherwise })
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
