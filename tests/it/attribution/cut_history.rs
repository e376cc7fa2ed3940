//! Histories that are cut off: what is missing is reported, and blocks only what needs it.

use super::{comments, partial, shallow};
use crate::support::daemon::Daemon;
use crate::support::document::reformatted;
use crate::support::{World, body, doc};

#[test]
fn a_cut_history_without_effect_is_not_reported() {
    let world = World::with_pay_applied();
    world.repo.file("README.md", "x\n").commit("Before");
    world.repo.commit_pay(21, "Ask for 21 years");
    let cut = world.repo.clone_shallow(2, &world.path("cut"));
    for output in ["human", "markdown", "github", "json"] {
        world
            .plan()
            .set("repo", cut.path())
            .set("output", output)
            .exit(0)
            .never_says(&["a guess", "guesses", "fetch-depth"])
            .any_output();
    }
    let plan = world.plan().set("repo", cut.path()).set("output", "json");
    let plan = plan.exit(0).json();
    assert_eq!(plan["changes"][0]["attribution"], "known", "{plan}");
}

#[test]
fn a_removed_file_outside_of_a_cut_history_is_reported_with_a_hint() {
    let world = World::with_pay_and_search_applied();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    let cut = shallow(&world);
    for run in [world.plan(), world.apply()] {
        run.set("repo", cut.path()).set("on-remove", "disable").exit(0).says(&[
            "not disabled",
            "the history is cut",
            "git fetch --unshallow",
            "--depth=0",
        ]);
    }
    world.nothing_sent();
}

#[test]
fn missing_history_never_blocks_content_that_is_there() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/search.yaml", doc(30)).file("web/prod/home.yaml", doc(5)).commit("Add two");
    let clone = partial(&world, "tree:0");
    // One fetch of several commits, as git-sync makes it, with the trees of the newest one only.
    world.repo.file("shop/prod/search.yaml", doc(31)).commit("Search for less");
    world.repo.commit_pay(21, "Ask for 21 years");
    world.repo.file("README.md", "x\n").commit("Newest");
    clone.git(&["fetch", "--quiet", "origin", "main"]);
    clone.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    world
        .apply()
        .set("repo", clone.path())
        .set("first-pass", "assert")
        .set("on-remove", "disable")
        .exit(0)
        .says(&["guess"]);
    assert_eq!(
        comments(&world),
        [
            ("shop/prod/pay".to_owned(), "Newest".to_owned()),
            ("shop/prod/search".to_owned(), "Newest".to_owned()),
            ("web/prod/home".to_owned(), "Newest".to_owned()),
        ]
    );
}

#[test]
fn a_removed_file_in_a_history_without_trees_is_reported_with_a_hint() {
    let world = World::with_pay_and_search_applied();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    world.repo.file("README.md", "x\n").commit("Newest");
    let clone = partial(&world, "tree:0");
    world.apply().set("repo", clone.path()).set("on-remove", "disable").exit(0).says(&[
        "not disabled",
        "the history is cut",
        "--filter",
    ]);
    world.nothing_sent();
}

#[test]
fn a_missing_earlier_version_differs_from_every_valid_one() {
    let world = World::with_pay_applied();
    let pay = "shop/prod/pay.yaml";
    world.repo.file(pay, doc(21)).commit("Ask for 21 years");
    world.repo.file(pay, reformatted(21)).commit("Prefer block style");
    let clone = partial(&world, "blob:none");
    world.apply().set("repo", clone.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Prefer block style"))]);
}

#[test]
fn missing_content_holds_only_its_toggle() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/test/pay.yaml", doc(22)).commit("Change both");
    let clone = partial(&world, "blob:none");
    clone.git(&["sparse-checkout", "set", "--no-cone", "shop/prod"]);
    world.repo.commit_pay(23, "Again");
    world.repo.file("shop/test/pay.yaml", doc(24)).commit("And again");
    clone.git(&["fetch", "--quiet", "origin", "main"]);
    clone.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
    world.apply().set("repo", clone.path()).set("first-pass", "assert").exit(3).says(&[
        "shop/test/pay.yaml",
        "partial clone",
        "--filter",
    ]);
    assert_eq!(comments(&world), [("shop/prod/pay".to_owned(), "Again".to_owned())]);
}

#[test]
fn a_daemon_reports_a_cut_history() {
    let world = World::with_pay_applied();
    let cut = shallow(&world);
    let daemon = Daemon::ready(&world, |run| run.set("repo", cut.path()).set("poll-interval", "1h"));
    daemon.says(&["history_cut", "\"level\":\"warn\"", "--depth=0"]);
    let reply = daemon.endpoint.get("/readyz").unwrap();
    assert!(reply.body.contains("history is cut"), "{}", reply.body);
    for age in [21, 22] {
        world.repo.commit_pay(age, "Change pay");
        world.repo.file("README.md", format!("{age}\n")).commit("Newest");
        cut.git(&["fetch", "--quiet", "--depth=1", "origin", "main"]);
        cut.git(&["reset", "--quiet", "--hard", "FETCH_HEAD"]);
        world.service.wait_for(1);
        world.sent(&[("shop/prod/pay", body(age, "Newest"))]);
    }
    daemon.says(&["\"event\":\"guessed\"", "\"level\":\"warn\"", "\"changes\":1"]);
    crate::support::eventually("a warning with each pass", || {
        (daemon.said("\"event\":\"guessed\"") >= 2).then_some(())
    });
    daemon.stops_cleanly();
}
