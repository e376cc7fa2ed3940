//! The script for other CI systems, and the hooks of pre-commit.

use super::{DECISIONS, Hosted, Job, SERVICE_TOKEN, here, variables, yaml};
use crate::forge::stand_in::Kind;
use crate::support::{Repo, World, doc};

/// Runs the script in the clone of a job.
fn script(hosted: &Hosted, clone: &Repo, command: &str, decision: &str) -> Job {
    let own = [
        ("GITOGGLE_BASE_URL", hosted.base_url()),
        ("GITOGGLE_TOKEN", SERVICE_TOKEN.to_owned()),
        ("GITOGGLE_STATE_REMOTE", hosted.remote()),
        ("DECISION", decision.to_owned()),
    ];
    let script = here("deploy/ci/gitoggle.sh");
    hosted.run(clone, &variables(own, &[]), &format!("sh {} {command}", script.display()))
}

#[test]
fn the_script_for_other_systems_hands_the_review_over() {
    let hosted = Hosted::new(Kind::GitHub);
    let decide = |clone: &Repo, command: &str, decision: &str| script(&hosted, clone, command, decision);
    let run = |clone: &Repo, command: &str| decide(clone, command, "");
    // A shallow clone of the branch alone.
    let folder = hosted.world.path("request");
    let folder_text = folder.to_str().unwrap();
    hosted.world.repo.git(&[
        "clone",
        "--quiet",
        "--depth=1",
        "--branch=feature",
        &hosted.remote(),
        folder_text,
    ]);
    let request = Repo::at(&folder);
    run(&request, "plan main").exits(0, &["shop/prod/pay"]);
    let review = std::fs::read_to_string(folder.join("plan.json")).unwrap();
    let before = hosted.published();

    hosted.merge();
    let applied = hosted.clone("applied", "origin/main");
    run(&applied, "apply").exits(64, &["could not read the reviewed plan in `plan.json`"]);
    applied.write("plan.json", &review);
    run(&applied, "apply").exits(0, &["applied 1 of 1 change"]);
    assert_eq!(hosted.published(), before + 1);
    // A job without the artifact does not use the file of an older one.
    run(&applied, "apply").exits(64, &["could not read the reviewed plan in `plan.json`"]);
    hosted.world.repo.commit_pay(30, "Push without a review");
    hosted.push();
    let other = hosted.clone("other", "origin/main");
    other.write("plan.json", &review);
    run(&other, "apply").exits(
        4,
        &[
            "not reviewed: it came from commit",
            "which the review `plan.json` does not list",
            "--state-remote",
        ],
    );
    for decision in DECISIONS {
        other.write("plan.json", &review);
        decide(&other, "apply", decision).exits(4, &["not reviewed"]);
    }
    decide(&other, "apply", "overwrite-drift").exits(64, &["needs `--service-kind featureprobe`"]);
    decide(&other, "apply", "everything").exits(64, &["unexpected argument '--everything'"]);
    // A plan that fails leaves no review of an older one behind.
    request.write("plan.json", &review);
    run(&request, "plan gone").exits(128, &["gone"]);
    assert!(!folder.join("plan.json").exists());
    run(&other, "").exits(64, &["usage: gitoggle.sh"]);
    run(&other, "plan").exits(64, &["usage: gitoggle.sh plan TARGET"]);
}

#[test]
fn the_script_for_other_systems_carries_out_a_decision_about_what_was_reviewed() {
    let hosted = Hosted::new(Kind::GitHub);
    let run = |clone: &Repo, command: &str, decision: &str| script(&hosted, clone, command, decision);
    hosted.world.repo.checkout("feature").file("shop/test/pay.yaml", doc(18)).commit("Add an environment");
    hosted.world.repo.checkout("main");
    hosted.push();
    let request = hosted.clone("request", "origin/feature");
    run(&request, "plan main", "").exits(0, &["shop/test/pay"]);
    let review = std::fs::read_to_string(request.path().join("plan.json")).unwrap();
    hosted.merge();
    let applied = hosted.clone("applied", "origin/main");
    for (decision, code, said) in [
        ("", 4, "nothing is applied here yet"),
        ("none", 4, "nothing is applied here yet"),
        ("first-pass-assert", 0, "applied 1 of 1 change"),
    ] {
        applied.write("plan.json", &review);
        run(&applied, "apply", decision).exits(code, &[said]);
    }
}

#[test]
fn the_hooks_of_pre_commit_check_the_work_tree() {
    let hooks = yaml(".pre-commit-hooks.yaml");
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let mut ids = Vec::new();
    for hook in hooks.as_array().unwrap() {
        let text = |name: &str| hook[name].as_str().unwrap_or_else(|| panic!("{name}")).to_owned();
        ids.push(text("id"));
        assert_eq!(text("language"), "rust");
        assert!(!text("name").is_empty() && !text("description").is_empty());
        assert_eq!(hook["pass_filenames"], false);
        let files = regex::Regex::new(&text("files")).unwrap();
        for (path, is_document) in [
            ("shop/prod/pay.yaml", true),
            ("shop/prod/pay.yml", true),
            ("shop/prod/pay.json", false),
            ("README.md", false),
            ("yaml/README", false),
        ] {
            assert_eq!(files.is_match(path), is_document, "{path}");
        }
        let entry = text("entry");
        let typed = entry.strip_prefix("gitoggle ").unwrap();
        let (verb, flags) = typed.split_once(' ').unwrap_or((typed, ""));
        let run = || world.bare(verb).args(flags).within(world.repo.path());
        run().exit(0).any_output();
        // An expectation that is not met does not concern the other two.
        let (bad, text, code) = match verb {
            "test" => ("pay.test.yaml", "- name: older\n  given: { age: 20 }\n  serves: \"off\"\n", 1),
            _ => ("pay.yaml", "rules: 5\n", 3),
        };
        world.repo.write(&format!("shop/prod/{bad}"), text);
        run().exit(code).any_output();
        world.repo.write("shop/prod/pay.yaml", doc(18));
    }
    assert_eq!(ids, ["gitoggle-fmt", "gitoggle-validate", "gitoggle-test"]);
}
