//! Simulates the protocol with random jobs, one ref and one service.
//!
//! The clocks of processes have different rates. Pushes fail, get no verdict, or take up to 55 s; processes
//! freeze and die; responses get lost; jobs run on old checkouts, with an empty disk or the disk of an
//! earlier job. A mutation is a deliberate mistake, which the invariants must catch.

mod job;
mod pass;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use fastrand::Rng;

use self::job::start;

const TIMEOUT: Duration = Duration::from_secs(10);
const CHECKPOINT: u64 = 5_000;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Mutation {
    None,
    /// Not a mistake: processes freeze between the check of the clock and the request, which nothing can
    /// prevent. Only the documents stored in the end are checked then, and no process is killed.
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
            head: RefCell::new(Commit { tree: documents.clone(), ..Commit::default() }),
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
            let revision = if world.chance(0.8) { newest } else { world.rng.borrow_mut().usize(0..=newest) };
            let number = world.rng.borrow_mut().usize(0..3);
            // One process uses a folder at a time.
            let is_used = users.borrow().get(&number).is_some_and(|user| world.is_running(*user));
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
    let count = std::env::var("GITOGGLE_SIMULATIONS").ok().and_then(|count| count.parse().ok());
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
