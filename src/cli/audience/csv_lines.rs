//! Users as CSV: a header that names `key` and the attributes, then one record per user.

use std::io;

use csv::{ByteRecord, Reader, ReaderBuilder};

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
            return Ok(Err(format!(
                "the header of the audience cannot be read: {reason}"
            )));
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
    ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(bytes)
}

/// Counts the users of a chunk. An empty field is an attribute that the user does not have.
pub(super) fn count(
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
    let byte = usize::try_from(position.byte())
        .ok()
        .and_then(|at| chunk.bytes.get(at));
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
