//! The JSON Schema of a document for editors.

use serde_json::{Value, json};

/// Returns the JSON Schema (2020-12) of a document.
///
/// It accepts everything that [`read`](super::read) accepts. It cannot express that `select` is the index of a
/// variation, that names are unique, or how a YAML scalar was written.
#[must_use]
pub fn schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "gitoggle document",
        "description": "The targeting of one toggle in one environment of one project",
        "type": "object",
        "additionalProperties": false,
        "required": ["disabled", "content"],
        "properties": {
            "disabled": { "type": "boolean", "description": "Whether the toggle is disabled in this environment" },
            "content": { "$ref": "#/$defs/content" }
        },
        "$defs": {
            "content": content(),
            "rule": rule(),
            "condition": condition(),
            "serve": serve(),
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
        }
    })
}

fn content() -> Value {
    json!({
        "description": "Rules, serves and variations; all of them are required",
        "type": "object",
        "additionalProperties": false,
        "required": ["rules", "disabledServe", "defaultServe", "variations"],
        "properties": {
            "rules": {
                "description": "Tried in this order; [] for none",
                "type": "array",
                "items": { "$ref": "#/$defs/rule" }
            },
            "disabledServe": {
                "description": "The serve while the toggle is disabled",
                "$ref": "#/$defs/serve"
            },
            "defaultServe": {
                "description": "The serve if no rule matches",
                "$ref": "#/$defs/serve"
            },
            "variations": {
                "description": "The values to choose from; the first has index 0",
                "type": "array",
                "minItems": 1,
                "items": { "$ref": "#/$defs/variation" }
            }
        }
    })
}

fn rule() -> Value {
    json!({
        "description": "Serves a variation if all of its conditions match",
        "type": "object",
        "additionalProperties": false,
        "required": ["name", "serve", "conditions"],
        "properties": {
            "name": { "$ref": "#/$defs/text" },
            "serve": { "$ref": "#/$defs/serve" },
            "conditions": {
                "description": "All of them must match; [] matches everyone",
                "type": "array",
                "items": { "$ref": "#/$defs/condition" }
            }
        }
    })
}

fn condition() -> Value {
    json!({
        "description": "Compares an attribute with values",
        "type": "object",
        "additionalProperties": false,
        "required": ["type", "subject", "predicate", "objects"],
        "properties": {
            "type": { "$ref": "#/$defs/word" },
            "subject": { "$ref": "#/$defs/text" },
            "predicate": { "$ref": "#/$defs/word" },
            "objects": {
                "type": "array",
                "minItems": 1,
                "items": { "$ref": "#/$defs/text" }
            }
        },
        // The schema is the same for every kind of service, so it checks only the objects that all of them check.
        "if": { "properties": { "type": { "const": "number" } }, "required": ["type"] },
        "then": { "properties": { "objects": { "items": { "$ref": "#/$defs/number" } } } }
    })
}

fn serve() -> Value {
    json!({
        "description": "A variation, by index or by name",
        "type": "object",
        "additionalProperties": false,
        "minProperties": 1,
        "maxProperties": 1,
        "properties": {
            "select": { "type": "integer", "minimum": 0, "maximum": u32::MAX },
            "variation": { "$ref": "#/$defs/text" }
        }
    })
}

fn variation() -> Value {
    json!({
        "description": "A value that can be served",
        "type": "object",
        "additionalProperties": false,
        "required": ["value", "name"],
        "properties": {
            "value": { "$ref": "#/$defs/text" },
            "name": { "$ref": "#/$defs/text" },
            "description": { "$ref": "#/$defs/text" }
        }
    })
}
