//! The API of Gitea and Forgejo, version 1.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::api_routes::{ForgeComment, ForgeRequest, Routes, TokenKind, component, user_id};
use super::github::repository_path;
use super::status::{CommitStatus, CommitVerdict};
use crate::transport::Secret;

/// A repository on Gitea.
pub(super) struct Gitea(String);

impl Gitea {
    pub(super) fn new(repository: &str) -> Self {
        Self(repository_path(repository))
    }
}

impl Routes for Gitea {
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }

    fn authorization(&self, _: TokenKind, token: &Secret) -> (HeaderName, String) {
        (AUTHORIZATION, format!("token {}", token.expose()))
    }

    fn user(&self, _: TokenKind) -> ForgeRequest {
        ForgeRequest::get("/user".to_owned())
    }

    fn read_user(&self, answer: &Value) -> Option<u64> {
        user_id(answer)
    }

    fn comments(&self, number: u64, _: u32) -> ForgeRequest {
        ForgeRequest::get(format!("{}/issues/{number}/comments", self.0))
    }

    fn has_next(&self, _: &HeaderMap) -> bool {
        // This list has no pages: every request returns all comments, whatever its `page` is.
        false
    }

    fn read_comment(&self, entry: &Value) -> Option<ForgeComment> {
        ForgeComment::read(entry, "user")
    }

    fn create(&self, number: u64, body: &str) -> ForgeRequest {
        let path = format!("{}/issues/{number}/comments", self.0);
        ForgeRequest::with(Method::POST, path, json!({ "body": body }))
    }

    fn update(&self, _: u64, comment: u64, body: &str) -> ForgeRequest {
        let path = format!("{}/issues/comments/{comment}", self.0);
        ForgeRequest::with(Method::PATCH, path, json!({ "body": body }))
    }

    fn delete(&self, _: u64, comment: u64) -> ForgeRequest {
        ForgeRequest::delete(format!("{}/issues/comments/{comment}", self.0))
    }

    fn status(&self, commit: &str, status: &CommitStatus, state: CommitVerdict) -> ForgeRequest {
        let path = format!("{}/statuses/{}", self.0, component(commit));
        // Gitea accepts longer descriptions, and any word as a state.
        ForgeRequest::with(Method::POST, path, status.json(state.as_str(), 255))
    }

    fn requests_of(&self, commit: &str) -> ForgeRequest {
        ForgeRequest::get(format!("{}/commits/{}/pull", self.0, component(commit)))
    }

    fn read_merged(&self, answer: &Value, commit: &str) -> Option<u64> {
        let is_merged = answer["merged"].as_bool() == Some(true);
        (is_merged && answer["merge_commit_sha"].as_str() == Some(commit))
            .then(|| answer["number"].as_u64())
            .flatten()
    }
}
