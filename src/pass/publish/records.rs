//! When documents were recorded as applied. With an empty disk, such as that of a job, only this tells which version on
//! the service was applied.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::OnceLock;

use crate::model::{ToggleId, chain};
use crate::state::{AppliedHistory, Error, RecordsSince};

/// Reads the history of the state once, when something first asks for it: most passes hold nothing.
#[derive(Debug)]
pub(crate) struct Records {
    state_dir: PathBuf,
    /// The toggles that may be asked for.
    toggles: BTreeSet<ToggleId>,
    /// None if the history cannot be read.
    read: OnceLock<Option<RecordsSince>>,
}

impl Records {
    pub(crate) const fn new(state_dir: PathBuf, toggles: BTreeSet<ToggleId>) -> Self {
        Self { state_dir, toggles, read: OnceLock::new() }
    }

    /// Returns the records since each toggle was last applied; none if the history cannot be read, which is logged.
    pub(super) fn read(&self) -> Option<&RecordsSince> {
        let read = || match self.since() {
            Ok(since) => Some(since),
            Err(error) => {
                let reason = chain(&error);
                tracing::warn!(name: "records_unread", reason, "could not read the history of the state");
                None
            }
        };
        self.read.get_or_init(read).as_ref()
    }

    fn since(&self) -> Result<RecordsSince, Error> {
        match AppliedHistory::open(&self.state_dir)? {
            Some(history) => history.since(self.toggles.clone()),
            None => Ok(RecordsSince::default()),
        }
    }
}
