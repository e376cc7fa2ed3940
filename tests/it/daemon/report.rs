//! What a pass did not do: the log, `/readyz`, the metrics, the page and the status report the same.

use serde_json::{Value, json};

use crate::support::{Answer, Daemon, Request, World, doc, eventually};

/// Returns the log lines of one event.
fn events(daemon: &Daemon, event: &str) -> Vec<Value> {
    let lines = daemon.log();
    let lines = lines.lines().filter_map(|line| serde_json::from_str(line).ok());
    lines.filter(|line: &Value| line["event"] == event).collect()
}

/// Waits for the next log line of an event that is not among the first `seen`.
#[track_caller]
fn event(daemon: &Daemon, event: &str, seen: usize) -> Value {
    eventually(&format!("{event} in the log"), || events(daemon, event).get(seen).cloned())
}

fn body(daemon: &Daemon, path: &str) -> String {
    daemon.endpoint.get(path).unwrap().body
}

/// Returns the first line of `/readyz`, which counts, without those that explain.
fn readyz(daemon: &Daemon) -> String {
    let text = body(daemon, "/readyz");
    text.lines().next().unwrap_or_default().to_owned()
}

fn refusing(world: &World, toggle: &'static str) {
    world.service.always(move |request: &Request| match request.toggle() == toggle {
        true => Answer::json(422, r#"{"message": "no such attribute"}"#),
        false => Answer::applied(),
    });
}

#[test]
fn a_first_pass_without_a_decision_is_reported_everywhere() {
    let world = World::new();
    for environment in 0..15 {
        // 14 × 18 + 27 = 279
        for toggle in 0..if environment == 0 { 27 } else { 18 } {
            let path = format!("shop/e{environment:02}/t{toggle:02}.yaml");
            world.repo.file(&path, doc(18));
        }
    }
    world.repo.commit("Add all");
    let daemon = Daemon::ready(&world, |run| run);
    let summary = "279 held in 15 environments: first pass (279)";
    let line = event(&daemon, "withheld", 0);
    assert_eq!(line["message"], summary);
    assert_eq!((&line["held"], &line["failed"]), (&json!(279), &Value::Null));
    assert_eq!(line["reasons"], "first_pass=279");
    assert_eq!(line["environment_count"], 15);
    let environments = line["environments"].as_str().unwrap();
    assert!(environments.ends_with("shop/e09 and 5 more environments"), "{environments}");

    assert_eq!(readyz(&daemon), format!("ready; {summary}"));
    assert_eq!(daemon.metric(r#"gitoggle_withheld{reason="first_pass"}"#), Some(279.0));
    assert_eq!(daemon.metric(r#"gitoggle_withheld{reason="rail"}"#), Some(0.0));
    assert_eq!(daemon.metric(r#"gitoggle_toggles{state="held"}"#), Some(279.0));
    let page = body(&daemon, "/");
    for shown in [
        r#"<h1 id="verdict">Ready, 279 toggles are waiting</h1>"#,
        &format!(r#"<ul id="remarks"><li>{summary}</li></ul>"#),
        r##"data-state="held" href="?environment=shop%2Fe00&amp;state=held#toggles">27 held</a> first pass"##,
        r##"data-state="held" href="?environment=shop%2Fe14&amp;state=held#toggles">18 held</a> first pass"##,
    ] {
        assert!(page.contains(shown), "{shown} in {page}");
    }
    let status = daemon.status().unwrap();
    assert_eq!(status["groups"].as_array().unwrap().len(), 15, "{status}");
    let first = json!({ "state": "held", "environment": "shop/e00", "reason": "first_pass", "count": 27 });
    assert_eq!(status["groups"][0], first);
    assert_eq!(status["remarks"], json!([summary]));

    // Another pass changes nothing, and is not reported again.
    assert_eq!(daemon.order("/reconcile", ""), 202);
    eventually("another pass", || (daemon.passes() >= 2.0).then_some(()));
    assert_eq!(events(&daemon, "withheld").len(), 1, "{}", daemon.log());
    daemon.stops_cleanly();

    let again = Daemon::ready(&world, |run| run);
    assert_eq!(event(&again, "withheld", 0)["message"], summary, "also at startup");
    world.nothing_sent();
}

#[test]
fn what_changes_is_reported_once_and_so_is_its_end() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(body(&daemon, "/readyz"), "ready\n");
    assert!(body(&daemon, "/").contains(r#"<h1 id="verdict">Ready</h1>"#));

    refusing(&world, "shop/prod/pay");
    world
        .repo
        .file("shop/prod/pay.yaml", doc(19))
        .file("shop/prod/bad.yaml", "nonsense\n")
        .commit("One is refused, the other invalid");
    let line = event(&daemon, "withheld", 0);
    let summary = "1 held in shop/prod (invalid), 1 failed in shop/prod (refused)";
    assert_eq!(line["message"], summary);
    assert_eq!((&line["held"], &line["failed"]), (&json!(1), &json!(1)));
    assert_eq!(line["reasons"], "invalid=1 refused=1");
    let pass = line["pass"].as_str().unwrap();
    assert_eq!(pass.len(), 8, "{line}");
    for (name, toggle) in [("held", "shop/prod/bad"), ("failed", "shop/prod/pay")] {
        let found = event(&daemon, name, 0);
        assert_eq!((&found["toggle"], &found["pass"]), (&json!(toggle), &json!(pass)));
        assert_eq!(found["target"], Value::Null, "module paths are not an interface");
    }
    eventually("the status", || (readyz(&daemon) == format!("ready; {summary}")).then_some(()));

    world.service.always(|_| Answer::applied());
    world.repo.remove("shop/prod/bad.yaml").commit_pay(20, "Repair both");
    let released = event(&daemon, "released", 0);
    assert_ne!(released["pass"], pass, "another pass");
    assert_eq!(released["pass"], event(&daemon, "published", 0)["pass"]);
    eventually("the status", || (body(&daemon, "/readyz") == "ready\n").then_some(()));
    assert_eq!(daemon.metric(r#"gitoggle_withheld{reason="refused"}"#), Some(0.0));
    assert_eq!(events(&daemon, "withheld").len(), 1, "{}", daemon.log());
}

#[test]
fn a_suspension_is_reported_before_the_first_pass_after_a_restart_ends() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(daemon.order("/suspend", r#"{"reason": "release freeze"}"#), 200);
    world.repo.commit_pay(19, "Change pay");
    daemon.becomes("shop/prod/pay", "pending");
    let remarks = body(&daemon, "/readyz");
    let (before, url) = remarks.split_once("http://127.0.0.1:").unwrap();
    let (_, after) = url.split_once('`').unwrap();
    assert_eq!(before, "ready; suspended: release freeze; `gitoggle resume --url ");
    assert_eq!(after, " publishes again; 1 pending in shop/prod (suspended)\n");
    daemon.stops_cleanly();

    // A source that is not there keeps the first pass from succeeding.
    let gone = world.path("gone");
    std::fs::rename(world.repo.path(), &gone).unwrap();
    let daemon = Daemon::start(&world, |run| run);
    let line = event(&daemon, "suspended", 0);
    assert_eq!(line["reason"], "release freeze");
    let status = eventually("the status", || daemon.status().filter(|status| !status["suspended"].is_null()));
    assert_eq!(status["suspended"], json!({ "reason": "release freeze", "until": null }));
    assert_eq!(daemon.metric("gitoggle_suspended"), Some(1.0));
    let page = body(&daemon, "/");
    assert!(page.contains("<li>suspended: release freeze"), "{page}");
}

#[test]
fn every_time_of_the_status_is_rfc_3339_in_utc() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(daemon.order("/suspend", r#"{"for": "2h"}"#), 200);
    let status = daemon.status().unwrap();
    for time in [&status["last_pass"]["at"], &status["last_success"], &status["suspended"]["until"]] {
        let text = time.as_str().unwrap_or_else(|| panic!("{time} in {status}"));
        let parsed = text.parse::<jiff::Timestamp>();
        assert!(parsed.is_ok() && text.ends_with('Z') && text.len() == 20, "{text}");
    }
    assert_eq!(status["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(status["service"], world.service.url());
}

#[test]
fn every_command_is_logged_with_the_callers_address() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let commands = [
        ("/suspend", r#"{"reason": "freeze", "for": "2h"}"#, "suspend"),
        ("/resume", "", "resume"),
        ("/reconcile", "", "reconcile"),
    ];
    for (seen, (path, body, command)) in commands.into_iter().enumerate() {
        assert!([200, 202].contains(&daemon.order(path, body)), "{path}");
        let line = event(&daemon, "command", seen);
        assert_eq!(line["command"], command);
        assert!(line["caller"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
    }
    let line = &events(&daemon, "command")[0];
    assert_eq!(line["reason"], "freeze");
    assert!(line["until"].as_str().unwrap().ends_with('Z'), "{line}");
    assert_eq!(daemon.endpoint.post("/resume", &[], b"").status, 401);
    let line = event(&daemon, "command_refused", 0);
    assert!(line["caller"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
}

#[test]
fn what_stays_as_it_was_is_logged_once() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Add bad");
    event(&daemon, "held", 0);
    refusing(&world, "shop/prod/pay");
    world.repo.commit_pay(19, "Change pay");
    event(&daemon, "failed", 0);
    // A retry that is asked for ends in the same refusal.
    assert_eq!(daemon.order("/reconcile", ""), 202);
    world.service.wait_for(2);
    world.repo.file("shop/prod/zoo.yaml", doc(20)).commit("Add zoo");
    event(&daemon, "published", 0);
    assert_eq!(events(&daemon, "failed").len(), 1, "{}", daemon.log());
    assert_eq!(events(&daemon, "held").len(), 1, "{}", daemon.log());
}

#[test]
fn a_large_group_is_counted_so_that_single_toggles_stand_out() {
    let world = World::new();
    for toggle in 0..32 {
        world.repo.file(&format!("shop/prod/t{toggle:02}.yaml"), doc(18));
    }
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Add all");
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(event(&daemon, "held_more", 0)["count"], 32);
    let held = events(&daemon, "held");
    assert_eq!(held.len(), 1, "{}", daemon.log());
    let expected = (&json!("shop/prod/bad"), &json!("invalid"));
    assert_eq!((&held[0]["toggle"], &held[0]["kind"]), expected);
}

#[test]
fn answers_and_retries_are_logged_for_those_who_debug() {
    let busy = Answer::json(503, "{}").header("X-Request-Id", "req-4711");
    for (level, expected) in [("debug", 1), ("info", 0)] {
        let world = World::with_pay_applied();
        let daemon = Daemon::ready(&world, |run| run.set("log-level", level));
        world.service.answers([busy.clone()]);
        world.repo.commit_pay(19, "Change pay");
        event(&daemon, "published", 0);
        let retries = events(&daemon, "retry");
        assert_eq!(retries.len(), expected, "{}", daemon.log());
        let Some(retry) = retries.first() else { continue };
        assert_eq!((&retry["toggle"], &retry["attempt"]), (&json!("shop/prod/pay"), &json!(1)));
        let answers = events(&daemon, "answered");
        assert_eq!((&answers[0]["status"], &answers[1]["status"]), (&json!(503), &json!(200)));
        assert_eq!(answers[0]["request_id"], "req-4711");
        assert!(answers[0]["took_ms"].is_number(), "{}", answers[0]);
        assert_eq!(answers[0]["pass"], retry["pass"]);
    }
}

#[test]
fn the_log_and_readyz_say_what_to_do() {
    let world = World::new();
    let toggles: Vec<String> = (0..12).map(|toggle| format!("shop/prod/t{toggle:02}.yaml")).collect();
    for path in &toggles {
        world.repo.file(path, doc(18));
    }
    world.repo.commit("Add twelve");
    world.settle();
    let daemon = Daemon::ready(&world, |run| run);
    for path in &toggles[..6] {
        world.repo.file(path, doc(21));
    }
    world
        .repo
        .file("shop/prod/bad.yaml", doc(18).replace("select: 1", "selekt: 1"))
        .commit("Change six, and add a mistake");
    let rail = event(&daemon, "held_more", 0);
    assert_eq!((&rail["kind"], &rail["environment"]), (&json!("rail"), &json!("shop/prod")));
    let command = "`gitoggle allow mass-change shop/prod --url http://127.0.0.1:";
    assert!(rail["reason"].as_str().unwrap().contains(command), "{rail}");
    let invalid = event(&daemon, "held", 0)["reason"].as_str().unwrap().to_owned();
    assert!(invalid.starts_with("shop/prod/bad.yaml:10:16: a serve has no `selekt`"), "{invalid}");
    let text = eventually("both", || {
        Some(body(&daemon, "/readyz")).filter(|text| text.contains("6 more") || text.contains("5 more"))
    });
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[0], "ready; 7 held in shop/prod: rail (6), invalid (1)");
    let explained =
        |start: &str, part: &str| lines.iter().any(|line| line.starts_with(start) && line.contains(part));
    assert!(explained("rail: shop/prod/t00 and 5 more: ", command), "{text}");
    assert!(explained("invalid: shop/prod/bad: ", &invalid), "{text}");
    daemon.stops_cleanly();
}

#[test]
fn a_pass_with_many_changes_is_logged_as_counts_with_one_line_for_each_failure() {
    let world = World::new();
    for toggle in 0..40 {
        world.repo.file(&format!("shop/prod/t{toggle:02}.yaml"), doc(18));
    }
    world.repo.commit("Add forty");
    refusing(&world, "shop/prod/t07");
    let daemon = Daemon::ready(&world, |run| run.set("first-pass", "assert"));
    let line = event(&daemon, "applied", 0);
    let counts = ["applied", "failed", "held", "pending"].map(|state| line[state].as_u64().unwrap());
    assert_eq!(counts, [39, 1, 0, 0]);
    assert_eq!(events(&daemon, "failed").len(), 1, "{}", daemon.log());
    for name in ["order_drawn", "published"] {
        assert_eq!(events(&daemon, name).len(), 0, "{}", daemon.log());
    }
    daemon.stops_cleanly();
}

#[test]
fn a_service_that_hangs_is_in_doubt_before_the_pass_has_failed() {
    let world = World::new();
    for toggle in ["a", "b", "c", "d", "e"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add five");
    world.settle();
    let daemon = Daemon::ready(&world, |run| {
        let run = run.set("timeout", "700ms").set("give-up-after", "1500ms");
        run.set("max-change-ratio", "1")
    });
    world.service.always(|_| Answer::stores_and_hangs());
    for toggle in ["a", "b", "c", "d", "e"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    world.repo.commit("Change five");
    let doubt = "ready; no useful response from the service to 2 toggles in a row; the last: ";
    eventually("doubt", || body(&daemon, "/readyz").starts_with(doubt).then_some(()));
    daemon.is_unready_for(&[
        "the last pass failed: the service gave no useful response for 1.5 s (`--give-up-after`)",
        "check the service",
    ]);
    let took = daemon.status().unwrap()["last_pass"]["took_ms"].as_u64().unwrap();
    assert!(took < 10_000, "{took} ms, where four tries of five toggles take 14 s");
    world.service.always(|_| Answer::applied());
    daemon.is_ready();
    daemon.stops_cleanly();
}
