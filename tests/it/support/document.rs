//! Documents, and the request bodies that they must become.

use serde_json::{Value, json};

/// Returns a valid document that enables a toggle for people older than `age`.
pub(crate) fn doc(age: u32) -> String {
    format!(
        r#"disabled: false
content:
  variations:
    - {{ name: "off", value: "false", description: "" }}
    - {{ name: "on", value: "true", description: "New payment page" }}
  rules:
    - name: adults
      conditions:
        - {{ type: number, subject: age, predicate: ">", objects: ["{age}"] }}
      serve: {{ select: 1 }}
  disabledServe: {{ select: 0 }}
  defaultServe: {{ select: 0 }}
"#
    )
}

/// Returns `doc(age)` as another person would have written it: same meaning, other bytes.
pub(crate) fn reformatted(age: u32) -> String {
    format!(
        r#"# The same, written differently.
content:
  defaultServe:
    variation: "off"
  disabledServe: {{ select: 0 }}
  rules:
    - conditions:
        - objects:
            - {age}
          predicate: '>'
          subject: "age"
          type: number
      serve: {{ variation: on }}
      name: 'adults'
  variations:
    - value: false
      name: "off"
    - description: New payment page
      value: true
      name: on
disabled: false
"#
    )
}

/// Returns the `content` that `doc(age)` stands for.
pub(crate) fn content(age: u32) -> Value {
    json!({
        "rules": [{
            "name": "adults",
            "serve": { "select": 1 },
            "conditions": [{ "type": "number", "subject": "age", "predicate": ">", "objects": [age.to_string()] }],
        }],
        "disabledServe": { "select": 0 },
        "defaultServe": { "select": 0 },
        "variations": [
            { "value": "false", "name": "off", "description": "" },
            { "value": "true", "name": "on", "description": "New payment page" },
        ],
    })
}

/// Returns the request body that publishes `doc(age)`.
pub(crate) fn body(age: u32, comment: &str) -> Value {
    json!({ "comment": comment, "disabled": false, "content": content(age) })
}
