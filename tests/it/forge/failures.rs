//! Forges that refuse, fail, redirect, or are not there: a warning, and the exit code of the plan.

use std::time::{Duration, Instant};

use gitoggle::model::Forge;

use super::stand_in::{FORGE_TOKEN, KINDS, Kind, StandIn};
use super::{note, plan, request_world};
use crate::support::{Answer, World};

/// Returns the words of all forges, in a list.
fn forges() -> String {
    format!("`{}`", Forge::WORDS.join("`, `"))
}

fn message(status: u16, text: &str) -> Answer {
    Answer::json(status, &serde_json::json!({ "message": text }).to_string())
}

#[test]
fn a_token_that_may_not_write_is_a_warning() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        forge.held().is_read_only = true;
        plan(&world, &forge)
            .args("--detailed-exitcode")
            .exit(2)
            .any_stdout()
            .stderr_contains(&[
                "warning: could not comment on pull request 7 of `shop/toggles`\n  caused by: the forge responded with 403: \
                 Resource not accessible by integration\nhint: ",
                "fork",
            ])
            .never_says(&[FORGE_TOKEN]);
    }
}

#[test]
fn a_job_without_a_token_is_a_warning() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitLab));
    let run = plan(&world, &forge).without_env("GITLAB_TOKEN");
    run.exit(0).any_stdout().stderr_contains(&[
        "warning: could not comment",
        "there is no token: set GITLAB_TOKEN or CI_JOB_TOKEN",
    ]);
    assert_eq!(forge.asked(), [""; 0]);
}

#[test]
fn answers_that_no_retry_changes_are_shown_at_once() {
    for (answer, shown) in [
        (message(401, "Bad credentials"), "401: Bad credentials"),
        (message(404, "Not Found"), "404: Not Found"),
        (message(422, "Validation Failed"), "422: Validation Failed"),
        (
            Answer::json(400, r#"{"message":{"note":["can't be blank"]}}"#),
            r#"400: {"note":["can't be blank"]}"#,
        ),
        (Answer::json(403, r#"{"error":"insufficient_scope"}"#), "403: insufficient_scope"),
        (Answer::json(403, "[]"), "responded with 403\n"),
        (
            Answer::status(302).header("Location", "https://evil.example/x"),
            "redirects to `https://evil.example/x`, which is not followed",
        ),
        (Answer::html(200), "but not as its API does: the body is not JSON"),
        (Answer::json(200, r#"{"data":null}"#), "it did not name the user of the token"),
        (message(403, "::error::x\n\u{1b}[2J\u{202e}"), "403: ::error::x\\n\\u{1b}[2J\\u{202e}"),
        (message(403, FORGE_TOKEN), "403: ***"),
    ] {
        let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
        forge.service.answers([answer]);
        let ran = plan(&world, &forge).exit(0).any_stdout();
        ran.stderr_contains(&["warning: could not comment", shown]).never_says(&[FORGE_TOKEN]);
        assert_eq!(forge.asked().len(), 1, "{shown}");
    }
}

#[test]
fn answers_that_may_change_are_asked_for_again() {
    for first in [
        message(409, "Conflict"),
        message(429, "Slow down").header("Retry-After", "1"),
        message(403, "secondary rate limit").header("Retry-After", "0"),
        message(500, ""),
        Answer::html(502),
        message(503, "down").header("Retry-After", "0"),
        Answer::closes(),
    ] {
        let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
        forge.service.answers([first]);
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("created"));
        assert_eq!(forge.comments().len(), 1);
    }
}

#[test]
fn a_comment_whose_answer_was_lost_is_not_created_twice() {
    for kind in KINDS {
        let (world, forge) = (request_world(), StandIn::start(kind));
        plan(&world, &forge).exit(0).any_output();
        let body = forge.comments()[0].body.clone();
        forge.held().comments.clear();
        // The comment is stored, and its answer is a 502 of a proxy.
        let (user, list) = match kind {
            Kind::GitHub => (r#"{"data":{"viewer":{"databaseId":41}}}"#, "[]"),
            Kind::GitLab | Kind::Gitea => (r#"{"id":41}"#, "[]"),
        };
        let stored = Answer::html(502);
        forge.service.answers([Answer::json(200, user), Answer::json(200, list), stored]);
        forge.add(super::stand_in::OURS, &body);
        plan(&world, &forge).exit(0).any_stdout().stderr(&note("kept"));
        assert_eq!(forge.comments().len(), 1, "{kind:?}");
    }
}

#[test]
fn a_long_retry_after_is_not_waited_for() {
    for answer in [
        message(429, "Slow down").header("Retry-After", "3600"),
        message(403, "API rate limit exceeded")
            .header("X-RateLimit-Remaining", "0")
            .header("X-RateLimit-Reset", "99999999999"),
    ] {
        let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
        forge.service.answers([answer]);
        let began = Instant::now();
        let ran = plan(&world, &forge).exit(0).any_stdout();
        ran.stderr_contains(&["warning: could not comment"]);
        assert!(began.elapsed() < Duration::from_secs(30));
        assert_eq!(forge.asked().len(), 1);
    }
}

#[test]
fn a_forge_that_stays_down_is_a_warning_after_four_attempts() {
    let (world, forge) = (request_world(), StandIn::start(Kind::Gitea));
    forge.service.answers((0..4).map(|_| message(500, "")));
    plan(&world, &forge).exit(0).any_stdout().stderr(
        "warning: could not comment on pull request 7 of `shop/toggles`\n  caused by: the forge responded with 500 without a \
         reason; it may not have this object\n",
    );
    assert_eq!(forge.asked().len(), 4);
}

#[test]
fn an_unknown_certificate_is_a_warning() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    let run = plan(&world, &forge).unset("ca-file");
    run.exit(0).any_stdout().stderr_contains(&["warning: could not comment", "the forge is unreachable"]);
    assert_eq!(forge.asked(), [""; 0]);
}

#[test]
fn a_proxy_that_is_not_supported_is_a_warning() {
    let (world, forge) = (request_world(), StandIn::start(Kind::GitHub));
    let run = plan(&world, &forge).env("ALL_PROXY", "socks5h://user:pw-5678@127.0.0.1:1080");
    run.exit(0)
        .any_stdout()
        .stderr_contains(&[
            "warning: could not comment",
            "`socks5h://127.0.0.1:1080` is a SOCKS proxy, and only HTTP proxies are supported",
        ])
        .never_says(&["pw-5678"]);
    assert_eq!(forge.asked(), [""; 0]);
}

#[test]
fn what_the_job_does_not_name_is_a_usage_error() {
    let world = request_world();
    let run = || world.bare("plan").set("repo", world.repo.path()).args("--pull-request --target main");
    run().set("comment-on", "github").exit(64).stderr(
        "error: the repository is unknown; pass it as `--forge-repo`, because the CI variable GITHUB_REPOSITORY does not \
         name it\nhint: `--comment-on` calls the API of a forge\n",
    );
    let named = || run().set("comment-on", "gitea").set("forge-repo", "shop/toggles");
    named().exit(64).stderr_contains(&["the address of the API is unknown; pass it as `--forge-url`"]);
    let placed = || named().set("forge-url", "https://localhost:1/api/v1");
    placed()
        .exit(64)
        .stderr_contains(&["the number of the pull request is unknown; pass it as `--forge-number`"]);
    named().set("forge-url", "http://localhost:1").exit(64).stderr_contains(&["refused", "on loopback"]);
    named()
        .env("GITHUB_API_URL", "http://localhost:1")
        .exit(64)
        .stderr_contains(&["the variable GITHUB_API_URL has an unusable address", "on loopback"]);
    run()
        .set("comment-on", "nothing")
        .exit(64)
        .stderr_contains(&[&format!("`nothing` is none of {}", forges())]);
    let file = world.path("missing");
    placed().set("forge-token-file", file).exit(1).stderr_contains(&["could not use `--forge-token-file`"]);
}

#[test]
fn flags_name_a_forge_without_a_job() {
    let (world, forge) = (request_world(), StandIn::start(Kind::Gitea));
    let token = world.write("forge-token", &format!("{FORGE_TOKEN}\n"));
    world
        .bare("plan")
        .set("repo", world.repo.path())
        .args("--pull-request --target main --comment-on gitea --forge-repo shop/toggles --forge-number 7")
        .set("forge-url", forge.service.url() + "/api/v1")
        .set("forge-token-file", token)
        .set("ca-file", world.ca())
        .exit(0)
        .any_stdout()
        .stderr(&note("created"));
}

#[test]
fn a_file_in_the_repository_cannot_send_the_token_elsewhere() {
    let world: World = request_world();
    for line in [
        "forge_url: https://evil.example",
        "forge_repo: a/b",
        "forge_token_file: /etc/passwd",
        "comment_on: github",
    ] {
        world.repo.write("gitoggle.yaml", line);
        let run = world.bare("plan").set("repo", world.repo.path());
        run.set("config", world.repo.path().join("gitoggle.yaml"))
            .exit(64)
            .stderr_contains(&[line.split(':').next().unwrap()]);
    }
}

#[test]
fn a_file_that_is_not_a_plan_is_a_usage_error() {
    let world = World::with_pay_applied();
    for text in
        ["", "{}", r#"{"version":1,"error":{"message":"x"}}"#, r#"{"version":2,"changes":[],"held":[]}"#]
    {
        world.write("plan.json", text);
        let run = world.apply().set("reviewed", world.path("plan.json")).exit(64).stdout("");
        run.stderr_contains(&[
            "could not read the reviewed plan in `",
            &format!("the forge that has the reviews: {}", forges()),
        ]);
    }
    let missing = world.apply().set("reviewed", "gihtub").exit(64).stdout("");
    missing.stderr_contains(&["could not read the reviewed plan in `gihtub`"]);
    world.nothing_sent();
}
