//! Keeps the history in a file: one line of JSON for each stored document, in append-only order.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use bytes::Bytes;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::body::check;
use super::document::StoredDocument;
use crate::model::{Content, Payload, Targeting, ToggleId};

/// A history file that is open for appending.
pub(super) struct HistoryFile(File);

/// One line, which is also one element of `GET /api/sandbox/history`.
#[derive(Deserialize, Serialize)]
pub(super) struct HistoryLine {
    seq: usize,
    toggle: ToggleId,
    version: u64,
    at: String,
    comment: String,
    disabled: bool,
    content: Content,
}

impl HistoryFile {
    /// Opens or creates `path` and reads its documents. Removes a last line that was cut off.
    pub(super) fn open(path: &Path) -> std::io::Result<(Self, Vec<StoredDocument>)> {
        let mut file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)?;
        let mut published = Vec::new();
        let mut good = 0;
        let mut reader = BufReader::new(&file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line)? > 0 && line.ends_with(b"\n") {
            published.push(read(&line)?);
            good += line.len() as u64;
            line.clear();
        }
        // The next document would otherwise continue the torn line.
        file.set_len(good)?;
        file.seek(SeekFrom::Start(good))?;
        Ok((Self(file), published))
    }

    pub(super) fn append(&mut self, published: &StoredDocument) -> std::io::Result<()> {
        let mut line = serde_json::to_vec(&HistoryLine::new(published))?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

impl HistoryLine {
    pub(super) fn new(published: &StoredDocument) -> Self {
        let Targeting { disabled, content } = published.targeting();
        Self {
            seq: published.seq,
            toggle: published.toggle.clone(),
            version: published.version,
            at: published.at.to_string(),
            comment: published.comment(),
            disabled,
            content,
        }
    }
}

fn read(line: &[u8]) -> std::io::Result<StoredDocument> {
    let HistoryLine {
        seq,
        toggle,
        version,
        at,
        comment,
        disabled,
        content,
    } = serde_json::from_slice(line)?;
    let body = Payload::new(&Targeting { disabled, content }).body(&comment);
    // An operator may have edited the file, and `StoredDocument` relies on a checked body.
    check(body.as_bytes()).map_err(std::io::Error::other)?;
    Ok(StoredDocument {
        seq,
        toggle,
        version,
        at: at.parse::<Timestamp>().map_err(std::io::Error::other)?,
        body: Bytes::from(body),
    })
}
