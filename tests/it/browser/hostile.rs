//! Names and texts that could break a page.

use crate::support::{Repo, doc};

/// Text that would run, hide or reorder something if a page did not escape it.
pub(super) const TEXT: &str = "<img src=x onerror=alert(1)><script>alert(2)</script>\"'&amp;\u{202e}\u{2066}";

/// Commits toggles with the longest names, and a subject of 1,100 characters without a space.
pub(super) fn toggles(repo: &Repo) {
    let name = "x".repeat(128);
    let path = format!("{name}/{name}/{name}.yaml");
    repo.file(&path, doc(18).replace("adults", "<b>adults</b>"))
        .commit(&format!("{TEXT}{}\n\n{TEXT}", "y".repeat(1_100 - TEXT.len())));
}
