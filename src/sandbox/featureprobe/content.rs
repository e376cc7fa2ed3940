//! The content of a targeting: its shape, the content of a new toggle, and how a publish changes it.

use serde_json::{Value, json};

use super::shape::Shape;

const SERVE: Shape = Shape::Object(&[
    ("select", Shape::Integer),
    ("split", Shape::List(&Shape::Integer)),
]);

const CONDITION: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("subject", Shape::Text),
    ("predicate", Shape::Text),
    ("leftPredicate", Shape::Text),
    ("objects", Shape::List(&Shape::Text)),
    ("rightPredicate", Shape::Text),
    ("rightObjects", Shape::List(&Shape::Text)),
]);

const RULE: Shape = Shape::Object(&[
    ("conditions", Shape::List(&CONDITION)),
    ("name", Shape::Text),
    ("serve", SERVE),
]);

const VARIATION: Shape = Shape::Object(&[
    ("value", Shape::Text),
    ("name", Shape::Text),
    ("description", Shape::Text),
]);

const PREREQUISITE: Shape = Shape::Object(&[
    ("key", Shape::Text),
    ("value", Shape::Text),
    ("type", Shape::Text),
]);

pub(super) const VARIATIONS: Shape = Shape::List(&VARIATION);

pub(super) const CONTENT: Shape = Shape::Object(&[
    ("rules", Shape::List(&RULE)),
    ("disabledServe", SERVE),
    ("defaultServe", SERVE),
    ("variations", VARIATIONS),
    ("prerequisites", Shape::List(&PREREQUISITE)),
]);

/// The rules of a segment.
pub(super) const SEGMENT_RULES: Shape = Shape::List(&Shape::Object(&[
    ("conditions", Shape::List(&CONDITION)),
    ("name", Shape::Text),
]));

/// Returns the content of a new toggle.
pub(super) fn initial(variations: &Value, disabled_serve: &Value) -> Value {
    json!({
        "rules": [],
        "disabledServe": { "select": disabled_serve },
        "defaultServe": {},
        "variations": variations,
        "prerequisites": [],
    })
}

/// Returns `stored` with the members of `sent`. Nothing is merged inside of a member.
pub(super) fn merged(stored: &Value, sent: Option<&Value>) -> Value {
    let mut merged = stored.clone();
    if let (Value::Object(merged), Some(Value::Object(sent))) = (&mut merged, sent) {
        merged.extend(sent.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    merged
}
