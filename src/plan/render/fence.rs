//! Blocks of code in Markdown, and the limit of a comment.

use super::defused;
use super::inline::longest_run;

/// Joins the parts that fit into `limit` bytes, and counts the others.
#[must_use]
pub fn fitting(parts: impl IntoIterator<Item = String>, limit: usize) -> String {
    /// The room for the last line.
    const RESERVE: usize = 100;
    let mut out = String::new();
    let mut left_out = 0;
    for part in parts {
        // Defusing may add characters, so it comes before the count.
        let part = defused(&part);
        if out.len() + part.len() > limit.saturating_sub(RESERVE) {
            // The loop goes on, because a shorter entry may still fit.
            left_out += 1;
        } else {
            out.push_str(&part);
        }
    }
    if left_out > 0 {
        out.push_str(&format!(
            "\n{left_out} more entries did not fit; `-o json` has them all.\n"
        ));
    }
    out
}

/// Returns the lines of a diff as a block of code that they cannot close.
pub(in crate::plan) fn block(lines: &[String]) -> String {
    fenced("diff", &lines.join("\n"))
}

/// Returns text in a language as a block of code that it cannot close.
pub(super) fn fenced(language: &str, body: &str) -> String {
    // A fence is longer than any fence inside it (DESIGN, section 3).
    let fence = "`".repeat((longest_run(body) + 1).max(3));
    format!("{fence}{language}\n{body}\n{fence}\n")
}
