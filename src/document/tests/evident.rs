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
fn written(from: &str, to: &str) -> String {
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

/// Who removes an attribute from a rule opens it to everyone.
#[test]
fn an_attribute_of_a_rule_with_its_values_is_written_as_a_condition() {
    let serve = "      serve: {";
    let string = |predicate: &str, objects: &str| {
        format!("type: string, subject: \"country\", predicate: {predicate}, objects: [{objects}]")
    };
    let number = |predicate: &str| {
        format!("type: number, subject: \"age\", predicate: \"{predicate}\", objects: [\"18\"]")
    };
    for (own, condition) in [
        ("country: AT", string("is one of", "\"AT\"")),
        ("country: [AT, CH]", string("is one of", "\"AT\", \"CH\"")),
        ("country: \"!AT\"", string("is not any of", "\"AT\"")),
        ("country: not AT", string("is not any of", "\"AT\"")),
        ("country: { notIn: [AT] }", string("\"is not any of\"", "\"AT\"")),
        ("age: 18", number("=")),
        ("age: \">= 18\"", number(">=")),
        ("age: { lt: 18 }", number("<")),
    ] {
        let help = written(serve, &format!("      {own}\n{serve}"));
        let item = format!("- {{ {condition} }}");
        assert_eq!(help, format!("do not just remove it: write it below `conditions`, as `{item}`"));
        let fixed = featureprobe(&DOCUMENT.replace(serve, &format!("        {item}\n{serve}")));
        assert!(fixed.payload.is_some(), "{own}: {:#?}", fixed.diagnostics);
        let help = written(CONDITIONS, &format!("      {own}\n"));
        assert_eq!(help, format!("write `conditions: [{{ {condition} }}]` instead"));
        let fixed =
            featureprobe(&DOCUMENT.replace(CONDITIONS, &format!("      conditions: [{{ {condition} }}]\n")));
        assert!(fixed.payload.is_some(), "{own}: {:#?}", fixed.diagnostics);
    }
    // Each of several keys would add `conditions` again.
    for own in [
        "country: AT\n      age: 18",
        "from: 2026-12-01T00:00:00Z\n      until: 2026-12-02T00:00:00Z\n      plan: a",
    ] {
        let help = written(CONDITIONS, &format!("      {own}\n"));
        let (conditions, keys) = help.split_once(" instead of ").unwrap();
        assert_eq!(keys.matches('`').count(), 2 * own.lines().count(), "{help}");
        assert_eq!(conditions.matches("type: ").count(), own.lines().count(), "{help}");
        let conditions = conditions.strip_prefix("write `").unwrap().trim_end_matches('`');
        let fixed = featureprobe(&DOCUMENT.replace(CONDITIONS, &format!("      {conditions}\n")));
        assert!(fixed.payload.is_some(), "{own}: {:#?}", fixed.diagnostics);
    }
    for own in
        ["version: \"^1.2\"", "age: [18, 65]", "age: { gte: 18, lt: 65 }", "expires: soon", "targets: [a]"]
    {
        for (from, rest) in [(serve, serve), (CONDITIONS, "")] {
            let help = written(from, &format!("      {own}\n{rest}"));
            assert!(
                help.starts_with("do not just remove it") && !help.contains("objects: ["),
                "{own}: {help}"
            );
        }
    }
}

/// What a key says about the rule is not a condition, and a misspelled key is not an attribute.
#[test]
fn a_key_that_is_about_a_rule_is_not_a_condition() {
    let serve = "      serve: {";
    for own in [
        "note: for the launch",
        "priority: 1",
        "sortOrder: 2",
        "trackEvents: false",
        "stickiness: default",
        "type: gradual",
    ] {
        let help = written(serve, &format!("      {own}\n{serve}"));
        assert_eq!(help, "a rule has `name`, `serve` and `conditions`", "{own}");
    }
    for own in ["nme: adults", "naem: adults"] {
        assert_eq!(written("name: adults", own), "did you mean `name`?");
    }
}

const CONDITIONS: &str = r#"      conditions:
        - type: string
          subject: country
          predicate: is one of
          objects: ["AT", "CH"]
        - { type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["18"], rightPredicate: "<", rightObjects: ["65"] }
"#;

/// Who follows a help on a key of `content` that decides who is served what never serves everyone the same.
#[test]
fn what_decides_whom_or_when_in_content_leads_to_rules() {
    let (start, rest) = DOCUMENT.split_once("  rules:\n").unwrap();
    let end = &rest[rest.find("  disabledServe").unwrap()..];
    for (own, help) in [
        ("targets: [{ values: [a], variation: 1 }]", "do not just remove it: it names users"),
        ("users: [a, b]", "do not just remove it: it names users"),
        ("overrides: [{ user: a }]", "do not just remove it: it decides who is served what"),
        (
            "segments: [staff]",
            "do not just remove it: write the condition `{ type: segment, predicate: is in, objects: [\"staff\"] }`",
        ),
        (
            "expires: 2026-12-01T00:00:00Z",
            "do not just remove it: write the condition `{ type: datetime, subject: now, predicate: before, objects: [\"2026-12-01T00:00:00+00:00\"] }`",
        ),
        ("expires: soon", "do not just remove it: in a rule, write a condition of type `datetime`"),
        ("scheduledRollout: [{ date: 2026-12-01T00:00:00Z }]", "do not just remove it: it decides when"),
        ("experimentation: { start: 2026-12-01, end: 2026-12-02 }", "do not just remove it: it decides when"),
    ] {
        for text in
            [format!("{DOCUMENT}  {own}\n"), format!("{start}  {own}\n{end}"), format!("{start}{end}{own}\n")]
        {
            let found = featureprobe(&text).diagnostics;
            let errors: Vec<_> = found.iter().filter(|one| one.severity == Severity::Error).collect();
            let [one] = &errors[..] else { panic!("{own}: {found:#?}") };
            assert!(one.help.as_deref().unwrap().starts_with(help), "{own}: {one:#?}");
        }
    }
}

/// Returns the targeting of a document without findings.
fn targeting(text: &str) -> Targeting {
    let document = featureprobe(text);
    let payload = document.payload.unwrap_or_else(|| panic!("{text}{:#?}", document.diagnostics));
    payload.targeting().clone()
}

/// Returns the only finding on a document, its place, and its help.
fn only(text: &str) -> (Diagnostic, String) {
    let found = featureprobe(text).diagnostics;
    let [one] = &found[..] else { panic!("{text}{found:#?}") };
    (one.clone(), one.help.clone().unwrap())
}

/// A part of `content` at the top has one finding, with the form of a document, and is not missing below `content`.
#[test]
fn a_part_of_content_at_the_top_has_one_finding_with_the_value_that_is_written() {
    let lines = |range: std::ops::Range<usize>| {
        DOCUMENT
            .lines()
            .skip(range.start)
            .take(range.len())
            .map(|line| format!("{line}\n"))
            .collect::<String>()
    };
    let (variations, rules) = (lines(2..7), lines(7..16));
    let (disabled, default) =
        ("  disabledServe: { variation: \"off\" }\n", "  defaultServe: { variation: \"off\" }\n");
    for (part, own) in [
        (default, "fallthrough: { variation: 0 }"),
        (default, "default: \"off\""),
        (default, "defaultVariant: \"off\""),
        (default, "defaultRule: { variation: \"off\" }"),
        (default, "else: { variation: \"off\" }"),
        (default, "otherwise: false"),
        (default, "defaultServe: { variation: \"off\" }"),
        (default, "serve: { variation: \"off\" }"),
        (disabled, "offVariation: 0"),
        (disabled, "offVariant: \"off\""),
        (variations.as_str(), "variants: { \"off\": false, \"on\": true }"),
        (variations.as_str(), "variations: [{ name: \"off\", value: false }, { name: \"on\", value: true }]"),
        (rules.as_str(), "rules: []"),
        (rules.as_str(), "strategies: []"),
        (rules.as_str(), "targeting: []"),
    ] {
        let rest = DOCUMENT.replace(part, "");
        assert_ne!(rest, DOCUMENT);
        let (one, help) = only(&format!("{rest}{own}\n"));
        let key = own.split(':').next().unwrap();
        assert_eq!((one.id, one.message), ("unknown-key", format!("a document has no `{key}`")));
        let fixed = match help.as_str() {
            "indent it below `content`" => own.to_owned(),
            help if help.contains("instead of") => own.replacen(key, help.split('`').nth(1).unwrap(), 1),
            help => help.split('`').nth(1).unwrap().to_owned(),
        };
        assert!(help.ends_with("below `content`"), "{own}: {help}");
        let served = targeting(&format!("{rest}  {fixed}\n"));
        if !own.contains("[]") {
            assert_eq!(served, targeting(DOCUMENT), "{own}: {help}");
        }
        // Beside the one of `content`, it would be there twice.
        let own = part.trim_start().split(':').next().unwrap();
        let (_, help) = only(&format!("{DOCUMENT}{key}: []\n"));
        assert_eq!(help, format!("keep one of the two: `content` has `{own}` as well"));
    }
}

/// The flag of another tool is a document, and each of its keys leads to its form.
#[test]
fn the_keys_of_a_flag_of_another_tool_at_the_top_lead_to_their_forms() {
    let variations = "variations: [{ name: \"off\", value: false }, { name: \"on\", value: true }]\n";
    for (text, helps) in [
        (
            format!("on: true\n{variations}offVariation: 0\nfallthrough: {{ variation: 1 }}\nrules: []\n"),
            &[
                "write `disabled: false` instead",
                "write `content:` above it, and indent `rules` and `variations` below",
                "write `disabledServe: { variation: \"off\" }` instead; it belongs below `content`",
                "write `defaultServe: { variation: \"on\" }` instead; it belongs below `content`",
            ][..],
        ),
        (
            "state: ENABLED\nvariants: { \"off\": false, \"on\": true }\ndefaultVariant: \"on\"\n".to_owned(),
            &[
                "write `disabled: false` instead",
                "write a list: `variations: [{ name: \"off\", value: \"false\" }, { name: \"on\", value: \"true\" }]` instead; it belongs below `content`",
                "write `defaultServe: { variation: \"on\" }` instead; it belongs below `content`",
            ],
        ),
    ] {
        let found = featureprobe(&text).diagnostics;
        let found: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert_eq!(found, helps, "{text}");
    }
}

#[test]
fn a_switch_of_the_toggle_below_content_stands_for_disabled() {
    let rest = DOCUMENT.replace("disabled: false\n", "");
    for (own, disabled) in [
        ("enabled: true", false),
        ("enabled: false", true),
        ("on: true", false),
        ("on: false", true),
        ("state: DISABLED", true),
        ("disabled: true", true),
        ("disable: false", false),
    ] {
        let (one, help) = only(&format!("{rest}  {own}\n"));
        let key = own.split(':').next().unwrap();
        assert_eq!(one.message, format!("`content` has no `{key}`"));
        let fixed = if key == "disabled" { own } else { help.split('`').nth(1).unwrap() };
        assert!(help.contains("beside `content`, not below"), "{own}: {help}");
        assert_eq!(targeting(&format!("{fixed}\n{rest}")).disabled, disabled, "{own}: {help}");
        let (_, help) = only(&format!("{DOCUMENT}  {own}\n"));
        let start = if disabled {
            "keep one of the two: "
        } else {
            "remove it: `disabled: false` beside `content` says the same"
        };
        assert!(help.starts_with(start), "{own}: {help}");
    }
}

/// A rule without its list, and shares or a variation without their serve, are not missing.
#[test]
fn a_part_of_a_rule_in_content_has_one_finding() {
    let rules = &DOCUMENT[DOCUMENT.find("  rules:").unwrap()..DOCUMENT.find("  disabledServe").unwrap()];
    let outdented: String = CONDITIONS.lines().map(|line| format!("{}\n", &line[4..])).collect();
    for own in [outdented.clone(), outdented.replace("conditions", "clauses")] {
        for (serve, start) in [
            (
                "",
                "write `rules:` and `- name: …` above it, indent it below as `conditions`, and add the `serve` of this rule",
            ),
            (
                "  serve: { variation: \"on\" }\n",
                "write `rules:` and `- name: …` above it, and indent it and the serve below",
            ),
        ] {
            let (one, help) = only(&DOCUMENT.replace(rules, &format!("{own}{serve}")));
            assert!(help.starts_with(start), "{own}: {help}");
            assert_eq!(one.line, 8);
        }
        let (_, help) = only(&format!("{DOCUMENT}{own}"));
        assert_eq!(help, "do not just remove it: write it into each rule that it is about, as `conditions`");
    }
    let default = "  defaultServe: { variation: \"off\" }\n";
    for (own, serve) in [
        ("serve: { variation: \"on\" }", "{ variation: \"on\" }"),
        ("variation: \"on\"", "{ variation: \"on\" }"),
        ("select: 1", "{ variation: \"on\" }"),
        ("value: true", "{ variation: \"on\" }"),
        ("split: { \"on\": 10, \"off\": 90 }", "{ split: { \"on\": 10, \"off\": 90 } }"),
        ("percentage: 1", "{ split: { \"on\": 1, \"off\": 99 } }"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(default, &format!("  {own}\n")));
        let inner = serve.trim_start_matches("{ ").trim_end_matches(" }");
        assert!(help.contains(inner) && help.contains("defaultServe"), "{own}: {help}");
        targeting(&DOCUMENT.replace(default, &format!("  defaultServe: {serve}\n")));
    }
}

/// The part for everyone else, as the last item of the rules.
#[test]
fn a_part_of_content_as_an_item_of_its_list_has_one_finding() {
    let default = "  defaultServe: { variation: \"off\" }\n";
    let next = "  disabledServe:";
    for own in [
        "defaultServe: { variation: \"off\" }",
        "default: \"off\"",
        "else: { variation: \"off\" }",
        "otherwise: false",
        "fallthrough: { variation: 0 }",
    ] {
        let rest = DOCUMENT.replace(default, "");
        let item = |text: &str| text.replace(next, &format!("    - {own}\n{next}"));
        let (one, help) = only(&item(&rest));
        assert_eq!((one.line, one.id), (17, "unknown-key"), "{own}");
        assert!(help.ends_with("beside `rules`, not below, without the dash"), "{own}: {help}");
        let fixed = if own.starts_with("defaultServe") { own } else { help.split('`').nth(1).unwrap() };
        assert_eq!(targeting(&format!("{rest}  {fixed}\n")), targeting(DOCUMENT), "{own}: {help}");
        let (_, help) = only(&item(DOCUMENT));
        assert_eq!(help, "keep one of the two: `content` has `defaultServe` as well");
    }
}
