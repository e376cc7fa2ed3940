//! Reads the users of an audience, in chunks of whole lines and in constant memory.
//!
//! Users are CSV with a header that names `key` and the attributes, or JSON, one object per line with them as
//! members.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, BufRead, BufReader, Cursor, Read};

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::audience::{Audience, Tally};
use super::condition::Person;
use crate::model::{counted, cut, escaped};

/// Counts the users of a file, evaluated at this time. The inner error is a sentence about the header.
pub(crate) fn count_users(
    audience: &Audience,
    file: impl Read + 'static,
    at: Option<i64>,
) -> io::Result<Result<Tally, String>> {
    let mut chunks = Chunks::new(file)?;
    let header = match chunks.is_json {
        true => None,
        false => match Header::read(&mut chunks)? {
            Ok(header) => Some(header),
            Err(sentence) => return Ok(Err(sentence)),
        },
    };
    let (mut tally, mut person) = (audience.tally(at), audience.person(at));
    while let Some(chunk) = chunks.next(CHUNK)? {
        match &header {
            Some(header) => count_csv(&chunk, header, audience, &mut person, &mut tally),
            None => count_json(&chunk, audience, &mut person, &mut tally),
        }
        for (line, reason) in &chunk.broken {
            tally.broken(*line, (*reason).to_owned());
        }
    }
    Ok(Ok(tally))
}

/// The names of the columns, and what separates them.
#[derive(Debug)]
struct Header {
    names: Vec<String>,
    delimiter: u8,
    /// Whether a blank follows each delimiter, as people write lists. It belongs to no value.
    is_spaced: bool,
}

#[derive(Clone, Copy)]
enum Column {
    Key,
    /// An attribute that conditions compare.
    Slot(usize),
    Unused,
}

impl Header {
    /// Reads the header. The inner error is a sentence about it.
    fn read(chunks: &mut Chunks) -> io::Result<Result<Self, String>> {
        let chunk = chunks.next(1)?.unwrap_or_default();
        if let Some((_, reason)) = chunk.broken.first() {
            return Ok(Err(format!("the header of the audience cannot be read: {reason}")));
        }
        let Ok(text) = std::str::from_utf8(&chunk.bytes) else {
            return Ok(Err("the header of the audience is not UTF-8".to_owned()));
        };
        let (record, delimiter) = first_record(text).map_err(io::Error::other)?;
        let is_spaced = record.len() > 1 && record.iter().skip(1).all(|field| field.starts_with(b" "));
        let mut names: Vec<String> = Vec::new();
        for field in &record {
            let name = String::from_utf8_lossy(field).trim().to_owned();
            let shown = escaped(&cut(&name, 60)).to_string();
            if names.contains(&name) {
                return Ok(Err(format!("the header of the audience names `{shown}` twice")));
            }
            names.push(name);
        }
        if let [name] = names.as_slice()
            && name.contains(['|', ':', '=', '{', '['])
        {
            let shown = escaped(&cut(name, 60)).to_string();
            return Ok(Err(format!(
                "the header of the audience has the one column `{shown}`: write CSV with commas, whose header names `key` and \
                 the attributes, or one JSON object per line"
            )));
        }
        Ok(Ok(Self { names, delimiter, is_spaced }))
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
fn count_csv(
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
        match fill(&record, &columns, header.is_spaced, person) {
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

fn fill(
    record: &ByteRecord,
    columns: &[Column],
    is_spaced: bool,
    person: &mut Person<'_>,
) -> Result<(), String> {
    if record.len() != columns.len() {
        return Err(format!(
            "the line has {}, and the header has {}",
            counted(record.len(), "field"),
            columns.len()
        ));
    }
    person.reset(None);
    let fields = record.iter().map(|field| if is_spaced { field.trim_ascii_start() } else { field });
    for (field, column) in fields.zip(columns).filter(|(field, _)| !field.is_empty()) {
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

fn count_json(chunk: &Chunk, audience: &Audience, person: &mut Person<'_>, tally: &mut Tally) {
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
                text_of(raw.get()).map_err(|reason| A::Error::custom(format!("`{name}` {reason}")))?
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
fn text_of(raw: &str) -> Result<Option<Cow<'_, str>>, String> {
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

/// The size of a chunk; the last line may exceed it.
const CHUNK: usize = 256 * 1024;

const LONGEST_LINE: usize = 1024 * 1024;

#[derive(Debug, Default, Eq, PartialEq)]
struct Chunk {
    /// The number of the first line, from 1.
    first_line: u64,
    bytes: Vec<u8>,
    /// The lines after those in `bytes` that cannot be read, with the reason.
    broken: Vec<(u64, &'static str)>,
}

/// An audience that is read from its beginning.
struct Chunks {
    input: Input,
    /// Whether each line is an object. Otherwise the lines are CSV.
    is_json: bool,
    line: u64,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LineRead {
    End,
    TooLong,
    Whole,
}

impl Chunks {
    /// Begins to read. Skips a byte order mark.
    fn new(file: impl Read + 'static) -> io::Result<Self> {
        let mut reader = BufReader::with_capacity(CHUNK, file);
        let mut start = Vec::new();
        // A single read may return fewer bytes than there are.
        reader.by_ref().take(64).read_to_end(&mut start)?;
        let carry = start.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&start).to_vec();
        let first = carry.iter().find(|byte| !byte.is_ascii_whitespace());
        let is_json = first == Some(&b'{');
        let input = Input { carry: Cursor::new(carry), reader: Box::new(reader) };
        Ok(Self { input, is_json, line: 1 })
    }

    /// Returns the next records, until they have at least `size` bytes or one is broken; `None` at the end of
    /// the file.
    fn next(&mut self, size: usize) -> io::Result<Option<Chunk>> {
        let mut chunk =
            Chunk { first_line: self.line, bytes: Vec::with_capacity(size + size / 4), ..Chunk::default() };
        while chunk.bytes.len() < size && chunk.broken.is_empty() {
            if !self.record(&mut chunk)? {
                break;
            }
        }
        Ok((!chunk.bytes.is_empty() || !chunk.broken.is_empty()).then_some(chunk))
    }

    /// Appends a record: a line, or several in CSV if a quote is open. Returns false at the end of the file.
    fn record(&mut self, chunk: &mut Chunk) -> io::Result<bool> {
        let (first, start) = (self.line, chunk.bytes.len());
        let mut first_end = None;
        let mut is_open = false;
        loop {
            let from = chunk.bytes.len();
            let read = self.append_line(&mut chunk.bytes, start + LONGEST_LINE)?;
            let end = *first_end.get_or_insert(chunk.bytes.len());
            let reason = match read {
                LineRead::Whole => {
                    self.line += 1;
                    let quotes = chunk.bytes[from..].iter().filter(|byte| **byte == b'"').count();
                    is_open ^= quotes % 2 == 1;
                    if !is_open || self.is_json {
                        return Ok(true);
                    }
                    continue;
                }
                LineRead::End if from == start => return Ok(false),
                LineRead::TooLong if from == start => {
                    self.input.skip_until(b'\n')?;
                    "the line is longer than 1 MiB"
                }
                LineRead::End | LineRead::TooLong => "a quote is not closed",
            };
            // Only the first line is broken: the lines after it are read again.
            let mut rest = if from == start { Vec::new() } else { chunk.bytes.split_off(end) };
            self.input.carry.read_to_end(&mut rest)?;
            self.input.carry = Cursor::new(rest);
            chunk.bytes.truncate(start);
            chunk.broken.push((first, reason));
            self.line = first + 1;
            return Ok(true);
        }
    }

    /// Appends bytes to `out` up to and with the next line break, or until it has `most` bytes.
    fn append_line(&mut self, out: &mut Vec<u8>, most: usize) -> io::Result<LineRead> {
        let room = (most - out.len()) as u64;
        let read = self.input.by_ref().take(room).read_until(b'\n', out)?;
        let is_cut = out.len() == most && !out.ends_with(b"\n") && !self.input.fill_buf()?.is_empty();
        Ok(match read {
            _ if is_cut => LineRead::TooLong,
            0 => LineRead::End,
            _ => LineRead::Whole,
        })
    }
}

/// The rest of the file, after bytes that are read again.
struct Input {
    carry: Cursor<Vec<u8>>,
    reader: Box<dyn BufRead>,
}

impl Input {
    fn current(&mut self) -> &mut dyn BufRead {
        if self.carry.position() < self.carry.get_ref().len() as u64 {
            &mut self.carry
        } else {
            &mut self.reader
        }
    }
}

impl Read for Input {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        self.current().read(out)
    }
}

impl BufRead for Input {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        self.current().fill_buf()
    }

    fn consume(&mut self, bytes: usize) {
        self.current().consume(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Broken = Vec<(u64, &'static str)>;

    /// Returns the lines with their numbers, and the broken ones.
    fn read(text: Vec<u8>) -> (Vec<(u64, String)>, Broken) {
        let mut chunks = Chunks::new(Cursor::new(text)).unwrap();
        let (mut lines, mut broken) = (Vec::new(), Vec::new());
        while let Some(chunk) = chunks.next(CHUNK).unwrap() {
            let text = String::from_utf8(chunk.bytes).unwrap();
            let numbered = text.lines().zip(chunk.first_line..);
            lines.extend(numbered.map(|(line, number)| (number, line.to_owned())));
            broken.extend(chunk.broken);
        }
        (lines, broken)
    }

    #[test]
    fn lines_keep_their_numbers_across_chunks() {
        let text: String = (1..=60_000).map(|number| format!("line {number}\n")).collect();
        let (lines, broken) = read(text.into_bytes());
        assert_eq!((lines.len(), broken.len()), (60_000, 0));
        assert!(lines.iter().all(|(number, line)| *line == format!("line {number}")));
    }

    #[test]
    fn a_line_that_is_too_long_is_broken_and_the_next_one_is_read() {
        for first in ["{\"key\":\"", "key,\"a"] {
            let text = format!("{first}{}\nnext\n", "x".repeat(3 * LONGEST_LINE));
            let (lines, broken) = read(text.into_bytes());
            assert_eq!(lines, [(2, "next".to_owned())]);
            assert_eq!(broken, [(1, "the line is longer than 1 MiB")]);
        }
    }

    #[test]
    fn an_open_quote_breaks_one_line_only() {
        let (lines, broken) = read(b"key\n\"a\nb\"\nc\n\"d\ne\nf".to_vec());
        let expected = [(1, "key"), (2, "\"a"), (3, "b\""), (4, "c"), (6, "e"), (7, "f")];
        assert_eq!(lines, expected.map(|(number, line)| (number, line.to_owned())));
        assert_eq!(broken, [(5, "a quote is not closed")]);
        let many = format!("key\n\"open\n{}", "x\n".repeat(LONGEST_LINE));
        let (lines, broken) = read(many.into_bytes());
        assert_eq!((lines.len(), broken), (LONGEST_LINE + 1, vec![(2, "a quote is not closed")]));
    }

    #[test]
    fn the_format_follows_from_the_first_character_after_a_byte_order_mark() {
        for (text, is_json) in
            [(&b"\xef\xbb\xbf {\"key\":1}"[..], true), (b"\xef\xbb\xbfkey,age", false), (b"", false)]
        {
            let mut chunks = Chunks::new(Cursor::new(text.to_vec())).unwrap();
            assert_eq!(chunks.is_json, is_json);
            let chunk = chunks.next(CHUNK).unwrap();
            assert!(chunk.is_none_or(|chunk| !chunk.bytes.starts_with(b"\xef")));
        }
    }
}
