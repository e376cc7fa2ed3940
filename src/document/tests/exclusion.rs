//! Rules that no user can match.

use super::*;

const CONDITIONS: &str =
    "conditions:\n        - { type: number, subject: age, predicate: \">\", objects: [\"18\"] }";

fn rule(conditions: &[&str]) -> Document {
    let list: Vec<String> = conditions.iter().map(|one| format!("        - {{ {one} }}\n")).collect();
    read_as(
        ServiceKind::FeatureProbe,
        GOOD.replace(CONDITIONS, &format!("conditions:\n{}", list.concat().trim_end())),
    )
}

fn warning(document: &Document) -> Option<&Diagnostic> {
    document.diagnostics.iter().find(|one| one.id == "never-matches")
}

fn between(kind: &str, sides: [(&str, &str); 2]) -> String {
    let [(left, objects), (right, right_objects)] = sides;
    format!(
        "type: {kind}, subject: a, predicate: between, leftPredicate: \"{left}\", objects: [{objects}], rightPredicate: \
         \"{right}\", rightObjects: [{right_objects}]"
    )
}

fn one(kind: &str, predicate: &str, objects: &str) -> String {
    format!("type: {kind}, subject: a, predicate: \"{predicate}\", objects: [{objects}]")
}

const EARLY: &str = "\"2026-12-01T09:00:00+00:00\"";
const LATE: &str = "\"2026-12-24T18:00:00+00:00\"";

/// The help is applied: each text in backticks replaces the field of its name.
#[test]
fn a_between_that_no_value_matches_is_found_and_its_help_solves_it() {
    for (kind, sides, message, outside) in [
        ("number", [(">=", "\"10\""), ("<", "\"5\"")], "no number matches both `>= 10` and `< 5`", false),
        ("number", [(">", "10"), ("<=", "9.5")], "no number matches both `> 10` and `<= 9.5`", false),
        ("number", [("<", "5"), (">", "10")], "no number matches both `< 5` and `> 10`", true),
        ("number", [(">", "5"), ("<", "5.0")], "no number matches both `> 5` and `< 5.0`", false),
        ("number", [("=", "5"), ("=", "6")], "no number matches both `= 5` and `= 6`", false),
        ("number", [("=", "6"), ("=", "5")], "no number matches both `= 6` and `= 5`", false),
        ("number", [(">", "20, 10"), ("<", "5, 7")], "no number matches both `> 20, 10` and `< 5, 7`", false),
        ("number", [(">", "-1"), ("<", "-1e3")], "no number matches both `> -1` and `< -1e3`", false),
        (
            "semver",
            [(">=", "2.0.0"), ("<", "1.10.0")],
            "no version matches both `>= 2.0.0` and `< 1.10.0`",
            false,
        ),
        ("semver", [(">=", "1.0.0"), ("<=", "1.0.0-rc.1")], "no version matches both", false),
        (
            "datetime",
            [("after", LATE), ("before", EARLY)],
            "no time matches both `after 2026-12-24T18:00:00+00:00` and `before 2026-12-01T09:00:00+00:00`",
            false,
        ),
        ("datetime", [("before", EARLY), ("after", LATE)], "no time matches both `before 2026", true),
    ] {
        let written = between(kind, sides);
        let document = rule(&[&written]);
        let found = warning(&document).unwrap_or_else(|| panic!("{written}: {:?}", document.diagnostics));
        assert!(document.payload.is_some());
        assert!(found.message.starts_with(message), "{}", found.message);
        let place = written.rfind('[').unwrap() + 1 + "        - { ".len() + 1;
        assert_eq!((found.line, found.column as usize), (9, place), "{written}");
        let help = found.help.as_deref().unwrap();
        assert_eq!(help.contains("outside"), outside, "{help}");
        let mut fixed = written.clone();
        for field in help.split('`').skip(1).step_by(2) {
            let (name, value) = field.split_once(": ").unwrap();
            let start = fixed.find(&format!(" {name}: ")).unwrap() + 1;
            let end = if value.starts_with('[') { "]" } else { "\"," };
            let length = fixed[start..].find(end).unwrap() + 1;
            fixed.replace_range(start..start + length, &format!("{name}: {value}"));
        }
        assert_ne!(fixed, written);
        let after = rule(&[&fixed]);
        assert!(after.payload.is_some() && after.diagnostics.is_empty(), "{fixed}: {:?}", after.diagnostics);
    }
    let same = between("datetime", [("after", EARLY), ("before", EARLY)]);
    let help = warning(&rule(&[&same])).unwrap().help.clone().unwrap();
    assert_eq!(help, "both sides must match: write a lower and a higher bound");
}

#[test]
fn conditions_that_exclude_each_other_are_found_and_the_help_solves_it() {
    for (conditions, help) in [
        ([one("string", "is one of", "AT"), one("string", "is one of", "CH")], "`objects: [\"AT\", \"CH\"]`"),
        ([one("number", "=", "1"), one("number", "=", "2, 3")], "`objects: [\"1\", \"2\", \"3\"]`"),
        ([one("string", "is one of", "AT"), one("string", "is not any of", "CH, AT")], "a rule for each"),
        ([one("number", ">", "65"), one("number", "<", "18")], "a rule for each"),
        ([one("number", "=", "5"), one("number", ">", "5")], "a rule for each"),
        ([one("semver", ">", "2.0.0"), one("semver", "<=", "2.0.0")], "a rule for each"),
        ([one("datetime", "after", LATE), one("datetime", "before", EARLY)], "a rule for each"),
        ([one("number", ">", "65"), between("number", [(">", "1"), ("<", "18")])], "a rule for each"),
    ] {
        let own = conditions.each_ref().map(String::as_str);
        let document = rule(&own);
        let found = warning(&document).unwrap_or_else(|| panic!("{own:?}: {:?}", document.diagnostics));
        assert_eq!(found.line, 10, "{own:?}");
        assert!(found.help.as_deref().unwrap().contains(help), "{found:?}");
        // A rule for each of them.
        assert!(own.iter().all(|one| rule(&[one]).diagnostics.is_empty()), "{own:?}");
        if let Some(objects) = help.strip_prefix('`').and_then(|help| help.strip_suffix('`')) {
            let start = own[0].find("objects").unwrap();
            assert_eq!(rule(&[&format!("{}{objects}", &own[0][..start])]).diagnostics, []);
        }
    }
    let three = [one("number", ">=", "5"), one("number", "<=", "5"), one("number", "!=", "5")];
    let document = rule(&three.each_ref().map(String::as_str));
    let found = warning(&document).unwrap();
    assert_eq!(found.line, 11);
    assert_eq!(
        found.message,
        "no number matches this and the conditions on `a` before it, so nobody matches this rule"
    );
}

#[test]
fn what_a_user_can_match_has_no_warning() {
    for conditions in [
        vec![between("number", [(">=", "5"), ("<=", "5")])],
        vec![between("number", [("<", "10"), (">", "5")])],
        vec![between("number", [(">", "10, 1"), ("<", "5")])],
        vec![between("number", [(">", "5"), ("<", "4, 10")])],
        vec![between("number", [("!=", "5"), ("!=", "6")])],
        vec![between("semver", [(">=", "1.9.0"), ("<", "1.10.0")])],
        vec![between("datetime", [("after", EARLY), ("before", LATE)])],
        vec![one("number", ">", "65"), one("number", "<", "18").replace("subject: a", "subject: b")],
        vec![one("string", "is one of", "AT"), one("string", "is not any of", "CH")],
        vec![one("string", "is one of", "AT, CH"), one("string", "is not any of", "CH")],
        vec![one("string", "starts with", "A"), one("string", "is one of", "AT")],
        vec![one("segment", "is in", "a"), one("segment", "is not in", "a")],
        vec![one("number", "!=", "5"), one("number", "!=", "6")],
    ] {
        let own: Vec<&str> = conditions.iter().map(String::as_str).collect();
        let found = rule(&own);
        assert!(warning(&found).is_none() && found.payload.is_some(), "{own:?}: {:?}", found.diagnostics);
    }
}

/// Another finding explains it.
#[test]
fn what_cannot_be_compared_has_its_own_finding_only() {
    for condition in [
        between("number", [(">", "ten"), ("<", "5")]),
        between("number", [(">", ""), ("<", "5")]),
        between("semver", [(">", "2"), ("<", "1.0.0")]),
        between("number", [("above", "10"), ("<", "5")]),
        between("string", [(">", "b"), ("<", "a")]),
    ] {
        let found = rule(&[&condition]);
        assert!(found.payload.is_none() && warning(&found).is_none(), "{condition}");
    }
}

/// The documented API does not say what its predicates mean.
#[test]
fn the_documented_kind_has_no_meaning_to_check() {
    let text = GOOD.replace(
        "objects: [\"18\"] }",
        "objects: [\"18\"] }\n        - { type: number, subject: age, predicate: \"<\", objects: [\"10\"] }",
    );
    assert_eq!(yaml(&text).diagnostics, []);
    let warned = read_as(ServiceKind::FeatureProbe, &text);
    assert!(warning(&warned).is_some());
}

#[test]
fn a_hostile_rule_is_checked_in_bounded_time() {
    let objects: Vec<String> = (0..20_000).map(|n| n.to_string()).collect();
    let objects = objects.join(", ");
    let mut conditions = vec![one("number", "=", &objects), one("number", "!=", &objects)];
    conditions.extend((0..4000).map(|n| one("number", ">", &n.to_string())));
    let own: Vec<&str> = conditions.iter().map(String::as_str).collect();
    assert!(rule(&own).diagnostics.iter().any(|one| one.id == "never-matches"));
}

/// Of the stages of a rollout, the last one comes first.
#[test]
fn a_rule_whose_users_an_earlier_one_matches_is_unreachable() {
    let two = |first: &[String], second: &[String]| {
        let rule = |name: &str, conditions: &[String], select: u32| {
            let list: Vec<String> = conditions.iter().map(|one| format!("{{ {one} }}")).collect();
            format!(
                "    - {{ name: {name}, conditions: [{}], serve: {{ select: {select} }} }}\n",
                list.join(", ")
            )
        };
        let start = GOOD.find("    - name: adults").unwrap();
        let end = GOOD.find("  disabledServe").unwrap();
        let mut text = GOOD.to_owned();
        text.replace_range(start..end, &(rule("first", first, 1) + &rule("second", second, 0)));
        let found = read_as(ServiceKind::FeatureProbe, &text);
        assert!(found.payload.is_some(), "{text}: {:?}", found.diagnostics);
        found.diagnostics.iter().any(|one| one.id == "unreachable-rule" && one.line == 8)
    };
    let city = || one("string", "is one of", "Paris").replace("subject: a", "subject: city");
    for (first, second) in [
        (vec![one("datetime", "after", EARLY)], vec![one("datetime", "after", LATE)]),
        (vec![one("number", ">", "18")], vec![one("number", ">", "21")]),
        (vec![one("number", ">=", "18")], vec![one("number", ">", "18")]),
        (vec![one("number", ">", "18")], vec![between("number", [(">=", "20"), ("<", "30")])]),
        (vec![one("number", ">", "18")], vec![one("number", "=", "20, 30"), city()]),
        (vec![one("string", "is one of", "AT, CH")], vec![one("string", "is one of", "CH")]),
        (vec![one("string", "is not any of", "AT")], vec![one("string", "is one of", "CH")]),
        (vec![one("semver", "<", "2.0.0")], vec![one("semver", "<=", "1.9.0")]),
        (vec![city()], vec![city()]),
    ] {
        assert!(two(&first, &second), "{first:?} {second:?}");
        assert!(first == second || !two(&second, &first), "{second:?} {first:?}");
    }
    for (first, second) in [
        (vec![one("number", ">", "18"), city()], vec![one("number", ">", "21")]),
        (vec![one("number", ">", "18")], vec![one("number", ">=", "18")]),
        (vec![one("string", "starts with", "A")], vec![one("string", "is one of", "AT")]),
        (vec![one("string", "is not any of", "AT")], vec![one("string", "starts with", "C")]),
        (vec![one("segment", "is in", "x")], vec![one("segment", "is in", "x")]),
        (vec![one("number", ">", "18")], vec![one("semver", ">", "21.0.0")]),
    ] {
        assert!(!two(&first, &second), "{first:?} {second:?}");
    }
}
