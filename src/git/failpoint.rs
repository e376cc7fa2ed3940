//! Failpoints: a test stops at a named step as if the process had died there.

use std::fmt;
use std::sync::Arc;

use super::RepositoryError;

/// Is asked at every failpoint, by its name, whether the process dies there.
pub type FailpointHook = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;

/// The hook of a test; none in every other process.
#[derive(Clone, Default)]
pub(crate) struct Failpoints(pub(crate) Option<FailpointHook>);

impl Failpoints {
    /// Goes on, or fails as if the process died here: the caller does nothing more and cleans nothing up.
    pub(crate) fn at(&self, point: &'static str) -> Result<(), RepositoryError> {
        match &self.0 {
            Some(dies) if dies(point) => Err(RepositoryError::Crashed(point)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Failpoints {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Failpoints")
    }
}
