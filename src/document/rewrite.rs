//! Rewrites a document for another targeting. What means the same stays as it is written, with its comments;
//! a part that is gone takes its comments along.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::node::{Node, NodeKind};
use super::print::{Section, name, print, printed, with_breaks_of};
use super::resolve::{RawVariation, VariationNames};
use super::shape::{Field, ShapeReader};
use super::syntax::{self, Syntax, is_block};
use super::{read, text};
use crate::model::{Blob, Payload, Serve, ServiceKind, Targeting};

/// Returns the document `content` with the meaning of `payload`. None if it cannot be rewritten: then it has
/// to be printed anew.
pub(crate) fn rewrite(content: &Blob, payload: &Payload, kind: ServiceKind) -> Option<String> {
    let source = text("", content).ok()?;
    let old = syntax::parse(source);
    let targeting = payload.targeting();
    let new_text = print(&targeting, kind);
    let new = syntax::parse(&new_text);
    let (old_root, new_root) = (old.root.as_ref()?, new.root.as_ref()?);
    let variations = variations(&targeting);
    let mut merger = Merger {
        old: &old,
        new: &new,
        names: VariationNames::new(&variations),
        edits: Some(Vec::new()),
        moved: Vec::new(),
    };
    let root = merger.merge(old_root, new_root, Section::Root);
    let Merger { edits, moved, .. } = merger;
    let means_it = |text: &String| {
        read("", &Blob::Content(text.clone().into_bytes()), kind).payload.as_ref() == Some(payload)
    };
    let edited = edits.map(|edits| edited(source, edits)).filter(means_it);
    edited.or_else(|| {
        let both = format!("{source}\n{new_text}");
        let text = printed(&old.with_root(&both, root, moved))?;
        Some(with_breaks_of(source, &text)).filter(means_it)
    })
}

fn variations(targeting: &Targeting) -> Vec<RawVariation> {
    let all = targeting.content.variations.iter();
    let raw = all.map(|one| RawVariation {
        value: Some(one.value.clone()),
        name: Some(one.name.clone()),
        description: Some(one.description.clone()),
    });
    raw.collect()
}

/// Returns `text` with other scalars in these places.
fn edited(text: &str, mut edits: Vec<(Range<usize>, String)>) -> String {
    edits.sort_by_key(|(range, _)| range.start);
    let mut out = text.to_owned();
    for (range, new) in edits.into_iter().rev() {
        out.replace_range(range, &new);
    }
    out
}

struct Merger<'a> {
    old: &'a Syntax<'a>,
    new: &'a Syntax<'a>,
    /// The variations to which serves refer.
    names: VariationNames<'a>,
    /// The scalars to replace; none if more than scalars changes.
    edits: Option<Vec<(Range<usize>, String)>>,
    /// The comments of keys that are gone, with the node above which they go.
    moved: Vec<(usize, Vec<&'a str>)>,
}

impl<'a> Merger<'a> {
    /// Returns `old` with the meaning of `new`.
    fn merge(&mut self, old: &Node, new: &Node, section: Section) -> Node {
        if section == Section::Serve && self.serve(old).is_some_and(|serve| Some(serve) == self.serve(new)) {
            return old.clone();
        }
        if section == Section::Serve
            && let Some(served) = self.other_variation(old, new)
        {
            return served;
        }
        match (&old.kind, &new.kind) {
            (NodeKind::Scalar(one, _), NodeKind::Scalar(other, _)) if one == other && !old.is_null() => {
                old.clone()
            }
            (NodeKind::Scalar(..), NodeKind::Scalar(..)) => {
                let raw = self.old.raw(old);
                if raw.is_empty() || raw.contains('\n') || is_block(&raw) {
                    self.edits = None;
                }
                if let Some(edits) = &mut self.edits {
                    edits.push((old.raw.clone(), self.new.raw(new).into_owned()));
                }
                Node { id: old.id, ..self.added(new) }
            }
            (NodeKind::Mapping(before), NodeKind::Mapping(after)) if section != Section::Serve => {
                let kind = NodeKind::Mapping(self.entries(old, before, after, section));
                Node { kind, ..old.clone() }
            }
            (NodeKind::Sequence(before), NodeKind::Sequence(after)) => {
                let kind = NodeKind::Sequence(self.items(before, after, section));
                Node { kind, ..old.clone() }
            }
            _ => {
                self.edits = None;
                self.keep_comments(old, old.id, false);
                Node { id: old.id, ..self.added(new) }
            }
        }
    }

    /// Returns a serve of one variation as one of another variation, in its form.
    fn other_variation(&mut self, old: &Node, new: &Node) -> Option<Node> {
        let (NodeKind::Mapping(before), NodeKind::Mapping(after)) = (&old.kind, &new.kind) else {
            return None;
        };
        let ([(key, value)], [(new_key, new_value)]) = (before.as_slice(), after.as_slice()) else {
            return None;
        };
        let Some(Serve::Select(index)) = self.serve(new) else { return None };
        let text = match (name(key), name(new_key)) {
            ("select", _) => index.to_string(),
            ("variation", "variation") => self.new.raw(new_value).into_owned(),
            _ => return None,
        };
        if let Some(edits) = &mut self.edits {
            edits.push((value.raw.clone(), text));
        }
        let key = Node { id: key.id, ..self.added(new_key) };
        let value = Node { id: value.id, ..self.added(new_value) };
        Some(Node { kind: NodeKind::Mapping(vec![(key, value)]), ..old.clone() })
    }

    fn serve(&self, node: &Node) -> Option<Serve> {
        let mut findings = Vec::new();
        let field = Field { name: "serve", key: node.span, node };
        let raw = ShapeReader::new(&mut findings).serve(&field)?;
        self.names.resolve(&raw).ok()
    }

    fn entries(
        &mut self,
        owner: &Node,
        before: &[(Node, Node)],
        after: &[(Node, Node)],
        section: Section,
    ) -> Vec<(Node, Node)> {
        let mut merged = Vec::new();
        for (key, value) in before {
            let new = after.iter().find(|(new, _)| name(new) == name(key));
            match new {
                Some((_, new)) => {
                    let value = self.merge(value, new, section.of_value(name(key)));
                    merged.push((key.clone(), value));
                }
                // It means the same as nothing.
                None if is_empty(value) => merged.push((key.clone(), value.clone())),
                None => {
                    self.edits = None;
                    self.keep_comments(key, owner.id, true);
                    self.keep_comments(value, owner.id, true);
                }
            }
        }
        for (key, value) in
            after.iter().filter(|(new, _)| !before.iter().any(|(key, _)| name(new) == name(key)))
        {
            self.add_entry(owner, before, key, value);
            merged.push((self.added(key), self.added(value)));
        }
        merged
    }

    /// Adds a scalar to a mapping in braces on one line, after its last scalar. Any other entry needs its own lines.
    fn add_entry(&mut self, owner: &Node, before: &[(Node, Node)], key: &Node, value: &Node) {
        let is_scalar = |node: &Node| matches!(node.kind, NodeKind::Scalar(..));
        let last = before.iter().rev().map(|(_, value)| value).find(|value| is_scalar(value));
        let end = last.map_or(0, |last| last.raw.end);
        let braces = self.old.text.get(owner.raw.start..end).unwrap_or_default();
        let added = format!(", {}: {}", self.new.raw(key), self.new.raw(value));
        let fits =
            braces.starts_with('{') && is_scalar(value) && !(braces.contains('\n') || added.contains('\n'));
        match &mut self.edits {
            Some(edits) if fits => edits.push((end..end, added)),
            _ => self.edits = None,
        }
    }

    fn items(&mut self, before: &[Node], after: &[Node], section: Section) -> Vec<Node> {
        let pairs = self.pairs(before, after, section);
        let is_in_order = pairs.iter().enumerate().all(|(at, pair)| *pair == Some(at));
        if !is_in_order || before.len() != after.len() {
            self.edits = None;
        }
        let merged = after.iter().zip(pairs).map(|(new, pair)| match pair {
            Some(old) => self.merge(&before[old], new, section),
            None => self.added(new),
        });
        merged.collect()
    }

    /// Returns the old item of each new one. Those that are left are the same ones with other content, if as many
    /// or more are new: a renamed rule is still the rule. Of several, it is the one that has most in common with
    /// it, in their order. An object with a comment is not the same: the comment says what it was.
    fn pairs(&self, before: &[Node], after: &[Node], section: Section) -> Vec<Option<usize>> {
        let mut pairs = same_items(before, after, section);
        let paired: HashSet<usize> = pairs.iter().flatten().copied().collect();
        let old: Vec<usize> = (0..before.len()).filter(|at| !paired.contains(at)).collect();
        let new: Vec<usize> = (0..after.len()).filter(|at| pairs[*at].is_none()).collect();
        let has_comment = |at: &usize| {
            let notes = self.old.notes(&before[*at]);
            notes.beside.is_some() || notes.above.iter().any(|one| !one.is_empty())
        };
        let are_same = match section {
            Section::Other => old.len() == new.len() && !old.iter().any(has_comment),
            _ => old.len() <= new.len(),
        };
        let (mut from, spare) = (0, new.len().saturating_sub(old.len()));
        for (nth, old) in old.into_iter().enumerate().filter(|_| are_same) {
            let common = |at: &usize| (in_common(&before[old], &after[new[*at]]), Reverse(*at));
            let best = (from..=nth + spare).max_by_key(common).unwrap_or(from);
            pairs[new[best]] = Some(old);
            from = best + 1;
        }
        pairs
    }

    /// Moves the comments in a node, and those at it if `itself`, above the node `to`.
    fn keep_comments(&mut self, node: &Node, to: usize, itself: bool) {
        if itself {
            let notes = self.old.notes(node);
            let all = notes.above.iter().chain(&notes.beside).chain(&notes.below);
            let comments: Vec<&str> = all.copied().filter(|one| !one.is_empty()).collect();
            self.moved.push((to, comments));
        }
        match &node.kind {
            NodeKind::Mapping(entries) => entries.iter().for_each(|(key, value)| {
                self.keep_comments(key, to, true);
                self.keep_comments(value, to, true);
            }),
            NodeKind::Sequence(items) => items.iter().for_each(|item| self.keep_comments(item, to, true)),
            NodeKind::Refused | NodeKind::Scalar(..) => {}
        }
    }

    /// Returns a node of the new text as one of both texts, which has no comments.
    fn added(&self, node: &Node) -> Node {
        let offset = self.old.text.len() + 1;
        let kind = match &node.kind {
            NodeKind::Mapping(entries) => NodeKind::Mapping(
                entries.iter().map(|(key, value)| (self.added(key), self.added(value))).collect(),
            ),
            NodeKind::Sequence(items) => {
                NodeKind::Sequence(items.iter().map(|item| self.added(item)).collect())
            }
            kind => kind.clone(),
        };
        let raw = node.raw.start + offset..node.raw.end + offset;
        Node { id: usize::MAX, raw, kind, span: node.span }
    }
}

/// Returns whether an optional field has the value that its absence means.
fn is_empty(value: &Node) -> bool {
    match &value.kind {
        NodeKind::Scalar(text, _) => text.is_empty() && !value.is_null(),
        NodeKind::Sequence(items) => items.is_empty(),
        NodeKind::Mapping(_) | NodeKind::Refused => false,
    }
}

/// Returns what two items have in common that are the same one.
type Key<'a> = dyn Fn(&Node) -> Option<String> + 'a;

/// Returns the old item of each new one: the same one, one of the same name, or one about the same.
fn same_items(before: &[Node], after: &[Node], section: Section) -> Vec<Option<usize>> {
    let mut pairs = vec![None; after.len()];
    let mut is_paired = vec![false; before.len()];
    let field = |node: &Node, wanted: &str| match &node.kind {
        NodeKind::Mapping(entries) => entries.iter().find_map(|(key, value)| match &value.kind {
            NodeKind::Scalar(text, _) if name(key) == wanted => Some(text.clone()),
            _ => None,
        }),
        _ => None,
    };
    let by_name = |node: &Node| field(node, if section == Section::Prerequisite { "key" } else { "name" });
    let about = |node: &Node| Some(format!("{:?} {:?}", field(node, "type")?, field(node, "subject")));
    let whole = |node: &Node| Some(signature(node));
    let keys: [&Key<'_>; 3] = [&whole, &by_name, &about];
    for key in keys {
        let mut left: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (at, node) in before.iter().enumerate().filter(|(at, _)| !is_paired[*at]) {
            if let Some(key) = key(node) {
                left.entry(key).or_default().push_back(at);
            }
        }
        for (at, node) in after.iter().enumerate() {
            if pairs[at].is_none()
                && let Some(old) = key(node).and_then(|key| left.get_mut(&key)?.pop_front())
            {
                (pairs[at], is_paired[old]) = (Some(old), true);
            }
        }
    }
    pairs
}

/// Returns the number of fields that two mappings have in common.
fn in_common(one: &Node, other: &Node) -> usize {
    let (NodeKind::Mapping(one), NodeKind::Mapping(other)) = (&one.kind, &other.kind) else {
        return 0;
    };
    let is_same = |(key, value): &(Node, Node), (other, new): &(Node, Node)| {
        name(key) == name(other) && signature(value) == signature(new)
    };
    one.iter().filter(|entry| other.iter().any(|new| is_same(entry, new))).count()
}

/// Returns the meaning of a node, whatever the order of its keys.
fn signature(node: &Node) -> String {
    match &node.kind {
        NodeKind::Refused => String::new(),
        NodeKind::Scalar(text, _) => format!("{text:?}"),
        NodeKind::Sequence(items) => format!("{:?}", items.iter().map(signature).collect::<Vec<_>>()),
        NodeKind::Mapping(entries) => {
            let entries = entries.iter().filter(|(_, value)| !is_empty(value));
            let mut entries: Vec<_> = entries.map(|(key, value)| (name(key), signature(value))).collect();
            entries.sort_unstable();
            format!("{entries:?}")
        }
    }
}
