//! The JSON Schema of a document for editors.

use serde_json::{Value, json};

use crate::model::{CONDITION_TYPES, ConditionType, ReturnType, ServiceKind, WHOLE};

/// Returns the JSON Schema (2020-12) of a document for one kind of service.
///
/// It accepts everything that [`read`](super::read) accepts. It cannot express that `select` is the index of
/// a variation, that names are unique, that the shares of a split add up, or how a YAML scalar was written.
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
    let can = kind.can();
    definitions["condition"] = if can.evaluate { known_condition() } else { documented_condition(kind) };
    let mut serve = serve();
    if can.split {
        serve["properties"]["split"] = split();
        serve["oneOf"].as_array_mut().expect("a list").push(json!({ "required": ["split"] }));
    }
    if can.unconfigured {
        // Only the default serve may be empty, and only while the toggle is disabled.
        let mut default_serve = serve.clone();
        default_serve["oneOf"].as_array_mut().expect("a list").push(json!({ "const": {} }));
        definitions["defaultServe"] = default_serve;
        content["properties"]["defaultServe"]["$ref"] = json!("#/$defs/defaultServe");
        schema["if"] = json!({ "properties": { "disabled": { "const": true } } });
        schema["else"] = json!({
            "properties": { "content": { "properties": { "defaultServe": { "minProperties": 1 } } } }
        });
    }
    definitions["serve"] = serve;
    if can.refer {
        definitions["prerequisite"] = prerequisite();
        content["properties"]["prerequisites"] = list(
            "Toggles that must serve a value to a user before any rule is tried; [] for none",
            "prerequisite",
        );
    }
    definitions["content"] = content;
    schema["$defs"] = definitions;
    schema
}

/// Returns the JSON Schema (2020-12) of the expectations of one toggle.
///
/// It accepts everything that [`expectations`](super::expectations) accepts. It cannot express that names are
/// unique, or which variations a toggle has.
pub(crate) fn test_schema() -> Value {
    let mut item = object(
        "What a user must be served",
        &["name", "serves"],
        json!({
            "name": { "description": "The name of the expectation, unique in the file", "$ref": "#/$defs/text" },
            "given": {
                "description": "The attributes of the user",
                "type": "object",
                "additionalProperties": of("text")
            },
            "key": { "description": "The key of the user, which decides on splits", "$ref": "#/$defs/text" },
            "at": {
                "description": "The time of the evaluation, such as 2024-12-31T23:59:59Z [now]",
                "type": "string",
                "pattern": "^[0-9+-]"
            },
            "serves": { "description": "The name of the variation", "$ref": "#/$defs/text" }
        }),
    );
    item["title"] = json!("expectation");
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gitoggle test",
        "description": "What a toggle must serve to users",
        "type": "array",
        "minItems": 1,
        "items": item,
        "$defs": { "text": definitions()["text"] }
    })
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
        // Not a list of types: an editor would offer `true` and `false`.
        "word": {
            "description": "Text that is not empty",
            "not": { "type": ["array", "null", "object"] },
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
            "type": { "description": "What is compared: texts, numbers, versions, times, or the membership in a segment" },
            "subject": {
                "description": "The attribute of the user that is compared",
                "$ref": "#/$defs/text"
            },
            "predicate": {
                "description": "How the attribute is compared with the objects; one of them has to match, or none of them if it is negated",
                "$ref": "#/$defs/word"
            },
            "objects": objects("text")
        }),
    )
}

fn objects(item: &str) -> Value {
    json!({
        "description": "What the attribute is compared with: values, or the keys of segments",
        "type": "array",
        "minItems": 1,
        "items": of(item)
    })
}

/// Returns the schema of any word, of which an editor offers these.
fn offered(words: &[&str]) -> Value {
    json!([{ "enum": words }, of("word")])
}

fn documented_condition(kind: ServiceKind) -> Value {
    let mut condition = condition(&["type", "subject", "predicate", "objects"]);
    // The documented API does not list its types, so they are offered, and only the objects that every
    // service compares are checked.
    let types = CONDITION_TYPES.iter().filter(|one| one.is_of(kind));
    let names: Vec<&str> = types.clone().map(|one| one.name).collect();
    condition["properties"]["type"]["anyOf"] = offered(&names);
    let rule = |one: &ConditionType| {
        let mut properties = json!({ "predicate": { "anyOf": offered(&one.predicates_of(kind)) } });
        if one.name == "number" {
            properties["objects"] = objects("number");
        }
        json!({ "if": is("type", one.name), "then": { "properties": properties } })
    };
    condition["allOf"] = types.map(rule).collect();
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
    for (name, schema) in
        [("leftPredicate", side.clone()), ("rightPredicate", side), ("rightObjects", objects("text"))]
    {
        condition["properties"][name] = schema;
    }
    let types: Vec<&str> = CONDITION_TYPES.iter().map(|kind| kind.name).collect();
    condition["properties"]["type"]["enum"] = json!(types);
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
        // Not a number of properties: an editor completes what is required.
        "oneOf": [{ "required": ["select"] }, { "required": ["variation"] }],
        "properties": {
            "select": {
                "description": "The index of the variation, from 0",
                "type": "integer",
                "minimum": 0,
                "maximum": u32::MAX
            },
            "variation": { "description": "The name of the variation", "$ref": "#/$defs/text" }
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
