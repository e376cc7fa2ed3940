//! What a valid document means.

use super::*;

fn values(document: &Document) -> Vec<String> {
    let payload = document.payload.as_ref().unwrap_or_else(|| panic!("{:?}", document.diagnostics));
    let objects = &payload.targeting().content.rules[0].conditions[0].objects;
    objects.clone()
}

#[test]
fn a_document_becomes_a_payload() {
    let document = yaml(GOOD);
    assert_eq!(document.diagnostics, []);
    assert_eq!(
        document.payload.unwrap().json(),
        r#"{"disabled":false,"content":{"rules":[{"name":"adults","serve":{"select":1},"conditions":[{"type":"number","subject":"age","predicate":">","objects":["18"]}]}],"disabledServe":{"select":0},"defaultServe":{"select":0},"variations":[{"value":"false","name":"off","description":""},{"value":"true","name":"on","description":"New page"}]}}"#
    );
}

#[test]
fn yaml_scalars_are_carried_as_they_are_written() {
    let written = "1.10, 007, 1e3, 0x1F, 0o7, 1_000, true, False, yes, .inf, -0, +1, 12:30, 2024-01-01, 'null', \"~\", \"\", \"a\\u0041\", it's, 340282366920938463463374607431768211456";
    let document = yaml(with("number", "string").replace("\"18\"", written));
    assert_eq!(
        values(&document),
        [
            "1.10",
            "007",
            "1e3",
            "0x1F",
            "0o7",
            "1_000",
            "true",
            "False",
            "yes",
            ".inf",
            "-0",
            "+1",
            "12:30",
            "2024-01-01",
            "null",
            "~",
            "",
            "aA",
            "it's",
            "340282366920938463463374607431768211456",
        ]
    );
}

const GOOD_JSON: &str = r#"{"disabled": false, "content": {"rules": [{"name": "r", "serve": {"variation": "on"},
  "conditions": [{"type": "semver", "subject": "s", "predicate": "!=", "objects": [OBJECTS]}]}],
  "disabledServe": {"select": 0}, "defaultServe": {"select": 0},
  "variations": [{"name": "off", "value": false}, {"name": "on", "value": 1.10}]}}"#;

#[test]
fn json_scalars_are_carried_as_they_are_written() {
    let written =
        r#"1.10, 1e3, -0.50E+2, true, false, "null", "\ud83d\ude00", "\u0041\n\/", 12345678901234567890123"#;
    let document = json(&GOOD_JSON.replace("OBJECTS", written));
    assert_eq!(document.diagnostics, []);
    assert_eq!(
        values(&document),
        ["1.10", "1e3", "-0.50E+2", "true", "false", "null", "😀", "A\n/", "12345678901234567890123"]
    );
    assert_eq!(document.payload.unwrap().targeting().content.variations[1].value, "1.10");
}

#[test]
fn nulls_are_refused_wherever_text_is_wanted_and_quoting_helps() {
    for null in ["~", "null", "Null", "NULL", ""] {
        for (field, replaced) in [("description", "\"New page\""), ("value", "\"true\""), ("type", "number")]
        {
            let document = yaml(with(replaced, null));
            assert!(
                found(&document).iter().any(|one| one.ends_with("null-text")),
                "{field}: {null}: {document:?}"
            );
            assert!(document.payload.is_none());
        }
        let document = yaml(with("[\"18\"]", &format!("[a, {null}, b]")));
        assert!(document.payload.is_none(), "{null}");
        let document = yaml(with("{ select: 1 }", &format!("{{ select: 1, variation: {null} }}")));
        assert!(document.payload.is_none(), "{null}");
    }
    assert!(yaml(with("\"true\"", "\"null\"")).payload.is_some());
}

#[test]
fn lists_and_serves_that_are_null_are_no_empty_lists() {
    for (from, to) in [
        ("[\"18\"]", "~"),
        ("[\"18\"]", ""),
        ("{ select: 1 }", "~"),
        ("{ select: 1 }", ""),
        ("{ select: 1 }", "{ select: ~ }"),
        ("{ select: 1 }", "{}"),
        ("disabled: false", "disabled:"),
    ] {
        let document = yaml(with(from, to));
        assert!(document.payload.is_none(), "{from} → {to}");
    }
}

#[test]
fn booleans_and_indices_are_not_text() {
    for (from, to) in [
        ("disabled: false", "disabled: \"false\""),
        ("disabled: false", "disabled: off"),
        ("disabled: false", "disabled: 0"),
        ("{ select: 1 }", "{ select: \"1\" }"),
        ("{ select: 1 }", "{ select: 1.0 }"),
        ("{ select: 1 }", "{ select: 01 }"),
        ("{ select: 1 }", "{ select: true }"),
    ] {
        let document = yaml(with(from, to));
        assert!(
            found(&document).iter().any(|one| one.ends_with("wrong-type")),
            "{to}: {:?}",
            found(&document)
        );
    }
    let help = yaml(with("disabled: false", "disabled: yes")).diagnostics[0].help.clone();
    assert_eq!(help.as_deref(), Some("write `true`, without quotes"));
}

#[test]
fn an_index_is_an_integer_of_the_core_schema_however_the_file_is_read() {
    // With a warning, so that it is read with positions.
    let wordings =
        [GOOD.to_owned(), GOOD.replace("New page", "Neue Übersicht"), GOOD.replace("number", "nubmer")];
    for (number, index) in [
        ("1", Some(1)),
        ("+1", Some(1)),
        ("0x1", Some(1)),
        ("0o1", Some(1)),
        ("0", Some(0)),
        ("0b1", None),
        ("+0b1", None),
        ("+0x1", None),
        ("+0o1", None),
        ("0B1", None),
        ("0X1", None),
        ("0O1", None),
        ("1_000", None),
        ("0_1", None),
        ("01", None),
        ("-0", None),
        ("-0x1", None),
        ("1e0", None),
        ("1.0", None),
        ("0o8", None),
    ] {
        for wording in &wordings {
            let document = yaml(wording.replace("{ select: 1 }", &format!("{{ select: {number} }}")));
            let select = document.payload.map(|one| one.targeting().content.rules[0].serve.clone());
            assert_eq!(select, index.map(Serve::Select), "{number}: {:?}", document.diagnostics);
        }
    }
}

#[test]
fn a_byte_order_mark_and_other_line_ends_change_nothing() {
    let expected = yaml(GOOD).payload;
    assert_eq!(yaml(format!("\u{feff}{GOOD}")).payload, expected);
    assert_eq!(yaml(GOOD.replace('\n', "\r\n")).payload, expected);
    let json_text = GOOD_JSON.replace("OBJECTS", "1");
    assert_eq!(json(&format!("\u{feff}{json_text}")).payload, json(&json_text).payload);
    let marked = yaml(format!("\u{feff}{}", with("disabled: false", "disabled: no")));
    assert_eq!(found(&marked)[0], "1:11 wrong-type");
}

#[test]
fn a_warning_never_makes_a_document_invalid() {
    let quotes = with("\"New page\"", "\"New\npage\"");
    assert_eq!(yaml(&quotes).diagnostics, []);
    let warned = yaml(quotes.replace("select: 1", "select: 0"));
    assert!(warned.payload.is_some());
    assert_eq!(found(&warned), ["5:15 unused-variation", "13:3 same-serve"]);
}

proptest! {
    #[test]
    fn another_parser_reads_the_same(targeting in any_targeting(ServiceKind::FeatureProbe)) {
        let text = print(&targeting, ServiceKind::FeatureProbe);
        let tree = syntax::parse(&text);
        prop_assert!(tree.findings.is_empty());
        prop_assert!(means(&tree.root.unwrap(), &serde_yaml::from_str(&text).unwrap()), "{}", text);
    }
}
