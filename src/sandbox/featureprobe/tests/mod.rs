//! The service without HTTP: what `replay` does not cover.

#![expect(clippy::needless_pass_by_value, reason = "bodies are written where they are sent")]

mod approvals;
mod data;
mod environments;
mod http;
mod lists;
mod publishes;
mod replay;
mod scripts;
mod sdks;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use axum::http::{HeaderMap, Method, header};
use serde_json::{Value, json};

use super::Api;
use super::exchange::Call;
use crate::sandbox::Faults;
use crate::sandbox::store::RequestLog;
use crate::sandbox::store::SandboxState;
use crate::transport::Secret;

const TOKEN: &str = "api-0123456789";

/// The targeting of the only toggle in `Service::new`.
const T: &str = "/api/projects/p/environments/e/toggles/t/targeting";

struct Service {
    api: Arc<Api>,
}

impl Service {
    /// A project `p` with the environments `e` and `f`, a segment `s`, and a new toggle `t` with two
    /// variations.
    fn new() -> Self {
        let data = json!({ "projects": [{
            "key": "p",
            "environments": [{ "key": "e" }, { "key": "f" }],
            "segments": [{ "key": "s" }],
            "toggles": [toggle("t", "boolean", &["false", "true"])],
        }] });
        Self::with(Some(&data.to_string()), Faults::default())
    }

    fn with(data: Option<&str>, faults: Faults) -> Self {
        let state = SandboxState {
            request_log: RequestLog::new(None),
            token: Secret::new(TOKEN.to_owned()),
            faults,
            loses_next: AtomicBool::new(false),
        };
        Self { api: Api::new(Arc::new(state), data).unwrap() }
    }

    fn send(&self, authorization: &str, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let mut headers = HeaderMap::new();
        headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
        headers.insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
        let method = method.parse::<Method>().unwrap();
        let call = Call::new(method, path.to_owned(), &headers, body.to_string().into(), self.api.now());
        let (nth, _open) = self.api.arrive(&call);
        let Some(reply) = self.api.carry_out(call, nth) else {
            return (0, Value::Null);
        };
        let body = if reply.body.starts_with('<') {
            reply.body.into()
        } else {
            serde_json::from_str(&reply.body).unwrap_or_default()
        };
        (reply.status.as_u16(), body)
    }

    fn get(&self, path: &str) -> (u16, Value) {
        self.send(TOKEN, "GET", path, &Value::Null)
    }

    fn patch(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(TOKEN, "PATCH", path, &body)
    }

    /// Makes a request that succeeds, and returns the answer.
    fn done(&self, method: &str, path: &str, body: Value) -> Value {
        let (status, answer) = self.send(TOKEN, method, path, &body);
        assert_eq!(status, 200, "{method} {path}: {answer}");
        answer
    }

    /// Returns the server SDK key of an environment.
    fn sdk_key(&self, environment: &str) -> String {
        let list = self.done("GET", "/api/projects/p/environments", Value::Null);
        let mut environments = list.as_array().unwrap().iter();
        let found = environments.find(|one| one["key"] == environment).unwrap();
        found["serverSdkKey"].as_str().unwrap().to_owned()
    }

    /// Asks as an SDK that has this version.
    fn sdk(&self, key: &str, version: u64) -> (u16, Value) {
        self.send(key, "GET", &format!("/internal/server/toggles?version={version}"), &Value::Null)
    }

    fn version(&self) -> u64 {
        self.done("GET", T, Value::Null)["version"].as_u64().unwrap()
    }
}

/// Returns the initial data of a toggle.
fn toggle(key: &str, kind: &str, values: &[&str]) -> Value {
    let variations = values.iter().map(|value| json!({ "name": format!("is {value}"), "value": value }));
    json!({ "key": key, "returnType": kind, "variations": variations.collect::<Vec<_>>() })
}

fn message(answer: &Value) -> &str {
    answer["message"].as_str().unwrap_or_default()
}
