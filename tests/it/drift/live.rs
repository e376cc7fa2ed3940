//! `plan --live`, `status --live` and `--overwrite-drift`.

use serde_json::{Value, json};

use super::stand::{Stand, targeting};
use crate::support::{body, doc};

#[test]
fn a_plan_without_live_never_contacts_the_service() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    stand.command("plan").exit(0).any_output();
    stand.command("status").exit(0).any_output();
    assert!(stand.requests().is_empty());
}

#[test]
fn a_live_plan_holds_drifted_changes_records_converged_ones_and_lists_other_drift() {
    let stand = Stand::applied();
    stand.changes("cart", 30, "by hand");
    stand.changes("pay", 21, "hotfix");
    stand.before("/", "PATCH", &targeting("ship"), body(40, "the same"));
    stand
        .world
        .repo
        .file("shop/prod/pay.yaml", doc(25))
        .file("shop/prod/ship.yaml", doc(40))
        .commit("Change two");
    stand
        .command("plan")
        .arg("--live")
        .set("max-change-ratio", "1")
        .set("output", "json")
        .exit(4)
        .stdout_json(|plan| {
            assert_eq!(plan["changes"], json!([]));
            assert_eq!(plan["summary"]["records"], 1);
            assert_eq!(plan["held"].as_array().unwrap().len(), 1);
            assert_eq!(
                (&plan["held"][0]["toggle"], &plan["held"][0]["kind"]),
                (&json!("shop/prod/pay"), &json!("drifted"))
            );
            let drifted = plan["drifted"].as_array().unwrap();
            assert_eq!(drifted.len(), 1, "{plan}");
            assert_eq!(
                (&drifted[0]["toggle"], &drifted[0]["comment"]),
                (&json!("shop/prod/cart"), &json!("by hand"))
            );
        });
    stand.reads();
    stand.command("plan").arg("--live").exit(4).stdout_contains(&[
        "drifted shop/prod/pay",
        "~ drifted shop/prod/cart",
        // The one that its change is held for, and the other.
        "nothing to publish · 2 drifted · 1 to record without a publish",
    ]);
    stand
        .command("status")
        .arg("--live")
        .exit(4)
        .stdout_contains(&["drifted  shop/prod/cart", "drifted  shop/prod/pay"]);
    stand.reads();
}

#[test]
fn a_plan_of_what_the_service_has_is_empty_before_the_first_pass() {
    let stand = Stand::unapplied(&[]);
    for toggle in super::stand::TOGGLES {
        stand.changes(toggle, 18, "by hand");
    }
    stand.command("plan").arg("--live").arg("--detailed-exitcode").set("output", "json").exit(0).stdout_json(
        |plan| {
            for list in ["changes", "held", "orphans", "drifted"] {
                assert_eq!(plan[list], json!([]), "{list} of {plan}");
            }
            assert_eq!(plan["summary"]["records"], 3);
        },
    );
}

#[test]
fn a_live_plan_does_not_promise_to_record_documents_before_their_first_pass_is_decided() {
    let stand = Stand::unapplied(&[]);
    for toggle in super::stand::TOGGLES {
        stand.changes(toggle, 18, "by hand");
    }
    let promise = "\nnothing to publish · 3 to record once the first pass is decided (shop/prod/cart, shop/prod/pay, shop/prod/ship)\n";
    let plan = || stand.command("plan").arg("--live");
    plan().exit(0).stdout_contains(&[promise]);
    stand.apply().exit(4).stdout_contains(&["nothing is applied here yet"]);
    plan().exit(0).stdout_contains(&[promise]);
    let adopted = stand.apply().set("first-pass", "adopt").exit(0);
    adopted
        .stderr_contains(&["comparing 3 documents"])
        .stdout_contains(&["recorded without publishing: 3 toggles"]);
    plan().exit(0).stdout_contains(&["Nothing to do."]);
}

#[test]
fn a_live_status_holds_every_document_until_its_first_pass_is_decided() {
    let stand = Stand::unapplied(&[]);
    let status = || stand.command("status").arg("--live");
    let is_held = |status: &Value| {
        assert_eq!((&status["ready"], &status["reason"]), (&json!(false), &json!("not in sync: 3 toggles")));
        let toggles = status["toggles"].as_array().unwrap();
        let kinds = toggles.iter().map(|toggle| (&toggle["state"], &toggle["kind"]));
        let held = (&json!("held"), &json!("first_pass"));
        assert_eq!(kinds.collect::<Vec<_>>(), [held; 3], "{status}");
    };
    // The service has one of the documents already, and then all of them.
    for toggles in [&["pay"][..], &["cart", "ship"]] {
        for toggle in toggles {
            stand.changes(toggle, 18, "by hand");
        }
        status().set("output", "json").exit(4).stdout_json(is_held);
    }
    status().exit(4).stdout_contains(&["all 3: nothing is applied here yet", "3 toggles: 3 held"]);
    stand.apply().set("first-pass", "adopt").exit(0).any_output();
    status().exit(0).stdout_contains(&["3 toggles: 3 in sync"]);
}

#[test]
fn a_live_plan_that_could_not_read_is_a_failure() {
    let stand = Stand::applied();
    stand
        .command("plan")
        .arg("--live")
        .env("GITOGGLE_TOKEN", "another-token")
        .exit(1)
        .never_says(&["another-token"])
        .stdout_contains(&["not compared shop/prod: 3 toggles"]);
}

#[test]
fn the_page_of_a_live_plan_without_drift_has_no_section_for_it() {
    let stand = Stand::applied();
    let plan = stand.command("plan").arg("--live").set("output", "markdown");
    plan.exit(0).never_says(&["Drift"]).any_output();
}

#[test]
fn a_live_command_that_could_not_read_gives_the_reason_in_every_output() {
    let stand = Stand::applied();
    for command in ["plan", "status"] {
        let help = stand.world.bare(&format!("{command} -h")).exit(0).both();
        let outputs = help.split("--output <").nth(1).and_then(|rest| rest.split('>').next()).unwrap();
        assert!(outputs.starts_with("human|json|"), "{outputs}");
        for output in outputs.split('|') {
            let summary = stand.world.path("summary");
            let ran = stand
                .command(command)
                .arg("--live")
                .set("output", output)
                .env("GITHUB_STEP_SUMMARY", &summary)
                .env("GITOGGLE_TOKEN", "another-token")
                .exit(1)
                .any_output();
            let summary = std::fs::read_to_string(summary).unwrap_or_default();
            let printed = ran.both() + &summary;
            assert!(printed.contains("rejected the token"), "{command} {output}:\n{printed}");
        }
    }
}

#[test]
fn overwriting_publishes_the_document_again_with_the_comment_of_its_commit() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    stand.apply().exit(0).any_output();
    assert!(stand.requests().is_empty(), "nothing is to be published");
    stand.apply().arg("--overwrite-drift").exit(0).stdout_contains(&["shop/prod/pay"]).any_stderr();
    let published: Vec<_> = stand.requests().into_iter().filter(|one| one.starts_with("PATCH")).collect();
    assert_eq!(published, [format!("PATCH {}", targeting("pay"))]);
    let sent: Value = serde_json::from_slice(&stand.last_body()).unwrap();
    assert_eq!(sent["comment"], "Add toggles");
    stand.drift().arg("--detailed-exitcode").exit(0).any_output();
    stand.apply().arg("--overwrite-drift").exit(0).any_output();
    assert!(!stand.requests().iter().any(|one| one.starts_with("PATCH")));
}

#[test]
fn overwriting_reads_a_drifted_toggle_once() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    stand.apply().arg("--overwrite-drift").exit(0).any_output();
    let requests = stand.requests();
    let count = |wanted: String| requests.iter().filter(|one| **one == wanted).count();
    assert_eq!(count(format!("GET {}", targeting("pay"))), 1, "{requests:#?}");
    assert_eq!(count(format!("PATCH {}", targeting("pay"))), 1, "{requests:#?}");
    stand.drift().arg("--detailed-exitcode").exit(0).any_output();
    let read = stand.reads();
    assert!(!read.contains(&targeting("pay")), "{read:#?}");
}

#[test]
fn overwriting_never_replaces_a_version_that_it_has_not_read() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    stand.script(json!({
        "on": { "method": "PATCH", "path": targeting("pay") },
        "do": { "before": { "method": "PATCH", "path": targeting("pay"), "body": body(30, "later") } },
    }));
    stand.apply().arg("--overwrite-drift").exit_in(&[0, 4]).any_output();
    let requests = stand.requests();
    let read = requests.iter().filter(|one| **one == format!("GET {}", targeting("pay")));
    assert_eq!(read.count(), 2, "{requests:#?}");
}

#[test]
fn overwriting_fails_if_not_every_toggle_could_be_compared() {
    const NOTE: &str = "3 toggles could not be compared with the service, such as shop/prod/cart: the service rejected the \
                        token";
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    for on_drift in ["hold", "overwrite"] {
        let apply = || {
            let apply = stand.apply().set("on-drift", on_drift);
            let apply = if on_drift == "hold" { apply.arg("--overwrite-drift") } else { apply };
            apply.env("GITOGGLE_TOKEN", "another-token")
        };
        let printed = apply().exit(1).both();
        assert_eq!(printed.matches(&format!("note: {NOTE}")).count(), 1, "{printed}");
        assert_eq!(printed.matches("rejected the token").count(), 1, "{printed}");
        let report = apply().set("output", "json").exit(1).json();
        let note = report["notes"][0].as_str().unwrap_or_default();
        assert!(note.starts_with(NOTE), "{report}");
    }
}

#[test]
fn a_live_plan_shows_the_change_that_it_overwrites() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.commit_pay(25, "Raise the age\n\nGitoggle-Allow: overwrite-drift");
    stand.command("plan").arg("--live").exit(0).stdout_contains(&[
        "~ update shop/prod/pay",
        "~ drifted shop/prod/pay  version 3 by Admin",
        "comment: hotfix",
        "1 to publish: 1 update · 1 drifted",
    ]);
    stand.command("status").arg("--live").exit(0).stdout_contains(&["3 toggles: 1 pending, 2 in sync"]);
}

#[test]
fn a_live_plan_is_that_of_a_pass_with_the_same_decision_about_drift() {
    let stand = Stand::applied();
    stand.changes("cart", 21, "hotfix");
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.commit_pay(25, "Raise the age");
    let ratio = |verb| stand.command(verb).set("max-change-ratio", "1");
    let shows = |on_drift, exit, lines: &[&str]| {
        let plan = ratio("plan").arg("--live").set("on-drift", on_drift);
        plan.exit(exit).stdout_contains(lines);
    };
    shows("hold", 4, &["drifted shop/prod/pay", "nothing to publish · 2 drifted"]);
    shows("ignore", 0, &["1 to publish: 1 update · 2 drifted"]);
    let overwritten = [
        "~ update shop/prod/cart",
        "changed on the service; the document is published again",
        "~ update shop/prod/pay",
        "2 to publish: 2 updates · 2 drifted",
    ];
    shows("overwrite", 0, &overwritten);
    stand.before("/", "PATCH", "/api/projects/shop/toggles/cart/offline", Value::Null);
    let held = ["held shop/prod/cart", "archived on the service", "1 to publish: 1 update"];
    shows("overwrite", 4, &held);
    stand.reads();
    ratio("apply")
        .set("on-drift", "overwrite")
        .exit(4)
        .stdout_contains(&["held shop/prod/cart", "applied shop/prod/pay (update)"])
        .any_stderr();
}

#[test]
fn a_pass_applies_the_live_plan_that_was_reviewed_and_nothing_else() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.file("shop/prod/cart.yaml", doc(25)).file("shop/prod/pay.yaml", doc(25)).commit("Raise both");
    let review = stand.world.path("plan.json");
    let plan = || {
        let plan = stand.command("plan").arg("--live").set("output", "json");
        // Asserted output has placeholders for digests.
        let output = plan.start_piped().wait_with_output().unwrap();
        std::fs::write(&review, output.stdout).unwrap();
    };
    plan();
    // Another change would be sent now, so the plan is another one.
    repo.file("shop/prod/ship.yaml", doc(25)).commit("Raise the third");
    let first = stand.apply().set("reviewed", &review).exit(4);
    first
        .stdout_contains(&[
            "applied shop/prod/cart (update)",
            "held shop/prod/pay",
            "shop/prod/ship",
            "not reviewed: it came from commit",
            "which the review",
        ])
        .any_stderr();
    plan();
    let second = stand.apply().set("reviewed", &review).exit(4);
    second
        .stdout_contains(&["applied shop/prod/ship (update)", "held shop/prod/pay", "applied 1 of 2 changes"])
        .any_stderr();
}
