//! Tests of whole imports of generated input.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use super::run::{Collection, writer};
use super::{
    ImportConfig, ImportReport, ImportResult, ImportScope, ImportSource, ImportStop, SkipReason, import,
};
use crate::authoring::Existing;
use crate::document::{self, Layout, PathKind, from_service};
use crate::model::{Blob, ServiceKind};

/// Imports the files below `input` into the work tree `repo`.
fn import_folder(repo: &Path, input: &Path) -> ImportReport {
    let config = ImportConfig {
        repo: repo.to_owned(),
        root: String::new(),
        layout: Layout::default(),
        kind: ServiceKind::FeatureProbe,
        scope: ImportScope::default(),
        on_different: Existing::Keep,
        from: ImportSource::Folder(input.to_owned()),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let (_keep, stop) = watch::channel(false);
    runtime.block_on(import(config, stop, |_| ())).unwrap()
}

#[tokio::test]
async fn an_import_whose_reader_fails_is_no_success() {
    let repo = tempfile::tempdir().unwrap();
    git2::Repository::init(repo.path()).unwrap();
    let config = ImportConfig {
        repo: repo.path().to_owned(),
        root: String::new(),
        layout: Layout::default(),
        kind: ServiceKind::FeatureProbe,
        scope: ImportScope::default(),
        on_different: Existing::Keep,
        from: ImportSource::Stdin,
    };
    let mut collection =
        Collection { report: ImportReport::default(), writer: writer(&config, repo.path()).unwrap() };
    let (sender, found) = mpsc::channel(1);
    drop(sender);
    let (_keep, stop) = watch::channel(false);
    collection.run(&config.scope, found, stop, |_| ()).await;
    assert_eq!(collection.report.stopped, Some(ImportStop::Fault));
}

/// Reads the document at `path` as a pass does.
fn read(repo: &Path, path: &str) -> document::Document {
    let PathKind::Document { .. } = Layout::default().classify(path.as_bytes()) else {
        panic!("`{path}` is not a document");
    };
    let content = Blob::Content(std::fs::read(repo.join(path)).unwrap());
    document::read(path, &content, ServiceKind::FeatureProbe)
}

/// Text as people and attackers write it.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}",
        1 => "[ -~]{0,12}",
        1 => any::<String>(),
        1 => prop::sample::select(vec!["", "true", "no", "~", "1.10", "0x1", "- a", "a: b", "#x", " x ", "é\u{301}", "\u{202e}", "a\nb", "\u{85}", "|", ">"])
            .prop_map(str::to_owned),
    ]
}

fn serve(variations: usize) -> impl Strategy<Value = Value> {
    prop_oneof![
        4 => (0..variations).prop_map(|index| json!({ "select": index })),
        2 => (0..variations, 0..=10_000_u32).prop_map(move |(index, weight)| {
            let mut weights = vec![0; variations];
            weights[0] = 10_000 - weight;
            weights[index] += weight;
            json!({ "split": weights })
        }),
        1 => prop::collection::vec(0..20_000_i64, 0..4).prop_map(|weights| json!({ "split": weights })),
        1 => prop::sample::select(vec![json!({}), json!({ "select": 99 }), json!({ "select": -1 }), json!(null)]),
    ]
}

fn condition() -> impl Strategy<Value = Value> {
    let (text, texts) = (text, || prop::collection::vec(text(), 0..3));
    prop_oneof![
        3 => (text(), texts(), prop::sample::select(vec!["is one of", "ends with", "contains"]))
            .prop_map(|(subject, objects, predicate)| json!({
                "type": "string", "subject": subject, "predicate": predicate, "objects": objects,
            })),
        2 => (any::<i32>(), prop::sample::select(vec!["=", ">", "<="])).prop_map(|(object, predicate)| json!({
            "type": "number", "subject": "age", "predicate": predicate, "objects": [object.to_string()],
        })),
        1 => (0..50_u8, 50..99_u8).prop_map(|(low, high)| json!({
            "type": "number", "subject": "age", "predicate": "between",
            "leftPredicate": ">=", "objects": [low.to_string()],
            "rightPredicate": "<", "rightObjects": [high.to_string()],
        })),
        1 => Just(json!({ "type": "segment", "subject": "", "predicate": "is in", "objects": ["staff"] })),
        1 => Just(json!({ "type": "segment", "predicate": "is not in", "objects": ["staff"] })),
        1 => (text(), text()).prop_map(|(kind, predicate)| json!({
            "type": kind, "subject": "x", "predicate": predicate, "objects": ["1"],
        })),
    ]
}

fn rule(variations: usize) -> impl Strategy<Value = Value> {
    (text(), serve(variations), prop::collection::vec(condition(), 0..3), any::<bool>()).prop_map(
        |(name, serve, conditions, has_name)| {
            let mut rule = json!({ "serve": serve, "conditions": conditions });
            if has_name {
                rule["name"] = name.into();
            }
            rule
        },
    )
}

prop_compose! {
    /// A response of the service: mostly what people publish, and anything else that it stores.
    fn response()(variations in 1_usize..4)(
        disabled in any::<bool>(),
        names in prop::collection::vec(text(), variations),
        values in prop::collection::vec(text(), variations),
        rules in prop::collection::vec(rule(variations), 0..3),
        disabled_serve in serve(variations),
        default_serve in serve(variations),
        prerequisite in prop::option::of(text()),
    ) -> Value {
        let variations: Vec<Value> = names
            .iter()
            .zip(values)
            .map(|(name, value)| json!({ "name": name, "value": value, "description": "" }))
            .collect();
        let prerequisites: Vec<Value> = prerequisite
            .into_iter()
            .map(|value| json!({ "key": "other", "value": value, "type": "string" }))
            .collect();
        json!({
            "locked": false, "version": 3, "disabled": disabled, "content": {
                "rules": rules, "disabledServe": disabled_serve, "defaultServe": default_serve,
                "variations": variations, "prerequisites": prerequisites,
            },
        })
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// A plan compares payloads, so equal payloads are an empty plan.
    #[test]
    fn a_pass_reads_every_imported_document_as_what_the_service_has(
        responses in prop::collection::vec(response(), 1..8)
    ) {
        let (repo, input) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        git2::Repository::init(repo.path()).unwrap();
        let folder = input.path().join("shop/prod");
        std::fs::create_dir_all(&folder).unwrap();
        for (number, response) in responses.iter().enumerate() {
            std::fs::write(folder.join(format!("t{number}.json")), response.to_string()).unwrap();
        }
        let report = import_folder(repo.path(), input.path());
        prop_assert_eq!(report.results.len(), responses.len(), "no toggle is lost or invented");
        prop_assert!(report.stopped.is_none());
        let mut again = BTreeMap::new();
        for (number, response) in responses.iter().enumerate() {
            let name = format!("shop/prod/t{number}");
            let disabled = response["disabled"].as_bool().unwrap();
            let live = from_service(ServiceKind::FeatureProbe, disabled, &response["content"]);
            let path = format!("{name}.yaml");
            match &report.results[&name] {
                ImportResult::Written { path: written } => {
                    prop_assert_eq!(written, &path);
                    prop_assert_eq!(read(repo.path(), &path).payload, live.ok());
                    let spelling = None;
                    again.insert(name, ImportResult::Unchanged { path, spelling });
                }
                skipped @ ImportResult::Skipped(SkipReason::Inexpressible, reason) => {
                    // Everything that a document can express is imported.
                    let is_valid = live.is_ok_and(|live| {
                        let text = document::print(&live.targeting(), ServiceKind::FeatureProbe);
                        let content = Blob::Content(text.into_bytes());
                        document::read(&path, &content, ServiceKind::FeatureProbe).payload.is_some()
                    });
                    prop_assert!(!is_valid, "{}", reason);
                    prop_assert!(!repo.path().join(&path).exists());
                    again.insert(name, skipped.clone());
                }
                other => prop_assert!(false, "{:?}", other),
            }
        }
        prop_assert_eq!(import_folder(repo.path(), input.path()).results, again);
    }
}

#[test]
fn most_generated_toggles_are_imported() {
    use proptest::strategy::ValueTree as _;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let mut valid = 0;
    let mut shown = String::new();
    for _ in 0..200 {
        let response = response().new_tree(&mut runner).unwrap().current();
        let disabled = response["disabled"].as_bool().unwrap();
        let Ok(live) = from_service(ServiceKind::FeatureProbe, disabled, &response["content"]) else {
            continue;
        };
        let content =
            Blob::Content(document::print(&live.targeting(), ServiceKind::FeatureProbe).into_bytes());
        let read = document::read("a", &content, ServiceKind::FeatureProbe);
        valid += usize::from(read.payload.is_some());
        if let Some(finding) = read.diagnostics.first() {
            let _ = writeln!(shown, "{}", finding.message);
        }
    }
    // Without this, the property above could hold because everything is skipped.
    assert!(valid >= 30, "{valid} of 200 are valid:\n{shown}");
}
