//! Parses YAML into events with positions.
//!
//! The parser follows YAML 1.2 more strictly than the fast parser (serde_yaml). A text that only the fast parser accepts
//! is parsed again with spaces instead of what the stricter parser refuses, at the same offsets.

use std::borrow::Cow;
use std::ops::ControlFlow;

use granit_parser::{ErrorKind, Event, Options, Parser, ScanError, Span, options};

/// The maximum number of bytes that are parsed again.
const MOST_REPEATED: usize = 4 * 1024 * 1024;

/// The result of parsing a text.
pub(super) struct Parsed<S> {
    pub(super) state: S,
    /// Why the text is not YAML.
    pub(super) error: Option<ScanError>,
    /// Why the text is not YAML 1.2, if the fast parser may accept it.
    pub(super) refused: Option<ScanError>,
}

/// Passes the events of `text` to `next` until it breaks. `start` returns the state before the first event.
///
/// All spans are those of `text`. `start` may be called several times; only the last state is returned.
pub(super) fn parse<S>(
    text: &str,
    start: impl Fn() -> S,
    next: impl Fn(&mut S, Event<'_>, Span) -> ControlFlow<()>,
) -> Parsed<S> {
    let mut text = Cow::Borrowed(text);
    let mut repetitions = MOST_REPEATED / text.len().max(1);
    let mut first: Option<(S, ScanError)> = None;
    loop {
        let mut state = start();
        let Err(error) = pass(&text, &mut state, &next) else {
            return Parsed { state, error: None, refused: first.map(|(_, error)| error) };
        };
        let spaced = (repetitions > 0).then(|| spaced(&text, &error)).flatten();
        let (state, error) = first.unwrap_or((state, error));
        let Some(spaced) = spaced else {
            return Parsed { state, error: Some(error), refused: None };
        };
        first = Some((state, error));
        text = Cow::Owned(spaced);
        repetitions -= 1;
    }
}

fn pass<S>(
    text: &str,
    state: &mut S,
    next: impl Fn(&mut S, Event<'_>, Span) -> ControlFlow<()>,
) -> Result<(), ScanError> {
    for event in Parser::new_from_str_with_options(text, options()) {
        let (event, span) = event?;
        if next(state, event, span).is_break() {
            break;
        }
    }
    Ok(())
}

/// Returns the options with which the parser reads scalars as the fast parser does.
fn options() -> Options {
    options! {
        block_scalar_eof_without_line_feed: true,
        bom_inside_document_as_content: true,
        emit_anchor_events: true,
        emit_unresolved_aliases: true,
    }
}

/// Returns `text` with spaces instead of what caused `error`, if the fast parser accepts it.
fn spaced(text: &str, error: &ScanError) -> Option<String> {
    let at = error.marker().byte_offset()?;
    let (start, end) = match error.kind() {
        // A comment directly behind a bracket, a comma or a quote.
        ErrorKind::CommentNotSeparated => {
            let length = text.get(at..)?.find(['\n', '\r']);
            (at, length.map_or(text.len(), |length| at + length))
        }
        // A tab before the first token of a line in a flow collection.
        ErrorKind::TabInBlockIndentation => {
            let before = text.get(..at)?;
            let indentation = before.trim_end_matches([' ', '\t']).len();
            before[indentation..].contains('\t').then_some((indentation, at))?
        }
        _ => return None,
    };
    let spaces = " ".repeat(end - start);
    Some([&text[..start], &spaces, &text[end..]].concat())
}
