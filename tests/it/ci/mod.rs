//! The recipes under `deploy/ci` and the project's own workflows: their steps run here, from a build to an
//! installation and from a pull request to the applied merge. What needs a forge is checked by its structure.

mod action;
mod drift;
mod generic;
mod gitea;
mod github;
mod gitlab;
mod install;
mod mirror;
mod project;
mod release;
mod workflows;

use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::forge::stand_in::{FORGE_TOKEN, Kind, StandIn};
use crate::support::command::Running;
use crate::support::{Repo, World, eventually, free_port};

const SERVICE_TOKEN: &str = "for-this-test";

/// The path of a file of this repository.
fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn read(path: &str) -> String {
    std::fs::read_to_string(here(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn yaml(path: &str) -> Value {
    serde_yaml::from_str(&read(path)).unwrap()
}

/// A repository that is hosted, a forge, and a running sandbox.
struct Hosted {
    world: World,
    origin: PathBuf,
    forge: StandIn,
    port: u16,
    service_kind: &'static str,
    /// The folder of an installed program; without it, jobs run the one under test.
    path: OnceCell<PathBuf>,
    _sandbox: Running,
}

/// Asserts that a workflow starts for a request that was stacked on another one, and whose target the forge
/// changes when that is merged.
fn plans_what_gets_another_target(on: &Value) {
    let types = serde_json::json!(["opened", "synchronize", "reopened", "edited"]);
    assert_eq!(on["pull_request"], serde_json::json!({ "branches": ["main"], "types": types }));
}

/// Returns the variables of a job.
fn variables<const N: usize>(own: [(&str, String); N], event: &[(&str, &str)]) -> BTreeMap<String, String> {
    let event = event.iter().map(|(name, value)| (*name, (*value).to_owned()));
    let all = event.chain(own);
    all.map(|(name, value)| (name.to_owned(), value)).collect()
}

/// The decisions of a run by hand, except for the one that needs a service that can be read.
const DECISIONS: [&str; 6] = [
    "none",
    "first-pass-assert",
    "first-pass-adopt",
    "allow-mass-change",
    "ignore-windows",
    "history-follow",
];

/// Returns the decision that is the input of a run by hand; empty for any other event.
fn decision<'a>(event: &[(&str, &'a str)]) -> &'a str {
    event.iter().find(|(name, _)| *name == "decision").map_or("", |(_, value)| value)
}

/// Replaces the expressions of GitHub's workflow language.
fn expanded(text: &str, values: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("${{{{ {name} }}}}"), value);
    }
    assert!(!text.contains("${{"), "an unknown expression: {text}");
    text
}

/// Fills `folder` with programs that write their arguments down.
fn watch(folder: &Path) {
    if folder.exists() {
        return;
    }
    std::fs::create_dir(folder).unwrap();
    for name in ["awk", "cat", "curl", "git", "grep", "head", "sed", "tail", "tr", "wget"] {
        let real = program(name);
        let script = format!("printf '%s\\n' \"{name} $*\" >>\"$ARGUMENTS\"; exec {} \"$@\"", real.display());
        mirror::program(&folder.join(name), &script);
    }
}

/// Returns where a program of this machine is.
fn program(name: &str) -> PathBuf {
    let places = std::env::var_os("PATH").unwrap();
    let found = std::env::split_paths(&places).map(|place| place.join(name)).find(|path| path.exists());
    found.unwrap_or_else(|| panic!("{name} is not installed"))
}

/// What a job printed, and its exit code.
struct Job {
    code: i32,
    text: String,
}

impl Hosted {
    /// Hosts a repository whose documents are applied, with a branch `feature` that changes one, and a newer
    /// `main`.
    fn new(kind: Kind) -> Self {
        Self::with_service(kind, "documented")
    }

    fn with_service(kind: Kind, service_kind: &'static str) -> Self {
        let world = World::new();
        let port = free_port();
        let data = serde_json::json!({ "projects": [{
            "key": "shop",
            "environments": [{ "key": "prod" }],
            "toggles": [{
                "key": "pay",
                "returnType": "boolean",
                "variations": [{ "value": "false", "name": "off" }, { "value": "true", "name": "on" }],
                "targeting": {},
            }],
        }] });
        let mut sandbox = world.bare("sandbox").set("listen", format!("127.0.0.1:{port}"));
        if service_kind == "featureprobe" {
            let data = world.write("data.json", &data.to_string());
            sandbox = sandbox.set("service-kind", service_kind).set("data", data);
        }
        if service_kind == "documented" {
            sandbox = sandbox.set("history-file", world.path("published.jsonl"));
        }
        let sandbox = sandbox
            .set("ca-out", world.path("sandbox.pem"))
            .env("GITOGGLE_SANDBOX_TOKEN", SERVICE_TOKEN)
            .start();
        let authority = eventually("the sandbox to listen", || {
            std::net::TcpStream::connect(("127.0.0.1", port)).ok()?;
            let text = std::fs::read_to_string(world.path("sandbox.pem")).ok()?;
            text.contains("END CERTIFICATE").then_some(text)
        });
        let both = std::fs::read_to_string(world.ca()).unwrap() + &authority;
        std::fs::write(world.ca(), both).unwrap();
        world.repo.commit_pay(18, "Add pay");
        let origin = world.path("origin.git");
        world.repo.clone_bare(&origin);
        world.repo.git(&["remote", "add", "origin", origin.to_str().unwrap()]);
        let hosted = Self {
            world,
            origin,
            forge: StandIn::start(kind),
            port,
            service_kind,
            path: OnceCell::new(),
            _sandbox: sandbox,
        };
        let first = hosted.world.bare("apply").set("repo", hosted.world.repo.path());
        let first = first.set("state-remote", hosted.remote()).set("state-dir", hosted.world.state());
        hosted.service(first).args("--first-pass assert").exit(0).any_output();
        let repo = &hosted.world.repo;
        repo.branch("feature").commit_pay(21, "Ask for 21 years");
        repo.checkout("main").file("README.md", "text").commit("Describe it");
        hosted.push();
        hosted
    }

    fn remote(&self) -> String {
        format!("file://{}", self.origin.display())
    }

    fn service(&self, run: crate::support::Gitoggle) -> crate::support::Gitoggle {
        run.set("base-url", self.base_url())
            .set("service-kind", self.service_kind)
            .set("ca-file", self.world.ca())
            .env("GITOGGLE_TOKEN", SERVICE_TOKEN)
    }

    fn base_url(&self) -> String {
        format!("https://127.0.0.1:{}", self.port)
    }

    fn push(&self) {
        self.world.repo.git(&["push", "--quiet", "--all", "origin"]);
    }

    /// Merges the branch on the forge.
    fn merge(&self) -> String {
        self.world.repo.merge("feature", "Merge the pull request");
        self.push();
        let merged = self.world.repo.head();
        self.forge.merge(7, merged.clone());
        merged
    }

    /// Clones the repository on an empty disk, and checks `revision` out.
    fn clone(&self, name: &str, revision: &str) -> Repo {
        let folder = self.world.path(name);
        self.world.repo.git(&["clone", "--quiet", &self.remote(), folder.to_str().unwrap()]);
        let clone = Repo::at(&folder);
        clone.git(&["checkout", "--quiet", "--detach", revision]);
        clone
    }

    /// Runs the commands of a job in its clone.
    fn run(&self, clone: &Repo, variables: &BTreeMap<String, String>, script: &str) -> Job {
        let home = clone.path().with_extension("home");
        std::fs::create_dir_all(&home).unwrap();
        let built = Path::new(env!("CARGO_BIN_EXE_gitoggle")).parent().unwrap();
        let program = self.path.get().map_or(built, PathBuf::as_path);
        let (watched, arguments) = (self.world.path("watched"), clone.path().with_extension("arguments"));
        watch(&watched);
        let places = std::env::var("PATH").unwrap_or_default();
        let path = format!("{}:{}:{places}", program.display(), watched.display());
        let mut shell = Command::new("bash");
        shell
            .args(["-e", "-o", "pipefail", "-c", script])
            .current_dir(clone.path())
            .env_clear()
            .env("HOME", &home)
            .env("PATH", path)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GITOGGLE_CA_FILE", self.world.ca())
            .env("ARGUMENTS", &arguments)
            .envs(variables);
        let job = Job::of(&mut shell);
        // Other processes of a machine can read arguments.
        let arguments = std::fs::read_to_string(&arguments).unwrap_or_default();
        for secret in [FORGE_TOKEN, SERVICE_TOKEN] {
            assert!(!job.text.contains(secret), "{}", job.text);
            assert!(!arguments.contains(secret), "{arguments}");
        }
        job
    }

    /// Runs the steps of a workflow, up to the first that fails. A step with a file `GITHUB_PATH` adds folders
    /// to the path of those after it.
    fn run_steps(
        &self,
        clone: &Repo,
        steps: &[Value],
        variables: &BTreeMap<String, String>,
        values: &[(&str, &str)],
    ) -> Job {
        let mut all = Job { code: 0, text: String::new() };
        for step in steps {
            let mut variables = variables.clone();
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                variables.insert(name.clone(), expanded(value.as_str().unwrap(), values));
            }
            if let Some(file) = variables.get("GITHUB_PATH") {
                let added = std::fs::read_to_string(file).unwrap_or_default();
                let added: String = added.lines().map(|line| format!("{line}:")).collect();
                let path = added + &std::env::var("PATH").unwrap_or_default();
                variables.insert("PATH".to_owned(), path);
            }
            let job = self.run(clone, &variables, step["run"].as_str().unwrap());
            all.text.push_str(&job.text);
            all.code = job.code;
            if job.code != 0 {
                break;
            }
        }
        all
    }

    /// Breaks the document in the clone of the pull request, runs `check`, and restores the document.
    #[track_caller]
    fn refuses_a_broken_document(request: &Repo, check: impl Fn() -> Job, text: &str) {
        request.write("shop/prod/pay.yaml", "rules: 5\n");
        check().exits(3, &[text]);
        request.git(&["checkout", "--quiet", "--", "shop"]);
    }

    /// Merges the branch, whose plan was reviewed, and then pushes a commit without a review. `apply` runs
    /// the job for `main` in a clone with this name, and the first run prints `applied`.
    #[track_caller]
    fn applies_what_was_reviewed(&self, apply: impl Fn(&str) -> Job, applied: &[&str]) {
        let before = self.published();
        let merged = self.merge();
        apply("applied").exits(0, applied);
        assert_eq!(self.published(), before + 1);
        assert_eq!(self.status(), (merged, "success".to_owned()));
        // The same job again has nothing to do.
        apply("again").exits(0, &[]);

        let repo = &self.world.repo;
        repo.commit_pay(30, "Push without a review");
        self.push();
        apply("unreviewed").exits(4, &[]);
        assert_eq!(self.published(), before + 1);
    }

    /// Returns the number of documents that the service got.
    fn published(&self) -> usize {
        let text = std::fs::read_to_string(self.world.path("published.jsonl")).unwrap_or_default();
        text.lines().count()
    }

    /// Returns the state of the last status, and its commit.
    fn status(&self) -> (String, String) {
        let held = self.forge.held();
        let (commit, body) = held.statuses.last().unwrap();
        (commit.clone(), body["state"].as_str().unwrap().to_owned())
    }
}

impl Job {
    fn of(command: &mut Command) -> Self {
        let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
        let text = [output.stdout, output.stderr].map(|bytes| String::from_utf8(bytes).unwrap()).concat();
        let code = output.status.code().unwrap();
        Self { code, text }
    }

    #[track_caller]
    fn exits(self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}", self.text);
        for part in parts {
            assert!(self.text.contains(part), "{part:?} is not in:\n{}", self.text);
        }
    }
}
