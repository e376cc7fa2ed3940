//! A key that says more than the name of an attribute: a negation, a comparison, a time, users, a share. Each help that
//! has a form is applied.

use super::evident::{DOCUMENT, written};
use super::*;

const CONDITION: &str = "{ type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<\", rightObjects: [\"65\"] }";
const CONDITIONS: &str = "      conditions:\n        - type: string\n          subject: country\n          predicate: is one of\n          objects: [\"AT\", \"CH\"]\n";
const CONDITIONS_AND_BETWEEN: &str = "      conditions:\n        - type: string\n          subject: country\n          predicate: is one of\n          objects: [\"AT\", \"CH\"]\n        - { type: number, subject: age, predicate: between, leftPredicate: \">=\", objects: [\"18\"], rightPredicate: \"<\", rightObjects: [\"65\"] }\n";
const SERVE: &str = "      serve: {";

fn string(subject: &str, predicate: &str, objects: &str) -> String {
    format!("type: string, subject: \"{subject}\", predicate: {predicate}, objects: [{objects}]")
}

fn number(predicate: &str, objects: &str) -> String {
    format!("type: number, subject: \"age\", predicate: \"{predicate}\", objects: [{objects}]")
}

fn segment(predicate: &str) -> String {
    format!("type: segment, predicate: {predicate}, objects: [\"staff\"]")
}

fn time(predicate: &str) -> String {
    format!("type: datetime, subject: now, predicate: {predicate}, objects: [\"2026-12-01T00:00:00+00:00\"]")
}

/// Who gets the opposite of what a key says is served what nobody meant.
#[test]
fn a_key_of_a_condition_that_compares_or_denies_is_written_with_its_predicate() {
    for (own, condition) in [
        ("notSegment: staff", segment("is not in")),
        ("notInSegment: staff", segment("is not in")),
        ("not_segment: staff", segment("is not in")),
        ("\"!segment\": staff", segment("is not in")),
        ("\"not segment\": staff", segment("is not in")),
        ("excludeSegments: [staff]", segment("is not in")),
        ("excludedSegments: [staff]", segment("is not in")),
        ("notSegments: [staff]", segment("is not in")),
        ("\"segment not in\": [staff]", segment("is not in")),
        ("isInSegment: staff", segment("is in")),
        ("\"country not in\": [AT]", string("country", "is not any of", "\"AT\"")),
        ("\"country !=\": AT", string("country", "is not any of", "\"AT\"")),
        ("\"!country\": AT", string("country", "is not any of", "\"AT\"")),
        ("country__ne: AT", string("country", "is not any of", "\"AT\"")),
        ("country__in: [AT, CH]", string("country", "is one of", "\"AT\", \"CH\"")),
        ("\"country in\": [AT]", string("country", "is one of", "\"AT\"")),
        ("\"age >=\": 18", number(">=", "\"18\"")),
        ("\"age>\": 18", number(">", "\"18\"")),
        ("age__gte: 18", number(">=", "\"18\"")),
        ("before: 2026-12-01T00:00:00Z", time("before")),
        ("until: 2026-12-01T00:00:00Z", time("before")),
        ("to: 2026-12-01T00:00:00Z", time("before")),
        ("after: 2026-12-01T00:00:00Z", time("after")),
        ("since: 2026-12-01T00:00:00Z", time("after")),
        ("from: 2026-12-01T00:00:00Z", time("after")),
        // The type is that of the shorthand without a predicate.
        ("age: { eq: 18 }", number("=", "\"18\"")),
        ("age: { ne: 18 }", number("!=", "\"18\"")),
        ("age: { in: [18, 19] }", number("=", "\"18\", \"19\"")),
        ("age: { nin: [18] }", number("!=", "\"18\"")),
        (
            "age: { eq: \"18\" }",
            "type: string, subject: \"age\", predicate: \"is one of\", objects: [\"18\"]".to_owned(),
        ),
        ("age: \"!18\"", number("!=", "\"18\"")),
        // These are attributes.
        ("state: CA", string("state", "is one of", "\"CA\"")),
        ("loggedIn: true", string("loggedIn", "is one of", "\"true\"")),
        ("isNew: true", string("isNew", "is one of", "\"true\"")),
        ("isBlocked: false", string("isBlocked", "is one of", "\"false\"")),
        ("nodeName: a", string("nodeName", "is one of", "\"a\"")),
        ("first name: Ann", string("first name", "is one of", "\"Ann\"")),
        ("app.plan: pro", string("app.plan", "is one of", "\"pro\"")),
    ] {
        let help = written(CONDITION, &format!("{{ {own} }}"));
        assert_eq!(help, format!("write `{condition}`"), "{own}");
        let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {condition} }}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{own}: {:#?}", fixed.diagnostics);
    }
}

#[test]
fn a_key_of_a_condition_whose_meaning_is_in_doubt_has_no_form() {
    for own in [
        "notCountry: AT",
        "nonCountry: AT",
        "countryNot: AT",
        "countryNotIn: [AT]",
        "\"country!\": AT",
        "\"country[not]\": AT",
        "excludedCountries: [AT]",
        "excludeCountry: AT",
        "blockedCountries: [AT]",
        "exclude: [AT]",
        "except: { country: AT }",
        "unless: \"country = AT\"",
        "without: AT",
        "noneOf: [AT]",
        "excludedUsers: [a]",
        "notUsers: [a]",
        "segmentNot: staff",
        "segment: \"!staff\"",
        "minAge: 18",
        "max_age: 65",
        "ageGreaterThan: 18",
        "emailEndsWith: \"@a.com\"",
        "\"age +\": 18",
        "createdBefore: 2026-12-01T00:00:00Z",
        "now: 2026-12-01T00:00:00Z",
        "date: 2026-12-01",
        "after: tomorrow",
        "schedule: nightly",
        "key: user-1",
        "id: 5",
        "user: a",
        "missing: [country]",
        "contextKind: org",
        "probability: 0.1",
        "ramp: 10",
        "passPercentage: 10",
        "age: { between: [18, 65] }",
        "age: { inRange: [18, 65] }",
        // A word or a sign in the value denies, compares or stands for all.
        "country: \"¬AT\"",
        "country: -AT",
        "country: no AT",
        "country: except AT",
        "country: all but AT",
        "country: \"AT, not CH\"",
        "country: any",
        "age: under 18",
        "age: at least 18",
        "age: up to 18",
        "age: 18 or older",
        // Here, `after` is `>=`, and `before` is `<`.
        "created: { gt: \"2026-12-01T00:00:00+00:00\" }",
        "created: { lte: \"2026-12-01T00:00:00+00:00\" }",
    ] {
        let help = written(CONDITION, &format!("{{ {own} }}"));
        assert!(!help.contains("objects: [") && !help.contains("subject: \"not"), "{own}: {help}");
        assert!(help.starts_with("do not just remove it") || help.contains("says the same"), "{own}: {help}");
    }
}

/// Who removes such a key from a complete condition has another one.
#[test]
fn a_key_beside_a_complete_condition_that_changes_it_is_not_just_removed() {
    for own in ["contextKind: org", "except: [CH]", "excludedUsers: [a]", "users: [a]", "probability: 0.1"] {
        let condition = "type: string, subject: country, predicate: is one of, objects: [AT]";
        let help = written(CONDITION, &format!("{{ {condition}, {own} }}"));
        assert!(help.starts_with("do not just remove it"), "{own}: {help}");
    }
}

#[test]
fn conditions_in_a_mapping_keep_the_negation_or_have_no_form() {
    let list = |own: &str| written(CONDITIONS_AND_BETWEEN, &format!("      conditions: {{ {own} }}\n"));
    let help = list("\"country !=\": AT, notSegment: staff");
    let all =
        format!("[{{ {} }}, {{ {} }}]", string("country", "is not any of", "\"AT\""), segment("is not in"));
    assert_eq!(help, format!("write a list: `conditions: {all}`"));
    for own in ["notCountry: AT", "country: AT, minAge: 18", "userId: a"] {
        let help = list(own);
        assert!(
            help.starts_with("write a list of conditions. Of ") && !help.contains("objects"),
            "{own}: {help}"
        );
    }
}

/// What restricts a rule is never gone without a word, and never a condition that nobody meets.
#[test]
fn a_key_of_a_rule_that_changes_whom_it_matches_is_not_just_removed() {
    for (own, condition) in [
        ("excludeSegments: [staff]", segment("is not in")),
        ("notSegments: [staff]", segment("is not in")),
        ("\"!country\": DE", string("country", "is not any of", "\"DE\"")),
        ("before: 2026-12-01T00:00:00Z", time("before")),
        ("validUntil: 2026-12-01T00:00:00Z", time("before")),
        ("after: 2026-12-01T00:00:00Z", time("after")),
        ("validFrom: 2026-12-01T00:00:00Z", time("after")),
    ] {
        let help = written(SERVE, &format!("      {own}\n{SERVE}"));
        assert_eq!(
            help,
            format!("do not just remove it: write it below `conditions`, as `- {{ {condition} }}`")
        );
        let fixed = featureprobe(&DOCUMENT.replace(SERVE, &format!("        - {{ {condition} }}\n{SERVE}")));
        assert!(fixed.payload.is_some() && fixed.diagnostics.is_empty(), "{own}: {:#?}", fixed.diagnostics);
    }
    for own in [
        "unless: { country: AT }",
        "unless: \"country = 'AT'\"",
        "except: [ { country: AT } ]",
        "exclude: [ { country: AT } ]",
        "excludeUsers: [a]",
        "notCountry: AT",
        "minAge: 18",
        "schedule: { from: 2026-12-01, to: 2026-12-02 }",
        "context: { country: AT }",
        "audienceFilter: { country: AT }",
        "contextKind: org",
        "archived: true",
        "paused: true",
        "state: DISABLED",
        "state: paused",
        "combine: or",
        "mode: any",
        "mode: strict",
        "any: true",
        "caseSensitive: false",
        "ignoreCase: true",
        "inverse: true",
        "reverse: true",
    ] {
        let help = written(SERVE, &format!("      {own}\n{SERVE}"));
        assert!(help.starts_with("do not just remove it") && !help.contains("objects: ["), "{own}: {help}");
        let rest = DOCUMENT.split_once(CONDITIONS).unwrap().1.split_once('\n').unwrap().1;
        let alone = format!("{}      {own}\n{rest}", DOCUMENT.split_once(CONDITIONS).unwrap().0);
        for one in featureprobe(&alone).diagnostics {
            // An example is none of this key.
            assert!(!one.help.unwrap_or_default().starts_with("write `conditions"), "{own}");
        }
    }
    for own in ["weight: 10", "rolloutWeight: 10000", "probability: 0.1", "sample: 0.1", "ramp: 10"] {
        let help = written(SERVE, &format!("      {own}\n{SERVE}"));
        assert!(help.starts_with("one `serve` says both") && !help.contains("objects: ["), "{own}: {help}");
    }
    for own in ["archived: false", "paused: false", "caseSensitive: true", "state: enabled"] {
        let help = written(SERVE, &format!("      {own}\n{SERVE}"));
        assert!(help.starts_with("remove it: "), "{own}: {help}");
    }
}

/// A rule whose result nobody reads would be given `select: 0`, which is off.
#[test]
fn what_names_a_variation_in_a_rule_without_serve_is_its_serve() {
    let serve = "serve: { variation: \"on\" }";
    let wanted = featureprobe(DOCUMENT).payload.unwrap().targeting();
    for own in [
        "variationIndex: 1",
        "variation_index: 1",
        "serveVariation: \"on\"",
        "variations: [\"on\"]",
        "variations: \"on\"",
        "result_variation: \"on\"",
        "target: \"on\"",
        "action: \"on\"",
        "outputs: \"on\"",
        "response: \"on\"",
        "response: { variation: \"on\" }",
        "use: \"on\"",
        "state: \"on\"",
        "\"on\": true",
    ] {
        let help = written(serve, own);
        assert_eq!(help, format!("write `{serve}` instead"), "{own}");
        let fixed = featureprobe(&DOCUMENT.replace(serve, help.split('`').nth(1).unwrap()));
        assert_eq!(fixed.payload.unwrap().targeting(), wanted, "{own}");
    }
    for (own, split) in [
        ("\"on\": 10\n      \"off\": 90", "{ \"on\": 10, \"off\": 90 }"),
        ("\"on\": 10", "{ \"on\": 10, \"off\": 90 }"),
        ("variants: { \"on\": 10, \"off\": 90 }", "{ \"on\": 10, \"off\": 90 }"),
        ("variations: { \"on\": 10, \"off\": 90 }", "{ \"on\": 10, \"off\": 90 }"),
        ("fractional: [ [\"on\", 10], [\"off\", 90] ]", "{ \"on\": 10, \"off\": 90 }"),
    ] {
        let help = written(serve, own);
        assert!(help.contains(&format!("split: {split}")), "{own}: {help}");
        let fixed = featureprobe(&DOCUMENT.replace(serve, &format!("serve: {{ split: {split} }}")));
        assert!(fixed.payload.is_some(), "{own}: {:#?}", fixed.diagnostics);
    }
    for own in ["use: \"on\"\n      action: \"off\"", "use: \"on\"\n      state: \"off\""] {
        let found = featureprobe(&DOCUMENT.replace(serve, own)).diagnostics;
        assert!(!found.is_empty());
        for one in found {
            let help = one.help.unwrap_or_default();
            assert!(!help.contains("variation: \"") && !help.contains("select"), "{own}: {help}");
        }
    }
    // These are no results.
    for own in ["note: \"on\"", "notTarget: \"on\"", "else: \"on\"", "segment: \"on\""] {
        for one in featureprobe(&DOCUMENT.replace(serve, own)).diagnostics {
            let help = one.help.unwrap_or_default();
            assert!(!help.contains("variation: \"on\""), "{own}: {help}");
        }
    }
}

/// Who removes a condition from a serve serves it to everyone.
#[test]
fn a_key_of_a_serve_that_says_whom_or_when_is_not_just_removed() {
    let serve = "serve: { variation: \"on\" }";
    let default = "defaultServe: { variation: \"off\" }";
    for own in [
        "if: \"country = AT\"",
        "conditions: [ { type: string, subject: country, predicate: is one of, objects: [AT] } ]",
        "when: { country: AT }",
        "else: \"off\"",
        "otherwise: \"off\"",
        "until: 2026-12-01T00:00:00Z",
        "segment: staff",
        "users: [a]",
        "unless: staff",
        "schedule: { from: 2026-12-01 }",
    ] {
        for (from, to) in [
            (serve, format!("serve: {{ variation: \"on\", {own} }}")),
            (default, format!("defaultServe: {{ variation: \"off\", {own} }}")),
        ] {
            let help = written(from, &to);
            assert!(help.starts_with("do not just remove it: a serve has no conditions"), "{to}: {help}");
        }
    }
    let help = written(serve, "serve: { variation: \"on\", probability: 0.1 }");
    assert!(help.contains("split") && help.contains("…"), "{help}");
    let help = written(serve, "serve: { variation: \"on\", ramp: 10 }");
    assert!(help.contains("split: { \"on\": 10, \"off\": 90 }"), "{help}");
}

/// A segment and a share of users in a text are no attributes.
#[test]
fn a_text_that_compares_a_segment_is_a_condition_of_this_type() {
    for (own, condition) in [
        ("segment = staff", segment("is in")),
        ("segment != staff", segment("is not in")),
        ("segment not in ('staff')", segment("is not in")),
        ("not (segment = staff)", segment("is not in")),
        ("not (segment != staff)", segment("is in")),
    ] {
        let help = written(CONDITION, &format!("\"{own}\""));
        assert_eq!(help, format!("write `{{ {condition} }}`"), "{own}");
    }
    let help = written(CONDITION, "\"percentage < 10\"");
    assert!(help.contains('…'), "{help}");
}

/// A list that is denied as a whole is a list, and what may be denied in part has no form.
#[test]
fn a_value_that_denies_or_compares_is_no_object() {
    for (value, objects) in
        [("!AT", "\"AT\""), ("!AT, CH", "\"AT\", \"CH\""), ("not AT, CH", "\"AT\", \"CH\"")]
    {
        let help = written(CONDITION, &format!("{{ country: \"{value}\" }}"));
        let condition = string("country", "is not any of", objects);
        assert!(help.contains(&condition), "{value}: {help}");
        let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &format!("{{ {condition} }}")));
        assert!(fixed.payload.is_some(), "{value}: {:?}", fixed.diagnostics);
    }
    for value in [
        "!AT, !CH",
        "!(AT)",
        "AT, not CH",
        "except AT",
        "all but AT",
        "no AT",
        "at least 18",
        "18 or older",
        "¬AT",
    ] {
        let help = written(CONDITION, &format!("{{ country: \"{value}\" }}"));
        assert!(!help.contains("objects: ["), "{value}: {help}");
    }
}
