//! A glob that can never match is an error, and one that matches nothing now is noted in every channel.

use crate::support::{Daemon, Gitoggle, World, doc, eventually};

const FREEZE: &str = "at: '2020-01-01 - 2099-12-31', zone: UTC";

/// Adds a glob to the settings of a run.
type Place = fn(&World, Gitoggle, &str) -> Gitoggle;

/// Each place of a glob that selects toggles without being an argument of the command, with the settings that
/// have `shop/prod/*` and then the glob in that place. None is given by an order to the daemon.
const PLACES: [(&str, Option<Place>); 4] = [
    ("`--only`", Some(|_, run, glob| run.set("only", format!("shop/prod/* {glob}")))),
    ("the change window deny", Some(|world, run, glob| with_window(world, run, "deny", glob))),
    ("the change window allow", Some(|world, run, glob| with_window(world, run, "allow", glob))),
    ("a suspension", None),
];

fn with_window(world: &World, run: Gitoggle, effect: &str, glob: &str) -> Gitoggle {
    let entry = match effect {
        "deny" => format!("{{ deny: \"{glob}\", {FREEZE} }}"),
        _ => format!("{{ {effect}: \"shop/prod/* {glob}\", {FREEZE} }}"),
    };
    run.set("config", world.write(&format!("{effect}.yaml"), &format!("windows:\n  - {entry}\n")))
}

#[test]
fn a_glob_that_matches_no_toggle_is_noted_in_every_channel() {
    for (place, settings) in PLACES {
        let world = World::with_pay_applied();
        let with = |run: Gitoggle| settings.map_or(run.clone(), |settings| settings(&world, run, "web/**"));
        let note = "no toggle matches the glob `web/**` of ";
        let is_noted = |channel: &str, text: &str| {
            let text = text.replace("\\\"", "\"");
            let line = text.lines().find(|line| line.contains(note));
            assert!(line.is_some_and(|line| line.contains(place)), "{place}, {channel}: {text}");
        };
        let daemon = Daemon::ready(&world, with);
        if settings.is_none() {
            assert_eq!(daemon.order("/suspend", r#"{"scope": "web/** shop/prod/none"}"#), 200);
        }
        daemon.says(&[note, place]);
        // Not again at every pass.
        for _ in 0..3 {
            let passes = daemon.passes();
            assert_eq!(daemon.order("/reconcile", ""), 202);
            eventually("another pass", || (daemon.passes() > passes).then_some(()));
        }
        assert_eq!(daemon.said(note), 1, "{place}: {}", daemon.log());
        let plain = |path: &str| daemon.endpoint.get(path).unwrap().body;
        is_noted("/readyz", &plain("/readyz"));
        is_noted("/api/status", &plain("/api/status"));
        let page = plain("/").replace("<code>", "`").replace("</code>", "`");
        is_noted("page", &page);
        daemon.stops_cleanly();
        // Whether a change is due, or the last pass left nothing to do.
        for is_due in [false, true] {
            if is_due {
                world.repo.file("shop/prod/new.yaml", doc(21)).commit("Add another");
            }
            let commands = [world.plan(), world.status(), world.apply()];
            for (command, name) in commands.into_iter().zip(["plan", "status", "apply"]) {
                is_noted(name, &with(command.clone()).exit_in(&[0, 4]).both());
                for form in ["json", "markdown", "github"] {
                    let summary = world.path("summary.md");
                    let run = with(command.clone()).set("output", form).env("GITHUB_STEP_SUMMARY", &summary);
                    let _ = std::fs::remove_file(&summary);
                    let ran = run.exit_in(&[0, 4]).any_stderr();
                    if form == "github" {
                        ran.any_output();
                        is_noted(&format!("{name} -o {form}"), &std::fs::read_to_string(&summary).unwrap());
                    } else {
                        ran.stdout_contains(&["no toggle matches the glob `web/**` of "]);
                    }
                }
            }
        }
        // Once a toggle matches, nothing says so.
        world.repo.file("web/prod/pay.yaml", doc(18)).file("shop/prod/none.yaml", doc(18)).commit("Add web");
        let printed = with(world.plan()).exit_in(&[0, 4]).both();
        assert!(!printed.contains("no toggle matches"), "{place}: {printed}");
    }
}

#[test]
fn a_glob_that_can_never_match_is_an_error_with_what_to_write() {
    for (glob, advice) in [
        ("shop/prod", "`shop/prod/*`"),
        ("!shop/prod/*", "a glob cannot exclude anything"),
        ("shop/^prod/*", "a glob cannot exclude anything"),
        ("*", "use `**`"),
        ("a/b/c/d", "use `**`"),
        ("shop/prod/", "`shop/prod/*`"),
        ("shop//prod", "`shop/prod/*`"),
        ("/shop/prod", "`shop/prod/*`"),
        (".*/**", "`*/**`"),
        ("{shop/prod/*,shop/prod/}", "`shop/prod/*`"),
        ("**/prod/", "`**/prod/*`"),
        ("shop/**.yaml", "`shop/**`"),
        ("shop/prod/[.]*", "`shop/prod/*`"),
    ] {
        let world = World::with_pay_applied();
        let is_refused = |run: Gitoggle| {
            let printed = run.exit(64).both();
            let says = printed.contains("matches no toggle") && printed.contains(advice);
            assert!(says, "{glob}: {printed}");
        };
        for (_, settings) in PLACES {
            if let Some(settings) = settings {
                is_refused(settings(&world, world.plan(), glob));
            }
        }
        for command in ["import", "stale", "log", "drift"] {
            is_refused(world.bare(command).arg(glob));
        }
        // What is advised matches a toggle, so there is not even a note.
        if let Some(advised) = advice.rsplit('`').nth(1).filter(|_| glob != "a/b/c/d") {
            for settings in PLACES.into_iter().filter_map(|(_, settings)| settings) {
                let printed = settings(&world, world.plan(), advised).exit_in(&[0, 4]).both();
                assert!(!printed.contains("matches"), "{glob}, {advised}: {printed}");
            }
        }
        let daemon = Daemon::ready(&world, |run| run);
        let (status, reply) = daemon.ask("/suspend", &serde_json::json!({ "scope": glob }).to_string());
        assert_eq!(status, 400, "{reply}");
        assert!(reply.to_string().contains(advice), "{glob}: {reply}");
        daemon.stops_cleanly();
    }
}
