//! The commits of changes, and rewritten histories.

use serde_json::json;

use crate::support::{World, body, doc};

/// Returns the comment of the only change in the plan.
fn comment(run: crate::support::Gitoggle) -> String {
    let plan = run.set("output", "json").exit(0).json();
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(1), "{plan}");
    plan["changes"][0]["comment"].as_str().unwrap().to_owned()
}

#[test]
fn a_change_is_named_after_the_last_commit_that_touched_its_file() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(20, "Twenty");
    world.repo.commit_pay(21, "Twenty-one");
    world.repo.file("README.md", "x\n").commit("Something else");
    assert_eq!(comment(world.plan()), "Twenty-one");
    assert_eq!(
        world.repo.git(&["log", "-1", "--format=%s", "HEAD", "--", "shop/prod/pay.yaml"]),
        "Twenty-one"
    );
}

#[test]
fn each_change_has_the_message_of_its_commit() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/a.yaml", doc(1)).commit("Add a");
    world.repo.file("shop/prod/b.yaml", doc(2)).commit("Add b");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/a", body(1, "Add a")), ("shop/prod/b", body(2, "Add b"))]);
}

#[test]
fn a_merged_change_names_the_branch_commit_unless_first_parent_is_set() {
    let world = World::with_pay_applied();
    world
        .repo
        .branch("change")
        .commit_pay(21, "Ask for 21 years")
        .checkout("main")
        .file("README.md", "x\n")
        .commit("Meanwhile")
        .merge("change", "Merge pull request #7");
    assert_eq!(comment(world.plan()), "Ask for 21 years");
    assert_eq!(comment(world.plan().arg("--first-parent")), "Merge pull request #7");
}

#[test]
fn a_rewritten_history_is_followed_and_differences_are_published() {
    let world = World::with_pay_applied();
    let before = world.repo.head();
    world.repo.commit_pay(21, "A mistake");
    world.apply().exit(0).any_output();
    world.service.take();
    world.repo.force(&before).commit_pay(22, "What was meant");
    let follow = world.apply().set("history", "follow");
    follow.exit(0).says(&["rewritten"]);
    world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
}

#[test]
fn a_rewritten_history_can_be_refused() {
    let world = World::with_pay_applied();
    let before = world.repo.head();
    world.repo.commit_pay(21, "A mistake");
    world.apply().exit(0).any_output();
    world.service.take();
    world.repo.force(&before).commit_pay(22, "Other");
    world.apply().set("history", "refuse").exit_in(&[1, 4]).says(&["--history"]);
    world.nothing_sent();
    world.apply().set("history", "follow").exit(0).any_output();
    assert_eq!(world.service.take().len(), 1);
}

#[test]
fn a_revert_is_published_like_any_other_change() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "A mistake");
    world.apply().exit(0).any_output();
    world.service.take();
    world.repo.revert();
    world.apply().exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], crate::support::content(18));
    assert!(requests[0].comment().starts_with("Revert \"A mistake\""));
}

#[test]
fn a_change_that_is_reverted_before_a_pass_is_not_published() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "A mistake");
    world.repo.revert();
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_repository_at_a_new_path_keeps_its_state() {
    let world = World::with_pay_applied();
    let moved = world.path("moved");
    std::fs::rename(world.repo.path(), &moved).unwrap();
    world.apply().set("repo", &moved).exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_ref_can_be_a_branch_a_tag_a_commit_or_a_full_name() {
    let world = World::with_pay_applied();
    world.repo.branch("change").commit_pay(21, "Ask for 21 years");
    world.repo.tag("v2").git(&["tag", "-a", "-m", "Annotated", "v2a"]);
    let id = world.repo.head();
    world.repo.checkout("main");
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"], json!([]));
    for name in ["change", "v2", "v2a", id.as_str(), "refs/heads/change", "refs/tags/v2"] {
        assert_eq!(comment(world.plan().set("ref", name)), "Ask for 21 years", "{name}");
    }
    world.plan().set("ref", "nowhere").exit(1).stderr_contains(&["nowhere"]).any_stdout();
    world.plan().set("ref", "0".repeat(40)).exit(1).any_output();
}
