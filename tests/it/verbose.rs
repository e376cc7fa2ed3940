//! `-v` logs one line per publish, and `-vv` one line per request, never a secret.

use crate::support::{Answer, TOKEN, World, doc, free_port};

/// Replaces durations, times and ids that differ from run to run.
fn lines(log: &str, events: &[&str]) -> Vec<String> {
    let wanted = log.lines().filter(|line| events.iter().any(|event| line.contains(event)));
    let plain = wanted.map(|line| {
        let words = line.split(' ').skip(1).filter(|word| !word.is_empty());
        let words = words.map(|word| match word.split_once('=') {
            Some((name @ ("took_ms" | "wait_s"), number)) if number.parse::<f64>().is_ok() => {
                format!("{name}=N")
            }
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    });
    plain.collect()
}

fn world() -> World {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/other.yaml", doc(30))
        .commit("Ask for 21 years");
    let busy = Answer::json(503, "{}").header("X-Request-Id", "req-1");
    world.service.answers([
        busy,
        Answer::applied().header("X-Request-Id", &format!("req-2 {TOKEN}")),
        Answer::json(422, r#"{"message": "no"}"#),
        Answer::json(422, r#"{"message": "no"}"#),
    ]);
    world
}

#[test]
fn one_line_per_publish_has_its_outcome_status_and_duration() {
    let world = world();
    let log = world.apply().arg("-v").exit(1).never_says(&[TOKEN, "Authorization"]).both();
    assert_eq!(
        lines(&log, &["publish ended", "response received"]),
        [
            "INFO publish ended toggle=shop/prod/pay outcome=applied status=200 took_ms=N",
            "INFO publish ended toggle=shop/prod/other outcome=failed status=422 took_ms=N",
        ],
        "{log}"
    );
}

#[test]
fn one_line_per_request_has_its_attempt_and_request_id() {
    let world = world();
    let log = world.apply().arg("-vv").exit(1).never_says(&[TOKEN, "Authorization", "comment\":"]).both();
    let path = "path=/api/projects/shop/environments/prod/toggles";
    assert_eq!(
        lines(&log, &["response received"]),
        [
            format!(
                "DEBUG response received method=PATCH {path}/other/targeting status=503 took_ms=N request_id=req-1 attempt=1"
            ),
            format!(
                "DEBUG response received method=PATCH {path}/pay/targeting status=200 took_ms=N request_id=\"req-2 ***\" attempt=1"
            ),
            format!(
                "DEBUG response received method=PATCH {path}/other/targeting status=422 took_ms=N attempt=2"
            ),
            // It is sent once more, because another toggle was applied.
            format!(
                "DEBUG response received method=PATCH {path}/other/targeting status=422 took_ms=N attempt=1"
            ),
        ],
        "{log}"
    );
    assert!(!world.apply().exit(0).both().contains("response received"), "not without -vv");
}

#[test]
fn a_request_without_a_response_is_a_line_too() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let closed = format!("127.0.0.1:{}", free_port());
    let run = world.apply().set("first-pass", "assert").set("base-url", format!("https://{closed}"));
    let log = run.arg("-vv").set("give-up-after", "1s").exit(1).never_says(&[TOKEN]).both();
    let unanswered = lines(&log, &["DEBUG no response"]);
    let expected = "DEBUG no response method=PATCH path=/api/projects/shop/environments/prod/toggles/pay/targeting took_ms=N reason=";
    assert!(unanswered.first().is_some_and(|line| line.starts_with(expected)), "{log}");
}
