//! Users as CSV, with a header that names `key` and the attributes, and as JSON, one object per line with them as members.

use std::borrow::Cow;
use std::{fmt, io};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::chunks::{Chunk, Chunks};
use crate::evaluate::{Audience, Person, Tally};
use crate::model::{counted, cut, escaped};

/// The names of the columns, and what separates them.
#[derive(Debug)]
pub(super) struct Header {
    names: Vec<String>,
    delimiter: u8,
}

/// What a column is for.
#[derive(Clone, Copy)]
enum Column {
    Key,
    /// An attribute that conditions compare.
    Slot(usize),
    Unused,
}

impl Header {
    /// Reads the header. The inner error is a sentence about it.
    pub(super) fn read(chunks: &mut Chunks) -> io::Result<Result<Self, String>> {
        let chunk = chunks.next_record()?.unwrap_or_default();
        if let Some((_, reason)) = chunk.broken.first() {
            return Ok(Err(format!("the header of the audience cannot be read: {reason}")));
        }
        let Ok(text) = std::str::from_utf8(&chunk.bytes) else {
            return Ok(Err("the header of the audience is not UTF-8".to_owned()));
        };
        let (record, delimiter) = first_record(text).map_err(io::Error::other)?;
        let mut names: Vec<String> = Vec::new();
        for field in &record {
            let name = String::from_utf8_lossy(field).trim().to_owned();
            let shown = escaped(&cut(&name, 60)).to_string();
            if names.contains(&name) {
                return Ok(Err(format!("the header of the audience names `{shown}` twice")));
            }
            names.push(name);
        }
        Ok(Ok(Self { names, delimiter }))
    }

    fn columns(&self, person: &Person<'_>) -> Vec<Column> {
        let column = |name: &String| match name.as_str() {
            "key" => Column::Key,
            name => person.slot(name).map_or(Column::Unused, Column::Slot),
        };
        self.names.iter().map(column).collect()
    }
}

/// Returns the fields of the header, and the delimiter: what separates it into several fields.
fn first_record(text: &str) -> csv::Result<(ByteRecord, u8)> {
    let mut first = None;
    // Spreadsheets write semicolons where the comma separates decimals, and tabs when they copy.
    for delimiter in [b',', b';', b'\t'] {
        let mut record = ByteRecord::new();
        reader(text.as_bytes(), delimiter).read_byte_record(&mut record)?;
        if record.len() > 1 {
            return Ok((record, delimiter));
        }
        first.get_or_insert((record, delimiter));
    }
    Ok(first.unwrap_or_default())
}

fn reader(bytes: &[u8], delimiter: u8) -> Reader<&[u8]> {
    ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(bytes)
}

/// Counts the users of a chunk. An empty field is an attribute that the user does not have.
pub(super) fn count_csv(
    chunk: &Chunk,
    header: &Header,
    audience: &Audience,
    person: &mut Person<'_>,
    tally: &mut Tally,
) {
    let columns = header.columns(person);
    let mut reader = reader(&chunk.bytes, header.delimiter);
    let mut record = ByteRecord::new();
    while reader
        .read_byte_record(&mut record)
        .expect("memory is readable, and any number of fields is allowed")
    {
        let line = chunk.first_line + line_of(&record, chunk);
        match fill(&record, &columns, person) {
            Ok(()) => audience.count(person, line, tally),
            Err(reason) => tally.broken(line, reason),
        }
    }
}

/// Returns the lines of the chunk before a record.
fn line_of(record: &ByteRecord, chunk: &Chunk) -> u64 {
    let Some(position) = record.position() else {
        return 0;
    };
    // After a CRLF, the reader is still before the LF.
    let byte = usize::try_from(position.byte()).ok().and_then(|at| chunk.bytes.get(at));
    position.line() - 1 + u64::from(byte == Some(&b'\n'))
}

fn fill(record: &ByteRecord, columns: &[Column], person: &mut Person<'_>) -> Result<(), String> {
    if record.len() != columns.len() {
        return Err(format!(
            "the line has {}, and the header has {}",
            counted(record.len(), "field"),
            columns.len()
        ));
    }
    person.reset(None);
    for (field, column) in record.iter().zip(columns).filter(|(field, _)| !field.is_empty()) {
        let text = || std::str::from_utf8(field).map_err(|_| "the line is not UTF-8".to_owned());
        match column {
            Column::Key => person.set_key(text()?),
            Column::Slot(slot) => {
                person.set_slot(*slot, text()?);
            }
            Column::Unused => {}
        }
    }
    Ok(())
}

/// Counts the users of a chunk.
pub(super) fn count_json(chunk: &Chunk, audience: &Audience, person: &mut Person<'_>, tally: &mut Tally) {
    for (line, number) in chunk.bytes.split(|byte| *byte == b'\n').zip(chunk.first_line..) {
        if line.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        person.reset(None);
        let mut parser = serde_json::Deserializer::from_slice(line);
        let filled = Fill(person).deserialize(&mut parser).and_then(|()| parser.end());
        match filled {
            Ok(()) => audience.count(person, number, tally),
            Err(error) => tally.broken(number, reason(&error)),
        }
    }
}

/// Returns the reason without the position, which would be that in a line.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
    escaped(&cut(text, 100)).to_string()
}

/// Fills a user from an object.
struct Fill<'p, 'a>(&'p mut Person<'a>);

impl<'de> DeserializeSeed<'de> for Fill<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Fill<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with the user's key and attributes")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let person = self.0;
        while let Some(MemberText(name)) = members.next_key()? {
            let raw: &RawValue = members.next_value()?;
            let Some(text) =
                text(raw.get()).map_err(|reason| A::Error::custom(format!("`{name}` {reason}")))?
            else {
                continue;
            };
            let is_repeated = match name.as_ref() {
                "key" => {
                    let is_repeated = person.key().is_some();
                    person.set_key(&text);
                    is_repeated
                }
                name => person.set(name, &text),
            };
            if is_repeated {
                return Err(A::Error::custom(format!("`{name}` is given twice")));
            }
        }
        Ok(())
    }
}

/// Returns a value as text, numbers and booleans as they are written; `None` for null.
fn text(raw: &str) -> Result<Option<Cow<'_, str>>, String> {
    Ok(match raw.as_bytes().first() {
        Some(b'n') => None,
        Some(b'[' | b'{') => return Err("is a list or an object, not text".to_owned()),
        Some(b'"') => {
            let inner = &raw[1..raw.len() - 1];
            if inner.contains('\\') {
                Some(Cow::Owned(serde_json::from_str(raw).map_err(|error| reason(&error))?))
            } else {
                Some(Cow::Borrowed(inner))
            }
        }
        _ => Some(Cow::Borrowed(raw)),
    })
}

/// The name of a member, borrowed if it has no escape sequence.
#[derive(Deserialize)]
struct MemberText<'a>(#[serde(borrow)] Cow<'a, str>);
