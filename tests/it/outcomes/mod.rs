//! Responses of the service and their outcomes: the outcome table, row by row.

mod connections;
mod rejections;
mod retries;

use crate::support::{Answer, Request, TOKEN, World, body, doc};

/// Asserts that the same bytes were sent `count` times.
#[track_caller]
fn sent_the_same(requests: &[Request], count: usize) {
    assert_eq!(requests.len(), count, "{requests:#?}");
    for request in requests {
        assert_eq!(request.toggle(), "shop/prod/pay");
        assert_eq!(request.bytes, requests[0].bytes, "the same body and comment");
        assert_eq!(request.open_for_toggle, 1);
    }
}

/// Runs one check per row in parallel, because they mostly wait.
fn each<T: Clone + Send>(rows: &[T], check: impl Fn(T) + Sync) {
    std::thread::scope(|scope| {
        for row in rows {
            let check = &check;
            let row = row.clone();
            scope.spawn(move || check(row));
        }
    });
}

/// A world in which `pay` is applied and a change of it is pending.
fn waiting() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world
}

#[test]
fn any_success_with_an_empty_or_json_body_is_applied() {
    each(
        &[
            Answer::status(200),
            Answer::status(204),
            Answer::json(201, r#"{"id": 7}"#),
            Answer::json(202, "[]"),
            Answer::status(200).header("Content-Type", "text/html").body("{}"),
            Answer::json(200, &format!("{{\"content\":\"{}\"}}", "a".repeat(1 << 20))),
        ],
        |answer| {
            let world = waiting();
            world.service.answers([answer]);
            world.apply().exit(0).any_output();
            world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
            world.apply().exit(0).any_output();
            world.nothing_sent();
        },
    );
}

#[test]
fn a_refusal_is_shown_and_tried_once_per_apply() {
    each(&[400, 404, 409, 410, 413, 415, 422], |status| {
        let world = waiting();
        let refuse = Answer::json(status, r#"{"code": "nope", "message": "that will not do"}"#);
        world.service.answers([refuse.clone()]);
        world.apply().exit(1).says(&["shop/prod/pay", &status.to_string(), "that will not do"]);
        sent_the_same(&world.service.take(), 1);
        // The next apply tries once more, with the newer commit.
        world.repo.commit_pay(22, "Change again");
        world.apply().exit(0).any_output();
        world.sent(&[("shop/prod/pay", body(22, "Change again"))]);
    });
}

#[test]
fn a_compressed_refusal_is_shown() {
    let world = waiting();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, br#"{"code":"conflict","message":"zipped"}"#).unwrap();
    let refusal = Answer::json(409, "").header("Content-Encoding", "gzip");
    world.service.answers([refusal.bytes(gzip.finish().unwrap())]);
    world.apply().exit(1).says(&["409 `conflict`: zipped"]);
}

#[test]
fn after_a_success_an_empty_404_is_about_the_toggle() {
    let world = waiting();
    for toggle in ["zoo", "zoo2"] {
        let path = format!("shop/prod/{toggle}.yaml");
        world.repo.file(&path, doc(5)).commit("Add another");
    }
    let missing = || Answer::status(404);
    world.service.answers([Answer::applied(), missing(), Answer::applied(), missing()]);
    world.apply().exit(1).says(&["shop/prod/zoo", "404"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/pay", "shop/prod/zoo", "shop/prod/zoo2", "shop/prod/zoo"]);
}

#[test]
fn the_token_is_never_shown_even_if_the_service_repeats_it() {
    let echo = format!(r#"{{"code":"{TOKEN}","message":"bad token {TOKEN}"}}"#);
    each(
        &[
            Answer::json(400, &echo),
            Answer::json(401, &echo),
            Answer::json(500, &echo),
            Answer::status(200).body(&format!("<html>{TOKEN}")),
            Answer::status(302).header("Location", &format!("https://x.invalid/?token={TOKEN}")),
        ],
        |answer| {
            let world = waiting();
            world.service.always(move |_| answer.clone());
            world.apply().exit(1).any_output().never_says(&[TOKEN]);
            world.status().exit_in(&[0, 1]).any_output().never_says(&[TOKEN]);
        },
    );
}

#[test]
fn a_refusal_does_not_stop_the_others() {
    let world = waiting();
    world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
    let refusal = || Answer::json(422, r#"{"message": "no"}"#);
    world.service.answers([refusal(), Answer::applied(), refusal()]);
    world.apply().exit(1).says(&["shop/prod/pay"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/pay", "shop/prod/zoo", "shop/prod/pay"]);
    world.status().exit(1).says(&["shop/prod/pay", "no"]);
}

#[test]
fn a_revert_after_a_refusal_needs_no_publish() {
    let world = waiting();
    world.service.answers([Answer::json(400, r#"{"message": "no"}"#)]);
    world.apply().exit(1).any_output();
    world.service.take();
    world.repo.revert();
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn hostile_text_from_the_service_is_escaped() {
    let world = waiting();
    world.service.answers([Answer::json(400, r#"{"message": "no\u001b[31m\n::error::pwned\u202e"}"#)]);
    let output = world.apply().exit(1).both();
    assert!(!output.contains('\u{1b}') && !output.contains('\u{202e}'), "{output:?}");
    assert!(!output.lines().any(|line| line.trim_start().starts_with("::error")), "{output}");
}

#[test]
fn the_most_severe_outcome_determines_the_exit_code() {
    let world = waiting();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").file("shop/test/new.yaml", doc(1)).commit("Add more");
    world.service.answers([Answer::json(422, "{}")]);
    world.apply().exit(1).any_output();
    world.apply().exit(4).any_output();
    world.apply().set("first-pass", "assert").exit(3).any_output();
}
