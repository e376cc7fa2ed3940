//! A line with one of our keys that does not lift a hold is named in the hold and in the plan, with the reason.

use crate::live_publish::{by_hand, with_pay_changed};
use crate::support::{Gitoggle, World, doc};

const COUNTS_FOR_ITS_OWN: &str = "which counts only for the changes of that commit";

/// A hold that a trailer can lift, and a trailer where it does not.
struct Case {
    name: &'static str,
    /// Leads to the hold. The last commit has the trailer.
    held: fn(&World, trailer: &str),
    trailer: &'static str,
    why: &'static str,
}

fn notes(world: &World, trailer: &str) {
    world.repo.file("notes.txt", trailer).commit(&format!("Note it\n\n{trailer}\n"));
}

const CASES: [Case; 5] = [
    Case {
        name: "a first pass",
        held: |world, trailer| {
            world.repo.commit_pay(18, "Add pay");
            notes(world, trailer);
        },
        trailer: "Gitoggle-First-Pass: assert",
        why: "which counts only on the newest commit of a document in `shop/prod`",
    },
    Case {
        name: "a window",
        held: |world, trailer| {
            world.repo.commit_pay(18, "Add pay");
            world.settle();
            world.repo.commit_pay(21, "Raise the age");
            notes(world, trailer);
        },
        trailer: "Gitoggle-Allow: window",
        why: COUNTS_FOR_ITS_OWN,
    },
    Case {
        name: "a rail",
        held: |world, trailer| {
            ages(world, 18);
            world.settle();
            ages(world, 21);
            notes(world, trailer);
        },
        trailer: "Gitoggle-Allow: mass-change",
        why: COUNTS_FOR_ITS_OWN,
    },
    Case {
        name: "a rail, with another environment",
        held: |world, trailer| {
            ages(world, 18);
            world.settle();
            ages(world, 21);
            notes(world, trailer);
        },
        trailer: "Gitoggle-Allow: mass-change shop/test",
        why: "`Gitoggle-Allow: mass-change shop/test` is about another environment",
    },
    Case {
        name: "an environment without documents",
        held: |world, trailer| {
            world.repo.commit_pay(18, "Add pay");
            world.repo.file("shop/test/pay.yaml", doc(18)).commit("Add another");
            world.settle();
            world.repo.remove("shop/prod/pay.yaml").commit(&format!("Remove it\n\n{trailer}\n"));
        },
        trailer: "Gitoggle-Allow: mass-change",
        why: "which counts here with the environment: `Gitoggle-Allow: mass-change shop/prod`",
    },
];

fn ages(world: &World, age: u32) {
    for number in 0..10 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(age));
    }
    world.repo.commit("Change ten");
}

/// Begins each command that shows a hold, with a freeze.
fn commands(world: &World) -> [Gitoggle; 2] {
    let freeze = "windows:\n  - { deny: '**', at: '2020-01-01 - 2099-12-31', zone: UTC }\n";
    let config = world.write("config.yaml", freeze);
    [world.plan(), world.apply()].map(|run| run.set("config", &config))
}

#[test]
fn a_trailer_that_does_not_lift_a_hold_is_named_with_the_reason() {
    for Case { name, held, trailer, why } in CASES {
        let world = World::new();
        held(&world, trailer);
        for run in commands(&world) {
            let run = if name.contains("window") { run } else { run.arg("--ignore-windows") };
            let printed = run.clone().exit_in(&[0, 4]).both();
            assert!(printed.contains(trailer) && printed.contains(why), "{name}: {printed}");
            let printed = run.arg("--no-allow-trailer").exit_in(&[0, 4]).both();
            let off = format!("has `{trailer}`, which does not count: trailers are turned off");
            // In the notes and in the hold.
            assert_eq!(printed.matches(&off).count(), 2, "{name}: {printed}");
            assert!(!printed.contains("put the trailer"), "{name}: {printed}");
        }
    }
}

#[test]
fn a_trailer_that_does_not_lift_drift_is_named_with_the_reason() {
    for (message, later, why) in [
        ("Raise\n\nGitoggle-Allow: overwrite_drift\n", None, "write `overwrite-drift`"),
        (
            "Raise\n\nGitoggle-Allow: overwrite-drift\n\nMore\n",
            None,
            "it is not in the last paragraph of the message",
        ),
        ("Raise\n", Some("Gitoggle-Allow: overwrite-drift"), COUNTS_FOR_ITS_OWN),
    ] {
        let service = with_pay_changed(message);
        service.edit("pay", by_hand());
        if let Some(trailer) = later {
            notes(&service.world, trailer);
        }
        let plan = || service.connected(service.world.plan()).arg("--live");
        let held = |text: &str| text[text.find("changed on the service").unwrap()..].to_owned();
        for run in [plan(), service.apply()] {
            let printed = held(&run.clone().exit(4).both());
            assert!(printed.contains(why) && printed.contains("the trailer `"), "{message}: {printed}");
            let printed = held(&run.arg("--no-allow-trailer").exit(4).both());
            assert!(printed.contains("trailers are turned off"), "{message}: {printed}");
            assert!(!printed.contains("the trailer `"), "{message}: {printed}");
        }
    }
}

#[test]
fn a_trailer_that_names_an_environment_counts_in_any_case_and_is_not_needed_again() {
    let world = World::new();
    ages(&world, 18);
    world.settle();
    ages(&world, 21);
    world.repo.file("web/test/pay.yaml", doc(18));
    world.repo.commit("Add another\n\nGitoggle-Allow: mass-change SHOP/Prod\n");
    let freeze = "windows:\n  - { deny: 'shop/**', at: '2020-01-01 - 2099-12-31', zone: UTC }\n";
    let config = world.write("config.yaml", freeze);
    // The pass records the revision, and what a window holds is left.
    let frozen = world.apply().set("config", config).set("first-pass", "assert").exit(4).both();
    assert!(frozen.contains("applied 1 of 11 changes, 10 held"), "{frozen}");
    world.service.take();
    world.repo.file("notes.txt", "later").commit("Something else");
    world.apply().exit(0).any_output();
    assert_eq!(world.service.take().len(), 10);
}
