//! Random histories of pull requests and of a person who changes toggles on a service that can be read: a
//! job sends a change if, and only if, a comment that counts lists it and the person has not changed the
//! toggle. What the service has already is recorded without a review.

use std::collections::{BTreeMap, BTreeSet};

use fastrand::Rng;
use serde_json::Value;

use super::reviews::{Merge, merge, plan};
use super::stand_in::{KINDS, StandIn};
use crate::live_publish::toggle;
use crate::support::{Gitoggle, LiveService, Repo, body, doc};

const TOGGLES: [&str; 3] = ["t0", "t1", "t2"];

/// The content of toggles, by their name.
type Ages = BTreeMap<&'static str, u32>;

struct History {
    seed: u64,
    rng: Rng,
    service: LiveService,
    forge: StandIn,
    /// The open pull requests with what their plans list.
    open: Vec<(u64, BTreeSet<(&'static str, u32)>)>,
    /// The same of the merged ones, by the commit of the merge.
    merged: Vec<(String, BTreeSet<(&'static str, u32)>)>,
    /// What `main` has.
    documents: Ages,
    /// What was applied last, and the revision at which it was.
    applied: BTreeMap<&'static str, (u32, String)>,
    /// What the service has.
    live: Ages,
    jobs: usize,
    requests: u64,
    log: Vec<String>,
}

impl History {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::with_seed(seed);
        let service = LiveService::start(&Value::from(TOGGLES.map(toggle).to_vec()));
        Repo::bare(&service.world.path("remote.git"));
        // One file for the forge and the service.
        let authorities = [service.world.ca(), service.world.path("sandbox.pem")];
        let both: String = authorities.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
        std::fs::write(service.world.ca(), both).unwrap();
        for toggle in TOGGLES {
            service.commit(toggle, doc(18), &format!("Add {toggle}"));
        }
        let ages: Ages = TOGGLES.map(|toggle| (toggle, 18)).into();
        let head = service.world.repo.head();
        let forge = StandIn::start(KINDS[rng.usize(..KINDS.len())]);
        let mut history = Self {
            seed,
            rng,
            forge,
            open: Vec::new(),
            merged: Vec::new(),
            documents: ages.clone(),
            applied: TOGGLES.map(|toggle| (toggle, (18, head.clone()))).into(),
            live: ages,
            jobs: 0,
            requests: 0,
            log: Vec::new(),
            service,
        };
        history.any_job().set("first-pass", "assert").exit(0).any_output();
        history
    }

    /// A job on an empty disk.
    fn any_job(&mut self) -> Gitoggle {
        self.jobs += 1;
        let world = &self.service.world;
        let run = self.service.apply().set("state-dir", world.path(&format!("disk-{}", self.jobs)));
        run.set("state-remote", world.path("remote.git")).set("state-name", "toggles")
    }

    fn draw(&mut self) -> (&'static str, u32) {
        // Few values, so that a toggle often returns to one that was reviewed.
        (TOGGLES[self.rng.usize(..TOGGLES.len())], 20 + self.rng.u32(..3))
    }

    fn commit(&self, (toggle, age): (&'static str, u32)) {
        self.service.commit(toggle, doc(age), &format!("Set {toggle} to {age}"));
    }

    /// Opens a pull request and merges it, with or without a plan.
    fn request(&mut self) {
        let wanted = self.draw();
        let (toggle, age) = wanted;
        if self.documents[toggle] == age {
            return;
        }
        self.requests += 1;
        let (number, world) = (self.requests, &self.service.world);
        world.repo.checkout("main").branch(&format!("r{number}"));
        self.commit(wanted);
        let is_planned = self.rng.u8(..4) > 0;
        self.log.push(format!("request {number}: {toggle} = {age}, planned: {is_planned}"));
        let mut listed = BTreeSet::new();
        if is_planned {
            plan(&self.forge, &self.service.world, number);
            listed.insert(wanted);
        }
        self.open.push((number, listed));
    }

    fn merge(&mut self) {
        if self.open.is_empty() {
            return;
        }
        let (number, listed) = self.open.remove(self.rng.usize(..self.open.len()));
        let repo = &self.service.world.repo;
        let branch = format!("r{number}");
        if repo.try_git(&["merge-tree", "--write-tree", "main", &branch]).is_err() {
            return;
        }
        let how = if self.rng.bool() { Merge::Commit } else { Merge::Squash };
        self.log.push(format!("merge {number}: {how:?}"));
        let before = repo.id("main");
        let is_empty = repo.git(&["merge-tree", "--write-tree", "main", &branch])
            == repo.git(&["rev-parse", "main^{tree}"]);
        if is_empty {
            return;
        }
        merge(&self.forge, repo, number, how);
        assert_ne!(repo.id("main"), before);
        self.merged.push((repo.head(), listed));
        self.read_documents();
    }

    fn read_documents(&mut self) {
        let repo = &self.service.world.repo;
        for (toggle, age) in &mut self.documents {
            let text = repo.content("main", &format!("shop/prod/{toggle}.yaml"));
            *age = [18, 20, 21, 22].into_iter().find(|age| text.trim() == doc(*age).trim()).unwrap();
        }
    }

    fn push(&mut self) {
        let wanted = self.draw();
        if self.documents[wanted.0] != wanted.1 {
            self.log.push(format!("push {wanted:?}"));
            self.service.world.repo.checkout("main");
            self.commit(wanted);
            self.read_documents();
        }
    }

    fn edit(&mut self) {
        let (toggle, age) = self.draw();
        if self.live[toggle] != age {
            self.log.push(format!("a person sets {toggle} to {age}"));
            self.service.edit(toggle, body(age, "by hand"));
            self.live.insert(toggle, age);
        }
    }

    /// Runs the job of `main`, and compares what it sends with the rule.
    fn job(&mut self) {
        self.service.world.repo.checkout("main");
        // A person may decide to publish over what others changed on the service.
        let overwrites = self.rng.u8(..4) == 0;
        let (expected, recorded) = self.due(overwrites);
        let run = self.any_job();
        let run = if overwrites { run.arg("--overwrite-drift") } else { run };
        let run = self.forge.job(&self.service.world, run);
        let run = run.set("reviewed", self.forge.name()).set("max-change-ratio", "1");
        let requests = self.service.requests(|| drop(run.exit_in(&[0, 4]).any_output()));
        let sent: BTreeSet<&str> = TOGGLES
            .into_iter()
            .filter(|toggle| requests.iter().any(|one| one.starts_with(&format!("PATCH {toggle}/"))))
            .collect();
        self.log.push(format!("job that overwrites: {overwrites}: {sent:?}"));
        assert_eq!(sent, expected, "seed {}: {:#?}", self.seed, self.log);
        let head = self.service.world.repo.head();
        for toggle in expected.iter().chain(&recorded) {
            let age = self.documents[*toggle];
            self.applied.insert(*toggle, (age, head.clone()));
            self.live.insert(*toggle, age);
        }
    }

    /// Returns which toggles are sent, and which are only recorded.
    fn due(&self, overwrites: bool) -> (BTreeSet<&'static str>, BTreeSet<&'static str>) {
        let repo = &self.service.world.repo;
        let is_ancestor =
            |one: &str, other: &str| repo.try_git(&["merge-base", "--is-ancestor", one, other]).is_ok();
        let changed = TOGGLES.into_iter().filter(|toggle| self.documents[*toggle] != self.applied[*toggle].0);
        let (recorded, others): (BTreeSet<_>, BTreeSet<_>) =
            changed.partition(|toggle| self.documents[*toggle] == self.live[*toggle]);
        let is_sent = |toggle: &&'static str| {
            let (applied, revision) = &self.applied[*toggle];
            let commit =
                repo.git(&["log", "-1", "--format=%H", "main", "--", &format!("shop/prod/{toggle}.yaml")]);
            let counts = |merge: &str| is_ancestor(&commit, merge) && !is_ancestor(merge, revision);
            let wanted = (*toggle, self.documents[*toggle]);
            (overwrites || self.live[*toggle] == *applied)
                && self.merged.iter().any(|(merge, listed)| listed.contains(&wanted) && counts(merge))
        };
        let mut sent: BTreeSet<_> = others.into_iter().filter(is_sent).collect();
        // What is applied already needs no review.
        let is_undone = |toggle: &&'static str| {
            let document = self.documents[*toggle];
            overwrites && document == self.applied[*toggle].0 && document != self.live[*toggle]
        };
        sent.extend(TOGGLES.into_iter().filter(is_undone));
        (sent, recorded)
    }

    fn run(mut self) {
        for _ in 0..self.rng.usize(10..20) {
            match self.rng.u8(..12) {
                0..3 => self.request(),
                3..6 => self.merge(),
                6 => self.push(),
                7 | 8 => self.edit(),
                9 | 10 => self.job(),
                _ => {}
            }
        }
        self.job();
        self.job();
    }
}

#[test]
fn a_job_sends_what_a_comment_lists_and_no_person_has_changed() {
    super::histories::draw(|seed| History::new(seed).run());
}

#[test]
fn a_decision_undoes_what_a_person_did_and_publishes_nothing_that_nobody_reviewed() {
    for seed in 0..3 {
        let mut history = History::new(seed);
        history.service.edit("t0", body(30, "by hand"));
        history.service.edit("t1", body(30, "by hand"));
        // A document cannot express this.
        let mut other = body(30, "by hand");
        other["content"]["rules"][0]["serve"]["select"] = Value::from(9);
        history.service.edit("t2", other);
        // One document did not change, and the other one was pushed directly.
        history.service.world.repo.checkout("main");
        history.commit(("t1", 20));
        let run = history.any_job();
        let run = history.forge.job(&history.service.world, run).set("reviewed", history.forge.name());
        let run = run.args("--overwrite-drift --max-change-ratio 1").exit(4);
        let run = run.stdout_contains(&[
            "applied shop/prod/t0",
            "applied shop/prod/t2",
            "held shop/prod/t1",
            "not reviewed: it came from commit",
        ]);
        let run = run.stderr_contains(&[
            "publishing 2 changes to, and comparing 1 document with",
            "shop/prod/t0 publishes over what was changed on the service",
        ]);
        run.never_says(&["shop/prod/t1 publishes over"]);
    }
}

#[test]
fn the_command_that_overwrites_one_reviewed_toggle_works_as_it_is_printed() {
    for seed in 0..3 {
        let mut history = History::new(seed);
        history.service.edit("t0", body(30, "by hand"));
        let world = &history.service.world;
        world.repo.checkout("main").branch("r1");
        history.commit(("t0", 20));
        plan(&history.forge, world, 1);
        merge(&history.forge, &world.repo, 1, Merge::Commit);
        let job = |history: &mut History| {
            let run = history.any_job();
            let run = history.forge.job(&history.service.world, run);
            run.set("reviewed", history.forge.name()).set("max-change-ratio", "1")
        };
        let printed = "`gitoggle apply --overwrite-drift --only shop/prod/t0`";
        job(&mut history).exit(4).stdout_contains(&[printed]).any_stderr();
        let run = job(&mut history).arg("--overwrite-drift").set("only", "shop/prod/t0");
        run.exit(0).stdout_contains(&["applied shop/prod/t0"]).any_stderr();
    }
}
