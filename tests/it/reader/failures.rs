//! Reads that fail.

use std::time::Duration;

use gitoggle::transport::SecretSource;
use serde_json::json;

use super::{Stand, environment, exchange, failed, recorded};
use crate::support::answer::Then;
use crate::support::{Answer, TOKEN};

/// Reads the projects. The service gives each answer, and the read fails with the kind and the reason.
async fn fails<const N: usize>(cases: [(Answer, &str, &str); N]) {
    for (answer, kind, reason) in cases {
        let stand = Stand::answers([answer]);
        failed(stand.reader.projects().await, kind, reason);
        assert_eq!(stand.service.count(), 1, "the reader does not retry");
    }
}

#[tokio::test]
async fn an_answer_that_another_server_may_have_given_is_misrouted() {
    let wrong_path = json!({"timestamp": "t", "status": 404, "error": "Not Found", "path": "/x"}).to_string();
    fails([
        (
            Answer::html(200),
            "misrouted",
            "the service responded with 200 and a body that is not JSON \
             (`<html>\\n<title>Welcome</title>\\n</html>`) instead of a list of projects; check `--base-url`",
        ),
(
            Answer::status(200),
            "misrouted",
            "the service responded with 200 and an empty body instead of a list of projects; check `--base-url`",
        ),
(
            Answer::json(404, &wrong_path),
            "misrouted",
            "the service responded with 404: Not Found; check `--base-url`",
        ),
(
            Answer::status(302).header("Location", "https://login.example"),
            "misrouted",
            "the service responded with 302 and redirects to `https://login.example`, which is not followed; check \
             `--base-url`",
        ),
(
            Answer::status(200).header("Content-Encoding", "br").body("x"),
            "misrouted",
            "the service responded with 200 and a body that is not JSON (`(compressed as `br`)`) instead of a list \
             of projects; check `--base-url`",
        ),
    ])
    .await;
}

#[tokio::test]
async fn an_error_of_the_service_is_classified_like_that_of_a_publish() {
    fails([
        (
            recorded("no-token"),
            "unauthorized",
            "the service rejected the token: the service responded with 401 `unauthorized`: Unauthorized",
        ),
(
            recorded("jwt-only-endpoint"),
            "unauthorized",
            "the service rejected the token: the service responded with 401",
        ),
(
            recorded("token-unknown"),
            "forbidden",
            "the service responded with 403 `forbidden`: Forbidden",
        ),
(
            recorded("get-unknown-environment"),
            "refused",
            "the service responded with 400 `not_found`: Environment facts-nowhere not found",
        ),
(
            Answer::html(502),
            "busy",
            "the service responded with 502 and a body that is not JSON (`<html>\\n<title>Welcome</title>\\n</html>`)",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_list_of_projects_that_cannot_be_read_is_refused_and_a_part_of_one_is_tried_again() {
    fails([
        (
            Answer::json(200, r#"{"content":[]}"#),
            "refused",
            "the service responded with 200 and JSON that is not a list of projects: expected a sequence at line 1 \
             column 0",
        ),
(
            Answer::json(200, "[1]"),
            "refused",
            "the service responded with 200 and JSON that is not a list of projects: expected an object at line 1 \
             column 2",
        ),
(
            Answer::json(200, r#"[{"name":"Shop"}]"#),
            "refused",
            "the service responded with 200 and JSON that is not a list of projects: missing field `key` at line 1 \
             column 16",
        ),
(
            Answer::json(200, r#"[{"key":"sh"#),
            "busy",
            "the service responded with 200 and only the beginning of a list of projects",
        ),
(
            Answer::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n[{\"key\":").and(Then::Cut),
            "busy",
            "the service responded with 200 and only the beginning of a list of projects",
        ),
    ])
    .await;
}

#[tokio::test]
async fn a_read_without_a_response_is_busy_because_nothing_was_lost() {
    let stand = Stand::answers([Answer::closes()]);
    let outcome = stand.reader.projects().await.unwrap_err();
    assert!(
        outcome
            .to_string()
            .starts_with(&format!("the request was sent to `{}`, but no response arrived: ", stand.host())),
        "{outcome}"
    );
    assert_eq!(outcome.kind.as_str(), "busy");
    let token = SecretSource::Value(gitoggle::transport::Secret::new(TOKEN.to_owned()));
    let stand = Stand::with(token, Duration::from_millis(300));
    stand.service.answers([Answer::hangs()]);
    failed(
        stand.reader.projects().await,
        "busy",
        &format!(
            "the request was sent to `{}`, but no complete response arrived within `--timeout`",
            stand.host()
        ),
    );
}

#[tokio::test]
async fn a_busy_service_says_when_to_try_again() {
    let stand = Stand::answers([Answer::status(429).header("Retry-After", "7")]);
    let outcome = stand.reader.projects().await.unwrap_err();
    let wait = Some(Duration::from_secs(7));
    assert_eq!((outcome.kind.as_str(), outcome.retry_after), ("busy", wait), "{outcome:?}");
}

#[tokio::test]
async fn a_body_without_end_is_refused() {
    let spaces = vec![b' '; (64 << 20) + 1];
    let stand = Stand::answers([
        Answer::status(200).bytes(spaces.clone()),
        Answer::status(200).header("Content-Encoding", "gzip").bytes(gzip(&spaces)),
    ]);
    for _ in 0..2 {
        failed(
            stand.reader.projects().await,
            "refused",
            "the service responded with 200 and a body of more than 64 MiB, the limit for a list of projects",
        );
    }
}

#[tokio::test]
async fn a_compressed_body_is_read() {
    let body = exchange("list-toggles-with-draft")["body"].to_string();
    let stand =
        Stand::answers([Answer::status(200).header("Content-Encoding", "gzip").bytes(gzip(body.as_bytes()))]);
    let listing = stand.reader.toggles(&environment("facts/guarded")).await.unwrap();
    assert_eq!(listing.entries.len(), 4);
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write as _;
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[tokio::test]
async fn a_rotated_token_is_used_after_it_is_read_again() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "api-old\n").unwrap();
    let stand = Stand::with(SecretSource::File(file.path().to_owned()), Duration::from_secs(20));
    let rejection = r#"{"message":"api-old is unknown"}"#;
    stand.service.answers([Answer::json(401, rejection), Answer::json(200, "[]")]);
    let outcome = stand.reader.projects().await.unwrap_err();
    assert_eq!(
        outcome.to_string(),
        "the service rejected the token: the service responded with 401: *** is unknown"
    );
    std::fs::write(file.path(), "api-new\n").unwrap();
    stand.reader.reload_token().unwrap();
    assert_eq!(stand.reader.token_generation(), 1);
    stand.reader.projects().await.unwrap();
    let requests = stand.service.take();
    let tokens: Vec<_> = requests.iter().map(|request| request.header("authorization")).collect();
    assert_eq!(tokens, [Some("api-old"), Some("api-new")]);
}
