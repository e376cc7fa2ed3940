//! Words of other tools, and words that turn a meaning around: each help is followed to its end.

use super::*;
use crate::document::foreign;

const DOCUMENT: &str = r#"disabled: false
content:
  prerequisites:
    - { key: accounts, type: string, value: blue }
  variations:
    - { name: "off", value: red, description: "" }
    - { name: "on", value: blue, description: New }
  rules:
    - name: adults
      serve: { variation: "on" }
      conditions:
        - { type: string, subject: country, predicate: is one of, objects: [AT] }
  disabledServe: { variation: "off" }
  defaultServe: { select: 0 }
"#;

/// Where [`DOCUMENT`] has each key that other tools call otherwise.
const PLACES: &[(&str, &str, &str)] = &[
    ("a document", "content", "content:\n"),
    ("`content`", "rules", "rules:\n"),
    ("`content`", "variations", "variations:\n"),
    ("`content`", "prerequisites", "prerequisites:\n"),
    ("`content`", "defaultServe", "defaultServe: { select: 0 }"),
    ("`content`", "disabledServe", "disabledServe: { variation: \"off\" }"),
    ("a rule", "name", "name: adults"),
    ("a rule", "serve", "serve: { variation: \"on\" }"),
    ("a rule", "conditions", "conditions:\n"),
    ("a condition", "subject", "subject: country"),
    ("a condition", "predicate", "predicate: is one of"),
    ("a condition", "objects", "objects: [AT]"),
    ("a serve", "variation", "variation: \"on\""),
    ("a serve", "select", "select: 0"),
    ("a variation", "name", "name: \"on\""),
    ("a variation", "value", "value: blue, description: New"),
    ("a variation", "description", "description: New"),
    ("a prerequisite", "key", "key: accounts"),
    ("a prerequisite", "type", "type: string, value"),
];

/// Returns the place of a key, and its part up to the value.
fn place(what: &str, own: &str) -> Option<&'static str> {
    let (.., text) = PLACES.iter().find(|(of, key, _)| (*of, *key) == (what, own))?;
    assert_eq!(DOCUMENT.matches(text).count(), 1, "{text}");
    Some(text)
}

fn errors(text: &str) -> Vec<Diagnostic> {
    let is_error = |one: &Diagnostic| one.severity == Severity::Error;
    featureprobe(text).diagnostics.into_iter().filter(is_error).collect()
}

/// Returns the only error of a document, and its help.
fn only(text: &str) -> (Diagnostic, String) {
    let mut found = errors(text);
    assert_eq!(found.len(), 1, "{found:#?}\n{text}");
    let one = found.remove(0);
    let help = one.help.clone().unwrap_or_else(|| panic!("{one:?}"));
    (one, help)
}

/// Returns what a help wants to be written.
fn written(help: &str) -> &str {
    help.split('`').nth(1).unwrap_or_else(|| panic!("{help}"))
}

#[test]
fn a_key_under_another_name_has_one_finding_with_the_rename() {
    assert_eq!(errors(DOCUMENT), []);
    let mut count = 0;
    for (what, own, names) in foreign::names::NAMES.iter().filter(|(what, ..)| *what != "an expectation") {
        let place = place(what, own).unwrap_or_else(|| panic!("{what} {own}"));
        for name in *names {
            let renamed = place.replacen(own, name, 1);
            let (one, help) = only(&DOCUMENT.replace(place, &renamed));
            assert_eq!((one.id, one.message), ("unknown-key", format!("{what} has no `{name}`")));
            let fixed = match help.contains("instead of") {
                true => place.replacen(own, written(&help), 1),
                // The value has another form.
                false => written(&help).to_owned(),
            };
            assert_eq!(errors(&DOCUMENT.replace(place, &fixed)), [], "{what} {name}: {help}");
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

/// Who follows a help on a key beside the one that it stands for must not repeat that one.
#[test]
fn no_help_names_a_key_that_is_there_already() {
    let rows = foreign::names::NAMES
        .iter()
        .chain(foreign::names::SERVES)
        .filter(|(what, ..)| *what != "an expectation");
    for (what, own, names) in rows {
        let place = place(what, own).unwrap();
        let mut names = names.to_vec();
        let misspelled = format!("{own}{}", &own[own.len() - 1..]);
        names.push(&misspelled);
        for name in names {
            let value = match *own {
                "content" | "rules" | "variations" | "prerequisites" | "conditions" | "objects" => "[]",
                _ => "x",
            };
            let in_braces =
                place.ends_with(|c: char| c != '\n') && !place.contains("Serve") && *what != "a rule";
            let other = if in_braces { format!("{name}: {value}, ") } else { format!("{name}: {value}\n") };
            let indent = DOCUMENT.split(place).next().unwrap().rsplit('\n').next().unwrap();
            let indent = if in_braces { String::new() } else { " ".repeat(indent.len()) };
            let text = DOCUMENT.replace(place, &format!("{other}{indent}{place}"));
            let (one, help) = only(&text);
            assert_eq!(one.message, format!("{what} has no `{name}`"));
            let is_repeated = help.contains("did you mean")
                || help.contains("instead")
                || help.contains(&format!("write `{own}"));
            let is_about_both = ["keep one of the two: ", "one `serve` says both: "];
            assert!(
                !is_repeated && is_about_both.iter().any(|start| help.starts_with(start)),
                "{text}{help}"
            );
        }
    }
    for (from, to, start) in [
        ("disabled: false", "disabled: false\nenabled: true", "remove it: `disabled: false` says the same"),
        (
            "disabled: false",
            "enabled: false\ndisabled: false",
            "keep one of the two: `enabled` means `disabled: true`",
        ),
        ("key: accounts,", "key: accounts, flag: x,", "keep one of the two"),
        ("value: blue }", "value: blue, variation: x }", "keep one of the two"),
        ("value: blue }", "value: blue, enabled: true }", "keep one of the two"),
        (
            "{ key: accounts, type: string, value: blue }",
            "{ flag: a, toggle: b, type: string, value: x }",
            "",
        ),
        ("objects: [AT]", "objects: [AT], in: [CH]", "a condition has"),
        ("content:\n", "rules: []\ncontent:\n", "keep one of the two: `content` has `rules` as well"),
        ("type: string, subject", "segment: staff, type: string, subject", "write a condition of its own"),
    ] {
        assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
        let found = errors(&DOCUMENT.replace(from, to));
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        if start.is_empty() {
            assert_eq!(
                helps,
                ["write `key` instead of `flag`", "keep one of the two: `flag` stands for `key` as well"]
            );
        } else {
            assert!(helps.len() == 1 && helps[0].starts_with(start), "{to}: {helps:?}");
        }
    }
}

/// The example in a help is one for the variation that it is about.
#[test]
fn a_missing_part_of_a_variation_is_one_that_fits_the_others() {
    for (first, second, helps) in [
        ("value: \"false\"", "value: \"true\"", ["name: \"off\"", "name: \"on\""]),
        ("name: \"off\"", "name: \"on\"", ["value: \"false\"", "value: \"true\""]),
        ("name: \"off\"", "name: \"on\", value: \"true\"", ["value: \"false\"", ""]),
        ("name: \"off\", value: \"false\"", "name: \"on\"", ["", "value: \"true\""]),
        ("name: small, value: 10", "name: large", ["", "value: \"1\""]),
        ("name: small, value: '{}'", "name: large", ["", "value: \"{}\""]),
        ("name: red", "name: blue", ["value: \"red\"", "value: \"blue\""]),
        ("value: red", "value: blue", ["name: \"red\"", "name: \"blue\""]),
        ("name: \"on\", value: 10", "value: \"true\"", ["", ""]),
    ] {
        let text = format!(
            "disabled: true\ncontent:\n  variations:\n    - {{ {first} }}\n    - {{ {second} }}\n  rules: []\n  \
             disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 1 }}\n"
        );
        let mut fixed = text.clone();
        for (one, help) in errors(&text).iter().zip(helps.iter().filter(|help| !help.is_empty())) {
            let written = one.help.as_deref().unwrap();
            assert!(written.contains(&format!("such as `{help}`")), "{first} {second}: {written}");
            let line = text.lines().nth(one.line as usize - 1).unwrap();
            fixed = fixed.replace(line, &line.replace(" }", &format!(", {help} }}")));
        }
        let is_fixed = featureprobe(&fixed).diagnostics.is_empty();
        assert!(is_fixed || helps == ["", ""], "{fixed}{:#?}", featureprobe(&fixed).diagnostics);
    }
    let text = "disabled: true\ncontent:\n  variations: [{ name: \"on\", value: 1 }, { value: \"true\" }]\n  rules: []\n  \
                disabledServe: { select: 0 }\n  defaultServe: { select: 1 }\n";
    assert_eq!(only(text).1, "add a name that no other variation has");
}

const SERVES: [&str; 3] =
    ["serve: { variation: \"on\" }", "disabledServe: { variation: \"off\" }", "defaultServe: { select: 0 }"];

/// The names are known even if the variations cannot be read as they are.
#[test]
fn no_help_prints_an_empty_name() {
    let variations = "variations:\n    - { name: \"off\", value: red, description: \"\" }\n    - { name: \"on\", value: blue, description: New }";
    for own in [
        "variations: [\"off\", \"on\"]",
        "variations: { \"off\": red, \"on\": blue }",
        "variations: { \"off\": { value: red }, \"on\": { value: blue } }",
        "variations: [{ key: \"off\", value: red }, { variant: \"on\", payload: blue }]",
        "variations: [{ \"off\": red }, { \"on\": blue }]",
        "variants: [{ id: \"off\" }, { name: \"on\" }]",
        "variations:\n    name: \"off\"\n    value: red",
        "variations: [{ value: red }, { value: blue }]",
        "variations: [[], ~]",
        "variations: off",
        "variations: []",
    ] {
        for serve in SERVES {
            let (key, _) = serve.split_once(':').unwrap();
            for value in
                ["true", "\"on\"", "[x]", "50%", "{ value: x }", "{ value: red }", "{ name: \"on\" }"]
            {
                let text = DOCUMENT.replace(variations, own).replace(serve, &format!("{key}: {value}"));
                for one in featureprobe(&text).diagnostics {
                    let printed = format!("{} | {}", one.message, one.help.unwrap_or_default());
                    assert!(!printed.contains("``"), "{own} {value}: {printed}");
                    let is_named =
                        !own.contains("\"on\"") || value != "true" || !printed.contains("`serve` is");
                    assert!(is_named || printed.contains("begin with `off` and `on`"), "{own}: {printed}");
                }
            }
        }
    }
    // An item in braces has no key before its colon.
    let text = DOCUMENT.replace("    - { name: \"off\"", "  - { name: \"off\"");
    let (one, help) = only(&text);
    assert_eq!(one.message, "the item above is indented by 2 spaces, and this one by 4");
    assert_eq!(errors(&text.replace("    - { name: \"on\"", "  - { name: \"on\"")), [], "{help}");
    // A variation may be unnamed.
    let text =
        DOCUMENT.replace("name: \"off\"", "name: \"\"").replace(SERVES[1], "disabledServe: { select: 1 }");
    let found = featureprobe(&text.replace(SERVES[2], "defaultServe: { select: 1 }")).diagnostics;
    let unused = found.iter().find(|one| one.id == "unused-variation").unwrap();
    assert_eq!(unused.message, "variation 0, which has no name, is never served");
}

/// Without its dash, an item is a mapping: each key as an item, or none, would match other users.
#[test]
fn a_mapping_in_place_of_a_list_becomes_its_only_item() {
    let lines: Vec<&str> = DOCUMENT.lines().collect();
    for (list, own) in [
        ("prerequisites", "key: accounts\ntype: string\nvalue: blue"),
        ("prerequisites", "flag: accounts\ntype: string\nvalue: blue"),
        ("conditions", "type: string\nsubject: country\npredicate: is one of\nobjects: [AT]"),
        ("conditions", "attribute: country\noperator: IN\nvalues: [AT]"),
        ("rules", "name: adults\nserve: { variation: \"on\" }\nconditions: []"),
        ("variations", "name: \"on\"\nvalue: blue"),
        ("variations", "key: \"on\"\nattachment: { a: 1 }"),
    ] {
        let from = lines.iter().position(|line| line.trim() == format!("{list}:")).unwrap();
        let indent = lines[from].len() - lines[from].trim_start().len();
        let inner = lines[from + 1..].iter().take_while(|line| line.len() - line.trim_start().len() > indent);
        let to = from + 1 + inner.count();
        let with = |own: String| [&lines[..from], &[&own], &lines[to..]].concat().join("\n") + "\n";
        let owner = lines[from];
        let flow = own.replace('\n', ", ");
        for (is_flow, depth) in [(false, 2), (false, 6), (true, 0)] {
            let blanks = " ".repeat(indent + depth);
            let block = own.replace('\n', &format!("\n{blanks}"));
            let (own, fixed, expected) = match is_flow {
                true => (
                    format!(" {{ {flow} }}"),
                    format!(" [{{ {flow} }}]"),
                    "write `[` before it and `]` after it",
                ),
                false => (
                    format!("\n{blanks}{block}"),
                    format!("\n{}- {block}", &blanks[2..]),
                    "write `- ` before the first key, in place of the two blanks there",
                ),
            };
            let text = with(format!("{owner}{own}"));
            let found = errors(&text);
            let one =
                found.iter().find(|one| one.line as usize == from + 1).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(one.help.as_deref(), Some(expected), "{text}");
            let fixed = with(format!("{owner}{fixed}"));
            let left = errors(&fixed);
            let is_left = |one: &&Diagnostic| one.id == "wrong-type" || one.id == "syntax";
            assert!(left.iter().find(is_left).is_none(), "{fixed}{left:#?}");
        }
    }
    let condition =
        "conditions:\n        - { type: string, subject: country, predicate: is one of, objects: [AT] }";
    for (own, help) in [
        (
            "conditions: { country: AT, plan: [a, b] }",
            "write a list: `conditions: [{ type: string, subject: \"country\"",
        ),
        ("conditions: { all: [{ country: AT }] }", "remove it: all conditions of a rule must match"),
        (
            "conditions: { any: [{ country: AT }] }",
            "do not just remove it: all conditions of a rule must match",
        ),
        ("conditions: { not: [{ country: AT }] }", "do not just remove it: it reverses"),
        ("conditions: country == \"AT\"", "write what the rule compares"),
        ("conditions:", "write `conditions: []` for a rule that matches everyone"),
        ("conditions: {}", "write `conditions: []` for a rule that matches everyone"),
        ("any: [{ country: AT }]", "do not just remove it: all conditions"),
        ("all: [{ country: AT }]", "write `conditions` instead of `all`"),
    ] {
        let (_, found) = only(&DOCUMENT.replace(condition, own));
        assert!(found.starts_with(help), "{own}: {found}");
        if found.starts_with("write a list") {
            assert_eq!(errors(&DOCUMENT.replace(condition, written(&found))), []);
        }
    }
    let rules = "rules:\n    - name: adults\n";
    let (_, help) = only(&DOCUMENT.replace(rules, "rules:\n    adults:\n"));
    assert_eq!(
        help,
        "write a list, whose items have their names: `- name: \"adults\"` in place of `adults:`"
    );
    assert_eq!(errors(&DOCUMENT.replace(rules, "rules:\n    - name: \"adults\"\n")), []);
}

/// What changes whom a rule matches is not removed with its key.
#[test]
fn a_key_that_changes_what_matches_is_written_otherwise_or_not_just_removed() {
    let condition = "predicate: is one of, objects: [AT]";
    let prerequisite = "type: string, value: blue";
    let rule = "name: adults";
    for (place, own, written) in [
        (
            condition,
            "predicate: is one of, objects: [at], caseInsensitive: true",
            "matches regex, objects: [\"^[Aa][Tt]$\"]",
        ),
        (
            condition,
            "predicate: starts with, objects: [a.], ignoreCase: true",
            "matches regex, objects: [\"^[Aa]\\\\.\"]",
        ),
        (
            condition,
            "predicate: ends with, objects: [a], caseSensitive: false",
            "matches regex, objects: [\"[Aa]$\"]",
        ),
        (
            condition,
            "predicate: contains, objects: [a, b], caseInsensitive: true",
            "matches regex, objects: [\"[Aa]\", \"[Bb]\"]",
        ),
        (
            condition,
            "predicate: is not any of, objects: [a], caseInsensitive: true",
            "does not match regex, objects: [\"^[Aa]$\"]",
        ),
        (
            condition,
            "predicate: STR_CONTAINS, objects: [a], caseInsensitive: true",
            "matches regex, objects: [\"[Aa]\"]",
        ),
        (condition, "predicate: is one of, objects: [a], caseInsensitive: false", ""),
        (condition, "predicate: is one of, objects: [a], caseSensitive: true", ""),
        (condition, "predicate: matches regex, objects: [a], caseInsensitive: true", "-"),
        (condition, "predicate: is one of, objects: [a], enabled: false", "-"),
        (condition, "predicate: is one of, objects: [a], disabled: false", ""),
        (prerequisite, "type: boolean, value: \"true\", negate: true", "value: \"false\""),
        (prerequisite, "type: boolean, value: \"false\", inverted: true", "value: \"true\""),
        (prerequisite, "negate: true", "value: \"false\", type: boolean"),
        (prerequisite, "enabled: false", "value: \"false\", type: boolean"),
        (prerequisite, "disabled: true", "value: \"false\", type: boolean"),
        (prerequisite, "type: boolean, enabled: true", "value: \"true\""),
        (prerequisite, "type: string, value: blue, negate: true", "-"),
        (prerequisite, "type: string, value: blue, negate: false", ""),
        (rule, "name: adults\n      enabled: false", "-"),
        (rule, "name: adults\n      disabled: true", "-"),
        (rule, "name: adults\n      disable: true", "-"),
        (rule, "name: adults\n      enabled: true", ""),
        (rule, "name: adults\n      match: any", "-"),
        (rule, "name: adults\n      matchType: ANY_MATCH_TYPE", "-"),
        (rule, "name: adults\n      segmentOperator: OR_SEGMENT_OPERATOR", "-"),
        (rule, "name: adults\n      operator: and", ""),
        (rule, "name: adults\n      match: none", "-"),
        (rule, "name: adults\n      negate: true", "-"),
    ] {
        assert_eq!(DOCUMENT.matches(place).count(), 1, "{place}");
        let (_, help) = only(&DOCUMENT.replace(place, own));
        match written {
            "" => assert!(help.starts_with("remove it"), "{own}: {help}"),
            "-" => assert!(help.starts_with("do not just remove it"), "{own}: {help}"),
            written => {
                let own_type = if place == prerequisite && own.contains("type: boolean, ") {
                    "type: boolean, "
                } else {
                    ""
                };
                let predicate = if place == condition { "predicate: " } else { "" };
                assert!(help.starts_with(&format!("write `{predicate}{written}`")), "{own}: {help}");
                let fixed = DOCUMENT.replace(place, &format!("{own_type}{predicate}{written}"));
                assert_eq!(errors(&fixed), [], "{own}: {help}");
            }
        }
    }
}

/// Whatever a condition has been made of, it has one finding.
#[test]
fn a_condition_in_another_form_has_one_finding() {
    let own = "{ type: string, subject: country, predicate: is one of, objects: [AT] }";
    for (written, help) in [
        ("{ not: { country: AT } }", "do not just remove it: it reverses"),
        (
            "{ or: [{ country: AT }, { plan: a }] }",
            "do not just remove it: all conditions of a rule must match",
        ),
        ("{ and: [{ country: AT }] }", "remove it: all conditions of a rule must match"),
        ("{ percentage: 25 }", "a rule has this in its `serve`, not in a condition"),
        (
            "{ key: [a, b] }",
            "write `type: string, subject: \"key\", predicate: is one of, objects: [\"a\", \"b\"]`",
        ),
        (
            "{ country: { in: [AT] } }",
            "write `type: string, subject: \"country\", predicate: \"is one of\", objects: [\"AT\"]`",
        ),
        (
            "{ country: { neq: AT } }",
            "write `type: string, subject: \"country\", predicate: \"is not any of\", objects: [\"AT\"]`",
        ),
        (
            "{ age: { gte: 18 } }",
            "write `type: number, subject: \"age\", predicate: \">=\", objects: [\"18\"]`",
        ),
    ] {
        let (_, found) = only(&DOCUMENT.replace(own, written));
        assert!(found.starts_with(help), "{written}: {found}");
        if let Some(fixed) = found.strip_prefix("write `") {
            let fixed = format!("{{ {} }}", fixed.trim_end_matches('`'));
            assert_eq!(errors(&DOCUMENT.replace(own, &fixed)), [], "{fixed}");
        }
    }
    let found = errors(&DOCUMENT.replace(own, "{ segment: staff, negate: true }"));
    let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
    let expected = [
        "write `type: segment, predicate: is in, objects: [\"staff\"]` instead",
        "correct the segment first: then, the predicate `is not in` says the opposite",
    ];
    assert_eq!(helps, expected);
}

#[test]
fn a_serve_in_another_form_is_written_with_a_name_or_a_split() {
    for (own, fixed) in [
        ("{ value: blue }", "{ variation: \"on\" }"),
        ("{ value: \"on\" }", ""),
        ("{ name: \"on\" }", "{ variation: \"on\" }"),
        ("{ key: blue }", "{ variation: \"on\" }"),
        ("{ index: 1 }", "{ variation: \"on\" }"),
        ("{ id: \"off\" }", "{ variation: \"off\" }"),
        ("{ \"on\": true }", "{ variation: \"on\" }"),
        ("{ serve: \"on\" }", "{ variation: \"on\" }"),
        ("{ select: blue }", "{ variation: \"on\" }"),
        ("{ variation: blue }", "{ variation: \"on\" }"),
        ("{ split: { blue: 100 } }", "{ split: { \"on\": 100 } }"),
        ("{ \"on\": 20, \"off\": 80 }", "{ split: { \"on\": 20, \"off\": 80 } }"),
        ("{ \"on\": 0.25, \"off\": 0.75 }", "{ split: { \"on\": 25, \"off\": 75 } }"),
        ("{ \"on\": 100 }", "{ split: { \"on\": 100 } }"),
        ("blue", "{ variation: \"on\" }"),
        ("[1]", "{ variation: \"on\" }"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(SERVES[2], &format!("defaultServe: {own}")));
        if fixed.is_empty() {
            assert!(help.contains("the variations begin with `off` and `on`"), "{own}: {help}");
            continue;
        }
        assert!(fixed.contains(written(&help).trim_start_matches("defaultServe: ")), "{own}: {help}");
        assert_eq!(errors(&DOCUMENT.replace(SERVES[2], &format!("defaultServe: {fixed}"))), [], "{help}");
    }
    for own in
        ["variation: \"on\", percentage: 25", "variation: \"on\", weight: 25", "select: 0, rollout: 25"]
    {
        let (_, help) = only(&DOCUMENT.replace(SERVES[2], &format!("defaultServe: {{ {own} }}")));
        assert!(help.starts_with("one `split` says both: write a split, such as `split: {"), "{own}: {help}");
    }
    // Index and value are those of two variations.
    let text = DOCUMENT.replace("value: red", "value: 1").replace("value: blue, d", "value: 0, d");
    let (_, help) = only(&text.replace(SERVES[2], "defaultServe: 1"));
    assert!(help.starts_with("write `defaultServe: { variation: \"name\" }`"), "{help}");
}

/// An empty serve is yet to be written: nothing is known about the users who get it.
#[test]
fn an_empty_serve_has_one_finding() {
    for serve in SERVES {
        let (key, _) = serve.split_once(':').unwrap();
        for kind in [ServiceKind::Documented, ServiceKind::FeatureProbe] {
            let text = with("{ select: 1 }", "{ variation: \"off\" }")
                .replace("{ select: 0 }", "{ variation: \"off\" }");
            let own = format!("{key}: {{ variation: \"off\" }}");
            assert_eq!(text.matches(&own).count(), 1);
            let found = read_as(kind, text.replace(&own, &format!("{key}: {{}}"))).diagnostics;
            assert_eq!(found.iter().map(|one| one.id).collect::<Vec<_>>(), ["serve-choice"], "{found:#?}");
        }
    }
    // Nor is it about rules that cannot be read.
    let text = with("    - name: adults\n", "      name: adults\n");
    assert_eq!(found(&featureprobe(&text)), ["6:3 wrong-type"]);
}

/// The help on what a service does not have is not the same again.
#[test]
fn no_help_is_what_was_written() {
    let split = "{ split: { \"on\": 25, \"off\": 75 } }";
    let found = yaml(with("{ select: 1 }", split)).diagnostics;
    let helps: Vec<_> = found.iter().map(|one| one.help.as_deref().unwrap()).collect();
    assert_eq!(helps, ["a split needs `service_kind: featureprobe`"]);
    for (own, message) in [
        ("{}", "a serve needs `select` or `variation`"),
        ("{ select: 1, variation: \"on\" }", "a serve has `select` or `variation`, not both"),
    ] {
        let document = yaml(with("{ select: 1 }", own));
        assert_eq!(document.diagnostics[0].message, message);
    }
}

#[test]
fn no_name_is_suggested_without_the_sign_that_denies_it() {
    for sign in ["!", "-", "~", "¬", "−", "！", "! "] {
        for (from, to) in [
            ("defaultServe: { select: 0 }", format!("defaultServe: {{ variation: \"{sign}on-sale\" }}")),
            (
                "defaultServe: { select: 0 }",
                format!("defaultServe: {{ split: {{ \"{sign}on-sale\": 100 }} }}"),
            ),
            ("type: string, subject", format!("type: \"{sign}string\", subject")),
            ("predicate: is one of", format!("predicate: \"{sign}is one of\"")),
            ("disabled: false", format!("\"{sign}disabled\": false")),
            ("subject: country", format!("\"{sign}subject\": country")),
            ("key: accounts, type", format!("\"{sign}key\": accounts, type")),
            ("type: string, value: blue", format!("type: \"{sign}string\", value: blue")),
            ("disabled: false", format!("# gitoggle: allow({sign}same-serve) why\ndisabled: false")),
        ] {
            assert_eq!(DOCUMENT.matches(from).count(), 1, "{from}");
            let text = DOCUMENT.replace(from, &to).replace("name: \"on\"", "name: on-sale");
            let text = text.replace("variation: \"on\"", "variation: on-sale");
            let found = featureprobe(&text).diagnostics;
            assert!(!found.is_empty(), "{to}");
            let helps = || found.iter().filter_map(|one| one.help.as_deref());
            let is_undenied = |help: &str| help.contains("did you mean") && !help.contains("is not any of");
            assert!(!helps().any(is_undenied), "{to}: {:?}", helps().collect::<Vec<_>>());
        }
    }
}

/// A part that is one level too deep, or not deep enough, is not missing as well.
#[test]
fn a_part_one_level_off_has_one_finding() {
    let content = DOCUMENT.split_once("content:\n").unwrap().1;
    let outdented: String = content.lines().map(|line| format!("{}\n", &line[2..])).collect();
    let conditions = "      conditions:\n        - { type: string, subject: country, predicate: is one of, objects: [AT] }\n";
    let serve = "      serve: { variation: \"on\" }\n";
    let in_condition = conditions.replace("objects: [AT]", "objects: [AT], serve: { variation: \"on\" }");
    let in_rule =
        "      type: string\n      subject: country\n      predicate: is one of\n      objects: [AT]\n";
    let of_another_tool =
        "      attribute: country\n      type: string\n      operator: IN\n      values: [AT]\n";
    let written = "write a condition: `conditions: [{ type: \"string\", subject: \"country\", predicate: ";
    for (text, help) in [
        (
            DOCUMENT.replace("disabled: false\ncontent:\n", "content:\n  disabled: false\n"),
            "write it beside `content`, not below",
        ),
        (
            format!("disabled: false\n{outdented}"),
            "write `content:` above it, and indent `rules`, `disabledServe`, `defaultServe`, `variations` and `prerequisites` \
             below",
        ),
        ("disabled: false\nvariations: []\n".to_owned(), "write `content:` above it, and indent it below"),
        (
            DOCUMENT.replace(conditions, &in_condition).replace(serve, ""),
            "write it beside `conditions`, not below",
        ),
        (DOCUMENT.replace(conditions, in_rule), written),
        (DOCUMENT.replace(conditions, of_another_tool), written),
        (
            DOCUMENT
                .replace("  defaultServe: { select: 0 }", "")
                .replace(serve, "      defaultServe: { select: 0 }\n      serve: { select: 1 }\n"),
            "write it beside `rules`, not below",
        ),
        (
            DOCUMENT
                .replace("  disabledServe: { variation: \"off\" }\n", "")
                .replace("description: New", "disabledServe: { variation: \"off\" }"),
            "write it beside `variations`, not below",
        ),
    ] {
        let (_, found) = only(&text);
        assert!(found.starts_with(help), "{found}\n{text}");
        if let Some(condition) = found.strip_prefix("write a condition: ") {
            let condition = format!("      {}\n", condition.trim_matches('`'));
            let fixed = DOCUMENT.replace(conditions, &condition).replace("\"IN\"", "is one of");
            assert_eq!(errors(&fixed), [], "{fixed}");
        }
    }
    let indented = |by: usize, text: &str| -> String {
        text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect()
    };
    let one = indented(2, DOCUMENT);
    let each = "write each toggle into a file of its own";
    for (text, help) in [
        (outdented.clone(), "write `content:` above it"),
        (format!("toggle:\n{one}"), "remove `toggle:` and the indentation below it"),
        (format!("a:\n{one}b:\n{one}"), each),
        (format!("flags:\n  a:\n{}  b:\n{}", indented(4, DOCUMENT), indented(4, DOCUMENT)), each),
        (format!("-{}", &one[1..]), "remove the brackets or the dash"),
        (format!("-{}-{}", &one[1..], &one[1..]), each),
        ("on: push\njobs: {}\n".to_owned(), "if documents are in a separate folder"),
        ("rules: [a]\nextends: b\n".to_owned(), "if documents are in a separate folder"),
    ] {
        let found = errors(&text);
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.iter().any(|found| found.starts_with(help)), "{helps:?}\n{text}");
        assert!(helps.len() == 1 || text == outdented, "{helps:?}\n{text}");
    }
}

/// The value of the other toggle is never the opposite of what is written.
#[test]
fn a_prerequisite_in_another_form_keeps_its_value() {
    let own = "{ key: accounts, type: string, value: blue }";
    for (written, fixed) in [
        ("{ key: b, variation: \"off\" }", "{ key: b, value: \"false\", type: boolean }"),
        ("{ key: b, variation: [on] }", "{ key: b, value: \"true\", type: boolean }"),
        ("{ key: b, serves: \"off\" }", "{ key: b, value: \"false\", type: boolean }"),
        ("{ key: b, state: DISABLED }", "{ key: b, value: \"false\", type: boolean }"),
        ("{ key: b, enabled: false }", "{ key: b, value: \"false\", type: boolean }"),
        ("{ key: b, variation: 1 }", ""),
        ("{ key: b, variation: \"zz\" }", ""),
        ("{ b: on }", "{ key: \"b\", type: boolean, value: \"true\" }"),
        ("{ b: \"off\" }", "{ key: \"b\", type: boolean, value: \"false\" }"),
        ("{ b: 1 }", "{ key: \"b\", type: number, value: \"1\" }"),
        ("{ feature: true }", "{ key: \"feature\", type: boolean, value: \"true\" }"),
        (
            "{ key: b, type: boolean, predicate: \"!=\", value: \"true\" }",
            "{ key: b, type: boolean, value: \"false\" }",
        ),
        (
            "{ key: b, type: boolean, operator: IN, value: \"true\" }",
            "{ key: b, type: boolean, value: \"true\" }",
        ),
        ("{ key: b, type: number, predicate: \">\", value: \"1\" }", "-"),
        ("{ key: b, type: string, predicate: \"!=\", value: red }", "-"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(own, written));
        match fixed {
            "" => assert!(
                help.starts_with("write `value` instead, with the value of the variation `"),
                "{help}"
            ),
            "-" => assert!(help.starts_with("do not just remove it"), "{written}: {help}"),
            fixed => {
                let is_written = written.contains("IN") && help.starts_with("remove it");
                let parts = ["value: \"true\"", "value: \"false\"", "value: \"1\""];
                let part = parts.iter().find(|part| fixed.contains(**part)).unwrap();
                assert!(is_written || help.contains(part), "{written}: {help}");
                assert_eq!(errors(&DOCUMENT.replace(own, fixed)), []);
            }
        }
    }
    let (_, help) =
        only(&DOCUMENT.replace("\n    - { key: accounts, type: string, value: blue }", " { b: on, c: red }"));
    assert_eq!(
        help,
        "write a list: `prerequisites: [{ key: \"b\", type: boolean, value: \"true\" }, { key: \"c\", type: string, value: \"red\" }]`"
    );
}

const CONDITION: &str = "{ type: string, subject: country, predicate: is one of, objects: [AT] }";

/// An example in the place of an expression could say the opposite of what stands there.
#[test]
fn an_expression_is_written_as_a_condition_that_says_the_same_or_in_words() {
    for (own, condition) in [
        ("\"country NOT IN ('AT')\"", "string, country, is not any of, [AT]"),
        ("\"country not in ['AT', 'CH']\"", "string, country, is not any of, [AT, CH]"),
        ("\"country IN (AT, CH)\"", "string, country, is one of, [AT, CH]"),
        ("country = 'AT'", "string, country, is one of, [AT]"),
        ("country == \"AT\"", "string, country, is one of, [AT]"),
        ("country != AT", "string, country, is not any of, [AT]"),
        ("country <> 'AT'", "string, country, is not any of, [AT]"),
        ("country is not 'AT'", "string, country, is not any of, [AT]"),
        ("country is one of (AT)", "string, country, is one of, [AT]"),
        ("\"NOT country = 'AT'\"", "string, country, is not any of, [AT]"),
        ("not (country eq \"AT\")", "string, country, is not any of, [AT]"),
        ("\"!(country == 'AT')\"", "string, country, is not any of, [AT]"),
        ("(country == \"AT\")", "string, country, is one of, [AT]"),
        ("age < 21", "number, age, <, [21]"),
        ("age>=21", "number, age, >=, [21]"),
        ("\"not age < 21\"", "number, age, >=, [21]"),
        ("age = 21", "number, age, =, [21]"),
        ("age in (21, 22)", "number, age, =, [21, 22]"),
        ("plan = \"21\"", "string, plan, is one of, [21]"),
        ("app >= 1.2.3", "semver, app, >=, [1.2.3]"),
        ("now after 2026-12-01T09:00:00+00:00", "datetime, now, after, [2026-12-01T09:00:00+00:00]"),
        ("mail ends with '@acme.com'", "string, mail, ends with, [@acme.com]"),
        ("mail does not end with '@acme.com'", "string, mail, does not end with, [@acme.com]"),
        ("mail startsWith \"a\"", "string, mail, starts with, [a]"),
        ("mail =~ '^a'", "string, mail, matches regex, [^a]"),
        ("beta == true", "string, beta, is one of, [true]"),
        ("{ \"in\": [{ var: country }, [AT, CH]] }", "string, country, is one of, [AT, CH]"),
        ("{ \"==\": [{ var: country }, AT] }", "string, country, is one of, [AT]"),
        ("{ \"!=\": [{ var: [country] }, AT] }", "string, country, is not any of, [AT]"),
        ("{ \"<\": [{ var: age }, 21] }", "number, age, <, [21]"),
        ("{ \"!\": { in: [{ var: country }, [AT]] } }", "string, country, is not any of, [AT]"),
        ("{ starts_with: [{ var: mail }, a] }", "string, mail, starts with, [a]"),
        ("[country, notIn, [AT]]", "string, country, is not any of, [AT]"),
        ("[age, \"<\", 21]", "number, age, <, [21]"),
        ("{ sem_ver: [{ var: app }, \"=\", 1.2.3] }", "semver, app, =, [1.2.3]"),
        ("{ sem_ver: [{ var: app }, \">=\", 1.2.3] }", "semver, app, >=, [1.2.3]"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(CONDITION, own));
        let form = format!("{{ {} }}", written(&help).trim_matches(['{', '}', ' ']));
        let parts: Vec<&str> = condition.splitn(4, ", ").collect();
        let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &form));
        assert!(
            help.starts_with("write `") && fixed.payload.is_some(),
            "{own}: {help}: {:#?}",
            fixed.diagnostics
        );
        let objects = parts[3].trim_matches(['[', ']']).split(", ").map(|one| format!("\"{one}\""));
        let objects = objects.collect::<Vec<_>>().join(", ");
        let predicate = if parts[2].starts_with(['<', '>', '=']) {
            format!("\"{}\"", parts[2])
        } else {
            parts[2].to_owned()
        };
        let expected = format!(
            "{{ type: {}, subject: \"{}\", predicate: {predicate}, objects: [{objects}] }}",
            parts[0], parts[1]
        );
        assert_eq!(form, expected, "{own}");
    }
    for own in [
        "country == \"AT\" and plan == \"pro\"",
        "country == \"AT\" || plan == \"pro\"",
        "country in (AT) or plan in (pro)",
        "admin in roles",
        "\"'AT' in countries\"",
        "country is null",
        "country is not null",
        "!country == \"AT\"",
        "age > limit",
        "age between 18 and 65",
        "not (country == \"AT\" and age > 18)",
        "now > 2026-12-01T09:00:00+00:00",
        "now after 2026-12-01",
        "mail like '%@acme.com'",
        "startsWith(mail, 'a')",
        "if country == \"AT\"",
        "everyone else",
        "{ \"in\": [AT, { var: countries }] }",
        "{ in: [{ var: mail }, acme] }",
        "{ sem_ver: [{ var: app }, \"~\", 1.2.3] }",
        "{ sem_ver: [{ var: app }, \"^\", 1.2.3] }",
        "{ \"!\": [{ var: country }] }",
        "{ if: [{ \"==\": [{ var: country }, AT] }, a, b] }",
        "[country, AT]",
        "[country, resembles, AT]",
        "{ \"<\": [18, { var: age }, 65] }",
    ] {
        let own = if own.starts_with(['{', '[', '"']) {
            own.to_owned()
        } else {
            format!("'{}'", own.replace('\'', "''"))
        };
        let (_, help) = only(&DOCUMENT.replace(CONDITION, &own));
        assert!(help.contains("says the same: `{ type: …, ") && !help.contains("AT"), "{own}: {help}");
    }
    let list =
        "conditions:\n        - { type: string, subject: country, predicate: is one of, objects: [AT] }";
    for (own, expected) in [
        ("conditions: country != \"AT\"", "predicate: is not any of"),
        ("conditions: country is null", "predicate: …"),
        ("if: country != \"AT\"", "predicate: is not any of"),
        ("when: age > 18 and beta", "predicate: …"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(list, own));
        assert!(help.contains("`conditions: [{ type: ") && help.contains(expected), "{own}: {help}");
        if !help.contains('…') {
            assert_eq!(errors(&DOCUMENT.replace(list, written(&help))), [], "{help}");
        }
    }
}

#[test]
fn a_variable_in_place_of_an_attribute_is_its_name() {
    for own in [
        "{ var: country }",
        "{ var: [country] }",
        "{ attribute: country }",
        "{ key: country }",
        "{ name: country }",
    ] {
        let (_, help) = only(&DOCUMENT.replace("subject: country", &format!("subject: {own}")));
        assert_eq!(help, "write `subject: \"country\"`", "{own}");
        assert_eq!(errors(&DOCUMENT.replace("subject: country", written(&help))), []);
    }
    for own in ["{ var: [country, AT] }", "{ kind: user, key: country }", "{ a: b }"] {
        let (_, help) = only(&DOCUMENT.replace("subject: country", &format!("subject: {own}")));
        assert_eq!(help, "write the name of the attribute alone: `subject: …`", "{own}");
    }
}

/// The types of Flipt have an end of their own.
#[test]
fn a_type_with_an_end_is_one_of_ours() {
    for end in ["_COMPARISON_TYPE", "_COMPARISON", "_TYPE"] {
        for (word, own, fixed) in [
            ("STRING", "predicate: prefix, objects: [A]", "type: string, predicate: starts with"),
            ("NUMBER", "predicate: lte, objects: [18]", "type: number, predicate: \"<=\""),
            ("BOOLEAN", "predicate: eq, objects: [\"true\"]", "type: string, predicate: is one of"),
            ("DATETIME", "predicate: after, objects: [\"2026-12-01T09:00:00+00:00\"]", "datetime"),
        ] {
            let (_, help) =
                only(&DOCUMENT.replace(CONDITION, &format!("{{ type: {word}{end}, subject: a, {own} }}")));
            assert_eq!(written(&help), fixed, "{word}{end}: {help}");
            let (_, objects) = own.split_once(", ").unwrap();
            let fixed = if fixed.contains(':') {
                fixed.to_owned()
            } else {
                format!("type: {fixed}, predicate: after")
            };
            assert_eq!(
                errors(&DOCUMENT.replace(CONDITION, &format!("{{ {fixed}, subject: a, {objects} }}"))),
                []
            );
        }
    }
}

/// Flipt compares a boolean without a value, and a help is never an example of another type.
#[test]
fn what_a_condition_of_another_tool_lacks_is_one_of_its_type() {
    let own = "{ type: BOOLEAN_COMPARISON_TYPE, subject: beta, operator: \"true\" }";
    let found = errors(&DOCUMENT.replace(CONDITION, own));
    let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
    let [kind, operator] = helps.as_slice() else { panic!("{helps:?}") };
    assert!(kind.starts_with("did you mean `string`?"), "{kind}");
    assert_eq!(*operator, "write `predicate: is one of, objects: [\"true\"]` instead");
    let fixed = format!("{{ type: string, subject: beta, {} }}", written(operator));
    assert_eq!(errors(&DOCUMENT.replace(CONDITION, &fixed)), []);
    for (kind, example) in
        [("STRING_COMPARISON_TYPE", "is one of"), ("DATETIME_COMPARISON", "after"), ("geo", "each type")]
    {
        let found = errors(&DOCUMENT.replace(CONDITION, &format!("{{ type: {kind}, subject: a }}")));
        let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
        assert!(helps.iter().any(|help| help.contains(example)), "{kind}: {helps:?}");
        assert!(
            !helps.iter().any(|help| help.contains("18") || help.contains("`predicate: \">\"`")),
            "{kind}: {helps:?}"
        );
    }
}

/// Several words in one object match nobody.
#[test]
fn an_enumeration_in_a_text_is_a_list() {
    for text in ["AT, CH", "AT,CH", "AT;CH", "(AT, CH)", "('AT', 'CH')", "{AT, CH}", "AT\\nCH", "AT\\nCH\\n"]
    {
        for (place, predicate) in [
            ("string, subject: country", "is one of"),
            ("string, subject: country", "is not any of"),
            ("segment", "is in"),
        ] {
            let own =
                |objects: &str| format!("{{ type: {place}, predicate: {predicate}, objects: {objects} }}");
            let found =
                featureprobe(&DOCUMENT.replace(CONDITION, &own(&format!("[\"{text}\"]")))).diagnostics;
            let [one] = &found[..] else { panic!("{text}: {found:#?}") };
            assert_eq!(
                (one.id, one.help.as_deref()),
                ("list-in-text", Some("write `\"AT\", \"CH\"`")),
                "{text}"
            );
            let fixed = featureprobe(&DOCUMENT.replace(CONDITION, &own("[\"AT\", \"CH\"]")));
            assert_eq!(fixed.diagnostics, [], "{text}");
            // The same text without brackets.
            let (_, help) = only(&DOCUMENT.replace(CONDITION, &own(&format!("\"{text}\""))));
            assert_eq!(written(&help), "objects: [\"AT\", \"CH\"]", "{text}");
        }
        for (own, fixed) in [
            (
                format!("{{ type: string, subject: country, operator: IN, values: \"{text}\" }}"),
                "objects: [\"AT\", \"CH\"]",
            ),
            (
                format!("{{ segment: \"{text}\" }}"),
                "type: segment, predicate: is in, objects: [\"AT\", \"CH\"]",
            ),
            (
                format!("{{ country: \"{text}\" }}"),
                "type: string, subject: \"country\", predicate: is one of, objects: [\"AT\", \"CH\"]",
            ),
        ] {
            let found = errors(&DOCUMENT.replace(CONDITION, &own));
            let helps: Vec<&str> = found.iter().filter_map(|one| one.help.as_deref()).collect();
            assert!(helps.iter().any(|help| written(help) == fixed), "{own}: {helps:?}");
        }
    }
    for own in [
        "is one of, objects: [\"Smith, John\", \"Vienna, Austria\", \"49,90\", \"hello, world\"]",
        "starts with, objects: [\"AT, CH\"]",
        "contains, objects: [\"AT, CH\", \"a|b\"]",
        "matches regex, objects: [\"AT|CH\", \"a{1,2}\", \"(a|b)\"]",
    ] {
        let own = format!("{{ type: string, subject: country, predicate: {own} }}");
        assert_eq!(featureprobe(&DOCUMENT.replace(CONDITION, &own)).diagnostics, [], "{own}");
    }
    for objects in ["\"18;21\"", "\"18, 21\"", "\"(18, 21)\""] {
        let own = format!("{{ type: number, subject: age, predicate: \"=\", objects: [{objects}] }}");
        assert_eq!(only(&DOCUMENT.replace(CONDITION, &own)).1, "write `\"18\", \"21\"`");
    }
    let (_, help) = only(&DOCUMENT.replace(CONDITION, "{ country: { not_in: \"AT, CH\" } }"));
    assert!(help.ends_with("predicate: \"is not any of\", objects: [\"AT\", \"CH\"]`"), "{help}");
    let own = "{ type: semver, subject: app, predicate: \"=\", objects: [\"1.2.3, 1.2.4\"] }";
    assert_eq!(only(&DOCUMENT.replace(CONDITION, own)).1, "write `\"1.2.3\", \"1.2.4\"`");
}
