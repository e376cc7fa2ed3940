//! `gitoggle log` shows the deployment history from the state alone.

use serde_json::{Value, json};

use crate::outputs::assert_valid;
use crate::support::document::reformatted;
use crate::support::git_host::Door;
use crate::support::{Gitoggle, Remote, Repo, World, doc};

fn log(world: &World) -> Gitoggle {
    world
        .bare("log")
        .set("repo", world.repo.path())
        .set("state-dir", world.state())
        .set("base-url", world.service.url())
}

/// Replaces times by `<time>`, and checks that nothing else is printed and nothing is sent.
#[track_caller]
fn text(world: &World, run: Gitoggle) -> String {
    let text = run.exit(0).stderr("").both();
    world.nothing_sent();
    let lines = text.lines().map(|line| match line.split_once("Z  ") {
        Some((time, rest)) if time.len() == 19 && time.as_bytes()[10] == b'T' => format!("<time>  {rest}"),
        _ => line.to_owned(),
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A world whose history has an effect of every kind that needs no readable service.
fn with_history() -> World {
    let world = World::new();
    for toggle in ["gone", "lost", "pay"] {
        world.repo.file(&format!("shop/prod/{toggle}.yaml"), doc(18));
    }
    world.repo.file("shop/test/pay.yaml", doc(18)).commit("Adopt all");
    world.apply().set("first-pass", "adopt").exit(0).any_output();
    world.repo.file("shop/prod/pay.yaml", reformatted(18)).commit("Reformat");
    world.apply().exit(0).any_output();
    world
        .repo
        .file("shop/prod/pay.yaml", doc(21))
        .file("shop/prod/new.yaml", doc(1))
        .commit("Ask for 21 years \u{202e}\n\nThe law has changed.");
    world.apply().exit(0).any_output();
    world.repo.remove("shop/prod/gone.yaml").commit("::error::Remove one");
    world.apply().set("on-remove", "disable").exit(0).any_output();
    world.repo.remove("shop/prod/lost.yaml").commit("Drop another");
    world.apply().set("on-remove", "forget").exit(0).any_output();
    world.service.take();
    world
}

const HISTORY: &str = "\
<time>  <short>  Drop another
  - forget shop/prod/lost
<time>  <short>  ::error::Remove one
  - disable shop/prod/gone
<time>  <short>  Ask for 21 years \\u{202e}
  + create shop/prod/new
  ~ update shop/prod/pay
<time>  <short>  Reformat
  = record shop/prod/pay
<time>  <short>  Adopt all
  = adopt shop/prod/gone
  = adopt shop/prod/lost
  = adopt shop/prod/pay
  = adopt shop/test/pay";

#[test]
fn every_deployment_is_listed_with_its_subject_and_what_was_done() {
    let world = with_history();
    assert_eq!(text(&world, log(&world)), HISTORY);
    let one = text(&world, log(&world).args("shop/prod/gone"));
    assert_eq!(
        one,
        "<time>  <short>  ::error::Remove one\n  - disable shop/prod/gone\n\
         <time>  <short>  Adopt all\n  = adopt shop/prod/gone"
    );
    let glob = text(&world, log(&world).args("shop/test/*"));
    assert_eq!(glob, "<time>  <short>  Adopt all\n  = adopt shop/test/pay");
    assert_eq!(text(&world, log(&world).set("only", "shop/test/*")), glob);
    assert_eq!(text(&world, log(&world).set("only", "shop/test/*").args("shop/prod/gone")), one);
    let cut = text(&world, log(&world).args("-n 1"));
    assert_eq!(
        cut,
        "<time>  <short>  Drop another\n  - forget shop/prod/lost\n\n\
         Only the last 1 are shown; `-n 5` shows more, `-n 0` all of them."
    );
    assert_eq!(text(&world, log(&world).args("-n 0")), HISTORY);
    log(&world).args("--color always -n 1").exit(0).stderr("").stdout_contains(&["\u{1b}[31m- forget"]);
}

#[test]
fn a_patch_has_the_sentences_and_the_diff_of_each_toggle() {
    let world = with_history();
    let patch = text(&world, log(&world).args("-p shop/prod/*"));
    for part in [
        "  - forget shop/prod/lost\n      file removed; the service keeps its targeting\n\n<time>",
        "  - disable shop/prod/gone\n      file removed: ENABLED → DISABLED\n",
        "  + create shop/prod/new\n      new, ENABLED\n",
        "  ~ update shop/prod/pay\n      rule `adults`: condition changed: ",
        "  = record shop/prod/pay\n      the same meaning as before\n",
    ] {
        assert!(patch.contains(part), "{part}\n{patch}");
    }
}

#[test]
fn the_json_is_versioned_and_matches_its_schema() {
    let world = with_history();
    let names = log(&world).set("output", "json").exit(0).stderr("").json();
    assert_valid(&world, "log", &names);
    let effects: Vec<&Value> =
        names["deployments"].as_array().unwrap().iter().map(|deployment| &deployment["effects"]).collect();
    let expected = [
        json!({"forget": 1}),
        json!({"disable": 1}),
        json!({"create": 1, "update": 1}),
        json!({"record": 1}),
        json!({"adopt": 4}),
    ];
    assert_eq!(effects, expected.iter().collect::<Vec<_>>());
    assert_eq!(names["next"], Value::Null);
    assert_eq!(names["deployments"][2]["subject"], "Ask for 21 years \u{202e}");
    let patch = log(&world).set("output", "json").args("-p -n 3").exit(0).stderr("").json();
    assert_valid(&world, "log", &patch);
    assert_eq!(patch["next"], "<rev>");
    let update = &patch["deployments"][2]["toggles"][1];
    assert_eq!((&update["toggle"], &update["effect"]), (&json!("shop/prod/pay"), &json!("update")));
    assert!(!update["diff"].as_array().unwrap().is_empty(), "{update:#}");
    let markdown = log(&world).set("output", "markdown").args("-p").exit(0).stderr("").both();
    assert!(markdown.starts_with("### gitoggle log\n\n5 deployments\n"), "{markdown}");
    assert!(
        markdown.contains("` ::error::Remove one `: 1 disable\n  * disable ` shop/prod/gone `\n"),
        "{markdown}"
    );
}

#[test]
fn the_decision_of_an_operator_is_in_the_history() {
    let world = World::with_pay_applied();
    world.repo.file("shop/test/pay.yaml", doc(18)).commit("Add an environment");
    let allowed = json!({ "version": 1, "allowances": [{
        "what": "first-pass-assert",
        "environment": "shop/test",
        "revision": world.repo.head(),
        "by": "127.0.0.1:4711\u{202e}",
        "at": 1_700_000_000,
    }] });
    std::fs::write(world.state().join("allowed.json"), allowed.to_string()).unwrap();
    world.apply().exit(0).any_output();
    world.service.take();
    let shown = text(&world, log(&world).args("-n 1"));
    let expected =
        "allowed: first-pass-assert shop/test by 127.0.0.1:4711\\u{202e} at 2023-11-14T22:13:20Z\n  + create";
    assert!(shown.contains(expected), "{shown}");
    let json = log(&world).set("output", "json").exit(0).json();
    assert_valid(&world, "log", &json);
    assert_eq!(json["deployments"][0]["allowed"][0]["what"], "first-pass-assert");
}

#[test]
fn a_history_without_deployments_says_where_it_looked() {
    let world = World::new();
    log(&world).exit(0).stdout("No deployments yet: the state folder `$TMP/state` does not exist\n");
    assert!(!world.state().exists(), "`log` writes nothing");
    std::fs::create_dir(world.state()).unwrap();
    log(&world).exit(0).stdout("No deployments yet: the state folder `$TMP/state` has no record\n");
    let json = log(&world).set("output", "json").exit(0).json();
    assert_eq!(json, json!({ "version": 1, "deployments": [], "next": null }));
    assert_valid(&world, "log", &json);
    log(&world)
        .set("state-remote", world.repo.path())
        .set("state-name", "prod")
        .exit(0)
        .stdout("No deployments yet: the shared state `prod` at `$REPO` has no record\n");
}

#[test]
fn an_unknown_toggle_is_an_error_with_the_closest_name() {
    let world = World::with_pay_applied();
    log(&world).arg("shop/prod/pya").exit(1).stderr(
        "error: no deployment changed a toggle `shop/prod/pya`\nhint: did you mean `shop/prod/pay`?\n",
    );
    let run = log(&world).arg("web/**").set("output", "json").exit(1).any_stderr();
    let json = run.json();
    assert_valid(&world, "log", &json);
    assert_eq!(json["error"]["message"], "no deployment changed a toggle `web/**`");
    log(&world).arg("pay").exit(64).says(&["error: invalid value 'pay' for '[TOGGLE]'"]);
    log(&world).args("-n 1x").exit(64).says(&["`1x` is not a number: write `20`, or `0` for all"]);
}

#[test]
fn the_hint_about_a_glob_that_matches_nothing_does_not_pass_it_on() {
    let world = World::with_pay_applied();
    let unknown = "web/test/banner";
    for (is_given, is_scope) in [(true, false), (true, true), (false, true)] {
        let run = if is_given { log(&world).arg(unknown) } else { log(&world) };
        let run = if is_scope { run.set("only", unknown) } else { run };
        let said = run.exit(1).both();
        let hint = said.split('`').find(|part| part.starts_with("gitoggle status --all")).unwrap_or_default();
        assert!(!hint.is_empty() && !hint.contains(unknown), "{said}");
        assert_eq!(hint.contains("--only '**'"), is_scope, "{said}");
    }
    world.status().arg("--all").set("only", "**").exit(0).says(&["shop/prod/pay"]);
}

#[test]
fn shared_state_is_chosen_as_by_status() {
    let world = World::new();
    world.repo.commit_pay(18, "Add pay");
    let shared = Repo::bare(&world.path("shared"));
    for name in ["one", "two"] {
        world
            .apply()
            .set("state-dir", world.path(name))
            .set("state-remote", shared.path())
            .set("state-name", name)
            .set("first-pass", "assert")
            .exit(0)
            .any_output();
    }
    world.service.take();
    let run = || log(&world).set("state-remote", shared.path()).set("state-dir", world.path("fresh"));
    let shown = text(&world, run().set("state-name", "two"));
    assert_eq!(shown, "<time>  <short>  Add pay\n  + create shop/prod/pay");
    run()
        .unset("base-url")
        .exit(64)
        .says(&["several states are shared there: one, two; give `--base-url` or `--state-name`"]);
    log(&world)
        .set("state-dir", world.path("one"))
        .set("base-url", "https://other.example")
        .exit(4)
        .says(&["this state belongs to `https://$SERVICE"]);
}

#[test]
fn the_history_of_a_state_on_a_host_is_read_without_a_state_folder() {
    let remote = Remote::new(Door::Open);
    let world = &remote.world;
    let _state = Repo::bare(&world.path("hosted/state.git"));
    let shared = |run: Gitoggle| {
        let url = format!("{}/state.git", remote.host.url());
        run.set("state-remote", url).set("state-name", "toggles")
    };
    let apply = world.apply().set("state-dir", world.path("first"));
    shared(apply.set("first-pass", "assert")).exit(0).any_output();
    world.service.take();
    let run = log(world).set("state-dir", world.path("none"));
    let run = shared(run).set("ca-file", world.ca()).arg("--patch");
    let shown = text(world, run);
    assert!(shown.contains("+ create shop/prod/pay"), "{shown}");
    assert!(!world.path("none").exists());
}

#[test]
fn the_history_needs_neither_the_source_nor_write_access_nor_the_lock() {
    let world = World::with_pay_applied();
    let expected = "<time>  <short>  Add pay\n  + create shop/prod/pay";
    let held = std::fs::File::open(world.state().join("lock")).unwrap();
    held.lock().unwrap();
    assert_eq!(text(&world, log(&world)), expected);
    let shallow = world.repo.clone_shallow(1, &world.path("shallow"));
    assert_eq!(text(&world, log(&world).set("repo", shallow.path())), expected);
    assert_eq!(text(&world, log(&world).set("repo", world.path("missing"))), expected);
}

#[test]
fn the_subject_of_a_state_that_lacks_it_comes_from_the_source() {
    let world = World::with_pay_applied();
    let state = Repo::at(&world.state().join("state.git"));
    let message = state.git(&["log", "-1", "--format=%B", "refs/gitoggle/applied"]);
    let kept: Vec<&str> = message.lines().filter(|line| !line.starts_with("Gitoggle-Subject")).collect();
    let tree = state.git(&["rev-parse", "refs/gitoggle/applied^{tree}"]);
    let commit = state.git(&["commit-tree", tree.trim(), "-m", &kept.join("\n")]);
    state.git(&["update-ref", "refs/gitoggle/applied", commit.trim()]);
    assert_eq!(text(&world, log(&world)), "<time>  <short>  Add pay\n  + create shop/prod/pay");
    let elsewhere = text(&world, log(&world).set("repo", world.path("missing")));
    assert_eq!(elsewhere, "<time>  <short>  (subject not known)\n  + create shop/prod/pay");
}
