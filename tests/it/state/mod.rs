//! Tests the state folder: its service, its writer, and unknown outcomes.

mod disk;

use serde_json::json;

use crate::support::{Answer, Repo, Service, World, body, content, doc, free_port};

/// Returns a world whose process was killed during the request with `doc(21)`, so that its outcome is
/// unknown.
pub(crate) fn interrupted() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.answers([Answer::stores_and_hangs()]);
    let run = world.apply().start();
    world.service.wait_for(1);
    run.kill();
    world.service.sender_died();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world
}

#[test]
fn state_belongs_to_one_base_url() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let other = Service::start();
    world.apply().set("base-url", other.url()).exit(4).says(&["$SERVICE", &other.port().to_string()]);
    assert_eq!(other.connections(), 0);
    world.nothing_sent();
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_mistake_in_the_first_base_url_does_not_bind_the_state() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let first = || world.apply().set("first-pass", "assert");
    let nowhere = format!("https://localhost:{}", free_port());
    first().set("base-url", &nowhere).set("timeout", "1s").exit(1).any_output();
    first().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    first().set("base-url", &nowhere).exit(4).says(&["belongs to"]);
}

#[test]
fn an_open_request_binds_the_state_to_its_base_url() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.service.answers([Answer::stores_and_hangs()]);
    let run = world.apply().set("first-pass", "assert").start();
    world.service.wait_for(1);
    run.kill();
    world.service.sender_died();
    let other = Service::start();
    world.apply().set("base-url", other.url()).set("first-pass", "assert").exit(4).says(&["belongs to"]);
    assert_eq!(other.connections(), 0);
}

#[test]
fn an_unknown_outcome_is_followed_by_the_same_body_and_comment() {
    let world = interrupted();
    world.status().exit_in(&[0, 1]).says(&["shop/prod/pay"]);
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["content"], content(21));
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn the_journaled_comment_is_sent_again_after_newer_commits() {
    let world = interrupted();
    world.repo.file("README.md", "x\n").commit("Something else");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_newer_document_is_sent_instead_of_an_unknown_one() {
    let world = interrupted();
    world.repo.commit_pay(22, "Newer");
    world.apply().set("timeout", "2s").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(22, "Newer"))]);
}

#[test]
fn a_reverted_document_is_sent_if_the_last_outcome_is_unknown() {
    let world = interrupted();
    world.repo.revert();
    world.apply().set("timeout", "2s").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], content(18));
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn an_unknown_toggle_that_becomes_invalid_stays_unknown_and_is_reported() {
    let world = interrupted();
    world.repo.file("shop/prod/pay.yaml", "nonsense\n").commit("Break it");
    for _ in 0..2 {
        world.apply().exit(3).says(&["shop/prod/pay"]);
        world.nothing_sent();
    }
    // The outcome is unknown, so even the document that was applied before is sent.
    world.repo.commit_pay(18, "As before");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "As before"))]);
}

#[test]
fn an_unknown_toggle_outside_of_the_scope_stays_unknown_and_is_reported() {
    let world = interrupted();
    world.repo.file("shop/prod/zoo.yaml", doc(3)).commit("Add zoo");
    world.apply().set("only", "shop/prod/zoo").exit_in(&[0, 1, 4]).says(&["shop/prod/pay"]);
    world.sent(&[("shop/prod/zoo", body(3, "Add zoo"))]);
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn an_incomplete_last_line_of_the_journal_is_ignored() {
    let world = interrupted();
    let journal = world.state().join("journal");
    let mut text = std::fs::read(&journal).unwrap();
    text.extend_from_slice(b"{\"number\": 7, \"to");
    std::fs::write(&journal, text).unwrap();
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn another_process_waits_for_the_writer_to_end() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.answers([Answer::applied().slowly(std::time::Duration::from_millis(700))]);
    let first = world.apply().start();
    world.service.wait_for(1);
    world.apply().exit(0).any_output();
    assert_eq!(first.wait(), Some(0));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
#[ignore = "waits for the writer for a minute"]
fn a_writer_that_does_not_end_is_named() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::stores_and_hangs());
    let first = world.apply().set("timeout", "100s").start();
    world.service.wait_for(1);
    world
        .apply()
        .within_seconds(100)
        .exit(1)
        .stderr_contains(&[&first.id().to_string(), "$TMP/state"])
        .any_stdout();
    assert_eq!(world.service.count(), 1);
}

/// Asserts that a pass with free space sends every request except those recorded as sent.
#[track_caller]
fn recovers(world: &World, sent: &[crate::support::Request]) {
    world.apply().exit(0).any_output();
    let again = world.service.take();
    for toggle in ["shop/prod/pay", "shop/prod/zoo"] {
        let all = sent.iter().chain(&again).filter(|request| request.toggle() == toggle);
        let bodies: std::collections::BTreeSet<_> = all.map(|request| request.bytes.clone()).collect();
        assert_eq!(bodies.len(), 1, "{toggle}: one body, however often");
    }
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn the_record_can_be_read_with_git() {
    let world = World::with_pay_applied();
    let state = Repo::at(&world.state().join("state.git"));
    state.git(&["fsck", "--strict", "--no-dangling"]);
    assert_eq!(state.git(&["log", "--format=%s", "refs/gitoggle/applied"]).lines().count(), 1);
    world.repo.commit_pay(21, "Change pay");
    world.apply().exit(0).any_output();
    state.git(&["fsck", "--strict", "--no-dangling"]);
    let diff = state.git(&["diff", "--stat", "refs/gitoggle/applied~1", "refs/gitoggle/applied"]);
    assert!(diff.contains("shop/prod/pay.yaml"), "{diff}");
}

#[test]
fn a_record_of_many_toggles_names_fifty_and_counts_the_rest() {
    let world = World::new();
    for number in 0..60 {
        world.repo.file(&format!("shop/prod/t{number:02}.yaml"), doc(18));
    }
    world.repo.commit("Add sixty");
    world.settle();
    let state = Repo::at(&world.state().join("state.git"));
    let message = state.git(&["log", "-1", "--format=%B", "refs/gitoggle/applied"]);
    assert_eq!(message.matches("shop/prod/t").count(), 50, "{message}");
    assert!(message.contains("10"), "{message}");
}

#[test]
fn a_terminated_pass_finishes_and_records_its_open_request() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(3)).commit("Change both");
    world.service.answers([Answer::applied().slowly(std::time::Duration::from_millis(300))]);
    let run = world.apply().start();
    world.service.wait_for(1);
    run.terminate();
    assert_eq!(run.wait(), Some(1), "interrupted with work left");
    // The open request ended and was recorded; no new one started.
    world.sent(&[("shop/prod/pay", body(21, "Change both"))]);
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/zoo", body(3, "Change both"))]);
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"], json!([]));
}

#[test]
fn the_default_state_folder_is_keyed_by_the_source_as_given() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let link = world.path("link");
    std::os::unix::fs::symlink(world.repo.path(), &link).unwrap();
    let run = |repo: &std::path::Path| world.apply().unset("state-dir").set("repo", repo);
    run(world.repo.path()).set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    run(world.repo.path()).exit(0).any_output();
    world.apply().unset("state-dir").unset("repo").within(world.repo.path()).exit(0).any_output();
    world.nothing_sent();
    run(&link).exit(4).any_output();
    let folders = std::fs::read_dir(world.path("home/xdg-state/gitoggle")).unwrap().count();
    assert!(folders >= 1, "in the platform's state folder");
}
