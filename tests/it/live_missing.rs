//! Documents whose toggles the service does not have: held, or created.

use serde_json::json;

use crate::live_publish::{toggle, with_pay_changed};
use crate::support::{LiveService, doc};

#[test]
fn a_missing_toggle_is_held_or_created() {
    let service = LiveService::start(&json!([toggle("other")]));
    service.commit("pay", doc(18), "Add pay\n\nMore.\n");
    let apply = || service.apply().set("first-pass", "assert");
    apply().exit(4).stdout_contains(&["the service has no such toggle", "--on-missing create"]).any_stderr();
    let requests = service.requests(|| drop(apply().set("on-missing", "create").exit(0).any_output()));
    assert!(requests.contains(&"POST toggles".to_owned()), "{requests:?}");
    assert_eq!(requests.last().map(String::as_str), Some("PATCH pay/targeting on 1"));
    let created = service.request("GET", "/api/projects/shop/toggles/pay", None);
    assert_eq!(
        (
            &created["name"],
            &created["returnType"],
            &created["desc"],
            &created["clientAvailability"],
            &created["permanent"]
        ),
        (&json!("pay"), &json!("boolean"), &json!("Add pay"), &json!(false), &json!(false)),
        "{created}"
    );
}

#[test]
fn an_environment_that_does_not_exist_is_to_be_created_first() {
    let service = LiveService::start(&json!([toggle("pay"), toggle("ship")]));
    for toggles in [&["pay"][..], &["pay", "ship"]] {
        for toggle in toggles {
            service.world.repo.file(&format!("shop/nowhere/{toggle}.yaml"), doc(18));
        }
        service.world.repo.commit("Add an environment");
        let apply = service.apply().set("first-pass", "assert");
        apply
            .exit(1)
            .stdout_contains(&["failed shop/nowhere/pay", "not found; create it on the service first"])
            .any_stderr();
    }
}

#[test]
fn a_toggle_is_not_created_where_its_publish_would_need_an_approval() {
    let environment = json!({ "key": "prod", "enableApproval": true, "reviewers": ["Admin"] });
    let service = LiveService::with(&environment, &json!([toggle("other")]));
    service.commit("pay", doc(18), "Add pay");
    let with = |run| {
        let run = service.connected(run).unset("timeout");
        run.set("first-pass", "assert").set("on-missing", "create")
    };
    let reason = ["held shop/prod/pay", "changes in this environment need an approval"];
    with(service.world.plan()).arg("--live").exit(4).stdout_contains(&reason);
    let requests = service.requests(|| {
        let apply = with(service.world.apply());
        apply.exit(4).stdout_contains(&reason).any_stderr();
    });
    assert_eq!(requests, ["GET toggles/pay", "GET environments"]);
    let bypassing = with(service.world.apply()).set("on-approval", "bypass");
    bypassing.exit(0).any_output();
    assert_eq!(service.versions("pay").len(), 2);
}

#[test]
fn a_toggle_that_was_applied_and_is_gone_is_created_and_its_creation_is_no_drift() {
    let service = with_pay_changed("Raise the age");
    let pay = json!({ "project": "shop", "toggle": "pay" });
    service.script("GET", "/toggles", &json!({ "delete_after": pay }));
    service.request("GET", "/api/projects/shop/toggles", None);
    // Also if the read after the creation fails.
    service.script("GET", "/pay/targeting", &json!("fail"));
    service
        .apply()
        .set("on-missing", "create")
        .exit(0)
        .stdout_contains(&["applied shop/prod/pay (update)"])
        .any_stderr();
    let expected = [(1, String::new()), (2, "Raise the age".to_owned())];
    assert_eq!(service.versions("pay"), expected);
}

#[test]
fn a_toggle_that_is_created_with_all_that_its_document_asks_for_is_applied() {
    let service = LiveService::start(&json!([toggle("other")]));
    let document = doc(18)
        .replace("disabled: false", "disabled: true")
        .replace("defaultServe: { select: 0 }", "defaultServe: {}");
    let (before, rest) = document.split_once("  rules:").unwrap();
    let (_, after) = rest.split_once("  disabledServe").unwrap();
    service.commit("pay", format!("{before}  rules: []\n  disabledServe{after}"), "Add pay");
    // Also if the read after the creation fails, and another try finds what the document asks for.
    service.script("GET", "/pay/targeting", &json!("fail"));
    let requests = service.requests(|| {
        service
            .apply()
            .set("first-pass", "assert")
            .set("on-missing", "create")
            .exit(0)
            .stdout_contains(&["applied shop/prod/pay (create)", "applied 1 of 1 change\n"])
            .any_stderr();
    });
    let read = ["GET toggles/pay", "GET pay/targeting"];
    assert_eq!((requests[2].as_str(), &requests[3..5]), ("POST toggles", &read.map(str::to_owned)[..]));
    assert_eq!(requests[requests.len() - 2..], read);
    assert_eq!(service.versions("pay").len(), 1);
}

#[test]
fn a_toggle_whose_name_another_one_has_is_not_created_and_the_message_says_what_to_do() {
    let mut other = toggle("other");
    other["name"] = "pay".into();
    let service = LiveService::start(&json!([other]));
    service.commit("pay", doc(18), "Add pay");
    service
        .apply()
        .set("first-pass", "assert")
        .set("on-missing", "create")
        .exit(1)
        .stdout_contains(&[
            "failed shop/prod/pay (create)",
            "another toggle of the project has this key as its name: rename that one, or create the toggle on the service",
        ])
        .any_stderr();
}
