//! A mistake that tears a part of a document into several has one finding, whose help restores what was meant.

use super::*;

pub(super) const DOCUMENT: &str = r#"disabled: false
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

/// An anchor, and a tag that denies a predicate, are the beginning of a text.
#[test]
fn a_text_that_begins_with_a_sign_of_yaml_is_to_be_quoted() {
    for (to, help) in [
        ("!starts with", "did you mean `does not start with`?"),
        ("!ends with", "did you mean `does not end with`?"),
    ] {
        assert!(written("is one of", to).starts_with(help), "{to}");
        let fixed = featureprobe(&DOCUMENT.replace("is one of", help.split('`').nth(1).unwrap()));
        assert_eq!(fixed.diagnostics, [], "{to}");
    }
    // The text is not absent as well.
    let help = written("\"AT\", \"CH\"", "&acme");
    assert!(help.ends_with("quote a value that begins with `&` or `*`"), "{help}");
    assert_eq!(featureprobe(&DOCUMENT.replace("\"AT\", \"CH\"", "\"&acme\"")).diagnostics, []);
    for (to, help) in [
        ("subject： country", "write a colon after the key: `subject: country`"),
        ("subject = country", "write a colon after the key: `subject: country`"),
    ] {
        let own = format!("{{ type: string, {to}, predicate: is one of, objects: [AT] }}");
        let found = featureprobe(&DOCUMENT.replace(BETWEEN, &own)).diagnostics;
        let [one] = &found[..] else { panic!("{to}: {found:#?}") };
        assert_eq!(one.help.as_deref(), Some(help));
    }
}

const BETWEEN: &str = "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<\", rightObjects: [\"65\"] }";

/// Returns the help on the only error in [`DOCUMENT`] with another text.
pub(super) fn written(from: &str, to: &str) -> String {
    assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
    let found = featureprobe(&DOCUMENT.replace(from, to)).diagnostics;
    let errors: Vec<_> = found.into_iter().filter(|one| one.severity == Severity::Error).collect();
    let [one] = &errors[..] else { panic!("{to}: {errors:#?}") };
    one.help.clone().unwrap_or_default()
}

/// Who follows a help on a rollout gets the shares that are written, or none.
#[test]
fn a_help_on_a_rollout_has_the_shares_that_are_written() {
    let serve = "serve: { variation: \"on\" }";
    for (to, split) in [
        ("serve: { percentage: 10 }", "{ \"on\": 10, \"off\": 90 }"),
        ("serve: { percentage: 12.5% }", "{ \"on\": 12.5, \"off\": 87.5 }"),
        ("serve: { rollout: 10, variation: \"on\" }", "{ \"on\": 10, \"off\": 90 }"),
        ("serve: { rollout: 10, variation: \"off\" }", "{ \"off\": 10, \"on\": 90 }"),
        ("serve: { percentage: 100 }", "{ \"on\": 100 }"),
        ("serve: { split: 10 }", "{ \"on\": 10, \"off\": 90 }"),
        ("serve: 10%", "{ \"on\": 10, \"off\": 90 }"),
        ("serve: { variation: \"on\" }\n      percentage: 10", "{ \"on\": 10, \"off\": 90 }"),
        ("percentage: 10\n      serve: { variation: \"off\" }", "{ \"off\": 10, \"on\": 90 }"),
        ("variation: \"on\"\n      percentage: 10", "{ \"on\": 10, \"off\": 90 }"),
        ("variation: \"on\"\n      percentage: { \"on\": 5, \"off\": 95 }", "{ \"on\": 5, \"off\": 95 }"),
        ("rollout: 10", "{ \"on\": 10, \"off\": 90 }"),
        ("rolloutPercentage: 10", "{ \"on\": 10, \"off\": 90 }"),
        ("parameters: { rollout: \"10\", stickiness: default }", "{ \"on\": 10, \"off\": 90 }"),
        ("serve: { variation: \"on\" }\n      parameters: { rollout: 10 }", "{ \"on\": 10, \"off\": 90 }"),
        // It is not the index of a variation.
        ("percentage: 1", "{ \"on\": 1, \"off\": 99 }"),
        ("rollout: 1", "{ \"on\": 1, \"off\": 99 }"),
    ] {
        let help = written(serve, to);
        assert!(help.contains(&format!("split: {split}")), "{to}: {help}");
        let fixed = featureprobe(&DOCUMENT.replace(serve, &format!("serve: {{ split: {split} }}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{to}: {:#?}", fixed.diagnostics);
    }
    for to in [
        "serve: { split: \"10/90\" }",
        "serve: { percentage: 0.1 }",
        "serve: { \"on\": 20, \"off\": 70 }",
        "serve: { split: { \"on\": ~, \"off\": ten } }",
        "serve: { percentage: ten }",
    ] {
        let found = featureprobe(&DOCUMENT.replace(serve, to)).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.contains("{ \"off\": …, \"on\": … }")), "{to}: {helps:?}");
        assert!(!helps.iter().any(|help| help.contains("25")), "{to}: {helps:?}");
    }
    let help = written(serve, "serve: { split: { \"on\": 10, \"off\": ~ } }");
    assert_eq!(help, "write `\"off\": 90` if this variation has the rest");
    assert_eq!(
        featureprobe(&DOCUMENT.replace(serve, "serve: { split: { \"on\": 10, \"off\": 90 } }")).diagnostics,
        []
    );
}

/// A share that stands alone is not that of everyone: the other variation has the rest, or only the author knows it.
#[test]
fn a_share_that_stands_alone_is_never_made_the_whole() {
    let serve = "serve: { variation: \"on\" }";
    let last = "defaultServe: { variation: \"off\" }";
    const TEN: &str = "{ \"on\": 10, \"off\": 90 }";
    for (from, to, split) in [
        (serve, "serve: { split: { \"on\": 10 } }", TEN),
        (serve, "serve: { split: { \"on\": 10% } }", TEN),
        (serve, "serve: { split: { \"off\": 90 } }", "{ \"off\": 90, \"on\": 10 }"),
        (serve, "serve: { split: { \"on\": { weight: 10 } } }", TEN),
        (serve, "serve: { split: [ { variation: \"on\", weight: 10 } ] }", TEN),
        (serve, "serve: { \"on\": 10 }", TEN),
        (serve, "serve: [ { \"on\": 10 } ]", TEN),
        (serve, "serve: { distribution: [ { variation: \"on\", weight: 10 } ] }", TEN),
        (serve, "serve: { \"on\": 12.5 }", "{ \"on\": 12.5, \"off\": 87.5 }"),
        (serve, "serve: { \"on\": 100 }", "{ \"on\": 100 }"),
        (serve, "distributions: [ { variantKey: \"on\", rollout: 10 } ]", TEN),
        (serve, "percentage: { \"on\": 10 }", TEN),
        (serve, "rollout: { percentage: 10 }", TEN),
        (serve, "serve: { rollout: { percentage: 10 }, variation: \"on\" }", TEN),
        (serve, "serve: { variation: \"on\" }\n      rollout: { percentage: 10 }", TEN),
        (
            serve,
            "serve: { variation: \"off\" }\n      rollout: { weight: 90, bucketBy: mail }",
            "{ \"off\": 90, \"on\": 10 }",
        ),
        (serve, "serve: { variation: \"on\" }\n      weight: 10", TEN),
        (serve, "variation: \"on\"\n      weight: 10", TEN),
        (serve, "serve: { variation: \"on\" }\n      ramp: 10", TEN),
        (serve, "serve: { variation: \"on\" }\n      traffic: 10%", TEN),
        (last, "defaultServe: { \"on\": 10 }", TEN),
        (last, "defaultServe: { split: { \"on\": 10 } }", TEN),
    ] {
        let help = written(from, to);
        assert!(
            help.contains(&format!("`{split}`")) || help.contains(&format!("split: {split}")),
            "{to}: {help}"
        );
        let key = from.split(':').next().unwrap();
        let fixed = featureprobe(&DOCUMENT.replace(from, &format!("{key}: {{ split: {split} }}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{to}: {:#?}", fixed.diagnostics);
    }
    for to in [
        "serve: { split: { \"on\": 0.1 } }",
        "serve: { split: { \"on\": 10, \"off\": 0 } }",
        "serve: { split: { \"on\": 1, \"off\": 0 } }",
        "serve: { split: [10] }",
        "serve: { split: [10, 0] }",
        "serve: { \"on\": 0.1 }",
        "serve: { \"on\": 1000 }",
        "serve: { \"on\": 10, \"off\": 0 }",
        "serve: { variation: \"on\" }\n      rollout: { start: 10 }",
        "serve: { variation: \"on\" }\n      rollout: { initial: { percentage: 0 }, end: { percentage: 100 } }",
        "serve: { variation: \"on\" }\n      rolloutWeight: 10000",
        "serve: { variation: \"on\" }\n      probability: 0.1",
        "serve: { variation: \"on\" }\n      sample: 0.1",
    ] {
        let help = written(serve, to);
        assert!(help.contains('…') || help.contains("give the rest to one of them"), "{to}: {help}");
        assert!(!help.contains("100"), "{to}: {help}");
    }
    // Of three variations, only the author knows who has the rest.
    let three = DOCUMENT.replace("  rules:", "    - name: new\n      value: \"true\"\n  rules:");
    assert_ne!(three, DOCUMENT);
    for to in ["serve: { split: { \"on\": 10 } }", "serve: { \"on\": 10 }", "serve: { \"on\": 5, new: 5 }"] {
        let found = featureprobe(&three.replace(serve, to)).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(!helps.iter().any(|help| help.contains("100") || help.contains("50")), "{to}: {helps:?}");
    }
}

/// Who follows a help on a result in the notation of another tool serves the variation that is written.
#[test]
fn a_result_of_a_rule_under_another_key_is_its_serve() {
    let serve = "serve: { variation: \"on\" }";
    for to in [
        "then: \"on\"",
        "then: { variation: \"on\" }",
        "result: { variation: \"on\" }",
        "return: true",
        "value: \"on\"",
        "value: true",
        "treatment: \"on\"",
        "variationId: \"on\"",
        "select: \"on\"",
        "select: 1",
        "serve:\n        - variation: \"on\"",
        "serve: { serve: { variation: \"on\" } }",
    ] {
        let help = written(serve, to);
        assert!(help.contains("variation: \"on\"") && !help.contains("select"), "{to}: {help}");
    }
    let last = "defaultServe: { variation: \"off\" }";
    for to in [
        "else: { variation: \"off\" }",
        "otherwise: \"off\"",
        "fallback: false",
        "defaultServe:\n    - variation: \"off\"",
    ] {
        let help = written(last, to);
        assert!(help.contains("`defaultServe: { variation: \"off\" }`"), "{to}: {help}");
    }
}

/// A condition that looks right and matches others is worse than none.
#[test]
fn the_help_on_an_attribute_with_its_values_keeps_the_negation_and_the_type() {
    for (to, own) in [
        (
            "{ country: \"!AT\" }",
            "type: string, subject: \"country\", predicate: is not any of, objects: [\"AT\"]",
        ),
        (
            "{ country: \"!= AT\" }",
            "type: string, subject: \"country\", predicate: is not any of, objects: [\"AT\"]",
        ),
        (
            "{ country: not AT }",
            "type: string, subject: \"country\", predicate: is not any of, objects: [\"AT\"]",
        ),
        ("{ age: \">18\" }", "type: number, subject: \"age\", predicate: \">\", objects: [\"18\"]"),
        ("{ age: \">= 18\" }", "type: number, subject: \"age\", predicate: \">=\", objects: [\"18\"]"),
        ("{ age: 18+ }", "type: number, subject: \"age\", predicate: \">=\", objects: [\"18\"]"),
        ("{ age: 18 }", "type: number, subject: \"age\", predicate: \"=\", objects: [\"18\"]"),
        ("{ beta: true }", "type: string, subject: \"beta\", predicate: is one of, objects: [\"true\"]"),
        (
            "{ app: { $gt: \"1.2.3\" } }",
            "type: semver, subject: \"app\", predicate: \">\", objects: [\"1.2.3\"]",
        ),
        ("{ segmentKey: staff }", "type: segment, predicate: is in, objects: [\"staff\"]"),
    ] {
        let help = written(BETWEEN, to);
        assert!(help.starts_with(&format!("write `{own}`")), "{to}: {help}");
        let fixed = featureprobe(&DOCUMENT.replace(BETWEEN, &format!("{{ {own} }}")));
        assert!(fixed.payload.is_some(), "{to}: {:#?}", fixed.diagnostics);
    }
    for to in [
        "{ age: [18, 65] }",
        "{ age: 18-65 }",
        "{ version: \"^1.2\" }",
        "{ mail: \"/@acme[.]com$/\" }",
        "{ mail: \"*@acme.com\" }",
        "{ created: { $gt: \"2026-01-01\" } }",
        "{ age: { gte: 18, lt: 65 } }",
        "{ mail: { like: \"%x\" } }",
        "{ userIds: [a, b] }",
        "{ targetingKey: a }",
    ] {
        let help = written(BETWEEN, to);
        assert!(!help.contains("objects: ["), "{to}: {help}");
    }
}

/// What changes whom a rule matches, and when, is not removed with its key.
#[test]
fn a_key_of_a_rule_that_is_a_condition_is_written_as_one() {
    let serve = "      serve: {";
    for (own, condition) in [
        ("segment: staff", "type: segment, predicate: is in, objects: [\"staff\"]"),
        (
            "expires: 2026-12-01T00:00:00Z",
            "type: datetime, subject: now, predicate: before, objects: [\"2026-12-01T00:00:00+00:00\"]",
        ),
        (
            "startDate: 2026-12-01T01:00:00+01:00",
            "type: datetime, subject: now, predicate: after, objects: [\"2026-12-01T00:00:00+00:00\"]",
        ),
    ] {
        let help = written(serve, &format!("      {own}\n{serve}"));
        assert_eq!(
            help,
            format!("do not just remove it: write it below `conditions`, as `- {{ {condition} }}`")
        );
        let fixed = featureprobe(&DOCUMENT.replace(serve, &format!("        - {{ {condition} }}\n{serve}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{own}: {:#?}", fixed.diagnostics);
        let alone = DOCUMENT.split_once("      conditions:").unwrap().0.to_owned();
        let rest = DOCUMENT.split_once(serve).unwrap().1;
        let found = featureprobe(&format!("{alone}      {own}\n{serve}{rest}")).diagnostics;
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        assert_eq!(one.help, Some(format!("write `conditions: [{{ {condition} }}]` instead")));
    }
    for own in ["users: [a, b]", "skip: true"] {
        let help = written(serve, &format!("      {own}\n{serve}"));
        assert!(help.starts_with("do not just remove it"), "{own}: {help}");
    }
    let found = featureprobe(&DOCUMENT.replace("      conditions:\n", "      country: AT\n      allOf:\n"))
        .diagnostics;
    let repeated = found
        .iter()
        .filter_map(|one| one.help.as_deref())
        .filter(|help| help.starts_with("write `conditions"));
    assert_eq!(repeated.count(), 1, "{found:#?}");
    let all = written("      conditions:\n", "      allOf:\n");
    assert_eq!(all, "write `conditions` instead of `allOf`");
}

/// A serve has one choice, and which of those that are written is meant, only its author knows.
#[test]
fn a_serve_with_several_choices_has_a_help_with_each_of_them() {
    let serve = "serve: { variation: \"on\" }";
    for (to, help, kept) in [
        (
            "variation: \"on\", split: { \"on\": 10, \"off\": 90 }",
            "keep one of the two: `variation: \"on\"` or `split: { \"on\": 10, \"off\": 90 }`",
            &["variation: \"on\"", "split: { \"on\": 10, \"off\": 90 }"][..],
        ),
        (
            "select: 0, variation: \"on\"",
            "keep one of the two: `variation: \"on\"` or `select: 0` (`off`)",
            &["variation: \"on\"", "select: 0"],
        ),
        (
            "variation: \"on\", select: 1",
            "keep one of the two: `variation: \"on\"` or `select: 1` (`on`), which serve the same",
            &["variation: \"on\"", "select: 1"],
        ),
        (
            "variation: \"on\", select: 0, split: [2500, 7500]",
            "keep one of the three: `variation: \"on\"` or `select: 0` (`off`) or `split: [2500, 7500]`",
            &["variation: \"on\"", "select: 0", "split: [2500, 7500]"],
        ),
        // One that is wrong itself would be the next finding.
        ("variation: onn, select: 1", "keep `select: 1` (`on`), and remove the rest", &["select: 1"]),
        (
            "variation: \"on\", select: 7",
            "keep `variation: \"on\"`, and remove the rest",
            &["variation: \"on\""],
        ),
        ("variation: onn, select: 7", "keep one of the two: `variation: \"onn\"` or `select: 7`", &[]),
    ] {
        assert_eq!(written(serve, &format!("serve: {{ {to} }}")), help);
        for kept in kept {
            assert!(help.contains(kept), "{help}");
            let fixed = featureprobe(&DOCUMENT.replace(serve, &format!("serve: {{ {kept} }}")));
            assert!(
                !fixed.diagnostics.iter().any(|one| one.severity == Severity::Error),
                "{:#?}",
                fixed.diagnostics
            );
        }
    }
    let many: Vec<String> = (0..200).map(|index| format!("v{index}: 0.5")).collect();
    let help = written(serve, &format!("serve: {{ variation: \"on\", split: {{ {} }} }}", many.join(", ")));
    assert_eq!(help, "keep `variation: \"on\"`, and remove the rest");
}

/// The bounds that are written stand in the help, which gives one condition without a finding.
#[test]
fn a_between_in_another_form_is_one_finding_with_its_bounds() {
    const NUMBERS: [&str; 2] = ["\"21\"", "\"30\""];
    const TIMES: [&str; 2] = ["\"2026-12-01T09:00:00+00:00\"", "\"2026-12-24T18:00:00+00:00\""];
    let times = ["2026-12-01T09:00:00Z", "2026-12-24T18:00:00Z"];
    for (own, predicates, objects) in [
        ("type: number, subject: age, predicate: between, min: 21, max: 30", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, from: 21, to: 30", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, gte: 21, lt: 30", [">=", "<"], NUMBERS),
        ("type: number, subject: age, gt: 21, lte: 30", [">", "<="], NUMBERS),
        ("subject: age, min: 21, max: 30", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: \">\", objects: [21], max: 30", [">", "<="], NUMBERS),
        ("type: number, subject: age, predicate: \"<\", objects: [30], min: 21", [">=", "<"], NUMBERS),
        (
            "type: number, subject: age, leftPredicate: \">\", rightPredicate: \"<\", objects: [21, 30]",
            [">", "<"],
            NUMBERS,
        ),
        ("type: int, subject: age, min: \"21\", max: [30]", [">=", "<="], NUMBERS),
        ("type: number, attribute: age, operator: BETWEEN, values: [21, 30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, values: [21, 30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, values: [30, 21]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: range, objects: [21, 30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [21-30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"21..30\"]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: \"21-30\"", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, value: \"21 to 30\"", [">=", "<="], NUMBERS),
        (
            "type: number, subject: age, predicate: between, objects: { min: 21, max: 30 }",
            [">=", "<="],
            NUMBERS,
        ),
        ("type: number, subject: age, between: [21, 30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, bounds: [21, 30]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, value1: 21, value2: 30", [">=", "<="], NUMBERS),
        ("type: number, subject: age, range: { gt: 21, lt: 30 }", [">", "<"], NUMBERS),
        (
            "type: number, subject: age, predicate: between, objects: [21], objects: [30]",
            [">=", "<="],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, leftPredicate: \">\", objects: [21], rightPredicate: \"<\", objects: [30]",
            [">", "<"],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, leftPredicate: \">\", leftObjects: [21], rightPredicate: \"<\", rightObjects: [30]",
            [">", "<"],
            NUMBERS,
        ),
        (
            "type: number, subject: age, leftPredicate: gt, objects: [21], rightPredicate: lt, rightValue: 30",
            [">", "<"],
            NUMBERS,
        ),
        ("type: number, subject: age, predicate: between, values: [\">21\", \"<30\"]", [">", "<"], NUMBERS),
        (
            "type: number, subject: age, predicate: between, leftPredicate: \">\", rightPredicate: \"<=\", objects: [21, 30]",
            [">", "<="],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, leftPredicate: gt, rightPredicate: lte, objects: [30, 21]",
            [">", "<="],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, leftPredicate: \">\", objects: [21, 30]",
            [">", "<="],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, objects: [\">21\", \"<=30\"]",
            [">", "<="],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, objects: [\"<=30\", \">21\"]",
            [">", "<="],
            NUMBERS,
        ),
        ("type: number, subject: age, predicate: between, objects: [\">21\", \"30\"]", [">", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"21 AND 30\"]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"21…30\"]", [">=", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"(21,30]\"]", [">", "<="], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"[21;30)\"]", [">=", "<"], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"]21,30[\"]", [">", "<"], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\"21 <= x < 30\"]", [">=", "<"], NUMBERS),
        ("type: number, subject: age, predicate: between, objects: [\">=21 <30\"]", [">=", "<"], NUMBERS),
        (
            "type: number, subject: age, predicate: between, leftPredicate: \">\", rightPredicate: \"<\", objects: [\"21-30\"]",
            [">", "<"],
            NUMBERS,
        ),
        (
            "type: number, subject: age, predicate: between, objects: [\"-5--1\"]",
            [">=", "<="],
            ["\"-5\"", "\"-1\""],
        ),
        (
            "type: semver, subject: app, predicate: between, objects: [\">1.2.0 <=2.0.0\"]",
            [">", "<="],
            ["\"1.2.0\"", "\"2.0.0\""],
        ),
        (
            "type: semver, subject: app, predicate: between, min: 1.2, max: v2.0.0",
            [">=", "<="],
            ["\"1.2.0\"", "\"2.0.0\""],
        ),
        (
            "type: semver, subject: app, predicate: between, objects: [\">=1.2.0 <2.0.0\"]",
            [">=", "<"],
            ["\"1.2.0\"", "\"2.0.0\""],
        ),
        (
            &format!(
                "type: datetime, subject: now, predicate: between, from: {}, to: {}",
                times[0], times[1]
            ),
            ["after", "before"],
            TIMES,
        ),
        (
            &format!("type: datetime, subject: now, after: {}, before: {}", times[0], times[1]),
            ["after", "before"],
            TIMES,
        ),
        (
            "type: datetime, subject: now, predicate: between, objects: [\"2026-12-01T09:00:00Z/2026-12-24T18:00:00Z\"]",
            ["after", "before"],
            TIMES,
        ),
        (
            "type: datetime, subject: now, min: 2026-12-01T09:00:00.5Z, max: 2026-12-24T18:00:00Z",
            ["after", "before"],
            TIMES,
        ),
        (
            "type: datetime, subject: now, start: 2026-12-01T09:00, end: 2026-12-24 18:00",
            ["after", "before"],
            TIMES,
        ),
    ] {
        let help = written(BETWEEN, &format!("{{ {own} }}"));
        let predicates = predicates.map(|one| match one.starts_with(char::is_alphabetic) {
            true => one.to_owned(),
            false => format!("\"{one}\""),
        });
        let form = format!(
            "predicate: between, leftPredicate: {}, objects: [{}], rightPredicate: {}, rightObjects: [{}]",
            predicates[0], objects[0], predicates[1], objects[1]
        );
        let first = help.split('`').nth(1).unwrap();
        assert!(first.ends_with(&form), "{own}: {help}");
        // What stays is the type, unless the help has it, and the attribute.
        let stays = own.split(", ").filter(|part| {
            part.starts_with("subject") || part.starts_with("type") && !first.starts_with("type")
        });
        let all: Vec<&str> = stays.chain([first]).collect();
        let fixed = format!("{{ {} }}", all.join(", "));
        let found = featureprobe(&DOCUMENT.replace(BETWEEN, &fixed));
        assert_eq!(found.diagnostics, [], "{own}: {fixed}");
    }
}

/// One bound is no `between`, and what is not a bound is not made into one.
#[test]
fn a_between_is_put_together_only_if_both_bounds_are_certain() {
    let help = written(BETWEEN, "{ type: number, subject: age, predicate: between, min: 21 }");
    let one = "predicate: \">=\", objects: [\"21\"]";
    assert_eq!(
        help,
        format!("write `{one}` in place of `min` if there is no other bound: `between` has two")
    );
    let fixed = DOCUMENT.replace(BETWEEN, &format!("{{ type: number, subject: age, {one} }}"));
    assert_eq!(featureprobe(&fixed).diagnostics, []);
    for own in [
        "type: number, subject: age, predicate: \">=\", min: 21, max: 30",
        "type: string, subject: age, predicate: between, min: a, max: b",
        "type: number, subject: age, predicate: between, min: low, max: high",
        "type: number, subject: age, objects: [21], objects: [30]",
        "type: number, subject: age, predicate: between, objects: [21, 25, 30]",
        "type: number, subject: age, operator: \">=\", values: [21, 30]",
        "min: 21, max: 30",
    ] {
        let found = featureprobe(&DOCUMENT.replace(BETWEEN, &format!("{{ {own} }}"))).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(
            !helps.is_empty() && !helps.iter().any(|help| help.contains("write `predicate: between")),
            "{own}: {helps:?}"
        );
        assert!(!helps.iter().any(|help| help.contains("\"65\"")), "{own}: {helps:?}");
    }
}

/// A bound that the author did not write is `…`, which nobody can apply by mistake, and what is written stays.
#[test]
fn a_bound_of_a_between_that_is_not_known_is_not_invented() {
    const UNKNOWN: &str =
        "leftPredicate: \">=\"`, `objects: [\"…\"]`, `rightPredicate: \"<\"` and `rightObjects: [\"…\"]";
    for (own, form) in [
        ("objects: [\"21\"]", "`objects: [\"21\"]`, `rightPredicate: \"<\"` and `rightObjects: [\"…\"]`"),
        ("objects: [\"<=30\"]", "`objects: [\"…\"]`, `rightPredicate: \"<=\"` and `rightObjects: [\"30\"]`"),
        (
            "leftPredicate: \">\", rightPredicate: \"<=\", objects: [\"21\"]",
            "`leftPredicate: \">\"`, `objects: [\"21\"]`, `rightPredicate: \"<=\"` and `rightObjects: [\"…\"]`",
        ),
        (
            "leftPredicate: \">\", objects: [\"21\"], rightObjects: [\"30\"]",
            "`leftPredicate: \">\"`, `objects: [\"21\"]`, `rightPredicate: \"<\"` and `rightObjects: [\"30\"]`",
        ),
        (
            "rightObjects: [\"30\"], objects: []",
            "`objects: [\"…\"]`, `rightPredicate: \"<\"` and `rightObjects: [\"30\"]`",
        ),
        ("objects: [\"21:30\"]", UNKNOWN),
        ("objects: [\"(21, 30)\"]", UNKNOWN),
        ("objects: [\">21 or <30\"]", UNKNOWN),
        ("objects: [\">21\", \">30\"]", UNKNOWN),
        // Which of the two comparisons is meant, only the author knows.
        (
            "leftPredicate: \">=\", rightPredicate: \"<\", objects: [\">21\", \"30\"]",
            "`leftPredicate: \"…\"`, `objects: [\"21\"]`, `rightPredicate: \"<\"` and `rightObjects: [\"30\"]`",
        ),
    ] {
        let own = format!("{{ type: number, subject: age, predicate: between, {own} }}");
        let found = featureprobe(&DOCUMENT.replace(BETWEEN, &own)).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.contains(form)), "{own}: {helps:?}");
        assert!(
            !helps.iter().any(|help| help.contains("65") || help.contains("a rule for each")),
            "{own}: {helps:?}"
        );
    }
    for own in [
        "type: semver, subject: app, predicate: between, objects: [\"1.2.0\"]",
        "type: datetime, subject: now, predicate: between, objects: [\"2026-12-01T09:00:00Z/P1M\"]",
    ] {
        let found = featureprobe(&DOCUMENT.replace(BETWEEN, &format!("{{ {own} }}"))).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.contains("rightObjects: [\"…\"]")), "{own}: {helps:?}");
        assert!(
            !helps.iter().any(|help| help.contains("2.0.0") || help.contains("12-24")),
            "{own}: {helps:?}"
        );
    }
}

/// The opposite of `between` has its words, and the bounds theirs.
#[test]
fn a_negation_of_a_between_in_another_form_has_its_own_finding() {
    let own = "{ type: number, subject: age, predicate: between, min: 21, max: 30, negate: true }";
    let found = featureprobe(&DOCUMENT.replace(BETWEEN, own)).diagnostics;
    let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
    let [form, negation] = helps.as_slice() else { panic!("{helps:?}") };
    assert!(form.contains("objects: [\"21\"]") && form.contains("rightObjects: [\"30\"]"), "{form}");
    assert!(form.ends_with("in place of `min` and `max`"), "{form}");
    assert!(negation.starts_with("do not just remove it"), "{negation}");
}

/// A service that does not document `between` gets two conditions.
#[test]
fn without_between_each_bound_is_a_condition() {
    for own in [
        "type: number, subject: age, predicate: between, min: 21, max: 30",
        "subject: age, predicate: between, values: [21, 30]",
        "attribute: age, from: 21, to: 30",
        "type: number, subject: age, predicate: between, objects: [21-30]",
        "type: number, subject: age, predicate: between, objects: [\">=21\", \"<=30\"]",
        "type: number, subject: age, predicate: between, objects: [\"21 <= age <= 30\"]",
    ] {
        let found = yaml(DOCUMENT.replace(BETWEEN, &format!("{{ {own} }}"))).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        let two = helps
            .iter()
            .find_map(|help| help.strip_prefix("write two conditions, `"))
            .unwrap_or_else(|| panic!("{helps:?}"));
        let two: Vec<&str> = two.split('`').step_by(2).take(2).collect();
        assert!(
            two[0].contains("\">=\", objects: [\"21\"]") && two[1].contains("\"<=\", objects: [\"30\"]"),
            "{two:?}"
        );
        let fixed = DOCUMENT.replace(BETWEEN, &two.join("\n        - "));
        assert_eq!(yaml(fixed).diagnostics, [], "{own}");
        assert_eq!(found.len(), 1, "{own}: {found:#?}");
    }
}

/// A share of users is not a number that conditions compare.
#[test]
fn a_share_of_users_in_place_of_a_condition_is_a_split() {
    for own in [
        "{ type: percentage, percentage: 10 }",
        "{ type: percentage, value: 10 }",
        "{ type: rollout, objects: [10] }",
        "{ type: flexibleRollout, rollout: 10% }",
        "{ type: THRESHOLD_ROLLOUT_TYPE, threshold: 10 }",
        "{ type: percentage, subject: userId, value: 10 }",
    ] {
        let help = written(BETWEEN, own);
        assert!(help.starts_with("a rule has this in its `serve`, not in a condition"), "{own}: {help}");
        assert!(help.contains("split: { \"on\": 10, \"off\": 90 }"), "{own}: {help}");
    }
    let help = written(BETWEEN, "{ type: percentage }");
    assert!(help.contains('…'), "{help}");
    let own = "{ type: percentage, subject: user, predicate: \"<\", objects: [10] }";
    let help = written(BETWEEN, own);
    assert!(help.starts_with("a share of users is a `split` in the `serve` of a rule"), "{help}");
}
