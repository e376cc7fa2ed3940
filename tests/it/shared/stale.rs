//! Old checkouts and commits on machines that share their state.

use super::{disk, job, shared};
use crate::support::git_host::Door;
use crate::support::{Answer, Remote, Repo, body, doc};

#[test]
fn an_old_checkout_is_not_published_over_a_newer_one() {
    let (world, _remote) = shared();
    let old = world.repo.head();
    world.repo.commit_pay(21, "Change pay");
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
    world.repo.commit_pay(21, "Change pay");
    let old = world.repo.linked("HEAD", &world.path("old"));
    job(&world, "first").set("repo", old.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.repo.commit_pay(30, "Change it again");
    job(&world, "second").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(30, "Change it again"))]);
    job(&world, "first").set("repo", old.path()).exit(4).says(&["<rev>"]);
    world.nothing_sent();
}

#[test]
fn a_job_is_stale_after_another_one_reverted_its_change() {
    for machine in ["first", "third"] {
        let (world, _remote) = shared();
        world.repo.commit_pay(21, "Too early");
        let late = world.repo.linked("HEAD", &world.path("late"));
        world.repo.commit_pay(18, "Take it back");
        job(&world, machine).exit(0).any_output();
        job(&world, "late").set("repo", late.path()).exit(4).says(&["<rev>"]);
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
    world.repo.commit_pay(18, "Take it back");
    job(&world, "third").exit(0).any_output();
    job(&world, "again").set("repo", old.path()).exit(4).says(&["<rev>"]);
    world.nothing_sent();
}

#[test]
fn two_simultaneous_jobs_that_only_record_both_succeed() {
    let (world, _remote) = shared();
    for number in 0..5 {
        let text = format!("# {number}\n{}", doc(18));
        world.repo.file("shop/prod/pay.yaml", text).commit("Comment on it");
        let runs: Vec<_> = ["left", "right", "middle"].map(|machine| job(&world, machine).start()).into();
        let codes = runs.into_iter().map(crate::support::command::Running::wait);
        assert_eq!(codes.collect::<Vec<_>>(), [Some(0); 3]);
    }
    world.nothing_sent();
}

#[test]
fn a_machine_does_not_repeat_a_settled_request_that_was_unknown_before() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::json(500, "{}"));
    job(&world, "first").exit(1).any_output();
    world.service.always(|_| Answer::applied());
    job(&world, "retried").set("only", "shop/prod/zoo").exit(1).stderr_contains(&["no toggle matches"]);
    world.service.take();
    job(&world, "first").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world
        .plan()
        .set("state-dir", disk(&world, "retried"))
        .set("state-remote", world.path("remote.git"))
        .set("state-name", "toggles")
        .arg("--detailed-exitcode")
        .exit(0)
        .any_output();
    job(&world, "retried").exit(0).any_output();
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
        remote.apply().set("state-remote", url).set("state-name", "toggles")
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
    world.repo.git(&["commit", "-q", "--amend", "-m", "Add pay, in better words"]);
    job(&world, "second").exit(4).says(&["<rev>", "--history follow"]);
    job(&world, "second").set("history", "follow").exit(0).any_output();
    job(&world, "third").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_source_that_shares_its_state_with_another_is_told_to_take_another_name() {
    let (world, _remote) = shared();
    let another = Repo::new(&world.path("another"));
    another.commit_pay(30, "Add another pay");
    world.repo.git(&["checkout", "-q", "-b", "staging"]);
    world.repo.commit_pay(21, "Change pay");
    job(&world, "staging").exit(0).any_output();
    world.service.take();
    world.repo.git(&["checkout", "-q", "main"]);
    let other = || job(&world, "second").set("repo", another.path());
    let advice = ["if another repository or branch", "give each its own `--state-name`"];
    job(&world, "second").exit(4).says(&["this checkout is stale"]).says(&advice);
    other().exit(4).says(&["cannot tell how", "check that `--repo` names the right repository"]);
    world.nothing_sent();
    other()
        .set("state-name", "other")
        .set("state-dir", world.path("other"))
        .set("first-pass", "assert")
        .exit(0)
        .any_output();
    // State that is not shared has no name.
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world
        .apply()
        .set("repo", another.path())
        .exit(4)
        .says(&["cannot tell how"])
        .never_says(&["--state-name"]);
}

#[test]
fn a_commit_without_toggles_does_not_change_the_record() {
    let (world, remote) = shared();
    let tip = || remote.id("refs/gitoggle/toggles/applied");
    let before = tip();
    world.repo.file("README.md", "Toggles").commit("Say what this is");
    world.repo.file(".github/workflows/ci.yml", "on: push").commit("Add CI");
    for machine in ["first", "second", "second"] {
        job(&world, machine).exit(0).any_output();
        assert_eq!(tip(), before);
    }
}
