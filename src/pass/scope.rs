//! Checks `--only` against the toggles that exist.

use super::Error;
use crate::model::Scope;

/// Refuses a scope of which no glob matches a toggle, and warns of single globs that match none.
///
/// # Errors
/// [`Error::NothingMatches`].
pub fn check_scope(scope: &Scope, unmatched: &[String]) -> Result<(), Error> {
    if !unmatched.is_empty() && unmatched.len() == scope.globs().len() {
        return Err(Error::NothingMatches(unmatched.to_owned()));
    }
    for glob in unmatched {
        tracing::warn!(name: "scope_unmatched", glob, "no toggle matches this glob of `--only`");
    }
    Ok(())
}
