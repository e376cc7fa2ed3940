//! Parses YAML with positions, and guards the fast parser.
//!
//! The fast parser (serde_yaml) takes seconds for deep flow collections and gigabytes for aliases. It gets a file only
//! if a scan of the bytes or of the events rules both out. Nothing here recurses.

use std::ops::ControlFlow;

use granit_parser::{ErrorKind, Event, Marker, ScalarStyle, ScanError, Span as ParserSpan};

use super::diagnostic::lines;
use super::finding::{Finding, LoadedFile, add};
use super::mistake::{self, Mistake};
use super::node::{Node, NodeKind, Position, Span, Style};
use super::{check, events};

/// The maximum nesting depth.
pub(super) const DEEPEST: usize = 32;

/// Returns whether the bytes alone show that the fast parser is safe with `text`. May return false for safe text.
pub(super) fn is_harmless(text: &str) -> bool {
    // libyaml is quadratic in flow depth: 512 levels take about a millisecond, 100,000 take minutes.
    const MOST_BRACKETS: usize = 512;
    // The same applies to `- - - -` and `? ? ? ?`, which nest without brackets.
    const MOST_DASHES: usize = 64;
    // Quotes and comments are ignored on purpose: recognizing them wrongly would let a bracket pass.
    let (mut brackets, mut dashes, mut before) = (0, 0, b'\n');
    for byte in text.bytes() {
        let at_start =
            !before.is_ascii_graphic() || matches!(before, b'[' | b'{' | b',' | b':' | b'-' | b'?');
        match byte {
            b'&' | b'*' | b'!' | b'%' if at_start => return false,
            b'[' | b'{' => brackets += 1,
            b'-' | b'?' if at_start => dashes += 1,
            b'\n' => dashes = 0,
            // The two parsers may differ on NUL, on the line breaks of YAML 1.1 (U+0085, U+2028, U+2029), and on a byte
            // order mark (EF BB BF) at the start of a line.
            0 => return false,
            0xef if matches!(before, b'\n' | b'\r') => return false,
            0x85 if before == 0xc2 => return false,
            0xa8 | 0xa9 if before == 0x80 => return false,
            _ => {}
        }
        if brackets > MOST_BRACKETS || dashes > MOST_DASHES {
            return false;
        }
        before = byte;
    }
    true
}

/// Returns whether all integers in `text` are integers of the core schema of YAML 1.2, which has neither `0b1` nor
/// `+0x1`. May return false for such text.
pub(super) fn has_core_integers(text: &str) -> bool {
    !["0b", "+0x", "+0o"].iter().any(|prefix| text.contains(prefix))
}

/// Parses `text`. Rejects anchors, aliases, tags, merge keys, deep nesting and a second document.
pub(super) fn load(text: &str) -> LoadedFile {
    if let Some(finding) = invisible(text) {
        return LoadedFile { findings: vec![finding], ..LoadedFile::default() };
    }
    let parsed = events::parse(text, Builder::default, Builder::event);
    let Builder { mut findings, root, fatal, .. } = parsed.state;
    let fatal = parsed.error.as_ref().map(|error| unreadable(text, error)).or(fatal);
    let root = root.filter(|_| fatal.is_none());
    findings.extend(fatal);
    LoadedFile { root, findings, refused: parsed.refused.as_ref().map(|error| unreadable(text, error)) }
}

/// Returns an error at a line break of YAML 1.1 that is not one in YAML 1.2, or at a byte order mark that begins a line.
fn invisible(text: &str) -> Option<Finding> {
    // The fast parser implements YAML 1.1, so it would end the line there, and count the mark as indentation.
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
    Some(
        Finding::at(
            &check::SYNTAX,
            Span { start, end },
            format!("the invisible {what} U+{code:04X} is not allowed unescaped"),
        )
        .help(format!("write it as `\\u{code:04x}` in double quotes, or remove it")),
    )
}

/// A collection that is not closed yet.
struct Open {
    node: Node,
    /// The key whose value is next.
    key: Option<Node>,
}

#[derive(Default)]
struct Builder {
    findings: Vec<Finding>,
    open: Vec<Open>,
    root: Option<Node>,
    documents: usize,
    /// The error that ended the parse.
    fatal: Option<Finding>,
}

impl Builder {
    fn event(&mut self, event: Event<'_>, span: ParserSpan) -> ControlFlow<()> {
        let at = mark(span);
        match event {
            Event::DocumentStart(..) => {
                self.documents += 1;
                if self.documents > 1 {
                    return self.stop(second_document(at));
                }
            }
            Event::Alias(_) | Event::UnresolvedAlias(_) => {
                // Parsing continues, because one run reports all findings (DESIGN, section 2).
                add(&mut self.findings, anchor(at, "an alias (`*`)"));
                self.value(Node { span: at, kind: NodeKind::Refused });
            }
            Event::Anchor(..) => add(&mut self.findings, anchor(at, "an anchor (`&`)")),
            Event::Scalar(text, style, _, _) => {
                self.refuse_tag(span);
                let (text, style) = match style {
                    // The parser writes an absent value as `~`.
                    ScalarStyle::Plain if at.is_empty() => (String::new(), Style::Plain),
                    ScalarStyle::Plain => (text.into_owned(), Style::Plain),
                    _ => (text.into_owned(), Style::Quoted),
                };
                // An empty block scalar would be shown at the next line.
                let key = self.open.last().and_then(|open| open.key.as_ref());
                let span = match (text.as_str(), style, key) {
                    ("", Style::Quoted, Some(key)) if key.span.end.line < at.start.line => key.span,
                    _ => at,
                };
                self.value(Node { span, kind: NodeKind::Scalar(text, style) });
            }
            Event::SequenceStart(..) => {
                self.refuse_tag(span);
                return self.open(NodeKind::Sequence(Vec::new()), at);
            }
            Event::MappingStart(..) => {
                self.refuse_tag(span);
                return self.open(NodeKind::Mapping(Vec::new()), at);
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(at.end),
            _ => {}
        }
        ControlFlow::Continue(())
    }

    fn refuse_tag(&mut self, span: ParserSpan) {
        if let Some(tag) = span.tag_span() {
            add(
                &mut self.findings,
                Finding::at(&check::YAML_TAG, mark(tag), "a tag (`!`) is not allowed")
                    .help("remove the tag; quote a value that begins with `!`"),
            );
        }
    }

    fn stop(&mut self, finding: Finding) -> ControlFlow<()> {
        self.fatal = Some(finding);
        ControlFlow::Break(())
    }

    fn open(&mut self, kind: NodeKind, span: Span) -> ControlFlow<()> {
        // This error ends the parse, because the rest may be nested without a limit.
        if self.open.len() == DEEPEST {
            return self.stop(too_deep(span));
        }
        let node = Node { span, kind };
        self.open.push(Open { node, key: None });
        ControlFlow::Continue(())
    }

    fn close(&mut self, end: Position) {
        if let Some(Open { mut node, .. }) = self.open.pop() {
            node.span.end = end;
            self.value(node);
        }
    }

    fn value(&mut self, node: Node) {
        let Some(parent) = self.open.last_mut() else {
            self.root = Some(node);
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
    // The parser has a limit of its own, which is the same finding to an author.
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(span),
        kind => mistake::explain(&lines(text), span.start.line).map_or_else(
            || Finding::at(&check::SYNTAX, span, format!("invalid YAML: {kind}")),
            Mistake::finding,
        ),
    }
}

fn mark(span: ParserSpan) -> Span {
    Span { start: from_marker(span.start), end: from_marker(span.end) }
}

fn from_marker(marker: Marker) -> Position {
    Position::new(marker.line(), marker.col() + 1)
}
