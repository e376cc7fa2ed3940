//! README.md says what the program says.

use std::collections::BTreeSet;

use gitoggle::config::settings;
use gitoggle::document::CHECKS;

const README: &str = include_str!("../../README.md");

/// The table of settings, as README has it.
fn table() -> String {
    let mut rows = vec![
        "| flag | variable | default | what it says |".to_owned(),
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
fn the_table_of_settings_is_that_of_the_program() {
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
fn the_two_commands_are_there() {
    for command in ["cargo run --release -- demo", "cargo test"] {
        assert!(README.contains(command), "{command}");
    }
}
