//! `plan --from REV --to REV`.

use serde_json::json;

use super::{changes, forked, offline, planned, pull_request, set};
use crate::support::document::reformatted;
use crate::support::files::listing;
use crate::support::{World, doc};

#[test]
fn two_revisions_are_compared_without_state_service_or_home() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let before = listing(world.root());
    let short = |revision| world.repo.id(revision)[..10].to_owned();
    let expected = format!(
        r#"Plan for $REPO main..feature {}..{}

shop/prod
  ~ update shop/prod/pay  <short> Ask for 21 years
      rule `adults`: condition changed: `age` > `18` (number) → `age` > `21` (number)
      @@ -6,7 +6,7 @@
         rules:
           - name: adults
             conditions:
      -        - {{ type: number, subject: age, predicate: ">", objects: ["18"] }}
      +        - {{ type: number, subject: age, predicate: ">", objects: ["21"] }}
             serve: {{ select: 1 }}
         disabledServe: {{ select: 0 }}
         defaultServe: {{ select: 0 }}

1 to publish: 1 update
"#,
        short("main"),
        short("feature")
    );
    let run = offline(&world).args("--from main --to feature");
    run.exit(0).stdout(&expected);
    assert_eq!(listing(world.root()), before);
}

#[test]
fn every_output_names_both_revisions() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let run = |output| offline(&world).args("--from main --to feature").set("output", output);
    run("markdown").exit(0).stdout_contains(&["` main..feature `", "* **update** ` pay `: "]);
    run("github").exit(0).stderr_contains(&["GITHUB_STEP_SUMMARY"]);
    let plan = planned(offline(&world).args("--from main --to feature"), &["update shop/prod/pay"]);
    assert_eq!(plan["source"]["ref"], "feature");
    assert_eq!(plan["source"]["base"], json!({ "ref": "main", "revisions": ["<rev>"] }));
    assert_eq!(plan["changes"][0]["commit"]["subject"], "Ask for 21 years");
    assert_eq!(plan["changes"][0]["attribution"], "known");
    let applied = world.plan().set("output", "json").exit(0).json();
    assert!(applied["source"].get("base").is_none(), "{applied:#}");
}

#[test]
fn files_commits_and_findings_are_links_where_the_forge_is_known() {
    let world = forked();
    set(&world.repo, "pay", 21);
    world
        .repo
        .file("shop/prod/cart.yaml", doc(21).replace("select: 1", "select: 7"))
        .commit("Ask for 21 years");
    let remotes = [
        ("https://github.com/shop/toggles.git", "https://github.com/shop/toggles/blob/", "/commit/"),
        ("git@gitlab.com:shop/toggles.git", "https://gitlab.com/shop/toggles/-/blob/", "/-/commit/"),
    ];
    for (remote, blob, commit) in remotes {
        world.repo.git(&["remote", "add", "origin", remote]);
        let page = offline(&world).args("--from main --to feature -o markdown").exit(3).any_stderr();
        page.stdout_contains(&[
            &format!("[` pay `]({blob}<rev>/shop/prod/pay.yaml)"),
            &format!("[` shop/prod/cart.yaml:10:24 `]({blob}<rev>/shop/prod/cart.yaml#L10)"),
            &format!("shop/toggles{commit}<rev>)"),
        ]);
        world.repo.git(&["remote", "remove", "origin"]);
    }
}

#[test]
fn the_lines_of_a_diff_are_those_of_the_file() {
    let world = World::new();
    let commented = |age| format!("# The new page.\n# See the design.\n\n{}", doc(age));
    world.repo.file("shop/prod/pay.yaml", commented(18)).commit("Add pay").branch("feature");
    world.repo.file("shop/prod/pay.yaml", format!("# Ours.\n{}", commented(21))).commit("Ask for 21 years");
    let plan =
        |output: &str| offline(&world).args("--from main --to feature").set("output", output).exit(0).both();
    for output in ["human", "markdown"] {
        let shown: String = plan(output).lines().map(|line| format!("{}\n", line.trim_start())).collect();
        // Line 12 became line 13.
        let hunk = "@@ -9,7 +10,7 @@\nrules:\n- name: adults\nconditions:\n-        - { type: number, subject: age, \
                    predicate: \">\", objects: [\"18\"] }\n+        - { type: number,";
        assert!(shown.contains(hunk), "{shown}");
        assert!(shown.contains("+# Ours.\n"), "{shown}");
    }
    // A long list on one line is readable only in canonical form, whose lines have no numbers.
    let long = |last: &str| doc(18).replace("[\"18\"]", &format!("[{}{last}]", "1234567, ".repeat(60)));
    world.repo.file("shop/prod/pay.yaml", long("18")).commit("List many");
    world.repo.git(&["branch", "--force", "main"]);
    world.repo.file("shop/prod/pay.yaml", long("21")).commit("Ask for 21 years");
    let shown = plan("human");
    assert!(shown.contains("      @@ canonical form @@\n"), "{shown}");
    assert!(shown.contains("-            - \"18\"\n") && !shown.contains(" @@ -"), "{shown}");
}

#[test]
fn a_revision_is_anything_that_names_a_commit() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").tag("v1");
    set(&world.repo, "pay", 22).commit("Ask for 22 years");
    let first = world.repo.id("main");
    let expected = ["update shop/prod/pay"];
    for from in [
        first.as_str(),
        &first[..9],
        "main",
        "refs/heads/main",
        "heads/main",
        "v1~1",
        "HEAD~2",
        "@~2",
        "feature^^",
        "HEAD^{/three toggles}",
        "v1",
    ] {
        planned(offline(&world).set("from", from), &expected);
    }
    planned(offline(&world).set("from", "HEAD").set("to", "feature"), &[]);
    planned(offline(&world).set("from", "v1").set("to", "main"), &expected);
}

#[test]
fn a_plan_survives_the_merge() {
    let world = forked();
    world.repo.checkout("main");
    world.settle();
    world.repo.checkout("feature");
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    world.repo.file("shop/prod/new.yaml", doc(5)).commit("Add new");
    world.repo.remove("shop/prod/cart.yaml").commit("Remove the cart");
    let run = || pull_request(&world).set("on-remove", "disable");
    let expected = ["disable shop/prod/cart", "create shop/prod/new", "update shop/prod/pay"];
    planned(run(), &expected);
    let reviewed = run().digest();
    world.repo.checkout("main").merge("feature", "Merge the feature");
    assert_eq!(world.plan().set("on-remove", "disable").digest(), reviewed);
    let applied = world.apply().set("on-remove", "disable").set("output", "json").exit(0).json();
    assert_eq!(applied["results"].as_array().unwrap().len(), 3, "{applied:#}");
    world.service.take();
}

#[test]
fn a_removed_file_is_shown_as_the_policy_says() {
    let world = forked();
    world.repo.remove("shop/prod/pay.yaml").commit("Remove pay");
    let keep = planned(pull_request(&world), &[]);
    assert_eq!(keep["orphans"][0]["toggle"], "shop/prod/pay");
    let disable = planned(pull_request(&world).set("on-remove", "disable"), &["disable shop/prod/pay"]);
    assert_eq!(disable["changes"][0]["comment"], "Remove pay (file removed)");
    let forget = planned(pull_request(&world).set("on-remove", "forget"), &[]);
    assert_eq!(forget["summary"]["records"], 1);
}

#[test]
fn a_new_environment_is_created_and_the_first_pass_is_a_note() {
    let world = forked();
    world.repo.file("shop/test/pay.yaml", doc(18)).commit("Add the test environment");
    let plan = planned(pull_request(&world), &["create shop/test/pay"]);
    assert_eq!(plan["summary"]["first_pass"], 0);
    let note = plan["notes"][0].as_str().unwrap();
    assert!(note.contains("`shop/test`") && note.contains("--first-pass"), "{note}");
    let decided = planned(pull_request(&world).set("first-pass", "assert"), &["create shop/test/pay"]);
    assert!(decided.get("notes").is_none(), "{decided:#}");
    let adopted = planned(pull_request(&world).set("first-pass", "adopt"), &[]);
    assert_eq!(adopted["summary"]["records"], 1);
}

#[test]
fn a_trailer_without_an_effect_need_not_end_up_in_a_squash_commit() {
    let world = forked();
    world.repo.file("shop/prod/pay.yaml", doc(30));
    world.repo.commit("Ask for 30 years\n\nGitoggle-Allow: MASS-CHANGE\n");
    let plan = planned(pull_request(&world), &["update shop/prod/pay"]);
    let notes = plan["notes"].to_string();
    assert!(notes.contains("does not count: write `mass-change`"), "{notes}");
    assert!(!notes.contains("must end up"), "{notes}");
}

#[test]
fn a_trailer_decides_on_the_first_pass_of_a_pull_request() {
    for (trailer, expected) in [("assert", &["create shop/test/pay"][..]), ("adopt", &[])] {
        let world = forked();
        world.repo.file("shop/test/pay.yaml", doc(18));
        world.repo.commit(&format!("Add the test environment\n\nGitoggle-First-Pass: {trailer}\n"));
        let plan = planned(pull_request(&world), expected);
        let note = format!(
            "a squash merge drops the messages of the branch: `Gitoggle-First-Pass: {trailer}` must end up in the message of \
             the merge or squash commit"
        );
        assert_eq!(plan["notes"], serde_json::json!([note]), "{plan:#}");
        let first_parent =
            pull_request(&world).args("--first-parent").set("output", "json").exit_in(&[0, 2]).json();
        let reason = first_parent["notes"][0].as_str().unwrap();
        assert!(reason.starts_with("with `--first-parent`, only the last message counts: "), "{reason}");
    }
    let world = forked();
    for (toggle, trailer) in [("a", "assert"), ("b", "adopt")] {
        world.repo.file(&format!("shop/test/{toggle}.yaml"), doc(18));
        world.repo.commit(&format!("Add {toggle}\n\nGitoggle-First-Pass: {trailer}\n"));
    }
    let plan = planned(pull_request(&world), &[]);
    assert_eq!(plan["summary"]["first_pass"], 2, "contradicting trailers decide nothing");
}

#[test]
fn rails_divide_by_the_documents_at_the_base() {
    let world = World::new();
    for number in 0..10 {
        set(&world.repo, &format!("t{number}"), 18);
    }
    // Neither of these is a document.
    for name in ["README.md", "_notes.yaml", ".hidden.yaml", "a.txt"] {
        world.repo.file(&format!("shop/prod/{name}"), "text\n");
    }
    world.repo.commit("Add ten toggles").branch("feature");
    for number in 0..3 {
        set(&world.repo, &format!("t{number}"), 21);
    }
    world.repo.commit("Change three");
    let kinds = ["documented", "featureprobe"];
    let of_kind = |kind: &str| pull_request(&world).set("service-kind", kind);
    for kind in kinds {
        of_kind(kind).exit(0).any_output();
    }
    set(&world.repo, "t3", 21).commit("Change a fourth");
    for kind in kinds {
        of_kind(kind).exit(4).stdout_contains(&["4 of 10", "max_change_ratio"]);
        let shown = of_kind(kind).set("output", "markdown").exit(4);
        shown
            .never_says(&["to record if the service"])
            .stdout_contains(&["4 of 10", "Gitoggle-Allow: mass-change"]);
        of_kind(kind).arg("--allow-mass-change").exit(0).any_output();
    }
}

#[test]
fn a_trailer_that_asserts_a_first_pass_is_shown_with_what_it_may_replace() {
    let world = forked();
    set(&world.repo, "pay", 18).commit("Add pay elsewhere");
    world.repo.file("shop/test/pay.yaml", doc(18));
    world.repo.commit("Add the test environment\n\nGitoggle-First-Pass: assert");
    let run = |kind: &str| pull_request(&world).set("service-kind", kind).exit(0).any_stdout();
    let note = "note: an asserted first pass replaces what the service has, also what people set there; `gitoggle plan \
                --live --first-pass assert";
    run("featureprobe").stderr_contains(&[note]);
    // It cannot be read.
    run("documented").never_says(&["an asserted first pass"]).any_stderr();
}

#[test]
fn an_environment_that_loses_all_documents_is_held_though_other_files_stay() {
    let world = forked();
    world.repo.file("shop/test/pay.yaml", doc(18)).file("shop/test/README.md", "text\n");
    world.repo.commit("Add the test environment").branch("empty");
    world.repo.remove("shop/test/pay.yaml").commit("Empty it");
    offline(&world)
        .args("--from feature --on-remove disable")
        .exit(4)
        .stdout_contains(&["every document in this environment was removed"]);
}

#[test]
fn a_reformatted_document_changes_nothing() {
    let world = forked();
    world.repo.file("shop/prod/pay.yaml", reformatted(18)).commit("Reformat");
    let plan = planned(pull_request(&world), &[]);
    assert_eq!(plan["summary"]["records"], 1);
}

#[test]
fn a_root_and_a_layout_apply_to_both_revisions() {
    let world = World::new();
    world.repo.file("toggles/prod/shop/pay.yaml", doc(18)).file("shop/prod/pay.yaml", doc(1));
    world.repo.commit("Start").branch("feature");
    world.repo.file("toggles/prod/shop/pay.yaml", doc(21)).commit("Ask for 21 years");
    let run =
        || pull_request(&world).set("root", "toggles").set("layout", "{environment}/{project}/{toggle}.yaml");
    planned(run(), &["update shop/prod/pay"]);
    planned(run().set("only", "shop/prod/pay"), &["update shop/prod/pay"]);
    run().set("only", "shop/prod/other").exit(1).stderr_contains(&["no toggle matches"]);
}

#[test]
fn a_root_that_the_branch_adds_has_no_base() {
    let world = forked();
    world.repo.file("toggles/shop/prod/pay.yaml", doc(18)).commit("Add a root");
    planned(pull_request(&world).set("root", "toggles"), &["create shop/prod/pay"]);
}

#[test]
fn a_revision_without_a_document_is_not_an_empty_plan() {
    let world = World::new();
    world.repo.file("README.md", "text\n").commit("Start").branch("feature");
    world.repo.file("docs/README.md", "text\n").commit("More");
    for from in ["main", "HEAD"] {
        offline(&world).set("from", from).exit(1).stderr_contains(&["no file at <rev> is a document"]);
    }
    let world = forked();
    offline(&world).args("--from main").exit(0).stdout_contains(&["Nothing to do."]);
}

#[test]
fn the_exit_code_shows_changes_on_request() {
    let world = forked();
    pull_request(&world).arg("--detailed-exitcode").exit(0).any_stdout();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    pull_request(&world).arg("--detailed-exitcode").exit(2).any_stdout();
}

#[test]
fn settings_about_state_are_not_used() {
    let world = forked();
    set(&world.repo, "pay", 21).commit("Ask for 21 years");
    let missing = world.path("missing.git");
    let plan = pull_request(&world)
        .set("state-remote", missing.display().to_string())
        .set("base-url", "https://toggles.example.com")
        .env("GITOGGLE_REF", "main")
        .set("output", "json")
        .exit(0)
        .json();
    assert_eq!(changes(&plan), ["update shop/prod/pay"]);
    assert_eq!(plan["source"]["base_url"], "https://toggles.example.com");
}

#[test]
fn uncommitted_documents_are_mentioned_where_their_commit_is_compared() {
    let world = forked();
    let note = "1 document in the work tree is not committed: only commits are compared";
    world.repo.write("shop/prod/pay.yaml", doc(99));
    offline(&world).args("--from main").exit(0).stderr_contains(&[note]).any_stdout();
    set(&world.repo, "pay", 21).commit("Ask for 21 years").write("shop/prod/pay.yaml", doc(99));
    let past = offline(&world).args("--from feature --to main");
    past.exit(0).any_stdout();
}
