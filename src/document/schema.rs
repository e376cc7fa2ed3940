//! The JSON Schema of a document for editors.

use serde_json::{Value, json};

use crate::model::{CONDITION_TYPES, ConditionType, ReturnType, ServiceKind, WHOLE};

/// Returns the JSON Schema (2020-12) of a document for one kind of service.
///
/// It accepts everything that [`read`](super::read) accepts. It cannot express that `select` is the index of a
/// variation, that names are unique, that the shares of a split add up, or how a YAML scalar was written.
pub(crate) fn schema(kind: ServiceKind) -> Value {
    let mut schema = object(
        "The targeting of one toggle in one environment of one project",
        &["disabled", "content"],
        json!({
            "disabled": { "type": "boolean", "description": "Whether the toggle is disabled in this environment" },
            "content": of("content")
        }),
    );
    schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
    schema["title"] = json!("gitoggle document");
    let mut definitions = definitions();
    let mut content = content();
    match kind {
        ServiceKind::Documented => {
            definitions["condition"] = documented_condition();
            definitions["serve"] = serve();
        }
        ServiceKind::FeatureProbe => {
            definitions["condition"] = known_condition();
            let mut serve = serve();
            serve["properties"]["split"] = split();
            // Only the default serve may be empty, and only while the toggle is disabled.
            let mut default_serve = serve.clone();
            default_serve["minProperties"] = json!(0);
            definitions["serve"] = serve;
            definitions["defaultServe"] = default_serve;
            content["properties"]["defaultServe"]["$ref"] = json!("#/$defs/defaultServe");
            schema["if"] = json!({ "properties": { "disabled": { "const": true } } });
            schema["else"] = json!({
                "properties": { "content": { "properties": { "defaultServe": { "minProperties": 1 } } } }
            });
            definitions["prerequisite"] = prerequisite();
            content["properties"]["prerequisites"] = list(
                "Toggles that must serve a value to a user before any rule is tried; [] for none",
                "prerequisite",
            );
        }
    }
    definitions["content"] = content;
    schema["$defs"] = definitions;
    schema
}

/// Returns the schema of a mapping without other keys than these.
fn object(description: &str, required: &[&str], properties: Value) -> Value {
    let mut schema = json!({
        "description": description,
        "type": "object",
        "additionalProperties": false,
        "required": required
    });
    schema["properties"] = properties;
    schema
}

/// Returns the schema that refers to a definition.
fn of(definition: &str) -> Value {
    json!({ "$ref": format!("#/$defs/{definition}") })
}

fn list(description: &str, definition: &str) -> Value {
    json!({ "description": description, "type": "array", "items": of(definition) })
}

/// Returns the definitions that every kind of service has.
fn definitions() -> Value {
    json!({
        "rule": rule(),
        "variation": variation(),
        // An editor sees a plain YAML scalar as a number or a boolean, but a document takes it as text.
        "text": {
            "description": "Text, taken exactly as it is written: 1.10 stays \"1.10\"",
            "type": ["string", "number", "boolean"]
        },
        "word": {
            "description": "Text that is not empty",
            "type": ["string", "number", "boolean"],
            "minLength": 1
        },
        "number": {
            "description": "A decimal number, quoted or not",
            "type": ["string", "number"],
            "pattern": "^[+-]?[0-9]+(\\.[0-9]+)?([eE][+-]?[0-9]+)?$"
        }
    })
}

fn content() -> Value {
    let serve = |description| json!({ "description": description, "$ref": "#/$defs/serve" });
    let mut variations = list("The values to choose from; the first has index 0", "variation");
    variations["minItems"] = json!(1);
    object(
        "Rules, serves and variations; all of them are required",
        &["rules", "disabledServe", "defaultServe", "variations"],
        json!({
            "rules": list("Tried in this order; [] for none", "rule"),
            "disabledServe": serve("The serve while the toggle is disabled"),
            "defaultServe": serve("The serve if no rule matches"),
            "variations": variations
        }),
    )
}

fn rule() -> Value {
    object(
        "Serves a variation if all of its conditions match",
        &["name", "serve", "conditions"],
        json!({
            "name": of("text"),
            "serve": of("serve"),
            "conditions": list("All of them must match; [] matches everyone", "condition")
        }),
    )
}

/// Returns the members of a condition that every kind of service has.
fn condition(required: &[&str]) -> Value {
    object(
        "Compares an attribute with values",
        required,
        json!({
            "type": of("word"),
            "subject": of("text"),
            "predicate": of("word"),
            "objects": objects("text")
        }),
    )
}

fn objects(item: &str) -> Value {
    json!({ "type": "array", "minItems": 1, "items": of(item) })
}

fn documented_condition() -> Value {
    let mut condition = condition(&["type", "subject", "predicate", "objects"]);
    // The documented API does not list its types, so only the objects that every service compares are checked.
    condition["if"] = is("type", "number");
    condition["then"] = json!({ "properties": { "objects": objects("number") } });
    condition
}

fn known_condition() -> Value {
    let mut condition = condition(&["type", "predicate", "objects"]);
    let mut sides: Vec<&str> = Vec::new();
    for side in CONDITION_TYPES.iter().flat_map(ConditionType::sides) {
        if !sides.contains(&side) {
            sides.push(side);
        }
    }
    let side = json!({ "enum": sides });
    for (name, schema) in [
        ("leftPredicate", side.clone()),
        ("rightPredicate", side),
        ("rightObjects", objects("text")),
        ("type", json!({ "enum": CONDITION_TYPES.iter().map(|kind| kind.name).collect::<Vec<_>>() })),
    ] {
        condition["properties"][name] = schema;
    }
    let mut rules = vec![
        json!({
            "if": is("type", "number"),
            "then": { "properties": { "objects": objects("number"), "rightObjects": objects("number") } }
        }),
        // A segment has no subject.
        json!({
            "if": is("type", "segment"),
            "else": { "required": ["subject"], "properties": { "subject": of("word") } }
        }),
        json!({
            "if": is("predicate", "between"),
            "then": { "required": ["leftPredicate", "rightPredicate", "rightObjects"] },
            "else": { "properties": { "leftPredicate": false, "rightPredicate": false, "rightObjects": false } }
        }),
    ];
    rules.extend(CONDITION_TYPES.iter().map(|kind| {
        let mut properties = json!({ "predicate": { "enum": kind.predicates() } });
        if let sides @ [_, ..] = kind.sides().as_slice() {
            properties["leftPredicate"] = json!({ "enum": sides });
            properties["rightPredicate"] = json!({ "enum": sides });
        }
        json!({ "if": is("type", kind.name), "then": { "properties": properties } })
    }));
    condition["allOf"] = Value::Array(rules);
    condition
}

/// Returns the condition that the member `name` is this text.
fn is(name: &str, text: &str) -> Value {
    json!({ "properties": { name: { "const": text } }, "required": [name] })
}

fn serve() -> Value {
    json!({
        "description": "What is served: a variation, by index or by name",
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "select": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
            "variation": of("text")
        }
    })
}

fn split() -> Value {
    json!({
        "description": "A percentage rollout: percentages by name, or hundredths of a percent by index",
        "anyOf": [
            {
                "type": "object",
                "additionalProperties": {
                    "type": ["string", "number"],
                    // A multiple of 0.01 is not checked: 0.29 is none to many validators.
                    "minimum": 0,
                    "maximum": 100,
                    "pattern": "^[0-9]+(\\.[0-9]{1,2})?$"
                }
            },
            {
                "type": "array",
                "items": {
                    "type": ["string", "integer"],
                    "minimum": 0,
                    "maximum": WHOLE,
                    "pattern": "^[0-9]+$"
                }
            }
        ]
    })
}

fn prerequisite() -> Value {
    object(
        "A toggle of the same project and the value that it must serve; otherwise, the disabled serve is served",
        &["key", "value", "type"],
        json!({ "key": of("word"), "value": of("text"), "type": { "enum": ReturnType::WORDS } }),
    )
}

fn variation() -> Value {
    object(
        "A value that can be served",
        &["value", "name"],
        json!({ "value": of("text"), "name": of("text"), "description": of("text") }),
    )
}
