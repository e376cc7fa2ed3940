//! The workflow of GitHub.

use super::mirror::{Machine, Mirror, VERSION};
use super::{Hosted, Job, SERVICE_TOKEN, action, variables, yaml};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::Repo;

/// Replaces the expressions of GitHub's workflow language.
pub(super) fn expanded(text: &str, values: &[(&str, &str)]) -> String {
    let mut text = text.to_owned();
    for (name, value) in values {
        text = text.replace(&format!("${{{{ {name} }}}}"), value);
    }
    assert!(!text.contains("${{"), "an unknown expression: {text}");
    text
}

/// Runs the steps of a job in GitHub's workflow after the installation, up to the first that fails.
pub(super) fn github(hosted: &Hosted, name: &str, clone: &Repo, event: &[(&str, &str)]) -> Job {
    let workflow = yaml("deploy/ci/github.yaml");
    let steps = workflow["jobs"][name]["steps"].as_array().unwrap();
    let [checkout, install, steps @ ..] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    let checkout_depth = &checkout["with"]["fetch-depth"];
    assert!(*checkout_depth == 0 || name == "check", "{checkout_depth}");
    assert_eq!(install["uses"], format!("acme/gitoggle/deploy/ci@v{VERSION}"));
    assert_eq!(install.get("with"), None);
    let values = [
        ("github.token", FORGE_TOKEN),
        ("vars.GITOGGLE_SERVICE_KIND", hosted.service_kind),
        ("secrets.GITOGGLE_TOKEN", SERVICE_TOKEN),
        ("vars.GITOGGLE_BASE_URL", &hosted.base_url()),
    ];
    let summary = hosted.world.path("summary.md").display().to_string();
    let own = [
        ("RUNNER_TEMP", hosted.world.root().display().to_string()),
        ("GITOGGLE_SERVICE_KIND", hosted.service_kind.to_owned()),
        // curl trusts it as well.
        ("CURL_CA_BUNDLE", hosted.world.ca().display().to_string()),
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_API_URL", hosted.forge.service.url()),
        ("GITHUB_REPOSITORY", "shop/toggles".to_owned()),
        ("GITHUB_SHA", clone.head()),
        ("GITHUB_STEP_SUMMARY", summary),
    ];
    let variables = variables(own, event);
    let mut text = String::new();
    for step in steps {
        let mut variables = variables.clone();
        for (name, value) in step["env"].as_object().into_iter().flatten() {
            variables.insert(name.clone(), expanded(value.as_str().unwrap(), &values));
        }
        let job = hosted.run(clone, &variables, step["run"].as_str().unwrap());
        text.push_str(&job.text);
        if job.code != 0 {
            return Job { text, ..job };
        }
    }
    Job { code: 0, text }
}

#[test]
fn the_workflow_of_github_runs_from_a_pull_request_to_the_applied_merge() {
    let hosted = Hosted::new(Kind::GitHub);
    // The forge checks a merge of the branch and its target out.
    let request = hosted.clone("request", "origin/main");
    request.merge("origin/feature", "Merge");
    let event =
        [("GITHUB_BASE_REF", "main"), ("GITHUB_HEAD_REF", "feature"), ("GITHUB_REF", "refs/pull/7/merge")];
    // The action puts its program before the one under test, which it runs.
    let machine = Machine::new();
    let folder = action::installed(&machine, &Mirror::new());
    hosted.path.set(folder).unwrap();
    let check = || github(&hosted, "check", &request, &event);
    check().exits(0, &["checked 1 document: no findings", "tested 0 expectations"]);
    Hosted::refuses_a_broken_document(&request, check, "::error file=shop/prod/pay.yaml");
    let plan = || github(&hosted, "plan", &request, &event);
    plan().exits(0, &["created the comment on pull request 7 of `shop/toggles`"]);
    plan().exits(0, &["kept the comment"]);
    assert_eq!(hosted.forge.comments().len(), 1);
    let event = [("GITHUB_BASE_REF", ""), ("GITHUB_REF", "refs/heads/main")];
    let apply = |name: &str| github(&hosted, "apply", &hosted.clone(name, "origin/main"), &event);
    hosted.applies_what_was_reviewed(apply, &[]);
}

#[test]
fn the_workflow_of_github_gives_each_job_what_it_needs_and_no_more() {
    let workflow = yaml("deploy/ci/github.yaml");
    let on = &workflow["on"];
    assert!(on.get("pull_request_target").is_none(), "it runs a fork's code with secrets");
    assert_eq!(workflow["permissions"], serde_json::json!({}));
    let permissions = |job: &str| workflow["jobs"][job]["permissions"].clone();
    assert_eq!(permissions("check"), serde_json::json!({ "contents": "read" }));
    assert_eq!(permissions("plan"), serde_json::json!({ "contents": "read", "pull-requests": "write" }));
    assert_eq!(
        permissions("apply"),
        serde_json::json!({ "contents": "write", "pull-requests": "read", "statuses": "write" })
    );
    assert_eq!(permissions("drift"), serde_json::json!({ "contents": "write", "pull-requests": "write" }));
    for (name, job) in workflow["jobs"].as_object().unwrap() {
        assert!(job["concurrency"]["group"].is_string(), "{name}");
        assert!(job["if"].is_string() && job["runs-on"].is_string(), "{name}");
        for step in job["steps"].as_array().unwrap() {
            // An expression in a script is text of the event that a shell executes.
            assert!(!step["run"].as_str().unwrap_or_default().contains("${{"), "{step}");
            assert_eq!(step["uses"].is_string(), step["run"].is_null(), "{step}");
        }
    }
    for job in ["check", "plan"] {
        let job = workflow["jobs"][job].to_string();
        assert!(!job.contains("secrets.") && !job.contains("GITOGGLE_TOKEN"), "{job}");
    }
}
