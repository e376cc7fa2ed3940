//! The action that installs gitoggle in a workflow of GitHub.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;

use super::mirror::{Machine, Mirror, VERSION, requested};
use super::{Job, here, yaml};

/// Runs the action with these inputs, as a runner does.
fn run(machine: &Machine, inputs: &[(&str, &str)]) -> Job {
    let action = yaml("deploy/ci/action.yaml");
    let mut values: BTreeMap<String, String> = action["inputs"]
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, input)| (format!("inputs.{name}"), text(&input["default"])))
        .collect();
    for (name, value) in inputs {
        let known = values.insert(format!("inputs.{name}"), (*value).to_owned());
        assert!(known.is_some(), "{name}");
    }
    let path = here("deploy/ci").to_str().unwrap().to_owned();
    values.insert("github.action_path".to_owned(), path);
    let steps = action["runs"]["steps"].as_array().unwrap();
    let step = steps.last().unwrap();
    assert_eq!(step["shell"], "sh");
    let mut shell = machine.command("sh");
    shell.args(["-e", "-c", &text(&step["run"])]);
    for (name, value) in step["env"].as_object().unwrap() {
        let value = text(value);
        let expression = value.strip_prefix("${{ ").and_then(|rest| rest.strip_suffix(" }}"));
        shell.env(name, &values[expression.unwrap()]);
    }
    for (name, file) in [("RUNNER_TEMP", "temp"), ("GITHUB_OUTPUT", "output"), ("GITHUB_PATH", "added")] {
        shell.env(name, machine.path(file));
    }
    Job::of(&mut shell)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value}")).to_owned()
}

/// Installs the program from a folder, and returns the folder that the action adds to the `PATH`.
pub(super) fn installed(machine: &Machine, mirror: &Mirror) -> PathBuf {
    run(machine, &[("from", mirror.path().to_str().unwrap())]).exits(0, &["installed gitoggle"]);
    let added = std::fs::read_to_string(machine.path("added")).unwrap();
    PathBuf::from(added.trim_end_matches('\n'))
}

#[test]
fn the_action_installs_the_release_that_it_belongs_to() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    run(&machine, &[("from", &service.url())]).exits(0, &[&format!("installed gitoggle {VERSION}")]);
    let archive = format!("/v{VERSION}/gitoggle-{VERSION}-x86_64-unknown-linux-gnu.tar.gz");
    let sums = format!("/v{VERSION}/SHA256SUMS");
    assert_eq!(requested(&service), [sums.clone(), archive]);
    let folder = machine.path("temp/gitoggle/bin");
    let read = |file: &str| std::fs::read_to_string(machine.path(file)).unwrap();
    assert_eq!(read("added"), format!("{}\n", folder.display()));
    assert_eq!(read("output"), format!("path={}/gitoggle\n", folder.display()));
    assert!(folder.join("gitoggle").exists());
    // The next job finds the archive in the cache.
    run(&machine, &[("from", &service.url())]).exits(0, &[]);
    assert_eq!(requested(&service), [sums]);
}

#[test]
fn the_action_fails_if_the_installation_fails() {
    let mirror = Mirror::new();
    let service = mirror.serve();
    let machine = Machine::new();
    let (url, other) = (service.url(), "0".repeat(64));
    let run = |inputs: &[(&str, &str)]| run(&machine, &[inputs, &[("from", &url)]].concat());
    run(&[("version", "9.9.9")]).exits(1, &["check that version 9.9.9 is released there"]);
    run(&[("sha256", &other)]).exits(1, &["do not use this file"]);
    machine.is("MINGW64_NT-10.0", "x86_64");
    run(&[]).exits(1, &["there is no release for MINGW64_NT-10.0"]);
    assert!(!machine.path("added").exists() && !machine.path("output").exists());
}

#[test]
fn the_action_caches_the_archive_and_documents_its_inputs() {
    let action = yaml("deploy/ci/action.yaml");
    assert_eq!(action["inputs"]["version"]["default"], VERSION);
    let whole = action["runs"].to_string();
    for (name, input) in action["inputs"].as_object().unwrap() {
        assert!(input["description"].is_string(), "{name}");
        assert!(whole.contains(&format!("${{{{ inputs.{name} }}}}")), "{name} is not used");
    }
    let steps = action["runs"]["steps"].as_array().unwrap();
    let [cache, install] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    assert!(text(&cache["uses"]).starts_with("actions/cache@"));
    assert_eq!(cache["with"]["path"], "${{ runner.temp }}/gitoggle/archive");
    assert!(text(&install["run"]).contains("--cache \"$RUNNER_TEMP/gitoggle/archive\""));
    assert!(!text(&install["run"]).contains("${{"), "an expression in a script");
}
