//! `gitoggle schema`: prints the JSON Schema of a document or of an output.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::args::SchemaSubject;
use super::failure::{ExitStatus, Failure};
use super::print;
use crate::config::Settings;
use crate::document;
use crate::model::{DeploymentEffect, HoldKind, LeftoverKind, ToggleState};

/// The definitions of all outputs.
const DEFINITIONS: &str = include_str!("schema.json");

pub(super) fn run(settings: &Settings, of: SchemaSubject) -> Result<ExitStatus, Failure> {
    let schema = match of {
        SchemaSubject::Document => document::schema(settings.service_kind),
        output => of_output(output.as_str()).map_err(Failure::failed)?,
    };
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed)?;
    print(&format!("{text}\n"))?;
    Ok(ExitStatus::Clean)
}

/// Returns the schema of what `gitoggle NAME -o json` prints: a result, or the error that prevented it.
fn of_output(name: &str) -> serde_json::Result<Value> {
    let mut all: Map<String, Value> = serde_json::from_str(DEFINITIONS)?;
    for (definition, words) in [
        ("state", ToggleState::WORDS),
        ("kind", HoldKind::WORDS),
        ("effect", DeploymentEffect::WORDS),
        ("leftoverKind", LeftoverKind::WORDS),
    ] {
        all[definition]["enum"] = json!(words);
    }
    let roots = [name, "failure"];
    let mut used = BTreeSet::new();
    roots.iter().for_each(|root| collect(&all, root, &mut used));
    all.retain(|definition, _| used.contains(definition));
    Ok(json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format!("gitoggle {name}"),
        "anyOf": roots.map(|root| json!({ "$ref": format!("#/$defs/{root}") })),
        "$defs": all,
    }))
}

/// Adds a definition and those that it refers to.
fn collect(all: &Map<String, Value>, name: &str, used: &mut BTreeSet<String>) {
    if !used.insert(name.to_owned()) {
        return;
    }
    let mut open: Vec<&Value> = all.get(name).into_iter().collect();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(members) => {
                let reference = members.get("$ref").and_then(Value::as_str);
                if let Some(target) = reference.and_then(|target| target.strip_prefix("#/$defs/")) {
                    collect(all, target, used);
                }
                open.extend(members.values());
            }
            _ => {}
        }
    }
}
