//! Shows the progress of an import: a bar on a terminal, and nothing elsewhere.

use std::sync::OnceLock;

use indicatif::ProgressBar;

use crate::cli::progress_bar::progress_bar;
use crate::pass::import::ImportEvent;

/// A bar with count, rate and remaining time.
#[derive(Default)]
pub(super) struct ImportProgress(OnceLock<ProgressBar>);

impl ImportProgress {
    pub(super) fn observe(&self, event: ImportEvent) {
        match event {
            ImportEvent::Begins(count) => drop(self.0.set(progress_bar(count))),
            ImportEvent::Done => {
                if let Some(bar) = self.0.get() {
                    bar.inc(1);
                }
            }
        }
    }

    pub(super) fn clear(&self) {
        if let Some(bar) = self.0.get() {
            bar.finish_and_clear();
        }
    }
}
