//! GitHub's REST API, version 2022-11-28, and that of Gitea and Forgejo, which follows it.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName, LINK};
use serde_json::{Value, json};

use super::routes::{ForgeRequest, Resource, Routes, TokenKind, component, user_id};
use crate::transport::Secret;

/// A repository on GitHub.
pub(super) struct GitHub(String);

impl GitHub {
    pub(super) fn new(repository: &str) -> Self {
        Self(repository_path(repository))
    }
}

/// Returns `/repos/OWNER/NAME`.
pub(super) fn repository_path(repository: &str) -> String {
    let parts: Vec<String> = repository.split('/').map(component).collect();
    format!("/repos/{}", parts.join("/"))
}

impl Routes for GitHub {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/vnd.github+json"), ("x-github-api-version", "2022-11-28")]
    }

    fn authorization(&self, _: TokenKind, token: &Secret) -> (HeaderName, String) {
        (AUTHORIZATION, format!("Bearer {}", token.expose()))
    }

    fn user(&self, _: TokenKind) -> ForgeRequest {
        // `GET /user` does not answer to the token of a job or an app.
        ForgeRequest {
            method: Method::POST,
            resource: Resource::GraphQl,
            body: Some(json!({ "query": "query { viewer { databaseId } }" })),
        }
    }

    fn read_user(&self, answer: &Value) -> Option<u64> {
        answer["data"]["viewer"]["databaseId"].as_u64()
    }

    fn repository(&self) -> &str {
        &self.0
    }

    fn page(&self, page: u32) -> String {
        format!("?per_page=100&page={page}")
    }

    fn has_next(&self, headers: &HeaderMap) -> bool {
        // The linked URL is not requested, because it could be on another host.
        let links = headers.get_all(LINK).iter();
        let mut links = links.filter_map(|value| value.to_str().ok());
        links.any(|value| value.contains("rel=\"next\""))
    }

    fn longest_description(&self) -> usize {
        140
    }

    fn requests_of(&self, commit: &str) -> ForgeRequest {
        ForgeRequest::get(format!("{}/commits/{}/pulls?per_page=100", self.0, component(commit)))
    }

    fn read_merged(&self, answer: &Value, is_in_history: &dyn Fn(&str) -> bool) -> Option<u64> {
        let requests = answer.as_array()?;
        let merged = requests.iter().find(|request| {
            // An open pull request has a `merge_commit_sha` as well: that of a trial merge.
            request["merge_commit_sha"].as_str().is_some_and(is_in_history) && !request["merged_at"].is_null()
        });
        merged?["number"].as_u64()
    }
}

// The API of Gitea and Forgejo, version 1.

pub(super) struct Gitea(String);

impl Gitea {
    pub(super) fn new(repository: &str) -> Self {
        Self(repository_path(repository))
    }
}

impl Routes for Gitea {
    fn authorization(&self, _: TokenKind, token: &Secret) -> (HeaderName, String) {
        (AUTHORIZATION, format!("token {}", token.expose()))
    }

    fn user(&self, _: TokenKind) -> ForgeRequest {
        ForgeRequest::get("/user".to_owned())
    }

    fn read_user(&self, answer: &Value) -> Option<u64> {
        user_id(answer)
    }

    fn repository(&self) -> &str {
        &self.0
    }

    fn page(&self, _: u32) -> String {
        String::new()
    }

    fn has_next(&self, _: &HeaderMap) -> bool {
        // This list has no pages: every request returns all comments, whatever its `page` is.
        false
    }

    fn requests_of(&self, commit: &str) -> ForgeRequest {
        ForgeRequest::get(format!("{}/commits/{}/pull", self.0, component(commit)))
    }

    fn read_merged(&self, answer: &Value, is_in_history: &dyn Fn(&str) -> bool) -> Option<u64> {
        let is_merged = answer["merged"].as_bool() == Some(true);
        (is_merged && answer["merge_commit_sha"].as_str().is_some_and(is_in_history))
            .then(|| answer["number"].as_u64())
            .flatten()
    }
}
