//! The document module as its users see it.

mod checks;
mod equality;
mod examples;
mod help;
mod hostile;
mod limits;
mod pictures;
mod reading;
mod schema;
mod service_json;

use proptest::prelude::*;

use super::*;
use crate::model::{Color, Condition, Content, Rule, Serve, Targeting, Variation};

/// A document without a finding, for either kind of service.
const GOOD: &str = r#"disabled: false
content:
  variations:
    - { name: "off", value: "false" }
    - { name: "on", value: "true", description: "New page" }
  rules:
    - name: adults
      conditions:
        - { type: number, subject: age, predicate: ">", objects: ["18"] }
      serve: { select: 1 }
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
"#;

fn yaml(text: impl AsRef<[u8]>) -> Document {
    read(
        "a.yaml",
        Format::Yaml,
        &Blob::Content(text.as_ref().to_vec()),
        ServiceKind::Documented,
    )
}

fn json(text: &str) -> Document {
    read(
        "a.json",
        Format::Json,
        &Blob::Content(text.as_bytes().to_vec()),
        ServiceKind::Documented,
    )
}

/// Every finding as `line:column id`.
fn found(document: &Document) -> Vec<String> {
    document
        .diagnostics
        .iter()
        .map(|one| format!("{}:{} {}", one.line, one.column, one.id))
        .collect()
}

/// Replaces exactly one thing in [`GOOD`].
fn with(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from} is there once");
    GOOD.replace(from, to)
}

/// Texts of all sorts, with those that YAML parsers take for something else among them.
fn any_text() -> impl Strategy<Value = String> {
    let traps = prop::sample::select(vec![
        "null",
        "Null",
        "~",
        "",
        "true",
        "yes",
        "NO",
        "off",
        "y",
        "1.10",
        "007",
        "1e3",
        "0x1F",
        "1_000",
        ".inf",
        ".nan",
        "12:30:45",
        "2024-01-01",
        " leading",
        "trailing ",
        "a: b",
        "a #b",
        "#c",
        "- x",
        "? x",
        "&a",
        "*a",
        "!t",
        "%d",
        "@at",
        "`tick",
        "[x",
        "{x",
        "]",
        "}",
        ",",
        "|",
        ">",
        "'",
        "\"",
        "\\",
        "a\nb",
        "a\r\nb",
        "\r",
        "\t",
        "a\tb",
        "\u{feff}",
        "\u{85}",
        "\u{2028}",
        "\u{2029}",
        "\u{7f}",
        "\u{0}",
        "\u{1b}[31m",
        "\u{202e}",
        "\u{fffe}",
        "\u{ffff}",
        "\u{10ffff}",
        "😀",
        "日本",
        "---",
        "...",
        "<<",
        "=",
        "naïve",
        "\u{a0}",
        "a\u{a0}",
    ]);
    prop_oneof![
        3 => traps.prop_map(str::to_owned),
        2 => any::<String>(),
        1 => "[a-z ]{0,12}",
        1 => proptest::collection::vec(any::<char>(), 0..8).prop_map(String::from_iter),
    ]
}

prop_compose! {
    fn any_condition()(
        kind in prop_oneof![Just("string".to_owned()), Just("number".to_owned()), any_text()],
        subject in any_text(),
        predicate in any_text(),
        texts in proptest::collection::vec(any_text(), 1..4),
        numbers in proptest::collection::vec(prop::sample::select(vec!["1.10", "007", "-1e3", "0"]), 1..4),
    ) -> Condition {
        let fill = |text: String| if text.is_empty() { "x".to_owned() } else { text };
        let objects = match kind.as_str() {
            "number" => numbers.into_iter().map(str::to_owned).collect(),
            _ => texts,
        };
        Condition { kind: fill(kind), subject, predicate: fill(predicate), objects, between: None }
    }
}

/// Any targeting that is valid.
fn any_targeting() -> impl Strategy<Value = Targeting> {
    let variations = proptest::collection::btree_map(any_text(), (any_text(), any_text()), 1..4);
    variations.prop_flat_map(|variations| {
        let count = u32::try_from(variations.len()).unwrap();
        let serve = move || (0..count).prop_map(Serve::Select);
        let conditions = proptest::collection::vec(any_condition(), 0..3);
        let rule = (any_text(), serve(), conditions).prop_map(|(name, serve, conditions)| Rule {
            name,
            serve,
            conditions,
        });
        let variations: Vec<Variation> = variations
            .into_iter()
            .map(|(name, (value, description))| Variation {
                value,
                name,
                description,
            })
            .collect();
        (
            any::<bool>(),
            proptest::collection::vec(rule, 0..3),
            serve(),
            serve(),
        )
            .prop_map(
                move |(disabled, rules, disabled_serve, default_serve)| Targeting {
                    disabled,
                    content: Content {
                        rules,
                        disabled_serve,
                        default_serve,
                        variations: variations.clone(),
                        prerequisites: None,
                    },
                },
            )
    })
}
