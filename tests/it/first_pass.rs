//! If nothing is applied in an environment yet, its first pass is held until an operator or a trailer
//! decides.

use crate::support::{Repo, World, body, doc};

const CHOICES: &[&str] = &["--first-pass", "assert", "adopt"];

#[test]
fn a_first_pass_is_held_until_a_decision() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.apply().exit(4).says(CHOICES).never_says(&["panicked"]);
    world.nothing_sent();
}

#[test]
fn a_plan_shows_what_a_first_pass_would_publish_and_is_not_an_error() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.plan().exit(0).says(&[
        "held shop/prod/pay",
        "create shop/prod/pay",
        "rule `adults` serves `on`: `age` > `18` (number)",
        "--first-pass",
        "Gitoggle-First-Pass: assert",
        "gitoggle allow first-pass-assert shop/prod",
    ]);
    world.plan().arg("--detailed-exitcode").exit(2).any_output();
    let json = world.plan().set("output", "json").exit(0).json();
    assert_eq!(json["summary"]["first_pass"], 1, "{json}");
    assert_eq!(json["held"][0]["change"]["action"], "create", "{json}");
    world.nothing_sent();
}

#[test]
fn a_trailer_decides_about_the_environment_of_the_document_that_it_adds() {
    let world = World::with_pay_applied();
    world.repo.file("shop/test/a.yaml", doc(20)).commit("Add test\n\nGitoggle-First-Pass: assert\n");
    world.repo.file("shop/dev/a.yaml", doc(21)).commit("Add dev\n\nGitoggle-First-Pass: adopt\n");
    world.repo.file("shop/int/a.yaml", doc(22)).commit("Add int");
    world.apply().arg("--no-allow-trailer").exit(4).any_output();
    world.nothing_sent();
    world.apply().exit(4).says(&["shop/int/a", "first-pass"]);
    world.sent(&[("shop/test/a", body(20, "Add test\n\nGitoggle-First-Pass: assert"))]);
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(
        state.files("refs/gitoggle/applied"),
        ["shop/dev/a.yaml", "shop/prod/pay.yaml", "shop/test/a.yaml"]
    );
}

/// A world with one environment that holds one toggle more than a plan shows.
fn with_many_toggles(message: &str) -> World {
    let world = World::new();
    for number in 0..=500 {
        world.repo.file(&format!("shop/prod/t{number:03}.yaml"), doc(18));
    }
    world.repo.commit(message);
    world.repo.file("README.md", "x\n").commit("Newest");
    world
}

#[test]
fn a_trailer_decides_about_more_toggles_than_a_plan_shows() {
    let world = with_many_toggles("Add many\n\nGitoggle-First-Pass: adopt\n");
    world.apply().exit(0).any_output();
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied").len(), 501);
}

#[test]
fn an_undecided_first_pass_names_the_commit_of_each_toggle_that_is_shown() {
    let world = with_many_toggles("Add many");
    world
        .plan()
        .exit(0)
        .says(&["create shop/prod/t499", "Add many", "… and 1 more change"])
        .never_says(&["uncommitted", "Newest"]);
    let plan = world.plan().set("output", "json").exit(0).json();
    let held = plan["held"].as_array().unwrap();
    let is_known = |held: &&serde_json::Value| held["change"]["attribution"] == "known";
    assert_eq!(held.iter().filter(is_known).count(), 501);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    assert!(world.service.take().iter().all(|request| request.comment() == "Add many"));
}

#[test]
fn a_guessed_commit_does_not_decide_about_a_first_pass() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.repo.file("README.md", "Toggles\n").commit("Explain\n\nGitoggle-First-Pass: assert\n");
    let shallow = world.repo.clone_shallow(1, &world.path("shallow"));
    world.apply().set("repo", shallow.path()).exit(4).says(CHOICES);
    world.nothing_sent();
}

#[test]
fn assert_publishes_everything_once() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn adopt_records_everything_and_publishes_nothing() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.content("refs/gitoggle/applied", "shop/prod/pay.yaml"), doc(18));

    world.repo.commit_pay(19, "Change pay");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(19, "Change pay"))]);
}

#[test]
fn adopt_skips_invalid_and_out_of_scope_documents() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/bad.yaml", "disabled: maybe\n")
        .file("shop/prod/good.yaml", doc(18))
        .file("web/prod/other.yaml", doc(18))
        .commit("Add three");
    world
        .apply()
        .set("first-pass", "adopt")
        .set("only", "shop/**")
        .exit(3)
        .says(&["shop/prod/bad.yaml:1:11"]);
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/good.yaml"]);
}

#[test]
fn a_lost_state_is_remembered_until_nothing_is_left_out() {
    let world = World::with_pay_applied();
    let lost = world.state().join("lost.json");
    std::fs::write(&lost, r#"{"version": 1, "environments": ["shop/test"]}"#).unwrap();
    world.repo.file("shop/test/pay.yaml", doc(20)).commit("Add test");
    world.apply().set("only", "shop/prod/*").exit(0).any_output();
    world.apply().exit(4).says(&["the state folder was deleted or replaced"]);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    assert!(!lost.exists());
}

#[test]
fn a_new_environment_is_held_while_others_are_published() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(19))
        .file("shop/test/pay.yaml", doc(20))
        .commit("Change prod, add test");
    world.apply().exit(4).says(CHOICES).never_says(&["panicked"]);
    world.sent(&[("shop/prod/pay", body(19, "Change prod, add test"))]);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/test/pay", body(20, "Change prod, add test"))]);
}

#[test]
fn a_new_toggle_in_a_known_environment_needs_no_decision() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/search.yaml", doc(20)).commit("Add search");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/search", body(20, "Add search"))]);
}

#[test]
fn lost_state_is_a_first_pass_again() {
    let world = World::with_pay_applied();
    std::fs::remove_dir_all(world.state()).unwrap();
    world.apply().exit(4).says(CHOICES);
    world.nothing_sent();
}
