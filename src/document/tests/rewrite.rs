//! A document that is rewritten for another targeting keeps what means the same, with its comments.

use super::*;
use crate::document::rewrite;
use crate::model::{Condition, Prerequisite, ReturnType, Rule};

const DOCUMENT: &str = r#"# The owner is @acme/shop.
disabled: false   # since May
content:
  variations:
    # gitoggle: allow(unused-variation) for the next release
    - { name: "third", value: "3" }
    - name: "off"   # nothing
      value: "1"
    - { name: "on", value: "2", description: "New page" }
  rules:
    # Decided in May.
    - name: adults
      conditions:
        - { type: number, subject: age, predicate: ">", objects: ["18"] }   # not 21
        - type: string
          subject: country
          predicate: is one of
          objects:
            - AT   # Austria
            - CH   # Switzerland
      serve: { select: 2 }   # the page
    # Nobody else.
    - { name: rest, conditions: [{ type: segment, predicate: is in, objects: [staff] }], serve: { variation: "on" } }
  # The safe value.
  disabledServe: { select: 1 }
  defaultServe:
    # Half of them.
    split: { "on": 50, "off": 50 }
# The end.
"#;

fn rewritten(text: &str, targeting: &Targeting) -> String {
    let content = Blob::Content(text.as_bytes().to_vec());
    rewrite(&content, &Payload::new(targeting), ServiceKind::FeatureProbe).expect("it can be rewritten")
}

fn targeting() -> Targeting {
    featureprobe(DOCUMENT).payload.unwrap().targeting()
}

/// A generator writes JSON into `.yaml` files. Texts may look like YAML, and comments are not possible.
#[test]
fn json_stays_json_with_its_layout_and_its_byte_order_mark() {
    let json = r#"{
  "disabled": false,
  "content": {
    "variations": [
      {"name": "off", "value": "false"},
      {"name": "on", "value": "true"}
    ],
    "rules": [
      {"name": "adults", "conditions": [
        {"type": "number", "subject": "age", "predicate": ">", "objects": [18]}
      ], "serve": {"variation": "on"}}
    ],
    "disabledServe": {"select": 0},
    "defaultServe": {"variation": "off"}
  }
}
"#;
    let one_line: String = json.lines().map(str::trim).collect();
    let windows = json.replace('\n', "\r\n");
    let first = featureprobe(json).payload.unwrap().targeting();
    let rule = |name: &str| Rule { name: name.to_owned(), ..first.content.rules[0].clone() };
    let change = |change: &dyn Fn(&mut Content)| {
        let mut changed = first.clone();
        change(&mut changed.content);
        changed
    };
    let all = [
        change(&|content| content.rules[0].name = "new first: yes".to_owned()),
        change(&|content| content.rules.push(rule("second"))),
        change(&|content| content.rules.insert(0, rule("first"))),
        change(&|content| content.rules.clear()),
        change(&|content| content.default_serve = Serve::Split(vec![2500, 7500])),
        change(&|content| content.rules[0].conditions[0].objects = vec!["1.10".to_owned(), "2".to_owned()]),
        Targeting { disabled: true, ..first.clone() },
    ];
    for text in [json, &one_line, &windows, &format!("\u{feff}{json}"), &format!("\u{feff}{one_line}")] {
        for changed in &all {
            let after = rewritten(text, changed);
            let bare = after.strip_prefix('\u{feff}');
            assert_eq!(bare.is_some(), text.starts_with('\u{feff}'), "{after}");
            let bare = bare.unwrap_or(&after);
            assert!(serde_json::from_str::<serde_json::Value>(bare).is_ok(), "{after}");
            assert_eq!(featureprobe(&after).payload, Some(Payload::new(changed)), "{after}");
            assert_eq!(bare.contains('\n'), text.contains('\n'), "{after}");
            assert_eq!(bare.matches("\r\n").count() > 0, text.contains("\r\n"), "{after}");
            assert!(bare.contains("variation"), "serves keep their form: {after}");
        }
    }
    let renamed = rewritten(json, &all[0]);
    assert_eq!(renamed, json.replace("\"adults\"", "\"new first: yes\""));
    let marked = rewritten(&format!("\u{feff}{DOCUMENT}"), &targeting());
    assert_eq!(marked, format!("\u{feff}{DOCUMENT}"));
}

#[test]
fn a_changed_value_is_the_only_line_that_changes() {
    let mut changed = targeting();
    changed.content.rules[0].conditions[0].objects = vec!["21".to_owned()];
    assert_eq!(rewritten(DOCUMENT, &changed), DOCUMENT.replace("[\"18\"]", "[\"21\"]"));
    let mut changed = targeting();
    changed.content.variations[1].value = "10".to_owned();
    changed.disabled = true;
    changed.content.rules[1].name = "others".to_owned();
    changed.content.disabled_serve = Serve::Select(0);
    changed.content.rules[1].serve = Serve::Select(1);
    let expected = DOCUMENT
        .replace("value: \"1\"", "value: \"10\"")
        .replace("disabled: false", "disabled: true")
        .replace("name: rest", "name: others")
        .replace("disabledServe: { select: 1 }", "disabledServe: { select: 0 }")
        .replace("serve: { variation: \"on\" }", "serve: { variation: \"off\" }");
    assert_eq!(rewritten(DOCUMENT, &changed), expected);
}

/// Each line of what stays is there as it was, with its odd layout.
#[test]
fn what_is_added_or_removed_changes_no_other_line() {
    const ODD: &str = r#"# The owner is @acme/shop.
disabled:   false   # since May

content:
    variations:
      # Nothing.
      -   name: "off"
          value: '1'
      - {name: "on",   value: '2'}

    rules:
    # Decided in May.
    - name:   adults
      conditions:
      - { type: number, subject: age,   predicate: ">", objects: ["18"] }   # not 21
      - {type: string, subject: country, predicate: is one of, objects: [AT,   CH]}
      serve: {select: 1}   # the page

    # Nobody else.
    - { name: rest, conditions: [], serve: { variation: "on" } }
    disabledServe:   { select: 0 }   # safe
    defaultServe:
      split: { "on": 50, "off": 50 }
    prerequisites: []
"#;
    let original = featureprobe(ODD).payload.unwrap().targeting();
    type Change = fn(&mut Content);
    let changes: &[(Change, &[&str])] = &[
        (|content| drop(content.rules.remove(1)), &["# Nobody else.", "- { name: rest, "]),
        (
            |content| drop(content.rules.remove(0)),
            &[
                "# Decided",
                "- name:   adults",
                "conditions:\n",
                "- { type: n",
                "- {type: s",
                "serve: {select: 1}",
            ],
        ),
        (
            |content| content.rules.clear(),
            &[
                "rules:",
                "# Decided",
                "- name:   adults",
                "conditions:\n",
                "- { type: n",
                "- {type: s",
                "serve: {select: 1}",
                "# Nobody else.",
                "- { name: rest, ",
            ],
        ),
        (|content| content.rules.reverse(), &[]),
        (|content| content.rules.push(Rule { name: "new".to_owned(), ..content.rules[0].clone() }), &[]),
        (|content| content.rules.insert(1, Rule { name: "new".to_owned(), ..content.rules[0].clone() }), &[]),
        (
            |content| content.rules[1].conditions = content.rules[0].conditions[..1].to_vec(),
            &["- { name: rest, "],
        ),
        (|content| drop(content.rules[0].conditions.remove(0)), &["- { type: n"]),
        (|content| drop(content.rules[0].conditions.remove(1)), &["- {type: s"]),
        (|content| content.rules[0].conditions.clear(), &["conditions:\n", "- { type: n", "- {type: s"]),
        (
            |content| {
                let own = Condition { subject: "years".to_owned(), ..content.rules[0].conditions[0].clone() };
                content.rules[0].conditions.push(own);
            },
            &[],
        ),
        (|content| content.rules[0].conditions[1].objects.push("DE".to_owned()), &["- {type: s"]),
        (|content| content.rules[0].serve = Serve::Split(vec![5000, 5000]), &["serve: {select: 1}"]),
        (|content| content.default_serve = Serve::Select(1), &["defaultServe:", "split: {"]),
        (|content| content.default_serve = Serve::Split(vec![2500, 7500]), &["defaultServe:", "split: {"]),
        (|content| content.disabled_serve = Serve::Split(vec![1, 9999]), &["disabledServe:"]),
        (
            |content| {
                let new =
                    Variation { name: "new".to_owned(), value: "3".to_owned(), description: String::new() };
                content.variations.push(new);
                content.default_serve = Serve::Split(vec![5000, 5000, 0]);
            },
            &[],
        ),
        (
            |content| {
                let kind = ReturnType::Boolean;
                content.prerequisites =
                    Some(vec![Prerequisite { key: "base".to_owned(), value: "true".to_owned(), kind }]);
            },
            &["prerequisites: []"],
        ),
    ];
    for (at, (change, gone)) in changes.iter().enumerate() {
        for breaks in ["\n", "\r\n"] {
            let mut changed = original.clone();
            change(&mut changed.content);
            let text = rewritten(&ODD.replace('\n', breaks), &changed);
            assert_eq!(featureprobe(&text).payload, Some(Payload::new(&changed)), "{at}\n{text}");
            for line in ODD.split_inclusive('\n').filter(|line| !line.trim().is_empty()) {
                let is_gone = gone.iter().any(|gone| line.trim_start().starts_with(gone));
                assert!(is_gone || text.contains(&line.replace('\n', breaks)), "{at}: {line:?}\n{text}");
            }
            assert_eq!(text.matches('\n').count(), text.matches(breaks).count());
        }
    }
}

#[test]
fn what_is_gone_takes_its_comments_along_and_the_others_stay() {
    let mut changed = targeting();
    changed.content.rules[0].conditions[1].objects = vec!["CH".to_owned(), "DE".to_owned()];
    changed.content.rules.reverse();
    changed.content.default_serve = Serve::Select(1);
    let text = rewritten(DOCUMENT, &changed);
    for kept in DOCUMENT.match_indices('#').map(|(at, _)| DOCUMENT[at..].lines().next().unwrap()) {
        let is_gone = kept == "# Austria";
        assert_eq!(text.contains(kept), !is_gone, "{kept}\n{text}");
    }
    assert!(text.contains("# Nobody else.\n    - name: rest") && text.contains("CH # Switzerland"), "{text}");
    assert!(text.contains("serve: { select: 2 } # the page"), "{text}");
    changed.content.rules.pop();
    let text = rewritten(&text, &changed);
    assert!(!text.contains("# Decided in May.") && text.contains("# Nobody else."), "{text}");
}

#[test]
fn an_item_that_changed_keeps_its_comments_where_others_are_added() {
    let mut changed = targeting();
    let content = &mut changed.content;
    content.variations[0].name = "3rd".to_owned();
    content.variations[0].value = "30".to_owned();
    let fourth = Variation { name: "fourth".to_owned(), value: "4".to_owned(), description: String::new() };
    content.variations.push(fourth);
    content.default_serve = Serve::Split(vec![0, 5000, 5000, 0]);
    let mut rule = content.rules[1].clone();
    rule.name = "others".to_owned();
    content.rules[0].name = "grown-ups".to_owned();
    let condition = &mut content.rules[0].conditions[0];
    condition.subject = "years".to_owned();
    condition.objects = vec!["21".to_owned()];
    let mut more = condition.clone();
    more.subject = "months".to_owned();
    content.rules[0].conditions.push(more);
    content.rules.push(rule);
    let text = rewritten(DOCUMENT, &changed);
    for kept in DOCUMENT.match_indices("# ").map(|(at, _)| DOCUMENT[at..].lines().next().unwrap()) {
        assert!(text.contains(kept), "{kept}\n{text}");
    }
    assert!(text.contains("for the next release\n    - { name: \"3rd\", value: \"30\" }\n"), "{text}");
    assert!(text.contains("# Decided in May.\n    - name: grown-ups"), "{text}");
}

#[test]
fn a_field_that_is_added_to_a_mapping_in_braces_is_the_only_change() {
    let mut changed = targeting();
    changed.content.variations[0].description = "Old page".to_owned();
    let expected = DOCUMENT.replace("value: \"3\" }", "value: \"3\", description: Old page }");
    assert_eq!(rewritten(DOCUMENT, &changed), expected);
}

#[test]
fn json_is_written_in_single_quotes() {
    let mut changed = targeting();
    changed.content.variations[0].value = r#"{"a":"it's","b":[1]}"#.to_owned();
    let text = rewritten(DOCUMENT, &changed);
    assert!(text.contains(r#"value: '{"a":"it''s","b":[1]}'"#), "{text}");
    changed.content.variations[0].value = "{\"a\":\n\"\\\\\"}".to_owned();
    let text = print(&changed, ServiceKind::FeatureProbe);
    assert!(text.contains(r#""{\"a\":\n\"\\\\\"}""#), "{text}");
}

proptest! {
    #[test]
    fn comments_survive_random_changes(
        value in "[a-z0-9:#{}'\" -]{0,12}", name in "[a-z #:]{1,8}", objects in proptest::collection::vec("[A-Z]{2}", 1..4),
        is_disabled: bool, swaps: bool, weight in 0..=10_000_u32, index in 0..3_u32, drops in 0..4_u8,
    ) {
        let mut changed = targeting();
        changed.disabled = is_disabled;
        changed.content.variations[0].value = value;
        changed.content.rules[1].name = name;
        changed.content.rules[0].conditions[1].objects = objects;
        changed.content.rules[1].serve = Serve::Split(vec![0, weight, 10_000 - weight]);
        changed.content.disabled_serve = Serve::Select(index);
        if swaps {
            changed.content.rules.swap(0, 1);
        }
        if drops == 0 {
            changed.content.rules[usize::from(swaps)].conditions.clear();
        }
        let payload = Payload::new(&changed);
        if featureprobe(&print(&changed, ServiceKind::FeatureProbe)).payload.is_some() {
            let text = rewritten(DOCUMENT, &changed);
            prop_assert_eq!(featureprobe(&text).payload, Some(payload));
            let gone: &[&str] = match drops {
                0 => &["# Austria", "# Switzerland", "# not 21"],
                _ => &["# Austria", "# Switzerland"],
            };
            for kept in DOCUMENT.match_indices("# ").map(|(at, _)| DOCUMENT[at..].lines().next().unwrap()) {
                prop_assert!(text.contains(kept) || gone.contains(&kept), "{}\n{}", kept, text);
            }
            // Nothing changes anew.
            prop_assert_eq!(rewritten(&text, &changed), text);
        }
    }
}
