//! Lost, late and unexpected responses, and when a request is repeated.

use std::net::{Shutdown, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::time::Duration;

use super::{each, sent_the_same, waiting};
use crate::support::answer::Then;
use crate::support::{Answer, Request, Service, TOKEN, World, doc, eventually};

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
        world.apply().exit(1).says(&["shop/prod/pay", &status.to_string()]);
        sent_the_same(&world.service.take(), 4);
    });
}

#[test]
fn a_lost_reply_is_followed_by_the_same_body_and_comment() {
    let half = Answer::raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{}");
    let lost = [Answer::stores_and_closes(), Answer::closes(), half.clone(), half.and(Then::Cut)];
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

/// The service does not notice immediately that its client has given up, so the requests can overlap on its
/// side.
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

/// Keeps the port of `url`, so that no other test listens on it. The end of a listening socket refuses
/// connections until it is dropped.
fn refusing(url: &str) -> TcpStream {
    let port = url.rsplit_once(':').unwrap().1.parse().unwrap();
    // The thread of the service that had it may still end.
    let listener = eventually("the port", || TcpListener::bind(("127.0.0.1", port)).ok());
    let socket = TcpStream::from(OwnedFd::from(listener));
    socket.shutdown(Shutdown::Read).unwrap();
    socket
}

#[test]
fn a_service_that_cannot_be_reached_is_reported_with_the_reason() {
    let mut world = waiting();
    let url = world.service.url();
    world.service = Service::start();
    let _port = refusing(&url);
    world
        .apply()
        .set("base-url", &url)
        .exit(1)
        .says(&["shop/prod/pay", "onnection refused"])
        .never_says(&[TOKEN]);
    world.nothing_sent();
    // Listens, so that TCP connects, and never answers in TLS.
    let mute = TcpListener::bind("127.0.0.1:0").unwrap();
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
fn a_second_retry_after_delays_every_toggle() {
    let world = World::with_pay_applied();
    world.repo.file("web/prod/a.yaml", doc(1)).commit("Web");
    world.settle();
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("web/prod/a.yaml", doc(2)).commit("Change both");
    world.service.answers([1, 2].map(|_| Answer::json(429, "{}").header("Retry-After", "1")));
    world.apply().set("max-in-flight", "1").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 4);
    assert_ne!(requests[0].toggle(), requests[1].toggle());
    let waited = requests[2].at - requests[1].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
}

#[test]
fn a_long_retry_after_ends_the_pass() {
    each(&["3600", "Fri, 31 Dec 2100 23:59:59 GMT"], |when| {
        let world = waiting();
        world.repo.file("shop/prod/zoo.yaml", doc(5)).commit("Add zoo");
        world.service.always(|_| Answer::json(429, "{}").header("Retry-After", when));
        world.apply().exit(1).any_output();
        assert_eq!(world.service.take().len(), 2, "the second one shows that it is not about one toggle");
    });
}

#[test]
fn an_expired_retry_after_does_not_delay() {
    let world = waiting();
    world.service.answers([Answer::json(503, "{}").header("Retry-After", "Fri, 31 Dec 1999 23:59:59 GMT")]);
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
    assert_eq!(toggles.len(), 12, "ten in a row, and two probes: {toggles:?}");
    let waited = requests[11].at - requests[9].at;
    assert!(waited >= Duration::from_secs(1), "{waited:?}");
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
