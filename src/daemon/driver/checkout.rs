//! Waits for a checkout while no repository exists at the path of the source yet.
//!
//! A sidecar may start before the process that provides the checkout. That is neither an error nor a pass. The driver
//! looks up the ref every second, so the first pass starts as soon as the repository exists.

use std::path::Path;

use super::Driver;
use crate::pass::Error;

impl Driver {
    /// Returns the path of the missing checkout if no repository has existed there since startup.
    pub(super) fn awaited<'e>(&self, error: &'e Error) -> Option<&'e Path> {
        // A repository that vanishes later is an error, which the pass reports.
        let is_new = self.status.borrow().source.revision.is_none();
        error.missing_checkout().filter(|_| is_new)
    }

    /// Reports that no checkout exists at `path` yet; logs it once.
    pub(super) fn wait_for_checkout(&self, path: &Path) {
        self.status.send_if_modified(|status| {
            let awaited = &mut status.source.awaited;
            let is_new = awaited.as_deref() != Some(path);
            if is_new {
                tracing::info!(name: "waiting_for_checkout", path = %path.display(), "waiting for a checkout at the path of the source");
                *awaited = Some(path.to_owned());
            }
            is_new
        });
    }
}
