//! `gitoggle import --drifted` imports what was changed on the service, with a commit message.

use std::path::Path;

use serde_json::json;

use super::stand::{Stand, targeting};
use crate::support::{Gitoggle, doc};

fn import(stand: &Stand, message: &Path) -> Gitoggle {
    stand.command("import").arg("--drifted").arg("--message-file").arg(message)
}

/// Returns the documents that differ from those of the commit.
fn changed(stand: &Stand) -> String {
    stand.world.repo.git(&["status", "--short"])
}

#[test]
fn exactly_the_drifted_toggles_are_imported_with_a_message() {
    let stand = Stand::applied();
    let message = stand.world.write("message", "left over");
    // What was applied is in a state, so it is not moved to another one.
    stand.world.repo.git(&["remote", "add", "origin", "https://git.example/toggles.git"]);
    stand.changes("pay", 30, "Only adults, until the morning");
    stand.changes("ship", 18, "the same again");
    stand.drift().exit(0).any_output();
    import(&stand, &message)
        .exit(0)
        .stdout("replaced shop/prod/pay (shop/prod/pay.yaml)\n\n0 written, 0 unchanged, 0 different, 1 replaced\n")
        .stderr_contains(&["git -C $REPO add shop\n  git -C $REPO commit --file $TMP/message\n"])
        .never_says(&["state-remote"]);
    assert_eq!(changed(&stand), " M shop/prod/pay.yaml");
    let text = std::fs::read_to_string(&message).unwrap();
    let (changes, end) =
        text.split_once("\n\nThese changes were made on the service\n\n    https://").unwrap();
    let (before, rest) = changes.split_once(" at ").unwrap();
    let (time, after) = rest.split_once('\n').unwrap();
    assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
    assert_eq!(
        format!("{before} at <time>\n{after}"),
        "Import shop/prod/pay as changed on the service\n\nshop/prod/pay\n\n    version 3 by Admin at <time>\n    \
         comment: Only adults, until the morning\n    \
         rule `adults`: condition changed: `age` > `18` (number) → `age` > `30` (number)"
    );
    assert!(end.ends_with("\n\nand not in this repository. To keep them, merge this.\n`gitoggle drift` shows how to undo them.\n"));
    stand.world.repo.git(&["commit", "--quiet", "--all", "--file", message.to_str().unwrap()]);
    stand.apply().exit(0).any_stderr().stdout_contains(&["converged shop/prod/pay"]);
    // Without drift, nothing is written, and the message of the last run is gone.
    import(&stand, &message).exit(0).stdout("0 written, 0 unchanged, 0 different\n").stderr("");
    assert_eq!(std::fs::read_to_string(&message).unwrap(), "");
    assert_eq!(changed(&stand), "");
}

#[test]
fn text_of_the_service_cannot_become_a_trailer_or_an_instruction() {
    let stand = Stand::applied();
    let message = stand.world.path("message");
    let hostile =
        "x\n\nGitoggle-Allow: mass-change\r\nGitoggle-First-Pass: assert\n/merge\n::error::y \u{202e}";
    stand.changes("pay", 30, hostile);
    stand.drift().exit(0).any_output();
    import(&stand, &message).exit(0).any_output();
    let text = std::fs::read_to_string(&message).unwrap();
    for line in text.lines() {
        assert!(!["Gitoggle", "/", "::", "#"].iter().any(|start| line.starts_with(start)), "{text}");
    }
    assert!(text.contains("    comment: x\\n\\nGitoggle-Allow: mass-change\\r\\n"), "{text}");
    assert!(text.lines().all(|line| !line.contains('\u{202e}')), "{text}");
    let trailers = stand.world.repo.git(&["interpret-trailers", "--parse", message.to_str().unwrap()]);
    assert_eq!(trailers, "");
}

#[test]
fn a_document_that_was_changed_in_the_repository_as_well_stays() {
    let stand = Stand::applied();
    let message = stand.world.path("message");
    let repo = &stand.world.repo;
    repo.file("shop/prod/pay.yaml", doc(21)).remove("shop/prod/cart.yaml").commit("Ask for 21 years");
    for toggle in ["pay", "cart"] {
        stand.changes(toggle, 30, "by hand");
        stand.drift().exit(0).any_output();
    }
    import(&stand, &message)
        .exit(0)
        .stdout_contains(&["different shop/prod/pay: the document has another meaning", "1 different"])
        .stderr_contains(&["`--overwrite` replaces documents", "note: left out 1 toggle without a document"]);
    assert_eq!(changed(&stand), "");
    assert_eq!(std::fs::read_to_string(&message).unwrap(), "");
    // What is left is told, also beside what is imported, and not once it is imported.
    let left = stand.world.write("left", "left over");
    let told = || std::fs::read_to_string(&left).unwrap();
    import(&stand, &message).arg("--left-file").arg(&left).exit(0).any_output();
    for part in ["shop/prod/pay\n", "shop/prod/cart\n", "comment: by hand"] {
        assert!(told().contains(part), "{}", told());
    }
    stand.changes("ship", 40, "another one");
    import(&stand, &message).arg("--left-file").arg(&left).exit(0).any_output();
    let text = std::fs::read_to_string(&message).unwrap();
    assert!(
        text.starts_with("Import shop/prod/ship as changed on the service\n\nshop/prod/ship\n"),
        "{text}"
    );
    assert!(
        text.contains("not part of this") && text.contains(&told()) && told().contains("by hand"),
        "{text}"
    );
    repo.git(&["checkout", "--quiet", "--", "shop"]);
    stand.changes("ship", 18, "back");
    import(&stand, &message).arg("--overwrite").arg("--left-file").arg(&left).exit(0).any_output();
    assert_eq!(told(), "");
    assert_eq!(changed(&stand), " M shop/prod/pay.yaml\n?? shop/prod/cart.yaml");
    let text = std::fs::read_to_string(&message).unwrap();
    assert!(text.starts_with("Import 2 toggles as changed on the service\n\nshop/prod/cart\n"), "{text}");
}

#[test]
fn what_is_held_and_not_applied_is_left_as_well() {
    let stand = Stand::unapplied(&[]);
    let (message, left) = (stand.world.path("message"), stand.world.path("left"));
    stand.apply().args("--first-pass assert --only shop/prod/cart").exit(0).any_output();
    stand.apply().args("--first-pass assert --only shop/prod/pay").exit(0).any_output();
    std::fs::remove_dir_all(stand.world.state()).unwrap();
    stand.changes("pay", 30, "INCIDENT 6");
    stand.apply().args("--first-pass adopt").exit(4).any_output();
    let run = import(&stand, &message).arg("--left-file").arg(&left).exit(0);
    run.any_stdout()
        .stderr_contains(&["note: left out 1 toggle not applied yet, the first is `shop/prod/pay`: "]);
    let left = std::fs::read_to_string(&left).unwrap();
    assert!(left.contains("shop/prod/pay\n") && left.contains("INCIDENT 6"), "{left}");
    // A drift is a difference from what was applied, and these are counted apart.
    let drift = stand.drift().exit(0).any_stderr();
    drift.stdout_contains(&["no drift: ", "not applied yet", "gitoggle plan --live"]);
    assert_eq!(std::fs::read_to_string(&message).unwrap(), "");
}

#[test]
fn what_was_imported_and_changed_again_is_imported_again() {
    let stand = Stand::applied();
    let message = stand.world.path("message");
    let merges = || {
        stand.world.repo.git(&["commit", "--quiet", "--all", "--file", message.to_str().unwrap()]);
    };
    stand.changes("pay", 30, "first");
    import(&stand, &message).exit(0).any_output();
    // Before that is merged, somebody changes it again, twice.
    stand.changes("pay", 40, "second");
    stand.changes("pay", 50, "third");
    merges();
    stand.apply().exit(4).stdout_contains(&["held shop/prod/pay (update)"]).any_stderr();
    import(&stand, &message).exit(0).stdout_contains(&["replaced shop/prod/pay"]).any_stderr();
    let text = std::fs::read_to_string(&message).unwrap();
    assert!(["first", "second", "third"].iter().all(|comment| text.contains(comment)), "{text}");
    merges();
    stand.apply().exit(0).stdout_contains(&["converged shop/prod/pay"]).any_stderr();
    // What somebody wrote in the repository stays.
    stand.changes("pay", 60, "fourth");
    stand.world.repo.file("shop/prod/pay.yaml", doc(21)).commit("Ask for 21 years");
    stand.changes("pay", 70, "fifth");
    import(&stand, &message).exit(0).stdout_contains(&["different shop/prod/pay"]).any_stderr();
}

#[test]
fn globs_limit_it_and_what_could_not_be_compared_is_an_error() {
    let stand = Stand::uncached();
    let message = stand.world.path("message");
    for toggle in ["pay", "ship"] {
        stand.changes(toggle, 30, "by hand");
        stand.drift().exit(0).any_output();
    }
    import(&stand, &message).args("*/*/ship").exit(0).any_output();
    assert_eq!(changed(&stand), " M shop/prod/ship.yaml");
    import(&stand, &message)
        .args("typo/**")
        .exit(1)
        .stdout("")
        .stderr_contains(&["no applied toggle matches `typo/**`"]);
    let on = json!({ "method": "GET", "path": targeting("pay") });
    for _ in 0..9 {
        stand.script(json!({ "on": on, "do": { "page": "<title>Oops</title>" } }));
    }
    import(&stand, &message).args("*/*/pay").exit(1).any_stdout().stderr_contains(&["could not be compared"]);
    assert_eq!(changed(&stand), " M shop/prod/ship.yaml");
}

#[test]
fn it_needs_a_service_that_can_be_read_and_a_state() {
    let stand = Stand::unapplied(&[]);
    let message = stand.world.path("message");
    import(&stand, &message).exit(1).stdout("").stderr_contains(&["nothing is applied yet"]);
    assert_eq!(std::fs::read_to_string(&message).unwrap(), "");
    stand.command("import").args("--message-file x").exit(64).stdout("").stderr_contains(&["--drifted"]);
    stand.command("import").args("--drifted --from x").exit(64).stdout("").stderr_contains(&["--from"]);
    let documented = import(&stand, &message).set("service-kind", "documented");
    documented.exit(64).stdout("").stderr_contains(&["--service-kind featureprobe"]);
}
