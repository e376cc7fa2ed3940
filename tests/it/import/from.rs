//! Importing the service's own JSON.

use serde_json::json;

use super::{canonical, file, files, import, import_lines, line, record, run_copied};
use crate::outputs::assert_valid;
use crate::support::{World, content, doc};

#[test]
fn lines_become_canonical_documents_and_the_next_commands_are_printed() {
    let world = World::new();
    let lines = line("shop/prod/pay", 18) + "\n" + &line("web/test/banner", 65);
    import_lines(&world, &lines)
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .stderr(
            "next:\n  git -C $REPO add shop web\n  git -C $REPO commit -m 'Import toggles'\n  gitoggle validate --repo \
             $REPO\n",
        );
    assert_eq!(files(&world), ["shop/prod/pay.yaml", "web/test/banner.yaml"]);
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(file(&world, "web/test/banner.yaml"), canonical(65));
    assert_eq!(world.repo.git(&["rev-parse", "--all"]), "", "nothing was committed");
    assert_eq!(world.repo.git(&["diff", "--cached"]), "", "nothing was staged");
    world.validate().exit(0).stdout("checked 2 documents: no findings\n");
    world.nothing_sent();
}

/// The values look like booleans, and the service has a toggle of text.
#[test]
fn a_type_that_only_the_service_knows_is_imported_with_a_waiver() {
    let world = World::new();
    let mut needing = content(18);
    needing["prerequisites"] = json!([{ "key": "search", "value": "true", "type": "string" }]);
    let lines = record("shop/prod/search", false, &content(18)) + &record("shop/prod/app", false, &needing);
    let run = || import_lines(&world, &lines).set("service-kind", "featureprobe").exit(0).both();
    assert!(!run().contains("about other documents"));
    let waiver = "      # gitoggle: allow(prerequisite-other-type) it is a toggle of text on the service\n      type: string\n";
    let app = file(&world, "shop/prod/app.yaml");
    assert!(app.contains(waiver), "{app}");
    let validate = world.validate().set("service-kind", "featureprobe").set("sdks", "rust");
    validate.exit(0).stdout("checked 2 documents: no findings, 1 waived\n");
    assert!(run().contains("0 written, 2 unchanged"));
    assert_eq!(file(&world, "shop/prod/app.yaml"), app);
}

/// What was not imported, or has another type on the service, would be found only later.
#[test]
fn wrong_references_of_imported_documents_are_named() {
    let world = World::new();
    let needing = |toggle: &str, needed: &str| {
        let mut content = content(18);
        content["prerequisites"] = json!([{ "key": needed, "value": "true", "type": "boolean" }]);
        record(toggle, false, &content)
    };
    let lines = needing("shop/prod/search", "base") + &needing("shop/prod/banner", "Search");
    let run = || import_lines(&world, &lines).set("service-kind", "featureprobe").exit(0).any_stdout();
    run().stderr_contains(&[
        "note: imported documents have 2 findings about other documents, the first at shop/prod/banner.yaml:",
        "`Search` differs from the toggle `search` only in case; `gitoggle validate` shows what to do\n",
    ]);
    let lines = record("shop/prod/search", false, &content(18)) + &needing("shop/prod/banner", "search");
    let run = import_lines(&world, &lines).set("service-kind", "featureprobe").arg("--overwrite").exit(0);
    assert!(!run.both().contains("about other documents"));
}

#[test]
fn files_of_a_folder_become_documents() {
    let world = World::new();
    let write = |path: &str, text: &str| {
        let path = world.path("exported").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    // A response to a GET and the body of a PATCH.
    let response = json!({
        "status": "RELEASE", "locked": false, "version": 7, "disabled": false, "content": content(18),
    });
    write("shop/prod/pay.json", &response.to_string());
    let body = json!({ "comment": "c", "disabled": false, "content": content(21), "baseVersion": 3 });
    write("shop/prod/old.json", &body.to_string());
    write("shop/prod/README.md", "not JSON");
    write(".hidden/prod/pay.json", "not JSON");
    import(&world)
        .set("from", world.path("exported"))
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .any_stderr();
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(file(&world, "shop/prod/old.yaml"), canonical(21));
    write("shop/pay.json", "{}");
    write("shop/prod/bad.json", "{");
    write("shop/prod/eu/pay.json", "{}");
    import(&world)
        .set("from", world.path("exported"))
        .exit(1)
        .stdout(
            "failed shop/pay.json: the path is not `project/environment/toggle.json`\n\
             failed shop/prod/bad.json: it is not the service's JSON of a toggle: EOF while parsing an object at line 1 \
             column 1\n\
             failed shop/prod/eu/pay.json: the path is not `project/environment/toggle.json`\n\
             \n\
             0 written, 2 unchanged, 0 different, 3 failed\n",
        )
        .stderr(
            "error: the import is incomplete: 3 failed\n\
             hint: fix the cause, then run the command again\n",
        );
}

#[test]
fn only_one_extension_of_a_file_is_no_part_of_its_toggle() {
    let world = World::new();
    let folder = world.path("exported/shop/prod");
    std::fs::create_dir_all(&folder).unwrap();
    for (name, age) in [("pay.json", 18), ("pay.json.json", 21)] {
        let body = json!({ "disabled": false, "content": content(age) });
        std::fs::write(folder.join(name), body.to_string()).unwrap();
    }
    import(&world)
        .set("from", world.path("exported"))
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n")
        .any_stderr();
    assert_eq!(files(&world), ["shop/prod/pay.json.yaml", "shop/prod/pay.yaml"]);
    assert_eq!(file(&world, "shop/prod/pay.yaml"), canonical(18));
    assert_eq!(file(&world, "shop/prod/pay.json.yaml"), canonical(21));
}

#[test]
fn a_missing_folder_and_an_empty_input_are_errors() {
    let world = World::new();
    import(&world)
        .set("from", world.path("nowhere"))
        .exit(1)
        .stdout("0 written, 0 unchanged, 0 different\n")
        .stderr(
            "error: the import ended early: could not read `$TMP/nowhere`: No such file or directory\n\
             hint: check the argument of `--from`\n",
        );
    import_lines(&world, "\n\n")
        .exit(1)
        .stdout("0 written, 0 unchanged, 0 different\n")
        .stderr("error: the input has no toggle\nhint: check the argument of `--from`\n");
    assert!(files(&world).is_empty());
}

#[test]
fn globs_and_only_select_toggles_and_one_that_matches_nothing_is_an_error() {
    let world = World::new();
    let lines = ["shop/prod/pay", "shop/test/pay", "web/prod/pay"].map(|id| line(id, 18));
    let lines = lines.concat();
    import_lines(&world, &lines)
        .arg("shop/**")
        .set("only", "*/prod/*")
        .exit(0)
        .stdout("1 written, 0 unchanged, 0 different\n")
        .any_stderr();
    assert_eq!(files(&world), ["shop/prod/pay.yaml"]);
    import_lines(&world, &lines)
        .arg("web/**")
        .arg("typo/**")
        .exit(1)
        .stdout("1 written, 0 unchanged, 0 different\n")
        .stderr(
            "error: no toggle matches `typo/**`\n\
             hint: check the spelling; a glob is compared with the whole of `project/environment/toggle`, in this order\n",
        );
    import_lines(&world, &lines)
        .set("only", "typo/**")
        .exit(1)
        .any_stdout()
        .stderr_contains(&["no toggle matches", "typo/**"]);
    for glob in ["shop/prod", "a{"] {
        import_lines(&world, &lines).arg(glob).exit(64).stderr_contains(&["GLOB", glob]);
    }
}

#[test]
fn json_and_markdown_state_the_same_as_the_text() {
    let world = World::new();
    world.repo.write("shop/prod/old.yaml", doc(1));
    let lines = line("shop/prod/pay", 18) + &line("shop/prod/old", 18) + &line("shop/prod/a b", 18);
    let found = import_lines(&world, &lines).set("output", "json").exit(0).json();
    let expected = json!({
        "version": 1,
        "summary": {
            "written": 1, "replaced": 0, "unchanged": 0, "different": 1, "skipped": 1, "failed": 0,
        },
        "skipped": { "invalid_key": 1 },
        "toggles": [
            {
                "toggle": "shop/prod/a b", "result": "skipped", "skipped": "invalid_key", "path": null,
                "reason": "a key has only letters, digits, `.`, `_` and `-`, not ` `", "spelling": null,
            },
            {
                "toggle": "shop/prod/old", "result": "different", "skipped": null, "path": "shop/prod/old.yaml",
                "reason": "the document has another meaning", "spelling": null,
            },
            {
                "toggle": "shop/prod/pay", "result": "written", "skipped": null, "path": "shop/prod/pay.yaml",
                "reason": null, "spelling": null,
            },
        ],
        "error": null,
    });
    assert_eq!(found, expected);
    assert_valid(&world, "import", &found);
    let failed = import_lines(&world, "{").set("output", "json").exit(1).json();
    assert_valid(&world, "import", &failed);
    assert_eq!(failed["summary"]["failed"], 1);
    assert_eq!(failed["error"]["message"], "the import is incomplete: 1 failed");
    let markdown = "### gitoggle import\n\n\
         0 written, 1 unchanged, 1 different, 1 skipped (a key that is not valid here: 1)\n\n\
         * **skipped** ` shop/prod/a b `: `` a key has only letters, digits, `.`, `_` and `-`, not ` ` ``\n\
         * **different** ` shop/prod/old `: ` shop/prod/old.yaml `: ` the document has another meaning `\n";
    import_lines(&world, &lines)
        .set("output", "markdown")
        .exit(0)
        .stdout(markdown)
        .stderr("note: kept 1 different document; `--overwrite` replaces documents\n");
    let summary = world.write("summary.md", "");
    import_lines(&world, &lines)
        .set("output", "github")
        .env("GITHUB_STEP_SUMMARY", &summary)
        .exit(0)
        .stdout_contains(&["skipped shop/prod/a b", "0 written, 1 unchanged, 1 different"])
        .any_stderr();
    assert_eq!(world.printed(&summary), markdown);
}

#[test]
fn the_next_commands_work_when_copied() {
    let world = World::new();
    let lines = line("shop/prod/pay", 18) + &record("shop/prod/old", true, &content(21));
    let ran = import_lines(&world, &lines)
        .set("root", "toggles of us")
        .set("layout", "{environment}/{project}/{toggle}.yaml")
        .set("base-url", world.service.url())
        .exit(0)
        .stdout("2 written, 0 unchanged, 0 different\n");
    let text = ran.both();
    let commands: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("  ")).collect();
    let root =
        "--root 'toggles of us' --layout '{environment}/{project}/{toggle}.yaml' --base-url https://$SERVICE";
    assert_eq!(
        commands,
        [
            "git -C $REPO add 'toggles of us'",
            "git -C $REPO commit -m 'Import toggles'",
            &format!("gitoggle plan --first-pass adopt --repo $REPO {root}"),
            &format!("gitoggle apply --first-pass adopt --repo $REPO {root}"),
        ]
    );
    let stdout = run_copied(&world, &commands);
    assert!(stdout.contains("recorded without publishing: 2 toggles"), "{stdout}");
    world.nothing_sent();
}

#[test]
fn the_next_commands_say_what_they_do_where_something_is_applied_already() {
    let world = World::new();
    let note = "\nnote: `--first-pass adopt` records the documents of every environment without applied toggles; in the \
                others, `apply` publishes the imported documents that differ from what gitoggle applied last, because it \
                cannot read a `documented` service\n";
    let next = |lines: &str, flags: &[&str], commands: usize| {
        let mut run =
            import_lines(&world, lines).set("base-url", world.service.url()).set("ca-file", world.ca());
        for flag in flags {
            run = run.arg(flag);
        }
        let printed = run.exit(0).stderr_contains(&[note]).both();
        let printed: Vec<&str> = printed.lines().filter_map(|line| line.strip_prefix("  ")).collect();
        assert_eq!(printed.len(), commands);
        run_copied(&world, &printed)
    };
    let both = line("shop/prod/pay", 18) + &line("shop/prod/old", 18);
    let stdout = next(&both, &[], 4);
    assert!(stdout.contains("recorded without publishing: 2 toggles"), "{stdout}");
    world.nothing_sent();
    let stdout = next(&(both + &line("shop/prod/new", 18)), &[], 4);
    assert!(stdout.contains("applied 1 of 1 change"), "{stdout}");
    assert_eq!(world.service.count(), 1);
    let stdout = next(&line("shop/prod/old", 21), &["--overwrite"], 4);
    assert!(stdout.contains("applied 1 of 1 change"), "{stdout}");
    assert_eq!(world.service.count(), 2);
}
