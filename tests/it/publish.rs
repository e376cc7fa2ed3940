//! A merged change of a document causes exactly one request; nothing else causes any.

use serde_json::json;

use crate::support::document::reformatted;
use crate::support::{Repo, World, body, doc};

#[test]
fn a_merged_file_becomes_exactly_one_patch() {
    let world = World::with_pay_applied();
    world
        .repo
        .branch("adults")
        .commit_pay(21, "Ask for 21 years\n\nThe law has changed.\n")
        .checkout("main")
        .merge("adults", "Merge pull request #7");

    world.apply().exit(0).says(&["$SERVICE", "refs/heads/main", "<rev>", "shop/prod/pay"]);

    let requests = world.sent(&[("shop/prod/pay", body(21, "Ask for 21 years\n\nThe law has changed."))]);
    assert_eq!(requests[0].path, "/api/projects/shop/environments/prod/toggles/pay/targeting");
    assert_eq!(requests[0].header("authorization"), Some(crate::support::TOKEN));
}

#[test]
fn an_applied_document_is_not_published_again() {
    let world = World::with_pay_applied();
    world.apply().exit(0).any_output();
    world.apply().exit(0).any_output();
    assert_eq!(world.service.count(), 0);
}

#[test]
fn rewriting_a_file_without_changing_its_meaning_publishes_nothing_and_is_recorded() {
    let world = World::with_pay_applied();
    world.repo.file("shop/prod/pay.yaml", reformatted(18)).commit("Prefer block style");
    world.apply().exit(0).any_output();
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.content("refs/gitoggle/applied", "shop/prod/pay.yaml"), reformatted(18));
}

#[test]
fn an_invalid_file_does_not_block_other_toggles() {
    let world = World::with_pay_applied();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(18).replace("select: 1", "select: 9"))
        .file("shop/prod/search.yaml", doc(30))
        .commit("Break one, add one");
    world.apply().exit(3).says(&["shop/prod/pay.yaml:10:"]);
    world.sent(&[("shop/prod/search", body(30, "Break one, add one"))]);

    // The invalid one stays as last applied and is reported by each run.
    world.apply().exit(3).says(&["shop/prod/pay.yaml:10:"]);
    world.nothing_sent();

    world.repo.commit_pay(19, "Repair it");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(19, "Repair it"))]);
}

#[test]
fn one_environment_is_published_in_path_order_and_disabling_comes_first() {
    let world = World::new();
    for toggle in ["c", "a", "b"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit("Add three");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[
        ("shop/prod/a", body(18, "Add three")),
        ("shop/prod/b", body(18, "Add three")),
        ("shop/prod/c", body(18, "Add three")),
    ]);

    world
        .repo
        .file("shop/prod/a.yaml", doc(19))
        .file("shop/prod/b.yaml", doc(18).replace("disabled: false", "disabled: true"))
        .commit("Emergency");
    world.apply().exit(0).any_output();
    let mut off = body(18, "Emergency");
    off["disabled"] = json!(true);
    world.sent(&[("shop/prod/b", off), ("shop/prod/a", body(19, "Emergency"))]);
}

#[test]
fn scalars_are_sent_exactly_as_written() {
    let world = World::new();
    world
        .repo
        .file(
            "shop/prod/exact.yaml",
            doc(18)
                .replace(r#"objects: ["18"]"#, "objects: [1.10, 007, 1e3, -0.0]")
                .replace(r#"value: "true""#, "value: true")
                .replace(r#"value: "false""#, "value: 0x1F"),
        )
        .commit("Exactly");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    let requests = world.service.take();
    let content = requests[0].body()["content"].clone();
    assert_eq!(content["rules"][0]["conditions"][0]["objects"], json!(["1.10", "007", "1e3", "-0.0"]));
    assert_eq!(content["variations"][0]["value"], json!("0x1F"));
    assert_eq!(content["variations"][1]["value"], json!("true"));
}

#[test]
fn json_in_a_yaml_file_is_a_document() {
    let world = World::new();
    let document = json!({
        "disabled": true,
        "content": {
            "variations": [{ "name": "only", "value": "SMILE" }],
            "rules": [],
            "disabledServe": { "select": 0 },
            "defaultServe": { "variation": "only" },
        },
    });
    world
        .repo
        .file("shop/prod/smile.yaml", document.to_string().replace("SMILE", "\\ud83d\\ude00"))
        .commit("Smile");
    world.apply().set("first-pass", "assert").exit(0).any_output();
    world.sent(&[(
        "shop/prod/smile",
        json!({
            "comment": "Smile",
            "disabled": true,
            "content": {
                "variations": [{ "name": "only", "value": "😀", "description": "" }],
                "rules": [],
                "disabledServe": { "select": 0 },
                "defaultServe": { "select": 0 },
            },
        }),
    )]);
}

#[test]
fn a_base_url_can_have_a_path() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    world
        .apply()
        .set("base-url", format!("{}/toggles/v2/", world.service.url()))
        .set("first-pass", "assert")
        .exit(0)
        .any_output();
    let requests = world.sent(&[("shop/prod/pay", body(18, "Add pay"))]);
    assert_eq!(requests[0].path, "/toggles/v2/api/projects/shop/environments/prod/toggles/pay/targeting");
}

#[test]
fn uncommitted_files_are_not_applied() {
    let world = World::with_pay_applied();
    world.repo.write("shop/prod/pay.yaml", doc(40));
    world.repo.file("shop/prod/new.yaml", doc(41));
    world.apply().exit(0).any_output();
    world.nothing_sent();
}

#[test]
fn a_new_file_extension_does_not_cause_a_publish() {
    let world = World::with_pay_applied();
    world.repo.rename("shop/prod/pay.yaml", "shop/prod/pay.yml").commit("Three letters will do");
    world.apply().exit(0).any_output();
    world.nothing_sent();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.files("refs/gitoggle/applied"), ["shop/prod/pay.yml"]);
}

#[test]
fn only_toggles_in_scope_are_published() {
    let world = World::new();
    for path in ["shop/prod/a", "shop/prod/b", "shop/test/a", "web/prod/a"] {
        world.repo.file(&format!("{path}.yaml"), doc(18));
    }
    world.repo.commit("Add four");
    world.apply().set("first-pass", "assert").args("--only=shop/*/a --only=web/**").exit(0).any_output();
    let mut sent: Vec<_> = world.service.take().iter().map(crate::support::Request::toggle).collect();
    sent.sort();
    assert_eq!(sent, ["shop/prod/a", "shop/test/a", "web/prod/a"]);
    let printed = world.apply().set("only", "*").exit(64);
    printed.stderr_contains(&["--only: `*` matches no toggle", "`**`"]);
    world.nothing_sent();
}

#[test]
fn a_comment_is_the_commit_message_in_any_encoding_and_with_any_line_ends() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(20, "  First\r\n\r\nSecond\r\n\n");
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(20, "First\n\nSecond"))]);

    world.repo.commit_pay(21, "");
    world.apply().exit(0).any_output();
    let comment = format!("(no message) {}", world.repo.head());
    world.sent(&[("shop/prod/pay", body(21, &comment))]);

    world.repo.file("shop/prod/pay.yaml", doc(22));
    world.repo.write(".git/latin1", b"Gr\xfc\xdfe");
    world.repo.git(&["-c", "i18n.commitEncoding=ISO-8859-1", "commit", "--quiet", "-F", ".git/latin1"]);
    world.apply().exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(22, "Grüße"))]);
}

#[test]
fn a_long_comment_is_cut_between_characters() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(20, &"é".repeat(2000));
    world.apply().set("comment-max-chars", "10").exit(0).any_output();
    world.sent(&[("shop/prod/pay", body(20, &format!("{}…", "é".repeat(9))))]);
}

#[test]
fn what_was_applied_is_a_commit_that_names_the_source_and_the_toggles() {
    let world = World::with_pay_applied();
    world.repo.commit_pay(20, "Twenty");
    world.apply().exit(0).any_output();
    let state = Repo::at(&world.state().join("state.git"));
    assert_eq!(state.git(&["rev-parse", "--is-bare-repository"]), "true");
    assert_eq!(state.content("refs/gitoggle/applied", "shop/prod/pay.yaml"), doc(20));
    let message = state.git(&["log", "-1", "--format=%B", "refs/gitoggle/applied"]);
    assert!(message.contains(&world.repo.head()), "{message}");
    assert!(message.contains("shop/prod/pay"), "{message}");
    assert_eq!(
        state.git(&["rev-list", "--count", "refs/gitoggle/applied"]),
        "2",
        "one commit per pass that changed something"
    );
}

#[test]
fn an_invalid_document_outside_only_does_not_count() {
    let world = World::new();
    world.repo.file("a/prod/pay.yaml", doc(18)).file("b/prod/pay.yaml", doc(18)).commit("Add two");
    world.settle();
    let apply = || world.apply().set("only", "a/**").set("on-invalid", "stop");
    world
        .repo
        .file("a/prod/pay.yaml", doc(21))
        .file("b/prod/pay.yml", doc(18))
        .file("b/prod/bad key.yaml", doc(18))
        .commit("Change pay, and make a mess of b");
    apply().exit(0).any_output();
    world.sent(&[("a/prod/pay", body(21, "Change pay, and make a mess of b"))]);
    world.validate().set("only", "a/**").exit(0).any_output();
    world.validate().exit(3).any_output();

    world.repo.git(&["rm", "-rq", "b"]);
    world.repo.commit("Drop b");
    apply().exit(0).any_output();
    world.status().set("only", "a/**").exit(0).any_output();
    world.nothing_sent();
    world.apply().exit(4).any_output();
}
