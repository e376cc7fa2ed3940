//! Decides whether to apply a source that does not descend from the recorded revision (src/pass/README.md,
//! "Stale checkout").
//!
//! Two questions decide. Is the recorded revision an ancestor of the one to apply? If not: does a daemon
//! follow a URL, did a second lookup of the ref name the same commit, and do the two commits have a common
//! ancestor? Then the ref was rewritten or moved back. In every other case the checkout may be old, or the
//! repository was replaced by another one, and nothing is sent until an operator decides.

use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::config::Config;
use crate::pass::error::Stale;
use crate::plan::{HistoryRule, Overrides};
use crate::source::{self, Relation, Snapshot, Source};
use crate::state::StateSnapshot;

/// The step from the newest revision, recorded or announced, to the found one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RevisionStep {
    pub(crate) recorded: CommitId,
    pub(crate) found: CommitId,
    pub(crate) relation: Relation,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Circumstances {
    /// Whether a daemon follows a ref behind a URL, which it can look up again.
    pub(crate) follows_url: bool,
    pub(crate) is_shared: bool,
}

#[derive(Debug)]
pub(crate) enum StepDecision {
    /// The pass continues, with an optional note for the operator.
    Follow(Option<String>),
    /// The pass continues with this note if a second lookup of the ref finds the same revision.
    LookUpAgain(String),
    /// The pass sends nothing.
    Refuse(Error),
}

/// Decides whether a pass applies the found revision. Returns notes for the operator.
///
/// # Errors
/// If the revision must not be applied.
pub(crate) fn check(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    config: &Config,
    is_daemon: bool,
    source: &mut Source,
) -> Result<Vec<String>, Error> {
    let found = snapshot.revision();
    // A pass that was killed has recorded no revision, but an older checkout must not follow its requests
    // either.
    let step = match RevisionStep::back_from_request(snapshot, view)? {
        None => RevisionStep::of(snapshot, view)?,
        step => step,
    };
    let Some(step) = step else {
        return Ok(Vec::new());
    };
    match step.decide(Circumstances::of(config, is_daemon), rule(config, view, found)) {
        StepDecision::Follow(note) => Ok(note.into_iter().collect()),
        StepDecision::LookUpAgain(note) if source.resolve()? == found => Ok(vec![note]),
        StepDecision::LookUpAgain(_) => Err(Error::RefMoved),
        StepDecision::Refuse(error) => Err(error),
    }
}

/// Returns whether a pass may restore the shared state of `recorded`, whose ref was deleted: not into a
/// repository that was replaced by an unrelated one.
pub(crate) fn may_restore(
    recorded: CommitId,
    view: &StateSnapshot,
    config: &Config,
    source: &mut Source,
) -> bool {
    let mut continues = || -> Result<bool, source::Error> {
        let snapshot = source.snapshot()?;
        let found = snapshot.revision();
        let step = RevisionStep { recorded, found, relation: snapshot.relation(recorded)? };
        let is_forward = step.is_forward() || rule(config, view, found) == Some(HistoryRule::Follow);
        Ok(is_forward || matches!(step.relation, Relation::Behind | Relation::Diverged | Relation::Unclear))
    };
    // An error of the source ends the pass before it sends anything.
    continues().unwrap_or(false)
}

/// Returns the rule for the revision `found`.
fn rule(config: &Config, view: &StateSnapshot, found: CommitId) -> Option<HistoryRule> {
    // An operator's decision about this revision precedes the setting, which would refuse it again.
    if Overrides::at(found, view.allowances()).history == Some(found) {
        return Some(HistoryRule::Follow);
    }
    config.history()
}

impl RevisionStep {
    /// Returns the step from the recorded revision to that of `snapshot`; none if no revision is recorded, or
    /// if a clean pass has already taken the step.
    pub(crate) fn of(snapshot: &Snapshot, view: &StateSnapshot) -> Result<Option<Self>, source::Error> {
        let Some(recorded) = view.newest().filter(|_| !is_remembered(snapshot, view)) else {
            return Ok(None);
        };
        Ok(Some(Self { recorded, found: snapshot.revision(), relation: snapshot.relation(recorded)? }))
    }

    /// Returns the step from a revision that a pass died at after its first request, unless it certainly
    /// leads forward.
    fn back_from_request(snapshot: &Snapshot, view: &StateSnapshot) -> Result<Option<Self>, source::Error> {
        let Some(recorded) = view.requested() else {
            return Ok(None);
        };
        let step = Self { recorded, found: snapshot.revision(), relation: snapshot.relation(recorded)? };
        Ok(Some(step).filter(|step| !step.is_forward()))
    }

    /// Returns whether the recorded revision is certainly an ancestor of the found one.
    pub(crate) fn is_forward(&self) -> bool {
        matches!(self.relation, Relation::Same | Relation::Descends)
    }

    pub(crate) fn decide(&self, case: Circumstances, rule: Option<HistoryRule>) -> StepDecision {
        let (recorded, found) = (self.recorded, self.found);
        let is_shared = case.is_shared;
        let stale = |why| StepDecision::Refuse(Error::Stale { recorded, found, why, is_shared });
        match (self.relation, rule) {
            (Relation::Same | Relation::Descends, _) => StepDecision::Follow(None),
            (_, Some(HistoryRule::Follow)) => StepDecision::Follow(Some(self.note())),
            (Relation::Unclear, Some(HistoryRule::Refuse)) => {
                StepDecision::Refuse(Error::HistoryCut { recorded, found })
            }
            (Relation::Unclear, None) if case.is_shared => stale(Stale::Cut),
            (Relation::Unclear, None) => StepDecision::Follow(Some(self.note())),
            (Relation::Missing, _) => stale(Stale::Unknown),
            // An old commit that is checked out is not a rewrite, so the message must not claim one.
            (Relation::Behind, Some(HistoryRule::Refuse)) if !case.follows_url => stale(Stale::Older),
            (_, Some(HistoryRule::Refuse)) => StepDecision::Refuse(Error::Rewritten { recorded, found }),
            (Relation::Behind | Relation::Diverged, None) if case.follows_url => {
                StepDecision::LookUpAgain(self.note())
            }
            (Relation::Behind | Relation::Diverged, None) => stale(Stale::Older),
            (Relation::Unrelated, None) => stale(Stale::Unrelated),
        }
    }

    /// Returns the note for the operator about a step that is followed.
    fn note(&self) -> String {
        let (recorded, found) = (self.recorded.short(), self.found.short());
        match self.relation {
            Relation::Behind => format!("the source went back: {recorded} was applied, now at {found}"),
            Relation::Unclear => format!(
                "could not check whether the checkout is stale: {recorded} was applied, and the history of {found} is \
                 cut before it"
            ),
            _ => format!("history was rewritten: {recorded} was applied and is not in it; following {found}"),
        }
    }
}

/// Returns whether a clean pass has already handled this revision on top of the recorded one.
fn is_remembered(snapshot: &Snapshot, view: &StateSnapshot) -> bool {
    // A revision that was only announced is newer than that of the last clean pass.
    let tip = view.tip().filter(|tip| view.newest() == Some(tip.revision));
    let tip = tip.map(|tip| tip.commit);
    view.last_clean_pass()
        .is_some_and(|memory| memory.revision == snapshot.revision() && Some(memory.tip) == tip)
}

impl Circumstances {
    pub(crate) fn of(config: &Config, is_daemon: bool) -> Self {
        Self {
            follows_url: is_daemon && config.source.location.local_path().is_none(),
            is_shared: config.shared.is_some(),
        }
    }
}

impl StepDecision {
    /// Returns the note of a read-only command, which is never refused.
    pub(crate) fn into_note(self) -> Option<String> {
        match self {
            Self::Follow(note) => note,
            Self::LookUpAgain(note) => Some(note),
            Self::Refuse(error) => Some(format!("`apply` sends nothing: {}", error.in_full())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    fn word(decision: &StepDecision) -> &'static str {
        match decision {
            StepDecision::Follow(None) => "silent",
            StepDecision::Follow(Some(note)) if note.starts_with("could not check") => "unchecked",
            StepDecision::Follow(Some(_)) => "note",
            StepDecision::LookUpAgain(_) => "lookup",
            StepDecision::Refuse(Error::HistoryCut { .. }) => "cut",
            StepDecision::Refuse(Error::Rewritten { .. }) => "rewritten",
            StepDecision::Refuse(Error::Stale { why, .. }) => match why {
                Stale::Cut => "stale: cut",
                Stale::Older => "stale: older",
                Stale::Unknown => "stale: unknown",
                Stale::Unrelated => "stale: unrelated",
            },
            StepDecision::Refuse(_) => "other",
        }
    }

    /// Follows a URL (`url`) or not (`job`), the kind of state, `--on-history-rewrite`; and the decision
    /// about a commit that descends, is behind, diverged, is unclear, is missing, is unrelated.
    const DECISIONS: &str = "
        job local  -      : silent, stale: older, stale: older, unchecked, stale: unknown, stale: unrelated
        job shared -      : silent, stale: older, stale: older, stale: cut, stale: unknown, stale: unrelated
        url local  -      : silent, lookup, lookup, unchecked, stale: unknown, stale: unrelated
        url shared -      : silent, lookup, lookup, stale: cut, stale: unknown, stale: unrelated
        job local  follow : silent, note, note, unchecked, note, note
        url shared follow : silent, note, note, unchecked, note, note
        job local  refuse : silent, stale: older, rewritten, cut, stale: unknown, rewritten
        url local  refuse : silent, rewritten, rewritten, cut, stale: unknown, rewritten";

    #[test]
    fn only_a_daemon_that_follows_a_url_follows_a_rewritten_ref_by_itself() {
        use Relation::{Behind, Descends, Diverged, Missing, Unclear, Unrelated};
        for row in DECISIONS.trim().lines() {
            let (given, expected) = row.split_once(" : ").expect("a colon");
            let words: Vec<&str> = given.split_whitespace().collect();
            let circumstances =
                Circumstances { follows_url: words[0] == "url", is_shared: words[1] == "shared" };
            let rule = match words[2] {
                "follow" => Some(HistoryRule::Follow),
                "refuse" => Some(HistoryRule::Refuse),
                _ => None,
            };
            let found = [Descends, Behind, Diverged, Unclear, Missing, Unrelated].map(|relation| {
                let step = RevisionStep {
                    recorded: CommitId(ObjectId([1; 20])),
                    found: CommitId(ObjectId([2; 20])),
                    relation,
                };
                word(&step.decide(circumstances, rule))
            });
            assert_eq!(found.join(", "), expected, "{given}");
        }
    }
}
