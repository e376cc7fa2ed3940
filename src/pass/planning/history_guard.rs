//! Remembers at which revisions a daemon saw its source, to distinguish a moved ref from a stale checkout.

use std::collections::VecDeque;

use super::staleness::{Case, PassKind, RefMove, RevisionStep, StepDecision};
use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::config::Config;
use crate::plan::{HistoryRule, Overrides};
use crate::source::{Snapshot, Source};
use crate::state::StateSnapshot;

/// Decides in each pass whether the found revision is applied.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryGuard {
    /// The revisions that a daemon has seen; none for a single pass.
    pub(crate) seen: Option<SeenRevisions>,
}

impl HistoryGuard {
    /// Returns the guard of a daemon that has seen no revision yet.
    pub(crate) fn of_daemon() -> Self {
        Self {
            seen: Some(SeenRevisions::default()),
        }
    }

    /// Decides whether the found revision is applied. Returns notes for the operator.
    ///
    /// # Errors
    /// If the revision must not be applied.
    pub(crate) fn check(
        &mut self,
        snapshot: &Snapshot,
        view: &StateSnapshot,
        config: &Config,
        source: &mut Source,
    ) -> Result<Vec<String>, Error> {
        let found = snapshot.revision();
        // A pass that was killed has recorded no revision, but an older checkout must not follow its requests either.
        let step = match RevisionStep::back_from_request(snapshot, view)? {
            None => RevisionStep::of(snapshot, view)?,
            step => step,
        };
        let Some(step) = step else {
            // After a clean pass, the recorded revision was an ancestor of this one, or this one was recorded.
            let recorded = view.newest();
            if let Some(seen) = &mut self.seen {
                recorded
                    .into_iter()
                    .chain([found])
                    .for_each(|revision| seen.keep(revision));
            }
            return Ok(Vec::new());
        };
        let kind = match &mut self.seen {
            Some(seen) => PassKind::Daemon(seen.record(&step)),
            None => PassKind::Job,
        };
        let overrides = Overrides::at(found, view.allowances());
        // An operator's decision about this revision precedes the setting, which would refuse it again.
        let rule = match overrides.history == Some(found) {
            true => Some(HistoryRule::Follow),
            false => config.rules.history,
        };
        match Case::of(config, kind).decide(&step, rule) {
            StepDecision::Follow(note) => Ok(note.into_iter().collect()),
            StepDecision::LookUpAgain(note) if source.resolve()? == found => Ok(vec![note]),
            StepDecision::LookUpAgain(_) => Err(Error::RefMoved),
            StepDecision::Refuse(error) => Err(error),
        }
    }
}

/// The revisions at which, or beyond which, a daemon saw its source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenRevisions(VecDeque<CommitId>);

impl SeenRevisions {
    /// The number of revisions kept.
    // Only the recorded revision is looked up, which is a recent one.
    const MOST: usize = 1_000;

    /// Records the found revision. Returns whether the source was seen at the recorded revision before; if the found
    /// revision does not descend from it, the source has moved since.
    fn record(&mut self, step: &RevisionStep) -> RefMove {
        let moved = match self.0.contains(&step.recorded) {
            true => RefMove::Seen,
            false => RefMove::Unseen,
        };
        // A source beyond the recorded revision has passed it, so it does not lag behind if it moves back later.
        if step.is_forward() {
            self.keep(step.recorded);
        }
        self.keep(step.found);
        moved
    }

    fn keep(&mut self, revision: CommitId) {
        if self.0.contains(&revision) {
            return;
        }
        if self.0.len() == Self::MOST {
            self.0.pop_front();
        }
        self.0.push_back(revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;
    use crate::source::Relation;

    #[test]
    fn a_source_was_seen_at_its_revisions_and_their_ancestors() {
        let [first, second, third, elsewhere] = [1, 2, 3, 9].map(|byte| CommitId(ObjectId([byte; 20])));
        let step = |recorded, found, relation| RevisionStep {
            recorded,
            found,
            relation,
        };
        let mut seen = SeenRevisions::default();
        seen.record(&step(first, second, Relation::Descends));
        for recorded in [first, second] {
            let moved = step(recorded, third, Relation::Diverged);
            assert_eq!(seen.record(&moved), RefMove::Seen);
        }
        for _ in 0..2 {
            let unknown = step(elsewhere, third, Relation::Missing);
            assert_eq!(seen.record(&unknown), RefMove::Unseen);
        }
    }
}
