//! Items of a list that are parts of one, because a dash stands before some of its keys.

use crate::document::check::{self, quoted};
use crate::document::finding::{Finding, add};
use crate::document::keys::{CONDITION, EXPECTATION, PREREQUISITE, RULE, VARIATION};
use crate::document::node::{Node, NodeKind, scalar};
use crate::model::listed;

/// The items of a list: the key of the list, their name, their keys, and those that all of them have.
type ListRow = (&'static str, &'static str, &'static [&'static str], &'static [&'static str]);

const LISTS: &[ListRow] = &[
    ("conditions", "condition", CONDITION, &["type", "predicate", "objects"]),
    ("expectations", "expectation", EXPECTATION, &["name", "serves"]),
    ("prerequisites", "prerequisite", PREREQUISITE, PREREQUISITE),
    ("rules", "rule", RULE, RULE),
    ("variations", "variation", VARIATION, &["name", "value"]),
];

/// Returns the items of the list `name` with those put together that are parts of one: none is complete, no key is
/// there twice, and together they are complete.
pub(super) fn joined(name: &str, items: &[Node], findings: &mut Vec<Finding>) -> Option<Vec<Node>> {
    let (_, what, known, required) = LISTS.iter().find(|(list, ..)| *list == name)?;
    let is_complete = |keys: &[&str]| required.iter().all(|key| keys.contains(key));
    let keys = |item| keys(item, known).filter(|keys| !is_complete(keys));
    let mut all = Vec::new();
    let mut rest = items;
    while let [first, others @ ..] = rest {
        let mut own = keys(first).unwrap_or_default();
        let mut count = 0;
        let is_part = !own.is_empty();
        for other in others.iter().map_while(keys).take_while(|_| is_part) {
            if other.iter().any(|key| own.contains(key)) {
                break;
            }
            own.extend(other);
            count += 1;
        }
        let parts = if is_complete(&own) { &others[..count] } else { &[] };
        match parts {
            [] => all.push(first.clone()),
            parts => {
                add(findings, finding(what, first, parts));
                all.push(together(first, parts));
            }
        }
        rest = &others[parts.len()..];
    }
    (all.len() < items.len()).then_some(all)
}

/// Returns the keys of a mapping that has only keys of `known`, each of them once.
fn keys<'n>(item: &'n Node, known: &[&str]) -> Option<Vec<&'n str>> {
    let mut keys = Vec::new();
    for (key, _) in entries(item) {
        let key = scalar(key).filter(|key| known.contains(key) && !keys.contains(key))?;
        keys.push(key);
    }
    (!keys.is_empty()).then_some(keys)
}

fn finding(what: &str, first: &Node, parts: &[Node]) -> Finding {
    let keys = |item| entries(item).iter().filter_map(|(key, _)| scalar(key));
    let span = parts.iter().flat_map(entries).map(|(key, _)| key.span).next().unwrap_or(first.span);
    let own: Vec<&str> = parts.iter().take(1).flat_map(keys).collect();
    let message =
        format!("this {what} has only {}, and the item above has what it lacks", listed(&quoted(&own)));
    // Only without braces, a dash is all that is to be removed.
    let is_block = std::iter::once(first).chain(parts).all(|item| item.raw.is_empty());
    let begins: Vec<&str> = parts.iter().filter_map(|part| keys(part).next()).collect();
    let help = match (is_block, begins.as_slice()) {
        (true, [one]) => {
            format!("write a space in place of the dash before `{one}`, which belongs to the {what} above")
        }
        (true, several) => format!(
            "write a space in place of the dash before {}, which belong to the {what} above",
            listed(&quoted(several))
        ),
        (false, _) => {
            let all: Vec<&str> = parts.iter().flat_map(keys).collect();
            format!("write {} into the {what} above", listed(&quoted(&all)))
        }
    };
    Finding::at(&check::MISSING_FIELD, span, message).help(help)
}

fn together(first: &Node, parts: &[Node]) -> Node {
    let all = std::iter::once(first).chain(parts).flat_map(entries).cloned();
    Node { kind: NodeKind::Mapping(all.collect()), id: first.id, span: first.span, raw: first.raw.clone() }
}

fn entries(item: &Node) -> &[(Node, Node)] {
    match &item.kind {
        NodeKind::Mapping(entries) => entries,
        _ => &[],
    }
}
