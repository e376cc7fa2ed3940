//! `gitoggle status` reports the state of each toggle and the reason.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::support::{Answer, World, doc};

/// Returns each toggle's state, from JSON.
fn states(world: &World, code: i32) -> BTreeMap<String, String> {
    let json = world.status().set("output", "json").exit(code).json();
    json["toggles"]
        .as_array()
        .unwrap_or_else(|| panic!("toggles in {json}"))
        .iter()
        .map(|line| {
            let text = |member: &str| line[member].as_str().unwrap_or_default().to_owned();
            (text("toggle"), text("state"))
        })
        .collect()
}

#[test]
fn every_toggle_has_a_state_and_a_reason() {
    let world = World::new();
    for toggle in ["bad", "failed", "gone", "same", "waits"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    world.settle();
    let applied = world.repo.head();
    world.repo.file("shop/prod/failed.yaml", doc(19)).commit("To be refused");
    world.service.answers([Answer::json(422, r#"{"message": "no such attribute"}"#)]);
    world.apply().exit(1).any_output();
    world
        .repo
        .file("shop/prod/bad.yaml", "nonsense\n")
        .file("shop/prod/waits.yaml", doc(20))
        .remove("shop/prod/gone.yaml")
        .commit("All kinds of things");

    let states = states(&world, 1);
    let expected = [
        ("shop/prod/bad", "held"),
        ("shop/prod/failed", "failed"),
        ("shop/prod/gone", "orphan"),
        ("shop/prod/same", "in_sync"),
        ("shop/prod/waits", "pending"),
    ];
    let expected: BTreeMap<_, _> =
        expected.iter().map(|(toggle, state)| ((*toggle).to_owned(), (*state).to_owned())).collect();
    assert_eq!(states, expected);

    let json = world.status().set("output", "json").exit(1).json();
    for line in json["toggles"].as_array().unwrap() {
        let needs_reason = line["state"] != "in_sync";
        assert_eq!(line["reason"].as_str().is_some_and(|text| !text.is_empty()), needs_reason, "{line}");
        if line["state"] == "in_sync" {
            assert_eq!(line["revision"], "<rev>", "{line} is at {applied}");
            assert!(line["applied_at"].is_string(), "{line}");
        }
    }
    world.status().exit(1).says(&[
        "shop/prod/failed",
        "no such attribute",
        "shop/prod/gone",
        "shop/prod/bad",
    ]);
}

#[test]
fn a_publish_that_was_confirmed_but_not_recorded_before_a_crash_is_listed() {
    let world = World::new();
    world.repo.file("shop/prod/a.yaml", doc(18)).file("shop/prod/b.yaml", doc(18)).commit("Add both");
    world.service.answers([Answer::applied(), Answer::stores_and_hangs()]);
    let run = world.apply().set("first-pass", "assert").start();
    world.service.wait_for(2);
    run.kill();
    world.service.sender_died();
    let json = world.status().set("output", "json").exit(0).json();
    let line = |index: usize| &json["toggles"][index];
    assert_eq!(line(0)["toggle"], "shop/prod/a", "{json}");
    assert_eq!(line(0)["state"], "in_sync", "{json}");
    assert_eq!(line(0)["revision"], "<rev>", "{json}");
    assert_eq!(line(0)["applied_at"], Value::Null, "{json}");
    assert_eq!(line(1)["toggle"], "shop/prod/b", "{json}");
    assert_eq!(line(1)["state"], "pending", "{json}");
}

#[test]
fn a_status_with_every_toggle_in_sync_is_a_success() {
    let world = World::with_pay_applied();
    assert_eq!(states(&world, 0).into_values().collect::<Vec<_>>(), ["in_sync"]);
    world.status().arg("--all").exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn status_sends_no_request_and_writes_nothing() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(19, "Change");
    let before = crate::support::files::listing(world.root());
    let connections = world.service.connections();
    world.status().exit_in(&[0, 1]).any_output();
    assert_eq!(crate::support::files::listing(world.root()), before);
    assert_eq!(world.service.connections(), connections);
}

#[test]
fn status_without_a_base_url_uses_the_only_existing_state() {
    let world = World::with_pay_applied();
    world.status().arg("--all").unset("base-url").exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn status_is_versioned_json() {
    let world = World::with_pay_applied();
    let json = world.status().set("output", "json").exit(0).json();
    assert_eq!(json["version"], 1, "{json}");
}

#[test]
fn the_json_groups_withheld_toggles_as_the_daemon_does() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Bad");
    let json = world.status().set("output", "json").exit(3).json();
    let group =
        serde_json::json!({ "state": "held", "environment": "shop/prod", "reason": "invalid", "count": 1 });
    assert_eq!(json["groups"], serde_json::json!([group]));
    assert_eq!(json["remarks"], serde_json::json!(["1 held in shop/prod (invalid)"]));
    assert_eq!(json["toggles"][0]["kind"], "invalid");
    assert_eq!(json["service"], "https://$SERVICE");
}

#[test]
fn the_markdown_lists_toggles_that_are_not_in_sync() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit_pay(20, "All kinds of things");
    let markdown = "### gitoggle status\n\n\
         2 toggles: 1 held, 1 pending\n\n\
         ` $REPO ` ` refs/heads/main ` ` <short> `\n\n\
         * **held** ` shop/prod/bad `: `` shop/prod/bad.yaml:1:1: not a document: it has neither `disabled` nor `content`; the document is invalid; nothing is published for this toggle before it is valid ``\n\
         * **pending** ` shop/prod/pay `: ` update is due `\n";
    world.status().set("output", "markdown").exit(3).stdout(markdown);
    let summary = world.path("summary.md");
    world.status().set("output", "github").env("GITHUB_STEP_SUMMARY", &summary).exit(3);
    assert_eq!(world.printed(&summary), markdown);
}

#[test]
fn the_markdown_shows_the_commands_of_a_reason_as_code() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let reason =
        "` shop/prod/pay `: nothing is applied here yet: `--first-pass assert` publishes everything, ";
    world.status().set("output", "markdown").exit(4).stdout_contains(&[reason]);
}

#[test]
fn a_refusal_is_reported_for_a_toggle_that_is_also_held() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.service.always(|_| Answer::json(409, r#"{"message": "not before Monday"}"#));
    world.apply().set("first-pass", "assert").exit(1).any_output();
    world.status().exit(4).stdout_contains(&[
        "----------  refused by the service: the service responded with 409: not before Monday; correct the document or the service",
        "nothing is applied here yet",
    ]);
}

#[test]
fn a_reason_that_several_toggles_share_is_printed_once() {
    let world = World::new();
    for toggle in ["a", "b", "c"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.file("shop/test/d.yaml", doc(18)).commit("Add all");
    world.status().exit(4).stdout_contains(&[
        "held     shop/prod/a  ----------\n\
         held     shop/prod/b  ----------\n\
         held     shop/prod/c  ----------\n         \
         all 3: nothing is applied here yet",
        "held     shop/test/d  ----------  nothing is applied here yet",
    ]);
}
