//! The workflow of Gitea and Forgejo, whole: with its installation, from a pull request to the applied merge.

use super::{DECISIONS, Hosted, Job, SERVICE_TOKEN, decision, variables, yaml};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::{Answer, Repo, Service};

/// A server that has the program, as the package registry of the host does.
fn registry() -> Service {
    let registry = Service::start();
    let program = format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_gitoggle"));
    registry.always(move |request| match request.path.as_str() {
        "/gitoggle" => Answer::status(200).body(&program),
        _ => Answer::status(404),
    });
    registry
}

/// Runs the steps of a job after the checkout, up to the first that fails.
pub(super) fn gitea(
    hosted: &Hosted,
    registry: &Service,
    name: &str,
    clone: &Repo,
    event: &[(&str, &str)],
) -> Job {
    let workflow = yaml("deploy/ci/gitea.yaml");
    let [checkout, steps @ ..] = workflow["jobs"][name]["steps"].as_array().unwrap().as_slice() else {
        panic!("{name}");
    };
    assert_eq!(checkout["with"], serde_json::json!({ "fetch-depth": 0, "persist-credentials": false }));
    let values = [
        ("github.token", FORGE_TOKEN),
        ("inputs.decision", decision(event)),
        ("secrets.DRIFT_TOKEN", FORGE_TOKEN),
        ("secrets.STATE_WRITE_TOKEN", ""),
        ("secrets.TOGGLE_TOKEN", SERVICE_TOKEN),
    ];
    let temporary = clone.path().with_extension("temp");
    std::fs::create_dir_all(&temporary).unwrap();
    let own = [
        // curl trusts it as well.
        ("CURL_CA_BUNDLE", hosted.world.ca().display().to_string()),
        ("GITEA_ACTIONS", "true".to_owned()),
        ("GITHUB_ACTIONS", "true".to_owned()),
        ("GITHUB_API_URL", hosted.forge.service.url() + "/api/v1"),
        ("GITHUB_PATH", temporary.join("path").display().to_string()),
        ("GITHUB_REPOSITORY", "shop/toggles".to_owned()),
        ("GITHUB_SHA", clone.head()),
        ("RUNNER_TEMP", temporary.display().to_string()),
        // The values of the top of the file, as a team adapts them.
        ("PROGRAM", registry.url() + "/gitoggle"),
        ("GITOGGLE_BASE_URL", hosted.base_url()),
        ("GITOGGLE_SERVICE_KIND", hosted.service_kind.to_owned()),
        ("GITOGGLE_STATE_REMOTE", hosted.remote()),
    ];
    let top: Vec<&String> = workflow["env"].as_object().unwrap().keys().collect();
    assert!(top.iter().all(|name| own.iter().any(|(own, _)| own == name)), "{top:?}");
    for name in steps.iter().flat_map(|step| step["env"].as_object()).flat_map(serde_json::Map::keys) {
        assert!(!top.contains(&name), "{name} is the same in all jobs");
    }
    hosted.run_steps(clone, steps, &variables(own, event), &values)
}

#[test]
fn the_workflow_of_gitea_runs_from_a_pull_request_to_the_applied_merge() {
    super::plans_what_gets_another_target(&yaml("deploy/ci/gitea.yaml")["on"]);
    let (hosted, registry) = (Hosted::new(Kind::Gitea), registry());
    let request = hosted.clone("request", "origin/feature");
    let event =
        [("GITHUB_BASE_REF", "main"), ("GITHUB_HEAD_REF", "feature"), ("GITHUB_REF", "refs/pull/7/head")];
    let plan = || gitea(&hosted, &registry, "plan", &request, &event);
    plan().exits(
        0,
        &["checked 1 document: no findings", "created the comment on pull request 7 of `shop/toggles`"],
    );
    Hosted::refuses_a_broken_document(&request, plan, "shop/prod/pay.yaml");
    let apply = |name: &str, decision: &str| {
        let event = [("GITHUB_BASE_REF", ""), ("GITHUB_REF", "refs/heads/main"), ("decision", decision)];
        gitea(&hosted, &registry, "apply", &hosted.clone(name, "origin/main"), &event)
    };
    hosted.applies_what_was_reviewed(|name| apply(name, ""), &["applied 1 of 1 change"]);
    // A run by hand with each decision.
    for decision in DECISIONS {
        apply(decision, decision).exits(4, &["not reviewed"]);
    }
    let needs = "needs `--service-kind featureprobe`";
    apply("overwrite", "overwrite-drift").exits(64, &[needs]);
    // A program that is not there ends the job.
    let elsewhere = Service::start();
    elsewhere.always(|_| Answer::status(404));
    gitea(&hosted, &elsewhere, "plan", &request, &event).exits(22, &["404"]);
}

#[test]
fn the_workflow_of_gitea_turns_drift_into_one_pull_request() {
    let (hosted, registry) = (Hosted::with_service(Kind::Gitea, "featureprobe"), registry());
    let event = [("GITHUB_REF", "refs/heads/main"), ("GITHUB_REF_NAME", "main")];
    let job = |name: &str| gitea(&hosted, &registry, "drift", &hosted.clone(name, "origin/main"), &event);
    let refusal = ["the forge responded with 403", "Resource not accessible by integration"];
    hosted.drifts_beside_others(job, &refusal);
}

#[test]
fn the_workflow_of_gitea_reads_only_a_service_that_can_be_read() {
    let (hosted, registry) = (Hosted::new(Kind::Gitea), registry());
    let event = [("GITHUB_REF", "refs/heads/main"), ("GITHUB_REF_NAME", "main")];
    let job = gitea(&hosted, &registry, "drift", &hosted.clone("quiet", "origin/main"), &event);
    job.exits(0, &["only a service of the kind featureprobe can be read"]);
}
