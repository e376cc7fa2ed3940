//! `plan --audience`: counts whom the changes of a plan affect. Streams the file, in chunks of whole lines and in constant
//! memory.
//!
//! Users are CSV with a header that names `key` and the attributes, or JSON, one object per line with them as members.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read};
use std::path::Path;

use csv::{ByteRecord, Reader, ReaderBuilder};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::args::AudienceArgs;
use super::explain::Lookup;
use super::failure::Failure;
use super::{setup, validate};
use crate::config::Settings;
use crate::evaluate::{Audience, Person, Tally, UserImpact};
use crate::model::{CommitId, Payload, ToggleId, counted, cut, escaped};
use crate::pass::{CheckTarget, DocumentFiles, Files};
use crate::plan::{Before, Change, Plan};
use crate::source::{CacheMode, SourceConfig};

/// Counts the users of a file whom the changes of `plan` affect, withheld ones included.
pub(super) fn impact(
    plan: &Plan,
    files: Files,
    args: &AudienceArgs,
    settings: &Settings,
) -> Result<UserImpact, Failure> {
    let file = File::open(&args.file).map_err(|error| unreadable(&args.file, error))?;
    let audience = compile(plan, files, settings)?;
    let tally = stream(&audience, file, args)?;
    let impact = audience.impact(&tally);
    // A plan for an audience of nobody must not look as if no user were affected (DESIGN, section 3).
    match impact.users.users {
        0 => Err(empty(&args.file, &impact)),
        _ => Ok(impact),
    }
}

fn compile(plan: &Plan, files: Files, settings: &Settings) -> Result<Audience, Failure> {
    let withheld = plan.withheld().iter().filter_map(|withheld| withheld.change.as_deref());
    let changes: BTreeMap<_, _> = plan.changes().iter().chain(withheld).map(sides).collect();
    // The revision of the plan, because the ref may have moved since.
    let revision = |commit: &CommitId| {
        CheckTarget::Revision(Box::new(SourceConfig {
            reference: Some(commit.to_string()),
            ..setup::source(settings, CacheMode::Untouched)
        }))
    };
    let target = match files {
        Files::Committed => revision(&plan.source().revision),
        Files::WorkTree => validate::everything(settings)?,
    };
    // A toggle whose file was removed or is invalid keeps its version before.
    let base = plan.source().base.as_ref().map(|base| revision(&base.revisions[0]));
    let mut others = OtherToggles {
        places: [Some(target), base].into_iter().flatten().map(|target| (target, None)).collect(),
        settings,
        error: None,
    };
    let audience = Audience::new(&changes, |id| others.find(id));
    others.error.map_or(Ok(audience), Err)
}

/// Returns a toggle with its targeting before and after its change.
fn sides(change: &Change) -> (ToggleId, (Result<Option<Payload>, ()>, Payload)) {
    let before = match &change.before {
        Before::Unreadable => Err(()),
        before => Ok(before.payload().cloned()),
    };
    (change.id.clone(), (before, change.payload.clone()))
}

/// The toggles that do not change, which prerequisites may name. Their files are listed only if one is needed.
struct OtherToggles<'a> {
    /// Where to look for a document. The first place that has a valid one counts.
    places: Vec<(CheckTarget, Option<DocumentFiles>)>,
    settings: &'a Settings,
    error: Option<Failure>,
}

impl OtherToggles<'_> {
    fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        let Self { places, settings, error } = self;
        places.iter_mut().find_map(|(target, opened)| {
            if opened.is_none() {
                match DocumentFiles::open(target, &settings.layout, settings.service_kind) {
                    Ok(files) => *opened = Some(files),
                    Err(failed) => {
                        error.get_or_insert(failed.into());
                    }
                }
            }
            let mut lookup = Lookup::new(opened.as_ref()?);
            let found = lookup.find(id);
            if let Err(failed) = lookup.finish() {
                error.get_or_insert(failed);
            }
            found
        })
    }
}

fn stream(audience: &Audience, file: File, args: &AudienceArgs) -> Result<Tally, Failure> {
    let read_error = |error| unreadable(&args.file, error);
    let mut chunks = Chunks::new(file).map_err(read_error)?;
    let header = match chunks.format() {
        LineFormat::Csv => Some(Header::read(&mut chunks).map_err(read_error)?.map_err(Failure::failed)?),
        LineFormat::Json => None,
    };
    let (mut tally, mut person) = (audience.tally(), audience.person(args.at));
    while let Some(chunk) = chunks.next_chunk().map_err(read_error)? {
        match &header {
            Some(header) => count_csv(&chunk, header, audience, &mut person, &mut tally),
            None => count_json(&chunk, audience, &mut person, &mut tally),
        }
        for (line, reason) in &chunk.broken {
            tally.broken(*line, (*reason).to_owned());
        }
    }
    Ok(tally)
}

fn unreadable(path: &Path, error: io::Error) -> Failure {
    let path = path.to_string_lossy();
    Failure::could_not(format!("read the audience `{}`", escaped(&path)))(error)
}

fn empty(path: &Path, impact: &UserImpact) -> Failure {
    let path = path.to_string_lossy();
    let failure = Failure::failed(format!("the audience `{}` has no user", escaped(&path)));
    match impact.users.first_broken.first() {
        Some(broken) => failure.hint(format!("line {}: {}", broken.line, broken.reason)),
        None => {
            failure.hint("write one JSON object per line, or CSV with a header, with a `key` and attributes")
        }
    }
}

/// The names of the columns, and what separates them.
#[derive(Debug)]
struct Header {
    names: Vec<String>,
    delimiter: u8,
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

const LONGEST: usize = 1024 * 1024;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LineFormat {
    /// A header, then one record per user.
    Csv,
    /// One JSON object per line.
    Json,
}

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
    format: LineFormat,
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
        let format = match first {
            Some(b'{') => LineFormat::Json,
            _ => LineFormat::Csv,
        };
        let input = Input { carry: Cursor::new(carry), reader: Box::new(reader) };
        Ok(Self { input, format, line: 1 })
    }

    fn format(&self) -> LineFormat {
        self.format
    }

    /// Returns the next chunk; `None` at the end of the file.
    fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        self.chunk_of(CHUNK)
    }

    /// Returns the next record alone, which is the header.
    fn next_record(&mut self) -> io::Result<Option<Chunk>> {
        self.chunk_of(1)
    }

    /// Returns the next records, until they have at least `size` bytes or one is broken.
    fn chunk_of(&mut self, size: usize) -> io::Result<Option<Chunk>> {
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
            let read = self.append_line(&mut chunk.bytes, start + LONGEST)?;
            let end = *first_end.get_or_insert(chunk.bytes.len());
            let reason = match read {
                LineRead::Whole => {
                    self.line += 1;
                    let quotes = chunk.bytes[from..].iter().filter(|byte| **byte == b'"').count();
                    is_open ^= quotes % 2 == 1;
                    if !is_open || self.format == LineFormat::Json {
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
        while let Some(chunk) = chunks.next_chunk().unwrap() {
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
            let text = format!("{first}{}\nnext\n", "x".repeat(3 * LONGEST));
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
        let many = format!("key\n\"open\n{}", "x\n".repeat(LONGEST));
        let (lines, broken) = read(many.into_bytes());
        assert_eq!((lines.len(), broken), (LONGEST + 1, vec![(2, "a quote is not closed")]));
    }

    #[test]
    fn the_format_follows_from_the_first_character_after_a_byte_order_mark() {
        for (text, format) in [
            (&b"\xef\xbb\xbf {\"key\":1}"[..], LineFormat::Json),
            (b"\xef\xbb\xbfkey,age", LineFormat::Csv),
            (b"", LineFormat::Csv),
        ] {
            let mut chunks = Chunks::new(Cursor::new(text.to_vec())).unwrap();
            assert_eq!(chunks.format(), format);
            let chunk = chunks.next_chunk().unwrap();
            assert!(chunk.is_none_or(|chunk| !chunk.bytes.starts_with(b"\xef")));
        }
    }
}
