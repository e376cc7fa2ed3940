//! Reads files of limited size.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// Reads the file at `path`, of at most `limit` bytes.
///
/// # Errors
/// [`ErrorKind::FileTooLarge`] if it has more.
pub(crate) fn read_limited(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // Not the size of its metadata, because a device has none.
    File::open(path)?.take(limit + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit {
        let why = format!("the file is larger than {} KiB", limit >> 10);
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Reads a text file as [`read_limited`] does, without the byte order mark that some editors write.
///
/// # Errors
/// [`ErrorKind::InvalidData`] if the text is not UTF-8, and those of [`read_limited`].
pub(crate) fn read_limited_text(path: &Path, limit: u64) -> io::Result<String> {
    let bytes = read_limited(path, limit)?;
    let text = String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "the file is not UTF-8"))?;
    Ok(match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_more_bytes_than_the_limit_is_an_error_and_no_shorter_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "x".repeat(2048)).unwrap();
        assert_eq!(read_limited(&path, 2048).unwrap().len(), 2048);
        let error = read_limited(&path, 1024).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert_eq!(error.to_string(), "the file is larger than 1 KiB");
        assert!(read_limited(Path::new("/dev/zero"), 1024).is_err());
    }

    #[test]
    fn a_text_file_is_utf_8() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, b"\xff").unwrap();
        let error = read_limited_text(&path, 1024).unwrap_err();
        assert_eq!(error.to_string(), "the file is not UTF-8");
        assert_eq!(read_limited(&path, 1024).unwrap(), b"\xff");
    }
}
