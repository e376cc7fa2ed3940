//! The daemon, and state that is shared, over a true `sshd` where one can be had.

use crate::support::{Daemon, Repo, Sshd, World, body};

/// A world whose repository is served over ssh, and what serves it.
fn served() -> Option<(World, Repo, Sshd)> {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let hosted = world.repo.clone_bare(&world.path("hosted.git"));
    let Some(server) = Sshd::start(world.path("sshd")) else {
        use std::io::Write;
        let _ = writeln!(std::io::stderr(), "skipped: no sshd can be started here");
        return None;
    };
    Some((world, hosted, server))
}

#[test]
fn a_repository_over_ssh_is_followed_and_a_changed_host_key_stops_it_until_it_is_known() {
    let Some((world, hosted, server)) = served() else {
        return;
    };
    let daemon = Daemon::ready(&world, |run| {
        run.set("repo", server.url(hosted.path()))
            .set("first-pass", "assert")
            .set("poll-interval", "300ms")
            .env("GIT_SSH_COMMAND", server.command())
    });
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);

    server.trusts("other");
    daemon.is_unready_for(&["host key"]);
    world.repo.commit_pay(21, "Change pay");
    world.repo.git(&["push", "-q", hosted.path().to_str().unwrap(), "main"]);
    server.trusts("host");
    daemon.is_ready();
    daemon.becomes("shop/prod/pay", "in_sync");
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn state_that_is_shared_over_ssh_makes_an_empty_disk_as_good_as_a_full_one() {
    let Some((world, hosted, server)) = served() else {
        return;
    };
    for (number, sent) in [(0, vec![("shop/prod/pay", body(18, "Add pay"))]), (1, vec![])] {
        world
            .apply()
            .set("repo", server.url(hosted.path()))
            .set("state-remote", "origin")
            .set("state-dir", world.path(&format!("disk-{number}")))
            .set("first-pass", "assert")
            .env("GIT_SSH_COMMAND", server.command())
            .exit(0)
            .any_output();
        world.sent(&sent);
    }
}
