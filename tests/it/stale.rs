//! Stale checkouts: an older revision is never applied by accident, and a process that can prove that its ref was moved
//! follows it.

use std::path::PathBuf;

use serde_json::Value;

use crate::support::git_host::Door;
use crate::support::{Daemon, Gitoggle, Remote, Repo, World, body, content};

/// Makes a world in which a newer commit was applied, and a checkout of an older one.
fn older() -> (World, Repo) {
    let world = World::with_pay_applied();
    let old = world.repo.head();
    change(&world, 21, "Change pay");
    world.settle();
    let checkout = world.repo.linked(&old, &world.path("old"));
    (world, checkout)
}

fn change(world: &World, age: u32, message: &str) {
    world.repo.commit_pay(age, message);
}

/// Asserts that one request set the toggle back to the document of the older commit.
#[track_caller]
fn set_back(world: &World) {
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], content(18));
}

/// Returns the notes of a JSON result as one text.
fn notes(json: &Value) -> String {
    let notes = json["notes"].as_array().cloned().unwrap_or_default();
    notes.iter().filter_map(Value::as_str).collect()
}

#[test]
fn an_older_checkout_with_local_state_sends_nothing() {
    let (world, checkout) = older();
    let stale = || world.apply().set("repo", checkout.path());
    stale()
        .exit(4)
        .says(&["stale", "<rev>", "--history follow", "revert"]);
    world.nothing_sent();
    let json = stale().set("output", "json").exit(4).json();
    assert_eq!(json["version"], 1, "{json}");
    let error = json["error"]["message"].as_str().unwrap_or_default();
    assert!(error.contains("stale"), "{json}");
    let hint = json["error"]["hint"].as_str().unwrap_or_default();
    assert!(hint.contains("--history follow"), "{json}");
    world.nothing_sent();
    stale().set("history", "follow").exit(0).says(&["went back"]);
    set_back(&world);
}

#[test]
fn an_older_checkout_with_the_newer_content_is_stale_too() {
    let (world, checkout) = older();
    world.repo.revert();
    world.settle();
    world
        .apply()
        .set("repo", checkout.path())
        .exit(4)
        .says(&["stale"]);
    world.nothing_sent();
}

#[test]
fn a_checkout_of_a_change_that_was_reverted_before_it_was_applied_is_stale() {
    let world = World::with_pay_applied();
    change(&world, 21, "A mistake");
    let mistake = world.repo.head();
    world.repo.revert();
    world.apply().exit(0).any_output();
    let checkout = world.repo.linked(&mistake, &world.path("mistake"));
    world
        .apply()
        .set("repo", checkout.path())
        .exit(4)
        .says(&["stale"]);
    world.nothing_sent();
}

#[test]
fn plan_and_status_report_a_stale_checkout_without_failing() {
    let (world, checkout) = older();
    for run in [world.plan(), world.status()] {
        let run = run.set("repo", checkout.path());
        run.clone().exit(0).stderr_contains(&["stale"]).any_stdout();
        run.clone()
            .set("history", "refuse")
            .exit(0)
            .stderr_contains(&["stale"])
            .any_stdout();
        let json = run.set("output", "json").exit(0).any_stderr().json();
        assert!(notes(&json).contains("stale"), "{json}");
    }
}

#[test]
fn an_apply_with_local_state_and_a_cut_history_continues_with_a_note() {
    let world = World::with_pay_applied();
    change(&world, 21, "Change pay");
    let shallow = world.repo.clone_shallow(1, &world.path("shallow"));
    let run = world.apply().set("repo", shallow.path());
    run.exit(0).says(&["could not check"]);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.apply().set("repo", shallow.path()).exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn refusing_a_rewritten_history_requires_the_complete_history() {
    let world = World::with_pay_applied();
    change(&world, 21, "An ordinary commit");
    let shallow = world.repo.clone_shallow(1, &world.path("shallow"));
    let run = world.apply().set("repo", shallow.path()).set("history", "refuse");
    run.exit(4)
        .says(&["--history refuse", "whole history", "fetch-depth: 0"])
        .never_says(&["rewritten"]);
    world.nothing_sent();
}

#[test]
fn a_rewrite_that_was_followed_once_is_not_refused_again() {
    let world = World::with_pay_applied();
    world
        .repo
        .git(&["commit", "--quiet", "--amend", "-m", "Reworded"]);
    let apply = || world.apply().set("history", "refuse");
    apply().exit(4).says(&["rewritten"]);
    apply().set("history", "follow").exit(0).says(&["rewritten"]);
    world.nothing_sent();
    change(&world, 21, "An ordinary commit");
    apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "An ordinary commit"))]);
}

#[test]
fn a_daemon_with_local_state_follows_a_ref_that_was_moved_back_and_reports_it() {
    let world = World::with_pay_applied();
    let old = world.repo.head();
    change(&world, 21, "A mistake");
    world.settle();
    world.repo.force(&old);
    let daemon = Daemon::ready(&world, |run| run);
    daemon.says(&["went back"]);
    set_back(&world);
    daemon.stops_cleanly();
}

/// A checkout whose `origin` also contains the state, as in a sidecar without a volume.
struct Sidecar {
    world: World,
    checkout: Repo,
    depth: &'static str,
}

impl Sidecar {
    /// Clones with `depth` commits (`0`: all), applies them, and deletes the disk.
    fn new(depth: &'static str) -> Self {
        let world = World::new();
        world.repo.commit_pay(18, "Add pay");
        let folder = world.path("checkout");
        let checkout = match depth {
            "0" => {
                let from = format!("file://{}", world.repo.path().display());
                world
                    .repo
                    .git(&["clone", "--quiet", &from, &folder.display().to_string()]);
                Repo::at(&folder)
            }
            _ => world.repo.clone_shallow(1, &folder),
        };
        let sidecar = Self {
            world,
            checkout,
            depth,
        };
        let first = sidecar.shared(sidecar.world.apply(), "first");
        first.set("first-pass", "assert").exit(0).any_output();
        sidecar.world.service.take();
        sidecar
    }

    fn shared(&self, run: Gitoggle, disk: &str) -> Gitoggle {
        run.set("repo", self.checkout.path())
            .set("state-dir", self.disk(disk))
            .set("state-remote", "origin")
            .set("state-name", "toggles")
    }

    fn disk(&self, name: &str) -> PathBuf {
        self.world.path(&format!("disk-{name}"))
    }

    fn daemon(&self) -> Daemon {
        Daemon::start(&self.world, |run| self.shared(run, "daemon"))
    }

    fn ready(&self) -> Daemon {
        let daemon = self.daemon();
        daemon.is_ready();
        daemon
    }

    /// Moves the checkout to the head of the branch, as git-sync does.
    fn sync(&self) {
        let fetch = ["fetch", "--quiet", "--force", "origin", "main"];
        match self.depth {
            "0" => self.checkout.git(&fetch),
            _ => self.checkout.git(&[&fetch[..], &["--depth=1"]].concat()),
        };
        self.checkout
            .git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    }

    fn commit(&self, age: u32, message: &str) {
        change(&self.world, age, message);
        self.sync();
    }
}

#[test]
fn a_sidecar_without_a_volume_follows_a_force_push_that_it_saw() {
    for depth in ["0", "1"] {
        let sidecar = Sidecar::new(depth);
        let first = sidecar.world.repo.head();
        let daemon = sidecar.ready();
        sidecar.commit(21, "A mistake");
        sidecar.world.service.wait_for(1);
        daemon.has_seen(&sidecar.world.repo.head());
        sidecar.world.service.take();
        sidecar.world.repo.force(&first);
        sidecar.commit(22, "What was meant");
        sidecar.world.service.wait_for(1);
        let sent = [("shop/prod/pay", body(22, "What was meant"))];
        sidecar.world.sent(&sent);
        daemon.has_seen(&sidecar.world.repo.head());
        daemon.is_ready();
        daemon.stops_cleanly();
    }
}

#[test]
fn a_replica_that_restarts_ahead_of_the_last_change_follows_a_force_push() {
    let sidecar = Sidecar::new("0");
    let first = sidecar.world.repo.head();
    sidecar
        .world
        .repo
        .file("README.md", "x\n")
        .commit("Nothing about toggles");
    sidecar.sync();
    sidecar.ready().stops_cleanly();
    let daemon = sidecar.ready();
    sidecar.world.repo.force(&first);
    sidecar
        .world
        .repo
        .git(&["commit", "--quiet", "--amend", "-m", "In other words"]);
    sidecar.commit(22, "What was meant");
    sidecar.world.service.wait_for(1);
    sidecar
        .world
        .sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_shallow_sidecar_without_a_volume_follows_one_commit_after_the_other() {
    let sidecar = Sidecar::new("1");
    let daemon = sidecar.ready();
    for (age, message) in [(21, "One"), (22, "Two"), (23, "Three")] {
        sidecar.commit(age, message);
        sidecar.world.service.wait_for(1);
        daemon.has_seen(&sidecar.world.repo.head());
        sidecar.world.sent(&[("shop/prod/pay", body(age, message))]);
    }
    assert_eq!(daemon.said("rewritten"), 0, "{}", daemon.log());
    // A revision without changes of toggles is recorded as well, so that the next process recognizes its checkout.
    sidecar
        .world
        .repo
        .file("README.md", "x\n")
        .commit("Something else");
    sidecar.sync();
    daemon.has_seen(&sidecar.world.repo.head());
    daemon.stops_cleanly();
    let next = Daemon::ready(&sidecar.world, |run| sidecar.shared(run, "next"));
    sidecar.world.nothing_sent();
    next.stops_cleanly();
}

#[test]
fn a_replica_that_never_saw_the_recorded_revision_sends_nothing_and_reports_how_to_continue() {
    let sidecar = Sidecar::new("0");
    let first = sidecar.world.repo.head();
    change(&sidecar.world, 21, "What another replica applied");
    let other = sidecar.world.repo.head();
    sidecar
        .shared(sidecar.world.apply(), "other")
        .set("repo", sidecar.world.repo.path())
        .set("state-remote", sidecar.world.repo.path())
        .exit(0)
        .any_output();
    sidecar.world.service.take();
    let daemon = sidecar.daemon();
    daemon.is_unready_for(&[
        "stale",
        first.as_str(),
        "--history follow",
        "POST /allow",
        "history",
    ]);
    sidecar.world.nothing_sent();
    sidecar.sync();
    daemon.has_seen(&other);
    daemon.is_ready();
    sidecar.world.nothing_sent();
    daemon.stops_cleanly();
}

#[test]
fn a_shallow_job_with_shared_state_is_stale_until_it_has_the_whole_history() {
    let sidecar = Sidecar::new("1");
    sidecar.commit(21, "Change pay");
    let job = || sidecar.shared(sidecar.world.apply(), "job");
    job().exit(4).says(&["stale", "fetch-depth: 0"]);
    sidecar.world.nothing_sent();
    let note = sidecar.shared(sidecar.world.plan(), "job").exit(0);
    note.stderr_contains(&["stale", "fetch-depth: 0"]).any_stdout();
    sidecar
        .checkout
        .git(&["fetch", "--quiet", "--unshallow", "origin"]);
    job().exit(0).any_output();
    sidecar.world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_rewritten_branch_of_a_url_is_followed_with_shared_state() {
    let remote = Remote::new(Door::Open);
    let hosted = remote.world.path("hosted/toggles.git");
    let job = || {
        let run = remote.apply().set("state-remote", &hosted);
        run.set("state-name", "toggles")
    };
    job().set("first-pass", "assert").exit(0).any_output();
    let before = remote.world.repo.head();
    remote.push(21, "A mistake");
    job().exit(0).any_output();
    remote.world.service.take();
    remote.world.repo.force(&before);
    remote.push(22, "What was meant");
    job().exit(0).says(&["rewritten"]);
    remote
        .world
        .sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    // A job that runs at a commit is as old as that commit.
    let old = job().set("ref", &before);
    old.exit(4).says(&["stale"]);
    remote.world.nothing_sent();
}
