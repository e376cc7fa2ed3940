//! What one pass is about: the state as of now, the source as of now, and the plan that follows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::history_guard::HistoryGuard;
use super::{Precheck, check_base_url, deleted_ref, plan_committed, source_info, suspensions};
use crate::model::ToggleId;
use crate::pass::{Config, Error};
use crate::plan::{Parked, Plan};
use crate::source::{Snapshot, Source};
use crate::state::{Stop, Store};

/// What a pass is about.
pub(crate) struct PassPlan {
    pub(crate) snapshot: Snapshot,
    pub(crate) precheck: Precheck,
    pub(crate) plan: Arc<Plan>,
    pub(crate) notes: Vec<String>,
    /// How long reading the source took.
    pub(crate) looked: Duration,
}

impl PassPlan {
    pub(crate) fn new(
        store: &mut Store,
        source: &mut Source,
        history: &mut HistoryGuard,
        parked: &BTreeMap<ToggleId, Parked>,
        config: &Config,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let Config { clock, rules, .. } = config;
        // The state first: what others apply while it is waited for must not be newer than the source that is compared.
        // What they apply later is found when the pass announces itself.
        store.refresh(clock.unix(), stop)?;
        let began = clock.elapsed();
        let snapshot = source.snapshot()?;
        let looked = clock.elapsed().saturating_sub(began);
        let view = store.view();
        check_base_url(view, rules)?;
        let mut notes = history.check(&snapshot, view, config, source)?;
        notes.extend(deleted_ref(view, config));
        let precheck = match notes.is_empty() && parked.is_empty() {
            true => Precheck::of(&snapshot, view, rules)?,
            false => Precheck::Differs,
        };
        let plan = match precheck {
            Precheck::Differs => {
                let suspensions = suspensions(view, clock.unix());
                plan_committed(&snapshot, view, rules, parked, suspensions)?
            }
            Precheck::Same => {
                store.see(snapshot.revision());
                Plan::nothing(source_info(&snapshot, rules), rules.base_url.clone())
            }
        };
        Ok(Self {
            snapshot,
            precheck,
            plan: Arc::new(plan),
            notes,
            looked,
        })
    }
}
