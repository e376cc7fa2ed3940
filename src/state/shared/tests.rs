//! Tests state that processes share through a local repository.

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::git::{FailpointHook, GitAccess, RepoUrl};
use crate::model::{Action, Certainty, Sent, ToggleId};
use crate::state::tests::*;
use crate::state::{
    Clock, Error, Failures, Journal, Options, SharedOptions, SharedRemote, SimulatedClock, StateSnapshot,
    Store,
};
use crate::transport::Network;

const NAME: &str = "refs/gitoggle/main/applied";

/// A clock that advances when its process sleeps or a test calls `advance`.
#[derive(Debug, Default)]
struct ManualClock(Mutex<Duration>);

impl ManualClock {
    fn advance(&self, seconds: u64) {
        *self.0.lock().unwrap() += Duration::from_secs(seconds);
    }
}

impl SimulatedClock for ManualClock {
    fn elapsed(&self) -> Duration {
        *self.0.lock().unwrap()
    }
    fn unix(&self) -> i64 {
        1_000
    }
    fn instant(&self) -> tokio::time::Instant {
        tokio::time::Instant::now()
    }
    fn sleep(&self, duration: Duration) {
        *self.0.lock().unwrap() += duration;
    }
    fn sleep_until(&self, _: tokio::time::Instant) -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
        Box::pin(std::future::ready(()))
    }
}

fn access() -> GitAccess {
    GitAccess {
        network: Network::default(),
        credentials: None,
        timeout: Duration::from_secs(1),
        client: None,
    }
}

fn shared(remote: &Path, holder: &str) -> SharedRemote {
    SharedRemote {
        remote: RepoUrl::local(remote.join("state.git")),
        name: "main".to_owned(),
        access: access(),
        holder: holder.to_owned(),
    }
}

fn remote() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    git2::Repository::init_bare(dir.path().join("state.git")).unwrap();
    dir
}

/// A process with a disk and a clock.
struct Process {
    dir: tempfile::TempDir,
    clock: Arc<ManualClock>,
    name: &'static str,
    store: Option<Store>,
}

impl Process {
    fn new(name: &'static str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock: Arc::default(),
            name,
            store: None,
        }
    }

    fn options(&self, remote: &Path, crash: Option<FailpointHook>) -> Options {
        Options {
            shared: Some(SharedOptions {
                remote: shared(remote, self.name),
                timeout: Duration::from_secs(10),
                clock: Clock::Simulated(Arc::clone(&self.clock) as Arc<dyn SimulatedClock>),
            }),
            crash,
            ..options()
        }
    }

    /// Opens the state without reading the ref.
    fn open(mut self, remote: &tempfile::TempDir) -> Self {
        self.store = None;
        self.store = Some(Store::open(self.dir.path(), self.options(remote.path(), None)).unwrap());
        self
    }

    /// Kills the process and starts another one with the same disk.
    fn restart(mut self, remote: &tempfile::TempDir) -> Self {
        self.store = None;
        self.open(remote)
    }

    fn store(&mut self) -> &mut Store {
        self.store.as_mut().unwrap()
    }

    /// Waits for the ref without a stop.
    fn queue(&mut self) -> Result<(), Error> {
        self.store().refresh(1_000, &NEVER)
    }

    /// Looks up the ref once.
    fn look(&mut self) -> Result<(), Error> {
        self.store().refresh(1_000, &|| true)
    }

    fn start(&mut self, revision: u8, changes: &[(ToggleId, Sent)]) -> Result<Journal, Error> {
        self.store().start(
            &head(revision),
            changes,
            documents(&["one", "two", "three"]),
            &NEVER,
        )
    }

    /// Sends a change with this outcome.
    fn send(journal: &Journal, (toggle, sent): &(ToggleId, Sent), finish: Certainty) -> Certainty {
        let begun = block_on(journal.begin(toggle, sent))
            .unwrap()
            .expect("it may start");
        journal.finish(begun, finish).unwrap()
    }

    fn record(&mut self, revision: u8) -> Result<(), Error> {
        self.store()
            .record(&head(revision), &[], documents(&[]), &NEVER)?;
        self.store().finish_pass(None, Failures::default())
    }

    /// Runs a whole pass.
    fn pass(&mut self, revision: u8, changes: &[(&str, Action, &str)], finish: Certainty) {
        self.queue().unwrap();
        pass(self.store(), revision, changes, finish).unwrap();
    }

    fn applied(&mut self) -> std::collections::BTreeMap<String, String> {
        applied(self.store().view())
    }

    fn unknown(&mut self) -> Vec<String> {
        let unknown = self.store().view().unknown();
        unknown.keys().map(ToString::to_string).collect()
    }
}

const ONE: (&str, Action, &str) = ("a/b/c", Action::Create, "one");
const NOTHING: [&str; 0] = [];

fn one(text: &str) -> Vec<(ToggleId, Sent)> {
    vec![(id("a/b/c"), sent(Action::Update, text))]
}

#[test]
fn a_process_with_an_empty_disk_has_the_same_state() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    first.pass(2, &[("a/b/d", Action::Create, "two")], Certainty::Unknown);
    let mut second = Process::new("second").open(&remote);
    second.queue().unwrap();
    assert_eq!(second.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(
        second.store().view().unknown()[&id("a/b/d")].sent,
        sent(Action::Create, "two")
    );
    let nothing = second.dir.path().join("nothing");
    let view = StateSnapshot::fetch(&shared(remote.path(), "reader"), &nothing).unwrap();
    assert_eq!(applied(&view), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(view.unknown().len(), 1);
    assert!(!nothing.exists());
    let url = RepoUrl::local(remote.path().join("state.git"));
    assert_eq!(SharedRemote::list(&url, &access()).unwrap(), ["main"]);
    git(remote.path(), &["fsck", "--strict", "--full"]);
}

#[test]
fn the_remote_history_has_applied_commits_and_no_intents() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    first.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    let log = git(remote.path(), &["log", "--format=%s", NAME]);
    assert_eq!(
        log,
        "Apply 1 toggle at 0202020202\nApply 1 toggle at 0101010101\n"
    );
}

#[test]
fn one_of_two_simultaneous_passes_sends_and_nothing_is_lost() {
    let remote = remote();
    let mut winner = Process::new("first").open(&remote);
    let mut loser = Process::new("second").open(&remote);
    winner.queue().unwrap();
    loser.queue().unwrap();
    let journal = winner.start(1, &one("one")).unwrap();
    let error = loser.start(1, &one("two")).unwrap_err();
    assert!(matches!(error, Error::Raced(_)), "{error:?}");
    let error = loser.look().unwrap_err();
    assert!(
        matches!(&error, Error::InUse { holder, owed, .. } if holder == "first" && owed.is_empty()),
        "{error:?}"
    );
    let change = one("one").remove(0);
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap().unwrap();
    winner.clock.advance(20);
    winner.store().checkpoint(&head(1)).unwrap();
    journal.finish(begun, Certainty::Stored).unwrap();
    winner.record(1).unwrap();
    loser.look().unwrap();
    assert_eq!(loser.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(loser.unknown(), NOTHING);
    loser.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    winner.look().unwrap();
    assert_eq!(winner.applied(), pairs(&[("a/b/c.yaml", "two")]));
}

#[test]
fn requests_of_a_dead_process_are_unknown_to_its_successor_which_settles_them() {
    let remote = remote();
    let mut dead = Process::new("first").open(&remote);
    dead.queue().unwrap();
    let journal = dead.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    drop(journal);
    dead.store = None;
    let mut next = Process::new("second").open(&remote);
    assert!(matches!(next.look(), Err(Error::InUse { .. })));
    next.queue().unwrap();
    let waited = next.clock.elapsed();
    assert!((77..=79).contains(&waited.as_secs()), "{waited:?}");
    assert_eq!(next.store().view().unknown()[&id("a/b/c")].sent, one("one")[0].1);
    assert_eq!(next.store().view().newest(), Some(head(1).revision));
    pass(
        next.store(),
        2,
        &[("a/b/c", Action::Update, "two")],
        Certainty::Stored,
    )
    .unwrap();
    let mut back = dead.restart(&remote);
    back.queue().unwrap();
    assert_eq!(back.clock.elapsed(), Duration::ZERO, "it does not wait");
    assert_eq!(back.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(back.unknown(), NOTHING);
}

#[test]
fn a_process_ends_its_own_announcement_from_its_journal_once_its_requests_are_over() {
    let remote = remote();
    let mut dead = Process::new("first").open(&remote);
    dead.queue().unwrap();
    let changes = [
        (id("a/b/c"), sent(Action::Create, "one")),
        (id("a/b/d"), sent(Action::Create, "two")),
    ];
    let journal = dead.start(1, &changes).unwrap();
    Process::send(&journal, &changes[0], Certainty::Stored);
    assert!(
        block_on(journal.begin(&changes[1].0, &changes[1].1))
            .unwrap()
            .is_some()
    );
    drop(journal);
    let mut back = dead.restart(&remote);
    assert_eq!(back.store().inherited(), [id("a/b/d")]);
    back.queue().unwrap();
    let waited = back.clock.elapsed().as_secs();
    assert_eq!(
        waited, 11,
        "what was open takes one timeout, and the next holder must not send beside it"
    );
    assert_eq!(back.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(back.unknown(), ["a/b/d"]);
    let mut next = Process::new("second").open(&remote);
    next.queue().unwrap();
    assert_eq!(next.clock.elapsed(), Duration::ZERO, "it is a record");
    assert_eq!((next.applied(), next.unknown()), (back.applied(), back.unknown()));
}

#[test]
fn a_suspended_process_starts_no_request_until_a_push_proves_that_it_still_holds_the_ref() {
    let remote = remote();
    let mut process = Process::new("first").open(&remote);
    process.queue().unwrap();
    let change = one("one").remove(0);
    let journal = process.start(1, &one("one")).unwrap();
    process.clock.advance(59);
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap();
    journal.finish(begun.unwrap(), Certainty::NotStored).unwrap();
    process.clock.advance(1);
    assert!(block_on(journal.begin(&change.0, &change.1)).unwrap().is_none());
    process.store().checkpoint(&head(1)).unwrap();
    block_on(journal.granted()).unwrap();
    assert_eq!(
        Process::send(&journal, &change, Certainty::Stored),
        Certainty::Stored
    );
    process.record(1).unwrap();
    assert_eq!((process.applied().len(), process.unknown().len()), (1, 0));
}

#[test]
fn a_late_request_is_unknown_even_if_the_successor_has_an_outcome() {
    let remote = remote();
    let mut late = Process::new("late").open(&remote);
    late.queue().unwrap();
    let change = one("one").remove(0);
    let journal = late.start(1, &one("one")).unwrap();
    // The virtual machine is paused right after the clock was checked.
    let begun = block_on(journal.begin(&change.0, &change.1)).unwrap().unwrap();
    late.clock.advance(300);
    let mut next = Process::new("next").open(&remote);
    next.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    assert_eq!(next.unknown(), NOTHING);
    assert_eq!(
        journal.finish(begun, Certainty::Stored).unwrap(),
        Certainty::Unknown
    );
    assert!(matches!(late.store().checkpoint(&head(1)), Err(Error::Raced(_))));
    assert!(matches!(block_on(journal.granted()), Err(Error::LeaseOver)));
    drop(journal);
    let _ = late.store().abandon(&head(1), &NEVER);
    late.queue().unwrap();
    assert_eq!(late.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(late.unknown(), ["a/b/c"], "its own request may be what is stored");
    next.queue().unwrap();
    assert_eq!(next.unknown(), ["a/b/c"], "all other processes have it too");
}

#[test]
fn a_request_confirmed_within_the_term_is_left_to_the_successor() {
    let remote = remote();
    let mut paused = Process::new("paused").open(&remote);
    paused.queue().unwrap();
    let journal = paused.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    paused.clock.advance(300);
    let mut next = Process::new("next").open(&remote);
    next.pass(2, &[("a/b/c", Action::Update, "two")], Certainty::Stored);
    drop(journal);
    let error = paused.record(1).unwrap_err();
    assert!(matches!(error, Error::Raced(_)), "{error:?}");
    let _ = paused.store().abandon(&head(1), &NEVER);
    paused.queue().unwrap();
    assert_eq!(paused.applied(), pairs(&[("a/b/c.yaml", "two")]));
    assert_eq!(paused.unknown(), NOTHING, "it is not sent again");
}

#[test]
fn a_process_with_unlisted_outcomes_waits_without_limit_and_names_them_when_stopped() {
    let remote = remote();
    let mut late = Process::new("late").open(&remote);
    late.queue().unwrap();
    let journal = late.start(1, &one("one")).unwrap();
    Process::send(&journal, &one("one")[0], Certainty::Unknown);
    late.clock.advance(300);
    let mut next = Process::new("next").open(&remote);
    next.queue().unwrap();
    let held = next.start(2, &one("two")).unwrap();
    assert!(matches!(late.store().checkpoint(&head(1)), Err(Error::Raced(_))));
    drop(journal);
    let _ = late.store().abandon(&head(1), &NEVER);
    // The other process renews its announcement for longer than two minutes.
    let began = late.clock.elapsed();
    let rounds = AtomicUsize::new(0);
    let next = std::cell::RefCell::new(next);
    let clock = Arc::clone(&late.clock);
    let error = late
        .store()
        .refresh(1_000, &|| {
            if rounds.fetch_add(1, Ordering::SeqCst) % 20 == 19 {
                next.borrow().clock.advance(20);
                next.borrow_mut().store().checkpoint(&head(2)).unwrap();
            }
            clock.elapsed() > began + Duration::from_secs(400)
        })
        .unwrap_err();
    assert!(
        error.to_string().contains("in use by next") && error.to_string().contains("`a/b/c`"),
        "{error}"
    );
    drop(held);
}

#[test]
fn an_announcement_that_stored_nothing_is_withdrawn_with_its_revision() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(2, &[ONE], Certainty::NotStored);
    let mut next = Process::new("next").open(&remote);
    next.queue().unwrap();
    assert_eq!(next.clock.elapsed(), Duration::ZERO);
    let view = next.store().view();
    assert_eq!((view.tip(), view.newest(), view.base_url()), (None, None, None));
    assert!(view.unknown().is_empty());
    next.pass(1, &[ONE], Certainty::Stored);
    let before = git(remote.path(), &["rev-parse", NAME]);
    next.pass(3, &[("a/b/c", Action::Update, "two")], Certainty::NotStored);
    assert_eq!(git(remote.path(), &["rev-parse", NAME]), before);
}

#[test]
fn an_unresolved_list_does_not_grow() {
    let remote = remote();
    Process::new("first")
        .open(&remote)
        .pass(1, &[ONE], Certainty::Unknown);
    let mut other = Process::new("other").open(&remote);
    let mut sizes = Vec::new();
    for _ in 0..3 {
        other.queue().unwrap();
        assert_eq!(other.unknown(), ["a/b/c"]);
        other.record(1).unwrap();
        let journal = std::fs::metadata(other.dir.path().join("journal"));
        sizes.push(journal.map_or(0, |journal| journal.len()));
        other = other.restart(&remote);
    }
    assert_eq!(sizes[0], sizes[2]);
}

#[test]
fn a_process_with_a_state_folder_restores_a_deleted_ref() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    first.pass(2, &[("a/b/d", Action::Create, "two")], Certainty::Unknown);
    git(remote.path(), &["update-ref", "-d", NAME]);
    first.queue().unwrap();
    assert_eq!(first.applied(), pairs(&[("a/b/c.yaml", "one")]));
    let mut next = Process::new("next").open(&remote);
    next.queue().unwrap();
    assert_eq!(
        (next.applied(), next.unknown()),
        (first.applied(), first.unknown())
    );
    assert_eq!(next.store().view().newest(), Some(head(2).revision));
}

#[test]
fn a_folder_caches_one_state_at_a_time() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    first.store = None;
    let other = |process: &Process| {
        let mut options = process.options(remote.path(), None);
        let shared = options.shared.as_mut().unwrap();
        shared.remote.name = "other".to_owned();
        options.base_url = "https://other.example".to_owned();
        Store::open(process.dir.path(), options)
    };
    let mut store = other(&first).unwrap();
    store.refresh(1_000, &NEVER).unwrap();
    assert_eq!(store.view().tip(), None);
    drop(store);
    let mut first = first.restart(&remote);
    first.queue().unwrap();
    assert_eq!(first.applied(), pairs(&[("a/b/c.yaml", "one")]));
    let journal = first.start(2, &one("two")).unwrap();
    Process::send(&journal, &one("two")[0], Certainty::Unknown);
    drop(journal);
    first.store = None;
    let error = other(&first).unwrap_err();
    assert!(
        matches!(&error, Error::OtherState { other } if other == "main"),
        "{error:?}"
    );
}

#[test]
fn the_announcement_of_another_service_is_not_taken_over() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.queue().unwrap();
    let journal = first.start(1, &one("one")).unwrap();
    let process = Process::new("other");
    let mut options = process.options(remote.path(), None);
    options.base_url = "https://other.example".to_owned();
    let mut store = Store::open(process.dir.path(), options).unwrap();
    let error = store.refresh(1_000, &NEVER).unwrap_err();
    assert!(matches!(error, Error::OtherBaseUrl { .. }), "{error:?}");
    drop(journal);
}

#[test]
fn the_lock_of_a_killed_program_is_removed_after_a_wait() {
    let remote = remote();
    let mut process = Process::new("first").open(&remote);
    process.queue().unwrap();
    let lock = remote.path().join("state.git").join(format!("{NAME}.lock"));
    std::fs::create_dir_all(lock.parent().unwrap()).unwrap();
    std::fs::write(&lock, "").unwrap();
    let error = process
        .store()
        .start(&head(1), &one("one"), documents(&["one"]), &|| true)
        .unwrap_err();
    assert!(error.to_string().contains("applied.lock"), "{error}");
    assert!(error.hint().unwrap().contains("remove"), "{error}");
    process.look().unwrap();
    let journal = process.start(1, &one("one")).unwrap();
    let waited = process.clock.elapsed().as_secs();
    assert!((66..=70).contains(&waited), "{waited}");
    Process::send(&journal, &one("one")[0], Certainty::Stored);
    drop(journal);
    process.record(1).unwrap();
    assert!(!lock.exists());
}

#[test]
fn local_state_is_shared_from_the_next_pass_on() {
    let remote = remote();
    let process = Process::new("first");
    let mut store = Store::open(process.dir.path(), options()).unwrap();
    pass(&mut store, 1, &[ONE], Certainty::Stored).unwrap();
    pass(
        &mut store,
        1,
        &[("a/b/e", Action::Create, "two")],
        Certainty::Unknown,
    )
    .unwrap();
    drop(store);
    let mut process = process.open(&remote);
    process.queue().unwrap();
    assert_eq!(process.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(process.unknown(), ["a/b/e"]);
    process.pass(2, &[("a/b/d", Action::Create, "two")], Certainty::Stored);
    let log = git(remote.path(), &["log", "--first-parent", "--format=%s", NAME]);
    assert_eq!(log.lines().count(), 3, "{log}");
}

#[test]
fn a_crash_at_any_point_of_a_shared_pass_forgets_nothing() {
    for at in 0.. {
        let remote = remote();
        let process = Process::new("first");
        let count = Arc::new(AtomicUsize::new(0));
        let crash: FailpointHook = {
            let count = Arc::clone(&count);
            Arc::new(move |_| count.fetch_add(1, Ordering::SeqCst) >= at)
        };
        let sent_to = (|| {
            let options = process.options(remote.path(), Some(crash));
            let mut store = Store::open(process.dir.path(), options).ok()?;
            store.refresh(1_000, &NEVER).ok()?;
            let journal = store
                .start(&head(1), &one("one"), documents(&["one"]), &NEVER)
                .ok()?;
            let (toggle, sent) = one("one").remove(0);
            let begun = block_on(journal.begin(&toggle, &sent)).ok()??;
            let _ = journal.finish(begun, Certainty::Stored);
            let _ = store
                .checkpoint(&head(1))
                .and_then(|()| store.record(&head(1), &[], documents(&[]), &NEVER))
                .and_then(|()| store.finish_pass(None, Failures::default()));
            Some(toggle)
        })();
        for mut next in [Process::new("elsewhere"), process] {
            next = next.restart(&remote);
            next.queue().unwrap();
            if let Some(toggle) = &sent_to {
                let known = next.applied().contains_key("a/b/c.yaml");
                assert!(
                    known || next.store().view().unknown().contains_key(toggle),
                    "crash {at}: forgotten"
                );
            }
            // The crash may leave a lock in the remote, which the next push waits for.
            next.pass(2, &[("a/b/e", Action::Create, "three")], Certainty::Stored);
        }
        git(remote.path(), &["fsck", "--strict", "--full"]);
        if count.load(Ordering::SeqCst) <= at {
            assert!(at > 30, "only {at} crash points");
            break;
        }
    }
}
