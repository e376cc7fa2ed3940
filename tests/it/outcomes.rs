//! Responses of the service and their outcomes: the outcome table, row by row.

use std::time::Duration;

use crate::support::answer::Then;
use crate::support::certificate::Authority;
use crate::support::{Answer, Request, Service, TOKEN, World, body, doc};

/// A world in which `pay` is applied and a change of it is pending.
fn waiting() -> World {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world
}

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
        world
            .apply()
            .exit(1)
            .says(&["shop/prod/pay", &status.to_string(), "that will not do"]);
        sent_the_same(&world.service.take(), 1);
        // The next apply tries once more, with the newer commit.
        world
            .repo
            .file("shop/prod/pay.yaml", doc(22))
            .commit("Change again");
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
    world.service.answers([Answer::applied(), Answer::status(404)]);
    world.apply().exit(1).says(&["shop/prod/zoo", "404"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/pay", "shop/prod/zoo", "shop/prod/zoo2"]);
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
    world.service.answers([Answer::json(422, r#"{"message": "no"}"#)]);
    world.apply().exit(1).says(&["shop/prod/pay"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/pay", "shop/prod/zoo"]);
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
    world.service.answers([Answer::json(
        400,
        r#"{"message": "no\u001b[31m\n::error::pwned\u202e"}"#,
    )]);
    let output = world.apply().exit(1).both();
    assert!(
        !output.contains('\u{1b}') && !output.contains('\u{202e}'),
        "{output:?}"
    );
    assert!(
        !output
            .lines()
            .any(|line| line.trim_start().starts_with("::error")),
        "{output}"
    );
}

#[test]
fn a_token_that_is_refused_ends_the_pass() {
    // One 401 ends the pass. A 403 does so only once two toggles of each environment got it.
    each(&[(401, 1), (403, 2)], |(status, count)| {
        let world = waiting();
        world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
        world
            .repo
            .file("shop/prod/zoo2.yaml", doc(5))
            .commit("Add another");
        world
            .service
            .always(move |_| Answer::json(status, r#"{"message": "who are you?"}"#));
        world
            .apply()
            .exit(1)
            .says(&[&status.to_string(), "token"])
            .never_says(&[TOKEN]);
        assert_eq!(
            world.service.take().len(),
            count,
            "nothing more is sent with that token"
        );
    });
}

#[test]
fn a_token_file_is_read_again_once_when_the_token_is_refused() {
    let world = waiting();
    let file = world.write("token", "old-token-98765\n");
    let path = file.clone();
    world.service.always(move |request| {
        if request.header("authorization") == Some(TOKEN) {
            return Answer::applied();
        }
        std::fs::write(&path, format!("{TOKEN}\n")).unwrap();
        Answer::json(401, "{}")
    });
    world
        .apply()
        .without_env("GITOGGLE_TOKEN")
        .set("token-file", file)
        .exit(0)
        .any_output();
    let tokens: Vec<_> = world
        .service
        .take()
        .iter()
        .map(|request| request.header("authorization").unwrap().to_owned())
        .collect();
    assert_eq!(tokens, ["old-token-98765", TOKEN]);
}

#[test]
fn a_forbidden_environment_does_not_block_others() {
    let world = World::new();
    for path in [
        "shop/prod/a",
        "shop/prod/b",
        "shop/prod/c",
        "shop/test/x",
        "web/prod/x",
    ] {
        world.repo.file(&format!("{path}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    world.service.always(|request| {
        if request.toggle().starts_with("shop/prod/") {
            Answer::json(403, r#"{"message": "not yours"}"#)
        } else {
            Answer::applied()
        }
    });
    world
        .apply()
        .set("first-pass", "assert")
        .set("max-in-flight", "1")
        .exit(1)
        .says(&["shop/prod/c", "not yours"]);
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    let forbidden = sent.iter().filter(|toggle| toggle.starts_with("shop/prod/"));
    assert_eq!(
        forbidden.count(),
        2,
        "one more is tried, then the rest is set aside: {sent:?}"
    );
    assert_eq!(sent.len(), 4, "{sent:?}");
    world
        .status()
        .set("first-pass", "assert")
        .exit(1)
        .says(&["3 failed", "2 in sync", "not yours"]);
}

#[test]
fn a_host_that_is_not_the_service_ends_the_pass() {
    each(
        &[
            ("a page", Answer::html(200)),
            ("not found", Answer::html(404)),
            ("not found, in silence", Answer::status(404)),
            (
                "not found, without a code",
                Answer::json(404, r#"{"message": "no route"}"#),
            ),
            ("not allowed", Answer::html(405)),
        ],
        |(name, answer)| {
            let world = World::new();
            for number in 0..12 {
                world.repo.file(&format!("shop/prod/t{number:02}.yaml"), doc(18));
            }
            world.repo.commit("Add twelve");
            world.service.always(move |_| answer.clone());
            world
                .apply()
                .set("first-pass", "assert")
                .exit(1)
                .says(&["`--base-url`"]);
            assert_eq!(world.service.take().len(), 3, "{name}");
        },
    );
}

#[test]
fn a_redirect_is_never_followed() {
    each(&[301, 302, 303, 307, 308], |status| {
        let world = waiting();
        let elsewhere = Service::start();
        let location = format!("{}/api", elsewhere.url());
        world
            .service
            .answers([Answer::status(status).header("Location", &location)]);
        world.apply().exit(1).says(&["redirect"]).never_says(&[TOKEN]);
        sent_the_same(&world.service.take(), 1);
        assert_eq!(elsewhere.connections(), 0);
    });
}

#[test]
fn an_unexpected_response_makes_the_toggle_unknown_and_the_same_request_is_repeated() {
    each(
        &[
            Answer::html(200),
            Answer::html(404),
            Answer::status(302).header("Location", "/login"),
            Answer::raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
            Answer::json(200, "{\"a\":"),
        ],
        |answer| {
            let world = waiting();
            world.service.always(move |_| answer.clone());
            world.apply().exit(1).any_output();
            let mut requests = world.service.take();
            assert!((1..=4).contains(&requests.len()), "{}", requests.len());
            world.service.always(|_| Answer::applied());
            world.apply().exit(0).any_output();
            requests.append(&mut world.service.take());
            let count = requests.len();
            sent_the_same(&requests, count);
            assert!(count >= 2, "an unknown outcome is resolved by sending again");
        },
    );
}

#[test]
fn a_busy_service_is_tried_again_with_the_same_body() {
    each(&[408, 425, 429, 500, 502, 503, 504], |status| {
        let world = waiting();
        world.service.answers([Answer::status(status)]);
        world.apply().exit(0).any_output();
        sent_the_same(&world.service.take(), 2);
    });
}

#[test]
fn a_service_that_stays_busy_is_tried_four_times() {
    each(&[429, 500, 503], |status| {
        let world = waiting();
        world.service.always(move |_| Answer::status(status));
        world
            .apply()
            .exit(1)
            .says(&["shop/prod/pay", &status.to_string()]);
        sent_the_same(&world.service.take(), 4);
    });
}

#[test]
fn a_lost_reply_is_followed_by_the_same_body_and_comment() {
    let half = Answer::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}");
    let lost = [
        Answer::stores_and_closes(),
        Answer::closes(),
        half.clone(),
        half.and(Then::Cut),
    ];
    each(&lost, |answer| {
        let world = waiting();
        world.service.answers([answer]);
        world.apply().exit(0).any_output();
        sent_the_same(&world.service.take(), 2);
    });
}

#[test]
fn a_request_without_a_response_ends_at_the_timeout() {
    let world = waiting();
    world.service.answers([Answer::stores_and_hangs()]);
    world.apply().set("timeout", "1s").exit(0).any_output();
    sent_the_same_but_overlapping(&world.service.take());
}

/// The service does not notice immediately that its client has given up, so the requests can overlap on its side.
fn sent_the_same_but_overlapping(requests: &[Request]) {
    assert_eq!(requests.len(), 2);
    assert_eq!(requests[0].bytes, requests[1].bytes);
}

#[test]
fn a_lost_reply_stays_unknown_until_it_is_resolved() {
    let world = waiting();
    world.service.always(|_| Answer::stores_and_closes());
    world.apply().exit(1).says(&["shop/prod/pay"]);
    let mut requests = world.service.take();
    assert_eq!(requests.len(), 4);
    world.status().exit(0).says(&["shop/prod/pay"]);
    // The commit is reverted. The document on the service is unknown, so the old one is sent.
    world.repo.revert();
    world.service.always(|_| Answer::applied());
    world.apply().exit(0).any_output();
    requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], crate::support::content(18));
}

#[test]
fn a_service_that_cannot_be_reached_is_reported_with_the_reason() {
    let mut world = waiting();
    let url = world.service.url();
    world.service = Service::start();
    world
        .apply()
        .set("base-url", &url)
        .exit(1)
        .says(&["shop/prod/pay", "onnection refused"])
        .never_says(&[TOKEN]);
    world.nothing_sent();
    // Listens, so that TCP connects, and never answers in TLS.
    let mute = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mute = format!("https://{}", mute.local_addr().unwrap());
    for (url, words) in [
        (mute.as_str(), "no connection was made in time"),
        ("https://toggles.invalid", "could not be resolved"),
    ] {
        world
            .apply()
            .set("base-url", url)
            .set("state-dir", world.path(words))
            .set("first-pass", "assert")
            .set("timeout", "1s")
            .exit(1)
            .says(&["shop/prod/pay", words])
            .never_says(&[TOKEN]);
    }
}

#[test]
fn retry_after_delays_every_toggle() {
    let world = World::with_pay_applied();
    world.repo.file("web/prod/a.yaml", doc(1)).commit("Web");
    world.settle();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("web/prod/a.yaml", doc(2))
        .commit("Change both");
    world
        .service
        .answers([Answer::json(429, "{}").header("Retry-After", "1")]);
    world.apply().set("max-in-flight", "1").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 3);
    let waited = requests[1].at - requests[0].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_long_retry_after_ends_the_pass() {
    each(&["3600", "Fri, 31 Dec 2100 23:59:59 GMT"], |when| {
        let world = waiting();
        world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
        world
            .service
            .always(|_| Answer::json(429, "{}").header("Retry-After", when));
        world.apply().exit(1).any_output();
        assert_eq!(world.service.take().len(), 1);
    });
}

#[test]
fn an_expired_retry_after_does_not_delay() {
    let world = waiting();
    world
        .service
        .answers([Answer::json(503, "{}").header("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")]);
    world.apply().exit(0).any_output();
    sent_the_same(&world.service.take(), 2);
}

#[test]
fn a_service_that_stays_down_is_probed_until_the_pass_gives_up() {
    let world = World::new();
    for number in 0..20 {
        world.repo.file(&format!("shop/env{number:02}/a.yaml"), doc(18));
    }
    world.repo.commit("Add twenty");
    world.service.always(|_| Answer::status(503));
    world
        .apply()
        .set("first-pass", "assert")
        .set("max-in-flight", "1")
        .set("give-up-after", "1s")
        .exit(1)
        .says(&["`--give-up-after`", "in a row", "503"]);
    let requests = world.service.take();
    let mut toggles: Vec<_> = requests.iter().map(Request::toggle).collect();
    toggles.sort();
    toggles.dedup();
    assert_eq!(toggles.len(), 7, "five in a row, and two probes: {toggles:?}");
    let waited = requests[6].at - requests[4].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_service_with_an_untrusted_certificate_gets_no_request() {
    let world = waiting();
    let stranger = world.write("stranger.pem", Authority::other().pem());
    for run in [
        world.apply().unset("ca-file"),
        world.apply().set("ca-file", stranger),
    ] {
        run.exit(1).says(&["certificate"]).never_says(&[TOKEN]);
    }
    world.nothing_sent();
    for (authority, words) in [
        (Authority::expired(), "has expired"),
        (Authority::for_another_host(), "is for another name"),
        (
            Authority::of_authorities(),
            "a CA certificate is used as the server's certificate",
        ),
    ] {
        let service = Service::start_with(authority.server());
        world
            .apply()
            .set("base-url", service.url())
            .set("state-dir", world.path(words))
            .set("first-pass", "assert")
            .set("ca-file", world.write("authority.pem", authority.pem()))
            .exit(1)
            .says(&["certificate", words])
            .never_says(&[TOKEN]);
        assert_eq!(service.count(), 0);
    }
}

#[test]
fn environments_are_published_in_parallel_and_each_one_serially() {
    let world = World::new();
    for environment in ["a", "b", "c"] {
        for toggle in ["x", "y"] {
            world
                .repo
                .file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    world.repo.commit("Add six");
    world
        .service
        .always(|_| Answer::applied().slowly(Duration::from_millis(150)));
    world.apply().set("first-pass", "assert").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 6);
    assert!(requests.iter().all(|request| request.open_for_environment == 1));
    assert_eq!(requests.iter().map(|request| request.open).max(), Some(3));
}

#[test]
fn the_number_of_open_requests_is_bounded() {
    let world = World::new();
    for number in 0..12 {
        world
            .repo
            .file(&format!("shop/env{}/t{number}.yaml", number % 6), doc(18));
    }
    world.repo.commit("Add twelve");
    world
        .service
        .always(|_| Answer::applied().slowly(Duration::from_millis(30)));
    world
        .apply()
        .set("first-pass", "assert")
        .set("max-in-flight", "2")
        .set("max-in-flight-per-environment", "2")
        .exit(0)
        .any_output();
    let requests = world.service.take();
    assert_eq!(requests.iter().map(|request| request.open).max(), Some(2));
    assert!(requests.iter().all(|request| request.open_for_toggle == 1));
}

#[test]
fn a_refused_token_leaves_nothing_unknown() {
    each(&[401, 403], |status| {
        let world = waiting();
        world.service.answers([Answer::json(status, "{}")]);
        world.apply().exit(1).any_output();
        assert_eq!(world.service.take().len(), 1);
        world.repo.revert();
        world.apply().exit(0).any_output();
        world.nothing_sent();
    });
}

#[test]
fn a_toggle_that_waits_for_a_retry_does_not_block_others() {
    let world = waiting();
    world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
    world.service.answers([Answer::status(503)]);
    world.apply().exit(0).any_output();
    let sent: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    assert_eq!(sent, ["shop/prod/pay", "shop/prod/zoo", "shop/prod/pay"]);
}

#[test]
fn the_target_is_printed_before_the_first_request() {
    let world = waiting();
    world.service.answers([Answer::stores_and_hangs()]);
    let mut child = world.apply().start_piped();
    world.service.wait_for(1);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let output = format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    for part in ["127.0.0.1", "refs/heads/main", world.repo.head().as_str()] {
        assert!(output.contains(part), "{part} in {output}");
    }
}

#[test]
fn the_most_severe_outcome_determines_the_exit_code() {
    let world = waiting();
    world
        .repo
        .file("shop/prod/bad.yaml", "nonsense\n")
        .file("shop/test/new.yaml", doc(1))
        .commit("Add more");
    world.service.answers([Answer::json(422, "{}")]);
    world.apply().exit(1).any_output();
    world.apply().exit(4).any_output();
    world.apply().set("first-pass", "assert").exit(3).any_output();
}

#[test]
fn a_proxy_learns_only_the_host_of_the_service() {
    let world = waiting();
    let proxy = crate::support::proxy::Proxy::start();
    world.apply().env("HTTPS_PROXY", proxy.url()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    let seen = proxy.seen();
    assert!(
        seen.starts_with(&format!("CONNECT 127.0.0.1:{} ", world.service.port())),
        "{seen}"
    );
    assert!(!seen.contains(TOKEN) && !seen.contains("shop"), "{seen}");

    world
        .repo
        .file("shop/prod/pay.yaml", doc(22))
        .commit("Change again");
    world
        .apply()
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("NO_PROXY", "127.0.0.1")
        .exit(0)
        .any_output();
    world.sent(&[("shop/prod/pay", body(22, "Change again"))]);
}
