//! What differs between the APIs of forges: the requests, and what their answers mean.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName};
use serde_json::{Value, json};

use super::status::{CommitStatus, CommitVerdict};
use crate::transport::Secret;

/// What a request is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Resource {
    /// GitHub's other API.
    GraphQl,
    /// A path below the address of the API, encoded, with its query.
    Path(String),
}

/// A request to the API of a forge.
#[derive(Clone, Debug)]
pub(super) struct ForgeRequest {
    pub(super) method: Method,
    pub(super) resource: Resource,
    pub(super) body: Option<Value>,
}

impl ForgeRequest {
    pub(super) fn get(path: String) -> Self {
        Self {
            method: Method::GET,
            resource: Resource::Path(path),
            body: None,
        }
    }

    pub(super) fn delete(path: String) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::get(path)
        }
    }

    pub(super) fn with(method: Method, path: String, body: Value) -> Self {
        Self {
            method,
            resource: Resource::Path(path),
            body: Some(body),
        }
    }
}

/// A comment on a pull request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ForgeComment {
    pub(super) id: u64,
    /// The user id of its author.
    pub(super) author: u64,
    pub(super) body: String,
}

impl ForgeComment {
    /// Reads a comment, whose author is a member with this name.
    pub(super) fn read(value: &Value, author: &str) -> Option<Self> {
        Some(Self {
            id: value["id"].as_u64()?,
            // The user of Gitea's jobs has a negative id, which keeps its bits.
            author: user_id(&value[author])?,
            body: value["body"].as_str()?.to_owned(),
        })
    }
}

/// Returns the id of a user. A negative id, which Gitea has for its own users, becomes a large number.
pub(super) fn user_id(user: &Value) -> Option<u64> {
    let id = &user["id"];
    id.as_u64().or_else(|| id.as_i64().map(i64::cast_unsigned))
}

/// The kind of a token, which decides its header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TokenKind {
    /// The token of a GitLab job.
    Job,
    /// Any other token.
    Personal,
}

/// How one forge names things in its API.
pub(super) trait Routes {
    /// The headers of every request besides the token.
    fn headers(&self) -> &'static [(&'static str, &'static str)] {
        &[("accept", "application/json")]
    }
    /// The header with the token.
    fn authorization(&self, kind: TokenKind, token: &Secret) -> (HeaderName, String);
    /// Requests the user of the token.
    fn user(&self, kind: TokenKind) -> ForgeRequest;
    /// Reads the id of the user of the token.
    fn read_user(&self, answer: &Value) -> Option<u64>;
    /// The path of the repository.
    fn repository(&self) -> &str;
    /// Requests a pull request.
    fn request(&self, number: u64) -> ForgeRequest {
        ForgeRequest::get(format!("{}/pulls/{number}", self.repository()))
    }
    /// Reads the newest commit of a pull request.
    fn read_head(&self, answer: &Value) -> Option<String> {
        answer["head"]["sha"].as_str().map(str::to_owned)
    }
    /// The path of the comments on a pull request.
    fn comments_path(&self, number: u64) -> String {
        format!("{}/issues/{number}/comments", self.repository())
    }
    /// The path of one comment.
    fn comment_path(&self, _number: u64, comment: u64) -> String {
        format!("{}/issues/comments/{comment}", self.repository())
    }
    /// The query of a page of comments, with its question mark; the first page is 1.
    fn page(&self, page: u32) -> String;
    /// Returns whether another page follows.
    fn has_next(&self, headers: &HeaderMap) -> bool;
    /// Reads a comment; `None` for an entry that is not a comment of a user.
    fn read_comment(&self, entry: &Value) -> Option<ForgeComment> {
        ForgeComment::read(entry, "user")
    }
    /// Returns the text of a comment as it is sent.
    fn text(&self, body: &str) -> String {
        body.to_owned()
    }
    /// The method that replaces the text of a comment.
    fn update_method(&self) -> Method {
        Method::PATCH
    }
    /// The maximum length of the description of a status, in characters.
    fn longest_description(&self) -> usize {
        255
    }
    /// The word for a verdict.
    fn state(&self, verdict: CommitVerdict) -> &'static str {
        verdict.as_str()
    }
    /// Requests the pull requests of a commit.
    fn requests_of(&self, commit: &str) -> ForgeRequest;
    /// Reads the number of the pull request that was merged as `commit`.
    fn read_merged(&self, answer: &Value, commit: &str) -> Option<u64>;

    /// Requests a page of comments.
    fn comments(&self, number: u64, page: u32) -> ForgeRequest {
        ForgeRequest::get(self.comments_path(number) + &self.page(page))
    }
    /// Creates a comment.
    fn create(&self, number: u64, body: &str) -> ForgeRequest {
        let body = json!({ "body": self.text(body) });
        ForgeRequest::with(Method::POST, self.comments_path(number), body)
    }
    /// Replaces the text of a comment.
    fn update(&self, number: u64, comment: u64, body: &str) -> ForgeRequest {
        let body = json!({ "body": self.text(body) });
        ForgeRequest::with(self.update_method(), self.comment_path(number, comment), body)
    }
    /// Deletes a comment.
    fn delete(&self, number: u64, comment: u64) -> ForgeRequest {
        ForgeRequest::delete(self.comment_path(number, comment))
    }
    /// Sets the status of a commit.
    fn status(&self, commit: &str, status: &CommitStatus) -> ForgeRequest {
        let path = format!("{}/statuses/{}", self.repository(), component(commit));
        let body = status.json(self.state(status.verdict), self.longest_description());
        ForgeRequest::with(Method::POST, path, body)
    }
}

/// Encodes text as one component of a path.
pub(super) fn component(text: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(text, ENCODED).to_string()
}
