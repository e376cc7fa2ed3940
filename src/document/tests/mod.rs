//! The document module as its users see it.

mod checks;
mod equality;
mod evident;
mod examples;
mod exclusion;
mod expectations;
mod featureprobe;
mod fixes;
mod format;
pub(in crate::document) mod generated;
mod help;
mod hostile;
mod limits;
mod mistakes;
mod mutants;
mod never;
mod pictures;
mod places;
mod plain;
mod positions;
mod predicates;
mod qualified;
mod reading;
mod references;
mod rewrite;
mod schema;
mod sdks;
mod service_json;
mod unexplained;
mod vocabulary;
mod words;

use proptest::prelude::*;

use self::generated::any_targeting;
use super::node::{NodeKind, Style};
use super::*;
use crate::model::{Color, Content, Serve, Targeting, Variation};

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

/// Reads a document, and checks that the syntax tree alone reads the same.
fn read_as(kind: ServiceKind, text: impl AsRef<[u8]>) -> Document {
    let document = read("a.yaml", &Blob::Content(text.as_ref().to_vec()), kind);
    if let Ok(text) = std::str::from_utf8(text.as_ref())
        && document.payload.is_some()
    {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let tree = File { path: "a.yaml", text, kind, sdks: Sdks::NONE, most_work: 0 }.read();
        assert_eq!((&tree.payload, &tree.diagnostics), (&document.payload, &document.diagnostics), "{text}");
        assert_eq!(tree.outline, document.outline, "{text}");
    }
    document
}

fn yaml(text: impl AsRef<[u8]>) -> Document {
    read_as(ServiceKind::Documented, text)
}

fn featureprobe(text: &str) -> Document {
    read_as(ServiceKind::FeatureProbe, text)
}

/// Returns JSON in ASCII, which is valid YAML: the characters that YAML does not allow are escaped, as
/// surrogate pairs too.
fn in_ascii(json: &str) -> String {
    let escape = |c: char| -> String {
        let units = c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
        if matches!(c, ' '..='~' | '\n') { c.into() } else { units }
    };
    json.chars().map(escape).collect()
}

/// JSON is valid YAML.
fn json(text: &str) -> Document {
    yaml(text)
}

/// Returns whether another parser read the same.
fn means(node: &Node, value: &serde_yaml::Value) -> bool {
    use serde_yaml::Value;
    match (&node.kind, value) {
        (NodeKind::Scalar(text, _), Value::String(other)) => text == other,
        (NodeKind::Scalar(text, Style::Plain), Value::Bool(other)) => {
            text.eq_ignore_ascii_case(&other.to_string())
        }
        (NodeKind::Scalar(text, Style::Plain), Value::Number(_)) => {
            text.contains(|c: char| c.is_ascii_alphanumeric())
        }
        (NodeKind::Scalar(..), Value::Null) => node.is_null(),
        (NodeKind::Sequence(items), Value::Sequence(others)) => {
            items.len() == others.len() && items.iter().zip(others).all(|(item, other)| means(item, other))
        }
        (NodeKind::Mapping(entries), Value::Mapping(others)) => {
            let mut pairs = entries.iter().zip(others);
            entries.len() == others.len()
                && pairs.all(|((key, value), other)| means(key, other.0) && means(value, other.1))
        }
        _ => false,
    }
}

/// Every finding as `line:column id`.
fn found(document: &Document) -> Vec<String> {
    document.diagnostics.iter().map(|one| format!("{}:{} {}", one.line, one.column, one.id)).collect()
}

/// Replaces exactly one thing in [`GOOD`].
fn with(from: &str, to: &str) -> String {
    assert_eq!(GOOD.matches(from).count(), 1, "{from} is there once");
    GOOD.replace(from, to)
}
