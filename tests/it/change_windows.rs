//! Change windows: what waits for one, what passes, and what a daemon does when one opens.

use std::time::Duration;

use serde_json::Value;

use crate::support::{Answer, Daemon, Gitoggle, World, doc};

const FREEZE: &str = "2020-01-01 - 2099-12-31";

/// A world with three changes to applied toggles, one of which only switches a toggle off.
fn three_changes() -> World {
    let world = World::new();
    for name in ["one", "two", "off"] {
        world.repo.file(&format!("shop/prod/{name}.yaml"), doc(18));
    }
    world.repo.commit("Add three");
    world.settle();
    world.service.take();
    world.repo.file("shop/prod/one.yaml", doc(21)).commit("Change one");
    world.repo.file("shop/prod/two.yaml", doc(21)).commit("Change two");
    let off = doc(18).replace("disabled: false", "disabled: true");
    world.repo.file("shop/prod/off.yaml", off).commit("Switch it off");
    world
}

/// Writes the settings with a window that denies `at`.
fn deny(world: &World, at: &str) -> std::path::PathBuf {
    let entry = format!("{{ deny: \"shop/**\", at: \"{at}\", zone: UTC }}");
    world.write("config.yaml", &format!("windows:\n  - {entry}\n"))
}

fn sent(world: &World) -> Vec<String> {
    let sent = world.service.take();
    sent.iter().map(crate::support::Request::toggle).collect()
}

#[test]
fn a_switch_off_passes_with_a_change_that_waits_and_serves_what_it_would_serve_alone() {
    let world = three_changes();
    let config = deny(&world, FREEZE);
    let apply = |code| drop(world.apply().set("config", &config).exit(code).any_output());
    apply(4);
    assert_eq!(sent(&world), ["shop/prod/off"]);
    let off = |age| doc(age).replace("disabled: false", "disabled: true");
    world.repo.file("shop/prod/one.yaml", off(21)).commit("Switch one off");
    apply(4);
    assert_eq!(sent(&world), ["shop/prod/one"], "with the change that waited");
    // To switch it on again, or to change what it serves while it is off, waits.
    world.repo.file("shop/prod/one.yaml", doc(21)).commit("Switch one on");
    let other = off(18).replace("disabledServe: { select: 0 }", "disabledServe: { select: 1 }");
    assert_ne!(other, off(18));
    world.repo.file("shop/prod/two.yaml", other).commit("Switch two off, to another value");
    apply(4);
    assert_eq!(sent(&world), Vec::<String>::new());
}

#[test]
fn a_freeze_holds_changes_with_the_time_it_ends_and_lets_a_switch_off_pass() {
    let world = three_changes();
    let config = deny(&world, FREEZE);
    let says = [
        "outside the change windows (deny `shop/**` at `2020-01-01 - 2099-12-31`, UTC)",
        "opens Fri 2100-01-01 00:00 UTC",
        "--ignore-windows",
        "Gitoggle-Allow: window",
        "gitoggle allow window shop/prod",
    ];
    world.plan().set("config", &config).exit(4).says(&says);
    assert_eq!(sent(&world), Vec::<String>::new());
    let json = world.apply().set("config", &config).args("-o json").exit(4).any_stderr().json();
    let held: Vec<_> =
        json["held"].as_array().unwrap().iter().map(|one| (&one["kind"], &one["state"])).collect();
    assert_eq!(held, [(&Value::from("window"), &Value::from("held")); 2]);
    assert_eq!(sent(&world), ["shop/prod/off"]);
    world.status().set("config", &config).exit(4).says(&[
        "held",
        "shop/prod/one",
        "outside the change windows",
    ]);
    world.apply().set("config", &config).arg("--ignore-windows").exit(0).any_output();
    assert_eq!(sent(&world), ["shop/prod/one", "shop/prod/two"]);
}

#[test]
fn a_window_that_closes_during_a_pass_holds_what_has_not_been_sent() {
    let world = three_changes();
    let now = jiff::Timestamp::now().as_second();
    // The next full minute that is at least twenty seconds away.
    let closes = (now + 79) / 60 * 60;
    let minute = closes % 86_400 / 60;
    let at = |minute: i64| format!("{:02}:{:02}", minute / 60, minute % 60);
    let config = deny(&world, &format!("Mon-Sun {}-{}", at(minute), at((minute + 720) % 1440)));
    let reach = |moment: i64| {
        let has_come = || (jiff::Timestamp::now().as_second() >= moment).then_some(());
        eventually_within(Duration::from_secs(100), has_come);
    };
    // A gate that stays closed for half a minute ends the test.
    reach(closes - 20);
    let gate = crate::support::answer::Gate::default();
    // A switch-off is sent first, and the first other request is open while the window closes.
    world.service.answers([Answer::applied(), Answer::applied().behind(&gate)]);
    let run = world.apply().set("config", &config).set("timeout", "2m").within_seconds(180);
    let run = std::thread::spawn(move || run.set("output", "json").exit(4).json());
    world.service.wait_for(2);
    assert!(jiff::Timestamp::now().as_second() < closes, "the pass began too late");
    reach(closes + 1);
    gate.open();
    let json = run.join().unwrap();
    let results = json["results"].as_array().unwrap();
    let held: Vec<_> = results.iter().filter(|result| result["kind"] == "window").collect();
    assert_eq!(held.len(), 1, "{json}");
    assert!(held[0]["reason"].as_str().unwrap().contains("outside the change windows"), "{json}");
    assert_eq!(sent(&world).len(), 2);
    world.apply().arg("--ignore-windows").exit(0).any_output();
    assert_eq!(sent(&world).len(), 1);
}

#[test]
fn a_trailer_on_its_commit_lets_a_change_pass_unless_trailers_are_off() {
    let world = three_changes();
    let config = deny(&world, FREEZE);
    world.apply().set("config", &config).exit(4).any_output();
    world.repo.file("shop/prod/one.yaml", doc(30)).commit("Fix it now\n\nGitoggle-Allow: window");
    sent(&world);
    world.apply().set("config", &config).arg("--no-allow-trailer").exit(4).any_output();
    assert_eq!(sent(&world), Vec::<String>::new());
    world.apply().set("config", &config).exit(4).any_output();
    assert_eq!(sent(&world), ["shop/prod/one"]);
}

#[test]
fn zones_need_no_data_of_the_system() {
    let world = three_changes();
    let entry = format!("{{ deny: '**', at: '{FREEZE}', zone: Europe/Berlin }}");
    let config = world.write("config.yaml", &format!("windows:\n  - {entry}\n"));
    let plan = world.plan().set("config", config).env("TZDIR", world.path("none"));
    plan.within_user_namespace("mount -t tmpfs none /usr/share/zoneinfo")
        .exit(4)
        .says(&["opens Fri 2100-01-01 00:00 Europe/Berlin"]);
}

#[test]
fn mistakes_and_windows_in_the_source_are_rejected() {
    let world = three_changes();
    let config = world
        .write("config.yaml", "windows:\n  - { deny: '**', at: 'Fri 16:00-17:00', zone: Europe/Berln }\n");
    world.plan().set("config", &config).exit(64).says(&["unknown time zone `Europe/Berln`", "`windows`"]);
    // Each at its own place, whatever precedes it.
    let entry =
        |scope: &str, zone: &str| format!("  - deny: '{scope}'\n    at: '{FREEZE}'\n    zone: {zone}\n");
    for (scope, zone, place, what) in [
        (
            "shop/prod/* shop/production",
            "UTC",
            "config.yaml:5:24: `windows`",
            "`shop/production` of a window",
        ),
        ("shop/prod/*", "Europe/Berln", "config.yaml:7:11: `windows`", "unknown time zone"),
    ] {
        let text = format!("windows:\n{}{}", entry("**", "UTC"), entry(scope, zone));
        let config = world.write("config.yaml", &text);
        world.plan().set("config", config).exit(64).says(&[place, what]);
    }
    let inside = world.repo.path().join("config.yaml");
    std::fs::write(&inside, format!("windows:\n  - {{ deny: '**', at: '{FREEZE}', zone: UTC }}\n")).unwrap();
    world.plan().set("config", &inside).exit(64).says(&["it must not set `windows`"]);
}

#[test]
fn a_daemon_publishes_when_an_operator_allows_it_and_when_the_window_opens() {
    let world = three_changes();
    let now = jiff::Timestamp::now().as_second();
    // The next full minute that is at least fifteen seconds away.
    let opens = (now + 75) / 60 * 60;
    let minute = opens % 86_400 / 60;
    let minute = if minute == 0 { 1440 } else { minute };
    let config = deny(&world, &format!("Mon-Sun 00:00-{:02}:{:02}", minute / 60, minute % 60));
    world.repo.file("shop/test/x.yaml", doc(18)).commit("Add one elsewhere");
    let daemon = Daemon::start(&world, |run: Gitoggle| {
        run.set("config", &config)
            .set("poll-interval", "1h")
            .set("first-pass", "assert")
            .set("admin-token-file", world.write("admin", "admin-token"))
    });
    daemon.becomes("shop/prod/one", "held");
    assert_eq!(daemon.metric("gitoggle_withheld{reason=\"window\"}"), Some(3.0));
    daemon.says(&["window"]);
    assert_eq!(sent(&world), ["shop/prod/off"]);
    eventually_within(Duration::from_secs(100), || {
        let state = daemon.state("shop/prod/one")?;
        (state == "in_sync").then_some(())
    });
    assert!(jiff::Timestamp::now().as_second() >= opens, "too early");
    daemon.stops_cleanly();
}

/// Waits longer than other tests, because a window opens at a full minute.
fn eventually_within(limit: Duration, check: impl Fn() -> Option<()>) {
    let end = std::time::Instant::now() + limit;
    while check().is_none() {
        assert!(std::time::Instant::now() < end, "the window did not open");
        std::thread::sleep(Duration::from_millis(200));
    }
}
