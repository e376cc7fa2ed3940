//! The order of attempts at toggles that fail.

use crate::support::{Answer, Daemon, World, body, doc, eventually};

#[test]
fn a_parked_toggle_is_tried_again_when_its_document_changes() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|request| match request.comment().as_str() {
        "Refused" => Answer::json(422, r#"{"message": "no such attribute"}"#),
        _ => Answer::applied(),
    });
    world.repo.commit_pay(21, "Refused");
    daemon.becomes("shop/prod/pay", "failed");
    let passes = daemon.passes();
    eventually("three more passes", || (daemon.passes() >= passes + 3.0).then_some(()));
    world.sent(&[("shop/prod/pay", body(21, "Refused"))]);
    world.repo.file("shop/prod/zoo.yaml", doc(1)).commit("Another");
    daemon.becomes("shop/prod/zoo", "in_sync");
    world.sent(&[("shop/prod/zoo", body(1, "Another"))]);
    world.repo.commit_pay(22, "Repaired");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(22, "Repaired"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_toggle_is_in_sync_again_when_what_kept_it_is_taken_back() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let is_held = || daemon.metric("gitoggle_toggles{state=\"held\"}");
    world.repo.file("shop/prod/pay.yaml", "disabled: maybe\n").commit("Break it");
    daemon.becomes("shop/prod/pay", "held");
    assert_eq!(is_held(), Some(1.0));
    world.repo.commit_pay(18, "Take it back");
    daemon.becomes("shop/prod/pay", "in_sync");
    assert_eq!(is_held(), Some(0.0));
    world.sent(&[]);
    daemon.stops_cleanly();
}

#[test]
fn a_few_toggles_that_always_fail_do_not_keep_the_others_from_their_turn() {
    let world = World::new();
    for toggle in ["a1", "a2", "a3", "a4", "a5", "z"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add six");
    world.settle();
    world.service.always(|request| match request.toggle().contains("/a") {
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
    assert_eq!(world.service.take()[0].toggle(), "shop/prod/z", "it was never tried before");

    world.repo.file("shop/prod/z.yaml", doc(30)).commit("Change z again");
    let daemon = Daemon::start(&world, |run| run.set("give-up-after", "1s"));
    daemon.becomes("shop/prod/z", "in_sync");
    assert_eq!(world.service.take()[0].toggle(), "shop/prod/z");
    daemon.stops_cleanly();
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
    world.service.always(|request| match request.toggle().contains("/a") {
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
    daemon.stops_cleanly();
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
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(21)).commit("Change both");
    eventually("pay to be set aside", || {
        let status = daemon.status()?;
        let toggles = status["toggles"].as_array()?.clone();
        let pay = toggles.iter().find(|line| line["toggle"] == "shop/prod/pay")?;
        let reason = pay["reason"].as_str()?;
        (pay["state"] == "failed" && reason.starts_with("failed alone, tried again after a while"))
            .then_some(())
    });
    assert_eq!(daemon.metric("gitoggle_toggles{state=\"failed\"}"), Some(1.0));
    assert_eq!(daemon.metric("gitoggle_withheld{reason=\"failed_alone\"}"), Some(1.0));
    daemon.stops_cleanly();
}

#[test]
fn a_newer_commit_during_an_outage_does_not_count_as_a_success() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| {
        run.set("timeout", "300ms").set("give-up-after", "300ms").set("first-pass", "assert")
    });
    world.service.always(|_| Answer::stores_and_hangs());
    for environment in ["a", "b", "c", "d", "e", "f"] {
        world.repo.file(&format!("shop/{environment}/pay.yaml"), doc(1));
    }
    world.repo.commit_pay(21, "Change seven");
    daemon.is_unready_for(&["the last pass failed"]);
    let before = daemon.metric("gitoggle_last_success_timestamp_seconds");
    for age in 22..25 {
        let open = world.service.count();
        world.repo.commit_pay(age, "Change pay again");
        world.service.wait_for(open + 1);
        daemon.is_unready_for(&["the last pass failed"]);
    }
    assert_eq!(daemon.metric("gitoggle_last_success_timestamp_seconds"), before);
    daemon.stops_cleanly();
}

#[test]
fn a_refused_change_that_was_taken_back_is_tried_again_when_it_comes_back() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|request| match request.comment().as_str() {
        "Too early" => Answer::json(409, r#"{"message": "not before Monday"}"#),
        _ => Answer::applied(),
    });
    world.repo.commit_pay(21, "Too early");
    daemon.becomes("shop/prod/pay", "failed");
    world.repo.commit_pay(18, "Take it back");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.repo.commit_pay(21, "Now");
    world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(21, "Too early")), ("shop/prod/pay", body(21, "Now"))]);
    daemon.stops_cleanly();
}
