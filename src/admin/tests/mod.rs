//! Tests of the endpoints over TCP.

mod answers;
mod connections;
mod history;
mod orders;
mod page;
mod page_token;
mod probes;
mod webhooks;

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use super::{Admin, serve};

use super::state::{LONGEST_REQUEST, now};
use crate::daemon::{
    Control, DeploymentHistory, DocumentPaths, DriverCommand, Heartbeat, HoldKind, LastPass, Metrics,
    PassResult, Role, SourceStatus, Status, Success, ToggleState, ToggleStatus, Trigger,
};
use crate::model::{Hold, ServiceKind, Suspension, SuspensionScope};
use crate::transport::{Secret, SecretSource, SigningKey, hmac_sha256};

const TOKEN: &str = "admin-token";
const SECRET: &str = "webhook-secret";
const PUSH: &str = r#"{"ref":"refs/heads/main","repository":{"full_name":"acme/toggles"}}"#;

/// A server on a free port, and the other ends of its channels.
struct AdminServer {
    address: std::net::SocketAddr,
    status: watch::Sender<Status>,
    commands: mpsc::Receiver<DriverCommand>,
    trigger: Trigger,
    stop: Option<tokio::sync::oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

fn admin(status: watch::Receiver<Status>, control: Control) -> Admin {
    Admin {
        status,
        control,
        heartbeat: Heartbeat::new(Duration::from_secs(3600)),
        metrics: Metrics::new(),
        history: DeploymentHistory { state_dir: "/nonexistent".into(), kind: ServiceKind::Documented },
        stale_after: Duration::from_secs(300),
        admin_token: Some(SecretSource::Value(Secret::new(TOKEN.to_owned()))),
        webhook_secret: Some(SecretSource::Value(Secret::new(SECRET.to_owned()))),
        page_token: None,
        links: None,
        paths: DocumentPaths::default(),
    }
}

impl AdminServer {
    async fn new() -> Self {
        Self::with(|_| {}).await
    }

    async fn with(change: impl FnOnce(&mut Admin)) -> Self {
        let (status, receiver) = watch::channel(ready());
        let trigger = Trigger::default();
        let (control, commands) = Control::new(trigger.clone());
        let mut admin = admin(receiver, control);
        change(&mut admin);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = tokio::sync::oneshot::channel();
        let task = tokio::spawn(serve(listener, admin, async {
            let _ = stopped.await;
        }));
        Self { address, status, commands, trigger, stop: Some(stop), task }
    }

    /// Sends bytes unchanged and returns the complete response.
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
        let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
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
        let status = self.0.split(' ').nth(1).unwrap_or_else(|| panic!("no status: {:?}", self.0));
        status.parse().unwrap()
    }

    fn body(&self) -> &str {
        self.0.split_once("\r\n\r\n").unwrap().1
    }

    /// Returns the JSON of the first chunk, which the length of the chunk precedes.
    fn json(&self) -> serde_json::Value {
        serde_json::from_str(self.body().split("\r\n").nth(1).unwrap()).unwrap()
    }

    /// Returns the value of a header.
    fn header(&self, name: &str) -> Option<&str> {
        let head = self.0.split_once("\r\n\r\n").unwrap().0;
        let mut lines = head.lines().filter_map(|line| line.split_once(": "));
        lines.find(|(header, _)| *header == name).map(|(_, value)| value)
    }

    fn has(&self, header: &str) -> bool {
        self.0.split_once("\r\n\r\n").unwrap().0.lines().any(|line| line == header)
    }
}

fn ready() -> Status {
    let mut status = Status {
        service: Some("https://toggles.example.org".to_owned()),
        source: SourceStatus {
            repo: "https://git.example.org/acme/toggles.git".to_owned(),
            reference: Some("refs/heads/main".to_owned()),
            ..SourceStatus::default()
        },
        last_pass: Some(LastPass { at: now(), result: PassResult::Success, took_ms: 12 }),
        last_success: Some(Success { at: now(), when: tokio::time::Instant::now() }),
        role: Role::Writer,
        ..Status::default()
    };
    let hold = std::sync::Arc::new(Hold::new(HoldKind::Invalid, "the document is invalid"));
    status.set_toggles(vec![ToggleStatus::new("shop/prod/pay".parse().unwrap(), Some(hold))]);
    status
}

fn hex(body: &str) -> String {
    use hmac::Mac as _;
    let mac = hmac_sha256(SECRET.as_bytes()).chain_update(body).finalize().into_bytes();
    crate::model::hex(&mac)
}

/// The headers of a generic webhook with this body, sent `off` seconds from now.
fn standard(id: &str, off: i64, body: &str) -> [(&'static str, String); 3] {
    let at = now() + off;
    let key = SigningKey::new(&Secret::new(SECRET.to_owned())).unwrap();
    [
        ("webhook-id", id.to_owned()),
        ("webhook-timestamp", at.to_string()),
        ("webhook-signature", key.sign(id, at, body.as_bytes())),
    ]
}

fn borrowed<'a>(headers: &'a [(&'a str, String)]) -> Vec<(&'a str, &'a str)> {
    headers.iter().map(|(name, value)| (*name, value.as_str())).collect()
}
