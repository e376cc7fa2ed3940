//! GitLab's REST API, version 4.

use jiff::Timestamp;
use reqwest::Method;
use reqwest::header::HeaderName;
use serde_json::{Value, json};

use super::routes::{
    ForgeComment, ForgeRequest, ForgeRow, ListedRequest, RequestedPage, Routes, TokenKind, Variables,
    commit_id, component, seconds, user_id,
};
use super::{CiSystem, CommitStatus, CommitVerdict};
use crate::transport::Secret;

pub(super) const GITLAB: ForgeRow = ForgeRow {
    routes: |project| Box::new(GitLab::new(project)),
    stored: |text| without_actions(text).into(),
    permissions: "GITLAB_TOKEN needs the scope `api` and the role Developer; a job token (CI_JOB_TOKEN) may neither \
                  comment nor set a status in most versions of GitLab, and jobs for a fork do not get the variables of \
                  the project",
    jobs: &[CiSystem::GitLab],
    variables: Variables {
        url: "CI_API_V4_URL",
        repository: "CI_PROJECT_ID",
        commit: "CI_COMMIT_SHA",
        branch: "CI_COMMIT_BRANCH",
        number: "CI_MERGE_REQUEST_IID",
        pipeline: Some("CI_PIPELINE_ID"),
        tokens: &[("GITLAB_TOKEN", TokenKind::Personal), ("CI_JOB_TOKEN", TokenKind::Job)],
    },
    // A number, or a path with any number of groups.
    has_parts: |parts| match parts {
        [number] => number.bytes().all(|byte| byte.is_ascii_digit()),
        path => path.len() >= 2,
    },
    job_url: |get| get("CI_JOB_URL"),
};

/// A project on GitLab.
struct GitLab(String);

impl GitLab {
    /// `project` is a number or a path.
    fn new(project: &str) -> Self {
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

    fn read_user(&self, answer: &Value) -> Option<String> {
        user_id(&answer["user"]["id"]).or_else(|| user_id(&answer["id"]))
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

    fn read_comment(&self, entry: &Value) -> Option<ForgeComment> {
        // Notes of GitLab itself, such as that of a changed label, are in the list as well.
        let is_system = entry["system"].as_bool() == Some(true);
        ForgeComment::read(entry, "author").filter(|_| !is_system)
    }

    fn update_method(&self) -> Method {
        Method::PUT
    }

    fn state(&self, verdict: CommitVerdict) -> &'static str {
        match verdict {
            // A pipeline with something pending never ends.
            CommitVerdict::Failure | CommitVerdict::Pending => "failed",
            CommitVerdict::Success => "success",
        }
    }

    fn status(&self, commit: &str, status: &CommitStatus) -> ForgeRequest {
        const LONGEST_URL: usize = 255;
        let path = format!("{}/statuses/{}", self.0, component(commit));
        let mut body = status.json(self.state(status.verdict), self.longest_description());
        if let Some(body) = body.as_object_mut() {
            let is_long = |url: &Value| url.as_str().is_some_and(|url| url.chars().count() > LONGEST_URL);
            if body.get("target_url").is_some_and(is_long) {
                body.remove("target_url");
            }
            // Without it, the status may become part of another pipeline for the commit.
            if let Some(pipeline) = status.pipeline {
                body.insert("pipeline_id".to_owned(), json!(pipeline));
            }
        }
        ForgeRequest::with(Method::POST, path, body)
    }

    fn merged(&self, branch: &str, since: i64, page: &RequestedPage) -> ForgeRequest {
        let since = Timestamp::from_second(since).unwrap_or(Timestamp::UNIX_EPOCH);
        ForgeRequest::get(format!(
            "{}/merge_requests?state=merged&target_branch={}&order_by=updated_at&sort=desc&updated_after={}&per_page=100&page={}",
            self.0,
            component(branch),
            component(&since.to_string()),
            page.number
        ))
    }

    fn read_merged(&self, entry: &Value, branch: &str) -> Option<ListedRequest> {
        // A merge without a merge commit leaves the squashed commit, or the newest one of the branch.
        const COMMITS: [&str; 3] = ["merge_commit_sha", "squash_commit_sha", "sha"];
        let is_of_branch = entry["target_branch"].as_str().is_none_or(|target| target == branch);
        let commit = COMMITS.iter().find_map(|name| commit_id(&entry[*name]));
        Some(ListedRequest {
            number: entry["iid"].as_u64()?,
            commit,
            head: commit_id(&entry["sha"]).filter(|head| Some(*head) != commit),
            // Its jobs have a variable.
            base: None,
            is_merged: entry["state"].as_str() == Some("merged") && is_of_branch,
            is_made: commit_id(&entry["merge_commit_sha"]).is_some(),
            changed_at: seconds(&entry["updated_at"]),
            created_at: seconds(&entry["created_at"]),
            merged_at: seconds(&entry["merged_at"]),
            comments: None,
        })
    }

    fn merging(&self, branch: &str) -> Option<ForgeRequest> {
        let branch = component(branch);
        let path = format!("{}/merge_requests?state=locked&target_branch={branch}&per_page=1", self.0);
        Some(ForgeRequest::get(path))
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
