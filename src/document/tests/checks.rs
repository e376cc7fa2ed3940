//! For every check one document that it accepts and one that it refuses.

use std::collections::BTreeMap;

use super::*;
use crate::model::{KeyError, ToggleId};

/// What is replaced in the good document: once by something the check accepts, once by something it refuses.
pub(super) struct Case {
    pub(super) id: &'static str,
    pub(super) replaced: &'static str,
    accepted: &'static str,
    pub(super) refused: &'static str,
    at: &'static str,
}

pub(super) const fn case(
    id: &'static str,
    replaced: &'static str,
    accepted: &'static str,
    refused: &'static str,
    at: &'static str,
) -> Case {
    Case { id, replaced, accepted, refused, at }
}

const RULES: &str = r#"    - name: adults
      conditions:
        - { type: number, subject: age, predicate: ">", objects: ["18"] }
      serve: { select: 1 }
"#;

const TWICE: &str = r#"    - name: adults
      conditions: [{ type: string, subject: age, predicate: is, objects: [x] }]
      serve: { select: 0 }
    - name: adults
      conditions: [{ type: string, subject: age, predicate: is, objects: [x] }]
      serve: { select: 1 }
"#;

const TWO: &str = r#"    - name: adults
      conditions: [{ type: string, subject: age, predicate: is, objects: [x] }]
      serve: { select: 0 }
    - name: others
      conditions: [{ type: string, subject: age, predicate: is, objects: [x] }]
      serve: { select: 1 }
"#;

const EVERYONE: &str = r#"    - name: all
      conditions: []
      serve: { select: 1 }
    - name: adults
      conditions: [{ type: string, subject: age, predicate: is, objects: [x] }]
      serve: { select: 0 }
"#;

const DOCUMENTED: &[Case] = &[
    case(
        "ambiguous-variation",
        "defaultServe: { select: 0 }",
        "defaultServe: { variation: on }",
        "defaultServe: { variation: \"twin\" }",
        "14:30",
    ),
    case(
        "comment-key",
        "disabled: false",
        "disabled: false # comment: x",
        "comment: x\ndisabled: false",
        "1:1",
    ),
    case("duplicate-key", "disabled: false", "disabled: false", "disabled: false\ndisabled: false", "2:1"),
    case("duplicate-variation", "\"off\"", "\"of\"", "\"on\"", "5:15"),
    case("empty-document", GOOD, GOOD, "# nothing\n", "0:0"),
    case("empty-text", "number", "string", "\"\"", "9:19"),
    case("merge-key", "disabled: false", "disabled: false # <<: x", "<<: { a: b }\ndisabled: false", "1:1"),
    case("missing-field", "disabled: false\n", "disabled: true\n", "", "1:1"),
    case("no-objects", "[\"18\"]", "[18]", "[]", "9:57"),
    case(
        "no-variations",
        "    - { name: \"off\", value: \"false\" }\n    - { name: \"on\", value: \"true\", description: \"New page\" }\n",
        "    - { name: a, value: a }\n    - { name: b, value: b }\n",
        "    []\n",
        "3:3",
    ),
    case("not-a-document", GOOD, GOOD, "name: ci\non: push\n", "1:1"),
    case("not-a-number", "[\"18\"]", "[1e3, 1.10, 007]", "[1, 0x1F]", "9:70"),
    case("null-text", "\"true\"", "\"null\"", "null", "5:28"),
    case("rule-without-serve", "      serve: { select: 1 }\n", "      serve: { select: 1 }\n", "", "7:7"),
    case(
        "select-negative",
        "defaultServe: { select: 0 }",
        "defaultServe: { select: 1 }",
        "defaultServe: { select: -1 }",
        "12:27",
    ),
    case(
        "select-out-of-range",
        "defaultServe: { select: 0 }",
        "defaultServe: { select: 1 }",
        "defaultServe: { select: 2 }",
        "12:27",
    ),
    case(
        "serve-choice",
        "defaultServe: { select: 0 }",
        "defaultServe: { variation: on }",
        "defaultServe: { select: 0, variation: on }",
        "12:3",
    ),
    case(
        "several-documents",
        "disabled: false",
        "---\ndisabled: false",
        "---\na: b\n---\ndisabled: false",
        "3:1",
    ),
    case("syntax", "disabled: false", "disabled: false", "disabled: [false", "1:11"),
    case(
        "too-deep",
        "\"true\"",
        "\"[[[[\"",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[x]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
        "5:56",
    ),
    case("unknown-key", "defaultServe", "defaultServe", "defualtServe", "12:3"),
    case(
        "unknown-variation",
        "defaultServe: { select: 0 }",
        "defaultServe: { variation: on }",
        "defaultServe: { variation: onn }",
        "12:30",
    ),
    case("wrong-type", "disabled: false", "disabled: False", "disabled: no", "1:11"),
    case("yaml-anchor", "\"true\"", "\"&true\"", "&x \"true\"", "5:28"),
    case("yaml-tag", "\"true\"", "\"!true\"", "!x \"true\"", "5:28"),
    case("duplicate-rule-name", RULES, TWO, TWICE, "10:13"),
    case("matches-everyone", RULES, TWO, EVERYONE, "8:7"),
    case("same-serve", "serve: { select: 1 }", "serve: { variation: on }", "serve: { select: 0 }", "12:3"),
    case("unreachable-rule", RULES, TWO, EVERYONE, "10:13"),
    case(
        "unused-variation",
        "serve: { select: 1 }",
        "serve: { variation: on }",
        "serve: { select: 0 }",
        "5:15",
    ),
];

pub(super) fn check(case: &Case, kind: ServiceKind) {
    let Case { id, replaced, accepted, refused, at } = *case;
    let (accepted, refused) = match id {
        "ambiguous-variation" => {
            let twins = "    - { name: \"twin\", value: x }\n    - { name: \"twin\", value: y }\n  rules:\n";
            (with(replaced, accepted), with(replaced, refused).replace("  rules:\n", twins))
        }
        _ => (with(replaced, accepted), with(replaced, refused)),
    };
    let read = |text: &str| read_as(kind, text);
    let good = read(&accepted);
    assert!(good.diagnostics.iter().all(|one| one.id != id), "{id} accepts:\n{accepted}");
    assert!(good.payload.is_some(), "{:?}", good.diagnostics);
    let bad = read(&refused);
    assert!(found(&bad).contains(&format!("{at} {id}")), "{id} refuses, found {:?}:\n{refused}", found(&bad));
    let errors = bad.diagnostics.iter().filter(|one| one.severity == Severity::Error).count();
    assert_eq!(bad.payload.is_none(), errors > 0, "{id}");
}

#[test]
fn what_is_found_in_a_file_is_found_at_its_place() {
    for case in DOCUMENTED {
        check(case, ServiceKind::Documented);
    }
}

#[test]
fn what_is_found_in_a_tree_names_the_files() {
    let (first, second) = ("shop/prod/pay".parse::<ToggleId>().unwrap(), "shop/Prod/pay".parse().unwrap());
    let paths = ["shop/prod/pay.yml".to_owned(), "shop/prod/pay.yaml".to_owned()];
    let both = layout::duplicate(&first, &paths, &[]);
    assert_eq!(both.len(), 2);
    assert!(both[0].message.ends_with("and by `shop/prod/pay.yaml`"), "{}", both[0].message);
    assert_eq!(both[0].path, paths[0]);
    // A check does not know whether an earlier version was applied.
    let help = "keep one of them: until then, nothing is published for this toggle";
    assert_eq!(both[0].help.as_deref(), Some(help));
    for (diagnostic, id) in [
        (both[1].clone(), "duplicate-toggle"),
        (layout::case_only_difference(&first, &paths[0], &second), "case-only-difference"),
        (layout::elsewhere("package.yaml", "{project}/{environment}/{toggle}.yaml"), "elsewhere"),
        (layout::bad_key("a/b/c d.yaml", "c d", &KeyError::BadCharacter(' ')), "bad-key"),
        (layout::not_read("a/b/c.YAML", Unread::ExtensionCase, None), "extension-case"),
        (layout::not_read("a/b/c.json", Unread::Json, Some(&first)), "json-file"),
        (layout::not_read("a/b/c.yaml", Unread::Link, None), "link"),
        (layout::not_read("a/c.test.yaml", Unread::Test, None), "test-not-run"),
        (layout::too_many_files("."), "too-many-files"),
        (layout::not_utf8_path(b"a/\xff/c.yaml"), "not-utf8"),
    ] {
        assert_eq!((diagnostic.id, diagnostic.line), (id, 0));
    }
}

#[test]
fn every_check_has_a_case() {
    let elsewhere = [
        // In the test of trees above.
        "bad-key",
        "case-only-difference",
        "duplicate-toggle",
        "elsewhere",
        "extension-case",
        "test-not-run",
        "json-file",
        "link",
        "not-utf8",
        "too-many-files",
        // In `expectations`.
        "duplicate-test",
        "test-without-toggle",
        // In `help`.
        "conflict-marker",
        "lfs-pointer",
        // In `limits`.
        "content-too-large",
        "name-too-long",
        "value-too-long",
        // In `hostile`.
        "missing-content",
        "too-large",
        "too-many-findings",
        // In `references`.
        "prerequisite-case",
        "prerequisite-chain",
        "prerequisite-cycle",
        "prerequisite-no-variation",
        "prerequisite-other-type",
        "type-disagreement",
        "unknown-prerequisite",
        // In `tests/it/waivers.rs`.
        "bad-waiver",
        "unused-waiver",
        // Tested in `sdks`, `fixes` and `exclusion`.
        "almost-value",
        "hidden-character",
        "list-in-text",
        "typographic-quotes",
        "never-matches",
        "regex-literal",
        "sdk-disagreement",
    ];
    let cases: BTreeMap<&str, ()> = DOCUMENTED
        .iter()
        .chain(featureprobe::FEATUREPROBE)
        .chain(featureprobe::VOCABULARY)
        .map(|case| case.id)
        .chain(elsewhere)
        .map(|id| (id, ()))
        .collect();
    let mut ids: Vec<&str> = CHECKS.iter().map(|check| check.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(cases.into_keys().collect::<Vec<_>>(), ids);
}

#[test]
fn all_problems_of_a_file_are_told_at_once() {
    let document = yaml(
        "disabled: yes\ncontent:\n  variations:\n    - { name: on, valeu: x }\n    - { name: ~, value: y }\n  rules:\n    - name: r\n      conditions:\n        - { type: number, objects: [x] }\n  defaultServe: { select: 7 }\n  extra: 1\n",
    );
    assert_eq!(
        found(&document),
        [
            "1:11 wrong-type",
            "2:1 missing-field",
            "4:19 unknown-key",
            "5:15 null-text",
            "7:7 rule-without-serve",
            "9:13 missing-field",
            "9:13 missing-field",
            "9:37 not-a-number",
            "10:27 select-out-of-range",
            "11:3 unknown-key",
        ]
    );
    assert!(document.payload.is_none());
}

#[test]
fn a_repository_of_other_files_gets_a_hint() {
    let document = yaml("name: ci\non: push\n");
    assert!(document.diagnostics[0].help.as_deref().unwrap().contains("--root"));
}

#[test]
fn a_misspelt_key_is_not_taken_for_another_file() {
    let document = yaml(GOOD.replace("disabled:", "disabeld:").replace("content:", "Content:"));
    let help: Vec<_> = document.diagnostics.iter().filter_map(|one| one.help.as_deref()).collect();
    assert!(
        help.contains(&"did you mean `disabled`?") && help.contains(&"did you mean `content`?"),
        "{help:?}"
    );
}
