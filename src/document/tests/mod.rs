//! The document module as its users see it.

mod checks;
mod equality;
mod examples;
mod expectations;
mod featureprobe;
pub(in crate::document) mod generated;
mod help;
mod hostile;
mod limits;
mod pictures;
mod positions;
mod quick;
mod reading;
mod schema;
mod service_json;
mod vocabulary;

use proptest::prelude::*;

use self::generated::any_targeting;
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

fn read_as(kind: ServiceKind, format: Format, text: impl AsRef<[u8]>) -> Document {
    let path = format!("a.{}", format.as_str());
    read(&path, format, &Blob::Content(text.as_ref().to_vec()), kind)
}

fn yaml(text: impl AsRef<[u8]>) -> Document {
    read_as(ServiceKind::Documented, Format::Yaml, text)
}

fn featureprobe(text: &str) -> Document {
    read_as(ServiceKind::FeatureProbe, Format::Yaml, text)
}

fn json(text: &str) -> Document {
    read_as(ServiceKind::Documented, Format::Json, text)
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
