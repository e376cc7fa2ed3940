//! Rewrites a document for another targeting. What means the same stays as it is written, with its comments;
//! a part that is gone takes its comments along. Only where a change has no lines of its own, such as in brackets over
//! several lines, the document is printed in the usual layout.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet, VecDeque};
use std::ops::Range;

use super::json_text::{JsonLayout, is_json};
use super::node::{Node, NodeKind};
use super::print::{Section, name, print, printed, with_breaks_of};
use super::resolve::{RawVariation, VariationNames};
use super::shape::{Field, ShapeReader};
use super::syntax::{self, Syntax, is_block};
use super::{read, text};
use crate::model::{Blob, Payload, Serve, ServiceKind, Targeting};

/// Returns the document `content` with the meaning of `payload`. None if it cannot be rewritten: then it is
/// printed from `payload`.
pub(crate) fn rewrite(content: &Blob, payload: &Payload, kind: ServiceKind) -> Option<String> {
    let mark = match content {
        Blob::Content(bytes) if bytes.starts_with(MARK.as_bytes()) => MARK,
        _ => "",
    };
    Some(format!("{mark}{}", rewritten(text("", content).ok()?, payload, kind)?))
}

/// The byte-order mark.
const MARK: &str = "\u{feff}";

fn rewritten(source: &str, payload: &Payload, kind: ServiceKind) -> Option<String> {
    let old = syntax::parse(source);
    let targeting = payload.targeting();
    let json = is_json(source).then(|| JsonLayout::of(source));
    let mut new_text = print(&targeting, kind);
    if let Some(json) = &json {
        new_text = json.text(syntax::parse(&new_text).root.as_ref()?);
    }
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
        let read = read("", &Blob::Content(text.clone().into_bytes()), kind);
        read.payload.as_ref() == Some(payload) && (json.is_none() || is_json(text))
    };
    let edits = edits.map(|edits| {
        edits.into_iter().map(|(range, new)| (range, with_breaks_of(source, &new))).collect::<Vec<_>>()
    });
    let edited = edits.and_then(|edits| edited(source, 0, edits)).filter(means_it);
    edited.or_else(|| {
        if let Some(json) = &json {
            return Some(with_breaks_of(source, &json.text(&root))).filter(means_it);
        }
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

/// Returns `text`, which begins at `offset`, with other parts in these places; none if two of them overlap.
fn edited(text: &str, offset: usize, mut edits: Vec<Edit>) -> Option<String> {
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut out, mut at) = (String::new(), 0);
    for (range, new) in edits {
        out.push_str(text.get(at..range.start.checked_sub(offset)?)?);
        out.push_str(&new);
        at = range.end.checked_sub(offset)?;
    }
    out.push_str(text.get(at..)?);
    Some(out)
}

/// A place in the old text, and what it becomes.
type Edit = (Range<usize>, String);

struct Merger<'a> {
    old: &'a Syntax<'a>,
    new: &'a Syntax<'a>,
    /// The variations to which serves refer.
    names: VariationNames<'a>,
    /// The parts to replace; none if what changes has no lines of its own.
    edits: Option<Vec<Edit>>,
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
                let kind = NodeKind::Sequence(self.items(old, before, after, section));
                Node { kind, ..old.clone() }
            }
            _ => {
                self.edit(|merger| merger.replacement(old, new));
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
        for (at, (key, value)) in before.iter().enumerate() {
            let new = after.iter().find(|(new, _)| name(new) == name(key));
            match new {
                Some((_, new)) => {
                    let value = self.merge(value, new, section.of_value(name(key)));
                    merged.push((key.clone(), value));
                }
                // It means the same as nothing.
                None if is_empty(value) => merged.push((key.clone(), value.clone())),
                None => {
                    self.edit(|merger| merger.removed_entry(owner, before, at));
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

    /// Adds an edit to the others; none if there is none.
    fn edit(&mut self, edit: impl FnOnce(&Self) -> Option<Edit>) {
        let edit = if self.edits.is_some() { edit(self) } else { None };
        self.edits = self.edits.take().zip(edit).map(|(mut edits, edit)| {
            edits.push(edit);
            edits
        });
    }

    /// Adds an entry to a mapping: in braces on one line after its last scalar, otherwise below its last entry.
    fn add_entry(&mut self, owner: &Node, before: &[(Node, Node)], key: &Node, value: &Node) {
        let is_scalar = |node: &Node| matches!(node.kind, NodeKind::Scalar(..));
        let last = before.iter().rev().map(|(_, value)| value).find(|value| is_scalar(value));
        let end = last.map_or(0, |last| last.raw.end);
        let braces = self.old.text.get(owner.raw.start..end).unwrap_or_default();
        let added = format!(", {}: {}", self.new.raw(key), self.new.raw(value));
        let fits =
            braces.starts_with('{') && is_scalar(value) && !(braces.contains('\n') || added.contains('\n'));
        if fits {
            return self.edit(|_| Some((end..end, added)));
        }
        self.edit(|merger| {
            let text = merger.old.text;
            let ((first, _), (_, last)) = (before.first()?, before.last()?);
            let indent = first.raw.start - line_start(text, first.raw.start);
            let at = line_end(text, end_of(text, last));
            (!is_flow(text, owner) && text[..at].ends_with('\n')).then_some(())?;
            Some((at..at, merger.new_lines(key, value, indent)))
        });
    }

    /// Returns the entries of the new text from `key` to `value` on lines of their own, indented by so many spaces.
    fn new_lines(&self, key: &Node, value: &Node, indent: usize) -> String {
        let text = self.new.text;
        let own = key.raw.start - line_start(text, key.raw.start);
        let lines = &text[key.raw.start..line_end(text, end_of(text, value))];
        let (first, rest) = lines.split_once('\n').unwrap_or((lines, ""));
        let rest = rest.split_inclusive('\n').map(|line| match line.get(own..) {
            Some(inner) if !line.trim().is_empty() => format!("{}{inner}", " ".repeat(indent)),
            _ => line.to_owned(),
        });
        format!("{}{first}\n{}", " ".repeat(indent), rest.collect::<String>())
    }

    /// Returns the removal of an entry of a mapping.
    fn removed_entry(&self, owner: &Node, before: &[(Node, Node)], at: usize) -> Option<Edit> {
        let text = self.old.text;
        let (key, value) = &before[at];
        if is_flow(text, owner) {
            let previous = at.checked_sub(1).map(|at| end_of(text, &before[at].1));
            let range = match (previous, before.get(at + 1)) {
                (Some(previous), _) => previous..end_of(text, value),
                (None, Some((next, _))) => key.raw.start..next.raw.start,
                (None, None) => return None,
            };
            return (!text[range.clone()].contains(['\n', '#'])).then(|| (range, String::new()));
        }
        let start = line_start(text, key.raw.start);
        // The first key of an item shares its line with the dash.
        text[start..key.raw.start].trim().is_empty().then_some(())?;
        Some((with_comments(text, start)..line_end(text, end_of(text, value)), String::new()))
    }

    /// Returns the edit that writes another value in place of one that has no comments.
    fn replacement(&self, old: &Node, new: &Node) -> Option<Edit> {
        let text = self.old.text;
        let (start, end) = (old.raw.start, end_of(text, old));
        let line = &text[line_start(text, start)..start];
        let is_beside_key = !line.trim().trim_start_matches("- ").is_empty();
        // A block begins below its key.
        let start = if is_beside_key { start } else { text[..start].trim_end().len() };
        let begin = if is_beside_key { "" } else { " " };
        let is_plain = is_beside_key || text[..start].ends_with(':');
        let is_free = !text.get(start..end)?.contains('#') && (is_flow(text, old) || !is_beside_key);
        let new = self.in_one_line(new).filter(|_| is_plain && is_free)?;
        Some((start..end, format!("{begin}{new}")))
    }

    /// Returns a node of the new text in one line; none if a text in it needs several.
    fn in_one_line(&self, node: &Node) -> Option<String> {
        let joined = |all: Vec<String>| all.join(", ");
        match &node.kind {
            NodeKind::Refused => None,
            NodeKind::Scalar(..) => {
                let raw = self.new.raw(node);
                (!raw.contains('\n') && !is_block(&raw)).then(|| raw.into_owned())
            }
            NodeKind::Sequence(items) => {
                let items = items.iter().map(|item| self.in_one_line(item)).collect::<Option<Vec<_>>>()?;
                Some(format!("[{}]", joined(items)))
            }
            NodeKind::Mapping(entries) => {
                let entry = |(key, value): &(Node, Node)| {
                    Some(format!("{}: {}", self.in_one_line(key)?, self.in_one_line(value)?))
                };
                let entries = entries.iter().map(entry).collect::<Option<Vec<_>>>()?;
                Some(if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", joined(entries)) })
            }
        }
    }

    fn items(&mut self, owner: &Node, before: &[Node], after: &[Node], section: Section) -> Vec<Node> {
        let pairs = self.pairs(before, after, section);
        let is_in_order = pairs.iter().enumerate().all(|(at, pair)| *pair == Some(at));
        let known = self.edits.as_ref().map_or(0, Vec::len);
        let merged = after.iter().zip(&pairs).map(|(new, pair)| match pair {
            Some(old) => self.merge(&before[*old], new, section),
            None => self.added(new),
        });
        let merged = merged.collect();
        if !is_in_order || before.len() != after.len() {
            let within = self.edits.as_mut().map(|edits| edits.split_off(known)).unwrap_or_default();
            self.edit(|merger| merger.list(owner, before, after, &pairs, &within));
        }
        merged
    }

    /// Returns the edit that writes a list with other items, or in another order. What stays is written as it was,
    /// with the edits `within` it.
    fn list(
        &self,
        owner: &Node,
        before: &[Node],
        after: &[Node],
        pairs: &[Option<usize>],
        within: &[Edit],
    ) -> Option<Edit> {
        let text = self.old.text;
        let kept = |range: &Range<usize>| {
            let own = within.iter().filter(|(edit, _)| range.start <= edit.start && edit.end <= range.end);
            edited(&text[range.clone()], range.start, own.cloned().collect())
        };
        if is_flow(text, owner) && (!before.is_empty() || after.iter().all(is_text)) {
            (!text[owner.raw.clone()].contains('\n')).then_some(())?;
            let item = |(new, pair): (&Node, &Option<usize>)| match pair {
                Some(old) => kept(&(before[*old].raw.start..end_of(text, &before[*old]))),
                None => self.in_one_line(new),
            };
            let items = after.iter().zip(pairs).map(item).collect::<Option<Vec<_>>>()?;
            return Some((owner.raw.clone(), format!("[{}]", items.join(", "))));
        }
        let lines = self.lines_of(owner, before)?;
        let indent = match lines.first() {
            Some(_) => text[line_start(text, before[0].raw.start)..].find('-')?,
            // `[]` is beside its key, to which the items belong.
            None => {
                let line = &text[line_start(text, owner.raw.start)..];
                line.find(|one: char| !matches!(one, ' ' | '-'))? + 2
            }
        };
        let item = |(new, pair): (&Node, &Option<usize>)| match pair {
            Some(old) => kept(&lines[*old]),
            None => self.new_item(new, indent),
        };
        let items = after.iter().zip(pairs).map(item).collect::<Option<Vec<_>>>()?;
        let joined: String = items
            .iter()
            .flat_map(|item| [item.as_str(), if item.ends_with('\n') { "" } else { "\n" }])
            .collect();
        match (lines.first().zip(lines.last()), after) {
            (Some((first, last)), [_, ..]) => {
                let has_end = text[..last.end].ends_with('\n');
                let joined = if has_end { joined.as_str() } else { joined.trim_end_matches('\n') };
                Some((first.start..last.end, joined.to_owned()))
            }
            // The key above gets the brackets.
            (Some((first, last)), []) => {
                let key = text[..first.start].trim_end().len();
                text[..key].ends_with(':').then(|| (key..last.end, " []\n".to_owned()))
            }
            (None, _) => {
                let start = text[..owner.raw.start].trim_end().len();
                let end = line_end(text, owner.raw.end);
                if text[..start].ends_with(':') && text[owner.raw.end..end].trim().is_empty() {
                    return Some((start..end, format!("\n{joined}")));
                }
                let items = after.iter().map(|new| self.in_one_line(new)).collect::<Option<Vec<_>>>()?;
                Some((owner.raw.clone(), format!("[{}]", items.join(", "))))
            }
        }
    }

    /// Returns the lines of each item of a list, with the comments above it; none if one has no lines of its own.
    fn lines_of(&self, owner: &Node, items: &[Node]) -> Option<Vec<Range<usize>>> {
        let text = self.old.text;
        // In brackets over several lines, commas are between the items.
        (items.is_empty() || !is_flow(text, owner)).then_some(())?;
        let mut lines: Vec<Range<usize>> = Vec::new();
        for item in items {
            let start = line_start(text, item.raw.start);
            (text[start..item.raw.start].trim() == "-").then_some(())?;
            let from = with_comments(text, start);
            let from = lines.last().map_or(from, |last| from.max(last.end));
            (lines.last().is_none_or(|last| last.end == from)).then_some(())?;
            lines.push(from..line_end(text, end_of(text, item)));
        }
        Some(lines)
    }

    /// Returns an item of the new text on lines of its own, whose dash is indented by so many spaces.
    fn new_item(&self, node: &Node, indent: usize) -> Option<String> {
        let text = self.new.text;
        let (dash, begin) = (" ".repeat(indent), "- ");
        match &node.kind {
            NodeKind::Mapping(entries) if !is_flow(text, node) => {
                let ((first, _), (_, last)) = entries.first().zip(entries.last())?;
                let lines = self.new_lines(first, last, indent + begin.len());
                Some(format!("{dash}{begin}{}", lines.trim_start()))
            }
            _ => Some(format!("{dash}{begin}{}\n", self.in_one_line(node)?)),
        }
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

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

/// Returns the end of the line that has `at`, or that ends there, with its break.
fn line_end(text: &str, at: usize) -> usize {
    if text[..at].ends_with('\n') {
        return at;
    }
    text[at..].find('\n').map_or(text.len(), |end| at + end + 1)
}

/// Returns where the comments and blank lines begin that are directly above the line at `start`.
fn with_comments(text: &str, start: usize) -> usize {
    let mut from = start;
    while from > 0 {
        let above = line_start(text, from - 1);
        let line = text[above..from].trim();
        if !line.is_empty() && !line.starts_with('#') {
            break;
        }
        from = above;
    }
    from
}

/// Returns whether a node is in brackets or braces. A block list may begin with an item that is.
fn is_flow(text: &str, node: &Node) -> bool {
    text[node.raw.clone()].starts_with(['[', '{'])
}

fn is_text(node: &Node) -> bool {
    matches!(node.kind, NodeKind::Scalar(..))
}

/// Returns where the last text of a node ends.
fn end_of(text: &str, node: &Node) -> usize {
    let last = match &node.kind {
        NodeKind::Mapping(entries) => entries.last().map(|(key, value)| (key.raw.end, value)),
        NodeKind::Sequence(items) => items.last().map(|item| (0, item)),
        NodeKind::Refused | NodeKind::Scalar(..) => None,
    };
    match last.filter(|_| !is_flow(text, node)) {
        Some((key, value)) => key.max(end_of(text, value)),
        None => node.raw.end,
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
