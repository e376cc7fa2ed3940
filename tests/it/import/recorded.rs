//! Imports of what a running FeatureProbe server answered.

use std::path::Path;

use serde_json::{Value, json};

use super::{files, import};
use crate::support::World;

/// Writes the bodies of all recorded exchanges that contain a targeting, and returns their number: responses,
/// bodies of publishes, and versions.
fn export(to: &Path) -> usize {
    let recorded = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/featureprobe-live");
    let mut bodies = Vec::new();
    for entry in std::fs::read_dir(recorded).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let exchange: Value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            collect(&name, &exchange, &mut bodies);
        }
    }
    std::fs::create_dir_all(to).unwrap();
    for (name, body) in &bodies {
        std::fs::write(to.join(format!("{name}.json")), body.to_string()).unwrap();
    }
    bodies.len()
}

/// Collects every complete targeting in `value`, wherever it is.
fn collect(name: &str, value: &Value, bodies: &mut Vec<(String, Value)>) {
    let is_complete = value["disabled"].is_boolean() && value["content"]["variations"].is_array();
    if is_complete {
        bodies.push((name.to_owned(), value.clone()));
        return;
    }
    let inner: Vec<(String, &Value)> = match value {
        Value::Object(members) => members.iter().map(|(key, value)| (key.clone(), value)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(at, value)| (at.to_string(), value)).collect(),
        _ => Vec::new(),
    };
    for (part, value) in inner {
        collect(&format!("{name}-{part}"), value, bodies);
    }
}

#[test]
fn recorded_toggles_become_valid_documents_that_mean_the_same() {
    let world = World::new();
    let count = export(&world.path("exported/facts/production"));
    assert!(count >= 15, "{count}");
    let run = || {
        import(&world)
            .set("from", world.path("exported"))
            .set("service-kind", "featureprobe")
            .set("output", "json")
    };
    let first = run().exit(0).json();
    let written = files(&world).len();
    assert_eq!(first["summary"]["written"], json!(written));
    // What the server accepted although no SDK can handle it, and what a draft hides.
    let skipped: Vec<(&str, &str)> = first["toggles"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|toggle| toggle["result"] != "written")
        .map(|toggle| (toggle["toggle"].as_str().unwrap(), toggle["skipped"].as_str().unwrap_or("")))
        .collect();
    let expected = [
        ("facts/production/approval-get-after-patch-body", "draft"),
        ("facts/production/approval-get-with-draft-body", "draft"),
        ("facts/production/patch-serve-out-of-range-body", "inexpressible"),
    ];
    assert_eq!(skipped, expected);
    let validate = world.bare("validate").set("repo", world.repo.path());
    let validate = validate.set("service-kind", "featureprobe").set("output", "json");
    let checked = validate.exit(0).json();
    assert_eq!(checked["summary"]["documents"], json!(written));
    assert_eq!(checked["summary"]["errors"], 0);
    let second = run().exit(0).json();
    assert_eq!(second["summary"]["unchanged"], json!(written));
    assert_eq!(second["summary"]["written"], 0);
}
