//! The pipeline of GitLab.

use std::collections::BTreeMap;

use super::{Hosted, Job, SERVICE_TOKEN, yaml};
use crate::forge::stand_in::{FORGE_TOKEN, Kind};
use crate::support::{Repo, doc};

/// Runs a job of GitLab's pipeline.
fn gitlab(hosted: &Hosted, name: &str, clone: &Repo, predefined: &[(&str, &str)]) -> Job {
    let pipeline = yaml("deploy/ci/gitlab.yaml");
    let job = &pipeline[name];
    let base = &pipeline[job["extends"].as_str().unwrap()];
    assert_eq!(base["variables"]["GIT_DEPTH"], "0");
    let mut variables: BTreeMap<String, String> = [
        ("GITLAB_CI", "true".to_owned()),
        ("CI_API_V4_URL", hosted.forge.service.url() + "/api/v4"),
        ("CI_PROJECT_ID", "55".to_owned()),
        (
            "CI_PROJECT_URL",
            hosted.remote().trim_end_matches(".git").to_owned(),
        ),
        ("CI_JOB_URL", "https://gitlab.example/jobs/1".to_owned()),
        ("CI_COMMIT_SHA", clone.head()),
        ("GITLAB_TOKEN", FORGE_TOKEN.to_owned()),
    ]
    .map(|(name, value)| (name.to_owned(), value))
    .into();
    variables.extend(
        predefined
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned())),
    );
    for (name, value) in job["variables"].as_object().into_iter().flatten() {
        let value = value.as_str().unwrap();
        let value = value
            .strip_prefix('$')
            .map_or(value.to_owned(), |name| variables[name].clone());
        variables.insert(name.clone(), value);
    }
    let script = job["script"].as_array().unwrap().iter();
    let script: Vec<&str> = script.map(|line| line.as_str().unwrap()).collect();
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
    let plan = gitlab(&hosted, "gitoggle-plan", &request, &predefined);
    plan.exits(
        0,
        &[
            "created the comment on pull request 7 of `shop/toggles`",
            "update shop/prod/pay",
        ],
    );
    let before = hosted.published();

    let merged = hosted.merge();
    let (url, token) = (hosted.base_url(), ("GITOGGLE_TOKEN", SERVICE_TOKEN));
    let protected = [
        ("CI_COMMIT_BRANCH", "main"),
        ("GITOGGLE_BASE_URL", url.as_str()),
        token,
    ];
    let apply = |name: &str| {
        let clone = hosted.clone(name, "origin/main");
        gitlab(&hosted, "gitoggle-apply", &clone, &protected)
    };
    apply("applied").exits(0, &["applied 1 of 1 change"]);
    assert_eq!(hosted.published(), before + 1);
    assert_eq!(hosted.status(), (merged, "success".to_owned()));

    hosted
        .world
        .repo
        .file("shop/prod/pay.yaml", doc(30))
        .commit("Push without a review");
    hosted.push();
    apply("unreviewed").exits(4, &["no reviewed plan"]);
    assert_eq!(hosted.published(), before + 1);
}

#[test]
fn the_pipeline_of_gitlab_has_one_apply_at_a_time_on_the_default_branch() {
    let pipeline = yaml("deploy/ci/gitlab.yaml");
    let rules = |job: &str| pipeline[job]["rules"].clone();
    assert_eq!(
        rules("gitoggle-plan"),
        serde_json::json!([{ "if": "$CI_PIPELINE_SOURCE == \"merge_request_event\"" }])
    );
    assert_eq!(
        rules("gitoggle-apply"),
        serde_json::json!([{ "if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH" }])
    );
    assert_eq!(pipeline["gitoggle-apply"]["resource_group"], "gitoggle");
    assert!(!pipeline["gitoggle-plan"].to_string().contains("GITOGGLE_TOKEN"));
}
