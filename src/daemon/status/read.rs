//! Computes the status of every toggle for `status`, without writing to the source or the state.

use super::{SourceStatus, Status, toggles};
use crate::pass::planning::{self, Planned};
use crate::pass::{Config, Error};

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
        let planned = planning::plan_read_only(snapshot, &view, config)?;
        let toggles = toggles::before(&planned.plan, &view, &config.rules.policy.scope)?;
        let mut status = Status {
            service: planned.plan.base_url().map(str::to_owned),
            source: SourceStatus {
                repo: config.rules.repo.clone(),
                reference: Some(snapshot.reference().to_owned()),
                revision: Some(snapshot.revision()),
                history: planned.plan.history(),
                ..SourceStatus::default()
            },
            suspensions: planning::suspensions(&view, config.clock.unix()),
            ..Status::default()
        };
        status.set_toggles(toggles);
        Ok(StatusReport { planned, status })
    })
}
