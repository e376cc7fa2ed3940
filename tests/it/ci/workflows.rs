//! The project's own workflows: least privilege, pinned actions, and no text of an event in a shell.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::{here, read, yaml};

const WORKFLOWS: [&str; 2] = [".github/workflows/ci.yaml", ".github/workflows/release.yaml"];

fn jobs(path: &str) -> serde_json::Map<String, Value> {
    yaml(path)["jobs"].as_object().unwrap().clone()
}

fn steps(job: &Value) -> impl Iterator<Item = &Value> {
    job["steps"].as_array().into_iter().flatten()
}

#[test]
fn each_job_has_its_own_permissions_and_a_limit() {
    for path in WORKFLOWS {
        let workflow = yaml(path);
        assert_eq!(workflow["permissions"], json!({}), "{path}");
        assert!(workflow["concurrency"]["group"].is_string(), "{path}");
        assert!(workflow["on"].get("pull_request_target").is_none(), "{path}");
        for (name, job) in jobs(path) {
            assert!(job["permissions"].is_object(), "{path}: {name}");
            let is_called = job["uses"].is_string();
            assert!(is_called || job["timeout-minutes"].is_number(), "{path}: {name}");
            for step in steps(&job) {
                let script = step["run"].as_str().unwrap_or_default();
                assert!(!script.contains("${{"), "{path}: {name}: {script}");
                let checkout = step["uses"].as_str().unwrap_or_default().starts_with("actions/checkout@");
                assert!(!checkout || step["with"]["persist-credentials"] == false, "{path}: {name}");
            }
        }
    }
    for (name, job) in jobs(WORKFLOWS[0]) {
        assert_eq!(job["permissions"], json!({ "contents": "read" }), "{name}");
    }
    // A pull request can change ci.yaml, so no job of it has a secret.
    assert!(!read(WORKFLOWS[0]).contains("secrets."));
}

#[test]
fn a_release_writes_only_after_all_checks() {
    let jobs = jobs(WORKFLOWS[1]);
    let needs = |name: &str| {
        let mut all = std::collections::BTreeSet::new();
        let mut open = vec![name.to_owned()];
        while let Some(name) = open.pop() {
            let needs = &jobs[&name]["needs"];
            let listed = needs.as_array().cloned().unwrap_or_else(|| vec![needs.clone()]);
            for need in listed.iter().filter_map(Value::as_str) {
                if all.insert(need.to_owned()) {
                    open.push(need.to_owned());
                }
            }
        }
        all
    };
    let writes = |job: &Value, what: &str| job["permissions"][what] == "write";
    for (name, job) in &jobs {
        // Without a tag, an image is not visible; everything else is.
        if writes(job, "contents") || (writes(job, "packages") && name != "image-platform") {
            for check in ["check", "test", "archive", "image-platform"] {
                assert!(needs(name).contains(check), "{name} does not wait for {check}");
            }
        }
        let is_first = name == "check";
        assert_eq!(is_first, job["environment"] == "release", "{name}");
        assert!(is_first || needs(name).contains("check"), "{name}");
    }
    assert!(needs("publish").is_superset(&["archive", "chart", "image", "sbom"].map(str::to_owned).into()));
}

#[test]
fn each_action_is_pinned_to_one_commit() {
    let mut commits: BTreeMap<String, String> = BTreeMap::new();
    for path in
        WORKFLOWS.iter().chain(&["deploy/ci/github.yaml", "deploy/ci/gitea.yaml", "deploy/ci/action.yaml"])
    {
        for line in read(path).lines() {
            let line = line.trim_start().trim_start_matches("- ");
            let Some(used) = line.strip_prefix("uses: ") else {
                continue;
            };
            if used.starts_with("./") {
                assert!(here(used).exists(), "{path}: {used}");
                continue;
            }
            let (action, pin) = used.split_once('@').unwrap();
            let (commit, version) = pin.split_once(" # v").unwrap_or_else(|| panic!("{path}: {used}"));
            assert!(
                commit.len() == 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
                "{path}: {used}"
            );
            assert_eq!(version.split('.').count(), 3, "{path}: {used}");
            let known = commits.entry(action.to_owned()).or_insert_with(|| pin.to_owned());
            // Dependabot does not read deploy/ci/github.yaml.
            assert_eq!(known, pin, "{path}: {action} has two versions");
        }
    }
    assert!(commits.len() >= 9, "{commits:?}");
}

#[test]
fn every_script_that_a_workflow_runs_exists() {
    use std::os::unix::fs::PermissionsExt as _;
    let mut seen = 0;
    for path in WORKFLOWS {
        for word in read(path).split([' ', '\n', '"']).filter(|word| word.starts_with(".ci/")) {
            let mode = std::fs::metadata(here(word)).unwrap_or_else(|error| panic!("{word}: {error}"));
            assert_eq!(mode.permissions().mode() & 0o111, 0o111, "{word}");
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

/// A redirect must not lead to an address without encryption.
#[test]
fn the_recipes_fetch_with_https_alone() {
    let mut seen = 0;
    for name in ["gitea.yaml", "github.yaml", "gitlab.yaml", "install.sh"] {
        for line in read(&format!("deploy/ci/{name}")).lines().filter(|line| line.contains("curl --")) {
            assert!(line.contains("--proto '=https'"), "{name}: {line}");
            seen += 1;
        }
    }
    assert!(seen >= 7, "{seen}");
}
