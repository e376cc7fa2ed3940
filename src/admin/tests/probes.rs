//! Health, readiness, metrics, and the status.

use super::*;

#[tokio::test]
async fn health_is_about_the_loop_and_readiness_about_the_passes() {
    let server = AdminServer::new().await;
    assert_eq!(
        server.get("/readyz").await.body(),
        "ready; 1 held in shop/prod (invalid)\ninvalid: shop/prod/pay: the document is invalid\n"
    );
    server.status.send_modify(|status| status.set_toggles(Vec::new()));
    assert_eq!(server.get("/readyz").await.body(), "ready\n");
    server.status.send_modify(|status| {
        status.last_pass.as_mut().unwrap().result = PassResult::Failed("401\n::error".to_owned());
    });
    let answer = server.get("/readyz").await;
    assert_eq!((answer.status(), answer.body()), (503, "the last pass failed: 401\\n::error\n"));
    assert_eq!(server.get("/healthz").await.body(), "ok\n");
    let late = AdminServer::with(|admin| admin.stale_after = Duration::ZERO).await;
    let answer = late.get("/readyz").await;
    assert_eq!(answer.status(), 503);
    assert!(answer.body().starts_with("stale: "), "{}", answer.body());

    let stopped = AdminServer::with(|admin| admin.heartbeat = Heartbeat::new(Duration::ZERO)).await;
    let answer = stopped.get("/healthz").await;
    assert_eq!(answer.status(), 503);
    assert!(answer.body().starts_with("the driver loop has not run"), "{}", answer.body());
}

#[tokio::test]
async fn metrics_are_openmetrics_text_whatever_the_scraper_accepts() {
    let server = AdminServer::new().await;
    for accepted in
        ["*/*", "text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0,*/*;q=0.1"]
    {
        let answer =
            server.raw(format!("GET /metrics HTTP/1.1\r\nHost: x\r\nAccept: {accepted}\r\n\r\n")).await;
        assert!(
            answer.has("content-type: application/openmetrics-text; version=1.0.0; charset=utf-8"),
            "{}",
            answer.0
        );
        let body = answer.body();
        assert!(body.contains("\ngitoggle_suspended 0\n"), "{body}");
        assert!(body.contains("# TYPE gitoggle_passes counter\n"), "{body}");
        assert!(body.contains("# TYPE gitoggle_pass_duration_seconds histogram\n"), "{body}");
        assert!(body.ends_with("# EOF\n"), "{body}");
    }
}

#[tokio::test]
async fn the_status_is_the_contracts_json() {
    let server = AdminServer::new().await;
    server.status.send_modify(|status| {
        status.last_pass.as_mut().unwrap().at = 5;
        status.last_success.as_mut().unwrap().at = 1_767_323_045;
    });
    let answer = server.get("/api/status").await;
    assert!(answer.has("content-type: application/json") && answer.has("cache-control: no-store"));
    assert_eq!(
        answer.json(),
        serde_json::json!({
            "version": env!("CARGO_PKG_VERSION"),
            "commit": crate::model::BUILD.commit,
            "ready": true,
            "reason": null,
            "remarks": ["1 held in shop/prod (invalid)"],
            "service": "https://toggles.example.org",
            "source": {
                "repo": "https://git.example.org/acme/toggles.git",
                "ref": "refs/heads/main",
                "revision": null,
                "refused": null,
                "fetched_at": null,
            },
            "last_pass": { "at": "1970-01-01T00:00:05Z", "result": "success", "took_ms": 12 },
            "last_success": "2026-01-02T03:04:05Z",
            "suspended": null,
            "suspensions": [],
            "groups": [{ "state": "held", "environment": "shop/prod", "reason": "invalid", "count": 1 }],
            "toggles": [{
                "toggle": "shop/prod/pay",
                "state": "held",
                "reason": "the document is invalid",
                "kind": "invalid",
                "revision": null,
                "applied_at": null,
            }],
            "environments": [{
                "environment": "shop/prod",
                "counts": {
                    "failed": 0, "drifted": 0, "held": 1, "pending": 0, "orphan": 0, "in_sync": 0,
                },
            }],
            "matching": 1,
            "next": null,
            "webhooks": { "accepted": null, "refused": [] },
        })
    );
}

#[tokio::test]
async fn the_status_is_always_current() {
    let server = AdminServer::new().await;
    assert!(server.get("/api/status").await.body().contains(r#""suspended":null"#));
    server.status.send_modify(|status| {
        let suspension = Suspension { reason: Some("freeze".to_owned()), until: None };
        status.suspensions.add(SuspensionScope::everything(), suspension);
    });
    let suspended = r#""suspended":{"reason":"freeze","until":null}"#;
    let answer = server.get("/api/status").await;
    assert!(answer.body().contains(suspended), "{}", answer.0);
}
