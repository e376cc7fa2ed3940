//! `gitoggle plan` reports changes without publishing or writing.

use serde_json::json;

use crate::support::files::listing;
use crate::support::{Answer, World, content, doc};

/// A world in which `pay` is applied and a change of it is not.
fn with_a_change() -> World {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Ask for 21 years");
    world
}

#[test]
fn a_plan_sends_no_request_and_writes_nothing() {
    let world = with_a_change();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Bad");
    let before = listing(world.root());
    let connections = world.service.connections();
    for output in ["human", "json", "markdown", "github"] {
        world.plan().set("output", output).exit(3).any_output();
        world.plan().set("output", output).arg("--worktree").exit(3).any_output();
        world.status().set("output", if output == "json" { "json" } else { "human" }).exit(3).any_output();
    }
    assert_eq!(listing(world.root()), before);
    assert_eq!(world.service.connections(), connections);
}

#[test]
fn a_plan_works_with_a_read_only_state() {
    let world = with_a_change();
    let expected = world.plan().set("output", "json").exit(0).json();
    let _protected = crate::support::files::protect(&world.state());
    let found = world.plan().set("output", "json").by_nobody().exit(0).json();
    assert_eq!(found["changes"], expected["changes"]);
}

#[test]
fn a_plan_works_without_a_state() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world.plan().set("first-pass", "assert").exit(0).says(&["shop/prod/pay"]);
    assert!(!world.state().exists());
}

#[test]
fn a_plan_is_versioned_json_with_the_verdict_of_the_exit_code() {
    let world = with_a_change();
    let plan = world.plan().set("output", "json").exit(0).json();
    let members: Vec<_> = plan.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(members, ["changes", "digest", "findings", "held", "orphans", "source", "summary", "version"]);
    assert_eq!(plan["version"], json!(1));
    assert_eq!(plan["source"]["ref"], json!("refs/heads/main"));
    let change = &plan["changes"][0];
    assert_eq!(change["toggle"], json!("shop/prod/pay"));
    assert_eq!(change["action"], json!("update"));
    assert_eq!(change["disabled"], json!(false));
    assert_eq!(change["content"], content(21));
    assert_eq!(change["comment"], json!("Ask for 21 years"));
    assert_eq!(plan["changes"].as_array().map(Vec::len), Some(1));
    assert_eq!(plan["held"], json!([]));
    assert_eq!(plan["findings"], json!([]));
}

#[test]
fn unchanged_toggles_are_not_listed() {
    let world = World::with_pay_applied();
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"], json!([]));
    assert!(!plan["changes"].to_string().contains("shop/prod/pay"));
}

#[test]
fn the_digest_is_the_same_after_a_merge_and_differs_between_plans() {
    let world = World::with_pay_applied();
    let digest = |world: &World| {
        let plan = world.plan().set("output", "json").exit(0).json();
        assert_eq!(plan["digest"], "sha256:<digest>");
        world.plan().digest()
    };
    world.repo.branch("change").commit_pay(21, "Ask for 21 years");
    let on_branch = digest(&world);
    world
        .repo
        .checkout("main")
        .file("README.md", "# Toggles\n")
        .commit("Something else")
        .merge("change", "Merge it");
    assert_eq!(digest(&world), on_branch);
    world.repo.commit_pay(22, "Ask for 22 years");
    assert_ne!(digest(&world), on_branch);
}

#[test]
fn the_detailed_exit_code_reports_changes() {
    let world = World::with_pay_applied();
    world.plan().arg("--detailed-exitcode").exit(0).any_output();
    world.repo.commit_pay(21, "Change");
    world.plan().exit(0).any_output();
    world.plan().arg("--detailed-exitcode").exit(2).any_output();
    world.repo.file("shop/prod/bad.yaml", "nonsense\n").commit("Bad");
    world.plan().arg("--detailed-exitcode").exit(3).any_output();
    world.repo.file("shop/new/pay.yaml", doc(1)).commit("New environment");
    world.plan().arg("--detailed-exitcode").exit(3).any_output();
    world.apply().exit(4).any_output();
}

#[test]
fn a_plan_describes_each_change_in_words() {
    let world = with_a_change();
    world.plan().exit(0).stdout_contains(&["shop/prod/pay", "Ask for 21 years", "adults"]).any_stderr();
}

#[test]
fn uncommitted_files_are_planned_with_the_worktree_flag() {
    let world = World::with_pay_applied();
    world.repo.write("shop/prod/pay.yaml", doc(33));
    world.repo.write("shop/prod/fresh.yaml", doc(1));
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"], json!([]));
    let plan = world.plan().arg("--worktree").set("output", "json").exit(0).json();
    let changes: Vec<_> = plan["changes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|change| (change["toggle"].as_str().unwrap(), change["action"].as_str().unwrap()))
        .collect();
    assert_eq!(changes, [("shop/prod/fresh", "create"), ("shop/prod/pay", "update")]);
}

#[test]
fn uncommitted_files_are_compared_with_a_revision_without_state() {
    let world = World::with_pay_applied();
    let plan = |from: &str| {
        let run = world.plan().unset("state-dir").unset("base-url").arg("--worktree").args(from);
        run.set("output", "json").exit(0).stderr("").json()
    };
    assert_eq!(plan("--from HEAD")["changes"], json!([]));
    world.repo.write("shop/prod/pay.yaml", doc(33));
    world.repo.write("shop/prod/fresh.yaml", doc(1));
    let changes = plan("--from HEAD")["changes"].clone();
    let toggles: Vec<_> = changes.as_array().unwrap().iter().map(|change| &change["toggle"]).collect();
    assert_eq!(toggles, ["shop/prod/fresh", "shop/prod/pay"], "{changes:#}");
    world.repo.commit_pay(33, "Ask for 33 years");
    world.repo.write("shop/prod/pay.yaml", doc(34));
    let before = |plan: &serde_json::Value| plan["changes"].to_string().contains("18");
    assert!(before(&plan("--from HEAD~1")) && !before(&plan("--from HEAD")));
}

#[test]
fn a_diff_of_a_work_tree_with_the_line_breaks_of_windows_shows_what_changed() {
    let world = World::with_pay_applied();
    let change = |text: String| world.repo.write("shop/prod/pay.yaml", text.replace('\n', "\r\n"));
    change(doc(18));
    let text = world.plan().arg("--worktree").exit(0).both();
    assert!(text.contains("Nothing to do") && !text.contains("to record"), "{text}");
    change(doc(33));
    let text = world.plan().arg("--worktree").exit(0).both();
    let of = |mark: &str| {
        let lines = text.lines().map(str::trim_start).filter(|line| line.starts_with(mark));
        lines.map(str::to_owned).collect::<Vec<_>>()
    };
    // The lines of the list begin with a dash, too.
    let (removed, added) = (of("-   "), of("+   "));
    assert!(removed.len() == 1 && removed[0].contains("18"), "{text}");
    assert!(added.len() == 1 && added[0].contains("33"), "{text}");
}

#[test]
fn what_a_sparse_checkout_leaves_out_was_not_removed() {
    let world = World::with_pay_applied();
    world.repo.file("shop/test/pay.yaml", doc(18)).commit("Add a test");
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.repo.git(&["sparse-checkout", "set", "shop/test"]);
    assert!(!world.repo.path().join("shop/prod").exists());
    let plan = |flags: &[&str]| {
        let mut run = world.plan();
        for flag in flags {
            run = run.arg(flag);
        }
        run.set("on-remove", "disable").set("output", "json").exit(0).stderr("").json()
    };
    for flags in [&[][..], &["--worktree"]] {
        let plan = plan(flags);
        for list in ["changes", "held", "orphans"] {
            assert_eq!(plan[list], json!([]), "{list} with {flags:?}");
        }
    }
    // A document that is left out may be one that is still to be published.
    world.repo.git(&["sparse-checkout", "disable"]);
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Ask for 21 years");
    world.repo.git(&["sparse-checkout", "set", "shop/test"]);
    world.repo.write("shop/test/pay.yaml", doc(33));
    let changes = plan(&["--worktree"])["changes"].clone();
    let toggles: Vec<_> = changes.as_array().unwrap().iter().map(|change| &change["toggle"]).collect();
    assert_eq!(toggles, ["shop/prod/pay", "shop/test/pay"]);
}

#[test]
fn a_plan_without_a_base_url_uses_the_only_existing_state() {
    let world = with_a_change();
    world.plan().unset("base-url").exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn a_plan_needs_no_token() {
    let world = with_a_change();
    world.plan().without_env("GITOGGLE_TOKEN").exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn a_shallow_clone_uses_the_newest_message_and_reports_it() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(21, "Ask for 21 years");
    world.repo.file("README.md", "x\n").commit("Newest");
    let shallow = world.repo.clone_shallow(1, &world.path("shallow"));
    let plan = world.plan().set("repo", shallow.path()).set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["comment"], json!("Newest"));
    world.plan().set("repo", shallow.path()).exit(0).says(&["shallow"]);
}

#[test]
fn a_closed_pipe_is_not_an_error() {
    let world = World::new();
    for number in 0..300 {
        world.repo.file(&format!("shop/prod/t{number}.yaml"), "nonsense\n");
    }
    world.repo.commit("Add many toggles");
    let mut child = world.validate().start_piped();
    drop(child.stdout.take());
    drop(child.stderr.take());
    let code = child.wait().unwrap().code();
    assert!(code == Some(3) || code == Some(0), "{code:?}");

    let mut child = world.plan().set("first-pass", "assert").start_piped();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    let printed = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!printed.contains("panicked") && !printed.contains("pipe"), "{printed}");
}

#[test]
fn the_machine_readable_result_of_an_apply_names_every_outcome() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", doc(21)).file("shop/prod/zoo.yaml", doc(3)).commit("Change both");
    let refusal = || Answer::json(422, r#"{"message": "no such attribute"}"#);
    world.service.answers([refusal(), Answer::applied(), refusal()]);
    let report = world.apply().set("output", "json").exit(1).json();
    assert_eq!(report["version"], 1);
    let results: Vec<_> = report["results"]
        .as_array()
        .unwrap_or_else(|| panic!("results in {report}"))
        .iter()
        .map(|line| (line["toggle"].as_str().unwrap(), line["result"].as_str().unwrap()))
        .collect();
    assert_eq!(results, [("shop/prod/pay", "failed"), ("shop/prod/zoo", "applied")]);
    assert_eq!(report["changes"].as_array().map(Vec::len), Some(2));
}

#[test]
fn if_no_path_is_valid_the_error_explains_the_first_one() {
    let world = World::new();
    world.repo.file("sh op/prod/a.yaml", doc(1)).file("sh op/prod/b.yaml", doc(1));
    world.repo.commit("Mistype the project");
    for run in [world.plan(), world.apply()] {
        run.exit(1).says(&[
            "no file at",
            "`sh op/prod/a.yaml`:",
            "(and 1 more like it)",
            "gitoggle validate",
        ]);
    }
    world.nothing_sent();
}

#[test]
fn a_plan_of_uncommitted_files_checks_the_base_url_and_the_history() {
    let world = World::with_pay_applied();
    world.repo.write("shop/prod/new.yaml", doc(21));
    let plan = world.plan().arg("--worktree").set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["comment"], "(not committed)", "{plan}");
    world
        .plan()
        .arg("--worktree")
        .set("base-url", "https://other.example.org")
        .exit(4)
        .stderr_contains(&["belongs to"])
        .any_stdout();
    world.repo.git(&["commit", "-q", "--amend", "-m", "Add pay, in better words"]);
    world
        .plan()
        .arg("--worktree")
        .set("history", "refuse")
        .exit(0)
        .stderr_contains(&["`apply` sends nothing", "rewritten"])
        .any_stdout();
}

#[test]
fn a_plan_that_publishes_nothing_has_no_digest_in_json() {
    let world = World::with_pay_applied();
    let digest = || world.plan().set("output", "json").exit_in(&[0, 3]).json()["digest"].clone();
    assert_eq!(digest(), serde_json::Value::Null);
    world.repo.file("shop/prod/pay.yaml", "nonsense\n").commit("Spoil it");
    assert_eq!(digest(), serde_json::Value::Null, "only held");
    world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Correct it");
    assert!(digest().is_string());
}
