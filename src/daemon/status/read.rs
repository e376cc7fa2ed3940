//! Computes the status of every toggle for `status`, without writing to the source or the state.

use super::drift::{DriftFacts, show};
use super::{SourceStatus, Status, toggles};
use crate::drift::plan_live;
use crate::pass::planning::{self, Planned};
use crate::pass::{Config, Error, Files, PassContext};
use crate::plan::LiveDifferences;
use crate::state::StateSnapshot;

/// The status and the plan that it follows from.
#[derive(Debug)]
pub struct StatusReport {
    /// The plan.
    pub planned: Planned,
    /// The status of the source and of every toggle.
    pub status: Status,
}

/// Returns the status of every toggle. Has no side effects, like [`plan`](crate::pass::plan).
///
/// # Errors
/// As for [`plan`](crate::pass::plan).
pub fn status(config: &Config) -> Result<StatusReport, Error> {
    // State before source, as in a pass.
    let view = planning::view(config)?;
    planning::with_snapshot(&config.source, |snapshot| {
        let planned = planning::plan_read_only(snapshot, &view, &LiveDifferences::new(), config)?;
        let mut status = of(&planned, &view, config)?;
        status.source.set_head(snapshot.commit());
        Ok(StatusReport { planned, status })
    })
}

/// Returns the status of every toggle with what the service has now. Has no side effects.
///
/// # Errors
/// As for [`plan`](crate::pass::plan).
pub fn status_live(config: &Config, context: &PassContext) -> Result<StatusReport, Error> {
    let view = planning::view(config)?;
    let planned = plan_live(config, Files::Committed, context)?;
    let mut status = of(&planned, &view, config)?;
    if let Some(drift) = planned.plan.drift() {
        let mut toggles = (*status.toggles).clone();
        show(
            &mut toggles,
            &DriftFacts::new(),
            &drift.facts(config.rules.policy.on_missing),
        );
        status.set_toggles(toggles);
        status.drift_failure = drift.failure();
    }
    Ok(StatusReport { planned, status })
}

fn of(planned: &Planned, view: &StateSnapshot, config: &Config) -> Result<Status, Error> {
    let (plan, source) = (&planned.plan, planned.plan.source());
    let mut status = Status {
        service: plan.base_url().map(str::to_owned),
        source: SourceStatus {
            repo: config.rules.repo.clone(),
            reference: Some(source.reference.clone()),
            revision: Some(source.revision),
            history: plan.history(),
            ..SourceStatus::default()
        },
        suspensions: planning::suspensions(view, config.clock.unix()),
        ..Status::default()
    };
    status.set_toggles(toggles::before(plan, view, &config.rules.policy.scope)?);
    Ok(status)
}
