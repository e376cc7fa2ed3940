//! Beside git-sync: what a daemon does while another process keeps its checkout up to date.

use crate::support::{Daemon, GitSync, World, body, doc};

#[test]
fn housekeeping_beside_the_ref_starts_no_pass() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let daemon = Daemon::ready(&world, |run| run.set("repo", sync.link()));
    let passes = daemon.passes();
    for _ in 0..5 {
        sync.sync();
        sync.root().git(&["gc", "--quiet"]);
        sync.root().git(&["update-ref", "refs/heads/elsewhere", "HEAD"]);
        sync.root().git(&["update-ref", "-d", "refs/heads/elsewhere"]);
    }
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    sync.sync();
    world.service.wait_for(1);
    daemon.has_seen(&world.repo.head());
    assert_eq!(daemon.passes(), passes + 1.0);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.ends_in_peace();
}

#[test]
fn each_commit_that_is_synced_is_one_pass_at_most() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let daemon = Daemon::ready(&world, |run| run.set("repo", sync.link()));
    let passes = daemon.passes();
    for age in 31..41 {
        world
            .repo
            .file("shop/prod/pay.yaml", doc(age))
            .commit(&format!("Ask for {age} years"));
        sync.sync();
    }
    daemon.has_seen(&world.repo.head());
    daemon.becomes("shop/prod/pay", "in_sync");
    let made = daemon.passes() - passes;
    assert!(made <= 10.0, "{made} passes for 10 commits");
    daemon.ends_in_peace();
}
