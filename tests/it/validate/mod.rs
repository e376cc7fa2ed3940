//! `gitoggle validate` reports every problem in one run, with its position.

mod findings;

use gitoggle::config::OutputFormat;
use serde_json::Value;

use crate::support::{Repo, World, doc};

fn findings(json: &Value) -> Vec<Value> {
    json["findings"].as_array().expect("there are findings").clone()
}

#[test]
fn valid_documents_are_a_success() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
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
        .commit("Odd, not wrong");
    let json = world.validate().set("output", "json").exit(0).json();
    let ids: Vec<_> = findings(&json)
        .iter()
        .map(|finding| {
            assert_eq!(finding["severity"], "warning", "{finding}");
            finding["id"].as_str().unwrap().to_owned()
        })
        .collect();
    for id in ["matches-everyone", "elsewhere"] {
        assert!(ids.iter().any(|found| found == id), "{id} in {ids:?}");
    }
}

#[test]
fn two_files_for_one_toggle_name_each_other() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).file("shop/prod/pay.yml", "{}").commit("Twice");
    world.validate().exit(3).says(&["shop/prod/pay.yaml", "shop/prod/pay.yml", "duplicate-toggle"]);
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
        .commit_pay(18, "Things that are no documents");
    let json = world.validate().set("output", "json").exit(0).json();
    // Nobody reads the link, which may stand for a document.
    let findings = findings(&json);
    let found: Vec<_> = findings.iter().map(|found| (&found["file"], &found["id"])).collect();
    assert_eq!(found, [(&Value::from("shop/prod/linked.yaml"), &Value::from("link"))]);
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
    let ids: Vec<_> = findings(&json).iter().map(|finding| finding["id"].clone()).collect();
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
    for output in OutputFormat::WORDS {
        for run in
            [world.validate(), world.validate().set("ref", "main"), world.plan().set("first-pass", "assert")]
        {
            let printed = run.set("output", output).exit(3).both();
            for bad in ['\u{1b}', '\u{202e}'] {
                assert!(!printed.contains(bad), "{output}: {bad:?} in {printed:?}");
            }
            assert!(
                !printed.lines().any(|line| line.trim_start().starts_with("::error::pwned")),
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
    world.repo.file("shop/prod/pay.yaml", doc(18).replace("type: number", "type: numbr")).commit("Mistype");
    world.validate().exit(0).any_output();
    world.validate().set("service-kind", "featureprobe").exit(3).says(&["shop/prod/pay.yaml:9:", "numbr"]);
}

#[test]
fn another_layout_can_be_set() {
    let world = World::new();
    world.repo.file("conf/toggles/prod/shop/pay.yaml", "nonsense\n").commit("Other way round");
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
    world.repo.file("charts/shop/values.yaml", "replicas: 2\n").commit("A chart");
    world.validate().exit(3).says(&["charts/shop/values.yaml", "--root"]);
}

#[test]
fn the_work_tree_is_checked_unless_a_ref_is_given() {
    let world = World::new();
    world.repo.commit_pay(18, "Good");
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
    within("shop/prod/bad.yaml").exit(3).says(&["shop/prod/bad.yaml:1:1"]);
    within("shop/nowhere").exit(1).any_output();

    let plain = world.path("plain/shop/prod");
    std::fs::create_dir_all(&plain).unwrap();
    std::fs::write(plain.join("bad.yaml"), "nonsense\n").unwrap();
    world.bare("validate").arg(world.path("plain")).exit(3).says(&["bad.yaml:1:1"]);
}

#[test]
fn validate_needs_no_settings_and_sends_no_request() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
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
        .file("shop/prod/pay.yaml", doc(18).replace("defaultServe", "\"\\u001b[31m::error::pwned\""))
        .file("shop/prod/raw.yaml", "\u{202e}evil: \u{2028}::error::pwned\n")
        .commit("Evil");
    for output in OutputFormat::WORDS {
        let printed = world.validate().set("output", output).exit(3).both();
        assert!(
            !printed.contains('\u{1b}') && !printed.contains('\u{202e}') && !printed.contains('\u{2028}'),
            "{printed:?}"
        );
        assert!(!printed.lines().any(|line| line.trim_start().starts_with("::error::pwned")), "{printed}");
    }
}

#[test]
fn the_schema_is_json_and_describes_a_document() {
    let world = World::new();
    let schema = world.bare("schema").exit(0).json();
    assert!(schema["$schema"].as_str().is_some_and(|uri| uri.contains("json-schema.org")), "{schema}");
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
    world.repo.commit_pay(18, "Add pay");
    world.validate().exit(0).any_output();
    world.plan().set("first-pass", "assert").exit(0).any_output();
    world.apply().set("first-pass", "assert").exit(0).any_output();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/pay.yaml"]);
}
