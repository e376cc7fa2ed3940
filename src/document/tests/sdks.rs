//! Documents that mean different things to SDKs.

use crate::document::{Diagnostic, read_for};
use crate::model::{Blob, Sdks, ServiceKind};

/// A document about which no two SDKs disagree.
fn good() -> String {
    let plain = super::GOOD.replace(", description: \"New page\"", "");
    plain.replace("content:\n", "content:\n  prerequisites: []\n")
}

const CONDITION: &str = r#"{ type: number, subject: age, predicate: ">", objects: ["18"] }"#;

fn findings(text: &str, sdks: &str) -> Vec<Diagnostic> {
    let content = Blob::Content(text.as_bytes().to_vec());
    let document = read_for("t.yaml", &content, ServiceKind::FeatureProbe, sdks.parse().unwrap());
    let found = document.diagnostics.into_iter();
    let found: Vec<Diagnostic> = found.filter(|found| found.id == "sdk-disagreement").collect();
    assert!(document.payload.is_some(), "{text}");
    found
}

/// A document with a disagreement, the SDKs that agree about it, what the finding says, and the same document
/// corrected as the help says.
struct Case {
    text: String,
    agreed: &'static str,
    says: &'static [&'static str],
    position: (u32, u32),
    fixed: String,
}

fn condition(own: &str) -> String {
    good().replace(CONDITION, own)
}

fn cases() -> Vec<Case> {
    let needs = |kind: &str, value: &str| {
        good().replace(
            "prerequisites: []",
            &format!("prerequisites: [{{ key: base, type: {kind}, value: '{value}' }}]"),
        )
    };
    let unmet =
        needs("boolean", "true").replace("defaultServe: { select: 0 }", "defaultServe: { select: 1 }");
    let text = |predicate: &str, object: &str| {
        condition(&format!(
            "{{ type: string, subject: mail, predicate: {predicate}, objects: ['{object}'] }}"
        ))
    };
    vec![
        Case {
            fixed: unmet.replace("disabledServe: { select: 0 }", "disabledServe: { select: 1 }"),
            text: unmet,
            agreed: "rust go",
            says: &[
                "Rust, Go and Java from 2.3 on: `disabledServe` is served",
                "Node, Python and Java before 2.3: `defaultServe` is served",
                "a user for whom `base` does not serve `true` gets `off` or `on`",
            ],
            position: (3, 3),
        },
        Case {
            text: condition(r#"{ type: number, subject: id, predicate: "=", objects: ["16777217"] }"#),
            agreed: "rust java node python",
            says: &["Go: 32-bit floats", "`16777216` equals `16777217` in Go"],
            position: (10, 66),
            fixed: condition(r#"{ type: string, subject: id, predicate: is one of, objects: ["16777217"] }"#),
        },
        Case {
            text: condition(r#"{ type: number, subject: id, predicate: "<=", objects: ["17.999999999"] }"#),
            agreed: "rust node",
            says: &["`18` equals `17.999999999` in Go"],
            position: (10, 67),
            fixed: condition(r#"{ type: number, subject: id, predicate: "<=", objects: ["17.99999"] }"#),
        },
        Case {
            text: condition(r#"{ type: semver, subject: app, predicate: ">=", objects: [2.0.0-rc.1] }"#),
            agreed: "rust go node python",
            says: &["Java: the order of Maven", "`2.0.0-dev` comes after `2.0.0` in Java"],
            position: (10, 68),
            fixed: condition(r#"{ type: semver, subject: app, predicate: ">=", objects: [2.0.0] }"#),
        },
        Case {
            text: condition(r#"{ type: semver, subject: app, predicate: "=", objects: [1.2.3+5] }"#),
            agreed: "go node python",
            says: &["Rust and Java: it is compared", "`1.2.3` and `1.2.3+5` are equal in some of them"],
            position: (10, 67),
            fixed: condition(r#"{ type: semver, subject: app, predicate: "=", objects: [1.2.3] }"#),
        },
        Case {
            text: condition(
                r#"{ type: datetime, subject: born, predicate: before, objects: ["1960-01-01T00:00:00+00:00"] }"#,
            ),
            agreed: "go java node python",
            says: &["Rust: skipped", "in Rust, nobody is after or before it"],
            position: (10, 73),
            fixed: condition(
                r#"{ type: datetime, subject: born, predicate: before, objects: ["1970-01-01T00:00:00+00:00"] }"#,
            ),
        },
        Case {
            text: needs("json", r#"{"a":1}"#),
            agreed: "rust go java",
            says: &["Node: never equal", "Python: equal only in the same order"],
            position: (3, 38),
            fixed: needs("boolean", "true"),
        },
        Case {
            text: good()
                .replace("value: \"false\"", "value: \"1\"")
                .replace("value: \"true\"", "value: \"3000000000\""),
            agreed: "rust go node python",
            says: &["Java: the default value in the caller's code", "instead of `3000000000`"],
            position: (6, 28),
            fixed: good()
                .replace("value: \"false\"", "value: \"1\"")
                .replace("value: \"true\"", "value: \"300\""),
        },
        Case {
            text: text("matches regex", "(?i)^abc$"),
            agreed: "rust go java python",
            says: &["Node: an invalid pattern", "here `(?i)`"],
            position: (10, 78),
            fixed: text("matches regex", "^[Aa][Bb][Cc]$"),
        },
        Case {
            text: text("does not match regex", r"^\w+$"),
            agreed: "go java node",
            says: &["Go, Java and Node: those of ASCII", r"here `\w`"],
            position: (10, 85),
            fixed: text("does not match regex", "^[A-Za-z0-9_]+$"),
        },
    ]
}

#[test]
fn a_disagreement_says_which_sdk_does_what_and_its_help_solves_it() {
    for Case { text, agreed, says, position, fixed } in cases() {
        let found = findings(&text, "rust go java node python");
        let [finding] = found.as_slice() else { panic!("{text}{found:?}") };
        for part in says {
            assert!(finding.message.contains(part), "{part}: {}", finding.message);
        }
        assert_eq!((finding.line, finding.column), position, "{}", finding.message);
        assert!(finding.help.as_ref().is_some_and(|help| help.ends_with("use with `sdks`")), "{finding:?}");
        assert!(findings(&fixed, "rust go java node python").is_empty(), "{fixed}");
        assert!(findings(&text, agreed).is_empty(), "{agreed} agree about {}", finding.message);
    }
}

#[test]
fn an_unmet_prerequisite_is_a_disagreement_only_if_users_get_another_value() {
    let needs = "prerequisites: [{ key: base, type: boolean, value: 'true' }]";
    let text = good().replace("prerequisites: []", needs);
    let third = "  variations:\n    - { name: third, value: \"true\" }\n";
    for (default, variation, differs) in [
        ("{ select: 0 }", "", false),
        ("{ select: 1 }", "", true),
        ("{ split: { \"off\": 100 } }", "", false),
        ("{ split: { \"off\": 50, \"on\": 50 } }", "", true),
        // Of three variations, the first and the last have the same value.
        ("{ select: 2 }", third, false),
        ("{ split: { third: 50, \"on\": 50 } }", third, false),
        ("{ select: 1 }", third, true),
    ] {
        let text = text.replace("defaultServe: { select: 0 }", &format!("defaultServe: {default}"));
        let text = if variation.is_empty() { text } else { text.replace("  variations:\n", variation) };
        assert_eq!(!findings(&text, "rust node").is_empty(), differs, "{text}");
    }
}

/// The fix of one leaves no other to be found later.
#[test]
fn all_disagreements_of_a_condition_are_found_at_once() {
    let of = |kind: &str, predicate: &str, objects: &str| {
        condition(&format!("{{ type: {kind}, subject: a, predicate: {predicate}, objects: [{objects}] }}"))
    };
    for (text, expected) in [
        (of("string", "matches regex", r"'(?P<n>a)\d\s\w'"), 4),
        (of("string", "matches regex", "'(?i)ä'"), 2),
        (of("string", "matches regex", r"'(?i)(?s)a'"), 2),
        (of("string", "matches regex", r"'\d', '\w', '\d+'"), 2),
        (of("semver", "\"=\"", "1.2.3-rc+5"), 2),
        (of("semver", "\"=\"", "1.2.3, 1.2.3-rc, 1.2.4+5, 1.2.4-rc"), 2),
        (of("number", "\"=\"", "16777217, 16777219"), 1),
    ] {
        let found = findings(&text, "rust go java node python");
        assert_eq!(found.len(), expected, "{text}{found:#?}");
    }
    let text = of("string", "matches regex", r"'a', '\d', '\w'");
    let places: Vec<u32> = findings(&text, "go rust").iter().map(|found| found.column).collect();
    let line = text.lines().find(|line| line.contains("regex")).unwrap();
    assert_eq!(places, [r"'\d'", r"'\w'"].map(|part| u32::try_from(line.find(part).unwrap()).unwrap() + 1));
}

/// One round of corrections is enough.
#[test]
fn a_disagreement_names_all_objects_that_it_is_about() {
    let of = |objects: &str| {
        condition(&format!("{{ type: number, subject: a, predicate: \"=\", objects: [{objects}] }}"))
    };
    let message = |text: &str| findings(text, "rust go").remove(0).message;
    let all = message(&of("1, 16777217, 2, 16777219, 1700000001"));
    assert!(all.ends_with("in Go; the same of `16777219` and `1700000001`"), "{all}");
    let many: Vec<String> = (0..30).map(|number| (1_700_000_000 + number).to_string()).collect();
    assert!(message(&of(&many.join(", "))).ends_with("`1700000020` and 9 other objects"));
    let text = condition(
        "{ type: number, subject: a, predicate: between, leftPredicate: \">\", objects: [16777217], rightPredicate: \"<\", \
         rightObjects: [16777219] }",
    );
    assert!(message(&text).ends_with("the same of `16777219`"));
}

/// What an example says of Go is not so in the other SDKs.
#[test]
fn the_example_of_a_float_is_one_where_the_sdks_differ() {
    for object in [
        "16777217",
        "1700000000",
        "17.999999999",
        "9007199254740993",
        "9223372036854775808",
        "9223372036854775809",
        "18446744073709551616",
        "123456789012345678901234567890",
        "-9223372036854775808",
        "1e20",
        "1e-50",
    ] {
        let text =
            condition(&format!("{{ type: number, subject: a, predicate: \"=\", objects: ['{object}'] }}"));
        let found = findings(&text, "go rust");
        let [one] = &found[..] else { panic!("{object}: {found:?}") };
        let example = one.message.split('`').nth(1).unwrap();
        let [example, number]: [f64; 2] = [example, object].map(|text| text.parse().unwrap());
        #[expect(clippy::cast_possible_truncation, reason = "this is what the SDK for Go does")]
        let are_same_in_go = example as f32 == number as f32;
        assert!(are_same_in_go && example.to_bits() != number.to_bits(), "{}", one.message);
    }
}

/// The help replaces a class by one that means the same, and only where there is one.
#[test]
fn a_class_is_replaced_by_the_one_that_means_the_same() {
    let all = "rust go java node python";
    let pattern = |pattern: &str| {
        condition(&format!(
            "{{ type: string, subject: mail, predicate: matches regex, objects: ['{pattern}'] }}"
        ))
    };
    for (own, part, replacement) in [
        (r"^\d+$", r"\d", "[0-9]"),
        (r"^\D+$", r"\D", "[^0-9]"),
        (r"^\w+$", r"\w", "[A-Za-z0-9_]"),
        (r"^\W+$", r"\W", "[^A-Za-z0-9_]"),
        (r"^a\sb$", r"\s", r"[ \t\r\n]"),
        (r"^\S$", r"\S", r"[^ \t\r\n]"),
    ] {
        let [found] = &findings(&pattern(own), all)[..] else { panic!("{own}") };
        assert!(found.message.ends_with(&format!("here `{part}`")), "{own}: {}", found.message);
        let help = found.help.as_deref().unwrap();
        assert!(help.starts_with(&format!("write `{replacement}` instead")), "{own}: {help}");
        assert!(findings(&pattern(&own.replace(part, replacement)), all).is_empty(), "{own}");
    }
    for own in [r"^\p{L}+$", r"^\P{L}+$", r"a\b", r"a\B", "(?s)a.b", "(?m)^a$"] {
        let [found] = &findings(&pattern(own), all)[..] else { panic!("{own}") };
        let help = found.help.as_deref().unwrap();
        assert!(!help.starts_with("write `"), "{own}: {help}");
    }
    for (own, inside) in [(r"[\d-]", "0-9-"), (r"[a\w]", "aA-Za-z0-9_")] {
        let [found] = &findings(&pattern(own), all)[..] else { panic!("{own}") };
        let help = found.help.as_deref().unwrap();
        assert!(help.contains("in brackets"), "{own}: {help}");
        assert!(findings(&pattern(&format!("[{inside}]")), all).is_empty(), "{own}");
    }
}

#[test]
fn every_construct_is_named_for_the_sdks_that_differ() {
    let pattern = |pattern: &str| {
        condition(&format!(
            "{{ type: string, subject: mail, predicate: matches regex, objects: ['{pattern}'] }}"
        ))
    };
    for (own, sdks) in [
        ("(?x) a", "go rust"),
        ("(?U)a+", "rust go"),
        (r"\s", "go rust"),
        (r"\p{Greek}", "java rust"),
        ("[[:alpha:]]", "java rust"),
        ("(?P<n>a)", "java rust"),
        ("(?<n>a)", "python rust"),
        (r"\Aa", "node rust"),
        (r"a\z", "python rust"),
        (r"\x{41}", "python rust"),
        (r"\x{41}", "go node"),
        (r"[\x{41}-\x{43}]", "java python"),
        (r"\u0041", "go java"),
        (r"\u0041", "node go"),
        (r"\u{41}", "rust java"),
        (r"\u{41}", "go node"),
        (r"\U00000041", "java python"),
        (r"\U00000041", "node python"),
        (r"\p{Alphabetic}", "rust go"),
        (r"\p{Alphabetic}", "rust java"),
        (r"\p{Script=Greek}", "rust go"),
        (r"\p{Script=Greek}", "go java"),
        (r"\P{IsGreek}", "rust go"),
        (r"\p{Greek}", "go java"),
        (r"\p{L}\p{Alphabetic}", "rust go"),
        ("[^]a]", "go node"),
        ("[]a]", "node python"),
        ("a(?i)b", "python java"),
        ("((?i)a)b", "rust python"),
        ("(?i)ä", "rust java"),
        ("(?i:Ä)", "python java"),
        (r"\s", "rust node"),
        (r"\s", "node python"),
        (r"\w", "rust python"),
        (r"\bfoo\b", "go java"),
        (r"\bfoo\b", "java node"),
        ("[a-c&&b]", "java go"),
        ("[a[b]]", "go rust"),
        ("a**", "go rust"),
        ("a{1001}", "go rust"),
        ("a???", "node rust"),
        ("a+?+", "java rust"),
        ("^*a", "node rust"),
        ("a$+", "python rust"),
        ("a{ 2 , 3 }", "python rust"),
        ("(?-i)a", "python rust"),
        (r"\b{start}a", "python rust"),
        ("[ä😀]", "node rust"),
        ("[^😀]", "node python"),
        ("😀{2}", "node go"),
        ("a😀?", "node java"),
        // What the SDKs agree about does not hide what they do not.
        (r"(?i)\w+", "go rust"),
        (r"(?P<n>a)\p{L}", "go python"),
        (r"\s", "go java"),
        (r"\a", "node rust"),
        (r"\v", "java rust"),
        ("a{01}", "go rust"),
        ("a{1,01}", "go java"),
        ("[a--b]", "java rust"),
        ("[a~~b]", "java rust"),
        ("[a&&]", "java rust"),
        ("[[:foo:]]", "go rust"),
        ("(?<a_b>x)", "java rust"),
        ("(?<é>x)", "go rust"),
        ("(?m)a$", "java rust"),
        ("(?i)test", "java rust"),
        ("(?i)[h-j]", "python go"),
        ("(?x)[a b]", "python java"),
        ("(?s)^a.*b$", "python rust"),
        (r"a\n$", "python go"),
        (r"a\r\n$", "java node"),
        (r".\r", "java rust"),
        (r".\r", "node python"),
        ("^😀.$", "node rust"),
        ("😀[^x]?", "node java"),
    ] {
        assert_eq!(findings(&pattern(own), sdks).len(), 1, "{own}");
        assert!(findings(&pattern(own), "rust").is_empty(), "{own}");
    }
    for (own, sdks) in [
        (r"\p{Lu}", "rust go java"),
        (r"\p{Greek}", "rust go"),
        (r"\p{IsGreek}", "rust java"),
        (r"\p{sc=Greek}", "rust java"),
        (r"\x{41}", "rust go java"),
        (r"\u0041", "rust java node python"),
        (r"\U00000041", "rust python"),
        ("[]a]", "rust go java python"),
        ("(?i)a", "rust go java python"),
        ("(?i)(?s)a", "rust go java python"),
        ("a(?i)b", "rust go java"),
        ("(?i)ä", "rust go python"),
        ("(?i)test", "rust go python"),
        ("(?i)i", "rust go java"),
        ("(?m)a$", "rust go python"),
        ("(?m)abc", "rust go python"),
        (r"a\n$", "rust go node"),
        (r"[\s\S]+", "rust go java node python"),
        (r"\p{Lu}", "rust go java"),
        ("[a--b]", "rust"),
        ("[a-c&&b]", "rust java"),
        ("a{10}", "rust go java node python"),
    ] {
        assert_eq!(findings(&pattern(own), sdks), [], "{own} {sdks}");
    }
}

/// A pattern that no SDK in use can read never works, although the SDKs agree about it.
#[test]
fn what_no_sdk_in_use_can_read_is_found() {
    for (own, sdks, is_found) in [
        ("(?i)^abc$", "node", true),
        ("(?i)^abc$", "go", false),
        (r"\p{Greek}", "node python", true),
        ("a{1001}", "go", true),
        ("(?P<n>a)", "java node", true),
        ("(?:😀)+|ä", "node", false),
    ] {
        let text = condition(&format!(
            "{{ type: string, subject: mail, predicate: matches regex, objects: ['{own}'] }}"
        ));
        let found = findings(&text, sdks);
        assert_eq!(found.len(), usize::from(is_found), "{own} {sdks}: {found:?}");
    }
}

#[test]
fn only_what_sdks_do_not_agree_about_is_found() {
    let of = |kind: &str, predicate: &str, object: &str| {
        condition(&format!(
            "{{ type: {kind}, subject: a, predicate: \"{predicate}\", objects: ['{object}'] }}"
        ))
    };
    let values = |on: &str| {
        good().replace("value: \"false\"", "value: 1").replace("value: \"true\"", &format!("value: {on}"))
    };
    for (text, sdks, is_found) in [
        (of("string", "matches regex", r"\f"), "rust go java node python", false),
        (of("string", "matches regex", "(?:^)*a"), "rust go java node python", false),
        (of("string", "matches regex", "^*a"), "rust go java", false),
        (of("string", "matches regex", "(?-i)a"), "rust go java", false),
        (of("string", "is one of", ""), "rust node", true),
        (of("string", "contains", " "), "go python", true),
        (of("string", "is one of", ""), "rust go", false),
        (of("semver", "=", "1.2.3-rc+5"), "rust java", true),
        (of("semver", "=", "1.2.3-rc+5"), "go python", false),
        (of("semver", "=", "9007199254740993.0.0"), "rust node", true),
        (of("semver", "=", "9007199254740993.0.0"), "rust python", false),
        (of("semver", "=", "9007199254740991.0.0"), "rust node", false),
        (of("number", "=", "1e-50"), "rust go", true),
        (of("number", "=", "0"), "rust go", false),
        (of("number", "=", "0.00001"), "rust go", false),
        (values("-2147483648"), "rust java", false),
        (values("-2147483649"), "rust java", true),
        (values("2147483647"), "rust java", false),
        (values("2147483648"), "rust java", true),
    ] {
        assert_eq!(!findings(&text, sdks).is_empty(), is_found, "{sdks}: {text}");
    }
}

#[test]
fn a_disagreement_can_be_waived_and_is_not_looked_for_without_sdks() {
    let text = condition(r#"{ type: number, subject: id, predicate: "=", objects: ["16777217"] }"#);
    let waived = text
        .replace("        - {", "        # gitoggle: allow(sdk-disagreement) the ids are small\n        - {");
    let found = findings(&waived, "rust go java node python");
    assert_eq!(found.len(), 1);
    assert!(found[0].waived.is_some());
    let content = Blob::Content(waived.into_bytes());
    let quiet = read_for("t.yaml", &content, ServiceKind::FeatureProbe, Sdks::NONE);
    assert!(quiet.diagnostics.is_empty(), "{:?}", quiet.diagnostics);
}

#[test]
fn a_value_that_is_almost_a_number_or_json_is_a_warning_whose_help_solves_it() {
    let found = |off: &str, on: &str| {
        let text = good().replace("value: \"false\"", &format!("value: '{off}'"));
        let text = text.replace("value: \"true\"", &format!("value: '{on}'"));
        let document =
            read_for("t.yaml", &Blob::Content(text.into_bytes()), ServiceKind::FeatureProbe, Sdks::NONE);
        let found = document.diagnostics.into_iter().filter(|found| found.id == "almost-value");
        found.filter_map(|found| found.help).collect::<Vec<_>>()
    };
    let number = found("19.90", "49,90");
    assert!(matches!(number.as_slice(), [help] if help.starts_with("write `value: 49.90`")), "{number:?}");
    assert_eq!(found("{\"a\":1}", "{\"a\":1").len(), 1);
    for (off, on, count) in [
        ("1", "1e400", 1),
        ("-1e999", "0.5", 1),
        ("1e400", "1e401", 2),
        ("1e400", "red", 0),
        ("1", "1.79e308", 0),
    ] {
        let found = found(off, on);
        assert_eq!(found.len(), count, "{off} {on}: {found:?}");
        assert!(found.iter().all(|help| help.starts_with("write a number of at most 1.79e308")), "{found:?}");
    }
    for (off, on) in [("19.90", "49.90"), ("{\"a\":1}", "{\"a\":2}"), ("red", "1,5"), ("red", "{name}")] {
        assert!(found(off, on).is_empty(), "{off} {on}");
    }
}

#[test]
fn the_reason_against_a_pattern_is_true_of_the_sdks_in_use() {
    let of = |pattern: &str, sdks: &str| {
        let text = condition(&format!(
            "{{ type: string, subject: mail, predicate: matches regex, objects: ['{pattern}'] }}"
        ));
        let content = Blob::Content(text.into_bytes());
        let document = read_for("t.yaml", &content, ServiceKind::FeatureProbe, sdks.parse().unwrap());
        let [one] = document.diagnostics.as_slice() else { panic!("{:#?}", document.diagnostics) };
        assert_eq!(one.id, "bad-regex");
        format!("{}; {}", one.message, one.help.as_deref().unwrap_or_default())
    };
    for (pattern, sdks, says) in [
        (r"\0", "rust", r"`\0` in a regular expression (Rust: an invalid pattern)"),
        (r"\0", "java", r"`\0` in a regular expression (Java: an invalid pattern)"),
        (r"\h", "node", "in a regular expression (Node: unknown)"),
        ("(?=a)", "go", "look-ahead and look-behind in a regular expression (Go: an i"),
        ("(?=a)", "rust", "look-around, including look-ahead and look-behind, is not su"),
        ("a{", "node", "in the Rust SDK, which `sdks` does not name, the condition never matches"),
        ("a{", "rust node", "but in the Rust SDK, the condition never matches"),
    ] {
        let found = of(pattern, sdks);
        assert!(found.contains(says), "{pattern} {sdks}: {found}");
        let is_silent = sdks.contains("rust") || says.contains("does not name") || !found.contains("Rust");
        assert!(is_silent, "{pattern} {sdks}: {found}");
    }
}

#[test]
fn a_pattern_that_an_sdk_in_use_knows_is_no_error() {
    let all = |pattern: &str, sdks: &str| {
        let text = condition(&format!(
            "{{ type: string, subject: mail, predicate: matches regex, objects: ['{pattern}'] }}"
        ));
        let content = Blob::Content(text.into_bytes());
        let document = read_for("t.yaml", &content, ServiceKind::FeatureProbe, sdks.parse().unwrap());
        let found = document.diagnostics.iter().map(|found| (found.id, found.severity.as_str()));
        (found.collect::<Vec<_>>(), document.payload.is_some())
    };
    for pattern in ["^(?=a).+$", "(?!a)b", "(?<=a)b", "(?<!a)b", r"(a)\1"] {
        for sdks in ["node java", "python"] {
            assert_eq!(all(pattern, sdks), (vec![], true), "{pattern} {sdks}");
        }
        for sdks in ["rust go java node python", "go node"] {
            assert_eq!(all(pattern, sdks), (vec![("sdk-disagreement", "warning")], true), "{pattern} {sdks}");
        }
        for sdks in ["rust", "go rust"] {
            assert_eq!(all(pattern, sdks), (vec![("bad-regex", "error")], false), "{pattern} {sdks}");
        }
    }
    for pattern in [r"(a)\2", r"(a\1)", "(?<=a|bc)d"] {
        assert_eq!(all(pattern, "python"), (vec![("bad-regex", "error")], false), "{pattern}");
        let both = all(pattern, "node python");
        assert!(both.1 && both.0.contains(&("sdk-disagreement", "warning")), "{pattern} {both:?}");
    }
    for (pattern, reads, others) in [
        (r"(?<n>a)\k<n>", "node java", "python"),
        ("(?>a)", "java", "node rust"),
        (r"[\1]", "node python", "java go"),
        ("(?<=(?:a|b){2})x", "node python", "java"),
    ] {
        assert!(all(pattern, reads).1, "{pattern}");
        assert_eq!(all(pattern, others), (vec![("bad-regex", "error")], false), "{pattern}");
    }
    for (pattern, reads, others) in [
        (r"\Qa.c\E", "java go", "node rust python"),
        (r"\h+", "java", "go node python rust"),
        (r"\e", "java", "go node python rust"),
        (r"a\Z", "python java", "go node rust"),
        ("(?#c)a", "python", "go java node rust"),
        (r"\cA", "node java", "go python rust"),
        (r"\0", "go node python", "java rust"),
        (r"\012", "go java node python", "rust"),
        (r"\0123", "go java node python", "rust"),
    ] {
        for sdk in reads.split(' ') {
            assert_eq!(all(pattern, sdk), (vec![], true), "{pattern} {sdk}");
            let (found, is_valid) = all(pattern, &format!("{sdk} rust"));
            assert_eq!((found, is_valid), (vec![("sdk-disagreement", "warning")], true), "{pattern} {sdk}");
        }
        for sdk in others.split(' ') {
            assert_eq!(all(pattern, sdk), (vec![("bad-regex", "error")], false), "{pattern} {sdk}");
        }
    }
    // What nobody knows stays an error.
    for pattern in ["(?=a", "(?=a)(", r"(a)\1*[", "["] {
        assert_eq!(all(pattern, "node java").0, [("bad-regex", "error")], "{pattern}");
    }
}
