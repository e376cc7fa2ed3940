//! What a daemon does when the machine has nothing left for it: disk, files, watches. It says so, and goes on
//! by itself once there is some again.

use std::process::Command;
use std::sync::Arc;

use crate::support::git_host::Door;
use crate::support::{Answer, Daemon, Remote, Request, SmallDisk, World, body, doc, eventually};

/// Sets a limit of a running process, which is allowed to raise it again.
fn limit(daemon: &Daemon, what: &str, to: &str) {
    let status = Command::new("prlimit")
        .args(["--pid", &daemon.id().to_string(), &format!("--{what}={to}:")])
        .status()
        .expect("prlimit is part of every Linux");
    assert!(status.success());
}

/// Takes all file descriptors that are not in use now.
fn no_more_files(daemon: &Daemon) {
    let open = std::fs::read_dir(format!("/proc/{}/fd", daemon.id())).unwrap();
    let numbers = open.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let mut used: Vec<_> = numbers.collect();
    used.sort_unstable();
    let free = (0..).find(|number| used.binary_search(number).is_err()).unwrap();
    limit(daemon, "nofile", &free.to_string());
}

#[test]
fn a_volume_that_fills_up_stops_publishing_and_heals() {
    let world = World::with_pay_applied();
    let Some(disk) = SmallDisk::over(&world) else {
        return;
    };
    let daemon = Daemon::ready(&world, |run| run);
    disk.fill_up_to(0);
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["could not use the state", "No space left"]);
    daemon.says(&["the pass failed", "No space left"]);
    world.nothing_sent();
    disk.make_room();
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.says(&["recovered"]);
    daemon.stops_cleanly();
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_state_folder_that_is_moved_away_is_a_lost_volume() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "200ms"));
    std::fs::rename(world.state(), world.path("away")).unwrap();
    daemon.becomes("shop/prod/pay", "held");
    assert!(daemon.log().contains("the state folder is not the one that was opened"));
    daemon.stops_cleanly();
}

#[test]
fn a_state_folder_that_was_replaced_is_the_one_that_counts() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/zoo.yaml", doc(18)).commit("Add zoo");
    let daemon = Daemon::ready(&world, |run| run.set("poll-interval", "600s"));
    world.sent(&[("shop/prod/zoo", body(18, "Add zoo"))]);
    std::fs::rename(world.state(), world.path("away")).unwrap();
    world.apply().set("only", "shop/prod/pay").set("first-pass", "adopt").exit(0).any_output();
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(2);
    daemon.becomes("shop/prod/pay", "in_sync");
    let mut toggles: Vec<_> = world.service.take().iter().map(Request::toggle).collect();
    toggles.sort();
    assert_eq!(toggles, ["shop/prod/pay", "shop/prod/zoo"], "of zoo the new folder knows nothing");
    daemon.stops_cleanly();
}

#[test]
fn a_volume_that_fills_up_in_the_middle_of_a_pass_loses_nothing() {
    let world = World::new();
    let toggles: Vec<_> = (0..5).map(|number| format!("shop/prod/t{number}")).collect();
    let change_all = |age| {
        for toggle in &toggles {
            world.repo.file(&format!("{toggle}.yaml"), doc(age));
        }
        world.repo.commit("Change all");
    };
    change_all(18);
    world.settle();
    let Some(disk) = SmallDisk::over(&world) else {
        return;
    };
    let disk = Arc::new(disk);
    let daemon = Daemon::ready(&world, |run| run);
    let filling = Arc::clone(&disk);
    world.service.always(move |_| {
        filling.fill_up_to(0);
        Answer::applied()
    });
    change_all(21);
    daemon.is_unready_for(&["No space left"]);
    world.service.always(|_| Answer::applied());
    disk.make_room();
    daemon.is_ready();
    for toggle in &toggles {
        daemon.becomes(toggle, "in_sync");
        let sent = world.service.requests();
        let bodies: Vec<_> =
            sent.iter().filter(|request| request.toggle() == *toggle).map(Request::body).collect();
        assert!(!bodies.is_empty() && bodies.iter().all(|sent| *sent == body(21, "Change all")));
    }
    let all = world.service.take();
    assert!(
        all.len() <= toggles.len() + 1,
        "only what could not be recorded is sent again: {:?}",
        all.iter().map(Request::toggle).collect::<Vec<_>>()
    );
    daemon.stops_cleanly();
    world.apply().exit(0).any_output();
    world.nothing_sent();
    drop(world);
}

#[test]
fn files_that_cannot_grow_stop_publishing_until_they_can() {
    let world = World::with_pay_applied();
    // The signal is ignored, so that a write fails as it does on a full disk; that of the log too.
    let daemon = Daemon::ready(&world, |run| run.after("trap '' XFSZ"));
    limit(&daemon, "fsize", "0");
    world.repo.commit_pay(21, "Change pay");
    daemon.is_unready_for(&["could not use the state"]);
    world.nothing_sent();
    limit(&daemon, "fsize", "unlimited");
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_without_free_file_descriptors_says_so_and_goes_on_once_there_are_some() {
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run);
    no_more_files(&daemon);
    world.repo.commit_pay(21, "Change pay");
    daemon.says(&["the pass failed", "open files"]);
    world.nothing_sent();
    limit(&daemon, "nofile", "256");
    world.service.wait_for(1);
    daemon.is_ready();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}

#[test]
fn a_daemon_that_follows_a_remote_reports_missing_file_descriptors_and_goes_on_once_there_are_some() {
    let remote = Remote::settled(Door::Open);
    let daemon = remote.daemon(|run| run.set("poll-interval", "200ms"));
    no_more_files(&daemon);
    daemon.says(&["the pass failed"]);
    remote.push(21, "Ask for 21 years");
    limit(&daemon, "nofile", "256");
    remote.world.service.wait_for(1);
    daemon.is_ready();
    remote.world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years"))]);
    daemon.stops_cleanly();
}

/// Returns whether this machine can set a limit of inotify in a user namespace, which ends with its
/// processes.
fn can_limit_inotify(script: &str) -> bool {
    let output = Command::new("unshare").args(["--user", "--map-root-user", "sh", "-c", script]).output();
    output.is_ok_and(|output| output.status.success())
}

#[test]
fn without_file_events_the_ref_is_looked_up_and_that_is_said_once() {
    let none = "echo 0 > /proc/sys/user/max_inotify_instances";
    if !can_limit_inotify(none) {
        return;
    }
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.within_user_namespace(none));
    daemon.says(&["\"warn\"", "no file events", "looked up every second"]);
    for age in [21, 22] {
        world.repo.commit_pay(age, "Change pay");
        world.service.wait_for(1);
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
        daemon.has_seen(&world.repo.head());
    }
    assert_eq!(daemon.said("file event"), 1, "{}", daemon.log());
    daemon.stops_cleanly();
}

#[test]
fn with_too_few_watches_the_ref_is_looked_up_and_that_is_said_once() {
    let few = "echo 2 > /proc/sys/user/max_inotify_watches";
    if !can_limit_inotify(few) {
        return;
    }
    let world = World::with_pay_applied();
    let daemon = Daemon::ready(&world, |run| run.within_user_namespace(few));
    for age in [21, 22] {
        world.repo.commit_pay(age, "Change pay");
        world.service.wait_for(1);
        world.sent(&[("shop/prod/pay", body(age, "Change pay"))]);
        daemon.has_seen(&world.repo.head());
    }
    eventually("one word about it", || (daemon.said("file event") == 1).then_some(()));
    daemon.stops_cleanly();
}

#[test]
fn a_checkout_that_is_mounted_read_only_is_followed() {
    let world = World::with_pay_applied();
    let repo = world.repo.path().display().to_string();
    let mount = format!(
        "mount --bind '{repo}' '{repo}' && mount -o remount,bind,ro '{repo}' && ! touch '{repo}/x' 2>/dev/null || exit 9"
    );
    let inside = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c"];
    let can = Command::new(inside[0]).args(&inside[1..]).arg(&mount).output();
    if !can.is_ok_and(|output| output.status.success()) {
        return;
    }
    let daemon = Daemon::ready(&world, |run| run.within_user_namespace(&mount));
    world.repo.commit_pay(21, "Change pay");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    daemon.stops_cleanly();
}
