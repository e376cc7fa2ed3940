//! Blocks of code in Markdown, and the limit of a comment.

use super::defused;
use super::inline::longest_run;

/// Joins the parts that fit into a comment, and counts the others.
pub(in crate::plan) fn fitting(parts: impl IntoIterator<Item = String>) -> String {
    // GitHub refuses comments of more than 65,536 characters.
    const LONGEST: usize = 60_000;
    /// Room for the last notes.
    const RESERVE: usize = 400;
    let mut out = String::new();
    let (mut used, mut left_out) = (0, 0);
    for part in parts {
        // Defusing may add characters, so it comes before the count.
        let part = defused(&part);
        let length = part.chars().count();
        if used + length > LONGEST - RESERVE {
            // The loop goes on, because a shorter entry may still fit.
            left_out += 1;
        } else {
            used += length;
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

/// Returns lines as a block of code that they cannot close.
pub(in crate::plan) fn block(lines: &[String]) -> String {
    let body = lines.join("\n");
    // A fence is longer than any fence inside it (DESIGN, section 3).
    let fence = "`".repeat((longest_run(&body) + 1).max(3));
    format!("{fence}diff\n{body}\n{fence}\n")
}
