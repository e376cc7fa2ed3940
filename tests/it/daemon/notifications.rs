//! Notices: one for every toggle that fails, recovers, is held or released, and no other while
//! nothing changes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use serde_json::{Value, json};

use crate::support::keys::SshKey;
use crate::support::{Answer, Daemon, Gitoggle, Repo, Request, Service, World, body, doc, eventually};

const SECRET: &str = "whsec_Z2l0b2dnbGUtdGVzdHM=";

/// A world in which the service refuses whatever a commit of that message asks for.
fn refusing(message: &'static str) -> World {
    let world = World::with_pay_applied();
    world.service.always(move |request| match request.comment() == message {
        true => Answer::json(422, r#"{"message": "no such attribute"}"#),
        false => Answer::applied(),
    });
    world
}

/// Configures the daemon to send signed notifications to `receiver`.
fn telling<'a>(world: &World, receiver: &'a Service) -> impl Fn(Gitoggle) -> Gitoggle + use<'a> {
    let secret = world.write("notify-secret", &format!("{SECRET}\n"));
    move |run| {
        run.set("notify-url", format!("{}/notices", receiver.url()))
            .set("notify-secret-file", &secret)
            .set("poll-interval", "200ms")
    }
}

/// Returns the next message to the receiver as `toggle change` lines, and forgets it.
#[track_caller]
fn received(receiver: &Service) -> Vec<String> {
    receiver.wait_for(1);
    let mut requests = receiver.take();
    assert_eq!(requests.len(), 1, "one message at a time: {requests:?}");
    let request = requests.remove(0);
    assert!(is_signed(&request, SECRET), "{request:?}");
    lines(&request.body())
}

fn lines(message: &Value) -> Vec<String> {
    let changes = message["data"]["changes"].as_array().expect("a list");
    let line = |change: &Value| {
        let text = |member: &str| change[member].as_str().expect("a text").to_owned();
        format!("{} {}", text("toggle"), text("change"))
    };
    changes.iter().map(line).collect()
}

/// Checks a message as any receiver of Standard Webhooks does.
fn is_signed(request: &Request, secret: &str) -> bool {
    let header = |name: &str| request.header(name).unwrap_or_default();
    let (id, at) = (header("webhook-id"), header("webhook-timestamp"));
    let key = STANDARD.decode(secret.trim_start_matches("whsec_")).unwrap();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(&key).expect("any length will do");
    mac.update(format!("{id}.{at}.").as_bytes());
    mac.update(&request.bytes);
    let signature = format!("v1,{}", STANDARD.encode(mac.finalize().into_bytes()));
    let age = at.parse().map(|at: i64| jiff::Timestamp::now().as_second().abs_diff(at));
    !id.is_empty() && age.is_ok_and(|age| age < 300) && header("webhook-signature") == signature
}

#[track_caller]
fn more_passes(daemon: &Daemon, count: f64) {
    let before = daemon.passes();
    eventually("more passes", || (daemon.passes() >= before + count).then_some(()));
}

/// A world with a service that refuses "Break both", and a daemon that notifies a receiver of both changes of
/// that commit.
fn broken() -> (World, Service, Daemon) {
    let world = refusing("Break both");
    let receiver = Service::start();
    let daemon = Daemon::ready(&world, telling(&world, &receiver));
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(3)).commit("Break both");
    (world, receiver, daemon)
}

#[test]
fn a_notification_has_all_changes_of_a_commit() {
    let (world, receiver, daemon) = broken();
    receiver.wait_for(1);
    let message = receiver.requests()[0].clone();
    assert_eq!(message.method, "POST");
    assert_eq!(message.path, "/notices");
    assert_eq!(message.header("content-type"), Some("application/json"));
    assert_eq!(message.body()["type"], "toggles.changed");
    let data = &message.body()["data"];
    assert_eq!(data["revision"], world.repo.head());
    assert_eq!(
        data["counts"],
        json!({ "failed": 2, "drifted": 0, "held": 0, "recovered": 0, "released": 0 })
    );
    assert!(
        data["changes"][0]["reason"].as_str().is_some_and(|reason| reason.contains("no such attribute")),
        "{data}"
    );
    daemon.stops_cleanly();
}

#[test]
fn every_change_of_state_is_reported_once_signed_and_grouped_by_commit() {
    let (world, receiver, daemon) = broken();
    assert_eq!(received(&receiver), ["shop/prod/pay failed", "shop/prod/zoo failed"]);

    world.repo.commit_pay(22, "Repair pay");
    assert_eq!(received(&receiver), ["shop/prod/pay recovered"]);
    world.repo.file("shop/prod/pay.yaml", "nonsense\n").commit("Spoil pay");
    assert_eq!(received(&receiver), ["shop/prod/pay held"]);
    more_passes(&daemon, 3.0);
    daemon.stops_cleanly();

    // A restart repeats nothing either, though it tries again what was refused.
    let daemon = Daemon::ready(&world, telling(&world, &receiver));
    daemon.becomes("shop/prod/zoo", "failed");
    more_passes(&daemon, 3.0);
    assert_eq!(receiver.count(), 0, "{:?}", receiver.requests());
    world.repo.file("shop/prod/pay.yaml", doc(22)).file("shop/prod/zoo.yaml", doc(4)).commit("Repair both");
    assert_eq!(received(&receiver), ["shop/prod/zoo recovered", "shop/prod/pay released"]);
    daemon.stops_cleanly();
    assert_eq!(receiver.count(), 0);
}

/// Returns the type and the reason of the next message to the receiver.
#[track_caller]
fn received_about_the_pass(receiver: &Service) -> (String, String) {
    receiver.wait_for(1);
    let message = receiver.take().remove(0).body();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (text(&message["type"]), text(&message["data"]["reason"]))
}

#[test]
fn a_refused_revision_is_reported_once_and_so_is_its_release() {
    let world = World::with_pay_applied();
    let receiver = Service::start();
    let alice = SshKey::new(&world, "alice");
    let signers = world.write("signers", &alice.line("alice@example.com", ""));
    world.repo.commit_pay(21, "Change pay");
    let start = || {
        let telling = telling(&world, &receiver);
        Daemon::start(&world, |run| telling(run).set("allowed-signers", &signers))
    };
    // Also if the first pass is refused.
    let daemon = start();
    let (kind, reason) = received_about_the_pass(&receiver);
    assert_eq!(kind, "pass.held");
    let says =
        [&format!("revision {} is not signed", world.repo.head()), "git commit --allow-empty --gpg-sign"];
    assert!(says.iter().all(|says| reason.contains(says)), "{reason}");
    world.repo.commit_pay(22, "Change it again");
    daemon.is_unready_for(&[&world.repo.head()]);
    more_passes(&daemon, 2.0);
    daemon.stops_cleanly();
    let daemon = start();
    daemon.is_unready_for(&["is not signed"]);
    more_passes(&daemon, 2.0);
    assert_eq!(receiver.count(), 0, "{:?}", receiver.requests());
    alice.commit(&world, "Approve");
    assert_eq!(received_about_the_pass(&receiver).0, "pass.released");
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(22, "Change it again"))]);
    // A key that is revoked.
    std::fs::write(&signers, "").unwrap();
    let (kind, reason) = received_about_the_pass(&receiver);
    assert_eq!(kind, "pass.held");
    assert!(reason.contains("is signed by a key that is not trusted"), "{reason}");
    daemon.stops_cleanly();
}

#[test]
fn a_state_remote_that_only_a_person_can_repair_is_reported_once() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let receiver = Service::start();
    let (remote, away) = (world.path("shared.git"), world.path("away.git"));
    Repo::bare(&remote);
    let shared = |run: Gitoggle| run.set("state-remote", &remote).set("state-dir", world.path("shared"));
    shared(world.apply()).set("first-pass", "assert").exit(0).any_output();
    let daemon = Daemon::ready(&world, |run| shared(telling(&world, &receiver)(run)));
    std::fs::rename(&remote, &away).unwrap();
    let (kind, reason) = received_about_the_pass(&receiver);
    assert_eq!(kind, "pass.held");
    assert!(reason.contains("could not use the state remote"), "{reason}");
    more_passes(&daemon, 2.0);
    assert_eq!(receiver.count(), 0, "{:?}", receiver.requests());
    std::fs::rename(&away, &remote).unwrap();
    assert_eq!(received_about_the_pass(&receiver).0, "pass.released");
    daemon.stops_cleanly();
}

#[test]
fn a_stale_checkout_is_reported_once() {
    let world = World::with_pay_applied();
    let receiver = Service::start();
    let daemon = Daemon::ready(&world, telling(&world, &receiver));
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "in_sync");
    world.service.wait_for(1);
    world.repo.force("HEAD~1");
    let (kind, reason) = received_about_the_pass(&receiver);
    assert_eq!(kind, "pass.held");
    assert!(reason.contains("this checkout is stale") && reason.contains("revert in Git"), "{reason}");
    more_passes(&daemon, 2.0);
    assert_eq!(receiver.count(), 0, "{:?}", receiver.requests());
    world.repo.commit_pay(22, "Another change");
    more_passes(&daemon, 2.0);
    assert_eq!(receiver.count(), 0, "still stale: {:?}", receiver.requests());
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_that_takes_over_repeats_no_notification() {
    let world = refusing("Break pay");
    let receiver = Service::start();
    let telling = telling(&world, &receiver);
    let first = Daemon::ready(&world, &telling);
    let second = Daemon::start(&world, &telling);
    second.is_unready_for(&["another process is the writer"]);
    world.repo.commit_pay(21, "Break pay");
    assert_eq!(received(&receiver), ["shop/prod/pay failed"]);
    first.stops_cleanly();
    second.is_ready();
    second.becomes("shop/prod/pay", "failed");
    more_passes(&second, 2.0);
    world.repo.commit_pay(22, "Repair pay");
    assert_eq!(received(&receiver), ["shop/prod/pay recovered"]);
    second.stops_cleanly();
}

#[test]
fn slack_gets_a_text_and_its_url_is_a_secret() {
    let world = refusing("Break pay");
    let receiver = Service::start();
    let path = "services/T000/B000/s3cr3t-path";
    let url = world.write("slack-url", &format!("{}/{path}\n", receiver.url()));
    let daemon = Daemon::ready(&world, |run| run.set("notify-slack-url-file", url).arg("-vv"));
    world.repo.commit_pay(21, "Break pay");
    receiver.wait_for(1);
    let requests = receiver.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].path, format!("/{path}"));
    let message = requests[0].body();
    let text = message["text"].as_str().unwrap();
    for needle in ["1 failed", "`shop/prod/pay`", "no such attribute"] {
        assert!(text.contains(needle), "{text}");
    }
    assert_eq!(requests[0].header("authorization"), None);
    assert_eq!(daemon.said("s3cr3t-path"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn a_receiver_that_is_not_there_costs_nothing_but_a_metric() {
    let world = refusing("Break pay");
    let unused = crate::support::http::Endpoint::free();
    let daemon =
        Daemon::ready(&world, |run| run.set("notify-url", format!("https://{}/notices", unused.address())));
    world.repo.commit_pay(21, "Break pay");
    daemon.becomes("shop/prod/pay", "failed");
    world.service.take();
    world.repo.file("shop/prod/zoo.yaml", doc(3)).commit("Add zoo");
    daemon.becomes("shop/prod/zoo", "in_sync");
    world.sent(&[("shop/prod/zoo", body(3, "Add zoo"))]);
    daemon.is_ready();
    eventually("the metric", || (daemon.metric("gitoggle_notices_failed_total")? >= 1.0).then_some(()));
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_receiver_that_was_away_is_told_what_is_still_the_case() {
    let world = refusing("Break both");
    let (receiver, chat) = (Service::start(), Service::start());
    receiver.always(|_| Answer::status(404));
    let slack = world.write("slack-url", &format!("{}/chat\n", chat.url()));
    let telling = telling(&world, &receiver);
    let telling = |run| telling(run).set("notify-slack-url-file", &slack);
    let daemon = Daemon::ready(&world, telling);
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(3)).commit("Break both");
    receiver.wait_for(1);
    chat.wait_for(1);
    eventually("the failure", || (daemon.metric("gitoggle_notices_failed_total")? >= 1.0).then_some(()));
    world.repo.commit_pay(22, "Repair pay");
    daemon.becomes("shop/prod/pay", "in_sync");
    chat.wait_for(2);
    daemon.stops_cleanly();
    receiver.always(|_| Answer::applied());
    receiver.take();
    chat.take();
    let daemon = Daemon::ready(&world, telling);
    assert_eq!(received(&receiver), ["shop/prod/zoo failed"]);
    more_passes(&daemon, 2.0);
    daemon.stops_cleanly();
    let daemon = Daemon::ready(&world, telling);
    more_passes(&daemon, 2.0);
    daemon.stops_cleanly();
    assert_eq!((receiver.count(), chat.count()), (0, 0), "{:?}", receiver.requests());
}

#[test]
fn a_receiver_that_never_responds_delays_neither_a_publish_nor_the_end() {
    let world = refusing("Break pay");
    let receiver = Service::start();
    receiver.always(|_| Answer::hangs());
    let daemon = Daemon::ready(&world, |run| run.set("notify-url", format!("{}/notices", receiver.url())));
    world.repo.commit_pay(21, "Break pay");
    receiver.wait_for(1);
    world.service.take();
    world.repo.file("shop/prod/zoo.yaml", doc(3)).commit("Add zoo");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/zoo", body(3, "Add zoo"))]);
    daemon.stops_cleanly();
    assert_eq!(receiver.count(), 1, "the one that hangs");
}

#[test]
fn the_secret_that_notices_are_signed_with_rotates_without_a_restart() {
    let world = refusing("Break pay");
    let receiver = Service::start();
    let telling = telling(&world, &receiver);
    let daemon = Daemon::ready(&world, &telling);
    world.repo.commit_pay(21, "Break pay");
    assert_eq!(received(&receiver), ["shop/prod/pay failed"]);
    let another = "whsec_YW5vdGhlcg==";
    world.write("notify-secret", another);
    world.repo.commit_pay(22, "Repair pay");
    receiver.wait_for(1);
    let requests = receiver.take();
    assert_eq!(requests.len(), 1);
    assert!(is_signed(&requests[0], another) && !is_signed(&requests[0], SECRET), "{requests:?}");
    assert_eq!(lines(&requests[0].body()), ["shop/prod/pay recovered"]);
    daemon.stops_cleanly();
}
