//! Two jobs at once, and jobs that were killed.

use super::{age, disk, job, shared};
use crate::support::{Answer, Gitoggle, Repo, Request, World, body, doc};

#[test]
fn two_jobs_at_once_publish_everything_once() {
    let (world, _remote) = shared();
    for environment in ["a", "b", "c"] {
        for toggle in ["x", "y"] {
            world.repo.file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    world.repo.commit("Add six");
    world.service.always(|_| Answer::applied().slowly(std::time::Duration::from_millis(20)));
    let runs: Vec<_> = ["left", "right", "middle"]
        .map(|machine| job(&world, machine).set("first-pass", "assert").start())
        .into();
    let codes: Vec<_> = runs.into_iter().map(crate::support::command::Running::wait).collect();
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
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::applied().slowly(std::time::Duration::from_secs(1)));
    let first = job(&world, "left").start();
    world.service.wait_for(1);
    job(&world, "right").exit(0).stderr_contains(&["waits for it", "on left"]).any_stdout();
    assert_eq!(first.wait(), Some(0));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

/// Kills a job after its request was sent, and deletes its disk.
fn killed(world: &World) {
    world.repo.commit_pay(21, "Change pay");
    world.kill_in_first_request(job(world, "lost"));
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    std::fs::remove_dir_all(disk(world, "lost")).unwrap();
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
    world.repo.commit_pay(21, "Change pay");
    world.service.always(|_| Answer::stores_and_hangs());
    // Four attempts of this length, and no end before them, outlast the wait of the other job: two minutes, or the time in
    // which it detects a dead holder and a margin.
    let _alive = job(&world, "alive").set("timeout", "40s").set("give-up-after", "10m").start();
    world.service.wait_for(1);
    job(&world, "other")
        .within_seconds(150)
        .exit(1)
        .stderr_contains(&["waits for it", "in use by pid", "on alive"])
        .any_stdout();
    let requests = world.service.take();
    assert!(requests.iter().all(|request| request.open_for_environment == 1));
}

/// Kills `apply` with these words in its first request, and deletes its disk if `forgets`.
fn announces(world: &World, remote: &Repo, words: &[&str], forgets: bool) {
    let lost = words.iter().copied().fold(job(world, "lost"), Gitoggle::arg);
    world.kill_in_first_request(lost);
    assert_eq!(world.service.take().len(), 1, "one request was started");
    if forgets {
        std::fs::remove_dir_all(disk(world, "lost")).unwrap();
        age(remote);
    }
}

/// Changes the toggles with these numbers in `shop/prod`.
fn change(world: &World, numbers: std::ops::Range<usize>, minimum: u32) {
    for number in numbers {
        let path = format!("shop/prod/t{number:02}.yaml");
        world.repo.file(&path, doc(minimum));
    }
    world.repo.commit("Change some");
}

/// Returns a world with shared state and 20 applied toggles.
fn with_twenty() -> (World, Repo) {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    change(&world, 0..20, 18);
    job(&world, "first").set("first-pass", "assert").exit(0).any_output();
    world.service.take();
    (world, remote)
}

#[test]
fn a_decision_to_adopt_publishes_nothing_that_a_killed_assert_only_announced() {
    for (forgets, repeated) in [(true, 0), (false, 1)] {
        let world = World::new();
        let remote = Repo::bare(&world.path("remote.git"));
        change(&world, 0..20, 18);
        announces(&world, &remote, &["--first-pass", "assert"], forgets);
        let machine = if forgets { "next" } else { "lost" };
        job(&world, machine)
            .exit(4)
            .stdout_contains(&["held shop/prod: ", "nothing is applied here yet"])
            .any_stderr();
        assert_eq!(world.service.take().len(), repeated, "what was started is repeated as it was");
        let adopts = job(&world, "next").set("first-pass", "adopt");
        adopts.exit(0).any_output();
        world.nothing_sent();
        job(&world, "last").exit(0).any_output();
        world.nothing_sent();
    }
}

#[test]
fn shared_state_with_requests_of_unknown_outcome_was_not_deleted() {
    let world = World::new();
    Repo::bare(&world.path("remote.git"));
    change(&world, 0..3, 18);
    let note = "nothing is recorded in the shared state yet";
    let fresh = |verb: fn(&World) -> Gitoggle| {
        verb(&world)
            .set("state-dir", disk(&world, "fresh"))
            .set("state-remote", world.path("remote.git"))
            .set("state-name", "toggles")
    };
    fresh(World::plan).exit_in(&[0, 4]).says(&[note]);
    world.service.always(|_| Answer::status(503));
    job(&world, "first").set("first-pass", "assert").set("give-up-after", "100ms").exit(1).any_output();
    fresh(World::plan).exit(0).says(&["3 to publish: 3 creates"]).never_says(&[note]);
    fresh(World::status).exit_in(&[0, 1]).says(&["shop/prod/t00"]).never_says(&[note]);
    world.service.always(|_| Answer::applied());
    job(&world, "next").exit(0).any_output().never_says(&[note]);
    fresh(World::status).exit(0).says(&["3 in sync"]);
}

#[test]
fn a_decision_to_adopt_ends_an_assert_that_was_killed_after_some_requests() {
    for is_shared in [false, true] {
        let world = World::new();
        Repo::bare(&world.path("remote.git"));
        change(&world, 0..20, 18);
        let run = || match is_shared {
            true => job(&world, "one").set("timeout", "2s"),
            false => world.apply().set("timeout", "2s"),
        };
        let answers = (0..5).map(|_| Answer::applied()).chain([Answer::stores_and_hangs()]);
        world.service.answers(answers);
        let killed = run().set("first-pass", "assert").start();
        world.service.wait_for(6);
        killed.kill();
        world.service.sender_died();
        world.service.take();
        run().set("first-pass", "adopt").exit(0).any_output();
        assert_eq!(world.service.take().len(), 1, "what was open is repeated, and nothing else is sent");
        run().exit(0).any_output();
        world.nothing_sent();
    }
}

#[test]
fn another_document_of_what_may_be_stored_is_not_adopted_unseen() {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    change(&world, 0..3, 18);
    announces(&world, &remote, &["--first-pass", "assert"], true);
    change(&world, 0..1, 21);
    let next = |choice| job(&world, "next").set("first-pass", choice);
    next("adopt").exit(4).stdout_contains(&["shop/prod/t00", "may have other targeting"]).any_stderr();
    world.nothing_sent();
    job(&world, "next").exit(0).any_output();
    assert_eq!(world.service.take().len(), 1);
}

#[test]
fn a_job_without_permission_does_not_finish_a_killed_mass_change() {
    for (forgets, repeated) in [(true, 0), (false, 1)] {
        let (world, remote) = with_twenty();
        change(&world, 0..15, 21);
        announces(&world, &remote, &["--allow-mass-change"], forgets);
        let machine = if forgets { "next" } else { "lost" };
        let held = job(&world, machine).exit(4);
        held.stdout_contains(&["held shop/prod: ", "`--allow-mass-change`"]).any_stderr();
        assert_eq!(world.service.take().len(), repeated, "what was started is repeated as it was");
        job(&world, "other").arg("--allow-mass-change").exit(0).any_output();
        assert_eq!(world.service.take().len(), 15 - repeated);
    }
}

#[test]
fn what_the_rails_let_through_of_a_dead_job_does_not_count_again() {
    let (world, remote) = with_twenty();
    change(&world, 0..6, 21);
    announces(&world, &remote, &[], true);
    change(&world, 6..12, 21);
    job(&world, "next").exit(0).any_output();
    assert_eq!(world.service.take().len(), 12);
}

#[test]
fn each_request_is_announced_before_it_is_sent() {
    let (world, remote) = shared();
    for toggle in ["pay", "search"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    world.repo.commit("Change two");
    world.service.always(move |request| {
        // A request that is not announced fails, so that the pass does.
        let list = remote.try_git(&["show", "refs/gitoggle/toggles/applied^2:intents.jsonl"]);
        match list.is_ok_and(|list| list.contains(&request.toggle())) {
            true => Answer::applied(),
            false => Answer::json(422, r#"{"message": "not announced"}"#),
        }
    });
    job(&world, "left").exit(0).any_output();
    assert_eq!(world.service.take().len(), 2);
}
