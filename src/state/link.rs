//! A store's side of shared state: what it saw on the remote, and what it says there.

use std::thread;
use std::time::{Duration, Instant};

use super::error::Error;
use super::intent::{self, Intent};
use super::journal_file;
use super::ledger::{Entry, Finish, Ledger};
use super::record::APPLIED;
use super::record::Origin;
use super::shared::Shared;
use super::store::{PassHead, Store};
use super::view;
use crate::git::pack::{self, Kind, Object};
use crate::git::refs::{self, Moved};
use crate::model::{CommitId, Sent, ToggleId};

/// For how long after its last renewal an intent means that its pass is going on, in seconds.
const ALIVE: i64 = 60;

/// Returns whether a pass is going on whose intent was renewed at `renewed`, by its clock, and has stayed the same for
/// `unmoved` while we looked: a clock elsewhere may be ahead, and its process dead.
fn is_alive(clock: i64, renewed: i64, unmoved: Duration) -> bool {
    clock - renewed < ALIVE && unmoved < Duration::from_secs(ALIVE.unsigned_abs())
}

/// How often a remote that somebody else uses is looked at again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Whose record counts after a fetch.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Adopted {
    /// Ours: the remote has the same, or less.
    Ours,
    /// Theirs: somebody else moved it.
    Theirs,
}

/// The remote as it was seen last.
#[derive(Debug)]
pub(crate) struct Link {
    pub(crate) shared: Shared,
    /// What the remote's ref points at: an applied commit, or an intent around one.
    pub(crate) at: Option<CommitId>,
    /// The mark of our last pass, by which its intent is recognised.
    pub(crate) pass: Option<String>,
    /// What the pass that is going on has announced.
    announced: Option<Announced>,
    pub(crate) head: Option<PassHead>,
}

#[derive(Clone, Debug)]
struct Announced {
    list: CommitId,
    intents: Vec<(ToggleId, Sent)>,
}

impl Link {
    pub(crate) fn new(shared: Shared, pass: Option<String>) -> Self {
        Self {
            shared,
            at: None,
            pass,
            announced: None,
            head: None,
        }
    }
}

impl Store {
    /// Fetches the remote's state and makes it ours: its record, and what it does not know the outcome of.
    pub(super) fn fetch(&mut self, wait: Duration, now: i64) -> Result<(), Error> {
        let Some(link) = &self.link else { return Ok(()) };
        let (shared, pass) = (link.shared.clone(), link.pass.clone());
        let began = Instant::now();
        let mut watched = (None, began);
        let mut is_told = false;
        let (at, intent) = loop {
            let at = shared.fetch(&self.repository, &self.failpoints)?;
            let intent = at
                .map(|at| intent::parse(&self.repository, at))
                .transpose()?
                .flatten();
            let clock = now + i64::try_from(began.elapsed().as_secs()).unwrap_or(i64::MAX / 2);
            let foreign = intent
                .as_ref()
                .filter(|intent| Some(&intent.pass) != pass.as_ref());
            if watched.0 != at {
                watched = (at, Instant::now());
            }
            let unmoved = watched.1.elapsed();
            let alive = foreign.filter(|intent| {
                intent
                    .renewed
                    .is_some_and(|renewed| is_alive(clock, renewed, unmoved))
            });
            let Some(alive) = alive else { break (at, intent) };
            let left = wait.saturating_sub(began.elapsed());
            if left.is_zero() {
                return Err(Error::InUse {
                    name: shared.name,
                    holder: alive.holder.clone(),
                });
            }
            if !is_told {
                tracing::warn!(name: "waiting_for_publisher", holder = %alive.holder, state = %shared.name, "another process is publishing; waiting for it");
                is_told = true;
            }
            thread::sleep(PATIENCE.min(left));
        };
        let applied = match &intent {
            Some(intent) => intent.applied,
            None => at,
        };
        let adopted = self.adopt(applied)?;
        let is_ours = intent
            .as_ref()
            .is_some_and(|intent| Some(&intent.pass) == pass.as_ref());
        if adopted == Adopted::Theirs && pass.is_some() && !is_ours {
            self.ledger.supersede();
        }
        // Our own intent says less than our own journal.
        if let Some(intent) = intent.filter(|intent| Some(&intent.pass) != pass.as_ref()) {
            let listed = intent::listed(&self.repository, intent.list)?;
            self.import(&listed)?;
        }
        if adopted == Adopted::Theirs {
            self.rewrite_journal()?;
        }
        if let Some(link) = &mut self.link {
            link.at = at;
        }
        Ok(())
    }

    /// Makes the remote's applied commit ours. Where somebody else moved it, what we did not push is in doubt.
    fn adopt(&mut self, applied: Option<CommitId>) -> Result<Adopted, Error> {
        let ours = refs::look_up(&self.repository, APPLIED)?;
        if ours == applied {
            return Ok(Adopted::Ours);
        }
        let Some(new) = applied else {
            // There is nothing there (any more): what we know is what there is.
            self.unpublished = true;
            return Ok(Adopted::Ours);
        };
        if ours.map_or(Ok(false), |ours| self.descends(ours, new))? {
            self.unpublished = true;
            return Ok(Adopted::Ours);
        }
        let tip = view::tip_at(&self.repository, new)?;
        self.check_base_url(&tip.base_url)?;
        self.ledger.doubt(|_| true);
        // Before the ref moves: a crash in between must not let the next start trust it.
        self.rewrite_journal()?;
        match refs::move_ref(&self.repository, APPLIED, ours, new, &self.failpoints)? {
            Moved::Raced => return Err(Error::Moved(APPLIED.to_owned())),
            Moved::Done => {}
        }
        self.view.replace_tip(Some(tip));
        Ok(Adopted::Theirs)
    }

    /// Adds what another process announced and we do not know yet to our unknown toggles.
    fn import(&mut self, listed: &Ledger) -> Result<(), Error> {
        let mut changed = false;
        for (id, entry) in listed.entries() {
            let known = self
                .ledger
                .unknown()
                .any(|(other, ours)| other == id && ours.sent == entry.sent);
            if known {
                continue;
            }
            changed = true;
            let number = self.ledger.highest() + 1;
            let entry = Entry {
                number,
                base: self.view.tip().map(|tip| tip.commit),
                sent: entry.sent.clone(),
                outcome: None,
            };
            self.ledger.intend(id.clone(), entry);
            self.ledger.finish(number, Finish::Unknown);
        }
        if changed {
            // From here on what is open is known to the others, as after a pass of our own.
            if let Some(link) = &mut self.link {
                link.pass.get_or_insert_with(journal_file::fresh_id);
            }
            self.rewrite_journal()?;
        }
        Ok(())
    }

    /// Says on the remote what is about to be sent. Nothing may be sent unless this succeeds.
    pub(super) fn announce(&mut self, head: &PassHead, changes: &[(ToggleId, Sent)]) -> Result<(), Error> {
        let Some(link) = &mut self.link else { return Ok(()) };
        link.head = Some(*head);
        if changes.is_empty() {
            return Ok(());
        }
        let earlier = link
            .announced
            .iter()
            .flat_map(|announced| announced.intents.clone())
            .collect::<Vec<_>>();
        let mut intents: Vec<(ToggleId, Sent)> = self
            .view
            .unknown()
            .iter()
            .map(|(id, unknown)| (id.clone(), unknown.sent.clone()))
            .collect();
        intents.extend(earlier);
        intents.extend(changes.iter().cloned());
        let announced = self.keep_list(head, intents)?;
        self.push_intent(&announced, Some(head.now))?;
        if let Some(link) = &mut self.link {
            link.announced = Some(announced);
        }
        Ok(())
    }

    /// Says on the remote that the pass is still going on; due every 20 seconds, and nothing where none is announced.
    ///
    /// # Errors
    /// [`Error::Raced`] when somebody took over: then nothing more may be sent. Otherwise what went wrong on the way.
    pub fn renew(&mut self, now: i64) -> Result<(), Error> {
        let Some(announced) = self.link.as_ref().and_then(|link| link.announced.clone()) else {
            return Ok(());
        };
        self.push_intent(&announced, Some(now))
    }

    /// Pushes what was recorded: around it the intent while a pass goes on, or what stays unknown.
    pub(super) fn publish(&mut self, unknown: &Ledger) -> Result<(), Error> {
        let Some(link) = &self.link else { return Ok(()) };
        let Some(head) = link.head else { return Ok(()) };
        if let Some(announced) = link.announced.clone() {
            return self.push_intent(&announced, Some(head.now));
        }
        let intents: Vec<(ToggleId, Sent)> = unknown
            .unknown()
            .map(|(id, entry)| (id.clone(), entry.sent.clone()))
            .collect();
        if intents.is_empty() {
            return match self.view.tip().map(|tip| tip.commit) {
                Some(tip) => self.push(tip),
                None => Ok(()),
            };
        }
        let announced = self.keep_list(&head, intents)?;
        self.push_intent(&announced, None)
    }

    /// Says on the remote that the pass is over.
    pub(super) fn conclude(&mut self) -> Result<(), Error> {
        match &mut self.link {
            Some(link) if link.announced.is_some() => link.announced = None,
            _ => return Ok(()),
        }
        let ledger = self.ledger.clone();
        self.publish(&ledger)
    }

    fn keep_list(&self, head: &PassHead, intents: Vec<(ToggleId, Sent)>) -> Result<Announced, Error> {
        let objects = intent::list(&self.origin(head), head.now, &intents);
        let list = CommitId(objects.last().expect("a list ends in its commit").id);
        self.write(&objects)?;
        Ok(Announced { list, intents })
    }

    fn push_intent(&mut self, announced: &Announced, renewed: Option<i64>) -> Result<(), Error> {
        let Some(link) = &self.link else { return Ok(()) };
        let Some(head) = link.head else { return Ok(()) };
        let empty = Object::new(Kind::Tree, Vec::new());
        let intent = Intent {
            applied: self.view.tip().map(|tip| tip.commit),
            list: announced.list,
            pass: link.pass.clone().unwrap_or_default(),
            holder: link.shared.holder.clone(),
            renewed,
        };
        let tree = self.view.tip().map_or(empty.id, |tip| tip.tree);
        let now = renewed.unwrap_or(head.now);
        let commit = intent::commit(&intent, tree, &self.origin(&head), now, &announced.intents);
        let id = CommitId(commit.id);
        self.write(&[empty, commit])?;
        self.push(id)
    }

    fn push(&mut self, new: CommitId) -> Result<(), Error> {
        let Some(link) = &mut self.link else { return Ok(()) };
        if link.at == Some(new) {
            return Ok(());
        }
        match link
            .shared
            .push(&self.repository, link.at, new, &self.failpoints)?
        {
            Moved::Done => link.at = Some(new),
            Moved::Raced => return Err(Error::Raced(link.shared.name.clone())),
        }
        Ok(())
    }

    fn write(&self, objects: &[Object]) -> Result<(), Error> {
        let odb = self.repository.odb().map_err(self.broken())?;
        pack::write(
            &odb,
            &self.repository.path().join("objects/pack"),
            objects,
            &self.failpoints,
        )?;
        odb.refresh().map_err(self.broken())
    }

    fn origin(&self, head: &PassHead) -> Origin<'_> {
        Origin {
            revision: head.revision,
            base_url: &self.base_url,
            allowances: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_intent_is_alive_while_it_is_renewed_by_whatever_clock() {
        for (clock, renewed, unmoved, alive) in [
            (1000, 1000, 0, true),
            (1000, 941, 0, true),
            (1000, 940, 0, false),
            // A clock that is a day ahead: alive until nothing was renewed for a minute.
            (1000, 87_400, 0, true),
            (1000, 87_400, 59, true),
            (1000, 87_400, 60, false),
        ] {
            let found = is_alive(clock, renewed, Duration::from_secs(unmoved));
            assert_eq!(found, alive, "{clock} {renewed} {unmoved}");
        }
    }
}
