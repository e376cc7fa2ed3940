//! Waiting for a checkout: what the driver does while no repository has been at the path of the source yet.
//!
//! A sidecar may start before the process that provides the checkout. That is neither an error nor a pass. The ref is
//! looked up every second meanwhile, so that the first pass starts as soon as there is a repository.

use std::path::Path;

use super::driver::Driver;
use crate::pass::Error;

impl Driver {
    /// Returns the path that has to be waited for: no repository is there, and none has been since the start.
    pub(super) fn awaited<'e>(&self, error: &'e Error) -> Option<&'e Path> {
        let is_new = self.status.borrow().source.revision.is_none();
        error.missing_checkout().filter(|_| is_new)
    }

    /// Reports that there is no checkout at `path` yet, in the log once.
    pub(super) fn wait_for_checkout(&self, path: &Path) {
        self.status.send_if_modified(|status| {
            let awaited = &mut status.source.awaited;
            let is_news = awaited.as_deref() != Some(path);
            if is_news {
                tracing::info!(name: "waiting_for_checkout", path = %path.display(), "waiting for a checkout at the path of the source");
                *awaited = Some(path.to_owned());
            }
            is_news
        });
    }
}
