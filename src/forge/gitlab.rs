//! GitLab's REST API, version 4.

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::Value;

use super::CommitVerdict;
use super::routes::{ForgeComment, ForgeRequest, Routes, TokenKind, component, user_id};
use crate::transport::Secret;

/// A project on GitLab.
pub(super) struct GitLab(String);

impl GitLab {
    /// `project` is a number or a path.
    pub(super) fn new(project: &str) -> Self {
        Self(format!("/projects/{}", component(project)))
    }
}

/// Escapes lines that GitLab would execute as quick actions, such as `/merge`, with the rights of the token.
fn without_actions(body: &str) -> String {
    let lines = body.split_inclusive('\n').map(|line| {
        let text = line.trim_start();
        if text.starts_with('/') {
            format!("{}\\{text}", &line[..line.len() - text.len()])
        } else {
            line.to_owned()
        }
    });
    lines.collect()
}

impl Routes for GitLab {
    fn authorization(&self, kind: TokenKind, token: &Secret) -> (HeaderName, String) {
        let name = match kind {
            TokenKind::Job => "job-token",
            TokenKind::Personal => "private-token",
        };
        (HeaderName::from_static(name), token.expose().to_owned())
    }

    fn user(&self, kind: TokenKind) -> ForgeRequest {
        // A job token has no user; GitLab answers with the job, and its user.
        let path = match kind {
            TokenKind::Job => "/job",
            TokenKind::Personal => "/user",
        };
        ForgeRequest::get(path.to_owned())
    }

    fn read_user(&self, answer: &Value) -> Option<u64> {
        user_id(&answer["user"]).or_else(|| user_id(answer))
    }

    fn repository(&self) -> &str {
        &self.0
    }

    fn request(&self, number: u64) -> ForgeRequest {
        ForgeRequest::get(format!("{}/merge_requests/{number}", self.0))
    }

    fn read_head(&self, answer: &Value) -> Option<String> {
        answer["sha"].as_str().map(str::to_owned)
    }

    fn comments_path(&self, number: u64) -> String {
        format!("{}/merge_requests/{number}/notes", self.0)
    }

    fn comment_path(&self, number: u64, comment: u64) -> String {
        format!("{}/{comment}", self.comments_path(number))
    }

    fn page(&self, page: u32) -> String {
        format!("?sort=asc&order_by=created_at&per_page=100&page={page}")
    }

    fn has_next(&self, headers: &HeaderMap) -> bool {
        // Empty on the last page.
        headers.get("x-next-page").is_some_and(|page| !page.is_empty())
    }

    fn read_comment(&self, entry: &Value) -> Option<ForgeComment> {
        // Notes of GitLab itself, such as that of a changed label, are in the list as well.
        let is_system = entry["system"].as_bool() == Some(true);
        ForgeComment::read(entry, "author").filter(|_| !is_system)
    }

    fn text(&self, body: &str) -> String {
        without_actions(body)
    }

    fn update_method(&self) -> Method {
        Method::PUT
    }

    fn state(&self, verdict: CommitVerdict) -> &'static str {
        match verdict {
            CommitVerdict::Failure => "failed",
            CommitVerdict::Pending => "pending",
            CommitVerdict::Success => "success",
        }
    }

    fn requests_of(&self, commit: &str) -> ForgeRequest {
        ForgeRequest::get(format!(
            "{}/repository/commits/{}/merge_requests?per_page=100",
            self.0,
            component(commit)
        ))
    }

    fn read_merged(&self, answer: &Value, is_in_history: &dyn Fn(&str) -> bool) -> Option<u64> {
        // A merge without a merge commit leaves the newest commit of the branch, or the squashed one.
        const COMMITS: [&str; 3] = ["merge_commit_sha", "squash_commit_sha", "sha"];
        let requests = answer.as_array()?;
        let merged = requests.iter().find(|request| {
            let mut commits = COMMITS.iter().filter_map(|name| request[*name].as_str());
            request["state"].as_str() == Some("merged") && commits.any(is_in_history)
        });
        merged?["iid"].as_u64()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_line_is_a_quick_action() {
        let body = "<!-- m -->\n/merge\n text / more\n\t/approve\n//x";
        let safe = "<!-- m -->\n\\/merge\n text / more\n\t\\/approve\n\\//x";
        assert_eq!(without_actions(body), safe);
    }
}
