//! Tests state that processes share through a local repository.

mod announcements;

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::git::{FailpointHook, GitAccess, RepoUrl, UserConfig};
use crate::model::{Action, Certainty, Sent, ToggleId};
use crate::state::tests::*;
use crate::state::{
    Clock, Error, Failures, GitProgram, Journal, Options, RemoteRef, SharedOptions, SharedRemote,
    SimulatedRemote, StateSnapshot, Store,
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

impl Clock for ManualClock {
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
        user_config: UserConfig::Ignored,
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
    host: Arc<dyn RemoteRef>,
    store: Option<Store>,
}

impl Process {
    fn new(name: &'static str) -> Self {
        Self {
            dir: tempfile::tempdir().unwrap(),
            clock: Arc::default(),
            name,
            host: Arc::new(GitProgram),
            store: None,
        }
    }

    /// Creates a process that runs no programs, which take a hundred times as long.
    fn without_programs(name: &'static str) -> Self {
        Self { host: Arc::new(SimulatedRemote), ..Self::new(name) }
    }

    fn options(&self, remote: &Path, crash: Option<FailpointHook>) -> Options {
        Options {
            shared: Some(SharedOptions {
                remote: shared(remote, self.name),
                clock: Arc::<ManualClock>::clone(&self.clock),
                host: Arc::clone(&self.host),
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
        self.store().refresh(1_000, &NEVER, &|_| {}, &mut |_| true)
    }

    /// Looks up the ref once.
    fn look(&mut self) -> Result<(), Error> {
        self.store().refresh(1_000, &|| true, &|_| {}, &mut |_| true)
    }

    fn start(&mut self, revision: u8, changes: &[(ToggleId, Sent)]) -> Result<Journal, Error> {
        self.store().start(&head(revision), changes, documents(&["one", "two", "three"]), &NEVER)
    }

    /// Sends a change with this outcome.
    fn send(journal: &Journal, (toggle, sent): &(ToggleId, Sent), finish: Certainty) -> Certainty {
        let begun = block_on(journal.begin(toggle, sent)).unwrap().expect("it may start");
        journal.finish(begun, finish).unwrap()
    }

    fn record(&mut self, revision: u8) -> Result<(), Error> {
        self.store().record(&head(revision), &[], documents(&[]), &NEVER)?;
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
    assert_eq!(second.store().view().unknown()[&id("a/b/d")], sent(Action::Create, "two"));
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
    assert_eq!(log, "Apply 1 toggle at 0202020202\nApply 1 toggle at 0101010101");
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
    assert_eq!((next.applied(), next.unknown()), (first.applied(), first.unknown()));
    assert_eq!(next.store().view().newest(), Some(head(2).revision));
}

#[test]
fn a_folder_belongs_to_one_place() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    first.store = None;
    let open = |process: &Process, name: Option<&str>| {
        let mut opened = process.options(remote.path(), None);
        match (name, &mut opened.shared) {
            (Some(name), Some(shared)) => name.clone_into(&mut shared.remote.name),
            _ => opened.shared = None,
        }
        Store::open(process.dir.path(), opened)
    };
    for name in [None, Some("other")] {
        let error = open(&first, name).unwrap_err();
        assert!(matches!(error, Error::OtherPlace { .. }), "{error:?}");
        assert!(error.hint().unwrap().contains("--state-name main"), "{error:?}");
    }
    // Without the note of its place, a folder still knows the name of the state that it caches.
    std::fs::remove_file(first.dir.path().join("place.json")).unwrap();
    assert!(open(&first, Some("other")).is_err());
    let mut first = first.restart(&remote);
    first.queue().unwrap();
    assert_eq!(first.applied(), pairs(&[("a/b/c.yaml", "one")]));
}

#[test]
fn local_state_does_not_join_a_shared_one_that_has_records() {
    let remote = remote();
    let mut first = Process::new("first").open(&remote);
    first.pass(1, &[ONE], Certainty::Stored);
    let process = Process::new("second");
    let mut store = Store::open(process.dir.path(), options()).unwrap();
    pass(&mut store, 1, &[ONE], Certainty::Stored).unwrap();
    drop(store);
    let mut process = process.open(&remote);
    let error = process.queue().unwrap_err();
    assert!(matches!(error, Error::OtherPlace { .. }), "{error:?}");
    drop(process.store.take());
    // Nothing was lost: the folder continues by itself.
    let store = Store::open(process.dir.path(), options()).unwrap();
    assert!(store.view().has_applied());
}

#[test]
fn local_state_is_shared_from_the_next_pass_on() {
    let remote = remote();
    let process = Process::new("first");
    let mut store = Store::open(process.dir.path(), options()).unwrap();
    pass(&mut store, 1, &[ONE], Certainty::Stored).unwrap();
    pass(&mut store, 1, &[("a/b/e", Action::Create, "two")], Certainty::Unknown).unwrap();
    drop(store);
    let mut process = process.open(&remote);
    process.queue().unwrap();
    assert_eq!(process.applied(), pairs(&[("a/b/c.yaml", "one")]));
    assert_eq!(process.unknown(), ["a/b/e"]);
    process.pass(2, &[("a/b/d", Action::Create, "two")], Certainty::Stored);
    let log = git(remote.path(), &["log", "--first-parent", "--format=%s", NAME]);
    assert_eq!(log.lines().count(), 3, "{log}");
}
