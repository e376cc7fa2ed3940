//! Certificates, proxies, and the number of requests at a time.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use super::waiting;
use crate::support::answer::Then;
use crate::support::certificate::Authority;
use crate::support::{Answer, Service, TOKEN, World, body, doc};

#[test]
fn a_service_with_an_untrusted_certificate_gets_no_request() {
    let world = waiting();
    let stranger = world.write("stranger.pem", Authority::other().pem());
    for run in [world.apply().unset("ca-file"), world.apply().set("ca-file", stranger)] {
        run.exit(1).says(&["certificate"]).never_says(&[TOKEN]);
    }
    world.nothing_sent();
    for (authority, words) in [
        (Authority::expired(), "has expired; renew it there, or correct the clock of this machine"),
        (Authority::for_another_host(), "is for another name"),
        (Authority::of_authorities(), "a CA certificate is used as the server's certificate"),
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
            world.repo.file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    world.repo.commit("Add six");
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(150)));
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
        world.repo.file(&format!("shop/env{}/t{number}.yaml", number % 6), doc(18));
    }
    world.repo.commit("Add twelve");
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(30)));
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
fn the_target_is_printed_before_the_first_request() {
    let world = waiting();
    world.service.answers([Answer::stores_and_hangs()]);
    let mut child = world.apply().start_piped();
    world.service.wait_for(1);
    child.kill().unwrap();
    let output = child.wait_with_output().unwrap();
    let output =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    for part in ["127.0.0.1", "refs/heads/main", world.repo.head().as_str()] {
        assert!(output.contains(part), "{part} in {output}");
    }
}

#[test]
fn a_response_that_arrives_a_byte_at_a_time_ends_at_the_timeout() {
    let world = waiting();
    let head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n";
    world.service.answers([Answer::raw(head).and(Then::Drip)]);
    world.apply().set("timeout", "400ms").exit(0).stdout_contains(&["applied 1 of 1 change"]).any_stderr();
    assert_eq!(world.service.take().len(), 2, "the second request confirmed it");
}

#[test]
fn a_proxy_that_cannot_be_used_ends_the_command_instead_of_being_ignored() {
    let world = waiting();
    for value in ["http://", "ftp://user:pw-5678@proxy.example", "%%"] {
        world
            .apply()
            .env("HTTPS_PROXY", value)
            .exit(1)
            .stderr_contains(&["`HTTPS_PROXY` is not the address of a proxy", "hint: "])
            .never_says(&["pw-5678"]);
    }
    world.nothing_sent();
}

#[test]
fn a_socks_proxy_is_named_as_the_cause_where_it_would_be_used() {
    let world = waiting();
    let proxy = "socks5://user:pw-5678@127.0.0.1:9";
    let socks = "`socks5://127.0.0.1:9` is a SOCKS proxy, and only HTTP proxies are supported";
    let apply = world.apply().set("give-up-after", "1s").env("ALL_PROXY", proxy);
    let done = apply.exit(1).never_says(&["pw-5678"]).any_stderr();
    done.stdout_contains(&[socks]);
    world.nothing_sent();
    let exempt = world.apply().env("ALL_PROXY", proxy).env("NO_PROXY", "127.0.0.1");
    exempt.exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_proxy_learns_only_the_host_of_the_service() {
    let world = waiting();
    let proxy = crate::support::proxy::Proxy::start();
    world.apply().env("HTTPS_PROXY", proxy.url()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    let seen = proxy.seen();
    assert!(seen.starts_with(&format!("CONNECT 127.0.0.1:{} ", world.service.port())), "{seen}");
    assert!(!seen.contains(TOKEN) && !seen.contains("shop"), "{seen}");

    world.repo.commit_pay(22, "Change again");
    world.apply().env("HTTPS_PROXY", "http://127.0.0.1:9").env("NO_PROXY", "127.0.0.1").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(22, "Change again"))]);
}

#[test]
fn a_service_that_does_not_speak_tls_is_not_tried_again() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 512]);
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
        }
    });
    world
        .apply()
        .set("base-url", format!("https://{address}"))
        .set("first-pass", "assert")
        .exit(1)
        .never_says(&["the next pass"])
        .says(&["does not speak TLS", "hint: check `--base-url`"]);
}
