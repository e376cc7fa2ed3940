//! Finds out whether the toggles of one project are archived, and of which type their values are, while a pass publishes.
//!
//! No response of the service shows everything that may hold a publish: a targeting shows the version, the content, the
//! draft and whether approvals are needed, and only lists and the toggle itself show that it is archived. A base version
//! guards the content alone. So a pass reads each targeting, and one list for all toggles of the project, in whichever
//! environments.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use super::lists::ListedToggle;
use super::{ByKey, LiveReader};
use crate::model::{Key, ToggleId};
use crate::service::Outcome;

/// The age at which a list is read again. A toggle that someone archives is held from then on.
const LIST_LIFE: Duration = Duration::from_secs(10);

/// A list that takes long to read is used for this many times as long, so that reading it takes little of a pass.
const LIFE_PER_READ: u32 = 10;

/// The toggles of one project during one pass.
#[derive(Debug)]
pub struct ProjectReader {
    reader: LiveReader,
    project: Key,
    demand: ToggleDemand,
    // Locked while the list is read, so that workers who wait for it do not read it, too.
    list: Mutex<Option<KeptList>>,
}

/// How many toggles of a project a pass looks up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ToggleDemand {
    /// One, perhaps in several environments. The toggle itself is read each time.
    One,
    /// Several. The list of all toggles of the project is read.
    Several,
}

#[derive(Debug)]
struct KeptList {
    toggles: ByKey<ListedToggle>,
    read_again_at: Instant,
}

impl ProjectReader {
    /// Returns a reader of `project` that has read nothing yet.
    #[must_use]
    pub fn new(reader: LiveReader, project: Key, demand: ToggleDemand) -> Self {
        Self {
            reader,
            project,
            demand,
            list: Mutex::default(),
        }
    }

    /// Returns a toggle of this project at `now`, archived or not; `None` if the service does not have it. Of several
    /// toggles, one that was archived in the last 10 s, or in ten times the time that the list takes to read, may be
    /// returned as not archived.
    ///
    /// # Errors
    /// The outcome of the read that failed; the next call reads again.
    pub async fn find(&self, id: &ToggleId, now: Instant) -> Result<Option<ListedToggle>, Outcome> {
        if self.demand == ToggleDemand::Several {
            let mut list = self.list.lock().await;
            if list.as_ref().is_none_or(|list| list.read_again_at <= now) {
                *list = None;
                *list = Some(self.read(now).await?);
            }
            let listed = list.as_ref().and_then(|list| list.toggles.get(id.toggle()));
            if let Some(listed) = listed {
                return Ok(Some(listed.clone()));
            }
        }
        // Not kept: the toggle may be created or restored during the pass.
        self.reader.toggle(id).await
    }

    async fn read(&self, now: Instant) -> Result<KeptList, Outcome> {
        let started = Instant::now();
        let listing = self.reader.toggles_of_project(&self.project).await?;
        let toggles = listing.entries.into_iter();
        Ok(KeptList {
            toggles: toggles.map(|toggle| (toggle.key.clone(), toggle)).collect(),
            read_again_at: now + LIST_LIFE.max(started.elapsed() * LIFE_PER_READ),
        })
    }
}
