//! GitHub's REST API, version 2022-11-28, and its GraphQL API.

use reqwest::Method;
use reqwest::header::{AUTHORIZATION, HeaderName};
use serde_json::{Value, json};

use super::CiSystem;
use super::client::ForgeAnswer;
use super::routes::{
    CommitsPage, ForgeComment, ForgeRequest, ForgeRow, ListedRequest, RequestedPage, Resource, Routes,
    TokenKind, Variables, commit_id, component, linked_page, seconds, user_id,
};
use crate::transport::Secret;

pub(super) const GITHUB: ForgeRow = ForgeRow {
    routes: |repository| Box::new(GitHub::new(repository)),
    stored: |text| text.into(),
    permissions: "a comment needs `permissions: pull-requests: write`, a status `statuses: write`, and the list of merged \
                  pull requests `pull-requests: read` and `contents: read`; the token of a job for a fork may only read",
    jobs: &[CiSystem::GitHub],
    variables: Variables {
        url: "GITHUB_API_URL",
        repository: "GITHUB_REPOSITORY",
        commit: "GITHUB_SHA",
        branch: "GITHUB_REF",
        number: "GITHUB_REF",
        pipeline: None,
        tokens: &[("GITHUB_TOKEN", TokenKind::Personal)],
    },
    has_parts: |parts| parts.len() == 2,
    job_url: |get| job_url(get, "GITHUB_RUN_ID"),
};

pub(super) fn job_url(get: &dyn Fn(&str) -> Option<String>, run: &str) -> Option<String> {
    let (server, repository) = (get("GITHUB_SERVER_URL")?, get("GITHUB_REPOSITORY")?);
    Some(format!("{server}/{repository}/actions/runs/{}", get(run)?))
}

/// A repository on GitHub.
struct GitHub {
    path: String,
    /// `owner/name`.
    name: String,
}

impl GitHub {
    fn new(repository: &str) -> Self {
        Self { path: repository_path(repository), name: repository.to_owned() }
    }
}

/// The merged pull requests of a branch with their comments, of which one is that of the plan. REST will lose
/// the commits of merges with its version 2026-03-10.
const MERGED: &str = "query($owner: String!, $name: String!, $branch: String!, $after: String) { \
     repository(owner: $owner, name: $name) { pullRequests(baseRefName: $branch, states: [MERGED], \
     orderBy: {field: UPDATED_AT, direction: DESC}, first: 50, after: $after) { \
     pageInfo { hasNextPage endCursor } nodes { number baseRefName headRefOid updatedAt mergedAt mergeCommit { oid } \
     comments(first: 50) { pageInfo { hasNextPage } nodes { body author { ... on User { databaseId } \
     ... on Bot { databaseId } } } } } } } }";

/// The commits that a pull request had when it was merged. The `base.sha` of its event may be older than
/// what the branch had before the merge.
const COMMITS: &str = "query($owner: String!, $name: String!, $number: Int!, $after: String) { \
     repository(owner: $owner, name: $name) { pullRequest(number: $number) { commits(first: 100, after: $after) { \
     totalCount pageInfo { hasNextPage endCursor } nodes { commit { oid } } } } } }";

const HIDDEN: &str = "query($id: ID!) { node(id: $id) { ... on IssueComment { isMinimized } } }";

fn graphql(query: &str, variables: Value) -> ForgeRequest {
    let mut body = json!({ "query": query });
    if !variables.is_null() {
        body["variables"] = variables;
    }
    ForgeRequest { method: Method::POST, resource: Resource::GraphQl, body: Some(body) }
}

/// Reads the comments of a pull request, oldest first, and whether there are more.
fn first_comments(comments: &Value) -> Option<(Vec<ForgeComment>, bool)> {
    let nodes = comments["nodes"].as_array()?;
    let read = |(id, node): (u64, &Value)| {
        let author = user_id(&node["author"]["databaseId"])?;
        Some(ForgeComment { id, author, body: node["body"].as_str()?.to_owned() })
    };
    let has_more = comments["pageInfo"]["hasNextPage"].as_bool() == Some(true);
    Some(((0..).zip(nodes).filter_map(read).collect(), has_more))
}

/// Returns `/repos/OWNER/NAME`.
pub(super) fn repository_path(repository: &str) -> String {
    let parts: Vec<String> = repository.split('/').map(component).collect();
    format!("/repos/{}", parts.join("/"))
}

/// Returns the list of pull requests in the answer to a query.
fn listed(answer: &Value) -> &Value {
    &answer["data"]["repository"]["pullRequests"]
}

/// Returns the cursor of the page after that of `list`; none if that is the last one.
fn next_cursor(list: &Value) -> Option<String> {
    let info = &list["pageInfo"];
    let cursor = info["endCursor"].as_str().filter(|_| info["hasNextPage"].as_bool() == Some(true));
    cursor.map(str::to_owned)
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
        graphql("query { viewer { databaseId } }", Value::Null)
    }

    fn read_user(&self, answer: &Value) -> Option<String> {
        user_id(&answer["data"]["viewer"]["databaseId"])
    }

    fn repository(&self) -> &str {
        &self.path
    }

    fn page(&self, page: u32) -> String {
        format!("?per_page=100&page={page}")
    }

    fn is_hidden(&self, entry: &Value) -> Option<ForgeRequest> {
        Some(graphql(HIDDEN, json!({ "id": entry["node_id"].as_str()? })))
    }

    fn longest_description(&self) -> usize {
        140
    }

    fn merged(&self, branch: &str, _: i64, page: &RequestedPage) -> ForgeRequest {
        let (owner, name) = self.name.split_once('/').unwrap_or_default();
        let variables = json!({ "owner": owner, "name": name, "branch": branch, "after": page.cursor });
        graphql(MERGED, variables)
    }

    fn commits(&self, number: u64, after: Option<&str>) -> Option<ForgeRequest> {
        let (owner, name) = self.name.split_once('/').unwrap_or_default();
        let variables = json!({ "owner": owner, "name": name, "number": number, "after": after });
        Some(graphql(COMMITS, variables))
    }

    fn read_commits(&self, answer: &Value) -> Option<CommitsPage> {
        let commits = &answer["data"]["repository"]["pullRequest"]["commits"];
        let ids = commits["nodes"].as_array()?.iter().map(|node| commit_id(&node["commit"]["oid"]));
        Some(CommitsPage {
            commits: ids.collect::<Option<_>>()?,
            total: usize::try_from(commits["totalCount"].as_u64()?).ok()?,
            next: next_cursor(commits),
        })
    }

    fn entries<'a>(&self, answer: &'a Value) -> Option<&'a Vec<Value>> {
        listed(answer)["nodes"].as_array().or_else(|| answer.as_array())
    }

    fn next_page(&self, answer: &ForgeAnswer, page: u32) -> Option<RequestedPage> {
        match next_cursor(listed(&answer.body)) {
            cursor @ Some(_) => Some(RequestedPage { number: page + 1, cursor }),
            None => linked_page(&answer.headers, page),
        }
    }

    fn read_merged(&self, entry: &Value, branch: &str) -> Option<ListedRequest> {
        let (commit, head) = (commit_id(&entry["mergeCommit"]["oid"]), commit_id(&entry["headRefOid"]));
        Some(ListedRequest {
            number: entry["number"].as_u64()?,
            commit,
            head,
            base: None,
            is_merged: entry["baseRefName"].as_str().is_none_or(|base| base == branch),
            is_made: head != commit,
            changed_at: seconds(&entry["updatedAt"]),
            // The list has the comments, so none is asked for.
            created_at: None,
            merged_at: None,
            comments: first_comments(&entry["comments"]),
        })
    }
}
