//! The client against a real server: every row of the table of outcomes, over TLS.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::Bytes;

use super::*;
use crate::model::{Payload, ToggleId};
use crate::sandbox::{Certificate, Effect, Running, Sandbox, SandboxConfig, Script};
use crate::transport::{Network, Secret, SecretSource};

const TOKEN: &str = "api-0123456789";

struct World {
    sandbox: Running,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        Self::with(|config| config).await
    }

    async fn with(change: impl FnOnce(SandboxConfig) -> SandboxConfig) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let config = SandboxConfig {
            ca_file: Some(folder.path().join("ca.pem")),
            ..SandboxConfig::new(Secret::new(TOKEN.into()))
        };
        let sandbox = Sandbox::start(change(config)).await.unwrap();
        Self { sandbox, folder }
    }

    fn config(&self) -> ClientConfig {
        ClientConfig {
            base_url: self.sandbox.url().parse().unwrap(),
            token: SecretSource::Value(Secret::new(TOKEN.into())),
            network: Network {
                ca_file: Some(self.folder.path().join("ca.pem")),
                ..Network::default()
            },
            timeout: Duration::from_secs(20),
        }
    }

    fn client(&self) -> Client {
        Client::new(self.config()).unwrap()
    }

    async fn publish(&self, client: &Client) -> Outcome {
        client.publish(&id(), body("c"), &Session::default()).await
    }

    /// What comes of one publish to a server that does what `script` says.
    async fn scripted(&self, script: Script) -> Outcome {
        self.sandbox.script(None, script);
        self.publish(&self.client()).await
    }
}

fn id() -> ToggleId {
    "shop/prod/pay".parse().unwrap()
}

fn body(comment: &str) -> Bytes {
    let payload = Payload::from_json(
        r#"{"disabled":false,"content":{"rules":[],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"v","name":"n","description":""}]}}"#,
    );
    payload.unwrap().body(comment).into()
}

fn row(outcome: &Outcome) -> (&'static str, Certainty) {
    (outcome.as_str(), outcome.certainty())
}

#[tokio::test]
async fn a_publish_arrives_byte_for_byte_and_is_applied() {
    let world = World::new().await;
    let session = Session::default();
    assert_eq!(session.standing(), Standing::Unproven);
    let outcome = world.client().publish(&id(), body("Why\n\"so\""), &session).await;
    assert_eq!(outcome, Outcome::Applied { status: 200 });
    assert_eq!(session.standing(), Standing::Proven);
    let published = world.sandbox.published();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].body, body("Why\n\"so\""));
    assert_eq!(published[0].comment(), "Why\n\"so\"");
    assert_eq!(published[0].toggle, id());
}

#[tokio::test]
async fn scripted_answers_become_the_outcomes_of_the_table() {
    let world = World::new().await;
    let html = "<html><body>hi</body></html>";
    for (script, expected) in [
        (Script::answer(200, ""), ("applied", Certainty::Stored)),
        (Script::answer(204, ""), ("applied", Certainty::Stored)),
        (
            Script::answer(200, "{}").with_header("content-type", "text/html"),
            ("applied", Certainty::Stored),
        ),
        (Script::answer(200, html), ("misrouted", Certainty::Unknown)),
        (Script::answer(200, "{\"a\":"), ("misrouted", Certainty::Unknown)),
        (
            Script::answer(302, "").with_header("location", "https://elsewhere.invalid/"),
            ("misrouted", Certainty::Unknown),
        ),
        (
            Script::answer(307, "").with_header("location", "/api/sandbox/history"),
            ("misrouted", Certainty::Unknown),
        ),
        (Script::answer(404, html), ("misrouted", Certainty::Unknown)),
        (Script::answer(405, ""), ("misrouted", Certainty::NotStored)),
        (Script::answer(404, "{}"), ("misrouted", Certainty::NotStored)),
        (
            Script::answer(404, r#"{"code":"not_found"}"#),
            ("refused", Certainty::NotStored),
        ),
        (Script::answer(413, html), ("refused", Certainty::Unknown)),
        (Script::answer(422, "{}"), ("refused", Certainty::NotStored)),
        (Script::answer(401, ""), ("unauthorised", Certainty::NotStored)),
        (Script::answer(403, ""), ("forbidden", Certainty::NotStored)),
        (Script::answer(408, ""), ("busy", Certainty::NotStored)),
        (Script::answer(429, html), ("busy", Certainty::NotStored)),
        (Script::answer(500, "{}"), ("busy", Certainty::Unknown)),
        (Script::answer(502, html), ("busy", Certainty::Unknown)),
        (
            Script::answer(200, "{}").with_header("content-length", "1000"),
            ("lost", Certainty::Unknown),
        ),
        (Script::drop(Effect::Nothing), ("lost", Certainty::Unknown)),
        (Script::drop(Effect::Stored), ("lost", Certainty::Unknown)),
    ] {
        let shown = format!("{script:?}");
        assert_eq!(row(&world.scripted(script).await), expected, "{shown}");
    }
    assert_eq!(
        world.sandbox.requests().len(),
        22,
        "nothing is sent twice and no redirect is followed"
    );
    assert_eq!(
        world.sandbox.published().len(),
        1,
        "only the last was told to store"
    );
}

#[tokio::test]
async fn an_answer_may_be_large_and_compressed() {
    let world = World::new().await;
    let large = format!("{{\"content\":\"{}\"}}", "a".repeat(1 << 20));
    assert_eq!(
        row(&world.scripted(Script::answer(200, &large)).await).0,
        "applied"
    );
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, br#"{"code":"conflict","message":"zipped"}"#).unwrap();
    let mut script = Script::answer(409, "").with_header("content-encoding", "gzip");
    if let crate::sandbox::Reply::Answer { body, .. } = &mut script.reply {
        *body = gzip.finish().unwrap();
    }
    let outcome = world.scripted(script).await;
    assert_eq!(outcome.to_string(), "the service answered 409 `conflict`: zipped");
}

#[tokio::test]
async fn a_wish_to_wait_is_read() {
    let world = World::new().await;
    let outcome = world
        .scripted(Script::answer(429, "").with_header("retry-after", "7"))
        .await;
    assert!(matches!(outcome, Outcome::Busy { retry_after: Some(wait), .. } if wait.as_secs() == 7));
}

#[tokio::test]
async fn after_a_success_a_404_is_about_the_toggle() {
    let world = World::new().await;
    let (client, session) = (world.client(), Session::default());
    client.publish(&id(), body("c"), &session).await;
    for (script, word) in [
        (Script::answer(403, ""), "forbidden"),
        (Script::answer(404, ""), "refused"),
        (Script::answer(401, ""), "unauthorised"),
    ] {
        world.sandbox.script(Some(&id()), script);
        assert_eq!(client.publish(&id(), body("c"), &session).await.as_str(), word);
    }
}

#[tokio::test]
async fn silence_is_lost_and_an_unfinished_connect_is_not() {
    let world = World::new().await;
    let client = |config| Client::new(config).unwrap();
    let soon = Duration::from_secs(2);
    let config = ClientConfig {
        timeout: soon,
        ..world.config()
    };
    let connected = client(config);
    assert_eq!(world.publish(&connected).await.as_str(), "applied");
    world.sandbox.script(None, Script::silence(Effect::Nothing));
    let outcome = world.publish(&connected).await;
    assert_eq!(row(&outcome), ("lost", Certainty::Unknown), "{outcome}");

    // It listens, so that TCP connects, and never says a word of TLS.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let config = ClientConfig {
        timeout: soon,
        ..at(&world, mute.local_addr().unwrap())
    };
    let outcome = world.publish(&client(config)).await;
    assert_eq!(row(&outcome), ("busy", Certainty::NotStored), "{outcome}");
    assert!(
        outcome.to_string().contains("no connection was made in time"),
        "{outcome}"
    );
}

fn at(world: &World, address: SocketAddr) -> ClientConfig {
    ClientConfig {
        base_url: format!("https://{address}").parse().unwrap(),
        ..world.config()
    }
}

#[tokio::test]
async fn who_is_not_there_is_busy_and_nothing_was_stored() {
    let world = World::new().await;
    let closed = {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let outcome = world.publish(&Client::new(at(&world, closed)).unwrap()).await;
    assert_eq!(row(&outcome), ("busy", Certainty::NotStored), "{outcome}");
    assert!(
        outcome.to_string().to_lowercase().contains("connection refused"),
        "{outcome}"
    );

    let config = ClientConfig {
        base_url: "https://toggles.invalid".parse().unwrap(),
        ..world.config()
    };
    let outcome = world.publish(&Client::new(config).unwrap()).await;
    assert_eq!(row(&outcome), ("busy", Certainty::NotStored), "{outcome}");
    assert!(outcome.to_string().contains("cannot be looked up"), "{outcome}");
}

#[tokio::test]
async fn a_certificate_that_is_not_accepted_is_untrusted_and_nothing_was_sent() {
    let certificate = |certificate| {
        move |config| SandboxConfig {
            certificate,
            ..config
        }
    };
    for (kind, words) in [
        (Certificate::Expired, "has expired"),
        (Certificate::OtherName, "is for another name"),
    ] {
        let world = World::with(certificate(kind)).await;
        let outcome = world.publish(&world.client()).await;
        assert_eq!(row(&outcome), ("untrusted", Certainty::NotStored), "{outcome}");
        assert!(outcome.to_string().contains(words), "{outcome}");
        assert!(world.sandbox.requests().is_empty());
    }
    let (world, other) = (World::new().await, World::new().await);
    let outcome = world
        .publish(&Client::new(at(&world, other.sandbox.address())).unwrap())
        .await;
    assert_eq!(row(&outcome), ("untrusted", Certainty::NotStored), "{outcome}");
    assert!(outcome.to_string().contains("`--ca-file`"), "{outcome}");
}

#[tokio::test]
async fn a_rotated_token_is_found_by_reading_its_file_again() {
    let world = World::new().await;
    let path = world.folder.path().join("token");
    std::fs::write(&path, "api-old\n").unwrap();
    let client = Client::new(ClientConfig {
        token: SecretSource::File(path.clone()),
        ..world.config()
    })
    .unwrap();
    assert_eq!(world.publish(&client).await.as_str(), "forbidden");
    assert_eq!(client.reload_token().unwrap(), TokenChange::Same);
    std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
    assert_eq!(client.reload_token().unwrap(), TokenChange::Changed);
    assert_eq!(client.token_generation(), 1);
    assert_eq!(world.publish(&client).await.as_str(), "applied");
    std::fs::write(&path, "api\u{7f}\n").unwrap();
    assert!(matches!(client.reload_token(), Err(ClientError::Unsendable)));
    assert_eq!(
        world.publish(&client).await.as_str(),
        "applied",
        "the last good one stays"
    );
}

#[tokio::test]
async fn the_token_is_never_shown_even_if_the_service_repeats_it() {
    let world = World::new().await;
    let client = world.client();
    let echo = format!(r#"{{"code":"{TOKEN}","message":"bad token {TOKEN}"}}"#);
    let mut shown = vec![format!("{client:?}"), format!("{:?}", world.config())];
    for script in [
        Script::answer(400, &echo),
        Script::answer(401, &echo),
        Script::answer(500, &echo),
        Script::answer(200, &format!("<html>{TOKEN}")),
        Script::answer(302, "").with_header("location", &format!("https://x.invalid/?token={TOKEN}")),
    ] {
        let outcome = world.scripted(script).await;
        shown.extend([outcome.to_string(), format!("{outcome:?}")]);
    }
    for text in shown {
        assert!(!text.contains(TOKEN), "{text}");
    }
}
