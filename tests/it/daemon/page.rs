//! The status page and the read endpoints of a running daemon, as a person and a script use them.

use serde_json::Value;

use crate::support::answer::Gate;
use crate::support::{ADMIN, Answer, Daemon, Request, World, doc, eventually};

/// A world whose environment `shop/test` waits for a decision on its first pass.
fn waiting() -> World {
    let world = World::with_pay_applied();
    world.repo.file("shop/test/pay.yaml", doc(21)).commit("Add <b>pay</b> to test");
    world
}

#[track_caller]
fn page(daemon: &Daemon, path: &str, part: &str) -> String {
    eventually(part, || {
        let reply = daemon.endpoint.get(path)?;
        assert_eq!(reply.status, 200, "{}", reply.body);
        reply.body.contains(part).then_some(reply.body)
    })
}

/// Returns the commands of a page, as a browser shows them.
fn commands(page: &str) -> Vec<String> {
    let parts = page.split("<div class=\"command\"><code tabindex=\"0\">").skip(1);
    parts.map(|part| part.split("</code>").next().unwrap().replace("&amp;", "&")).collect()
}

#[test]
fn a_person_finds_what_waits_and_a_copied_command_releases_it() {
    let world = waiting();
    let daemon = Daemon::ready(&world, |run| run);
    let shown = page(&daemon, "/", "<h1 id=\"verdict\">Ready, 1 toggle is waiting</h1>");
    for part in [
        "1 held in shop/test (first pass)",
        "Add &lt;b&gt;pay&lt;/b&gt; to test",
        "data-toggle=\"shop/test/pay\"",
        "data-state=\"held\"",
        "<span class=\"add\">+",
    ] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
    let commands = commands(&shown);
    let revision = &world.repo.git(&["rev-parse", "HEAD"])[..10];
    let url = format!("--revision {revision} --url http://{}", daemon.endpoint.address());
    let expected = |what: &str| format!("gitoggle allow {what} shop/test {url}");
    assert_eq!(commands, ["first-pass-adopt", "first-pass-assert"].map(expected));
    world.nothing_sent();
    world
        .bare(commands[1].strip_prefix("gitoggle ").unwrap())
        .env("GITOGGLE_ADMIN_TOKEN", ADMIN)
        .exit(0)
        .any_output();
    world.service.wait_for(1);
    let shown = page(&daemon, "/", "<h1 id=\"verdict\">Ready</h1>");
    assert!(shown.contains("All 2 toggles are in sync."), "{shown}");
    let toggle = page(&daemon, "/?toggle=shop/test/pay", "shop/test/");
    let log = self::commands(&toggle).pop().unwrap();
    assert!(log.starts_with("gitoggle log shop/test/pay -p --repo "), "{log}");
    let ran = world.bare("log").shell(&log);
    assert!(String::from_utf8_lossy(&ran.stdout).contains("create shop/test/pay"), "{log}");
    assert!(toggle.contains("data-state=\"in_sync\"") && toggle.contains("shop/test/pay.yaml"), "{toggle}");
    let sent = world.service.take();
    assert_eq!(sent.iter().map(Request::toggle).collect::<Vec<_>>(), ["shop/test/pay"]);
    daemon.stops_cleanly();
}

#[test]
fn a_change_that_is_being_published_is_pending_and_not_in_sync() {
    let world = World::with_pay_and_search_applied();
    let daemon = Daemon::ready(&world, |run| run);
    page(&daemon, "/", "All 2 toggles are in sync.");
    let gate = Gate::default();
    let closed = gate.clone();
    world.service.always(move |_| Answer::applied().behind(&closed));
    world.repo.file("shop/prod/new.yaml", doc(21));
    world.repo.commit_pay(21, "Change pay, and add another");
    world.service.wait_for(1);
    let shown = page(&daemon, "/", "data-state=\"pending\"");
    assert!(!shown.contains("are in sync."), "{shown}");
    for (toggle, state) in [("new", "pending"), ("pay", "pending"), ("search", "in_sync")] {
        daemon.becomes(&format!("shop/prod/{toggle}"), state);
    }
    assert_eq!(daemon.metric("gitoggle_toggles{state=\"pending\"}"), Some(2.0));
    gate.open();
    daemon.becomes("shop/prod/pay", "in_sync");
    page(&daemon, "/", "All 3 toggles are in sync.");
    daemon.stops_cleanly();
}

#[test]
fn the_plan_of_the_daemon_is_what_the_command_prints() {
    let world = waiting();
    let daemon = Daemon::ready(&world, |run| run);
    page(&daemon, "/", "1 toggle is waiting");
    let shown = daemon.endpoint.get("/api/plan").unwrap().json();
    // Ids and digests are masked in what a command prints.
    let parts = |plan: &Value| {
        let held = &plan["held"][0];
        let parts = [&plan["version"], &plan["summary"], &plan["changes"], &held["kind"]];
        // Each names its commands with the flags of its run, of which the daemon's is its address, and the ways
        // out of its readers.
        let reason = held["reason"].as_str().unwrap().replace(" for a running daemon", "");
        let (before, after) = reason.split_once(" --url ").unwrap_or((&reason, ""));
        let after = after.split_once('`').map_or(String::new(), |(_, after)| format!("`{after}"));
        (
            parts.map(Value::clone),
            format!("{before}{after}"),
            held["change"]["sentences"].clone(),
            held["change"]["content"].clone(),
        )
    };
    world
        .plan()
        .set("output", "json")
        .exit(0)
        .stdout_json(|printed| assert_eq!(parts(&shown), parts(printed)));
    assert_eq!(shown["held"][0]["toggle"], "shop/test/pay");
    daemon.stops_cleanly();
}

#[test]
fn the_plan_is_read_in_pages() {
    let world = waiting();
    for number in 0..6 {
        world.repo.file(&format!("shop/test/t{number}.yaml"), doc(21));
    }
    world
        .repo
        .file("shop/test/bad.yaml", "nonsense\n")
        .file("other.yaml", "name: other\n")
        .commit("Add more");
    let daemon = Daemon::ready(&world, |run| run);
    page(&daemon, "/", "8 toggles are waiting");
    let whole = daemon.endpoint.get("/api/plan").unwrap().json();
    assert_eq!(whole["next"], Value::Null);
    let mut parts: Vec<Value> = Vec::new();
    let mut path = "/api/plan?limit=3".to_owned();
    loop {
        let part = daemon.endpoint.get(&path).unwrap().json();
        let next = part["next"].as_str().map(str::to_owned);
        parts.push(part);
        let Some(next) = next else { break };
        path = format!("/api/plan?limit=3&after={next}");
    }
    let held = |plan: &Value| plan["held"].as_array().unwrap().clone();
    assert_eq!(parts.iter().map(|part| held(part).len()).collect::<Vec<_>>(), [3, 3, 2]);
    assert_eq!(parts.iter().flat_map(held).collect::<Vec<_>>(), held(&whole));
    // What belongs to no toggle is on the first page, and each other finding where its toggle is.
    let findings = |plan: &Value| plan["findings"].as_array().unwrap().clone();
    assert_eq!(findings(&parts[0]), findings(&whole));
    assert!(findings(&parts[0]).len() >= 2 && findings(&parts[1]).is_empty(), "{parts:?}");
    for part in &parts {
        assert_eq!((&part["digest"], &part["summary"]), (&whole["digest"], &whole["summary"]));
    }
    for query in ["limit=0", "limit=x", "limit=-1", "after=a/b", "page=2"] {
        let reply = daemon.endpoint.get(&format!("/api/plan?{query}")).unwrap();
        assert_eq!(reply.status, 400, "{query}: {}", reply.body);
        assert!(reply.body.contains("for example /api/plan?limit=100"), "{}", reply.body);
    }
    daemon.stops_cleanly();
}

#[test]
fn when_a_toggle_was_applied_is_on_the_page_and_in_the_status() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    let status = daemon.endpoint.get("/api/status").unwrap().json();
    let history = daemon.endpoint.get("/api/history").unwrap().json();
    let at = history["deployments"][0]["at"].as_str().unwrap();
    assert_eq!(status["toggles"][0]["applied_at"], at, "{status}");
    for path in ["/", "/?toggle=shop/prod/pay"] {
        let shown = page(&daemon, path, "<h1");
        let cell = shown.split("<h2 id=\"history-title\"").next().unwrap();
        assert!(cell.contains(&format!("<time datetime=\"{at}\"")), "{path}\n{shown}");
    }
    daemon.stops_cleanly();
}

#[test]
fn what_is_wrong_with_an_invalid_document_is_on_the_page() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21).replace("rules", "ruels")).commit("Break pay");
    let daemon = Daemon::ready(&world, |run| run);
    for path in ["/", "/?toggle=shop/prod/pay"] {
        let shown = page(&daemon, path, "error[unknown-key]: `content` has no `ruels`");
        assert_eq!(commands(&shown).last().unwrap(), "gitoggle validate shop/prod/pay.yaml");
    }
    daemon.stops_cleanly();
    world.nothing_sent();
}

#[test]
fn an_open_page_survives_a_restart() {
    let world = waiting();
    let daemon = Daemon::ready(&world, |run| run);
    let shown = page(&daemon, "/", "1 toggle is waiting");
    let version = |page: &str| page.split("data-version=\"").nth(1).unwrap()[..16].to_owned();
    let tag = format!("\"{}\"", version(&shown));
    let again =
        |daemon: &Daemon, tag: &str| daemon.endpoint.get_with("/", &[("If-None-Match", tag)]).unwrap().status;
    eventually("no body while nothing changes", || (again(&daemon, &tag) == 304).then_some(()));
    daemon.stops_cleanly();
    let daemon = Daemon::ready(&world, |run| run);
    // Another pass has ended since then.
    eventually("the page of the new process", || (again(&daemon, &tag) == 200).then_some(()));
    daemon.stops_cleanly();
}

#[test]
fn a_page_token_protects_what_shows_targeting() {
    let world = waiting();
    let token = world.write("page-token", "page-token-4711\n");
    let daemon = Daemon::ready(&world, |run| run.set("page-token-file", token));
    for path in ["/", "/api/status", "/api/plan"] {
        let refused = daemon.endpoint.get(path).unwrap();
        assert_eq!(refused.status, 401, "{path}");
        assert!(!refused.body.contains("shop"), "{}", refused.body);
        // `:page-token-4711`, as a browser sends it.
        for right in ["Bearer page-token-4711", "Basic OnBhZ2UtdG9rZW4tNDcxMQ=="] {
            let reply = daemon.endpoint.get_with(path, &[("Authorization", right)]).unwrap();
            assert_eq!(reply.status, 200, "{path}: {}", reply.body);
        }
    }
    // The command reads the planned revision from the status.
    world
        .bare("allow first-pass-adopt shop/test")
        .set("url", format!("http://{}", daemon.endpoint.address()))
        .env("GITOGGLE_ADMIN_TOKEN", ADMIN)
        .exit(0)
        .any_output();
    assert!(!daemon.log().contains("page-token-4711"), "{}", daemon.log());
    daemon.stops_cleanly();
}
