//! What only the sandbox has: the requests that arrived, and a script of faults, over HTTP for tests of the program.

use axum::http::StatusCode;
use serde_json::json;

use super::api::Api;
use super::call::Call;
use super::errors::ApiRefusal;
use super::reply::ApiReply;
use super::script::ScriptStep;

/// Answers a request to the sandbox itself. Such requests are neither recorded nor struck by faults.
pub(super) fn answer(api: &Api, call: &Call) -> Option<ApiReply> {
    let name = call.path().strip_prefix("/api/sandbox/")?;
    if !api.knows(call) {
        return Some(ApiReply::empty(StatusCode::UNAUTHORIZED));
    }
    let answer = match (call.method.as_str(), name) {
        ("GET", "requests") => {
            let written = api.calls().into_iter().map(|sent| {
                let body = String::from_utf8_lossy(&sent.body);
                json!({ "method": sent.method, "path": sent.path, "body": body })
            });
            Ok(written.collect())
        }
        ("POST", "script") => match serde_json::from_slice::<ScriptStep>(&call.sent.body) {
            Ok(step) => {
                api.add_step(step);
                Ok(json!({}))
            }
            Err(error) => Err(ApiRefusal::InvalidText(error.to_string())),
        },
        ("POST", "release") => Ok(json!({ "released": api.release_held() })),
        _ => Err(ApiRefusal::Framework(StatusCode::NOT_FOUND)),
    };
    Some(ApiReply::new(answer, call))
}
