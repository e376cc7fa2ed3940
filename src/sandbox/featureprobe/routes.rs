//! Which request is for which endpoint.

use axum::http::{HeaderValue, Method, StatusCode, header};

use super::call::Call;
use super::errors::{ApiAnswer, ApiRefusal};
use super::reply::ApiReply;
use super::state::World;
use super::targeting::TargetingPath;
use super::{approval, environments, projects, sdk, segments, targeting, toggles, versions};

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
        ["projects"] if get => Ok(projects::list(world)),
        ["projects"] if post => projects::create(world, call),
        ["projects", p, "approvalSettings"] if get => projects::approval_settings(world, p),
        ["projects", p, "approvalSettings"] if patch => projects::change_approval_settings(world, call, p),
        ["projects", p, "environments"] if get => environments::list(world, call, p),
        ["projects", p, "environments"] if post => environments::create(world, call, p),
        ["projects", p, "environments", e, "offline"] if patch => environments::archive(world, p, e, true),
        ["projects", p, "environments", e, "restore"] if patch => environments::archive(world, p, e, false),
        ["projects", p, "toggles"] if get => toggles::list(world, call, p),
        ["projects", p, "toggles"] if post => toggles::create(world, call, p),
        ["projects", p, "toggles", t] if get => toggles::read(world, p, t),
        ["projects", p, "toggles", t, "offline"] if patch => toggles::archive(world, call, p, t, true),
        ["projects", p, "toggles", t, "restore"] if patch => toggles::archive(world, call, p, t, false),
        ["projects", p, "segments"] if get => segments::list(world, call, p),
        ["projects", p, "segments"] if post => segments::create(world, call, p),
        ["projects", p, "segments", s, "publish"] if patch => segments::publish(world, call, p, s),
        [
            "projects",
            project,
            "environments",
            environment,
            "toggles",
            toggle,
            "targeting",
            ref rest @ ..,
        ] => {
            let path = TargetingPath {
                project,
                environment,
                toggle,
            };
            of_targeting(world, call, path, rest)
        }
        _ => Err(unknown_path()),
    }
}

fn of_targeting(world: &mut World, call: &Call, path: TargetingPath, rest: &[&str]) -> ApiAnswer {
    match (call.method.as_str(), rest) {
        ("GET", []) => targeting::read(world, path),
        ("PATCH", []) => targeting::publish(world, call, path),
        ("GET", ["versions"]) => versions::page(world, call, path),
        ("GET", ["versions", version]) => versions::from(world, path, version),
        ("GET", ["diff"]) => approval::difference(world, path),
        ("POST", ["approval"]) => approval::submit(world, call, path),
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
