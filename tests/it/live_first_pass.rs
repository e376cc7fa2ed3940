//! An asserted first pass on a service that has other targeting, when it is interrupted.

use serde_json::json;

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
    plan.arg("--live").exit(4).stdout_contains(&["create shop/prod/c", "held shop/prod/new"]);
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
