//! Nothing applied is not an empty world: somebody has to say what the first pass is to do.

use crate::support::{Repo, World, body, doc};

const CHOICES: &[&str] = &["--first-pass", "assert", "adopt"];

#[test]
fn the_first_pass_is_held_until_somebody_chooses() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.apply().exit(4).says(CHOICES).never_says(&["panicked"]);
    world.plan().exit(4).says(CHOICES);
    world.nothing_sent();
}

#[test]
fn assert_publishes_everything_once() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn adopt_records_everything_and_publishes_nothing() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(
        state.content("refs/gitoggle/applied", "shop/prod/pay.yaml"),
        doc(18)
    );

    world
        .repo
        .file("shop/prod/pay.yaml", doc(19))
        .commit("Change pay");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(19, "Change pay"))]);
}

#[test]
fn adopt_leaves_out_what_is_invalid_or_not_asked_for() {
    let world = World::new();
    world
        .repo
        .file("shop/prod/bad.yaml", "disabled: maybe\n")
        .file("shop/prod/good.yaml", doc(18))
        .file("web/prod/other.yaml", doc(18))
        .commit("Add three");
    world
        .apply()
        .set("first-pass", "adopt")
        .set("only", "shop/**")
        .exit(3)
        .says(&["shop/prod/bad.yaml:1:11"]);
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/good.yaml"]);
}

#[test]
fn a_new_environment_is_held_while_the_others_go_on() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(19))
        .file("shop/test/pay.yaml", doc(20))
        .commit("Change prod, add test");
    world.apply().exit(4).says(CHOICES).never_says(&["panicked"]);
    world.sent(&[("shop/prod/pay", body(19, "Change prod, add test"))]);
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[("shop/test/pay", body(20, "Change prod, add test"))]);
}

#[test]
fn a_new_toggle_in_a_known_environment_needs_no_choice() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/search.yaml", doc(20))
        .commit("Add search");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/search", body(20, "Add search"))]);
}

#[test]
fn lost_state_is_a_first_pass_again() {
    let world = World::with_pay_applied();
    std::fs::remove_dir_all(world.state()).unwrap();
    world.apply().exit(4).says(CHOICES);
    world.nothing_sent();
}
