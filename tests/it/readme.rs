//! README.md lists every setting, check and log event of the program.

use std::collections::BTreeSet;

use gitoggle::config::settings;
use gitoggle::document::CHECKS;

use crate::support::World;

const README: &str = include_str!("../../README.md");

/// The table of settings in the form of README.md.
fn table() -> String {
    let mut rows = vec![
        "| flag | variable | default | meaning |".to_owned(),
        "|---|---|---|---|".to_owned(),
    ];
    for setting in settings() {
        let flag = setting
            .flag
            .as_deref()
            .map_or("–".to_owned(), |flag| format!("`{flag}`"));
        let variable = setting
            .variable
            .as_deref()
            .map_or("–".to_owned(), |name| format!("`{name}`"));
        let default = match setting.default {
            "" => "–".to_owned(),
            default => default.replace('|', "\\|"),
        };
        rows.push(format!(
            "| {flag} | {variable} | {default} | {} |",
            setting.help.replace('|', "\\|")
        ));
    }
    rows.join("\n")
}

#[test]
fn the_table_of_settings_matches_the_program() {
    assert!(README.contains(&table()), "README.md should hold:\n{}", table());
}

#[test]
fn every_check_is_listed() {
    let missing: BTreeSet<&str> = CHECKS
        .iter()
        .map(|check| check.id)
        .filter(|id| !README.contains(&format!("`{id}`")))
        .collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn the_two_commands_are_listed() {
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(README.contains(command), "{command}");
    }
}

/// Returns the beginning of every call of a `tracing` macro in the sources, with its file.
fn log_calls() -> Vec<(String, String)> {
    let mut calls = Vec::new();
    for (path, code) in super::architecture::code_by_path() {
        for level in ["debug", "error", "info", "trace", "warn"] {
            let begin = format!("tracing::{level}!(");
            calls.extend(code.match_indices(&begin).map(|(at, _)| {
                let call: String = code[at + begin.len()..].trim_start().chars().take(60).collect();
                (path.clone(), call)
            }));
        }
    }
    calls
}

#[test]
fn every_log_line_has_an_event_that_is_listed() {
    let calls = log_calls();
    assert!(calls.len() > 30, "{}", calls.len());
    let is_listed = |call: &str| {
        let event = call
            .strip_prefix("name: \"")
            .and_then(|rest| rest.split('"').next());
        event.is_some_and(|event| README.contains(&format!("`{event}`")))
    };
    let missing: Vec<_> = calls.iter().filter(|(_, call)| !is_listed(call)).collect();
    assert!(
        missing.is_empty(),
        "log lines without `name: \"event\"`, or not in README: {missing:#?}"
    );
}

#[test]
fn the_documents_are_valid_for_featureprobe() {
    let world = World::new();
    let blocks = README.split("```yaml\n").skip(1);
    let blocks = blocks.filter_map(|rest| Some(rest.split_once("```")?.0));
    let documents: Vec<&str> = blocks.filter(|text| text.starts_with("disabled: ")).collect();
    assert!(documents.len() >= 3, "{documents:?}");
    for (number, document) in documents.iter().enumerate() {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), document);
    }
    let count = documents.len();
    world
        .bare("validate")
        .set("repo", world.repo.path())
        .set("service-kind", "featureprobe")
        .exit(0)
        .stdout(&format!("checked {count} documents: no findings\n"));
}

#[test]
fn the_tests_of_the_guarantees_exist() {
    let guarantees = README.split_once("## What you can rely on").unwrap().1;
    let guarantees = guarantees.split_once("\n## ").unwrap().0;
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let quoted: Vec<&str> = guarantees.split('`').skip(1).step_by(2).collect();
    let names = quoted.windows(2).filter(|pair| pair[1].starts_with("tests/it/"));
    let mut count = 0;
    for pair in names.filter(|pair| pair[1].ends_with(".rs")) {
        let text = std::fs::read_to_string(root.join(pair[1])).unwrap();
        assert!(text.contains(&format!("fn {}()", pair[0])), "{pair:?}");
        count += 1;
    }
    assert_eq!(count, 4);
}
