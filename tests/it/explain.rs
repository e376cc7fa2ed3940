//! `gitoggle explain` traces one user through a toggle.

use crate::outputs::assert_valid;
use crate::support::{World, doc};

/// A toggle with every kind of result.
const BANNER: &str = r#"disabled: false
content:
  variations:
    - { name: "off", value: "false" }
    - { name: "on", value: "true" }
  rules:
    - name: adults in Paris
      conditions:
        - { type: number, subject: age, predicate: ">", objects: ["18"] }
        - { type: string, subject: city, predicate: is one of, objects: [Paris, London] }
      serve: { select: 1 }
    - name: members
      conditions:
        - { type: segment, predicate: is in, objects: [vip] }
      serve: { select: 1 }
    - name: ""
      conditions:
        - { type: datetime, subject: since, predicate: after, objects: ["2030-01-01T00:00:00+00:00"] }
      serve: { select: 0 }
  disabledServe: { select: 0 }
  defaultServe: { split: [2500, 7500] }
  prerequisites: []
"#;

fn world() -> World {
    let world = World::new();
    world.repo.file("shop/prod/new_feature.yaml", BANNER).commit_pay(18, "Add toggles");
    world
}

fn explain(world: &World, toggle: &str) -> crate::support::Gitoggle {
    world.bare("explain").set("repo", world.repo.path()).set("service-kind", "featureprobe").arg(toggle)
}

const AT: &str = "2026-01-01T00:00:00Z";

#[test]
fn every_condition_says_whether_it_matches_and_why() {
    let world = world();
    explain(&world, "shop/prod/new_feature")
        .args("--attr age=20 --attr city=Paris --key user-1 --at")
        .arg(AT)
        .exit(0)
        .stdout(
            "shop/prod/new_feature for the user `user-1`
  shop/prod/new_feature.yaml
  rule `adults in Paris`: matches
    `age` > `18` (number): matches; `age` is `20`
    `city` is one of `Paris`, `London` (string): matches; `city` is `Paris`
  rule `members`: not reached
  rule 3: not reached
  rule `adults in Paris` serves `on`

served: `on` (value `true`) by rule `adults in Paris`
evaluated as the Rust SDK 2.3 does
",
        );
}

#[test]
fn what_the_repository_does_not_define_is_not_guessed() {
    let world = world();
    explain(&world, "shop/prod/new_feature")
        .args("--attr age=old --key user-1 --at")
        .arg(AT)
        .exit(0)
        .stdout(
            "shop/prod/new_feature for the user `user-1`
  shop/prod/new_feature.yaml
  rule `adults in Paris`: does not match
    `age` > `18` (number): does not match; `age` is `old`, which is not a number
    `city` is one of `Paris`, `London` (string): does not match; `city` is not given
  rule `members`: cannot say
    is in `vip` (segment): cannot say; the repository does not define the segment
  rule 3: does not match
    `since` after `2030-01-01T00:00:00+00:00` (datetime): does not match; `since` is not given, so the time 2026-01-01T00:00:00Z counts
  rule `members` serves `on`
  the default serve serves `off`
    bucket 925: `off` has 0 to 2499, `on` has 2500 to 9999

cannot say: the repository does not define the segment
evaluated as the Rust SDK 2.3 does
",
        );
    // Both possible serves are the same for this user, whose bucket is 6124.
    explain(&world, "shop/prod/new_feature")
        .args("--key user-2 --at")
        .arg(AT)
        .exit(0)
        .stdout_contains(&["cannot say", "\nserved: `on` (value `true`)\n"]);
    explain(&world, "shop/prod/new_feature")
        .exit(0)
        .stdout_contains(&[
            "for a user without a key",
            "\n  the default serve: cannot say; the user has no key, so the SDK picks a random bucket\n    random bucket: ",
        ]);
}

#[test]
fn the_json_has_the_same_trace() {
    let world = world();
    let json = explain(&world, "shop/prod/new_feature")
        .set("output", "json")
        .args("--attr age=20 --attr city=Rome --key user-1 --at")
        .arg(AT)
        .exit(0)
        .json();
    assert_valid(&world, "explain", &json);
    assert_eq!(json["version"], 1);
    assert_eq!(json["result"], "cannot-say");
    assert_eq!(json["rules"][0]["matches"], "does-not-match");
    assert_eq!(json["rules"][0]["conditions"][0]["matches"], "matches");
    assert_eq!(json["rules"][1]["conditions"][0]["matches"], "cannot-say");
    assert_eq!(json["serves"][1]["bucket"], 925);
    assert_eq!(json["serves"][1]["ranges"][0]["to"], 2500);
    assert_eq!(json["attributes"]["city"], "Rome");
}

#[test]
fn a_revision_can_be_explained_instead_of_the_work_tree() {
    let world = world();
    world.repo.write("shop/prod/pay.yaml", doc(60));
    let matches = |ran: crate::support::Gitoggle, expected: &str| {
        ran.args("--attr age=20").exit(0).stdout_contains(&[expected]);
    };
    matches(explain(&world, "shop/prod/pay").unset("service-kind"), "does not match; `age` is `20`");
    matches(
        explain(&world, "shop/prod/pay").unset("service-kind").set("ref", "main"),
        "matches; `age` is `20`",
    );
}

#[test]
fn an_unknown_toggle_gets_a_suggestion_and_an_invalid_document_its_findings() {
    let world = world();
    explain(&world, "shop/prod/pya")
        .exit(1)
        .stderr("error: there is no document for `shop/prod/pya`\nhint: did you mean `shop/prod/pay`?\n");
    explain(&world, "prod/shop/pay").exit(1).stderr(
        "error: there is no document for `prod/shop/pay`\n\
         hint: did you mean `shop/prod/pay`? the order is project/environment/toggle\n",
    );
    explain(&world, "prod/shop/pya").exit(1).stderr(
        "error: there is no document for `prod/shop/pya`\n\
         hint: did you mean `shop/prod/pay`? the order is project/environment/toggle\n",
    );
    explain(&world, "prod/shop/search").exit(1).stderr(
        "error: there is no document for `prod/shop/search`\n\
         hint: the order is project/environment/toggle, and `shop/prod` has no toggle `search` either\n",
    );
    explain(&world, "shop/prod/pya")
        .set("output", "json")
        .exit(1)
        .stdout_contains(&["there is no document for `shop/prod/pya`"])
        .any_stderr();
    world.repo.write("shop/prod/pay.yaml", "nonsense\n");
    explain(&world, "shop/prod/pay").exit(3).stderr_contains(&[
        "not-a-document",
        "shop/prod/pay.yaml:1:1",
        "cannot be evaluated",
    ]);
    for (args, needle) in [
        ("--attr age", "NAME=VALUE"),
        ("--attr =1", "NAME=VALUE"),
        ("--attr a=1 --attr a=2", "the attribute `a` is given twice"),
        ("--at yesterday", "is not a time"),
        (
            "--at 1796371200",
            "`1796371200` is not a time: write `2026-12-04T08:00:00Z`, which is the same time",
        ),
        ("--at 1796371200000", "write `2026-12-04T08:00:00Z`, which is the same time"),
        ("--at 2026-12-04", "write `2026-12-04T00:00:00Z` if the time is meant in UTC"),
        ("--at 2026-12-04T08:00:00+24:00", "write `2026-12-03T08:00:00Z`, which is the same time"),
        ("--at 2026-02-30T08:00:00Z", "write a day, an hour and an offset that exist"),
        ("-o markdown", "no `markdown` output"),
    ] {
        explain(&world, "shop/prod/new_feature").args(args).exit(64).any_stdout().stderr_contains(&[needle]);
    }
    explain(&world, "pay").exit(64).any_stdout().stderr_contains(&["project/environment/toggle"]);
}

#[test]
fn prerequisites_are_evaluated_from_their_documents() {
    let world = world();
    let dependent = |key: &str| {
        BANNER.replace(
            "prerequisites: []",
            &format!("prerequisites: [{{ key: {key}, value: \"true\", type: boolean }}]"),
        )
    };
    world
        .repo
        .write("shop/prod/a.yaml", dependent("pay"))
        .write("shop/prod/b.yaml", dependent("gone"))
        .write("shop/prod/pay.yaml", doc(18) + "  prerequisites: []\n");
    explain(&world, "shop/prod/a").args("--attr age=17").exit(0).stdout_contains(&[
        "prerequisite `pay` must serve `true` (boolean): not met",
        "`pay` serves `false`",
        "served: `off`",
        "the disabled serve",
    ]);
    explain(&world, "shop/prod/a")
        .args("--attr age=20 --attr city=Paris")
        .exit(0)
        .stdout_contains(&["(boolean): met", "served: `on`"]);
    explain(&world, "shop/prod/b")
        .args("--attr age=20 --attr city=Paris")
        .exit(0)
        .stdout_contains(&["cannot say; the toggle has no valid document in the repository"]);
    let disabled = doc(18).replace("disabled: false", "disabled: true") + "  prerequisites: []\n";
    world.repo.write("shop/prod/pay.yaml", disabled);
    explain(&world, "shop/prod/a")
        .args("--attr age=20")
        .exit(0)
        .stdout_contains(&["not met", "`pay` is disabled and serves `false`"]);
}

/// Two toggles, of which `search` needs `pay`.
fn needing(kind: &str, value: &str, pay: &str) -> World {
    let world = World::new();
    let needs = format!("  prerequisites: [{{ key: pay, value: \"{value}\", type: {kind} }}]\n");
    let search = doc(18).replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }") + &needs;
    world.repo.file("shop/prod/pay.yaml", pay).file("shop/prod/search.yaml", search).commit("Add both");
    world
}

#[test]
fn a_number_that_java_does_not_give_to_a_caller_is_told_with_each_set_of_sdks() {
    let world = World::new();
    let document = |value: &str| doc(18).replace("\"true\"", value).replace("\"false\"", "\"1\"");
    let said = |name: &str| {
        format!(
            "\n{name}: served: the default in the caller's code, because there, whole numbers have 32 bits where a caller asks for a \
             number\n"
        )
    };
    let run =
        |sdks: &str| explain(&world, "shop/prod/pay").set("sdks", sdks).args("--attr age=20").exit(0).both();
    world.repo.file("shop/prod/pay.yaml", document("\"3000000000\"")).commit("Add a large number");
    for sdks in ["java", "rust java", "java rust"] {
        let found = run(sdks);
        assert!(found.contains("served: `on` (value `3000000000`)"), "{found}");
        assert!(found.contains(&said("Java")), "{sdks}: {found}");
    }
    assert!(!run("rust go").contains("because there"));
    world.repo.file("shop/prod/pay.yaml", document("\"2147483647\"")).commit("Add a smaller one");
    assert!(!run("rust java").contains("because there"));
}

#[test]
fn a_random_bucket_in_another_sdk_is_told() {
    let split = "  prerequisites: []\n";
    let world = needing("boolean", "true", &(doc(18) + split));
    let text = std::fs::read_to_string(world.repo.path().join("shop/prod/search.yaml")).unwrap();
    let text = text.lines().map(|line| match line.trim_start().starts_with("defaultServe:") {
        true => "  defaultServe: { split: { \"off\": 30, \"on\": 70 } }",
        false => line,
    });
    world.repo.file("shop/prod/search.yaml", text.collect::<Vec<_>>().join("\n") + "\n").commit("Split");
    let run =
        explain(&world, "shop/prod/search").set("sdks", "rust node python").args("--attr age=7").exit(0);
    run.stdout_contains(&[
        "\nserved: `off` (value `false`) by the disabled serve\n",
        "\nNode and Python: cannot say: the user has no key, so the SDK picks a random bucket, because there, the default serve is \
         served if a prerequisite is not met\n",
    ]);
}

#[test]
fn the_verdict_is_that_of_the_first_sdk_in_use() {
    let world = needing("boolean", "true", &(doc(18) + "  prerequisites: []\n"));
    let run = |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).args("--attr age=7").exit(0);
    run("node").stdout_contains(&[
        "(boolean): not met; `pay` serves `false`\n  rule `adults`: not reached\n  the default serve serves `on`\n",
        "\nserved: `on` (value `true`) by the default serve\nevaluated as the Node SDK 2.2 does\n",
    ]);
    run("python rust").stdout_contains(&[
        "\nserved: `on` (value `true`) by the default serve\n",
        "\nRust: served: `off` (value `false`), because there, the disabled serve is served if a prerequisite is not met\n",
        "evaluated as the Python SDK 2.2 does\n",
    ]);
    run("go java").stdout_contains(&[
        "\nserved: `off` (value `false`) by the disabled serve\n",
        "\nJava before 2.3: served: `on`",
        "evaluated as the Go SDK 2.3 does\n",
    ]);
    let json = explain(&world, "shop/prod/search").set("sdks", "node").set("output", "json").exit(0).json();
    assert_valid(&world, "explain", &json);
    assert_eq!(json["evaluated_as"], "the Node SDK 2.2");
}

/// A toggle that is on for users whose attribute `a` a condition matches.
fn with_condition(condition: &str) -> World {
    let world = World::new();
    let original = "{ type: number, subject: age, predicate: \">\", objects: [\"18\"] }";
    let document = doc(18);
    assert!(document.contains(original), "{document}");
    world.repo.file("shop/prod/pay.yaml", document.replace(original, condition)).commit("Add one");
    world
}

#[test]
fn a_condition_is_evaluated_as_in_the_first_sdk_in_use_and_differences_are_named() {
    for (condition, value, first, other, why) in [
        (
            r#"{ type: number, subject: a, predicate: "=", objects: [16777217] }"#,
            "16777216",
            "rust",
            "go",
            "numbers have 32 bits",
        ),
        (
            r#"{ type: number, subject: a, predicate: "=", objects: [16777217] }"#,
            "16777216",
            "go",
            "node",
            "numbers have 64 bits",
        ),
        (
            r#"{ type: number, subject: a, predicate: "<", objects: [1e39] }"#,
            "1",
            "go",
            "java",
            "numbers have 64 bits",
        ),
        (
            r#"{ type: datetime, subject: a, predicate: before, objects: ["2008-01-01T00:00:00+00:00"] }"#,
            "-100",
            "rust",
            "node",
            "times before 1970 are compared",
        ),
        (
            r#"{ type: datetime, subject: a, predicate: after, objects: ["1960-01-01T00:00:00+00:00"] }"#,
            "7",
            "python",
            "rust",
            "times before 1970 match nothing",
        ),
        (
            r#"{ type: semver, subject: a, predicate: "=", objects: [1.2.3] }"#,
            "1.2.3+5",
            "rust",
            "go",
            "build metadata of versions is ignored",
        ),
        (
            r#"{ type: semver, subject: a, predicate: ">", objects: [1.2.3] }"#,
            "1.2.3+5",
            "node",
            "rust",
            "build metadata of versions is compared",
        ),
        (
            r#"{ type: string, subject: a, predicate: is not any of, objects: [AT] }"#,
            "",
            "rust",
            "python",
            "a blank attribute is a missing one",
        ),
        (
            r#"{ type: string, subject: a, predicate: is not any of, objects: [AT] }"#,
            " ",
            "node",
            "go",
            "a blank attribute is compared",
        ),
    ] {
        let world = with_condition(condition);
        let run = |sdks: &str| {
            let run = explain(&world, "shop/prod/pay").set("sdks", sdks);
            run.arg("--attr").arg(format!("a={value}")).exit(0).both()
        };
        let (one, both, alone) = (run(first), run(&format!("{first} {other}")), run(other));
        let served = |text: &str| text.lines().find(|line| line.starts_with("served: ")).unwrap().to_owned();
        assert_ne!(served(&one), served(&alone), "{condition} {value}\n{one}{alone}");
        assert_eq!(served(&one), served(&both));
        let elsewhere = both.lines().find(|line| line.contains(", because there, ")).unwrap();
        assert!(elsewhere.ends_with(why), "{condition}: {elsewhere}");
        assert!(!one.contains("because there"), "{one}");
    }
}

#[test]
fn a_condition_about_which_sdks_may_differ_says_so_for_this_user() {
    for (condition, value, said) in [
        (
            r#"{ type: string, subject: a, predicate: matches regex, objects: ['^\w+$'] }"#,
            "Österreich",
            "may differ in Go, Java and Node (letters and digits (`\\w`))",
        ),
        (r#"{ type: string, subject: a, predicate: matches regex, objects: ['^\w+$'] }"#, "Austria", ""),
        (
            r#"{ type: string, subject: a, predicate: matches regex, objects: ['^\w+$'] }"#,
            "O\u{308}sterreich",
            "may differ in Go, Java, Node and Python (letters and digits (`\\w`))",
        ),
        (
            r#"{ type: string, subject: a, predicate: matches regex, objects: ['(?i)^abc$'] }"#,
            "ABC",
            "may differ in Node (flags in a regular expression)",
        ),
        (
            r#"{ type: string, subject: a, predicate: matches regex, objects: ["a$"] }"#,
            "a\n",
            "may differ in Go, Java, Node and Python (line breaks",
        ),
        (r#"{ type: string, subject: a, predicate: matches regex, objects: ["^a|b$"] }"#, "abc", ""),
        (
            r#"{ type: semver, subject: a, predicate: ">=", objects: [2.0.0] }"#,
            "2.0.0-dev",
            "may differ in Java (versions with a suffix)",
        ),
        (
            r#"{ type: semver, subject: a, predicate: ">=", objects: [2.0.0] }"#,
            "v2.0.0",
            "may differ in Go, Java, Node and Python (a text that is not a semantic version)",
        ),
        (r#"{ type: semver, subject: a, predicate: ">=", objects: [2.0.0] }"#, "2.0.0", ""),
        (
            r#"{ type: number, subject: a, predicate: "!=", objects: [0] }"#,
            "12px",
            "may differ in Go, Java, Node and Python (a text that is not a plain number)",
        ),
        (r#"{ type: number, subject: a, predicate: "!=", objects: [0] }"#, "1.5e3", ""),
        (
            r#"{ type: datetime, subject: a, predicate: before, objects: ["2030-01-01T00:00:00+00:00"] }"#,
            "2023-11-14T22:13:20Z",
            "may differ in Go, Java, Node and Python (a text that is not a number of seconds)",
        ),
    ] {
        let world = with_condition(condition);
        let run = || explain(&world, "shop/prod/pay").arg("--attr").arg(format!("a={value}"));
        let printed = run().exit(0).both();
        match said {
            "" => assert!(!printed.contains("may differ"), "{condition} {value}\n{printed}"),
            _ => assert!(printed.contains(said), "{condition} {value}\n{printed}"),
        }
        let json = run().set("output", "json").exit(0).json();
        assert_valid(&world, "explain", &json);
        let condition = &json["rules"][0]["conditions"][0];
        assert_eq!(condition["may_differ"].is_null(), said.is_empty(), "{condition}");
        // Rust reads such a text, and is not one of the SDKs that may differ.
        assert!(!run().set("sdks", "rust").exit(0).both().contains("may differ"));
    }
}

#[test]
fn a_condition_of_a_needed_toggle_about_which_sdks_may_differ_is_named_as_well() {
    let semver = r#"{ type: semver, subject: v, predicate: ">=", objects: ["1.2.3"] }"#;
    let pay = doc(18).replace(r#"{ type: number, subject: age, predicate: ">", objects: ["18"] }"#, semver);
    let world = needing("boolean", "true", &(pay + "  prerequisites: []\n"));
    let needs = "  prerequisites: [{ key: search, value: \"true\", type: boolean }]\n";
    world.repo.file("shop/prod/app.yaml", doc(18) + needs);
    let tests = "- { name: candidate, given: { age: 20, v: 1.2.3-rc }, serves: off }\n";
    world.repo.file("shop/prod/app.test.yaml", tests).commit("Add app");
    let said = "`pay`: `v` >= `1.2.3` (semver): may differ in Java (versions with a suffix)";
    for toggle in ["shop/prod/search", "shop/prod/app"] {
        let run = |version: &str| {
            explain(&world, toggle)
                .set("sdks", "rust java")
                .args(&format!("--attr age=20 --attr v={version}"))
        };
        run("1.2.3-rc").exit(0).stdout_contains(&[&format!("\n    {said}\n")]);
        let json = run("1.2.3-rc").set("output", "json").exit(0).json();
        assert_valid(&world, "explain", &json);
        assert_eq!(json["prerequisites"][0]["may_differ"][0], said, "{json}");
        assert!(!run("1.3.0").exit(0).both().contains("may differ"));
    }
    let test = world.bare("test").set("repo", world.repo.path()).set("service-kind", "featureprobe");
    test.set("sdks", "rust java").exit(0).stdout_contains(&[said]).any_output();
}

#[test]
fn json_in_another_order_is_what_each_sdk_takes_it_for() {
    let pay = doc(18).replace("\"true\"", r#"'{"a":1,"b":2}'"#).replace("\"false\"", "'{}'");
    let world = World::new();
    let needs = "  prerequisites: [{ key: pay, value: '{\"b\":2,\"a\":1}', type: json }]\n";
    world
        .repo
        .file("shop/prod/pay.yaml", pay)
        .file("shop/prod/search.yaml", doc(18) + needs)
        .commit("Add both");
    let run =
        |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).args("--attr age=20").exit(0);
    run("rust python node").stdout_contains(&[
        "(json): met\n",
        "Python: served: `off` (value `false`), because there, JSON values are equal only in the same order",
        "Node: served: `off` (value `false`), because there, no JSON value meets a prerequisite",
    ]);
    run("python")
        .stdout_contains(&["with its members in another order, which this SDK compares\n", "served: `off`"]);
    run("go").stdout_contains(&["(json): met\n", "served: `on`"]);
}

#[test]
fn an_empty_key_is_a_random_one_in_go_only() {
    let split = doc(18)
        .replace("defaultServe: { select: 0 }", "defaultServe: { split: { \"off\": 50, \"on\": 50 } }");
    let world = World::new();
    world.repo.file("shop/prod/search.yaml", split).commit("Add it");
    let run = |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).arg("--key").arg("").exit(0);
    run("go").stdout_contains(&[
        "random bucket: `off` has 0 to 4999",
        "cannot say: the user's key is empty, so the SDK picks a random one",
    ]);
    run("rust").stdout_contains(&["bucket "]);
    run("rust go node").stdout_contains(&[
        "Go: cannot say: the user's key is empty, so the SDK picks a random one, because there, an empty key is replaced\n",
    ]);
}

#[test]
fn a_number_in_another_notation_is_what_each_sdk_takes_it_for() {
    let pay = doc(18).replace("\"false\"", "\"2\"").replace("\"true\"", "\"1.0\"") + "  prerequisites: []\n";
    let world = needing("number", "1", &pay);
    let run =
        |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).args("--attr age=20").exit(0);
    run("rust").stdout_contains(&[
        "(number): not met; `pay` serves `1.0`, which is another number to the SDK\n",
        "served: `off`",
    ]);
    run("node").stdout_contains(&["(number): met\n", "served: `on`"]);
    run("rust go").stdout_contains(&[
        "Go: served: `on` (value `true`), because there, numbers such as `1` and `1.0` are equal",
    ]);
    let validate =
        |sdks: &str| world.validate().set("service-kind", "featureprobe").set("sdks", sdks).exit(0);
    validate("rust").stdout_contains(&[
        "a number in another notation: different in Rust; `pay` has `1.0`, and this is `1`",
    ]);
    assert!(!validate("node").both().contains("notation"));
    // Java writes `1e0` as `1`, and `1e2` with an exponent.
    for (wanted, value, is_met) in [("1e0", "1", true), ("100", "1e2", false)] {
        let pay = doc(18).replace("\"true\"", &format!("\"{value}\"")).replace("\"false\"", "\"2\"");
        let world = needing("number", wanted, &(pay + "  prerequisites: []\n"));
        let run = explain(&world, "shop/prod/search").set("sdks", "rust").args("--attr age=20").exit(0);
        run.stdout_contains(&[if is_met { "(number): met\n" } else { "(number): not met" }]);
        let validate =
            world.validate().set("service-kind", "featureprobe").set("sdks", "rust").exit(0).both();
        assert_eq!(
            !validate.contains("a number in another notation: different in Rust"),
            is_met,
            "{validate}"
        );
    }
}

#[test]
fn a_number_of_more_than_64_bits_is_what_each_sdk_takes_it_for() {
    let pay = doc(18).replace("\"false\"", "\"2\"").replace("\"true\"", "\"36893488147419103232\"");
    let world = needing("number", "36893488147419103233", &(pay + "  prerequisites: []\n"));
    let run =
        |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).args("--attr age=20").exit(0);
    run("rust").stdout_contains(&["(number): met\n", "served: `on`"]);
    run("python").stdout_contains(&[
        "(number): not met; `pay` serves `36893488147419103232`, which is another number to the SDK\n",
    ]);
    run("rust java").stdout_contains(&[
        "Java from 2.3 on: served: `off` (value `false`), because there, whole numbers of more than 64 bits",
    ]);
}

/// Python compares `str` of both, as it was measured with 2.2.1.
#[test]
fn a_number_meets_a_prerequisite_of_a_text_in_python() {
    let pay = doc(18).replace("\"false\"", "\"2\"").replace("\"true\"", "\"one\"");
    let world = needing("number", "2", &(pay + "  prerequisites: []\n"));
    let run =
        |sdks: &str| explain(&world, "shop/prod/search").set("sdks", sdks).args("--attr age=10").exit(0);
    run("rust")
        .stdout_contains(&["not met; `pay` serves `2`, but it is not a toggle of the type `number`\n"]);
    run("python").stdout_contains(&["(number): met\n"]);
}

#[test]
fn what_ends_an_evaluation_is_named() {
    let pay = doc(18) + "  prerequisites: [{ key: search, value: \"true\", type: boolean }]\n";
    let world = needing("boolean", "true", &pay);
    explain(&world, "shop/prod/search").args("--attr age=20").exit(0).stdout_contains(&[
        "not met; these prerequisites form a circle: `pay` → `search` → `pay`\n",
        "served: `off`",
        "every pass holds this document, because it is invalid: these prerequisites form a circle: `search` → `pay` → `search`\n",
    ]);
    let json = explain(&world, "shop/prod/search").set("output", "json").exit(0).json();
    assert_valid(&world, "explain", &json);
    assert_eq!(json["errors"].as_array().map(Vec::len), Some(1), "{json}");
    let world = needing("string", "true", &(doc(18) + "  prerequisites: []\n"));
    explain(&world, "shop/prod/search")
        .args("--attr age=20")
        .exit(0)
        .stdout_contains(&["not met; `pay` serves `true`, but it is not a toggle of the type `string`\n"]);
}

#[test]
fn hostile_text_is_escaped() {
    let world = World::new();
    let text = r"a\e[31m\u202Eb::error::";
    let banner = BANNER
        .replace("name: adults in Paris", &format!("name: \"{text}\""))
        .replace("subject: city", &format!("subject: \"{text}\""));
    world.repo.file("shop/prod/new_feature.yaml", banner).commit("Hostile");
    for output in ["human", "json"] {
        let printed = explain(&world, "shop/prod/new_feature")
            .set("output", output)
            .arg("--attr")
            .arg("a\u{1b}[31m\u{202e}b::error::=x\u{1b}\n::error::y")
            .arg("--key")
            .arg("k\u{1b}[0m")
            .exit(0)
            .both();
        assert!(!printed.contains(['\u{1b}', '\u{202e}']), "{printed:?}");
        assert!(printed.lines().all(|line| !line.trim_start().starts_with("::")), "{printed}");
    }
}
