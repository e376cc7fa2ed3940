//! Counts how many users of an audience a set of changes switches to another variation.

use std::collections::BTreeMap;

use serde::Serialize;

use super::compiler::{Compiler, Definitions};
use super::condition::{Doubt, Person, Served, Verdict};
use super::evaluator::{Evaluator, SdkRules};
use crate::model::{Payload, Sdk, ToggleId, rfc3339};

/// The examples of users who switch, and the broken lines, that are kept.
const MOST_EXAMPLES: usize = 3;

const MOST_BROKEN: usize = 5;

/// The changes whose effect is counted, compiled.
#[derive(Debug)]
pub(crate) struct Audience {
    evaluator: Evaluator,
    /// The SDK by whose rules users are counted.
    sdk: Sdk,
    changes: Vec<Effect>,
}

/// One toggle before and after its change.
#[derive(Debug)]
struct Effect {
    id: ToggleId,
    before: Side,
    after: Side,
    /// Whether users see a difference: by result before, then by result after.
    switches: Vec<bool>,
}

/// What a toggle serves on one side.
#[derive(Debug)]
struct Side {
    evaluated: Evaluated,
    /// The name and the value of each variation.
    variations: Vec<(String, String)>,
}

/// How the result of one side is found.
#[derive(Clone, Copy, Debug)]
enum Evaluated {
    /// By the toggle with this index.
    By(usize),
    /// The toggle does not exist, so every user gets the default in the caller's code.
    Missing,
    /// The document is not readable.
    Unknown,
}

/// The counts of some of the users. Counts of different users can be added.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct Tally {
    users: Users,
    changes: Vec<Counts>,
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
struct Counts {
    cannot_say: u64,
    /// Whether that is because no time was given.
    lacks_time: bool,
    /// The number of users by result before, then by result after.
    matrix: Vec<u64>,
    /// The first users who switch: line, key, cell of the matrix.
    examples: Vec<(u64, Option<String>, usize)>,
}

/// The lines of an audience.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
pub struct Users {
    pub users: u64,
    /// The number of users without a key, whose splits are random.
    pub without_key: u64,
    /// The number of lines that are not users.
    pub broken: u64,
    pub first_broken: Vec<BrokenLine>,
    /// The time for which they are counted, if one was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
}

/// A line that is not a user. The reason is escaped.
#[derive(Clone, Debug, Eq, Ord, PartialEq, PartialOrd, Serialize)]
pub struct BrokenLine {
    /// The line, from 1.
    pub line: u64,
    /// Why it is not a user.
    pub reason: String,
}

/// The effect of a plan on an audience.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct UserImpact {
    /// The SDK by whose rules users are counted.
    pub sdk: Sdk,
    /// The lines of the audience.
    pub users: Users,
    /// The effect of each change.
    pub changes: BTreeMap<ToggleId, Impact>,
}

/// The effect of one change.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Impact {
    pub users: u64,
    /// The number of users who get another value.
    pub switched: u64,
    /// From which variation to which they switch, the largest number first.
    pub switches: Vec<Switch>,
    /// The users who get the same value, by variation.
    pub unchanged: Vec<Switch>,
    /// The number of users for whom it cannot be determined.
    pub cannot_say: u64,
    /// Whether that is because no time was given.
    #[serde(skip)]
    pub lacks_time: bool,
    /// The first users who switch.
    pub examples: Vec<SwitchExample>,
}

/// A number of users by variation. `None` is the default in the caller's code.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Switch {
    /// The variation before the change.
    pub from: Option<String>,
    /// The variation after the change.
    pub to: Option<String>,
    /// The number of users.
    pub count: u64,
}

/// A user who switches.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SwitchExample {
    /// The line in the audience, from 1.
    pub line: u64,
    /// The user's key.
    pub key: Option<String>,
    /// The variation before the change.
    pub from: Option<String>,
    /// The variation after the change.
    pub to: Option<String>,
}

impl Audience {
    /// Compiles changes: each toggle with its targeting before and after. `Err` is a targeting that cannot be
    /// read, `None` a toggle that does not exist. `find` returns the targeting of the other toggles, which do
    /// not change. Users are counted by the
    /// rules of `sdk`.
    pub(crate) fn new(
        changes: &BTreeMap<ToggleId, (Result<Option<Payload>, ()>, Payload)>,
        find: impl FnMut(&ToggleId) -> Option<Payload>,
        sdk: Sdk,
    ) -> Self {
        let find = std::cell::RefCell::new(find);
        let mut compiler = Compiler::default();
        let mut before = Definitions::new(|id| match changes.get(id) {
            Some((before, _)) => before.clone().ok().flatten(),
            None => (find.borrow_mut())(id),
        });
        let mut after = Definitions::new(|id| match changes.get(id) {
            Some((_, after)) => Some(after.clone()),
            None => (find.borrow_mut())(id),
        });
        let effects = changes.iter().map(|(id, (was, will))| {
            let was_index = compiler.toggle(id, &mut before);
            let will_index = compiler.toggle(id, &mut after);
            let missing = match was {
                Ok(_) => Evaluated::Missing,
                Err(()) => Evaluated::Unknown,
            };
            let was = was.as_ref().ok().and_then(Option::as_ref);
            Effect::new(
                id,
                Side::new(was_index.map_or(missing, Evaluated::By), was),
                Side::new(will_index.map_or(Evaluated::Unknown, Evaluated::By), Some(will)),
            )
        });
        let changes = effects.collect();
        Self { evaluator: compiler.finish(), sdk, changes }
    }

    /// Returns a user to fill; see [`Evaluator::person`].
    pub(crate) fn person(&self, now: Option<i64>) -> Person<'_> {
        self.evaluator.person(now)
    }

    /// Returns counts of no user.
    pub(crate) fn tally(&self, at: Option<i64>) -> Tally {
        let counts = self
            .changes
            .iter()
            .map(|effect| Counts { matrix: vec![0; effect.switches.len()], ..Counts::default() });
        Tally { users: Users { at: at.map(rfc3339), ..Users::default() }, changes: counts.collect() }
    }

    /// Counts a user, who is at `line` of the audience.
    pub(crate) fn count(&self, person: &Person<'_>, line: u64, tally: &mut Tally) {
        tally.users.users += 1;
        tally.users.without_key += u64::from(person.key().is_none());
        for (effect, counts) in self.changes.iter().zip(&mut tally.changes) {
            let before = self.cell(&effect.before, person);
            let after = self.cell(&effect.after, person);
            let (before, after) = match (before, after) {
                (Ok(before), Ok(after)) => (before, after),
                (Err(doubt), _) | (_, Err(doubt)) => {
                    counts.cannot_say += 1;
                    counts.lacks_time |= doubt == Some(Doubt::CurrentTime);
                    continue;
                }
            };
            let cell = before * effect.after.results() + after;
            counts.matrix[cell] += 1;
            if effect.switches[cell] && counts.examples.len() < MOST_EXAMPLES {
                counts.examples.push((line, person.key().map(str::to_owned), cell));
            }
        }
    }

    /// Returns the effect of each change on the counted users.
    pub(crate) fn impact(&self, tally: &Tally) -> UserImpact {
        let changes = self.changes.iter().zip(&tally.changes);
        UserImpact {
            sdk: self.sdk,
            users: tally.users.clone(),
            changes: changes
                .map(|(effect, counts)| (effect.id.clone(), effect.impact(counts, tally.users.users)))
                .collect(),
        }
    }

    /// Returns the row or column of a user's result.
    ///
    /// # Errors
    /// Why it cannot be determined: the targeting is not readable, or a doubt.
    fn cell(&self, side: &Side, person: &Person<'_>) -> Result<usize, Option<Doubt>> {
        let verdict = match side.evaluated {
            Evaluated::By(index) => self.evaluator.evaluate(SdkRules::of(self.sdk), index, person),
            Evaluated::Missing => Verdict::Known(Served::CallerDefault),
            Evaluated::Unknown => return Err(None),
        };
        match verdict {
            Verdict::CannotSay(doubt) => Err(Some(doubt)),
            Verdict::Known(Served::Variation(index)) => Ok(index as usize),
            // The last row and column.
            Verdict::Known(Served::CallerDefault) => Ok(side.variations.len()),
        }
    }
}

impl Side {
    fn new(evaluated: Evaluated, payload: Option<&Payload>) -> Self {
        let content = payload.map(|payload| payload.targeting().content);
        let variations = content.map(|content| content.variations).unwrap_or_default();
        let variations = variations.into_iter();
        Self {
            evaluated,
            variations: variations.map(|variation| (variation.name, variation.value)).collect(),
        }
    }

    /// Returns the number of results: the variations, and the default in the caller's code.
    fn results(&self) -> usize {
        self.variations.len() + 1
    }

    fn value(&self, result: usize) -> Option<&str> {
        self.variations.get(result).map(|(_, value)| value.as_str())
    }

    fn name(&self, result: usize) -> Option<&str> {
        self.variations.get(result).map(|(name, _)| name.as_str())
    }
}

impl Effect {
    fn new(id: &ToggleId, before: Side, after: Side) -> Self {
        let pairs = (0..before.results()).flat_map(|from| (0..after.results()).map(move |to| (from, to)));
        // A variation that is only renamed or moved makes no difference to users.
        let switches = pairs.map(|(from, to)| before.value(from) != after.value(to)).collect();
        Self { id: id.clone(), before, after, switches }
    }

    fn names(&self, cell: usize) -> (Option<String>, Option<String>) {
        let (from, to) = (cell / self.after.results(), cell % self.after.results());
        let name = |side: &Side, result| side.name(result).map(str::to_owned);
        (name(&self.before, from), name(&self.after, to))
    }

    fn impact(&self, counts: &Counts, users: u64) -> Impact {
        let cells = counts.matrix.iter().enumerate().filter(|(_, count)| **count > 0);
        let mut switches = Vec::new();
        let mut unchanged = Vec::new();
        for (cell, count) in cells {
            let (from, to) = self.names(cell);
            let entry = Switch { from, to, count: *count };
            if self.switches[cell] { switches.push(entry) } else { unchanged.push(entry) }
        }
        switches.sort_by_key(|entry| std::cmp::Reverse(entry.count));
        let examples = counts.examples.iter().map(|(line, key, cell)| {
            let (from, to) = self.names(*cell);
            SwitchExample { line: *line, key: key.clone(), from, to }
        });
        Impact {
            users,
            switched: switches.iter().map(|entry| entry.count).sum(),
            switches,
            unchanged,
            cannot_say: counts.cannot_say,
            lacks_time: counts.lacks_time,
            examples: examples.collect(),
        }
    }
}

impl Tally {
    /// Counts a line that is not a user. `reason` must be escaped.
    pub(crate) fn broken(&mut self, line: u64, reason: String) {
        self.users.broken += 1;
        if self.users.first_broken.len() < MOST_BROKEN {
            self.users.first_broken.push(BrokenLine { line, reason });
        }
    }
}
