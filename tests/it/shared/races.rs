//! Two jobs at once, each with an empty disk, whose state is on a Git host.

use std::time::Duration;

use crate::support::git_host::Door;
use crate::support::{Answer, Gitoggle, Remote, Repo, Sshd, World, body};

const ROUNDS: u32 = 20;

/// Lets two jobs that `job` begins publish the same change, many times.
fn race(world: &World, job: impl Fn(&str) -> Gitoggle) {
    job("first").set("first-pass", "assert").exit(0).any_output();
    world.service.take();
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(20)));
    for round in 0..ROUNDS {
        let message = format!("Change {round}");
        world.repo.commit_pay(20 + round, &message);
        let both = ["left", "right"].map(|machine| job(&format!("{machine}-{round}")).start());
        assert_eq!(both.map(crate::support::command::Running::wait), [Some(0); 2], "{message}");
        world.sent(&[("shop/prod/pay", body(20 + round, &message))]);
    }
    job("last").exit(0).any_output();
    world.nothing_sent();
}

/// Returns `apply` with this state remote on its own machine.
fn job(world: &World, url: &str, machine: &str) -> Gitoggle {
    let disk = world.path(&format!("disk-{machine}"));
    let job = world.apply().set("state-remote", url).set("state-name", "toggles");
    job.set("state-dir", disk).env("HOSTNAME", machine)
}

#[test]
fn of_two_jobs_at_once_over_https_one_publishes() {
    let remote = Remote::new(Door::Open);
    Repo::bare(&remote.world.path("hosted/state.git"));
    let url = format!("{}/state.git", remote.host.url());
    race(&remote.world, |machine| job(&remote.world, &url, machine));
}

#[test]
fn of_two_jobs_at_once_over_ssh_one_publishes() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let state = Repo::bare(&world.path("state.git"));
    let Some(server) = Sshd::start(world.path("sshd")) else {
        return;
    };
    let url = server.url(state.path());
    race(&world, |machine| job(&world, &url, machine).env("GIT_SSH_COMMAND", server.command()));
}
