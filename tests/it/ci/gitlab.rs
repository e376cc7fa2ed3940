//! The pipeline of GitLab.

use std::collections::BTreeSet;

use serde_json::Value;

use super::mirror::{Mirror, VERSION, requested, targets};
use super::{DECISIONS, Hosted, Job, SERVICE_TOKEN, read, variables};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::Repo;

/// Returns the component's inputs, and its jobs with the default of each input, except for those given.
fn component(inputs: &[(&str, &str)]) -> (Value, Value) {
    let text = read("deploy/ci/gitlab.yaml");
    let (header, jobs) = text.split_once("\n---\n").unwrap();
    let header: Value = serde_yaml::from_str(header).unwrap();
    let declared = header["spec"]["inputs"].clone();
    let mut jobs = jobs.to_owned();
    for (name, input) in declared.as_object().unwrap() {
        assert!(input["description"].is_string(), "{name}");
        let given = inputs.iter().find(|(given, _)| given == name);
        let value = given.map_or(input["default"].as_str().unwrap(), |(_, value)| value);
        let placeholder = format!("$[[ inputs.{name} ]]");
        assert!(jobs.contains(&placeholder), "{name} is not used");
        jobs = jobs.replace(&placeholder, value);
    }
    assert!(!jobs.contains("$[["), "an unknown input: {jobs}");
    (declared, serde_yaml::from_str(&jobs).unwrap())
}

/// Runs a job of GitLab's pipeline, which installs gitoggle first.
pub(super) fn gitlab(
    hosted: &Hosted,
    from: &str,
    name: &str,
    clone: &Repo,
    predefined: &[(&str, &str)],
) -> Job {
    let (_, pipeline) = component(&[("from", from)]);
    let mut job = pipeline[name].clone();
    while job["extends"] != ".gitoggle" {
        let parent = &pipeline[job["extends"].as_str().unwrap()];
        for member in ["extends", "script", "variables"] {
            job[member] = parent[member].clone();
        }
    }
    let base = &pipeline[".gitoggle"];
    assert_eq!(base["variables"]["GIT_DEPTH"], "0");
    let own = [
        ("GITLAB_CI", "true".to_owned()),
        ("CI_DEFAULT_BRANCH", "main".to_owned()),
        ("GITOGGLE_SERVICE_KIND", hosted.service_kind.to_owned()),
        ("CI_API_V4_URL", hosted.forge.service.url() + "/api/v4"),
        ("CI_PROJECT_ID", "55".to_owned()),
        ("CI_PROJECT_URL", hosted.remote().trim_end_matches(".git").to_owned()),
        ("CI_JOB_URL", "https://gitlab.example/jobs/1".to_owned()),
        ("CI_COMMIT_SHA", clone.head()),
        ("GITLAB_TOKEN", FORGE_TOKEN.to_owned()),
    ];
    let mut variables = variables(own, predefined);
    for (name, value) in job["variables"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap();
        let value = value.strip_prefix('$').map_or(value.to_owned(), |name| variables[name].clone());
        variables.insert(name.clone(), value);
    }
    // The installer trusts what curl trusts.
    let authority = hosted.world.ca().display().to_string();
    variables.insert("CURL_CA_BUNDLE".to_owned(), authority);
    let lines = [&base["before_script"], &job["script"]].map(|lines| lines.as_array().unwrap().iter());
    let script: Vec<&str> = lines.into_iter().flatten().map(|line| line.as_str().unwrap()).collect();
    hosted.run(clone, &variables, &script.join("\n"))
}

#[test]
fn the_pipeline_of_gitlab_runs_from_a_merge_request_to_the_applied_merge() {
    let hosted = Hosted::new(Kind::GitLab);
    let request = hosted.clone("request", "origin/feature");
    let predefined = [
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_PROJECT_PATH", "shop/toggles"),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "feature"),
    ];
    let mirror = Mirror::new();
    let service = mirror.serve();
    let url = service.url();
    let installs = |job: Job, archive: bool| {
        assert!(job.text.contains("at .gitoggle/bin/gitoggle"), "{}", job.text);
        let paths = requested(&service);
        assert_eq!(paths[..2], ["install.sh", "SHA256SUMS"].map(|name| format!("/v{VERSION}/{name}")));
        assert_eq!(paths.len(), 2 + usize::from(archive), "{paths:?}");
        job
    };
    let check = || gitlab(&hosted, &url, "gitoggle-check", &request, &predefined);
    installs(check(), true).exits(0, &["checked 1 document: no findings", "tested 0 expectations"]);
    // The cache of the first job, which is in the work tree.
    let cached = || installs(check(), false);
    Hosted::refuses_a_broken_document(&request, cached, "shop/prod/pay.yaml");
    let plan = installs(gitlab(&hosted, &url, "gitoggle-plan", &request, &predefined), false);
    plan.exits(0, &["created the comment on pull request 7 of `shop/toggles`", "update shop/prod/pay"]);
    let (base_url, token) = (hosted.base_url(), ("GITOGGLE_TOKEN", SERVICE_TOKEN));
    let protected = [("CI_COMMIT_BRANCH", "main"), ("GITOGGLE_BASE_URL", base_url.as_str()), token];
    let apply = |name: &str| {
        let clone = hosted.clone(name, "origin/main");
        gitlab(&hosted, &url, "gitoggle-apply", &clone, &protected)
    };
    hosted.applies_what_was_reviewed(apply, &["applied 1 of 1 change"]);
    for decision in DECISIONS {
        let mut predefined = protected.to_vec();
        predefined.push(("DECISION", decision));
        let clone = hosted.clone(decision, "origin/main");
        gitlab(&hosted, &url, "gitoggle-decide", &clone, &predefined).exits(4, &["not reviewed"]);
    }
}

#[test]
fn the_pipeline_of_gitlab_stops_if_gitoggle_cannot_be_installed() {
    let hosted = Hosted::new(Kind::GitLab);
    let request = hosted.clone("request", "origin/feature");
    let mirror = Mirror::new();
    for target in targets() {
        std::fs::write(mirror.archive(&target), "damaged").unwrap();
    }
    let from = mirror.serve();
    let check = |from: &str| gitlab(&hosted, from, "gitoggle-check", &request, &[]);
    check(&from.url()).exits(1, &["do not use this file"]);
    check(&format!("{}/elsewhere", from.url())).exits(22, &["404"]);
}

#[test]
fn the_pipeline_of_gitlab_has_one_apply_at_a_time_on_the_default_branch() {
    let (inputs, pipeline) = component(&[]);
    assert_eq!(inputs["version"]["default"], VERSION);
    let address = format!("acme/gitoggle/v{VERSION}/deploy/ci/gitlab.yaml");
    assert!(read("deploy/ci/gitlab.yaml").contains(&address), "{address}");
    let rules = |job: &str| pipeline[job]["rules"].clone();
    assert_eq!(
        rules("gitoggle-plan"),
        serde_json::json!([{ "if": "$CI_PIPELINE_SOURCE == \"merge_request_event\"" }])
    );
    assert_eq!(
        rules("gitoggle-apply"),
        serde_json::json!([
            { "if": "$CI_PIPELINE_SOURCE == \"schedule\"", "when": "never" },
            { "if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" },
        ])
    );
    assert_eq!(pipeline["gitoggle-apply"]["resource_group"], "gitoggle");
    assert_eq!(rules("gitoggle-decide")[1]["when"], "manual");
    assert_eq!(rules("gitoggle-check"), rules("gitoggle-plan"));
    for job in [".gitoggle", "gitoggle-check", "gitoggle-plan"] {
        assert!(!pipeline[job].to_string().contains("GITOGGLE_TOKEN"), "{job}");
    }
    assert_eq!(pipeline[".gitoggle"]["cache"]["paths"], serde_json::json!([".gitoggle/archive"]));
}

#[test]
fn what_a_rule_or_a_script_reads_is_a_variable_of_the_project() {
    let text = read("deploy/ci/gitlab.yaml");
    let (header, jobs) = text.split_once("\n---\n").unwrap();
    let listed = header.lines().filter_map(|line| line.strip_prefix("# * ")?.split_once(": "));
    let listed: BTreeSet<&str> = listed.map(|(name, _)| name).collect();
    let names = jobs.split('$').skip(1).map(|rest| {
        let end = rest.find(|c: char| c != '_' && !c.is_ascii_uppercase()).unwrap_or(rest.len());
        &rest[..end]
    });
    let read: BTreeSet<&str> = names.filter(|name| name.starts_with("GIT")).collect();
    assert!(read.contains("GITOGGLE_SERVICE_KIND") && read.is_subset(&listed), "{read:?} {listed:?}");
}
