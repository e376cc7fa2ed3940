//! Finds mistakes that one line shows.

use super::brackets::{bad_escape, reserved, trailing};
use super::{Found, Line, Scanned, closing, found, is_odd, is_white};
use crate::document::parts::is_known_key;
use crate::model::escaped;

/// Finds a mistake that one line shows.
pub(super) fn in_line(lines: &[Line<'_>], at: usize) -> Option<Found> {
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
pub(super) fn foreign(line: &Line<'_>, at: usize) -> Option<Found> {
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

/// Finds a list item without a proper dash.
fn bullet(line: &Line<'_>, at: usize) -> Option<Found> {
    let content = &line.text[line.content..];
    let c = content.chars().next()?;
    let rest = &content[c.len_utf8()..];
    match c {
        '-' if rest.starts_with(|c: char| c.is_alphabetic() || c == '"') && !content.starts_with("--") => {
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

/// Finds what is wrong with the value behind a key.
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
        return Some(Found::new(at, to - 1, to, format!("this `{c}` closes nothing"), help));
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
