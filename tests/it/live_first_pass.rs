//! An asserted first pass on a service that has other targeting, when it is interrupted.

use serde_json::{Value, json};

use crate::live_publish::{by_hand, toggle};
use crate::support::{LiveService, doc, eventually};

/// Starts a service on which someone configured `a`, `b`, `c` and `new`, and asserts the documents of the
/// first three. The process is killed before it sends the request for `c`.
fn interrupted() -> LiveService {
    let toggles = ["a", "b", "c", "new"];
    let service = LiveService::start(&json!(toggles.map(toggle)));
    for toggle in toggles {
        service.edit(toggle, by_hand());
    }
    for toggle in ["a", "b", "c"] {
        service.commit(toggle, doc(18), &format!("Add {toggle}"));
    }
    for _ in 0..2 {
        service.script("GET", "/c/targeting", &json!("fail"));
    }
    let running = service.apply().set("first-pass", "assert").start();
    eventually("the request for `b`", || service.has_received("PATCH", "Add b").then_some(()));
    running.kill();
    service
}

#[test]
fn an_asserted_first_pass_continues_with_the_documents_of_its_revision() {
    let service = interrupted();
    service.commit("c", doc(20), "Raise the age");
    service.commit("new", doc(18), "Add new");
    let plan = service.connected(service.world.plan()).unset("timeout");
    plan.arg("--live").exit(4).stdout_contains(&["replace shop/prod/c", "held shop/prod/new"]);
    let requests = service.requests(|| {
        service
            .apply()
            .exit(4)
            .stdout_contains(&[
                "applied shop/prod/c (create)",
                "held shop/prod/new (create)",
                "the service has other targeting (version 2",
            ])
            .any_stderr();
    });
    assert!(requests.contains(&"PATCH c/targeting on 2".to_owned()), "{requests:?}");
    // The first pass has ended, so a document that comes back is held as any other.
    service.world.repo.git(&["rm", "-q", "shop/prod/c.yaml"]);
    service.world.repo.commit("Remove c");
    service.apply().set("on-remove", "forget").exit(4).any_output();
    service.edit("c", by_hand());
    service.commit("c", doc(22), "Add c again");
    service
        .apply()
        .exit(4)
        .stdout_contains(&["held shop/prod/c (create)", "held shop/prod/new (create)"])
        .any_stderr();
}

#[test]
fn a_decision_to_adopt_ends_an_asserted_first_pass() {
    let service = interrupted();
    let requests = service.requests(|| {
        service
            .apply()
            .set("first-pass", "adopt")
            .exit(4)
            .stdout_contains(&["held shop/prod/c (adopt)"])
            .any_stderr();
        service.apply().exit(4).stdout_contains(&["held shop/prod/c"]).any_stderr();
    });
    assert!(!requests.iter().any(|request| request.starts_with("PATCH c/")), "{requests:?}");
}

/// Starts a service on which someone has changed `new` twice, and nobody `fresh`, and commits a document of
/// both.
fn configured_by_people() -> LiveService {
    let service = LiveService::start(&json!([toggle("new"), toggle("fresh")]));
    for (disabled, comment) in [(true, "INCIDENT 6: off until Monday"), (false, "typo in a rule name")] {
        service.edit("new", json!({ "comment": comment, "disabled": disabled }));
    }
    for toggle in ["new", "fresh"] {
        service.commit(toggle, doc(18), &format!("Add {toggle}"));
    }
    service
}

const REPLACED: [&str; 3] = [
    "replaces version 2 by api:sandbox at ",
    "with the comment \"INCIDENT 6: off until Monday\"; then version 3 by api:sandbox at ",
    "typo in a rule name",
];

/// Checks the sentences on a change of `new` and of `fresh`.
fn lists_what_is_replaced(plan: &Value) {
    let sentences = |toggle: &str| {
        let changes = plan["changes"].as_array().unwrap();
        let change = changes.iter().find(|change| change["toggle"] == format!("shop/prod/{toggle}"));
        change.unwrap()["sentences"].to_string()
    };
    for expected in REPLACED {
        assert!(sentences("new").contains(json!(expected).to_string().trim_matches('"')), "{plan:#}");
    }
    assert!(!sentences("new").contains("new, ENABLED"), "{plan:#}");
    assert!(sentences("fresh").contains("new, ENABLED"), "{plan:#}");
}

#[test]
fn an_asserted_first_pass_lists_what_it_replaces() {
    let service = configured_by_people();
    let plan = || service.connected(service.world.plan()).unset("timeout");
    // Whoever decides sees it, too.
    plan().arg("--live").exit(0).stdout_contains(&REPLACED);
    let asserted = || plan().set("first-pass", "assert");
    asserted()
        .arg("--live")
        .exit(0)
        .stdout_contains(&REPLACED)
        .says(&["~ replace shop/prod/new", "1 replace"]);
    // The newest event is shown, however many there are.
    let markdown = asserted().args("--live -o markdown").exit(0).any_stderr();
    markdown.stdout_contains(&["* **replace** ` new `: ` replaces version 2", REPLACED[2]]);
    lists_what_is_replaced(&asserted().args("--live -o json").exit(0).json());
    asserted()
        .exit(0)
        .stdout_contains(&["new, ENABLED"])
        .stderr_contains(&["`gitoggle plan --live` lists it"]);
    let apply = service.apply().set("first-pass", "assert").args("-o json");
    lists_what_is_replaced(&apply.exit(0).stderr_contains(&REPLACED).json());
    assert_eq!(service.versions("new").len(), 4);
}

#[test]
fn an_asserted_first_pass_logs_what_it_replaces() {
    let service = configured_by_people();
    let run = service.apply().set("first-pass", "assert").set("log-format", "json");
    let logged = run.exit(0).any_stdout().stderr_contains(&[&REPLACED[1].replace('"', r#"\""#)]);
    drop(logged);
    // A trailer decides, too.
    let service = configured_by_people();
    let message = "Add other\n\nGitoggle-First-Pass: assert";
    service.commit("other", doc(18), message);
    let listed = service.apply().exit_in(&[0, 4]).any_stdout();
    listed.stderr_contains(&REPLACED);
}

/// A trailer stays in the history, and the state may be lost years later.
#[test]
fn a_trailer_that_was_used_publishes_over_nobody_once_the_state_is_lost() {
    for trailer in ["Gitoggle-First-Pass: assert", "Gitoggle-Allow: overwrite-drift"] {
        let service = LiveService::start(&json!([toggle("pay"), toggle("cart")]));
        service.edit("pay", by_hand());
        service.commit("cart", doc(18), "Add cart\n\nGitoggle-First-Pass: assert");
        service.commit("pay", doc(18), &format!("Add pay\n\n{trailer}"));
        service.apply().exit(0).any_output();
        service.edit("pay", json!({ "comment": "INCIDENT 6: off until Monday", "disabled": true }));
        std::fs::remove_dir_all(service.world.state()).unwrap();
        let held = ["held shop/prod/pay", "INCIDENT 6", "the trailer of its commit no longer counts"];
        let plan = || service.connected(service.world.plan()).unset("timeout");
        plan().arg("--live").exit(4).stdout_contains(&held).any_stderr();
        service.apply().exit(4).stdout_contains(&held).any_stderr();
        // It is held in later passes as well, and another document with its own trailer replaces it.
        service.apply().exit(4).stdout_contains(&held[..2]).any_stderr();
        assert_eq!(service.versions("pay").len(), 4, "{trailer}");
        service.commit("pay", doc(21), "Raise the age\n\nGitoggle-Allow: overwrite-drift");
        service.apply().exit(0).any_output();
        assert_eq!(service.versions("pay").len(), 5, "{trailer}");
    }
}

#[test]
fn what_was_never_applied_is_overwritten_with_all_its_comments() {
    let service = configured_by_people();
    service.world.repo.git(&["mv", "shop/prod/new.yaml", "new.yaml"]);
    service.world.repo.commit("Move new away");
    service.apply().set("first-pass", "assert").exit(0).any_output();
    service.world.repo.git(&["mv", "new.yaml", "shop/prod/new.yaml"]);
    service.world.repo.commit("Add new");
    let held = service.apply().exit(4).any_stderr();
    held.stdout_contains(&["held shop/prod/new (create)", REPLACED[1], REPLACED[2]]);
    let plan = service.connected(service.world.plan()).unset("timeout");
    plan.arg("--overwrite-drift").exit(0).stdout_contains(&REPLACED);
    let apply = service.apply().arg("--overwrite-drift").exit(0).any_stdout();
    apply.stderr_contains(&REPLACED);
}
