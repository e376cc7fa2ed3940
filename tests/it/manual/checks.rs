//! The table of checks in `examples/checks.md`: an example of each check, and what the program says about it.

use std::path::Path;

use gitoggle::document::{CHECKS, Severity};

use super::page::CHECKS as TABLE;
use crate::support::World;

/// The document that most examples change.
pub(super) const GOOD: &str = r#"disabled: false
content:
  prerequisites:
    - { key: accounts, type: boolean, value: "true" }
  variations:
    - { name: "off", value: "false" }
    - { name: "on", value: "true" }
  rules:
    - name: adults
      conditions:
        - { type: number, subject: age, predicate: ">", objects: ["18"] }
      serve: { variation: "on" }
  disabledServe: { variation: "off" }
  defaultServe: { variation: "off" }
"#;

pub(super) const CONDITION: &str = r#"{ type: number, subject: age, predicate: ">", objects: ["18"] }"#;
pub(super) const PREREQUISITE: &str = r#"{ key: accounts, type: boolean, value: "true" }"#;
pub(super) const ON: &str = r#"{ name: "on", value: "true" }"#;
pub(super) const SERVE: &str = r#"serve: { variation: "on" }"#;
pub(super) const DEFAULT: &str = r#"defaultServe: { variation: "off" }"#;

/// What the example of a check is.
pub(super) enum Example {
    /// A part of the document, and the text that stands for it.
    Edit(&'static str, &'static str),
    /// The same, with a description that is shorter than the text.
    Described(&'static str, &'static str, &'static str),
    /// A description, and the files that it describes.
    Files(&'static str, fn(&Path)),
    /// A description, and the message and help, for what a test cannot set up in a folder.
    Untested(&'static str, &'static str),
}

use super::check_examples::{DOUBTS, EXAMPLES};
use Example::{Described, Edit, Files, Untested};

pub(super) const TOGGLE: &str = "shop/production/banner.yaml";
/// The toggle that [`GOOD`] needs.
pub(super) const ACCOUNTS: &str = "shop/production/accounts.yaml";
pub(super) const TEST: &str = "shop/production/banner.test.yaml";
pub(super) const EXPECTATION: &str = "- { name: adults, given: { age: 20 }, serves: \"on\" }\n";

pub(super) fn large() -> String {
    // A quote in JSON has two bytes.
    let value = format!("'{}'", "\"".repeat(60_000));
    let variations: Vec<String> = (0..10).map(|n| format!("{{ name: \"v{n}\", value: {value} }}")).collect();
    format!("{ON}\n    - {}", variations.join("\n    - "))
}

pub(super) fn write(folder: &Path, path: &str, text: &str) {
    bytes(folder, path, text.as_bytes());
}

pub(super) fn bytes(folder: &Path, path: &str, text: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns what the program prints for the check in this folder: the finding, and the help.
fn printed(world: &World, folder: &Path, id: &str, kind: &str) -> String {
    let verb = if ["duplicate-test", "test-without-toggle"].contains(&id) { "test" } else { "validate" };
    let validate = world.bare(verb).arg(folder).set("output", "json");
    let json = validate.set("service-kind", kind).exit_in(&[0, 1, 3]).any_stderr().json();
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == id);
    let finding = finding.unwrap_or_else(|| panic!("{id}: {json:#}"));
    // Each finding says how to fix it (src/document/README.md, "Findings").
    let text = |member: &str| {
        let text = finding[member].as_str();
        text.unwrap_or_else(|| panic!("no {member}: {finding}")).replace('|', "\\|")
    };
    format!("{} | {}", text("message"), text("help"))
}

/// Returns the rows of a table of the checks with this severity.
fn rows(severity: Severity) -> String {
    let world = World::new();
    let mut rows = String::new();
    for check in CHECKS.iter().filter(|check| check.severity == severity) {
        // A doubt has the id of the certain case, and its own example.
        let doubts = if severity == Severity::Warning { DOUBTS } else { &[] };
        let (id, example) = doubts
            .iter()
            .chain(EXAMPLES)
            .find(|(id, _)| *id == check.id)
            .unwrap_or_else(|| panic!("{} has no example", check.id));
        let is_documented =
            severity == Severity::Warning && ["unknown-condition-type", "unknown-predicate"].contains(id);
        let kind = if is_documented { "documented" } else { "featureprobe" };
        let good = if is_documented { GOOD.replace(PREREQUISITES, "") } else { GOOD.to_owned() };
        let folder = tempfile::tempdir().unwrap();
        let shown = match example {
            Edit(from, to) | Described(_, from, to) => {
                assert!(good.contains(from), "{id}");
                write(folder.path(), TOGGLE, &good.replacen(from, to, 1));
                match example {
                    Described(shown, ..) => (*shown).to_owned(),
                    _ => format!("`{}`", to.trim().replace('\n', "`<br>`")),
                }
            }
            Files(shown, set_up) => {
                set_up(folder.path());
                (*shown).to_owned()
            }
            Untested(shown, _) => (*shown).to_owned(),
        };
        let remedy = match example {
            Untested(_, remedy) => (*remedy).to_owned(),
            _ => printed(&world, folder.path(), id, kind),
        };
        rows.push_str(&format!("| `{id}` | {shown} | {remedy} |\n"));
    }
    rows
}

pub(super) const PREREQUISITES: &str =
    "  prerequisites:\n    - { key: accounts, type: boolean, value: \"true\" }\n";

#[test]
fn each_check_has_an_example_and_the_remedy_that_the_program_prints() {
    for severity in [Severity::Error, Severity::Warning] {
        let table = rows(severity);
        assert!(TABLE.text().contains(&table), "examples/checks.md should contain:\n{table}");
    }
}
