//! Webhooks of the Git hosts.

use axum::body::Body;
use axum::extract::{Request, State};

use super::super::signature::WebhookKind;
use super::super::state::AdminState;
use super::super::webhook;
use super::*;
use crate::model::{Forge, WebhookProof};

#[tokio::test]
async fn an_authentic_push_of_every_host_fires_the_trigger() {
    let server = AdminServer::new().await;
    for forge in Forge::ALL {
        let path = format!("/webhook/{}", forge.as_str());
        let header = match forge.site().webhook {
            WebhookProof::Secret { header } => (header, SECRET.to_owned()),
            WebhookProof::Signature { header, prefix } => (header, format!("{prefix}{}", hex(PUSH))),
        };
        let answer = server.post(&path, &borrowed(&[header]), PUSH).await;
        assert_eq!(answer.status(), 202, "{path} {}", answer.0);
        assert!(server.was_fired().await, "{path}");
    }
    let generic = standard("msg_1", 0, PUSH);
    let generic = borrowed(&generic);
    let form =
        format!("payload={}", url::form_urlencoded::byte_serialize(PUSH.as_bytes()).collect::<String>());
    let form_signature = format!("sha256={}", hex(&form));
    for (path, headers, body) in [
        (
            "/webhook/github",
            &[
                ("X-Hub-Signature-256", &*form_signature),
                ("Content-Type", "application/x-www-form-urlencoded"),
            ][..],
            &*form,
        ),
        ("/webhook/generic", &generic, PUSH),
    ] {
        let answer = server.post(path, headers, body).await;
        assert_eq!(answer.status(), 202, "{path} {}", answer.0);
        assert!(server.was_fired().await, "{path}");
    }
}

#[tokio::test]
async fn a_generic_webhook_may_be_empty() {
    let server = AdminServer::new().await;
    let headers = standard("msg_1", 0, "");
    assert_eq!(server.post("/webhook/generic", &borrowed(&headers), "").await.status(), 202);
    assert!(server.was_fired().await);
}

#[tokio::test]
async fn a_forged_webhook_is_401_without_a_reason() {
    let server = AdminServer::new().await;
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
        let answer = server.post(path, &headers, PUSH).await;
        assert_eq!(
            (answer.status(), answer.body()),
            (401, "{\"error\":\"this webhook is not authentic\"}\n"),
            "{path} {headers:?}"
        );
    }
    assert!(!server.was_fired().await);
}

#[tokio::test]
async fn a_large_webhook_is_a_trigger_if_it_is_authentic_however_it_is_framed() {
    let server = AdminServer::new().await;
    // Not even JSON: a webhook is not parsed.
    let large = format!("{PUSH}{}", "x".repeat(1 << 20));
    assert_eq!(server.github(&[], &large).await.status(), 202);
    assert!(server.was_fired().await);
    let chunked = |signature: &str| {
        format!(
            "POST /webhook/github HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256={signature}\r\n\
             Transfer-Encoding: chunked\r\n\r\n{:x}\r\n{large}\r\n0\r\n\r\n",
            large.len()
        )
    };
    assert_eq!(server.raw(chunked(&hex(&large))).await.status(), 202);
    assert!(server.was_fired().await);
    assert_eq!(server.raw(chunked(&hex(PUSH))).await.status(), 401);
    assert!(!server.was_fired().await);
}

#[tokio::test]
async fn a_webhook_over_32_mebibytes_is_413_however_it_is_framed() {
    let server = AdminServer::new().await;
    let over = "x".repeat((32 << 20) + 1);
    assert_eq!(server.github(&[], &over).await.status(), 413);
    let length = over.len();
    let head =
        format!("POST /webhook/github HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: sha256={}\r\n", hex(&over));
    let chunked = format!("{head}Transfer-Encoding: chunked\r\n\r\n{length:x}\r\n{over}\r\n0\r\n\r\n");
    assert_eq!(server.raw(chunked).await.status(), 413);
    let patient = format!("{head}Expect: 100-continue\r\nContent-Length: {length}\r\n\r\n");
    assert_eq!(server.raw(patient).await.status(), 413);
    assert!(!server.was_fired().await);
    let order = "x".repeat((1 << 20) + 1);
    assert_eq!(server.order("/suspend", &order).await.status(), 413);
}

#[tokio::test(start_paused = true)]
async fn a_webhook_that_does_not_arrive_in_time_is_recorded() {
    let server = AdminServer::new().await;
    let head = "POST /webhook/gitlab HTTP/1.1\r\nHost: x\r\nX-Gitlab-Token: webhook-secret\r\nContent-Length: 99\r\n\r\n{";
    assert_eq!(server.raw(head).await.status(), 408);
    let status = server.get("/api/status").await;
    assert!(status.body().contains("the body did not arrive in time"), "{}", status.0);
    let ready = server.get("/readyz").await;
    let line = ready
        .body()
        .lines()
        .find(|line| line.starts_with("webhooks: 1 refused since the start, the last at "));
    assert!(
        line.is_some_and(|line| line.contains("check the network between the Git host and this daemon")),
        "{}",
        ready.0
    );
    let page = server.get("/").await;
    assert!(page.body().contains("check the network between the Git host and this daemon"), "{}", page.0);
    let metrics = server.get("/metrics").await;
    assert!(metrics.body().contains("gitoggle_webhooks_total{result=\"refused\"} 1"), "{}", metrics.0);
    assert!(!server.was_fired().await);
}

/// Deliveries of a running Gitea, byte for byte.
fn recorded() -> serde_json::Value {
    serde_json::from_str(include_str!("../../../tests/it/data/gitea-deliveries.json")).unwrap()
}

#[tokio::test]
async fn recorded_deliveries_of_gitea_fire_whatever_they_are_about_in_each_content_type() {
    let recorded = recorded();
    let secret = recorded["secret"].as_str().unwrap();
    let server = AdminServer::with(|admin| {
        admin.webhook_secret = Some(SecretSource::Value(Secret::new(secret.to_owned())));
    })
    .await;
    for delivery in recorded["deliveries"].as_array().unwrap() {
        let headers: Vec<(&str, &str)> = delivery["headers"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
            .collect();
        let body = delivery["body"].as_str().unwrap();
        // A hook of GitHub's type gets along with Gitea's content types as well.
        for path in ["/webhook/gitea", "/webhook/github"] {
            let answer = server.post(path, &headers, body).await;
            assert_eq!(answer.status(), 202, "{path} {}: {}", delivery["case"], answer.0);
            assert!(server.was_fired().await, "{path} {}", delivery["case"]);
        }
        let forged = body.replacen("rec1795312102", "rec1795312103", 1);
        assert_eq!(server.post("/webhook/gitea", &headers, &forged).await.status(), 401);
    }
    assert!(!server.was_fired().await);
}

#[tokio::test]
async fn the_status_contains_the_outcomes_of_webhooks() {
    let server = AdminServer::new().await;
    let status = |answer: &Answer| -> serde_json::Value { answer.json() };
    let before = status(&server.get("/api/status").await);
    assert_eq!(before["webhooks"], serde_json::json!({ "accepted": null, "refused": [] }));
    server.github(&[], PUSH).await;
    for _ in 0..2 {
        server.post("/webhook/gitlab", &[("X-Gitlab-Token", "wrong")], PUSH).await;
    }
    let after = status(&server.get("/api/status").await);
    let webhooks = &after["webhooks"];
    assert_eq!(webhooks["accepted"]["count"], 1, "{webhooks}");
    let at = webhooks["accepted"]["last_at"].as_str().unwrap();
    assert!(at.parse::<jiff::Timestamp>().is_ok(), "{at}");
    let refused = &webhooks["refused"][0];
    assert_eq!(refused["reason"], "the signature does not match", "{webhooks}");
    assert_eq!(refused["kind"], "gitlab", "{webhooks}");
    assert_eq!(refused["count"], 2, "{webhooks}");
    assert_eq!(after["ready"], true, "{after}");
    let closed = AdminServer::with(|admin| admin.webhook_secret = None).await;
    let closed = status(&closed.get("/api/status").await);
    assert_eq!(closed["webhooks"], serde_json::Value::Null);
}

#[tokio::test]
async fn an_authentic_webhook_fires_whatever_it_is_about_and_however_often_it_is_delivered() {
    let server = AdminServer::new().await;
    let renamed = r#"{"ref":"refs/heads/main","repository":{"full_name":"acme/renamed"}}"#;
    let branch = r#"{"ref":"refs/heads/feature","repository":{"full_name":"acme/toggles"}}"#;
    for (extra, body) in [
        (&[][..], renamed),
        (&[], branch),
        (&[("X-GitHub-Event", "ping")], r#"{"zen":"Keep it logically awesome."}"#),
        (&[("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "1")], PUSH),
        (&[("X-GitHub-Event", "push"), ("X-GitHub-Delivery", "1")], PUSH),
        (&[], "not json"),
        (&[], ""),
    ] {
        let answer = server.github(extra, body).await;
        assert_eq!(answer.status(), 202, "{body} {}", answer.0);
        assert!(server.was_fired().await, "{body}");
    }
}

#[tokio::test(start_paused = true)]
async fn four_bodies_are_read_at_a_time_and_a_fifth_webhook_waits_then_gets_503() {
    let (_status, receiver) = watch::channel(ready());
    let trigger = Trigger::default();
    let (control, _commands) = Control::new(trigger.clone());
    let state = AdminState::new(admin(receiver, control));
    let deliver = |signature: String| {
        let request = Request::post("/webhook/gitea")
            .header("X-Gitea-Signature", signature)
            .body(Body::from(PUSH))
            .unwrap();
        webhook::receive(WebhookKind::Forge(Forge::Gitea), State(state.clone()), request)
    };
    let turns = state.0.webhook_bodies.acquire_many(4).await.unwrap();
    assert_eq!(deliver(hex(PUSH)).await.status(), 503);
    // A webhook without a signature is refused without a turn.
    assert_eq!(deliver(" ".to_owned()).await.status(), 401);
    drop(turns);
    assert_eq!(deliver(hex(PUSH)).await.status(), 202);
}

#[tokio::test]
async fn without_a_webhook_secret_there_are_no_webhooks() {
    let server = AdminServer::with(|admin| admin.webhook_secret = None).await;
    for kind in WebhookKind::all() {
        let path = &format!("/webhook/{}", kind.as_str());
        assert_eq!(server.post(path, &[("X-Gitlab-Token", SECRET)], PUSH).await.status(), 404, "{path}");
    }
}

#[tokio::test]
async fn the_webhook_secret_can_be_rotated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret");
    let server =
        AdminServer::with(|admin| admin.webhook_secret = Some(SecretSource::File(path.clone()))).await;
    assert_eq!(server.github(&[], PUSH).await.status(), 503);
    std::fs::write(&path, "another").unwrap();
    assert_eq!(server.github(&[], PUSH).await.status(), 401);
    std::fs::write(&path, SECRET).unwrap();
    assert_eq!(server.github(&[], PUSH).await.status(), 202);
}
