//! A repository on a host, a service of one kind, a daemon between them, and all channels of that daemon.

use std::time::{Duration, Instant};

use gitoggle::model::ServiceKind;
use gitoggle::sandbox::{Faults, Sandbox, SandboxConfig};
use gitoggle::transport::Secret;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::certificate::Authority;
use crate::support::git_host::{self, Door};
use crate::support::http::Endpoint;
use crate::support::proxy::Proxy;
use crate::support::wait::DEADLINE;
use crate::support::{
    Answer, Daemon, Gitoggle, Repo, Request, Service, SmallDisk, TOKEN, World, doc, eventually,
};

/// The number of toggles in `shop/prod`: enough for a rail, and for a verdict about all of them.
pub(super) const TOGGLES: usize = 12;

/// Returns the key of a toggle in `shop/prod`.
fn key(number: usize) -> String {
    format!("t{number:02}")
}

/// One installation.
pub(super) struct Stage {
    pub(super) world: World,
    pub(super) kind: ServiceKind,
    sandbox: Sandbox,
    runtime: Runtime,
    /// What leads to the service.
    proxy: Proxy,
    host: Service,
    /// The disk of the state folder, if there can be one.
    pub(super) disk: Option<SmallDisk>,
    /// What notifications are sent to.
    receiver: Service,
}

impl Stage {
    /// Makes an installation in which everything is applied.
    pub(super) fn applied(kind: ServiceKind) -> Self {
        Self::of(kind, TOGGLES)
    }

    /// Makes an installation in which this many toggles are applied.
    pub(super) fn of(kind: ServiceKind, count: usize) -> Self {
        let world = World::new();
        let runtime = Runtime::new().unwrap();
        let toggles: Vec<Value> = (0..count).map(toggle).collect();
        let projects = json!([{ "key": "shop", "environments": [{ "key": "prod" }], "toggles": toggles }]);
        let sandbox = runtime.block_on(async {
            Sandbox::start(SandboxConfig {
                ca_file: Some(world.path("sandbox.pem")),
                kind,
                data: (kind == ServiceKind::FeatureProbe)
                    .then(|| json!({ "projects": projects }).to_string()),
                faults: Faults::default(),
                ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
            })
            .unwrap()
        });
        let proxy = Proxy::to(&sandbox.url().replace("https://", ""));
        std::fs::create_dir(world.path("hosted")).unwrap();
        let host = git_host::start(&world.path("hosted"), Door::Open);
        let receiver = Service::start();
        let mut stage = Self { world, kind, sandbox, runtime, proxy, host, disk: None, receiver };
        stage.trust(&["sandbox.pem"]);
        stage.world.write("token", TOKEN);
        stage.change(count, 18, "Add toggles");
        stage.run("apply").set("first-pass", "assert").exit(0).any_output();
        stage.world.write(
            "home/frozen.yaml",
            "windows:\n  - { deny: \"shop/**\", at: \"2020-01-01 - 2099-12-31\", zone: UTC }\n",
        );
        stage.disk = SmallDisk::over(&stage.world);
        stage
    }

    /// Lets the program trust the host, the receiver and these certificates.
    pub(super) fn trust(&self, files: &[&str]) {
        let pem = |name: &&str| std::fs::read_to_string(self.world.path(name)).unwrap();
        let more: String = files.iter().map(pem).collect();
        self.world.write("ca.pem", &(Authority::trusted().pem().to_owned() + &more));
    }

    /// Begins a command with all settings.
    pub(super) fn run(&self, verb: &str) -> Gitoggle {
        let run = self.world.bare(verb);
        self.settings(run)
    }

    pub(super) fn settings(&self, run: Gitoggle) -> Gitoggle {
        run.set("repo", self.repo_url())
            .set("ref", "main")
            .set("state-dir", self.world.state())
            .set("base-url", self.sandbox.url())
            .set("ca-file", self.world.ca())
            .set("service-kind", self.kind.as_str())
            .set("token-file", self.world.path("token"))
            .set("timeout", "2s")
            .without_env("GITOGGLE_TOKEN")
            .env("HTTPS_PROXY", self.proxy.url())
            .env("NO_PROXY", "localhost")
    }

    pub(super) fn repo_url(&self) -> String {
        format!("{}/toggles.git", self.host.url().replace("127.0.0.1", "localhost"))
    }

    pub(super) fn service_url(&self) -> String {
        self.sandbox.url()
    }

    /// Starts a daemon, and waits until it is ready.
    pub(super) fn daemon(&self, special: impl FnOnce(Gitoggle) -> Gitoggle) -> Daemon {
        Daemon::ready(&self.world, |run| {
            let run = self.settings(run).set("poll-interval", "200ms").set("drift-interval", "0s");
            let run = run.set("stale-after", "1h").set("give-up-after", "1s");
            let receiver = self.receiver.url().replace("127.0.0.1", "localhost");
            special(run.set("notify-url", format!("{receiver}/notices")))
        })
    }

    /// Commits other documents of the first `count` toggles, and pushes them.
    pub(super) fn change(&self, count: usize, age: u32, message: &str) {
        for number in 0..count {
            self.world.repo.file(&format!("shop/prod/{}.yaml", key(number)), doc(age));
        }
        self.world.repo.commit(message);
        self.push();
    }

    /// Pushes to the host.
    pub(super) fn push(&self) {
        let to = self.world.path("hosted/toggles.git");
        match to.exists() {
            true => {
                drop(self.world.repo.git(&["push", "--quiet", "--force", &to.display().to_string(), "main"]));
            }
            false => drop(self.world.repo.clone_bare(&to)),
        }
    }

    /// Returns the repository on the host.
    pub(super) fn hosted(&self) -> Repo {
        Repo::at(&self.world.path("hosted/toggles.git"))
    }

    /// Lets the host answer everything like this.
    pub(super) fn host_answers(&self, answer: Answer) {
        self.host.always(move |_| answer.clone());
    }

    /// Does `work` while the daemon stands still, which would otherwise see half of it.
    pub(super) fn paused(&self, daemon: &Daemon, work: impl FnOnce()) {
        let signal = |name: &str| {
            let id = daemon.id().to_string();
            assert!(std::process::Command::new("kill").args([name, &id]).status().unwrap().success());
        };
        signal("-STOP");
        work();
        signal("-CONT");
    }

    /// Takes the state folder away.
    pub(super) fn lose_state(&self) {
        let state = self.world.state();
        match &self.disk {
            Some(disk) => disk.is_taken_away(),
            None => std::fs::rename(&state, self.world.path("away")).unwrap(),
        }
        drop(std::fs::remove_dir_all(&state));
    }

    /// Runs a command to its end. Returns its exit code and what it printed.
    pub(super) fn command(
        &self,
        verb: &str,
        special: impl FnOnce(Gitoggle) -> Gitoggle,
    ) -> (Option<i32>, String) {
        let run = special(self.run(verb)).unset("drift-interval");
        let run = if verb == "apply" { run.set("give-up-after", "1s") } else { run };
        let output = run.start_piped().wait_with_output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout) + &text(&output.stderr))
    }

    /// Leads the requests to the service to nobody.
    pub(super) fn service_is_down(&self) {
        self.proxy.leads_to(&Endpoint::free().address());
    }

    /// Leads the requests to the service to another server, which gives this answer.
    pub(super) fn service_is_another(&self, answer: Answer) {
        self.service_answers(move |_| answer.clone());
    }

    /// Leads the requests to the service to another server, which answers like this.
    pub(super) fn service_answers(&self, answer: impl Fn(&Request) -> Answer + Send + 'static) {
        self.world.service.always(answer);
        self.proxy.leads_to(&format!("127.0.0.1:{}", self.world.service.port()));
    }

    /// Makes a request as another writer of the service.
    pub(super) fn someone(&self, method: &str, path: &str, body: &Value) {
        let request = json!({ "method": method, "path": path, "body": body });
        self.sandbox.request_as_admin(&serde_json::from_value(request).unwrap());
    }

    /// Returns the messages that the receiver got, as text.
    pub(super) fn messages(&self) -> Vec<Value> {
        self.receiver.requests().iter().map(Request::body).collect()
    }

    /// Forgets the messages so far.
    pub(super) fn forget_messages(&self) {
        self.receiver.take();
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The sandbox ends its task on the runtime.
        let _entered = self.runtime.enter();
    }
}

/// A toggle of the service before anything is published.
fn toggle(number: usize) -> Value {
    crate::live_publish::toggle(&key(number))
}

/// What all channels of a daemon say at one time.
#[derive(Debug)]
pub(super) struct Channels {
    /// The texts of each line.
    pub(super) log: Vec<String>,
    pub(super) readyz: (u16, String),
    pub(super) page: String,
    /// The color of the page, as a word.
    pub(super) verdict: String,
    /// Whether the page shows the states as those of an earlier time.
    pub(super) is_outdated: bool,
    pub(super) status: Value,
    pub(super) plan: Value,
}

impl Channels {
    pub(super) fn of(daemon: &Daemon) -> Self {
        let get = |path: &str| eventually(path, || daemon.endpoint.get(path));
        let ready = get("/readyz");
        let page = get("/").body;
        let verdict = page.split("data-verdict=\"").nth(1).and_then(|rest| rest.split('"').next());
        let log = daemon.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let texts = lines.map(|line| {
            let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
            ["message", "reason", "hint"].map(text).join("; ")
        });
        Self {
            log: texts.collect(),
            readyz: (ready.status, ready.body),
            verdict: verdict.unwrap_or_default().to_owned(),
            is_outdated: page.contains("card outdated"),
            page: text(&page),
            status: get("/api/status?limit=1000").json(),
            plan: get("/api/plan?limit=1000").json(),
        }
    }

    /// Returns the toggles that the status shows as withheld and the plan as to be published, and those that the
    /// status shows as unconfirmed and the plan as held.
    pub(super) fn misplaced(&self) -> Vec<&str> {
        let ids = |member: &str| -> Vec<&str> {
            let list = self.plan[member].as_array().into_iter().flatten();
            list.filter_map(|entry| entry["toggle"].as_str()).collect()
        };
        let (changes, held) = (ids("changes"), ids("held"));
        let toggles = self.status["toggles"].as_array().unwrap().iter();
        let misplaced = toggles.filter_map(|toggle| {
            let id = toggle["toggle"].as_str()?;
            let wrong = match (toggle["state"].as_str()?, toggle["kind"].is_null()) {
                ("drifted" | "failed" | "held", _) => &changes,
                ("pending", true) => &held,
                _ => return None,
            };
            wrong.contains(&id).then_some(id)
        });
        misplaced.collect()
    }

    /// Returns the toggles that wait for somebody, with their states and the kinds of reason.
    pub(super) fn held(&self) -> Vec<(String, String, String)> {
        let toggles = self.status["toggles"].as_array().unwrap().iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let held = toggles
            .filter_map(|one| Some((text(&one["toggle"])?, text(&one["state"])?, text(&one["kind"])?)));
        held.collect()
    }

    /// Returns the number of toggles that are not in sync.
    pub(super) fn waiting(&self) -> usize {
        let toggles = self.status["toggles"].as_array().unwrap();
        toggles.iter().filter(|toggle| toggle["state"] != "in_sync").count()
    }
}

/// Waits until `condition` is met. Returns whether it was.
pub(super) fn in_time(mut condition: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < DEADLINE {
        if condition() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    false
}

/// Returns the text of a page.
fn text(html: &str) -> String {
    let mut text = String::new();
    for part in html.split('<') {
        text.push_str(part.split_once('>').map_or(part, |(_, after)| after));
    }
    let pairs =
        [("&quot;", "\""), ("&#39;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&"), ("\u{200b}", "")];
    pairs.into_iter().fold(text, |text, (from, to)| text.replace(from, to))
}
