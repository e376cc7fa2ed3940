//! The endpoints, spoken to over TCP as any client would.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::{Admin, serve};
use crate::model::Suspension;
use crate::notice::{SigningKey, hmac_sha256};
use crate::reconcile::{
    Command, Control, Heartbeat, LastPass, Metrics, PassResult, Role, SourceStatus, Status, ToggleState,
    ToggleStatus, Trigger,
};
use crate::transport::{Secret, SecretSource};

const TOKEN: &str = "admin-token";
const SECRET: &str = "webhook-secret";
const PUSH: &str = r#"{"ref":"refs/heads/main","repository":{"full_name":"acme/toggles"}}"#;

/// A server on a free port, and the other ends of what it was given.
struct Face {
    address: std::net::SocketAddr,
    status: watch::Sender<Status>,
    commands: mpsc::Receiver<Command>,
    trigger: Trigger,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    server: JoinHandle<std::io::Result<()>>,
}

impl Face {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Admin)) -> Self {
        let (status, receiver) = watch::channel(ready());
        let trigger = Trigger::default();
        let (control, commands) = Control::new(trigger.clone());
        let mut admin = Admin {
            status: receiver,
            control,
            heartbeat: Heartbeat::new(Duration::from_secs(3600)),
            metrics: Metrics::new(),
            stale_after: Duration::from_secs(300),
            admin_token: Some(SecretSource::Value(Secret::new(TOKEN.to_owned()))),
            webhook_secret: Some(SecretSource::Value(Secret::new(SECRET.to_owned()))),
            repo: Some("https://git.example.org/acme/toggles.git".parse().unwrap()),
        };
        change(&mut admin);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let server = tokio::spawn(serve(listener, admin, async {
            let _ = stopped.await;
        }));
        Self {
            address,
            status,
            commands,
            trigger,
            stop: Some(stop),
            server,
        }
    }

    /// Sends bytes as they are and returns the whole answer.
    async fn raw(&self, request: impl AsRef<[u8]>) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        stream.write_all(request.as_ref()).await.unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await.unwrap();
        Answer(String::from_utf8(answer).unwrap())
    }

    async fn get(&self, path: &str) -> Answer {
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: x\r\n\r\n")).await
    }

    async fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let headers: String = headers
            .iter()
            .map(|(name, value)| format!("{name}: {value}\r\n"))
            .collect();
        let length = body.len();
        self.raw(format!(
            "POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n{headers}\r\n{body}"
        ))
        .await
    }

    async fn order(&self, path: &str, body: &str) -> Answer {
        let authorization = format!("Bearer {TOKEN}");
        self.post(path, &[("Authorization", &authorization)], body).await
    }

    async fn github(&self, extra: &[(&str, &str)], body: &str) -> Answer {
        let signature = format!("sha256={}", hex(body));
        let mut headers = vec![("X-Hub-Signature-256", signature.as_str())];
        headers.extend(extra);
        self.post("/webhook/github", &headers, body).await
    }

    /// Returns whether the trigger was fired since the last time this was asked.
    async fn was_fired(&self) -> bool {
        tokio::select! {
            biased;
            () = self.trigger.fired() => true,
            () = std::future::ready(()) => false,
        }
    }
}

struct Answer(String);

impl Answer {
    fn status(&self) -> u16 {
        let status = self
            .0
            .split(' ')
            .nth(1)
            .unwrap_or_else(|| panic!("no status: {:?}", self.0));
        status.parse().unwrap()
    }

    fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").unwrap().1
    }

    fn has(&self, header: &str) -> bool {
        self.0
            .split_once("\r\n\r\n")
            .unwrap()
            .0
            .lines()
            .any(|line| line == header)
    }
}

fn ready() -> Status {
    Status {
        source: SourceStatus {
            repo: "https://git.example.org/acme/toggles.git".to_owned(),
            reference: Some("refs/heads/main".to_owned()),
            revision: None,
        },
        last_pass: Some(LastPass {
            at: super::now(),
            result: PassResult::Success,
            took_ms: 12,
        }),
        last_success: Some(super::now()),
        role: Role::Writer,
        suspended: None,
        toggles: Arc::new(vec![ToggleStatus {
            toggle: "shop/prod/pay".parse().unwrap(),
            state: ToggleState::Held,
            reason: Some("invalid".to_owned()),
            revision: None,
        }]),
    }
}

fn hex(body: &str) -> String {
    use hmac::Mac as _;
    let mac = hmac_sha256(SECRET.as_bytes())
        .chain_update(body)
        .finalize()
        .into_bytes();
    mac.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The headers of a generic webhook with this body, sent `off` seconds from now.
fn standard(id: &str, off: i64, body: &str) -> [(&'static str, String); 3] {
    let at = super::now() + off;
    let key = SigningKey::new(&Secret::new(SECRET.to_owned())).unwrap();
    [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", key.sign(id, at, body.as_bytes())),
    ]
}

fn borrowed<'a>(headers: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    headers
        .iter()
        .map(|(name, value)| (*name, value.as_str()))
        .collect()
}

#[tokio::test]
async fn what_is_not_there_is_404_and_another_method_405() {
    let face = Face::new().await;
    for (path, status) in [
        ("/", 200),
        ("/healthz", 200),
        ("/readyz", 200),
        ("/metrics", 200),
        ("/api/status", 200),
    ] {
        assert_eq!(face.get(path).await.status(), status, "{path}");
        assert_eq!(face.post(path, &[], "").await.status(), 405, "{path}");
    }
    for path in ["/reconcile", "/suspend", "/resume", "/webhook/github"] {
        assert_eq!(face.get(path).await.status(), 405, "{path}");
    }
    for path in [
        "/nothing",
        "/webhook/",
        "/webhook/bitbucket",
        "/api/status/",
        "//",
        "/%2e%2e/",
    ] {
        assert_eq!(face.get(path).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn health_is_about_the_loop_and_readiness_about_the_world() {
    let face = Face::new().await;
    assert_eq!(face.get("/readyz").await.body(), "ready\n");
    face.status.send_modify(|status| {
        status.last_pass.as_mut().unwrap().result = PassResult::Failed("401\n::error".to_owned());
    });
    let answer = face.get("/readyz").await;
    assert_eq!(
        (answer.status(), answer.body()),
        (503, "the last pass failed: 401\\n::error\n")
    );
    assert_eq!(face.get("/healthz").await.body(), "ok\n");
    face.status.send_modify(|status| {
        *status = ready();
        status.last_success = Some(super::now() - 1000);
    });
    let answer = face.get("/readyz").await;
    assert_eq!(answer.status(), 503);
    assert!(answer.body().starts_with("stale: "), "{}", answer.body());

    let stopped = Face::with(|admin| admin.heartbeat = Heartbeat::new(Duration::ZERO)).await;
    let answer = stopped.get("/healthz").await;
    assert_eq!(answer.status(), 503);
    assert!(
        answer.body().starts_with("the loop has not turned"),
        "{}",
        answer.body()
    );
}

#[tokio::test]
async fn metrics_come_in_the_format_that_is_asked_for() {
    let face = Face::new().await;
    let classic = face.get("/metrics").await;
    assert!(
        classic.has("content-type: text/plain; version=0.0.4; charset=utf-8"),
        "{}",
        classic.0
    );
    assert!(
        classic.body().contains("\ngitoggle_suspended 0\n"),
        "{}",
        classic.0
    );
    let open = "GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: application/openmetrics-text;version=1.0.0,*/*;q=0.1\r\n\r\n";
    let open = face.raw(open).await;
    assert!(
        open.has("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
        "{}",
        open.0
    );
    assert!(open.body().ends_with("# EOF\n"), "{}", open.0);
}

#[tokio::test]
async fn the_status_is_the_contracts_json() {
    let face = Face::new().await;
    face.status
        .send_modify(|status| status.last_pass.as_mut().unwrap().at = 5);
    let answer = face.get("/api/status").await;
    assert!(answer.has("content-type: application/json") && answer.has("cache-control: no-store"));
    assert_eq!(
        serde_json::from_str::<serde_json::Value>(answer.body()).unwrap(),
        serde_json::json!({
            "ready": true,
            "reason": null,
            "source": {
                "repo": "https://git.example.org/acme/toggles.git",
                "ref": "refs/heads/main",
                "revision": null,
            },
            "last_pass": { "at": 5, "result": "success", "took_ms": 12 },
            "suspended": null,
            "toggles": [{ "toggle": "shop/prod/pay", "state": "held", "reason": "invalid", "revision": null }],
        })
    );
}

#[tokio::test]
async fn the_status_is_never_an_old_one() {
    let face = Face::new().await;
    assert!(
        face.get("/api/status")
            .await
            .body()
            .contains(r#""suspended":null"#)
    );
    face.status.send_modify(|status| {
        status.suspended = Some(Suspension {
            reason: Some("freeze".to_owned()),
            until: None,
        });
    });
    let suspended = r#""suspended":{"reason":"freeze","until":null}"#;
    let answer = face.get("/api/status").await;
    assert!(answer.body().contains(suspended), "{}", answer.0);
}

#[tokio::test]
async fn the_page_runs_nothing() {
    let answer = Face::new().await.get("/").await;
    assert!(answer.has("content-type: text/html; charset=utf-8"));
    assert!(
        answer.0.contains("content-security-policy: default-src 'none'"),
        "{}",
        answer.0
    );
    assert!(
        answer.body().contains("<code>shop/prod/pay</code>"),
        "{}",
        answer.0
    );
}

#[tokio::test]
async fn orders_need_the_admin_token() {
    let face = Face::new().await;
    let without = Face::with(|admin| admin.admin_token = None).await;
    for path in ["/reconcile", "/suspend", "/resume"] {
        for headers in [
            &[][..],
            &[("Authorization", "")],
            &[("Authorization", "admin-token")],
            &[("Authorization", "Bearer ")],
            &[("Authorization", "Bearer admin-toke")],
            &[("Authorization", "Bearer admin-tokens")],
            &[("Authorization", "Basic YWRtaW4tdG9rZW4=")],
            &[("Cookie", "token=admin-token")],
        ] {
            let answer = face.post(path, headers, "").await;
            assert_eq!(answer.status(), 401, "{path} {headers:?}");
            assert!(answer.has("www-authenticate: Bearer"), "{}", answer.0);
        }
        assert_eq!(without.order(path, "").await.status(), 403, "{path}");
    }
    assert!(!face.was_fired().await && face.commands.is_empty());
}

#[tokio::test]
async fn the_admin_token_can_be_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("token");
    let face = Face::with(|admin| admin.admin_token = Some(SecretSource::File(path.clone()))).await;
    assert_eq!(face.order("/reconcile", "").await.status(), 503);
    std::fs::write(&path, "another\n").unwrap();
    assert_eq!(face.order("/reconcile", "").await.status(), 401);
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    assert_eq!(face.order("/reconcile", "").await.status(), 202);
}

#[tokio::test]
async fn reconcile_fires_the_trigger_and_retries_what_is_parked() {
    let mut face = Face::new().await;
    assert_eq!(face.order("/reconcile", "").await.status(), 202);
    assert!(face.was_fired().await);
    assert!(matches!(face.commands.try_recv(), Ok(Command::RetryParked)));
}

#[tokio::test]
async fn suspend_and_resume_answer_when_it_is_recorded() {
    let mut face = Face::new().await;
    let mut commands = std::mem::replace(&mut face.commands, mpsc::channel(1).1);
    let driver = tokio::spawn(async move {
        let Some(Command::Suspend(suspension, reply)) = commands.recv().await else {
            panic!("no suspension");
        };
        reply.send(Ok(())).unwrap();
        let Some(Command::Resume(reply)) = commands.recv().await else {
            panic!("no resumption");
        };
        reply.send(Err("the disk is full".to_owned())).unwrap();
        suspension
    });
    for (body, status) in [
        (r#"{"for":"soon"}"#, 400),
        (r#"{"untl":"2h"}"#, 400),
        ("nonsense", 400),
    ] {
        let answer = face.order("/suspend", body).await;
        assert_eq!(answer.status(), status, "{body}");
        assert!(answer.body().starts_with(r#"{"error":""#), "{}", answer.body());
    }
    let before = super::now();
    assert_eq!(
        face.order("/suspend", r#"{"reason":"freeze","for":"2h"}"#)
            .await
            .status(),
        200
    );
    let answer = face.order("/resume", "").await;
    assert_eq!(
        (answer.status(), answer.body()),
        (500, "{\"error\":\"the disk is full\"}\n")
    );
    let Suspension { reason, until } = driver.await.unwrap();
    assert_eq!(reason.as_deref(), Some("freeze"));
    assert!((before + 7200..before + 7260).contains(&until.unwrap()));
    assert_eq!(
        face.order("/resume", "").await.status(),
        503,
        "the driver has ended"
    );
}

#[tokio::test]
async fn an_authentic_push_of_every_host_fires_the_trigger() {
    let face = Face::new().await;
    let hex = hex(PUSH);
    let github = format!("sha256={hex}");
    let generic = standard("msg_1", 0, PUSH);
    let generic = borrowed(&generic);
    let form = format!(
        "payload={}",
        url::form_urlencoded::byte_serialize(PUSH.as_bytes()).collect::<String>()
    );
    let form_signature = format!("sha256={}", self::hex(&form));
    for (path, headers, body) in [
        (
            "/webhook/github",
            &[("X-Hub-Signature-256", &*github), ("X-GitHub-Event", "push")][..],
            PUSH,
        ),
        (
            "/webhook/github",
            &[
                ("X-Hub-Signature-256", &*form_signature),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ],
            &*form,
        ),
        (
            "/webhook/gitlab",
            &[("X-Gitlab-Token", SECRET), ("X-Gitlab-Event", "Push Hook")],
            PUSH,
        ),
        (
            "/webhook/gitea",
            &[("X-Gitea-Signature", &*hex), ("X-Gitea-Event", "push")],
            PUSH,
        ),
        ("/webhook/generic", &generic, PUSH),
    ] {
        let answer = face.post(path, headers, body).await;
        assert_eq!(answer.status(), 202, "{path} {}", answer.0);
        assert!(face.was_fired().await, "{path}");
    }
}

#[tokio::test]
async fn a_generic_webhook_may_say_nothing() {
    let face = Face::new().await;
    let headers = standard("msg_1", 0, "");
    assert_eq!(
        face.post("/webhook/generic", &borrowed(&headers), "")
            .await
            .status(),
        202
    );
    assert!(face.was_fired().await);
}

#[tokio::test]
async fn a_forged_webhook_is_401_and_says_no_more() {
    let face = Face::new().await;
    let wrong = format!("sha256={}", hex("something else"));
    let late = standard("msg_1", -400, PUSH);
    let early = standard("msg_1", 400, PUSH);
    let other = standard("msg_1", 0, "{}");
    for (path, headers) in [
        ("/webhook/github", vec![]),
        ("/webhook/github", vec![("X-Hub-Signature-256", &*wrong)]),
        ("/webhook/github", vec![("X-Hub-Signature-256", "sha256=")]),
        ("/webhook/github", vec![("X-Gitlab-Token", SECRET)]),
        ("/webhook/gitlab", vec![("X-Gitlab-Token", "webhook-secre")]),
        ("/webhook/gitlab", vec![]),
        ("/webhook/gitea", vec![("X-Gitea-Signature", &wrong[7..])]),
        ("/webhook/generic", vec![]),
        ("/webhook/generic", borrowed(&late)),
        ("/webhook/generic", borrowed(&early)),
        ("/webhook/generic", borrowed(&other)),
    ] {
        let answer = face.post(path, &headers, PUSH).await;
        assert_eq!(
            (answer.status(), answer.body()),
            (401, "{\"error\":\"this webhook is not authentic\"}\n"),
            "{path} {headers:?}"
        );
    }
    assert_eq!(face.github(&[], "not json").await.status(), 400);
    assert_eq!(face.github(&[], "[1]").await.status(), 400);
    assert!(!face.was_fired().await);
}

#[tokio::test]
async fn a_webhook_over_one_mebibyte_is_413_however_it_is_framed() {
    let face = Face::new().await;
    let most = format!("{PUSH}{}", " ".repeat((1 << 20) - PUSH.len()));
    assert_eq!(face.github(&[], &most).await.status(), 202);
    assert!(face.was_fired().await);
    let over = format!("{most} ");
    assert_eq!(face.github(&[], &over).await.status(), 413);
    let length = over.len();
    let head = format!(
        "POST /webhook/github HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256={}\r\n",
        hex(&over)
    );
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{over}\r\n0\r\n\r\n");
    assert_eq!(face.raw(chunked).await.status(), 413);
    let patient = format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
    assert_eq!(face.raw(patient).await.status(), 413);
    assert!(!face.was_fired().await);
}

#[tokio::test]
async fn a_webhook_about_something_else_is_200_and_nothing() {
    let face = Face::new().await;
    let elsewhere = r#"{"ref":"refs/heads/main","repository":{"full_name":"acme/other"}}"#;
    let branch = r#"{"ref":"refs/heads/feature","repository":{"full_name":"acme/toggles"}}"#;
    for (extra, body) in [
        (&[][..], elsewhere),
        (&[], branch),
        (
            &[("X-GitHub-Event", "ping")],
            r#"{"zen":"Keep it logically awesome."}"#,
        ),
        (&[("X-GitHub-Event", "pull_request")], PUSH),
    ] {
        let answer = face.github(extra, body).await;
        assert_eq!(answer.status(), 200, "{body} {}", answer.0);
    }
    let job = r#"{"object_kind":"build","ref":"main","project":{"path_with_namespace":"acme/toggles"}}"#;
    assert_eq!(
        face.post("/webhook/gitlab", &[("X-Gitlab-Token", SECRET)], job)
            .await
            .status(),
        200
    );
    assert!(!face.was_fired().await);
}

#[tokio::test]
async fn a_repeated_delivery_is_200_and_nothing() {
    let face = Face::new().await;
    let signature = hex(PUSH);
    let github = format!("sha256={signature}");
    let generic = standard("msg_1", 0, PUSH);
    for (path, headers) in [
        (
            "/webhook/github",
            vec![("X-Hub-Signature-256", &*github), ("X-GitHub-Delivery", "1")],
        ),
        (
            "/webhook/gitlab",
            vec![("X-Gitlab-Token", SECRET), ("X-Gitlab-Event-UUID", "1")],
        ),
        (
            "/webhook/gitea",
            vec![("X-Gitea-Signature", &*signature), ("X-Gitea-Delivery", "1")],
        ),
        ("/webhook/generic", borrowed(&generic)),
    ] {
        assert_eq!(face.post(path, &headers, PUSH).await.status(), 202, "{path}");
        assert!(face.was_fired().await, "{path}");
        assert_eq!(face.post(path, &headers, PUSH).await.status(), 200, "{path}");
        assert!(!face.was_fired().await, "{path}");
    }
    let again = [("X-GitHub-Delivery", "2")];
    assert_eq!(face.github(&again, PUSH).await.status(), 202);
}

#[tokio::test]
async fn without_a_webhook_secret_there_are_no_webhooks() {
    let face = Face::with(|admin| admin.webhook_secret = None).await;
    for path in [
        "/webhook/github",
        "/webhook/gitlab",
        "/webhook/gitea",
        "/webhook/generic",
    ] {
        assert_eq!(
            face.post(path, &[("X-Gitlab-Token", SECRET)], PUSH)
                .await
                .status(),
            404,
            "{path}"
        );
    }
}

#[tokio::test]
async fn the_webhook_secret_can_be_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let face = Face::with(|admin| admin.webhook_secret = Some(SecretSource::File(path.clone()))).await;
    assert_eq!(face.github(&[], PUSH).await.status(), 503);
    std::fs::write(&path, "another").unwrap();
    assert_eq!(face.github(&[], PUSH).await.status(), 401);
    std::fs::write(&path, SECRET).unwrap();
    assert_eq!(face.github(&[], PUSH).await.status(), 202);
}

#[tokio::test(start_paused = true)]
async fn too_many_webhooks_are_429_until_time_passes() {
    let face = Face::new().await;
    let headers = [("X-Gitlab-Token", "wrong")];
    let mut statuses = Vec::new();
    // The clock stands still while there is work, and may move while everybody waits for the network.
    while statuses.last() != Some(&429) && statuses.len() < 5000 {
        statuses.push(face.post("/webhook/gitlab", &headers, "").await.status());
    }
    assert!(statuses.len() > 300, "{}", statuses.len());
    assert_eq!(statuses.last(), Some(&429));
    assert_eq!(face.get("/healthz").await.status(), 200);
    tokio::time::advance(Duration::from_secs(10)).await;
    assert_eq!(face.post("/webhook/gitlab", &headers, "").await.status(), 401);
}

#[tokio::test(start_paused = true)]
async fn silent_clients_are_hung_up_on_and_others_get_their_place() {
    let face = Face::new().await;
    let mut silent = Vec::new();
    for number in 0..64 {
        let mut stream = TcpStream::connect(face.address).await.unwrap();
        if number % 2 == 0 {
            stream
                .write_all(b"POST /webhook/github HTTP/1.1\r\nHost: x\r\nContent-Le")
                .await
                .unwrap();
        }
        silent.push(stream);
    }
    let started = tokio::time::Instant::now();
    assert_eq!(face.get("/healthz").await.status(), 200);
    assert!(
        started.elapsed() >= Duration::from_secs(29),
        "{:?}",
        started.elapsed()
    );
    for stream in &mut silent {
        let mut rest = Vec::new();
        // A reset is as good an end as a close.
        let _ = stream.read_to_end(&mut rest).await;
        assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 4"), "{rest:?}");
    }
}

#[tokio::test]
async fn one_connection_carries_one_request_of_http_1() {
    let face = Face::new().await;
    let twice = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n".repeat(2);
    let answer = face.raw(twice).await;
    assert_eq!(answer.0.matches("HTTP/1.1 200").count(), 1, "{}", answer.0);
    assert!(answer.has("connection: close"), "{}", answer.0);
}

#[tokio::test]
async fn http_2_is_refused() {
    let face = Face::new().await;
    let mut stream = TcpStream::connect(face.address).await.unwrap();
    // The preface, empty settings, and the headers of `GET / HTTP/2` for the authority `x`.
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let get = [0, 0, 6, 1, 5, 0, 0, 0, 1, 0x82, 0x86, 0x84, 0x41, 1, b'x'];
    let request = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", &settings[..], &get].concat();
    stream.write_all(&request).await.unwrap();
    let mut answer = Vec::new();
    while !String::from_utf8_lossy(&answer).contains("HTTP/1.1 is spoken here") {
        assert!(stream.read_buf(&mut answer).await.unwrap() > 0, "{answer:?}");
    }
}

#[tokio::test]
async fn the_server_ends_when_asked_even_while_clients_are_silent() {
    let mut face = Face::new().await;
    let _silent = TcpStream::connect(face.address).await.unwrap();
    assert_eq!(face.get("/healthz").await.status(), 200);
    face.stop.take().unwrap().send(()).unwrap();
    face.server.await.unwrap().unwrap();
    assert!(TcpStream::connect(face.address).await.is_err());
}
