//! Decides whether a source is applied that does not descend from the recorded revision (DESIGN, section 4, *Stale
//! checkout*).
//!
//! The decision is a pure function. The caller asks the repository how the two revisions are related, and carries out the
//! answer.

use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::config::Config;
use crate::pass::error::Stale;
use crate::plan::HistoryRule;
use crate::source::{self, Relation, Snapshot};
use crate::state::View;

/// The step from the newest revision, recorded or announced, to the found one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub(crate) recorded: CommitId,
    pub(crate) found: CommitId,
    pub(crate) relation: Relation,
}

/// The process that looks at the source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Observer {
    /// A daemon.
    Daemon(RefMove),
    /// A single pass (`apply`).
    Job,
    /// A command that changes nothing (`plan`, `status`). It is never refused.
    Reader,
}

/// Whether a daemon knows that its source was moved on purpose.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum RefMove {
    /// It saw the source at the recorded revision, or beyond, and then saw it move.
    Seen,
    /// It never saw the source at the recorded revision: the source may lag behind that of another process.
    Unseen,
}

/// The circumstances of a decision.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Case {
    pub(crate) observer: Observer,
    pub(crate) place: Place,
    pub(crate) state: StatePlace,
}

/// The kind of source.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Place {
    /// A repository at a path, or one commit behind a URL: it may be older than what was applied.
    Checkout,
    /// A ref behind a URL, which is looked up in each pass.
    Remote,
}

/// Who else may have recorded a revision.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum StatePlace {
    Local,
    Shared,
}

/// What a step means for a pass.
#[derive(Debug)]
pub(crate) enum Answer {
    /// The pass goes on, with a note for the operator if there is something to say.
    Follow(Option<String>),
    /// The pass goes on with this note if the ref still leads to the found revision when it is looked up again.
    LookAgain(String),
    /// The pass sends nothing.
    Refuse(Error),
}

impl Step {
    /// Returns the step that `snapshot` takes from the recorded revision, unless there is none, or a clean pass has dealt
    /// with it.
    pub(crate) fn of(snapshot: &Snapshot, view: &View) -> Result<Option<Self>, source::Error> {
        let Some(recorded) = view.newest().filter(|_| !is_remembered(snapshot, view)) else {
            return Ok(None);
        };
        Ok(Some(Self {
            recorded,
            found: snapshot.revision(),
            relation: snapshot.relation(recorded)?,
        }))
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

/// Returns whether a clean pass has already dealt with this revision on top of what is recorded.
pub(crate) fn is_remembered(snapshot: &Snapshot, view: &View) -> bool {
    // A revision that was only announced is newer than what a clean pass left.
    let tip = view.tip().filter(|tip| view.newest() == Some(tip.revision));
    let tip = tip.map(|tip| tip.commit);
    view.memory()
        .is_some_and(|memory| memory.revision == snapshot.revision() && Some(memory.tip) == tip)
}

impl Case {
    /// Returns the case of a pass with these settings.
    pub(crate) fn of(config: &Config, observer: Observer) -> Self {
        let is_daemon = matches!(observer, Observer::Daemon(_));
        let is_path = config.source.location.local_path().is_some();
        let place = match is_path || (config.source.is_pinned() && !is_daemon) {
            true => Place::Checkout,
            false => Place::Remote,
        };
        let state = match config.shared {
            Some(_) => StatePlace::Shared,
            None => StatePlace::Local,
        };
        Self {
            observer,
            place,
            state,
        }
    }

    /// Decides about a step.
    pub(crate) fn judge(self, step: &Step, rule: Option<HistoryRule>) -> Answer {
        match (rule, self.observer) {
            _ if step.is_forward() => Answer::Follow(None),
            (Some(HistoryRule::Follow), _) => Answer::Follow(Some(step.note())),
            (_, Observer::Reader) => {
                let job = Self {
                    observer: Observer::Job,
                    ..self
                };
                Answer::Follow(job.judge(step, rule).into_note())
            }
            (Some(HistoryRule::Refuse), _) => Answer::Refuse(self.refusal(step)),
            (None, _) => self.by_default(step),
        }
    }

    fn refusal(self, step: &Step) -> Error {
        let (recorded, found) = (step.recorded, step.found);
        match step.relation {
            Relation::Unclear => Error::HistoryCut { recorded, found },
            Relation::Behind if self.observer == Observer::Job && self.place == Place::Checkout => {
                step.stale(Stale::Older)
            }
            _ => Error::Rewritten { recorded, found },
        }
    }

    fn by_default(self, step: &Step) -> Answer {
        match (self.place, self.state, self.observer) {
            (Place::Remote, StatePlace::Local, _) => Answer::Follow(Some(step.note())),
            (Place::Remote, StatePlace::Shared, _) => Answer::LookAgain(step.note()),
            // Where history is cut, this is how an ordinary commit looks.
            (Place::Checkout, _, Observer::Daemon(RefMove::Seen)) if step.is_unclear() => {
                Answer::Follow(None)
            }
            (Place::Checkout, StatePlace::Local, Observer::Daemon(_))
            | (Place::Checkout, StatePlace::Shared, Observer::Daemon(RefMove::Seen)) => {
                Answer::Follow(Some(step.note()))
            }
            (Place::Checkout, StatePlace::Shared, Observer::Daemon(RefMove::Unseen)) => {
                Answer::Refuse(step.stale(Stale::NeverSeen))
            }
            (Place::Checkout, StatePlace::Local, Observer::Job | Observer::Reader) if step.is_unclear() => {
                Answer::Follow(Some(step.note()))
            }
            (Place::Checkout, _, Observer::Job | Observer::Reader) => {
                let why = if step.is_unclear() {
                    Stale::Cut
                } else {
                    Stale::Older
                };
                Answer::Refuse(step.stale(why))
            }
        }
    }
}

impl Answer {
    /// Returns the answer as a note, for a command that only reads.
    pub(crate) fn into_note(self) -> Option<String> {
        match self {
            Self::Follow(note) => note,
            Self::LookAgain(note) => Some(note),
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

    /// Says in a word what becomes of a step.
    fn word(answer: &Answer) -> &'static str {
        match answer {
            Answer::Follow(None) => "silent",
            Answer::Follow(Some(note)) if note.starts_with("could not check") => "unchecked",
            Answer::Follow(Some(note)) if note.starts_with("`apply` sends nothing") => "noted",
            Answer::Follow(Some(_)) => "told",
            Answer::LookAgain(_) => "again",
            Answer::Refuse(Error::HistoryCut { .. }) => "cut",
            Answer::Refuse(Error::Rewritten { .. }) => "rewritten",
            Answer::Refuse(Error::Stale { why, .. }) => match why {
                Stale::Cut => "stale: cut",
                Stale::NeverSeen => "stale: never seen",
                Stale::Older => "stale: older",
            },
            Answer::Refuse(_) => "other",
        }
    }

    /// Returns the words for a step back, to another history, and to one that is cut.
    fn words(
        observer: Observer,
        place: Place,
        state: StatePlace,
        rule: Option<HistoryRule>,
    ) -> [&'static str; 3] {
        let case = Case {
            observer,
            place,
            state,
        };
        [Relation::Behind, Relation::Diverged, Relation::Unclear].map(|relation| {
            let step = Step {
                recorded: RECORDED,
                found: FOUND,
                relation,
            };
            word(&case.judge(&step, rule))
        })
    }

    #[test]
    fn who_follows_what_by_default() {
        use Observer::{Daemon, Job, Reader};
        use Place::{Checkout, Remote};
        use RefMove::{Seen, Unseen};
        use StatePlace::{Local, Shared};
        let older = "stale: older";
        for (observer, place, state, expected) in [
            (Job, Checkout, Local, [older, older, "unchecked"]),
            (Job, Checkout, Shared, [older, older, "stale: cut"]),
            (Job, Remote, Local, ["told", "told", "unchecked"]),
            (Job, Remote, Shared, ["again"; 3]),
            (Reader, Checkout, Local, ["noted", "noted", "unchecked"]),
            (Reader, Checkout, Shared, ["noted"; 3]),
            (Reader, Remote, Shared, ["told", "told", "unchecked"]),
            (Daemon(Seen), Checkout, Local, ["told", "told", "silent"]),
            (Daemon(Seen), Checkout, Shared, ["told", "told", "silent"]),
            (Daemon(Unseen), Checkout, Local, ["told", "told", "unchecked"]),
            (Daemon(Unseen), Checkout, Shared, ["stale: never seen"; 3]),
            (Daemon(Unseen), Remote, Local, ["told", "told", "unchecked"]),
            (Daemon(Unseen), Remote, Shared, ["again"; 3]),
        ] {
            let found = words(observer, place, state, None);
            assert_eq!(found, expected, "{observer:?} {place:?} {state:?}");
            let followed = words(observer, place, state, Some(HistoryRule::Follow));
            assert_eq!(followed, ["told", "told", "unchecked"], "explicitly");
        }
    }

    #[test]
    fn what_is_refused_is_said_for_what_it_is() {
        use Observer::{Daemon, Job, Reader};
        let refused = |observer, place| words(observer, place, StatePlace::Local, Some(HistoryRule::Refuse));
        assert_eq!(
            refused(Job, Place::Checkout),
            ["stale: older", "rewritten", "cut"]
        );
        assert_eq!(refused(Job, Place::Remote), ["rewritten", "rewritten", "cut"]);
        assert_eq!(refused(Reader, Place::Checkout), ["noted"; 3]);
        let daemon = Daemon(RefMove::Seen);
        assert_eq!(
            refused(daemon, Place::Checkout),
            ["rewritten", "rewritten", "cut"]
        );
    }
}
