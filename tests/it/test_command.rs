//! `gitoggle test` compares what toggles serve with the expectations next to them.

use crate::outputs::assert_valid;
use crate::support::{Gitoggle, World, doc};

const GOOD: &str = "- { name: adults, given: { age: 20 }, serves: on }\n- { name: children, given: { age: 7 }, serves: off }\n";

fn world(tests: &str) -> World {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).file("shop/prod/pay.test.yaml", tests).commit("Add pay");
    world
}

fn test(world: &World) -> Gitoggle {
    world.bare("test").set("repo", world.repo.path())
}

#[test]
fn expectations_that_are_met_are_counted() {
    let world = world(GOOD);
    test(&world)
        .exit(0)
        .stdout("tested 2 expectations in 1 file as the Rust SDK 2.3 evaluates them: all met\n");
    test(&world)
        .set("ref", "main")
        .exit(0)
        .stdout("tested 2 expectations in 1 file as the Rust SDK 2.3 evaluates them: all met\n");
    world.validate().exit(0).any_output();
}

#[test]
fn documents_whose_ids_differ_only_in_case_claim_one_toggle() {
    let world = world(GOOD);
    world.repo.file("shop/prod/Pay.yaml", doc(21)).commit("Add pay again");
    test(&world).exit(1).stdout_contains(&[
        "error[duplicate-toggle]: `shop/prod/pay` is claimed by this file and by `shop/prod/Pay.yaml`, because ids that",
    ]);
    let promote = world.bare("promote").within(world.repo.path()).args("shop/prod shop/test --create");
    promote.exit(3).any_output().stderr_contains(&[
        "`shop/prod/pay` is claimed by this file and by `shop/prod/Pay.yaml`",
        "`shop/prod/Pay` is claimed by this file and by `shop/prod/pay.yaml`",
    ]);
}

#[test]
fn an_expectation_that_is_not_met_fails_with_the_trace() {
    let world = world(&GOOD.replace("age: 7", "age: 70"));
    test(&world).exit(1).stdout(
        "failed shop/prod/pay.test.yaml:2 `children`: expected `off`, served `on` by rule `adults`
    shop/prod/pay for a user without a key
      shop/prod/pay.yaml
      rule `adults`: matches
        `age` > `18` (number): matches; `age` is `70`
      rule `adults` serves `on`
    
    served: `on` (value `true`) by rule `adults`

tested 2 expectations in 1 file as the Rust SDK 2.3 evaluates them: 1 failed
",
    );
    let json = test(&world).set("output", "json").exit(1).json();
    assert_valid(&world, "test-results", &json);
    assert_eq!(json["version"], 1);
    assert_eq!(json["summary"]["failed"], 1);
    assert_eq!(json["results"][0]["passed"], true);
    assert_eq!(json["results"][1]["explanation"]["variation"]["name"], "on");
    assert_eq!(json["results"][1]["line"], 2);
    test(&world).set("output", "junit").exit(1).stdout_contains(&[
        "<testsuites name=\"gitoggle\" tests=\"2\" failures=\"1\" errors=\"0\">",
        "<testcase classname=\"shop/prod/pay\" name=\"adults\"/>",
        "<failure message=\"expected `off`, served `on` by rule `adults`\">shop/prod/pay for a user without a key",
    ]);
}

#[test]
fn what_cannot_be_determined_is_not_met() {
    let world = World::new();
    let odd =
        doc(18).replace("type: number", "type: segment").replace("predicate: \">\"", "predicate: is in");
    world.repo.file("shop/prod/pay.yaml", odd).file("shop/prod/pay.test.yaml", GOOD).commit("Add pay");
    test(&world).exit(1).stdout_contains(&[
        "expected `on`, cannot say: the repository does not define the segment",
        "2 failed",
    ]);
}

#[test]
fn the_time_and_the_key_of_an_expectation_decide() {
    let world = World::new();
    let timed = doc(18)
        .replace(
            "type: number, subject: age, predicate: \">\", objects: [\"18\"]",
            "type: datetime, subject: now, predicate: after, objects: [\"2026-01-01T00:00:00+00:00\"]",
        )
        .replace("defaultServe: { select: 0 }", "defaultServe: { split: [2500, 7500] }\n  prerequisites: []");
    world
        .repo
        .file("shop/prod/new_feature.yaml", timed)
        .file(
            "shop/prod/new_feature.test.yaml",
            "- { name: later, at: 2026-01-01T00:00:00Z, serves: on }
- { name: low, key: user-1, at: 2025-12-31T23:59:59Z, serves: off }
- { name: high, key: user-2, at: 2025-12-31T23:59:59Z, serves: on }
- { name: no time, key: user-1, serves: off }
- { name: no key, at: 2025-12-31T23:59:59Z, serves: off }
",
        )
        .commit("Add");
    test(&world).set("service-kind", "featureprobe").exit(1).stdout_contains(&[
        "`no time`: expected `off`, cannot say: the attribute is missing, so the current time decides",
        "`no key`: expected `off`, cannot say: the user has no key",
        "tested 5 expectations in 1 file as the Rust SDK 2.3 evaluates them: 2 failed",
    ]);
}

#[test]
fn a_file_that_cannot_be_tested_is_an_error() {
    for (path, content, needle) in [
        ("shop/prod/gone.test.yaml", GOOD, "test-without-toggle"),
        ("shop/prod/pay.test.yaml", "", "empty-document"),
        ("shop/prod/pay.test.yaml", "- { name: a, serves: onn }\n", "did you mean `on`?"),
        (
            "shop/prod/pay.test.yaml",
            "- { name: a, given: { age: [1] }, serves: on }\n",
            "shop/prod/pay.test.yaml:1:23",
        ),
        ("shop/prod/pay.yaml", "nonsense\n", "not-a-document"),
        (
            "shop/prod/pay.test.yaml",
            "<<<<<<< HEAD\n- { name: a, serves: off }\n=======\n- { name: b, serves: off }\n>>>>>>> x\n",
            "conflict-marker",
        ),
        (
            "shop/prod/pay.test.yaml",
            "- { name: a, serves: off }\n---\n- { name: b, serves: off }\n",
            "remove the line with the three dashes",
        ),
        ("shop/prod/pay.test.yaml", "- { name: a, serves: { variation: on } }\n", "write `serves: \"on\"`"),
        ("shop/prod/pay.test.YAML", GOOD, "test-not-run"),
    ] {
        let world = world(GOOD);
        world.repo.write(path, content);
        test(&world).exit(1).stdout_contains(&[needle, "finding"]);
        test(&world).set("output", "junit").exit(1).stdout_contains(&["errors=\"1\"", "<error message="]);
        let json = test(&world).set("output", "json").exit(1).json();
        assert_valid(&world, "test-results", &json);
        assert_eq!(json["findings"].as_array().unwrap().len(), 1, "{path}");
    }
    let world = world(GOOD);
    world.repo.write("shop/prod/pya.test.yaml", GOOD);
    test(&world).exit(1).stdout_contains(&["did you mean `shop/prod/pay`?"]);
    for misspelled in
        ["prod/shop/pay", "shop/prd/pay", "shp/prod/pay", "shop/prd/pya", "prod/shop/pya", "pay/shop/prod"]
    {
        let world = self::world(GOOD);
        world.repo.write(&format!("{misspelled}.test.yaml"), GOOD);
        let help = "did you mean `shop/prod/pay`? remove or rename this file";
        test(&world).exit(1).stdout_contains(&[help]);
        let explain = world.bare("explain").arg(misspelled).set("repo", world.repo.path());
        explain.exit(1).any_output().stderr_contains(&["did you mean `shop/prod/pay`?"]);
    }
}

#[test]
fn expectations_that_are_not_run_are_never_green() {
    let good = "shop/prod/pay.test.yaml";
    for path in [
        "shop/prod/search.test.YAML",
        "shop/prod/tests/pay.test.yaml",
        "shop/pay.test.yaml",
        "pay.test.yaml",
        "shop/prod/new pay.test.yaml",
    ] {
        let world = world(GOOD);
        world.repo.file(path, "- { name: wrong, serves: onn }\n").commit("Add expectations");
        let says = ["error[test-not-run]: this test is not run", path, "rename it or move it there"];
        test(&world).exit(1).stdout_contains(&says);
        test(&world).within(world.repo.path()).arg(path).exit(1).stdout_contains(&says);
        // In a file or scope that was named, the others do not matter.
        test(&world).within(world.repo.path()).args(good).exit(0).any_output();
        test(&world).set("only", "shop/prod/pay").exit(0).any_output();
        world.validate().exit(0).stdout_contains(&["warning[test-not-run]", path]).any_output();
        world.repo.rename(path, "shop/_none.test.yaml");
        test(&world).exit(0).any_output();
    }
}

#[test]
fn expectations_under_the_name_of_a_document_are_never_green() {
    for name in ["pay.test.yml", "pay.tests.yaml", "pay_test.yaml", "pay-spec.yaml", "search.yaml"] {
        let path = format!("shop/prod/{name}");
        let world = world(GOOD);
        world
            .repo
            .file(&path, "# More of them.\n- { name: wrong, serves: onn }\n")
            .commit("Add expectations");
        let says = ["error[test-not-run]: this test is not run", name, "rename it or move it there"];
        test(&world).exit(1).stdout_contains(&says);
        test(&world).within(world.repo.path()).args(&path).exit(1).stdout_contains(&says);
        // In a file or scope that was named, the others do not matter.
        test(&world).within(world.repo.path()).args("shop/prod/pay.test.yaml").exit(0).any_output();
        test(&world).set("only", "shop/prod/pay").exit(0).any_output();
    }
    // A toggle may have such a name.
    let world = world(GOOD);
    world.repo.file("shop/prod/pay.test.yml", doc(18)).commit("Add a toggle");
    test(&world).exit(0).any_output();
}

#[test]
fn a_finding_about_a_whole_file_has_no_line() {
    let world = world("[]");
    world.repo.write("shop/prod/a b.yaml", doc(18));
    test(&world).set("output", "junit").exit(1).stdout_contains(&[">shop/prod/pay.test.yaml: write a list"]);
    for output in ["junit", "markdown"] {
        let checked = world.validate().set("output", output).exit(3);
        let printed = checked.both();
        assert!(printed.contains("shop/prod/a b.yaml") && !printed.contains(":0"), "{printed}");
    }
}

#[test]
fn a_test_of_nothing_fails() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    test(&world)
        .exit(1)
        .stdout("tested 0 expectations\n")
        .stderr_contains(&["error: no expectation was tested\nhint: write expectations for `NAME.yaml`"]);
    test(&world).arg("--allow-empty").exit(0).stdout("tested 0 expectations\n");
    let json = test(&world).set("output", "json").exit(1).json();
    assert_valid(&world, "test-results", &json);
    assert_eq!(json["error"]["message"], "no expectation was tested");
    test(&world).set("only", "shop/none/*").exit(1).any_output();
}

#[test]
fn paths_and_globs_choose_the_toggles() {
    let world = world(GOOD);
    world
        .repo
        .file("shop/test/pay.yaml", doc(18))
        .file("shop/test/pay.test.yaml", "- { name: a, serves: off }\n")
        .commit("Another");
    let one = "tested 1 expectation in 1 file as the Rust SDK 2.3 evaluates them: all met\n";
    test(&world).set("only", "shop/test/*").exit(0).stdout(one);
    for path in ["shop/test", "shop/test/pay.yaml", "shop/test/pay.test.yaml"] {
        world.bare("test").within(world.repo.path()).arg(path).exit(0).stdout(one);
    }
}

#[test]
fn an_invalid_document_without_a_test_is_not_covered() {
    let world = world(GOOD);
    world.repo.file("shop/prod/bad.yaml", doc(18).replace("select: 1", "select: 7")).commit("Break it");
    test(&world).exit(0).any_output();
    test(&world).arg("--coverage").exit(1).stdout_contains(&[
        "error[select-out-of-range]",
        "tested 2 expectations in 1 file as the Rust SDK 2.3 evaluates them: 1 finding\n",
    ]);
}

#[test]
fn coverage_lists_what_no_expectation_reaches() {
    let world = world("- { name: children, given: { age: 7 }, serves: off }\n");
    world.repo.file("shop/prod/other.yaml", doc(18)).commit("Without tests");
    test(&world).arg("--coverage").exit(0).stdout(
        "not tested shop/prod/other.yaml
not reached shop/prod/pay.yaml:7 rule `adults`

tested 1 expectation in 1 file as the Rust SDK 2.3 evaluates them: all met
",
    );
    let json = test(&world).arg("--coverage").set("output", "json").exit(0).json();
    assert_valid(&world, "test-results", &json);
    assert_eq!(json["unreached"][1]["serves"][0]["line"], 7);
    let junit = test(&world).arg("--coverage").set("output", "junit").exit(0);
    junit.stdout_contains(&["no expectation reaches rule `adults` in shop/prod/pay.yaml:7"]);
    test(&world)
        .within(world.repo.path())
        .args("shop/prod/pay.test.yaml --coverage")
        .exit(0)
        .stdout_contains(&["not reached shop/prod/pay.yaml:7 rule `adults`\n"]);
    let json = test(&world).set("output", "json").exit(0).json();
    assert!(json["unreached"].is_null());
}

/// A rule on a segment leaves open which serve decides, and the user gets the same from both.
#[test]
fn what_expectations_may_have_reached_is_not_without_a_test() {
    let world = World::new();
    let condition = r#"{ type: number, subject: age, predicate: ">", objects: ["18"] }"#;
    let document = doc(18)
        .replace(condition, "{ type: segment, predicate: is in, objects: [vip] }")
        .replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }");
    world.repo.file("shop/prod/pay.yaml", document).file("shop/test/pay.yaml", doc(18));
    world
        .repo
        .file("shop/prod/pay.test.yaml", "- { name: staff, key: user-1, serves: on }\n")
        .commit("Add both");
    test(&world).set("service-kind", "featureprobe").arg("--coverage").exit(0).stdout(
        "not reached shop/prod/pay.yaml:7 rule `adults`
not reached shop/prod/pay.yaml:12 the default serve
not tested shop/test/pay.yaml

tested 1 expectation in 1 file as the Rust SDK 2.3 evaluates them: all met
",
    );
}

#[test]
fn hostile_names_are_escaped_in_every_output() {
    let world = world(
        "- { name: \"a\\e[31m\\n::error::<b>\", key: \"\\u202Ek\", given: { age: \"\\e]0;x\" }, serves: on }\n",
    );
    for output in ["human", "json", "junit"] {
        let printed = test(&world).set("output", output).exit(1).both();
        assert!(!printed.contains(['\u{1b}', '\u{202e}']), "{printed:?}");
        assert!(printed.lines().all(|line| !line.trim_start().starts_with("::")), "{printed}");
    }
}

#[test]
fn what_other_sdks_serve_is_in_every_output() {
    let world = World::new();
    let needs = "  prerequisites: [{ key: pay, value: \"true\", type: boolean }]\n";
    let search = doc(18).replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }") + needs;
    world.repo.file("shop/prod/pay.yaml", doc(18) + "  prerequisites: []\n");
    world.repo.file("shop/prod/search.yaml", search);
    let expected = "- { name: children, given: { age: 7 }, serves: off }\n";
    world.repo.file("shop/prod/search.test.yaml", expected).commit("Add both");
    let run = || test(&world).set("service-kind", "featureprobe");
    let said = "Node, Python and Java before 2.3";
    run().exit(0).stdout_contains(&[said]);
    let json = run().set("output", "json").exit(0).json();
    assert!(json["results"][0]["elsewhere"][0].as_str().unwrap().contains(said), "{json}");
    run().set("output", "junit").exit(0).stdout_contains(&["children (other SDKs)", said, "<skipped"]);
}

#[test]
fn what_other_sdks_make_of_a_condition_is_in_every_output() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(16_777_217).replace("\">\"", "\"=\""));
    let expected = "- { name: near, given: { age: 16777216 }, serves: off }\n- { name: inch, given: { age: 12px }, serves: off }\n";
    world.repo.file("shop/prod/pay.test.yaml", expected).commit("Add one");
    let run = || test(&world).set("service-kind", "featureprobe");
    let go = "Go: served: `on` (value `true`), because there, numbers have 32 bits";
    let doubt = "may differ in Go, Java, Node and Python (a text that is not a plain number)";
    run().exit(0).stdout_contains(&[
        &format!("note shop/prod/pay.test.yaml:1 `near`: {go}\n"),
        "note shop/prod/pay.test.yaml:2 `inch`: `age` =",
        doubt,
    ]);
    let json = run().set("output", "json").exit(0).json();
    assert_valid(&world, "test-results", &json);
    assert_eq!(json["results"][0]["elsewhere"][0], go);
    assert!(json["results"][1]["elsewhere"][0].as_str().unwrap().ends_with(doubt), "{json}");
    run().set("output", "junit").exit(0).stdout_contains(&["near (other SDKs)", "inch (other SDKs)"]);
    run().set("sdks", "go").exit(1).stdout_contains(&["as the Go SDK 2.3 evaluates them: 1 failed"]);
    run().set("sdks", "go").set("output", "junit").exit(1).stdout_contains(&[
        "<testsuite name=\"shop/prod/pay.test.yaml (as the Go SDK 2.3 evaluates it)\" tests=\"3\"",
    ]);
}

#[test]
fn the_verdict_is_that_of_the_first_sdk_in_use_and_a_circle_is_named() {
    let world = World::new();
    let needs = |key: &str| format!("  prerequisites: [{{ key: {key}, value: \"true\", type: boolean }}]\n");
    let search =
        doc(18).replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }") + &needs("pay");
    world.repo.file("shop/prod/pay.yaml", doc(18) + "  prerequisites: []\n");
    world.repo.file("shop/prod/search.yaml", search);
    let expected = "- { name: children, given: { age: 7 }, serves: on }\n";
    world.repo.file("shop/prod/search.test.yaml", expected).commit("Add both");
    let run = |sdks: &str| test(&world).set("service-kind", "featureprobe").set("sdks", sdks);
    run("rust").exit(1).stdout_contains(&["as the Rust SDK 2.3 evaluates them: 1 failed"]);
    run("node")
        .exit(0)
        .stdout("tested 1 expectation in 1 file as the Node SDK 2.2 evaluates them: all met\n");
    // The disabled serve of an enabled toggle is for unmet prerequisites, which Node does not know.
    run("node").args("--coverage").exit(0).stdout_contains(&["shop/prod/search.yaml:"]);
    assert!(!run("node").args("--coverage").exit(0).both().contains("the disabled serve"));
    world.repo.write("shop/prod/pay.yaml", doc(18) + &needs("search"));
    let note = "these prerequisites form a circle: `pay` → `search` → `pay`";
    run("node")
        .exit(0)
        .stdout_contains(&[&format!("note shop/prod/search.test.yaml:1 `children`: {note}\n")]);
    run("node").set("output", "junit").exit(0).stdout_contains(&["children (note)", note]);
    let json = run("node").set("output", "json").exit(0).json();
    assert_eq!(json["results"][0]["circle"], note);
    run("rust").exit(1).stdout_contains(&[note]);
}
