//! Stale checkouts: an older revision is never applied by accident, and only a daemon that looked up its ref
//! twice follows one that was moved.

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
    stale().exit(4).says(&["stale", "<rev>", "--history follow", "revert"]);
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
    world.apply().set("repo", checkout.path()).exit(4).says(&["stale"]);
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
    world.apply().set("repo", checkout.path()).exit(4).says(&["stale"]);
    world.nothing_sent();
}

#[test]
fn an_older_job_does_not_follow_a_killed_one() {
    let world = World::with_pay_applied();
    let old = world.repo.head();
    change(&world, 21, "Change pay");
    world.kill_in_first_request(world.apply());
    world.service.take();
    let checkout = world.repo.linked(&old, &world.path("old"));
    world.apply().set("repo", checkout.path()).exit(4).says(&["stale"]);
    world.nothing_sent();
}

#[test]
fn plan_and_status_report_a_stale_checkout_without_failing() {
    let (world, checkout) = older();
    for run in [world.plan(), world.status()] {
        let run = run.set("repo", checkout.path());
        run.clone().exit(0).stderr_contains(&["stale"]).any_stdout();
        run.clone().set("history", "refuse").exit(0).stderr_contains(&["stale"]).any_stdout();
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
    run.exit(4).says(&["--history refuse", "whole history", "fetch-depth: 0"]).never_says(&["rewritten"]);
    world.nothing_sent();
}

#[test]
fn a_rewrite_that_was_followed_once_is_not_refused_again() {
    let world = World::with_pay_applied();
    world.repo.git(&["commit", "--quiet", "--amend", "-m", "Reworded"]);
    let apply = || world.apply().set("history", "refuse");
    apply().exit(4).says(&["rewritten"]);
    apply().set("history", "follow").exit(0).says(&["rewritten"]);
    world.nothing_sent();
    change(&world, 21, "An ordinary commit");
    apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "An ordinary commit"))]);
}

#[test]
fn a_daemon_of_a_path_sends_nothing_after_its_ref_was_moved_back_until_an_operator_allows_it() {
    let world = World::with_pay_applied();
    let old = world.repo.head();
    change(&world, 21, "A mistake");
    world.settle();
    world.repo.force(&old);
    let daemon = Daemon::start(&world, |run| run);
    daemon.is_unready_for(&["is stale", "gitoggle allow history"]);
    world.nothing_sent();
    assert_eq!(daemon.order("/allow", &allow_history(&old)), 200);
    daemon.is_ready();
    daemon.says(&["went back"]);
    set_back(&world);
    daemon.stops_cleanly();
}

/// Returns the order that lets a daemon apply `revision`.
fn allow_history(revision: &str) -> String {
    serde_json::json!({ "what": "history", "revision": revision }).to_string()
}

#[test]
fn a_daemon_of_a_url_follows_a_rewritten_and_a_moved_back_branch() {
    let remote = Remote::settled(Door::Open);
    let first = remote.world.repo.head();
    let daemon = remote.daemon(|run| run.set("poll-interval", "100ms"));
    remote.push(21, "A mistake");
    remote.world.service.wait_for(1);
    remote.world.sent(&[("shop/prod/pay", body(21, "A mistake"))]);
    remote.world.repo.force(&first);
    remote.push(22, "What was meant");
    remote.world.service.wait_for(1);
    remote.world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    daemon.says(&["rewritten"]);
    daemon.stops_cleanly();
}

/// Replaces the repository on the host by another one of the same name, with another document.
fn replace(remote: &Remote) -> Repo {
    let hosted = remote.world.path("hosted/toggles.git");
    std::fs::remove_dir_all(&hosted).unwrap();
    let other = World::new();
    other.repo.commit_pay(99, "Somebody else's pay");
    other.repo.clone_bare(&hosted)
}

#[test]
fn a_repository_that_was_replaced_by_an_unrelated_one_is_not_followed() {
    for shared in [false, true] {
        let remote = Remote::new(Door::Open);
        let place = |run: Gitoggle| match shared {
            true => run.set("state-remote", "origin").set("state-name", "toggles"),
            false => run,
        };
        place(remote.apply().set("first-pass", "assert")).exit(0).any_output();
        remote.world.service.take();
        let hosted = replace(&remote);
        let refs = hosted.git(&["for-each-ref"]);
        place(remote.apply()).exit(4).says(&[
            "the repository was replaced",
            "--history follow",
            "gitoggle allow history",
        ]);
        remote.world.nothing_sent();
        let daemon = Daemon::start(&remote.world, |run| place(run.set("repo", remote.url())));
        daemon.is_unready_for(&["the repository was replaced", "gitoggle allow history"]);
        remote.world.nothing_sent();
        assert_eq!(hosted.git(&["for-each-ref"]), refs, "no state was pushed");
        let found = hosted.head();
        assert_eq!(daemon.order("/allow", &allow_history(&found)), 200);
        remote.world.service.wait_for(1);
        remote.world.sent(&[("shop/prod/pay", body(99, "Somebody else's pay"))]);
        daemon.is_ready();
        daemon.stops_cleanly();
        place(remote.apply()).exit(0).any_output();
        remote.world.nothing_sent();
    }
}

#[test]
fn a_checkout_of_an_unrelated_repository_is_stale() {
    let world = World::with_pay_applied();
    let other = World::new();
    other.repo.commit_pay(99, "Somebody else's pay");
    let apply = || world.apply().set("repo", other.repo.path());
    apply().exit(4).says(&[
        "cannot tell how",
        "check that `--repo` names the right repository",
        "--history follow",
    ]);
    world.nothing_sent();
    world
        .plan()
        .set("repo", other.repo.path())
        .exit(0)
        .stderr_contains(&["`apply` sends nothing"])
        .any_stdout();
    apply().set("history", "follow").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(99, "Somebody else's pay"))]);
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
                world.repo.git(&["clone", "--quiet", &from, &folder.display().to_string()]);
                Repo::at(&folder)
            }
            _ => world.repo.clone_shallow(1, &folder),
        };
        let sidecar = Self { world, checkout, depth };
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
        self.checkout.git(&["checkout", "--quiet", "--detach", "FETCH_HEAD"]);
    }

    fn commit(&self, age: u32, message: &str) {
        change(&self.world, age, message);
        self.sync();
    }
}

#[test]
fn a_sidecar_sends_nothing_after_a_force_push_until_an_operator_allows_it() {
    let sidecar = Sidecar::new("0");
    let first = sidecar.world.repo.head();
    let daemon = sidecar.ready();
    sidecar.commit(21, "A mistake");
    sidecar.world.service.wait_for(1);
    daemon.has_seen(&sidecar.world.repo.head());
    sidecar.world.service.take();
    sidecar.world.repo.force(&first);
    sidecar.commit(22, "What was meant");
    daemon.is_unready_for(&["is stale", "gitoggle allow history"]);
    sidecar.world.nothing_sent();
    let meant = sidecar.world.repo.head();
    assert_eq!(daemon.order("/allow", &allow_history(&meant)), 200);
    sidecar.world.service.wait_for(1);
    sidecar.world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    daemon.has_seen(&meant);
    daemon.is_ready();
    daemon.stops_cleanly();
}

#[test]
fn a_shallow_sidecar_with_shared_state_says_that_it_needs_the_whole_history() {
    let sidecar = Sidecar::new("1");
    let daemon = sidecar.ready();
    sidecar.commit(21, "Change pay");
    daemon.is_unready_for(&["may be stale", "fetch the whole history"]);
    sidecar.world.nothing_sent();
    sidecar.checkout.git(&["fetch", "--quiet", "--unshallow", "origin"]);
    sidecar.world.service.wait_for(1);
    sidecar.world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.is_ready();
    daemon.stops_cleanly();
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
    daemon.is_unready_for(&["cannot tell how", first.as_str(), "--history follow", "POST /allow", "history"]);
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
    sidecar.checkout.git(&["fetch", "--quiet", "--unshallow", "origin"]);
    job().exit(0).any_output();
    sidecar.world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_job_sends_nothing_after_its_branch_was_rewritten_until_it_is_told_to_follow() {
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
    job().exit(4).says(&["is stale", "--history follow"]);
    remote.world.nothing_sent();
    job().set("history", "follow").exit(0).says(&["rewritten"]);
    remote.world.sent(&[("shop/prod/pay", body(22, "What was meant"))]);
    // A job that runs at a commit is as old as that commit.
    let old = job().set("ref", &before);
    old.exit(4).says(&["stale"]);
    remote.world.nothing_sent();
}
