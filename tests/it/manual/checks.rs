//! The table of checks in `examples/README.md`: an example of each check, and what the program says about it.

use std::path::Path;

use gitoggle::document::{CHECKS, Severity};

use super::page::DOCUMENTS;
use crate::support::World;

/// The document that most examples change.
const GOOD: &str = r#"disabled: false
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

const CONDITION: &str = r#"{ type: number, subject: age, predicate: ">", objects: ["18"] }"#;
const PREREQUISITE: &str = r#"{ key: accounts, type: boolean, value: "true" }"#;
const ON: &str = r#"{ name: "on", value: "true" }"#;
const SERVE: &str = r#"serve: { variation: "on" }"#;
const DEFAULT: &str = r#"defaultServe: { variation: "off" }"#;

/// What the example of a check is.
enum Example {
    /// A part of the document, and the text that stands for it.
    Edit(&'static str, &'static str),
    /// The same, with a description that is shorter than the text.
    Described(&'static str, &'static str, &'static str),
    /// A description, and the files that it describes.
    Files(&'static str, fn(&Path)),
    /// A description, and the message and help, for what a test cannot set up in a folder.
    Told(&'static str, &'static str),
}

use Example::{Described, Edit, Files, Told};

/// The examples with `featureprobe`; those of the checks that exist with `documented` only are warnings there.
const EXAMPLES: &[(&str, Example)] = &[
    (
        "ambiguous-variation",
        Described(
            "two variations named `on`, and `serve: { variation: \"on\" }`",
            r#""off", value: "false""#,
            r#""on", value: "false""#,
        ),
    ),
    (
        "bad-datetime",
        Edit(
            CONDITION,
            r#"{ type: datetime, subject: now, predicate: after, objects: [tomorrow] }"#,
        ),
    ),
    (
        "bad-key",
        Files("a file `shop/production/new checkout.yaml`", |folder| {
            write(folder, "shop/production/new checkout.yaml", GOOD);
        }),
    ),
    (
        "bad-regex",
        Edit(
            CONDITION,
            r#"{ type: string, subject: mail, predicate: matches regex, objects: ["(a"] }"#,
        ),
    ),
    (
        "bad-semver",
        Edit(
            CONDITION,
            r#"{ type: semver, subject: app, predicate: "=", objects: ["1.2"] }"#,
        ),
    ),
    (
        "between-fields",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: between, objects: ["18"] }"#,
        ),
    ),
    (
        "comment-key",
        Edit("disabled: false", "comment: for the launch\ndisabled: false"),
    ),
    (
        "conflict-marker",
        Edit(
            "disabled: false\n",
            "<<<<<<< HEAD\ndisabled: false\n=======\ndisabled: true\n>>>>>>> branch\n",
        ),
    ),
    (
        "content-too-large",
        Files("many values that add up to over 1 MiB", |folder| {
            write(folder, TOGGLE, &GOOD.replace(ON, &large()));
        }),
    ),
    (
        "duplicate-key",
        Edit("disabled: false", "disabled: false\ndisabled: true"),
    ),
    (
        "duplicate-prerequisite",
        Described(
            "two prerequisites with the key `accounts`",
            PREREQUISITE,
            "{ key: accounts, type: boolean, value: \"true\" }\n    - { key: accounts, type: boolean, value: \"false\" }",
        ),
    ),
    (
        "duplicate-test",
        Files("two expectations with the same `name`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, TEST, &format!("{EXPECTATION}{EXPECTATION}"));
        }),
    ),
    (
        "duplicate-toggle",
        Files("`banner.yaml` next to `banner.yml`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/banner.yml", GOOD);
        }),
    ),
    (
        "duplicate-variation",
        Described(
            "two variations named `on`",
            r#""off", value: "false""#,
            r#""on", value: "false""#,
        ),
    ),
    (
        "empty-document",
        Files("an empty file", |folder| write(folder, TOGGLE, "")),
    ),
    (
        "empty-text",
        Edit(
            CONDITION,
            r#"{ type: number, subject: "", predicate: ">", objects: ["18"] }"#,
        ),
    ),
    (
        "lfs-pointer",
        Files(
            "a file that begins with `version https://git-lfs.github.com/spec/v1`",
            |folder| {
                write(
                    folder,
                    TOGGLE,
                    "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12\n",
                );
            },
        ),
    ),
    ("merge-key", Edit("disabled: false", "<<: { disabled: false }")),
    (
        "missing-content",
        Told(
            "a file that a partial clone lacks",
            "the content of this file is not in the partial clone | fetch the complete repository, without a filter",
        ),
    ),
    (
        "missing-field",
        Described("a document without `disabled`", "disabled: false\n", ""),
    ),
    (
        "name-too-long",
        Files("a variation's name of 129 characters", |folder| {
            write(folder, TOGGLE, &GOOD.replace("\"on\"", &"n".repeat(129)));
        }),
    ),
    (
        "no-objects",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: ">", objects: [] }"#,
        ),
    ),
    (
        "no-variations",
        Files("`variations: []`", |folder| {
            write(
                folder,
                TOGGLE,
                "disabled: false\ncontent: { variations: [], rules: [], disabledServe: { select: 0 }, defaultServe: { select: 0 } }\n",
            );
        }),
    ),
    (
        "not-a-document",
        Files("a CI workflow at the path of a toggle", |folder| {
            write(folder, TOGGLE, "name: ci\non: push\n");
        }),
    ),
    (
        "not-a-number",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: ">", objects: ["0x12"] }"#,
        ),
    ),
    (
        "not-utf8",
        Files("a file in Latin-1", |folder| {
            bytes(folder, TOGGLE, b"disabled: false # \xe9\n");
        }),
    ),
    ("null-text", Edit(ON, r#"{ name: "on", value: null }"#)),
    (
        "prerequisite-type",
        Edit(PREREQUISITE, r#"{ key: accounts, type: bool, value: "true" }"#),
    ),
    (
        "prerequisite-value",
        Edit(PREREQUISITE, r#"{ key: accounts, type: boolean, value: "yes" }"#),
    ),
    (
        "rule-without-serve",
        Described(
            "a rule without `serve`",
            "      serve: { variation: \"on\" }\n",
            "",
        ),
    ),
    ("select-negative", Edit(SERVE, "serve: { select: -1 }")),
    ("select-out-of-range", Edit(SERVE, "serve: { select: 2 }")),
    (
        "serve-choice",
        Edit(SERVE, r#"serve: { variation: "on", select: 1 }"#),
    ),
    (
        "several-documents",
        Edit("disabled: false\n", "---\na: 1\n---\ndisabled: false\n"),
    ),
    (
        "split-share",
        Edit(SERVE, r#"serve: { split: { "on": 100.001 } }"#),
    ),
    (
        "split-sum",
        Edit(SERVE, r#"serve: { split: { "on": 25, "off": 25 } }"#),
    ),
    (
        "superfluous-field",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: ">", objects: ["18"], rightObjects: ["21"] }"#,
        ),
    ),
    ("syntax", Edit(SERVE, r#"serve: { variation: "on""#)),
    (
        "test-without-toggle",
        Files("`banner.test.yaml` without `banner.yaml`", |folder| {
            write(folder, "shop/production/other.yaml", GOOD);
            write(folder, TEST, EXPECTATION);
        }),
    ),
    (
        "too-deep",
        Files("33 lists in each other", |folder| {
            write(folder, TOGGLE, &format!("{}{}\n", "[".repeat(33), "]".repeat(33)));
        }),
    ),
    (
        "too-large",
        Files("a file of 2 MiB", |folder| {
            write(folder, TOGGLE, &"# comment\n".repeat(210_000));
        }),
    ),
    (
        "too-many-files",
        Told(
            "a repository with 2,000,000 files",
            "more than 1000000 files or folders | read a folder of it with `--root`",
        ),
    ),
    (
        "unknown-condition-type",
        Edit(
            CONDITION,
            r#"{ type: strnig, subject: country, predicate: is one of, objects: [AT] }"#,
        ),
    ),
    (
        "unknown-key",
        Edit(DEFAULT, r#"defualtServe: { variation: "off" }"#),
    ),
    (
        "unknown-predicate",
        Edit(
            CONDITION,
            r#"{ type: number, subject: age, predicate: "=>", objects: ["18"] }"#,
        ),
    ),
    ("unknown-variation", Edit(SERVE, r#"serve: { variation: "onn" }"#)),
    (
        "value-too-long",
        Files("a variation's value of 70 kB", |folder| {
            write(
                folder,
                TOGGLE,
                &GOOD.replace(
                    "\"true\" }\n  rules",
                    &format!("{} }}\n  rules", "v".repeat(70_000)),
                ),
            );
        }),
    ),
    ("wrong-type", Edit("disabled: false", "disabled: \"no\"")),
    ("yaml-anchor", Edit(SERVE, r#"serve: &on { variation: "on" }"#)),
    ("yaml-tag", Edit(SERVE, r#"serve: !on { variation: "on" }"#)),
    (
        "bad-waiver",
        Edit(
            "disabled: false",
            "# gitoggle: allow(unused-variation)\ndisabled: false",
        ),
    ),
    (
        "case-only-difference",
        Files("`banner.yaml` and `Banner.yaml`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/Banner.yaml", GOOD);
        }),
    ),
    (
        "duplicate-rule-name",
        Described(
            "two rules named `adults`",
            "    - name: adults\n",
            "    - name: adults\n      conditions: [{ type: string, subject: country, predicate: is one of, objects: [AT] }]\n      serve: { variation: \"off\" }\n    - name: adults\n",
        ),
    ),
    (
        "elsewhere",
        Files(
            "a file `shop/banner.yaml` with the layout `{project}/{environment}/{toggle}.yaml`",
            |folder| {
                write(folder, TOGGLE, GOOD);
                write(folder, "shop/banner.yaml", GOOD);
            },
        ),
    ),
    (
        "extension-case",
        Files("`banner.YAML`", |folder| {
            write(folder, TOGGLE, GOOD);
            write(folder, "shop/production/other.YAML", GOOD);
        }),
    ),
    (
        "json-prerequisite",
        Edit(PREREQUISITE, r#"{ key: accounts, type: json, value: "{}" }"#),
    ),
    (
        "matches-everyone",
        Edit(
            "conditions:\n        - { type: number, subject: age, predicate: \">\", objects: [\"18\"] }",
            "conditions: []",
        ),
    ),
    ("same-serve", Edit(SERVE, r#"serve: { variation: "off" }"#)),
    (
        "too-many-findings",
        Files("150 findings in one file", |folder| {
            let keys: Vec<String> = (0..150).map(|n| format!("  key{n}: 1\n")).collect();
            write(
                folder,
                TOGGLE,
                &GOOD.replace("content:\n", &format!("content:\n{}", keys.concat())),
            );
        }),
    ),
    (
        "unreachable-rule",
        Described(
            "a rule below one with `conditions: []`",
            "    - name: adults\n",
            "    - { name: all, conditions: [], serve: { variation: \"off\" } }\n    - name: adults\n",
        ),
    ),
    (
        "unused-variation",
        Edit(
            ON,
            "{ name: \"on\", value: \"true\" }\n    - { name: beta, value: beta }",
        ),
    ),
    (
        "unused-waiver",
        Edit(
            "disabled: false",
            "# gitoggle: allow(unused-variation) for later\ndisabled: false",
        ),
    ),
];

const TOGGLE: &str = "shop/production/banner.yaml";
const TEST: &str = "shop/production/banner.test.yaml";
const EXPECTATION: &str = "- { name: adults, given: { age: 20 }, serves: \"on\" }\n";

fn large() -> String {
    // A quote in JSON has two bytes.
    let value = format!("'{}'", "\"".repeat(60_000));
    let variations: Vec<String> = (0..10)
        .map(|n| format!("{{ name: \"v{n}\", value: {value} }}"))
        .collect();
    format!("{ON}\n    - {}", variations.join("\n    - "))
}

fn write(folder: &Path, path: &str, text: &str) {
    bytes(folder, path, text.as_bytes());
}

fn bytes(folder: &Path, path: &str, text: &[u8]) {
    let path = folder.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

/// Returns what the program prints for the check in this folder: the finding, and the help.
fn printed(world: &World, folder: &Path, id: &str, kind: &str) -> String {
    let verb = if ["duplicate-test", "test-without-toggle"].contains(&id) {
        "test"
    } else {
        "validate"
    };
    let validate = world.bare(verb).arg(folder).set("output", "json");
    let json = validate
        .set("service-kind", kind)
        .exit_in(&[0, 1, 3])
        .any_stderr()
        .json();
    let findings = json["findings"].as_array().unwrap();
    let finding = findings.iter().find(|finding| finding["id"] == id);
    let finding = finding.unwrap_or_else(|| panic!("{id}: {json:#}"));
    // Each finding says how to fix it (DESIGN, section 2).
    let text = |member: &str| {
        let text = finding[member].as_str();
        text.unwrap_or_else(|| panic!("no {member}: {finding}"))
            .replace('|', "\\|")
    };
    format!("{} | {}", text("message"), text("help"))
}

/// Returns the rows of a table of the checks with this severity.
fn rows(severity: Severity) -> String {
    let world = World::new();
    let mut rows = String::new();
    for check in CHECKS.iter().filter(|check| check.severity == severity) {
        let (id, example) = EXAMPLES
            .iter()
            .find(|(id, _)| *id == check.id)
            .unwrap_or_else(|| panic!("{} has no example", check.id));
        let is_documented =
            severity == Severity::Warning && (id.starts_with("unknown-") || *id == "case-only-difference");
        let kind = if is_documented {
            "documented"
        } else {
            "featureprobe"
        };
        let good = if is_documented {
            GOOD.replace(PREREQUISITES, "")
        } else {
            GOOD.to_owned()
        };
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
            Told(shown, _) => (*shown).to_owned(),
        };
        let remedy = match example {
            Told(_, remedy) => (*remedy).to_owned(),
            _ => printed(&world, folder.path(), id, kind),
        };
        rows.push_str(&format!("| `{id}` | {shown} | {remedy} |\n"));
    }
    rows
}

const PREREQUISITES: &str = "  prerequisites:\n    - { key: accounts, type: boolean, value: \"true\" }\n";

#[test]
fn each_check_has_an_example_and_the_remedy_that_the_program_prints() {
    for severity in [Severity::Error, Severity::Warning] {
        let table = rows(severity);
        assert!(
            DOCUMENTS.text().contains(&table),
            "examples/README.md should contain:\n{table}"
        );
    }
}
