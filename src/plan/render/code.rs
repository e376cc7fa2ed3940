//! Foreign text as code in Markdown.

use crate::model::escaped;

/// Returns `text`, escaped, as a code span that it cannot close.
#[must_use]
pub fn code(text: &str) -> String {
    let text = escaped(text).to_string();
    let ticks = "`".repeat(longest_run(&text) + 1);
    // CommonMark strips one space on each side, so that the text may begin or end with a backtick.
    format!("{ticks} {text} {ticks}")
}

/// Returns the length of the longest run of backticks.
pub(super) fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}
