//! Comparisons of revisions in partial clones, which lack documents at the base.

use serde_json::{Value, json};

use super::bases::{clone, run};
use super::{changes, offline, planned, set};
use crate::support::{Gitoggle, Repo, World};

/// Makes a clone that has no documents but those of its checkout, the branch `feature`.
fn partial(world: &World) -> Repo {
    for setting in ["uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"] {
        world.repo.git(&["config", setting, "true"]);
    }
    clone(world, &["--filter=blob:none"])
}

/// Runs a plan, and states its changes and the toggles that it holds as invalid.
#[track_caller]
fn held(run: Gitoggle, expected: &[&str], held: &[&str]) -> Value {
    let plan = run.set("output", "json").exit(3).json();
    assert_eq!(changes(&plan), expected, "{plan:#}");
    let found: Vec<&Value> = plan["held"].as_array().unwrap().iter().collect();
    let toggles: Vec<&Value> = found.iter().map(|toggle| &toggle["toggle"]).collect();
    assert_eq!(json!(toggles), json!(held), "{plan:#}");
    assert!(found.iter().all(|toggle| toggle["kind"] == "invalid"), "{plan:#}");
    plan
}

#[test]
fn missing_content_at_the_base_holds_only_its_toggle() {
    let world = World::new();
    // Equal documents would be one object.
    for (toggle, age) in [("cart", 18), ("pay", 19), ("search", 20)] {
        set(&world.repo, toggle, age);
    }
    world.repo.commit("Start").branch("feature");
    set(&world.repo, "cart", 30);
    set(&world.repo, "new", 5);
    set(&world.repo, "pay", 21);
    world.repo.remove("shop/prod/search.yaml").commit("Change all");
    let partial = partial(&world);
    // This downloads the document.
    partial.git(&["cat-file", "blob", "origin/main:shop/prod/cart.yaml"]);
    let expected = ["update shop/prod/cart", "create shop/prod/new"];
    let plan = held(run(&world, &partial), &expected, &["shop/prod/pay"]);
    assert_eq!(plan["orphans"][0]["toggle"], "shop/prod/search");
    let all = run(&world, &partial).args("--all-findings");
    assert_eq!(held(all, &expected, &["shop/prod/pay"])["findings"], plan["findings"]);
    let range = offline(&world).set("repo", partial.path()).args("--from origin/main --to HEAD");
    held(range, &expected, &["shop/prod/pay"]);
    // The disabled document is that of the base.
    let disable = || run(&world, &partial).set("on-remove", "disable");
    held(disable(), &expected, &["shop/prod/pay", "shop/prod/search"]);
    disable().exit(3).says(&[
        "shop/prod/pay.yaml",
        "the older version of this file is not in the partial clone",
        "`git fetch --refetch --no-filter`",
    ]);
    partial.git(&["fetch", "--quiet", "--refetch", "--no-filter"]);
    planned(
        disable(),
        &[
            "update shop/prod/cart",
            "create shop/prod/new",
            "update shop/prod/pay",
            "disable shop/prod/search",
        ],
    );
}
