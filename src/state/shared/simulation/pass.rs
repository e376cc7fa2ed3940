//! The pass of a job: announcement, requests, checkpoints and record.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::time::Duration;

use super::job::{Job, open};
use super::{CHECKPOINT, Commit, Documents, End, Event, Mutation, Request, TIMEOUT, Toggle};
use crate::state::shared::protocol::{Permission, Term, UnknownList};

/// The state that the lanes and the renewal of a pass share.
struct Pass {
    at: RefCell<Commit>,
    mark: u64,
    list: RefCell<UnknownList<Toggle, u8>>,
    tree: RefCell<Documents>,
    term: Cell<Term>,
    is_lost: Cell<bool>,
    has_ended: Cell<bool>,
    /// Whether a checkpoint recorded something.
    has_stored: Cell<bool>,
}

/// Moves stored requests from the journal to the tree, if they are the newest of their toggle. Returns
/// whether there are any.
pub(super) fn settle(requests: &[Request], list: &mut UnknownList<Toggle, u8>, tree: &mut Documents) -> bool {
    let newest: BTreeMap<Toggle, &Request> =
        requests.iter().map(|request| (request.toggle, request)).collect();
    let stored: Vec<&Request> =
        newest.into_values().filter(|request| request.end == Some(End::Stored)).collect();
    for request in &stored {
        tree[request.toggle] = request.value;
        list.record([&request.toggle]);
    }
    !stored.is_empty()
}

impl Job {
    /// Runs a pass from a free ref. Returns whether the job starts over.
    pub(super) async fn pass(&self, head: &Commit, late: BTreeMap<Toggle, u8>, is_stale: bool) -> bool {
        let world = &self.world;
        let lost: Vec<u64> = self.disk.borrow().keys().copied().collect();
        let mut list = UnknownList::found(head.unknown.clone());
        let is_owing = !late.is_empty();
        list.add_unknown(late);
        if is_owing {
            return self.record_late(head, &list, &lost).await;
        }
        if is_stale {
            world.note(self.process, &format!("is stale: {} after {}", self.revision, head.revision));
            return false;
        }
        let wanted = world.documents.borrow()[self.revision].clone();
        let changed =
            |toggle: &Toggle| wanted[*toggle] != head.tree[*toggle] || head.unknown.contains_key(toggle);
        let todo: Vec<Toggle> = (0..wanted.len()).filter(changed).collect();
        if todo.is_empty() {
            return self.record_revision(head, &list).await;
        }
        list.announce(todo.iter().map(|toggle| (*toggle, wanted[*toggle])));
        let pass = match self.announce(head, list).await {
            Ok(pass) => pass,
            Err(starts_over) => return starts_over,
        };
        self.forget(&lost);
        world.note(self.process, &format!("announced {}: {todo:?}", self.revision));
        let lanes = self.lanes(&pass, todo, &wanted);
        futures_util::future::join(lanes, self.renew(&pass)).await;
        if pass.is_lost.get() {
            world.note(self.process, "lost the ref");
            return true;
        }
        self.conclude(&pass, head.revision).await
    }

    /// Records late outcomes in a separate push, before the job plans.
    async fn record_late(&self, head: &Commit, list: &UnknownList<Toggle, u8>, lost: &[u64]) -> bool {
        let record = self.record(list, &head.tree, head.revision);
        match self.swap(head, &record, 8).await {
            Some(true) => self.forget(lost),
            Some(false) => {}
            None => return false,
        }
        true
    }

    /// Records the revision of a pass without changes.
    async fn record_revision(&self, head: &Commit, list: &UnknownList<Toggle, u8>) -> bool {
        let world = &self.world;
        let newest = || world.newest.set(world.newest.get().max(self.revision));
        let revision = match world.mutation {
            Mutation::NoRevisionWithoutChanges => head.revision,
            _ => self.revision,
        };
        if head.mark.is_none() && head.revision == self.revision {
            newest();
            return false;
        }
        let record = self.record(list, &head.tree, revision);
        let pushed = self.swap(head, &record, 8).await;
        if pushed == Some(true) {
            newest();
        }
        pushed == Some(false)
    }

    /// Announces the requests of `list`. Returns the begun pass, or else whether the job starts over.
    async fn announce(&self, head: &Commit, list: UnknownList<Toggle, u8>) -> Result<Pass, bool> {
        let mark = self.world.fresh();
        self.disk.borrow_mut().insert(mark, Vec::new());
        let pushed = self.clock();
        let announcement = Commit { mark: Some(mark), ..self.record(&list, &head.tree, self.revision) };
        match self.swap(head, &announcement, 8).await {
            Some(true) => {}
            Some(false) => {
                self.disk.borrow_mut().remove(&mark);
                return Err(true);
            }
            // The next process with this disk finds out whether it is there.
            None => return Err(false),
        }
        Ok(Pass {
            at: RefCell::new(announcement),
            mark,
            list: RefCell::new(list),
            tree: RefCell::new(head.tree.clone()),
            term: Cell::new(Term { began: self.since(pushed), timeout: TIMEOUT }),
            is_lost: Cell::default(),
            has_ended: Cell::default(),
            has_stored: Cell::default(),
        })
    }

    /// Removes the journals of ended passes.
    fn forget(&self, marks: &[u64]) {
        let mut disk = self.disk.borrow_mut();
        for mark in marks {
            disk.remove(mark);
        }
    }

    /// Returns the start of a term whose push began at `began`.
    pub(super) fn since(&self, began: Duration) -> Duration {
        match self.world.mutation {
            Mutation::TermFromTheAnswer => self.clock(),
            _ => began,
        }
    }

    /// Ends the pass with a record. Returns whether the job starts over.
    async fn conclude(&self, pass: &Pass, before: usize) -> bool {
        let requests = self.disk.borrow()[&pass.mark].clone();
        let (mut list, mut tree) = (pass.list.borrow().clone(), pass.tree.borrow().clone());
        let is_changed = settle(&requests, &mut list, &mut tree);
        let open = open(&requests);
        let is_fruitless = !is_changed && open.is_empty() && !pass.has_stored.get();
        list.end(&open);
        if self.world.mutation == Mutation::OffTheListEarly {
            list = UnknownList::found(BTreeMap::new());
        }
        let revision = if is_fruitless { before } else { self.revision };
        let record = self.record(&list, &tree, revision);
        let at = pass.at.borrow().clone();
        let pushed = self.swap(&at, &record, 8).await;
        if pushed == Some(true) {
            self.disk.borrow_mut().remove(&pass.mark);
            if !is_fruitless {
                self.world.newest.set(self.world.newest.get().max(self.revision));
            }
            self.world.note(self.process, &format!("recorded {revision}"));
        }
        pushed == Some(false)
    }

    /// Checkpoints and renews while requests are sent.
    async fn renew(&self, pass: &Pass) {
        loop {
            self.sleep(CHECKPOINT).await;
            if pass.has_ended.get() || pass.is_lost.get() {
                return;
            }
            let began = self.clock();
            let requests = self.disk.borrow()[&pass.mark].clone();
            let (mut list, mut tree) = (pass.list.borrow().clone(), pass.tree.borrow().clone());
            let is_changed = settle(&requests, &mut list, &mut tree);
            let renewed = Commit { mark: Some(pass.mark), ..self.record(&list, &tree, self.revision) };
            let at = pass.at.borrow().clone();
            match self.swap(&at, &renewed, 3).await {
                Some(true) => {
                    pass.has_stored.set(pass.has_stored.get() || is_changed);
                    pass.at.replace(renewed);
                    pass.list.replace(list);
                    pass.tree.replace(tree);
                    let term = Term { began: self.since(began), timeout: TIMEOUT };
                    pass.term.set(term);
                    let recorded: Vec<_> = (0..requests.len())
                        .filter(|at| matches!(requests[*at].end, Some(End::Stored | End::NotStored)))
                        .collect();
                    let mut disk = self.disk.borrow_mut();
                    let journal = disk.get_mut(&pass.mark).expect("the pass is going on");
                    for at in recorded.into_iter().rev() {
                        journal.remove(at);
                    }
                }
                Some(false) => pass.is_lost.set(true),
                None => {}
            }
        }
    }

    /// Sends each request, in one lane.
    async fn lanes(&self, pass: &Pass, mut todo: Vec<Toggle>, wanted: &Documents) {
        self.world.rng.borrow_mut().shuffle(&mut todo);
        'toggles: for toggle in todo {
            for _ in 0..3 {
                loop {
                    if pass.is_lost.get() {
                        break 'toggles;
                    }
                    match pass.term.get().permission(self.clock()) {
                        _ if self.world.mutation == Mutation::NoTerm => break,
                        Permission::Granted => break,
                        Permission::AfterPush => self.sleep(500).await,
                        Permission::Expired => break 'toggles,
                    }
                }
                if self.send(pass, toggle, wanted[toggle]).await {
                    break;
                }
                self.sleep(500).await;
            }
        }
        pass.has_ended.set(true);
    }

    /// Sends one request. Returns whether it was confirmed.
    async fn send(&self, pass: &Pass, toggle: Toggle, value: u8) -> bool {
        let world = &self.world;
        self.journal(pass, |journal| {
            let request = Request { toggle, value, end: None };
            journal.push(request);
        });
        let freezes = world.mutation.freezes();
        if freezes && world.failure(0.03) {
            let frozen = world.between(20.0, 250.0);
            world.note(self.process, &format!("is frozen before a request for {} s", frozen / 1000));
            self.sleep(frozen).await;
        }
        if !freezes {
            self.check(toggle, value);
        }
        world.open.borrow_mut().insert(toggle, (self.process, value));
        let fate = if world.is_calm.get() { 1.0 } else { world.rng.borrow_mut().f64() };
        let away = if world.failure(0.2) { world.between(0.4, 9.0) } else { world.between(0.02, 0.4) };
        let revision = self.revision;
        world.at(
            away,
            Event::Act(Box::new(move |world| {
                if fate > 0.06 {
                    world.live.borrow_mut()[toggle] = value;
                    world.newest.set(world.newest.get().max(revision));
                }
                world.open.borrow_mut().remove(&toggle);
            })),
        );
        let is_answered = !(0.03..=0.12).contains(&fate);
        self.sleep(if is_answered { away + 10 } else { 10_000 }).await;
        let end = match fate {
            _ if !is_answered => End::Unknown,
            fate if fate < 0.03 => End::NotStored,
            _ if pass.term.get().is_late(self.clock()) => End::Unknown,
            _ => End::Stored,
        };
        self.journal(pass, |journal| {
            let last = journal.iter_mut().rev().find(|request| request.toggle == toggle);
            last.expect("it was begun").end = Some(end);
        });
        end == End::Stored
    }

    fn journal(&self, pass: &Pass, change: impl FnOnce(&mut Vec<Request>)) {
        change(self.disk.borrow_mut().get_mut(&pass.mark).expect("the pass is going on"));
    }

    pub(super) fn check(&self, toggle: Toggle, value: u8) {
        let world = &self.world;
        if let Some((other, open)) = world.open.borrow().get(&toggle).copied() {
            let is_same = open == value && !world.is_running(other);
            if !is_same {
                world.fail(format!("job{} sends {toggle} while job{other} has it open", self.process));
            }
        }
        if self.revision < world.newest.get() {
            world.fail(format!(
                "job{} sends {toggle} of {} after {}",
                self.process,
                self.revision,
                world.newest.get()
            ));
        }
    }
}
