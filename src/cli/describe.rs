//! `gitoggle completions`, `man` and `schema`: prints what shells, readers and editors need to know about gitoggle.

use std::collections::BTreeSet;
use std::path::Path;

use clap::Command as Clap;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use clap_mangen::Man;
use clap_mangen::roff::{Roff, roman};
use serde_json::{Map, Value, json};

use super::args;
use super::failure::{ExitStatus, Failure};
use super::{note, print};
use crate::config::{SettingInfo, Settings, settings};
use crate::document;
use crate::model::{BUILD, DeploymentEffect, HoldKind, LeftoverKind, ToggleState, counted};
use crate::telemetry::Stream;

pub(super) fn completions(shell: Shell) -> Result<ExitStatus, Failure> {
    let mut program = args::program();
    program.build();
    let mut program = program.mut_subcommands(with_choices);
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut program, "gitoggle", &mut script);
    print(&String::from_utf8_lossy(&script))?;
    Ok(ExitStatus::Clean)
}

/// Lists the words of each choice. The parser does not know them, because `config` parses all values.
fn with_choices(command: Clap) -> Clap {
    command.mut_args(|arg| {
        let setting = settings().iter().find(|setting| arg.get_id() == setting.name);
        match setting.map(SettingInfo::words) {
            None | Some([]) => arg,
            Some(words) => arg.value_parser(PossibleValuesParser::new(words)),
        }
    })
}

pub(super) fn man(command: Option<&str>, out: Option<&Path>) -> Result<ExitStatus, Failure> {
    let mut program = args::program().disable_help_subcommand(true);
    program.build();
    if let Some(folder) = out {
        let pages: Vec<&Clap> = std::iter::once(&program).chain(program.get_subcommands()).collect();
        for page in &pages {
            write(folder, page)?;
        }
        print(&format!("wrote {} to `{}`\n", counted(pages.len(), "page"), folder.display()))?;
        return Ok(ExitStatus::Clean);
    }
    let page = command.and_then(|name| program.find_subcommand(name)).unwrap_or(&program);
    print(&rendered(page))?;
    if Stream::Stdout.is_terminal() {
        let name = command.map(|name| format!(" {name}")).unwrap_or_default();
        note(&format!("hint: to read it, run `gitoggle man{name} | man -l -`\n"))?;
    }
    Ok(ExitStatus::Clean)
}

fn write(folder: &Path, page: &Clap) -> Result<(), Failure> {
    let path = folder.join(format!("{}.1", title(page)));
    let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(&path, rendered(page)));
    written.map_err(Failure::could_not(format!("write `{}`", path.display())))
}

fn title(page: &Clap) -> String {
    page.get_display_name().unwrap_or_else(|| page.get_name()).to_owned()
}

fn rendered(page: &Clap) -> String {
    let title = title(page);
    let mut command = page.clone();
    // The generator would list every flag in the synopsis.
    let usage = command.render_usage().to_string();
    let command = command
        .override_usage(usage.trim_start_matches("Usage: ").to_owned())
        .after_help(None)
        .after_long_help(None);
    let mut text = Vec::new();
    Man::new(command)
        .title(title.to_uppercase())
        // An empty argument would be left out, and the next one would take its place.
        .date(BUILD.date.unwrap_or(" "))
        .source(format!("gitoggle {}", BUILD.version))
        .manual("gitoggle manual")
        .render(&mut text)
        .expect("memory can be written");
    let mut end = Roff::new();
    for (heading, lines) in args::page_end(page) {
        end.control("SH", [heading]).control("nf", []);
        for line in lines.lines() {
            end.text([roman(line)]);
        }
        end.control("fi", []);
    }
    String::from_utf8_lossy(&text).into_owned() + &end.render()
}

const DEFINITIONS: &str = include_str!("schema.json");

pub(super) fn schema(settings: &Settings, of: &str) -> Result<ExitStatus, Failure> {
    let schema = match of {
        "document" => document::schema(settings.service_kind),
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
