//! A mistake that tears a part of a document into several has one finding, whose help restores what was meant.

use super::*;

const DOCUMENT: &str = r#"disabled: false
content:
  variations:
    - name: "off"
      value: "false"
    - name: "on"
      value: "true"
  rules:
    - name: adults
      conditions:
        - type: string
          subject: country
          predicate: is one of
          objects: ["AT", "CH"]
        - { type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["18"], rightPredicate: "<", rightObjects: ["65"] }
      serve: { variation: "on" }
  disabledServe: { variation: "off" }
  defaultServe: { variation: "off" }
"#;

/// Checks that [`DOCUMENT`] with another text has exactly this finding. What the help says is `to` instead of `from`,
/// which gives the document back.
fn solved(from: &str, to: &str, place: &str, message: &str, help: &str) {
    assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
    let text = DOCUMENT.replace(from, to);
    let found = featureprobe(&text).diagnostics;
    let [one] = &found[..] else { panic!("{to}: {found:#?}") };
    let own = one.help.as_deref().unwrap();
    let own = own.split("; the service accepts").next().unwrap();
    assert_eq!(
        (format!("{}:{} {}", one.line, one.column, one.id).as_str(), one.message.as_str(), own),
        (place, message, help),
        "{to}"
    );
}

#[test]
fn the_document_without_a_mistake_has_no_finding() {
    assert_eq!(featureprobe(DOCUMENT).diagnostics, []);
}

#[test]
fn a_dash_before_a_key_of_the_item_above_is_one_finding() {
    solved(
        "      serve: {",
        "    - serve: {",
        "16:7 missing-field",
        "this rule has only `serve`, and the item above has what it lacks",
        "write a space in place of the dash before `serve`, which belongs to the rule above",
    );
    solved(
        "      conditions:\n",
        "    - conditions:\n",
        "10:7 missing-field",
        "this rule has only `conditions` and `serve`, and the item above has what it lacks",
        "write a space in place of the dash before `conditions`, which belongs to the rule above",
    );
    solved(
        "          subject: country\n          predicate: is one of\n          objects",
        "        - subject: country\n        - predicate: is one of\n        - objects",
        "12:11 missing-field",
        "this condition has only `subject`, and the item above has what it lacks",
        "write a space in place of the dash before `subject`, `predicate` and `objects`, which belong to the condition above",
    );
}

/// Braces have no dash to remove, and two items with the same key are two.
#[test]
fn items_are_put_together_only_if_they_are_parts_of_one() {
    let found = featureprobe(&DOCUMENT.replace(
        "        - type: string\n          subject: country\n          predicate: is one of\n          objects: [\"AT\", \"CH\"]\n",
        "        - { type: string, subject: country }\n        - { predicate: is one of, objects: [AT, CH] }\n",
    ));
    let [one] = &found.diagnostics[..] else { panic!("{found:#?}") };
    let help = "write `predicate` and `objects` into the condition above";
    assert_eq!((one.id, one.help.as_deref()), ("missing-field", Some(help)));
    for (from, to) in [
        ("      serve: {", "    - name: others\n      serve: {"),
        ("      serve: {", "    - conditions: []\n      serve: {"),
        ("      serve: { variation: \"on\" }\n", "    - rollout: 10\n"),
    ] {
        let found = featureprobe(&DOCUMENT.replace(from, to)).diagnostics;
        assert!(found.len() > 1, "{to}: {found:#?}");
    }
}

/// What is put together is checked as one.
#[test]
fn a_part_that_is_put_together_has_its_other_findings() {
    let text = DOCUMENT
        .replace("      serve: {", "    - serve: {")
        .replace("predicate: is one of", "predicate: is one off")
        .replace("{ variation: \"on\" }", "{ variation: \"onn\" }");
    let found = featureprobe(&text);
    assert_eq!(
        super::found(&found),
        ["13:22 unknown-predicate", "16:7 missing-field", "16:27 unknown-variation"]
    );
}

#[test]
fn objects_in_braces_without_brackets_are_one_finding() {
    solved(
        "objects: [\"18\"]",
        "objects: 18, 21",
        "15:91 wrong-type",
        "`objects` is a list, not `18, 21`",
        "write `objects: [\"18\", \"21\"]`",
    );
    solved(
        "rightObjects: [\"65\"]",
        "rightObjects: 60, \"65\", 70",
        "15:134 wrong-type",
        "`rightObjects` is a list, not `60, 65, 70`",
        "write `rightObjects: [\"60\", \"65\", \"70\"]`",
    );
}

/// The help on an indentation is that of the keys beside which the key belongs.
#[test]
fn a_key_that_is_too_deep_is_to_be_indented_like_those_of_its_part() {
    for blanks in [7, 8, 9, 10] {
        let to = format!("{}serve: {{", " ".repeat(blanks));
        let found = featureprobe(&DOCUMENT.replace("      serve: {", &to)).diagnostics;
        let [one] = &found[..] else { panic!("{blanks}: {found:#?}") };
        assert_eq!((one.line, one.id), (16, "syntax"), "{blanks}");
        assert_eq!(one.help.as_deref(), Some("indent it by 6 spaces"), "{blanks}: {one:#?}");
    }
}
