//! The exchanges that were recorded with a running Gitea: our requests are those, and its answers are
//! understood.

use serde_json::Value;

use super::stand_in::{FORGE_TOKEN, KINDS, StandIn};
use super::{note, plan, request_world};
use crate::support::{Answer, Gitoggle, Request, Service, World};

const RECORDED: &str = include_str!("../data/gitea-api.json");

/// Returns the recorded exchange with this name.
pub(super) fn exchange(case: &str) -> Value {
    let all: Vec<Value> = serde_json::from_str(RECORDED).unwrap();
    let found = all.into_iter().find(|exchange| exchange["case"] == case);
    found.unwrap_or_else(|| panic!("no exchange `{case}`"))
}

fn recorded(case: &str) -> Answer {
    let response = exchange(case)["response"].clone();
    let status = u16::try_from(response["status"].as_u64().unwrap()).unwrap();
    let mut answer = Answer::status(status).body(&response["body"].to_string());
    for (name, value) in response["headers"].as_object().unwrap() {
        answer = answer.header(name, value.as_str().unwrap());
    }
    answer
}

/// Begins a plan that comments on pull request 1 of `dev/toggles`.
fn job(world: &World, gitea: &Service) -> Gitoggle {
    let run = world.bare("plan").set("repo", world.repo.path()).set("ca-file", world.ca());
    run.args("--pull-request --comment-on gitea")
        .env("GITEA_ACTIONS", "true")
        .env("GITHUB_BASE_REF", "main")
        .env("GITHUB_REF", "refs/pull/1/head")
        .env("GITHUB_API_URL", gitea.url() + "/api/v1")
        .env("GITHUB_REPOSITORY", "dev/toggles")
        .env("GITHUB_TOKEN", FORGE_TOKEN)
}

/// Asserts that a request is the recorded one, except for its text.
#[track_caller]
fn same(request: &Request, case: &str) {
    let expected = exchange(case)["request"].clone();
    assert_eq!(request.method, expected["method"], "{case}");
    assert_eq!(request.path, expected["path"], "{case}");
    for name in ["Accept", "Authorization"] {
        let value = expected["headers"][name].as_str().unwrap().replace("TOKEN", FORGE_TOKEN);
        assert_eq!(request.header(&name.to_lowercase()), Some(value.as_str()), "{case}");
    }
    let keys = |value: &Value| value.as_object().map(|body| body.keys().cloned().collect::<Vec<_>>());
    if !expected["body"].is_null() {
        assert_eq!(request.header("content-type"), Some("application/json"));
        assert_eq!(keys(&request.body()), keys(&expected["body"]), "{case}");
    }
}

/// The user that wrote the recorded comments.
fn dev() -> Answer {
    Answer::json(200, r#"{"id":2,"login":"dev"}"#)
}

#[test]
fn a_comment_is_created_as_recorded_and_the_list_is_read_once() {
    let (world, gitea) = (request_world(), Service::start());
    gitea.answers([
        dev(),
        recorded("list comments: none"),
        recorded("create comment"),
        recorded("list comments: default page size of this endpoint"),
        recorded("update comment"),
    ]);
    job(&world, &gitea).exit(0).any_stdout().stderr_contains(&["created the comment on pull request 1"]);
    let requests = gitea.take();
    // The list says that there are 61 comments, which is all of them: there is no second page to ask for. The
    // recorded text is not that of our plan, so the comment is updated.
    assert_eq!(requests.len(), 5);
    assert_eq!(requests[0].path, "/api/v1/user");
    for (request, case) in requests[1..].iter().zip([
        "list comments: none",
        "create comment",
        "list comments: default page size of this endpoint",
        "update comment",
    ]) {
        same(request, case);
    }
}

#[test]
fn refusals_are_shown_as_recorded() {
    for (case, attempts, shown) in [
        (
            "create comment with a token that may only read",
            1,
            "responded with 403: token does not have at least one of required scope(s), required=[write:issue], token \
             scope=read:issue,read:repository\nhint: the token needs the scopes `read:user`, `write:issue`",
        ),
        (
            "create comment with an unknown token",
            1,
            "responded with 401: invalid username, password or token\nhint: ",
        ),
        ("create comment without a token", 1, "responded with 401: token is required\nhint: "),
        ("create comment in a repository that does not exist", 1, "responded with 404: not found\nhint: "),
        ("create comment with an empty body", 1, "responded with 422: [Body]: Required\n"),
        (
            "create comment on an issue that does not exist",
            4,
            "responded with 500 without a reason; it may not have this object\n",
        ),
    ] {
        let (world, gitea) = (request_world(), Service::start());
        let rounds = (0..attempts).flat_map(|_| [recorded("list comments: none"), recorded(case)]);
        gitea.answers(std::iter::once(dev()).chain(rounds));
        let ran = job(&world, &gitea).exit(0).any_stdout();
        ran.stderr_contains(&["warning: could not comment on pull request 1", shown]);
        let requests = gitea.take();
        assert_eq!(requests.len(), 1 + 2 * attempts, "{case}");
        assert_eq!(requests[2].method, "POST");
    }
}

#[test]
fn a_status_is_set_as_recorded() {
    let (world, gitea) = (World::with_pay_applied(), Service::start());
    let apply = || {
        let run = world.apply().args("--commit-status gitea");
        run.env("GITEA_ACTIONS", "true")
            .env("GITHUB_API_URL", gitea.url() + "/api/v1")
            .env("GITHUB_REPOSITORY", "dev/toggles")
            .env("GITHUB_SERVER_URL", "https://ci.example")
            .env("GITHUB_RUN_NUMBER", "1")
            .env("GITHUB_TOKEN", FORGE_TOKEN)
    };
    gitea.answers([recorded("create status: success, same context")]);
    apply().exit(0).any_stdout().stderr("");
    let requests = gitea.take();
    let expected = exchange("create status: success, same context")["request"].clone();
    assert_eq!(requests[0].method, "POST");
    assert_eq!(requests[0].path, format!("/api/v1/repos/dev/toggles/statuses/{}", world.repo.head()));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(keys(&requests[0].body()), keys(&expected["body"]));

    gitea.answers((0..4).map(|_| recorded("create status on a commit that does not exist")));
    apply().exit(0).any_stdout().stderr_contains(&["it may not have this object"]);
    gitea.answers([recorded("create status with a token that may only read")]);
    apply()
        .exit(0)
        .any_stdout()
        .stderr_contains(&["required=[write:repository]", "`write:repository` (statuses)"]);
}

#[test]
fn a_comment_that_someone_deleted_is_created_again() {
    let (world, forge) = (request_world(), StandIn::start(KINDS[2]));
    plan(&world, &forge).exit(0).any_output();
    world.repo.file("shop/prod/pay.yaml", crate::support::doc(40)).commit("Change it");
    let (id, body) = (forge.comments()[0].id, forge.comments()[0].body.clone());
    forge.held().comments.clear();
    let list = serde_json::json!([{ "id": id, "user": { "id": 41 }, "body": body }]);
    forge.service.answers([
        Answer::json(200, r#"{"id":41}"#),
        Answer::json(200, &list.to_string()),
        recorded("update a comment that does not exist"),
    ]);
    plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
}
