//! JSON outputs against the schemas that the program prints.

use boon::{Compiler, Draft, Schemas};
use serde_json::{Value, json};

use crate::support::{Answer, World, doc};

/// Asserts that `output` is valid for the schema of `gitoggle schema --of WHAT`, and has no field that is not
/// in it.
#[track_caller]
pub(crate) fn assert_valid(world: &World, what: &str, output: &Value) {
    let mut schema = world.bare("schema").arg("--of").arg(what).exit(0).json();
    close(&mut schema);
    assert_matches(schema, output);
}

/// Asserts that `value` is valid for `schema`.
#[track_caller]
pub(super) fn assert_matches(schema: Value, value: &Value) {
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    compiler.set_default_draft(Draft::V2020_12);
    compiler.enable_format_assertions();
    let url = "https://example.com/schema.json";
    compiler.add_resource(url, schema).unwrap();
    let compiled = compiler.compile(url, &mut schemas).unwrap();
    if let Err(error) = schemas.validate(value, compiled) {
        panic!("{error:#}\n{value:#}");
    }
}

/// Forbids fields that a schema does not list. Ids have names in the outputs of tests.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(members) => {
            if members.contains_key("properties") && !members.contains_key("additionalProperties") {
                members.insert("additionalProperties".to_owned(), false.into());
            }
            if let Some(Value::String(pattern)) = members.get_mut("pattern") {
                *pattern = pattern.replace("[0-9a-f]{40}", "<rev>").replace("[0-9a-f]{64}", "<digest>");
            }
            members.values_mut().for_each(close);
        }
        _ => {}
    }
}

/// The world with an entry of every kind, and a warning.
pub(super) fn of_every_kind() -> World {
    let world = World::of_every_kind();
    world
        .repo
        .file("shop/prod/new.yaml", doc(30).replace("select: 1", "select: 0"))
        .commit("Serve one variation only");
    world
}

#[test]
fn the_outputs_of_every_command_match_their_schemas() {
    let world = of_every_kind();
    let plan = world.plan().set("output", "json").exit(3).json();
    assert_valid(&world, "plan", &plan);
    for list in ["changes", "held", "orphans", "findings"] {
        assert!(!plan[list].as_array().unwrap().is_empty(), "{list}: {plan:#}");
    }
    let users = world.write("users", "{\"key\":\"a\",\"age\":19}\nnonsense\n");
    let plan = world.plan().set("output", "json").arg("--audience").arg(users);
    assert_valid(&world, "plan", &plan.exit(3).json());
    let range = world
        .plan()
        .unset("state-dir")
        .unset("base-url")
        .args("--from HEAD~2 --to HEAD")
        .set("output", "json");
    assert_valid(&world, "plan", &range.exit(3).json());
    assert_valid(&world, "validate", &world.validate().set("output", "json").exit(3).json());
    assert_valid(&world, "status", &world.status().set("output", "json").exit(4).json());
    let refusal = || Answer::json(422, r#"{"message": "no"}"#);
    world.service.answers([Answer::applied(), refusal(), refusal()]);
    assert_valid(&world, "apply", &world.apply().set("output", "json").exit(1).json());
    assert_valid(&world, "status", &world.status().set("output", "json").exit(1).json());
}

#[test]
fn errors_match_the_schemas_too() {
    let world = World::new();
    for (what, run) in [("plan", world.plan()), ("apply", world.apply()), ("status", world.status())] {
        let output = run.set("ref", "no-such-branch").set("output", "json").exit(1).json();
        assert!(output["error"]["message"].is_string(), "{output}");
        assert_valid(&world, what, &output);
    }
    let output = world.validate().set("output", "json").exit(1).json();
    assert!(output["error"]["hint"].is_string(), "{output}");
    assert_valid(&world, "validate", &output);
}

#[test]
fn errors_in_settings_match_the_schemas_too() {
    let world = World::new();
    let half = world.write("half.yaml", "output: json\nlayout: nonsense\n");
    let missing = world.path("missing");
    for (what, run, code) in [
        ("plan", world.plan().args("-o json").set("config", &missing), 64),
        ("apply", world.apply().args("-o json --max-change-ratio 7"), 64),
        ("validate", world.validate().set("config", half), 64),
        ("status", world.status().env("GITOGGLE_OUTPUT", "json").set("first-pass", "x"), 64),
        ("apply", world.apply().args("-o json").set("ca-file", &missing), 64),
        ("apply", world.apply().args("-o json").set("git-password-file", &missing), 1),
    ] {
        let output = run.exit(code).json();
        assert!(output["error"]["message"].is_string(), "{output}");
        assert_valid(&world, what, &output);
    }
}

#[test]
fn a_schema_is_one_of_those_that_exist() {
    let world = World::new();
    let document = world.bare("schema").arg("--of").arg("document").exit(0).json();
    assert_eq!(document, world.bare("schema").exit(0).json());
    world
        .bare("schema")
        .arg("--of")
        .arg("nonsense")
        .exit(64)
        .stderr_contains(&["nonsense", "document, test, plan, validate, apply, status, drift"]);
}

#[test]
fn a_schema_refuses_what_is_not_an_output() {
    let world = World::new();
    let mut schema = world.bare("schema").args("--of validate").exit(0).json();
    close(&mut schema);
    for (at, wrong) in [
        ("/version", json!(2)),
        ("/findings", json!([{}])),
        ("/summary/errors", json!(-1)),
        ("/surprise", json!(1)),
    ] {
        let mut output = world.validate().arg("--allow-empty").set("output", "json").exit(0).json();
        match output.pointer_mut(at) {
            Some(place) => *place = wrong,
            None => output["surprise"] = wrong,
        }
        let schema = schema.clone();
        let refused = std::panic::catch_unwind(move || assert_matches(schema, &output));
        assert!(refused.is_err(), "{at}");
    }
}
