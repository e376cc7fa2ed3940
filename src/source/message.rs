//! Commit messages, decoded by what the commit says its encoding is.

use crate::model::{Commit, CommitId};

use super::reader::object_id;

/// Returns `commit` as a value.
pub(super) fn commit(commit: &git2::Commit<'_>) -> Commit {
    let encoding = commit.header_field_bytes("encoding").ok();
    let encoding = encoding.as_deref().map(String::from_utf8_lossy);
    Commit {
        id: CommitId(object_id(commit.id())),
        message: decode(commit.message_raw_bytes(), encoding.as_deref()),
        committed_at: commit.committer().when().seconds(),
    }
}

/// Decodes `bytes`; what is not known or broken becomes UTF-8 with replacement characters.
fn decode(bytes: &[u8], encoding: Option<&str>) -> String {
    let encoding = encoding
        .unwrap_or("utf-8")
        .trim()
        .to_ascii_lowercase()
        .replace('_', "-");
    let table = match encoding.as_str() {
        "iso-8859-1" | "iso8859-1" | "latin1" | "latin-1" => |byte: u8| char::from(byte),
        "iso-8859-15" | "iso8859-15" | "latin9" | "latin-9" => latin_9,
        "windows-1252" | "cp1252" | "cp-1252" => windows_1252,
        _ => return String::from_utf8_lossy(bytes).into_owned(),
    };
    bytes.iter().map(|byte| table(*byte)).collect()
}

/// Latin-1 with eight characters replaced.
fn latin_9(byte: u8) -> char {
    match byte {
        0xa4 => '€',
        0xa6 => 'Š',
        0xa8 => 'š',
        0xb4 => 'Ž',
        0xb8 => 'ž',
        0xbc => 'Œ',
        0xbd => 'œ',
        0xbe => 'Ÿ',
        byte => char::from(byte),
    }
}

/// Latin-1 with letters and punctuation in place of the second block of control characters.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_is_decoded_by_its_encoding() {
        for (bytes, encoding, text) in [
            (&b"na\xefve"[..], Some("ISO-8859-1"), "naïve"),
            (b"5 \x80 \x96", Some("windows-1252"), "5 € –"),
            (b"5 \xa4", Some("ISO-8859-15"), "5 €"),
            ("naïve".as_bytes(), None, "naïve"),
            (b"na\xefve", None, "na\u{fffd}ve"),
            (b"na\xefve", Some("klingon"), "na\u{fffd}ve"),
        ] {
            assert_eq!(decode(bytes, encoding), text, "{encoding:?}");
        }
    }
}
