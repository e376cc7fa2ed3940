//! Tests of how a forge is found in settings and variables.

use super::{ForgeSettings, ForgeTarget};
use crate::model::Forge;
use crate::transport::{Secret, SecretSource};

const GITHUB: &[(&str, &str)] = &[
    ("GITHUB_API_URL", "https://api.github.com"),
    ("GITHUB_REPOSITORY", "shop/toggles"),
    ("GITHUB_REF", "refs/pull/7/merge"),
    ("GITHUB_BASE_REF", "main"),
    ("GITHUB_TOKEN", "t1"),
    ("GITHUB_SERVER_URL", "https://github.com"),
    ("GITHUB_RUN_ID", "99"),
    ("GITHUB_RUN_NUMBER", "3"),
    ("GITHUB_SHA", "abc"),
];

const GITLAB: &[(&str, &str)] = &[
    ("CI_API_V4_URL", "https://gitlab.com/api/v4"),
    ("CI_MERGE_REQUEST_IID", "8"),
    ("CI_MERGE_REQUEST_PROJECT_PATH", "shop/sub/toggles"),
    ("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "main"),
    ("CI_PROJECT_ID", "55"),
    ("CI_JOB_TOKEN", "job"),
    ("CI_JOB_URL", "https://gitlab.com/shop/toggles/-/jobs/1"),
    ("CI_COMMIT_SHA", "def"),
];

fn find(api: Forge, settings: ForgeSettings, variables: &[(&str, &str)]) -> Result<ForgeTarget, String> {
    let variable = |name: &str| {
        let found = variables.iter().rev().find(|(known, _)| *known == name);
        found.map(|(_, value)| (*value).to_owned())
    };
    ForgeTarget::find(api, settings, &variable, &|_| None).map_err(|error| error.to_string())
}

fn with<'a>(base: &[(&'a str, &'a str)], more: &[(&'a str, &'a str)]) -> Vec<(&'a str, &'a str)> {
    base.iter().chain(more).copied().collect()
}

/// Returns the token and whether it is that of a job.
fn token(target: &ForgeTarget) -> Result<String, String> {
    match target.token() {
        Ok((token, kind)) => Ok(format!("{} {kind:?}", token.expose())),
        Err(error) => Err(error.to_string()),
    }
}

#[test]
fn a_job_names_everything() {
    let none = ForgeSettings::default;
    let target = find(Forge::GitHub, none(), GITHUB).unwrap();
    assert_eq!(target.request().unwrap(), 7);
    assert_eq!(target.repository, "shop/toggles");
    assert_eq!(target.url.to_string(), "https://api.github.com");
    assert_eq!(target.commit.as_deref(), Some("abc"));
    assert_eq!(target.job_url.as_deref(), Some("https://github.com/shop/toggles/actions/runs/99"));
    assert_eq!(token(&target), Ok("t1 Personal".to_owned()));

    let gitea = with(
        GITHUB,
        &[
            ("GITEA_ACTIONS", "true"),
            ("GITHUB_API_URL", "https://git.example.com/api/v1"),
            ("GITHUB_SERVER_URL", "https://git.example.com"),
        ],
    );
    let target = find(Forge::Gitea, none(), &gitea).unwrap();
    assert_eq!(target.request().unwrap(), 7);
    assert_eq!(target.job_url.as_deref(), Some("https://git.example.com/shop/toggles/actions/runs/3"));
    assert_eq!(token(&target), Ok("t1 Personal".to_owned()));
    let own = with(&gitea, &[("GITEA_TOKEN", "t2")]);
    let target = find(Forge::Gitea, none(), &own).unwrap();
    assert_eq!(token(&target), Ok("t2 Personal".to_owned()));

    let target = find(Forge::GitLab, none(), GITLAB).unwrap();
    assert_eq!(target.request().unwrap(), 8);
    assert_eq!(target.repository, "shop/sub/toggles", "the target's project");
    assert_eq!(token(&target), Ok("job Job".to_owned()));
    let target = find(Forge::GitLab, none(), &with(GITLAB, &[("GITLAB_TOKEN", "t3")])).unwrap();
    assert_eq!(token(&target), Ok("t3 Personal".to_owned()));
}

#[test]
fn a_job_for_a_push_has_a_repository_and_no_number() {
    let push = with(GITHUB, &[("GITHUB_BASE_REF", ""), ("GITHUB_REF", "refs/heads/main")]);
    let target = find(Forge::GitHub, ForgeSettings::default(), &push).unwrap();
    assert_eq!(
        target.request().unwrap_err().to_string(),
        "the number of the pull request is unknown; pass it as `--forge-number`, because the CI variable GITHUB_REF does \
         not name it"
    );
    let push = with(GITLAB, &[("CI_MERGE_REQUEST_TARGET_BRANCH_NAME", "")]);
    let target = find(Forge::GitLab, ForgeSettings::default(), &push).unwrap();
    assert_eq!(target.repository, "55");
}

#[test]
fn variables_of_another_forge_are_not_used() {
    let error = find(Forge::GitHub, ForgeSettings::default(), GITLAB).unwrap_err();
    assert!(error.starts_with("the repository is unknown; pass it as `--forge-repo`"), "{error}");
    let mut gitea = with(GITHUB, &[("GITEA_ACTIONS", "true")]);
    gitea.retain(|(name, _)| *name != "GITHUB_RUN_ID");
    let target = find(Forge::GitHub, ForgeSettings::default(), &gitea).unwrap();
    assert!(target.request().is_err(), "the pull request is on Gitea");
}

#[test]
fn the_token_of_a_job_is_for_the_host_of_the_job_only() {
    let at = |url: &str| ForgeSettings { url: Some(url.parse().unwrap()), ..ForgeSettings::default() };
    let target = find(Forge::GitHub, at("https://api.github.com/other"), GITHUB).unwrap();
    assert_eq!(token(&target), Ok("t1 Personal".to_owned()));
    for url in ["https://evil.example.com", "https://api.github.com:8443"] {
        let target = find(Forge::GitHub, at(url), GITHUB).unwrap();
        let error = token(&target).unwrap_err();
        assert!(error.starts_with("there is no token for the host of `--forge-url`"), "{error}");
        let own =
            ForgeSettings { token: Some(SecretSource::Value(Secret::new("own".to_owned()))), ..at(url) };
        let target = find(Forge::GitHub, own, GITHUB).unwrap();
        assert_eq!(token(&target), Ok("own Personal".to_owned()));
    }
}

#[test]
fn a_missing_token_is_an_error_of_the_request_only() {
    let fork = with(GITHUB, &[("GITHUB_TOKEN", "")]);
    let target = find(Forge::GitHub, ForgeSettings::default(), &fork).unwrap();
    assert_eq!(
        token(&target).unwrap_err(),
        "there is no token: set GITHUB_TOKEN, GITOGGLE_FORGE_TOKEN, or `--forge-token-file`"
    );
}

#[test]
fn an_address_without_tls_and_a_repository_that_leaves_its_path_are_rejected() {
    let http = with(GITHUB, &[("GITHUB_API_URL", "http://gitea:3000/api/v1")]);
    let error = find(Forge::Gitea, ForgeSettings::default(), &http).unwrap_err();
    assert_eq!(error, "the variable GITHUB_API_URL has an unusable address");
    for name in ["", "toggles", "shop/", "shop/..", "a/b/c", "./toggles"] {
        let settings = ForgeSettings { repository: Some(name.to_owned()), ..ForgeSettings::default() };
        assert!(find(Forge::GitHub, settings, GITHUB).is_err(), "{name}");
    }
}
