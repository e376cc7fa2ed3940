//! Parses valid JSON into parts.

use std::borrow::Cow;

use super::parts::{PartId, PartKind, SourceTree};

/// Parses `text`, which is valid JSON. Returns nothing if it is not.
pub(super) fn parse(text: &str) -> Option<SourceTree<'_>> {
    let mut tree = SourceTree::default();
    let mut rest = text;
    let root = value(&mut tree, &mut rest)?;
    tree.root = root;
    rest.trim_start().is_empty().then_some(tree)
}

// The nesting is limited, because only a document that was read before gets here.
fn value<'t>(tree: &mut SourceTree<'t>, rest: &mut &'t str) -> Option<PartId> {
    *rest = rest.trim_start();
    match rest.bytes().next()? {
        b'{' => {
            let mut entries = Vec::new();
            items(rest, '}', |rest| {
                let key = value(tree, rest)?;
                skip(rest, ':')?;
                entries.push((key, value(tree, rest)?));
                Some(())
            })?;
            Some(tree.add(PartKind::Mapping(entries)))
        }
        b'[' => {
            let mut all = Vec::new();
            items(rest, ']', |rest| {
                all.push(value(tree, rest)?);
                Some(())
            })?;
            Some(tree.add(PartKind::Sequence(all)))
        }
        first => {
            let end = match first {
                b'"' => end_of_text(rest)?,
                _ => rest
                    .find(|c: char| c.is_whitespace() || ",:]}".contains(c))
                    .unwrap_or(rest.len()),
            };
            let (raw, after) = rest.split_at(end);
            *rest = after;
            (end > 0).then(|| tree.add(PartKind::Scalar(Cow::Borrowed(raw))))
        }
    }
}

/// Parses items until `end`, beginning with the opening bracket.
fn items<'t>(rest: &mut &'t str, end: char, mut item: impl FnMut(&mut &'t str) -> Option<()>) -> Option<()> {
    *rest = rest[1..].trim_start();
    if skip(rest, end).is_some() {
        return Some(());
    }
    loop {
        item(rest)?;
        if skip(rest, end).is_some() {
            return Some(());
        }
        skip(rest, ',')?;
    }
}

fn skip(rest: &mut &str, wanted: char) -> Option<()> {
    *rest = rest.trim_start().strip_prefix(wanted)?;
    Some(())
}

/// Returns the length of the string at the start of `text`, quotes included.
pub(super) fn end_of_text(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
