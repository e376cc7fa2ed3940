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
