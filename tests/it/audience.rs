//! `plan --audience` counts whom each change affects.

use gitoggle::config::OutputFormat;
use serde_json::{Value, json};

use crate::outputs::assert_valid;
use crate::support::{Gitoggle, World, doc};

/// A world in which the age for `pay` rises from 18 to 21.
fn world() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Ask for 21 years");
    world
}

fn plan(world: &World, users: &str) -> Gitoggle {
    let file = world.write("users", users);
    world.plan().arg("--audience").arg(file)
}

fn change(json: &Value) -> &Value {
    &json["changes"][0]["audience"]
}

const USERS: &str = r#"{"key":"a","age":17,"city":"Paris"}
{"key":"b","age":19}
{"key":"c","age":"20.5","other":[1]}
{"key":"d","age":21.5}
{"key":"e","age":22}
{"age":18.5}
"#;

const CSV: &str = "key,city,age\na,Paris,17\nb,,19\nc,\"Lon\ndon\",20.5\nd,,21.5\ne,,22\n,,18.5\n";

#[test]
fn each_change_has_the_users_who_switch() {
    let world = world();
    let users = USERS.replace(r#","other":[1]"#, "");
    let json = plan(&world, &users).set("output", "json").exit(0).json();
    let expected = json!({
        "users": 6, "switched": 3, "cannot_say": 0,
        "switches": [{ "from": "on", "to": "off", "count": 3 }],
        "unchanged": [{ "from": "off", "to": "off", "count": 1 }, { "from": "on", "to": "on", "count": 2 }],
        "examples": [
            { "line": 2, "key": "b", "from": "on", "to": "off" },
            { "line": 3, "key": "c", "from": "on", "to": "off" },
            { "line": 6, "key": null, "from": "on", "to": "off" },
        ],
    });
    assert_eq!(*change(&json), expected);
    assert_eq!(json["audience"], json!({ "users": 6, "without_key": 1, "broken": 0, "first_broken": [] }));
    plan(&world, &users).exit(0).stdout_contains(&[
        "      3 of 6 users switch\n        `on` → `off`: 3\n        for example `b`, `c`, line 6\n",
        "audience: 6 users, 1 without a key\n",
    ]);
    plan(&world, &users).set("output", "markdown").exit(0).stdout_contains(&[
        " — 3 of 6 users switch\n",
        "| before | after | users |\n|---|---|---:|\n| ` on ` | ` off ` | 3 |\n",
        "| ` on ` | ` on ` | 2 |\n",
        "* ` b `: ` on ` → ` off `\n",
    ]);
}

#[test]
fn every_form_has_the_number_of_users_who_switch() {
    let world = world();
    let (users, summary) = (USERS.replace(r#","other":[1]"#, ""), world.path("summary"));
    for output in OutputFormat::WORDS.iter().filter(|output| **output != "json") {
        let run = plan(&world, &users).set("output", output).env("GITHUB_STEP_SUMMARY", &summary);
        let printed = run.exit(0).both() + &std::fs::read_to_string(&summary).unwrap_or_default();
        for said in ["3 of 6 users switch", "audience: 6 users, 1 without a key"] {
            assert!(printed.contains(said), "{output}: {said}\n{printed}");
        }
    }
}

/// In Go, numbers have 32 bits, so an age of 16,777,216 is not below 16,777,217.
#[test]
fn users_are_counted_by_the_rules_of_the_first_sdk_in_use() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(16_777_216, "Ask for more");
    let users = "{\"key\":\"a\",\"age\":16777217}\n";
    for (sdks, switched, version) in [
        ("rust go", 0, "the Rust SDK 2.3"),
        ("go rust", 1, "the Go SDK 2.3"),
        ("node", 0, "the Node SDK 2.2"),
    ] {
        let json = plan(&world, users).set("sdks", sdks).set("output", "json").exit(0).json();
        assert_eq!(change(&json)["switched"], switched, "{sdks}");
        assert_eq!(json["evaluated_as"], version);
    }
    for output in OutputFormat::WORDS.iter().filter(|output| **output != "json") {
        let summary = world.path(output);
        let run = |sdks: &str| {
            let run = plan(&world, users).set("sdks", sdks).set("output", output);
            run.env("GITHUB_STEP_SUMMARY", &summary).exit(0).both()
                + &std::fs::read_to_string(&summary).unwrap_or_default()
        };
        assert!(!run("rust").contains("counted as"), "{output}");
        let printed = run("go");
        assert!(printed.contains("counted as the Go SDK 2.3 evaluates"), "{output}\n{printed}");
    }
}

#[test]
fn csv_and_json_lines_mean_the_same() {
    let world = world();
    let expected = plan(&world, &USERS.replace(r#","other":[1]"#, "")).set("output", "json").exit(0).json();
    for csv in [
        CSV.to_owned(),
        CSV.replace('\n', "\r\n"),
        format!("\u{feff}{CSV}"),
        CSV.replace(',', ";"),
        CSV.replace(',', "\t"),
    ] {
        let mut found = plan(&world, &csv).set("output", "json").exit(0).json();
        // The header is line 1, and a quoted line break is a line.
        for example in found["changes"][0]["audience"]["examples"].as_array_mut().unwrap() {
            let line = example["line"].as_u64().unwrap();
            example["line"] = json!(if line > 4 { line - 2 } else { line - 1 });
        }
        assert_eq!(change(&found), change(&expected), "{csv:?}");
    }
}

#[test]
fn a_blank_behind_each_comma_belongs_to_no_value() {
    let world = world();
    for (csv, switched) in [
        ("key, age\na, 20\nb, 22\nc,  19\n", 2),
        ("key; age\na; 20\n", 1),
        // Here it does: the header has none, and no SDK reads this number.
        ("key,age\na, 20\n", 0),
    ] {
        let json = plan(&world, csv).set("output", "json").exit(0).json();
        assert_eq!(change(&json)["switched"], switched, "{csv}");
    }
}

#[test]
fn without_an_audience_a_plan_does_not_mention_users() {
    let world = world();
    for output in OutputFormat::WORDS {
        world.plan().set("output", output).exit(0).never_says(&["audience", "users"]).any_output();
    }
}

#[test]
fn broken_lines_are_counted_and_named_and_the_others_are_used() {
    let world = world();
    let users = format!(
        "{USERS}nonsense\n[]\n\n{{\"key\":\"x\",\"age\":{{}}}}\n{{\"key\":\"y\",\"age\":1,\"age\":2}}\n{{\"key\":\"z\"}} extra\n{{\"key\":null,\"age\":null}}\n"
    );
    let json = plan(&world, &users).set("output", "json").exit(0).json();
    assert_eq!(json["audience"]["users"], 6);
    assert_eq!(json["audience"]["broken"], 6);
    assert_eq!(json["audience"]["without_key"], 2);
    let broken = json["audience"]["first_broken"].as_array().unwrap();
    let lines: Vec<_> = broken.iter().map(|one| one["line"].as_u64().unwrap()).collect();
    assert_eq!(lines, [3, 7, 8, 10, 11]);
    plan(&world, &users).exit(0).stdout_contains(&[
        "audience: 6 users, 2 without a key, 6 broken lines left out\n  line 3: `other` is a list or an object, not text\n",
        "line 11: `age` is given twice\n",
        "  … and 1 more\n",
    ]);
    let csv = "key,age\na,19\nb\nc,20,1\nd,\u{0}\n\"e,19\nf,19\n";
    let json = plan(&world, csv).set("output", "json").exit(0).json();
    assert_eq!(json["audience"]["users"], 3);
    assert_eq!(
        json["audience"]["first_broken"],
        json!([
            { "line": 3, "reason": "the line has 1 field, and the header has 2" },
            { "line": 4, "reason": "the line has 3 fields, and the header has 2" },
            { "line": 6, "reason": "a quote is not closed" },
        ])
    );
}

#[test]
fn a_file_that_is_no_audience_fails() {
    let world = world();
    for (users, needle) in [
        ("", "has no user"),
        ("key,age\n", "has no user"),
        ("{}}\n", "has no user"),
        ("key,age,age\na,1,2\n", "names `age` twice"),
        ("\"key\n", "a quote is not closed"),
        ("key;age;age\n", "names `age` twice"),
        ("key|age\na|19\n", "has the one column `key|age`: write CSV with commas"),
        ("- key: a\n  age: 19\n", "has the one column `- key: a`"),
    ] {
        plan(&world, users).exit(1).stderr_contains(&[needle]);
        plan(&world, users).set("output", "json").exit(1).stdout_contains(&[needle]).any_stderr();
    }
    std::fs::write(world.path("users"), b"key,\xff\na,1\n").unwrap();
    world
        .plan()
        .arg("--audience")
        .arg(world.path("users"))
        .exit(1)
        .stderr_contains(&["the header of the audience is not UTF-8"]);
    world
        .plan()
        .args("--audience nowhere")
        .exit(1)
        .stderr_contains(&["could not read the audience `nowhere`"]);
    world.plan().args("--at 2026-01-01T00:00:00Z").exit(64).any_stdout().stderr_contains(&["--audience"]);
}

#[test]
fn what_cannot_be_determined_is_counted() {
    let world = World::with_pay_applied();
    let timed = doc(18).replace(
        "type: number, subject: age, predicate: \">\", objects: [\"18\"]",
        "type: datetime, subject: since, predicate: after, objects: [\"2026-01-01T00:00:00+00:00\"]",
    );
    world.repo.file("shop/prod/pay.yaml", timed).commit("By time");
    let users = "{\"key\":\"a\",\"age\":20}\n{\"key\":\"b\",\"since\":5,\"age\":20}\n";
    let json = plan(&world, users).set("output", "json").exit(0).json();
    assert_eq!((&change(&json)["cannot_say"], &change(&json)["switched"]), (&json!(1), &json!(1)));
    plan(&world, users).exit(0).stdout_contains(&[
        "1 of 2 users switches; cannot say for 1\n",
        "audience: 2 users\n  for some users, the current time decides: `--at TIME` counts them\n",
    ]);
    let at = || plan(&world, users).args("--at 2026-02-01T00:00:00Z");
    // Annotations have users in the job summary, which is Markdown.
    for output in OutputFormat::WORDS.iter().filter(|output| **output != "github") {
        let printed = at().set("output", output).exit(0).any_stderr().both();
        assert!(printed.contains("2026-02-01T00:00:00Z"), "{output}: {printed}");
        assert!(!printed.contains("--at TIME"), "{output}: {printed}");
    }
    let json = at().set("output", "json").exit(0).json();
    assert_eq!(json["audience"]["at"], "2026-02-01T00:00:00Z");
    assert_valid(&world, "plan", &json);
    let json = plan(&world, users).args("--at 2026-02-01T00:00:00Z").set("output", "json").exit(0).json();
    assert_eq!((&change(&json)["cannot_say"], &change(&json)["switched"]), (&json!(0), &json!(1)));
}

#[test]
fn held_and_uncommitted_changes_are_counted_too() {
    let world = world();
    world.repo.file("shop/test/new.yaml", doc(18)).commit("A first pass");
    let json = plan(&world, "{\"key\":\"a\",\"age\":20}\n").set("output", "json").exit(0).json();
    let held = &json["held"][0]["change"]["audience"];
    assert_eq!(held["switches"], json!([{ "from": null, "to": "on", "count": 1 }]));
    let renamed = doc(21).replace("name: \"off\"", "name: \"no\"");
    world.repo.write("shop/prod/pay.yaml", renamed);
    let json =
        plan(&world, "{\"key\":\"a\",\"age\":10}\n").arg("--worktree").set("output", "json").exit(0).json();
    // A new name for the same value is not a switch.
    assert_eq!(change(&json)["switched"], 0);
    assert_eq!(change(&json)["unchanged"], json!([{ "from": "off", "to": "no", "count": 1 }]));
}

#[test]
fn very_many_users_are_counted_exactly() {
    let world = world();
    let users: String =
        (0..200_000).map(|number| format!("{{\"key\":\"{number}\",\"age\":{}}}\n", number % 40)).collect();
    let json = plan(&world, &users).set("output", "json").exit(0).json();
    assert_eq!((&change(&json)["users"], &change(&json)["switched"]), (&json!(200_000), &json!(15_000)));
    let keys: Vec<_> =
        change(&json)["examples"].as_array().unwrap().iter().map(|one| one["key"].clone()).collect();
    assert_eq!(keys, ["19", "20", "21"]);
}

#[test]
fn foreign_text_is_code_in_markdown() {
    let world = world();
    let users = "{\"key\":\"`<b>\",\"age\":20}\n{\"key\":\"k\",\"<i>@all`\":[]}\n";
    plan(&world, users)
        .set("output", "markdown")
        .exit(0)
        .stdout_contains(&["* `` `<b> ``: ", "line 2: ``` `<i>@all`` is a list or an object, not text ```"]);
}

#[test]
fn hostile_text_of_an_audience_is_escaped() {
    let world = world();
    let users = "{\"key\":\"\\u001b[31m|`<b>\\u202e\",\"age\":20}\n{\"key\":\"k\",\"\\u001b::error::\\n::warning::\":[]}\n\u{1b}[31m\n";
    for output in ["human", "json", "markdown", "github"] {
        let printed = plan(&world, users).set("output", output).exit(0).both();
        assert!(!printed.contains(['\u{1b}', '\u{202e}']), "{printed:?}");
        assert!(printed.lines().all(|line| !line.trim_start().starts_with("::")), "{printed}");
    }
}

/// An update that drops a prerequisite in the same step as the document of the other toggle.
#[test]
fn a_toggle_that_is_removed_with_its_last_use_decides_about_the_users_before() {
    let world = World::new();
    let pay = doc(21);
    let needy = pay.replace(
        "content:\n",
        "content:\n  prerequisites:\n    - { key: adult, type: boolean, value: \"true\" }\n",
    );
    let adult = "disabled: false\ncontent:\n  variations:\n    - { name: no, value: \"false\" }\n    - { name: yes, value: \"true\" }\n  rules:\n    - { name: adults, conditions: [{ type: number, subject: age, predicate: \">\", objects: [\"18\"] }], serve: { select: 1 } }\n  disabledServe: { select: 0 }\n  defaultServe: { select: 0 }\n";
    let broken = adult.replace("select: 1", "select: 7");
    for after in [None, Some(broken)] {
        world.repo.file("shop/prod/adult.yaml", adult).file("shop/prod/pay.yaml", &needy).commit("Add");
        match after {
            None => world.repo.remove("shop/prod/adult.yaml"),
            Some(text) => world.repo.file("shop/prod/adult.yaml", text),
        };
        world.repo.file("shop/prod/pay.yaml", &pay).commit("Retire");
        let users = world.write("users", "key,age\na,17\nb,19\nc,22\n");
        let json = world
            .plan()
            .set("service-kind", "featureprobe")
            .set("output", "json")
            .args("--from HEAD~1")
            .arg("--audience")
            .arg(users)
            .exit_in(&[0, 3])
            .any_stderr()
            .json();
        assert_eq!(change(&json)["cannot_say"], 0, "{json:#}");
    }
}
