//! Scans of a service that fails, and toggles that change while they are read.

use serde_json::{Value, json};

use super::stand::{Stand, targeting};
use crate::support::{Answer, Gitoggle, TOKEN, World, doc};

fn on(path: &str, act: Value) -> Value {
    json!({ "on": { "method": "GET", "path": path }, "do": act })
}

#[test]
fn a_toggle_that_is_deleted_between_list_and_read_is_missing() {
    let stand = Stand::uncached();
    let gone = json!({ "delete_after": { "project": "shop", "toggle": "pay" } });
    stand.script(on("environmentKey=prod", gone));
    stand.drift().arg("--detailed-exitcode").exit(2).stdout(
        "Drift on https://$LIVE · 3 applied toggles in 1 environment

missing shop/prod/pay
    the service has no such toggle

1 missing · 2 in sync
Changes on the service after <time> may be missing.

To create a missing toggle again from its document (if it is not needed anymore, remove the document instead):
  gitoggle apply --overwrite-drift --on-missing create --only shop/prod/pay --repo $REPO --base-url https://$LIVE --ca-file $TMP/sandbox-ca.pem --service-kind featureprobe --state-dir $TMP/state
",
    );
}

#[test]
fn an_archived_toggle_is_listed_and_not_drifted() {
    let stand = Stand::applied();
    stand.before("/", "PATCH", "/api/projects/shop/toggles/pay/offline", Value::Null);
    stand.drift().arg("--detailed-exitcode").exit(0).stdout(
        "Drift on https://$LIVE · 3 applied toggles in 1 environment

archived shop/prod/pay
    the toggle is archived on the service: restore it there, or remove its file

no drift: 1 archived · 2 in sync
Changes on the service after <time> may be missing.
",
    );
    // The second run knows versions from the first.
    for _ in 0..2 {
        let held = "archived shop/prod/pay\n    the toggle is archived on the service";
        stand.command("plan").arg("--live").exit(0).stdout_contains(&[held, "nothing to publish · 1 held"]);
        stand.command("status").arg("--live").exit(0).stdout_contains(&[
            "held     shop/prod/pay",
            "the toggle is archived on the service: restore it there, or remove its file",
        ]);
        stand.drift().exit(0).stdout_contains(&["1 archived · 2 in sync"]);
    }
    // A change of its document is held for the same reason, and counts once.
    stand.world.repo.commit_pay(21, "Change pay");
    stand.command("plan").arg("--live").exit(4).stdout_contains(&["held shop/prod/pay", "· 1 held\n"]);
    stand.command("status").arg("--live").exit_in(&[0, 4]).stdout_contains(&["held     shop/prod/pay"]);
}

#[test]
fn an_archived_toggle_whose_document_was_removed_is_an_orphan_in_every_channel() {
    let stand = Stand::applied();
    stand.before("/", "PATCH", "/api/projects/shop/toggles/pay/offline", Value::Null);
    let live = |verb| stand.command(verb).arg("--live");
    let json = |command: Gitoggle| command.set("output", "json").exit(0).json();
    let plan = json(live("plan"));
    assert_eq!(plan["archived"], json!(["shop/prod/pay"]), "{plan}");
    stand.world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    // The second run knows versions from the first.
    for _ in 0..2 {
        live("plan").exit(0).stdout_contains(&["orphan shop/prod/pay", "nothing to publish · 1 orphan\n"]);
        live("status").exit(0).stdout_contains(&["3 toggles: 1 orphan, 2 in sync"]);
        stand.drift().exit(0).stdout_contains(&["no drift: 3 in sync"]);
    }
    let (plan, drift) = (json(live("plan")), json(stand.drift()));
    assert_eq!((&plan["archived"], &drift["archived"]), (&json!([]), &json!([])), "{plan} {drift}");
    assert_eq!(drift["summary"]["archived"], 0, "{drift}");
}

#[test]
fn a_page_of_a_proxy_instead_of_the_service_is_an_error() {
    let stand = Stand::applied();
    for _ in 0..9 {
        stand.script(on("/", json!({ "page": "<title>Sign in</title>" })));
    }
    stand
        .drift()
        .arg("--detailed-exitcode")
        .exit(1)
        .stdout_contains(&["not compared shop/prod: 3 toggles", "check `--base-url`", "\n3 not compared"])
        .stderr_contains(&["\nhint: check `--base-url`"]);
}

#[test]
fn a_token_without_access_is_an_error_with_a_hint_and_is_never_shown() {
    let stand = Stand::uncached();
    stand
        .drift()
        .env("GITOGGLE_TOKEN", "another-token")
        .exit(1)
        .never_says(&["another-token", TOKEN])
        .stdout_contains(&["not compared shop/prod: 3 toggles", "3 not compared"])
        .stderr_contains(&[
            "error: 3 toggles could not be compared with the service, such as shop/prod/cart: the service rejected",
            "\nhint: check the token in `GITOGGLE_TOKEN`",
        ]);
    assert!(stand.requests().len() < 10);
}

#[test]
fn a_refusal_of_the_whole_list_names_what_to_do() {
    let world = World::with_pay_applied();
    for (status, hint) in [
        (403, "hint: let the account of the token read these environments"),
        (404, "hint: check `--base-url`"),
    ] {
        world.service.always(move |_| Answer::status(status));
        let drift = world.bare("drift").set("repo", world.repo.path());
        drift
            .set("state-dir", world.state())
            .set("base-url", world.service.url())
            .set("ca-file", world.ca())
            .set("service-kind", "featureprobe")
            .env("GITOGGLE_TOKEN", TOKEN)
            .exit(1)
            .stdout_contains(&["not compared shop/prod/pay"])
            .stderr_contains(&[hint]);
    }
}

#[test]
fn one_toggle_that_cannot_be_read_counts_as_neither_in_sync_nor_drifted() {
    let stand = Stand::uncached();
    for _ in 0..9 {
        let page = json!({ "page": "<title>Oops</title>" });
        stand.script(on(&targeting("pay"), page));
    }
    stand.changes("ship", 30, "hotfix");
    stand
        .drift()
        .exit(1)
        .stdout_contains(&[
            "~ drifted shop/prod/ship",
            "not compared shop/prod/pay",
            "1 drifted · 1 not compared · 1 in sync",
        ])
        .stderr_contains(&["error: shop/prod/pay could not be compared", "\nhint: check `--base-url`"]);
}

#[test]
fn a_toggle_whose_last_outcome_is_unknown_is_not_compared_and_its_environment_is_counted() {
    let stand = Stand::applied();
    let repo = &stand.world.repo;
    repo.file("shop/prod/pay.yaml", doc(20)).commit("Raise the age");
    for _ in 0..4 {
        let on = json!({ "method": "PATCH", "path": targeting("pay") });
        stand.script(json!({ "on": on, "do": "fail" }));
    }
    let apply = stand.apply().set("service-kind", "documented");
    apply.exit(1).any_output();
    stand.drift().arg("shop/prod/pay").exit(1).stdout(
        "Drift on https://$LIVE · 1 applied toggle in 1 environment

not compared shop/prod/pay
    the outcome of the last publish is unknown until the next pass reads the toggle

1 not compared
Changes on the service after <time> may be missing.
",
    );
}

#[test]
fn without_the_sdk_endpoint_every_toggle_is_read() {
    let stand = Stand::uncached();
    for _ in 0..3 {
        stand.script(on("/internal/", json!({ "page": "<title>Blocked</title>" })));
    }
    stand.changes("ship", 30, "hotfix");
    stand.drift().exit(0).stdout_contains(&["1 drifted · 2 in sync"]);
    let reads = stand.reads();
    for toggle in super::stand::TOGGLES {
        assert!(reads.contains(&targeting(toggle)), "{reads:#?}");
    }
}

#[test]
fn a_draft_is_listed_and_its_content_is_no_drift() {
    let stand = Stand::applied();
    let approvals =
        json!({ "approvalSettings": [{ "environmentKey": "prod", "enable": true, "reviewers": ["Admin"] }] });
    let settings = "/api/projects/shop/approvalSettings";
    stand.before("/", "PATCH", settings, approvals);
    let mut draft = crate::support::body(40, "a draft");
    draft["disabled"] = json!(true);
    let submitted = format!("{}/approval", targeting("pay"));
    // After the first request, because approvals are off before.
    stand.before("environments", "POST", &submitted, draft);
    stand.drift().arg("--detailed-exitcode").exit(0).any_output();
    stand.drift().arg("--detailed-exitcode").exit(0).stdout(
        "Drift on https://$LIVE · 3 applied toggles in 1 environment

draft shop/prod/pay
    a draft by Admin awaits approval on the service

no drift: 1 awaiting approval · 3 in sync
Changes on the service after <time> may be missing.
",
    );
}

#[test]
fn a_toggle_without_a_targeting_in_its_environment_is_missing_and_hides_no_other() {
    let stand = Stand::applied();
    let environment = "/api/projects/shop/environments/prod";
    let created = json!({
        "name": "pay", "key": "pay", "returnType": "boolean", "clientAvailability": false, "disabledServe": 0,
        "tags": [], "variations": [{ "name": "off", "value": "false" }, { "name": "on", "value": "true" }],
    });
    stand.script(on("/", json!({ "delete_after": { "project": "shop", "toggle": "pay" } })));
    stand.drift().exit_in(&[0, 1]).any_output();
    // Each happens before one request of this scan, because the service has no other way to such a toggle.
    for (method, path, body) in [
        ("PATCH", format!("{environment}/offline"), Value::Null),
        ("POST", "/api/projects/shop/toggles".to_owned(), created),
        ("PATCH", format!("{environment}/restore"), Value::Null),
    ] {
        stand.before("/", method, &path, body);
    }
    stand.drift().exit_in(&[0, 1]).any_output();
    stand.changes("ship", 30, "hotfix");
    stand
        .drift()
        .arg("--detailed-exitcode")
        .exit(2)
        .stdout_contains(&[
            "missing shop/prod/pay\n    the toggle exists on the service, but has no targeting in this environment",
            "~ drifted shop/prod/ship",
        ]);
}

#[test]
fn a_document_in_another_case_is_a_document() {
    let stand = Stand::unapplied(&[]);
    let folder = stand.world.repo.path().join("shop/prod");
    std::fs::rename(folder.join("pay.yaml"), folder.join("PAY.yaml")).unwrap();
    stand.world.repo.commit("Spell it in capitals");
    stand.apply().set("first-pass", "assert").exit(0).any_output();
    stand.drift().exit(0).stdout_contains(&["\nno drift: 3 in sync\n"]);
}

#[test]
fn drift_that_no_document_can_express_is_not_said_to_be_imported() {
    let stand = Stand::applied();
    let body = json!({ "comment": "hotfix", "content": { "defaultServe": { "split": [1, 2] } } });
    stand.before("/", "PATCH", &targeting("pay"), body);
    stand.drift().exit(0).stdout_contains(&[
        "What a document cannot express is not imported: correct it on the service first.",
        "gitoggle apply --overwrite-drift",
    ]);
}

#[test]
fn that_the_versions_of_a_toggle_could_not_be_read_is_said() {
    let stand = Stand::uncached();
    for (age, comment) in [(30, "INCIDENT 6: off until Monday"), (40, "typo in a rule name")] {
        stand.changes("pay", age, comment);
    }
    for _ in 0..8 {
        stand.script(on("/pay/targeting/versions", json!({ "page": "<title>Down</title>" })));
    }
    let said = ["version 4 by Admin at ", ", but its comment and any change before it could not be read"];
    stand.drift().exit(0).any_stderr().stdout_contains(&said).never_says(&["INCIDENT", "typo"]);
    let json = stand.drift().set("output", "json").exit(0).json();
    let drifted = &json["drifted"][0];
    assert_eq!((&drifted["events"], &drifted["earlier_events"]), (&json!([]), &json!(true)), "{json:#}");
    for _ in 0..8 {
        stand.script(on("/pay/targeting/versions", json!({ "page": "<title>Down</title>" })));
    }
    let overwrite = stand.apply().arg("--overwrite-drift");
    overwrite.exit(0).any_stdout().stderr_contains(&["publishes over", said[1]]);
}
