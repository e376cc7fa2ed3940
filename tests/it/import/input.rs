//! Bad input of `--from`: each is reported, the rest is imported, and no file appears elsewhere.

use serde_json::json;

use super::{canonical, file, files, import_lines, line, record};
use crate::support::files::listing;
use crate::support::{World, content};

#[test]
fn a_line_that_is_not_a_toggle_fails_alone() {
    let world = World::new();
    let deep = "[".repeat(100_000);
    let lines = [
        "not JSON".to_owned(),
        "[1]".to_owned(),
        json!({ "disabled": false, "content": content(18) }).to_string(),
        json!({ "toggle": "shop/prod/no-disabled", "content": content(18) }).to_string(),
        json!({ "toggle": "shop/prod/no-content", "disabled": true }).to_string(),
        json!({ "toggle": "shop/prod", "disabled": true, "content": {} }).to_string(),
        format!("{{\"toggle\": \"shop/prod/deep\", \"content\": {deep}"),
        "{\"toggle\": 1}".to_owned(),
        "{\"toggle\": \"a\", \"toggle\": \"b\"}".to_owned(),
        line("shop/prod/pay", 18),
    ];
    import_lines(&world, &lines.join("\n"))
        .exit(1)
        .stdout(
            "failed line 1: it is not the service's JSON of a toggle: expected ident at line 1 column 2\n\
             failed line 2: it is not the service's JSON of a toggle: invalid type: integer `1`, expected a string at \
             line 1 column 2\n\
             failed line 3: it has no `toggle`\n\
             failed line 7: it is not the service's JSON of a toggle: recursion limit exceeded at line 1 column 167\n\
             failed line 8: it is not the service's JSON of a toggle: invalid type: integer `1`, expected a string at \
             line 1 column 12\n\
             failed line 9: it is not the service's JSON of a toggle: duplicate field `toggle` at line 1 column 24\n\
             failed shop/prod: a toggle is written `project/environment/toggle`\n\
             failed shop/prod/no-content: it has no `content`\n\
             failed shop/prod/no-disabled: it has no `disabled`\n\
             \n\
             1 written, 0 unchanged, 0 different, 9 failed\n",
        )
        .stderr("error: the import is incomplete: 9 failed\nhint: fix the cause, then run the command again\n");
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
}

#[test]
fn bytes_that_are_not_utf8_and_a_line_without_an_end_are_refused() {
    let world = World::new();
    let path = world.path("input.jsonl");
    let run = || super::import(&world).arg("--from=-").after(&format!("exec < '{}'", path.display()));
    std::fs::write(&path, [b"{\"toggle\": \"\xff\"}\n", line("shop/prod/pay", 18).as_bytes()].concat())
        .unwrap();
    run()
        .exit(1)
        .stdout_contains(&["failed line 1: it is not the service's JSON of a toggle", "1 written"])
        .any_stderr();
    std::fs::write(&path, vec![b' '; 17 << 20]).unwrap();
    run().exit(1).any_stdout().stderr(
        "error: the import ended early: line 1 of the input is longer than 16777216 bytes\n\
         hint: check the argument of `--from`\n",
    );
}

#[test]
fn a_key_that_is_not_valid_here_is_skipped_and_never_becomes_a_path() {
    let world = World::new();
    let before = listing(&world.path("home"));
    let ids = [
        "../prod/pay",
        "shop/../pay",
        "shop/prod/..",
        "shop/prod/.git",
        ".git/hooks/pre-commit",
        "shop/prod/a\\b",
        "shop/prod/a\u{0}b",
        "shop/prod/::error::x\ny\u{1b}[2J",
        "shop/prod/",
        "shop/prod/ключ",
    ];
    let lines: String = ids.iter().map(|id| line(id, 18)).collect();
    let ran = import_lines(&world, &lines)
        .exit(0)
        .stdout_contains(&[
            "skipped shop/prod/::error::x\\ny\\u{1b}[2J (a key that is not valid here): ",
            "0 written, 0 unchanged, 0 different, 10 skipped (a key that is not valid here: 10)\n",
        ])
        .stderr("");
    assert!(!ran.both().contains('\u{1b}'));
    assert!(files(&world).is_empty());
    assert_eq!(listing(&world.path("home")), before);
    assert!(!world.path("prod").exists());
    let long = format!("shop/prod/{}", "a".repeat(129));
    import_lines(&world, &line(&long, 18))
        .exit(0)
        .stdout_contains(&["a key has at most 128 characters, this one has 129"]);
}

#[test]
fn a_toggle_that_comes_twice_is_imported_once_and_a_contradiction_fails() {
    let world = World::new();
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/pay", 18);
    import_lines(&world, &lines).exit(0).stdout("1 written, 0 unchanged, 0 different\n").any_stderr();
    let lines = line("shop/prod/two", 18) + &line("shop/prod/two", 21);
    import_lines(&world, &lines)
        .arg("--overwrite")
        .exit(1)
        .stdout(
            "failed shop/prod/two (again): the input has this toggle twice, with different contents; the first one was \
             imported\n\
             \n\
             1 written, 0 unchanged, 0 different, 1 failed\n",
        )
        .any_stderr();
    assert_eq!(file(&world, "shop/prod/two.yaml"), canonical(18));
    // FeatureProbe has one toggle for both spellings.
    let lines = line("shop/prod/case", 18) + &line("shop/prod/CASE", 21);
    import_lines(&world, &lines)
        .set("service-kind", "featureprobe")
        .exit(1)
        .stdout_contains(&["failed shop/prod/CASE: the input has this toggle twice"])
        .any_stderr();
    assert!(!world.repo.path().join("shop/prod/CASE.yaml").exists());
}

#[test]
fn a_response_that_shows_a_draft_is_skipped() {
    let world = World::new();
    let mut draft: serde_json::Value = serde_json::from_str(&line("shop/prod/pay", 18)).unwrap();
    draft["locked"] = true.into();
    import_lines(&world, &draft.to_string())
        .exit(0)
        .stdout(
            "skipped shop/prod/pay (a draft that hides the live values): the response shows a draft, which hides the \
             live values\n\
             \n\
             0 written, 0 unchanged, 0 different, 1 skipped (a draft that hides the live values: 1)\n",
        )
        .stderr("");
    assert!(files(&world).is_empty());
}

#[test]
fn content_that_no_document_can_have_is_skipped_with_the_reason() {
    let world = World::new();
    let edited = |edit: fn(&mut serde_json::Value)| {
        let mut content = content(18);
        edit(&mut content);
        content
    };
    for (name, content, reason) in [
        ("text", json!("x"), "`content` is not an object"),
        ("unknown", edited(|c| c["salt"] = 1.into()), "`content` has `salt`, which gitoggle does not know"),
        (
            "no-conditions",
            edited(|c| c["rules"][0]["conditions"] = json!(null)),
            "`content.rules[0]` has no `conditions`",
        ),
        ("range", edited(|c| c["defaultServe"]["select"] = 7.into()), "its document would be invalid"),
        ("negative", edited(|c| c["defaultServe"]["select"] = json!(-1)), "selects -1"),
        (
            "large",
            edited(|c| c["rules"][0]["conditions"][0]["subject"] = "x".repeat(1 << 20).into()),
            "its document would be invalid: this file has",
        ),
    ] {
        import_lines(&world, &record(&format!("shop/prod/{name}"), false, &content))
            .exit(0)
            .stdout_contains(&[
                &format!("skipped shop/prod/{name} (content that a document cannot express): "),
                reason,
            ])
            .stderr("");
    }
    assert!(files(&world).is_empty());
}

#[test]
fn a_byte_order_mark_and_null_for_what_may_be_absent_are_read() {
    let world = World::new();
    let mut null: serde_json::Value = serde_json::from_str(&line("shop/prod/ship", 18)).unwrap();
    null["locked"] = json!(null);
    import_lines(&world, &format!("\u{feff}{}{null}", line("shop/prod/pay", 18)))
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .any_stderr();
    import_lines(&world, "[]")
        .exit(1)
        .stdout_contains(&[
            "failed line 1: it is not the service's JSON of a toggle: invalid length 0, expected an object",
        ])
        .any_stderr();
}
