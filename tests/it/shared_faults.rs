//! Tests shared state with faults of the host, of other jobs and of the ref.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::shared::age;
use crate::support::files;
use crate::support::git_host::{self, Door};
use crate::support::{Answer, Gitoggle, Remote, Repo, Request, World, body, doc, eventually};

const NAME: &str = "refs/gitoggle/toggles/applied";

/// A world with state shared through a Git host, and `pay` applied.
struct Hosted {
    remote: Remote,
    state: Repo,
}

impl Hosted {
    fn new() -> Self {
        let remote = Remote::new(Door::Open);
        let state = Repo::bare(&remote.world.path("hosted/state.git"));
        let hosted = Self { remote, state };
        hosted.job("first").set("first-pass", "assert").exit(0).any_output();
        hosted.world().service.take();
        hosted.remote.host.take();
        hosted
    }

    fn world(&self) -> &World {
        &self.remote.world
    }

    fn job(&self, disk: &str) -> Gitoggle {
        let url = format!("{}/state.git", self.remote.host.url());
        let run = self.world().apply().set("state-dir", self.world().path(disk));
        run.set("state-remote", url).set("state-name", "toggles")
    }

    fn change(&self, age: u32, message: &str) {
        change(self.world(), age, message);
    }
}

/// Returns a world with state shared through a path, and nothing applied.
fn local() -> (World, Repo) {
    let world = World::new();
    let remote = Repo::bare(&world.path("remote.git"));
    world.repo.commit_pay(18, "Add pay");
    (world, remote)
}

fn job(world: &World, disk: &str) -> Gitoggle {
    let run = world.apply().set("state-dir", world.path(disk));
    run.set("state-remote", world.path("remote.git")).set("state-name", "toggles")
}

fn applied(world: &World) {
    job(world, "first").set("first-pass", "assert").exit(0).any_output();
    world.service.take();
}

fn change(world: &World, age: u32, message: &str) {
    world.repo.commit_pay(age, message);
}

/// Kills a job after its request was stored.
fn killed(world: &World, disk: &str) {
    world.kill_in_first_request(job(world, disk));
    world.service.take();
}

fn is_push(request: &Request) -> bool {
    request.method == "POST" && request.path.ends_with("/git-receive-pack")
}

#[test]
fn a_host_that_fails_once_at_any_moment_costs_neither_the_pass_nor_a_second_publish() {
    let hosted = Hosted::new();
    for moment in 1..=6 {
        let message = format!("Change {moment}");
        hosted.change(20 + moment, &message);
        let mut requests = 0;
        hosted.remote.host_answers(move |_| {
            requests += 1;
            (requests == moment).then(|| Answer::status(503))
        });
        hosted.job(&format!("disk-{moment}")).exit(0).any_output();
        hosted.world().sent(&[("shop/prod/pay", body(20 + moment, &message))]);
        hosted.job(&format!("empty-{moment}")).exit(0).any_output();
        hosted.world().nothing_sent();
    }
    hosted.state.git(&["fsck", "--strict", "--no-dangling"]);
}

/// Runs a job during which the host is away, from the first request to the service on, which takes `latency`.
/// `is_over` gets how long the host has been away, and how many requests it has refused meanwhile.
fn an_outage_loses_no_outcome(latency: Duration, is_over: fn(Duration, usize) -> bool) {
    let hosted = Hosted::new();
    for toggle in ["pay", "zoo"] {
        hosted.world().repo.file(&format!("shop/prod/{toggle}.yaml"), doc(21));
    }
    hosted.world().repo.commit("Change both");
    let (began, refused) = (Arc::new(OnceLock::new()), Arc::new(AtomicUsize::new(0)));
    let (start, refusals) = (Arc::clone(&began), Arc::clone(&refused));
    hosted.world().service.always(move |_| {
        start.get_or_init(Instant::now);
        Answer::applied().slowly(latency)
    });
    hosted.remote.host_answers(move |_| {
        let began: &Instant = began.get()?;
        (!is_over(began.elapsed(), refusals.load(Ordering::SeqCst))).then(|| {
            refusals.fetch_add(1, Ordering::SeqCst);
            Answer::closes()
        })
    });
    hosted.job("disk").within_seconds(120).exit(0).any_output();
    assert!(refused.load(Ordering::SeqCst) > 0, "the host was away");
    assert_eq!(hosted.world().service.take().len(), 2);
    hosted.job("empty").exit(0).any_output();
    hosted.world().nothing_sent();
}

#[test]
fn a_host_that_refuses_three_requests_in_the_middle_of_a_pass_costs_no_outcome() {
    an_outage_loses_no_outcome(Duration::from_millis(50), |_, refused| refused == 3);
}

#[test]
fn a_host_that_is_away_for_30_s_in_the_middle_of_a_pass_costs_no_outcome() {
    an_outage_loses_no_outcome(Duration::from_secs(4), |away, refused| {
        away >= Duration::from_secs(30) && refused > 0
    });
}

/// Runs a job that sends three requests, from the first of which on the host answers pushes with this refusal
/// five times. Nothing may be sent between the first refusal and the end of the refusals.
fn a_refusal_is_survived(status: u16, shown: &str) {
    let refusal = Answer::status(status)
        .header("WWW-Authenticate", "Basic realm=\"git\"")
        .header("Content-Type", "text/plain")
        .body("Maintenance of the accounts: try again soon.\n");
    let hosted = Hosted::new();
    for toggle in ["pay", "search", "zoo"] {
        hosted.world().repo.file(&format!("shop/prod/{toggle}.yaml"), doc(30));
    }
    hosted.world().repo.commit("Change three");
    let left = Arc::new(AtomicUsize::new(0));
    let sent_while_refused = Arc::new(AtomicUsize::new(0));
    let (refusals, sent) = (Arc::clone(&left), Arc::clone(&sent_while_refused));
    let mut is_first = true;
    hosted.world().service.always(move |_| {
        if is_first {
            refusals.store(5, Ordering::SeqCst);
            is_first = false;
        } else if (1..5).contains(&refusals.load(Ordering::SeqCst)) {
            sent.fetch_add(1, Ordering::SeqCst);
        }
        Answer::applied().slowly(Duration::from_secs(3))
    });
    let refusals = Arc::clone(&left);
    hosted.remote.host_answers(move |request| {
        let is_of_push = request.path.contains("git-receive-pack");
        let is_left = is_of_push && refusals.load(Ordering::SeqCst) > 0;
        is_left.then(|| {
            refusals.fetch_sub(1, Ordering::SeqCst);
            refusal.clone()
        })
    });
    let said = hosted.job("disk").exit(0);
    said.stderr_contains(&["WARN the host of the shared state refuses a push; retrying", shown]).any_stdout();
    assert_eq!(left.load(Ordering::SeqCst), 0, "the host has refused");
    assert!(sent_while_refused.load(Ordering::SeqCst) <= 1, "only what was about to start");
    assert_eq!(hosted.world().service.take().len(), 3);
    hosted.job("empty").exit(0).any_output();
    hosted.world().nothing_sent();
}

#[test]
fn a_401_while_a_password_is_rotated_does_not_end_a_pass() {
    // Git asks for a password before it shows what the host says.
    a_refusal_is_survived(401, "requires credentials");
}

#[test]
fn a_password_that_is_rotated_during_a_pass_is_read_again() {
    let hosted = Hosted::new();
    hosted.change(31, "Change pay");
    let password = hosted.world().write("password", "old-1234\n");
    let (is_rotated, refusals) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let (root, rotated, refused) =
        (hosted.world().path("hosted"), Arc::clone(&is_rotated), Arc::clone(&refusals));
    hosted.remote.host.always(move |request| {
        let is_rotated = rotated.load(Ordering::SeqCst);
        let expected = if is_rotated { "YWRhOm5ldy01Njc4" } else { "YWRhOm9sZC0xMjM0" };
        let is_old = request.header("authorization") == Some("Basic YWRhOm9sZC0xMjM0");
        refused.fetch_add(usize::from(is_rotated && is_old), Ordering::SeqCst);
        git_host::answer(&root, &Door::Guarded(format!("Basic {expected}")), request)
    });
    // The host turns the old password away from the first request on, and the file has the new one seconds
    // later.
    hosted.world().service.always(move |_| {
        is_rotated.store(true, Ordering::SeqCst);
        Answer::applied()
    });
    let job = |disk| hosted.job(disk).set("git-username", "ada").set("git-password-file", &password);
    let running = job("disk").start();
    hosted.world().service.wait_for(1);
    eventually("a refusal", || (refusals.load(Ordering::SeqCst) > 0).then_some(()));
    std::fs::write(&password, "new-5678\n").unwrap();
    assert_eq!(running.wait(), Some(0));
    assert_eq!(hosted.world().service.take().len(), 1);
    job("empty").exit(0).any_output();
    hosted.world().nothing_sent();
}

#[test]
fn a_403_for_a_moment_does_not_end_a_pass() {
    a_refusal_is_survived(403, "Maintenance of the accounts: try again soon.");
}

#[test]
fn a_404_for_a_moment_does_not_end_a_pass() {
    a_refusal_is_survived(404, "Maintenance of the accounts: try again soon.");
}

#[test]
fn a_hook_that_rejects_for_a_moment_does_not_end_a_pass() {
    let hosted = Hosted::new();
    hosted.change(31, "Change pay");
    hosted.world().write_program(
        "hosted/state.git/hooks/update",
        "#!/bin/sh\n[ ! -s reject ] || { sed -i 1d reject; echo Frozen for a moment. >&2; exit 1; }\n",
    );
    let reject = hosted.state.path().join("reject");
    let rejects = reject.clone();
    hosted.world().service.always(move |_| {
        // More than the first retries of a push.
        std::fs::write(&rejects, "1\n2\n3\n4\n").unwrap();
        Answer::applied()
    });
    let log = hosted.world().path("log");
    let running = hosted.job("disk").start_logged(&log);
    assert_eq!(running.wait(), Some(0));
    assert_eq!(std::fs::read_to_string(reject).unwrap(), "");
    let said = std::fs::read_to_string(log).unwrap();
    assert!(said.contains("hook declined") && said.contains("Frozen for a moment."), "{said}");
    assert_eq!(hosted.world().service.take().len(), 1);
    hosted.job("empty").exit(0).any_output();
    hosted.world().nothing_sent();
}

#[test]
fn a_path_that_is_away_for_a_moment_does_not_end_a_pass() {
    let (world, remote) = local();
    applied(&world);
    change(&world, 31, "Change pay");
    let (here, away) = (remote.path().to_owned(), world.path("away.git"));
    let (from, to) = (here.clone(), away.clone());
    world.service.always(move |_| {
        std::fs::rename(&from, &to).unwrap();
        Answer::applied()
    });
    let running = job(&world, "disk").start();
    world.service.wait_for(1);
    std::thread::sleep(Duration::from_secs(4));
    std::fs::rename(&away, &here).unwrap();
    assert_eq!(running.wait(), Some(0));
    assert_eq!(world.service.take().len(), 1);
    job(&world, "empty").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn one_change_makes_two_pushes() {
    let hosted = Hosted::new();
    hosted.change(21, "Change pay");
    hosted.job("first").exit(0).any_output();
    let requests = hosted.remote.host.take();
    assert_eq!(requests.iter().filter(|request| is_push(request)).count(), 2);
}

#[test]
fn an_old_job_after_a_killed_newer_one_is_stale() {
    let (world, remote) = local();
    applied(&world);
    let old = world.repo.linked("HEAD", &world.path("old"));
    change(&world, 21, "Change pay");
    killed(&world, "killed");
    age(&remote);
    job(&world, "old-job").set("repo", old.path()).exit(4).says(&["stale", "<rev>"]);
    world.nothing_sent();
    job(&world, "next").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_revert_that_follows_a_killed_job_reaches_the_service() {
    let (world, remote) = local();
    applied(&world);
    change(&world, 21, "Change pay");
    killed(&world, "killed");
    world.repo.revert();
    age(&remote);
    job(&world, "next").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].body()["content"], crate::support::content(18));
}

#[test]
fn a_first_job_that_is_refused_does_not_change_the_remote() {
    let (world, _remote) = local();
    world.service.always(|_| Answer::json(401, "{}"));
    job(&world, "first").set("first-pass", "assert").exit(1).any_output();
    world.service.take();
    world.service.always(|_| Answer::applied());
    job(&world, "second").set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
    job(&world, "first").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn another_state_name_needs_another_state_folder() {
    let (world, remote) = local();
    applied(&world);
    let other = || {
        let base_url = format!("{}/other", world.service.url());
        job(&world, "first").set("base-url", base_url)
    };
    other().exit(4).says(&["--state-name"]);
    let named = || other().set("state-name", "other").set("state-dir", world.path("second"));
    other()
        .set("state-name", "other")
        .exit(4)
        .says(&["belongs to the shared state `toggles`", "--state-dir"]);
    named().exit(4).says(&["--first-pass"]);
    named().set("first-pass", "adopt").exit(0).any_output();
    world.nothing_sent();
    assert_eq!(remote.files("refs/gitoggle/other/applied").len(), 1);
    job(&world, "first").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn the_announcement_of_another_service_is_not_taken_over() {
    let (world, remote) = local();
    world.kill_in_first_request(job(&world, "killed").set("first-pass", "assert"));
    world.service.take();
    age(&remote);
    job(&world, "other")
        .set("base-url", format!("{}/other", world.service.url()))
        .set("first-pass", "adopt")
        .exit(4)
        .says(&["belongs to"]);
    world.nothing_sent();
}

#[test]
fn plan_and_status_report_an_announcement_without_waiting() {
    let (world, _remote) = local();
    applied(&world);
    change(&world, 21, "Change pay");
    killed(&world, "killed");
    for run in [world.plan(), world.status()] {
        let began = Instant::now();
        run.set("state-dir", world.path("empty"))
            .set("state-remote", world.path("remote.git"))
            .set("state-name", "toggles")
            .exit(0)
            .stderr_contains(&["has announced a pass"])
            .any_stdout();
        assert!(began.elapsed() < Duration::from_secs(20));
    }
}

#[test]
fn a_deleted_ref_is_restored_or_reported_with_a_warning_about_adopt() {
    let (world, remote) = local();
    applied(&world);
    remote.git(&["update-ref", "-d", NAME]);
    job(&world, "empty").exit(4).says(&["--mirror", "--first-pass adopt", "--first-pass assert"]);
    let plan = world.plan().set("state-dir", world.path("first")).set("state-name", "toggles");
    let plan = plan.set("state-remote", world.path("remote.git"));
    plan.exit(0).says(&["the ref of the shared state `toggles` was deleted", "restores it"]);
    job(&world, "first").exit(0).stderr_contains(&["was deleted; restored it"]).any_stdout();
    job(&world, "empty").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_state_remote_that_is_gone_is_not_to_be_replaced_by_an_empty_one() {
    let (world, remote) = local();
    applied(&world);
    std::fs::rename(remote.path(), world.path("away.git")).unwrap();
    change(&world, 21, "Change pay");
    let vanished = "caused by: there is no repository anymore\nhint: mount or restore it";
    let plan = world.plan().set("state-dir", world.path("first")).set("state-name", "toggles");
    let plan = plan.set("state-remote", world.path("remote.git"));
    for run in [job(&world, "first"), plan] {
        run.exit(1).any_stdout().stderr_contains(&[vanished]);
    }
    // A folder that never used it cannot tell.
    let unknown = "hint: check `--state-remote`; `git init --bare` creates a repository";
    job(&world, "empty").exit(1).any_stdout().stderr_contains(&[unknown]);
    world.nothing_sent();
}

#[test]
fn an_unresolved_list_does_not_make_a_journal_grow() {
    let (world, _remote) = local();
    applied(&world);
    change(&world, 21, "Change pay");
    world.service.always(|_| Answer::json(500, "{}"));
    let size = |disk: &str| {
        let journal = world.path(disk).join("journal");
        std::fs::metadata(journal).map_or(0, |journal| journal.len())
    };
    let sizes = [(); 3].map(|()| {
        job(&world, "first").exit(1).any_output();
        size("first")
    });
    assert_eq!(sizes[0], sizes[2], "{sizes:?}");
}

#[test]
fn a_ref_that_points_to_something_else_than_a_commit_was_not_written_by_gitoggle() {
    let (world, remote) = local();
    applied(&world);
    let blob = remote.git(&["rev-parse", &format!("{NAME}^{{tree}}:shop/prod/pay.yaml")]);
    // No Git writes such a ref, so it is written as a file.
    let path = remote.path().join(NAME);
    std::fs::write(path, format!("{}\n", blob.trim())).unwrap();
    for disk in ["first", "second"] {
        job(&world, disk).exit(1).says(&[
            "to which the applied ref points, was not written by gitoggle",
            "hint: another program wrote to the ref; reset it to a commit of gitoggle",
        ]);
    }
    world.nothing_sent();
}

#[test]
fn a_remote_in_a_format_that_is_not_supported_is_an_error_with_its_own_message() {
    let (world, remote) = local();
    let config = remote.path().join("config");
    let text = "[core]\nrepositoryformatversion = 1\nbare = true\n[extensions]\nobjectformat = sha256\n";
    std::fs::write(config, text).unwrap();
    job(&world, "first").exit(1).says(&[
        "caused by: the repository uses SHA-256 object ids, which are not supported",
        "hint: use a repository as created by `git init --bare`",
    ]);
    world.nothing_sent();
}

#[test]
fn a_push_that_is_rejected_for_a_moment_while_the_ref_stays_is_repeated() {
    let hosted = Hosted::new();
    hosted.change(21, "Change pay");
    // Git rejects a push like this if another process moved the ref, and moved it back afterwards.
    let hook = hosted.state.path().join("hooks/update");
    std::fs::create_dir_all(hook.parent().unwrap()).unwrap();
    let script = "#!/bin/sh\nif [ ! -e raced ]; then touch raced; echo 'cannot lock ref' >&2; exit 1; fi\n";
    files::program(&hook, script);
    hosted.job("second").exit(0).any_output();
    assert!(hosted.state.path().join("raced").exists());
    hosted.world().sent(&[("shop/prod/pay", body(21, "Change pay"))]);
    assert_eq!(hosted.state.content(NAME, "shop/prod/pay.yaml"), doc(21));
}

#[test]
fn a_host_that_refuses_the_first_push_of_a_pass_for_a_moment_does_not_end_it() {
    let hosted = Hosted::new();
    hosted.change(31, "Change pay");
    let mut left = [403; 6].into_iter().chain([500; 6]);
    hosted.remote.host_answers(move |request| {
        let is_of_push = request.path.contains("git-receive-pack");
        if is_of_push { left.next().map(Answer::status) } else { None }
    });
    hosted.job("disk").within_seconds(120).exit(0).any_output();
    hosted.world().sent(&[("shop/prod/pay", body(31, "Change pay"))]);
}

#[test]
fn an_adoption_whose_push_failed_is_completed_by_the_next_pass_which_says_so() {
    let remote = Remote::new(Door::Open);
    let state = Repo::bare(&remote.world.path("hosted/state.git"));
    state.git(&["config", "http.receivepack", "true"]);
    let hook = state.path().join("hooks/pre-receive");
    files::program(&hook, "#!/bin/sh\nexit 1\n");
    let job = || remote.apply().set("state-remote", format!("{}/state.git", remote.host.url()));
    job().set("first-pass", "adopt").exit(1).says(&["declined"]);
    std::fs::remove_file(&hook).unwrap();
    job()
        .exit(0)
        .stderr_contains(&["the shared state lacked what an earlier pass had recorded"])
        .any_stdout();
    job().exit(0).says(&[]).never_says(&["lacked"]);
    remote.world.nothing_sent();
}
