//! What differs between the APIs of forges: the requests, and what their answers mean.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use jiff::Timestamp;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LINK};
use serde_json::{Value, json};
use url::Url;

use super::client::ForgeAnswer;
use super::reviews::ForgeMerge;
use super::{CiSystem, CommitStatus, CommitVerdict};
use crate::model::{CommitId, Forge};
use crate::transport::{HttpsError, Secret, https_address};

/// What a request is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Resource {
    /// GitHub's other API.
    GraphQl,
    /// A path below the address of the API, encoded, with its query.
    Path(String),
}

#[derive(Clone, Debug)]
pub(super) struct ForgeRequest {
    pub(super) method: Method,
    pub(super) resource: Resource,
    pub(super) body: Option<Value>,
}

impl ForgeRequest {
    pub(super) fn get(path: String) -> Self {
        Self { method: Method::GET, resource: Resource::Path(path), body: None }
    }

    pub(super) fn delete(path: String) -> Self {
        Self { method: Method::DELETE, ..Self::get(path) }
    }

    pub(super) fn with(method: Method, path: String, body: Value) -> Self {
        Self { method, resource: Resource::Path(path), body: Some(body) }
    }
}

/// A comment on a pull request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct ForgeComment {
    pub(super) id: u64,
    /// The id of its author, which is a number or a text.
    pub(super) author: String,
    pub(super) body: String,
}

impl ForgeComment {
    /// Reads a comment, whose author is a member with this name.
    pub(super) fn read(value: &Value, author: &str) -> Option<Self> {
        Some(Self {
            id: value["id"].as_u64()?,
            author: user_id(&value[author]["id"])?,
            body: value["body"].as_str()?.to_owned(),
        })
    }
}

/// A place in a list.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct RequestedPage {
    /// From 1.
    pub(super) number: u32,
    pub(super) cursor: Option<String>,
}

impl RequestedPage {
    pub(super) const FIRST: Self = Self { number: 1, cursor: None };
}

/// A pull request in the list of merged ones.
#[derive(Clone, Debug)]
pub(super) struct ListedRequest {
    pub(super) number: u64,
    /// What the branch had after the merge; none while the forge does not know it yet.
    pub(super) commit: Option<CommitId>,
    /// The newest commit of its own branch.
    pub(super) head: Option<CommitId>,
    /// Where its own branch began, if the list says so.
    pub(super) base: Option<CommitId>,
    pub(super) is_merged: bool,
    /// Whether the forge made `commit`.
    pub(super) is_made: bool,
    /// The time that the list is sorted by, in seconds since 1970-01-01 UTC: not before the merge.
    pub(super) changed_at: Option<i64>,
    /// The times at which it was created and merged, in the same way, if the list says so.
    pub(super) created_at: Option<i64>,
    pub(super) merged_at: Option<i64>,
    /// The first comments, and whether there are more; none if the list does not have them.
    pub(super) comments: Option<(Vec<ForgeComment>, bool)>,
}

impl ListedRequest {
    pub(super) fn merge(&self) -> Option<ForgeMerge> {
        Some(ForgeMerge { commit: self.commit?, is_made: self.is_made })
    }
}

/// Some of the commits of a pull request.
#[derive(Clone, Debug)]
pub(super) struct CommitsPage {
    pub(super) commits: Vec<CommitId>,
    /// The number of all commits of the pull request.
    pub(super) total: usize,
    /// The cursor of the next page.
    pub(super) next: Option<String>,
}

/// Reads a time.
pub(super) fn seconds(time: &Value) -> Option<i64> {
    Some(time.as_str()?.parse::<Timestamp>().ok()?.as_second())
}

/// Reads the id of a commit.
pub(super) fn commit_id(id: &Value) -> Option<CommitId> {
    id.as_str()?.parse().ok().map(CommitId)
}

/// Returns the page after `page`, as `X-Next-Page` or `Link` says. The linked URL itself is not requested,
/// because it could be on another host.
pub(super) fn linked_page(headers: &HeaderMap, page: u32) -> Option<RequestedPage> {
    let text = |value: &HeaderValue| value.to_str().ok().map(str::to_owned);
    // Empty on the last page.
    let named = headers.get("x-next-page").and_then(text).and_then(|next| next.trim().parse().ok());
    let links: Vec<String> = headers.get_all(LINK).iter().filter_map(text).collect();
    let next = links.iter().flat_map(|links| links.split(',')).find(|link| link.contains("rel=\"next\""));
    let linked = next.map(|link| {
        let mut pairs = link.split(['?', '&', '>']).filter_map(|pair| pair.strip_prefix("page="));
        let number = pairs.next().and_then(|number| number.parse().ok());
        number.filter(|next| *next > page).unwrap_or(page + 1)
    });
    let next = named.filter(|next| *next > page).or(linked);
    next.map(|number| RequestedPage { number, cursor: None })
}

/// Returns the id of a user, as text: a number, which is negative for Gitea's own users, or a UUID.
pub(super) fn user_id(id: &Value) -> Option<String> {
    match id {
        Value::Number(id) => Some(id.to_string()),
        Value::String(id) => Some(id.clone()),
        _ => None,
    }
}

/// The kind of a token, which decides its header.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum TokenKind {
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
    fn authorization(&self, kind: TokenKind, token: &Secret) -> (HeaderName, String);
    fn user(&self, kind: TokenKind) -> ForgeRequest;
    /// Reads the id of the user of the token.
    fn read_user(&self, answer: &Value) -> Option<String>;
    fn repository(&self) -> &str;
    /// Returns the entries of a list: of comments, or of pull requests.
    fn entries<'a>(&self, answer: &'a Value) -> Option<&'a Vec<Value>> {
        answer.as_array()
    }
    /// Returns the page of a list after `page`, which `answer` is.
    fn next_page(&self, answer: &ForgeAnswer, page: u32) -> Option<RequestedPage> {
        linked_page(&answer.headers, page)
    }
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
    fn comment_path(&self, _number: u64, comment: u64) -> String {
        format!("{}/issues/comments/{comment}", self.repository())
    }
    /// The query of a page of comments, with its question mark; the first page is 1.
    fn page(&self, page: u32) -> String;
    /// Reads a comment; `None` for an entry that is not a comment of a user.
    fn read_comment(&self, entry: &Value) -> Option<ForgeComment> {
        ForgeComment::read(entry, "user")
    }
    /// Asks whether somebody has hidden the comment of `entry`; none if the forge cannot hide comments.
    fn is_hidden(&self, _entry: &Value) -> Option<ForgeRequest> {
        None
    }
    /// The method that replaces the text of a comment.
    fn update_method(&self) -> Method {
        Method::PATCH
    }
    /// The maximum length of the description of a status, in characters.
    fn longest_description(&self) -> usize {
        255
    }
    fn state(&self, verdict: CommitVerdict) -> &'static str {
        verdict.as_str()
    }
    /// The pull requests that were merged into `branch`, those that changed last first. `since` is in seconds
    /// since 1970-01-01 UTC: what did not change after it may be left out.
    fn merged(&self, branch: &str, since: i64, page: &RequestedPage) -> ForgeRequest;
    /// Reads one of the entries. `is_merged` is false for one that was closed, or merged into another branch.
    fn read_merged(&self, entry: &Value, branch: &str) -> Option<ListedRequest>;
    /// Asks for the commits of a pull request after a cursor, if that is how the forge tells where its branch
    /// began.
    fn commits(&self, _number: u64, _after: Option<&str>) -> Option<ForgeRequest> {
        None
    }
    fn read_commits(&self, _answer: &Value) -> Option<CommitsPage> {
        None
    }
    /// The pull requests that are being merged into `branch`, if the forge lists them apart.
    fn merging(&self, _branch: &str) -> Option<ForgeRequest> {
        None
    }

    fn comments(&self, number: u64, page: u32) -> ForgeRequest {
        ForgeRequest::get(self.comments_path(number) + &self.page(page))
    }
    fn create(&self, number: u64, body: &str) -> ForgeRequest {
        ForgeRequest::with(Method::POST, self.comments_path(number), json!({ "body": body }))
    }
    /// Replaces the text of a comment.
    fn update(&self, number: u64, comment: u64, body: &str) -> ForgeRequest {
        let path = self.comment_path(number, comment);
        ForgeRequest::with(self.update_method(), path, json!({ "body": body }))
    }
    fn delete(&self, number: u64, comment: u64) -> ForgeRequest {
        ForgeRequest::delete(self.comment_path(number, comment))
    }
    fn status(&self, commit: &str, status: &CommitStatus) -> ForgeRequest {
        let path = format!("{}/statuses/{}", self.repository(), component(commit));
        let body = status.json(self.state(status.verdict), self.longest_description());
        ForgeRequest::with(Method::POST, path, body)
    }
}

/// Encodes text as one component of a path.
pub(super) fn component(text: &str) -> String {
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
    utf8_percent_encode(text, ENCODED).to_string()
}

/// What is known of a forge besides its requests. Each forge has a constant.
pub(super) struct ForgeRow {
    /// Makes the routes of a repository.
    pub(super) routes: fn(&str) -> Box<dyn Routes>,
    /// Returns a text as the forge stores it in a comment.
    pub(super) stored: fn(&str) -> Cow<'_, str>,
    /// What a token needs, for a message.
    pub(super) permissions: &'static str,
    /// The CI systems whose jobs have the variables of this API.
    pub(super) jobs: &'static [CiSystem],
    pub(super) variables: Variables,
    /// Returns whether the parts of the path of a repository are as many as the forge has.
    pub(super) has_parts: fn(&[&str]) -> bool,
    /// Returns the page of the job, given the variables.
    pub(super) job_url: JobUrl,
}

/// Returns the page of a job, given what reads its variables.
type JobUrl = fn(&dyn Fn(&str) -> Option<String>) -> Option<String>;

/// The variables of a forge's jobs, for pushes and for pull requests.
pub(super) struct Variables {
    pub(super) url: &'static str,
    pub(super) repository: &'static str,
    pub(super) commit: &'static str,
    pub(super) branch: &'static str,
    /// The number of the pull request.
    pub(super) number: &'static str,
    /// The number of the pipeline, if a status names it.
    pub(super) pipeline: Option<&'static str>,
    pub(super) tokens: &'static [(&'static str, TokenKind)],
}

impl Forge {
    /// Returns a text as the forge stores it in a comment.
    pub(super) fn stored(self, text: &str) -> Cow<'_, str> {
        (self.row().stored)(text)
    }
}

/// The address of a forge's API: `https`, a host, and optionally a port and a path. Printed without a
/// trailing slash.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ApiUrl(Url);

impl FromStr for ApiUrl {
    type Err = HttpsError;

    fn from_str(text: &str) -> Result<Self, HttpsError> {
        https_address(text).map(Self)
    }
}

impl fmt::Display for ApiUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.as_str().trim_end_matches('/'))
    }
}

impl ApiUrl {
    /// Returns whether both are on the same host and port.
    pub(super) fn is_same_host(&self, other: &Self) -> bool {
        self.0.origin() == other.0.origin()
    }

    /// Returns the URL of a request: always on the host of this one.
    pub(super) fn at(&self, resource: &Resource) -> String {
        match resource {
            Resource::Path(path) => format!("{self}{path}"),
            // GitHub has it at `api.github.com/graphql`, an Enterprise Server at `HOST/api/graphql`.
            Resource::GraphQl => {
                let address = self.to_string();
                format!("{}/graphql", address.strip_suffix("/v3").unwrap_or(&address))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_id_of_a_user_is_a_number_or_a_text() {
        for (id, text) in [
            (json!(7), Some("7")),
            (json!(-2), Some("-2")),
            (json!("{7a3e}"), Some("{7a3e}")),
            (json!(null), None),
            (json!({ "id": 7 }), None),
        ] {
            assert_eq!(user_id(&id).as_deref(), text, "{id}");
        }
    }

    #[test]
    fn pages_follow_either_header_and_never_a_linked_host() {
        let headers = |pairs: &[(&'static str, &str)]| -> HeaderMap {
            pairs
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap()))
                .collect()
        };
        for (pairs, next) in [
            (&[("x-next-page", "3")][..], Some(3)),
            (&[("x-next-page", "")], None),
            (
                &[(
                    "link",
                    "<https://evil.example/x?page=1&per_page=9>; rel=\"prev\", <https://evil.example/x?per_page=9&page=4>; rel=\"next\"",
                )],
                Some(4),
            ),
            (&[("link", "<https://evil.example/x?after=abc>; rel=\"next\"")], Some(3)),
            (&[("link", "<https://evil.example/x?page=2>; rel=\"next\"")], Some(3)),
            (&[("link", "<https://evil.example/x?page=1>; rel=\"first\"")], None),
            (&[("x-next-page", ""), ("link", "<https://x/?page=3>; rel=\"next\"")], Some(3)),
            (&[("x-next-page", "2")], None),
            (&[], None),
        ] {
            let found = linked_page(&headers(pairs), 2).map(|page| page.number);
            assert_eq!(found, next, "{pairs:?}");
        }
    }

    #[test]
    fn graphql_is_on_the_host_of_the_api() {
        for (api, graphql) in [
            ("https://api.github.com", "https://api.github.com/graphql"),
            ("https://ghe.example.com/api/v3", "https://ghe.example.com/api/graphql"),
        ] {
            assert_eq!(api.parse::<ApiUrl>().unwrap().at(&Resource::GraphQl), graphql);
        }
    }
}
