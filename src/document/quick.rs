//! Parses the plain subset of YAML in which most documents are written, in one pass.
//!
//! `Some` is exactly the result of serde_yaml. `None` means that serde_yaml decides; no error is reported here. Accepts
//! printable ASCII only, without tabs, escapes, properties, block scalars and multi-line values.

use super::resolve::{
    RawCondition, RawContent, RawDocument, RawPrerequisite, RawRule, RawServe, RawSplit, RawVariation, Text,
    has_repeated_name,
};

/// Whether a byte is a printable ASCII character or the end of a line. To look a byte up is five times as fast as to compare
/// it, which took 6 % of the time of a plan of all documents.
const IS_PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = b' ';
    while byte <= b'~' {
        plain[byte as usize] = true;
        byte += 1;
    }
    plain[b'\n' as usize] = true;
    plain
};

/// Returns the document, or `None` if `text` is not in the subset.
pub(super) fn parse(text: &str) -> Option<RawDocument> {
    if !text.bytes().all(|byte| IS_PLAIN[usize::from(byte)]) {
        return None;
    }
    let mut lines = Vec::with_capacity(64);
    for line in text.split('\n') {
        let rest = trimmed(line);
        if !rest.is_empty() && !begins(rest, b'#') {
            lines.push((line.len() - rest.len(), rest));
        }
    }
    let mut reader = PlainReader { lines, at: 0, rest: "", indent: 0, flow: 0 };
    let &(0, _) = reader.lines.first()? else {
        return None;
    };
    let document = reader.block_mapping(0)?;
    // A text with more lines, such as a second document, is left to serde_yaml.
    (reader.at == reader.lines.len()).then_some(document)
}

// Those of `str` compare characters instead of bytes, and take a tenth of the time of a plan of all documents.

fn begins(text: &str, byte: u8) -> bool {
    text.as_bytes().first() == Some(&byte)
}

/// Returns the text behind `byte`, which must be the first one.
fn behind(text: &str, byte: u8) -> Option<&str> {
    begins(text, byte).then(|| &text[1..])
}

/// Returns the text without the spaces before it.
fn trimmed(text: &str) -> &str {
    &text[text.bytes().take_while(|byte| *byte == b' ').count()..]
}

struct PlainReader<'a> {
    /// Indentation and content of all lines that are not blank or comments.
    lines: Vec<(usize, &'a str)>,
    at: usize,
    /// The rest of the line before `at`.
    rest: &'a str,
    /// The column of the innermost block mapping.
    indent: usize,
    flow: usize,
}

trait Mapping: Default {
    fn set(&mut self, key: &str, reader: &mut PlainReader<'_>) -> Option<()>;
}

/// Sets a field; `None` if it is set already.
fn once<T>(field: &mut Option<T>, value: Option<T>) -> Option<()> {
    let value = value?;
    // A duplicate key is an error, which serde_yaml reports.
    field.replace(value).is_none().then_some(())
}

impl<'a> PlainReader<'a> {
    fn skip(&mut self) {
        self.rest = trimmed(self.rest);
    }

    fn take(&mut self, what: u8) -> Option<()> {
        self.rest = behind(self.rest, what)?;
        Some(())
    }

    /// Requires the end of the line, apart from a comment.
    fn end(&mut self) -> Option<()> {
        // `#` begins a comment only after white space (YAML 1.2, section 6.6).
        let rest = trimmed(self.rest);
        let is_end = rest.is_empty() || (begins(rest, b'#') && rest.len() < self.rest.len());
        is_end.then_some(())
    }

    fn key(&mut self) -> Option<&'a str> {
        // Most keys are ASCII words; any other key without quotes is left to serde_yaml.
        let (key, rest) = match self.rest.as_bytes().first()? {
            b'"' | b'\'' => self.quoted()?,
            first => {
                let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-".contains(byte);
                let length = self.rest.bytes().take_while(is_word).count();
                // An indicator such as `-` begins no word.
                self.rest.split_at(if first.is_ascii_alphanumeric() { length } else { 0 })
            }
        };
        self.rest = behind(rest, b':')?;
        (self.rest.is_empty() || begins(self.rest, b' ')).then_some(key)
    }

    /// Returns the quoted text at the start of the line, without its quotes, and the rest of the line.
    fn quoted(&self) -> Option<(&'a str, &'a str)> {
        let quote = *self.rest.as_bytes().first()?;
        let inner = &self.rest[1..];
        let length = inner.bytes().position(|byte| byte == quote)?;
        let (text, rest) = (&inner[..length], &inner[length + 1..]);
        // Escapes and doubled quotes are left to serde_yaml.
        let is_plain = !text.contains('\\') && !rest.starts_with(['\'', '"']);
        is_plain.then_some((text, rest))
    }

    fn block_mapping<M: Mapping>(&mut self, indent: usize) -> Option<M> {
        let outer = std::mem::replace(&mut self.indent, indent);
        let mut mapping = M::default();
        while let Some(&(column, rest)) = self.lines.get(self.at) {
            if column < indent || (column == indent && rest.starts_with("- ")) {
                break;
            }
            if column > indent {
                return None;
            }
            self.at += 1;
            self.rest = rest;
            let key = self.key()?;
            mapping.set(key, self)?;
        }
        self.indent = outer;
        Some(mapping)
    }

    fn mapping<M: Mapping>(&mut self) -> Option<M> {
        if self.flow == 0 && self.end().is_some() {
            let &(column, _) = self.lines.get(self.at)?;
            return if column > self.indent { self.block_mapping(column) } else { None };
        }
        self.skip();
        self.flow_mapping()
    }

    fn flow_mapping<M: Mapping>(&mut self) -> Option<M> {
        self.take(b'{')?;
        self.flow += 1;
        let mut mapping = M::default();
        loop {
            self.skip();
            let key = self.key()?;
            mapping.set(key, self)?;
            self.skip();
            if self.take(b',').is_none() {
                break;
            }
        }
        self.take(b'}')?;
        self.close()?;
        Some(mapping)
    }

    fn close(&mut self) -> Option<()> {
        self.flow -= 1;
        if self.flow == 0 { self.end() } else { Some(()) }
    }

    fn sequence<T>(&mut self, item: fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut items = Vec::new();
        if self.flow > 0 || self.end().is_none() {
            self.skip();
            self.take(b'[')?;
            self.flow += 1;
            self.skip();
            while !begins(self.rest, b']') {
                items.push(item(self)?);
                self.skip();
                if self.take(b',').is_none() {
                    break;
                }
                self.skip();
                if begins(self.rest, b']') {
                    return None;
                }
            }
            self.take(b']')?;
            self.close()?;
            return Some(items);
        }
        let &(column, _) = self.lines.get(self.at)?;
        if column < self.indent {
            return None;
        }
        while let Some(&(found, line)) = self.lines.get(self.at) {
            if found != column || !line.starts_with("- ") {
                break;
            }
            let rest = trimmed(&line[1..]);
            // The text behind the dash becomes a line, because the other keys of a mapping stand at its column.
            self.lines[self.at] = (column + line.len() - rest.len(), rest);
            self.rest = rest;
            items.push(item(self)?);
        }
        // A list without items is null in YAML, which serde_yaml reports.
        (!items.is_empty()).then_some(items)
    }

    fn mappings<M: Mapping>(&mut self) -> Option<Vec<M>> {
        self.sequence(Self::mapping_item)
    }

    fn texts(&mut self) -> Option<Vec<Text>> {
        self.sequence(Self::text_item)
    }

    fn mapping_item<M: Mapping>(&mut self) -> Option<M> {
        if self.flow > 0 {
            return self.flow_mapping();
        }
        if begins(self.rest, b'{') {
            self.at += 1;
            return self.flow_mapping();
        }
        let column = self.lines.get(self.at)?.0;
        self.block_mapping(column)
    }

    fn text_item(&mut self) -> Option<Text> {
        if self.flow == 0 {
            self.at += 1;
        }
        self.scalar().map(|text| Text(text.to_owned()))
    }

    fn text(&mut self) -> Option<String> {
        self.skip();
        self.scalar().map(str::to_owned)
    }

    fn scalar(&mut self) -> Option<&'a str> {
        let text = match self.rest.as_bytes().first()? {
            b'"' | b'\'' => {
                let (text, rest) = self.quoted()?;
                self.rest = rest;
                // A quoted key is left to serde_yaml.
                if begins(rest, b':') {
                    return None;
                }
                text
            }
            _ => self.plain()?,
        };
        if self.flow == 0 {
            self.end()?;
        }
        Some(text)
    }

    fn plain(&mut self) -> Option<&'a str> {
        let flow = self.flow > 0;
        // These characters have no meaning within a plain scalar; a comma has one in flow collections.
        let is_inner =
            |byte: u8| byte.is_ascii_alphanumeric() || b" _./+-()".contains(&byte) || (byte == b',' && !flow);
        let bytes = self.rest.as_bytes();
        if !bytes.first()?.is_ascii_alphanumeric() {
            return None;
        }
        let length = bytes.iter().take_while(|byte| is_inner(**byte)).count();
        let text = self.rest[..length].trim_end_matches(' ');
        self.rest = &self.rest[text.len()..];
        // An unquoted null is an error, which serde_yaml reports.
        (!text.eq_ignore_ascii_case("null")).then_some(text)
    }

    fn split(&mut self) -> Option<RawSplit> {
        let is_list = begins(trimmed(self.rest), b'[');
        if is_list {
            return self.texts().map(RawSplit::ByIndex);
        }
        let QuickShares(shares) = self.mapping()?;
        // A duplicate name is an error, which serde_yaml reports.
        (!has_repeated_name(&shares)).then_some(RawSplit::ByName(shares))
    }

    fn boolean(&mut self) -> Option<bool> {
        self.skip();
        match self.rest.starts_with(['t', 'f']).then(|| self.plain())?? {
            "true" => self.done(true),
            "false" => self.done(false),
            // `True` and `TRUE` are booleans as well, and are left to serde_yaml.
            _ => None,
        }
    }

    fn index(&mut self) -> Option<u32> {
        self.skip();
        let text = self.plain()?;
        // Eight digits always fit; a leading zero is an error, which the parser with positions reports.
        let is_plain = text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_plain || (text.len() > 1 && begins(text, b'0')) {
            return None;
        }
        let index = text.parse().ok()?;
        self.done(index)
    }

    fn done<T>(&mut self, value: T) -> Option<T> {
        if self.flow == 0 {
            self.end()?;
        }
        Some(value)
    }
}

/// The entries of a mapping whose keys are names.
#[derive(Default)]
struct QuickShares(Vec<(String, Text)>);

impl Mapping for QuickShares {
    fn set(&mut self, key: &str, reader: &mut PlainReader<'_>) -> Option<()> {
        // An unquoted null is an error, which serde_yaml reports; a long key may be one.
        let is_name = !key.is_empty() && key.len() <= 128 && !key.eq_ignore_ascii_case("null");
        let share = reader.text().filter(|_| is_name)?;
        self.0.push((key.to_owned(), Text(share)));
        Some(())
    }
}

macro_rules! mapping {
    ($kind:ty { $($key:literal => $field:ident: $read:expr),* $(,)? }) => {
        impl Mapping for $kind {
            fn set(&mut self, key: &str, reader: &mut PlainReader<'_>) -> Option<()> {
                match key {
                    $($key => once(&mut self.$field, $read(reader)),)*
                    _ => None,
                }
            }
        }
    };
}

mapping!(RawDocument { "disabled" => disabled: PlainReader::boolean, "content" => content: PlainReader::mapping });
mapping!(RawContent {
    "rules" => rules: PlainReader::mappings,
    "disabledServe" => disabled_serve: PlainReader::mapping,
    "defaultServe" => default_serve: PlainReader::mapping,
    "variations" => variations: PlainReader::mappings,
    "prerequisites" => prerequisites: PlainReader::mappings,
});
mapping!(RawRule {
    "name" => name: PlainReader::text,
    "serve" => serve: PlainReader::mapping,
    "conditions" => conditions: PlainReader::mappings,
});
mapping!(RawCondition {
    "type" => kind: PlainReader::text,
    "subject" => subject: PlainReader::text,
    "predicate" => predicate: PlainReader::text,
    "objects" => objects: PlainReader::texts,
    "leftPredicate" => left_predicate: PlainReader::text,
    "rightPredicate" => right_predicate: PlainReader::text,
    "rightObjects" => right_objects: PlainReader::texts,
});
mapping!(RawServe {
    "select" => select: PlainReader::index,
    "variation" => variation: PlainReader::text,
    "split" => split: PlainReader::split,
});
mapping!(RawPrerequisite {
    "key" => key: PlainReader::text,
    "value" => value: PlainReader::text,
    "type" => kind: PlainReader::text,
});
mapping!(RawVariation {
    "value" => value: PlainReader::text,
    "name" => name: PlainReader::text,
    "description" => description: PlainReader::text,
});
