//! Branches of every age: commits that the target branch has already are neither changes nor reverts.

use super::{forked, offline, planned, pull_request, set};
use crate::support::{Repo, World, doc};

#[test]
fn a_branch_behind_its_target_reverts_nothing() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    world.repo.checkout("main");
    set(&world.repo, "cart", 30).remove("shop/prod/search.yaml");
    world.repo.file("shop/prod/new.yaml", doc(1)).commit("Change the target").checkout("feature");
    planned(pull_request(&world), &["update shop/prod/pay"]);
}

#[test]
fn a_branch_that_merged_its_target_does_not_claim_the_changes_of_others() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    set(&world.repo, "cart", 30).commit("Change the cart").checkout("feature");
    world.repo.merge("main", "Update the branch");
    planned(pull_request(&world), &["update shop/prod/pay"]);
    world.repo.checkout("main");
    set(&world.repo, "search", 40).commit("Change the search").checkout("feature");
    planned(pull_request(&world), &["update shop/prod/pay"]);
}

#[test]
fn a_squashed_branch_shows_only_what_came_after() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    world.repo.git(&["merge", "--quiet", "--squash", "feature"]);
    world.repo.commit("Squash the feature").checkout("feature");
    set(&world.repo, "cart", 30).commit("Go on");
    planned(pull_request(&world), &["update shop/prod/cart"]);
    world.repo.merge("main", "Update the branch");
    planned(pull_request(&world), &["update shop/prod/cart"]);
}

#[test]
fn a_stacked_branch_shows_only_its_own_changes() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").branch("stacked");
    set(&world.repo, "cart", 30).commit("Change the cart");
    planned(offline(&world).args("--pull-request --target feature"), &["update shop/prod/cart"]);
    planned(pull_request(&world), &["update shop/prod/cart", "update shop/prod/pay"]);
}

#[test]
fn the_target_of_a_forced_push_is_the_new_one() {
    let world = World::new();
    set(&world.repo, "pay", 18).commit("Start");
    let start = world.repo.head();
    set(&world.repo, "cart", 18).commit("Add the cart").branch("feature");
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    world.repo.git(&["reset", "--quiet", "--hard", &start]);
    set(&world.repo, "search", 18).commit("Add the search instead").checkout("feature");
    // The target has lost the cart, so the branch adds it.
    planned(pull_request(&world), &["create shop/prod/cart", "update shop/prod/pay"]);
}

#[test]
fn a_merged_branch_changes_nothing() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").checkout("main");
    world.repo.merge("feature", "Merge").checkout("feature");
    planned(pull_request(&world), &[]);
}

#[test]
fn the_branch_of_the_remote_precedes_the_local_one() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let clone = clone(&world, &[]);
    clone.git(&["branch", "--quiet", "main", "origin/feature"]);
    planned(run(&world, &clone), &["update shop/prod/pay"]);
    clone.git(&["remote", "rename", "origin", "upstream"]);
    planned(run(&world, &clone), &["update shop/prod/pay"]);
    planned(run(&world, &clone).set("target", "refs/heads/main"), &["update shop/prod/pay"]);
}

/// Clones the repository of a world, with `feature` checked out.
pub(super) fn clone(world: &World, options: &[&str]) -> Repo {
    let folder = world.path("clone");
    let url = format!("file://{}", world.repo.path().display());
    let target = folder.display().to_string();
    let mut args = vec!["clone", "--quiet", "--branch", "feature"];
    args.extend(options);
    args.extend([url.as_str(), target.as_str()]);
    world.repo.git(&args);
    Repo::at(&folder)
}

pub(super) fn run(world: &World, clone: &Repo) -> crate::support::Gitoggle {
    offline(world).set("repo", clone.path()).args("--pull-request").set("target", "main")
}

/// Makes two branches that were merged into each other, so that they have two merge bases: in one, `pay` was
/// changed, and in the other one, `cart`. Ends on `feature`.
fn criss_cross() -> World {
    let world = forked();
    set(&world.repo, "cart", 30).commit("Change the cart").branch("feature-base");
    world.repo.checkout("main");
    set(&world.repo, "pay", 21).commit("Ask for 21 years").branch("main-base");
    world.repo.checkout("main").merge("feature-base", "Merge the feature");
    world.repo.checkout("feature").merge("main-base", "Merge the target");
    let bases = world.repo.git(&["merge-base", "--all", "main", "feature"]);
    assert_eq!(bases.lines().count(), 2);
    world
}

#[test]
fn with_several_merge_bases_no_change_of_the_target_shows() {
    let world = criss_cross();
    planned(pull_request(&world), &[]);
    set(&world.repo, "search", 40).commit("Change the search");
    planned(pull_request(&world), &["update shop/prod/search"]);
    world.repo.checkout("main");
    set(&world.repo, "pay", 50).commit("Go on").checkout("feature");
    planned(pull_request(&world), &["update shop/prod/search"]);
}

#[test]
fn the_header_of_a_plan_names_the_tip_of_the_target() {
    let world = criss_cross();
    set(&world.repo, "search", 40).commit("Change the search");
    let [target, head] = ["main", "feature"].map(|name| world.repo.id(name)[..10].to_owned());
    let revisions = format!("{target}..{head}");
    let text = pull_request(&world).exit(0).both();
    let line = text.lines().next().unwrap();
    assert_eq!(line, format!("Plan for $REPO main..feature {revisions}"));
    let page = pull_request(&world).set("output", "markdown").exit(0).both();
    assert!(page.contains(&format!(" ` main..feature ` ` {revisions} `")), "{page}");
}

#[test]
fn with_several_merge_bases_a_revert_of_the_branch_shows() {
    let world = criss_cross();
    // Both documents are now as in one of the merge bases, which lacks the change of the other one.
    set(&world.repo, "pay", 18).commit("Revert pay");
    set(&world.repo, "cart", 18).commit("Revert the cart");
    planned(pull_request(&world), &["update shop/prod/cart", "update shop/prod/pay"]);
    world.repo.remove("shop/prod/search.yaml").commit("Remove the search");
    let plan = planned(
        pull_request(&world).set("on-remove", "disable"),
        &["update shop/prod/cart", "update shop/prod/pay", "disable shop/prod/search"],
    );
    assert_eq!(plan["changes"][0]["sentences"], pull_request_to_parent(&world));
}

/// Returns the sentences about the cart, compared with the commit that has the changes of both sides.
fn pull_request_to_parent(world: &World) -> serde_json::Value {
    let plan =
        offline(world).args("--from feature~3 --on-remove disable").set("output", "json").exit(0).json();
    plan["changes"][0]["sentences"].clone()
}

#[test]
fn merges_in_both_directions_again_and_again_keep_the_newest_version() {
    let world = criss_cross();
    for age in [60, 61, 62] {
        world.repo.checkout("main");
        set(&world.repo, "pay", age).commit("Change pay");
        let target = world.repo.head();
        world.repo.checkout("feature");
        set(&world.repo, "cart", age).commit("Change the cart");
        let own = world.repo.head();
        world.repo.merge(&target, "Merge the target");
        world.repo.checkout("main").merge(&own, "Merge the feature").checkout("feature");
    }
    planned(pull_request(&world), &[]);
    set(&world.repo, "pay", 61).commit("Revert pay");
    planned(pull_request(&world), &["update shop/prod/pay"]);
}

#[test]
fn a_shallow_clone_says_what_to_fetch() {
    let world = forked();
    for age in 20..25 {
        set(&world.repo, "pay", age).commit("Change pay");
    }
    let shallow = clone(&world, &["--depth=2", "--no-single-branch"]);
    run(&world, &shallow)
        .exit(1)
        .stderr_contains(&["is cut before the common ancestor", "`git fetch --unshallow`"]);
    shallow.git(&["fetch", "--quiet", "--unshallow"]);
    planned(run(&world, &shallow), &["update shop/prod/pay"]);
}

#[test]
fn a_shallow_clone_that_is_deep_enough_is_complete() {
    let world = World::new();
    set(&world.repo, "pay", 18).commit("Start");
    set(&world.repo, "cart", 18).commit("Add the cart").branch("feature");
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let shallow = clone(&world, &["--depth=2", "--no-single-branch"]);
    let plan = planned(run(&world, &shallow), &["update shop/prod/pay"]);
    assert_eq!(plan["changes"][0]["attribution"], "known");
    assert_eq!(plan["source"]["shallow"], true);
}

#[test]
fn a_revision_range_in_a_shallow_clone_has_guessed_commits() {
    let world = World::new();
    set(&world.repo, "pay", 18).commit("Start").tag("start");
    set(&world.repo, "pay", 21).commit("Ask for 21 years").branch("feature");
    set(&world.repo, "cart", 18).commit("Add the cart");
    let shallow = clone(&world, &["--depth=1"]);
    shallow.git(&["fetch", "--quiet", "--depth=1", "origin", "refs/tags/start:refs/tags/start"]);
    let run = || offline(&world).set("repo", shallow.path()).set("from", "start");
    let plan = planned(run(), &["create shop/prod/cart", "update shop/prod/pay"]);
    assert_eq!(plan["changes"][1]["attribution"], "guessed");
    run().exit(0).stdout_contains(&["the history is cut"]);
}

#[test]
fn a_clone_of_a_single_branch_says_how_to_fetch_the_target() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let single = clone(&world, &["--single-branch"]);
    run(&world, &single).exit(1).stderr_contains(&[
        "the target branch `main` is not in this clone",
        "`git fetch origin +refs/heads/main:refs/remotes/origin/main`",
    ]);
    single.git(&["fetch", "--quiet", "origin", "+refs/heads/main:refs/remotes/origin/main"]);
    planned(run(&world, &single), &["update shop/prod/pay"]);
}
