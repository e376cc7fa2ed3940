//! Parses YAML with positions, and guards the fast parser.
//!
//! The fast parser (serde_yaml) takes seconds for deep flow collections and gigabytes for aliases. It gets a file only
//! if a scan of the bytes or of the events rules both out. Nothing here recurses.

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, ScanError, Span as ParserSpan, Tag};

use super::check;
use super::finding::{Finding, LoadedFile, add};
use super::node::{Node, NodeKind, Position, Span, Style};

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
            // The two parsers may differ on NUL and on the line breaks of YAML 1.1 (U+0085, U+2028, U+2029).
            0 => return false,
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
    let mut builder = Builder::default();
    let root = match yaml_1_1_line_break(text) {
        Some(finding) => Err(Box::new(finding)),
        None => builder.run(text),
    };
    let mut findings = builder.findings;
    let root = root.unwrap_or_else(|finding| {
        findings.push(*finding);
        None
    });
    LoadedFile { root, findings }
}

/// Returns an error at a line break of YAML 1.1 that is not one in YAML 1.2.
fn yaml_1_1_line_break(text: &str) -> Option<Finding> {
    // The fast parser implements YAML 1.1, so it would end the line there.
    let (at, character) = text
        .char_indices()
        .find(|(_, c)| matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}'))?;
    let before = &text[..at];
    let line = before.split('\n').count();
    let column = before.rsplit('\n').next().map_or(0, |line| line.chars().count());
    let start = position(line, column);
    let end = position(line, column + 1);
    let code = u32::from(character);
    Some(
        Finding::at(
            &check::SYNTAX,
            Span { start, end },
            format!("the invisible line break U+{code:04X} is not allowed unescaped"),
        )
        .help(format!(
            "write it as `\\u{code:04x}` in double quotes, or remove it"
        )),
    )
}

/// A collection that is not closed yet.
enum Open {
    Mapping(Position, Vec<(Node, Node)>, Option<Node>),
    Sequence(Position, Vec<Node>),
}

#[derive(Default)]
struct Builder {
    findings: Vec<Finding>,
    open: Vec<Open>,
    root: Option<Node>,
}

impl Builder {
    fn run(&mut self, text: &str) -> Result<Option<Node>, Box<Finding>> {
        let mut documents = 0;
        let mut parser = Parser::new_from_str(text);
        while let Some(event) = parser.next_event() {
            let (event, span) = event.map_err(|error| Box::new(syntax(&error)))?;
            if matches!(event, Event::DocumentStart(_)) {
                documents += 1;
            }
            if documents > 1 {
                return Err(Box::new(second_document(mark(span))));
            }
            self.event(event, mark(span))?;
        }
        Ok(self.root.take())
    }

    fn event(&mut self, event: Event<'_>, span: Span) -> Result<(), Box<Finding>> {
        match event {
            Event::Alias(_) => {
                // Parsing continues, because one run reports all findings (DESIGN, section 2).
                add(&mut self.findings, anchor(span, "an alias (`*`)"));
                self.value(Node {
                    span,
                    kind: NodeKind::Refused,
                });
            }
            Event::Scalar(text, style, anchor, tag) => {
                self.refuse_properties(anchor, tag.as_deref(), span);
                let style = match style {
                    ScalarStyle::Plain => Style::Plain,
                    _ => Style::Quoted,
                };
                self.value(Node {
                    span,
                    kind: NodeKind::Scalar(text.into_owned(), style),
                });
            }
            Event::SequenceStart(anchor, tag) => {
                self.refuse_properties(anchor, tag.as_deref(), span);
                self.open(Open::Sequence(span.start, Vec::new()), span)?;
            }
            Event::MappingStart(anchor, tag) => {
                self.refuse_properties(anchor, tag.as_deref(), span);
                self.open(Open::Mapping(span.start, Vec::new(), None), span)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(span.end),
            Event::Nothing
            | Event::StreamStart
            | Event::StreamEnd
            | Event::DocumentStart(_)
            | Event::DocumentEnd => {}
        }
        Ok(())
    }

    fn refuse_properties(&mut self, anchor_id: usize, tag: Option<&Tag>, span: Span) {
        // saphyr-parser numbers anchors from 1; 0 means none.
        if anchor_id != 0 {
            add(&mut self.findings, anchor(span, "an anchor (`&`)"));
        }
        if tag.is_some() {
            add(
                &mut self.findings,
                Finding::at(&check::YAML_TAG, span, "a tag (`!`) is not allowed")
                    .help("remove the tag; quote a value that begins with `!`"),
            );
        }
    }

    fn open(&mut self, open: Open, span: Span) -> Result<(), Box<Finding>> {
        // This error ends the parse, because the rest may be nested without a limit.
        if self.open.len() == DEEPEST {
            return Err(Box::new(too_deep(span)));
        }
        self.open.push(open);
        Ok(())
    }

    fn close(&mut self, end: Position) {
        let node = match self.open.pop() {
            Some(Open::Mapping(start, entries, _)) => Node {
                span: Span { start, end },
                kind: NodeKind::Mapping(entries),
            },
            Some(Open::Sequence(start, items)) => Node {
                span: Span { start, end },
                kind: NodeKind::Sequence(items),
            },
            None => return,
        };
        self.value(node);
    }

    fn value(&mut self, node: Node) {
        match self.open.last_mut() {
            Some(Open::Mapping(_, entries, key)) => match key.take() {
                Some(key) => entries.push((key, node)),
                None => *key = Some(node),
            },
            Some(Open::Sequence(_, items)) => items.push(node),
            None => self.root = Some(node),
        }
    }
}

fn anchor(span: Span, what: &str) -> Finding {
    Finding::at(&check::YAML_ANCHOR, span, format!("{what} is not allowed"))
        .help("write the content out where it is used, so that a reviewer sees it; quote a value that begins with `&` or `*`")
}

pub(super) fn too_deep(span: Span) -> Finding {
    Finding::at(
        &check::TOO_DEEP,
        span,
        format!("nested deeper than {DEEPEST} levels"),
    )
    .help("a document needs no more than 8")
}

fn second_document(span: Span) -> Finding {
    Finding::at(
        &check::SEVERAL_DOCUMENTS,
        span,
        "a second YAML document begins here",
    )
    .help("move it to a separate file: one file is one toggle")
}

fn syntax(error: &ScanError) -> Finding {
    let start = from_marker(*error.marker());
    let info = super::finding::shown(error.info());
    // saphyr-parser has a limit for flow collections, which is the same finding to an author.
    if info.contains("recursion limit") {
        return too_deep(Span { start, end: start });
    }
    Finding::at(
        &check::SYNTAX,
        Span { start, end: start },
        format!("invalid YAML: {info}"),
    )
}

fn mark(span: ParserSpan) -> Span {
    Span {
        start: from_marker(span.start),
        end: from_marker(span.end),
    }
}

fn from_marker(marker: Marker) -> Position {
    position(marker.line(), marker.col())
}

fn position(line: usize, column_from_zero: usize) -> Position {
    Position {
        line: u32::try_from(line).unwrap_or(u32::MAX),
        column: u32::try_from(column_from_zero + 1).unwrap_or(u32::MAX),
    }
}
