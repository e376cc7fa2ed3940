//! Publishing over drift, together with everything else that a pass decides.

use super::stand::{Stand, targeting};
use crate::support::doc;

/// Returns the paths of the publishes since the last look at the requests.
fn published(stand: &Stand) -> Vec<String> {
    let requests = stand.requests().into_iter();
    let published = requests.filter_map(|one| one.strip_prefix("PATCH ").map(str::to_owned));
    published.collect()
}

#[test]
fn a_removed_document_is_not_published_over_drift() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    let with = |verb| {
        let command = stand.command(verb).set("on-remove", "forget");
        command.set("on-drift", "overwrite")
    };
    with("plan").arg("--live").exit(0).stdout_contains(&["nothing to publish"]);
    with("apply").exit(0).stdout_contains(&["recorded without publishing: 1 toggle"]).any_stderr();
    stand.reads();
}

#[test]
fn a_document_that_was_renamed_only_in_case_is_published_once_over_drift() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.remove("shop/prod/pay.yaml").file("shop/prod/Pay.yaml", doc(18)).commit("Rename pay");
    stand
        .apply()
        .set("on-drift", "overwrite")
        .exit(0)
        .stdout_contains(&["applied shop/prod/Pay (create)", "applied 1 of 1 change\n"])
        .any_stderr();
    assert_eq!(published(&stand), [targeting("Pay")]);
    stand.apply().set("on-drift", "overwrite").exit(0).any_output();
    stand.reads();
}

#[test]
fn a_reformatted_document_is_recorded_with_its_publish_over_drift() {
    let stand = Stand::applied();
    stand.changes("pay", 21, "hotfix");
    let repo = &stand.world.repo;
    repo.remove("shop/prod/pay.yaml")
        .file("shop/prod/pay.yml", format!("# The new page.\n{}", doc(18)))
        .commit("Reformat pay");
    stand
        .apply()
        .set("on-drift", "overwrite")
        .exit(0)
        .never_says(&["recorded without publishing"])
        .stdout_contains(&["applied shop/prod/pay (update)"])
        .any_stderr();
    assert_eq!(published(&stand), [targeting("pay")]);
    let log = stand.world.bare("log");
    log.set("repo", repo.path())
        .set("state-dir", stand.world.state())
        .exit(0)
        .stdout_contains(&["~ overwrite shop/prod/pay"]);
    let again = stand.apply().set("on-drift", "overwrite");
    again.exit(0).stdout_contains(&["Nothing to do."]);
}

#[test]
fn the_rails_count_what_is_published_over_drift() {
    let more: Vec<String> = (0..9).map(|at| format!("t{at}")).collect();
    let more: Vec<&str> = more.iter().map(String::as_str).collect();
    let stand = Stand::with(&more);
    let repo = &stand.world.repo;
    for toggle in &more {
        repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    repo.commit("Add more");
    stand.apply().exit(0).any_output();
    stand.requests();
    stand.forget();
    for toggle in &more[..4] {
        stand.changes(toggle, 21, "hotfix");
    }
    let overwriting = |verb| stand.command(verb).set("on-drift", "overwrite");
    let rail = ["4 of 12 applied toggles would be updated or disabled"];
    overwriting("plan").arg("--live").exit(4).stdout_contains(&rail);
    overwriting("apply").exit(4).stdout_contains(&rail).any_stderr();
    stand.reads();
    let allowed = overwriting("apply").arg("--allow-mass-change");
    allowed.exit(0).any_output();
    assert_eq!(published(&stand).len(), 4);
}

#[test]
fn a_scan_of_a_part_does_not_hide_drift_in_the_rest() {
    let stand = Stand::applied();
    // Keeps what it found equal.
    stand.apply().set("on-drift", "overwrite").exit(0).any_output();
    stand.changes("ship", 21, "hotfix");
    stand.apply().set("on-drift", "overwrite").set("only", "shop/prod/cart").exit(0).any_output();
    let drift = stand.drift().exit(0);
    drift.stdout_contains(&["~ drifted shop/prod/ship", "1 drifted · 2 in sync"]);
}

/// Changes two toggles on the service, one of which has another document now, and a third that has its first
/// document.
fn changed_by_hand() -> Stand {
    let stand = Stand::with(&["new"]);
    let repo = &stand.world.repo;
    stand.changes("cart", 21, "INCIDENT: cart off");
    stand.changes("pay", 21, "hotfix");
    stand.changes("new", 21, "by hand");
    repo.file("shop/prod/new.yaml", doc(18));
    repo.commit_pay(25, "Raise the age");
    stand
}

#[test]
fn the_plan_and_the_pass_publish_over_the_same_toggles() {
    let stand = changed_by_hand();
    let with = |verb| stand.command(verb).set("max-change-ratio", "1");
    let listed = [
        "update shop/prod/cart",
        "publishes over what was changed on the service: version 3 by Admin at ",
        "update shop/prod/pay",
        "replace shop/prod/new",
        "replaces version 2 by Admin at ",
        "INCIDENT: cart off",
        "3 to publish",
    ];
    with("plan").arg("--overwrite-drift").exit(0).stdout_contains(&listed);
    stand.reads();
    let held = with("apply").exit(4);
    held.stdout_contains(&[
        "held shop/prod/pay",
        "`gitoggle apply --overwrite-drift --only shop/prod/pay`",
        "`gitoggle apply --overwrite-drift --only shop/prod/new`",
    ])
    .any_stderr();
    stand.reads();
    with("apply")
        .arg("--overwrite-drift")
        .exit(0)
        .stderr_contains(&[
            "shop/prod/cart publishes over what was changed on the service: version 3 by Admin",
            "shop/prod/new replaces version 2 by Admin",
        ])
        .stdout_contains(&["applied 3 of 3 changes"]);
    assert_eq!(published(&stand).len(), 3);
}

#[test]
fn the_hint_of_a_held_toggle_publishes_over_that_toggle_only() {
    let stand = changed_by_hand();
    stand
        .apply()
        .set("max-change-ratio", "1")
        .arg("--overwrite-drift")
        .set("only", "shop/prod/pay")
        .exit(0)
        .any_output();
    assert_eq!(published(&stand), [targeting("pay")]);
    stand.drift().exit(0).stdout_contains(&["~ drifted shop/prod/cart"]);
}

#[test]
fn what_is_changed_after_the_reading_is_held() {
    let stand = Stand::applied();
    stand.changes("cart", 21, "hotfix");
    stand.changes("pay", 21, "hotfix");
    // The reading asks for the comment of each change after the toggle.
    stand.before("/versions", "PATCH", &targeting("pay"), crate::support::body(22, "second hotfix"));
    stand
        .apply()
        .set("max-change-ratio", "1")
        .arg("--overwrite-drift")
        .exit(4)
        .stdout_contains(&[
            "applied shop/prod/cart (update)",
            "held shop/prod/pay",
            "changed on the service again, after version 3 was allowed to be overwritten (version 4 by Admin",
        ])
        .any_stderr();
    // The service refuses the base version that was read.
    assert_eq!(published(&stand), [targeting("cart"), targeting("pay")]);
    stand.drift().exit(0).stdout_contains(&["~ drifted shop/prod/pay"]);
}

#[test]
fn a_trailer_covers_only_the_toggles_that_its_commit_changed() {
    let stand = Stand::applied();
    let repo = &stand.world.repo;
    for toggle in ["cart", "pay", "ship"] {
        stand.changes(toggle, 21, "hotfix");
    }
    repo.commit_pay(25, "Raise the age\n\nGitoggle-Allow: overwrite-drift");
    repo.file("shop/prod/ship.yaml", doc(25)).commit("Raise ship");
    stand
        .apply()
        .set("max-change-ratio", "1")
        .exit(4)
        .stdout_contains(&["applied shop/prod/pay (update)", "held shop/prod/ship"])
        .any_stderr();
    assert_eq!(published(&stand), [targeting("pay")]);
}
