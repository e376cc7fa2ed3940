//! Simulates the protocol with random jobs, one ref and one service.
//!
//! The clocks of processes have different rates. Pushes fail, get no verdict, or take up to 55 s; processes freeze and die;
//! responses get lost; jobs run on old checkouts, with an empty disk or the disk of an earlier job. A mutation is a
//! deliberate mistake, which the invariants must catch.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fastrand::Rng;

use super::protocol::{
    HolderWatch, Permission, QueueStep, RefStatus, TERM, Term, UnknownList, open_for, silence,
};

const TIMEOUT: Duration = Duration::from_secs(10);
const CHECKPOINT: u64 = 5_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mutation {
    None,
    /// Not a mistake: processes freeze between the check of the clock and the request, which nothing can prevent. Only the
    /// documents stored in the end are checked then, and no process is killed.
    Frozen,
    FrozenDropsLate,
    FrozenGivesUp,
    EndsAtOnce,
    HalfTheWait,
    TermFromTheAnswer,
    NoTerm,
    StaleByRecordOnly,
    OffTheListEarly,
    PushWithoutCompare,
    NoRevisionWithoutChanges,
}

impl Mutation {
    fn freezes(self) -> bool {
        matches!(self, Self::Frozen | Self::FrozenDropsLate | Self::FrozenGivesUp)
    }
}

type Toggle = usize;
type Documents = Vec<u8>;

/// A commit at the ref, with a unique id.
#[derive(Clone, Debug, Default)]
struct Commit {
    id: u64,
    mark: Option<u64>,
    tree: Documents,
    unknown: BTreeMap<Toggle, u8>,
    revision: usize,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum End {
    NotStored,
    Stored,
    Unknown,
}

#[derive(Clone, Copy, Debug)]
struct Request {
    toggle: Toggle,
    value: u8,
    end: Option<End>,
}

/// The journals of a state folder, by mark.
type Disk = Rc<RefCell<BTreeMap<u64, Vec<Request>>>>;

type Task = Pin<Box<dyn Future<Output = ()>>>;

enum Event {
    Act(Box<dyn FnOnce(&World)>),
    Poll(usize),
}

struct World {
    rng: RefCell<Rng>,
    mutation: Mutation,
    now: Cell<u64>,
    ids: Cell<u64>,
    /// The time at which to poll the current process again.
    wake: Cell<u64>,
    events: RefCell<BTreeMap<(u64, u64), Event>>,
    tasks: RefCell<Vec<Option<Task>>>,
    documents: RefCell<Vec<Documents>>,
    head: RefCell<Commit>,
    live: RefCell<Documents>,
    /// The process and value of each open request.
    open: RefCell<BTreeMap<Toggle, (usize, u8)>>,
    newest: Cell<usize>,
    is_calm: Cell<bool>,
    slowness: f64,
    frost: f64,
    deaths: f64,
    log: RefCell<Vec<String>>,
    fault: RefCell<Option<String>>,
}

impl World {
    fn new(seed: u64, mutation: Mutation) -> Rc<Self> {
        let mut rng = Rng::with_seed(seed);
        let toggles = [1, 2, 4, 12][rng.usize(0..4)];
        let slowness = [0.02, 0.1, 0.4][rng.usize(0..3)];
        let frost = [0.0, 0.004, 0.03][rng.usize(0..3)];
        let deaths = [0.0, 0.004, 0.02][rng.usize(0..3)];
        let documents = vec![0; toggles];
        Rc::new(Self {
            rng: RefCell::new(rng),
            mutation,
            now: Cell::default(),
            ids: Cell::new(1),
            wake: Cell::default(),
            events: RefCell::default(),
            tasks: RefCell::default(),
            head: RefCell::new(Commit {
                tree: documents.clone(),
                ..Commit::default()
            }),
            live: RefCell::new(documents.clone()),
            documents: RefCell::new(vec![documents]),
            open: RefCell::default(),
            newest: Cell::default(),
            is_calm: Cell::default(),
            slowness,
            frost,
            deaths: if mutation.freezes() { 0.0 } else { deaths },
            log: RefCell::default(),
            fault: RefCell::default(),
        })
    }

    fn chance(&self, probability: f64) -> bool {
        self.rng.borrow_mut().f64() < probability
    }

    /// Returns whether a failure happens; never in the calm phase at the end.
    fn failure(&self, probability: f64) -> bool {
        !self.is_calm.get() && self.chance(probability)
    }

    fn between(&self, least: f64, most: f64) -> u64 {
        let seconds = least + self.rng.borrow_mut().f64() * (most - least);
        milliseconds(Duration::from_secs_f64(seconds))
    }

    fn fresh(&self) -> u64 {
        self.ids.set(self.ids.get() + 1);
        self.ids.get()
    }

    fn at(&self, delay: u64, event: Event) {
        let key = (self.now.get() + delay, self.fresh());
        self.events.borrow_mut().insert(key, event);
    }

    fn note(&self, process: usize, event: &str) {
        let line = format!("{:9.2} job{process} {event}", self.now.get() as f64 / 1000.0);
        self.log.borrow_mut().push(line);
    }

    fn fail(&self, fault: String) {
        self.log.borrow_mut().push(format!("          !! {fault}"));
        self.fault.borrow_mut().get_or_insert(fault);
    }

    fn commit(&self) {
        let mut documents = self.documents.borrow().last().unwrap().clone();
        for document in &mut documents {
            if self.chance(0.6) {
                // Few values, so that reverts are common.
                *document = self.rng.borrow_mut().u8(0..3);
            }
        }
        self.documents.borrow_mut().push(documents);
    }

    fn run(&self) {
        while self.fault.borrow().is_none() {
            let Some(((at, _), event)) = self.events.borrow_mut().pop_first() else {
                return;
            };
            self.now.set(at);
            match event {
                Event::Act(act) => act(self),
                Event::Poll(process) => self.poll(process),
            }
        }
    }

    fn poll(&self, process: usize) {
        let Some(mut task) = self.tasks.borrow_mut()[process].take() else {
            return;
        };
        self.wake.set(u64::MAX);
        if task.as_mut().poll(&mut Context::from_waker(Waker::noop())) == Poll::Ready(()) {
            return;
        }
        let mut delay = self.wake.get().saturating_sub(self.now.get());
        if self.failure(self.frost) {
            let frozen = self.between(20.0, 250.0);
            self.note(process, &format!("is frozen for {} s", frozen / 1000));
            delay += frozen;
        }
        if self.failure(self.deaths) {
            self.note(process, "is killed");
            return;
        }
        self.tasks.borrow_mut()[process] = Some(task);
        self.at(delay, Event::Poll(process));
    }

    fn is_running(&self, process: usize) -> bool {
        self.tasks.borrow()[process].is_some()
    }
}

fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).expect("a history is short")
}

/// One `apply` on a checkout.
struct Job {
    world: Rc<World>,
    process: usize,
    rate: f64,
    revision: usize,
    disk: Disk,
}

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

fn start(world: &Rc<World>, revision: usize, disk: &Disk) -> usize {
    let process = world.tasks.borrow().len();
    let job = Job {
        rate: 0.955 + world.rng.borrow_mut().f64() * 0.09,
        world: Rc::clone(world),
        process,
        revision,
        disk: Rc::clone(disk),
    };
    world
        .tasks
        .borrow_mut()
        .push(Some(Box::pin(async move { job.run().await })));
    world.at(0, Event::Poll(process));
    process
}

impl Job {
    fn clock(&self) -> Duration {
        Duration::from_millis(self.world.now.get()).mul_f64(self.rate)
    }

    async fn sleep(&self, milliseconds: u64) {
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

    async fn lag(&self) {
        let delay = match self.world.failure(self.world.slowness) {
            true => self.world.between(0.3, 55.0),
            false => self.world.between(0.01, 0.3),
        };
        self.sleep(delay).await;
    }

    /// Compares and sets over an unreliable network. Returns the verdict, if there is one.
    async fn push(&self, old: &Commit, new: &Commit) -> Option<bool> {
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
    async fn swap(&self, old: &Commit, new: &Commit, tries: usize) -> Option<bool> {
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
    fn owed(&self, mark: Option<u64>) -> BTreeMap<Toggle, u8> {
        let disk = self.disk.borrow();
        let others = disk.iter().filter(|(other, _)| Some(**other) != mark);
        let requests = others.flat_map(|(_, requests)| requests);
        let open = requests.filter(|request| matches!(request.end, None | Some(End::Unknown)));
        open.map(|request| (request.toggle, request.value)).collect()
    }

    fn record(&self, list: &UnknownList<Toggle, u8>, tree: &Documents, revision: usize) -> Commit {
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

    /// Runs a pass from a free ref. Returns whether the job starts over.
    async fn pass(&self, head: &Commit, late: BTreeMap<Toggle, u8>, is_stale: bool) -> bool {
        let world = &self.world;
        let lost: Vec<u64> = self.disk.borrow().keys().copied().collect();
        let mut list = UnknownList::found(head.unknown.clone());
        let is_owing = !late.is_empty();
        list.add_unknown(late);
        if is_owing {
            // A separate push, before the job plans.
            let record = self.record(&list, &head.tree, head.revision);
            match self.swap(head, &record, 8).await {
                Some(true) => lost
                    .iter()
                    .for_each(|mark| drop(self.disk.borrow_mut().remove(mark))),
                Some(false) => {}
                None => return false,
            }
            return true;
        }
        if is_stale {
            world.note(
                self.process,
                &format!("is stale: {} after {}", self.revision, head.revision),
            );
            return false;
        }
        let wanted = world.documents.borrow()[self.revision].clone();
        let changed =
            |toggle: &Toggle| wanted[*toggle] != head.tree[*toggle] || head.unknown.contains_key(toggle);
        let todo: Vec<Toggle> = (0..wanted.len()).filter(changed).collect();
        let newest = || world.newest.set(world.newest.get().max(self.revision));
        if todo.is_empty() {
            let revision = match world.mutation {
                Mutation::NoRevisionWithoutChanges => head.revision,
                _ => self.revision,
            };
            if head.mark.is_none() && head.revision == self.revision {
                newest();
                return false;
            }
            let record = self.record(&list, &head.tree, revision);
            let pushed = self.swap(head, &record, 8).await;
            if pushed == Some(true) {
                newest();
            }
            return pushed == Some(false);
        }
        let before = head.revision;
        list.announce(todo.iter().map(|toggle| (*toggle, wanted[*toggle])));
        let mark = world.fresh();
        self.disk.borrow_mut().insert(mark, Vec::new());
        let pushed = self.clock();
        let announcement = Commit {
            mark: Some(mark),
            ..self.record(&list, &head.tree, self.revision)
        };
        match self.swap(head, &announcement, 8).await {
            Some(true) => {}
            Some(false) => {
                self.disk.borrow_mut().remove(&mark);
                return true;
            }
            // The next process with this disk finds out whether it is there.
            None => return false,
        }
        lost.iter()
            .for_each(|mark| drop(self.disk.borrow_mut().remove(mark)));
        world.note(self.process, &format!("announced {}: {todo:?}", self.revision));
        let pass = Pass {
            at: RefCell::new(announcement),
            mark,
            list: RefCell::new(list),
            tree: RefCell::new(head.tree.clone()),
            term: Cell::new(Term {
                began: self.since(pushed),
                timeout: TIMEOUT,
            }),
            is_lost: Cell::default(),
            has_ended: Cell::default(),
            has_stored: Cell::default(),
        };
        let lanes = self.lanes(&pass, todo, &wanted);
        futures_util::future::join(lanes, self.renew(&pass)).await;
        if pass.is_lost.get() {
            world.note(self.process, "lost the ref");
            return true;
        }
        self.conclude(&pass, before).await
    }

    /// Returns the start of a term whose push began at `began`.
    fn since(&self, began: Duration) -> Duration {
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
            let renewed = Commit {
                mark: Some(pass.mark),
                ..self.record(&list, &tree, self.revision)
            };
            let at = pass.at.borrow().clone();
            match self.swap(&at, &renewed, 3).await {
                Some(true) => {
                    pass.has_stored.set(pass.has_stored.get() || is_changed);
                    pass.at.replace(renewed);
                    pass.list.replace(list);
                    pass.tree.replace(tree);
                    let term = Term {
                        began: self.since(began),
                        timeout: TIMEOUT,
                    };
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
            let request = Request {
                toggle,
                value,
                end: None,
            };
            journal.push(request);
        });
        let freezes = world.mutation.freezes();
        if freezes && world.failure(0.03) {
            let frozen = world.between(20.0, 250.0);
            world.note(
                self.process,
                &format!("is frozen before a request for {} s", frozen / 1000),
            );
            self.sleep(frozen).await;
        }
        if !freezes {
            self.check(toggle, value);
        }
        world.open.borrow_mut().insert(toggle, (self.process, value));
        let fate = match world.is_calm.get() {
            true => 1.0,
            false => world.rng.borrow_mut().f64(),
        };
        let away = match world.failure(0.2) {
            true => world.between(0.4, 9.0),
            false => world.between(0.02, 0.4),
        };
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
        change(
            self.disk
                .borrow_mut()
                .get_mut(&pass.mark)
                .expect("the pass is going on"),
        );
    }

    fn check(&self, toggle: Toggle, value: u8) {
        let world = &self.world;
        if let Some((other, open)) = world.open.borrow().get(&toggle).copied() {
            let is_same = open == value && !world.is_running(other);
            if !is_same {
                world.fail(format!(
                    "job{} sends {toggle} while job{other} has it open",
                    self.process
                ));
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

/// Moves stored requests from the journal to the tree, if they are the newest of their toggle. Returns whether there are
/// any.
fn settle(requests: &[Request], list: &mut UnknownList<Toggle, u8>, tree: &mut Documents) -> bool {
    let newest: BTreeMap<Toggle, &Request> =
        requests.iter().map(|request| (request.toggle, request)).collect();
    let stored: Vec<&Request> = newest
        .into_values()
        .filter(|request| request.end == Some(End::Stored))
        .collect();
    for request in &stored {
        tree[request.toggle] = request.value;
        list.record([&request.toggle]);
    }
    !stored.is_empty()
}

/// Returns the requests that may have been stored, without a later confirmation.
fn open(requests: &[Request]) -> BTreeMap<Toggle, u8> {
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

/// Runs one history. The last jobs run without failures, once on each disk and twice on an empty one.
fn history(seed: u64, mutation: Mutation) -> Rc<World> {
    let world = World::new(seed, mutation);
    let disks: Vec<Disk> = (0..3).map(|_| Disk::default()).collect();
    let users: Rc<RefCell<BTreeMap<usize, usize>>> = Rc::default();
    let mut at = 0;
    let jobs = world.rng.borrow_mut().u32(4..15);
    for _ in 0..jobs {
        let pause = [0.0, 1.0, 5.0, 20.0, 60.0, 150.0][world.rng.borrow_mut().usize(0..6)];
        at += world.between(0.0, pause);
        let (shared, disks, users) = (Rc::clone(&world), disks.clone(), Rc::clone(&users));
        let begin = move |world: &World| {
            if world.chance(0.7) {
                world.commit();
            }
            let newest = world.documents.borrow().len() - 1;
            let revision = match world.chance(0.8) {
                true => newest,
                false => world.rng.borrow_mut().usize(0..=newest),
            };
            let number = world.rng.borrow_mut().usize(0..3);
            // One process uses a folder at a time.
            let is_used = users
                .borrow()
                .get(&number)
                .is_some_and(|user| world.is_running(*user));
            match world.chance(0.7) && !is_used {
                true => {
                    let process = start(&shared, revision, &disks[number]);
                    users.borrow_mut().insert(number, process);
                }
                false => drop(start(&shared, revision, &Disk::default())),
            }
        };
        world.at(at, Event::Act(Box::new(begin)));
    }
    world.run();
    world.is_calm.set(true);
    let newest = world.documents.borrow().len() - 1;
    for disk in disks.into_iter().chain([Disk::default(), Disk::default()]) {
        start(&world, newest, &disk);
        world.run();
    }
    let wanted = world.documents.borrow()[newest].clone();
    if world.fault.borrow().is_none() && *world.live.borrow() != wanted {
        let live = world.live.borrow().clone();
        world.fail(format!("in the end the service has {live:?}, not {wanted:?}"));
    }
    world
}

/// The first seed below `count` whose history breaks an invariant.
fn first_fault(mutation: Mutation, count: u64) -> Option<(u64, Rc<World>)> {
    let histories = (0..count).map(|seed| (seed, history(seed, mutation)));
    let mut faulty = histories.filter(|(_, world)| world.fault.borrow().is_some());
    faulty.next()
}

#[test]
fn no_history_breaks_an_invariant() {
    let count = std::env::var("GITOGGLE_SIMULATIONS")
        .ok()
        .and_then(|count| count.parse().ok());
    for mutation in [Mutation::None, Mutation::Frozen] {
        if let Some((seed, world)) = first_fault(mutation, count.unwrap_or(1_500)) {
            panic!("{mutation:?} {seed}:\n{}", world.log.borrow().join("\n"));
        }
    }
}

#[test]
fn every_mistake_in_the_protocol_is_caught() {
    let mistakes = [
        Mutation::FrozenDropsLate,
        Mutation::FrozenGivesUp,
        Mutation::EndsAtOnce,
        Mutation::HalfTheWait,
        Mutation::TermFromTheAnswer,
        Mutation::NoTerm,
        Mutation::StaleByRecordOnly,
        Mutation::OffTheListEarly,
        Mutation::PushWithoutCompare,
        Mutation::NoRevisionWithoutChanges,
    ];
    let missed: BTreeSet<String> = mistakes
        .into_iter()
        .filter(|mutation| first_fault(*mutation, 20_000).is_none())
        .map(|mutation| format!("{mutation:?}"))
        .collect();
    assert_eq!(missed, BTreeSet::new());
}
