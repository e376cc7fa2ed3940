//! SARIF, GitLab's code-quality report and annotations, and which command has which output.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::junit::cases;
use super::schema::assert_matches;
use crate::support::{Gitoggle, World, doc};

pub(super) const HOSTILE: &str = "x ` | <b> ::error::pwned ##[error] ##vso[task.complete] @admin [a](https://evil.example) ]]> \u{1b}[31m\u{202e}";

/// A world whose document has errors that quote hostile text, below a root.
pub(super) fn hostile() -> World {
    let world = World::new();
    let key = serde_json::to_string(HOSTILE).unwrap();
    world
        .repo
        .file("flags/shop/prod/fine.yaml", doc(18))
        .file("flags/shop/prod/pay.yaml", doc(18).replace("defaultServe", &key))
        .file("flags/shop/prod/a [b](c) #%.yaml", doc(18))
        .commit(HOSTILE);
    world
}

pub(super) fn validate(world: &World, output: &str) -> Gitoggle {
    world.validate().set("root", "flags").set("output", output)
}

#[track_caller]
pub(super) fn assert_harmless(printed: &str) {
    for bad in ["##[", "##vso[", "\u{1b}", "\u{202e}"] {
        assert!(!printed.contains(bad), "{bad:?} in {printed}");
    }
    let begins =
        |line: &str| line.trim_start().starts_with("::error::") || line.trim_start().starts_with("::pwned");
    assert!(!printed.lines().any(begins), "{printed}");
}

#[test]
fn sarif_matches_its_schema_and_names_files_from_the_top_of_the_repository() {
    let world = hostile();
    let schema: Value = serde_json::from_str(include_str!("sarif-2.1.0.json")).unwrap();
    for run in [
        validate(&world, "sarif"),
        world.plan().set("root", "flags").set("first-pass", "assert").set("output", "sarif"),
    ] {
        let sarif = run.exit(3).json();
        assert_matches(schema.clone(), &sarif);
        let run = &sarif["runs"][0];
        let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
        let results = run["results"].as_array().unwrap();
        assert!(results.len() >= 3, "{sarif:#}");
        for result in results {
            let index = usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap();
            assert_eq!(rules[index]["id"], result["ruleId"]);
            let place = &result["locations"][0]["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(uri.starts_with("flags/shop/prod/") && !uri.contains([' ', '[', '#']), "{uri}");
            let message = result["message"]["text"].as_str().unwrap();
            assert!(!message.replace("\\[", "").contains('['), "{message}");
        }
        let missing = results.iter().find(|result| result["ruleId"] == "unknown-key").unwrap();
        assert_eq!(missing["level"], "error");
        // The quoted key, in characters from 1; the end is exclusive.
        let key = serde_json::to_string(HOSTILE).unwrap();
        assert_eq!(
            missing["locations"][0]["physicalLocation"]["region"],
            json!({ "startLine": 12, "startColumn": 3, "endColumn": 3 + key.chars().count() })
        );
        assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    }
    assert_harmless(&validate(&world, "sarif").exit(3).both());
}

#[test]
fn a_check_of_nothing_is_an_unsuccessful_run() {
    let world = World::new();
    let sarif = world.validate().set("output", "sarif").exit(1).json();
    let invocation = &sarif["runs"][0]["invocations"][0];
    assert_eq!(invocation["executionSuccessful"], false);
    assert_eq!(invocation["toolExecutionNotifications"][0]["message"]["text"], "no document was checked");
    let xml = world.validate().set("output", "junit").exit(1).both();
    assert!(xml.contains("<error message=\"no document was checked\">"), "{xml}");
}

#[test]
fn a_command_that_fails_is_an_unsuccessful_run() {
    let world = World::new();
    let schema: Value = serde_json::from_str(include_str!("sarif-2.1.0.json")).unwrap();
    let missing = world.path("missing");
    let tested = || world.bare("test").set("repo", world.repo.path());
    // The error follows on stderr.
    let report = |both: &str| both.split_inclusive("</testsuites>").next().unwrap().to_owned();
    let failing: [(&dyn Fn() -> Gitoggle, i32, &str); 8] = [
        (&|| world.plan().set("ref", "no-such-branch"), 1, "could not find"),
        (&|| world.plan().set("config", &missing), 64, "could not read the file"),
        (&|| world.plan().set("git-password-file", &missing), 1, "--git-password-file"),
        (&|| world.validate().arg(&missing), 1, "could not check"),
        (&|| world.plan().arg("--no-such-flag"), 64, "--no-such-flag"),
        (&|| world.bare("paln"), 64, "paln"),
        (&|| world.apply().set("ref", "no-such-branch"), 1, "could not find"),
        (&|| tested().arg(&missing), 1, "could not check"),
    ];
    for (at, (run, code, why)) in failing.into_iter().enumerate() {
        let xml = run().args("-o junit").exit(code).stderr_contains(&[why]).both();
        assert_eq!(cases(&report(&xml)), [("command".to_owned(), Some("error".to_owned()))]);
        if at < 6 {
            let sarif = run().args("-o sarif").exit(code).any_stderr().json();
            assert_matches(schema.clone(), &sarif);
            assert_eq!(sarif["runs"][0]["invocations"][0]["executionSuccessful"], false);
            let issues = run().args("-o gitlab").exit(code).any_stderr().json();
            assert_matches(code_quality_schema(), &issues);
            assert_eq!((&issues[0]["severity"], issues.as_array().unwrap().len()), (&json!("blocker"), 1));
            let annotation = run().args("-o github").exit(code).any_stderr().both();
            let commands = annotation.lines().filter(|line| line.starts_with("::error title=gitoggle::"));
            assert_eq!(commands.count(), 1, "{annotation}");
        }
    }
    let xml = tested().args("-o junit").exit(1).any_stderr().both();
    assert_eq!(cases(&report(&xml)), [("test".to_owned(), Some("error".to_owned()))]);
}

#[test]
fn a_command_without_an_output_refuses_it_with_a_message() {
    World::new()
        .bare("diff")
        .args("a/b c/d -o sarif")
        .exit(64)
        .stdout("")
        .stderr_contains(&["this command has no `sarif` output"]);
}

/// The fields and types that GitLab checks before it reads a report.
fn code_quality_schema() -> Value {
    json!({
        "type": "array",
        "items": {
            "type": "object",
            "required": ["description", "check_name", "fingerprint", "severity", "location"],
            "properties": {
                "description": { "type": "string" },
                "check_name": { "type": "string" },
                "fingerprint": { "type": "string", "minLength": 1 },
                "severity": { "enum": ["info", "minor", "major", "critical", "blocker"] },
                "location": {
                    "type": "object",
                    "required": ["path", "lines"],
                    "properties": {
                        "path": { "type": "string", "minLength": 1 },
                        "lines": {
                            "type": "object",
                            "required": ["begin"],
                            "properties": { "begin": { "type": "integer", "minimum": 1 } },
                        },
                    },
                },
            },
        },
    })
}

#[test]
fn the_code_quality_report_has_the_fields_that_gitlab_requires() {
    let world = hostile();
    let report = validate(&world, "gitlab").exit(3).json();
    assert_matches(code_quality_schema(), &report);
    let paths = report.as_array().unwrap().iter().map(|issue| &issue["location"]["path"]);
    assert!(paths.clone().all(|path| path.as_str().unwrap().starts_with("flags/")));
    assert!(paths.count() >= 3, "{report:#}");
    assert_harmless(&validate(&world, "gitlab").exit(3).both());
}

#[test]
fn fingerprints_are_unique_and_survive_an_edit_above_the_finding() {
    let world = World::new();
    let bad = doc(18).replace("- name: on", "- name: off");
    world.repo.file("shop/prod/pay.yaml", &bad).file("shop/prod/two.yaml", &bad).commit("Add");
    let fingerprints = || -> BTreeSet<String> {
        let report = world.validate().set("output", "gitlab").exit_in(&[0, 3]).any_stderr().json();
        let all: Vec<String> = report
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["fingerprint"].as_str().unwrap().to_owned())
            .collect();
        let unique: BTreeSet<String> = all.iter().cloned().collect();
        assert_eq!(all.len(), unique.len());
        unique
    };
    let before = fingerprints();
    world.repo.write("shop/prod/pay.yaml", format!("# A comment.\n\n{bad}"));
    assert_eq!(fingerprints(), before);
}

#[test]
fn every_output_of_a_plan_agrees_with_the_exit_code() {
    let clean = World::with_pay_applied();
    let changed = World::with_pay_applied();
    changed.repo.commit_pay(21, "Change");
    let held = World::new();
    held.repo.file("shop/prod/pay.yaml", doc(18)).file("shop/test/pay.yaml", doc(18)).commit("Add");
    held.settle();
    held.repo.remove("shop/prod/pay.yaml").commit("Empty the environment");
    let invalid = World::with_pay_applied();
    invalid.repo.file("shop/prod/pay.yaml", "nonsense\n").commit("Break");
    for (world, code) in [(&clean, 0), (&changed, 0), (&held, 4), (&invalid, 3)] {
        let plan = |output: &str| world.plan().set("output", output).exit(code);
        let json = plan("json").json();
        let summary = &json["summary"];
        let expected = match (&summary["held"], &summary["held_environments"], &summary["invalid"]) {
            (_, environments, _) if environments != &json!({}) => 4,
            (_, _, invalid) if invalid != &json!(0) => 3,
            _ => 0,
        };
        assert_eq!(expected, code, "{json:#}");
        let xml = plan("junit").both();
        let fails = cases(&xml).iter().any(|(_, problem)| problem.as_deref() == Some("failure"));
        assert_eq!(fails, code != 0, "{xml}");
        let errors = |report: &Value, level: &str| report.to_string().contains(level);
        assert_eq!(errors(&plan("sarif").json(), r#""level":"error","locations""#), code == 3);
        assert_eq!(errors(&plan("gitlab").json(), r#""severity":"major""#), code == 3);
        assert_eq!(plan("github").both().contains("::error "), code == 3);
        let text = json["summary"]["text"].as_str().unwrap().to_owned();
        assert!(plan("markdown").both().contains(&text), "{text}");
    }
}

#[test]
fn other_commands_refuse_reports_on_documents_before_they_run() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change");
    for (run, output) in [
        (world.apply(), "gitlab"),
        (world.apply(), "sarif"),
        (world.status(), "gitlab"),
        (world.status(), "junit"),
        (world.status(), "sarif"),
    ] {
        run.set("output", output)
            .exit(64)
            .stderr_contains(&[&format!("this command has no `{output}` output"), "hint: "]);
    }
    assert!(world.service.take().is_empty());
}

#[test]
fn a_thousand_findings_are_bounded_where_the_form_has_limits() {
    let world = World::new();
    for at in 0..1000 {
        world.repo.write(&format!("shop/prod/t{at:04}.yaml"), "nonsense\n");
    }
    let run = |output: &str| world.validate().set("output", output).exit(3);
    let summary = world.path("summary.md");
    let github = world.validate().set("output", "github").env("GITHUB_STEP_SUMMARY", &summary);
    let github = github.exit(3).both();
    let commands: Vec<&str> = github.lines().filter(|line| line.starts_with("::")).collect();
    assert_eq!(commands.len(), 10, "{github}");
    assert_eq!(
        commands[9],
        "::error title=more-findings::991 more errors: see the job summary and the log of this step"
    );
    assert_eq!(github.lines().filter(|line| line.starts_with("error shop/prod/")).count(), 991);
    assert!(world.printed(&summary).matches("* **error** ").count() == 1000);
    let markdown = run("markdown").both();
    let shown = markdown.matches("* **error** ").count();
    let left_out = format!("{} findings did not fit here", 1000 - shown);
    assert!(markdown.len() <= 65_535 && shown > 100 && markdown.contains(&left_out), "{shown}");
    assert_eq!(run("sarif").json()["runs"][0]["results"].as_array().unwrap().len(), 1000);
    assert_eq!(run("gitlab").json().as_array().unwrap().len(), 1000);
    assert_eq!(cases(&run("junit").both()).len(), 1000);
    assert_eq!(run("json").json()["summary"]["errors"], 1000);
}
