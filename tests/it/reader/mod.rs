//! The reader of a FeatureProbe service, against recorded exchanges (`tests/featureprobe-live`) and bad
//! responses.

mod failures;
mod lists;
mod payload;
mod projects;
mod sessions;
mod toggles;

use std::path::Path;
use std::time::Duration;

use gitoggle::model::{Certainty, EnvironmentId, ServiceKind, ToggleId};
use gitoggle::service::{ClientConfig, LiveReader, Outcome};
use gitoggle::transport::{Network, Secret, SecretSource};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::certificate::Authority;
use crate::support::{Answer, Request, Service, TOKEN};

/// A service and a reader of it.
struct Stand {
    service: Service,
    reader: LiveReader,
    _folder: TempDir,
}

impl Stand {
    fn new() -> Self {
        Self::with(SecretSource::Value(Secret::new(TOKEN.to_owned())), Duration::from_secs(20))
    }

    /// Returns the host and the port of the service.
    fn host(&self) -> String {
        self.service.url().replace("https://", "")
    }

    fn with(token: SecretSource, timeout: Duration) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let ca_file = folder.path().join("ca.pem");
        std::fs::write(&ca_file, Authority::trusted().pem()).unwrap();
        let service = Service::start();
        let reader = LiveReader::new(ClientConfig {
            kind: ServiceKind::FeatureProbe,
            base_url: service.url().parse().unwrap(),
            token,
            network: Network { ca_file: Some(ca_file), ..Network::default() },
            timeout,
        })
        .unwrap();
        // A request that a test does not expect is a failure that no reader takes for a success.
        service.always(|request| Answer::json(418, &json!({"message": request.path}).to_string()));
        Self { service, reader, _folder: folder }
    }

    fn answers(answers: impl IntoIterator<Item = Answer>) -> Self {
        let stand = Self::new();
        stand.service.answers(answers);
        stand
    }

    /// Asserts that these paths were requested in this order since the last call, with the token.
    #[track_caller]
    fn asked(&self, paths: &[&str]) {
        let requests = self.service.take();
        assert_eq!(paths_of(&requests), paths);
        for request in &requests {
            assert_eq!(request.header("authorization"), Some(TOKEN), "{}", request.path);
        }
    }
}

fn paths_of(requests: &[Request]) -> Vec<&str> {
    for request in requests {
        assert_eq!(request.method, "GET");
        assert_eq!(request.header("accept"), Some("application/json"));
        assert_eq!(request.header("accept-language"), Some("en-US"));
        assert_eq!(request.header("x-organizeid"), None);
        assert!(request.bytes.is_empty());
    }
    requests.iter().map(|request| request.path.as_str()).collect()
}

/// Returns the recorded response of that name.
fn recorded(name: &str) -> Answer {
    let exchange = exchange(name);
    let status = u16::try_from(exchange["status"].as_u64().unwrap()).unwrap();
    let mut answer = Answer::status(status);
    for (header, value) in exchange["headers"].as_object().unwrap() {
        answer = answer.header(header, value.as_str().unwrap());
    }
    match &exchange["body"] {
        Value::Null => answer,
        body => answer.body(&body.to_string()),
    }
}

fn exchange(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/featureprobe-live/{name}.json"));
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn id(text: &str) -> ToggleId {
    text.parse().unwrap()
}

fn environment(text: &str) -> EnvironmentId {
    text.parse().unwrap()
}

/// Asserts that a read failed with `reason`, and that the service certainly stored nothing.
#[track_caller]
fn failed<T: std::fmt::Debug>(result: Result<T, Outcome>, kind: &str, reason: &str) {
    let outcome = result.unwrap_err();
    assert_eq!(outcome.certainty, Certainty::NotStored);
    assert_eq!((outcome.kind.as_str(), outcome.to_string().as_str()), (kind, reason));
}

#[test]
fn the_reader_sends_only_get() {
    for (path, code) in crate::architecture::code_by_path() {
        if path.starts_with("service/reader/") {
            for method in [".patch(", ".post(", ".put(", ".delete(", ".request(", "Method::"] {
                assert!(!code.contains(method), "{path} contains `{method}`");
            }
        }
    }
}
