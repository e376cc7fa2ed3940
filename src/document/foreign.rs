//! Recognizes Git LFS pointers and unresolved merge conflicts.

use super::check;
use super::finding::Finding;
use super::node::{Position, Span};

/// Returns whether `text` is the pointer that Git LFS leaves in place of a file.
pub(super) fn is_lfs_pointer(text: &str) -> bool {
    // `hawser` was the name of Git LFS before its first release.
    text.starts_with("version https://git-lfs.github.com/spec/")
        || text.starts_with("version https://hawser.github")
}

/// Returns the error at the first conflict marker in `text`. Call it only for a file that cannot be read: a line of a
/// multi-line text may begin with a marker.
pub(super) fn conflict_marker(text: &str) -> Option<Finding> {
    let (index, line) = text.lines().enumerate().find(|(_, line)| is_marker(line))?;
    let span =
        Span { start: Position::new(index + 1, 1), end: Position::new(index + 1, line.chars().count() + 1) };
    let message = "this file contains an unresolved merge conflict";
    let finding = Finding::at(&check::CONFLICT_MARKER, span, message);
    Some(finding.help("resolve the conflict, then commit the file again"))
}

fn is_marker(line: &str) -> bool {
    let has_name = ["<<<<<<<", "|||||||", ">>>>>>>"]
        .iter()
        .filter_map(|marker| line.strip_prefix(marker))
        .any(|rest| rest.is_empty() || rest.starts_with(' '));
    // Git writes no name after this marker, so a longer line is ordinary text.
    has_name || line == "======="
}
