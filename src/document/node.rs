//! The values of a syntax tree.

use std::fmt::Write as _;
use std::ops::Range;

use crate::model::{escaped, is_unseen};

/// A position between two characters: line and column, both from 1, the column in characters.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(super) struct Position {
    pub(super) line: u32,
    pub(super) column: u32,
}

impl Position {
    /// Creates a position that is saturated at the largest number.
    pub(super) fn new(line: usize, column: usize) -> Self {
        let number = |count| u32::try_from(count).unwrap_or(u32::MAX);
        Self { line: number(line), column: number(column) }
    }
}

/// A range of a file, end excluded.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(super) struct Span {
    pub(super) start: Position,
    pub(super) end: Position,
}

impl Span {
    /// Returns the empty range at a position.
    pub(super) fn at(position: Position) -> Self {
        Self { start: position, end: position }
    }

    pub(super) fn is_empty(self) -> bool {
        self.start == self.end
    }
}

/// A value with its place.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Node {
    /// Its number in the tree.
    pub(super) id: usize,
    pub(super) span: Span,
    /// The bytes of a scalar as it is written, with its quotes, or of a collection with its brackets. Without them, it has
    /// only its beginning.
    pub(super) raw: Range<usize>,
    pub(super) kind: NodeKind,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum NodeKind {
    Mapping(Vec<(Node, Node)>),
    /// A value that was reported already, such as an alias.
    Refused,
    Scalar(String, Style),
    Sequence(Vec<Node>),
}

/// Whether a scalar is certainly text.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Style {
    /// An unquoted scalar such as `true` or `1.10`: may be a boolean, a number or null.
    Plain,
    /// Quoted or a block: always text.
    Quoted,
}

impl Node {
    /// Returns whether this is YAML's or JSON's null.
    pub(super) fn is_null(&self) -> bool {
        matches!(&self.kind, NodeKind::Scalar(text, Style::Plain) if is_null(text))
    }

    /// Returns the item of a list of one; any other node is returned itself.
    pub(super) fn alone(&self) -> &Self {
        match &self.kind {
            NodeKind::Sequence(items) if items.len() == 1 => &items[0],
            _ => self,
        }
    }

    /// Returns the position of the value at `path` and of its key. Falls back to the nearest ancestor that
    /// exists.
    pub(super) fn locate(&self, path: &[PathStep]) -> Located {
        let mut found = Located { key: None, value: self.span };
        let mut node = self;
        for step in path {
            let Some((key, value)) = node.child(*step) else {
                break;
            };
            node = value;
            found = Located { key: key.map(|key| key.span), value: value.span };
        }
        found
    }

    fn child(&self, step: PathStep) -> Option<(Option<&Self>, &Self)> {
        match (&self.kind, step) {
            (NodeKind::Mapping(entries), PathStep::Key(name)) => entries
                .iter()
                .find(|(key, _)| matches!(&key.kind, NodeKind::Scalar(text, _) if text == name))
                .map(|(key, value)| (Some(key), value)),
            (NodeKind::Mapping(entries), PathStep::Entry(index)) => {
                entries.get(index).map(|(key, value)| (Some(key), value))
            }
            (NodeKind::Sequence(items), PathStep::Item(index)) => items.get(index).map(|item| (None, item)),
            _ => None,
        }
    }
}

/// Returns whether nobody sees `c` at the end of a text.
pub(super) fn is_hidden(c: char) -> bool {
    is_unseen(c) || matches!(c, '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}')
}

/// One step of a path through a document.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum PathStep {
    /// An entry of a mapping whose keys are names.
    Entry(usize),
    Item(usize),
    Key(&'static str),
}

/// The position of a value and of its key, if it has one.
pub(super) struct Located {
    pub(super) key: Option<Span>,
    pub(super) value: Span,
}

/// Returns the text of a scalar.
pub(super) fn scalar(node: &Node) -> Option<&str> {
    match &node.kind {
        NodeKind::Scalar(text, _) => Some(text),
        _ => None,
    }
}

/// Returns the value of the first entry with the key `name`.
pub(super) fn field<'n>(entries: &'n [(Node, Node)], name: &str) -> Option<&'n Node> {
    entries.iter().find(|(key, _)| scalar(key) == Some(name)).map(|(_, value)| value)
}

/// Returns whether `text` is null in YAML's core schema, which includes the empty plain scalar.
pub(super) fn is_null(text: &str) -> bool {
    matches!(text, "" | "~" | "null" | "Null" | "NULL")
}

/// Returns `text` in double quotes.
pub(super) fn quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(out, "\\x{code:02x}"),
                    0x100..=0xffff => write!(out, "\\u{code:04x}"),
                    _ => write!(out, "\\U{code:08x}"),
                };
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns whether YAML does not allow `c` unescaped, or a reviewer could not see it.
fn needs_escape(c: char) -> bool {
    let mut buffer = [0; 4];
    let text: &str = c.encode_utf8(&mut buffer);
    let is_noncharacter = u32::from(c) & 0xfffe == 0xfffe || ('\u{fdd0}'..='\u{fdef}').contains(&c);
    is_noncharacter || is_unseen(c) || escaped(text).to_string() != text
}
