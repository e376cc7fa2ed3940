//! What a process knows about moves of its ref: where a daemon saw the source.

use std::collections::VecDeque;

use super::staleness::{Answer, Case, Observer, RefMove, Step};
use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::config::Config;
use crate::plan::{HistoryRule, Overrides};
use crate::source::{Snapshot, Source};
use crate::state::View;

/// Decides in each pass whether the found revision is applied.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryGuard {
    /// What a daemon saw of its source; none for a single pass.
    pub(crate) seen: Option<SeenRevisions>,
}

impl HistoryGuard {
    /// Returns the guard of a daemon, which has seen nothing yet.
    pub(crate) fn of_daemon() -> Self {
        Self {
            seen: Some(SeenRevisions::default()),
        }
    }

    /// Decides whether the found revision is applied, and returns what the operator should know about it.
    ///
    /// # Errors
    /// If the revision must not be applied.
    pub(crate) fn check(
        &mut self,
        snapshot: &Snapshot,
        view: &View,
        config: &Config,
        source: &mut Source,
    ) -> Result<Vec<String>, Error> {
        let found = snapshot.revision();
        let Some(step) = Step::of(snapshot, view)? else {
            // A clean pass was here: the recorded revision was an ancestor then, or this one was recorded.
            let recorded = view.newest();
            if let Some(seen) = &mut self.seen {
                recorded
                    .into_iter()
                    .chain([found])
                    .for_each(|revision| seen.keep(revision));
            }
            return Ok(Vec::new());
        };
        let observer = match &mut self.seen {
            Some(seen) => Observer::Daemon(seen.take_in(&step)),
            None => Observer::Job,
        };
        let overrides = Overrides::at(found, view.allowances());
        let rule = match overrides.history == Some(found) {
            true => Some(HistoryRule::Follow),
            false => config.rules.history,
        };
        match Case::of(config, observer).judge(&step, rule) {
            Answer::Follow(note) => Ok(note.into_iter().collect()),
            Answer::LookAgain(note) if source.resolve()? == found => Ok(vec![note]),
            Answer::LookAgain(_) => Err(Error::RefMoved),
            Answer::Refuse(error) => Err(error),
        }
    }
}

/// The revisions at which, or beyond which, a daemon saw its source.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeenRevisions(VecDeque<CommitId>);

impl SeenRevisions {
    /// How many are kept. Only the recorded revision is asked for, which is a recent one.
    const MOST: usize = 1_000;

    /// Returns whether the source was seen at the recorded revision before, and takes in where it is now. If the found
    /// revision does not descend from the recorded one, the source has moved since.
    fn take_in(&mut self, step: &Step) -> RefMove {
        let moved = match self.0.contains(&step.recorded) {
            true => RefMove::Seen,
            false => RefMove::Unseen,
        };
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
    fn a_source_was_seen_where_it_was_and_behind_that() {
        let [first, second, third, elsewhere] = [1, 2, 3, 9].map(|byte| CommitId(ObjectId([byte; 20])));
        let step = |recorded, found, relation| Step {
            recorded,
            found,
            relation,
        };
        let mut seen = SeenRevisions::default();
        seen.take_in(&step(first, second, Relation::Descends));
        for recorded in [first, second] {
            let moved = step(recorded, third, Relation::Diverged);
            assert_eq!(seen.take_in(&moved), RefMove::Seen);
        }
        for _ in 0..2 {
            let unknown = step(elsewhere, third, Relation::Missing);
            assert_eq!(seen.take_in(&unknown), RefMove::Unseen);
        }
    }
}
