//! A key in another place, or of another part, leads to its own: each help is applied, and what is served then is
//! compared.

use super::evident::{DOCUMENT, written};
use super::*;

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
    for own in [
        "version: \"^1.2\"",
        "age: [18, 65]",
        "age: { gte: 18, lt: 65 }",
        "expires: soon",
        "targets: [a]",
        "country: not in AT",
        "query: country eq AT",
        "parameters: { userIds: a }",
    ] {
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
        let end = help.strip_prefix("a rule has `name`, `serve` and `conditions`; ");
        let is_note = ["note", "track"].iter().any(|note| own.starts_with(note));
        let start = if is_note { "remove it, or write it as a comment" } else { "do not just remove it" };
        assert!(end.is_some_and(|end| end.starts_with(start)), "{own}: {help}");
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
        (rules.as_str(), "targeting: {}"),
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
        if !own.contains("[]") && !own.contains("{}") {
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
        "default: \"off\"\n      name: everyone else",
    ] {
        let rest = DOCUMENT.replace(default, "");
        // Without such an item, the part is missing.
        assert_eq!(only(&rest).0.message, "`content` needs `defaultServe`");
        let item = |text: &str| text.replace(next, &format!("    - {own}\n{next}"));
        let (one, help) = only(&item(&rest));
        assert_eq!((one.line, one.id), (17, "unknown-key"), "{own}");
        assert!(help.ends_with("beside `rules`, not below, without the dash"), "{own}: {help}");
        let fixed = if own.starts_with("defaultServe") { own } else { help.split('`').nth(1).unwrap() };
        assert_eq!(targeting(&format!("{rest}  {fixed}\n")), targeting(DOCUMENT), "{own}: {help}");
        let (_, help) = only(&item(DOCUMENT));
        assert_eq!(help, "keep one of the two: `content` has `defaultServe` as well");
    }
    // Of conditions too, such an item lacks no key.
    let next = "      serve: {";
    let item = format!("        - defaultServe: {{ variation: \"off\" }}\n{next}");
    let (_, help) = only(&DOCUMENT.replacen(next, &item, 1));
    assert_eq!(help, "keep one of the two: `content` has `defaultServe` as well");
}

/// Who removes the sign before a key says the opposite.
#[test]
fn a_sign_before_a_key_that_denies_it_is_not_just_removed() {
    for (own, disabled) in [
        ("!disabled: true", false),
        ("!disabled: false", true),
        ("!enabled: true", true),
        ("!enabled: false", false),
    ] {
        let (one, help) = only(&DOCUMENT.replace("disabled: false", own));
        assert_eq!((one.line, one.id), (1, "yaml-tag"));
        let fixed = DOCUMENT.replace("disabled: false", help.split('`').nth(1).unwrap());
        assert_eq!(targeting(&fixed).disabled, disabled, "{own}: {help}");
    }
    for (from, to) in [
        ("  defaultServe: {", "  !defaultServe: {"),
        ("subject: country", "!subject: country"),
        ("type: number", "!type: number"),
    ] {
        let (_, help) = only(&DOCUMENT.replace(from, to));
        assert!(help.starts_with("do not just remove the `!`"), "{to}: {help}");
    }
}
