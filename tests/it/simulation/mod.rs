//! Random histories, random trouble, and what has to hold in spite of it.
//!
//! `GITOGGLE_SEED=7` runs that one seed, `GITOGGLE_SEEDS=5000` that many.

mod accounting;

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use serde_json::Value;

use crate::support::document::reformatted;
use crate::support::{Answer, Gitoggle, Repo, World, body, doc, eventually};

/// How many seeds are run by default, and how many at once (they mostly wait).
const SEEDS: u64 = 30;
const AT_ONCE: usize = 8;

const TOGGLES: [&str; 8] = [
    "shop/prod/a",
    "shop/prod/b",
    "shop/prod/c",
    "shop/test/a",
    "shop/test/b",
    "web/prod/a",
    "web/prod/b",
    "web/prod/c",
];

#[test]
fn whatever_happens_the_service_ends_up_with_what_the_last_commit_says() {
    seeds(SEEDS, |seed| Simulation::new(seed).run());
}

/// Runs this many seeds, several at once, and names those that fail.
pub(crate) fn seeds(count: u64, run: impl Fn(u64) + Sync) {
    let number = |name: &str| std::env::var(name).ok().map(|text| text.parse().expect("a number"));
    let seeds = match number("GITOGGLE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..number("GITOGGLE_SEEDS").unwrap_or(count),
    };
    let next = AtomicU64::new(seeds.start);
    let failed = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| run(seed))).is_err() {
                        failed.lock().unwrap().push(seed);
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "failed; run again with GITOGGLE_SEED={failed:?}");
}

/// What a file holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum File {
    Broken,
    Valid(u32),
}

/// What can be known, from outside, of what the program may believe about one toggle.
#[derive(Clone, Debug, PartialEq)]
enum Believed {
    /// The service confirmed this content.
    Confirmed(Value),
    /// A request was sent, and no unambiguous response arrived.
    Unknown,
}

/// One seed's world.
struct Simulation {
    seed: u64,
    rng: Rng,
    world: World,
    /// The files at every commit of the branch, oldest first.
    commits: Vec<BTreeMap<String, File>>,
    age: u32,
    trouble: Arc<Mutex<Trouble>>,
    /// Where the state is shared, if it is.
    remote: Option<Repo>,
    /// The disk that the last pass ran on, where the state is shared.
    disk: PathBuf,
    /// What a killed pass had open, by disk: a pass on that disk may send it once more, because it cannot
    /// know whether its request came after that of another machine.
    owed: BTreeMap<PathBuf, BTreeSet<String>>,
    believed: BTreeMap<String, Believed>,
    stored: BTreeMap<String, Value>,
    story: Vec<String>,
}

/// How the service behaves at the moment.
pub(crate) struct Trouble {
    rng: Rng,
    /// Of 100 requests, how many meet trouble.
    pub(crate) share: u32,
}

impl Trouble {
    /// Makes a service that is well.
    pub(crate) fn new(seed: u64) -> Self {
        Self { rng: Rng::with_seed(seed ^ 0xbad), share: 0 }
    }

    /// Decides about one request.
    pub(crate) fn answer(&mut self) -> Answer {
        if self.rng.u32(0..100) >= self.share {
            return Answer::applied();
        }
        match self.rng.u32(0..8) {
            0 => Answer::closes(),
            1 | 2 => Answer::stores_and_closes(),
            3 => Answer::status(500),
            4 => Answer::json(503, "{}"),
            5 => Answer::html(502),
            6 => Answer::json(422, r#"{"message": "not now"}"#),
            _ => Answer::json(429, "{}"),
        }
    }
}

impl Simulation {
    fn new(seed: u64) -> Self {
        let world = World::new();
        let trouble = Arc::new(Mutex::new(Trouble::new(seed)));
        let shared = Arc::clone(&trouble);
        world.service.always(move |_| shared.lock().unwrap().answer());
        let remote = (seed % 3 == 2).then(|| Repo::bare(&world.path("remote.git")));
        Self {
            seed,
            remote,
            disk: PathBuf::new(),
            owed: BTreeMap::new(),
            rng: Rng::with_seed(seed),
            world,
            commits: vec![BTreeMap::new()],
            age: 0,
            trouble,
            believed: BTreeMap::new(),
            stored: BTreeMap::new(),
            story: Vec::new(),
        }
    }

    fn run(&mut self) {
        let result = catch_unwind(AssertUnwindSafe(|| self.play()));
        // The panic message is printed already; the story shows how it came about.
        assert!(result.is_ok(), "seed {}:\n  {}", self.seed, self.story.join("\n  "));
    }

    fn play(&mut self) {
        for toggle in TOGGLES {
            self.edit(toggle);
        }
        self.commit("begin");
        self.apply().set("first-pass", "assert").exit(0).any_output();
        self.account(false);
        for _ in 0..self.rng.usize(4..9) {
            for _ in 0..self.rng.usize(0..3) {
                self.change();
            }
            let share = [0, 0, 10, 40, 100][self.rng.usize(0..5)];
            self.trouble.lock().unwrap().share = share;
            if self.rng.u32(0..3) == 0 {
                self.killed_pass();
            } else {
                self.pass();
            }
            // A revert of a change with an unknown outcome is the hardest case.
            if share == 100 && self.commits.len() > 1 && self.rng.bool() {
                self.revert();
            }
        }
        self.settle();
    }

    fn head(&mut self) -> &mut BTreeMap<String, File> {
        self.commits.last_mut().expect("there is a commit")
    }

    /// Makes one commit, or takes some back.
    fn change(&mut self) {
        match self.rng.u32(0..10) {
            0 if self.commits.len() > 3 => self.force(),
            1 | 2 if self.commits.len() > 2 => self.revert(),
            _ => {
                let next = self.commits.last().expect("there is a commit").clone();
                self.commits.push(next);
                let mut what = Vec::new();
                for _ in 0..self.rng.usize(1..4) {
                    let toggle = TOGGLES[self.rng.usize(0..TOGGLES.len())];
                    what.push(self.change_file(toggle));
                }
                self.commit(&what.join(", "));
            }
        }
    }

    fn change_file(&mut self, toggle: &str) -> String {
        match (self.rng.u32(0..8), self.head().get(toggle).copied()) {
            (0, Some(_)) if self.lives_with_others(toggle) => {
                self.world.repo.remove(&format!("{toggle}.yaml"));
                self.head().remove(toggle);
                format!("remove {toggle}")
            }
            (1, Some(File::Valid(_))) => {
                self.write(toggle, "disabled: perhaps\n", File::Broken);
                format!("break {toggle}")
            }
            (2 | 3, Some(File::Valid(age))) => {
                let text = match self.rng.bool() {
                    true => reformatted(age),
                    false => format!("{}# {}\n", doc(age), self.rng.u32(..)),
                };
                self.write(toggle, &text, File::Valid(age));
                format!("reformat {toggle}")
            }
            (4 | 5, _) => {
                let commit = &self.commits[self.commits.len().saturating_sub(self.rng.usize(2..4))];
                let Some(File::Valid(age)) = commit.get(toggle).copied() else {
                    return format!("leave {toggle}");
                };
                self.write(toggle, &doc(age), File::Valid(age));
                format!("go back to {age} in {toggle}")
            }
            _ => {
                self.edit(toggle);
                format!("edit {toggle} to {}", self.age)
            }
        }
    }

    /// An environment that loses all its documents is held, which is another test.
    fn lives_with_others(&mut self, toggle: &str) -> bool {
        let environment = &toggle[..toggle.len() - 1];
        self.head().keys().filter(|other| other.starts_with(environment)).count() > 1
    }

    fn edit(&mut self, toggle: &str) {
        self.age += 1;
        let age = self.age;
        self.write(toggle, &doc(age), File::Valid(age));
    }

    fn write(&mut self, toggle: &str, text: &str, file: File) {
        self.world.repo.file(&format!("{toggle}.yaml"), text);
        self.head().insert(toggle.to_owned(), file);
    }

    fn commit(&mut self, message: &str) {
        self.world.repo.commit(message);
        self.story.push(format!("commit: {message}"));
    }

    fn revert(&mut self) {
        let before = self.commits[self.commits.len() - 2].clone();
        self.world.repo.git(&["read-tree", "-u", "--reset", "HEAD~1"]);
        self.commits.push(before);
        self.commit("as before the last one");
    }

    fn force(&mut self) {
        let count = self.rng.usize(1..3);
        self.commits.truncate(self.commits.len() - count);
        self.world.repo.force(&format!("HEAD~{count}"));
        self.story.push(format!("force-push over {count}"));
        let next = self.commits.last().expect("there is a commit").clone();
        self.commits.push(next);
        self.edit(TOGGLES[0]);
        self.commit("after the force-push");
    }

    /// Begins an apply: always with the same disk, or with one of several or none where the state is shared.
    fn apply(&mut self) -> Gitoggle {
        // Histories are rewritten on the way.
        let run = self.world.apply().set("history", "follow");
        // What a killed pass left open is waited for that long.
        let run = run.set("timeout", "3s");
        let Some(remote) = &self.remote else {
            return run;
        };
        self.disk = self.world.path(&format!("disk-{}", self.rng.u32(0..3)));
        if self.rng.u32(0..4) == 0 {
            drop(std::fs::remove_dir_all(&self.disk));
            self.owed.remove(&self.disk);
        }
        run.set("state-dir", &self.disk).set("state-remote", remote.path()).set("state-name", "toggles")
    }

    fn pass(&mut self) {
        self.apply().exit_in(&[0, 1, 3]).any_output();
        self.story.push(format!("pass: {}", self.new_requests()));
        self.account(false);
        self.compare_state();
    }

    fn killed_pass(&mut self) {
        let count = self.rng.usize(0..5);
        let mut run = self.apply().start();
        eventually("requests, or the end", || {
            (self.world.service.count() >= count || run.has_ended()).then_some(())
        });
        let killed = !run.has_ended();
        run.kill();
        self.world.service.sender_died();
        if let Some(remote) = &self.remote {
            // Its announcement would be waited for while it is fresh.
            crate::shared::age(remote);
        }
        self.story.push(format!("killed pass ({count}): {}", self.new_requests()));
        self.account(killed);
    }

    /// Ends all failures: every valid document arrives, and then no more requests do.
    fn settle(&mut self) {
        self.trouble.lock().unwrap().share = 0;
        self.pass();
        while !self.owed.is_empty() {
            self.pass();
        }
        for (toggle, file) in self.head().clone() {
            if let File::Valid(age) = file {
                let expected = body(age, "")["content"].clone();
                assert_eq!(self.stored.get(&toggle), Some(&expected), "{toggle} did not arrive");
            }
        }
        let broken = self.head().values().any(|file| *file == File::Broken);
        self.apply().exit(if broken { 3 } else { 0 }).any_output();
        assert_eq!(self.new_requests(), "", "the second pass is silent");
    }
}
