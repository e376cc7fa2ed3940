//! Objects in braces without brackets, of which YAML reads all but the first as keys without values:
//! `{ objects: AT, CH }`.

use crate::document::check;
use crate::document::finding::{Finding, add, shown};
use crate::document::keys::CONDITION;
use crate::document::meant;
use crate::document::node::{Node, NodeKind, Style, scalar};

/// Returns the entries of a condition with the objects as a list.
pub(super) fn listed(entries: &[(Node, Node)], findings: &mut Vec<Finding>) -> Option<Vec<(Node, Node)>> {
    let is_list = |(key, _): &(Node, Node)| matches!(scalar(key), Some("objects" | "rightObjects"));
    let at = (0..entries.len()).find(|at| {
        is_list(&entries[*at]) && is_word(&entries[*at].1) && entries.get(at + 1).is_some_and(is_object)
    })?;
    let (key, first) = &entries[at];
    let others = entries[at + 1..].iter().take_while(|entry| is_object(entry)).map(|(object, _)| object);
    let objects: Vec<Node> = std::iter::once(first).chain(others).cloned().collect();
    let texts: Vec<String> = objects.iter().filter_map(scalar).map(str::to_owned).collect();
    // `49,90` is a number elsewhere.
    let is_decimal = matches!(objects.as_slice(), [one, other]
        if meant::almost_number(&texts.join(",")).is_some() && one.span.end.column + 1 == other.span.start.column);
    let list = meant::list(&texts).filter(|_| !is_decimal)?;
    let name = scalar(key).unwrap_or_default();
    let message = format!("`{name}` is a list, not `{}`", shown(&texts.join(", ")));
    add(
        findings,
        Finding::at(&check::WRONG_TYPE, first.span, message).help(format!("write `{name}: [{list}]`")),
    );
    let rest = &entries[at + objects.len()..];
    let list = Node { kind: NodeKind::Sequence(objects), ..first.clone() };
    Some([&entries[..at], &[(key.clone(), list)], rest].concat())
}

/// Returns whether a key without a value is probably an object.
fn is_object((key, value): &(Node, Node)) -> bool {
    let is_key = |name: &str| CONDITION.contains(&name);
    let is_free = |name: &str| !is_key(name) && !meant::is_entry(name, is_key);
    is_word(key) && scalar(key).is_some_and(is_free) && value.is_null() && value.span.is_empty()
}

/// Returns whether a node is a text, with or without quotes.
fn is_word(node: &Node) -> bool {
    match &node.kind {
        NodeKind::Scalar(_, Style::Plain) => !node.is_null(),
        NodeKind::Scalar(_, Style::Quoted) => true,
        _ => false,
    }
}
