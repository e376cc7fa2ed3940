//! Attribution of changes to commits, also when the history is cut.

mod cut_history;

use serde_json::json;

use crate::support::document::reformatted;
use crate::support::{Repo, Request, World, body, doc};

/// A world in which `pay` is applied, with a newer change of it and a commit on top that does not touch it.
fn with_an_older_change() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Ask for 21 years");
    world.repo.file("README.md", "x\n").commit("Newest");
    world
}

/// A clone of a world with only the newest commit.
fn shallow(world: &World) -> Repo {
    world.repo.clone_shallow(1, &world.path("cut"))
}

/// A clone of a world with all commits, but only the trees and documents that its checkout needs.
fn partial(world: &World, filter: &str) -> Repo {
    world.repo.git(&["config", "uploadpack.allowFilter", "true"]);
    world.repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
    let from = format!("file://{}", world.repo.path().display());
    let folder = world.path("partial");
    let filter = format!("--filter={filter}");
    world.repo.git(&["clone", "--quiet", &filter, &from, &folder.display().to_string()]);
    Repo::at(&folder)
}

/// The comments sent since the last call, by toggle.
fn comments(world: &World) -> Vec<(String, String)> {
    let requests = world.service.take();
    let mut comments: Vec<_> =
        requests.iter().map(|request| (Request::toggle(request), Request::comment(request))).collect();
    comments.sort();
    comments
}

#[test]
fn a_commit_that_only_reformats_does_not_provide_the_comment() {
    let world = World::with_pay_applied();
    let pay = "shop/prod/pay.yaml";
    world.repo.file(pay, doc(21)).commit("Ask for 21 years");
    world.repo.file(pay, reformatted(21)).commit("Prefer block style");
    let comment = format!("{}# All adults.\n", reformatted(21));
    world.repo.file(pay, comment).commit("Add a remark");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
}

#[test]
fn a_reformatted_document_of_a_first_pass_has_the_message_of_the_commit_that_added_it() {
    let world = World::new();
    let pay = "shop/prod/pay.yaml";
    world.repo.file(pay, doc(18)).commit("Add pay");
    world.repo.file(pay, reformatted(18)).commit("Prefer block style");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
}

#[test]
fn a_version_that_is_invalid_differs_from_every_valid_one() {
    let world = World::with_pay_applied();
    let pay = "shop/prod/pay.yaml";
    world.repo.file(pay, doc(21)).commit("Ask for 21 years");
    world.repo.file(pay, "nonsense\n").commit("Break it");
    world.repo.file(pay, reformatted(21)).commit("Repair it");
    world.repo.file(pay, doc(21)).commit("As it was");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Repair it"))]);
}

#[test]
fn a_merge_that_only_reformats_leads_to_the_branch_with_the_same_meaning() {
    let world = World::with_pay_applied();
    let pay = "shop/prod/pay.yaml";
    world.repo.branch("side").file(pay, reformatted(18)).commit("Prefer block style");
    world.repo.checkout("main").file(pay, doc(21)).commit("Ask for 21 years");
    world.repo.git(&["merge", "--quiet", "--no-ff", "--no-commit", "--strategy=ours", "side"]);
    world.repo.file(pay, reformatted(21)).commit("Merge side");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
}

/// The path of a toggle of [`with_ten_applied`].
fn path(number: usize) -> String {
    format!("shop/prod/t{number:02}.yaml")
}

/// A world in which ten toggles of one environment were applied.
fn with_ten_applied() -> World {
    let world = World::new();
    for number in 0..10 {
        world.repo.file(&path(number), doc(18));
    }
    world.repo.commit("Add all");
    world.settle();
    world
}

#[test]
fn a_trailer_on_a_commit_that_only_reformats_releases_nothing() {
    let world = with_ten_applied();
    for number in 0..5 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change five");
    for number in 0..5 {
        world.repo.file(&path(number), reformatted(21));
    }
    world.repo.commit("Prefer block style\n\nGitoggle-Allow: mass-change\n");
    world.apply().exit(4).any_output();
    world.nothing_sent();
}

#[test]
fn a_trailer_of_a_guessed_commit_does_not_count() {
    let world = with_ten_applied();
    for number in 0..4 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change four");
    world.repo.file(&path(9), doc(33)).commit("One more\n\nGitoggle-Allow: mass-change\n");
    let cut = shallow(&world);
    world.apply().set("repo", cut.path()).exit(4).says(&[
        "shop/prod",
        "max_change_ratio",
        "trailers do not count",
    ]);
    world.nothing_sent();
}

#[test]
fn every_output_reports_guessed_comments_with_a_hint() {
    let said = ["the comment of 1 change is a guess", "git fetch --unshallow", "fetch-depth: 0", "--depth=0"];
    for output in ["human", "markdown", "github", "json"] {
        let world = with_an_older_change();
        let cut = shallow(&world);
        for run in [world.plan(), world.apply()] {
            run.set("repo", cut.path()).set("output", output).exit(0).any_stderr().stdout_contains(&said);
        }
        world.sent(&[("shop/prod/pay", body(21, "Newest"))]);
    }
}

#[test]
fn json_marks_guessed_comments() {
    let world = with_an_older_change();
    let cut = shallow(&world);
    let plan = world.plan().set("repo", cut.path()).set("output", "json");
    let plan = plan.exit(0).json();
    assert_eq!(plan["changes"][0]["attribution"], "guessed", "{plan}");
    assert_eq!(plan["summary"]["guessed"], 1, "{plan}");
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["attribution"], "known", "{plan}");
    assert_eq!(plan["summary"]["guessed"], 0, "{plan}");
}

#[test]
fn an_uncommitted_edit_has_no_commit() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/search.yaml", doc(30)).commit("Add search");
    world.repo.write("shop/prod/pay.yaml", doc(21));
    let plan = || world.plan().arg("--worktree");
    let json_plan = plan().set("output", "json").exit(0).json();
    let [pay, search] = [0, 1].map(|at| json_plan["changes"][at].clone());
    assert_eq!(pay["commit"], json!(null), "{json_plan}");
    assert_eq!(pay["attribution"], "uncommitted", "{json_plan}");
    assert_eq!(search["commit"]["subject"], "Add search", "{json_plan}");
    for output in ["human", "markdown"] {
        plan()
            .set("output", output)
            .exit(0)
            .stdout_contains(&["uncommitted", "Add search"])
            .never_says(&["Add pay", "guess"]);
    }
    // A reformatted file still has the meaning of its commit.
    world.repo.write("shop/prod/search.yaml", reformatted(30));
    let json_plan = plan().set("output", "json").exit(0).json();
    assert_eq!(json_plan["changes"][1]["attribution"], "known", "{json_plan}");
}

#[test]
fn a_file_that_is_removed_without_a_commit_is_an_uncommitted_disable() {
    let world = World::with_pay_and_search_applied();
    std::fs::remove_file(world.repo.path().join("shop/prod/pay.yaml")).unwrap();
    let plan =
        world.plan().arg("--worktree").set("on-remove", "disable").set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["action"], "disable", "{plan}");
    assert_eq!(plan["changes"][0]["commit"], json!(null), "{plan}");
}
