//! The API of Gitea and Forgejo, version 1.

use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use serde_json::Value;

use super::github::repository_path;
use super::routes::{ForgeRequest, Routes, TokenKind, component, user_id};
use crate::transport::Secret;

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
