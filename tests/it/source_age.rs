//! The age of a source: a checkout that is no longer updated is reported, whatever the cause.

use std::time::Duration;

use crate::support::git_host::Door;
use crate::support::{Daemon, GitSync, Remote, World, doc, eventually};

const HOURS_11: Duration = Duration::from_secs(11 * 3600);

/// Starts a daemon with a git-sync whose last fetch was 11 hours ago; the poll interval of an hour allows 10.
fn stopped(world: &World) -> (GitSync, Daemon) {
    let sync = GitSync::synced(world);
    sync.fetched_before(HOURS_11);
    let daemon = Daemon::ready(world, |run| run.set("repo", sync.link()));
    is_reported(&daemon, "ready; the source was last fetched 11 h ago, at ");
    (sync, daemon)
}

/// Waits until `/readyz` begins with `text`, and returns the complete text.
#[track_caller]
fn is_reported(daemon: &Daemon, text: &str) -> String {
    eventually(&format!("/readyz to begin with: {text}"), || {
        let reply = daemon.endpoint.get("/readyz")?;
        (reply.status == 200 && reply.body.starts_with(text)).then_some(reply.body)
    })
}

fn fetched_at(daemon: &Daemon) -> Option<String> {
    Some(daemon.status()?["source"]["fetched_at"].as_str()?.to_owned())
}

fn age(daemon: &Daemon) -> Option<f64> {
    daemon.metric("gitoggle_source_age_seconds")
}

#[test]
fn a_git_sync_that_hangs_or_has_died_is_visible_until_it_fetches_again() {
    let world = World::with_pay_applied();
    let (sync, daemon) = stopped(&world);
    assert!(age(&daemon).is_some_and(|age| (39_600.0..43_200.0).contains(&age)));
    let before: jiff::Timestamp = fetched_at(&daemon).unwrap().parse().unwrap();
    daemon.says(&["\"warn\"", "the source is out of date", "11 h ago"]);
    sync.sync();
    is_reported(&daemon, "ready\n");
    assert!(age(&daemon).is_some_and(|age| age < 3600.0));
    let after: jiff::Timestamp = fetched_at(&daemon).unwrap().parse().unwrap();
    assert!(after.as_second() - before.as_second() >= 39_000, "{before} {after}");
    daemon.says(&["the source is up to date again"]);
    assert_eq!(daemon.said("the source is out of date"), 1);
    daemon.stops_cleanly();
}

#[test]
fn a_git_sync_that_the_host_refuses_is_visible() {
    let world = World::with_pay_applied();
    let (sync, daemon) = stopped(&world);
    let before = fetched_at(&daemon);
    std::fs::rename(world.repo.path(), world.path("away")).unwrap();
    sync.fails();
    let text = eventually("a failed fetch", || {
        let body = daemon.endpoint.get("/readyz")?.body;
        body.contains("the fetch since then did not succeed").then_some(body)
    });
    assert!(text.starts_with("ready; the source was last fetched 11 h ago"), "{text}");
    assert_eq!(fetched_at(&daemon), before, "a failure is not a fetch");
    daemon.stops_cleanly();
}

#[test]
fn a_git_sync_that_a_lock_keeps_from_switching_is_visible() {
    let world = World::with_pay_applied();
    let (sync, daemon) = stopped(&world);
    world.repo.commit_pay(21, "Change pay");
    std::fs::write(sync.root().path().join(".git/HEAD.lock"), "").unwrap();
    sync.fails();
    is_not_checked_out(&world, &daemon);
    std::fs::remove_file(sync.root().path().join(".git/HEAD.lock")).unwrap();
    sync.sync();
    world.service.wait_for(1);
    is_reported(&daemon, "ready\n");
    daemon.stops_cleanly();
}

#[test]
fn a_git_sync_that_was_killed_while_it_added_a_work_tree_is_visible_after_a_restart_too() {
    let world = World::with_pay_applied();
    let (sync, daemon) = stopped(&world);
    world.repo.commit_pay(21, "Change pay");
    sync.is_killed_while_it_adds(&world.repo.head());
    for _ in 0..2 {
        sync.fails();
        is_not_checked_out(&world, &daemon);
    }
    daemon.stops_cleanly();

    let daemon = Daemon::ready(&world, |run| {
        run.set("repo", sync.link()).set("poll-interval", "500ms").set("stale-after", "3s")
    });
    let text = format!("{} was fetched and is not checked out", &world.repo.head()[..10]);
    eventually("the checkout to be too old", || {
        let body = daemon.endpoint.get("/readyz")?.body;
        (body.starts_with("ready; the source was last up to date") && body.contains(&text)).then_some(())
    });
    daemon.stops_cleanly();
}

/// Waits until `/readyz` reports that the newest commit was fetched and the checkout did not follow.
#[track_caller]
fn is_not_checked_out(world: &World, daemon: &Daemon) {
    let commit = &world.repo.head()[..10];
    let text = is_reported(daemon, "ready; the source was last up to date 11 h ago, at ");
    assert!(text.contains(&format!("; {commit} was fetched and is not checked out")), "{text}");
    world.nothing_sent();
}

#[test]
fn a_repository_that_is_never_fetched_into_has_no_age() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    assert_eq!(age(&daemon), None);
    let status = daemon.status().unwrap();
    assert!(status["source"].as_object().unwrap().contains_key("fetched_at"));
    assert!(status["source"]["fetched_at"].is_null(), "{status}");
    daemon.stops_cleanly();
}

#[test]
fn commits_made_in_a_clone_after_its_fetch_are_not_a_failure() {
    let world = World::with_pay_applied();
    let clone = world.repo.clone_bare(&world.path("clone.git"));
    let bare = clone.path().display().to_string();
    world.repo.git(&["fetch", "--quiet", &bare, "main"]);
    world.repo.file("shop/prod/zoo.yaml", doc(21)).commit("Add zoo here");
    let daemon = Daemon::ready(&world, |run| run.set("stale-after", "1h"));
    assert!(age(&daemon).is_some_and(|age| age < 3600.0));
    daemon.stops_cleanly();
}

#[test]
fn a_repository_behind_a_url_is_as_old_as_its_last_lookup() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    let first = eventually("a lookup", || fetched_at(&daemon));
    eventually("a later lookup", || fetched_at(&daemon).filter(|later| *later > first));
    assert!(age(&daemon).is_some_and(|age| age < 3600.0));
    daemon.stops_cleanly();
}
