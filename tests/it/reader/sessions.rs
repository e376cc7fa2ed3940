//! Repeated reads.

use std::time::{Duration, Instant};

use gitoggle::service::ReadSession;
use gitoggle::transport::SecretSource;

use super::{Stand, failed};
use crate::support::Answer;

fn projects() -> Answer {
    Answer::json(200, "[]")
}

fn session(stand: &Stand) -> ReadSession {
    ReadSession::new(stand.reader.clone())
}

#[tokio::test]
async fn a_busy_read_is_repeated() {
    let stand = Stand::answers([Answer::status(503), Answer::closes(), projects()]);
    let session = session(&stand);
    session.read(|| session.reader().projects()).await.unwrap();
    assert_eq!(stand.service.count(), 3);
}

#[tokio::test]
async fn a_refused_or_misrouted_read_is_not_repeated() {
    for answer in [Answer::json(400, "{}"), Answer::html(200), Answer::status(403)] {
        let stand = Stand::answers([answer, projects()]);
        let session = session(&stand);
        assert!(session.read(|| session.reader().projects()).await.is_err());
        assert_eq!(stand.service.count(), 1);
        session.read(|| session.reader().projects()).await.unwrap();
    }
}

#[tokio::test]
async fn retry_after_holds_back_all_reads() {
    let stand = Stand::answers([Answer::status(429).header("Retry-After", "1"), projects(), projects()]);
    let session = session(&stand);
    let started = Instant::now();
    let read = || session.read(|| session.reader().projects());
    let second = async {
        while stand.service.count() == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // The response to the first read may still be on its way.
        tokio::time::sleep(Duration::from_millis(200)).await;
        read().await
    };
    let (first, second) = tokio::join!(read(), second);
    first.unwrap();
    second.unwrap();
    assert!(started.elapsed() >= Duration::from_secs(1));
    let requests = stand.service.take();
    assert_eq!(requests.len(), 3);
    assert!(requests[1].at.duration_since(requests[0].at) >= Duration::from_secs(1));
}

#[tokio::test]
async fn a_long_retry_after_and_a_rejected_token_end_the_session() {
    for answer in
        [Answer::status(503).header("Retry-After", "61"), Answer::json(401, r#"{"code":"unauthorized"}"#)]
    {
        let stand = Stand::answers([answer]);
        let session = session(&stand);
        let first = session.read(|| session.reader().projects()).await.unwrap_err();
        let second = session.read(|| session.reader().projects()).await.unwrap_err();
        assert_eq!(first, second);
        assert_eq!(stand.service.count(), 1);
    }
}

#[tokio::test]
async fn five_failures_in_a_row_end_the_session() {
    let stand = Stand::new();
    let answers = [403, 400, 403, 403, 403, 403, 403];
    stand.service.answers(answers.map(|status| Answer::json(status, "{}")));
    let session = session(&stand);
    // A refusal proves that the service works, so the count begins again.
    for _ in 0..9 {
        assert!(session.read(|| session.reader().projects()).await.is_err());
    }
    failed(session.read(|| session.reader().projects()).await, "forbidden", "the service responded with 403");
    assert_eq!(stand.service.count(), 7);
}

#[tokio::test]
async fn a_rotated_token_is_read_again_and_used_at_once() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "api-old").unwrap();
    let stand = Stand::with(SecretSource::File(file.path().to_owned()), Duration::from_secs(20));
    std::fs::write(file.path(), "api-new").unwrap();
    stand.service.answers([Answer::status(403), projects()]);
    let session = session(&stand);
    session.read(|| session.reader().projects()).await.unwrap();
    let requests = stand.service.take();
    let tokens: Vec<_> = requests.iter().map(|request| request.header("authorization")).collect();
    assert_eq!(tokens, [Some("api-old"), Some("api-new")]);
}
