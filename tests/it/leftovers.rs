//! `gitoggle stale` lists the toggles that no longer decide anything, with their age and owners.

use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

use crate::outputs::assert_valid;
use crate::support::{Gitoggle, Repo, World, doc};

const DAY: u64 = 86_400;

/// Returns a document that serves `on` to everyone.
fn settled() -> String {
    doc(18).replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }")
}

fn off() -> String {
    doc(18).replace("disabled: false", "disabled: true")
}

fn stale(world: &World) -> Gitoggle {
    world.bare("stale").set("repo", world.repo.path())
}

fn list(world: &World, args: &str) -> Vec<String> {
    let json = stale(world).args(args).args("-o json").exit(0).stderr("").json();
    assert_valid(world, "stale", &json);
    names(&json, "stale")
}

fn names(json: &Value, list: &str) -> Vec<String> {
    let items = json[list].as_array().unwrap().iter();
    items.map(|item| item["toggle"].as_str().or(item.as_str()).unwrap().to_owned()).collect()
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

#[test]
fn settled_and_disabled_toggles_are_listed_with_commit_author_and_owners() {
    let world = World::new();
    world
        .repo
        .file("CODEOWNERS", "* @all\n/shop/ @shop\n")
        .file("shop/prod/pay.yaml", settled())
        .file("shop/prod/search.yaml", doc(18))
        .commit_at(1_700_000_000, "Turn on \u{202e}pay")
        .file("shop/test/old.yaml", off())
        .commit_at(1_700_000_600, "::error::Turn off");
    let days = |at: u64| format!("{} days", (now() - at) / DAY);
    let text = stale(&world).exit(0).stderr("").both();
    // For ten minutes of each day, the two ages differ.
    let text = text.replace(&days(1_700_000_000), "<days>").replace(&days(1_700_000_600), "<days>");
    assert_eq!(
        text,
        "settled shop/prod/pay  everyone is served `on`\n    unchanged for <days>, since 2023-11-14T22:13:20Z\n    \
         <short> Ada Author: Turn on \\u{202e}pay\n    owned by @shop (CODEOWNERS:2)\n\n\
         off shop/test/old  everyone is served `off`\n    unchanged for <days>, since 2023-11-14T22:23:20Z\n    \
         <short> Ada Author: ::error::Turn off\n    owned by @shop (CODEOWNERS:2)\n\n\
         1 settled, 1 off; checked 3 documents at <short>\n"
    );
    let json = stale(&world).args("-o json").exit(0).stderr("").json();
    assert_valid(&world, "stale", &json);
    assert_eq!(json["stale"][0]["owners"], json!([{ "place": "CODEOWNERS:2", "owners": ["@shop"] }]));
    assert_eq!(json["stale"][0]["commit"]["email"], "ada@example.com");
    stale(&world).args("-o markdown").exit(0).stderr("").stdout_contains(&[
        "### gitoggle stale\n\n1 settled, 1 off; checked 3 documents at ",
        "* **settled** ` shop/prod/pay `: everyone is served ` on `, unchanged for ",
        "Ada Author: ::error::Turn off `; owned by ` @shop (CODEOWNERS:2) `\n",
    ]);
    stale(&world).args("-o sarif").exit(64).any_output();
    world.nothing_sent();
    assert_eq!(world.repo.git(&["status", "--short"]), "");
    assert!(!world.state().exists());
}

#[test]
fn what_serves_several_variations_is_in_use() {
    let world = World::new();
    let document = |from: &str, to: &str| {
        let text = settled();
        assert!(text.contains(from), "{from}");
        text.replace(from, to)
    };
    let split = |split: &str| {
        document("defaultServe: { select: 1 }", &format!("defaultServe: {{ split: [{split}] }}"))
    };
    let prerequisite = "content:\n  prerequisites:\n    - { key: other, value: \"true\", type: boolean }";
    for (toggle, text) in [
        ("rule", document("serve: { select: 1 }\n  dis", "serve: { select: 0 }\n  dis")),
        ("half", split("5000, 5000")),
        ("whole", split("0, 10000")),
        ("needs", document("content:", prerequisite)),
        (
            "same",
            document("content:", prerequisite)
                .replace("disabledServe: { select: 0 }", "disabledServe: { select: 1 }"),
        ),
    ] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), text);
    }
    world.repo.commit("Add all");
    assert_eq!(list(&world, "--service-kind featureprobe"), ["shop/prod/same", "shop/prod/whole"]);
}

#[test]
fn the_age_is_that_of_the_last_change_of_meaning_on_the_branch() {
    let world = World::new();
    let old = 1_700_000_000;
    for toggle in ["merged", "moved", "reworded", "renamed"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.commit_at(old, "Add all");
    for toggle in ["moved", "reworded", "renamed"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), settled());
    }
    world.repo.commit_at(old + 100, "Turn on").branch("work").file("shop/prod/merged.yaml", settled());
    world.repo.commit_at(old + 200, "Turn on elsewhere").checkout("main");
    let reworded = settled().replace("select: 1 }\n  disabled", "variation: \"on\" }\n  disabled");
    world
        .repo
        .file("shop/prod/reworded.yaml", format!("# Done.\n{reworded}"))
        .rename("shop/prod/moved.yaml", "shop/prod/moved.yml")
        .rename("shop/prod/renamed.yaml", "shop/prod/other.yaml")
        .commit_at(now() - 3600, "Reword, move and rename");
    world.repo.merge("work", "Merge");
    world.repo.git(&["reset", "--soft", "HEAD^1"]);
    let tree = world.repo.git(&["write-tree"]);
    let parents = [world.repo.head(), world.repo.id("work")];
    let merge = ["commit-tree", &tree, "-p", &parents[0], "-p", &parents[1], "-m", "Merge"];
    let merged = world.repo.git_at(now() - 1800, &merge);
    world.repo.git(&["reset", "--hard", &merged]);
    let json = stale(&world).args("-o json").exit(0).json();
    assert_eq!(names(&json, "stale"), ["shop/prod/moved", "shop/prod/reworded"]);
    assert_eq!(names(&json, "recent"), ["shop/prod/merged", "shop/prod/other"]);
    let all = stale(&world).args("-o json --older-than 1m").exit(0).json();
    let commits = all["stale"].as_array().unwrap().iter().map(|item| {
        let subject = item["commit"]["subject"].as_str().unwrap();
        (item["toggle"].as_str().unwrap(), subject)
    });
    assert_eq!(
        commits.collect::<Vec<_>>(),
        [
            ("shop/prod/merged", "Turn on elsewhere"),
            ("shop/prod/moved", "Turn on"),
            ("shop/prod/other", "Reword, move and rename"),
            ("shop/prod/reworded", "Turn on"),
        ]
    );
    assert_eq!(
        list(&world, "--older-than 45m"),
        ["shop/prod/moved", "shop/prod/other", "shop/prod/reworded"]
    );
}

#[test]
fn documents_that_moved_with_their_folder_keep_their_age() {
    let world = World::new();
    for environment in ["prod", "test"] {
        world.repo.file(&format!("shop/{environment}/pay.yaml"), settled());
    }
    world.repo.commit_at(1_700_000_000, "Add pay");
    world.repo.rename("shop/prod", "toggles/prod/shop").rename("shop/test", "toggles/test/shop");
    world.repo.commit_at(now() - 60, "Order by environment");
    let layout = "--root toggles --layout {environment}/{project}/{toggle}.yaml";
    assert_eq!(list(&world, layout), ["shop/prod/pay", "shop/test/pay"]);
    stale(&world).args(layout).exit(0).stdout_contains(&["since 2023-11-14T22:13:20Z"]).stderr("");
}

#[test]
fn a_toggle_is_stale_from_the_given_age_on() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", settled()).commit_at(now() - 90 * DAY + 300, "Add pay");
    assert!(list(&world, "").is_empty());
    assert_eq!(list(&world, "--older-than 89d23h"), ["shop/prod/pay"]);
    assert_eq!(list(&world, "--older-than 0s"), ["shop/prod/pay"]);
    for (age, says) in [
        ("90", "`90` needs a unit: write `90d` for days"),
        ("1w", "`1w` is not a duration: write it in days and hours, such as `90d`"),
        (
            "30m1h",
            "`30m1h` is not a duration: write it in days and hours, such as `90d`, `12h` or `1d12h`, the longest unit first",
        ),
        ("90 d", "`90 d` is not a duration: write it in days"),
    ] {
        stale(&world).set("older-than", age).exit(64).stderr_contains(&[says]).any_output();
    }
    stale(&world).args("--older-than 89d").args("--detailed-exitcode").exit(2).any_output();
    stale(&world).args("--detailed-exitcode").exit(0).any_output();
}

#[test]
fn globs_select_toggles_and_one_without_a_match_is_an_error() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", settled()).file("web/prod/pay.yaml", settled()).commit("Add all");
    assert_eq!(list(&world, "shop/**"), ["shop/prod/pay"]);
    assert_eq!(list(&world, "web/prod/* --only **/pay"), ["web/prod/pay"]);
    stale(&world)
        .args("shop/** typo/**")
        .exit(1)
        .stdout("")
        .stderr_contains(&["no toggle matches `typo/**`"]);
    stale(&world).args("--only typo/**").exit(1).stdout("").stderr_contains(&["no toggle matches `--only`"]);
    let empty = World::new();
    empty.repo.commit("Nothing");
    stale(&empty).exit(1).stdout("").stderr_contains(&["no file at <rev>"]);
}

#[test]
fn a_waiver_with_a_reason_excludes_a_toggle_that_is_not_in_use() {
    let world = World::new();
    let with = |waiver: &str, document: String| format!("{waiver}\n{document}");
    const KEPT: &str = "# gitoggle: allow(stale) a switch for \u{202e}emergencies";
    world.repo.file("shop/prod/kept.yaml", with(KEPT, off())).commit("Keep it");
    let json = stale(&world).args("-o json --detailed-exitcode").exit(0).json();
    assert_eq!(json["waived"][0]["reason"], "a switch for \u{202e}emergencies");
    stale(&world).exit(0).stderr("").stdout_contains(&["1 waived; checked 1 document at <short>\n"]);
    world.validate().exit(0).stdout_contains(&["no findings"]).stderr("");
    for (waiver, document, found) in [
        (KEPT, doc(18), "this waiver of `stale` waives nothing"),
        ("# gitoggle: allow(stale)", off(), "this waiver of `stale` has no reason"),
        ("# gitoggle: allow(stal) x", off(), "did you mean `stale`?"),
    ] {
        world.repo.write("shop/prod/kept.yaml", with(waiver, document));
        world.validate().exit(0).stdout_contains(&[found]).stderr("");
    }
    let beside = off().replace("disabled: true", "disabled: true # gitoggle: allow(stale) x");
    world.repo.file("shop/prod/kept.yaml", beside).commit("Beside");
    assert_eq!(list(&world, ""), ["shop/prod/kept"]);
}

#[test]
fn where_history_is_cut_the_age_is_at_least_that_of_the_cut() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", settled()).commit_at(1_700_000_000, "Turn on");
    world.repo.file("README", "x").commit_at(now() - 30 * DAY, "Write a readme");
    let clone = |name: &str| {
        let folder = world.path(name);
        world.repo.clone_shallow(1, &folder)
    };
    let shallow = clone("shallow");
    let run = |repo: &Repo, args: &str| world.bare("stale").set("repo", repo.path()).args(args);
    run(&shallow, "--older-than 29d")
        .exit(0)
        .stderr("")
        .stdout_contains(&["for at least 30 days: the history is cut at"]);
    let json = run(&shallow, "-o json").exit(0).json();
    assert_valid(&world, "stale", &json);
    assert_eq!(names(&json, "unclear"), ["shop/prod/pay"]);
    run(&shallow, "").exit(0).stdout_contains(&["1 of unknown age", "git fetch --unshallow"]).any_output();
    assert_eq!(list(&world, ""), ["shop/prod/pay"]);
}

#[test]
fn an_invalid_document_is_counted_and_the_others_are_listed() {
    let world = World::new();
    world.repo.file("shop/prod/bad.yaml", "nonsense").file("shop/prod/pay.yaml", settled()).commit("Add all");
    stale(&world).args("--detailed-exitcode").exit(3).stderr("").stdout_contains(&[
        "settled shop/prod/pay",
        "1 settled, 1 invalid; checked 2 documents at <short>\n",
        "note: `gitoggle validate` shows why documents are invalid\n",
    ]);
}

/// A document with a rule from this time on, and with these prerequisites.
fn scheduled(time: &str, prerequisites: &str) -> String {
    doc(18).replace("  rules:\n", &format!(
        "  prerequisites: [{prerequisites}]\n  rules:\n    - name: launch\n      conditions:\n        - {{ type: datetime, subject: now, \
         predicate: after, objects: [\"{time}\"] }}\n      serve: {{ select: 1 }}\n"
    ))
}

#[test]
fn a_rule_whose_time_has_passed_is_listed_and_so_are_the_toggles_that_need_a_leftover() {
    let world = World::new();
    let needs = "{ key: pay, value: \"true\", type: boolean }";
    world
        .repo
        .file("shop/prod/pay.yaml", settled())
        .file("shop/prod/past.yaml", scheduled("2023-01-01T00:00:00+00:00", needs))
        .file("shop/prod/future.yaml", scheduled("2123-01-01T00:00:00+00:00", ""))
        .commit_at(1_700_000_000, "Add toggles");
    let run = || stale(&world).set("service-kind", "featureprobe");
    run().exit(0).stdout_contains(&[
        "passed shop/prod/past  for users without `now`, rule `launch` always matches since 2023-01-01T00:00:00Z, and serves `on`",
        "settled shop/prod/pay",
        "`past` needs it",
        "1 settled, 1 passed; checked 3 documents",
    ]);
    let json = run().args("-o json").exit(0).stderr("").json();
    assert_valid(&world, "stale", &json);
    assert_eq!(names(&json, "stale"), ["shop/prod/past", "shop/prod/pay"]);
    assert_eq!(json["stale"][0]["rule"]["matches"], "always");
    assert_eq!(json["stale"][0]["rule"]["subject"], "now");
    assert_eq!(json["stale"][1]["needed_by"], json!(["past"]));
    run().args("-o markdown").exit(0).stdout_contains(&["` past ` needs it", "always matches since"]);
    let only = run().set("only", "shop/prod/pay").args("-o json").exit(0).json();
    assert_eq!(only["stale"][0]["needed_by"], json!(["past"]), "outside of the scope");
}
