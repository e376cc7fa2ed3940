//! `status`: where every toggle stands, read from the source and the state without writing to either.

use super::{SourceStatus, Status, toggles};
use crate::pass::planning::{self, Planned};
use crate::pass::{Config, Error};

/// Where every toggle stands, and the plan it follows from.
#[derive(Debug)]
pub struct Standing {
    /// The plan.
    pub look: Planned,
    /// One line per toggle.
    pub status: Status,
}

/// Says where every toggle stands, as free of side effects as [`plan`](crate::pass::plan).
///
/// # Errors
/// As for [`plan`](crate::pass::plan).
pub fn status(config: &Config) -> Result<Standing, Error> {
    let view = planning::view(config)?;
    planning::reading(&config.source, |snapshot| {
        let look = planning::plan_read_only(snapshot, &view, config)?;
        let toggles = toggles::standing(&look.plan, &view, &config.rules.policy.scope)?;
        let mut status = Status {
            service: look.plan.base_url().map(str::to_owned),
            source: SourceStatus {
                repo: config.rules.repo.clone(),
                reference: Some(snapshot.reference().to_owned()),
                revision: Some(snapshot.revision()),
                history: look.plan.history(),
                ..SourceStatus::default()
            },
            suspensions: planning::suspensions(&view, config.clock.unix()),
            ..Status::default()
        };
        status.set_toggles(toggles);
        Ok(Standing { look, status })
    })
}
