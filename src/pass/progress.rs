//! Reports what a pass does while it is under way.

use std::time::Duration;

use super::report::ChangeResult;
use crate::model::CommitId;
use crate::plan::{Change, Plan};
use crate::service::Outcome;

/// Receives what a pass does while it is under way.
pub trait Progress: Send + Sync {
    /// The pass has seen what it is about: the source at this revision.
    fn looked(&self, revision: CommitId) {
        let _ = revision;
    }

    /// The first request is about to leave.
    fn begins(&self, plan: &Plan) {
        let _ = plan;
    }

    /// `done` of `total` changes are dealt with; this one ended like `sending`.
    fn sent(&self, change: &Change, sending: &ChangeResult, done: usize, total: usize);

    /// One request ended after `took`, with or without an answer.
    fn answered(&self, outcome: &Outcome, took: Duration) {
        let _ = (outcome, took);
    }

    /// The service asked for it (`Retry-After`): nothing is sent for so long.
    fn held_back(&self, wait: Duration) {
        let _ = wait;
    }
}

/// Ignores all progress.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn sent(&self, _: &Change, _: &ChangeResult, _: usize, _: usize) {}
}
