//! The results that `apply` prints: each one as its change ends, and all of them if an error ends the pass.

use crate::support::answer::Gate;
use crate::support::git_host::{self, Door};
use crate::support::{Answer, Gitoggle, Repo, Service, World, doc, eventually};

/// A world with six toggles to publish, and a host for its state with a hook that declines every push after
/// the first.
fn declining() -> (World, Service) {
    let world = World::new();
    for number in 0..6 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), doc(18));
    }
    world.repo.commit("Add six");
    std::fs::create_dir(world.path("hosted")).unwrap();
    let state = Repo::bare(&world.path("hosted/state.git"));
    state.git(&["config", "http.receivepack", "true"]);
    world.write_program(
        "hosted/state.git/hooks/pre-receive",
        "#!/bin/sh\n[ -e announced ] && { exit 1; }\ntouch announced\n",
    );
    let host = git_host::start(&world.path("hosted"), Door::Open);
    (world, host)
}

/// Begins a pass that is refused after its first request, which it retries for 90 s.
fn apply(world: &World, host: &Service) -> Gitoggle {
    world
        .apply()
        .within_seconds(150)
        .set("first-pass", "assert")
        .set("state-remote", format!("{}/state.git", host.url()))
}

fn check_text() {
    let (world, host) = declining();
    let applied = (0..6).map(|number| format!("applied shop/prod/t{number} (create) <short> Add six\n"));
    apply(&world, &host)
        .exit(1)
        .stdout(&format!("{}applied 6 of 6 changes\n", applied.collect::<String>()))
        .stderr_contains(&["error: ", "declined"]);
    assert_eq!(world.service.count(), 6);
}

fn check_json() {
    let (world, host) = declining();
    let report = apply(&world, &host).set("output", "json").exit(1).json();
    let results = report["results"].as_array().unwrap();
    assert_eq!(results.len(), 6, "{report:#}");
    assert!(results.iter().all(|result| result["result"] == "applied"), "{report:#}");
    let error = format!("{:#}", report["error"]);
    assert!(error.contains("declined"), "{error}");
}

fn check_markdown() {
    let (world, host) = declining();
    apply(&world, &host)
        .set("output", "markdown")
        .exit(1)
        .stdout_contains(&["applied 6 of 6 changes", "**error**", "declined"])
        .any_stderr();
}

#[test]
fn an_error_after_the_first_request_leaves_a_report_in_every_form() {
    // At once, because each of them waits for the 90 s.
    std::thread::scope(|scope| {
        for check in [check_text, check_json, check_markdown] {
            scope.spawn(check);
        }
    });
}

#[test]
fn a_result_is_printed_while_others_are_still_open() {
    let world = World::new();
    for toggle in ["a", "b"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add two");
    let gate = Gate::default();
    world.service.answers([Answer::applied(), Answer::applied().behind(&gate)]);
    let log = world.path("log");
    let running = world.apply().set("first-pass", "assert").start_logged(&log);
    world.service.wait_for(2);
    eventually("the first result", || {
        world.printed(&log).contains("applied shop/prod/a (create) <short> Add two\n").then_some(())
    });
    gate.open();
    assert_eq!(running.wait(), Some(0));
    assert_eq!(world.printed(&log).matches("applied shop/prod/").count(), 2);
}

/// A world with six toggles in three environments, and a service that refuses the token for each of them.
fn forbidden() -> World {
    let world = World::new();
    for environment in ["dev", "prod", "test"] {
        for toggle in ["a", "b"] {
            world.repo.file(&format!("shop/{environment}/{toggle}.yaml"), doc(18));
        }
    }
    world.repo.commit("Add six");
    world.service.always(|_| Answer::status(403));
    world
}

#[test]
fn a_reason_that_toggles_share_is_printed_once() {
    const REASON: &str = "the service responded with 403";
    const END: &str =
        "error: the pass ended early: the token may be revoked, or may lack access to these environments\n";
    let world = forbidden();
    let ran = world.apply().set("first-pass", "assert").exit(1);
    let ran = ran.stderr_contains(&[END]).any_stdout();
    let printed = ran.both();
    assert_eq!(printed.matches(REASON).count(), 1, "{printed}");
    let tried = printed.matches("pending shop/").count();
    assert_eq!(printed.matches("  for the same reason as shop/").count(), tried - 1, "{printed}");
    // The log has a line for each toggle, and the JSON a field.
    let ran = world.apply().set("first-pass", "assert").set("output", "json").exit(1);
    let ran = ran.stderr_contains(&[END]).any_stdout();
    let report = ran.json();
    assert_eq!(
        report["stopped"],
        format!("the token may be revoked, or may lack access to these environments: {REASON}")
    );
}

#[test]
fn an_outcome_that_no_line_has_is_in_the_error() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18)).commit("Add pay");
    world.service.always(|_| Answer::status(401));
    world
        .apply()
        .set("first-pass", "assert")
        .exit(1)
        .stdout(
            "pending shop/prod/pay (create) <short> Add pay\n  the service rejected the token: the service responded with \
             401\napplied 0 of 1 change, 1 pending (shop/prod/pay)\n",
        )
        .stderr_contains(&[
            "error: the pass ended early: the service rejected the token\nhint: check the token; its file is read again",
        ]);
}

#[test]
fn warnings_of_sent_documents_are_one_line() {
    let world = World::with_pay_applied();
    let twice = doc(21)
        .replace("  rules:\n", "  rules:\n    - { name: adults, conditions: [], serve: { select: 1 } }\n");
    world.repo.file("shop/prod/pay.yaml", twice).commit("Change pay");
    world
        .apply()
        .exit(0)
        .stdout(
            "applied shop/prod/pay (update) <short> Change pay\n\n\
             3 warnings in changed documents; `gitoggle validate` lists them\n\n\
             applied 1 of 1 change\n",
        )
        .any_stderr();
}

#[test]
fn a_scheduled_job_can_succeed_while_toggles_are_held() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let job = || world.apply().arg("--exit-zero-when-held");
    world.apply().exit(4).any_output();
    job().exit(0).stdout_contains(&["held shop/prod/pay", "nothing is applied here yet"]);
    world.nothing_sent();
    // Only a hold is ignored, not another failure.
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Add nonsense");
    job().exit(3).any_output();
}

#[test]
fn a_scheduled_job_can_succeed_on_a_stale_checkout() {
    let world = World::with_pay_applied();
    let old = world.repo.head();
    world.repo.commit_pay(21, "Change pay");
    world.settle();
    world.repo.checkout(&old);
    world.apply().arg("--exit-zero-when-held").exit(0).stderr_contains(&["this checkout is stale"]);
    world.nothing_sent();
}
