//! A daemon that lives through random commits, random trouble, kills and restarts.
//!
//! `GITOGGLE_SEED` and `GITOGGLE_SEEDS` work as for the other simulation.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use fastrand::Rng;
use serde_json::Value;

use crate::simulation::{Trouble, seeds};
use crate::support::command::Running;
use crate::support::git_host::{self, Door};
use crate::support::http::Endpoint;
use crate::support::{Answer, Gitoggle, Repo, Request, Service, World, content, doc, eventually};

const TOGGLES: [&str; 5] = ["shop/prod/a", "shop/prod/b", "shop/test/a", "web/prod/a", "web/prod/b"];
const ADMIN: &str = "Bearer admin-token-4711";

#[test]
fn a_daemon_gets_everything_there_in_the_end_and_in_order() {
    seeds(6, |seed| Life::new(seed).live());
}

#[test]
fn a_daemon_that_follows_a_failing_host_gets_everything_there_in_the_end_and_in_order() {
    seeds(3, |seed| Life::new(seed).with_host().live());
}

struct Life {
    rng: Rng,
    world: World,
    trouble: Arc<Mutex<Trouble>>,
    /// The Git host, where the daemon follows one; it closes connections as often as the service is in
    /// trouble.
    host: Option<Service>,
    endpoint: Endpoint,
    running: Option<Running>,
    age: u32,
    head: BTreeMap<&'static str, u32>,
    /// Everything that was sent, and when a process was killed.
    sent: Vec<Event>,
    story: Vec<String>,
}

enum Event {
    Killed,
    Sent(Box<Request>),
}

impl Life {
    fn new(seed: u64) -> Self {
        let world = World::new();
        let trouble = Arc::new(Mutex::new(Trouble::new(seed)));
        let shared = Arc::clone(&trouble);
        world.service.always(move |_| shared.lock().unwrap().answer());
        Self {
            rng: Rng::with_seed(seed),
            world,
            trouble,
            host: None,
            endpoint: Endpoint::free(),
            running: None,
            age: 0,
            head: BTreeMap::new(),
            sent: Vec::new(),
            story: vec![format!("seed {seed}")],
        }
    }

    fn with_host(mut self) -> Self {
        let root = self.world.path("hosted");
        Repo::bare(&root.join("toggles.git"));
        let host = Service::start();
        let (trouble, mut rng) = (Arc::clone(&self.trouble), self.rng.fork());
        host.always(move |request| {
            let is_in_trouble = rng.u32(0..100) < trouble.lock().unwrap().share / 2;
            match is_in_trouble {
                true => Answer::closes(),
                false => git_host::answer(&root, &Door::Open, request),
            }
        });
        self.host = Some(host);
        self
    }

    /// Has what is committed where the daemon looks.
    fn push(&self) {
        if self.host.is_some() {
            let to = self.world.path("hosted/toggles.git").display().to_string();
            self.world.repo.git(&["push", "--quiet", &to, "main"]);
        }
    }

    fn live(mut self) {
        let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.play()));
        assert!(result.is_ok(), "{}", self.story.join("\n  "));
    }

    fn play(&mut self) {
        for toggle in TOGGLES {
            self.edit(toggle);
        }
        self.world.repo.commit("begin");
        self.push();
        self.world.settle();
        self.start();
        for _ in 0..self.rng.usize(6..14) {
            self.step();
        }
        self.settle();
        self.check();
    }

    fn step(&mut self) {
        match self.rng.u32(0..10) {
            0 => self.kill(),
            1 => self.terminate(),
            2 | 3 => {
                let share = [0, 20, 60, 100][self.rng.usize(0..4)];
                self.trouble.lock().unwrap().share = share;
                self.story.push(format!("trouble: {share} %"));
            }
            4 => drop(self.order("/reconcile", "")),
            5 => {
                self.order("/suspend", "{}");
                self.commit();
                self.order("/resume", "");
            }
            _ => self.commit(),
        }
        // So that a step is often seen before the next one, and not always.
        let count = self.world.service.count() + self.rng.usize(0..2);
        let start = std::time::Instant::now();
        while self.world.service.count() < count && start.elapsed().as_millis() < 300 {
            std::thread::yield_now();
        }
    }

    fn commit(&mut self) {
        let mut edited = Vec::new();
        for _ in 0..self.rng.usize(1..4) {
            let toggle = TOGGLES[self.rng.usize(0..TOGGLES.len())];
            self.edit(toggle);
            edited.push(format!("{toggle}={}", self.age));
        }
        self.world.repo.commit(&edited.join(", "));
        self.push();
        self.story.push(format!("commit: {}", edited.join(", ")));
    }

    fn edit(&mut self, toggle: &'static str) {
        self.age += 1;
        self.world.repo.file(&format!("{toggle}.yaml"), doc(self.age));
        self.head.insert(toggle, self.age);
    }

    fn daemon(&self) -> Gitoggle {
        let daemon = self.world.daemon();
        let daemon = match &self.host {
            Some(host) => daemon.set("repo", format!("{}/toggles.git", host.url())),
            None => daemon,
        };
        daemon
            .set("listen", self.endpoint.address())
            .set("poll-interval", "1s")
            // What a killed process left open is waited for that long.
            .set("timeout", "3s")
            .env("GITOGGLE_ADMIN_TOKEN", ADMIN.trim_start_matches("Bearer "))
    }

    fn start(&mut self) {
        self.endpoint = Endpoint::free();
        self.running = Some(self.daemon().start());
        eventually("the daemon's endpoint", || self.endpoint.get("/healthz"));
        self.story.push("start".to_owned());
    }

    fn kill(&mut self) {
        if let Some(running) = self.running.take() {
            running.kill();
        }
        self.world.service.sender_died();
        self.collect();
        self.sent.push(Event::Killed);
        self.story.push("kill".to_owned());
        self.start();
    }

    fn terminate(&mut self) {
        if let Some(running) = self.running.take() {
            running.terminate();
            assert_eq!(running.wait(), Some(0), "it stops cleanly when asked to");
        }
        self.story.push("terminate".to_owned());
        self.start();
    }

    fn order(&self, path: &str, body: &str) -> u16 {
        let headers = [("Authorization", ADMIN), ("Content-Type", "application/json")];
        self.endpoint.post(path, &headers, body.as_bytes()).status
    }

    fn collect(&mut self) {
        let requests = self.world.service.take();
        self.sent.extend(requests.into_iter().map(|request| Event::Sent(Box::new(request))));
    }

    /// Ends all failures: every request arrives.
    fn settle(&mut self) {
        self.trouble.lock().unwrap().share = 0;
        self.order("/reconcile", "");
        let revision = self.world.repo.head();
        let mut asked = std::time::Instant::now();
        eventually("everything to be in sync", || {
            // An order is what people give when they do not want to wait for a long backoff.
            if asked.elapsed().as_millis() > 500 {
                self.order("/reconcile", "");
                asked = std::time::Instant::now();
            }
            let status = self.endpoint.get("/api/status?limit=10000")?.json();
            let in_sync = |line: &Value| line["state"] == "in_sync";
            let lines = status["toggles"].as_array()?;
            let done = status["source"]["revision"] == revision.as_str()
                && lines.len() == TOGGLES.len()
                && lines.iter().all(in_sync);
            done.then_some(())
        });
        self.collect();
        let passed = self.order("/reconcile", "");
        assert_eq!(passed, 202);
        if let Some(running) = self.running.take() {
            running.terminate();
            assert_eq!(running.wait(), Some(0));
        }
        assert_eq!(self.world.service.take().len(), 0, "it is silent when all is done");
        self.world.apply().exit(0).any_output();
        assert_eq!(self.world.service.take().len(), 0, "and its record is complete");
    }

    /// Checks everything that was sent, from beginning to end.
    fn check(&self) {
        let mut newest: BTreeMap<String, u32> = BTreeMap::new();
        let mut confirmed: BTreeMap<String, u32> = BTreeMap::new();
        let mut stored: BTreeMap<String, u32> = BTreeMap::new();
        for event in &self.sent {
            let request = match event {
                Event::Sent(request) => request,
                Event::Killed => {
                    // What was confirmed just before may not be on record.
                    confirmed.clear();
                    continue;
                }
            };
            let toggle = request.toggle();
            let body = request.body();
            let age = body["content"]["rules"][0]["conditions"][0]["objects"][0].as_str();
            let age: u32 = age.and_then(|age| age.parse().ok()).expect("an age");
            assert_eq!(body["content"], content(age));
            assert_eq!(request.open_for_toggle, 1, "two requests were open for {toggle}");
            let before = newest.insert(toggle.clone(), age);
            assert!(before.is_none_or(|before| before <= age), "{toggle}: {age} after {before:?}");
            assert_ne!(confirmed.get(&toggle), Some(&age), "{toggle}={age} is repeated without cause");
            if request.stored {
                stored.insert(toggle.clone(), age);
            }
            if request.confirmed {
                confirmed.insert(toggle, age);
            }
        }
        for (toggle, age) in stored {
            assert_eq!(self.head.get(toggle.as_str()), Some(&age), "{toggle}: the newest is there");
        }
    }
}
