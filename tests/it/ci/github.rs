//! The workflow of GitHub.

use super::mirror::{Machine, Mirror, VERSION};
use super::{DECISIONS, Hosted, Job, SERVICE_TOKEN, action, decision, read, variables, yaml};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::Repo;

/// Runs the steps of a job in GitHub's workflow after the installation, up to the first that fails.
pub(super) fn github(hosted: &Hosted, name: &str, clone: &Repo, event: &[(&str, &str)]) -> Job {
    let workflow = yaml("deploy/ci/github.yaml");
    let steps = workflow["jobs"][name]["steps"].as_array().unwrap();
    let [checkout, install, steps @ ..] = steps.as_slice() else {
        panic!("{steps:?}");
    };
    let checkout_depth = &checkout["with"]["fetch-depth"];
    assert!(*checkout_depth == 0 || name == "check", "{checkout_depth}");
    let pin = install["uses"].as_str().unwrap().strip_prefix("acme/gitoggle/deploy/ci@").unwrap();
    assert!(
        pin.len() == 40 && read("deploy/ci/github.yaml").contains(&format!("{pin} # v{VERSION}\n")),
        "{pin}"
    );
    assert_eq!(install.get("with"), None);
    let values = [
        ("github.token", FORGE_TOKEN),
        ("inputs.decision", decision(event)),
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
    hosted.run_steps(clone, steps, &variables(own, event), &values)
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
    for decision in DECISIONS {
        let event = [("GITHUB_REF", "refs/heads/main"), ("decision", decision)];
        github(&hosted, "apply", &hosted.clone(decision, "origin/main"), &event).exits(4, &["1 held"]);
    }
}

#[test]
fn the_workflow_of_github_checks_and_plans_what_a_merge_queue_merges() {
    let hosted = Hosted::new(Kind::GitHub);
    let group = hosted.clone("group", "origin/main");
    let base = group.head();
    group.merge("origin/feature", "Merge the queue");
    let head = group.head();
    let event = hosted.world.write(
        "event.json",
        &serde_json::json!({ "merge_group": {
            "head_sha": head, "base_sha": base, "base_ref": "refs/heads/main",
            "head_ref": "refs/heads/gh-readonly-queue/main/pr-7-1",
        } })
        .to_string(),
    );
    let event = [
        ("GITHUB_EVENT_NAME", "merge_group"),
        ("GITHUB_EVENT_PATH", event.to_str().unwrap()),
        ("GITHUB_REF", "refs/heads/gh-readonly-queue/main/pr-7-1"),
    ];
    for job in ["check", "plan"] {
        github(&hosted, job, &group, &event).exits(0, &[]);
    }
    assert_eq!(hosted.forge.asked(), [""; 0], "a queue has no comment");
}

#[test]
fn the_workflow_of_github_gives_each_job_what_it_needs_and_no_more() {
    let workflow = yaml("deploy/ci/github.yaml");
    let on = &workflow["on"];
    assert!(on.get("pull_request_target").is_none(), "it runs a fork's code with secrets");
    super::plans_what_gets_another_target(on);
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
