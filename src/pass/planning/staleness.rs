//! Decides whether to apply a source that does not descend from the recorded revision (DESIGN, section 4, *Stale
//! checkout*).
//!
//! The decision is a pure function of how the two revisions are related.

use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::config::Config;
use crate::pass::error::Stale;
use crate::plan::HistoryRule;
use crate::source::{self, Relation, Snapshot};
use crate::state::StateSnapshot;

/// The step from the newest revision, recorded or announced, to the found one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RevisionStep {
    pub(crate) recorded: CommitId,
    pub(crate) found: CommitId,
    pub(crate) relation: Relation,
}

/// The kind of process that reads the source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum PassKind {
    Daemon(RefMove),
    /// A single pass (`apply`).
    Job,
    /// A read-only command (`plan`, `status`), which is never refused.
    Reader,
}

/// Whether a daemon knows that its source was moved on purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RefMove {
    /// It saw the source at or after the recorded revision, and then saw it move.
    Seen,
    /// It never saw the source at the recorded revision: the source may lag behind that of another process.
    Unseen,
}

/// The circumstances of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) kind: PassKind,
    pub(crate) source: SourceKind,
    pub(crate) state: StatePlace,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SourceKind {
    /// A repository at a path, or one commit behind a URL. It may be older than the applied revision.
    Checkout,
    /// A ref behind a URL, which is looked up in each pass.
    Remote,
}

/// Whether other processes may have recorded a revision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatePlace {
    Local,
    Shared,
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

impl RevisionStep {
    /// Returns the step from the recorded revision to that of `snapshot`; none if no revision is recorded, or if a clean
    /// pass has already taken the step.
    pub(crate) fn of(snapshot: &Snapshot, view: &StateSnapshot) -> Result<Option<Self>, source::Error> {
        let Some(recorded) = view.newest().filter(|_| !is_remembered(snapshot, view)) else {
            return Ok(None);
        };
        Ok(Some(Self {
            recorded,
            found: snapshot.revision(),
            relation: snapshot.relation(recorded)?,
        }))
    }

    /// Returns the step from a revision that a pass died at after its first request, unless it certainly leads forward.
    pub(crate) fn back_from_request(
        snapshot: &Snapshot,
        view: &StateSnapshot,
    ) -> Result<Option<Self>, source::Error> {
        let Some(recorded) = view.requested() else {
            return Ok(None);
        };
        let step = Self {
            recorded,
            found: snapshot.revision(),
            relation: snapshot.relation(recorded)?,
        };
        Ok(Some(step).filter(|step| !step.is_forward()))
    }

    /// Returns whether the recorded revision is certainly an ancestor of the found one.
    pub(crate) fn is_forward(&self) -> bool {
        matches!(self.relation, Relation::Same | Relation::Descends)
    }

    fn is_unclear(&self) -> bool {
        self.relation == Relation::Unclear
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
            Relation::Descends | Relation::Diverged | Relation::Missing | Relation::Same => {
                format!("history was rewritten: {recorded} was applied and is not in it; following {found}")
            }
        }
    }

    fn stale(&self, why: Stale) -> Error {
        let (recorded, found) = (self.recorded, self.found);
        Error::Stale { recorded, found, why }
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

impl Case {
    /// Returns the case of a pass with these settings.
    pub(crate) fn of(config: &Config, kind: PassKind) -> Self {
        let is_daemon = matches!(kind, PassKind::Daemon(_));
        let is_path = config.source.location.local_path().is_some();
        // A job that is pinned to a commit may be an old job that runs again, like one with an old checkout.
        let source = match is_path || (config.source.is_pinned() && !is_daemon) {
            true => SourceKind::Checkout,
            false => SourceKind::Remote,
        };
        let state = match config.shared {
            Some(_) => StatePlace::Shared,
            None => StatePlace::Local,
        };
        Self { kind, source, state }
    }

    pub(crate) fn decide(self, step: &RevisionStep, rule: Option<HistoryRule>) -> StepDecision {
        match (rule, self.kind) {
            _ if step.is_forward() => StepDecision::Follow(None),
            (Some(HistoryRule::Follow), _) => StepDecision::Follow(Some(step.note())),
            // A read-only command is never refused, and shows what `apply` would do (DESIGN, section 4, *Never
            // backwards*).
            (_, PassKind::Reader) => {
                let job = Self {
                    kind: PassKind::Job,
                    ..self
                };
                StepDecision::Follow(job.decide(step, rule).into_note())
            }
            (Some(HistoryRule::Refuse), _) => StepDecision::Refuse(self.refusal(step)),
            (None, _) => self.by_default(step),
        }
    }

    fn refusal(self, step: &RevisionStep) -> Error {
        let (recorded, found) = (step.recorded, step.found);
        match step.relation {
            Relation::Unclear => Error::HistoryCut { recorded, found },
            // An old commit that is checked out is not a rewrite, so the message must not claim one.
            Relation::Behind if self.kind == PassKind::Job && self.source == SourceKind::Checkout => {
                step.stale(Stale::Older)
            }
            _ => Error::Rewritten { recorded, found },
        }
    }

    fn by_default(self, step: &RevisionStep) -> StepDecision {
        match (self.source, self.state, self.kind) {
            // A ref that was just looked up does not lag behind, so it was moved back or rewritten.
            (SourceKind::Remote, StatePlace::Local, _) => StepDecision::Follow(Some(step.note())),
            (SourceKind::Remote, StatePlace::Shared, _) => StepDecision::LookUpAgain(step.note()),
            // In a cut history, an ordinary commit is unclear as well.
            (SourceKind::Checkout, _, PassKind::Daemon(RefMove::Seen)) if step.is_unclear() => {
                StepDecision::Follow(None)
            }
            (SourceKind::Checkout, StatePlace::Local, PassKind::Daemon(_))
            | (SourceKind::Checkout, StatePlace::Shared, PassKind::Daemon(RefMove::Seen)) => {
                StepDecision::Follow(Some(step.note()))
            }
            // The checkout may be a replica that lags behind the process that recorded the revision.
            (SourceKind::Checkout, StatePlace::Shared, PassKind::Daemon(RefMove::Unseen)) => {
                StepDecision::Refuse(step.stale(Stale::NeverSeen))
            }
            // With local state, a cut history is reported and not refused (DESIGN, section 4, *Stale checkout*).
            (SourceKind::Checkout, StatePlace::Local, PassKind::Job | PassKind::Reader)
                if step.is_unclear() =>
            {
                StepDecision::Follow(Some(step.note()))
            }
            (SourceKind::Checkout, _, PassKind::Job | PassKind::Reader) => {
                let why = if step.is_unclear() {
                    Stale::Cut
                } else {
                    Stale::Older
                };
                StepDecision::Refuse(step.stale(why))
            }
        }
    }
}

impl StepDecision {
    /// Returns the note of a read-only command.
    pub(crate) fn into_note(self) -> Option<String> {
        match self {
            Self::Follow(note) => note,
            Self::LookUpAgain(note) => Some(note),
            Self::Refuse(error) => Some(match error.hint() {
                Some(hint) => format!("`apply` sends nothing: {error}; {hint}"),
                None => format!("`apply` sends nothing: {error}"),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ObjectId;

    const RECORDED: CommitId = CommitId(ObjectId([1; 20]));
    const FOUND: CommitId = CommitId(ObjectId([2; 20]));

    /// Returns a word for a decision.
    fn word(decision: &StepDecision) -> &'static str {
        match decision {
            StepDecision::Follow(None) => "silent",
            StepDecision::Follow(Some(note)) if note.starts_with("could not check") => "unchecked",
            StepDecision::Follow(Some(note)) if note.starts_with("`apply` sends nothing") => "refusal",
            StepDecision::Follow(Some(_)) => "note",
            StepDecision::LookUpAgain(_) => "lookup",
            StepDecision::Refuse(Error::HistoryCut { .. }) => "cut",
            StepDecision::Refuse(Error::Rewritten { .. }) => "rewritten",
            StepDecision::Refuse(Error::Stale { why, .. }) => match why {
                Stale::Cut => "stale: cut",
                Stale::NeverSeen => "stale: never seen",
                Stale::Older => "stale: older",
            },
            StepDecision::Refuse(_) => "other",
        }
    }

    /// Returns the words for a step back, to another history, and to one that is cut.
    fn words(
        kind: PassKind,
        source: SourceKind,
        state: StatePlace,
        rule: Option<HistoryRule>,
    ) -> [&'static str; 3] {
        let case = Case { kind, source, state };
        [Relation::Behind, Relation::Diverged, Relation::Unclear].map(|relation| {
            let step = RevisionStep {
                recorded: RECORDED,
                found: FOUND,
                relation,
            };
            word(&case.decide(&step, rule))
        })
    }

    #[test]
    fn by_default_only_stale_checkouts_are_refused() {
        use PassKind::{Daemon, Job, Reader};
        use RefMove::{Seen, Unseen};
        use SourceKind::{Checkout, Remote};
        use StatePlace::{Local, Shared};
        let older = "stale: older";
        for (kind, source, state, expected) in [
            (Job, Checkout, Local, [older, older, "unchecked"]),
            (Job, Checkout, Shared, [older, older, "stale: cut"]),
            (Job, Remote, Local, ["note", "note", "unchecked"]),
            (Job, Remote, Shared, ["lookup"; 3]),
            (Reader, Checkout, Local, ["refusal", "refusal", "unchecked"]),
            (Reader, Checkout, Shared, ["refusal"; 3]),
            (Reader, Remote, Shared, ["note", "note", "unchecked"]),
            (Daemon(Seen), Checkout, Local, ["note", "note", "silent"]),
            (Daemon(Seen), Checkout, Shared, ["note", "note", "silent"]),
            (Daemon(Unseen), Checkout, Local, ["note", "note", "unchecked"]),
            (Daemon(Unseen), Checkout, Shared, ["stale: never seen"; 3]),
            (Daemon(Unseen), Remote, Local, ["note", "note", "unchecked"]),
            (Daemon(Unseen), Remote, Shared, ["lookup"; 3]),
        ] {
            let found = words(kind, source, state, None);
            assert_eq!(found, expected, "{kind:?} {source:?} {state:?}");
            let followed = words(kind, source, state, Some(HistoryRule::Follow));
            assert_eq!(followed, ["note", "note", "unchecked"], "explicitly");
        }
    }

    #[test]
    fn a_refusal_names_its_cause() {
        use PassKind::{Daemon, Job, Reader};
        let refused = |kind, source| words(kind, source, StatePlace::Local, Some(HistoryRule::Refuse));
        assert_eq!(
            refused(Job, SourceKind::Checkout),
            ["stale: older", "rewritten", "cut"]
        );
        assert_eq!(
            refused(Job, SourceKind::Remote),
            ["rewritten", "rewritten", "cut"]
        );
        assert_eq!(refused(Reader, SourceKind::Checkout), ["refusal"; 3]);
        let daemon = Daemon(RefMove::Seen);
        assert_eq!(
            refused(daemon, SourceKind::Checkout),
            ["rewritten", "rewritten", "cut"]
        );
    }
}
