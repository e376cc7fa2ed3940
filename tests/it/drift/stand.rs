//! A repository, and a FeatureProbe service that has its toggles.

use std::path::PathBuf;
use std::time::Duration;

use gitoggle::model::ServiceKind;
use gitoggle::sandbox::{Faults, Sandbox, SandboxConfig};
use gitoggle::transport::Secret;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

use crate::support::{Gitoggle, TOKEN, World, body, doc};

/// The toggles of a stand, in `shop/prod`.
pub(super) const TOGGLES: [&str; 3] = ["cart", "pay", "ship"];

/// A service in this process and a world. Everything is applied, unless a test says otherwise.
pub(super) struct Stand {
    pub(super) world: World,
    sandbox: Sandbox,
    runtime: Runtime,
    ca: PathBuf,
    /// The number of requests that no longer matter.
    seen: std::cell::Cell<usize>,
}

impl Stand {
    /// Starts a service with the toggles and `more`; the repository has `doc(18)` for each toggle, and all
    /// are applied.
    pub(super) fn applied() -> Self {
        Self::with(&[])
    }

    /// Starts a service with applied toggles of which no scan or pass knows the versions.
    pub(super) fn uncached() -> Self {
        let stand = Self::applied();
        stand.forget();
        stand
    }

    /// Removes what scans and passes have found equal.
    pub(super) fn forget(&self) {
        std::fs::remove_file(self.world.state().join("live.json")).unwrap();
    }

    pub(super) fn with(more: &[&str]) -> Self {
        Self::unapplied(more).then_applied()
    }

    /// Starts a service that takes this long for each response.
    pub(super) fn slow(latency: Duration) -> Self {
        Self::start(&[], latency).then_applied()
    }

    fn then_applied(self) -> Self {
        self.apply().set("first-pass", "assert").exit(0).any_output();
        self.requests();
        self
    }

    pub(super) fn unapplied(more: &[&str]) -> Self {
        Self::start(more, Duration::ZERO)
    }

    fn start(more: &[&str], latency: Duration) -> Self {
        let world = World::new();
        for toggle in TOGGLES {
            world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
        }
        world.repo.commit("Add toggles");
        let runtime = Runtime::new().unwrap();
        let ca = world.path("sandbox-ca.pem");
        let toggles: Vec<Value> = TOGGLES.iter().chain(more).map(|key| toggle(key)).collect();
        let projects = json!([{ "key": "shop", "environments": [{ "key": "prod" }], "toggles": toggles }]);
        let sandbox = runtime.block_on(async {
            Sandbox::start(SandboxConfig {
                ca_file: Some(ca.clone()),
                kind: ServiceKind::FeatureProbe,
                data: Some(json!({ "projects": projects }).to_string()),
                faults: Faults { latency, ..Faults::default() },
                ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
            })
            .unwrap()
        });
        Self { world, sandbox, runtime, ca, seen: std::cell::Cell::new(0) }
    }

    /// Begins a command with everything that it needs to read this service.
    pub(super) fn command(&self, verb: &str) -> Gitoggle {
        self.world
            .bare(verb)
            .also(&self.sandbox.url(), "https://$LIVE")
            .set("repo", self.world.repo.path())
            .set("state-dir", self.world.state())
            .set("base-url", self.sandbox.url())
            .set("ca-file", &self.ca)
            .set("service-kind", "featureprobe")
            .env("GITOGGLE_TOKEN", TOKEN)
    }

    /// Gives `run` what it needs to use this service.
    pub(super) fn served(&self, run: Gitoggle) -> Gitoggle {
        run.set("base-url", self.sandbox.url()).set("ca-file", &self.ca).set("service-kind", "featureprobe")
    }

    /// Returns the body of the last publish.
    pub(super) fn last_body(&self) -> Vec<u8> {
        let mut calls = self.sandbox.calls().into_iter();
        let last = calls.rfind(|call| call.method == "PATCH");
        last.map(|call| call.body.to_vec()).unwrap_or_default()
    }

    pub(super) fn apply(&self) -> Gitoggle {
        self.command("apply")
    }

    /// Begins `gitoggle drift`.
    pub(super) fn drift(&self) -> Gitoggle {
        self.command("drift")
    }

    /// Arranges what happens at a request.
    pub(super) fn script(&self, step: Value) {
        self.sandbox.script(serde_json::from_value(step).unwrap());
    }

    /// Arranges that an administrator makes this request before the next GET of a path that contains `at`.
    pub(super) fn before(&self, at: &str, method: &str, path: &str, body: Value) {
        self.script(json!({
            "on": { "method": "GET", "path": at },
            "do": { "before": { "method": method, "path": path, "body": body } },
        }));
    }

    /// Lets an administrator publish other rules for a toggle, before the next request.
    pub(super) fn changes(&self, toggle: &str, age: u32, comment: &str) {
        self.before("/", "PATCH", &targeting(toggle), body(age, comment));
    }

    /// Returns the requests since the last call, as `METHOD path`.
    pub(super) fn requests(&self) -> Vec<String> {
        let calls = self.sandbox.calls();
        let new = calls.iter().skip(self.seen.replace(calls.len()));
        new.map(|call| format!("{} {}", call.method, call.path)).collect()
    }

    /// Asserts that only GET requests were made since the last call, and returns their paths.
    #[track_caller]
    pub(super) fn reads(&self) -> Vec<String> {
        let requests = self.requests().into_iter();
        let paths = requests.map(|request| match request.strip_prefix("GET ") {
            Some(path) => path.to_owned(),
            None => panic!("{request}"),
        });
        paths.collect()
    }
}

impl Drop for Stand {
    fn drop(&mut self) {
        // The sandbox ends its task on the runtime.
        let _entered = self.runtime.enter();
    }
}

/// Returns the path of the targeting of a toggle.
pub(super) fn targeting(toggle: &str) -> String {
    format!("/api/projects/shop/environments/prod/toggles/{toggle}/targeting")
}

fn toggle(key: &str) -> Value {
    json!({
        "key": key,
        "returnType": "boolean",
        "variations": [
            { "value": "false", "name": "off", "description": "" },
            { "value": "true", "name": "on", "description": "New payment page" },
        ],
        "targeting": Map::new(),
    })
}
