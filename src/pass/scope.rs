//! Checks `--only` against the existing toggles.

use super::Error;
use crate::model::Scope;

/// Warns of globs that match no toggle.
///
/// # Errors
/// [`Error::NothingMatches`] if no glob matches a toggle.
pub fn check_scope(scope: &Scope, unmatched: &[String]) -> Result<(), Error> {
    // A scope that matches nothing would always succeed (DESIGN, section 3, *Never green by accident*).
    if !unmatched.is_empty() && unmatched.len() == scope.globs().len() {
        return Err(Error::NothingMatches(unmatched.to_owned()));
    }
    for glob in unmatched {
        tracing::warn!(name: "scope_unmatched", glob, "no toggle matches this glob of `--only`");
    }
    Ok(())
}
