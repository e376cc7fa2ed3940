//! Tests state that jobs with empty disks share through a Git remote.

use std::path::PathBuf;

use crate::support::git_host::Door;
use crate::support::{Answer, Gitoggle, Remote, Repo, Request, World, body, doc};

/// Returns a world with shared state and `pay` applied.
fn shared() -> (World, Repo) {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    job(&world, "first")
        .set("first-pass", "assert")
        .exit(0)
        .any_output();
    world.service.take();
    (world, remote)
}

/// Returns `apply` on a separate machine.
fn job(world: &World, machine: &str) -> Gitoggle {
    world
        .apply()
        .set("state-dir", disk(world, machine))
        .set("state-remote", world.path("remote.git"))
        .set("state-name", "toggles")
        .env("HOSTNAME", machine)
}

fn disk(world: &World, machine: &str) -> PathBuf {
    world.path(&format!("disk-{machine}"))
}

#[test]
fn an_empty_disk_needs_no_first_pass() {
    let (world, remote) = shared();
    assert_eq!(
        remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"),
        doc(18)
    );
    job(&world, "second").exit(0).any_output();
    world.nothing_sent();

    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    job(&world, "third").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    job(&world, "first").exit(0).any_output();
    world.nothing_sent();
    remote.git(&["fsck", "--strict", "--no-dangling"]);
}

#[test]
fn the_name_is_the_host_and_a_hash_of_the_base_url_by_default() {
    let (world, remote) = shared();
    job(&world, "x")
        .unset("state-name")
        .set("first-pass", "adopt")
        .exit(0)
        .any_output();
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    let other = refs
        .lines()
        .find(|name| !name.contains("/toggles/"))
        .unwrap_or_default();
    assert!(
        other.starts_with("refs/gitoggle/127.0.0.1") && other.ends_with("/applied"),
        "{refs}"
    );
}

#[test]
fn a_file_url_is_a_remote_too() {
    let (world, _remote) = shared();
    let url = format!("file://{}", world.path("remote.git").display());
    job(&world, "second")
        .set("state-remote", url)
        .exit(0)
        .any_output();
    world.nothing_sent();
}

#[test]
fn origin_is_the_sources_own_remote() {
    let (world, remote) = shared();
    world
        .repo
        .git(&["remote", "add", "origin", &remote.path().display().to_string()]);
    job(&world, "second")
        .set("state-remote", "origin")
        .exit(0)
        .any_output();
    world.nothing_sent();
    // As for git, the path is relative to the work tree.
    world.repo.git(&["remote", "set-url", "origin", "../remote.git"]);
    job(&world, "fourth")
        .set("state-remote", "origin")
        .exit(0)
        .any_output();
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
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
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
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
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
fn two_jobs_at_once_publish_everything_once() {
    let (world, _remote) = shared();
    for environment in ["a", "b", "c"] {
        for toggle in ["x", "y"] {
            world
                .repo
                .file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    world.repo.commit("Add six");
    world
        .service
        .always(|_| Answer::applied().slowly(std::time::Duration::from_millis(20)));
    let runs: Vec<_> = ["left", "right", "middle"]
        .map(|machine| job(&world, machine).set("first-pass", "assert").start())
        .into();
    let codes: Vec<_> = runs
        .into_iter()
        .map(crate::support::command::Running::wait)
        .collect();
    assert_eq!(codes, [Some(0); 3], "who comes second waits");
    let requests = world.service.take();
    let mut toggles: Vec<_> = requests.iter().map(Request::toggle).collect();
    toggles.sort();
    let count = toggles.len();
    toggles.dedup();
    assert_eq!((toggles.len(), count), (6, 6), "each once: {toggles:?}");
    assert!(requests.iter().all(|request| request.open_for_environment == 1));
    job(&world, "left").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_job_waits_for_a_publishing_job_and_names_it() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world
        .service
        .always(|_| Answer::applied().slowly(std::time::Duration::from_secs(1)));
    let first = job(&world, "left").start();
    world.service.wait_for(1);
    job(&world, "right")
        .exit(0)
        .stderr_contains(&["waiting for it", "on left"])
        .any_stdout();
    assert_eq!(first.wait(), Some(0));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

/// Kills a job after its request was sent, and deletes its disk.
fn killed(world: &World) {
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.answers([Answer::stores_and_hangs()]);
    let run = job(world, "lost").start();
    world.service.wait_for(1);
    run.kill();
    world.service.sender_died();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    std::fs::remove_dir_all(disk(world, "lost")).unwrap();
}

/// Rewrites the announcement with a term and a timeout of zero.
pub(crate) fn age(remote: &Repo) {
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    let announced = |name: &&str| {
        remote
            .git(&["cat-file", "commit", name])
            .contains("Gitoggle-Term: ")
    };
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
fn the_next_job_repeats_the_requests_of_a_dead_one() {
    let (world, remote) = shared();
    killed(&world);
    age(&remote);
    job(&world, "next").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    job(&world, "last").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_revert_overwrites_the_requests_of_a_dead_job() {
    let (world, remote) = shared();
    killed(&world);
    age(&remote);
    world.repo.revert();
    job(&world, "next").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], crate::support::content(18));
}

#[test]
#[ignore = "waits for another job for more than a minute"]
fn a_job_that_gives_up_waiting_names_the_publishing_job() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.always(|_| Answer::stores_and_hangs());
    // Four attempts of this length outlast the two minutes, which are longer than detecting a dead holder takes.
    let _alive = job(&world, "alive").set("timeout", "45s").start();
    world.service.wait_for(1);
    job(&world, "other")
        .within_seconds(150)
        .exit(1)
        .stderr_contains(&["waiting for it", "in use by pid", "on alive"])
        .any_stdout();
    let requests = world.service.take();
    assert!(requests.iter().all(|request| request.open_for_environment == 1));
}

#[test]
fn an_old_checkout_is_not_published_over_a_newer_one() {
    let (world, _remote) = shared();
    let old = world.repo.head();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    job(&world, "new").exit(0).any_output();
    world.service.take();

    let checkout = world.repo.linked(&old, &world.path("old"));
    let stale = || job(&world, "stale").set("repo", checkout.path());
    stale().exit(4).says(&["<rev>"]);
    world.nothing_sent();
    stale().set("history", "follow").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], crate::support::content(18));
}

#[test]
fn an_old_job_is_stale_on_a_machine_that_applied_its_commit_before() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    let old = world.repo.linked("HEAD", &world.path("old"));
    job(&world, "first").set("repo", old.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(30))
        .commit("Change it again");
    job(&world, "second").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(30, "Change it again"))]);
    job(&world, "first")
        .set("repo", old.path())
        .exit(4)
        .says(&["<rev>"]);
    world.nothing_sent();
}

#[test]
fn a_job_is_stale_after_another_one_reverted_its_change() {
    for machine in ["first", "third"] {
        let (world, _remote) = shared();
        world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Too early");
        let late = world.repo.linked("HEAD", &world.path("late"));
        world
            .repo
            .file("shop/prod/pay.yaml", doc(18))
            .commit("Take it back");
        job(&world, machine).exit(0).any_output();
        job(&world, "late")
            .set("repo", late.path())
            .exit(4)
            .says(&["<rev>"]);
        world.nothing_sent();
    }
}

#[test]
fn a_failed_job_is_stale_when_it_is_run_again_after_a_revert() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/zoo.yaml", doc(21))
        .commit("Change pay, add zoo");
    let old = world.repo.linked("HEAD", &world.path("old"));
    world.service.always(|request| match request.toggle().as_str() {
        "shop/prod/pay" => Answer::json(422, "{}"),
        _ => Answer::applied(),
    });
    job(&world, "second").exit(1).any_output();
    world.service.take();
    world.service.always(|_| Answer::applied());
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18))
        .commit("Take it back");
    job(&world, "third").exit(0).any_output();
    job(&world, "again")
        .set("repo", old.path())
        .exit(4)
        .says(&["<rev>"]);
    world.nothing_sent();
}

#[test]
fn two_simultaneous_jobs_that_only_record_both_succeed() {
    let (world, _remote) = shared();
    for number in 0..5 {
        let text = format!("# {number}\n{}", doc(18));
        world
            .repo
            .file("shop/prod/pay.yaml", text)
            .commit("Comment on it");
        let runs: Vec<_> = ["left", "right", "middle"]
            .map(|machine| job(&world, machine).start())
            .into();
        let codes = runs.into_iter().map(crate::support::command::Running::wait);
        assert_eq!(codes.collect::<Vec<_>>(), [Some(0); 3]);
    }
    world.nothing_sent();
}

#[test]
fn a_machine_does_not_repeat_a_settled_request_that_was_unknown_before() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.always(|_| Answer::json(500, "{}"));
    job(&world, "first").exit(1).any_output();
    world.service.always(|_| Answer::applied());
    job(&world, "heard")
        .set("only", "shop/prod/zoo")
        .exit(1)
        .stderr_contains(&["no toggle matches"]);
    world.service.take();
    job(&world, "first").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world
        .plan()
        .set("state-dir", disk(&world, "heard"))
        .set("state-remote", world.path("remote.git"))
        .set("state-name", "toggles")
        .arg("--detailed-exitcode")
        .exit(0)
        .any_output();
    job(&world, "heard").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_job_that_waited_for_the_state_does_not_revert_newer_changes() {
    let remote = Remote::new(Door::Open);
    let source = Repo::at(&remote.world.path("hosted/toggles.git"));
    let state = Repo::bare(&remote.world.path("hosted/state.git"));
    let name = "refs/gitoggle/toggles/applied";
    let job = || {
        let url = format!("{}/state.git", remote.host.url());
        remote
            .apply()
            .set("state-remote", url)
            .set("state-name", "toggles")
    };
    job().set("first-pass", "assert").exit(0).any_output();
    let before = (source.id("main"), state.id(name));
    remote.push(21, "Change pay");
    job().exit(0).any_output();
    remote.world.service.take();
    let after = (source.id("main"), state.id(name));

    for moment in 1..=6 {
        let (source, state) = (Repo::at(source.path()), Repo::at(state.path()));
        let set = move |(main, applied): &(String, String)| {
            source.git(&["update-ref", "refs/heads/main", main]);
            state.git(&["update-ref", name, applied]);
        };
        set(&before);
        let (mut requests, after) = (0, after.clone());
        remote.host_answers(move |_| {
            requests += 1;
            if requests == moment {
                set(&after);
            }
            None
        });
        let disk = remote.world.path(&format!("disk-{moment}"));
        job().set("state-dir", disk).exit(0).any_output();
        remote.world.nothing_sent();
    }
}

#[test]
fn a_followed_rewritten_history_replaces_the_old_one() {
    let (world, _remote) = shared();
    world
        .repo
        .git(&["commit", "-q", "--amend", "-m", "Add pay, in better words"]);
    job(&world, "second").exit(4).says(&["<rev>", "--history follow"]);
    job(&world, "second")
        .set("history", "follow")
        .exit(0)
        .any_output();
    job(&world, "third").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_commit_without_toggles_does_not_change_the_record() {
    let (world, remote) = shared();
    let tip = || remote.id("refs/gitoggle/toggles/applied");
    let before = tip();
    world.repo.file("README.md", "Toggles").commit("Say what this is");
    world
        .repo
        .file(".github/workflows/ci.yml", "on: push")
        .commit("Add CI");
    for machine in ["first", "second", "second"] {
        job(&world, machine).exit(0).any_output();
        assert_eq!(tip(), before);
    }
}

#[test]
fn a_remote_that_cannot_be_reached_stops_the_pass() {
    let (world, _remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
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
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    let own = disk(&world, "nobody");
    std::fs::create_dir(&own).unwrap();
    if crate::support::command::is_root() {
        std::os::unix::fs::chown(&own, Some(65534), Some(65534)).unwrap();
    }
    let _protected = crate::support::files::protect(remote.path());
    job(&world, "nobody")
        .by_nobody()
        .exit(1)
        .stderr_contains(&["$TMP/remote.git"])
        .any_stdout();
    world.nothing_sent();
    assert_eq!(
        remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"),
        doc(18)
    );
}

#[test]
fn two_services_have_separate_states() {
    let (world, remote) = shared();
    job(&world, "second")
        .set("state-name", "other")
        .set("first-pass", "adopt")
        .exit(0)
        .any_output();
    world.nothing_sent();
    let refs = remote.git(&["for-each-ref", "--format=%(refname)"]);
    for name in ["refs/gitoggle/other/applied", "refs/gitoggle/toggles/applied"] {
        assert!(refs.lines().any(|found| found == name), "{name} in {refs}");
    }
}

#[test]
fn without_a_base_url_several_states_are_listed() {
    let (world, _remote) = shared();
    job(&world, "second")
        .set("state-name", "other")
        .set("first-pass", "adopt")
        .exit(0)
        .any_output();
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
    plan(None)
        .exit_in(&[1, 4, 64])
        .says(&["other", "toggles", "--state-name"]);
    plan(Some("other")).exit(0).any_output();
}

#[test]
fn history_follow_changes_nothing_else() {
    let (world, remote) = shared();
    job(&world, "second")
        .set("history", "follow")
        .exit(0)
        .any_output();
    world.nothing_sent();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    job(&world, "third").set("history", "follow").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(
        remote.content("refs/gitoggle/toggles/applied", "shop/prod/pay.yaml"),
        doc(21)
    );
}

#[test]
fn a_create_in_every_environment_is_shared() {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    for toggle in ["shop/prod/a", "shop/test/a", "web/prod/a"] {
        world.repo.file(&format!("{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add all");
    job(&world, "first")
        .set("first-pass", "assert")
        .exit(0)
        .any_output();
    assert_eq!(remote.files("refs/gitoggle/toggles/applied").len(), 3);
    job(&world, "second").exit(0).any_output();
}

#[test]
fn a_machine_that_comes_back_repeats_only_what_it_had_open() {
    let (world, remote) = shared();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.service.answers([Answer::stores_and_hangs()]);
    let run = job(&world, "crashed").start();
    world.service.wait_for(1);
    run.kill();
    world.service.sender_died();
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
