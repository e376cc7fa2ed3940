//! Reads values in brackets as an author writes them.

use super::super::dialects;
use super::super::keys::is_known_key;
use super::super::node::quoted;
use super::{Found, Line, Scanned, closing, found};
use crate::model::escaped;

/// The last token inside of brackets.
#[derive(Clone, Copy, Eq, PartialEq)]
enum Token {
    Colon,
    Comma,
    Open,
    Value,
}

/// A value in brackets.
struct Flow<'a> {
    lines: &'a [Line<'a>],
    line: usize,
    byte: usize,
    /// The open brackets with their places, and whether the entry has a colon.
    open: Vec<(char, usize, usize, bool)>,
    last: Token,
    /// The line, the beginning and the end of the last value without quotes.
    plain: (usize, usize, usize),
    /// The line and the beginning of the last value without quotes or in brackets, if it is the last token.
    start: Option<(usize, usize)>,
    /// The line and the bytes of the first text that a comment cuts, with the closing brackets that it hides.
    cut: Option<(usize, usize, usize)>,
    /// The first comment that hides closing brackets.
    hiding: Option<Found>,
}

/// Returns the line after a value in brackets, which begins at the value of the line `at`.
pub(super) fn flow(lines: &[Line<'_>], at: usize) -> Scanned<usize> {
    let byte = lines[at].value;
    let (last, plain) = (Token::Open, (0, 0, 0));
    let mut flow =
        Flow { lines, line: at, byte, open: Vec::new(), last, plain, start: None, cut: None, hiding: None };
    let start = lines[at].indent;
    while flow.line < lines.len() {
        let line = &lines[flow.line];
        let is_block = line.has_dash() || (line.colon.is_some() && !line.key().starts_with('"'));
        // What is in brackets is indented by more than the line that they begin in.
        if flow.line > at && is_block && (line.indent <= start || line.has_dash()) {
            break;
        }
        while flow.byte < line.text.len() {
            flow.token()?;
            if flow.open.is_empty() {
                trailing(line, flow.line, flow.byte)?;
                return Ok(flow.line + 1);
            }
        }
        flow.line += 1;
        flow.byte = lines.get(flow.line).map_or(0, |line| line.indent);
    }
    if let Some((line, from, to)) = flow.cut {
        let message = "a `#` after a blank begins a comment, which hides the rest of this line";
        let text = escaped(&lines[line].text[from..to]).to_string().replace('"', "\\\"");
        let help = format!("put the whole text in quotes: `\"{text}\"`");
        return found(line, from, to, message, help);
    }
    if let Some(found) = flow.hiding {
        return Err(Box::new(found));
    }
    let (bracket, line, from, _) = flow.open[flow.open.len() - 1];
    let close = closer(bracket);
    let help = format!("write `{close}` at the end of what it contains");
    found(line, from, from + 1, format!("this `{bracket}` is not closed"), help)
}

fn closer(bracket: char) -> char {
    if bracket == '[' { ']' } else { '}' }
}

/// Checks what follows a value that is complete at `from`.
pub(super) fn trailing(line: &Line<'_>, at: usize, from: usize) -> Scanned<()> {
    let rest = line.text[from..].trim_start();
    let from = line.text.len() - rest.len();
    let to = line.text.trim_end().len();
    if rest.trim_end() == "," {
        let help = "remove it: outside of brackets, a line ends without a comma";
        return found(at, from, to, "a comma follows the value", help);
    }
    if rest.starts_with("//") || rest.starts_with("/*") {
        return slashes(at, from, to);
    }
    match rest.chars().next() {
        None | Some('#') => Ok(()),
        Some(c @ (']' | '}')) => {
            let open = if c == ']' { '[' } else { '{' };
            found(
                at,
                from,
                from + 1,
                format!("unmatched `{c}`"),
                format!("remove it, or add the missing `{open}`"),
            )
        }
        Some(_) => {
            let value = escaped(line.plain_value()).to_string().replace('"', "\\\"");
            let help = format!("put the whole text in quotes: `\"{value}\"`");
            found(at, from, to, "text follows a value that is complete", help)
        }
    }
}

fn slashes<T>(at: usize, from: usize, to: usize) -> Scanned<T> {
    found(at, from, to, "this is not a comment in YAML", "begin comments with `# `, or remove it")
}

impl Flow<'_> {
    fn token(&mut self) -> Scanned<()> {
        let text = self.lines[self.line].text;
        let (line, from) = (self.line, self.byte);
        let Some(c) = text[from..].chars().next() else {
            return Ok(());
        };
        self.byte += c.len_utf8();
        match c {
            ' ' | '\t' => Ok(()),
            '#' if from == 0 || text[..from].ends_with([' ', '\t', '[', '{', ',']) => self.comment(from),
            '#' if self.last == Token::Value => match self.hides_brackets(from) {
                Some(found) => Err(Box::new(found)),
                None => {
                    let to = text.trim_end().len();
                    found(line, from, to, "a comment begins after a blank", "write a blank before it")
                }
            },
            '{' if text[..from].ends_with('$') => {
                let end = text[from..].find('}').map_or(text.len(), |end| from + end + 1);
                let (at, begin, _) = self.plain;
                let begin = if at == line { begin } else { from - 1 };
                let shown = escaped(&text[begin..end]).to_string();
                let help = format!("put it in quotes: `\"{shown}\"`");
                found(line, begin, end, "a value in brackets cannot contain `{`", help)
            }
            '[' | '{' => {
                self.value(from)?;
                self.open.push((c, line, from, false));
                self.last = Token::Open;
                Ok(())
            }
            ']' | '}' => self.close(c, from),
            ',' if matches!(self.last, Token::Comma | Token::Open) => found(
                line,
                from,
                from + 1,
                "there is no value before this comma",
                "remove the comma, or write the value",
            ),
            ',' => {
                self.entry(false);
                self.last = Token::Comma;
                Ok(())
            }
            ':' if self.is_colon(text) => self.colon(from),
            '"' | '\'' => self.quoted(c, from),
            '/' if text[self.byte..].starts_with(['/', '*']) => slashes(line, from, text.len()),
            _ => self.plain(from),
        }
    }

    /// Skips a comment, which can cut a value or hide a bracket.
    fn comment(&mut self, from: usize) -> Scanned<()> {
        self.hidden(from)?;
        let text = self.lines[self.line].text;
        let (at, begin, end) = self.plain;
        let behind = text[from..].find([',', ']', '}']).filter(|_| text[from..].contains([']', '}']));
        // With a blank after it, it is meant as one.
        let is_text = !text[from + 1..].starts_with([' ', ']', '}']);
        if at == self.line
            && is_text
            && self.last == Token::Value
            && text[end..from].trim().is_empty()
            && let Some(behind) = behind
        {
            let to = begin + text[begin..from + behind].trim_end().len();
            self.cut.get_or_insert((self.line, begin, to));
        }
        if self.hiding.is_none() {
            self.hiding = self.hides_brackets(from);
        }
        self.byte = text.len();
        Ok(())
    }

    /// Checks that a comment hides no value, such as `#FF0000`, and no bracket behind it.
    fn hidden(&self, from: usize) -> Scanned<()> {
        let text = &self.lines[self.line].text[from..];
        let Some(end) = text.find([',', ']', '}']) else { return Ok(()) };
        let value = text[..end].trim_end();
        let is_value = match self.last {
            Token::Value => false,
            Token::Colon if text.contains([']', '}']) => true,
            _ => value.len() > 1 && !value.starts_with("# "),
        };
        if !is_value {
            return Ok(());
        }
        let shown = escaped(value).to_string();
        let help = format!("put it in quotes if it is a value: `\"{}\"`", shown.replace('"', "\\\""));
        found(self.line, from, from + value.len(), format!("`{shown}` begins a comment"), help)
    }

    /// Returns the mistake that a comment hides brackets which close those of its line.
    fn hides_brackets(&self, from: usize) -> Option<Found> {
        let comment = self.lines[self.line].text[from..].trim_end();
        let hidden = comment.matches([']', '}']).count();
        let open = self.open.iter().rev().take_while(|(_, line, ..)| *line == self.line).take(hidden);
        let closers: String = open.flat_map(|(bracket, ..)| [closer(*bracket), ' ']).collect();
        (!closers.is_empty()).then(|| {
            let message =
                format!("`{}` begins a comment, which hides the rest of this line", escaped(comment));
            Found::new(self.line, from, from + comment.len(), message, format!("write `{closers}` before it"))
        })
    }

    fn is_colon(&self, text: &str) -> bool {
        let next = text[self.byte..].chars().next();
        next.is_none_or(|c| matches!(c, ' ' | '\t' | ',' | '[' | ']' | '{' | '}'))
            || self.last == Token::Value
    }

    fn entry(&mut self, has_colon: bool) {
        if let Some(open) = self.open.last_mut() {
            open.3 = has_colon;
        }
    }

    fn colon(&mut self, from: usize) -> Scanned<()> {
        let text = self.lines[self.line].text;
        if self.open.last().is_some_and(|open| open.3) {
            // The key is the last word of the value before it.
            let word = text[..from].rfind([' ', ',', '{', '[']).map_or(0, |at| at + 1);
            let help = "write `,` between the entries";
            return found(self.line, word, from, "a comma is missing before this key", help);
        }
        self.entry(true);
        self.last = Token::Colon;
        Ok(())
    }

    /// Checks that a value may begin.
    fn value(&self, from: usize) -> Scanned<()> {
        if self.last == Token::Value {
            let text = self.lines[self.line].text;
            // Without a blank, it goes on with what is before it.
            let start =
                self.start.filter(|(line, _)| *line == self.line && !text[..from].ends_with([' ', '\t']));
            if let Some((line, start)) = start {
                let whole = unquoted(&text[start..]);
                if let Some((key, rest)) = whole.split_once(':').filter(|_| text[..from].ends_with(':')) {
                    let help =
                        format!("write a space after the colon: `{}: {}`", escaped(key), escaped(rest));
                    return found(line, start, start + whole.len(), "no space follows the colon", help);
                }
                let help = format!("put it in quotes: `{}`", quoted(whole));
                return found(line, start, start + whole.len(), "a text with brackets needs quotes", help);
            }
            let help = "write `,` between the items";
            return found(self.line, from, from + 1, "a comma is missing before this value", help);
        }
        Ok(())
    }

    fn close(&mut self, close: char, from: usize) -> Scanned<()> {
        if let Some((open, line, start, _)) = self.open.pop() {
            self.start = Some((line, start));
            let wanted = closer(open);
            if close != wanted {
                let message = format!("this `{close}` closes a `{open}`");
                return found(self.line, from, from + 1, message, format!("write `{wanted}`"));
            }
        }
        self.last = Token::Value;
        Ok(())
    }

    fn quoted(&mut self, quote: char, from: usize) -> Scanned<()> {
        self.value(from)?;
        let text = self.lines[self.line].text;
        let Some(end) = closing(&text[from..], quote) else {
            let help = format!("write `{quote}` at the end of the text");
            return found(self.line, from, text.len(), format!("this `{quote}` is not closed"), help);
        };
        let end = from + end + 1;
        let rest = text[end..].trim_start();
        let to = text.len() - rest.len();
        bad_escape(text, self.line, from, end)?;
        if rest.starts_with(['"', '\'']) {
            let help = "write `,` between the items";
            return found(self.line, to, to + 1, "a comma is missing before this value", help);
        }
        if quote == '\'' && text[end..].starts_with(char::is_alphanumeric) {
            let help = "write `''` for an apostrophe in the text, or put the text in double quotes";
            return found(self.line, end - 1, end, "this `'` ends the text", help);
        }
        if !rest.is_empty() && !rest.starts_with([',', ']', '}', ':', '#']) {
            if is_known_key(&text[from + 1..end - 1]) {
                let help = format!("write `:` after the key: `{}: …`", &text[from..end]);
                return found(self.line, from, end, "no colon follows this key", help);
            }
            let help = "write each text with a quote at both ends, and `,` between them";
            return found(self.line, from, end, "the quotes do not match: text follows this one", help);
        }
        self.byte = end;
        self.last = Token::Value;
        self.start = None;
        Ok(())
    }

    fn plain(&mut self, from: usize) -> Scanned<()> {
        self.value(from)?;
        let text = self.lines[self.line].text;
        if let Some(found) = reserved(&text[from..], self.line, from) {
            return Err(Box::new(found));
        }
        let rest = &text[from..];
        let end = rest.find([',', '[', ']', '{', '}']).unwrap_or(rest.len());
        let end = rest[..end].find(": ").unwrap_or(end).min(rest[..end].find(" #").unwrap_or(end));
        self.byte = from + end.max(1);
        self.plain = (self.line, from, self.byte);
        self.start = Some((self.line, from));
        self.last = Token::Value;
        Ok(())
    }
}

/// Returns what `text` begins with up to the comma or the bracket that ends a value.
fn unquoted(text: &str) -> &str {
    let mut depth = 0_usize;
    let end = text.find(|c| match c {
        '[' | '{' => {
            depth += 1;
            false
        }
        ']' | '}' if depth > 0 => {
            depth -= 1;
            false
        }
        ',' => depth == 0,
        ']' | '}' => true,
        _ => false,
    });
    text[..end.unwrap_or(text.len())].trim_end()
}

/// Checks the escapes of a text in double quotes.
pub(super) fn bad_escape(text: &str, at: usize, from: usize, end: usize) -> Scanned<()> {
    const SINGLE: &str = "0abt\tnvfre \"/\\N_LP";
    if !text[from..].starts_with('"') {
        return Ok(());
    }
    let mut chars = text[from..end].char_indices();
    while let Some((back, c)) = chars.next() {
        if c != '\\' {
            continue;
        }
        let Some((_, escape)) = chars.next() else {
            return Ok(());
        };
        let back = from + back;
        let digits = match escape {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            c if SINGLE.contains(c) => continue,
            c => {
                let help = format!("write `\\\\{c}` for a backslash, or put the text in single quotes");
                return found(at, back, back + 1 + c.len_utf8(), format!("`\\{c}` is not an escape"), help);
            }
        };
        let hex = text[back + 2..end].chars().take_while(char::is_ascii_hexdigit).take(digits).count();
        if hex < digits {
            let message = format!("`\\{escape}` needs {digits} hexadecimal digits");
            let help = format!("write all digits, or `\\\\{escape}` for a backslash");
            return found(at, back, back + 2 + hex, message, help);
        }
        let code = u32::from_str_radix(&text[back + 2..back + 2 + digits], 16).unwrap_or_default();
        let is_pair = text[back + 2 + digits..].starts_with("\\u");
        if (0xd800..0xdc00).contains(&code) && is_pair {
            chars.nth(digits + 5);
        } else if code > u32::from(char::MAX) {
            let help = "write the character itself";
            return found(at, back, back + 2 + digits, "no character has this code", help);
        } else if char::from_u32(code).is_none() {
            let help = "write the character itself, or both halves of the pair";
            return found(at, back, back + 2 + digits, "this escape is half of a surrogate pair", help);
        }
    }
    Ok(())
}

/// Returns the mistake at the start of a plain value.
pub(super) fn reserved(value: &str, at: usize, from: usize) -> Option<Found> {
    let c = value.chars().next()?;
    let next = value[c.len_utf8()..].chars().next();
    let is_bad = match c {
        '@' | '`' | '%' | ',' | ']' | '}' | '|' | '>' => true,
        '*' | '&' => next.is_none_or(|next| !next.is_alphanumeric()),
        '-' | '?' => next == Some(' '),
        // With other characters, it is a tag, which is no error of syntax.
        '!' => matches!(next, Some('>' | '<' | '^' | '|' | '`')),
        _ => false,
    };
    if !is_bad {
        return None;
    }
    let text = value.trim_end();
    let shown = match text.find([',', ']', '}']) {
        Some(end) if end > 0 => text[..end].trim_end(),
        _ => text,
    };
    let help = match denied_order(shown, text) {
        Some(predicate) => format!("did you mean `\"{predicate}\"`?"),
        None => {
            // A single quote at the end has lost the other one.
            let inner = shown.strip_suffix('"').filter(|inner| !inner.contains('"')).unwrap_or(shown);
            format!("put it in quotes: `\"{}\"`", escaped(&inner.replace('"', "\\\"")))
        }
    };
    let message = match c {
        '`' => "a value cannot begin with a backtick".to_owned(),
        c => format!("a value cannot begin with `{c}`"),
    };
    Some(Found::new(at, from, from + shown.len(), message, help))
}

/// Returns the predicate that says the opposite of `>` in `!>`, and the like, if the `line` compares with one object.
fn denied_order(sign: &str, line: &str) -> Option<&'static str> {
    let (_, objects) = line.split_once("objects: [")?;
    let is_one = !objects.split(']').next()?.contains(',');
    let predicate = sign.strip_prefix('!')?;
    dialects::opposite(predicate, is_one).filter(|opposite| opposite.contains(['<', '>']))
}
