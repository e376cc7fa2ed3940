//! Every form of one plan that has something of everything.

use super::*;
use crate::document;
use crate::model::{Blob, Color, ServiceKind, escaped};

#[test]
fn the_text_of_a_plan_has_all_of_its_lists() {
    insta::assert_snapshot!(render::text(&rich(), Color::Never), @r#"
    Plan for https://git.example.com/toggles refs/heads/main 0303030303 → https://toggles.example.com

    q/e
      ~ update q/e/changed  0404040404 Raise it
          ENABLED → DISABLED
          variation `a` value: `1` → `2`
          @@ canonical form @@
          -disabled: false
          +disabled: true
           content:
             variations:
               - name: a
          -      value: "1"
          +      value: "2"
             rules: []
             disabledServe: { variation: a }
             defaultServe: { variation: a }
      + create q/e/new  0404040404 Raise it
          new, ENABLED
          variations `a` = `1`
          default serve `a`
          disabled serve `a`

    held p/e: 3 toggles
        3 changes are more than `max_change_count: 2` allows; if this is intended, pass `--allow-mass-change`, put the trailer `Gitoggle-Allow: mass-change` on the commit, or `Gitoggle-Allow: mass-change p/e` on a later one, or run `gitoggle allow mass-change p/e` for a running daemon
      ~ update p/e/t000  0404040404 Raise it
          variation `a` value: `1` → `2`
          @@ canonical form @@
           content:
             variations:
               - name: a
          -      value: "1"
          +      value: "2"
             rules: []
             disabledServe: { variation: a }
             defaultServe: { variation: a }
      ~ update p/e/t001  0404040404 Raise it
          variation `a` value: `1` → `2`
          @@ canonical form @@
           content:
             variations:
               - name: a
          -      value: "1"
          +      value: "2"
             rules: []
             disabledServe: { variation: a }
             defaultServe: { variation: a }
      ~ update p/e/t002  0404040404 Raise it
          variation `a` value: `1` → `2`
          @@ canonical form @@
           content:
             variations:
               - name: a
          -      value: "1"
          +      value: "2"
             rules: []
             disabledServe: { variation: a }
             defaultServe: { variation: a }

    held p/e/bad
        the document is invalid; nothing is published for this toggle before it is valid

    failed q/e/refused
        refused by the service: ::error::no\n
      ~ update q/e/refused  0404040404 Raise it
          variation `a` value: `1` → `2`
          @@ canonical form @@
           content:
             variations:
               - name: a
          -      value: "1"
          +      value: "2"
             rules: []
             disabledServe: { variation: a }
             defaultServe: { variation: a }

    orphan q/e/gone
        the file was removed; `--on-remove keep` leaves the toggle as it is; the file was renamed to that of `q/e/new`, which is a new toggle, and the old one keeps serving

    held r/e/first
        nothing is applied here yet: `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; to decide for this environment only, put the trailer `Gitoggle-First-Pass: assert` or `adopt` on a commit that adds or changes a document of it, or run `gitoggle allow first-pass-assert r/e` or `first-pass-adopt` for a running daemon
      + create r/e/first  0404040404 Raise it
          new, ENABLED
          variations `a` = `1`
          default serve `a`
          disabled serve `a`

    error[missing-field]: a document needs `content`
     --> p/e/bad.yaml:1:1
      |
    1 | disabled: false
      | ^^^^^^^^^^^^^^^
      |
      = help: every document has `disabled` and `content`

    error[unknown-key]: a document has no `colour`
     --> p/e/bad.yaml:2:1
      |
    2 | colour: "::error::\u{202e}[31m ``` #\#[group]"
      | ^^^^^^
      |
      = help: a document has `disabled` and `content`; do not just remove it: what `colour` says would be lost, so say it with these keys

    2 to publish: 1 create, 1 update · 5 held · 1 failed · 1 orphan
    "#);
}

#[test]
fn the_coloured_text_is_the_text_with_colours() {
    let coloured = render::text(&rich(), Color::Always);
    let mut plain = String::new();
    for (at, part) in coloured.split('\u{1b}').enumerate() {
        plain.push_str(if at == 0 { part } else { part.split_once('m').unwrap().1 });
    }
    assert_eq!(plain, render::text(&rich(), Color::Never));
    let lines = coloured.lines().filter(|line| line.contains("q/e/changed") || line.contains("disabled: "));
    let lines: Vec<String> = lines.map(|line| escaped(line).to_string()).collect();
    insta::assert_snapshot!(lines.join("\n"), @r#"
      \u{1b}[33m~ update q/e/changed\u{1b}[0m  \u{1b}[2m0404040404 Raise it\u{1b}[0m
          \u{1b}[31m-disabled: false\u{1b}[0m
          \u{1b}[32m+disabled: true\u{1b}[0m
    \u{1b}[1m\u{1b}[94m1\u{1b}[0m \u{1b}[1m\u{1b}[94m|\u{1b}[0m disabled: false
    "#);
}

#[test]
fn findings_become_workflow_commands() {
    let plan = rich();
    insta::assert_snapshot!(render::annotations(plan.findings()), @r#"
    ::error file=p/e/bad.yaml,line=1,col=1,title=missing-field::a document needs `content` (every document has `disabled` and `content`)
    ::error file=p/e/bad.yaml,line=2,col=1,title=unknown-key::a document has no `colour` (a document has `disabled` and `content`; do not just remove it: what `colour` says would be lost, so say it with these keys)
    "#);
}

#[test]
fn the_json_of_a_plan_has_all_of_its_fields() {
    let mut json = json(&rich());
    let held = &json["held"][1];
    assert_eq!((&held["kind"], &held["change"]["action"]), (&"rail".into(), &"update".into()));
    for list in ["changes", "held"] {
        json[list].as_array_mut().unwrap().truncate(1);
    }
    let json = serde_json::to_string_pretty(&json).unwrap();
    insta::assert_snapshot!(json.replace('\u{202e}', "\\u202e"), @r#"
    {
      "changes": [
        {
          "action": "update",
          "attribution": "known",
          "before": {
            "content": {
              "defaultServe": {
                "select": 0
              },
              "disabledServe": {
                "select": 0
              },
              "rules": [],
              "variations": [
                {
                  "description": "",
                  "name": "a",
                  "value": "1"
                }
              ]
            },
            "disabled": false
          },
          "comment": "Raise it\n::error::x ##[group] ``` \u202e@you",
          "commit": {
            "id": "0404040404040404040404040404040404040404",
            "subject": "Raise it"
          },
          "content": {
            "defaultServe": {
              "select": 0
            },
            "disabledServe": {
              "select": 0
            },
            "rules": [],
            "variations": [
              {
                "description": "",
                "name": "a",
                "value": "2"
              }
            ]
          },
          "digest": "sha256:9867ac492ab3946bfbe6db7e753781bdc312a71f81948a05c7711a8075a13735",
          "disabled": true,
          "path": "q/e/changed.yaml",
          "sentences": [
            "ENABLED → DISABLED",
            "variation `a` value: `1` → `2`"
          ],
          "toggle": "q/e/changed"
        }
      ],
      "digest": "sha256:06b38c5b2c51131ae510419c70c584cc67226d9c40b754e1d0e369677afba21f",
      "findings": [
        {
          "column": 1,
          "file": "p/e/bad.yaml",
          "help": "every document has `disabled` and `content`",
          "id": "missing-field",
          "line": 1,
          "message": "a document needs `content`",
          "severity": "error"
        },
        {
          "column": 1,
          "file": "p/e/bad.yaml",
          "help": "a document has `disabled` and `content`; do not just remove it: what `colour` says would be lost, so say it with these keys",
          "id": "unknown-key",
          "line": 2,
          "message": "a document has no `colour`",
          "severity": "error"
        }
      ],
      "held": [
        {
          "change": null,
          "kind": "invalid",
          "reason": "the document is invalid; nothing is published for this toggle before it is valid",
          "state": "held",
          "toggle": "p/e/bad"
        }
      ],
      "orphans": [
        {
          "path": "q/e/gone.yaml",
          "reason": "the file was removed; `--on-remove keep` leaves the toggle as it is; the file was renamed to that of `q/e/new`, which is a new toggle, and the old one keeps serving",
          "toggle": "q/e/gone"
        }
      ],
      "source": {
        "base_url": "https://toggles.example.com",
        "history_note": null,
        "ref": "refs/heads/main",
        "repo": "https://git.example.com/toggles",
        "revision": "0303030303030303030303030303030303030303",
        "shallow": false
      },
      "summary": {
        "changes": 2,
        "failed": 1,
        "first_pass": 1,
        "guessed": 0,
        "held": 6,
        "held_environments": {},
        "invalid": 1,
        "orphans": 1,
        "records": 0,
        "text": "2 to publish: 1 create, 1 update · 5 held · 1 failed · 1 orphan"
      },
      "version": 1
    }
    "#);
}

#[test]
fn nothing_to_do_is_one_line() {
    let plan = World::of(3, 0, 0).plan(&Policy::default());
    assert!(plan.is_empty());
    insta::assert_snapshot!(render::text(&plan, Color::Never), @r#"
    Plan for https://git.example.com/toggles refs/heads/main 0303030303 → https://toggles.example.com
    Nothing to do.
    "#);
}

#[test]
fn hostile_text_starts_no_line_and_leaves_no_fence() {
    let plan = rich();
    for text in [
        render::text(&plan, Color::Never),
        render::markdown(render::PlanView::of(&plan), render::ANY_COMMENT),
        render::rest(&plan, Color::Never),
    ] {
        assert!(!text.contains(['\u{1b}', '\u{202e}']) && !text.contains("##["), "{text}");
        assert!(!text.lines().any(|line| line.trim_start().starts_with("::")), "{text}");
    }
    let annotations = render::annotations(plan.findings());
    assert_eq!(annotations.lines().count(), plan.findings().len());
    assert!(!annotations.contains("##[") && !annotations.contains('\u{1b}'));
}

#[test]
fn a_flood_is_cut_and_says_by_how_much() {
    let world = World::of(2000, 600, 0);
    let text = render::text(&world.plan(&all_at_once()), Color::Never);
    assert!(text.contains("  … and 100 more changes\n"), "{text}");
    let cut = "\nOnly the first 50 changes are shown with their contents; `-o json` shows all of them.\n";
    assert!(text.contains(cut), "{text}");
    assert_eq!(text.matches("~ update").count(), 500);
    assert_eq!(text.matches("      @@").count(), 50);
    let held =
        render::text(&world.plan(&Policy { max_change_ratio: 0.1, ..Policy::default() }), Color::Never);
    assert_eq!(held.matches("~ update").count(), 500);
    assert!(held.contains("held p/e: 600 toggles") && held.contains("  … and 100 more changes\n"), "{held}");
}

#[test]
fn many_warnings_are_cut_in_the_text_and_no_error_is() {
    let read = |path: &str, text: &str| {
        let blob = Blob::Content(text.into());
        document::read(path, &blob, ServiceKind::Documented).diagnostics
    };
    let mut world = World::of(3, 1, 0);
    let lonely = "disabled: false\ncontent:\n  variations: [{ name: a, value: b }]\n  rules: []\n  \
                  disabledServe: { select: 0 }\n  defaultServe: { select: 0 }\n";
    for at in 0..150 {
        world.findings.extend(read(&format!("p/e/t{at:03}.yaml"), lonely));
    }
    let warnings = world.findings.len();
    assert!(warnings >= 150);
    world.findings.extend(read("z/z/z.yaml", ""));
    let text = render::text(&world.plan(&Policy::default()), Color::Never);
    assert_eq!(text.matches("warning[").count() + text.matches("warning:").count(), 100, "{text}");
    assert!(text.contains("z/z/z.yaml"), "{text}");
    assert!(text.contains(&format!("… and {} more warnings", warnings - 100)), "{text}");
}

#[test]
fn the_pieces_of_a_page_are_its_json() {
    let plan = Arc::new(rich());
    let toggle_of = |path: &str| path.strip_suffix(".yaml")?.parse::<ToggleId>().ok();
    let all: Vec<ToggleId> = plan.withheld().iter().map(|held| held.id.clone()).collect();
    assert!(all.len() > 3);
    for after in all.iter().map(Some).chain([None]) {
        for limit in [1, 2, 3, 100] {
            let page = super::super::json(&plan).page(after, limit, toggle_of);
            let pieces = page_pieces(Arc::clone(&plan), after, limit, &toggle_of);
            let joined: String = pieces.collect();
            let expected = serde_json::to_string(&page).unwrap() + "\n";
            assert_eq!(joined, expected, "{limit} after {after:?}");
        }
    }
}
