//! The API of Gitea and Forgejo, version 1, which follows GitHub's.

use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::Value;

use super::CiSystem;
use super::github::{GITHUB, job_url, repository_path};
use super::routes::{
    ForgeRequest, ForgeRow, ListedRequest, RequestedPage, Routes, TokenKind, Variables, commit_id, component,
    seconds, user_id,
};
use crate::transport::Secret;

/// Gitea and Forgejo, whose jobs have GitHub's variables.
pub(super) const GITEA: ForgeRow = ForgeRow {
    routes: |repository| Box::new(Gitea::new(repository)),
    permissions: "the token needs the scopes `read:user`, `write:issue` (comments) and `write:repository` (statuses); the \
                  token of a job for a fork may only read",
    // Old runners do not set their own variable.
    jobs: &[CiSystem::Gitea, CiSystem::GitHub],
    variables: Variables {
        tokens: &[("GITEA_TOKEN", TokenKind::Personal), ("GITHUB_TOKEN", TokenKind::Personal)],
        ..GITHUB.variables
    },
    // Its pages have the number of the run in the repository.
    job_url: |get| job_url(get, "GITHUB_RUN_NUMBER"),
    ..GITHUB
};

struct Gitea(String);

impl Gitea {
    fn new(repository: &str) -> Self {
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

    fn read_user(&self, answer: &Value) -> Option<String> {
        user_id(&answer["id"])
    }

    fn repository(&self) -> &str {
        &self.0
    }

    fn page(&self, page: u32) -> String {
        // This list has no pages: every request returns all comments, whatever its `page` is.
        if page == 1 { String::new() } else { format!("?page={page}") }
    }

    fn merged(&self, branch: &str, _: i64, page: &RequestedPage) -> ForgeRequest {
        ForgeRequest::get(format!(
            "{}/pulls?state=closed&sort=recentclose&base_branch={}&limit=50&page={}",
            self.0,
            component(branch),
            page.number
        ))
    }

    fn read_merged(&self, entry: &Value, branch: &str) -> Option<ListedRequest> {
        // Forgejo does not filter by the branch, and no version by whether it was merged.
        let is_merged =
            entry["merged"].as_bool() == Some(true) && entry["base"]["ref"].as_str() == Some(branch);
        let (commit, head) = (commit_id(&entry["merge_commit_sha"]), commit_id(&entry["head"]["sha"]));
        Some(ListedRequest {
            number: entry["number"].as_u64()?,
            commit,
            head,
            base: commit_id(&entry["merge_base"]),
            is_merged,
            is_made: head != commit,
            changed_at: seconds(&entry["closed_at"]).or_else(|| seconds(&entry["merged_at"])),
            created_at: seconds(&entry["created_at"]),
            merged_at: seconds(&entry["merged_at"]),
            comments: None,
        })
    }
}
