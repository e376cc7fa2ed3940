//! Random histories of scans, with the number of scans between two that read every toggle drawn small as well
//! as real.
//!
//! A daemon scans, a person compares, processes are killed before they keep what they found out, passes
//! publish, and another writer changes toggles. The service loses increments of the version of its payload,
//! so a scan sees a change only if it reads the toggle or compares all versions. A model says what each scan
//! has to read and to report.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use tokio::runtime::Runtime as Threads;

use super::{DriftCheck, DriftScanner, ScanDepth, ScanRequest};
use crate::document;
use crate::git::testing::git;
use crate::git::{GitAccess, RepoUrl, UserConfig};
use crate::model::{Blob, Payload, Scope, ServiceKind, Thresholds};
use crate::pass::{Config, PassContext, PassInputs, Reconciler, Runtime, SharedState, planning};
use crate::plan::{DriftReport, FirstPass};
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::service::ClientConfig;
use crate::source::testing::Repo;
use crate::state::SharedRemote;
use crate::transport::{Network, Proxies, Secret, SecretSource};

const TOGGLES: [&str; 3] = ["cart", "pay", "ship"];
const TOKEN: &str = "token";

/// What a process knows, or the state folder.
#[derive(Clone, Debug, Default)]
struct Known {
    /// The version of each toggle that was read last, and whether it was another one than the applied one.
    toggles: BTreeMap<&'static str, (u64, bool)>,
    payload: Option<u64>,
    /// The scans since the last one that read every toggle.
    scans: u32,
}

/// What the service has, and what was applied.
#[derive(Clone, Copy, Debug)]
struct Toggle {
    version: u64,
    live: u32,
    applied: u32,
}

struct History {
    rng: Rng,
    repo: Repo,
    _disk: tempfile::TempDir,
    config: Config,
    context: PassContext,
    threads: Threads,
    sandbox: Sandbox,
    toggles: BTreeMap<&'static str, Toggle>,
    payload: u64,
    /// What the state folder has.
    kept: Known,
    /// The daemon, and what it knows.
    daemon: Option<(DriftScanner, Known)>,
}

fn text(age: u32) -> String {
    format!(
        r#"disabled: false
content:
  variations: [{{ name: "off", value: "false", description: "" }}, {{ name: "on", value: "true", description: "" }}]
  rules:
    - name: adults
      conditions: [{{ type: number, subject: age, predicate: ">", objects: ["{age}"] }}]
      serve: {{ select: 1 }}
  disabledServe: {{ select: 0 }}
  defaultServe: {{ select: 0 }}
"#
    )
}

/// Returns the body of a request with the targeting of `text(age)`.
fn body(age: u32) -> Value {
    let read = document::read("", &Blob::Content(text(age).into_bytes()), ServiceKind::FeatureProbe);
    let payload: &Payload = read.payload.as_ref().unwrap();
    let mut body: Value = serde_json::from_str(payload.json()).unwrap();
    body["comment"] = json!("by hand");
    body
}

fn path(toggle: &str) -> String {
    format!("/api/projects/shop/environments/prod/toggles/{toggle}/targeting")
}

impl History {
    fn new(seed: u64) -> Self {
        let (repo, disk, threads) = (Repo::new(), tempfile::tempdir().unwrap(), Threads::new().unwrap());
        let variation = |name: &str, value: &str| json!({ "name": name, "value": value, "description": "" });
        let toggle = |key: &&str| {
            let variations = [variation("off", "false"), variation("on", "true")];
            json!({ "key": key, "returnType": "boolean", "variations": variations, "targeting": {} })
        };
        let toggles: Vec<Value> = TOGGLES.iter().map(toggle).collect();
        let projects = json!([{ "key": "shop", "environments": [{ "key": "prod" }], "toggles": toggles }]);
        let ca_file = Some(disk.path().join("ca.pem"));
        let sandbox = threads.block_on(async {
            Sandbox::start(SandboxConfig {
                ca_file: ca_file.clone(),
                kind: ServiceKind::FeatureProbe,
                data: Some(json!({ "projects": projects }).to_string()),
                ..SandboxConfig::new(Secret::new(TOKEN.to_owned()))
            })
        });
        let sandbox = sandbox.unwrap();
        let mut config = Config::local(repo.path(), disk.path().join("state")).with_service(ClientConfig {
            kind: ServiceKind::FeatureProbe,
            base_url: sandbox.url().parse().unwrap(),
            token: SecretSource::Value(Secret::new(TOKEN.to_owned())),
            network: Network { ca_file, proxies: Proxies::Ignored, ..Network::default() },
            timeout: Duration::from_secs(60),
        });
        config.thresholds = Thresholds::drawn(seed);
        (config.rules.kind, config.rules.policy.is_readable) = (ServiceKind::FeatureProbe, true);
        config.rules.policy.first_pass = Some(FirstPass::Assert);
        if seed % 2 == 1 {
            git(disk.path(), &["init", "-q", "--bare", "remote"]);
            let access = GitAccess {
                network: Network::default(),
                credentials: None,
                timeout: Duration::from_secs(60),
                user_config: UserConfig::Ignored,
            };
            config.shared = Some(SharedState::At(SharedRemote {
                remote: RepoUrl::local(disk.path().join("remote")),
                name: "state".to_owned(),
                access,
                holder: "test".to_owned(),
            }));
        }
        let context = PassContext::unobserved(Runtime::new(threads.handle().clone()));
        let toggles = TOGGLES.map(|toggle| (toggle, Toggle { version: 1, live: 0, applied: 0 }));
        let mut history = Self {
            rng: Rng::with_seed(seed),
            repo,
            _disk: disk,
            config,
            context,
            threads,
            sandbox,
            toggles: toggles.into(),
            payload: 1,
            kept: Known::default(),
            daemon: None,
        };
        history.publish(&TOGGLES);
        history
    }

    /// Commits another document of each of these toggles, and applies it.
    fn publish(&mut self, toggles: &[&'static str]) {
        self.daemon = None;
        for name in toggles {
            let toggle = self.toggles.get_mut(name).unwrap();
            let applied = toggle.applied + 1;
            *toggle = Toggle { version: toggle.version + 1, live: applied, applied };
            self.payload += 1;
            self.kept.toggles.insert(name, (toggle.version, false));
            self.repo.write(&format!("shop/prod/{name}.yaml"), &text(applied));
        }
        self.repo.commit("change");
        let mut reconciler = Reconciler::open(self.config.clone(), Duration::from_secs(60)).unwrap();
        let report = reconciler.pass(&self.context, PassInputs::default()).unwrap();
        assert_eq!((report.applied(), report.is_complete()), (toggles.len(), true), "{report:?}");
        DriftScanner::keep_published(&self.config, &report).unwrap();
    }

    /// Lets another writer change a toggle. Every other value is what was applied. If the increment is lost,
    /// the change is made at the next request.
    fn edit(&mut self, is_lost: bool) {
        let name = self.rng.choice(TOGGLES).unwrap();
        let is_reverted = self.rng.bool();
        let toggle = self.toggles.get_mut(name).unwrap();
        toggle.version += 1;
        toggle.live =
            if is_reverted { toggle.applied } else { 1_000 + u32::try_from(toggle.version).unwrap() };
        let request = json!({ "method": "PATCH", "path": path(name), "body": body(toggle.live) });
        if is_lost {
            for act in [json!("lose_increment"), json!({ "before": request })] {
                let step = json!({ "on": { "method": "GET", "path": "/" }, "do": act });
                self.sandbox.script(serde_json::from_value(step).unwrap());
            }
        } else {
            self.payload += 1;
            self.sandbox.request_as_admin(&serde_json::from_value(request).unwrap());
        }
    }

    /// Scans as a daemon does.
    fn scan(&mut self) {
        let (mut scanner, known) = self.daemon.take().unwrap_or_else(|| self.begin());
        let calls = self.sandbox.calls().len();
        let view = planning::view(&self.config).unwrap();
        let scan = scanner.scan(&self.config, ScanRequest::of(&view), &self.context).unwrap();
        let known = self.check(&known, false, calls, &scan.report);
        // A process that is killed keeps nothing.
        if self.rng.u8(..4) > 0 {
            scanner.keep(&self.config.state_dir).unwrap();
            self.kept = known.clone();
            self.daemon = Some((scanner, known));
        }
    }

    /// Compares as `gitoggle drift` does.
    fn compare(&mut self) {
        let (_, known) = self.begin();
        self.daemon = None;
        let calls = self.sandbox.calls().len();
        let check = DriftCheck { globs: &Scope::default(), depth: ScanDepth::Changes };
        let scan = check.run(&self.config, &self.context).unwrap();
        self.kept = self.check(&known, true, calls, &scan.report);
    }

    /// Starts a process. It reads again what was different.
    fn begin(&self) -> (DriftScanner, Known) {
        let mut known = self.kept.clone();
        known.toggles.retain(|_, (_, is_drifted)| !*is_drifted);
        (DriftScanner::open(&self.config).unwrap(), known)
    }

    /// Checks what a scan has read and reported. Returns what the process knows now.
    fn check(&self, before: &Known, compares: bool, calls: usize, report: &DriftReport) -> Known {
        let is_full = before.scans + 1 >= self.config.thresholds.scans;
        let sees_versions = compares || before.payload != Some(self.payload);
        let is_due = |name: &str, toggle: &Toggle| match before.toggles.get(name) {
            None => true,
            Some((version, _)) => is_full || sees_versions && *version != toggle.version,
        };
        let due: Vec<_> = self.toggles.iter().filter(|(name, toggle)| is_due(name, toggle)).collect();
        let mut known = before.clone();
        for (name, toggle) in &due {
            known.toggles.insert(name, (toggle.version, toggle.live != toggle.applied));
        }
        known.payload = if compares { before.payload } else { Some(self.payload) };
        known.scans = if is_full { 0 } else { before.scans + 1 };
        let calls = &self.sandbox.calls()[calls..];
        let mut read: Vec<&str> = calls.iter().map(|call| call.path.as_str()).collect();
        read.retain(|path| path.ends_with("/targeting"));
        read.sort_unstable();
        let expected: Vec<String> = due.iter().map(|(name, _)| path(name)).collect();
        assert_eq!(read, expected, "{before:?}");
        let drifted: Vec<&str> = report.drifted.iter().map(|drifted| drifted.applied.id.toggle()).collect();
        let expected = known.toggles.iter().filter(|(_, (_, is_drifted))| *is_drifted);
        assert_eq!(drifted, expected.map(|(name, _)| *name).collect::<Vec<_>>(), "{before:?}");
        assert_eq!((report.in_sync, report.unread.len()), (TOGGLES.len() - drifted.len(), 0));
        if is_full {
            let differs = |toggle: &&Toggle| toggle.live != toggle.applied;
            assert_eq!(drifted.len(), self.toggles.values().filter(differs).count(), "it reads everything");
        }
        known
    }

    fn step(&mut self) {
        if self.rng.u8(..3) == 0 {
            match self.rng.u8(..3) {
                0 => (0..2).for_each(|_| self.edit(false)),
                _ => self.edit(true),
            }
            return if self.rng.bool() { self.scan() } else { self.compare() };
        }
        let untouched = self.toggles.iter().find(|(_, toggle)| toggle.live == toggle.applied);
        match (self.rng.u8(..12), untouched.map(|(name, _)| *name)) {
            (0, Some(name)) => self.publish(&[name]),
            (1, _) => self.daemon = None,
            (2..5, _) => self.compare(),
            _ => self.scan(),
        }
    }
}

impl Drop for History {
    fn drop(&mut self) {
        // The sandbox ends its task on the runtime.
        let _entered = self.threads.enter();
    }
}

#[test]
fn every_scan_finds_what_it_can_see_and_one_of_them_everything() {
    let mut missing = vec![1, 2, 3, Thresholds::default().scans];
    for seed in 0.. {
        let mut history = History::new(seed);
        let scans = history.config.thresholds.scans;
        println!("seed {seed}, every {scans}");
        // So many that every toggle is read at least once because of the number of scans.
        (0..20 + scans * 3 / 2).for_each(|_| history.step());
        missing.retain(|one| *one != scans);
        if missing.is_empty() {
            return;
        }
    }
}
