//! What README.md says about recovery, done as an operator would.

use crate::support::files::copy;
use crate::support::{Repo, World, body, doc};

#[test]
fn a_moved_repository_publishes_nothing_again() {
    let world = World::with_pay_applied();
    let moved = world.repo.clone_bare(&world.path("moved.git"));
    std::fs::rename(world.repo.path(), world.path("gone")).unwrap();
    world.apply().set("repo", moved.path()).exit(0).any_output();
    world.nothing_sent();
    let work = Repo::at(&world.path("gone"));
    work.file("shop/prod/pay.yaml", doc(21)).commit("Change pay");
    work.git(&["push", "-q", moved.path().to_str().unwrap(), "main"]);
    world.apply().set("repo", moved.path()).exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn another_name_of_the_service_is_adopted_and_another_service_is_told_everything() {
    let world = World::with_pay_applied();
    world
        .apply()
        .set("base-url", "https://renamed.invalid")
        .exit(4)
        .any_output();
    for (choice, sent) in [
        ("adopt", vec![]),
        ("assert", vec![("shop/prod/pay", body(18, "Add pay"))]),
    ] {
        let state = world.path(&format!("state-{choice}"));
        let apply = || world.apply().set("state-dir", &state);
        apply().set("first-pass", choice).exit(0).any_output();
        world.sent(&sent);
        apply().exit(0).any_output();
        world.nothing_sent();
    }
}

#[test]
fn a_restored_backup_repeats_what_came_after_it_and_nothing_else() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/search.yaml", doc(1))
        .commit("Add search");
    world.apply().exit(0).any_output();
    world.service.take();
    let backup = world.path("backup");
    copy(&world.state(), &backup);
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .commit("Change pay");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    std::fs::remove_dir_all(world.state()).unwrap();
    copy(&backup, &world.state());
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_state_that_is_moved_away_is_a_first_pass() {
    let world = World::with_pay_applied();
    std::fs::rename(world.state(), world.path("damaged")).unwrap();
    world.apply().exit(4).says(&["--first-pass"]);
    world.nothing_sent();
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
}
