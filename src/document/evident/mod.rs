//! The tree of a document as its author evidently meant it.
//!
//! Some mistakes split one part of a document into several: a dash too many, brackets that are missing. Each piece would
//! have findings, and a document that follows them all would have another meaning. Here, such a part is put together and
//! gets one error, so that the checks see what is meant. A `between` whose bounds have another form is such a part. A
//! part that could mean something else stays as it is.

mod between;
mod dashes;
mod objects;

use super::finding::Finding;
use super::node::{Node, NodeKind, scalar};
use crate::model::ServiceKind;

/// Returns `root` with what is put together, and adds a finding for each such part; none if nothing is.
pub(super) fn evident(root: &Node, service: ServiceKind, findings: &mut Vec<Finding>) -> Option<Node> {
    part("", root, service, findings)
}

/// Returns a list of expectations with those put together that have a dash before each key, and adds a finding for each;
/// none if there are none.
pub(super) fn expectations(root: &Node, findings: &mut Vec<Finding>) -> Option<Node> {
    let NodeKind::Sequence(items) = &root.kind else { return None };
    let kind = NodeKind::Sequence(dashes::joined("expectations", items, findings)?);
    Some(Node { id: root.id, span: root.span, raw: root.raw.clone(), kind })
}

/// Returns the value of the key `name`, or an item of its list, with what is put together; none if nothing is.
fn part(name: &str, node: &Node, service: ServiceKind, findings: &mut Vec<Finding>) -> Option<Node> {
    let own = match &node.kind {
        NodeKind::Mapping(entries) => objects::listed(entries, findings).map(NodeKind::Mapping),
        NodeKind::Sequence(items) => {
            let joined = dashes::joined(name, items, findings);
            let written = between::written(name, joined.as_deref().unwrap_or(items), service, findings);
            written.or(joined).map(NodeKind::Sequence)
        }
        NodeKind::Refused | NodeKind::Scalar(..) => None,
    };
    let inner = match own.as_ref().unwrap_or(&node.kind) {
        NodeKind::Mapping(entries) => {
            let value =
                |(key, value): &(Node, Node)| part(scalar(key).unwrap_or_default(), value, service, findings);
            let values = entries.iter().map(value);
            replaced(values.collect()).map(|values| {
                let entries = entries.iter().zip(values);
                let entry = |((key, old), new): (&(Node, Node), Option<Node>)| {
                    (key.clone(), new.unwrap_or_else(|| old.clone()))
                };
                NodeKind::Mapping(entries.map(entry).collect())
            })
        }
        NodeKind::Sequence(items) => {
            let values = items.iter().map(|item| part(name, item, service, findings));
            replaced(values.collect()).map(|values| {
                let items = items.iter().zip(values);
                NodeKind::Sequence(items.map(|(old, new)| new.unwrap_or_else(|| old.clone())).collect())
            })
        }
        NodeKind::Refused | NodeKind::Scalar(..) => None,
    };
    let kind = inner.or(own)?;
    Some(Node { id: node.id, span: node.span, raw: node.raw.clone(), kind })
}

/// Returns `values` if one of them differs from the tree. Most trees are not copied.
fn replaced(values: Vec<Option<Node>>) -> Option<Vec<Option<Node>>> {
    values.iter().any(Option::is_some).then_some(values)
}
