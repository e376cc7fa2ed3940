//! The service over TLS, with what only the sandbox has.

use std::time::Duration;

use reqwest::{Method, Response};
use serde_json::{Value, json};

use super::{T, TOKEN, toggle};
use crate::model::ServiceKind;
use crate::sandbox::store::LARGEST_REQUEST;
use crate::sandbox::{Faults, Sandbox, SandboxConfig};
use crate::transport::{Network, Secret};

struct Running {
    sandbox: Sandbox,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Running {
    fn start(faults: Faults) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        let data = json!({ "projects": [{
            "key": "p", "environments": [{ "key": "e" }], "toggles": [toggle("t", "boolean", &["false"])],
        }] });
        let sandbox = Sandbox::start(SandboxConfig {
            ca_file: Some(ca_file.clone()),
            kind: ServiceKind::FeatureProbe,
            data: Some(data.to_string()),
            faults,
            ..SandboxConfig::new(Secret::new(TOKEN.into()))
        })
        .unwrap();
        let network = Network { ca_file: Some(ca_file), ..Network::default() };
        let http = network.client(Duration::from_secs(30)).unwrap();
        Self { sandbox, http, _folder: folder }
    }

    async fn try_send(&self, method: &str, path: &str, body: &Value) -> reqwest::Result<Response> {
        let method = method.parse::<Method>().unwrap();
        let request = self.http.request(method, format!("{}{path}", self.sandbox.url()));
        let request = request.header("authorization", TOKEN).header("content-type", "application/json");
        request.body(body.to_string()).send().await
    }

    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let response = self.try_send(method, path, &body).await.unwrap();
        let status = response.status().as_u16();
        (status, serde_json::from_str(&response.text().await.unwrap()).unwrap_or_default())
    }

    async fn is_answered(&self, body: Value) -> bool {
        match self.try_send("PATCH", T, &body).await {
            Ok(response) => response.bytes().await.is_ok(),
            Err(_) => false,
        }
    }
}

#[tokio::test]
async fn the_faults_of_the_other_kind_work_here() {
    let running = Running::start(Faults {
        too_many_rate: 1.0,
        retry_after: Duration::from_secs(7),
        ..Faults::default()
    });
    running.sandbox.lose_next_response();
    let response = running.try_send("GET", T, &Value::Null).await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    assert!(!running.is_answered(json!({ "disabled": false })).await, "the next publish loses its response");
    assert!(running.is_answered(json!({ "disabled": false })).await);
    let publishes = running.sandbox.requests();
    assert_eq!((publishes.len(), running.sandbox.most_open_for_one_toggle()), (2, 1));
}

#[tokio::test]
async fn a_body_that_is_too_large_for_the_sandbox_is_refused() {
    let running = Running::start(Faults::default());
    let (status, answer) = running.send("PATCH", T, "x".repeat(LARGEST_REQUEST).into()).await;
    assert_eq!((status, &answer["error"]), (413, &"Payload Too Large".into()));
}

#[tokio::test]
async fn data_that_the_service_refuses_stops_the_start() {
    let started = Sandbox::start(SandboxConfig {
        kind: ServiceKind::FeatureProbe,
        data: Some("[]".to_owned()),
        ..SandboxConfig::new(Secret::new(TOKEN.into()))
    });
    let error = started.err().unwrap().to_string();
    assert!(error.starts_with("the sandbox's data is not valid: "), "{error}");
}
