//! The page token protects what shows targeting, and nothing else.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::*;

const PAGE_TOKEN: &str = "page:token";

impl AdminServer {
    async fn get_with(&self, path: &str, authorization: &str) -> Answer {
        self.raw(format!("GET {path} HTTP/1.1\r\nHost: x\r\nAuthorization: {authorization}\r\n\r\n")).await
    }
}

fn basic(user: &str, password: &str) -> String {
    format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")))
}

#[tokio::test]
async fn the_page_and_the_read_endpoints_need_the_token_and_nothing_else_does() {
    let token = || Some(SecretSource::Value(Secret::new(PAGE_TOKEN.to_owned())));
    let server = AdminServer::with(|admin| admin.page_token = token()).await;
    for path in [
        "/",
        "/?toggle=shop/prod/pay",
        "/api/status",
        "/api/status?limit=1",
        "/api/plan",
        "/api/history",
        "/api/history/0",
    ] {
        let answer = server.get(path).await;
        assert_eq!(answer.status(), 401, "{path}");
        let scheme = answer.header("www-authenticate");
        assert_eq!(scheme, Some("Basic realm=\"gitoggle\", charset=\"UTF-8\""), "{path}");
        assert!(!answer.0.contains("shop/prod"), "{}", answer.0);
        for wrong in
            ["Bearer page", "Bearer", "Basic %", &basic("ada", "page"), &basic(PAGE_TOKEN, ""), "page:token"]
        {
            assert_eq!(server.get_with(path, wrong).await.status(), 401, "{path} {wrong}");
        }
        let expected = match path {
            // No pass has planned here.
            "/api/plan" => 503,
            "/api/history/0" => 400,
            _ => 200,
        };
        for right in [
            "Bearer page:token",
            "bearer page:token",
            &basic("ada", PAGE_TOKEN),
            &basic("", PAGE_TOKEN),
            // Clients that may command the daemon may read it.
            &format!("Bearer {TOKEN}"),
        ] {
            assert_eq!(server.get_with(path, right).await.status(), expected, "{path} {right}");
        }
    }
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(server.get(path).await.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn the_page_token_commands_nothing() {
    let token = || Some(SecretSource::Value(Secret::new(PAGE_TOKEN.to_owned())));
    let server = AdminServer::with(|admin| admin.page_token = token()).await;
    let headers = [("Authorization", "Bearer page:token")];
    assert_eq!(server.post("/reconcile", &headers, "{}").await.status(), 401);
}

#[tokio::test]
async fn a_token_that_cannot_be_read_opens_nothing_and_a_replaced_one_takes_effect() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("token");
    let source = || Some(SecretSource::File(dir.path().join("token")));
    let server = AdminServer::with(|admin| admin.page_token = source()).await;
    assert_eq!(server.get_with("/", "Bearer one").await.status(), 503);
    for token in ["one", "two"] {
        std::fs::write(&path, format!("{token}\n")).unwrap();
        assert_eq!(server.get_with("/", &format!("Bearer {token}")).await.status(), 200);
    }
    assert_eq!(server.get_with("/", "Bearer one").await.status(), 401);
}
