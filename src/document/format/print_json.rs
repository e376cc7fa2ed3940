//! Prints parts as JSON with an indentation of two spaces.

use super::order::{Section, sorted};
use super::parts::{PartId, PartKind, SourceTree};
use crate::model::Format;

pub(super) fn print(tree: &SourceTree<'_>) -> String {
    let mut out = String::new();
    value(tree, tree.root, Section::Root, 0, &mut out);
    out.push('\n');
    out
}

fn value(tree: &SourceTree<'_>, id: PartId, shape: Section, depth: usize, out: &mut String) {
    match &tree.parts[id].kind {
        PartKind::Scalar(raw) => out.push_str(raw),
        PartKind::Mapping(entries) => {
            let entries = sorted(tree, entries, shape, Format::Json);
            list(out, ['{', '}'], &entries, depth, |out, (key, inner)| {
                value(tree, *key, Section::Other, depth + 1, out);
                out.push_str(": ");
                value(tree, *inner, shape.of_value(tree.name(*key)), depth + 1, out);
            });
        }
        PartKind::Sequence(items) => list(out, ['[', ']'], items, depth, |out, item| {
            value(tree, *item, shape, depth + 1, out);
        }),
    }
}

fn list<T>(
    out: &mut String,
    [open, close]: [char; 2],
    items: &[T],
    depth: usize,
    item: impl Fn(&mut String, &T),
) {
    out.push(open);
    for (at, one) in items.iter().enumerate() {
        out.push_str(if at == 0 { "\n" } else { ",\n" });
        out.push_str(&"  ".repeat(depth + 1));
        item(out, one);
    }
    if !items.is_empty() {
        out.push('\n');
        out.push_str(&"  ".repeat(depth));
    }
    out.push(close);
}
