//! A first pass of enough toggles that checkpoints record parts of it, and what a killed one leaves behind
//! is more than a few documents.

use std::collections::{BTreeMap, BTreeSet};

use crate::sandbox::Sandbox;
use crate::shared::age;
use crate::support::{Gitoggle, Repo, doc, eventually};

/// So many that at 15 ms each, several checkpoints record parts of the pass.
const HUNDREDS: u32 = 600;

/// The numbers of stored documents at which a process is ended: fewer documents than are worth copying, and
/// more of them, before the first checkpoint; after it; and near the end.
const MOMENTS: [usize; 4] = [50, 150, 320, 560];

/// Where the state lives.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Place {
    /// In a state folder that each process finds.
    Folder,
    /// On a remote, and each process has the state folder of the one before.
    Remote,
    /// Only on a remote: each process begins with an empty disk.
    RemoteOnly,
}

const PLACES: [Place; 3] = [Place::Folder, Place::Remote, Place::RemoteOnly];

/// A repository whose documents no process has published yet, and a service.
struct FirstPass {
    sandbox: Sandbox,
    place: Place,
    count: u32,
    environments: u32,
    remote: Option<Repo>,
    disks: u32,
}

impl FirstPass {
    fn new(place: Place, count: u32, environments: u32, latency: &str) -> Self {
        let sandbox = Sandbox::start(&format!("--latency={latency}"));
        let world = &sandbox.world;
        for number in 0..count {
            // Each document differs, so that the state has to keep as many as there are toggles.
            let name = format!("shop/e{}/t{number}.yaml", number % environments);
            world.repo.file(&name, doc(number));
        }
        world.repo.commit("Add all");
        let remote = (place != Place::Folder).then(|| Repo::bare(&world.path("remote.git")));
        Self { sandbox, place, count, environments, remote, disks: 0 }
    }

    /// Begins the next process.
    fn apply(&mut self) -> Gitoggle {
        let world = &self.sandbox.world;
        let apply = self.sandbox.apply().set("first-pass", "assert").within_seconds(600);
        let Some(remote) = &self.remote else {
            return apply;
        };
        if self.place == Place::RemoteOnly {
            self.disks += 1;
        }
        apply
            .set("state-remote", remote.path())
            .set("state-name", "toggles")
            .set("state-dir", world.path(&format!("disk{}", self.disks)))
    }

    /// Waits until the service has stored this many documents.
    fn wait_for(&self, count: usize) {
        // A slow machine gets its time for each part.
        for part in (0..=count).step_by(10) {
            eventually("more documents", || (self.stored().len() >= part).then_some(()));
        }
    }

    /// Returns the toggle of each stored document, in order.
    fn stored(&self) -> Vec<String> {
        let history = self.sandbox.history();
        history.iter().map(|line| line["toggle"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the toggles that the state has as applied.
    fn recorded(&self) -> BTreeSet<String> {
        let local = self.sandbox.world.state().join("state.git");
        let (repository, name) = match &self.remote {
            Some(remote) => (Repo::at(remote.path()), "refs/gitoggle/toggles/applied"),
            None => (Repo::at(&local), "refs/gitoggle/applied"),
        };
        if repository.try_git(&["rev-parse", "--verify", "--quiet", name]).is_err() {
            return BTreeSet::new();
        }
        let files = repository.files(name).into_iter();
        files.map(|file| file.trim_end_matches(".yaml").to_owned()).collect()
    }

    /// Lets a process finish the pass. Then the service has each document, the state has all of them, and
    /// another process sends nothing. The service has stored each document of `once` once, and `most` of the
    /// others twice.
    fn finish(mut self, once: &BTreeSet<String>, most: usize) {
        self.apply().exit(0).any_output();
        let mut times: BTreeMap<String, usize> = BTreeMap::new();
        for toggle in self.stored() {
            *times.entry(toggle).or_default() += 1;
        }
        let toggle = |number| format!("shop/e{}/t{number}", number % self.environments);
        let all: BTreeSet<String> = (0..self.count).map(toggle).collect();
        assert_eq!(times.keys().cloned().collect::<BTreeSet<_>>(), all, "the service has each document");
        assert_eq!(self.recorded(), all, "the state has each document");
        let repeated: Vec<_> = times.iter().filter(|(_, times)| **times > 1).collect();
        let is_expected = |(toggle, times): &(&String, &usize)| **times == 2 && !once.contains(*toggle);
        assert!(repeated.iter().all(is_expected) && repeated.len() <= most, "stored again: {repeated:?}");
        let stored = self.stored().len();
        self.apply().exit(0).any_output();
        assert_eq!(self.stored().len(), stored, "another process sends nothing");
    }
}

/// Tests each case at the same time, because the service is what they wait for.
fn each<T: Copy + Send>(cases: impl IntoIterator<Item = T>, test: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        let test = &test;
        let threads: Vec<_> = cases.into_iter().map(|case| scope.spawn(move || test(case))).collect();
        for thread in threads {
            thread.join().unwrap();
        }
    });
}

/// Kills a process at this moment, and lets another one finish the pass.
fn killed(place: Place, moment: usize) {
    let mut pass = FirstPass::new(place, HUNDREDS, 1, "15ms");
    let process = pass.apply().start();
    pass.wait_for(moment);
    process.kill();
    let stored = pass.stored();
    let once: BTreeSet<String> = match place {
        // A request begins after the journal has the outcome of the one before, so only the last one was
        // open.
        Place::Folder | Place::Remote => stored[..stored.len() - 1].iter().cloned().collect(),
        // Only what was pushed is known.
        Place::RemoteOnly => pass.recorded(),
    };
    // The service may store one more before it notices.
    let most = (stored.len() - once.len()).max(1) + usize::from(place == Place::RemoteOnly);
    pass.remote.iter().for_each(age);
    pass.finish(&once, most);
}

#[test]
fn hundreds_of_toggles_are_each_sent_once() {
    each(PLACES, |place| FirstPass::new(place, HUNDREDS, 1, "15ms").finish(&BTreeSet::new(), 0));
}

#[test]
fn a_first_pass_that_is_killed_continues_in_its_state_folder() {
    each(MOMENTS, |moment| killed(Place::Folder, moment));
}

#[test]
fn a_first_pass_with_shared_state_that_is_killed_continues_in_its_state_folder() {
    each(MOMENTS, |moment| killed(Place::Remote, moment));
}

#[test]
fn a_first_pass_with_shared_state_that_is_killed_continues_with_an_empty_disk() {
    each(MOMENTS, |moment| killed(Place::RemoteOnly, moment));
}

#[test]
fn a_first_pass_that_is_stopped_again_and_again_sends_each_toggle_once() {
    each(PLACES, |place| {
        let mut pass = FirstPass::new(place, HUNDREDS, 1, "15ms");
        for moment in MOMENTS {
            let process = pass.apply().start();
            pass.wait_for(moment);
            // A process that is asked to stop records what it has done.
            process.terminate();
            process.wait();
            assert_eq!(pass.recorded(), pass.stored().into_iter().collect(), "{place:?}, {moment}");
        }
        pass.finish(&BTreeSet::new(), 0);
    });
}

#[test]
fn thousands_of_toggles_are_each_sent_once_at_full_speed() {
    for (place, environments) in [(Place::Folder, 1), (Place::RemoteOnly, 5)] {
        FirstPass::new(place, 5_000, environments, "0ms").finish(&BTreeSet::new(), 0);
    }
}
