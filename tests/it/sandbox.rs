//! The commands `sandbox` and `demo`.

use serde_json::Value;

use crate::support::sandbox::RunningSandbox;
use crate::support::{Gitoggle, World, content, doc, eventually};

/// A running sandbox with its own port, and the settings to publish to it.
pub(crate) struct Sandbox {
    pub(crate) world: World,
    process: RunningSandbox,
}

impl Sandbox {
    pub(crate) fn start(faults: &str) -> Self {
        let world = World::new();
        let history = world.path("history.jsonl");
        Self::with(world, |sandbox| sandbox.set("history-file", history).args(faults))
    }

    /// Starts a sandbox that answers as FeatureProbe does.
    pub(crate) fn readable() -> Self {
        Self::with(World::new(), |sandbox| sandbox.set("service-kind", "featureprobe"))
    }

    fn with(world: World, options: impl FnOnce(Gitoggle) -> Gitoggle) -> Self {
        let process = RunningSandbox::start(&world, world.path("ca.pem"), options);
        Self { world, process }
    }

    /// Returns its address.
    pub(crate) fn url(&self) -> String {
        self.process.url()
    }

    /// Returns what it has printed.
    pub(crate) fn printed(&self) -> String {
        std::fs::read_to_string(self.world.path("sandbox.log")).unwrap()
    }

    pub(crate) fn apply(&self) -> Gitoggle {
        self.connected(self.world.apply())
    }

    /// Gives a run the settings of the sandbox.
    pub(crate) fn connected(&self, run: Gitoggle) -> Gitoggle {
        self.process.connected(run)
    }

    pub(crate) fn history(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.world.path("history.jsonl")).unwrap_or_default();
        // The sandbox may be writing the last line.
        let complete = text.rfind('\n').map_or("", |end| &text[..end]);
        complete.lines().map(|line| serde_json::from_str(line).expect("one JSON object a line")).collect()
    }
}

#[test]
fn the_sandbox_prints_what_a_person_enters_to_use_it() {
    let sandbox = Sandbox::start("");
    eventually("the lines", || sandbox.printed().ends_with("Ctrl-C\n").then_some(()));
    let url = sandbox.url();
    let ca_file = sandbox.world.path("ca.pem");
    let expected = format!(
        "listening on {url}\nto use it in another terminal:\n  export GITOGGLE_BASE_URL={url}\n  \
         export GITOGGLE_CA_FILE={}\n  export GITOGGLE_TOKEN=\"$GITOGGLE_SANDBOX_TOKEN\"\nto publish the repository \
         in the current folder:\n  gitoggle apply --first-pass assert\nstop with Ctrl-C\n",
        ca_file.display()
    );
    assert_eq!(sandbox.printed(), expected);
}

#[test]
fn the_sandbox_stores_published_documents() {
    let sandbox = Sandbox::start("");
    sandbox.world.repo.commit_pay(18, "Add pay");
    sandbox.apply().set("first-pass", "assert").exit(0).any_output();
    let history = sandbox.history();
    assert_eq!(history.len(), 1, "{history:?}");
    assert_eq!(history[0]["comment"], "Add pay");
    assert_eq!(history[0]["disabled"], false);
    assert_eq!(history[0]["content"], content(18));
    sandbox.apply().exit(0).any_output();
    assert_eq!(sandbox.history().len(), 1);
}

#[test]
fn the_sandbox_requires_its_token() {
    let sandbox = Sandbox::start("");
    sandbox.world.repo.commit_pay(18, "Add pay");
    sandbox
        .apply()
        .env("GITOGGLE_TOKEN", "another")
        .set("first-pass", "assert")
        .exit(1)
        .never_says(&["another"])
        .any_output();
    let stored = sandbox.history().iter().any(|line| line["status"] == 200);
    assert!(!stored, "{:?}", sandbox.history());
}

#[test]
fn every_document_arrives_despite_the_faults_of_the_sandbox() {
    let sandbox =
        Sandbox::start("--fail-rate=0.2 --drop-rate=0.2 --too-many-rate=0.1 --latency=3ms --seed=7");
    for environment in ["prod", "test"] {
        for toggle in ["a", "b", "c"] {
            sandbox.world.repo.file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    sandbox.world.repo.commit("Add six");
    let mut silent = false;
    for _ in 0..10 {
        let before = sandbox.history().len();
        sandbox.apply().set("first-pass", "assert").exit_in(&[0, 1]).any_output();
        silent = before > 0 && sandbox.history().len() == before;
        if silent {
            break;
        }
    }
    assert!(silent, "it ends: {:?}", sandbox.history());
    sandbox.apply().exit(0).any_output();
}

#[test]
fn the_readable_sandbox_accepts_publishes_to_the_toggles_it_has() {
    let sandbox = Sandbox::readable();
    for toggle in ["banner", "unknown"] {
        let path = format!("shop/production/{toggle}.yaml");
        sandbox.world.repo.file(&path, doc(18));
    }
    sandbox.world.repo.commit("Add two");
    let ran = sandbox.apply().set("first-pass", "assert").exit(1);
    ran.stdout_contains(&["Targeting shop-production-unknown not found"]).any_output();
    sandbox.apply().exit(1).any_output();
}

#[test]
fn options_of_the_other_kind_of_sandbox_are_refused() {
    let world = World::new();
    let data = world.write("data.json", "{}");
    let sandbox = || world.bare("sandbox").set("listen", "127.0.0.1:0");
    let readable = || sandbox().set("service-kind", "featureprobe");
    for (run, code, text) in [
        (sandbox().set("data", &data), 64, "--data needs a service that can be read"),
        (
            readable().set("history-file", world.path("history.jsonl")),
            64,
            "--history-file is not supported with --service-kind featureprobe",
        ),
        (readable().set("data", world.path("missing.json")), 1, "missing.json`: "),
        (readable().set("data", &data), 1, "the sandbox's data is not valid: missing field `projects`"),
    ] {
        run.exit(code).stderr_contains(&[text]).any_output();
    }
}
