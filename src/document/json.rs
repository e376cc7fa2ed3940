//! Parses strict JSON (RFC 8259) with positions and verbatim scalars.
//!
//! `serde_json` does not fit: it reads `1.10` as `1.1`, lets the last of two equal keys win, and has no positions of
//! valid values.

use super::check;
use super::finding::{Finding, LoadedFile};
use super::node::{Node, NodeKind, Position, Span, Style};
use super::yaml::{DEEPEST, too_deep};

/// Parses `text`. Rejects deep nesting and all extensions of JSON.
pub(super) fn load(text: &str) -> LoadedFile {
    match Parser::new(text).document() {
        Ok(root) => LoadedFile {
            root,
            ..LoadedFile::default()
        },
        Err(finding) => LoadedFile {
            findings: vec![*finding],
            ..LoadedFile::default()
        },
    }
}

type Result<T> = std::result::Result<T, Box<Finding>>;

struct Parser<'a> {
    rest: &'a str,
    at: Position,
    depth: usize,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            rest: text,
            at: Position { line: 1, column: 1 },
            depth: 0,
        }
    }

    fn document(&mut self) -> Result<Option<Node>> {
        self.skip_space();
        if self.rest.is_empty() {
            return Ok(None);
        }
        let root = self.value()?;
        self.skip_space();
        if self.rest.is_empty() {
            Ok(Some(root))
        } else {
            Err(self.wrong("the end of the file"))
        }
    }

    fn value(&mut self) -> Result<Node> {
        let start = self.at;
        let kind = match self.peek() {
            Some('{') => self.nested(Self::object)?,
            Some('[') => self.nested(Self::array)?,
            Some('"') => NodeKind::Scalar(self.string()?, Style::Quoted),
            Some('-' | '0'..='9') => NodeKind::Scalar(self.number()?, Style::Plain),
            _ => NodeKind::Scalar(self.word()?, Style::Plain),
        };
        Ok(Node {
            span: self.since(start),
            kind,
        })
    }

    fn nested(&mut self, inner: fn(&mut Self) -> Result<NodeKind>) -> Result<NodeKind> {
        // The parser recurses, so the limit also bounds the stack.
        if self.depth == DEEPEST {
            return Err(Box::new(too_deep(self.here())));
        }
        self.depth += 1;
        self.bump();
        let kind = inner(self);
        self.depth -= 1;
        kind
    }

    fn object(&mut self) -> Result<NodeKind> {
        let mut entries = Vec::new();
        self.skip_space();
        if self.take('}') {
            return Ok(NodeKind::Mapping(entries));
        }
        loop {
            self.skip_space();
            let start = self.at;
            if self.peek() != Some('"') {
                return Err(self.wrong("a key in double quotes"));
            }
            let key = NodeKind::Scalar(self.string()?, Style::Quoted);
            let span = self.since(start);
            self.skip_space();
            if !self.take(':') {
                return Err(self.wrong("`:`"));
            }
            self.skip_space();
            entries.push((Node { span, kind: key }, self.value()?));
            self.skip_space();
            if self.take('}') {
                return Ok(NodeKind::Mapping(entries));
            }
            if !self.take(',') {
                return Err(self.wrong("`,` or `}`"));
            }
        }
    }

    fn array(&mut self) -> Result<NodeKind> {
        let mut items = Vec::new();
        self.skip_space();
        if self.take(']') {
            return Ok(NodeKind::Sequence(items));
        }
        loop {
            self.skip_space();
            items.push(self.value()?);
            self.skip_space();
            if self.take(']') {
                return Ok(NodeKind::Sequence(items));
            }
            if !self.take(',') {
                return Err(self.wrong("`,` or `]`"));
            }
        }
    }

    fn word(&mut self) -> Result<String> {
        for word in ["true", "false", "null"] {
            let follows = self.rest.strip_prefix(word);
            if follows.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_')) {
                word.chars().for_each(|_| self.bump());
                return Ok(word.to_owned());
            }
        }
        Err(self.wrong("a value"))
    }

    fn number(&mut self) -> Result<String> {
        let text = self.rest;
        self.take('-');
        // RFC 8259 allows no digit after a leading zero; the check for the end of the number reports it.
        if !self.take('0') {
            self.digits()?;
        }
        if self.take('.') {
            self.digits()?;
        }
        if self.take('e') || self.take('E') {
            let _ = self.take('+') || self.take('-');
            self.digits()?;
        }
        if self
            .peek()
            .is_some_and(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '+' | '-'))
        {
            return Err(self.wrong("the end of the number"));
        }
        // The text, not its value: `1.10` must stay `1.10` (DESIGN, section 2).
        Ok(text[..text.len() - self.rest.len()].to_owned())
    }

    fn digits(&mut self) -> Result<()> {
        if !self.peek().is_some_and(|c| c.is_ascii_digit()) {
            return Err(self.wrong("a digit"));
        }
        while self.peek().is_some_and(|c| c.is_ascii_digit()) {
            self.bump();
        }
        Ok(())
    }

    fn string(&mut self) -> Result<String> {
        let mut text = String::new();
        self.bump();
        loop {
            match self.peek() {
                Some('"') => {
                    self.bump();
                    return Ok(text);
                }
                Some('\\') => text.push(self.escape()?),
                Some(c) if c >= ' ' => {
                    text.push(c);
                    self.bump();
                }
                // RFC 8259, section 7, requires that control characters are escaped.
                Some(_) => return Err(self.wrong("an escape such as `\\n` instead of a control character")),
                None => return Err(self.wrong("`\"` at the end of the text")),
            }
        }
    }

    fn escape(&mut self) -> Result<char> {
        let start = self.at;
        self.bump();
        let escape = self.peek();
        self.bump();
        Ok(match escape {
            Some(c @ ('"' | '\\' | '/')) => c,
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('u') => return self.unicode(start),
            _ => return Err(self.bad_escape(start, "an escape that JSON does not have")),
        })
    }

    fn unicode(&mut self, start: Position) -> Result<char> {
        let first = self.hex(start)?;
        // RFC 8259, section 7, writes a character outside the basic plane as two escapes.
        let code = match first {
            0xd800..=0xdbff => {
                if !(self.take('\\') && self.take('u')) {
                    return Err(self.bad_escape(start, "half of a surrogate pair"));
                }
                let second = self.hex(start)?;
                if !(0xdc00..=0xdfff).contains(&second) {
                    return Err(self.bad_escape(start, "half of a surrogate pair"));
                }
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            }
            code => code,
        };
        char::from_u32(code).ok_or_else(|| self.bad_escape(start, "half of a surrogate pair"))
    }

    fn hex(&mut self, start: Position) -> Result<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(16)) else {
                return Err(self.bad_escape(start, "an escape without four hexadecimal digits"));
            };
            code = code * 16 + digit;
            self.bump();
        }
        Ok(code)
    }

    fn skip_space(&mut self) {
        while self.peek().is_some_and(|c| matches!(c, ' ' | '\t' | '\n' | '\r')) {
            self.bump();
        }
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.bump();
        }
        found
    }

    fn bump(&mut self) {
        let mut rest = self.rest.chars();
        let Some(c) = rest.next() else { return };
        self.rest = rest.as_str();
        // The same line breaks as in excerpts, so that a position names the line that is shown.
        if c == '\n' || (c == '\r' && !self.rest.starts_with('\n')) {
            self.at = Position {
                line: self.at.line + 1,
                column: 1,
            };
        } else {
            self.at.column += 1;
        }
    }

    fn since(&self, start: Position) -> Span {
        Span { start, end: self.at }
    }

    fn here(&self) -> Span {
        Span::at(self.at)
    }

    fn wrong(&self, wanted: &str) -> Box<Finding> {
        let found = match self.peek() {
            Some(c) => format!("`{}`", crate::model::escaped(c.encode_utf8(&mut [0; 4]))),
            None => "the end of the file".to_owned(),
        };
        let message = format!("invalid JSON: expected {wanted}, found {found}");
        Box::new(Finding::at(&check::SYNTAX, self.here(), message))
    }

    fn bad_escape(&self, start: Position, what: &str) -> Box<Finding> {
        Box::new(Finding::at(
            &check::SYNTAX,
            self.since(start),
            format!("invalid JSON: {what}"),
        ))
    }
}
