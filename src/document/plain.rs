//! Reads documents with serde_yaml, which is several times as fast as a syntax tree with positions.
//!
//! `Some` is exactly what the syntax tree has, without a finding. `None` means that the tree decides:
//! serde_yaml reports only the first error, and reads some parts of YAML that documents do not have or that
//! parsers read differently.

use super::resolve::RawDocument;
use super::shape::may_deceive;

/// The largest [`work`] that serde_yaml gets.
pub(super) const MOST_WORK: usize = 1 << 26;

/// Returns the document, or `None` if the syntax tree must read it: also if the text takes more than
/// `most_work`.
pub(super) fn parse(text: &str, most_work: usize) -> Option<RawDocument> {
    if work(text) <= most_work && is_plain(text) { serde_yaml::from_str(text).ok() } else { None }
}

/// Returns the product of the size of a text and the number of its brackets, with which the time of
/// serde_yaml can grow.
pub(super) fn work(text: &str) -> usize {
    text.bytes().filter(|byte| matches!(byte, b'[' | b'{')).count() * text.len()
}

/// Returns whether all parsers read `text` the same, if it is valid.
pub(super) fn is_plain(text: &str) -> bool {
    text.split(['\n', '\r']).all(|line| !has_indicator(without_comment(line)))
        // Line breaks to some parsers, and a byte order mark.
        && !text.contains(['\u{85}', '\u{2028}', '\u{2029}', '\u{feff}'])
        // They may be findings, which need the positions.
        && !may_deceive(text)
        // serde_yaml also reads `0b1`, `+0b1` and `+0x1` as numbers.
        && !text.contains("0b")
        && !text.contains("+0")
}

/// Returns the line up to its comment.
fn without_comment(line: &str) -> &str {
    let begin = if line.starts_with('#') { Some(0) } else { line.find(" #") };
    match begin {
        // Before a quote, it may be within quotes, which end on this line.
        Some(at) if !line[at..].contains(['"', '\'']) => &line[..at],
        _ => line,
    }
}

/// Returns whether `line` has a tab, or a character that may begin an anchor, an alias, a tag, a block
/// scalar, a directive or a complex key, or a dash that some parsers read as text.
fn has_indicator(line: &str) -> bool {
    let (mut before, mut is_dash) = (b' ', false);
    line.bytes().any(|byte| {
        let is_inner = before.is_ascii_alphanumeric() || matches!(before, b'"' | b'\'');
        let follows_dash = std::mem::replace(&mut is_dash, byte == b'-' && !is_inner);
        before = byte;
        match byte {
            b'\t' => true,
            b'&' | b'*' | b'!' | b'|' | b'>' | b'%' | b'?' => !is_inner,
            b',' | b'[' | b']' | b'{' | b'}' => follows_dash,
            _ => false,
        }
    })
}
