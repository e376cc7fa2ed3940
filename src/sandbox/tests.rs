//! The sandbox from outside, over TLS.

use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response};

use super::store::LARGEST_REQUEST;
use super::*;
use crate::model::ToggleId;
use crate::transport::{Network, Secret};

const TOKEN: &str = "api-0123456789";

const BODY: &str = r#"{"comment":"c","disabled":false,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"v","name":"n","description":""}]}}"#;

struct World {
    sandbox: Sandbox,
    http: reqwest::Client,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        Self::at(tempfile::tempdir().unwrap(), Faults::default()).await
    }

    async fn faulty(faults: Faults) -> Self {
        Self::at(tempfile::tempdir().unwrap(), faults).await
    }

    async fn at(folder: tempfile::TempDir, faults: Faults) -> Self {
        let ca_file = folder.path().join("tls/ca.pem");
        let sandbox = Sandbox::start(SandboxConfig {
            ca_file: Some(ca_file.clone()),
            history_file: Some(folder.path().join("history.jsonl")),
            faults,
            ..SandboxConfig::new(Secret::new(TOKEN.into()))
        })
        .unwrap();
        let network = Network { ca_file: Some(ca_file), ..Network::default() };
        Self { sandbox, http: network.client(Duration::from_secs(30)).unwrap(), folder }
    }

    fn request(&self, method: Method, path: &str) -> RequestBuilder {
        self.http.request(method, format!("{}{path}", self.sandbox.url()))
    }

    fn patch(&self, toggle: &str) -> RequestBuilder {
        self.request(Method::PATCH, &path(toggle))
            .header("authorization", TOKEN)
            .header("content-type", "application/json")
            .body(BODY)
    }

    fn history(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("history.jsonl")).unwrap()
    }

    fn stored(&self) -> usize {
        self.history().lines().count()
    }

    fn get(&self, toggle: &str) -> RequestBuilder {
        self.request(Method::GET, &path(toggle)).header("authorization", TOKEN)
    }
}

fn path(toggle: &str) -> String {
    let id: ToggleId = toggle.parse().unwrap();
    format!(
        "/api/projects/{}/environments/{}/toggles/{}/targeting",
        id.project(),
        id.environment_key(),
        id.toggle()
    )
}

async fn parts(response: Response) -> (u16, serde_json::Value) {
    let status = response.status().as_u16();
    let text = response.text().await.unwrap();
    (status, serde_json::from_str(&text).unwrap_or_else(|_| text.into()))
}

#[tokio::test]
async fn a_publish_is_answered_with_the_targeting_and_its_version() {
    let world = World::new().await;
    world.patch("p/e/t").send().await.unwrap();
    let (status, body) = parts(world.patch("p/e/t").send().await.unwrap()).await;
    assert_eq!((status, &body["version"], &body["disabled"]), (200, &2.into(), &false.into()));
    assert_eq!(body["content"]["variations"][0]["name"], "n");
}

#[tokio::test]
async fn invalid_requests_are_refused_as_featureprobe_does() {
    let world = World::new().await;
    let patch = || world.patch("p/e/t");
    let with = |name: &'static str, value: &str| {
        let (client, request) = patch().build_split();
        let mut request = request.unwrap();
        request.headers_mut().insert(name, value.parse().unwrap());
        RequestBuilder::from_parts(client, request)
    };
    let without_token =
        world.request(Method::PATCH, &path("p/e/t")).header("content-type", "application/json").body(BODY);
    let long = "x".repeat(LARGEST_REQUEST + 1);
    for (request, status, code) in [
        (without_token, 401, Some("unauthorized")),
        (with("authorization", "Token abc"), 401, Some("unauthorized")),
        (with("authorization", "Bearer api-0123456789"), 401, None),
        (with("authorization", "api-other"), 403, Some("forbidden")),
        (with("content-type", "text/plain"), 415, Some("unsupported_media_type")),
        (patch().body(long), 413, Some("payload_too_large")),
        (patch().body("{"), 400, Some("invalid_request")),
        (patch().body(""), 400, Some("invalid_request")),
        (world.request(Method::PATCH, &path("p/e/t").replace("/t/", "/.t/")), 400, Some("not_found")),
        (world.request(Method::PUT, &path("p/e/t")), 405, Some("method_not_allowed")),
        (world.request(Method::GET, &path("p/e/t")), 401, Some("unauthorized")),
        (world.get("p/e/t"), 400, Some("not_found")),
        (world.request(Method::GET, "/api/nothing"), 404, Some("not_found")),
    ] {
        let (got, body) = parts(request.send().await.unwrap()).await;
        assert_eq!((got, body["code"].as_str()), (status, code), "{body}");
    }
    assert_eq!(world.stored(), 0);
    assert_eq!(world.sandbox.requests().len(), 8, "every request to the endpoint is recorded");
}

#[tokio::test]
async fn what_is_stored_can_be_read_and_outlives_the_sandbox_in_a_file() {
    let world = World::new().await;
    for toggle in ["p/e/a", "p/e/b", "p/e/a"] {
        world.patch(toggle).send().await.unwrap();
    }
    let (status, newest) = parts(world.get("p/e/a").send().await.unwrap()).await;
    assert_eq!((status, &newest["version"]), (200, &2.into()), "{newest}");
    assert_eq!(newest["content"]["variations"][0]["name"], "n");

    let World { sandbox, folder, .. } = world;
    sandbox.stop().await;
    let file = folder.path().join("history.jsonl");
    let torn = std::fs::read_to_string(&file).unwrap() + "{\"seq\":3,\"tog";
    std::fs::write(&file, torn).unwrap();
    let world = World::at(folder, Faults::default()).await;
    assert_eq!(parts(world.get("p/e/a").send().await.unwrap()).await, (200, newest));
    let (_, body) = parts(world.patch("p/e/a").send().await.unwrap()).await;
    assert_eq!(body["version"], 3);
    let lines = std::fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count(), 4);
    assert!(lines.lines().last().unwrap().starts_with("{\"seq\":3,\"toggle\":\"p/e/a\",\"version\":3"));
}

#[tokio::test]
async fn a_file_that_is_not_a_history_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("precious.txt");
    std::fs::write(&path, "my notes\nmore").unwrap();
    let started = Sandbox::start(SandboxConfig {
        history_file: Some(path.clone()),
        ..SandboxConfig::new(Secret::new(TOKEN.into()))
    });
    assert!(matches!(started, Err(Error::History { .. })));
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "my notes\nmore");
}

#[tokio::test]
async fn faults_strike_before_or_after_storing() {
    let world = World::faulty(Faults {
        too_many_rate: 1.0,
        retry_after: Duration::from_secs(7),
        ..Faults::default()
    })
    .await;
    world.sandbox.lose_next_response();
    let lost = match world.patch("p/e/t").send().await {
        Ok(response) => response.bytes().await,
        Err(error) => Err(error),
    };
    assert!(lost.is_err());
    let response = world.patch("p/e/t").send().await.unwrap();
    assert_eq!(
        (response.status().as_u16(), &response.headers()["retry-after"]),
        (429, &"7".parse().unwrap())
    );
    assert_eq!(world.stored(), 1);
    let world = World::faulty(Faults { fail_rate: 1.0, ..Faults::default() }).await;
    let response = world.patch("p/e/t").send().await.unwrap();
    assert!(response.status().is_server_error());
    assert_eq!(world.stored(), 0);
}

#[tokio::test]
async fn a_dropped_request_gets_not_one_byte_over_http_1() {
    let world = World::new().await;
    world.sandbox.lose_next_response();
    let bytes = raw(&world).await;
    assert_eq!(String::from_utf8_lossy(&bytes), "");
    assert_eq!(world.stored(), 1);
}

/// Sends one request by hand and returns everything that comes back.
async fn raw(world: &World) -> Vec<u8> {
    use std::io::{Read as _, Write as _};
    use std::sync::Arc;

    let address = world.sandbox.url().replace("https://", "");
    let pem = std::fs::read_to_string(world.folder.path().join("tls/ca.pem")).unwrap();
    let request = format!(
        "PATCH {} HTTP/1.1\r\nHost: localhost\r\nAuthorization: {TOKEN}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{BODY}",
        path("p/e/t"),
        BODY.len()
    );
    let talk = move || {
        use rustls::pki_types::pem::PemObject as _;
        let mut roots = rustls::RootCertStore::empty();
        roots.add(rustls::pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let name = "localhost".try_into().unwrap();
        let session = rustls::ClientConnection::new(Arc::new(config), name).unwrap();
        let tcp = std::net::TcpStream::connect(address).unwrap();
        tcp.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        let mut tls = rustls::StreamOwned::new(session, tcp);
        tls.write_all(request.as_bytes()).unwrap();
        let mut bytes = Vec::new();
        let end = tls.read_to_end(&mut bytes);
        let kind = end.err().map(|error| error.kind());
        assert_ne!(kind, Some(std::io::ErrorKind::WouldBlock), "the connection stays open");
        bytes
    };
    tokio::task::spawn_blocking(talk).await.unwrap()
}

fn lines(ca_file: Option<&str>, token: &str, kind: ServiceKind) -> Vec<String> {
    let connection = SandboxConnection {
        url: "https://127.0.0.1:1".to_owned(),
        ca_file: ca_file.map(PathBuf::from),
        token: Secret::new(token.to_owned()),
        kind,
    };
    let text = connection.instructions();
    let lines = text.lines().filter_map(|line| line.strip_prefix("  "));
    lines.map(str::to_owned).collect()
}

#[test]
fn the_lines_have_the_address_the_certificate_and_the_token() {
    assert_eq!(
        lines(Some("/a/ca.pem"), "sandbox-token", ServiceKind::Documented),
        [
            "export GITOGGLE_BASE_URL=https://127.0.0.1:1",
            "export GITOGGLE_CA_FILE=/a/ca.pem",
            "export GITOGGLE_TOKEN=sandbox-token",
            "gitoggle apply --first-pass assert",
        ]
    );
    let readable = lines(None, "sandbox-token", ServiceKind::FeatureProbe);
    assert_eq!(readable[1], "# its certificate: start the sandbox with --ca-out ca.pem");
    assert_eq!(readable[3..], ["export GITOGGLE_SERVICE_KIND=featureprobe", "gitoggle import"]);
}

#[test]
fn a_token_of_ones_own_is_not_shown() {
    let lines = lines(Some("ca.pem"), "t0ken", ServiceKind::Documented);
    assert_eq!(lines[2], "export GITOGGLE_TOKEN=\"$GITOGGLE_SANDBOX_TOKEN\"");
    assert!(!lines.concat().contains("t0ken"), "{lines:?}");
}

#[test]
fn a_path_cannot_end_its_quotes() {
    let found = lines(Some("/a b/$(x)'; y"), "", ServiceKind::Documented);
    assert_eq!(found[1], r"export GITOGGLE_CA_FILE='/a b/$(x)'\''; y'");
}
