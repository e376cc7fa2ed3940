//! One history: commits, processes on several machines, and trouble, all drawn from a seed. Then everything
//! calms down, each disk applies the newest commit once, and the service must have the documents of that
//! commit.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fastrand::Rng;
use git2::RepositoryInitOptions;
use tokio::sync::watch;

use super::job::{Job, Site};
use super::machine::{Hazards, Machine, tear};
use super::network::Network;
use super::options::{Kills, Kind, Options};
use super::reference::SharedReference;
use super::repository::{Document, Documents, Revisions, folder};
use super::service::ToggleService;
use super::world::{World, lock};
use crate::git::init;
use crate::model::ToggleId;
use crate::plan::{HistoryRule, OnDrift};
use crate::state::StateSnapshot;

/// How a history ended.
pub(super) struct Ended {
    pub(super) story: Vec<String>,
    /// What did not hold, if anything.
    pub(super) fault: Option<String>,
}

/// A state folder, and the process that uses it.
struct Disk {
    path: PathBuf,
    user: Option<Machine>,
}

struct History {
    world: World,
    site: Site,
    hazards: Hazards,
    folder: tempfile::TempDir,
    disks: Vec<Mutex<Disk>>,
    toggles: Vec<ToggleId>,
    kind: Kind,
    kills: Kills,
    reference: Option<SharedReference>,
    /// How often the state has moved: from the folder to the remote, and to another address of it.
    moves: AtomicUsize,
}

/// Runs one history.
pub(super) fn run(options: Options) -> Ended {
    let history = Arc::new(History::new(options));
    let world = history.world.clone();
    history.plan();
    world.run();
    if !world.is_over() {
        world.calm_down();
        world.say("", "calm");
        history.site.service.set_down(false);
        history.conclude();
    }
    let (story, fault) = world.end();
    Ended { story, fault }
}

impl History {
    fn new(options: Options) -> Self {
        let Options { seed, kind, exceptions, service: service_kind, kills, permissions, thresholds } =
            options;
        let world = World::new(seed);
        let frost = [0.0, 0.004, 0.03][world.draw(|rng| rng.usize(..3))];
        let death = match (kills, exceptions.frozen_requests) {
            (Kills::Drawn, false) => [0.0, 0.004, 0.02][world.draw(|rng| rng.usize(..3))],
            // A process that sent late and loses its disk leaves no record of it.
            (_, true) => 0.0,
            (Kills::InARow, false) => world.between(0.02, 0.2),
        };
        let count = [1, 2, 4, 12][world.draw(|rng| rng.usize(..4))];
        let toggle = |number: usize| {
            let environment = ["shop/prod", "shop/test", "web/prod"][number % 3];
            format!("{environment}/t{number}").parse().expect("a toggle")
        };
        let folder = folder();
        let remote = folder.path().join("remote.git");
        if kind.is_shared() {
            for path in [&remote, &folder.path().join("other.git")] {
                init(path, RepositoryInitOptions::new().bare(true)).expect("a repository");
            }
            std::os::unix::fs::symlink("remote.git", folder.path().join("moved.git")).expect("a link");
        }
        let disks = if kind.is_shared() { 3 } else { 1 };
        let disk = |number| Disk { path: folder.path().join(format!("disk{number}")), user: None };
        let (revisions, service) = (
            Arc::new(Revisions::new()),
            ToggleService::new(&world, exceptions, !kind.is_shared(), service_kind),
        );
        let reference = kind.is_shared().then(|| SharedReference::new(&remote));
        Self {
            disks: (0..disks).map(disk).map(Mutex::new).collect(),
            site: Site {
                network: Network::new(&world, reference.clone(), &service, &revisions),
                revisions,
                service,
                place: kind.is_shared().then_some((remote, NAME)),
                is_misplaced: false,
                permissions,
                thresholds,
                on_drift: Arc::new(Mutex::new(OnDrift::Hold)),
                passes: Arc::default(),
            },
            hazards: Hazards { frost, death },
            toggles: (0..count).map(toggle).collect(),
            folder,
            world,
            kind,
            kills,
            reference,
            moves: AtomicUsize::new(0),
        }
    }

    fn after(self: &Arc<Self>, seconds: f64, action: impl FnOnce(&Arc<Self>) + Send + 'static) {
        let history = Arc::clone(self);
        self.world.after(Duration::from_secs_f64(seconds), move || action(&history));
    }

    /// Decides when what happens.
    fn plan(self: &Arc<Self>) {
        let documents: Documents = self.toggles.iter().map(|id| (id.clone(), FIRST)).collect();
        self.site.revisions.commit(None, documents);
        let mut at = 0.0;
        for number in 0..self.world.draw(|rng| rng.usize(4..15)) {
            at += [0.0, 1.0, 5.0, 20.0, 60.0, 150.0][self.world.draw(|rng| rng.usize(..6))]
                * self.world.draw(Rng::f64);
            self.after(at, move |history| history.begin(number));
        }
        if self.site.service.kind.can().read_live {
            for _ in 0..self.world.draw(|rng| rng.usize(..6)) {
                let at = self.world.between(0.0, at + 30.0);
                self.after(at, |history| history.edit());
            }
        }
        if self.kind == Kind::Moving {
            for _ in 0..self.world.draw(|rng| rng.usize(1..=2)) {
                self.after(self.world.between(0.0, at), |history| history.move_state());
            }
        }
        if self.world.trouble(0.3) {
            let begins = self.world.between(0.0, at);
            let ends = begins + self.world.between(1.0, 200.0);
            for (at, is_down) in [(begins, true), (ends, false)] {
                self.after(at, move |history| {
                    history.world.say("service", if is_down { "goes down" } else { "is back" });
                    history.site.service.set_down(is_down);
                });
            }
        }
    }

    /// Makes a commit, perhaps, and starts a process.
    fn begin(self: &Arc<Self>, number: usize) {
        let (world, revisions) = (&self.world, &self.site.revisions);
        if world.draw(|rng| rng.u8(..10) < 7) {
            self.commit();
        }
        let head = revisions.head();
        let disk = world.draw(|rng| rng.usize(..self.disks.len()));
        let has_disk = !self.kind.is_shared() || world.draw(|rng| rng.u8(..10) < 7);
        if has_disk && self.kind.has_daemon(disk) {
            return self.start_daemon(format!("daemon{number}"), disk);
        }
        let revision = match world.draw(|rng| rng.u8(..10) < 8) {
            true => head,
            false => world.draw(|rng| rng.usize(..=head)),
        };
        self.start(format!("job{number}"), has_disk.then_some(disk), revision, None);
    }

    /// Changes a toggle on the service as another writer.
    fn edit(&self) {
        let toggle = &self.toggles[self.world.draw(|rng| rng.usize(..self.toggles.len()))];
        self.site.service.edit(toggle, self.world.draw(|rng| rng.u8(..6)));
    }

    fn commit(&self) {
        let (world, revisions) = (&self.world, &self.site.revisions);
        let head = revisions.head();
        if self.kind == Kind::Daemon && head > 0 && world.trouble(0.2) {
            let back = world.draw(|rng| rng.usize(..head));
            world.say("source", format_args!("is forced back to revision {back}"));
            revisions.force(back);
        } else {
            let mut documents = revisions.get(head).documents;
            for _ in 0..world.draw(|rng| rng.usize(1..=self.toggles.len())) {
                let toggle = &self.toggles[world.draw(|rng| rng.usize(..self.toggles.len()))];
                // Few meanings, so that reverts are common.
                let (meaning, style) = world.draw(|rng| (rng.u8(..3), rng.u8(..2)));
                documents.insert(toggle.clone(), Document { meaning, style });
            }
            self.commit_all(documents);
        }
        self.site.halt(false);
    }

    fn commit_all(&self, documents: Documents) {
        let meanings: Vec<_> = documents.values().map(|document| format!("m{}", document.meaning)).collect();
        let revisions = &self.site.revisions;
        let number = revisions.commit(Some(revisions.head()), documents);
        self.world.say("source", format_args!("revision {number}: {}", meanings.join(" ")));
    }

    /// Starts a job with this disk, or an empty one.
    fn start(
        self: &Arc<Self>,
        name: String,
        disk: Option<usize>,
        revision: usize,
        history: Option<HistoryRule>,
    ) {
        let machine = Machine::new(&self.world, name, self.hazards);
        // Until the remote has the state of the first folder, a job without that folder has nothing to go by.
        let has_remote = self.reference.as_ref().is_none_or(|reference| reference.commit().is_some());
        let disk = if self.kind == Kind::Moving && !has_remote { Some(0) } else { disk };
        let path = match disk.map(|disk| self.take(disk, &machine)) {
            Some(Some(path)) => path,
            Some(None) if !has_remote || !self.kind.is_shared() => return,
            _ => self.folder.path().join(machine.name()),
        };
        let folder = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        machine.say(format_args!("starts at revision {revision} with {folder}"));
        let (stop, stopped) = watch::channel(false);
        // A process that sent late and is stopped with its only disk before it could list that has told
        // nobody.
        if self.world.trouble(0.05) && (disk.is_some() || self.site.service.is_checked()) {
            self.stop(&machine, self.world.between(0.0, 100.0), stop);
        }
        let (site, own, disk) = (self.site_for(&path), machine.clone(), path.clone());
        let job = Job { history, stop: stopped };
        machine.start(move || site.apply(&own, &disk, revision, job), self.ended(path));
    }

    /// Returns the site of a job with the state folder `disk`: the state lives where its moves have led. A
    /// person makes a mistake now and then, and names another place than the one that the folder belongs to.
    fn site_for(&self, disk: &Path) -> Site {
        let mut site = self.site.clone();
        if self.kind != Kind::Moving {
            return site;
        }
        let at = |name: &str| self.folder.path().join(name);
        site.place = match self.moves.load(Ordering::SeqCst) {
            0 => None,
            1 => Some((at("remote.git"), NAME)),
            _ => Some((at("moved.git"), NAME)),
        };
        let belongs_elsewhere = self.is_left(disk);
        site.is_misplaced = belongs_elsewhere || is_of_remote(disk, ".git") && self.world.trouble(0.25);
        if site.is_misplaced && !belongs_elsewhere {
            let others = [None, Some((at("other.git"), NAME)), Some((at("remote.git"), "other"))];
            site.place = self.world.draw(|rng| rng.choice(others)).expect("there are three");
        }
        if site.is_misplaced {
            self.world.say("", "the folder belongs to another place");
        }
        site
    }

    /// Returns whether the folder belongs to the address that the state has moved away from.
    fn is_left(&self, disk: &Path) -> bool {
        self.moves.load(Ordering::SeqCst) > 1 && is_of_remote(disk, "remote.git")
    }

    /// Moves the state.
    fn move_state(&self) {
        let moves = self.moves.fetch_add(1, Ordering::SeqCst) + 1;
        self.world.say("", format_args!("the state moves for the {moves}. time"));
    }

    /// Starts a daemon, unless there is one.
    fn start_daemon(self: &Arc<Self>, name: String, disk: usize) {
        let machine = Machine::new(&self.world, name, self.hazards);
        let Some(path) = self.take(disk, &machine) else {
            return;
        };
        machine.say(format_args!("starts with disk{disk}"));
        let (stop, stopped) = watch::channel(false);
        let age = match self.world.is_calm() {
            true => 120.0,
            false => self.world.between(10.0, 600.0),
        };
        self.stop(&machine, age, stop);
        let (site, own, disk) = (self.site.clone(), machine.clone(), path.clone());
        machine.start(move || site.follow(&own, &disk, &stopped), self.ended(path));
    }

    /// Asks a process to stop after this time.
    fn stop(self: &Arc<Self>, machine: &Machine, seconds: f64, stop: watch::Sender<bool>) {
        let machine = machine.clone();
        self.after(seconds, move |history| {
            if machine.is_alive() {
                machine.say("is asked to stop");
                stop.send_replace(true);
                history.site.halt(true);
            }
        });
    }

    /// Takes a disk for a process, unless another one uses it.
    fn take(&self, disk: usize, machine: &Machine) -> Option<PathBuf> {
        let mut disk = lock(&self.disks[disk]);
        if disk.user.as_ref().is_some_and(Machine::is_alive) {
            return None;
        }
        disk.user = Some(machine.clone());
        // Sooner or later, a person follows the hint of the pass that was held, and names a new folder.
        if self.is_left(&disk.path) && !self.world.trouble(0.5) {
            disk.path.set_extension("new");
        }
        Some(disk.path.clone())
    }

    /// Returns what happens when a process with this disk has ended or was killed.
    fn ended(self: &Arc<Self>, disk: PathBuf) -> impl FnOnce() + use<> {
        let history = Arc::clone(self);
        move || {
            if tear(&history.world, &disk) {
                history.site.service.forget_confirmations();
            }
            // Another process waits for it for as long as for a holder; that takes long, and shows little.
            if let Some(reference) = &history.reference {
                reference.unlock();
            }
            let is_killed = std::thread::panicking();
            if is_killed && history.kills == Kills::InARow && history.world.trouble(0.8) {
                let (seconds, number) =
                    (history.world.between(0.0, 4.0), history.world.draw(|rng| rng.usize(100..1000)));
                history.after(seconds, move |history| history.begin(number));
            }
        }
    }

    /// Lets each disk, and an empty one, apply the newest commit once, and compares.
    fn conclude(self: &Arc<Self>) {
        self.apply_everywhere();
        let is_live = self.site.service.kind.can().read_live;
        if is_live {
            // The edits of the other writer are still there.
            if let Some(toggle) = self.site.service.lost_by_import() {
                self.world.fault(format!("an import of {toggle} would not be in sync with the service"));
            }
            *lock(&self.site.on_drift) = OnDrift::Overwrite;
            self.site.service.permit_overwrites();
        }
        if is_live || self.site.service.has_late() {
            // What someone else changed, or the service carried out late, is replaced by the next change.
            let mut documents = self.site.revisions.get(self.site.revisions.head()).documents;
            for document in documents.values_mut() {
                document.meaning = match is_live {
                    // Another one than was ever applied: what only drifted is not published again.
                    true => LAST_MEANING,
                    false => (document.meaning + 1) % 3,
                };
            }
            self.commit_all(documents);
            self.apply_everywhere();
        }
        let head = self.site.revisions.head();
        let expected = self.site.revisions.get(head).documents;
        let expected: BTreeMap<_, _> =
            expected.into_iter().map(|(id, document)| (id, document.meaning)).collect();
        let stored = self.site.service.stored();
        if stored != expected && !self.world.is_over() {
            self.world.fault(format!("in the end the service has {stored:?}, not {expected:?}"));
        }
    }

    fn apply_everywhere(self: &Arc<Self>) {
        // What only a folder has is shared in the end.
        self.moves.fetch_max(1, Ordering::SeqCst);
        let head = self.site.revisions.head();
        for disk in 0..self.disks.len() {
            if self.kind.has_daemon(disk) {
                self.start_daemon(format!("last{disk}"), disk);
                self.world.run();
            }
            self.start(format!("last{disk}"), Some(disk), head, Some(HistoryRule::Follow));
            self.world.run();
        }
        if self.kind.is_shared() {
            self.start("last".to_owned(), None, head, None);
            self.world.run();
        }
    }
}

/// The name of the state at its remote.
const NAME: &str = "state";

/// Returns whether the folder has state, and belongs to a remote whose address ends like this.
fn is_of_remote(disk: &Path, address: &str) -> bool {
    let place = std::fs::read_to_string(disk.join("place.json")).unwrap_or_default();
    let has_state = |view: StateSnapshot| view.tip().is_some() || !view.unknown().is_empty();
    place.contains(&format!("{address}\"")) && StateSnapshot::open(disk).is_ok_and(has_state)
}

/// The meaning of the last documents of a service with a second writer.
const LAST_MEANING: u8 = 4;

const FIRST: Document = Document { meaning: 0, style: 0 };
