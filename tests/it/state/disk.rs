//! Disks that are full, and state folders that are damaged.

use std::time::Duration;

use super::recovers;
use crate::support::{Answer, Repo, SmallDisk, World, doc, eventually};

#[test]
fn a_request_that_cannot_be_recorded_is_not_sent() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Change pay");
    let _protected = crate::support::files::protect(&world.state());
    world.apply().by_nobody().exit(1).stderr_contains(&["$TMP/state"]).any_stdout();
    world.nothing_sent();
}

#[test]
fn files_that_cannot_grow_stop_a_pass_before_its_first_request() {
    for blocks in [0, 1, 2, 4, 8] {
        let world = World::with_pay_applied();
        world
            .repo
            .file("shop/prod/pay.yaml", doc(21))
            .file("shop/prod/zoo.yaml", doc(3))
            .commit("Change both");
        // SIGXFSZ is ignored, so that a write fails as on a full disk.
        let run = world.apply().after(&format!("trap '' XFSZ; ulimit -f {blocks}"));
        let printed = run.exit_in(&[0, 1]).both();
        let sent = world.service.take();
        assert!(blocks > 0 || sent.is_empty(), "sent without a record: {sent:?}\n{printed}");
        recovers(&world, &sent);
    }
}

#[test]
fn a_full_disk_stops_a_pass_before_its_first_request() {
    let world = World::with_pay_applied();
    let Some(disk) = SmallDisk::over(&world) else {
        return;
    };
    for free in [0, 4, 8, 16, 32, 64] {
        world
            .repo
            .file("shop/prod/pay.yaml", doc(100 + free))
            .file("shop/prod/zoo.yaml", doc(200 + free))
            .commit("Change both");
        disk.fill_up_to(free);
        let printed = world.apply().exit_in(&[0, 1]).both();
        let sent = world.service.take();
        assert!(free > 0 || sent.is_empty(), "{sent:?}\n{printed}");
        disk.make_room();
        recovers(&world, &sent);
    }
}

/// A kind of damage to a state folder.
type Damage = fn(&std::path::Path);

#[test]
fn a_corrupt_state_folder_is_reported_and_nothing_is_sent() {
    let damages: [(&str, Damage); 8] = [
        ("journal", |state| {
            std::fs::write(state.join("journal"), "nonsense\nnonsense\n").unwrap();
        }),
        ("ref", |state| {
            let git = Repo::at(&state.join("state.git"));
            let empty = git.git(&["hash-object", "-t", "tree", "-w", "/dev/null"]);
            let commit = git.git(&["commit-tree", "-m", "Not ours", &empty]);
            git.git(&["update-ref", "refs/gitoggle/applied", &commit]);
        }),
        ("objects", |state| {
            std::fs::remove_dir_all(state.join("state.git/objects")).unwrap();
        }),
        ("HEAD", |state| {
            std::fs::remove_file(state.join("state.git/HEAD")).unwrap();
        }),
        ("a garbled ref", |state| {
            std::fs::write(state.join("state.git/refs/gitoggle/applied"), "nonsense\n").unwrap();
        }),
        ("a file in place of the objects", |state| {
            std::fs::remove_dir_all(state.join("state.git/objects")).unwrap();
            std::fs::write(state.join("state.git/objects"), "").unwrap();
        }),
        ("a folder in place of the journal", |state| {
            std::fs::remove_file(state.join("journal")).unwrap();
            std::fs::create_dir(state.join("journal")).unwrap();
        }),
        ("a file in its place", |state| {
            std::fs::remove_dir_all(state).unwrap();
            std::fs::write(state, "").unwrap();
        }),
    ];
    for (name, damage) in damages {
        let world = World::with_pay_applied();
        world.repo.commit_pay(21, "Change pay");
        damage(&world.state());
        let ran = world.apply().exit_in(&[1, 4]);
        let printed = ran.both();
        assert!(!printed.contains("panicked") && printed.contains("hint: "), "{name}: {printed}");
        // The words of the library stand in parentheses behind ours.
        assert!(!printed.contains("caused by: could not find repository"), "{name}: {printed}");
        world.nothing_sent();
    }
}

/// The journal must not end the first pass of an environment whose record is gone: the others would be published
/// without a decision.
#[test]
fn a_record_that_vanished_beside_its_journal_stops_every_command() {
    let loses: [fn(&World); 3] = [
        |world| std::fs::remove_dir_all(world.state().join("state.git")).unwrap(),
        |world| {
            std::fs::remove_dir_all(world.state().join("state.git")).unwrap();
            std::fs::remove_file(world.state().join("place.json")).unwrap();
        },
        |world| {
            let git = Repo::at(&world.state().join("state.git"));
            git.git(&["update-ref", "-d", "refs/gitoggle/applied"]);
        },
    ];
    for lose in loses {
        for is_killed in [false, true] {
            let world = World::with_pay_and_search_applied();
            if is_killed {
                world.repo.commit_pay(21, "Raise the age");
                world.service.always(|_| Answer::applied().slowly(Duration::from_secs(60)));
                let run = world.apply().start();
                eventually("the request", || (world.service.count() > 0).then_some(()));
                run.kill();
                world.service.always(|_| Answer::applied());
            }
            world.service.take();
            lose(&world);
            for run in [world.apply(), world.plan(), world.status()] {
                run.exit(1).any_stdout().stderr_contains(&[
                    "the record of what was applied is missing from the state folder",
                    "restore `state.git`",
                    "move the whole state folder",
                    "use `--first-pass assert`",
                ]);
            }
            world.nothing_sent();
            // The way out.
            std::fs::rename(world.state(), world.path("lost")).unwrap();
            world.apply().exit(4).stdout_contains(&["nothing is applied here yet"]).any_stderr();
            world.nothing_sent();
        }
    }
}
