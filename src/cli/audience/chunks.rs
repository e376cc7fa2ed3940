//! Splits an audience into chunks of whole lines, in constant memory.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The size of a chunk; the last line may exceed it.
const CHUNK: usize = 256 * 1024;

/// The maximum size of one user.
const LONGEST: usize = 1024 * 1024;

/// The format of an audience.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum LineFormat {
    /// A header, then one record per user.
    Csv,
    /// One JSON object per line.
    Json,
}

/// Whole lines.
#[derive(Debug, Default, Eq, PartialEq)]
pub(super) struct Chunk {
    /// The number of the first line, from 1.
    pub(super) first_line: u64,
    pub(super) bytes: Vec<u8>,
    /// The lines after those in `bytes` that cannot be read, with the reason.
    pub(super) broken: Vec<(u64, &'static str)>,
}

/// An audience that is read from its beginning.
pub(super) struct Chunks {
    input: Input,
    format: LineFormat,
    line: u64,
}

/// The result of reading a line.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum LineRead {
    End,
    TooLong,
    Whole,
}

impl Chunks {
    /// Begins to read. Skips a byte order mark.
    pub(super) fn new(file: impl Read + 'static) -> io::Result<Self> {
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

    pub(super) fn format(&self) -> LineFormat {
        self.format
    }

    /// Returns the next chunk; `None` at the end of the file.
    pub(super) fn next_chunk(&mut self) -> io::Result<Option<Chunk>> {
        self.chunk_of(CHUNK)
    }

    /// Returns the next record alone, which is the header.
    pub(super) fn next_record(&mut self) -> io::Result<Option<Chunk>> {
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
