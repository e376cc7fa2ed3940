//! The plan of a pull request: what its branch changes, whatever happened to the target branch since.

mod bases;
mod ci;
mod findings;
mod merges;
mod partial_clones;
mod refusals;
mod revisions;

use serde_json::Value;

use crate::support::{Gitoggle, Repo, World, doc};

/// Documents at the first commit of `main`.
const TOGGLES: [&str; 3] = ["cart", "pay", "search"];

/// Makes a repository with three toggles on `main`, and a branch `feature` from there.
fn forked() -> World {
    let world = World::new();
    for toggle in TOGGLES {
        set(&world.repo, toggle, 18);
    }
    world.repo.commit("Add three toggles").branch("feature");
    world
}

/// Stages a document.
fn set<'a>(repo: &'a Repo, toggle: &str, age: u32) -> &'a Repo {
    repo.file(&format!("shop/prod/{toggle}.yaml"), doc(age))
}

/// Begins `gitoggle plan` with nothing but the repository: no state, no service, no token, and no home
/// folder.
fn offline(world: &World) -> Gitoggle {
    let run = world.bare("plan").without_env("HOME").without_env("XDG_STATE_HOME");
    run.set("repo", world.repo.path())
}

/// Begins the plan of a pull request against `main`.
fn pull_request(world: &World) -> Gitoggle {
    offline(world).args("--pull-request --target main")
}

/// Returns `action toggle` for each change of a plan in JSON.
fn changes(plan: &Value) -> Vec<String> {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let one = |change: &Value| format!("{} {}", word(&change["action"]), word(&change["toggle"]));
    plan["changes"].as_array().unwrap().iter().map(one).collect()
}

/// Runs a plan and states its changes.
#[track_caller]
fn planned(run: Gitoggle, expected: &[&str]) -> Value {
    let plan = run.set("output", "json").exit(0).json();
    assert_eq!(changes(&plan), expected, "{plan:#}");
    plan
}
