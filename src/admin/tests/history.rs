//! The deployment history.

use serde_json::{Value, json};

use super::*;
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{CommitId, DeploymentEffect, Format, ObjectId, Thresholds, ToggleId};
use crate::state::{AppliedEdit, Options, PassHead, Store};

/// The document of a toggle whose default is the variation `serve`.
fn document(serve: u8) -> Vec<u8> {
    format!(
        "disabled: false\ncontent:\n  variations:\n    - {{name: 'off', value: 'false', description: ''}}\n    - {{name: \
         'on', value: 'true', description: ''}}\n  rules: []\n  defaultServe: {{select: {serve}}}\n  disabledServe: \
         {{select: 0}}\n"
    )
    .into_bytes()
}

/// A state folder in which each of `toggles` was applied with variation 0, and then with variation 1.
fn state(toggles: &[ToggleId]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        wait: Duration::from_secs(2),
        base_url: "https://t.example".to_owned(),
        timeout: Duration::ZERO,
        now: 0,
        shared: None,
        thresholds: Thresholds::default(),
        crash: None,
    };
    let mut store = Store::open(dir.path(), options).unwrap();
    for (serve, subject) in [(0, "Close it"), (1, "Open it for <all>\u{202e}")] {
        let head =
            PassHead { revision: CommitId(ObjectId([serve + 1; 20])), now: 1_700_000_000 + i64::from(serve) };
        let put = |id: &ToggleId| AppliedEdit::Put {
            id: id.clone(),
            object: id_of(ObjectKind::Blob, &document(serve)),
            format: Format::Yaml,
            effect: [DeploymentEffect::Adopt, DeploymentEffect::Record][usize::from(serve)],
        };
        let edits: Vec<_> = toggles.iter().map(put).collect();
        let read = |_| Ok::<_, std::convert::Infallible>(document(serve));
        store.describe(head.revision, subject, None);
        store.record(&head, &edits, read, &|| false).unwrap();
    }
    dir
}

async fn serving(state: &tempfile::TempDir) -> AdminServer {
    let state_dir = state.path().to_owned();
    AdminServer::with(move |admin| admin.history.state_dir = state_dir).await
}

async fn got(server: &AdminServer, path: &str) -> (u16, Value) {
    let answer = server.get(path).await;
    let body = serde_json::from_str(answer.body()).unwrap_or_else(|error| panic!("{error}: {}", answer.0));
    (answer.status(), body)
}

#[tokio::test]
async fn the_history_is_listed_page_by_page_and_each_deployment_has_its_differences() {
    let toggles = ["shop/prod/pay", "shop/test/pay"].map(|id| id.parse().unwrap());
    let dir = state(&toggles);
    let server = serving(&dir).await;
    let (status, first) = got(&server, "/api/history?limit=1").await;
    assert_eq!(status, 200);
    let commit = first["deployments"][0]["commit"].as_str().unwrap().to_owned();
    let expected = json!({
        "version": 1,
        "deployments": [{
            "commit": commit,
            "at": "2023-11-14T22:13:21Z",
            "revision": "02".repeat(20),
            "subject": "Open it for <all>\u{202e}",
            "summary": "2 record",
            "total": 2,
            "effects": { "record": 2 },
            "toggles": [
                { "toggle": "shop/prod/pay", "effect": "record" },
                { "toggle": "shop/test/pay", "effect": "record" },
            ],
            "allowed": [],
        }],
        "next": commit,
    });
    assert_eq!(first, expected);
    let (_, second) = got(&server, &format!("/api/history?before={commit}&toggle=shop/prod/*")).await;
    assert_eq!(second["deployments"][0]["subject"], "Close it");
    assert_eq!(second["deployments"][0]["toggles"].as_array().unwrap().len(), 1);
    assert_eq!(second["next"], Value::Null);

    let (status, part) = got(&server, &format!("/api/history/{commit}?limit=1")).await;
    assert_eq!((status, &part["next"]), (200, &json!("shop/prod/pay")));
    let toggle = &part["deployment"]["toggles"][0];
    assert_eq!(toggle["sentences"], json!(["default serve: `off` → `on`"]));
    let diff: Vec<&str> = toggle["diff"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    let serves = |name: &str| format!("defaultServe: {{ variation: \"{name}\" }}");
    assert_eq!(diff[4..], [format!("-  {}", serves("off")), format!("+  {}", serves("on"))]);
    assert_eq!(toggle["before"]["content"]["defaultServe"], json!({ "select": 0 }));
    let (_, rest) = got(&server, &format!("/api/history/{commit}?after=shop/prod/pay")).await;
    assert_eq!(rest["deployment"]["toggles"][0]["toggle"], "shop/test/pay");
    assert_eq!(rest["next"], Value::Null);
}

#[tokio::test]
async fn an_empty_history_is_a_page() {
    let server = AdminServer::new().await;
    let empty = json!({ "version": 1, "deployments": [], "next": null });
    assert_eq!(got(&server, "/api/history").await, (200, empty));
}

#[tokio::test]
async fn a_bad_request_for_the_history_says_how_to_ask() {
    let dir = state(&["shop/prod/pay".parse().unwrap()]);
    let server = serving(&dir).await;
    let unknown = "9".repeat(40);
    for (path, status, reason) in [
        ("/api/history?before=1234", 400, "`1234` is not the full id of a commit"),
        ("/api/history?limit=many", 400, "limit: `many` is not a number from 1 on"),
        ("/api/history?limit=0", 400, "limit: `0` is not a number from 1 on"),
        ("/api/history?page=2", 400, "page: unknown field"),
        ("/api/history?toggle=pay", 400, "`toggle` is `project/environment/toggle`"),
        ("/api/history?toggle=a%7B", 400, "`a{` is not a valid glob"),
        ("/api/history/%0a", 400, "`\\n` is not the full id of a commit"),
        (&format!("/api/history?before={unknown}"), 404, "the commit is not part of the"),
        (&format!("/api/history/{unknown}"), 404, "the commit is not part of the"),
        (&format!("/api/history/{unknown}?after=x"), 400, "`x` is not a toggle"),
    ] {
        let (found, body) = got(&server, path).await;
        let error = body["error"].as_str().unwrap_or_default();
        assert!(found == status && error.starts_with(reason), "{path}: {found} {body}");
        assert!(body["hint"].as_str().is_some_and(|hint| hint.contains("/api/history?limit=20")), "{body}");
    }
}

#[tokio::test]
async fn a_damaged_history_is_an_error_with_its_cause() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("state.git"), "not a repository").unwrap();
    let (status, body) = got(&serving(&dir).await, "/api/history").await;
    let error = body["error"].as_str().unwrap();
    assert_eq!(status, 500);
    assert!(error.starts_with("could not read the deployment history: could not use the state: "), "{error}");
}

#[tokio::test(start_paused = true)]
async fn an_error_of_the_history_is_not_kept_after_its_cause_ended() {
    let good = state(&["shop/prod/pay".parse().unwrap()]);
    let dir = tempfile::tempdir().unwrap();
    let place = dir.path().join("state.git");
    let server = serving(&dir).await;
    let commit = got(&serving(&good).await, "/api/history").await.1["deployments"][0]["commit"].clone();
    let one = format!("/?deployment={}", commit.as_str().unwrap());
    for path in ["/", &one] {
        std::fs::write(&place, "not a repository").unwrap();
        let broken = server.get(path).await;
        assert!(broken.body().contains("could not use the state"), "{}", broken.body());
        std::fs::remove_file(&place).unwrap();
        std::os::unix::fs::symlink(good.path().join("state.git"), &place).unwrap();
        // No pass ended since, and the reader asks with the version that it has.
        tokio::time::sleep(Duration::from_secs(5)).await;
        let tag = broken.header("etag").unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nIf-None-Match: {tag}\r\n\r\n");
        let repaired = server.raw(request).await;
        assert_eq!(repaired.status(), 200, "{path}");
        assert!(repaired.body().contains("Open it for &lt;all&gt;"), "{}", repaired.body());
        std::fs::remove_file(&place).unwrap();
    }
}

#[tokio::test]
async fn a_deployment_of_many_toggles_is_listed_in_parts() {
    // The server cuts a request off after some seconds, which a busy machine needs for many more.
    let toggles: Vec<ToggleId> =
        (0..1_000).map(|number| format!("shop/env{}/t{number:05}", number % 10).parse().unwrap()).collect();
    let dir = state(&toggles);
    let server = serving(&dir).await;
    let answer = server.get("/api/history").await;
    assert!(answer.body().len() < 20_000, "{}", answer.body().len());
    let page: Value = serde_json::from_str(answer.body()).unwrap();
    assert_eq!(page["deployments"][0]["total"], 1_000);
    assert_eq!(page["deployments"][0]["toggles"].as_array().unwrap().len(), 50);
    let commit = page["deployments"][0]["commit"].as_str().unwrap();
    let (_, part) = got(&server, &format!("/api/history/{commit}?after=shop/env5/t00505&limit=1000")).await;
    let toggles = part["deployment"]["toggles"].as_array().unwrap();
    assert_eq!((toggles.len(), &toggles[0]["toggle"]), (200, &json!("shop/env5/t00515")));
    let (_, one) = got(&server, "/api/history?toggle=shop/env5/t00515").await;
    assert_eq!(one["deployments"].as_array().unwrap().len(), 2);
}
