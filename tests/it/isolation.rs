//! A toggle that fails alone does not block other toggles, in `apply` with an empty disk and in the daemon.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::answer::Gate;
use crate::support::http::Endpoint;
use crate::support::proxy::Proxy;
use crate::support::{Answer, Daemon, Request, World, body, doc, eventually};

/// A world with these toggles in one commit and nothing applied.
fn new(toggles: &[&str]) -> World {
    let world = World::new();
    for toggle in toggles {
        world.repo.file(&format!("{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    world
}

/// Responds with `answer` to requests for toggles that begin with `bad`, and accepts all others.
fn fails(world: &World, bad: &'static str, answer: &Answer) {
    let answer = answer.clone();
    world.service.always(move |request| {
        let toggle = request.toggle();
        let key = toggle.rsplit('/').next().unwrap_or_default();
        match key.starts_with(bad) {
            true => answer.clone(),
            false => Answer::applied(),
        }
    });
}

/// Runs passes, each with an empty disk, until the service has accepted all of `good`. Returns the number of
/// passes.
fn passes_until_applied(world: &World, good: &[&str]) -> usize {
    let mut missing: Vec<String> = good.iter().map(|toggle| (*toggle).to_owned()).collect();
    for pass in 1..=60 {
        world
            .apply()
            .set("state-dir", world.path(&format!("disk{pass}")))
            .set("first-pass", "assert")
            .set("give-up-after", "100ms")
            .exit(1)
            .any_output();
        for request in world.service.take().iter().filter(|request| request.stored) {
            missing.retain(|toggle| *toggle != request.toggle());
        }
        if missing.is_empty() {
            return pass;
        }
    }
    panic!("starved: {missing:?}");
}

#[test]
fn a_first_toggle_that_fails_keeps_no_other_from_being_applied() {
    let toggles = ["shop/prod/bad", "shop/prod/pay", "shop/prod/search"];
    for answer in [
        Answer::status(404),
        Answer::status(302).header("Location", "/login"),
        Answer::json(403, "{}"),
        Answer::json(422, "{}"),
    ] {
        let world = new(&toggles);
        fails(&world, "bad", &answer);
        let passes = passes_until_applied(&world, &["shop/prod/pay", "shop/prod/search"]);
        assert_eq!(passes, 1, "{answer:?}");
    }
}

#[test]
fn eight_toggles_that_always_fail_keep_no_other_from_being_applied() {
    let bad: Vec<String> = (0..8).map(|number| format!("shop/prod/bad{number}")).collect();
    let mut toggles: Vec<&str> = bad.iter().map(String::as_str).collect();
    toggles.extend(["shop/prod/pay", "web/prod/pay"]);
    let world = new(&toggles);
    fails(&world, "bad", &Answer::json(500, r#"{"message": "null pointer"}"#));
    passes_until_applied(&world, &["shop/prod/pay", "web/prod/pay"]);
}

#[test]
fn a_toggle_that_fails_alone_is_failed_with_its_response_and_the_daemon_is_ready() {
    let world = new(&["shop/prod/bad", "shop/prod/pay"]);
    fails(&world, "bad", &Answer::json(500, r#"{"message": "null pointer"}"#));
    let daemon = Daemon::ready(&world, |run| run.set("first-pass", "assert"));
    daemon.becomes("shop/prod/bad", "failed");
    daemon.becomes("shop/prod/pay", "in_sync");
    let ready = daemon.endpoint.get("/readyz").unwrap();
    assert_eq!(ready.status, 200, "{}", ready.body);
    assert!(ready.body.contains("1 failed in shop/prod (failed alone)"), "{}", ready.body);
    world.status().exit(1).says(&["failed", "shop/prod/bad", "null pointer"]);
    daemon.stops_cleanly();

    // The state folder stores the toggle's own backoff across restarts.
    world.service.take();
    let daemon = Daemon::ready(&world, |run| run);
    daemon.becomes("shop/prod/bad", "failed");
    assert_eq!(world.service.count(), 0, "{:?}", world.service.requests());
    fails(&world, "none", &Answer::applied());
    assert_eq!(daemon.order("/reconcile", ""), 202);
    daemon.becomes("shop/prod/bad", "in_sync");
    daemon.stops_cleanly();
}

#[test]
fn a_wrong_path_in_the_base_url_is_not_a_success() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|_| Answer::json(404, r#"{"message": "no route"}"#));
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["404", "`--base-url`"]);
    daemon.becomes("shop/prod/pay", "pending");
    world.service.always(|_| Answer::applied());
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_pass_without_an_applied_or_refused_toggle_is_not_a_success() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    world.service.always(|_| Answer::json(503, r#"{"message": "in maintenance"}"#));
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["applied and refused nothing", "in maintenance"]);
    daemon.stops_cleanly();
    world.status().exit(0).says(&["pending", "in maintenance"]);
}

#[test]
fn an_apply_outlasts_a_service_that_restarts() {
    let world = World::new();
    for number in 0..12 {
        world.repo.file(&format!("shop/prod/t{number:02}.yaml"), doc(18));
    }
    world.repo.commit("Add twelve");
    let count = Arc::new(AtomicUsize::new(0));
    world.service.always(move |_| match count.fetch_add(1, Ordering::SeqCst) {
        0..11 => Answer::closes(),
        _ => Answer::applied(),
    });
    world.apply().set("first-pass", "assert").exit(0).any_output();
    let requests = world.service.take();
    let stored = requests.iter().filter(|request| request.stored).count();
    assert_eq!(stored, 12);
    assert!(requests[10].at - requests[9].at >= Duration::from_millis(400), "the pass pauses");
}

#[test]
fn a_toggle_that_fails_in_an_outage_did_not_fail_alone() {
    for answer in [
        Answer::json(503, r#"{"message": "in maintenance"}"#),
        Answer::json(403, r#"{"message": "limit exceeded"}"#).header("Retry-After", "100"),
    ] {
        let world = World::new();
        for number in 0..40 {
            world.repo.file(&format!("shop/prod/t{number:02}.yaml"), doc(18));
        }
        world.repo.commit("Add forty");
        let (count, down) = (AtomicUsize::new(0), answer.clone());
        // The first outage is over before the pass gives up.
        world.service.always(move |_| match count.fetch_add(1, Ordering::SeqCst) {
            0..5 | 17..22 => Answer::applied(),
            _ => down.clone(),
        });
        let run = || world.apply().set("first-pass", "assert").set("give-up-after", "3s");
        run().exit(1).any_output();
        let failed = || {
            let failures = std::fs::read_to_string(world.path("state/failures.json")).unwrap_or_default();
            failures.contains("failed_alone")
        };
        assert!(!failed(), "{answer:?}");
        world.service.always(|_| Answer::applied());
        run().exit(0).any_output();
    }
}

#[test]
fn a_toggle_whose_last_request_was_not_sent_did_not_fail_alone() {
    let world = new(&["shop/prod/a", "shop/prod/b", "shop/prod/c"]);
    let proxy = Arc::new(Proxy::to(&format!("127.0.0.1:{}", world.service.port())));
    let cut = Arc::clone(&proxy);
    world.service.always(move |_| {
        cut.leads_to(&Endpoint::free().address());
        Answer::applied().header("Connection", "close")
    });
    let run = || world.apply().set("first-pass", "assert").env("HTTPS_PROXY", proxy.url());
    let needles = ["applied 1 of 3 changes, 2 pending", "could not connect to"];
    run().exit(1).stdout_contains(&needles).stderr_contains(&["no useful response from the service"]);
    let failures = std::fs::read_to_string(world.path("state/failures.json")).unwrap_or_default();
    assert!(!failures.contains("failed_alone"), "{failures}");
    assert_eq!(world.service.take().len(), 1);
}

#[test]
fn few_requests_are_open_until_a_toggle_is_applied() {
    let world = World::new();
    for environment in 0..8 {
        world.repo.file(&format!("shop/e{environment}/a.yaml"), doc(18));
    }
    world.repo.commit("Add eight");
    let gate = Gate::default();
    let closed = gate.clone();
    world.service.always(move |_| Answer::applied().behind(&closed));
    let apply = world.apply().set("first-pass", "assert").start();
    world.service.wait_for(3);
    // Three times the duration of three requests.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(world.service.count(), 3);
    gate.open();
    assert_eq!(apply.wait(), Some(0));
    assert_eq!(world.service.count(), 8);
}

/// A world with twenty toggles in one environment, of which one is answered with a `Retry-After` of an hour.
fn one_of_twenty_waits() -> World {
    let toggles: Vec<String> = (0..19).map(|number| format!("shop/prod/t{number:02}")).collect();
    let mut toggles: Vec<&str> = toggles.iter().map(String::as_str).collect();
    toggles.push("shop/prod/slow");
    let world = new(&toggles);
    fails(&world, "slow", &Answer::json(429, "{}").header("Retry-After", "3600"));
    world
}

#[test]
fn a_retry_after_of_one_toggle_holds_back_no_other() {
    let world = one_of_twenty_waits();
    world
        .apply()
        .set("first-pass", "assert")
        .exit(1)
        .stdout_contains(&["applied 19 of 20 changes"])
        .any_stderr();
    assert_eq!(world.service.take().len(), 20);
}

#[test]
fn a_retry_after_of_one_toggle_outlives_the_pass_for_that_toggle_only() {
    let world = one_of_twenty_waits();
    let daemon = Daemon::ready(&world, |run| run.set("first-pass", "assert").set("poll-interval", "200ms"));
    daemon.becomes("shop/prod/slow", "failed");
    world.service.take();
    world.repo.file("shop/prod/t07.yaml", doc(21)).commit("Change one");
    world.service.wait_for(1);
    daemon.becomes("shop/prod/t07", "in_sync");
    let sent: Vec<String> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/t07"]);
    let failures = std::fs::read_to_string(world.path("state/failures.json")).unwrap();
    let failures: serde_json::Value = serde_json::from_str(&failures).unwrap();
    let retry_at = failures["tries"]["shop/prod/slow"]["alone"]["retry_at"].as_u64().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    assert!(retry_at > now.as_secs() + 3000, "{failures}");
    daemon.stops_cleanly();
}

#[test]
fn retry_after_delays_a_newer_commit_and_the_daemon_reports_it() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms").set("stale-after", "1s"));
    world.service.answers([Answer::json(429, "{}").header("Retry-After", "4")]);
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    world.repo.commit_pay(22, "Change it again");
    eventually("the wait to be shown", || {
        let text = daemon.endpoint.get("/readyz")?.body;
        let is_shown = text.contains("waiting until") && text.contains("(Retry-After)");
        is_shown.then_some(())
    });
    world.service.wait_for(2);
    let requests: Vec<Request> = world.service.take();
    let waited = requests[1].at - requests[0].at;
    assert!(waited >= Duration::from_secs(4), "{waited:?}");
    assert_eq!(requests[1].body(), body(22, "Change it again"));
    daemon.is_ready();
    daemon.stops_cleanly();
}
