//! The seam through which a test kills the process, so to speak, between any two steps that matter.

use std::fmt;
use std::sync::Arc;

use super::Error;

/// Asked at every crash point, by its name; `true` means that the process died there.
pub type CrashHook = Arc<dyn Fn(&'static str) -> bool + Send + Sync>;

/// The hook, or none, which is how everyone but a test runs.
#[derive(Clone, Default)]
pub(crate) struct Crash(pub(crate) Option<CrashHook>);

impl Crash {
    /// Goes on, or behaves as if the process died here: the caller does nothing more and cleans nothing up.
    pub(crate) fn at(&self, point: &'static str) -> Result<(), Error> {
        match &self.0 {
            Some(dies) if dies(point) => Err(Error::Crashed(point)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Crash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Crash")
    }
}
