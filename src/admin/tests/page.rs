//! The page and the paginated status.

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::model::{CommitId, Hold, ObjectId};

fn toggle(id: &str, state: ToggleState, kind: Option<HoldKind>) -> ToggleStatus {
    let hold = match kind {
        Some(kind) => Hold::new(kind, format!("because: {kind}")),
        None => Hold::undecided(state, ""),
    };
    let hold = Hold { state, ..hold };
    let hold = (state != ToggleState::InSync).then(|| Arc::new(hold));
    ToggleStatus::new(id.parse().unwrap(), hold)
}

async fn server(toggles: Vec<ToggleStatus>) -> AdminServer {
    let server = AdminServer::new().await;
    server.status.send_modify(|status| status.set_toggles(toggles));
    server
}

fn many(count: usize, state: ToggleState, kind: Option<HoldKind>) -> Vec<ToggleStatus> {
    let id = |number| format!("p{:02}/e{:02}/t{number:06}", number * 40 / count, number * 400 / count % 10);
    let mut toggles: Vec<_> = (0..count).map(|number| toggle(&id(number), state, kind)).collect();
    toggles.sort_by(|a, b| a.toggle.cmp(&b.toggle));
    toggles
}

#[tokio::test]
async fn the_page_may_load_nothing_from_elsewhere_and_run_nothing_inline() {
    let server = server(Vec::new()).await;
    let answer = server.get("/").await;
    let policy = answer.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; ") && !policy.contains("unsafe"), "{policy}");
    for (header, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
    ] {
        assert_eq!(answer.header(header), Some(value), "{header}");
    }
    let body = answer.body();
    assert!(!body.contains(" style=") && !body.contains("<style"), "{body}");
    let files: Vec<_> = body.split('"').filter(|part| part.starts_with("assets/")).collect();
    assert_eq!(files.len(), 3, "{files:?}");
    for file in files {
        let answer = server.get(&format!("/{file}")).await;
        assert_eq!(answer.status(), 200, "{file}");
        let caching = answer.header("cache-control");
        assert_eq!(caching, Some("public, max-age=31536000, immutable"), "{file}");
    }
    assert_eq!(server.get("/assets/page.css").await.status(), 404);
}

#[tokio::test]
async fn the_verdict_is_in_words() {
    use ToggleState::{Held, InSync};
    let held = |count| many(count, Held, Some(HoldKind::Rail));
    for (toggles, words, verdict) in [
        (Vec::new(), "Ready", "good"),
        (many(3, InSync, None), "Ready", "good"),
        (held(1), "Ready, 1 toggle is waiting", "warn"),
        (held(3), "Ready, 3 toggles are waiting", "warn"),
    ] {
        let page = server(toggles).await.get("/").await;
        for part in [
            format!("<title>{words} – gitoggle</title>"),
            format!("<h1 id=\"verdict\">{words}</h1>"),
            format!("data-verdict=\"{verdict}\""),
        ] {
            assert!(page.body().contains(&part), "{part}\n{}", page.body());
        }
    }
    let server = server(many(3, InSync, None)).await;
    server.status.send_modify(|status| status.role = Role::Follower("pid 7 on <b>".to_owned()));
    let page = server.get("/").await;
    assert!(page.body().contains("<h1 id=\"verdict\">Not ready</h1>"), "{}", page.body());
    assert!(page.body().contains("another process is the writer: pid 7 on &lt;b&gt;"), "{}", page.body());
}

#[tokio::test]
async fn hostile_text_is_shown_and_is_no_markup() {
    let hostile = "<script>alert(1)</script>\"'&\u{202e}\n";
    let hold = Some(Arc::new(Hold::new(HoldKind::Refused, hostile)));
    let server = server(vec![ToggleStatus::new("a/b/c".parse().unwrap(), hold)]).await;
    server.status.send_modify(|status| {
        status.service = Some(hostile.to_owned());
        status.source.repo = hostile.to_owned();
        status.source.reference = Some(hostile.to_owned());
        status.source.revision = Some(CommitId(ObjectId([7; 20])));
        status.source.subject = Some(hostile.repeat(40));
        let suspension = Suspension { reason: Some(hostile.to_owned()), until: None };
        status.suspensions.add(SuspensionScope::everything(), suspension);
    });
    let encoded = "%3Cscript%3Ealert(1)%3C%2Fscript%3E%22%27%E2%80%AE%0A";
    for path in [
        "/".to_owned(),
        "/?toggle=a/b/c".to_owned(),
        format!("/?q={encoded}"),
        format!("/?toggle={encoded}"),
        format!("/?environment={encoded}"),
        format!("/?state={encoded}&page={encoded}&waiting=-1&environments=99999999999999999999"),
    ] {
        let page = server.get(&path).await;
        assert_eq!(page.status(), 200, "{path}");
        let body = page.body();
        assert_eq!(body.matches("<script").count(), 1, "{path}\n{body}");
        assert!(!body.contains('\u{202e}') && !body.contains("javascript:"), "{path}\n{body}");
    }
    for path in ["/api/status", "/api/status?limit=1", "/api/history?toggle=%E2%80%AE"] {
        let answer = server.get(path).await;
        assert!(!answer.body().contains('\u{202e}'), "{path}\n{}", answer.body());
    }
    let page = server.get("/").await;
    let shown = "&lt;script&gt;alert(1)&lt;/script&gt;&quot;'&amp;\\u{202e}\\n";
    assert!(page.body().matches(shown).count() > 10, "{}", page.body());
}

#[tokio::test]
async fn a_page_is_bounded_whatever_waits() {
    for (toggles, name) in [
        (many(100_000, ToggleState::Held, Some(HoldKind::FirstPass)), "held"),
        (many(100_000, ToggleState::InSync, None), "in sync"),
    ] {
        let server = server(toggles).await;
        for path in ["/", "/?q=t0999", "/?page=3000&waiting=3&environments=4", "/?environment=p03/e07"] {
            let page = server.get(path).await;
            let size = page.body().len();
            assert!(page.status() == 200 && size < 100_000, "{name} {path}: {size}");
        }
    }
}

#[tokio::test]
async fn an_open_page_gets_304_until_something_changes() {
    let server = server(many(2, ToggleState::InSync, None)).await;
    let tag = server.get("/").await.header("etag").unwrap().to_owned();
    let again = async || {
        let request = format!("GET / HTTP/1.1\r\nHost: x\r\nIf-None-Match: {tag}\r\n\r\n");
        server.raw(request).await
    };
    let answer = again().await;
    assert_eq!((answer.status(), answer.body()), (304, ""));
    server.status.send_modify(|status| status.set_toggles(many(3, ToggleState::InSync, None)));
    assert_eq!(again().await.status(), 200);
}

#[tokio::test]
async fn readers_share_a_page_only_if_it_is_the_same_for_them() {
    let server = server(many(2, ToggleState::Held, Some(HoldKind::Rail))).await;
    let shown = async |host: &str| {
        let request = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        server.raw(request).await.body().to_owned()
    };
    for host in ["a.example:1", "b.example:1", "a.example:1"] {
        assert!(shown(host).await.contains(&format!("--url http://{host}<")), "{host}");
    }
    server.status.send_modify(|status| status.next_pass = Some(0));
    let page = shown("a.example:1").await;
    // It is overdue, and never said to come in some hours.
    assert!(
        page.contains("Next pass") && page.contains("title=\"1970-01-01T00:00:00Z\">now</time>"),
        "{page}"
    );
}

#[tokio::test]
async fn lists_are_searched_and_shown_in_pages() {
    let mut toggles = many(90, ToggleState::InSync, None);
    toggles.extend(many(40, ToggleState::Held, Some(HoldKind::Rail)).into_iter().map(|one| ToggleStatus {
        toggle: format!("z/z/{}", one.toggle.as_str().replace('/', "-")).parse().unwrap(),
        ..one
    }));
    let server = server(toggles).await;
    for (path, rows, count) in [
        ("/", 30, "130 toggles"),
        ("/?page=5", 10, "130 toggles"),
        // A list that has become shorter ends with its last page.
        ("/?page=6", 10, "130 toggles"),
        ("/?page=18446744073709551615", 10, "130 toggles"),
        ("/?state=held", 30, "40 of 130 toggles"),
        ("/?state=held&page=2", 10, "40 of 130 toggles"),
        ("/?q=Z/z%20000039", 1, "1 of 130 toggles"),
        ("/?environment=z/z&state=in_sync", 0, "0 of 130 toggles"),
        ("/?state=green", 30, "130 toggles"),
    ] {
        let page = server.get(path).await;
        let table = page.body().split("<tbody>").nth(1).unwrap_or_default();
        assert_eq!(table.matches("<tr data-toggle").count(), rows, "{path}");
        let shown = format!("<p id=\"toggle-count\">{count}</p>");
        assert!(page.body().contains(&shown), "{path}: {shown}\n{}", page.body());
    }
}

#[tokio::test]
async fn a_list_that_has_become_shorter_ends_with_its_last_page() {
    let server = server(many(400, ToggleState::Held, Some(HoldKind::Rail))).await;
    for number in ["3", "99", "18446744073709551615"] {
        for list in ["waiting", "environments", "page"] {
            let page = server.get(&format!("/?{list}={number}")).await;
            assert_eq!(page.status(), 200, "{list}={number}");
            for text in ["Nothing is waiting", "No environment", "No toggle"] {
                assert!(!page.body().contains(text), "{list}={number}: {text}\n{}", page.body());
            }
        }
    }
    let page = server.get("/?environment=p00/none").await;
    for text in [
        "No environment <code>p00/none</code> has a toggle.",
        "Nothing is waiting in <code>p00/none</code>.",
        "No toggle matches.",
    ] {
        assert!(page.body().contains(text), "{text}\n{}", page.body());
    }
}

#[tokio::test]
async fn the_status_is_shown_in_pages() {
    let server = server(many(25, ToggleState::Held, Some(HoldKind::Rail))).await;
    let mut found = Vec::new();
    let mut path = "/api/status?limit=10&q=t0000".to_owned();
    loop {
        let answer = server.get(&path).await;
        let status = answer.json();
        assert_eq!(status["matching"], 25);
        assert_eq!(status["groups"].as_array().map(Vec::len), Some(25), "{status}");
        let toggles = status["toggles"].as_array().unwrap();
        found.extend(toggles.iter().map(|one| one["toggle"].as_str().unwrap().to_owned()));
        let Some(next) = status["next"].as_str() else {
            break;
        };
        path = format!("/api/status?limit=10&q=t0000&after={next}");
    }
    let all: Vec<_> = many(25, ToggleState::Held, None).iter().map(|one| one.toggle.to_string()).collect();
    assert_eq!(found, all);
    let server = self::server(many(250, ToggleState::InSync, None)).await;
    let first = server.get("/api/status").await.json();
    let toggles = first["toggles"].as_array().unwrap();
    assert_eq!((toggles.len(), &first["matching"]), (100, &Value::from(250)));
    assert_eq!(first["next"], toggles[99]["toggle"]);
    for (query, reason) in [
        ("limit=x", "limit"),
        ("limit=0", "\"limit: `0` is not a number from 1 on\""),
        ("limit=-1", "limit"),
        ("state=green", "`green` is none of"),
        ("environment=a", "environment: "),
        ("after=a/b", "after: "),
        ("page=2", "unknown field `page`"),
    ] {
        let answer = server.get(&format!("/api/status?{query}")).await;
        assert_eq!(answer.status(), 400, "{query}");
        assert!(answer.body().contains(reason), "{query}: {}", answer.body());
    }
}

#[tokio::test]
async fn there_is_no_plan_before_the_first_pass() {
    let answer = server(Vec::new()).await.get("/api/plan").await;
    assert_eq!(answer.status(), 503);
    assert!(answer.body().contains("no plan yet"), "{}", answer.body());
}
