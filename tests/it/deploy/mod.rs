//! The files under `deploy` refer only to existing settings, flags and ports. They run one writer without
//! privileges and do not decide about a first pass.
//!
//! Tests that need Helm or promtool print that they are skipped if the tool is missing. With
//! `REQUIRE_DEPLOY_TOOLS`, they fail.

mod alerts;
mod chart;
mod compose;
mod health_check;
mod helm;
mod image;
mod monitoring;
mod pods;
mod refusals;
mod release;
mod replicas;
mod tool;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use gitoggle::cli::args;
use gitoggle::config::{LoadedSettings, ProcessEnvironment, load, settings};
use serde_json::Value;

/// The folder `deploy`.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy")
}

/// Every file under `folder`, sorted.
fn files(folder: &Path) -> BTreeMap<PathBuf, String> {
    let mut folders = vec![folder.to_owned()];
    let mut files = BTreeMap::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => folders.push(path),
                false => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    files.insert(path, text);
                }
            }
        }
    }
    files
}

/// The text of one file, by its path under `deploy`.
fn text(path: &str) -> String {
    std::fs::read_to_string(folder().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The documents of a YAML text.
fn documents(text: &str) -> Vec<Value> {
    serde_yaml::Deserializer::from_str(text)
        .map(|document| {
            serde::Deserialize::deserialize(document).unwrap_or_else(|error| panic!("{error}:\n{text}"))
        })
        .collect()
}

/// The one document of a YAML file, by its path under `deploy`.
fn document(path: &str) -> Value {
    let mut documents = documents(&text(path));
    assert_eq!(documents.len(), 1, "{path}");
    documents.remove(0)
}

/// The items of a list; none if `value` is not a list.
fn items(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn word(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is not a text"))
}

fn words(value: &Value) -> Vec<String> {
    items(value).map(|item| word(item).to_owned()).collect()
}

/// The item of a list with that name.
fn named<'v>(list: &'v Value, name: &str) -> &'v Value {
    items(list).find(|item| item["name"] == name).unwrap_or_else(|| panic!("no `{name}` in {list}"))
}

/// The words of `text` that begin with `prefix` and continue with characters that satisfy `is_part`.
fn beginning<'t>(text: &'t str, prefix: &str, is_part: fn(char) -> bool) -> BTreeSet<&'t str> {
    let starts = text.match_indices(prefix).map(|(start, _)| &text[start..]);
    starts.map(|rest| rest.find(|c| !is_part(c)).map_or(rest, |end| &rest[..end])).collect()
}

/// The port that the daemon listens on by default.
fn port() -> u16 {
    let listen = settings().iter().find(|setting| setting.name == "listen").unwrap();
    listen.default.rsplit(':').next().unwrap().parse().unwrap()
}

/// Loads the settings of a command line with its variables in `folder`, as the program does. `config`
/// replaces the file that the command line or a variable names. A warning is an error here.
fn invoked(
    typed: &[String],
    variables: &[(String, String)],
    folder: &str,
    config: Option<&Path>,
) -> LoadedSettings {
    let line = ["gitoggle".to_owned()].into_iter().chain(typed.iter().cloned());
    let mut invocation =
        args::parse(line.map(Into::into)).unwrap_or_else(|error| panic!("{typed:?}: {error}"));
    let replaced = || {
        let config = config.expect("a command line with a configuration needs a file");
        config.to_str().unwrap().to_owned()
    };
    if invocation.flags.contains_key("config") {
        invocation.flags.insert("config".to_owned(), vec![replaced()]);
    }
    let variable = |(name, value): &(String, String)| match name.as_str() {
        "GITOGGLE_CONFIG" => (name.into(), replaced().into()),
        _ => (name.into(), value.into()),
    };
    let environment = ProcessEnvironment {
        variables: variables.iter().map(variable).collect(),
        folder: folder.into(),
        state_home: None,
    };
    let loaded = load(invocation.command, &invocation.flags, &environment);
    let loaded = loaded.unwrap_or_else(|mistakes| panic!("{typed:?}: {mistakes}"));
    assert_eq!(loaded.warnings, Vec::<String>::new(), "{typed:?}");
    loaded
}

#[test]
fn each_variable_in_deploy_is_that_of_a_setting() {
    let known: BTreeSet<&str> = settings().iter().filter_map(|setting| setting.variable.as_deref()).collect();
    let mut seen = 0;
    for (path, text) in files(&folder()) {
        for variable in beginning(&text, "GITOGGLE_", |c| c.is_ascii_uppercase() || c == '_') {
            let is_of_build = variable == "GITOGGLE_BUILD_COMMIT" && path.ends_with("Dockerfile");
            assert!(known.contains(variable) || is_of_build, "{}: {variable}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 20, "{seen} variables were found");
}

#[test]
fn every_documented_flag_exists() {
    let mut program = args::program();
    program.build();
    let mut seen = 0;
    for (path, text) in files(&folder()) {
        for command in program.get_subcommands() {
            let known: BTreeSet<&str> = command.get_arguments().filter_map(clap::Arg::get_long).collect();
            let begin = format!("gitoggle {} ", command.get_name());
            let uses = text.lines().filter_map(|line| Some(line.split_once(&begin)?.1));
            for line in uses {
                let line = line.split('`').next().unwrap_or_default();
                for flag in line.split_whitespace().filter_map(|word| word.strip_prefix("--")) {
                    seen += 1;
                    assert!(known.contains(flag), "{}: {begin}--{flag}", path.display());
                }
            }
        }
    }
    assert!(seen >= 3, "the search found too few flags: {seen}");
}

/// The manual and the chart's notes explain how to decide, and alerts name the reason of a hold. The
/// composition publishes to its own sandbox. No other file mentions a first pass.
#[test]
fn no_file_decides_about_a_first_pass() {
    for (path, text) in files(&folder()) {
        let is_page = path.extension().is_some_and(|extension| extension == "md");
        // A recipe lets a person decide, who starts its job by hand.
        let is_recipe = path.starts_with(folder().join("ci"));
        if is_page
            || is_recipe
            || ["NOTES.txt", "alerts.yaml", "compose.yaml"].iter().any(|name| path.ends_with(name))
        {
            continue;
        }
        let code = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let lines: Vec<&str> =
            code.filter(|line| line.to_lowercase().replace('-', "_").contains("first_pass")).collect();
        assert!(lines.is_empty(), "{}: {lines:?}", path.display());
    }
}

#[test]
fn every_address_has_the_default_port() {
    let mut seen = 0;
    for (path, text) in files(&folder()) {
        for line in text.lines().filter(|line| line.contains("GITOGGLE_LISTEN")) {
            seen += 1;
            assert!(line.contains(&format!(":{}", port())), "{}: {line}", path.display());
        }
    }
    assert!(seen >= 3, "{seen}");
}

#[test]
fn every_yaml_file_that_is_not_a_template_parses() {
    let mut parsed_files = 0;
    for (path, text) in files(&folder()) {
        let is_yaml = path.extension().is_some_and(|extension| extension == "yaml");
        if is_yaml && !path.components().any(|part| part.as_os_str() == "templates") {
            for parsed in documents(&text) {
                assert!(parsed.is_object(), "{}", path.display());
            }
            parsed_files += 1;
        }
    }
    assert!(parsed_files > 10, "{parsed_files}");
}

#[test]
fn the_unit_runs_the_daemon_without_privileges() {
    let unit = text("systemd/gitoggle.service");
    let lines: BTreeMap<&str, Vec<&str>> = unit
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .fold(BTreeMap::new(), |mut all, (key, value)| {
            all.entry(key).or_default().push(value);
            all
        });
    for (key, value) in [
        ("CapabilityBoundingSet", ""),
        ("DynamicUser", "yes"),
        ("NoNewPrivileges", "yes"),
        ("ProtectSystem", "strict"),
        ("Restart", "on-failure"),
        ("RestartPreventExitStatus", "64"),
        ("StateDirectory", "gitoggle"),
        ("TimeoutStopSec", "30"),
        ("Type", "exec"),
    ] {
        assert_eq!(lines.get(key), Some(&vec![value]), "{key}");
    }
    assert!(lines["LoadCredential"][0].starts_with("token:"), "{lines:?}");
    let expanded = |text: &str| text.replace("%S", "/var/lib").replace("%d", "/run/credentials");
    let folder = expanded(lines["WorkingDirectory"][0]);
    let variables: Vec<(String, String)> = lines["Environment"]
        .iter()
        .filter_map(|pair| pair.split_once('='))
        .map(|(name, value)| (name.to_owned(), expanded(value)))
        .collect();
    let config = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(config.path(), "base_url: https://toggles.example\n").unwrap();
    let command = lines["ExecStart"][0].strip_prefix("/usr/local/bin/gitoggle ").unwrap();
    let typed: Vec<String> = command.split(' ').map(str::to_owned).collect();
    let loaded = invoked(&typed, &variables, &folder, Some(config.path()));
    assert_eq!(loaded.settings.state_dir, Some("/var/lib/gitoggle".into()));
    assert!(loaded.settings.token.is_some());
}
