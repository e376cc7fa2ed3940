//! Failpoints: a test stops at a named step as if the process had crashed there.

use std::fmt;
use std::sync::Arc;

use super::error::RepositoryError;

/// Returns whether the process crashes at the failpoint with this name.
pub type FailpointHook = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;

/// The hook of a test; `None` in production.
#[derive(Clone, Default)]
pub(crate) struct Failpoints(pub(crate) Option<FailpointHook>);

impl Failpoints {
    /// Fails if the hook returns true, as if the process crashed here: the caller must not clean up.
    pub(crate) fn at(&self, point: &'static str) -> Result<(), RepositoryError> {
        match &self.0 {
            Some(crashes) if crashes(point) => Err(RepositoryError::Crashed(point)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failpoints")
    }
}
