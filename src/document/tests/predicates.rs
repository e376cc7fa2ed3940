//! Predicates and patterns in the notation of another language: a help means the same, negations included.

use super::fixes::{CONDITION, DOCUMENT};
use super::*;

/// Whoever follows a help on a range must not say the opposite.
#[test]
fn the_help_on_a_range_never_drops_a_negation() {
    for (kind, predicate, object) in [
        ("semver", "!=", "^1.2.3"),
        ("semver", "!=", "1.2.x"),
        ("semver", "not in", "^1.2.3"),
        ("number", "!=", "18-25"),
        ("number", "not in", "18-25"),
    ] {
        let own =
            format!("{{ type: {kind}, subject: a, predicate: \"{predicate}\", objects: [\"{object}\"] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        let found: Vec<_> = found.iter().filter(|one| one.id != "unknown-predicate").collect();
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        let help = one.help.as_deref().unwrap();
        assert!(
            help.starts_with("no predicate says the opposite of a range: a rule before this one"),
            "{own}: {help}"
        );
    }
    // What compares has no certain meaning, so neither has the object.
    for (kind, predicate, object, help) in [
        ("number", "sounds like", ">18", "write digits"),
        ("semver", "sounds like", "^1.2.3", "write three numbers"),
        ("number", "=", "25-18", "write digits"),
        ("number", "=", "2024-12", "write digits"),
    ] {
        let own = format!("{{ type: {kind}, subject: a, predicate: {predicate}, objects: [\"{object}\"] }}");
        let own = own.replace("predicate: =", "predicate: \"=\"");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        let is_found = found.iter().any(|one| one.help.as_deref().is_some_and(|one| one.starts_with(help)));
        assert!(is_found, "{own}: {found:#?}");
    }
}

/// The API of this kind has neither segments nor the fields of `between`.
#[test]
fn what_the_documented_kind_does_not_have_is_named_and_never_offered() {
    let found = |own: &str| {
        let text = with(r#"type: number, subject: age, predicate: ">", objects: ["18"]"#, own);
        let found = yaml(&text).diagnostics;
        found.iter().map(|one| (one.id, one.help.clone().unwrap())).collect::<Vec<_>>()
    };
    for (own, id) in [
        ("type: segment, subject: x, predicate: is in, objects: [staff]", "unknown-condition-type"),
        ("type: number, subject: v, predicate: between, objects: [\"1\"]", "unknown-predicate"),
        ("type: datetime, subject: v, predicate: between, objects: [x]", "unknown-predicate"),
    ] {
        let all = found(own);
        let [(found, help)] = all.as_slice() else { panic!("{own}: {all:?}") };
        assert_eq!(*found, id, "{own}");
        assert!(help.contains("`service_kind: featureprobe`"), "{own}: {help}");
    }
    for own in [
        "type: segmant, subject: x, predicate: is in, objects: [staff]",
        "type: audience, subject: x, predicate: is in, objects: [staff]",
        "type: number, subject: v, predicate: betwen, objects: [\"1\"]",
        "type: number, subject: v, predicate: in range, objects: [\"1\"]",
        "type: number, subject: v, predicate: \"=\", objects: [18-25]",
        "type: number, subject: v, predicate: \">=\", objects: [18-25]",
        "type: number, subject: v, predicate: \"!=\", objects: [18-25]",
    ] {
        for (_, help) in found(own) {
            assert!(
                !help.contains("mean `between")
                    && !help.contains("predicate: between")
                    && !help.contains("mean `segment"),
                "{own}: {help}"
            );
        }
    }
    let offered = schema(ServiceKind::Documented)["$defs"]["condition"].to_string();
    assert!(!offered.contains("between") && !offered.contains("\"segment\""), "{offered}");
}

/// Who follows a suggestion must not say the opposite, or name another number.
#[test]
fn a_suggestion_has_the_negation_and_the_digits_of_what_is_written() {
    let help = |from: &str, to: &str| {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let found = featureprobe(&DOCUMENT.replace(from, to)).diagnostics;
        found.iter().filter_map(|one| one.help.clone()).collect::<Vec<_>>().join("; ")
    };
    let named = |names: [&str; 2], word: &str| {
        let document = DOCUMENT.replace("\"off\"", &format!("\"{}\"", names[0]));
        let document = document.replace("\"on\"", &format!("\"{}\"", names[1]));
        let last = format!("defaultServe: {{ variation: \"{}\" }}", names[0]);
        let found =
            featureprobe(&document.replace(&last, &format!("defaultServe: {{ variation: \"{word}\" }}")));
        found.diagnostics.iter().filter_map(|one| one.help.clone()).collect::<Vec<_>>().join("; ")
    };
    for (names, word) in [
        (["off", "on"], "no"),
        (["off", "on"], "non"),
        (["off", "active"], "inactive"),
        (["inactive", "x"], "active"),
        (["limited", "x"], "unlimited"),
        (["visible", "x"], "invisible"),
        (["control", "x"], "uncontrol"),
        (["minimum", "x"], "maximum"),
        (["increase", "x"], "decrease"),
        (["v1", "v2"], "v3"),
        (["10%", "20%"], "30%"),
        (["checkout-v1", "x"], "checkout-v2"),
        (["a", "b"], "c"),
    ] {
        let help = named(names, word);
        assert!(!help.contains("did you mean") && help.contains("begin with"), "{word}: {help}");
    }
    assert_eq!(named(["inactive", "active"], "inactve"), "did you mean `inactive`?");
    for word in ["is non of", "is noone of", "is un one of"] {
        let help = help("predicate: is one of", &format!("predicate: {word}"));
        assert!(!help.contains("did you mean `is one of`"), "{word}: {help}");
    }
}

#[test]
fn the_help_on_a_negated_condition_says_the_same() {
    let help = |own: &str| {
        let text = DOCUMENT.replace("is one of", own);
        let found = featureprobe(&text).diagnostics;
        found.into_iter().find(|one| one.id == "unknown-key").and_then(|one| one.help).unwrap()
    };
    assert!(help("is one of, negate: true").starts_with("write `predicate: is not any of`"));
    assert!(help("is not any of, negate: true").starts_with("write `predicate: is one of`"));
    assert!(help("is one of, negate: false").starts_with("remove it"));
    assert!(help("sounds like, negate: true").starts_with("do not just remove it"));
}

/// YAML reads it as a tag, and who removed the tag would say the opposite.
#[test]
fn a_predicate_that_begins_with_an_exclamation_mark_is_to_be_quoted() {
    for (kind, predicate, objects) in
        [("number", "!=", "18"), ("string", "!contains", "AT"), ("string", "!in", "AT")]
    {
        let own = |predicate: &str| {
            let own = format!("{{ type: {kind}, subject: a, predicate: {predicate}, objects: [{objects}] }}");
            featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics
        };
        let found = own(predicate);
        // One finding has the help that solves it.
        let [tag] = &found[..] else { panic!("{predicate}: {found:#?}") };
        assert_eq!((tag.id, tag.severity), ("yaml-tag", Severity::Error));
        let help = tag.help.as_deref().unwrap();
        let expected = if kind == "number" { "put the value in quotes: `" } else { "did you mean `" };
        assert!(help.starts_with(expected), "{predicate}: {help}");
        let fixed = own(help.split('`').nth(1).unwrap());
        assert!(fixed.is_empty(), "{predicate}: {fixed:#?}");
    }
}

/// What has no opposite keeps its own findings, and gets no untrue ones.
#[test]
fn a_negation_without_an_opposite_hides_and_adds_nothing() {
    let ids = |own: &str| -> Vec<String> {
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"))).diagnostics;
        found.into_iter().map(|one| one.id.to_string()).collect()
    };
    let between = "type: number, subject: age, predicate: between, negate: true, leftPredicate: \">=\", objects: [\"18\"], \
                   rightPredicate: \"<\", rightObjects: [\"65\"]";
    assert_eq!(ids(between), ["unknown-key"]);
    let unknown = "type: string, subject: a, predicate: frobs, inverted: true, objects: [AT]";
    assert_eq!(ids(unknown), ["unknown-predicate", "unknown-key"]);
}

/// The pattern of `LIKE` is not a text that an attribute contains.
#[test]
fn the_help_on_a_like_of_sql_means_the_same() {
    for (predicate, objects, fixed) in [
        ("LIKE", "\"%@example.com\"", "ends with, objects: [\"@example.com\"]"),
        ("NOT LIKE", "\"%@example.com\"", "does not end with, objects: [\"@example.com\"]"),
        ("like", "\"AT%\", \"CH%\"", "starts with, objects: [AT, CH]"),
        ("not_like", "\"%beta%\"", "does not contain, objects: [beta]"),
        ("LIKE", "\"AT%\", \"%CH\"", "matches regex, objects: [\"^AT.*$\", \"^.*CH$\"]"),
        ("NOT LIKE", "\"a_c%\"", "does not match regex, objects: [\"^a.c.*$\"]"),
        ("unlike", "\"%AT\"", "does not end with, objects: [AT]"),
        // A backslash stands before a sign that is meant.
        ("LIKE", "'50\\%%'", "starts with, objects: [50%]"),
        ("LIKE", "'%a\\_b'", "ends with, objects: [a_b]"),
        ("LIKE", "'50\\%'", "is one of, objects: [50%]"),
        ("NOT LIKE", "'a\\_b'", "is not any of, objects: [a_b]"),
        ("LIKE", "'a\\\\b%'", "starts with, objects: [\"a\\\\b\"]"),
        ("LIKE", "\"%%\"", "matches regex, objects: [\"^.*$\"]"),
        ("LIKE", "'%\\%_'", "matches regex, objects: [\"^.*%.$\"]"),
        // It ignores case.
        ("ILIKE", "\"%.At\"", "matches regex, objects: [\"^.*\\\\.[Aa][Tt]$\"]"),
        ("NOT ILIKE", "\"a_\"", "does not match regex, objects: [\"^[Aa].$\"]"),
        ("not_ilike", "\"ß1\"", "does not match regex, objects: [\"^ß1$\"]"),
    ] {
        let own = format!("{{ type: string, subject: mail, predicate: {predicate}, objects: [{objects}] }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        let help = one.help.as_deref().unwrap();
        let bare = |text: &str| text.replace('"', "");
        assert!(bare(help).starts_with(&bare(&format!("write `predicate: {fixed}`"))), "{own}: {help}");
        let own = format!("{{ type: string, subject: mail, predicate: {fixed} }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own));
        assert!(found.payload.is_some() && found.diagnostics.is_empty(), "{own}: {:#?}", found.diagnostics);
    }
    let own = "{ type: string, subject: mail, predicate: LIKE, objects: [example.com] }";
    let found = featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics;
    assert!(found[0].help.as_deref().unwrap().starts_with("did you mean `contains`?"));
    let own = "{ type: string, subject: mail, predicate: LIKE, objects: [a_c] }";
    let found = featureprobe(&DOCUMENT.replace(CONDITION, own)).diagnostics;
    let regex = "did you mean `contains`? If `_` stands for any character, write `predicate: matches regex, objects: [\"^a.c$\"]`";
    assert!(found[0].help.as_deref().unwrap().starts_with(regex), "{found:?}");
}

/// What the patterns of `LIKE` mean decides on the opposite.
#[test]
fn the_help_on_a_negated_like_is_to_correct_the_predicate_first() {
    for (predicate, objects) in
        [("NOT LIKE", "\"%x\""), ("LIKE", "a, \"b%\""), ("ILIKE", "x"), ("unlike", "'a\\_b'")]
    {
        let own = format!(
            "{{ type: string, subject: mail, predicate: {predicate}, inverted: true, objects: [{objects}] }}"
        );
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        let help = |id: &str| found.iter().find(|one| one.id == id).and_then(|one| one.help.clone()).unwrap();
        assert!(help("unknown-key").starts_with("correct the predicate first"), "{own}: {found:#?}");
        let first = help("unknown-predicate");
        assert!(first.starts_with("write `predicate: "), "{own}: {first}");
        // Then the help on the field is right.
        let fixed = first.split('`').nth(1).unwrap();
        let own = format!("{{ type: string, subject: mail, {fixed}, inverted: true }}");
        let found = featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics;
        let [one] = &found[..] else { panic!("{own}: {found:#?}") };
        let (was, is) = (fixed.contains("not"), one.help.as_deref().unwrap());
        assert!(is.starts_with("write `predicate: "), "{is}");
        assert_ne!(is.split('`').nth(1).unwrap().contains("not"), was, "{own}: {is}");
    }
}

/// `/^a$/i` is a pattern that no text matches.
#[test]
fn a_pattern_of_javascript_is_named() {
    let own = |object: &str| {
        let own = format!("{{ type: string, subject: mail, predicate: matches regex, objects: [{object}] }}");
        featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics
    };
    for (object, fixed) in [
        ("/^a$/i", "\"^[Aa]$\""),
        ("/x/i", "\"[Xx]\""),
        ("/^beta/", "\"^beta\""),
        ("/beta$/g", "\"beta$\""),
        ("'/^https:\\/\\/a/'", "\"^https://a\""),
        ("'/^[a-z]+$/i'", "\"^[a-z]+$\""),
        ("/^a/ms", "\"^a\""),
    ] {
        let found = own(object);
        let [one] = &found[..] else { panic!("{object}: {found:#?}") };
        assert_eq!((one.id, one.severity), ("regex-literal", Severity::Warning));
        let help = one.help.as_deref().unwrap();
        assert_eq!(help.split('`').nth(1), Some(fixed), "{object}");
        assert_eq!(own(fixed), [], "{object}");
    }
    for path in ["/static/img", "/api/", "/a/b", "/", "//", "a/b/i", "/usr/bin", "^/a/i$"] {
        assert_eq!(own(path), [], "{path}");
    }
}

/// Who follows the helps on a foreign predicate and on the field that negates it must not negate it twice.
#[test]
fn a_negation_beside_any_predicate_has_one_help_which_says_the_same() {
    let condition = |own: &str| DOCUMENT.replace(CONDITION, &format!("{{ {own} }}"));
    let string = |own: &str| format!("type: string, subject: country, {own}, objects: [AT]");
    let number =
        |own: &str, objects: &str| format!("type: number, subject: age, {own}, objects: [{objects}]");
    let time = "\"2026-12-01T09:00:00+00:00\"";
    for (written, help) in [
        (string("predicate: NOT_IN, inverted: true"), "predicate: is one of"),
        (string("predicate: IN, inverted: True"), "predicate: is not any of"),
        (string("predicate: STR_STARTS_WITH, negate: yes"), "predicate: does not start with"),
        (string("operator: notContains, negated: 1"), "predicate: contains"),
        (string("predicate: \"!=\", not: \"true\""), "predicate: is one of"),
        (number("predicate: \"<\", negate: true", "18"), "predicate: \">=\""),
        (number("predicate: lte, negate: true", "18"), "predicate: \">\""),
        (number("predicate: \"<\", negate: true", "18, 21"), ""),
        (number("predicate: \"!=\", negate: true", "18, 21"), "predicate: \"=\""),
        (
            format!("type: datetime, subject: now, predicate: DATE_AFTER, inverted: true, objects: [{time}]"),
            "predicate: before",
        ),
        (format!("type: datetime, subject: now, predicate: between, inverted: true, objects: [{time}]"), ""),
        (
            "subject: country, predicate: NOT_IN, inverted: true, objects: [AT]".to_owned(),
            "predicate: is one of",
        ),
    ] {
        let found = featureprobe(&condition(&written)).diagnostics;
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        let about = helps.iter().filter(|help| help.contains("instead of both") || help.contains("reverses"));
        let about: Vec<_> = about.collect();
        let [one] = about.as_slice() else { panic!("{written}: {helps:?}") };
        match help {
            "" => assert!(one.starts_with("do not just remove it"), "{written}: {helps:?}"),
            help => {
                assert!(one.starts_with(&format!("write `{help}` instead of both")), "{written}: {helps:?}");
            }
        }
        assert!(!helps.iter().any(|help| help.contains("did you mean")), "{written}: {helps:?}");
    }
}
