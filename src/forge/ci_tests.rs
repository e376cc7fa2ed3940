//! Tests of the variables of each CI system.

use std::collections::BTreeMap;

use super::{CiSystem, PullRequest};
use crate::model::Forge;

const EVENT: &str = r#"{"action":"synchronize","number":7,"pull_request":{"number":7,
    "head":{"sha":"1111111111111111111111111111111111111111","ref":"feature/x"},
    "base":{"sha":"2222222222222222222222222222222222222222","ref":"main"}}}"#;

const BASE: &str = "2222222222222222222222222222222222222222";
const HEAD: &str = "1111111111111111111111111111111111111111";
const MERGE: &str = "3333333333333333333333333333333333333333";

/// Returns the pull request of a job with these variables, and the event file `/event.json`.
fn found(variables: &[(&str, &str)]) -> Option<PullRequest> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    PullRequest::of_job(&|name| variables.get(name).map(|value| (*value).to_owned()), &|path| {
        (path == "/event.json").then(|| EVENT.to_owned())
    })
}

fn expected(system: CiSystem, head: Option<&str>) -> PullRequest {
    PullRequest {
        system,
        target: "main".to_owned(),
        source: Some("feature/x".to_owned()),
        head: head.map(str::to_owned),
        number: Some("7".to_owned()),
        repository: Some("shop/toggles".to_owned()),
        // Only the forges whose API is called name it.
        base: Forge::ALL.iter().any(|forge| forge.row().jobs.contains(&system)).then(|| BASE.to_owned()),
        is_queue: false,
    }
}

const GITHUB: &[(&str, &str)] = &[
    ("GITHUB_ACTIONS", "true"),
    ("GITHUB_BASE_REF", "main"),
    ("GITHUB_EVENT_NAME", "pull_request"),
    ("GITHUB_EVENT_PATH", "/event.json"),
    ("GITHUB_HEAD_REF", "feature/x"),
    ("GITHUB_REF", "refs/pull/7/merge"),
    ("GITHUB_REPOSITORY", "shop/toggles"),
    ("GITHUB_SHA", MERGE),
];

#[test]
fn github_names_the_head_in_the_event() {
    let full = expected(CiSystem::GitHub, Some(HEAD));
    assert_eq!(found(GITHUB), Some(full.clone()));
    let without_event: Vec<_> =
        GITHUB.iter().copied().filter(|(name, _)| *name != "GITHUB_EVENT_PATH").collect();
    assert_eq!(
        found(&without_event),
        Some(PullRequest { head: None, base: None, ..full }),
        "the ref names the number"
    );
}

#[test]
fn a_merge_queue_is_for_no_single_request() {
    let event = r#"{"action":"checks_requested","merge_group":{"head_sha":"HEAD","base_sha":"BASE",
        "head_ref":"refs/heads/gh-readonly-queue/main/pr-7-1","base_ref":"refs/heads/main"}}"#;
    let event = event.replace("HEAD", HEAD).replace("BASE", BASE);
    let variables =
        [("GITHUB_EVENT_NAME", "merge_group"), ("GITHUB_EVENT_PATH", "/e"), ("GITHUB_BASE_REF", "")];
    let variable =
        |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
    let found = PullRequest::of_job(&variable, &|_| Some(event.clone()));
    let full = expected(CiSystem::GitHub, Some(HEAD));
    assert_eq!(
        found,
        Some(PullRequest {
            source: Some("gh-readonly-queue/main/pr-7-1".to_owned()),
            number: None,
            repository: None,
            is_queue: true,
            ..full
        })
    );
}

#[test]
fn gitea_and_forgejo_have_the_variables_of_github() {
    for name in ["GITEA_ACTIONS", "FORGEJO_ACTIONS"] {
        let mut variables = GITHUB.to_vec();
        variables.extend([(name, "true"), ("GITHUB_REF", "refs/pull/7/head")]);
        assert_eq!(found(&variables), Some(expected(CiSystem::Gitea, Some(HEAD))), "{name}");
    }
}

#[test]
fn gitlab_names_the_branch_in_another_variable_for_merged_results() {
    let mut variables = vec![
        ("GITLAB_CI", "true"),
        ("CI_COMMIT_SHA", HEAD),
        ("CI_MERGE_REQUEST_DIFF_BASE_SHA", "2222222222222222222222222222222222222222"),
        ("CI_MERGE_REQUEST_IID", "7"),
        ("CI_MERGE_REQUEST_PROJECT_PATH", "shop/toggles"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_NAME", "feature/x"),
        ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", ""),
        ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
    ];
    let expected = expected(CiSystem::GitLab, Some(HEAD));
    assert_eq!(found(&variables), Some(expected.clone()), "detached");
    variables.extend([("CI_COMMIT_SHA", MERGE), ("CI_MERGE_REQUEST_SOURCE_BRANCH_SHA", HEAD)]);
    assert_eq!(found(&variables), Some(expected), "merged results");
}

#[test]
fn bitbucket_azure_and_jenkins_are_recognized() {
    let bitbucket = [
        ("BITBUCKET_BRANCH", "feature/x"),
        ("BITBUCKET_COMMIT", HEAD),
        ("BITBUCKET_PR_DESTINATION_BRANCH", "main"),
        ("BITBUCKET_PR_DESTINATION_COMMIT", "222222222222"),
        ("BITBUCKET_PR_ID", "7"),
        ("BITBUCKET_REPO_FULL_NAME", "shop/toggles"),
    ];
    assert_eq!(found(&bitbucket), Some(expected(CiSystem::Bitbucket, Some(HEAD))));
    let azure = [
        ("TF_BUILD", "True"),
        ("BUILD_REPOSITORY_NAME", "shop/toggles"),
        ("BUILD_SOURCEBRANCH", "refs/pull/7/merge"),
        ("BUILD_SOURCEVERSION", MERGE),
        ("SYSTEM_PULLREQUEST_PULLREQUESTID", "7"),
        ("SYSTEM_PULLREQUEST_SOURCEBRANCH", "refs/heads/feature/x"),
        ("SYSTEM_PULLREQUEST_SOURCECOMMITID", HEAD),
        ("SYSTEM_PULLREQUEST_TARGETBRANCH", "refs/heads/main"),
    ];
    assert_eq!(found(&azure), Some(expected(CiSystem::Azure, Some(HEAD))));
    let jenkins = [
        ("CHANGE_BRANCH", "feature/x"),
        ("CHANGE_ID", "7"),
        ("CHANGE_TARGET", "main"),
        ("GIT_COMMIT", MERGE),
    ];
    let repository = None;
    let expected_jenkins = expected(CiSystem::Jenkins, None);
    assert_eq!(found(&jenkins), Some(PullRequest { repository, ..expected_jenkins }));
}

#[test]
fn a_job_for_a_push_is_not_one_for_a_pull_request() {
    for variables in [
        &[][..],
        &[("GITHUB_ACTIONS", "true"), ("GITHUB_BASE_REF", ""), ("GITHUB_REF", "refs/heads/main")],
        &[("GITLAB_CI", "true"), ("CI_COMMIT_SHA", HEAD), ("CI_COMMIT_BRANCH", "main")],
        &[("BITBUCKET_COMMIT", HEAD), ("BITBUCKET_BRANCH", "main")],
        &[("TF_BUILD", "True"), ("BUILD_SOURCEVERSION", HEAD)],
        &[("GIT_COMMIT", HEAD), ("BRANCH_NAME", "main")],
    ] {
        assert_eq!(found(variables), None, "{variables:?}");
    }
}

#[test]
fn an_event_file_that_is_not_readable_is_as_none() {
    let variables: BTreeMap<&str, &str> = GITHUB.iter().copied().collect();
    for text in [None, Some(""), Some("{"), Some("[1]"), Some(r#"{"pull_request":{"head":{"sha":5}}}"#)] {
        let found =
            PullRequest::of_job(&|name| variables.get(name).map(|value| (*value).to_owned()), &|_| {
                text.map(str::to_owned)
            });
        let found = found.unwrap();
        assert_eq!((found.head, found.number.as_deref()), (None, Some("7")), "{text:?}");
    }
}
