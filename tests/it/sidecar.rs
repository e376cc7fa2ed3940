//! A daemon whose checkout git-sync updates.

use crate::support::{Daemon, GitSync, Repo, World, body};

#[test]
fn git_housekeeping_starts_no_pass() {
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
    world.repo.commit_pay(21, "Change pay");
    sync.sync();
    world.service.wait_for(1);
    daemon.has_seen(&world.repo.head());
    assert_eq!(daemon.passes(), passes + 1.0);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn each_synced_commit_causes_at_most_one_pass() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let daemon = Daemon::ready(&world, |run| run.set("repo", sync.link()));
    let passes = daemon.passes();
    for age in 31..41 {
        world.repo.commit_pay(age, &format!("Ask for {age} years"));
        sync.sync();
    }
    daemon.has_seen(&world.repo.head());
    daemon.becomes("shop/prod/pay", "in_sync");
    let made = daemon.passes() - passes;
    assert!(made <= 10.0, "{made} passes for 10 commits");
    daemon.stops_cleanly();
}

/// git-sync 4 links work trees to their repository by relative paths.
#[test]
fn a_checkout_may_be_mounted_at_another_path() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let sync = GitSync::synced(&world);
    let mounted = world.path("elsewhere");
    std::fs::rename(sync.root().path(), &mounted).unwrap();
    let link = mounted.join(sync.link().file_name().unwrap());
    world.apply().set("repo", link).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_daemon_that_starts_before_the_first_sync_waits_for_a_checkout() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let sync = GitSync::of(&world);
    let daemon = Daemon::start(&world, |run| run.set("repo", sync.link()));
    waits_for_a_checkout(&daemon, &sync);
    sync.sync();
    world.service.wait_for(1);
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(daemon.said("waiting for a checkout"), 1, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn state_in_the_origin_of_a_checkout_is_found_once_the_checkout_exists() {
    let world = World::with_pay_applied();
    let sync = GitSync::of(&world);
    let daemon = Daemon::start(&world, |run| {
        run.set("repo", sync.link())
            .set("state-dir", world.path("empty"))
            .set("state-remote", "origin")
            .set("first-pass", "assert")
    });
    waits_for_a_checkout(&daemon, &sync);
    sync.sync();
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    let shared = world.repo.git(&["for-each-ref", "refs/gitoggle/"]);
    assert!(shared.ends_with("/applied"), "{shared}");
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_is_held_while_the_origin_of_its_checkout_is_another_one() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let daemon = Daemon::ready(&world, |run| {
        run.set("repo", sync.link())
            .set("state-dir", world.path("empty"))
            .set("state-remote", "origin")
            .set("first-pass", "assert")
    });
    let moved = Repo::bare(&world.path("moved.git"));
    let url = moved.path().display().to_string();
    sync.root().git(&["remote", "set-url", "origin", &url]);
    world.repo.commit_pay(21, "Change pay");
    sync.sync();
    daemon.is_unready_for(&["belongs to the shared state", "--state-remote", "moved.git"]);
    assert_eq!(moved.git(&["for-each-ref", "refs/gitoggle/"]), "");
    let first = world.repo.path().display().to_string();
    sync.root().git(&["remote", "set-url", "origin", &first]);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.stops_cleanly();
}

#[test]
fn a_branch_that_git_sync_does_not_keep_gets_the_hint_to_leave_ref_out() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let hint = "leave `--ref` out: `HEAD` is detached";
    world
        .plan()
        .set("repo", sync.link())
        .set("ref", "main")
        .exit(1)
        .stderr_contains(&["could not find a branch, tag, or commit `main`", hint])
        .any_stdout();
    let daemon = Daemon::start(&world, |run| run.set("repo", sync.link()).set("ref", "main"));
    daemon.is_unready_for(&["could not find a branch, tag, or commit `main`", hint]);
    daemon.says(&["pass_failed", hint]);
    daemon.stops_cleanly();
}

#[test]
fn an_unreadable_folder_is_reported_as_a_missing_permission_and_not_as_damage() {
    use std::os::unix::fs::PermissionsExt as _;
    for part in ["objects", ""] {
        let world = World::with_pay_applied();
        let sync = GitSync::synced(&world);
        let denied = sync.root().path().join(".git").join(part);
        let mode = |mode| std::fs::set_permissions(&denied, std::fs::Permissions::from_mode(mode)).unwrap();
        mode(0o000);
        let ran = world.plan().set("repo", sync.link()).by_nobody().exit(1);
        mode(0o755);
        let printed = ran.both();
        assert!(printed.contains("permission denied for uid "), "{part}: {printed}");
        assert!(printed.contains("$TMP/git/"), "{part}: {printed}");
        assert!(!printed.contains("damage") && !printed.contains("class="), "{part}: {printed}");
    }
}

#[test]
fn persistent_damage_is_reported_without_the_message_of_libgit2() {
    let world = World::with_pay_applied();
    let sync = GitSync::synced(&world);
    let head = sync.root().path().join(".git/worktrees").join(world.repo.head());
    std::fs::write(head.join("HEAD"), "no ref at all\n").unwrap();
    let printed = world.plan().set("repo", sync.link()).exit(1).both();
    assert!(printed.contains("it is damaged") && printed.contains("git fsck"), "{printed}");
    assert!(!printed.contains("class=") && !printed.contains("git:"), "{printed}");
}

#[test]
fn a_single_pass_does_not_wait_for_a_checkout() {
    let world = World::with_pay_applied();
    let sync = GitSync::of(&world);
    for state_remote in [None, Some("origin")] {
        let apply = world.apply().set("repo", sync.link());
        let apply = match state_remote {
            Some(remote) => apply.set("state-remote", remote),
            None => apply,
        };
        apply.exit(1).stderr_contains(&["could not find a repository at `$TMP/git/current`", "hint: "]);
    }
    world.nothing_sent();
}

/// Asserts that the daemon waits for the first sync, which is neither an error nor a pass.
#[track_caller]
fn waits_for_a_checkout(daemon: &Daemon, sync: &GitSync) {
    let waiting = format!("waiting for a checkout at `{}`", sync.link().display());
    daemon.is_unready_for(&[&waiting]);
    daemon.says(&["\"info\"", "waiting for a checkout", &sync.link().display().to_string()]);
    assert_eq!(daemon.passes(), 0.0, "{}", daemon.log());
    assert_eq!(daemon.said("\"error\""), 0, "{}", daemon.log());
}
