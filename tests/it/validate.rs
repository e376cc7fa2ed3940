//! `gitoggle validate` reports every problem in one run, with its position.

use serde_json::Value;

use crate::support::{Repo, World, doc};

/// Every kind of invalid document with its finding and position.
fn wrong() -> Vec<(&'static str, Vec<u8>, &'static str, u64, u64)> {
    let good = doc(18);
    let edit = |from: &str, to: &str| {
        assert!(good.contains(from), "the example holds {from:?}");
        good.replacen(from, to, 1).into_bytes()
    };
    let deep = format!("disabled: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let deep_maps = format!("disabled: {}\n", "{a: ".repeat(100_000));
    let mut latin = good.clone().into_bytes();
    latin[10] = 0xff;
    vec![
        // (file, content, id, line, column)
        ("syntax", edit("content:", "content: ["), "syntax", 0, 0),
        ("tab", edit("  variations:", "\tvariations:"), "syntax", 3, 0),
        (
            "unknown-key",
            edit("  defaultServe", "  defualtServe"),
            "unknown-key",
            12,
            3,
        ),
        (
            "comment",
            edit("disabled: false", "comment: hello\ndisabled: false"),
            "comment-key",
            1,
            1,
        ),
        (
            "duplicate-key",
            edit("disabled: false\n", "disabled: false\ndisabled: true\n"),
            "duplicate-key",
            2,
            1,
        ),
        (
            "no-disabled",
            edit("disabled: false\n", ""),
            "missing-field",
            0,
            0,
        ),
        (
            "no-default",
            edit("  defaultServe: { select: 0 }\n", ""),
            "missing-field",
            0,
            0,
        ),
        (
            "no-disabled-serve",
            edit("  disabledServe: { select: 0 }\n", ""),
            "missing-field",
            0,
            0,
        ),
        (
            "yes",
            edit("disabled: false", "disabled: no"),
            "wrong-type",
            1,
            11,
        ),
        (
            "select-range",
            edit("{ select: 1 }", "{ select: 2 }"),
            "select-out-of-range",
            10,
            24,
        ),
        (
            "select-negative",
            edit("{ select: 1 }", "{ select: -1 }"),
            "select-negative",
            10,
            24,
        ),
        (
            "select-text",
            edit("{ select: 1 }", "{ select: on }"),
            "wrong-type",
            10,
            24,
        ),
        (
            "unknown-variation",
            edit("{ select: 1 }", "{ variation: \"onn\" }"),
            "unknown-variation",
            10,
            27,
        ),
        (
            "both",
            edit("{ select: 1 }", "{ select: 1, variation: \"on\" }"),
            "serve-choice",
            0,
            0,
        ),
        (
            "twins",
            edit("name: \"off\"", "name: \"on\""),
            "duplicate-variation",
            0,
            0,
        ),
        (
            "no-objects",
            edit("objects: [\"18\"]", "objects: []"),
            "no-objects",
            9,
            57,
        ),
        (
            "hex",
            edit("objects: [\"18\"]", "objects: [0x12]"),
            "not-a-number",
            9,
            67,
        ),
        (
            "underscore",
            edit("objects: [\"18\"]", "objects: [1_000]"),
            "not-a-number",
            9,
            67,
        ),
        (
            "nan",
            edit("objects: [\"18\"]", "objects: [.nan]"),
            "not-a-number",
            9,
            67,
        ),
        (
            "no-serve",
            edit("      serve: { select: 1 }\n", ""),
            "rule-without-serve",
            7,
            7,
        ),
        ("null", edit("name: \"off\"", "name: null"), "null-text", 4, 15),
        ("tilde", edit("value: \"true\"", "value: ~"), "null-text", 5, 28),
        (
            "anchor",
            edit("disabled: false", "disabled: &d false"),
            "yaml-anchor",
            1,
            11,
        ),
        (
            "alias",
            edit("disabled: false", "x: &a 1\ny: *a\ndisabled: false"),
            "yaml-anchor",
            1,
            4,
        ),
        (
            "merge",
            edit("disabled: false", "<<: { disabled: false }"),
            "merge-key",
            1,
            1,
        ),
        (
            "tag",
            edit("disabled: false", "disabled: !!bool false"),
            "yaml-tag",
            1,
            11,
        ),
        (
            "two",
            format!("{good}---\n{good}").into_bytes(),
            "several-documents",
            0,
            0,
        ),
        ("empty", Vec::new(), "empty-document", 0, 0),
        ("only-a-comment", b"# nothing\n".to_vec(), "empty-document", 0, 0),
        ("list", b"- 1\n- 2\n".to_vec(), "not-a-document", 0, 0),
        ("deep", deep.into_bytes(), "too-deep", 1, 0),
        ("deep-maps", deep_maps.into_bytes(), "too-deep", 1, 0),
        ("deep-block", "- ".repeat(100_000).into_bytes(), "too-deep", 1, 0),
        ("bomb", bomb(), "yaml-anchor", 1, 0),
        (
            "large",
            format!("{good}# {}\n", "x".repeat(1024 * 1024)).into_bytes(),
            "too-large",
            0,
            0,
        ),
        ("latin", latin, "not-utf8", 0, 0),
        (
            "no-variations",
            edit(VARIATIONS, "  variations: []\n"),
            "no-variations",
            0,
            0,
        ),
    ]
}

const VARIATIONS: &str = "  variations:
    - { name: \"off\", value: \"false\", description: \"\" }
    - { name: \"on\", value: \"true\", description: \"New payment page\" }
";

/// Nine lists of nine aliases each: 3 GB when expanded.
fn bomb() -> Vec<u8> {
    let mut text = String::from("a0: &a0 [\"lol\"]\n");
    for level in 1..10 {
        let alias = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    text.into_bytes()
}

fn findings(json: &Value) -> Vec<Value> {
    json["findings"].as_array().expect("there are findings").clone()
}

#[test]
fn every_problem_in_every_file_is_reported_with_its_position() {
    let world = World::new();
    let wrong = wrong();
    for (name, content, ..) in &wrong {
        world.repo.file(&format!("shop/prod/{name}.yaml"), content);
    }
    world
        .repo
        .file("shop/prod/fine.yaml", doc(18))
        .commit("Add all that is wrong");
    let json = world.validate().set("output", "json").exit(3).json();
    let findings = findings(&json);
    let mut surprises = Vec::new();
    for (name, _, id, line, column) in &wrong {
        let file = format!("shop/prod/{name}.yaml");
        let of_file: Vec<_> = findings
            .iter()
            .filter(|finding| finding["file"] == file.as_str())
            .collect();
        let as_expected = of_file.iter().any(|finding| {
            finding["id"] == *id
                && finding["severity"] == "error"
                && (*line == 0 || finding["line"] == *line)
                && (*column == 0 || finding["column"] == *column)
                && finding["message"].as_str().is_some_and(|text| !text.is_empty())
        });
        if !as_expected {
            surprises.push(format!("{file}: no `{id}` at {line}:{column} in {of_file:?}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    let fine: Vec<_> = findings
        .iter()
        .filter(|finding| finding["file"] == "shop/prod/fine.yaml")
        .collect();
    assert!(fine.is_empty(), "{fine:?}");
}

#[test]
fn a_finding_has_its_position_its_line_and_a_hint() {
    let world = World::new();
    world
        .repo
        .file(
            "shop/prod/pay.yaml",
            doc(18).replace("defaultServe", "defualtServe"),
        )
        .commit("Mistype");
    world.validate().exit(3).says(&[
        "shop/prod/pay.yaml:12:3",
        "unknown-key",
        "defualtServe: { select: 0 }",
        "did you mean `defaultServe`?",
    ]);
}

#[test]
fn valid_documents_are_a_success() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.validate().exit(0).stderr("").any_stdout();
}

#[test]
fn warnings_never_change_the_exit_code() {
    let world = World::new();
    world
        .repo
        .file(
            "shop/prod/pay.yaml",
            doc(18).replace("      conditions:\n        - { type: number, subject: age, predicate: \">\", objects: [\"18\"] }\n", "      conditions: []\n")
                + "",
        )
        .file("shop/prod/deeper/down.yaml", doc(18))
        .file("shop/prod/case.yaml", doc(18))
        .file("shop/prod/CASE.yaml", doc(18))
        .commit("Odd, not wrong");
    let json = world.validate().set("output", "json").exit(0).json();
    let ids: Vec<_> = findings(&json)
        .iter()
        .map(|finding| {
            assert_eq!(finding["severity"], "warning", "{finding}");
            finding["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in ["matches-everyone", "elsewhere", "case-only-difference"] {
        assert!(ids.iter().any(|found| found == id), "{id} in {ids:?}");
    }
}

#[test]
fn two_files_for_one_toggle_name_each_other() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18))
        .file("shop/prod/pay.json", "{}")
        .commit("Twice");
    world
        .validate()
        .exit(3)
        .says(&["shop/prod/pay.yaml", "shop/prod/pay.json", "duplicate-toggle"]);
}

#[test]
fn hidden_and_reserved_paths_are_not_documents() {
    let world = World::new();
    world
        .repo
        .file(".github/workflows/ci.yml", "on: push\n")
        .file("_drafts/prod/pay.yaml", "nonsense\n")
        .file("shop/prod/.hidden.yaml", "nonsense\n")
        .file("shop/prod/pay.test.yaml", "nonsense\n")
        .file("shop/prod/README.md", "# Shop\n")
        .link("shop/prod/linked.yaml", "pay.test.yaml")
        .file("shop/prod/pay.yaml", doc(18))
        .commit("Things that are no documents");
    let json = world.validate().set("output", "json").exit(0).json();
    assert_eq!(findings(&json), Vec::<Value>::new());
}

#[test]
fn a_path_with_an_invalid_key_or_encoding_is_an_error() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/-dash.yaml", doc(18))
        .file("shop/prod/with space.yaml", doc(18))
        .file(&format!("shop/prod/{}.yaml", "x".repeat(128)), doc(18))
        .file(&format!("shop/prod/{}.yaml", "y".repeat(129)), doc(18))
        .commit("Bad keys");
    let json = world.validate().set("output", "json").exit(3).json();
    let ids: Vec<_> = findings(&json)
        .iter()
        .map(|finding| finding["id"].clone())
        .collect();
    assert_eq!(ids, ["bad-key", "bad-key", "bad-key"]);
}

#[test]
fn hostile_paths_are_reported_escaped() {
    use std::os::unix::ffi::OsStrExt;
    let world = World::new();
    world
        .repo
        .file("shop/prod/fine.yaml", doc(18))
        .file("shop/prod/a\n::error::pwned\u{1b}[31m.yaml", doc(18))
        .file("shop/prod/\u{202e}evil.yaml", doc(18));
    let latin = std::ffi::OsStr::from_bytes(b"shop/prod/gr\xfcn.yaml");
    std::fs::write(world.repo.path().join(latin), doc(18)).unwrap();
    world.repo.git(&["add", "--all"]);
    world.repo.commit("Evil paths");
    for output in ["human", "json", "github", "markdown", "gitlab", "sarif", "junit"] {
        for run in [
            world.validate(),
            world.validate().set("ref", "main"),
            world.plan().set("first-pass", "assert"),
        ] {
            let printed = run.set("output", output).exit(3).both();
            for bad in ['\u{1b}', '\u{202e}'] {
                assert!(!printed.contains(bad), "{output}: {bad:?} in {printed:?}");
            }
            assert!(
                !printed
                    .lines()
                    .any(|line| line.trim_start().starts_with("::error::pwned")),
                "{output}: {printed}"
            );
        }
    }
    let json = world.validate().set("output", "json").exit(3).json();
    assert_eq!(findings(&json).len(), 3, "{json}");
}

#[test]
fn condition_types_are_checked_with_service_kind_featureprobe() {
    let world = World::new();
    world
        .repo
        .file(
            "shop/prod/pay.yaml",
            doc(18).replace("type: number", "type: numbr"),
        )
        .commit("Mistype");
    world.validate().exit(0).any_output();
    world
        .validate()
        .set("service-kind", "featureprobe")
        .exit(3)
        .says(&["shop/prod/pay.yaml:9:", "numbr"]);
}

#[test]
fn another_layout_can_be_set() {
    let world = World::new();
    world
        .repo
        .file("conf/toggles/prod/shop/pay.yaml", "nonsense\n")
        .commit("Other way round");
    world
        .validate()
        .set("root", "conf")
        .set("layout", "toggles/{environment}/{project}/{toggle}.yaml")
        .exit(3)
        .says(&["conf/toggles/prod/shop/pay.yaml:1:1"]);
}

#[test]
fn files_outside_of_the_layout_get_a_hint_about_the_root() {
    let world = World::new();
    world
        .repo
        .file("charts/shop/values.yaml", "replicas: 2\n")
        .commit("A chart");
    world
        .validate()
        .exit(3)
        .says(&["charts/shop/values.yaml", "--root"]);
}

#[test]
fn the_work_tree_is_checked_unless_a_ref_is_given() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Good");
    world.repo.write("shop/prod/pay.yaml", "nonsense\n");
    world.validate().exit(3).says(&["shop/prod/pay.yaml:1:1"]);
    world.validate().set("ref", "main").exit(0).any_output();
}

#[test]
fn a_path_inside_a_repository_is_a_filter_and_outside_one_a_root() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/bad.yaml", "nonsense\n")
        .file("shop/test/good.yaml", doc(18))
        .commit("One bad");
    let within = |path: &str| world.bare("validate").within(world.repo.path()).arg(path);
    within("shop/test").exit(0).any_output();
    within("shop/prod").exit(3).says(&["shop/prod/bad.yaml:1:1"]);
    within("shop/prod/bad.yaml")
        .exit(3)
        .says(&["shop/prod/bad.yaml:1:1"]);
    within("shop/nowhere").exit(1).any_output();

    let plain = world.path("plain/shop/prod");
    std::fs::create_dir_all(&plain).unwrap();
    std::fs::write(plain.join("bad.yaml"), "nonsense\n").unwrap();
    world
        .bare("validate")
        .arg(world.path("plain"))
        .exit(3)
        .says(&["bad.yaml:1:1"]);
}

#[test]
fn validate_needs_no_settings_and_sends_no_request() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    let before = crate::support::files::listing(world.root());
    world.validate().exit(0).any_output();
    assert_eq!(crate::support::files::listing(world.root()), before);
    assert_eq!(world.service.connections(), 0);
}

#[test]
fn hostile_text_in_a_document_is_escaped() {
    let world = World::new();
    world
        .repo
        .file(
            "shop/prod/pay.yaml",
            doc(18).replace("defaultServe", "\"\\u001b[31m::error::pwned\""),
        )
        .file("shop/prod/raw.yaml", "\u{202e}evil: \u{2028}::error::pwned\n")
        .commit("Evil");
    for output in ["human", "json", "github", "markdown", "gitlab", "sarif", "junit"] {
        let printed = world.validate().set("output", output).exit(3).both();
        assert!(
            !printed.contains('\u{1b}') && !printed.contains('\u{202e}') && !printed.contains('\u{2028}'),
            "{printed:?}"
        );
        assert!(
            !printed
                .lines()
                .any(|line| line.trim_start().starts_with("::error::pwned")),
            "{printed}"
        );
    }
}

#[test]
fn the_schema_is_json_and_describes_a_document() {
    let world = World::new();
    let schema = world.bare("schema").exit(0).json();
    assert!(
        schema["$schema"]
            .as_str()
            .is_some_and(|uri| uri.contains("json-schema.org")),
        "{schema}"
    );
    let text = schema.to_string();
    for key in [
        "disabled",
        "content",
        "variations",
        "rules",
        "conditions",
        "disabledServe",
        "defaultServe",
        "select",
    ] {
        assert!(text.contains(&format!("\"{key}\"")), "{key}");
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn a_tree_that_passes_is_never_refused_later() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.validate().exit(0).any_output();
    world.plan().set("first-pass", "assert").exit(0).any_output();
    world.apply().set("first-pass", "assert").exit(0).any_output();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/pay.yaml"]);
}
