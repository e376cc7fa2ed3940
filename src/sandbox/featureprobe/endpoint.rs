//! Which request is for which endpoint.

use axum::http::{HeaderValue, Method, StatusCode, header};

use super::exchange::{ApiAnswer, ApiRefusal, ApiReply, Call};
use super::store::World;
use super::toggles::{self, TargetingPath};
use super::{projects, sdk};

/// The challenge for a token that is not one of the service's sessions.
const CHALLENGE: HeaderValue = HeaderValue::from_static(
    "Bearer error=\"invalid_token\", error_description=\"An error occurred while attempting to decode the Jwt: Invalid \
     JWT serialization: Missing dot delimiter(s)\", error_uri=\"https://tools.ietf.org/html/rfc6750#section-3.1\"",
);

/// Carries a request out.
pub(super) fn answer(world: &mut World, mut call: Call) -> ApiReply {
    let components = call.components();
    let path: Vec<&str> = components.iter().map(String::as_str).collect();
    let answer = match path.as_slice() {
        ["internal", "server", "toggles"] if call.method == Method::GET => sdk::toggles(world, &call),
        ["internal", "server", "toggles"] => Err(not_allowed()),
        ["api", path @ ..] => match authenticate(world, &mut call, path) {
            Ok(()) => as_account(world, &call),
            Err(reply) => return *reply,
        },
        _ => Err(unknown_path()),
    };
    ApiReply::new(answer, &call)
}

/// Finds the account of the token: 401 for what is none, 403 for one that is unknown.
fn authenticate(world: &World, call: &mut Call, path: &[&str]) -> Result<(), Box<ApiReply>> {
    let token = call.authorization.as_str();
    let reply = if let Some(account) = world.accounts.get(token) {
        call.account.clone_from(account);
        // This part of the API is only for people who have logged in.
        if path.first() != Some(&"members") {
            return Ok(());
        }
        ApiReply::empty(StatusCode::UNAUTHORIZED)
    } else if token.starts_with("api-") {
        ApiReply::unauthorized(StatusCode::FORBIDDEN, "forbidden", "Forbidden")
    } else if token.starts_with("Bearer ") {
        ApiReply::empty(StatusCode::UNAUTHORIZED).with(header::WWW_AUTHENTICATE, CHALLENGE)
    } else {
        ApiReply::unauthorized(StatusCode::UNAUTHORIZED, "unauthorized", "Unauthorized")
    };
    Err(Box::new(reply))
}

/// Carries out a request of the account in `call`.
pub(super) fn as_account(world: &mut World, call: &Call) -> ApiAnswer {
    let components = call.components();
    // Without `api`.
    let path: Vec<&str> = components.iter().skip(1).map(String::as_str).collect();
    let is = |method: Method| call.method == method;
    let (get, post, patch) = (is(Method::GET), is(Method::POST), is(Method::PATCH));
    match *path.as_slice() {
        ["projects"] if get => Ok(projects::list_projects(world)),
        ["projects"] if post => projects::create_project(world, call),
        ["projects", p, "approvalSettings"] if get => projects::approval_settings(world, p),
        ["projects", p, "approvalSettings"] if patch => projects::change_approval_settings(world, call, p),
        ["projects", p, "environments"] if get => projects::list_environments(world, call, p),
        ["projects", p, "environments"] if post => projects::create_environment(world, call, p),
        ["projects", p, "environments", e, "offline"] if patch => {
            projects::archive_environment(world, p, e, true)
        }
        ["projects", p, "environments", e, "restore"] if patch => {
            projects::archive_environment(world, p, e, false)
        }
        ["projects", p, "toggles"] if get => toggles::list_toggles(world, call, p),
        ["projects", p, "toggles"] if post => toggles::create_toggle(world, call, p),
        ["projects", p, "toggles", t] if get => toggles::read_toggle(world, p, t),
        ["projects", p, "toggles", t, "offline"] if patch => toggles::archive_toggle(world, call, p, t, true),
        ["projects", p, "toggles", t, "restore"] if patch => {
            toggles::archive_toggle(world, call, p, t, false)
        }
        ["projects", p, "segments"] if get => projects::list_segments(world, call, p),
        ["projects", p, "segments"] if post => projects::create_segment(world, call, p),
        ["projects", p, "segments", s, "publish"] if patch => projects::publish_segment(world, call, p, s),
        ["projects", project, "environments", environment, "toggles", toggle, "targeting", ref rest @ ..] => {
            let path = TargetingPath { project, environment, toggle };
            of_targeting(world, call, path, rest)
        }
        _ => Err(unknown_path()),
    }
}

fn of_targeting(world: &mut World, call: &Call, path: TargetingPath, rest: &[&str]) -> ApiAnswer {
    match (call.method.as_str(), rest) {
        ("GET", []) => toggles::read_targeting(world, path),
        ("PATCH", []) => toggles::publish(world, call, path),
        ("GET", ["versions"]) => toggles::page_of_versions(world, call, path),
        ("GET", ["versions", version]) => toggles::versions_from(world, path, version),
        ("GET", ["diff"]) => toggles::difference(world, path),
        ("POST", ["approval"]) => toggles::submit(world, call, path),
        (_, [] | ["versions" | "diff" | "approval"] | ["versions", _]) => Err(not_allowed()),
        _ => Err(unknown_path()),
    }
}

fn not_allowed() -> ApiRefusal {
    ApiRefusal::Framework(StatusCode::METHOD_NOT_ALLOWED)
}

fn unknown_path() -> ApiRefusal {
    ApiRefusal::Framework(StatusCode::NOT_FOUND)
}
