//! Limits on how much one pass may change.

use std::time::Duration;

use crate::support::{Answer, Daemon, Request, World, doc, eventually};

/// A world in which `count` toggles of `shop/prod` are applied.
fn applied(count: usize) -> World {
    let world = World::new();
    for number in 0..count {
        world.repo.file(&path(number), doc(18));
    }
    world.repo.commit("Add all");
    world.settle();
    world
}

fn path(number: usize) -> String {
    format!("shop/prod/t{number:02}.yaml")
}

/// Changes `count` of them.
fn change(world: &World, count: usize, message: &str) {
    for number in 0..count {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit(message);
}

fn toggles(world: &World) -> Vec<String> {
    world.service.take().iter().map(Request::toggle).collect()
}

#[test]
fn an_environment_over_the_ratio_is_held_with_every_way_to_release_it() {
    let world = applied(10);
    change(&world, 4, "Change four");
    world.repo.file("shop/prod/new.yaml", doc(1)).commit("And add one");
    for run in [world.apply(), world.plan()] {
        run.exit(4).says(&[
            "shop/prod",
            "4",
            "10",
            "max_change_ratio",
            "0.3",
            "--allow-mass-change",
            "Gitoggle-Allow: mass-change",
        ]);
    }
    world.nothing_sent();
}

#[test]
fn exactly_the_ratio_is_allowed_and_creates_do_not_count() {
    let world = applied(10);
    change(&world, 3, "Change three");
    for number in 20..40 {
        world.repo.file(&path(number), doc(1));
    }
    world.repo.commit("Add twenty");
    world.apply().exit(0).any_output();
    assert_eq!(toggles(&world).len(), 23);
}

#[test]
fn the_ratio_does_not_apply_below_ten_applied_toggles() {
    let world = applied(9);
    change(&world, 9, "Change all");
    world.apply().exit(0).any_output();
    assert_eq!(toggles(&world).len(), 9);
}

#[test]
fn other_environments_are_published_while_one_is_held() {
    let world = applied(10);
    world.repo.file("shop/test/a.yaml", doc(18)).commit("Add test");
    world.settle();
    change(&world, 10, "Change ten");
    world.repo.file("shop/test/a.yaml", doc(19)).commit("Change test");
    world.apply().exit(4).says(&["shop/prod"]);
    assert_eq!(toggles(&world), ["shop/test/a"]);
}

#[test]
fn allow_mass_change_releases_everything() {
    let world = applied(10);
    change(&world, 10, "Change ten");
    world.apply().arg("--allow-mass-change").exit(0).any_output();
    assert_eq!(toggles(&world).len(), 10);
}

#[test]
fn allow_mass_change_is_neither_a_variable_nor_a_key() {
    let world = applied(10);
    change(&world, 10, "Change ten");
    world.apply().env("GITOGGLE_ALLOW_MASS_CHANGE", "true").exit(4).any_output();
    let config = world.write("gitoggle.yaml", "allow_mass_change: true\n");
    world.apply().set("config", config).exit(64).stderr_contains(&["allow_mass_change"]);
    world.nothing_sent();
}

#[test]
fn a_trailer_releases_the_changes_of_its_commit() {
    let world = applied(10);
    change(&world, 10, "Change ten\n\nWe really mean it.\n\nGitoggle-Allow: mass-change\n");
    world.apply().arg("--no-allow-trailer").exit(4).any_output();
    world.nothing_sent();
    world.apply().exit(0).any_output();
    assert_eq!(toggles(&world).len(), 10);
}

#[test]
fn a_trailer_does_not_release_other_commits() {
    let world = applied(10);
    change(&world, 4, "Change four");
    world.repo.file(&path(9), doc(33)).commit("One more\n\nGitoggle-Allow: mass-change\n");
    world.apply().exit(4).says(&["4", "10"]);
    world.nothing_sent();
}

#[test]
fn a_trailer_in_the_middle_of_a_message_does_not_count() {
    let world = applied(10);
    change(
        &world,
        10,
        "Change ten\n\nGitoggle-Allow: mass-change\nis what one would write.\n\nBut nobody did.\n",
    );
    world.apply().exit(4).any_output();
    world.nothing_sent();
}

#[test]
fn the_count_includes_every_kind_of_change() {
    let world = applied(2);
    for number in 20..23 {
        world.repo.file(&path(number), doc(1));
    }
    world.repo.commit("Add three");
    world.apply().set("max-change-count", "2").exit(4).says(&[
        "shop/prod",
        "max_change_count",
        "3",
        "2",
        "--allow-mass-change",
    ]);
    world.nothing_sent();
    world.apply().set("max-change-count", "3").exit(0).any_output();
    assert_eq!(toggles(&world).len(), 3);
}

#[test]
fn on_invalid_stop_publishes_nothing_while_a_document_is_invalid() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit_pay(19, "Add nonsense");
    let plan = world.plan().set("on-invalid", "stop").set("output", "json");
    let plan = plan.exit(3).json();
    assert_eq!(plan["changes"], serde_json::json!([]), "nothing of it would be sent");
    assert_eq!(plan["summary"]["held"], 2, "{plan}");
    world.apply().set("on-invalid", "stop").exit(3).says(&["shop/prod/bad.yaml:1:1", "`on_invalid: stop`"]);
    world.status().set("on-invalid", "stop").exit(3).says(&["held", "while a document is invalid"]);
    world.nothing_sent();
    world.apply().set("on-invalid", "stop").set("only", "shop/prod/pay").exit(0).any_output();
    assert_eq!(toggles(&world), ["shop/prod/pay"], "an invalid document outside of the scope stops nothing");
}

#[test]
fn a_plan_shows_held_changes() {
    let world = applied(10);
    change(&world, 4, "Raise the age");
    world.plan().exit(4).says(&[
        "held shop/prod: 4 toggles",
        "~ update shop/prod/t00",
        "Raise the age",
        "`age` > `18` (number) → `age` > `21` (number)",
    ]);
    let json = world.plan().set("output", "json").exit(4).json();
    assert_eq!(json["changes"].as_array().map(Vec::len), Some(0));
    for held in json["held"].as_array().expect("a list") {
        assert_eq!(held["change"]["action"], "update");
        assert_eq!(held["change"]["toggle"], held["toggle"]);
    }
    world.nothing_sent();
}

#[test]
fn changes_that_a_killed_apply_confirmed_count_once() {
    let world = applied(20);
    let some = |numbers: std::ops::Range<usize>, message: &str| {
        for number in numbers {
            world.repo.file(&path(number), doc(77));
        }
        world.repo.commit(message);
    };
    some(0..6, "Change six");
    let mut count = 0;
    world.service.always(move |_| {
        count += 1;
        match count {
            6 => Answer::stores_and_hangs(),
            _ => Answer::applied(),
        }
    });
    let run = world.apply().start();
    world.service.wait_for(6);
    run.kill();
    world.service.sender_died();
    some(6..13, "Change seven others");
    let plan = world.plan().set("output", "json").exit(4).json();
    assert_eq!(plan["summary"]["held"], 7, "7 of 20 are over the ratio: {plan}");
    world.service.always(|_| Answer::applied());
    world.apply().exit(4).any_output();
}

/// Changes six toggles, and kills the pass in its first request.
fn interrupted() -> World {
    let world = applied(20);
    change(&world, 6, "Change six");
    world.kill_in_first_request(world.apply());
    world.service.take();
    world
}

#[test]
fn what_the_rails_let_through_stays_let_through_at_that_version() {
    let world = interrupted();
    for number in 6..12 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change six others");
    world.apply().exit(0).any_output();
    assert_eq!(toggles(&world).len(), 12);
    // A published version is treated as any other when it comes back.
    change(&world, 6, "Change six");
    world.repo.file(&path(0), doc(18)).commit("Change one back");
    let json = world.plan().set("output", "json").exit(0).json();
    assert_eq!(json["summary"]["held"], 0, "{json}");
}

#[test]
fn what_the_rails_let_through_stays_let_through_if_another_commit_arrives_while_it_is_sent() {
    let world = applied(20);
    let daemon = Daemon::ready(&world, |run| run);
    world.service.always(|_| Answer::applied().slowly(Duration::from_millis(300)));
    change(&world, 6, "Change six");
    world.service.wait_for(1);
    for number in 6..12 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change six others");
    eventually("all twelve", || (world.service.count() >= 12).then_some(()));
    daemon.becomes("shop/prod/t11", "in_sync");
    let mut sent = toggles(&world);
    sent.sort();
    sent.dedup();
    assert_eq!(sent.len(), 12, "{sent:?}");
    let held = daemon.metric("gitoggle_withheld{reason=\"rail\"}");
    assert!(held.is_none_or(|held| held < 1.0), "{held:?}");
}

#[test]
fn a_later_change_over_the_rail_does_not_hold_what_it_let_through() {
    let world = interrupted();
    for number in 6..14 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change eight others");
    world
        .apply()
        .exit(4)
        .stdout_contains(&["8 of 20 applied toggles", "applied 6 of 14 changes, 8 held"])
        .any_stderr();
    assert_eq!(toggles(&world).len(), 6);
}

#[test]
fn another_version_of_what_the_rails_let_through_counts() {
    let world = interrupted();
    for number in 0..12 {
        world.repo.file(&path(number), doc(25));
    }
    world.repo.commit("Change twelve");
    world.apply().exit(4).any_output();
    world.nothing_sent();
}

#[test]
fn a_later_commit_lets_a_merged_mass_change_through_if_it_names_the_environment() {
    let world = applied(10);
    change(&world, 4, "Change four");
    // A job has recorded what it held, and no document changes anymore.
    world.apply().exit(4).says(&["`Gitoggle-Allow: mass-change shop/prod` on a later one"]);
    for (trailer, why) in [
        ("mass-change", "which counts only for the changes of that commit"),
        ("mass-change shop/test", "`Gitoggle-Allow: mass-change shop/test` is about another environment"),
        (
            "mass_change shop/prod",
            "has `Gitoggle-Allow: mass_change shop/prod`, which does not count: write `mass-change`",
        ),
    ] {
        world.repo.file("notes.txt", trailer).commit(&format!("Allow it\n\nGitoggle-Allow: {trailer}\n"));
        for run in [world.plan(), world.apply()] {
            run.exit(4).says(&["4 of 10 applied toggles", why]);
        }
        world.nothing_sent();
    }
    world.repo.file("notes.txt", "allowed").commit("Allow it\n\nGitoggle-Allow: mass-change shop/prod\n");
    world.repo.file("notes.txt", "more").commit("Something else");
    world.apply().arg("--no-allow-trailer").exit(4).any_output();
    world.plan().exit(0).stdout_contains(&["4 to publish"]).any_stderr();
    world.apply().exit(0).any_output();
    assert_eq!(toggles(&world).len(), 4);
    // The permission was for what was merged before it.
    for number in 4..8 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change four more");
    world.apply().exit(4).any_output();
    world.nothing_sent();
}

#[test]
fn a_trailer_that_lets_later_changes_through_is_named_with_its_commit() {
    let world = applied(10);
    world.repo.file("notes.txt", "allowed").commit("Allow it\n\nGitoggle-Allow: mass-change shop/prod\n");
    world.apply().exit(0).any_output().never_says(&["mass-change"]);
    change(&world, 4, "Change four");
    let note = "`Gitoggle-Allow: mass-change shop/prod` of commit <short> lets 4 changes through";
    world.plan().exit(0).says(&["4 to publish", note]);
    world.plan().set("output", "json").exit(0).says(&["lets 4 changes through that came after it"]);
    world.apply().exit(0).says(&["applied 4 of 4 changes", note]);
    assert_eq!(toggles(&world).len(), 4);
}

#[test]
fn a_decision_on_a_commit_stays_until_what_it_is_about_is_applied() {
    // Another environment is applied first, so the recorded revision is newer than the decision.
    let world = applied(10);
    world.repo.file("shop/test/one.yaml", doc(18)).commit("Add one\n\nGitoggle-First-Pass: assert\n");
    world.apply().exit(0).any_output();
    world.service.take();
    change(&world, 4, "Change four");
    let decision = "Allow it\n\nGitoggle-Allow: mass-change shop/prod\n";
    world.repo.file("shop/test/one.yaml", doc(21)).commit(decision);
    world.apply().set("only", "shop/test/*").exit(0).any_output();
    assert_eq!(toggles(&world), ["shop/test/one"]);
    world.repo.file("notes.txt", "more").commit("Something else");
    // What was changed after the decision waits for another one.
    for number in 4..9 {
        world.repo.file(&path(number), doc(21));
    }
    world.repo.commit("Change five others");
    let held = world.apply().exit(4).says(&["5 of 10 applied toggles"]);
    held.stdout_contains(&["applied 4 of 9 changes, 5 held"]);
    assert_eq!(toggles(&world).len(), 4);
    world.repo.revert();
    world.apply().exit(0).any_output();
    world.nothing_sent();

    // A pass that publishes what was decided is killed, and a newer commit is recorded before the next one.
    let world = applied(10);
    change(&world, 4, "Change four");
    world.repo.file("notes.txt", "allowed").commit(decision);
    world.kill_in_first_request(world.apply());
    world.repo.file("notes.txt", "more").commit("Something else");
    world.apply().exit(0).any_output();
    let sent: std::collections::BTreeSet<String> = toggles(&world).into_iter().collect();
    assert_eq!(sent.len(), 4);
}

#[test]
fn a_trailer_that_does_not_count_is_named_in_the_plan_even_if_nothing_is_held() {
    let world = applied(3);
    change(&world, 1, "Change one\n\nGitoggle-Allow: MASS-CHANGE\n");
    let why = "has `Gitoggle-Allow: MASS-CHANGE`, which does not count: write `mass-change`";
    world.plan().exit(0).says(&["1 to publish", why]);
    let json = world.plan().set("output", "json").exit(0).json();
    assert!(json["notes"].to_string().contains("MASS-CHANGE"), "{json}");
    world.status().exit(0).says(&[why]);
    world.apply().exit(0).says(&[why]);
    assert_eq!(toggles(&world).len(), 1);
    world.plan().exit(0).any_stdout().stderr("");
}
