//! The status of the applied commit.

use serde_json::json;

use super::stand_in::{FORGE_TOKEN, KINDS, Kind, StandIn};
use crate::support::{Answer, Gitoggle, World, doc};

fn apply(world: &World, forge: &StandIn) -> Gitoggle {
    forge.job(world, world.apply()).set("commit-status", forge.name())
}

fn changed() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Ask for 21 years");
    world
}

/// Returns the state and the description of the only status, which is one of the newest commit.
fn status(world: &World, forge: &StandIn) -> (String, String) {
    let statuses = std::mem::take(&mut forge.held().statuses);
    let [(commit, body)] = statuses.as_slice() else {
        panic!("{statuses:?}");
    };
    assert_eq!(*commit, world.repo.head());
    assert_eq!(body["context"], "gitoggle");
    assert!(body["target_url"].as_str().unwrap().starts_with("https://"));
    let text = |name: &str| body[name].as_str().unwrap().to_owned();
    (text("state"), text("description"))
}

#[test]
fn an_applied_commit_has_a_success() {
    for kind in KINDS {
        let (world, forge) = (changed(), StandIn::start(kind));
        apply(&world, &forge).exit(0).any_output();
        let expected = ("success".to_owned(), "applied 1 of 1 change".to_owned());
        assert_eq!(status(&world, &forge), expected, "{kind:?}");
        apply(&world, &forge).exit(0).any_output();
        assert_eq!(status(&world, &forge).1, "nothing to publish");
    }
}

#[test]
fn the_status_does_not_wait_for_the_limit_that_the_reviews_have_met() {
    let (world, forge) = (changed(), StandIn::start(Kind::GitHub));
    let limit = || Answer::json(403, r#"{"message":"API rate limit exceeded"}"#).header("Retry-After", "1");
    forge.service.always(move |_| limit());
    let run = apply(&world, &forge).set("reviewed", forge.name()).exit(1).stdout("");
    run.stderr_contains(&["warning: could not set the status", "the forge limits requests until"]);
    let asked = forge.service.take();
    assert_eq!(asked.len(), 5, "four tries of the list, and one of the status: {asked:#?}");
}

#[test]
fn a_failure_and_a_hold_are_other_states() {
    for kind in KINDS {
        let failed = match kind {
            Kind::GitLab => "failed",
            Kind::GitHub | Kind::Gitea => "failure",
        };
        let (world, forge) = (changed(), StandIn::start(kind));
        world.service.answers([Answer::json(400, r#"{"code":"invalid","message":"no"}"#)]);
        apply(&world, &forge).exit(1).any_output();
        let expected = (failed.to_owned(), "applied 0 of 1 change · 1 failed".to_owned());
        assert_eq!(status(&world, &forge), expected);

        world.repo.file("shop/test/new.yaml", doc(3)).commit("Add an environment");
        apply(&world, &forge).args("--exit-zero-when-held").exit_in(&[0, 1]).any_output();
        assert!(status(&world, &forge).1.contains("1 held"), "{kind:?}");

        // A pass that cannot begin has a verdict on the commit of the job.
        apply(&world, &forge).set("ref", "missing").exit(1).any_output();
        let (state, description) = status(&world, &forge);
        assert_eq!(
            (state.as_str(), description.as_str()),
            (failed, "nothing was applied; the job has the reason")
        );
    }
}

#[test]
fn something_held_is_pending() {
    let (world, forge) = (World::new(), StandIn::start(Kind::GitHub));
    world.repo.commit_pay(18, "Add pay");
    apply(&world, &forge).exit(4).any_output();
    assert_eq!(status(&world, &forge), ("pending".to_owned(), "nothing to publish · 1 held".to_owned()));
}

#[test]
fn a_status_on_gitlab_ends_its_pipeline() {
    let (world, forge) = (World::new(), StandIn::start(Kind::GitLab));
    world.repo.commit_pay(18, "Add pay");
    let url = format!("https://gitlab.example/{}", "a".repeat(250));
    let run = apply(&world, &forge).env("CI_PIPELINE_ID", "77").env("CI_JOB_URL", url);
    run.exit(4).any_output();
    let body = forge.held().statuses[0].1.clone();
    let expected = json!({
        "context": "gitoggle",
        "description": "nothing to publish · 1 held",
        "pipeline_id": 77,
        "state": "failed",
    });
    assert_eq!(body, expected, "a longer address would be refused");
}

#[test]
fn a_commit_without_a_reviewed_plan_is_pending() {
    let (world, forge) = (changed(), StandIn::start(Kind::GitHub));
    let run = || apply(&world, &forge).set("reviewed", forge.name());
    for (run, code) in [(run(), 4), (run().args("--exit-zero-when-held"), 0)] {
        run.exit(code).says(&["not reviewed: it came from commit"]);
        let expected = ("pending", "nothing to publish · 1 held");
        let (state, description) = status(&world, &forge);
        assert_eq!((state.as_str(), description.as_str()), expected);
    }
    world.nothing_sent();
}

#[test]
fn a_report_that_cannot_be_written_hides_nothing_that_was_applied() {
    let (world, forge) = (changed(), StandIn::start(Kind::GitHub));
    let run = apply(&world, &forge).env("GITHUB_STEP_SUMMARY", "/dev/full");
    run.set("output", "github")
        .exit(1)
        .says(&["note: applied 1 of 1 change\n", "could not write the job summary to `/dev/full`"]);
    let expected = ("success".to_owned(), "applied 1 of 1 change".to_owned());
    assert_eq!(status(&world, &forge), expected);
}

#[test]
fn the_globs_of_the_job_are_part_of_the_context() {
    let (world, forge) = (changed(), StandIn::start(Kind::GitHub));
    apply(&world, &forge).set("only", "shop/prod/*").exit(0).any_output();
    let body = forge.held().statuses[0].1.clone();
    assert_eq!(
        body,
        json!({
            "context": "gitoggle shop/prod/*",
            "description": "applied 1 of 1 change",
            "state": "success",
            "target_url": "https://forge.example/shop/toggles/actions/runs/1",
        })
    );
}

#[test]
fn a_status_that_is_refused_does_not_change_the_exit_code() {
    for (kind, hint) in [
        (Kind::GitHub, "`statuses: write`"),
        (Kind::GitLab, "the scope `api`"),
        (Kind::Gitea, "`write:repository`"),
    ] {
        let (world, forge) = (changed(), StandIn::start(kind));
        forge.held().is_read_only = true;
        let ran = apply(&world, &forge).exit(0).any_stdout();
        ran.stderr_contains(&[
            "warning: could not set the status of commit",
            "the forge responded with 403: Resource not accessible by integration",
            hint,
        ])
        .never_says(&[FORGE_TOKEN]);
    }
}

#[test]
fn gitlab_has_the_state_already() {
    let (world, forge) = (changed(), StandIn::start(Kind::GitLab));
    let message = r#"{"message":"Cannot transition status via :enqueue from :pending"}"#;
    forge.service.answers([Answer::json(400, message)]);
    apply(&world, &forge)
        .exit(0)
        .any_stdout()
        .stderr_contains(&["publishing 1 change"])
        .never_says(&["warning"]);
}
