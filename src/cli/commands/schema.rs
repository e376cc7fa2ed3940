//! `gitoggle schema`: prints the JSON Schema of a document or of an output.

use std::collections::BTreeSet;

use clap::Args;
use clap::builder::PossibleValuesParser;
use serde_json::{Map, Value, json};

use crate::cli::failure::{ExitStatus, Failure};
use crate::cli::output::print;
use crate::config::Settings;
use crate::document;
use crate::model::{DeploymentEffect, HoldKind, LeftoverKind, ToggleState};

/// What a schema describes: a document, a file of expectations, or the output of one of these commands. That
/// of `test` is `test-results`.
const SUBJECTS: [&str; 14] = [
    "document",
    "test",
    "plan",
    "validate",
    "apply",
    "status",
    "drift",
    "log",
    "stale",
    "explain",
    "test-results",
    "diff",
    "promote",
    "import",
];

/// Print the JSON Schema of a document, a test or an output
#[derive(Args, Clone, Debug, PartialEq)]
#[command(
    long_about = "Prints the JSON Schema of a document or a test, for editors, or of what a command prints with -o json."
)]
pub(crate) struct SchemaArgs {
    /// Describe a document, the tests of one, or what this command prints with -o json [document]
    #[arg(long, value_name = "WHAT", default_value = "document", value_parser = PossibleValuesParser::new(SUBJECTS))]
    pub(crate) of: String,
}

const DEFINITIONS: &str = include_str!("schema.json");

pub(super) fn run(settings: &Settings, args: &SchemaArgs) -> Result<ExitStatus, Failure> {
    let schema = match args.of.as_str() {
        "document" => document::schema(settings.service_kind),
        "test" => document::test_schema(),
        output => of_output(output).map_err(Failure::failed)?,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::commands::formats;
    use crate::config::{Command, OutputFormat};

    #[test]
    fn each_command_that_prints_json_has_a_schema() {
        let all: Map<String, Value> = serde_json::from_str(DEFINITIONS).unwrap();
        for command in Command::ALL.into_iter().filter(|one| formats(*one).contains(&OutputFormat::Json)) {
            let subject = match command {
                // `test` is a file of expectations.
                Command::Test => "test-results",
                command => command.as_str(),
            };
            assert!(SUBJECTS.contains(&subject) && all.contains_key(subject), "{subject}");
        }
    }
}
