//! Parses YAML into parts, and finds the part that each comment belongs to.
//!
//! A comment at the end of a line belongs to the part before it. A comment on its own line belongs to the next part,
//! unless it is indented like a collection that ends there: then it is the end of that collection.

use std::borrow::Cow;
use std::ops::ControlFlow;

use granit_parser::{Event, ScalarStyle, Span, StructureStyle};

use super::parts::{PartId, PartKind, SourceComment, SourceTree};
use crate::document::{events, node::Position, print::quoted};

/// Parses `text`. Returns nothing if it has a construct that cannot be rewritten.
pub(super) fn parse(text: &str) -> Option<SourceTree<'_>> {
    // A directive changes how the rest is read.
    if text.starts_with('%') || text.contains("\n%") {
        return None;
    }
    let start = || Builder {
        text,
        cursor: 0,
        tree: SourceTree::default(),
        open: Vec::new(),
        closed: Vec::new(),
        last: None,
        is_known: true,
    };
    let parsed = events::parse(text, start, |builder, event, span| {
        builder.is_known = builder.event(event, span).is_some();
        match builder.is_known {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    });
    let mut builder = parsed.state;
    if parsed.error.is_some() || !builder.is_known {
        return None;
    }
    builder.end()?;
    Some(builder.tree)
}

/// A collection without its end.
struct OpenPart {
    id: PartId,
    is_flow: bool,
    /// The column of its entries, from 0.
    column: usize,
    key: Option<PartId>,
}

struct Builder<'t> {
    text: &'t str,
    /// The end of the last part.
    cursor: usize,
    tree: SourceTree<'t>,
    open: Vec<OpenPart>,
    /// The block collections that ended since the last part, the inner ones first, with their columns.
    closed: Vec<(PartId, usize)>,
    /// The last part.
    last: Option<PartId>,
    /// Whether no construct was found that cannot be rewritten.
    is_known: bool,
}

/// A comment between two parts.
struct Between<'t> {
    text: &'t str,
    at: usize,
    column: usize,
    is_alone: bool,
    follows_blank: bool,
}

impl<'t> Builder<'t> {
    fn event(&mut self, event: Event<'_>, span: Span) -> Option<()> {
        let start = span.start.byte_offset()?;
        match event {
            Event::Scalar(value, style, 0, None) => self.scalar(&value, style, span),
            Event::SequenceStart(style, 0, None) => self.start(start, style, PartKind::Sequence(Vec::new())),
            Event::MappingStart(style, 0, None) => self.start(start, style, PartKind::Mapping(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => self.close(start),
            Event::StreamStart | Event::StreamEnd | Event::DocumentStart(..) | Event::DocumentEnd => Some(()),
            _ => None,
        }
    }

    fn scalar(&mut self, value: &str, style: ScalarStyle, span: Span) -> Option<()> {
        let raw = span.slice(self.text)?;
        // An absent value has no position.
        if style == ScalarStyle::Plain && raw.is_empty() {
            let id = self.tree.add(PartKind::Scalar(Cow::Borrowed("")));
            return self.place(id);
        }
        let start = span.start.byte_offset()?;
        let (start, raw, kept) = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => {
                let header = self.header(start)?;
                let raw = self.text.get(header..start + raw.len())?;
                (header, raw.trim_end_matches([' ', '\t', '\n', '\r']), block(raw, value)?)
            }
            _ => (start, raw, Cow::Borrowed(raw)),
        };
        let length = match &kept {
            Cow::Borrowed(kept) => kept.len(),
            Cow::Owned(_) => raw.len(),
        };
        let id = self.tree.add(PartKind::Scalar(kept));
        self.comments(start, id);
        self.cursor = start + length;
        self.last = Some(id);
        self.place(id)
    }

    /// Returns the start of a block scalar whose content begins at `content`, where its span begins.
    fn header(&self, content: usize) -> Option<usize> {
        let before = self.text.get(self.cursor..content)?.trim_end();
        let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
        let indicator = before[line..].find(['|', '>'])?;
        Some(self.cursor + line + indicator)
    }

    fn start(&mut self, start: usize, style: StructureStyle, kind: PartKind<'t>) -> Option<()> {
        let id = self.tree.add(kind);
        // A mapping of one entry in a flow list needs no brackets.
        let is_flow = style == StructureStyle::Flow && self.text[start..].starts_with(['[', '{']);
        let is_value = self.open.last().is_some_and(|parent| parent.key.is_some());
        // The comments above a block collection that is a value belong to its first part.
        if is_flow || !is_value {
            self.comments(start, id);
        }
        if is_flow {
            self.cursor = start + 1;
            self.last = None;
        }
        self.open.push(OpenPart { id, is_flow, column: self.column(start), key: None });
        Some(())
    }

    /// Ends a collection, in flow style at the bracket.
    fn close(&mut self, bracket: usize) -> Option<()> {
        let OpenPart { id, is_flow, column, .. } = self.open.pop()?;
        if is_flow {
            for comment in self.between(bracket) {
                self.tree.comments.push(self.place_of(&comment));
                if !self.goes_beside(&comment) {
                    self.tree.parts[id].below.push(comment.text);
                }
            }
            self.cursor = bracket + 1;
            self.last = Some(id);
        } else {
            self.closed.push((id, column));
        }
        self.place(id)
    }

    /// Makes `id` a part of the collection that is open.
    fn place(&mut self, id: PartId) -> Option<()> {
        let Some(parent) = self.open.last_mut() else {
            self.tree.root = id;
            return Some(());
        };
        match &mut self.tree.parts[parent.id].kind {
            PartKind::Mapping(entries) => match parent.key.take() {
                Some(key) => entries.push((key, id)),
                None => parent.key = Some(id),
            },
            PartKind::Sequence(items) => items.push(id),
            PartKind::Scalar(_) => return None,
        }
        Some(())
    }

    /// Assigns the comments before `start`, where the part `next` begins.
    fn comments(&mut self, start: usize, next: PartId) {
        let mut level = 0;
        let is_end = start == self.text.len();
        let next_column = self.open.last().filter(|_| !is_end).map(|parent| parent.column);
        for comment in self.between(start) {
            self.tree.comments.push(self.place_of(&comment));
            if self.goes_beside(&comment) {
                continue;
            }
            let ended = (self.closed.iter().enumerate().skip(level))
                .filter(|_| comment.is_alone && next_column.is_none_or(|next| comment.column > next))
                .find(|(_, (_, column))| *column <= comment.column);
            let list = match ended {
                Some((at, (id, _))) => {
                    // A comment that is indented more must not move in front of this one.
                    level = at;
                    &mut self.tree.parts[*id].below
                }
                None => {
                    level = self.closed.len();
                    &mut self.tree.parts[next].above
                }
            };
            if comment.follows_blank {
                list.push("");
            }
            list.push(comment.text);
        }
        self.closed.clear();
        if self.is_first_of_line(start) && self.follows_blank(start) {
            self.tree.parts[next].above.push("");
        }
        // A collection and its first part begin at the same place.
        self.cursor = start;
        self.last = None;
    }

    /// Assigns the comments after the last part.
    fn end(&mut self) -> Option<()> {
        let root = self.tree.root;
        if self.tree.parts.is_empty() || !self.open.is_empty() {
            return None;
        }
        let end = self.text.len();
        let before = self.tree.parts[root].above.len();
        self.comments(end, root);
        // What belongs to no collection is the end of the document.
        let rest = self.tree.parts[root].above.split_off(before);
        self.tree.parts[root].below.extend(rest);
        Some(())
    }

    /// Assigns `comment` to the part before it on the same line, if there is one.
    fn goes_beside(&mut self, comment: &Between<'t>) -> bool {
        let Some(last) = self.last.filter(|_| !comment.is_alone) else {
            return false;
        };
        let is_same_line = !self.text[self.cursor..comment.at].contains(['\n', '\r']);
        let part = &mut self.tree.parts[last];
        let is_free = is_same_line && part.beside.is_none();
        if is_free {
            part.beside = Some(comment.text);
        }
        is_free
    }

    /// Returns the comments between the last part and `end`.
    fn between(&self, end: usize) -> Vec<Between<'t>> {
        let mut found = Vec::new();
        let mut at = self.cursor;
        while let Some(hash) = self.text.get(at..end).and_then(|gap| gap.find('#')) {
            let hash = at + hash;
            let length = self.text[hash..].find(['\n', '\r']).unwrap_or(self.text.len() - hash);
            at = hash + length;
            found.push(Between {
                text: self.text[hash..at].trim_end_matches([' ', '\t']),
                at: hash,
                column: self.column(hash),
                is_alone: self.text[self.line(hash)..hash].trim().is_empty(),
                follows_blank: self.follows_blank(hash),
            });
        }
        found
    }

    fn place_of(&self, comment: &Between<'t>) -> SourceComment<'t> {
        let lines = self.text[..comment.at].bytes().filter(|byte| *byte == b'\n').count();
        SourceComment {
            text: comment.text,
            start: Position::new(lines + 1, comment.column + 1),
            is_alone: comment.is_alone,
        }
    }

    fn line(&self, at: usize) -> usize {
        self.text[..at].rfind(['\n', '\r']).map_or(0, |end| end + 1)
    }

    fn column(&self, at: usize) -> usize {
        self.text[self.line(at)..at].chars().count()
    }

    fn is_first_of_line(&self, at: usize) -> bool {
        let before = &self.text[self.line(at)..at];
        before.chars().all(|c| matches!(c, ' ' | '\t' | '-' | '?'))
    }

    /// Returns whether the line before that of `at` is blank and not part of a scalar.
    fn follows_blank(&self, at: usize) -> bool {
        let line = self.line(at);
        let Some(before) = self.text.get(self.cursor..line) else {
            return false;
        };
        let mut lines = before.trim_end_matches([' ', '\t']).rsplit('\n');
        // The text ends with the end of the line before, so the first piece is empty.
        lines.next().is_some_and(str::is_empty)
            && lines.next().is_some_and(|line| line.trim().is_empty())
            && lines.next().is_some()
    }
}

/// Returns a block scalar as written, or in quotes if its indentation cannot change.
fn block<'t>(raw: &'t str, value: &str) -> Option<Cow<'t, str>> {
    let header = raw.lines().next()?;
    let indicators = header.split('#').next().unwrap_or_default();
    let is_simple = !indicators.contains(|c: char| c == '+' || c.is_ascii_digit());
    // Blank lines at the end belong to the layout.
    let end = raw.trim_end_matches([' ', '\t', '\n', '\r']).len();
    let line_end = raw[end..].find(['\n', '\r']).map_or(raw.len(), |at| end + at);
    match (is_simple, header.contains('#')) {
        (true, _) => Some(Cow::Borrowed(&raw[..line_end])),
        (false, false) => Some(Cow::Owned(quoted(value))),
        (false, true) => None,
    }
}
