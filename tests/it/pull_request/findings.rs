//! The findings of `plan --from REV --to REV`: those of changed files, or of all files.

use serde_json::json;

use super::{changes, forked, offline, planned, pull_request, set};
use crate::support::{World, doc};

/// A world with a branch on top of a valid document and an invalid one.
fn with_broken() -> World {
    let world = World::new();
    set(&world.repo, "pay", 18);
    world.repo.file("shop/prod/broken.yaml", "nonsense\n").commit("Start").branch("feature");
    world
}

#[test]
fn findings_are_those_of_changed_files_or_of_all() {
    let world = World::new();
    set(&world.repo, "pay", 18);
    world.repo.file("shop/prod/broken.yaml", "nonsense\n").file("misplaced.yaml", "a: 1\n");
    world.repo.file("shop/prod/Loud.YAML", doc(1)).commit("Start").branch("feature");
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let plan = planned(pull_request(&world), &["update shop/prod/pay"]);
    assert_eq!(plan["findings"], json!([]));
    let all = pull_request(&world).arg("--all-findings").set("output", "json").exit(3).json();
    let paths: Vec<_> = all["findings"].as_array().unwrap().iter().map(|one| one["file"].clone()).collect();
    assert_eq!(paths, ["misplaced.yaml", "shop/prod/Loud.YAML", "shop/prod/broken.yaml"], "{all:#}");
    world.repo.file("elsewhere.yaml", "a: 1\n").commit("Add a misplaced file");
    let plan = planned(pull_request(&world), &["update shop/prod/pay"]);
    assert_eq!(plan["findings"][0]["file"], "elsewhere.yaml", "{plan:#}");
    world.repo.file("shop/prod/broken.yaml", "other nonsense\n").commit("Break it more");
    pull_request(&world).exit(3).stdout_contains(&["broken.yaml"]);
}

#[test]
fn a_document_that_was_invalid_at_the_base_is_an_update() {
    let world = with_broken();
    set(&world.repo, "broken", 18).commit("Repair it");
    let plan = planned(pull_request(&world), &["update shop/prod/broken"]);
    assert_eq!(plan["changes"][0]["sentences"][0], "the document that it replaces cannot be read");
}

#[test]
fn the_removal_of_a_document_that_was_invalid_at_the_base_promises_nothing_about_what_is_applied() {
    let world = with_broken();
    world.repo.remove("shop/prod/broken.yaml").commit("Remove it");
    let plan = planned(pull_request(&world).set("on-remove", "disable"), &[]);
    let reason = plan["orphans"][0]["reason"].as_str().unwrap();
    assert!(reason.contains("`apply` disables the toggle if an earlier version"), "{plan:#}");
}

#[test]
fn an_unchanged_invalid_document_stops_the_plan_that_apply_would_stop() {
    let world = with_broken();
    set(&world.repo, "pay", 21).commit("Raise the age");
    planned(pull_request(&world), &["update shop/prod/pay"]);
    let run = || pull_request(&world).set("on-invalid", "stop").set("output", "json");
    let (plan, all) = (run().exit(3).json(), run().args("--all-findings").exit(3).json());
    assert_eq!(changes(&plan), [""; 0]);
    assert_eq!(plan, all);
}

#[test]
fn a_rename_in_case_only_is_a_create_and_the_comment_says_so() {
    let world = forked();
    world.repo.rename("shop/prod/pay.yaml", "shop/prod/Pay.yaml").commit("Rename pay");
    for kind in ["documented", "featureprobe"] {
        let plan = planned(pull_request(&world).set("service-kind", kind), &["create shop/prod/Pay"]);
        let findings = plan["findings"].to_string();
        assert!(findings.contains("case-only-difference"), "{findings}");
        pull_request(&world)
            .set("service-kind", kind)
            .set("output", "markdown")
            .exit(0)
            .stdout_contains(&["this creates `shop/prod/Pay`", "`shop/prod/pay` is dropped from the state"]);
    }
}

#[test]
fn a_clash_of_files_counts_where_it_began() {
    let world = forked();
    world.repo.file("shop/prod/pay.yml", "{}").commit("Claim pay twice");
    pull_request(&world).exit(3).stdout_contains(&["pay.yml", "pay.yaml"]);
    offline(&world).args("--from HEAD").exit(0).any_stdout();
    world.repo.branch("later");
    set(&world.repo, "cart", 21).commit("Change the cart");
    planned(offline(&world).args("--from feature"), &["update shop/prod/cart"]);
    world.repo.remove("shop/prod/pay.yml").commit("Claim it once");
    planned(offline(&world).args("--from feature"), &["update shop/prod/cart", "update shop/prod/pay"]);
}
