//! Tests state that jobs with empty disks share through a Git remote.

mod jobs;
mod places;
mod races;
mod stale;

use std::path::PathBuf;

use crate::support::{Gitoggle, Repo, World, body, doc};

/// Returns a world with shared state and `pay` applied.
pub(crate) fn shared() -> (World, Repo) {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    world.repo.commit_pay(18, "Add pay");
    job(&world, "first").set("first-pass", "assert").exit(0).any_output();
    world.service.take();
    (world, remote)
}

/// Returns `apply` on a separate machine.
pub(crate) fn job(world: &World, machine: &str) -> Gitoggle {
    world
        .apply()
        .set("state-dir", disk(world, machine))
        .set("state-remote", world.path("remote.git"))
        .set("state-name", "toggles")
        .env("HOSTNAME", machine)
}

pub(crate) fn disk(world: &World, machine: &str) -> PathBuf {
    world.path(&format!("disk-{machine}"))
}

/// Rewrites the announcement with a term and a timeout of zero.
pub(crate) fn age(remote: &Repo) {
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    let announced = |name: &&str| remote.git(&["cat-file", "commit", name]).contains("Gitoggle-Term: ");
    let Some(name) = refs.lines().find(announced) else {
        return;
    };
    let text = remote.git(&["cat-file", "commit", name]);
    let aged: Vec<_> = text
        .lines()
        .map(|line| match line.split_once(": ") {
            Some((key @ ("Gitoggle-Term" | "Gitoggle-Timeout"), _)) => format!("{key}: 0"),
            _ => line.to_owned(),
        })
        .collect();
    let file = remote.path().join("aged");
    std::fs::write(&file, aged.join("\n") + "\n").unwrap();
    let id = remote.git(&["hash-object", "-t", "commit", "-w", &file.display().to_string()]);
    remote.git(&["update-ref", name, &id]);
}

#[test]
fn an_empty_disk_needs_no_first_pass() {
    let (world, remote) = shared();
    assert_eq!(remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"), doc(18));
    job(&world, "second").exit(0).any_output();
    world.nothing_sent();

    world.repo.commit_pay(21, "Change pay");
    job(&world, "third").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    job(&world, "first").exit(0).any_output();
    world.nothing_sent();
    remote.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn the_name_is_the_host_and_a_hash_of_the_base_url_by_default() {
    let (world, remote) = shared();
    job(&world, "x").unset("state-name").set("first-pass", "adopt").exit(0).any_output();
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    let other = refs.lines().find(|name| !name.contains("/toggles/")).unwrap_or_default();
    assert!(other.starts_with("refs/gitoggle/127.0.0.1") && other.ends_with("/applied"), "{refs}");
}

#[test]
fn a_file_url_is_a_remote_too() {
    let (world, _remote) = shared();
    let url = format!("file://{}", world.path("remote.git").display());
    job(&world, "second").set("state-remote", url).exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn origin_is_the_sources_own_remote() {
    let (world, remote) = shared();
    world.repo.git(&["remote", "add", "origin", &remote.path().display().to_string()]);
    job(&world, "second").set("state-remote", "origin").exit(0).any_output();
    world.nothing_sent();
    // As for git, the path is relative to the work tree.
    world.repo.git(&["remote", "set-url", "origin", "../remote.git"]);
    job(&world, "fourth").set("state-remote", "origin").exit(0).any_output();
    world.nothing_sent();
    world.repo.git(&["remote", "remove", "origin"]);
    job(&world, "third")
        .set("state-remote", "origin")
        .exit_in(&[1, 64])
        .stderr_contains(&["origin"])
        .any_stdout();
}

#[test]
fn plan_and_status_see_shared_state_and_write_nothing() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    let before = crate::support::files::listing(world.root());
    for run in [world.plan(), world.status()] {
        run.set("state-dir", disk(&world, "empty"))
            .set("state-remote", world.path("remote.git"))
            .set("state-name", "toggles")
            .exit_in(&[0, 1])
            .says(&["shop/prod/pay"]);
    }
    assert_eq!(crate::support::files::listing(world.root()), before);
}

#[test]
fn plan_and_status_know_what_another_machine_applied() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    job(&world, "second").exit(0).any_output();
    for run in [world.plan(), world.status()] {
        run.set("state-dir", disk(&world, "first"))
            .set("state-remote", world.path("remote.git"))
            .set("state-name", "toggles")
            .exit(0)
            .any_output();
    }
}

#[test]
fn a_remote_that_cannot_be_reached_stops_the_pass() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    job(&world, "second")
        .set("state-remote", world.path("nowhere.git"))
        .exit(1)
        .stderr_contains(&["$TMP/nowhere.git"])
        .any_stdout();
    world.nothing_sent();
}

#[test]
fn a_remote_that_rejects_pushes_stops_the_pass_before_its_first_request() {
    let (world, remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    let own = disk(&world, "nobody");
    std::fs::create_dir(&own).unwrap();
    if crate::support::command::is_root() {
        std::os::unix::fs::chown(&own, Some(65534), Some(65534)).unwrap();
    }
    let _protected = crate::support::files::protect(remote.path());
    job(&world, "nobody").by_nobody().exit(1).stderr_contains(&["$TMP/remote.git"]).any_stdout();
    world.nothing_sent();
    assert_eq!(remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"), doc(18));
}

#[test]
fn two_services_have_separate_states() {
    let (world, remote) = shared();
    job(&world, "second").set("state-name", "other").set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    for name in ["refs/gitoggle/other/applied", "refs/gitoggle/toggles/applied"] {
        assert!(refs.lines().any(|found| found == name), "{name} in {refs}");
    }
}

#[test]
fn without_a_base_url_several_states_are_listed() {
    let (world, _remote) = shared();
    job(&world, "second").set("state-name", "other").set("first-pass", "adopt").exit(0).any_output();
    let plan = |name: Option<&str>| {
        let run = world
            .plan()
            .unset("base-url")
            .set("state-dir", disk(&world, "empty"))
            .set("state-remote", world.path("remote.git"));
        match name {
            Some(name) => run.set("state-name", name),
            None => run,
        }
    };
    plan(None).exit_in(&[1, 4, 64]).says(&["other", "toggles", "--state-name"]);
    plan(Some("other")).exit(0).any_output();
}

#[test]
fn history_follow_changes_nothing_else() {
    let (world, remote) = shared();
    job(&world, "second").set("history", "follow").exit(0).any_output();
    world.nothing_sent();
    world.repo.commit_pay(21, "Change pay");
    job(&world, "third").set("history", "follow").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"), doc(21));
}

#[test]
fn a_create_in_every_environment_is_shared() {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    for toggle in ["shop/prod/a", "shop/test/a", "web/prod/a"] {
        world.repo.file(&format!("{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    job(&world, "first").set("first-pass", "assert").exit(0).any_output();
    assert_eq!(remote.files("refs/gitoggle/toggles/applied").len(), 3);
    job(&world, "second").exit(0).any_output();
}

#[test]
fn a_machine_that_comes_back_repeats_only_what_it_had_open() {
    let (world, remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    world.kill_in_first_request(job(&world, "crashed"));
    age(&remote);
    world.service.take();

    job(&world, "other").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world
        .plan()
        .set("state-dir", disk(&world, "crashed"))
        .set("state-remote", world.path("remote.git"))
        .set("state-name", "toggles")
        .arg("--detailed-exitcode")
        .exit(2)
        .any_output();
    // Its request may have been stored after that of the other machine.
    job(&world, "crashed").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    for machine in ["crashed", "other"] {
        job(&world, machine).exit(0).any_output();
        world.nothing_sent();
    }
}
