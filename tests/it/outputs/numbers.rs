//! The numbers of a pass: the same in each form, for each way in which a change can end.

use serde_json::{Value, json};

use super::junit::cases;
use crate::live_publish::toggle;
use crate::support::{Answer, Gitoggle, LiveService, World, doc, targeting};

/// How many toggles ended in each way.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
struct Numbers {
    applied: usize,
    recorded: usize,
    held: usize,
    failed: usize,
}

/// What a test needs to keep alive, with the settings of its commands.
enum Stage {
    Documented(World),
    Live(LiveService),
}

impl Stage {
    fn world(&self) -> &World {
        match self {
            Self::Documented(world) => world,
            Self::Live(service) => &service.world,
        }
    }

    fn run(&self, verb: &str) -> Gitoggle {
        let run = match self {
            Self::Documented(world) => world.connected(verb),
            Self::Live(service) => service.connected(service.world.connected(verb)),
        };
        if verb == "status" { run.unset("timeout") } else { run }
    }
}

/// A world in which `pay` and `search` are applied, and both are changed.
fn changed() -> World {
    let world = World::with_pay_and_search_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/search.yaml", doc(22))
        .commit("Change both");
    world
}

fn refuses(world: &World, end: &'static str) {
    world.service.always(move |request| match request.toggle().ends_with(end) {
        true => Answer::json(422, r#"{"message": "no such attribute"}"#),
        false => Answer::applied(),
    });
}

fn applied() -> Stage {
    Stage::Documented(changed())
}

fn failed() -> Stage {
    let world = changed();
    refuses(&world, "pay");
    Stage::Documented(world)
}

fn held() -> Stage {
    let world = changed();
    let frozen = r#"windows: [{ "deny": "**/search", "at": "2020-01-01 - 2999-01-01", "zone": "UTC" }]"#;
    world.write("settings.yaml", frozen);
    Stage::Documented(world)
}

fn invalid() -> Stage {
    let world = changed();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Add nonsense");
    Stage::Documented(world)
}

/// A first pass of two environments, of which the service refuses everything in one and a part of the other.
fn refused_first_pass() -> Stage {
    let world = World::new();
    for id in ["prod/a-no", "prod/b", "test/c-no", "test/d-no"] {
        world.repo.file(&format!("shop/{id}.yaml"), doc(18));
    }
    world.repo.commit("Add four");
    refuses(&world, "-no");
    Stage::Documented(world)
}

/// A service on which people made the change of `pay`, and another one of `ship`.
fn changed_by_people() -> LiveService {
    let service = LiveService::start(&json!(["pay", "ship"].map(toggle)));
    for key in ["pay", "ship"] {
        service.commit(key, doc(18), &format!("Add {key}"));
    }
    service.apply().set("first-pass", "assert").exit(0).any_output();
    let edit = |key: &str, age: &str| {
        let mut content = service.request("GET", &targeting(key), None)["content"].clone();
        content["rules"][0]["conditions"][0]["objects"] = json!([age]);
        service.edit(key, json!({ "comment": "by hand", "disabled": false, "content": content }));
    };
    edit("pay", "20");
    edit("ship", "30");
    service.commit("pay", doc(20), "Take over what was changed by hand");
    service
}

fn recorded() -> Stage {
    Stage::Live(changed_by_people())
}

fn recorded_and_held() -> Stage {
    let service = changed_by_people();
    service.commit("ship", doc(21), "Change ship");
    Stage::Live(service)
}

fn recorded_and_invalid() -> Stage {
    let service = changed_by_people();
    service.commit("bad", "nonsense\n".to_owned(), "Add nonsense");
    Stage::Live(service)
}

type Row = (&'static str, fn() -> Stage, Numbers);

const fn numbers(applied: usize, recorded: usize, held: usize, failed: usize) -> Numbers {
    Numbers { applied, recorded, held, failed }
}

const ROWS: [Row; 8] = [
    ("applied", applied, numbers(2, 0, 0, 0)),
    ("failed", failed, numbers(1, 0, 0, 1)),
    ("held", held, numbers(1, 0, 1, 0)),
    ("invalid", invalid, numbers(2, 0, 1, 0)),
    ("refused first pass", refused_first_pass, numbers(1, 0, 0, 3)),
    ("recorded", recorded, numbers(0, 1, 0, 0)),
    ("recorded and held", recorded_and_held, numbers(0, 1, 1, 0)),
    ("recorded and invalid", recorded_and_invalid, numbers(0, 1, 1, 0)),
];

fn apply(stage: &Stage, output: &str) -> Gitoggle {
    let run = stage.run("apply").set("output", output).set("max-change-ratio", "1");
    let settings = stage.world().path("settings.yaml");
    let run = if settings.exists() { run.set("config", settings) } else { run };
    run.set("first-pass", "assert").env("GITHUB_STEP_SUMMARY", stage.world().path("summary.md"))
}

/// Returns the numbers of a line such as `applied 1 of 3 changes, 1 converged, 2 held`. `separator` is what is
/// between its parts.
fn of_line(line: &str, separator: &str) -> Numbers {
    let number = |text: &str| text.split(' ').find_map(|word| word.parse().ok()).unwrap_or_default();
    let without_names = line.split('(').map(|part| part.rsplit_once(')').map_or(part, |(_, rest)| rest));
    let (text, mut found) = (without_names.collect::<String>(), Numbers::default());
    let mut total = None;
    for part in text.split(separator) {
        match part.trim() {
            part if part.starts_with("applied ") => {
                found.applied = number(part);
                total = part.split(" of ").nth(1).map(number);
            }
            part if part.starts_with("recorded without") || part.contains(" converged") => {
                found.recorded = number(part);
            }
            part if part.contains(" held") => found.held = number(part),
            part if part.contains(" failed") => found.failed = number(part),
            part => panic!("{part:?} of {line:?}"),
        }
    }
    if let Some(total) = total {
        assert_eq!(total, found.applied + found.held + found.failed, "{line}");
    }
    found
}

fn of_json(json: &Value, expected: Numbers, name: &str) -> Numbers {
    let totals = |list: &str| json["totals"][list].as_array().unwrap().len();
    let found = numbers(totals("applied"), totals("converged"), totals("held"), totals("failed"));
    let summary = &json["summary"];
    let numbers = ["changes", "records", "held", "failed"].map(|name| summary[name].as_u64().unwrap());
    let Numbers { applied, recorded, held, failed } = expected;
    let wanted = [applied + held + failed, recorded, held, failed].map(|number| number as u64);
    assert_eq!(numbers, wanted, "{name}: {summary}");
    let listed = |list: &str| json[list].as_array().unwrap().len();
    assert_eq!((listed("changes"), listed("held")), (applied + failed, held), "{name}: {json:#}");
    found
}

/// Checks the plan below the results: only what was sent or is still to be sent is to publish.
fn check_page(page: &str, Numbers { applied, recorded, held, failed }: Numbers, name: &str) {
    let headline = page.lines().find(|line| line.starts_with("**")).unwrap_or_default();
    let number = |word: &str| {
        let part = headline.trim_matches('*').split(" · ").find(|part| part.contains(word));
        part.and_then(|part| part.split(' ').next()?.parse::<usize>().ok()).unwrap_or_default()
    };
    // What someone changed on the service has its own word in a plan.
    let found = [number("to publish"), number("to record"), number(" held") + number(" drifted")];
    assert_eq!(found, [applied + failed, recorded, held], "{name}: {page}");
}

#[test]
fn the_numbers_of_a_pass_are_the_same_in_each_form() {
    for (name, stage, expected) in ROWS {
        let run = |output: &str| {
            let stage = stage();
            let ran = apply(&stage, output).exit_in(&[0, 1, 3, 4]);
            (stage, ran)
        };
        let json = run("json").1.any_stderr().json();
        assert_eq!(of_json(&json, expected, name), expected, "{name}");
        let line = json["summary"]["text"].as_str().unwrap();
        assert_eq!(of_line(line, ", "), expected, "{name}");

        let (stage, ran) = run("human");
        let text = ran.any_stderr().both();
        assert!(text.contains(&format!("\n{line}\n")), "{name}: {line}: {text}");
        // What `status` says after it.
        let status = stage.run("status").set("output", "json").exit_in(&[0, 1, 3, 4]).json();
        let count = |state: &str| {
            let toggles = status["toggles"].as_array().unwrap().iter();
            toggles.filter(|toggle| toggle["state"] == state).count()
        };
        if name != "held" {
            let held = count("held") + count("drifted");
            assert_eq!((held, count("failed")), (expected.held, expected.failed), "{name}: {status:#}");
        }

        let markdown = run("markdown").1.any_stderr().both();
        assert!(markdown.contains(&format!("\n{line}\n")), "{name}: {markdown}");
        check_page(&markdown, expected, name);

        let (stage, ran) = run("github");
        let note = ran.any_stdout().both();
        let note = note.lines().find_map(|line| line.strip_prefix("note: ")).unwrap();
        assert_eq!(of_line(note, " · "), expected, "{name}");
        check_page(&stage.world().printed(&stage.world().path("summary.md")), expected, name);

        let xml = run("junit").1.both();
        let (xml, _) = xml.split_once("</testsuites>").unwrap();
        let xml = format!("{xml}</testsuites>");
        let cases = cases(&xml);
        let failed = cases.iter().filter(|(_, problem)| problem.is_some()).count();
        let of_toggles = (cases.len() - failed, failed);
        let Numbers { applied, recorded, held, failed } = expected;
        assert_eq!(of_toggles, (applied + recorded, held + failed), "{name}: {xml}");
    }
}
