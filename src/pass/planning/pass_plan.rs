//! Plans a pass of a process that holds the lock: refreshes the state, reads the source, and compares them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::staleness;
use super::{Precheck, check_base_url, deleted_ref, plan_committed, source_info, suspensions};
use crate::model::ToggleId;
use crate::pass::{Config, Error};
use crate::plan::{LiveDifferences, Parked, Plan};
use crate::source::{Snapshot, Source};
use crate::state::{Stop, Store};

/// The source and the plan of one pass.
pub(crate) struct PassPlan {
    pub(crate) snapshot: Snapshot,
    pub(crate) precheck: Precheck,
    pub(crate) plan: Arc<Plan>,
    pub(crate) notes: Vec<String>,
    /// The time that reading the source took.
    pub(crate) read_time: Duration,
}

impl PassPlan {
    pub(crate) fn new(
        store: &mut Store,
        source: &mut Source,
        is_daemon: bool,
        parked: &BTreeMap<ToggleId, Parked>,
        drifted: &LiveDifferences,
        config: &Config,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let Config { clock, rules, .. } = config;
        // State before source, because a revision that another process applies meanwhile must not be newer than the
        // source of this pass. Later ones are found when the pass announces itself.
        let allowed = store.view().clone();
        let mut may_restore = |recorded| staleness::may_restore(recorded, &allowed, config, source);
        store.refresh(clock.unix(), stop, &mut may_restore)?;
        let began = clock.elapsed();
        let snapshot = source.snapshot()?;
        let read_time = clock.elapsed().saturating_sub(began);
        let view = store.view();
        check_base_url(view, rules)?;
        let mut notes = staleness::check(&snapshot, view, config, is_daemon, source)?;
        notes.extend(deleted_ref(view, config));
        let is_quiet = notes.is_empty() && parked.is_empty() && drifted.is_empty();
        let precheck = match is_quiet {
            true => Precheck::of(&snapshot, view, rules)?,
            false => Precheck::Differs,
        };
        let plan = match precheck {
            Precheck::Differs => {
                let suspensions = suspensions(view, clock.unix());
                plan_committed(&snapshot, view, config, parked, drifted, suspensions)?
            }
            Precheck::Same => {
                // Otherwise each pass would read the history from the last recorded revision to this one again.
                store.see(snapshot.revision());
                Plan::nothing(source_info(&snapshot, rules), rules.base_url.clone())
            }
        };
        Ok(Self {
            snapshot,
            precheck,
            plan: Arc::new(plan),
            notes,
            read_time,
        })
    }
}
