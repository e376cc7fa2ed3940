//! The syntax tree of a document: values with their positions, scalars as they are written, and comments at
//! the values that they belong to. Checks, `fmt`, waivers, tests and reports read this tree.
//!
//! A comment at the end of a line belongs to the value before it. A comment on its own line belongs to the
//! next value, unless it is indented like a collection that ends there: then it is the end of that
//! collection.
//!
//! A file may be hostile: nothing here recurses, aliases are not expanded, and the time is linear in the
//! size.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::{ControlFlow, Range};

use granit_parser::{
    ErrorKind, Event, Marker, Options, Parser, ScalarStyle, ScanError, Span as ParserSpan, StructureStyle,
    options,
};

use super::check;
use super::finding::lines;
use super::finding::{Finding, add, shown};
use super::mistake;
use super::node::{Node, NodeKind, Position, Span, Style, quoted, scalar};

/// The maximum nesting depth.
pub(super) const DEEPEST: usize = 32;

/// The maximum number of bytes that are parsed again after a repair.
const MOST_REPAIRED: usize = 4 * 1024 * 1024;

/// A parsed file.
#[derive(Debug, Default)]
pub(super) struct Syntax<'t> {
    pub(super) text: &'t str,
    /// The root, if the file is well formed.
    pub(super) root: Option<Node>,
    /// The errors in the YAML.
    pub(super) findings: Vec<Finding>,
    pub(super) comments: Vec<Comment<'t>>,
    /// Whether it can be printed again: its scalars and comments are known.
    pub(super) is_printable: bool,
    /// The comments of each value that has some.
    notes: BTreeMap<usize, Notes<'t>>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Comment<'t> {
    /// The comment with its `#`, without white space at its end.
    pub(super) text: &'t str,
    pub(super) start: Position,
    /// Whether nothing is before it on its line.
    pub(super) is_alone: bool,
}

/// The comments of a value; an empty one is a blank line.
#[derive(Clone, Debug, Default)]
pub(super) struct Notes<'t> {
    /// The comments on the lines above it.
    pub(super) above: Vec<&'t str>,
    /// The comment that follows it on its line.
    pub(super) beside: Option<&'t str>,
    /// The comments after the last part of a collection, before its end.
    pub(super) below: Vec<&'t str>,
}

impl<'t> Syntax<'t> {
    pub(super) fn notes(&self, node: &Node) -> &Notes<'t> {
        const NONE: &Notes<'_> = &Notes { above: Vec::new(), beside: None, below: Vec::new() };
        self.notes.get(&node.id).unwrap_or(NONE)
    }

    /// Returns another tree with these comments: `root` has parts of this one and of a text that follows this
    /// one in `text`. `moved` are comments that go above the node with this id.
    pub(super) fn with_root<'o>(
        &self,
        text: &'o str,
        root: Node,
        moved: Vec<(usize, Vec<&'o str>)>,
    ) -> Syntax<'o>
    where
        't: 'o,
    {
        let mut notes: BTreeMap<usize, Notes<'o>> = self.notes.clone();
        for (id, comments) in moved {
            notes.entry(id).or_default().above.extend(comments);
        }
        Syntax { text, root: Some(root), notes, is_printable: self.is_printable, ..Syntax::default() }
    }

    /// Returns a scalar as it is written, or in quotes if it is a block whose indentation cannot change.
    pub(super) fn raw(&self, node: &Node) -> Cow<'t, str> {
        let raw = &self.text[node.raw.clone()];
        match &node.kind {
            NodeKind::Scalar(text, _) if is_block(raw) && !is_movable(raw) => Cow::Owned(quoted(text)),
            _ => Cow::Borrowed(raw),
        }
    }
}

/// Returns whether a scalar as written is a block scalar.
pub(super) fn is_block(raw: &str) -> bool {
    raw.starts_with(['|', '>'])
}

/// Returns whether a block scalar means the same with another indentation.
fn is_movable(raw: &str) -> bool {
    let header = raw.lines().next().unwrap_or_default();
    let indicators = header.split('#').next().unwrap_or_default();
    !indicators.contains(|c: char| c == '+' || c.is_ascii_digit())
}

/// Parses `text`. Rejects anchors, aliases, tags, deep nesting and a second document.
///
/// Some styles that older parsers accept and YAML 1.2 does not are repaired, at the same positions.
pub(super) fn parse(text: &str) -> Syntax<'_> {
    if let Some(finding) = invisible(text) {
        return Syntax { text, findings: vec![finding], ..Syntax::default() };
    }
    let mut repaired = Cow::Borrowed(text);
    let mut repairs = MOST_REPAIRED / text.len().max(1);
    let mut first = None;
    loop {
        let mut builder = Builder::new(text);
        let Err(error) = builder.run(&repaired) else {
            return builder.end(None);
        };
        let is_in_flow = builder.open.last().is_some_and(|open| open.is_flow);
        let next = if repairs > 0 { spaced(&repaired, &error, is_in_flow) } else { None };
        // If the repairs do not suffice, the error is that of the file as it is.
        let first = first.get_or_insert_with(|| builder.end(Some(&error)));
        let Some(next) = next else {
            return std::mem::take(first);
        };
        repaired = Cow::Owned(next);
        repairs -= 1;
    }
}

/// Returns `text` with spaces instead of what caused `error`, if it is a matter of style.
fn spaced(text: &str, error: &ScanError, is_in_flow: bool) -> Option<String> {
    let at = error.marker().byte_offset()?;
    let (start, end) = match error.kind() {
        // A comment directly after a bracket, a comma or a quote.
        ErrorKind::CommentNotSeparated => {
            let length = text.get(at..)?.find(['\n', '\r']);
            (at, length.map_or(text.len(), |length| at + length))
        }
        // A tab before the first token of a line in a flow collection.
        ErrorKind::TabInBlockIndentation if is_in_flow => {
            let before = text.get(..at)?;
            let indentation = before.trim_end_matches([' ', '\t']).len();
            before[indentation..].contains('\t').then_some((indentation, at))?
        }
        _ => return None,
    };
    let spaces = " ".repeat(end - start);
    Some([&text[..start], &spaces, &text[end..]].concat())
}

/// Returns an error at a line break of YAML 1.1 that is not one in YAML 1.2, or at a byte order mark that
/// begins a line.
fn invisible(text: &str) -> Option<Finding> {
    // Other parsers would end the line there, or count the mark as indentation.
    let mut before = '\n';
    let (at, character) = text.char_indices().find(|(_, c)| {
        let is_mark = *c == '\u{feff}' && matches!(before, '\n' | '\r');
        before = *c;
        is_mark || matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}')
    })?;
    let before = &text[..at];
    let line = before.split('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    let start = Position::new(line, column + 1);
    let end = Position::new(line, column + 2);
    let code = u32::from(character);
    let what = match character {
        '\u{feff}' => "byte order mark",
        _ => "line break",
    };
    let message = format!("the invisible {what} U+{code:04X} is not allowed unescaped");
    let help = format!("write it as `\\u{code:04x}` in double quotes, or remove it");
    Some(Finding::at(&check::SYNTAX, Span { start, end }, message).help(help))
}

/// A collection without its end.
struct Open {
    node: Node,
    /// The key whose value is next.
    key: Option<Node>,
    is_flow: bool,
    /// The column of its entries, from 0.
    column: usize,
}

struct Builder<'t> {
    syntax: Syntax<'t>,
    open: Vec<Open>,
    /// Whether the last value is absent and has an anchor, which comes next.
    is_only_anchor: bool,
    /// The number of values.
    count: usize,
    documents: usize,
    /// The error that ended the parse.
    fatal: Option<Finding>,
    /// The end of the last value.
    cursor: usize,
    last: Option<usize>,
    /// The block collections that ended since the last value, the inner ones first, with their columns.
    closed: Vec<(usize, usize)>,
    /// A place before the next comment, and the number of line breaks before it.
    counted: (usize, usize),
}

/// A comment between two values.
struct Between<'t> {
    text: &'t str,
    at: usize,
    column: usize,
    is_alone: bool,
    follows_blank: bool,
}

impl<'t> Builder<'t> {
    fn new(text: &'t str) -> Self {
        // A directive changes how the rest is read.
        let is_printable = !text.starts_with('%') && !text.contains("\n%");
        Self {
            syntax: Syntax { text, is_printable, ..Syntax::default() },
            open: Vec::new(),
            is_only_anchor: false,
            count: 0,
            documents: 0,
            fatal: None,
            cursor: 0,
            last: None,
            closed: Vec::new(),
            counted: (0, 0),
        }
    }

    /// Reads the events of `repaired`, whose positions are those of the text.
    fn run(&mut self, repaired: &str) -> Result<(), ScanError> {
        for event in Parser::new_from_str_with_options(repaired, parser_options()) {
            let (event, span) = event?;
            if self.event(event, span).is_break() {
                break;
            }
        }
        Ok(())
    }

    fn end(mut self, error: Option<&ScanError>) -> Syntax<'t> {
        let fatal = error.map(|error| unreadable(self.syntax.text, error)).or(self.fatal.take());
        if fatal.is_none() {
            self.last_comments();
        }
        self.syntax.root = self.syntax.root.filter(|_| fatal.is_none());
        self.syntax.is_printable &= self.syntax.root.is_some();
        self.syntax.findings.extend(fatal);
        self.syntax
    }

    fn event(&mut self, event: Event<'_>, span: ParserSpan) -> ControlFlow<()> {
        let at = mark(span);
        if let Some(finding) = self.denied_key(span) {
            return self.stop(finding);
        }
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.stop(second_document(at));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                // Parsing continues, because one run reports all findings (src/document/README.md,
                // "Findings").
                self.refuse(anchor(at, "an alias (`*`)"));
                let node = self.node(NodeKind::Refused, at, 0..0);
                self.value(node);
            }
            // It follows its value.
            Event::Anchor(..) => {
                self.refuse(anchor(at, "an anchor (`&`)"));
                if std::mem::take(&mut self.is_only_anchor) {
                    self.only_an_anchor(span);
                }
            }
            Event::Scalar(text, style, id, _) => {
                let is_absent = style == ScalarStyle::Plain && at.is_empty();
                match span.tag_span().filter(|_| style == ScalarStyle::Plain) {
                    Some(tag) if is_absent => self.only_a_tag(offset(tag.start)..offset(tag.end), mark(tag)),
                    Some(tag) if self.is_denied_predicate(offset(tag.start)) => {
                        let place = Span { start: mark(tag).start, end: at.end };
                        self.only_a_tag(offset(tag.start)..offset(span.end), place);
                    }
                    None if is_absent && id != 0 => self.is_only_anchor = true,
                    _ => {
                        self.refuse_tag(span);
                        self.scalar(text.into_owned(), style, span);
                    }
                }
            }
            Event::SequenceStart(style, ..) => {
                return self.start(NodeKind::Sequence(Vec::new()), style, span);
            }
            Event::MappingStart(style, ..) => {
                return self.start(NodeKind::Mapping(Vec::new()), style, span);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at.end, offset(span.start)),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn refuse(&mut self, finding: Finding) {
        self.syntax.is_printable = false;
        add(&mut self.syntax.findings, finding);
    }

    /// Reads a value that is a tag and nothing else, which it was not meant to be: `!=` and `!contains` are
    /// predicates elsewhere.
    fn only_a_tag(&mut self, raw: Range<usize>, at: Span) {
        let text = self.syntax.text.get(raw.clone()).unwrap_or_default().trim_end().to_owned();
        let help = format!("put the value in quotes: `{}`", quoted(&shown(&text)));
        self.refuse(Finding::at(&check::YAML_TAG, at, "a value without quotes begins with `!`").help(help));
        let node = self.node(NodeKind::Scalar(text, Style::Quoted), at, raw);
        self.value(node);
    }

    /// Returns whether the next value, with a tag here, is the predicate of a condition: `!starts with` is one elsewhere.
    fn is_denied_predicate(&self, tag: usize) -> bool {
        let key = self.open.last().and_then(|open| open.key.as_ref()).and_then(scalar);
        let tag = self.syntax.text.get(tag..).unwrap_or_default();
        matches!(key, Some("predicate" | "operator" | "op"))
            && !tag.starts_with("!!")
            && !tag.starts_with("!<")
    }

    /// Returns the finding on a key with a sign that denies it, such as `!disabled: true`, which is a tag. After it, the
    /// rest of its mapping cannot be read.
    fn denied_key(&self, span: ParserSpan) -> Option<Finding> {
        let tag = span.tag_span()?;
        let name = self.syntax.text.get(offset(tag.start)..offset(tag.end))?;
        let name =
            name.trim_end().strip_prefix('!')?.strip_suffix(':').filter(|name| !name.contains(['!', '<']))?;
        // A plain text goes on in the next line, which is another entry here.
        let line = self.syntax.text.get(offset(tag.end)..)?.lines().next().unwrap_or_default();
        let value = line.split(" #").next().unwrap_or_default().trim();
        Some(Finding::at(&check::YAML_TAG, mark(tag), mistake::DENIED).help(mistake::undenied(name, value)))
    }

    /// Reads a value that is an anchor and nothing else, which it was not meant to be: it is a text, not absent.
    fn only_an_anchor(&mut self, anchor: ParserSpan) {
        let raw = offset(anchor.start)..offset(anchor.end);
        let text = self.syntax.text.get(raw.clone()).unwrap_or_default().trim_end().to_owned();
        let node = self.node(NodeKind::Scalar(text, Style::Quoted), mark(anchor), raw);
        self.value(node);
    }

    fn refuse_tag(&mut self, span: ParserSpan) {
        if let Some(tag) = span.tag_span() {
            let finding = Finding::at(&check::YAML_TAG, mark(tag), "a tag (`!`) is not allowed");
            self.refuse(finding.help("remove the tag; quote a value that begins with `!`"));
        }
    }

    fn stop(&mut self, finding: Finding) -> ControlFlow<()> {
        self.fatal = Some(finding);
        ControlFlow::Break(())
    }

    fn node(&mut self, kind: NodeKind, span: Span, raw: Range<usize>) -> Node {
        self.count += 1;
        Node { id: self.count, span, raw, kind }
    }

    fn scalar(&mut self, text: String, style: ScalarStyle, span: ParserSpan) {
        let (at, start) = (mark(span), offset(span.start));
        if style == ScalarStyle::Plain && at.is_empty() {
            // The parser writes an absent value as `~`.
            let node = self.node(NodeKind::Scalar(String::new(), Style::Plain), at, start..start);
            return self.value(node);
        }
        let raw = match style {
            ScalarStyle::Literal | ScalarStyle::Folded => self.block(start, offset(span.end)),
            _ => start..offset(span.end),
        };
        // An empty block scalar would be shown at the next line.
        let key = self.open.last().and_then(|open| open.key.as_ref());
        let style = if style == ScalarStyle::Plain { Style::Plain } else { Style::Quoted };
        let at = match (text.as_str(), style, key) {
            ("", Style::Quoted, Some(key)) if key.span.end.line < at.start.line => key.span,
            _ => at,
        };
        let end = raw.end;
        let node = self.node(NodeKind::Scalar(text, style), at, raw.clone());
        self.comments(raw.start, node.id);
        self.cursor = end;
        self.last = Some(node.id);
        self.value(node);
    }

    /// Returns the place of a block scalar, header included, whose content has this place.
    fn block(&mut self, content: usize, end: usize) -> Range<usize> {
        let text = self.syntax.text;
        let header = text.get(self.cursor..content).and_then(|before| {
            let before = before.trim_end();
            let line = before.rfind(['\n', '\r']).map_or(0, |end| end + 1);
            Some(self.cursor + line + before[line..].find(['|', '>'])?)
        });
        let place = header.and_then(|header| {
            // Blank lines at the end belong to the layout, and blanks at the end of the last other line to the text.
            let all = text.get(header..end)?;
            let raw = all.trim_end_matches([' ', '\t', '\n', '\r']);
            let rest = all[raw.len()..].find(['\n', '\r']).filter(|_| raw.contains('\n'));
            let raw = &all[..raw.len() + rest.unwrap_or(0)];
            // A comment in the header would be lost in quotes.
            let is_kept = is_movable(raw) || !raw.lines().next()?.contains('#');
            is_kept.then_some(header..header + raw.len())
        });
        self.syntax.is_printable &= place.is_some();
        place.unwrap_or(content..content)
    }

    fn start(&mut self, kind: NodeKind, style: StructureStyle, span: ParserSpan) -> ControlFlow<()> {
        self.refuse_tag(span);
        let (at, start) = (mark(span), offset(span.start));
        // This error ends the parse, because the rest may be nested without a limit.
        if self.open.len() == DEEPEST {
            return self.stop(too_deep(at));
        }
        let node = self.node(kind, at, start..start);
        // A mapping of one entry in a flow list needs no brackets.
        let is_flow = style == StructureStyle::Flow && self.syntax.text[start..].starts_with(['[', '{']);
        // Its first line is indented by a tab, which the parser accepts after a dash.
        if !is_flow && self.syntax.text[..start].ends_with('\t') {
            return self.stop(mistake_at(self.syntax.text, at, "a tab is not indentation"));
        }
        let is_value = self.open.last().is_some_and(|parent| parent.key.is_some());
        // The comments above a block collection that is a value belong to its first part.
        if is_flow || !is_value {
            self.comments(start, node.id);
        }
        if is_flow {
            self.cursor = start + 1;
            self.last = None;
        }
        self.open.push(Open { node, key: None, is_flow, column: span.start.col() });
        ControlFlow::Continue(())
    }

    /// Ends a collection, in flow style at the bracket.
    fn close(&mut self, end: Position, bracket: usize) {
        let Some(Open { mut node, is_flow, column, .. }) = self.open.pop() else {
            return;
        };
        if is_flow {
            for comment in self.between(bracket) {
                self.keep(&comment);
                if !self.goes_beside(&comment) {
                    self.notes(node.id).below.push(comment.text);
                }
            }
            self.cursor = bracket + 1;
            node.raw.end = bracket + 1;
            self.last = Some(node.id);
        } else {
            self.closed.push((node.id, column));
        }
        node.span.end = end;
        self.value(node);
    }

    /// Makes `node` a part of the collection that is open.
    fn value(&mut self, node: Node) {
        let Some(parent) = self.open.last_mut() else {
            self.syntax.root = Some(node);
            return;
        };
        match &mut parent.node.kind {
            NodeKind::Mapping(entries) => match parent.key.take() {
                Some(key) => entries.push((key, node)),
                None => parent.key = Some(node),
            },
            NodeKind::Sequence(items) => items.push(node),
            NodeKind::Refused | NodeKind::Scalar(..) => {}
        }
    }

    fn notes(&mut self, id: usize) -> &mut Notes<'t> {
        self.syntax.notes.entry(id).or_default()
    }

    /// Assigns the comments before `start`, where the value `next` begins.
    fn comments(&mut self, start: usize, next: usize) {
        let mut level = 0;
        let is_end = start == self.syntax.text.len();
        let next_column = self.open.last().filter(|_| !is_end).map(|parent| parent.column);
        for comment in self.between(start) {
            self.keep(&comment);
            if self.goes_beside(&comment) {
                continue;
            }
            let ended = (self.closed.iter().enumerate().skip(level))
                .filter(|_| comment.is_alone && next_column.is_none_or(|next| comment.column > next))
                .find(|(_, (_, column))| *column <= comment.column)
                .map(|(at, (id, _))| (at, *id));
            let list = match ended {
                Some((at, id)) => {
                    // A comment that is indented more must not move in front of this one.
                    level = at;
                    &mut self.notes(id).below
                }
                None => {
                    level = self.closed.len();
                    &mut self.notes(next).above
                }
            };
            if comment.follows_blank {
                list.push("");
            }
            list.push(comment.text);
        }
        self.closed.clear();
        let gap = self.syntax.text.get(self.cursor..start).unwrap_or_default();
        let line = gap.rfind(['\n', '\r']).map(|end| end + 1);
        let is_first = |line: &usize| gap[*line..].chars().all(|c| matches!(c, ' ' | '\t' | '-' | '?'));
        if line.filter(is_first).is_some_and(|line| self.follows_blank(self.cursor + line)) {
            self.notes(next).above.push("");
        }
        // A collection and its first part begin at the same place.
        self.cursor = start;
        self.last = None;
    }

    /// Assigns the comments after the last value.
    fn last_comments(&mut self) {
        let Some(root) = self.syntax.root.as_ref().map(|root| root.id) else {
            return;
        };
        let before = self.syntax.notes.get(&root).map_or(0, |notes| notes.above.len());
        self.comments(self.syntax.text.len(), root);
        // What belongs to no collection is the end of the document.
        if let Some(notes) = self.syntax.notes.get_mut(&root) {
            let rest = notes.above.split_off(before);
            notes.below.extend(rest);
        }
    }

    /// Assigns `comment` to the value before it on the same line, if there is one.
    fn goes_beside(&mut self, comment: &Between<'t>) -> bool {
        let Some(last) = self.last.filter(|_| !comment.is_alone) else {
            return false;
        };
        let is_same_line = !self.syntax.text[self.cursor..comment.at].contains(['\n', '\r']);
        let notes = self.notes(last);
        let is_free = is_same_line && notes.beside.is_none();
        if is_free {
            notes.beside = Some(comment.text);
        }
        is_free
    }

    /// Returns the comments between the last value and `end`.
    fn between(&self, end: usize) -> Vec<Between<'t>> {
        let text = self.syntax.text;
        let mut found = Vec::new();
        let mut at = self.cursor;
        while let Some(hash) = text.get(at..end).and_then(|gap| gap.find('#')) {
            let hash = at + hash;
            let length = text[hash..].find(['\n', '\r']).unwrap_or(text.len() - hash);
            at = hash + length;
            let line = text[..hash].rfind(['\n', '\r']).map_or(0, |end| end + 1);
            found.push(Between {
                text: text[hash..at].trim_end_matches([' ', '\t']),
                at: hash,
                column: text[line..hash].chars().count(),
                is_alone: text[line..hash].trim().is_empty(),
                follows_blank: self.follows_blank(line),
            });
        }
        found
    }

    fn keep(&mut self, comment: &Between<'t>) {
        let (at, lines) = self.counted;
        let lines = lines + self.syntax.text[at..comment.at].bytes().filter(|byte| *byte == b'\n').count();
        self.counted = (comment.at, lines);
        self.syntax.comments.push(Comment {
            text: comment.text,
            start: Position::new(lines + 1, comment.column + 1),
            is_alone: comment.is_alone,
        });
    }

    /// Returns whether the line before the one that begins at `line` is blank and not part of a scalar.
    fn follows_blank(&self, line: usize) -> bool {
        let Some(before) = self.syntax.text.get(self.cursor..line) else {
            return false;
        };
        let mut lines = before.trim_end_matches([' ', '\t']).rsplit('\n');
        // The text ends with the end of the line before, so the first piece is empty.
        lines.next().is_some_and(str::is_empty)
            && lines.next().is_some_and(|line| line.trim().is_empty())
            && lines.next().is_some()
    }
}

/// Returns the options with which the parser reads scalars as other parsers do.
fn parser_options() -> Options {
    options! {
        block_scalar_eof_without_line_feed: true,
        bom_inside_document_as_content: true,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
    }
}

fn anchor(span: Span, what: &str) -> Finding {
    Finding::at(&check::YAML_ANCHOR, span, format!("{what} is not allowed"))
        .help("write the content out where it is used, so that a reviewer sees it; quote a value that begins with `&` or `*`")
}

pub(super) fn too_deep(span: Span) -> Finding {
    Finding::at(&check::TOO_DEEP, span, format!("nested deeper than {DEEPEST} levels"))
        .help("a document needs no more than 8")
}

fn second_document(span: Span) -> Finding {
    Finding::at(&check::SEVERAL_DOCUMENTS, span, "a second YAML document begins here")
        .help("move it to a separate file: one file is one toggle")
}

fn unreadable(text: &str, error: &ScanError) -> Finding {
    let span = Span::at(from_marker(*error.marker()));
    // The parser has its own limit, which is the same finding to an author.
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(span),
        kind => mistake_at(text, span, &kind.to_string()),
    }
}

/// Returns the mistake that the author made before `span`, or what is wrong in terms of YAML.
fn mistake_at(text: &str, span: Span, wrong: &str) -> Finding {
    mistake::explain(&lines(text), span.start.line)
        .unwrap_or_else(|| {
            Finding::at(&check::SYNTAX, span, format!("invalid YAML: {wrong}")).help(
                "compare the indentation and the brackets of this line and of those above it with a document that is valid",
            )
        })
}

fn mark(span: ParserSpan) -> Span {
    Span { start: from_marker(span.start), end: from_marker(span.end) }
}

fn from_marker(marker: Marker) -> Position {
    Position::new(marker.line(), marker.col() + 1)
}

fn offset(marker: Marker) -> usize {
    marker.byte_offset().expect("a text has byte offsets")
}
