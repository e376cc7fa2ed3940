//! Helps on conditions: the type, the predicate, the objects.

use super::*;

pub(super) const MISTAKES: &[Mistake] = &[
    // Each type of condition has its own comparisons and objects.
    mistake(
        CONDITION,
        "{ type: segment, objects: [staff] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: segment",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, objects: [\"2026-12-01T09:00:00+00:00\"] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: datetime",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, objects: [AT] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: string",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, objects: [1.2.3] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: semver",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, objects: [18] }",
        "9:13 missing-field: a condition needs `predicate`",
        "type: number",
    ),
    mistake(
        CONDITION,
        "{ type: segment, predicate: \"\", objects: [staff] }",
        "9:39 empty-text: `predicate` is empty",
        "predicate: \"\"",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after }",
        "9:13 missing-field: a condition needs `objects`",
        "type: datetime",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [] }",
        "9:57 no-objects: this condition has no objects to compare with",
        "objects: []",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: !>, objects: [18] }",
        "9:52 syntax: a value cannot begin with `!`",
        "!>",
    ),
    // A misspelled key is not missing as well.
    mistake("subject: country", "subjec: country", "9:27 unknown-key: a condition has no `subjec`", "subjec"),
    // Lists.
    mistake(
        "[\"AT\"]",
        "\"- 1\n            - 2\"",
        "9:76 wrong-type: `objects` is a list, not the text `- 1 - 2`",
        "objects: \"- 1\n            - 2\"",
    ),
    mistake("[\"AT\"]", "AT", "9:76 wrong-type: `objects` is a list, not `AT`", "objects: AT"),
    mistake(
        "[\"AT\"]",
        "\"AT, CH\"",
        "9:76 wrong-type: `objects` is a list, not the text `AT, CH`",
        "objects: \"AT, CH\"",
    ),
    mistake(
        "[\"AT\"]",
        "\"[AT, CH]\"",
        "9:76 wrong-type: `objects` is a list, not the text `[AT, CH]`",
        "objects: \"[AT, CH]\"",
    ),
    mistake(
        "[\"AT\"]",
        "[\"- 1\\n- 2\"]",
        "9:77 list-in-text: this text has the form of a list, but it is one object",
        "\"- 1\\n- 2\"",
    ),
    mistake(
        "[\"AT\"]",
        "[\"AT\", \"1 - 2 - 3\"]",
        "9:83 list-in-text: this text has the form of a list, but it is one object",
        "\"1 - 2 - 3\"",
    ),
    // The ends of texts.
    mistake(
        "[\"AT\"]",
        "[“AT”]",
        "9:77 typographic-quotes: the quotes `“` and `”` are a part of this text",
        "“AT”",
    ),
    mistake(
        "[\"AT\"]",
        "[\"AT\u{a0}\"]",
        "9:77 hidden-character: the invisible character U+00A0 is a part of this text",
        "\"AT\u{a0}\"",
    ),
    mistake(
        "subject: country",
        "subject: country\u{2003}",
        "9:36 hidden-character: the invisible character U+2003 is a part of this text",
        "country\u{2003}",
    ),
    mistake(
        "[\"AT\"]",
        "[\"A\u{200b}T\"]",
        "9:77 hidden-character: the invisible character U+200B is a part of this text",
        "\"A\u{200b}T\"",
    ),
    mistake(
        "subject: country",
        "subject: co\u{202e}untry",
        "9:36 hidden-character: the invisible character U+202E is a part of this text",
        "co\u{202e}untry",
    ),
    mistake(
        "predicate: is one of",
        "predicate: “is one of”",
        "9:56 unknown-predicate: `“is one of”` is not a known predicate of a `string` condition",
        "“is one of”",
    ),
    // No blank follows a colon.
    mistake(
        CONDITION,
        "{ type: string, subject:country, predicate: is one of, objects: [AT] }",
        "9:27 unknown-key: a condition has no `subject:country`",
        "subject:country",
    ),
    // The type and the predicate have one help.
    mistake(
        CONDITION,
        "{ type: boolean, predicate: \"=\", subject: vip, objects: [\"true\"] }",
        "9:19 unknown-condition-type: `boolean` is not a known type of condition",
        "type: boolean, predicate: \"=\"",
    ),
    mistake(
        CONDITION,
        "{ type: int, predicate: gte, subject: age, objects: [18] }",
        "9:19 unknown-condition-type: `int` is not a known type of condition",
        "type: int, predicate: gte",
    ),
    // Types, negations and units are kept.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [\"49,90\"] }",
        "9:67 not-a-number: `49,90` is not a decimal number",
        "\"49,90\"",
    ),
    mistake(
        CONDITION,
        "{ type: int, subject: age, predicate: \">\", objects: [\"18\"] }",
        "9:19 unknown-condition-type: `int` is not a known type of condition",
        "int",
    ),
    mistake(
        CONDITION,
        "{ type: version, subject: app, predicate: \">\", objects: [1.2.3] }",
        "9:19 unknown-condition-type: `version` is not a known type of condition",
        "version",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"ncontains\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `ncontains` is not a known predicate of a `string` condition",
        "ncontains",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"mismatches regex\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `mismatches regex` is not a known predicate of a `string` condition",
        "mismatches regex",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"aint one of\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `aint one of` is not a known predicate of a `string` condition",
        "aint one of",
    ),
    mistake(
        CONDITION,
        "{ type: string, subject: country, predicate: \"is one\u{a0}of\", objects: [\"AT\"] }",
        "9:56 unknown-predicate: `is one\\u{a0}of` is not a known predicate of a `string` condition",
        "is one\u{a0}of",
    ),
    // What another type of value has in its place.
    mistake(
        CONDITION,
        "country",
        "9:11 wrong-type: `conditions` is a list of mappings, not `country`",
        "country",
    ),
    // Templates, times, versions, patterns.
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"2026-12-01T09:00:00Z\"] }",
        "9:71 bad-datetime: `2026-12-01T09:00:00Z` is not a time that the service can parse",
        "2026-12-01T09:00:00Z",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [2026-12-01] }",
        "9:71 bad-datetime: `2026-12-01` is not a time that the service can parse",
        "2026-12-01",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"2026-12-01T09:00:00-05:00\"] }",
        "9:71 bad-datetime: `2026-12-01T09:00:00-05:00` is not a time that the service can parse",
        "2026-12-01T09:00:00-05:00",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"v1.2\"] }",
        "9:67 bad-semver: `v1.2` is not a semantic version",
        "v1.2",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"^1.2.3\"] }",
        "9:67 bad-semver: `^1.2.3` is not a semantic version",
        "predicate: \"=\", objects: [\"^1.2.3\"]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\"~1.2\"] }",
        "9:67 bad-semver: `~1.2` is not a semantic version",
        "predicate: \"=\", objects: [\"~1.2\"]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"=\", objects: [\">=1.2\"] }",
        "9:67 bad-semver: `>=1.2` is not a semantic version",
        "predicate: \"=\", objects: [\">=1.2\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, objects: [65, 18] }",
        "9:52 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [65, 18]",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: between, objects: [1.10.0, 1.9.0] }",
        "9:52 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [1.10.0, 1.9.0]",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: between, objects: [\"2026-12-01T09:00:00+00:00\", \
         \"2026-12-02T09:00:00+00:00\"] }",
        "9:54 between-fields: `between` needs `leftPredicate`, `rightPredicate` and `rightObjects`",
        "objects: [\"2026-12-01T09:00:00+00:00\", \"2026-12-02T09:00:00+00:00\"]",
    ),
    mistake(
        CONDITION,
        "{ type: datetime, subject: now, predicate: after, objects: [\"0000-00-00T00:00:00+00:00\"] }",
        "9:71 bad-datetime: `0000-00-00T00:00:00+00:00` is not a time that exists",
        "0000-00-00T00:00:00+00:00",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \"^\", objects: [\"1.2.3\"] }",
        "9:52 unknown-predicate: `^` is not a known predicate of a `semver` condition",
        "predicate: \"^\", objects: [\"1.2.3\"]",
    ),
    // What stands in place of a text.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [{ value: 18 }] }",
        "9:69 wrong-type: `objects` is text, not a mapping",
        "{ value: 18 }",
    ),
    mistake("[\"AT\"]", "[a: b]", "9:77 wrong-type: `objects` is text, not a mapping", "a: b"),
    mistake(
        CONDITION,
        "{ type: number, subject: [age], predicate: \">\", objects: [18] }",
        "9:27 wrong-type: `subject` is text, not a list",
        "subject: [age]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: { from: 5, to: 10 } }",
        "9:57 wrong-type: `objects` is a list, not a mapping",
        "objects: { from: 5, to: 10 }",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: {18} }",
        "9:57 wrong-type: `objects` is a list, not a mapping",
        "objects: {18}",
    ),
    mistake("[\"AT\"]", "[${X}]", "9:77 syntax: a value in brackets cannot contain `{`", "${X}"),
    // What compares is in the text, or in the key.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [\">=18\"] }",
        "9:67 not-a-number: `>=18` is not a decimal number",
        "predicate: \">\", objects: [\">=18\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"=\", objects: [18+] }",
        "9:67 not-a-number: `18+` is not a decimal number",
        "predicate: \"=\", objects: [18+]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"=\", objects: [5-10] }",
        "9:67 not-a-number: `5-10` is not a decimal number",
        "predicate: \"=\", objects: [5-10]",
    ),
    // The predicate decides what the object means.
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"!=\", objects: [\">18\"] }",
        "9:68 not-a-number: `>18` is not a decimal number",
        "predicate: \"!=\", objects: [\">18\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"<\", objects: [\">18\"] }",
        "9:67 not-a-number: `>18` is not a decimal number",
        "\">18\"",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \"<=\", objects: [18-25] }",
        "9:68 not-a-number: `18-25` is not a decimal number",
        "18-25",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \">=\", objects: [1.2.x] }",
        "9:68 bad-semver: `1.2.x` is not a semantic version",
        "1.2.x",
    ),
    mistake(
        CONDITION,
        "{ type: semver, subject: app, predicate: \">\", objects: [^1.2.3] }",
        "9:67 bad-semver: `^1.2.3` is not a semantic version",
        "predicate: \">\", objects: [^1.2.3]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\">=18\"], \
         rightPredicate: \"<\", rightObjects: [\"65\"] }",
        "9:92 not-a-number: `>=18` is not a decimal number",
        "\">=18\"",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\"18\"], \
         rightPredicate: \"<\", rightObjects: [\"<=65\"] }",
        "9:135 not-a-number: `<=65` is not a decimal number",
        "rightPredicate: \"<\", rightObjects: [\"<=65\"]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<\", \
         rightObjects: [\"65\"] }",
        "9:13 missing-field: a condition needs `predicate`",
        "subject: age",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, predicate: \">\", objects: [.5] }",
        "9:67 not-a-number: `.5` is not a decimal number",
        "[.5]",
    ),
    mistake(
        CONDITION,
        "{ country: [AT, CH] }",
        "9:13 unknown-key: a condition has no `country`",
        "country: [AT, CH]",
    ),
    mistake(
        CONDITION,
        "{ subject: country, in: [AT] }",
        "9:31 unknown-key: a condition has no `in`",
        "in: [AT]",
    ),
    mistake(
        CONDITION,
        "{ type: number, subject: age, min: 18 }",
        "9:41 unknown-key: a condition has no `min`",
        "min: 18",
    ),
];

/// A null that stands for a number, a version, a time or a variation is no text.
#[test]
fn the_help_on_a_null_is_a_text_only_where_any_text_can_stand() {
    for (kind, predicate) in [("number", "\"=\""), ("semver", "\"=\""), ("datetime", "after")] {
        for null in ["null", "~", "NULL"] {
            let own = format!("{{ type: {kind}, subject: a, predicate: {predicate}, objects: [{null}] }}");
            let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
            let [one] = &found[..] else { panic!("{own}: {found:#?}") };
            assert_eq!(
                (one.id, one.help.as_deref()),
                ("null-text", Some("write what is compared with, or remove it"))
            );
        }
    }
    let found = featureprobe(&DOCUMENT.replace("\"AT\"", "~")).diagnostics;
    assert_eq!(found[0].help.as_deref(), Some("write `\"~\"` if the text is meant"));
}

/// What cannot be read has one finding: no check takes it for an empty text, or for missing.
#[test]
fn a_part_of_a_condition_that_cannot_be_read_has_one_finding() {
    let between = "type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [5]";
    for own in [
        "type: number, subject: age, predicate: \">\", objects: [null]".to_owned(),
        "type: number, subject: age, predicate: \">\", objects: [~, 5]".to_owned(),
        "type: number, subject: age, predicate: \">\", objects: [[18]]".to_owned(),
        "type: semver, subject: app, predicate: \">\", objects: [{ a: 1 }]".to_owned(),
        format!("{between}, rightPredicate: \"<\", rightObjects: 10"),
        format!("{between}, rightPredicate: ~, rightObjects: [10]"),
    ] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        assert_eq!(found.len(), 1, "{own}: {found:#?}");
    }
    // An empty text is one.
    let own = "{ type: number, subject: age, predicate: \">\", objects: [\"\"] }";
    assert_eq!(featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics[0].id, "not-a-number");
    // Of several objects, the help on one does not replace the predicate of all.
    let own = "{ type: semver, subject: app, predicate: \"=\", objects: [\"^1.2.3\", \"~2.0\"] }";
    for one in featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics {
        assert_eq!(one.help.as_deref(), Some("write a rule for each of these comparisons"));
    }
}

/// A condition without a type gets the type that has its predicate.
#[test]
fn a_missing_type_is_one_that_has_the_predicate() {
    for (own, kind) in [
        ("subject: country, predicate: is one of, objects: [AT]", "string"),
        ("subject: country, predicate: does not start with, objects: [AT]", "string"),
        ("subject: now, predicate: after, objects: [\"2026-12-01T09:00:00+00:00\"]", "datetime"),
        ("predicate: is in, objects: [staff]", "segment"),
        ("subject: age, predicate: \">=\", objects: [\"18\"]", "number"),
        ("subject: app, predicate: \">=\", objects: [\"1.2.3\"]", "semver"),
    ] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        assert_eq!(one.help.as_deref(), Some(format!("name the type, such as `type: {kind}`").as_str()));
        let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ type: {kind}, {own} }}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{own}: {:#?}", fixed.diagnostics);
    }
    for own in ["subject: country, objects: [AT]", "predicate: sounds like", "subject: x"] {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        let helps: Vec<String> = found.into_iter().filter_map(|one| one.help).collect();
        let is_of_number =
            |help: &String| ["type: number", "\">\"", "age", "18"].iter().any(|part| help.contains(part));
        assert!(!helps.iter().any(is_of_number), "{own}: {helps:?}");
    }
    for kind in ["string", "segment"] {
        let own = format!("{{ type: {kind}, subject: a, predicate: between, objects: [AT] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        assert!(found.iter().all(|one| one.id != "between-fields"), "{kind}: {found:#?}");
    }
}
