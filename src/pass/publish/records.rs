//! When documents were recorded as applied. With an empty disk, such as that of a job, only this tells which version on
//! the service was applied.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::model::ToggleId;
use crate::state::{AppliedHistory, Error, RecordsSince};

/// Reads the history of the state once, when something first asks for it: most passes hold nothing.
#[derive(Debug)]
pub(crate) struct Records {
    state_dir: PathBuf,
    /// The toggles that may be asked for.
    toggles: BTreeSet<ToggleId>,
    read: OnceLock<RecordsSince>,
}

impl Records {
    pub(crate) const fn new(state_dir: PathBuf, toggles: BTreeSet<ToggleId>) -> Self {
        Self { state_dir, toggles, read: OnceLock::new() }
    }

    /// Returns when it was recorded that a toggle was last applied, in seconds since 1970-01-01 UTC; none if it never
    /// was, or if the history cannot be read.
    pub(super) fn at(&self, id: &ToggleId) -> Option<i64> {
        self.read.get_or_init(|| self.since().unwrap_or_default()).at(id)
    }

    fn since(&self) -> Result<RecordsSince, Error> {
        match AppliedHistory::open(&self.state_dir)? {
            Some(history) => history.since(self.toggles.clone()),
            None => Ok(RecordsSince::default()),
        }
    }
}
