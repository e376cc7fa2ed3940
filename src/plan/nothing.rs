//! Plans with nothing, or nothing left, in them.

use std::collections::BTreeMap;

use super::{Overrides, Plan, SourceInfo};

impl Plan {
    /// The plan of a pass that knew that there was nothing to do.
    #[must_use]
    pub fn nothing(source: SourceInfo, base_url: Option<String>) -> Self {
        Self {
            source,
            base_url,
            changes: Vec::new(),
            held: Vec::new(),
            orphans: Vec::new(),
            records: Vec::new(),
            environment_holds: BTreeMap::new(),
            findings: Vec::new(),
            overrides: Overrides::default(),
            stopped: None,
        }
    }

    /// Returns whether there is nothing left to tell the next time besides the changes: nothing is held, pending,
    /// failed, unknown, invalid or an orphan.
    #[must_use]
    pub fn leaves_nothing(&self) -> bool {
        self.held.is_empty()
            && self.orphans.is_empty()
            && self.environment_holds.is_empty()
            && !self.has_invalid()
    }
}
