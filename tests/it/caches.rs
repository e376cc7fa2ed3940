//! The mirror of a URL is a cache: every command that writes repairs it after any damage.

use std::path::PathBuf;

use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, SmallDisk, body, doc};

/// Makes a world whose mirror has the newest commit and lacks the blob of its document, as after a power cut.
/// Nothing of the commit was applied: the service refused it.
fn without_the_blob() -> Remote {
    let remote = Remote::settled(Door::Open);
    remote.push(21, "Change pay");
    let refusal = Answer::json(422, r#"{"message": "not now"}"#);
    remote.world.service.answers([refusal]);
    remote.apply().exit(1).any_output();
    remote.world.service.take();
    let blob = remote.world.repo.id("HEAD:shop/prod/pay.yaml");
    crate::support::Repo::at(&mirror(&remote)).lose(&blob);
    remote
}

fn mirror(remote: &Remote) -> PathBuf {
    remote.world.state().join("source.git")
}

#[test]
fn a_missing_object_is_repaired_even_if_the_ref_has_not_moved() {
    let remote = without_the_blob();
    remote.apply().exit(0).any_output();
    remote.world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    // The object is back, and the next pass needs no repair.
    remote.asked();
    remote.apply().exit(0).any_output();
    assert_eq!(remote.asked(), crate::support::remote::LOOKUP);
}

#[test]
fn a_daemon_repairs_its_mirror() {
    let remote = without_the_blob();
    let daemon = remote.daemon(|run| run);
    daemon.becomes("shop/prod/pay", "in_sync");
    remote.world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.says(&["cloning it again"]);
    daemon.stops_cleanly();
}

#[test]
fn read_only_commands_bypass_a_damaged_mirror_without_changing_it() {
    let remote = without_the_blob();
    // The clone of a command is made in the state folder, and removed: only the times of the folder change.
    let listing = || {
        let mut all = crate::support::files::listing(remote.world.root());
        all.retain(|path, _| *path != remote.world.state());
        all
    };
    let before = listing();
    remote.plan().exit(0).says(&["Change pay"]);
    let status = remote.world.status().set("repo", remote.url());
    status.set("ca-file", remote.world.ca()).exit(1).says(&["failed", "not now"]);
    let validate = remote.world.validate().set("repo", remote.url());
    validate
        .set("ref", "main")
        .env("GITOGGLE_CA_FILE", remote.world.ca())
        .env("GITOGGLE_STATE_DIR", remote.world.state())
        .exit(0)
        .stdout_contains(&["1 document"])
        .any_stderr();
    assert_eq!(listing(), before);
}

#[test]
fn a_damaged_remote_is_cloned_once_in_a_pass_and_then_reported() {
    let remote = Remote::settled(Door::Open);
    remote.push(21, "Change pay");
    let blob = remote.world.repo.id("HEAD:shop/prod/pay.yaml");
    crate::support::Repo::at(&remote.world.path("hosted/toggles.git")).lose(&blob);
    remote.apply().exit(1).stderr_contains(&["error"]).any_stdout();
    remote.world.nothing_sent();
}

#[test]
fn a_mirror_on_a_full_disk_is_reported_as_a_full_disk() {
    let remote = Remote::settled(Door::Open);
    let Some(disk) = SmallDisk::over(&remote.world) else {
        return;
    };
    // More than one megabyte that does not compress.
    let noise: Vec<u8> = std::iter::repeat_with(|| fastrand::u8(..)).take(2 << 20).collect();
    remote.world.repo.file("noise.bin", noise);
    remote.push(21, "Change pay");
    let full = remote.apply().exit(1);
    full.stderr_contains(&["No space left on device", "the disk is full"])
        .never_says(&["class=", "fsck", "damaged", "could not communicate"])
        .any_stdout();
    remote.world.nothing_sent();
    drop(disk);
}

#[test]
fn a_plan_on_a_full_disk_names_the_disk_and_blames_no_repository() {
    let remote = Remote::settled(Door::Open);
    let Some(disk) = SmallDisk::over(&remote.world) else {
        return;
    };
    remote.push(21, "Change pay");
    disk.fill_up_to(0);
    let full = remote.plan().exit(1);
    full.stderr_contains(&["No space left on device", "$TMP/state", "free some space"])
        .never_says(&["fsck", "damaged", "template"])
        .any_stdout();
}

#[test]
fn a_state_on_a_full_disk_is_reported_as_a_full_disk() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let Some(disk) = SmallDisk::over(world) else {
        return;
    };
    for free in [0, 4, 8, 12, 16, 24] {
        for number in 0..free {
            world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(100 + free + number));
        }
        world.repo.file("shop/prod/pay.yaml", doc(100 + free)).commit("Change");
        disk.fill_up_to(free);
        let ran = world.apply().arg("--allow-mass-change").exit_in(&[0, 1]);
        let printed = ran.both();
        if !printed.contains("applied") || printed.contains("error") {
            assert!(printed.contains("No space left on device"), "{free}: {printed}");
            assert!(printed.contains("the disk is full"), "{free}: {printed}");
        }
        for wrong in ["class=", "fsck", "move it away"] {
            assert!(!printed.contains(wrong), "{free}: {printed}");
        }
        disk.make_room();
        world.apply().arg("--allow-mass-change").exit(0).any_output();
        world.service.take();
    }
}

#[test]
fn a_daemon_reports_a_full_disk_at_readyz() {
    let remote = Remote::settled(Door::Open);
    let world = &remote.world;
    let Some(disk) = SmallDisk::over(world) else {
        return;
    };
    let daemon = Daemon::ready(world, |run| run);
    disk.fill_up_to(0);
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["No space left on device"]);
    assert_eq!(daemon.said("class="), 0, "{}", daemon.log());
    disk.make_room();
    daemon.is_ready();
    daemon.stops_cleanly();
}
