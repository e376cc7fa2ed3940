//! Applied toggles whose file was removed.

use serde_json::json;

use crate::support::{Answer, Daemon, Repo, Request, World, body, content, doc};

/// A world in which `pay` and `search` were applied and the file of `pay` was removed.
fn without_pay() -> World {
    let world = World::with_pay_and_search_applied();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    world
}

fn applied(world: &World) -> Vec<String> {
    Repo::at(&world.state().join("state.git")).files("refs/gitoggle/applied")
}

#[test]
fn a_removed_file_is_only_listed_by_default() {
    let world = without_pay();
    world.apply().exit(0).says(&["shop/prod/pay"]);
    world.nothing_sent();
    assert_eq!(applied(&world), ["shop/prod/pay.yaml", "shop/prod/search.yaml"]);
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["orphans"].as_array().map(Vec::len), Some(1), "{plan}");
    assert_eq!(plan["orphans"][0]["toggle"], json!("shop/prod/pay"));
    assert_eq!(plan["changes"], json!([]));
}

#[test]
fn disable_publishes_the_applied_content_once() {
    let world = without_pay();
    world.apply().set("on-remove", "disable").exit(0).any_output();
    let requests = world.service.take();
    assert_eq!(requests.len(), 1);
    assert_eq!(requests[0].toggle(), "shop/prod/pay");
    let sent = requests[0].body();
    assert_eq!(sent["disabled"], json!(true));
    assert_eq!(sent["content"], content(18));
    let comment = requests[0].comment();
    assert!(comment.starts_with("Remove pay") && comment.ends_with("(file removed)"), "{comment}");
    assert_eq!(applied(&world), ["shop/prod/search.yaml"]);
    world.apply().set("on-remove", "disable").exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_document_that_was_only_moved_is_held_and_never_disabled() {
    let comment = "# Not in use.\n";
    for (to, edit, is_held) in [
        ("shop/prod/pay.yaml.bak", "", true),
        ("shop/pay.yaml", "", true),
        ("pay.txt", "", true),
        ("shop/prod/old/pay.yaml", "", true),
        // The meaning is what counts.
        ("shop/prod/old/pay.yaml", comment, true),
        ("shop/prod/pay.yaml.bak", comment, true),
        ("shop/prod/old/other.txt", comment, false),
        // The way to say that a file is not a toggle.
        ("shop/prod/_pay.yaml", "", false),
        (".old/pay.yaml", "", false),
    ] {
        let world = World::with_pay_and_search_applied();
        world.repo.rename("shop/prod/pay.yaml", to);
        if !edit.is_empty() {
            world.repo.file(to, format!("{edit}{}", doc(18)));
        }
        world.repo.commit("Move pay");
        let plan = || world.plan().set("on-remove", "disable");
        let (code, held) = if is_held { (3, 1) } else { (0, 0) };
        let json = plan().set("output", "json").exit(code).json();
        assert_eq!(json["held"].as_array().map(Vec::len), Some(held), "{to}: {json}");
        if is_held {
            plan().exit(3).says(&[
                to,
                "this file is the document of `shop/prod/pay`",
                "`shop/prod/pay` keeps its last applied version",
            ]);
            world.apply().set("on-remove", "disable").exit(3).any_output();
            world.nothing_sent();
            let status = world.status().set("on-remove", "disable").exit(3);
            let what = format!("its file is `{to}`, which is not read");
            status.says(&[what.as_str()]).never_says(&["the document is invalid"]);
            // The advice is right.
            world.repo.rename(to, "shop/prod/_pay.yaml");
            world.repo.commit("Say that it is no toggle");
        }
        world.apply().set("on-remove", "disable").exit(0).any_output();
        assert!(world.service.take().iter().any(|one| one.body()["disabled"] == json!(true)), "{to}");
    }
}

#[test]
fn a_document_that_was_copied_and_then_removed_before_a_pass_is_moved() {
    for to in ["shop/prod/pay.yaml.bak", "shop/prod/old/pay.yaml"] {
        let world = World::with_pay_and_search_applied();
        world.repo.file(to, doc(18)).commit("Copy pay");
        world.repo.file("README.md", "Toggles\n").commit("Describe them");
        world.repo.remove("shop/prod/pay.yaml");
        world.repo.commit("Remove pay");
        let apply = || world.apply().set("on-remove", "disable");
        // Also in the passes after the one that has recorded the revision.
        for _ in 0..2 {
            apply().exit(3).says(&[to, "this file is the document of `shop/prod/pay`"]);
            world.plan().set("on-remove", "disable").exit(3).any_output();
        }
        world.repo.file("shop/prod/search.yaml", doc(21)).commit("Change search");
        apply().exit(3).any_output();
        apply().exit(3).any_output();
        world.repo.git(&["mv", to, "shop/prod/_pay.yaml"]);
        world.repo.commit("Say that it is no toggle");
        world.service.take();
        apply().exit(0).any_output();
        assert!(world.service.take().iter().any(|one| one.body()["disabled"] == json!(true)), "{to}");
    }
}

#[test]
fn a_copy_that_was_there_before_does_not_hold_the_removal() {
    let world = World::with_pay_and_search_applied();
    world.repo.file("examples/pay.yaml.txt", doc(18)).commit("Copy pay as an example");
    world.apply().exit(0).any_output();
    world.repo.remove("shop/prod/pay.yaml");
    // Neither before the commit nor after it.
    let plan = world.plan().arg("--worktree").set("on-remove", "disable");
    plan.exit(0).stdout_contains(&["disable shop/prod/pay"]).any_stderr();
    world.repo.commit("Remove pay");
    world.apply().set("on-remove", "disable").exit(0).any_output();
    assert!(world.service.take().iter().any(|one| one.body()["disabled"] == json!(true)));
}

#[test]
fn after_disable_a_returning_file_is_a_create() {
    let world = without_pay();
    world.apply().set("on-remove", "disable").exit(0).any_output();
    world.service.take();
    world.repo.commit_pay(18, "Bring pay back");
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["changes"][0]["action"], json!("create"));
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Bring pay back"))]);
}

#[test]
fn forget_publishes_nothing_and_a_returning_file_is_a_create() {
    let world = without_pay();
    world.apply().set("on-remove", "forget").exit(0).any_output();
    world.nothing_sent();
    assert_eq!(applied(&world), ["shop/prod/search.yaml"]);
    world.repo.commit_pay(18, "Bring pay back");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(18, "Bring pay back"))]);
}

#[test]
fn a_toggle_outside_of_the_scope_is_not_an_orphan() {
    let world = without_pay();
    world.apply().set("on-remove", "disable").set("only", "shop/prod/search").exit(0).any_output();
    world.nothing_sent();
    assert_eq!(applied(&world).len(), 2);
}

#[test]
fn an_object_that_the_history_does_not_contain_is_not_published() {
    let world = without_pay();
    // A user with access to the state records a document that no commit contains.
    let state = Repo::at(&world.state().join("state.git"));
    let work = world.path("forger");
    let forger = Repo::new(&work);
    forger.git(&["fetch", "--quiet", &state.path().display().to_string(), "refs/gitoggle/applied"]);
    forger.git(&["checkout", "--quiet", "FETCH_HEAD"]);
    let message = forger.git(&["log", "-1", "--format=%B"]);
    forger.commit_pay(99, &message);
    state.git(&["fetch", "--quiet", &work.display().to_string(), "HEAD"]);
    state.git(&["update-ref", "refs/gitoggle/applied", "FETCH_HEAD"]);

    let run = world.apply().set("on-remove", "disable");
    run.exit_in(&[0, 4]).says(&["shop/prod/pay"]);
    world.nothing_sent();
}

#[test]
fn an_environment_that_loses_all_its_documents_is_held() {
    for on_remove in ["keep", "disable", "forget"] {
        let world = World::with_pay_applied();
        world.repo.file("web/prod/home.yaml", doc(18)).commit("Add home");
        world.settle();
        world.repo.remove("shop/prod/pay.yaml").file("web/prod/home.yaml", doc(19)).commit("Remove the shop");
        world.apply().set("on-remove", on_remove).exit(4).says(&["shop/prod"]);
        world.sent(&[("web/prod/home", body(19, "Remove the shop"))]);
        assert_eq!(applied(&world), ["shop/prod/pay.yaml", "web/prod/home.yaml"], "{on_remove}");
    }
}

#[test]
fn an_unknown_toggle_without_a_file_is_an_orphan_that_reports_the_unknown_outcome() {
    let world = World::with_pay_and_search_applied();
    world.repo.commit_pay(21, "Change pay");
    world.kill_in_first_request(world.apply());
    world.service.take();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    for _ in 0..2 {
        world.apply().exit(0).says(&["shop/prod/pay", "the outcome of its last publish is unknown"]);
        world.nothing_sent();
    }
    let plan = world.plan().set("output", "json").exit(0).json();
    assert_eq!(plan["held"], json!([]), "{plan}");
    let reason = plan["orphans"][0]["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("unknown"), "{plan}");
    let status = world.status().set("output", "json").exit(0).json();
    let line = &status["toggles"][0];
    assert_eq!(line["state"], "orphan", "{status}");
    let reason = line["reason"].as_str().unwrap_or_default();
    assert!(reason.contains("unknown"), "{status}");
    // The file returns, and the same request is sent again.
    world.repo.revert();
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(21, "Change pay"))]);
}

#[test]
fn a_renamed_file_is_one_orphan_and_one_create() {
    let world = World::with_pay_applied();
    world.repo.rename("shop/prod/pay.yaml", "shop/prod/checkout.yaml").commit("Rename it");
    world.apply().exit(0).says(&["shop/prod/pay"]);
    world.sent(&[("shop/prod/checkout", body(18, "Rename it"))]);
}

#[test]
fn disable_finds_the_removed_file_in_any_layout() {
    for (layout, folder) in [
        ("toggles/{project}/{environment}/{toggle}.yaml", "toggles/shop/prod"),
        ("{environment}/{project}/{toggle}.yaml", "prod/shop"),
    ] {
        let world = World::new();
        let file = |toggle: &str| format!("{folder}/{toggle}");
        world.repo.file(&file("pay.yml"), doc(18)).file(&file("zoo.yaml"), doc(30)).commit("Add two");
        let apply = || world.apply().set("layout", layout);
        apply().set("first-pass", "assert").exit(0).any_output();
        world.service.take();
        world.repo.remove(&file("pay.yml")).commit("Remove pay");
        apply().set("on-remove", "disable").exit(0).any_output();
        let requests = world.service.take();
        let comments: Vec<_> = requests.iter().map(Request::comment).collect();
        assert_eq!(comments, ["Remove pay (file removed)"], "{layout}");
    }
}

#[test]
fn a_file_that_a_merge_removed_is_attributed_to_the_merge() {
    let world = World::new();
    world.repo.file("shop/prod/zoo.yaml", doc(30)).commit("Add zoo");
    world.repo.branch("docs").file("README.md", "Toggles").commit("Say what this is");
    world.repo.checkout("main");
    world.repo.commit_pay(18, "Add pay");
    world.settle();
    world.repo.git(&["merge", "--quiet", "--no-ff", "--no-commit", "docs"]);
    world.repo.remove("shop/prod/pay.yaml").commit("Merge docs, retire pay");
    for first_parent in [false, true] {
        let world = world.plan().set("on-remove", "disable").set("output", "json");
        let plan = match first_parent {
            false => world,
            true => world.arg("--first-parent"),
        };
        let plan = plan.exit(0).json();
        let comment = &plan["changes"][0]["comment"];
        assert_eq!(comment, &json!("Merge docs, retire pay (file removed)"), "{plan}");
    }
}

/// Starts a daemon that disables the toggles of removed files.
fn disabling(world: &World) -> Daemon {
    Daemon::ready(world, |run| run.set("poll-interval", "200ms").set("on-remove", "disable"))
}

#[test]
fn a_refused_update_does_not_park_the_disable_that_replaces_it() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/other.yaml", doc(18)).commit("Add other");
    world.settle();
    let daemon = disabling(&world);
    world.service.answers([Answer::json(422, r#"{"code": "no", "message": "will not do"}"#)]);
    world.repo.commit_pay(21, "Change pay");
    daemon.becomes("shop/prod/pay", "failed");
    world.service.take();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    world.service.wait_for(1);
    let requests = world.service.take();
    assert_eq!(requests[0].toggle(), "shop/prod/pay");
    assert_eq!(requests[0].body()["disabled"], json!(true));
    daemon.stops_cleanly();
}

#[test]
fn a_disable_with_an_unknown_outcome_does_not_park_the_returning_file() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/other.yaml", doc(18)).commit("Add other");
    world.settle();
    let daemon = disabling(&world);
    world.service.answers([Answer::html(413)]);
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    daemon.becomes("shop/prod/pay", "failed");
    world.service.take();
    world.repo.commit_pay(18, "Bring pay back");
    world.service.wait_for(1);
    world.sent(&[("shop/prod/pay", body(18, "Bring pay back"))]);
    daemon.becomes("shop/prod/pay", "in_sync");
    daemon.stops_cleanly();
}

#[test]
fn nothing_suspended_is_sent_whatever_the_action_is() {
    let world = World::with_pay_and_search_applied();
    let repo = &world.repo;
    repo.remove("shop/prod/pay.yaml")
        .file("shop/prod/search.yaml", doc(21))
        .file("shop/prod/new.yaml", doc(40))
        .commit("Disable, update and create");
    let order = world.suspend(None);
    let apply = || world.apply().set("on-remove", "disable");
    apply()
        .exit(4)
        .stdout_contains(&[
            "disable shop/prod/pay",
            "create shop/prod/new",
            "update shop/prod/search",
            "publishing is suspended: freeze",
        ])
        .any_stderr();
    world.nothing_sent();
    std::fs::remove_file(order).unwrap();
    apply().exit(0).any_output();
    assert_eq!(world.service.take().len(), 3);
}
