//! The endpoints of the stand-in. Gitea's answers have the recorded form.

use serde_json::{Value, json};

use super::replay::{exchange, recorded};
use super::stand_in::{Comment, FORGE_TOKEN, Held, Kind, OURS, add_to, root};
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
        (Kind::GitHub, ["graphql"]) if method == "POST" => {
            assert_eq!(body["query"], "query { viewer { databaseId } }");
            return Some(ok(200, &json!({ "data": { "viewer": { "databaseId": OURS } } })));
        }
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
        (Kind::GitLab, "GET", ["merge_requests", "7"]) | (_, "GET", ["pulls", "7"]) => {
            Some(match &held.head {
                Some(head) if kind == Kind::GitLab => ok(200, &json!({ "iid": 7, "sha": head })),
                Some(head) => ok(200, &json!({ "number": 7, "head": { "sha": head } })),
                None => refused(403, "Resource not accessible by integration"),
            })
        }
        (Kind::GitHub | Kind::Gitea, _, ["pulls", rest @ ..]) => {
            opened(kind, held, method, rest, query, body)
        }
        (_, "POST", ["statuses", commit]) => Some(status(kind, held, commit, body)),
        (Kind::GitHub, "GET", ["commits", commit, "pulls"])
        | (Kind::GitLab, "GET", ["repository", "commits", commit, "merge_requests"])
        | (Kind::Gitea, "GET", ["commits", commit, "pull"]) => Some(requests_of(kind, held, commit)),
        _ => None,
    }
}

/// Answers with the requests that contain `commit`: an open one, and the merged one after it is merged.
fn requests_of(kind: Kind, held: &Held, commit: &str) -> Answer {
    let merged = held.merged.iter().find(|(_, merged)| *merged == commit);
    let (is_merged, number) = (merged.is_some(), merged.map(|(number, _)| number));
    let (open, merged) = match kind {
        Kind::GitHub => (
            json!({ "number": 3, "merged_at": null, "merge_commit_sha": commit }),
            json!({ "number": number, "merged_at": "2026-01-01T00:00:00Z", "merge_commit_sha": commit }),
        ),
        Kind::GitLab => (
            json!({ "iid": 3, "state": "opened", "sha": commit }),
            json!({ "iid": number, "state": "merged", "merge_commit_sha": commit }),
        ),
        // Gitea answers with the merged request only.
        Kind::Gitea if is_merged => {
            let mut recorded = exchange("create pull request")["response"]["body"].clone();
            recorded["number"] = json!(number);
            recorded["state"] = json!("closed");
            recorded["merged"] = json!(true);
            recorded["merge_commit_sha"] = json!(commit);
            return ok(200, &recorded);
        }
        Kind::Gitea => return recorded("create comment in a repository that does not exist"),
    };
    match is_merged {
        true => ok(200, &json!([open, merged])),
        false => ok(200, &json!([open])),
    }
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
            let wanted = query.split('&').find_map(|pair| pair.strip_prefix("head=shop:"));
            let all =
                held.opened.iter().filter(|(_, request)| wanted.is_none_or(|head| branch(request) == head));
            // In the order of the fields that both forges send.
            let all = all.map(|(number, request)| {
                let head = branch(request);
                format!(
                    "{{\"id\":9{number},\"number\":{number},\"base\":{{\"label\":\"main\"}},\"head\":{{\"label\":\"{head}\"}}}}"
                )
            });
            Some(Answer::json(200, &format!("[{}]", all.collect::<Vec<_>>().join(","))))
        }
        ("POST", []) if held.opened.values().any(|request| branch(request) == branch(body)) => {
            Some(refused(if kind == Kind::Gitea { 409 } else { 422 }, "a pull request already exists"))
        }
        ("POST", []) => {
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
    json!({ "id": comment.id, "body": comment.body, author: { "id": comment.author }, "system": false })
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
    let has_more = all.len() > size * page;
    let slice: Vec<Value> = all.into_iter().skip(size * (page - 1)).take(size).collect();
    let answer = ok(200, &Value::Array(slice));
    (method == "GET").then(|| match (kind, has_more) {
        (Kind::GitLab, true) => answer.header("X-Next-Page", &(page + 1).to_string()),
        (Kind::GitLab, false) => answer.header("X-Next-Page", ""),
        // A client that follows it sends the token to another host.
        (_, true) => answer
            .header("Link", "<https://127.0.0.1:1/evil?page=2>; rel=\"next\", <https://x>; rel=\"last\""),
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
        Kind::GitLab => (&["pending", "running", "success", "failed", "canceled", "skipped"], 255),
        // It accepts any word, which is then shown as such.
        Kind::Gitea => (&["pending", "success", "error", "failure", "warning"], 255),
    };
    let state = body["state"].as_str().unwrap_or_default();
    let description = body["description"].as_str().unwrap_or_default();
    if !states.contains(&state) || description.chars().count() > longest || commit.len() != 40 {
        held.violations.push(format!("status of {commit}: {body}"));
    }
    held.statuses.push((commit.to_owned(), body.clone()));
    ok(201, &json!({ "id": 1 }))
}
