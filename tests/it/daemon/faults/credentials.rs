//! Certificates, tokens and passwords that are wrong or change while the daemon runs.

use super::Shared;
use crate::support::certificate::Authority;
use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, World, body};

#[test]
fn a_wrong_certificate_authority_is_reported_and_the_right_one_is_used_without_a_restart() {
    let remote = Remote::settled(Door::Open);
    remote.push(21, "Ask for 21 years");
    remote.host.take();
    remote.world.write("ca.pem", Authority::other().pem());
    let daemon =
        Daemon::start(&remote.world, |run| run.set("repo", remote.url()).set("poll-interval", "200ms"));
    daemon.is_unready_for(&["could not read the source", "certificate", "127.0.0.1"]);
    assert_eq!(remote.host.count(), 0, "nothing is said to who is not trusted");
    remote.world.write("ca.pem", Authority::trusted().pem());
    remote.world.service.wait_for(1);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);

    // The service's certificate is verified with the same file.
    remote.world.write("ca.pem", "");
    daemon.is_unready_for(&["ca.pem"]);
    remote.world.write("ca.pem", Authority::trusted().pem());
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_service_with_a_wrong_certificate_gets_nothing_until_the_authority_is_trusted() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "1s"));
    world.write("ca.pem", Authority::other().pem());
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["certificate"]);
    world.nothing_sent();
    world.write("ca.pem", Authority::trusted().pem());
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn the_token_rotates_without_a_restart() {
    let world = World::with_pay_applied();
    let token = world.write("token", "old-token\n");
    let accepted = Shared::new("old-token");
    let valid = accepted.share();
    world.service.always(move |request| {
        let known = request.header("authorization") == Some(valid.is());
        match known {
            true => Answer::applied(),
            false => Answer::json(401, r#"{"message": "who are you?"}"#),
        }
    });
    let daemon = Daemon::ready(&world, |run| {
        run.without_env("GITOGGLE_TOKEN").set("token-file", &token).set("poll-interval", "200ms")
    });
    accepted.becomes("new-token");
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["401"]);
    let tried = world.service.count();
    let before = daemon.passes();
    world.write("token", "new-token\n");
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.is_ready();
    assert!(daemon.passes() > before);
    let requests = world.service.take();
    let (refused, taken) = requests.split_at(tried);
    assert!(
        refused.len() <= 2,
        "the old token is tried once, and once more after its file was read again: {refused:?}"
    );
    assert_eq!(taken.len(), 1);
    assert_eq!(taken[0].header("authorization"), Some("new-token"));
    assert_eq!(daemon.said("old-token") + daemon.said("new-token"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn git_credentials_rotate_without_a_restart() {
    // `ada:pw-1` and `ada:pw-2`.
    let (old, new) = ("Basic YWRhOnB3LTE=", "Basic YWRhOnB3LTI=");
    let remote = Remote::settled(Door::Open);
    let accepted = Shared::new(old);
    let valid = accepted.share();
    remote.host_answers(move |request| {
        (request.header("authorization") != Some(valid.is()))
            .then(|| Answer::status(401).header("WWW-Authenticate", "Basic realm=\"git\""))
    });
    let password = remote.world.write("password", "pw-1\n");
    let daemon = remote.daemon(|run| {
        run.set("git-username", "ada").set("git-password-file", &password).set("poll-interval", "200ms")
    });
    accepted.becomes(new);
    remote.push(21, "Ask for 21 years");
    daemon.is_unready_for(&["could not read the source", "credentials"]);
    remote.world.write("password", "pw-2\n");
    remote.world.service.wait_for(1);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    assert_eq!(daemon.said("pw-1") + daemon.said("pw-2"), 0, "{}", daemon.log());
    daemon.stops_cleanly();
}
