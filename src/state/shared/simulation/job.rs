//! A job: what it does before and after its pass.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::task::Poll;
use std::time::Duration;

use super::pass::settle;
use super::{Commit, Disk, Documents, End, Event, Mutation, Request, TIMEOUT, Toggle, World};
use crate::state::shared::protocol::{
    HolderWatch, QueueStep, RefStatus, TERM, UnknownList, open_for, silence,
};

/// One `apply` on a checkout.
pub(super) struct Job {
    pub(super) world: Rc<World>,
    pub(super) process: usize,
    pub(super) rate: f64,
    pub(super) revision: usize,
    pub(super) disk: Disk,
}

pub(super) fn start(world: &Rc<World>, revision: usize, disk: &Disk) -> usize {
    let process = world.tasks.borrow().len();
    let job = Job {
        rate: 0.955 + world.rng.borrow_mut().f64() * 0.09,
        world: Rc::clone(world),
        process,
        revision,
        disk: Rc::clone(disk),
    };
    world.tasks.borrow_mut().push(Some(Box::pin(async move { job.run().await })));
    world.at(0, Event::Poll(process));
    process
}

impl Job {
    pub(super) fn clock(&self) -> Duration {
        Duration::from_millis(self.world.now.get()).mul_f64(self.rate)
    }

    pub(super) async fn sleep(&self, milliseconds: u64) {
        let until = self.world.now.get() + milliseconds;
        std::future::poll_fn(|_| match self.world.now.get() >= until {
            true => Poll::Ready(()),
            false => {
                self.world.wake.set(self.world.wake.get().min(until));
                Poll::Pending
            }
        })
        .await;
    }

    pub(super) async fn lag(&self) {
        let delay = if self.world.failure(self.world.slowness) {
            self.world.between(0.3, 55.0)
        } else {
            self.world.between(0.01, 0.3)
        };
        self.sleep(delay).await;
    }

    /// Compares and sets over an unreliable network. Returns the verdict, if there is one.
    pub(super) async fn push(&self, old: &Commit, new: &Commit) -> Option<bool> {
        let world = &self.world;
        self.lag().await;
        if world.failure(0.06) {
            return None;
        }
        let is_done = world.head.borrow().id == old.id || world.mutation == Mutation::PushWithoutCompare;
        if is_done {
            world.head.replace(new.clone());
        }
        self.lag().await;
        (!world.failure(0.05)).then_some(is_done)
    }

    /// Pushes, and looks up the ref if there is no verdict. Returns none if the result stays unknown.
    pub(super) async fn swap(&self, old: &Commit, new: &Commit, tries: usize) -> Option<bool> {
        for _ in 0..tries {
            match self.push(old, new).await {
                Some(true) => return Some(true),
                Some(false) => return Some(self.world.head.borrow().id == new.id),
                None => {}
            }
            self.lag().await;
            let seen = self.world.head.borrow().id;
            if seen == new.id || seen != old.id {
                return Some(seen == new.id);
            }
            self.sleep(1_000).await;
        }
        None
    }

    /// Returns the requests of all other marks that may have been stored.
    pub(super) fn owed(&self, mark: Option<u64>) -> BTreeMap<Toggle, u8> {
        let disk = self.disk.borrow();
        let others = disk.iter().filter(|(other, _)| Some(**other) != mark);
        let requests = others.flat_map(|(_, requests)| requests);
        let open = requests.filter(|request| matches!(request.end, None | Some(End::Unknown)));
        open.map(|request| (request.toggle, request.value)).collect()
    }

    pub(super) fn record(&self, list: &UnknownList<Toggle, u8>, tree: &Documents, revision: usize) -> Commit {
        Commit {
            id: self.world.fresh(),
            mark: None,
            tree: tree.clone(),
            unknown: list.toggles().clone(),
            revision,
        }
    }

    async fn run(&self) {
        let world = &self.world;
        let began = self.clock();
        let mut watch = HolderWatch::new(began);
        loop {
            self.lag().await;
            let head = world.head.borrow().clone();
            let own = head.mark.filter(|mark| self.disk.borrow().contains_key(mark));
            let wait = match world.mutation {
                Mutation::HalfTheWait => silence(TERM, TIMEOUT) / 2,
                _ => silence(TERM, TIMEOUT),
            };
            let found = match (head.mark, own) {
                (None, _) => RefStatus::Free,
                (Some(_), Some(_)) => RefStatus::Own,
                (Some(_), None) => RefStatus::Foreign(wait),
            };
            let mut late = self.owed(head.mark);
            let owes = !late.is_empty() && world.mutation != Mutation::FrozenGivesUp;
            match watch.step(head.id, found, owes, self.clock()) {
                QueueStep::Wait => {
                    self.sleep(1_000).await;
                    continue;
                }
                QueueStep::GiveUp => return world.note(self.process, "gives up"),
                QueueStep::End => {
                    let is_open = self.disk.borrow()[&head.mark.unwrap_or_default()]
                        .iter()
                        .any(|request| request.end.is_none());
                    if is_open
                        && world.mutation != Mutation::EndsAtOnce
                        && self.clock() - began < open_for(TIMEOUT)
                    {
                        self.sleep(1_000).await;
                        continue;
                    }
                    if !self.end_own(&head).await {
                        return;
                    }
                    continue;
                }
                QueueStep::TakeOver => {}
            }
            if world.mutation == Mutation::FrozenDropsLate {
                late.clear();
            }
            let is_stale = match world.mutation {
                Mutation::StaleByRecordOnly => head.mark.is_none() && head.revision > self.revision,
                _ => head.revision > self.revision,
            };
            if !self.pass(&head, late, is_stale).await {
                return;
            }
        }
    }

    /// Ends the own announcement from the journal. Returns whether the job continues.
    async fn end_own(&self, head: &Commit) -> bool {
        let mark = head.mark.expect("it is an announcement");
        let requests = self.disk.borrow()[&mark].clone();
        let mut list = UnknownList::found(head.unknown.clone());
        let mut tree = head.tree.clone();
        settle(&requests, &mut list, &mut tree);
        list.add_unknown(open(&requests));
        let record = self.record(&list, &tree, head.revision);
        let pushed = self.swap(head, &record, 8).await;
        if pushed == Some(true) {
            self.disk.borrow_mut().remove(&mark);
            self.world.note(self.process, "ended its own announcement");
        }
        pushed.is_some()
    }
}

/// Returns the requests that may have been stored, without a later confirmation.
pub(super) fn open(requests: &[Request]) -> BTreeMap<Toggle, u8> {
    let mut open = BTreeMap::new();
    for request in requests {
        match request.end {
            None | Some(End::Unknown) => drop(open.insert(request.toggle, request.value)),
            Some(End::Stored) => drop(open.remove(&request.toggle)),
            Some(End::NotStored) => {}
        }
    }
    open
}
