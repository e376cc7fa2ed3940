//! Finds out whether a repository is damaged, before gitoggle replaces a clone.

use std::path::Path;

use super::GitAccess;
use super::host_error::GitError;
use super::process::{local, run};
use super::process_group::StepKind;
use super::repository::has_unreadable;

/// Returns whether `repository` is damaged: an object that a ref reaches is missing or malformed, or one that
/// the failed step with `error` names cannot be read. A look that fails shows nothing.
pub(crate) fn is_damaged(repository: &Path, access: &GitAccess, error: &GitError) -> bool {
    if has_unreadable(repository, &error.objects()) {
        return true;
    }
    let mut fsck = local(repository);
    fsck.args(["fsck", "--connectivity-only", "--no-dangling", "--no-progress"]);
    let Ok(output) = run(fsck, StepKind::Read, access.timeout, repository.display()) else { return false };
    // Its code alone does not say whether it has looked: a `git` that cannot run ends with any code.
    let said = format!("{}\n{}", String::from_utf8_lossy(&output.stdout), output.stderr);
    let says = |signs: &[&str]| signs.iter().any(|sign| said.contains(sign));
    matches!(output.code, Some(1..=128)) && says(DAMAGE) && !says(NOT_READ)
}

/// Parts of what `git fsck` says about a damaged repository.
const DAMAGE: &[&str] = &[
    "bad object",
    "bad tree",
    "broken link",
    "corrupt",
    "error in ",
    "garbage",
    "invalid ",
    "mismatch",
    "missing ",
    "not a git repository",
    "truncated",
    "unable to read",
    "unable to unpack",
];

/// Parts of what it says where the system did not let it look.
const NOT_READ: &[&str] = &[
    "Cannot allocate memory",
    "Out of memory",
    "Permission denied",
    "Resource temporarily unavailable",
    "Too many open files",
    "out of memory",
];
