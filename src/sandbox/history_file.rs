//! Keeps the history in a file: one line of JSON for each stored document, in append-only order.

use std::fs::{File, OpenOptions};
use std::io::{BufRead as _, BufReader, Seek as _, SeekFrom, Write as _};
use std::path::Path;

use super::body::documented;
use super::document::StoredDocument;

/// A history file that is open for appending.
pub(super) struct HistoryFile(File);

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
        let mut line = serde_json::to_vec(published)?;
        line.push(b'\n');
        self.0.write_all(&line)
    }
}

fn read(line: &[u8]) -> std::io::Result<StoredDocument> {
    let document: StoredDocument = serde_json::from_slice(line)?;
    // An operator may have edited the file.
    documented(&document.body.content).map_err(std::io::Error::other)?;
    Ok(document)
}
