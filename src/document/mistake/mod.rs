//! Explains syntax errors: names the mistake that the author made, at its place, with the text to write
//! instead.
//!
//! A parser reports where it could not go on, which is often a line below the mistake, and in the words of
//! the YAML specification. This module reads the lines up to that place once more as an author writes them:
//! an indentation, a dash, a key, a value. It knows nothing of the parser, and is asked only about files that
//! are invalid.

mod brackets;

use super::check;
use super::finding::lines;
use super::finding::{Finding, Spot};
use super::keys::{are_siblings, is_known_key};
use super::meant;
use super::node::{Position, Span};
use crate::model::escaped;
use brackets::{bad_escape, flow, reserved, trailing};

/// Returns the mistake that makes a parser stop at the line `stopped` (from 1).
pub(super) fn explain(lines: &[&str], stopped: u32) -> Option<Finding> {
    let at = (stopped as usize).clamp(1, lines.len().max(1)) - 1;
    let lines: Vec<Line<'_>> = lines.iter().map(|text| Line::of(text)).collect();
    let before = (0..at).rev().find(|line| !lines[*line].is_empty());
    let found = std::iter::once(at)
        .chain(before)
        .find_map(|line| denied(&lines, line))
        .or_else(|| unfinished(&lines, at).err().map(|found| *found))
        .or_else(|| before.and_then(|before| keyless(&lines, before, at)))
        .or_else(|| in_line(&lines, at))
        .or_else(|| before.and_then(|before| in_line(&lines, before)))
        .or_else(|| indentation(&lines, at));
    found.map(|found| found.finding(&lines))
}

/// The message on a key with a sign that denies it.
pub(super) const DENIED: &str = "a key has no `!` before it";

/// Returns the help on a key with a sign that denies it, which YAML reads as a tag: `!disabled: true`.
pub(super) fn undenied(key: &str, value: &str) -> String {
    let disabled = match (key, value) {
        ("disabled", "false") | ("enabled", "true") => true,
        ("disabled", "true") | ("enabled", "false") => false,
        _ => {
            return "do not just remove the `!`: if it denies what follows, write a value that says the opposite".to_owned();
        }
    };
    format!("write `disabled: {disabled}`, which says the opposite without a sign")
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

/// Returns the key of a line with a sign that denies it.
fn denied(lines: &[Line<'_>], at: usize) -> Option<Found> {
    let line = lines[at];
    let key = line.key().strip_prefix('!').filter(|key| is_known_key(key))?;
    let end = line.content + line.key().len();
    Some(Found::new(at, line.content, end, DENIED, undenied(key, line.plain_value())))
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

    fn finding(self, lines: &[Line<'_>]) -> Finding {
        let text = lines[self.line].text;
        // The end may be within a character, and the start never is.
        let end = (self.to.max(self.from)..text.len()).find(|byte| text.is_char_boundary(*byte));
        let position = |byte: usize| Position::new(self.line + 1, text[..byte].chars().count() + 1);
        let span = Span { start: position(self.from), end: position(end.unwrap_or(text.len())) };
        Finding::at(&check::SYNTAX, span, self.message).help(self.help)
    }
}

/// A line as an author writes it. All numbers are bytes.
#[derive(Clone, Copy)]
struct Line<'a> {
    text: &'a str,
    indent: usize,
    /// Where the content begins: after the indentation and the dashes.
    content: usize,
    /// The colon after the key.
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

    /// Returns the value without a comment after it.
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

/// Returns the colon after the key that `content` begins with.
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

/// Finds the first line up to `last` that hides what follows: a quote or a bracket that stays open, or an
/// indentation that is not made of spaces.
fn unfinished(lines: &[Line<'_>], last: usize) -> Scanned<()> {
    let mut at = 0;
    // With the line after the last one, because a parser looks ahead.
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

/// Returns the line after a value in quotes.
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

/// Returns an indentation, or the space after a dash, that is not made of spaces.
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

/// Finds a mistake that one line shows.
fn in_line(lines: &[Line<'_>], at: usize) -> Option<Found> {
    let line = &lines[at];
    if line.is_empty() {
        return None;
    }
    bullet(line, at).or_else(|| match line.colon {
        Some(_) => value(line, at),
        None => no_colon(lines, at),
    })
}

/// Finds text of another language.
fn foreign(line: &Line<'_>, at: usize) -> Option<Found> {
    let content = line.text.trim_start();
    let found = |message: &str, help: &str| {
        Some(Found::new(at, line.text.len() - content.len(), line.text.trim_end().len(), message, help))
    };
    if content.starts_with("```") {
        return found("a Markdown fence is not YAML", "remove this line");
    }
    if content.starts_with("{%") || content.starts_with("{{") {
        return found("a template is not YAML", "render the template, and commit the result");
    }
    if content.starts_with("//")
        || content.starts_with("/*")
        || content.starts_with("--") && !content.starts_with("---")
    {
        return found("this is not a comment in YAML", "begin comments with `# `, or remove it");
    }
    if content.starts_with('%') {
        return found(
            "a directive (`%`) has no place in a document",
            "remove this line, or put a value that begins with `%` in quotes",
        );
    }
    let (from, c) = line.text.char_indices().find(|(_, c)| c.is_control() && *c != '\t' && *c != '\r')?;
    let message = format!("the control character U+{:04X} is not allowed", u32::from(c));
    let help = format!("remove it, or write it as `\\u{:04x}` in double quotes", u32::from(c));
    Some(Found::new(at, from, from + c.len_utf8(), message, help))
}

/// Finds a list item whose first value has no key, although keys follow: a name.
fn keyless(lines: &[Line<'_>], before: usize, at: usize) -> Option<Found> {
    let (line, next) = (&lines[before], &lines[at]);
    let content = line.text[line.content..].trim_end();
    let is_text = content.starts_with(|c: char| c.is_alphanumeric() || c == '"') && line.colon.is_none();
    let is_named =
        matches!(next.key(), "conditions" | "serve" | "value" | "description" | "given" | "serves");
    (line.has_dash() && is_text && is_named && next.indent >= line.content).then(|| {
        let (message, help) = match meant::without_blank(content, is_known_key) {
            Some((_, help)) => ("no space follows the colon", help),
            None => ("keys follow this text, which has none", format!("write `name: {}`", escaped(content))),
        };
        Found::new(before, line.content, line.content + content.len(), message, help)
    })
}

/// Finds a list item without a proper dash.
fn bullet(line: &Line<'_>, at: usize) -> Option<Found> {
    let content = &line.text[line.content..];
    let c = content.chars().next()?;
    let rest = &content[c.len_utf8()..];
    match c {
        '-' if rest.starts_with(|c: char| c.is_alphabetic() || matches!(c, '"' | '\'' | '{' | '['))
            && !content.starts_with("--") =>
        {
            let help = format!("write `- {}`", escaped(rest.trim_end()));
            Some(Found::new(at, line.content, line.content + 1, "no space follows the dash", help))
        }
        '*' | '+' | '•' | '·' | '‣' | '–' | '—' | '−' if rest.starts_with(' ') => {
            let message = format!("a list item begins with `-`, not `{c}`");
            let help = match rest.trim_start().starts_with("- ") {
                // The lines of a diff were pasted.
                true => format!("remove the `{c}`"),
                false => format!("write `- {}`", escaped(rest.trim())),
            };
            Some(Found::new(at, line.content, line.content + c.len_utf8(), message, help))
        }
        _ => None,
    }
}

/// Finds what is wrong with the value after a key.
fn value(line: &Line<'_>, at: usize) -> Option<Found> {
    let value = line.plain_value();
    let c = value.chars().next()?;
    let to = line.value + value.len();
    if let '"' | '\'' = c {
        let end = line.value + closing(value, c)? + 1;
        return bad_escape(line.text, at, line.value, end)
            .and_then(|()| after_quote(line, at, c, end))
            .err()
            .map(|found| *found);
    }
    if line.is_block_header() {
        return None;
    }
    if let Some(found) = reserved(value, at, line.value) {
        return Some(found);
    }
    if let Some(c) = value
        .chars()
        .last()
        .filter(|c| matches!(c, ']' | '}') && !matches!(value.chars().next(), Some('[' | '{')))
    {
        let open = if c == ']' { '[' } else { '{' };
        let help = format!("write `{open}` before the value, or remove the `{c}`");
        return Some(Found::new(at, to - 1, to, format!("unmatched `{c}`"), help));
    }
    let key = line.key();
    let quoted = |text: &str| format!("`{}: \"{}\"`", escaped(key), escaped(&text.replace('"', "\\\"")));
    let more = value.find(": ").or_else(|| value.ends_with(':').then(|| value.len() - 1));
    if let Some(more) = more.filter(|_| !matches!(c, '[' | '{')) {
        let help = match value.trim_end_matches(':') {
            word if word.len() < value.len() => {
                format!("remove it, or put the value in quotes: {}", quoted(value))
            }
            _ => format!("put the value in quotes: {}", quoted(value)),
        };
        let from = line.value + more;
        return Some(Found::new(at, from, from + 1, "a value cannot contain a second `: `", help));
    }
    None
}

/// Checks what follows a text in quotes.
fn after_quote(line: &Line<'_>, at: usize, quote: char, end: usize) -> Scanned<()> {
    let rest = line.plain_value().get(end - line.value..).unwrap_or_default();
    if !rest.contains(quote) {
        return trailing(line, at, end);
    }
    let to = line.value + line.plain_value().len();
    match quote {
        '"' => {
            let help = "write `\\\"` for a quote in the text, or put the text in single quotes";
            found(at, end - 1, to, "this `\"` ends the text", help)
        }
        _ => {
            let help = "write `''` for an apostrophe in the text, or put the text in double quotes";
            found(at, end - 1, to, "this `'` ends the text", help)
        }
    }
}

/// Finds out why a line has no key.
fn no_colon(lines: &[Line<'_>], at: usize) -> Option<Found> {
    let line = &lines[at];
    let content = line.text[line.content..].trim_end();
    let to = line.content + content.len();
    let is_other = content.starts_with(['"', '\'']) || !line.has_dash();
    if let Some(found) = reserved(content, at, line.content).filter(|_| !is_other) {
        return Some(found);
    }
    let word = content.find(|c: char| !(c.is_alphanumeric() || c == '"')).unwrap_or(content.len());
    let (word, rest) = content.split_at(word);
    let key = word.trim_matches('"');
    let from = line.content + word.len();
    if is_known_key(key) {
        let c = rest.trim_start().chars().next();
        let value = rest.trim_start_matches(|c: char| is_white(c) || matches!(c, ':' | '=' | ';' | '：'));
        let help = format!("write `{}`", escaped(format!("{word}: {value}").trim_end()));
        let message = match c {
            None => format!("the key `{key}` has no colon"),
            Some(':') if rest[1..].starts_with(is_odd) => {
                let odd = rest[1..].chars().next().map_or(0, u32::from);
                format!("the invisible character U+{odd:04X} is not a space")
            }
            Some(':') => "no space follows the colon".to_owned(),
            Some(c @ ('=' | ';' | '：')) => format!("a key is followed by `:`, not by `{c}`"),
            Some(_) => format!("the key `{key}` has no colon"),
        };
        let skipped = rest.len() - rest.trim_start().len();
        let end = c.map_or(from, |c| {
            if matches!(c, ':' | '=' | ';' | '：') { from + skipped + c.len_utf8() } else { from }
        });
        let start = if end > from { from + skipped } else { line.content };
        return Some(Found::new(at, start, end, message, help));
    }
    let above = lines[..at].iter().rposition(|line| !line.is_empty())?;
    let above = &lines[above];
    if !line.has_dash()
        && above.colon.is_some()
        && line.indent <= above.content
        && above.value < above.text.len()
    {
        let message = format!("this text is not indented as a part of `{}`", escaped(above.key()));
        let spaces = above.content + 2;
        let help = format!("indent it by {spaces} spaces, or write the value in one line");
        return Some(Found::new(at, line.content, to, message, help));
    }
    None
}

/// An indentation that lines above have.
#[derive(Clone, Copy)]
struct Column {
    at: usize,
    is_item: bool,
    line: usize,
}

/// Explains why no line above has the indentation of this one.
fn indentation(lines: &[Line<'_>], at: usize) -> Option<Found> {
    let line = &lines[at];
    let open = columns(&lines[..at]);
    let first = lines.iter().position(|line| !line.is_empty())?;
    if lines[first].indent > line.indent {
        let spaces = lines[first].indent;
        let message = "the first line is indented, and a later one is not";
        return Some(Found::new(first, 0, spaces, message, "remove the spaces before it"));
    }
    let inner = open
        .iter()
        .filter(|column| column.at <= line.indent)
        .max_by_key(|column| (column.at, !column.is_item))?;
    let above = &lines[inner.line];
    if line.indent > inner.at && !inner.is_item && !above.plain_value().is_empty() && above.colon.is_some() {
        return Some(too_deep(lines, at, inner));
    }
    if inner.at == 0 && inner.is_item && line.indent == 0 && !line.has_dash() {
        let message = "a document has keys at its top, not a list";
        return Some(Found::new(first, 0, 1, message, "remove the dash"));
    }
    let beside = sibling(lines, at).filter(|beside| beside.content != line.indent && !line.has_dash());
    let (message, help) = match inner.at == line.indent {
        true => at_column(line, above, inner.is_item, beside)?,
        false => {
            let nearest = match beside {
                Some(beside) => beside.content,
                None => {
                    open_columns(lines, at).into_iter().min_by_key(|column| column.abs_diff(line.indent))?
                }
            };
            let message = format!("no line above is indented by {} spaces", line.indent);
            (message, format!("indent it by {nearest} spaces"))
        }
    };
    Some(Found::new(at, line.indent, line.text.trim_end().len(), message, help))
}

/// Returns the finding and the help on a line that begins in the column of the line `above`, which is an item of a list or
/// not. `beside` has a key that belongs into the same mapping.
fn at_column(
    line: &Line<'_>,
    above: &Line<'_>,
    is_item: bool,
    beside: Option<&Line<'_>>,
) -> Option<(String, String)> {
    let beside = beside.filter(|beside| (is_item || above.colon.is_none()) && beside.content < line.indent);
    if let Some(beside) = beside {
        let (name, other, spaces) = (escaped(line.key()), escaped(beside.key()), beside.content);
        let message = format!("`{name}` is not indented like `{other}`, which belongs to the same part");
        return Some((message, format!("indent it by {spaces} spaces")));
    }
    match (is_item, line.has_dash()) {
        (true, false) => Some((
            "the next item of the list begins here, and it has no dash".to_owned(),
            format!(
                "indent the line by {} spaces like the keys above, or write `- ` before it",
                above.content
            ),
        )),
        (false, true) => Some(beside_item(line, above)),
        _ => None,
    }
}

/// Returns the finding and the help on an item of a list in the column of a line that is none of the same list.
fn beside_item(line: &Line<'_>, above: &Line<'_>) -> (String, String) {
    let spaces = above.indent;
    match (above.colon.is_none(), above.has_dash()) {
        (true, true) => (
            format!("the item above is indented by {spaces} spaces, and this one by {}", line.indent),
            format!("indent it by {spaces} spaces"),
        ),
        (true, false) => {
            let text = escaped(above.text.trim()).to_string();
            (
                format!("a list item cannot be beside the text `{text}`"),
                format!("remove `{text}`, or write `- ` before it"),
            )
        }
        (false, _) => {
            let name = escaped(above.key());
            (
                format!("a list item cannot be beside the key `{name}`"),
                format!("write either keys or `- ` items at this indentation: check `{name}` and this line"),
            )
        }
    }
}

/// Returns the nearest line above with a key that belongs into the same mapping as that of the line `at`.
fn sibling<'a, 'l>(lines: &'l [Line<'a>], at: usize) -> Option<&'l Line<'a>> {
    lines[..at].iter().rev().find(|above| are_siblings(above.key(), lines[at].key()))
}

/// Returns the mistake of a line that is indented by more than a key that has a value.
fn too_deep(lines: &[Line<'_>], at: usize, inner: &Column) -> Found {
    let (line, above) = (&lines[at], &lines[inner.line]);
    let name = escaped(above.key());
    let mut before = lines[..inner.line].iter().rev().filter(|line| !line.is_empty());
    let is_last = lines[inner.line + 1..at].iter().all(Line::is_empty);
    if is_last && before.any(|before| before.content == line.indent) {
        let message = format!("`{name}` is not indented like the lines around it");
        let help = format!("indent it by {} spaces", line.indent);
        return Found::new(inner.line, above.indent, above.text.trim_end().len(), message, help);
    }
    let message = format!("nothing can be indented below `{name}`, which has a value");
    let help = format!("indent this line by {} spaces, or remove that value", inner.at);
    Found::new(at, line.indent, line.text.trim_end().len(), message, help)
}

/// Returns the columns at which the next line may begin.
fn columns(lines: &[Line<'_>]) -> Vec<Column> {
    let mut open: Vec<Column> = Vec::new();
    for (number, above) in lines.iter().enumerate().filter(|(_, line)| !line.is_empty()) {
        open.retain(|column| column.at <= above.indent);
        let mut add = |at, is_item| {
            if !open.iter().any(|column: &Column| column.at == at && column.is_item == is_item) {
                open.push(Column { at, is_item, line: number });
            } else if let Some(column) =
                open.iter_mut().find(|column| column.at == at && column.is_item == is_item)
            {
                column.line = number;
            }
        };
        if above.has_dash() {
            add(above.indent, true);
        }
        add(above.content, false);
    }
    open
}

/// Returns the indentations of the lines directly above that have the same kind, keys or items.
fn open_columns(lines: &[Line<'_>], at: usize) -> Vec<usize> {
    let above = lines[..at].iter().rev().filter(|line| !line.is_empty()).take(8);
    let column = |above: &Line<'_>| match lines[at].has_dash() {
        true => above.has_dash().then_some(above.indent),
        false => Some(above.content),
    };
    above.filter_map(column).collect()
}
