//! Explains syntax errors: names the mistake that the author made, at its place, with the text to write instead.
//!
//! A parser reports where it could not go on, which is often a line below the mistake, and in the words of the YAML
//! specification. This module reads the lines up to that place once more as an author writes them: an indentation, a
//! dash, a key, a value. It knows nothing of the parser, and is asked only about files that are invalid.

mod brackets;
mod indentation;
mod line;

use super::check;
use super::diagnostic::lines;
use super::finding::{Finding, Spot};
use super::node::{Position, Span};
use crate::model::escaped;
use brackets::flow;
use indentation::indentation;
use line::{foreign, in_line};

/// What is wrong, where, and how to write it.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) span: Span,
    pub(super) message: String,
    pub(super) help: String,
}

impl Mistake {
    pub(super) fn finding(self) -> Finding {
        Finding::at(&check::SYNTAX, self.span, self.message).help(self.help)
    }
}

/// Returns the mistake that makes a parser stop at the line `stopped` (from 1).
pub(super) fn explain(lines: &[&str], stopped: u32) -> Option<Mistake> {
    let at = (stopped as usize).clamp(1, lines.len().max(1)) - 1;
    let lines: Vec<Line<'_>> = lines.iter().map(|text| Line::of(text)).collect();
    let before = (0..at).rev().find(|line| !lines[*line].is_empty());
    let found = unfinished(&lines, at)
        .err()
        .map(|found| *found)
        .or_else(|| in_line(&lines, at))
        .or_else(|| before.and_then(|before| in_line(&lines, before)))
        .or_else(|| indentation(&lines, at));
    found.map(|found| found.mistake(&lines))
}

/// Names the comments that hide values: `name: #1` has no value.
pub(super) fn name_comments(text: &str, findings: &mut [Finding]) {
    let lines = lines(text);
    for finding in findings.iter_mut().filter(|finding| *finding.check == check::NULL_TEXT) {
        let Spot::Span(span) = finding.spot else { continue };
        let Some(line) = lines.get(span.start.line as usize - 1).map(|text| Line::of(text)) else {
            continue;
        };
        let comment = line.text[line.value..].trim_end();
        if line.colon.is_some() && comment.starts_with('#') {
            let (key, comment) = (escaped(line.key()), escaped(comment));
            finding.message = format!("`{key}` has no value: `{comment}` is a comment");
            finding.help = Some(format!("put it in quotes if it is the value: `{key}: \"{comment}\"`"));
        }
    }
}

/// A mistake at bytes of a line.
struct Found {
    line: usize,
    from: usize,
    to: usize,
    message: String,
    help: String,
}

impl Found {
    fn new(line: usize, from: usize, to: usize, message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { line, from, to, message, help }
    }

    fn mistake(self, lines: &[Line<'_>]) -> Mistake {
        let text = lines[self.line].text;
        // The end may be within a character, and the start never is.
        let end = (self.to.max(self.from)..text.len()).find(|byte| text.is_char_boundary(*byte));
        let position = |byte: usize| Position::new(self.line + 1, text[..byte].chars().count() + 1);
        let span = Span { start: position(self.from), end: position(end.unwrap_or(text.len())) };
        Mistake { span, message: self.message, help: self.help }
    }
}

/// A line as an author writes it. All numbers are bytes.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    indent: usize,
    /// Where the content begins: behind the indentation and the dashes.
    content: usize,
    /// The colon behind the key.
    colon: Option<usize>,
    /// Where the value begins; the end of the text if there is none.
    value: usize,
}

impl<'a> Line<'a> {
    fn of(text: &'a str) -> Self {
        let indent = text.len() - text.trim_start_matches(' ').len();
        let mut content = indent;
        while let Some(rest) = text[content..].strip_prefix("- ") {
            content = text.len() - rest.trim_start_matches(' ').len();
        }
        let colon = colon(&text[content..]).map(|at| content + at);
        let value = colon.map_or(content, |at| at + 1);
        let value = text.len() - text[value..].trim_start_matches(' ').len();
        Self { text, indent, content, colon, value }
    }

    /// Returns whether it has neither a key nor a value.
    fn is_empty(&self) -> bool {
        let content = self.text.trim();
        content.is_empty() || content.starts_with('#')
    }

    fn has_dash(&self) -> bool {
        self.content > self.indent || &self.text[self.indent..] == "-"
    }

    fn key(&self) -> &'a str {
        self.colon.map_or("", |colon| &self.text[self.content..colon])
    }

    /// Returns the value without a comment behind it.
    fn plain_value(&self) -> &'a str {
        let value = &self.text[self.value..];
        let end = if value.starts_with('#') { Some(0) } else { value.find(" #") };
        value[..end.unwrap_or(value.len())].trim_end()
    }

    /// Returns whether the value is the header of a block scalar.
    fn is_block_header(&self) -> bool {
        let value = self.plain_value();
        value.starts_with(['|', '>'])
            && value[1..].chars().all(|c| c.is_ascii_digit() || matches!(c, '+' | '-'))
    }
}

/// Returns the colon behind the key that `content` begins with.
fn colon(content: &str) -> Option<usize> {
    let from = match content.chars().next()? {
        quote @ ('"' | '\'') => closing(content, quote)? + 1,
        '[' | '{' | '#' => return None,
        _ => 0,
    };
    let rest = &content[from..];
    let mut colons = rest.match_indices(':').map(|(at, _)| at);
    let found = colons.find(|at| matches!(rest.as_bytes().get(at + 1), None | Some(b' ' | b'\t')))?;
    let is_key = from == 0 || rest[..found].trim().is_empty();
    (is_key && !rest[..found].contains(" #")).then_some(from + found)
}

/// Returns the end of a text in quotes, which `content` begins with.
fn closing(content: &str, quote: char) -> Option<usize> {
    let mut rest = content.char_indices().skip(1).peekable();
    while let Some((at, c)) = rest.next() {
        match c {
            '\\' if quote == '"' => drop(rest.next()),
            '\'' if quote == '\'' && rest.peek().is_some_and(|(_, next)| *next == '\'') => drop(rest.next()),
            c if c == quote => return Some(at),
            _ => {}
        }
    }
    None
}

/// The next line, or the mistake.
type Scanned<T> = Result<T, Box<Found>>;

fn found<T>(
    line: usize,
    from: usize,
    to: usize,
    message: impl Into<String>,
    help: impl Into<String>,
) -> Scanned<T> {
    Err(Box::new(Found::new(line, from, to, message, help)))
}

/// Finds the first line up to `last` that hides what follows: a quote or a bracket that stays open, or an indentation that
/// is not made of spaces.
fn unfinished(lines: &[Line<'_>], last: usize) -> Scanned<()> {
    let mut at = 0;
    // With the line behind the last one, because a parser looks ahead.
    while at <= (last + 1).min(lines.len() - 1) {
        let line = &lines[at];
        let foreign = (at <= last).then(|| foreign(line, at)).flatten();
        if let Some(found) = invisible(line, at).or(foreign) {
            return Err(Box::new(found));
        }
        let inner = lines[at + 1..].iter().take_while(|inner| inner.is_empty() || inner.indent > line.indent);
        at = match line.text[line.value..].chars().next() {
            _ if line.is_empty() || at > last => at + 1,
            _ if line.is_block_header() => at + 1 + inner.count(),
            Some(quote @ ('"' | '\'')) => quoted(lines, at, quote)?,
            Some('[' | '{') => flow(lines, at)?,
            _ => at + 1,
        };
    }
    Ok(())
}

/// Returns the line behind a value in quotes.
fn quoted(lines: &[Line<'_>], at: usize, quote: char) -> Scanned<usize> {
    let line = &lines[at];
    let value = &line.text[line.value..];
    // What follows a quote that is closed on its line is a mistake of that line alone.
    if closing(value, quote).is_some() {
        return Ok(at + 1);
    }
    for (inner, next) in lines.iter().enumerate().skip(at + 1) {
        let opened = format!("{quote}{}", next.text);
        if let Some(end) = closing(&opened, quote) {
            let rest = next.text[end..].trim_start();
            if rest.is_empty() || rest.starts_with('#') {
                return Ok(inner + 1);
            }
            break;
        }
    }
    let text = line.plain_value().trim_start_matches(quote).trim_end_matches(['"', '\'', ',']);
    let (from, help) = (line.value, format!("write the quote at its end: `{quote}{}{quote}`", escaped(text)));
    found(at, from, line.text.len(), format!("this `{quote}` is not closed"), help)
}

/// Returns an indentation, or the space behind a dash, that is not made of spaces.
fn invisible(line: &Line<'_>, at: usize) -> Option<Found> {
    let behind = line.text[line.indent..].strip_prefix('-').is_some_and(|rest| rest.starts_with(is_odd));
    let from = if behind { line.indent + 1 } else { line.content };
    let c = line.text[from..].chars().next().filter(|c| is_odd(*c))?;
    if line.text[from..].trim_matches(is_white).is_empty() {
        return None;
    }
    let odd = line.text[from..].trim_start_matches(is_white);
    let to = line.text.len() - odd.len();
    let message = match c {
        '\t' if behind => "a tab follows the dash".to_owned(),
        '\t' => "a tab is not indentation in YAML".to_owned(),
        c => format!("the invisible character U+{:04X} is not a space", u32::from(c)),
    };
    Some(Found::new(at, from, to, message, "write spaces instead, as in the lines around it"))
}

/// Returns whether a character looks like a space and is none.
fn is_odd(c: char) -> bool {
    c != ' ' && is_white(c)
}

fn is_white(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{200b}' | '\u{2060}' | '\u{feff}' | '\u{ad}')
}
