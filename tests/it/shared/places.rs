//! A state folder is the cache of one place. Each of these ways once lost a change for good: the service kept
//! what Git took back, and the last run said that there is nothing to do.

use super::{disk, job, shared};
use crate::support::git_host::Door;
use crate::support::{Answer, Gitoggle, Remote, Repo, World, body};

/// Returns a run with the folder of `machine` and without a state remote.
fn alone(world: &World, machine: &str) -> Gitoggle {
    world.apply().set("state-dir", disk(world, machine))
}

#[test]
fn a_shared_folder_is_held_without_its_state_remote() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    let advice =
        ["belongs to the shared state `toggles` at `$TMP/remote.git`", "--state-remote", "--state-dir"];
    alone(&world, "first").exit(4).says(&advice);
    world.nothing_sent();
    world
        .plan()
        .set("state-dir", disk(&world, "first"))
        .exit(0)
        .stderr_contains(&["`apply` sends nothing", "belongs to the shared state `toggles`"])
        .any_stdout();
    job(&world, "first").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.repo.revert();
    alone(&world, "first").exit(4).any_output();
    job(&world, "first").exit(0).any_output();
    assert_eq!(world.service.take().len(), 1, "the revert is not lost");
}

#[test]
fn a_lost_reply_on_the_list_of_the_ref_is_not_forgotten_by_a_run_without_it() {
    let (world, _remote) = shared();
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::json(500, "{}"));
    job(&world, "first").exit(1).any_output();
    world.service.always(|_| Answer::applied());
    world.service.take();
    world.repo.revert();
    alone(&world, "first").exit(4).any_output();
    world.nothing_sent();
    job(&world, "first").exit(0).any_output();
    assert_eq!(world.service.take().len(), 1, "what may be stored is taken back");
}

#[test]
fn a_folder_is_held_if_its_state_moved_to_another_host_under_the_same_name() {
    let (world, _remote) = shared();
    Repo::bare(&world.path("other.git"));
    world.repo.commit_pay(21, "Change pay");
    let moved = || job(&world, "first").set("state-remote", world.path("other.git"));
    moved().exit(4).says(&["remote.git", "--state-dir"]);
    world.nothing_sent();
    moved().set("state-dir", disk(&world, "fresh")).exit(4).says(&["--first-pass"]);
}

#[test]
fn a_folder_is_held_after_the_url_of_origin_changed() {
    let remote = Remote::new(Door::Open);
    let checkout = remote.world.repo.clone_bare(&remote.world.path("checkout"));
    let [first, second] = ["first.git", "second.git"].map(|name| remote.world.path(name));
    let run = |origin: &std::path::Path| {
        Repo::bare(origin);
        checkout.git(&["remote", "set-url", "origin", &origin.display().to_string()]);
        let run = remote.world.apply().set("repo", checkout.path());
        run.set("state-remote", "origin").set("state-name", "toggles")
    };
    run(&first).set("first-pass", "assert").exit(0).any_output();
    remote.world.service.take();
    run(&second).exit(4).says(&["first.git", "--state-dir"]);
    remote.world.nothing_sent();
}

#[test]
fn a_folder_with_local_state_does_not_join_a_ref_that_has_records() {
    let (world, _remote) = shared();
    let local = || alone(&world, "local");
    local().set("first-pass", "adopt").exit(0).any_output();
    world.repo.commit_pay(21, "Change pay");
    local().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.repo.revert();
    job(&world, "local").exit(4).says(&["belongs to the state in the folder itself", "--state-dir"]);
    world.nothing_sent();
    local().exit(0).any_output();
    assert_eq!(world.service.take().len(), 1, "the folder knows what to take back");
}

#[test]
fn local_state_moves_to_a_remote_that_has_nothing_yet_with_its_unknown_toggles() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::json(500, "{}"));
    world.apply().exit(1).any_output();
    world.service.always(|_| Answer::applied());
    world.service.take();
    world.repo.revert();
    let remote = Repo::bare(&world.path("remote.git"));
    let shared = || {
        let run = world.apply().set("state-remote", remote.path());
        run.set("state-name", "toggles")
    };
    shared().exit(0).any_output();
    assert_eq!(world.service.take().len(), 1, "what may be stored is taken back");
    shared().exit(0).any_output();
    world.nothing_sent();
    world.apply().exit(4).says(&["belongs to the shared state `toggles`"]);
}

#[test]
fn a_path_as_state_remote_does_not_collect_packs() {
    let (world, _remote) = shared();
    for age in 31..46 {
        world.repo.commit_pay(age, "Change pay");
        job(&world, "first").exit(0).any_output();
    }
    assert_eq!(world.service.take().len(), 15);
    let packs = |repository: &std::path::Path| {
        let files = std::fs::read_dir(repository.join("objects/pack")).unwrap().flatten();
        files.filter(|file| file.path().extension().is_some_and(|extension| extension == "pack")).count()
    };
    assert!(packs(&world.path("remote.git")) <= 2);
    assert!(packs(&disk(&world, "first").join("state.git")) <= 51);
}
