//! What makes a daemon look, how often, and what a newer commit does to the retry of an older one.

use serde_json::Value;

use crate::support::answer::Gate;
use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Request, World, body, doc, eventually};

/// Is busy with the older document however often it is tried, and takes the newer one.
fn busy_with_older(request: &Request) -> Answer {
    match request.comment() == "Older" {
        true => Answer::status(503),
        false => Answer::applied(),
    }
}

/// Waits for `newer`, and states that it was sent once, after every try of `older`.
#[track_caller]
fn is_overtaken(world: &World, daemon: &Daemon, older: &Value, newer: &Value) {
    eventually("the newer document", || {
        let requests = world.service.requests();
        requests
            .iter()
            .any(|request| request.body() == *newer)
            .then_some(())
    });
    daemon.becomes("shop/prod/pay", "in_sync");
    let requests = world.service.take();
    let (last, before) = requests.split_last().expect("something was sent");
    assert_eq!(last.body(), *newer);
    assert!(!before.is_empty() && before.iter().all(|request| request.body() == *older));
}

fn signal(daemon: &Daemon, name: &str) {
    let status = std::process::Command::new("kill")
        .args([name, &daemon.id().to_string()])
        .status();
    assert!(status.is_ok_and(|status| status.success()));
}

#[test]
fn a_burst_of_triggers_during_a_pass_is_one_more_pass() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let gate = Gate::default();
    world.service.answers([Answer::applied().behind(&gate)]);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.wait_for(1);
    // This pass is open until the service has answered.
    let before = daemon.passes();
    for _ in 0..200 {
        assert_eq!(daemon.order("/reconcile", ""), 202);
    }
    gate.open();
    eventually("the pass, and one more", || {
        (daemon.passes() >= before + 2.0).then_some(())
    });
    // Whatever else the burst had caused would come before this one.
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("the last pass", || {
        (daemon.passes() >= before + 3.0).then_some(())
    });
    daemon.is_ready();
    assert_eq!(daemon.passes(), before + 3.0);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_sighup_starts_a_pass() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.push(21, "Ask for 21 years");
    signal(&daemon, "-HUP");
    remote.world.service.wait_for(1);
    remote
        .world
        .sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_at_the_next_poll() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    is_overtaken(&remote.world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_on_a_remote_ends_the_retry_of_an_older_one_at_a_trigger() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    remote.world.service.always(busy_with_older);
    remote.push(21, "Older");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.world.service.wait_for(1);
    remote.push(22, "Newer");
    assert_eq!(daemon.order("/reconcile", ""), 202);
    is_overtaken(&remote.world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_in_a_local_repository_ends_the_retry_of_an_older_one() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Older");
    world.service.wait_for(1);
    world.repo.file("shop/prod/pay.yaml", doc(22)).commit("Newer");
    is_overtaken(&world, &daemon, &body(21, "Older"), &body(22, "Newer"));
    daemon.ends_in_peace();
}

#[test]
fn a_commit_that_reverts_an_unknown_one_sends_what_it_goes_back_to() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(busy_with_older);
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Older");
    world.service.wait_for(1);
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Go back");
    is_overtaken(&world, &daemon, &body(21, "Older"), &body(18, "Go back"));
    daemon.ends_in_peace();
}

#[test]
fn a_parked_toggle_is_tried_again_when_its_document_changes() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|request| match request.comment().as_str() {
        "Refused" => Answer::json(422, r#"{"message": "no such attribute"}"#),
        _ => Answer::applied(),
    });
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Refused");
    daemon.becomes("shop/prod/pay", "failed");
    let passes = daemon.passes();
    eventually("three more passes", || {
        (daemon.passes() >= passes + 3.0).then_some(())
    });
    world.sent(&[("shop/prod/pay", body(21, "Refused"))]);
    world.repo.file("shop/prod/zoo.yaml", doc(1)).commit("Another");
    daemon.becomes("shop/prod/zoo", "in_sync");
    world.sent(&[("shop/prod/zoo", body(1, "Another"))]);
    world.repo.file("shop/prod/pay.yaml", doc(22)).commit("Repaired");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(22, "Repaired"))]);
    daemon.ends_in_peace();
}

#[test]
fn a_toggle_is_in_sync_again_when_what_kept_it_is_taken_back() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let is_held = || daemon.metric("gitoggle_toggles{state=\"held\"}");
    world
        .repo
        .file("shop/prod/pay.yaml", "disabled: maybe\n")
        .commit("Break it");
    daemon.becomes("shop/prod/pay", "held");
    assert_eq!(is_held(), Some(1.0));
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18))
        .commit("Take it back");
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(is_held(), Some(0.0));
    world.sent(&[]);
    daemon.ends_in_peace();
}

#[test]
fn a_few_toggles_that_always_fail_do_not_keep_the_others_from_their_turn() {
    let world = World::new();
    for toggle in ["a1", "a2", "a3", "a4", "a5", "z"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add six");
    world.settle();
    world
        .service
        .always(|request| match request.toggle().contains("/a") {
            true => Answer::json(500, "{}"),
            false => Answer::applied(),
        });
    for toggle in ["a1", "a2", "a3", "a4", "a5"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    world.repo.commit("Change five");
    for _ in 0..2 {
        world.apply().set("give-up-after", "1s").exit(1).any_output();
    }
    world.repo.file("shop/prod/z.yaml", doc(21)).commit("Change z");
    world.service.take();
    world.apply().set("give-up-after", "1s").exit(1).any_output();
    assert_eq!(
        world.service.take()[0].toggle(),
        "shop/prod/z",
        "it was never tried before"
    );

    world
        .repo
        .file("shop/prod/z.yaml", doc(30))
        .commit("Change z again");
    let daemon = Daemon::start(&world, |run| run.set("give-up-after", "1s"));
    daemon.becomes("shop/prod/z", "in_sync");
    assert_eq!(world.service.take()[0].toggle(), "shop/prod/z");
    daemon.ends_in_peace();
}

#[test]
fn after_an_outage_toggles_take_turns_until_all_that_can_be_are_applied() {
    let world = World::new();
    let toggles = ["a1", "a2", "a3", "a4", "a5", "a6", "z1", "z2"];
    let change = |age| {
        for toggle in toggles {
            world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(age));
        }
        world.repo.commit("Change all");
    };
    change(18);
    world.settle();
    world.service.always(|_| Answer::json(500, "{}"));
    change(21);
    for _ in 0..2 {
        world.apply().set("give-up-after", "1s").exit(1).any_output();
    }
    world
        .service
        .always(|request| match request.toggle().contains("/a") {
            true => Answer::json(500, "{}"),
            false => Answer::applied(),
        });
    for _ in 0..2 {
        world.apply().set("give-up-after", "1s").exit(1).any_output();
    }
    world.status().exit(1).says(&["2 in sync", "6 failed"]);
    world.service.take();

    change(30);
    let daemon = Daemon::start(&world, |run| run.set("give-up-after", "1s"));
    for toggle in ["shop/prod/z1", "shop/prod/z2"] {
        daemon.becomes(toggle, "in_sync");
    }
    daemon.ends_in_peace();
}

#[test]
fn a_toggle_that_alone_gets_no_answer_is_failed_and_tried_again_after_a_while() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/zoo.yaml", doc(18)).commit("Add zoo");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|request| match request.toggle().as_str() {
        "shop/prod/pay" => Answer::json(500, "{}"),
        _ => Answer::applied(),
    });
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/zoo.yaml", doc(21))
        .commit("Change both");
    eventually("pay to be set aside", || {
        let status = daemon.status()?;
        let toggles = status["toggles"].as_array()?.clone();
        let pay = toggles.iter().find(|line| line["toggle"] == "shop/prod/pay")?;
        let reason = pay["reason"].as_str()?;
        (pay["state"] == "failed" && reason.starts_with("failed alone, tried again after a while"))
            .then_some(())
    });
    assert_eq!(daemon.metric("gitoggle_toggles{state=\"failed\"}"), Some(1.0));
    assert_eq!(
        daemon.metric("gitoggle_withheld{reason=\"failed_alone\"}"),
        Some(1.0)
    );
    daemon.ends_in_peace();
}

#[test]
fn a_newer_commit_during_an_outage_does_not_count_as_a_success() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| {
        run.set("timeout", "300ms")
            .set("give-up-after", "300ms")
            .set("first-pass", "assert")
    });
    world.service.always(|_| Answer::stores_and_hangs());
    for environment in ["a", "b", "c", "d", "e", "f"] {
        world.repo.file(&format!("shop/{environment}/pay.yaml"), doc(1));
    }
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change seven");
    daemon.is_unready_for(&["the last pass failed"]);
    let before = daemon.metric("gitoggle_last_success_timestamp_seconds");
    for age in 22..25 {
        let open = world.service.count();
        world
            .repo
            .file("shop/prod/pay.yaml", doc(age))
            .commit("Change pay again");
        world.service.wait_for(open + 1);
        daemon.is_unready_for(&["the last pass failed"]);
    }
    assert_eq!(daemon.metric("gitoggle_last_success_timestamp_seconds"), before);
    daemon.ends_in_peace();
}

#[test]
fn a_refused_change_that_was_taken_back_is_tried_again_when_it_comes_back() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|request| match request.comment().as_str() {
        "Too early" => Answer::json(409, r#"{"message": "not before Monday"}"#),
        _ => Answer::applied(),
    });
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Too early");
    daemon.becomes("shop/prod/pay", "failed");
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18))
        .commit("Take it back");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Now");
    world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[
        ("shop/prod/pay", body(21, "Too early")),
        ("shop/prod/pay", body(21, "Now")),
    ]);
    daemon.ends_in_peace();
}

#[test]
fn orders_are_answered_while_the_service_takes_its_time() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("timeout", "200s"));
    let suspended = || daemon.status().unwrap()["suspended"].clone();
    world.service.always(|_| Answer::stores_and_hangs());
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.wait_for(1);
    assert_eq!(daemon.order("/suspend", r#"{"reason": "incident"}"#), 200);
    assert_eq!(suspended()["reason"], "incident");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    assert_eq!(daemon.order("/resume", ""), 200);
    assert_eq!(suspended(), Value::Null);
    assert_eq!(daemon.order("/suspend", ""), 200);
    assert_eq!(daemon.order("/reconcile", ""), 202);
    assert_ne!(suspended(), Value::Null);
}

#[test]
fn a_suspension_whose_time_is_over_is_so_at_once() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| {
        run.set("timeout", "200s").set("poll-interval", "600s")
    });
    world.service.always(|_| Answer::stores_and_hangs());
    assert_eq!(daemon.order("/suspend", r#"{"for": "1s"}"#), 200);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.wait_for(1);
    eventually("the end of the suspension", || {
        let over = daemon.status()?["suspended"].is_null();
        (over && daemon.metric("gitoggle_suspended") == Some(0.0)).then_some(())
    });
}

#[test]
fn a_suspension_with_an_end_survives_a_restart_and_ends_by_itself() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let order = r#"{"reason": "release freeze", "for": "4s"}"#;
    assert_eq!(daemon.order("/suspend", order), 200);
    let until = daemon.status().unwrap()["suspended"]["until"].clone();
    let end: jiff::Timestamp = until.as_str().unwrap().parse().unwrap();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    daemon.ends_in_peace();

    let daemon = Daemon::start(&world, |run| run);
    daemon.becomes("shop/prod/pay", "pending");
    assert_eq!(daemon.status().unwrap()["suspended"]["until"], until);
    world.service.wait_for(1);
    assert!(jiff::Timestamp::now() >= end, "it was not sent before");
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(0.0));
    assert_eq!(daemon.status().unwrap()["suspended"], Value::Null);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.ends_in_peace();
}

#[test]
fn the_head_of_a_linked_work_tree_is_followed_wherever_it_goes() {
    let world = World::with_pay_applied();
    let tree = world.repo.linked("main", &world.path("tree"));
    let daemon = Daemon::ready(&world, |run| run.set("repo", tree.path()));
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    // The branch has moved, and this work tree is on no branch.
    let passes = daemon.passes();
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("a look", || (daemon.passes() > passes).then_some(()));
    world.nothing_sent();
    tree.checkout(&world.repo.head());
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.has_seen(&world.repo.head());
    daemon.ends_in_peace();
}

#[test]
fn a_bare_repository_whose_refs_are_packed_is_followed() {
    let world = World::with_pay_applied();
    let bare = world.repo.clone_bare(&world.path("bare.git"));
    let daemon = Daemon::ready(&world, |run| run.set("repo", bare.path()));
    for age in [21, 22] {
        bare.git(&["pack-refs", "--all"]);
        world
            .repo
            .file("shop/prod/pay.yaml", doc(age))
            .commit("Change pay");
        let to = bare.path().display().to_string();
        world.repo.git(&["push", "--quiet", &to, "main"]);
        world.service.wait_for(1);
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
    }
    daemon.ends_in_peace();
}

#[test]
fn a_remote_that_has_not_moved_is_looked_up_and_not_fetched_and_the_service_is_left_alone() {
    let remote = Remote::settled(Door::Open);
    let connections = remote.world.service.connections();
    let daemon = remote.daemon(|run| run.set("poll-interval", "100ms"));
    let passes = daemon.passes();
    eventually("ten more passes", || {
        (daemon.passes() >= passes + 10.0).then_some(())
    });
    daemon.ends_in_peace();
    let asked = remote.asked();
    assert!(asked.len() >= 10, "{asked:?}");
    for asked in asked {
        assert!(crate::support::remote::LOOKUP.contains(&&*asked), "{asked}");
    }
    assert_eq!(remote.world.service.connections(), connections);
}

#[test]
fn an_order_to_publish_nothing_is_not_held_up_by_a_remote_that_hangs() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run);
    let gate = Gate::default();
    let closed = gate.clone();
    let root = remote.world.path("hosted");
    remote
        .host
        .always(move |request| crate::support::git_host::answer(&root, &Door::Open, request).behind(&closed));
    remote.push(21, "Ask for 21 years");
    remote.host.take();
    assert_eq!(daemon.order("/reconcile", ""), 202);
    remote.host.wait_for(1);
    assert_eq!(daemon.order("/suspend", "{}"), 200);
    gate.open();
    daemon.becomes("shop/prod/pay", "pending");
    remote.world.nothing_sent();
    assert_eq!(daemon.order("/resume", ""), 200);
    remote.world.service.wait_for(1);
    remote
        .world
        .sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.ends_in_peace();
}
