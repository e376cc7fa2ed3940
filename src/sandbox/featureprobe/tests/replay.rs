//! Replays the requests that were recorded from a running service (`tests/featureprobe-live`).

mod steps;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use reqwest::Method;
use serde_json::Value;

use self::steps::By::{self, Admin, Anonymous, Client, Header, Sdk};
use self::steps::{Step, steps};
use crate::model::ServiceKind;
use crate::sandbox::ScriptRequest;
use crate::sandbox::{Sandbox, SandboxConfig};
use crate::transport::{Network, Secret};

/// The authorizations of the accounts in the recording.
const ADMIN: &str = "Bearer session";
const CLIENT: &str = "api-of-gitops";

#[tokio::test]
async fn recorded_exchanges_are_answered_as_they_were() {
    let replay = Replay::new();
    let mut seen = BTreeSet::new();
    for step in steps() {
        match step {
            Step::Admin(second, method, path, body) => {
                replay.at(second);
                replay.api().as_admin(&ScriptRequest {
                    method: method.to_owned(),
                    path: path.to_owned(),
                    body,
                });
            }
            Step::Client(second, method, path, body) => {
                replay.at(second);
                let (status, .., text) = replay.send(method, path, Client, Some(body.to_string()), &[]).await;
                assert_eq!(status, 200, "{method} {path}: {text}");
            }
            Step::Exchange(name, by) => {
                replay.exchange(name, by).await;
                seen.insert(name.to_owned());
            }
        }
    }
    assert_eq!(seen, names(), "every exchange is replayed");
}

struct Replay {
    sandbox: Sandbox,
    http: reqwest::Client,
    _folder: tempfile::TempDir,
}

impl Replay {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        let sandbox = Sandbox::start(SandboxConfig {
            ca_file: Some(ca_file.clone()),
            kind: ServiceKind::FeatureProbe,
            data: Some(r#"{"projects":[]}"#.to_owned()),
            ..SandboxConfig::new(Secret::new("api-of-the-sandbox".into()))
        })
        .unwrap();
        let network = Network { ca_file: Some(ca_file), ..Network::default() };
        let replay =
            Self { sandbox, http: network.client(Duration::from_secs(30)).unwrap(), _folder: folder };
        replay.api().add_account(CLIENT, "api:gitops-1795272940");
        replay.api().add_account(ADMIN, "Admin");
        replay
    }

    fn api(&self) -> &crate::sandbox::featureprobe::Api {
        self.sandbox.api.as_ref().unwrap()
    }

    /// Sets the clock to this second of the recording.
    fn at(&self, second: &str) {
        self.api().set_clock(date(&format!("2026-11-21T23:25:{second}.000+08:00")));
    }

    async fn exchange(&self, name: &str, by: By) {
        let Value::Object(exchange) = recorded(name) else {
            panic!("{name} is an object");
        };
        let (request, expected) = (&exchange["request"], expected(&exchange["body"]));
        if let Some(at) = moment(&expected) {
            self.api().set_clock(at);
        }
        let body = match name {
            "patch-malformed" | "patch-text-plain" => Some("{".to_owned()),
            _ => request.get("body").map(ToString::to_string),
        };
        let headers: &[(&str, &str)] = match name {
            "patch-text-plain" => &[("content-type", "text/plain")],
            "patch-other-accept-language" => &[("accept-language", "de")],
            _ => &[],
        };
        let (method, path) = (request["method"].as_str().unwrap(), request["path"].as_str().unwrap());
        let (status, sent, text) = self.send(method, path, by, body, headers).await;
        assert_eq!(exchange["status"], status, "{name}: {text}");
        let recorded_headers = exchange["headers"].as_object().unwrap().clone();
        let sent: serde_json::Map<String, Value> =
            sent.into_iter().map(|(name, value)| (name, value.into())).collect();
        assert_eq!(sent, recorded_headers, "{name}");
        let body = match text.as_str() {
            "" => Value::Null,
            text => serde_json::from_str(text).unwrap_or_else(|_| panic!("{name}: {text}")),
        };
        assert_eq!(masked(body), masked(expected), "{name}");
    }

    async fn send(
        &self,
        method: &str,
        path: &str,
        by: By,
        body: Option<String>,
        headers: &[(&str, &str)],
    ) -> (u16, Vec<(String, String)>, String) {
        let authorization = match by {
            Admin => Some(ADMIN.to_owned()),
            Client => Some(CLIENT.to_owned()),
            Header(value) => Some(value.to_owned()),
            Anonymous => None,
            Sdk => Some(self.sdk_key().await),
        };
        let url = format!("{}{path}", self.sandbox.url());
        let mut request = self.http.request(Method::from_bytes(method.as_bytes()).unwrap(), url);
        if headers.iter().all(|(name, _)| *name != "content-type") {
            request = request.header("content-type", "application/json");
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(authorization) = authorization {
            request = request.header("authorization", authorization);
        }
        let response = request.body(body.unwrap_or_default()).send().await.unwrap();
        let headers_sent = ["content-type", "www-authenticate"].iter().filter_map(|name| {
            let value = response.headers().get(*name)?;
            Some(((*name).to_owned(), value.to_str().unwrap().to_owned()))
        });
        let (status, headers_sent) = (response.status().as_u16(), headers_sent.collect());
        (status, headers_sent, response.text().await.unwrap())
    }

    async fn sdk_key(&self) -> String {
        let path = "/api/projects/facts/environments";
        let answer = Box::pin(self.send("GET", path, Client, None, &[])).await;
        let environments: Vec<Value> = serde_json::from_str(&answer.2).unwrap();
        let found = environments.iter().find(|one| one["key"] == "production");
        found.unwrap()["serverSdkKey"].as_str().unwrap().to_owned()
    }
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/featureprobe-live")
}

fn names() -> BTreeSet<String> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().file_name());
    let names = files.filter_map(|name| name.to_str()?.strip_suffix(".json").map(ToOwned::to_owned));
    names.collect()
}

fn recorded(name: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(name).with_extension("json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

/// Returns the recorded body. The service asks for the time twice during a publish; here it is the same.
fn expected(body: &Value) -> Value {
    let mut body = body.clone();
    let time = |name: &str| Some(date(body.get(name)?.as_str()?));
    if let (Some(modified), Some(published)) = (time("modifiedTime"), time("publishTime"))
        && modified.as_second() == published.as_second()
    {
        body["publishTime"] = body["modifiedTime"].clone();
    }
    body
}

/// Returns when the exchange happened, if its body has the time in milliseconds.
fn moment(body: &Value) -> Option<Timestamp> {
    let times = ["timestamp", "approvalDate", "modifiedTime"].into_iter();
    let texts = times.filter_map(|name| body.get(name)?.as_str());
    texts.map(date).find(|at| at.subsec_millisecond() != 0)
}

fn date(text: &str) -> Timestamp {
    text.parse().unwrap()
}

/// Replaces SDK keys, which are random, by the zeros of the recording.
fn masked(value: Value) -> Value {
    match value {
        Value::Array(list) => list.into_iter().map(masked).collect(),
        Value::Object(members) => members.into_iter().map(|(name, value)| (name, masked(value))).collect(),
        Value::String(text) => match text.split_once('-') {
            Some((kind @ ("server" | "client"), digits)) if digits.len() == 40 => {
                format!("{kind}-{}", "0".repeat(40)).into()
            }
            _ => text.into(),
        },
        other => other,
    }
}
