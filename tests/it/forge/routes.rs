//! The endpoints of the stand-in. Gitea's answers have the recorded form.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::replay::exchange;
use super::stand_in::{Comment, FORGE_TOKEN, Held, Kind, Merged, OURS, add_to, root};
use crate::support::{Answer, Request};

pub(super) fn answer(kind: Kind, held: &mut Held, request: &Request) -> Answer {
    for (name, value) in headers(kind, held) {
        if request.header(name) != Some(value.as_str()) {
            let found = request.header(name);
            held.violations.push(format!("{} {}: {name}: {found:?}", request.method, request.path));
        }
    }
    if request.header("user-agent").is_none() {
        held.violations.push("GitHub refuses requests without a user agent".to_owned());
    }
    let path = request.path.strip_prefix(root(kind)).unwrap_or("(another path)");
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    if let Some(mut meanwhile) = held.meanwhile.take() {
        meanwhile(&request.method, &mut held.comments);
        held.meanwhile = Some(meanwhile);
    }
    if held.is_read_only && request.method != "GET" && path != "/graphql" {
        return refused(403, "Resource not accessible by integration");
    }
    let body = match request.bytes.is_empty() {
        true => Value::Null,
        false => request.body(),
    };
    match answer_to(kind, held, &request.method, path, query, &body) {
        Some(answer) => answer,
        None => {
            held.violations.push(format!("{} {}", request.method, request.path));
            refused(404, "Not Found")
        }
    }
}

fn headers(kind: Kind, held: &Held) -> Vec<(&'static str, String)> {
    match kind {
        Kind::GitHub => vec![
            ("accept", "application/vnd.github+json".to_owned()),
            ("x-github-api-version", "2022-11-28".to_owned()),
            ("authorization", format!("Bearer {FORGE_TOKEN}")),
        ],
        Kind::GitLab => vec![
            ("accept", "application/json".to_owned()),
            (if held.is_job_token { "job-token" } else { "private-token" }, FORGE_TOKEN.to_owned()),
        ],
        Kind::Gitea => {
            vec![("accept", "application/json".to_owned()), ("authorization", format!("token {FORGE_TOKEN}"))]
        }
    }
}

fn refused(status: u16, message: &str) -> Answer {
    Answer::json(status, &json!({ "message": message }).to_string())
}

fn answer_to(
    kind: Kind,
    held: &mut Held,
    method: &str,
    path: &str,
    query: &str,
    body: &Value,
) -> Option<Answer> {
    let parts: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let rest = match (kind, parts.as_slice()) {
        (Kind::GitHub, ["graphql"]) if method == "POST" => return graphql(held, body),
        (Kind::GitLab, ["job"]) if method == "GET" && held.is_job_token => {
            return Some(ok(200, &json!({ "id": 9, "user": { "id": OURS } })));
        }
        (Kind::GitLab | Kind::Gitea, ["user"]) if method == "GET" && !held.is_job_token => {
            return Some(ok(200, &json!({ "id": OURS })));
        }
        (Kind::GitHub | Kind::Gitea, ["repos", "shop", "toggles", rest @ ..])
        | (Kind::GitLab, ["projects", "shop%2Ftoggles" | "55", rest @ ..]) => rest,
        _ => return None,
    };
    if held.is_away {
        return Some(refused(503, "the forge is away"));
    }
    match (kind, method, rest) {
        (Kind::GitLab, _, ["merge_requests", request, "notes"]) | (_, _, ["issues", request, "comments"]) => {
            comments(kind, held, request.parse().ok()?, method, query, body)
        }
        (Kind::GitLab, _, ["merge_requests", _, "notes", id])
        | (Kind::GitHub | Kind::Gitea, _, ["issues", "comments", id]) => {
            comment(kind, held, method, id.parse().ok()?, body)
        }
        (Kind::GitLab, "GET", ["merge_requests", _]) | (_, "GET", ["pulls", _]) => Some(match &held.head {
            Some(head) if kind == Kind::GitLab => ok(200, &json!({ "iid": 7, "sha": head })),
            Some(head) => ok(200, &json!({ "number": 7, "head": { "sha": head } })),
            None => refused(403, "Resource not accessible by integration"),
        }),
        (Kind::GitLab, "GET", ["merge_requests"]) | (Kind::Gitea, "GET", ["pulls"])
            if !query.contains("state=open") =>
        {
            merged(kind, held, query)
        }
        (Kind::GitLab, "GET", ["merge_requests"]) => Some(open_requests(held, query)),
        (Kind::GitHub | Kind::Gitea, _, ["pulls", rest @ ..]) => {
            opened(kind, held, method, rest, query, body)
        }
        (_, "POST", ["statuses", commit]) => Some(status(kind, held, commit, body)),
        _ => None,
    }
}

/// Answers GitHub's other API.
fn graphql(held: &mut Held, body: &Value) -> Option<Answer> {
    let (query, variables) = (body["query"].as_str()?, &body["variables"]);
    if query == "query { viewer { databaseId } }" {
        return Some(ok(200, &json!({ "data": { "viewer": { "databaseId": OURS } } })));
    }
    if query.contains("isMinimized") {
        let id: u64 = variables["id"].as_str()?.strip_prefix("IC_")?.parse().ok()?;
        let is_minimized = held.hidden.contains(&id);
        return Some(ok(200, &json!({ "data": { "node": { "isMinimized": is_minimized } } })));
    }
    if query.contains("commits(first: 100, after: $after)") {
        let number = variables["number"].as_u64()?;
        let commits = held.branches.get(&number).map(|(_, commits)| commits.clone()).unwrap_or_default();
        let nodes: Vec<Value> = commits.iter().map(|id| json!({ "commit": { "oid": id } })).collect();
        let start: usize = variables["after"].as_str().map_or(Some(0), |after| after.parse().ok())?;
        let end = nodes.len().min(start + 100);
        let info = json!({ "hasNextPage": end < nodes.len(), "endCursor": end.to_string() });
        let commits = json!({ "totalCount": nodes.len(), "pageInfo": info, "nodes": nodes[start..end] });
        return Some(ok(
            200,
            &json!({ "data": { "repository": { "pullRequest": { "commits": commits } } } }),
        ));
    }
    let order = "states: [MERGED], orderBy: {field: UPDATED_AT, direction: DESC}, first: 50";
    let is_known = query.contains(order) && variables["owner"] == "shop" && variables["name"] == "toggles";
    is_known.then_some(())?;
    if held.is_away {
        return Some(refused(503, "the forge is away"));
    }
    let branch = variables["branch"].as_str()?;
    let requests = newest_first(held).into_iter().filter(|request| request.branch == branch);
    let nodes = requests.map(|request| {
        let all = held.comments.iter().filter(|comment| comment.request == request.request);
        let all: Vec<Value> = all
            .map(|comment| json!({ "body": comment.body, "author": { "databaseId": comment.author } }))
            .collect();
        json!({
            "number": request.request,
            "baseRefName": branch,
            "updatedAt": time(request.at),
            "mergeCommit": { "oid": request.commit },
            "headRefOid": head(held, request.request),
            "comments": { "pageInfo": { "hasNextPage": all.len() > 50 }, "nodes": all[..all.len().min(50)] },
        })
    });
    let nodes: Vec<Value> = nodes.collect();
    let start: usize = variables["after"].as_str().map_or(Some(0), |after| after.parse().ok())?;
    let start = if held.is_endless { 0 } else { start };
    let end = nodes.len().min(start + 50);
    if let Some(request) = held.changes_next.take() {
        touch(&mut held.merged, request);
    }
    Some(ok(
        200,
        &json!({ "data": { "repository": { "pullRequests": {
            "pageInfo": { "hasNextPage": held.is_endless || end < nodes.len(), "endCursor": end.to_string() },
            "nodes": nodes[start..end],
        } } } }),
    ))
}

/// Returns the merged requests that the lists have, those that were merged last first.
fn newest_first(held: &mut Held) -> Vec<Merged> {
    let mut merged: Vec<Merged> = held.merged.iter().rev().cloned().collect();
    if held.late > 0 {
        held.late -= 1;
        merged.remove(0);
    }
    merged
}

/// Returns the newest commit of the branch of a request, if the test has it.
fn head(held: &Held, number: u64) -> Option<&String> {
    let listed = held.branches.get(&number).and_then(|(_, commits)| commits.last());
    listed.or_else(|| held.heads.get(&number))
}

/// Makes a request the one that changed last.
fn touch(merged: &mut Vec<Merged>, request: u64) {
    let at = merged.iter().position(|merged| merged.request == request).unwrap();
    let mut touched = merged.remove(at);
    touched.at = merged.last().map_or(touched.at, |last| last.at + 60);
    merged.push(touched);
}

fn time(seconds: u64) -> String {
    let time = jiff::Timestamp::from_second(i64::try_from(seconds).unwrap()).unwrap();
    time.to_string()
}

/// Answers the list of merged requests of GitLab, and that of closed ones of Gitea.
fn merged(kind: Kind, held: &mut Held, query: &str) -> Option<Answer> {
    let pairs: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let (branch, size, wanted) = match kind {
        Kind::GitLab if pairs["state"] == "locked" => {
            let is_merging = std::mem::take(&mut held.is_merging);
            return Some(ok(
                200,
                &if is_merging { json!([{ "iid": 999, "state": "locked" }]) } else { json!([]) },
            ));
        }
        Kind::GitLab => ("target_branch", "per_page", "state=merged order_by=updated_at sort=desc"),
        _ => ("base_branch", "limit", "state=closed sort=recentclose"),
    };
    let mut wanted = wanted.split(' ').map(|pair| pair.split_once('=').unwrap());
    wanted.all(|(name, value)| pairs.get(name) == Some(&value)).then_some(())?;
    let size: usize = pairs[size].parse().ok()?;
    let page: usize = pairs["page"].parse().ok()?;
    let since = match kind {
        Kind::GitLab => {
            let since: jiff::Timestamp = pairs["updated_after"].replace("%3A", ":").parse().ok()?;
            u64::try_from(since.as_second()).ok()?
        }
        _ => 0,
    };
    let branch = pairs[branch];
    let requests = newest_first(held).into_iter().filter(|request| request.at > since);
    let entries = requests.filter(|request| kind == Kind::Gitea || request.branch == branch).map(|request| {
        let Merged { request, commit, branch, at } = request;
        if kind == Kind::GitLab {
            // Fast-forward and rebase leave neither a merge commit nor a squashed one.
            let head = head(held, request).unwrap_or(&commit);
            return json!({
                "iid": request, "state": "merged", "target_branch": branch, "updated_at": time(at),
                "created_at": held.created.get(&request).map(|at| time(*at)), "merged_at": time(at),
                "merge_commit_sha": (*head != commit).then_some(&commit), "squash_commit_sha": null, "sha": head,
            });
        }
        // Old versions of Forgejo do not filter by the branch.
        let mut recorded = exchange("create pull request")["response"]["body"].clone();
        for (name, value) in [
            ("number", json!(request)),
            ("state", json!("closed")),
            ("merged", json!(true)),
            ("merge_commit_sha", json!(commit)),
            ("closed_at", json!(time(at))),
        ] {
            recorded[name] = value;
        }
        recorded["base"]["ref"] = json!(branch);
        recorded["merged_at"] = json!(time(at));
        recorded["created_at"] = json!(held.created.get(&request).map(|at| time(*at)));
        if let Some((base, _)) = held.branches.get(&request) {
            recorded["merge_base"] = json!(base);
        }
        if let Some(head) = head(held, request) {
            recorded["head"]["sha"] = json!(head);
        }
        recorded
    });
    let entries: Vec<Value> = entries.collect();
    let start = if held.is_endless { 0 } else { size * (page - 1) };
    let slice = entries.iter().skip(start).take(size).cloned().collect();
    let answer = ok(200, &Value::Array(slice));
    let has_more = held.is_endless || entries.len() > size * page;
    if let Some(request) = held.changes_next.take() {
        touch(&mut held.merged, request);
    }
    Some(match (kind, has_more) {
        (Kind::GitLab, true) => answer.header("X-Next-Page", &(page + 1).to_string()),
        (Kind::GitLab, false) => answer.header("X-Next-Page", ""),
        (_, true) => {
            answer.header("Link", &format!("<https://127.0.0.1:1/evil?page={}>; rel=\"next\"", page + 1))
        }
        (_, false) => answer,
    })
}

/// Answers the list of open pull requests, and the creation and the update of one.
fn opened(
    kind: Kind,
    held: &mut Held,
    method: &str,
    rest: &[&str],
    query: &str,
    body: &Value,
) -> Option<Answer> {
    let branch = |request: &Value| request["head"].as_str().unwrap().to_owned();
    match (method, rest) {
        ("GET", []) => {
            let value = |name: &str| query.split('&').find_map(|pair| pair.strip_prefix(name));
            let (head, base) = (value("head=shop:"), value("base="));
            let is_open = |request: &Value| !query.contains("state=open") || request["state"] != "closed";
            let is_wanted = |request: &Value| {
                head.is_none_or(|head| branch(request) == head)
                    && base.is_none_or(|base| request["base"] == base)
            };
            let all = held.opened.iter().filter(|(_, request)| is_wanted(request) && is_open(request));
            // In the order of the fields that both forges send.
            let all = all.map(|(number, request)| {
                let head = branch(request);
                format!(
                    "{{\"id\":9{number},\"number\":{number},\"base\":{{\"label\":\"main\"}},\"head\":{{\"label\":\"{head}\"}}}}"
                )
            });
            Some(Answer::json(200, &format!("[{}]", all.collect::<Vec<_>>().join(","))))
        }
        ("GET", [base, head]) if kind == Kind::Gitea => {
            let is_found = |request: &Value| branch(request) == *head && request["base"] == *base;
            let found = held.opened.iter().find(|(_, request)| is_found(request));
            Some(found.map_or_else(
                || refused(404, "pull request does not exist"),
                |(number, request)| {
                    let state = request["state"].as_str().unwrap_or("open");
                    ok(200, &json!({ "id": 900 + number, "number": number, "state": state }))
                },
            ))
        }
        ("POST", []) => {
            let is_same = |request: &Value| {
                branch(request) == branch(body)
                    && request["base"] == body["base"]
                    && request["state"] != "closed"
            };
            if let Some((number, _)) = held.opened.iter().find(|(_, request)| is_same(request)) {
                let (head, base) = (branch(body), &body["base"]);
                let text = format!(
                    "pull request already exists for these targets [id: 1{number}, issue_id: {number}, head_repo_id: 3, \
                     base_repo_id: 3, head_branch: {head}, base_branch: {base}]"
                );
                return Some(refused(if kind == Kind::Gitea { 409 } else { 422 }, &text));
            }
            let number = held.opened.keys().max().unwrap_or(&7) + 1;
            held.opened.insert(number, body.clone());
            Some(ok(201, &json!({ "number": number })))
        }
        ("PATCH", [number]) => {
            let request = held.opened.get_mut(&number.parse().ok()?)?;
            for (name, value) in body.as_object()? {
                request[name] = value.clone();
            }
            Some(ok(200, &json!({})))
        }
        _ => None,
    }
}

/// Answers the list of GitLab's open merge requests with this source and target, those of forks included.
fn open_requests(held: &Held, query: &str) -> Answer {
    let pairs: BTreeMap<&str, &str> = query.split('&').filter_map(|pair| pair.split_once('=')).collect();
    let entry = |(number, request): (&u64, &Value)| {
        let head = request["head"].as_str()?;
        let (project, branch) = head.split_once(':').map_or((55, head), |(_, branch)| (77, branch));
        let is_wanted = request["state"] != "closed"
            && branch == pairs["source_branch"]
            && request["base"] == pairs["target_branch"];
        is_wanted.then(|| json!({ "iid": number, "project_id": 55, "source_project_id": project }))
    };
    ok(200, &held.opened.iter().filter_map(entry).collect())
}

fn ok(status: u16, body: &Value) -> Answer {
    Answer::json(status, &body.to_string())
}

fn shown(kind: Kind, comment: &Comment) -> Value {
    if kind == Kind::Gitea {
        let mut recorded = exchange("create comment")["response"]["body"].clone();
        recorded["id"] = json!(comment.id);
        recorded["user"]["id"] = json!(comment.author);
        recorded["body"] = json!(comment.body);
        return recorded;
    }
    let author = match kind {
        Kind::GitLab => "author",
        Kind::GitHub | Kind::Gitea => "user",
    };
    let node = format!("IC_{}", comment.id);
    json!({ "id": comment.id, "node_id": node, "body": comment.body, author: { "id": comment.author }, "system": false })
}

/// Answers the list of comments, in pages, and the creation of one.
fn comments(
    kind: Kind,
    held: &mut Held,
    request: u64,
    method: &str,
    query: &str,
    body: &Value,
) -> Option<Answer> {
    if method == "POST" {
        return Some(match text(kind, body) {
            Err(answer) => answer,
            Ok(body) => {
                let id = add_to(request, &mut held.comments, OURS, &body);
                let created = held.comments.iter().find(|comment| comment.id == id).unwrap();
                ok(201, &shown(kind, created))
            }
        });
    }
    let all = held.comments.iter().filter(|comment| comment.request == request);
    let all: Vec<Value> = all.map(|comment| shown(kind, comment)).collect();
    let number = |name: &str| {
        let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let found = pairs.find(|(known, _)| *known == name);
        found.and_then(|(_, value)| value.parse::<usize>().ok())
    };
    if kind == Kind::Gitea {
        // It has no pages, whatever is asked for.
        let count = all.len().to_string();
        let answer = ok(200, &Value::Array(all)).header("X-Total-Count", &count);
        return (method == "GET" && query.is_empty()).then_some(answer);
    }
    let (size, page) = (number("per_page").unwrap_or(20).min(100), number("page").unwrap_or(1));
    let has_more = held.is_endless || all.len() > size * page;
    let start = if held.is_endless { 0 } else { size * (page - 1) };
    let slice: Vec<Value> = all.into_iter().skip(start).take(size).collect();
    let answer = ok(200, &Value::Array(slice));
    (method == "GET").then(|| match (kind, has_more) {
        (Kind::GitLab, true) => answer.header("X-Next-Page", &(page + 1).to_string()),
        (Kind::GitLab, false) => answer.header("X-Next-Page", ""),
        // A client that follows it sends the token to another host.
        (_, true) => answer.header(
            "Link",
            &format!("<https://127.0.0.1:1/evil?page={}>; rel=\"next\", <https://x>; rel=\"last\"", page + 1),
        ),
        (_, false) => answer.header("Link", "<https://127.0.0.1:1/evil?page=1>; rel=\"first\""),
    })
}

fn comment(kind: Kind, held: &mut Held, method: &str, id: u64, body: &Value) -> Option<Answer> {
    let at = held.comments.iter().position(|comment| comment.id == id);
    let update = match kind {
        Kind::GitLab => "PUT",
        Kind::GitHub | Kind::Gitea => "PATCH",
    };
    let Some(at) = at else {
        return Some(refused(404, "not found"));
    };
    if held.comments[at].author != OURS {
        held.violations.push(format!("{method} of a comment of another user"));
    }
    if method == "DELETE" {
        held.comments.remove(at);
        return Some(Answer::status(204));
    }
    (method == update).then(|| match text(kind, body) {
        Err(answer) => answer,
        Ok(body) => {
            held.comments[at].body = body;
            ok(200, &shown(kind, &held.comments[at]))
        }
    })
}

/// Returns the text of a comment, or the answer to one that is empty or too long.
fn text(kind: Kind, body: &Value) -> Result<String, Answer> {
    let text = body["body"].as_str().unwrap_or_default();
    let longest = match kind {
        Kind::GitHub => 65_536,
        Kind::GitLab => 1_000_000,
        Kind::Gitea => 5 << 20,
    };
    match text.chars().count() {
        0 => Err(refused(422, "[Body]: Required")),
        length if length > longest => Err(refused(422, "body is too long")),
        _ => Ok(text.to_owned()),
    }
}

fn status(kind: Kind, held: &mut Held, commit: &str, body: &Value) -> Answer {
    let (states, longest): (&[&str], usize) = match kind {
        Kind::GitHub => (&["error", "failure", "pending", "success"], 140),
        // What is pending is waited for, and the pipeline does not end.
        Kind::GitLab => (&["running", "success", "failed", "canceled", "skipped"], 255),
        // It accepts any word, which is then shown as such.
        Kind::Gitea => (&["pending", "success", "error", "failure", "warning"], 255),
    };
    let state = body["state"].as_str().unwrap_or_default();
    let description = body["description"].as_str().unwrap_or_default();
    let url = body["target_url"].as_str().unwrap_or_default();
    let is_long = kind == Kind::GitLab && url.chars().count() > 255;
    if is_long || !states.contains(&state) || description.chars().count() > longest || commit.len() != 40 {
        held.violations.push(format!("status of {commit}: {body}"));
    }
    held.statuses.push((commit.to_owned(), body.clone()));
    ok(201, &json!({ "id": 1 }))
}
