//! Files made to hurt: each is refused, in memory and time that do not depend on what it unfolds to.

use super::*;

/// Each text, which has a name, has no payload but a finding of the expected kind.
fn refused(cases: &[(&str, String, &str)]) {
    for (name, text, expected) in cases {
        assert!(text.len() <= LARGEST_DOCUMENT, "{name}");
        let document = yaml(text);
        assert!(document.payload.is_none(), "{name}");
        assert!(document.diagnostics.iter().any(|one| one.id == *expected), "{name}: {:?}", found(&document));
    }
}

#[test]
fn bombs_are_refused() {
    let laughs: String = (1..9).fold("a0: &a0 [x]\n".to_owned(), |text, level| {
        let before = level - 1;
        format!("{text}a{level}: &a{level} [{}]\n", format!("*a{before},").repeat(9))
    });
    let fat = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(100_000), "*a, ".repeat(20_000));
    refused(&[
        ("billion laughs", format!("disabled: true\n{laughs}"), "yaml-anchor"),
        ("one large scalar, many aliases", format!("disabled: true\n{fat}"), "yaml-anchor"),
        ("an anchor within itself", "&a [*a]\n".to_owned(), "yaml-anchor"),
        ("flow lists", "[".repeat(100_000), "too-deep"),
        ("flow mappings", "{a: ".repeat(200_000), "too-deep"),
        ("block lists", "- ".repeat(100_000), "too-deep"),
        ("complex keys", "? ".repeat(100_000), "too-deep"),
        ("brackets closed in comments", "{a: # }\n".repeat(100_000), "too-deep"),
        ("brackets closed in quotes", "{\"}\": ".repeat(100_000), "too-deep"),
        (
            "indented mappings",
            (0..1000).map(|depth| format!("{}a:\n", " ".repeat(depth))).collect(),
            "too-deep",
        ),
    ]);
}

#[test]
fn the_parts_of_yaml_that_documents_do_not_need_are_refused() {
    refused(&[
        ("a merge key", format!("<<: [a]\n{GOOD}"), "merge-key"),
        ("a tag", with("\"true\"", "!!binary aGk="), "yaml-tag"),
        ("a tag of the core schema", with("\"true\"", "!!str true"), "yaml-tag"),
        ("the non-specific tag", with("\"true\"", "! true"), "yaml-tag"),
        ("an alias to nothing", with("\"true\"", "*nothing"), "yaml-anchor"),
        ("two documents", format!("{GOOD}---\n{GOOD}"), "several-documents"),
        ("a document and an empty one", format!("{GOOD}---\n"), "several-documents"),
    ]);
}

#[test]
fn characters_that_hide_text_are_refused() {
    refused(&[
        ("an indented tab", with("    - name", "\t- name"), "syntax"),
        ("a NUL", with("adults", "adu\0lts"), "syntax"),
        ("an escape sequence", with("adults", "\u{1b}[31m"), "syntax"),
        ("a line break of YAML 1.1", with("adults", "adu\u{2028}lts"), "syntax"),
        ("a next line", with("adults", "adu\u{85}lts"), "syntax"),
    ]);
}

#[test]
fn what_is_too_large_is_not_even_looked_at() {
    for blob in [Blob::TooLarge(2 * 1024 * 1024), Blob::Content(vec![b' '; LARGEST_DOCUMENT + 1])] {
        let document = read("a.yaml", &blob, ServiceKind::Documented);
        assert_eq!(found(&document), ["0:0 too-large"]);
    }
}

#[test]
fn what_a_partial_clone_lacks_is_a_finding() {
    let document = read("a.yaml", &Blob::Missing, ServiceKind::Documented);
    assert_eq!(found(&document), ["0:0 missing-content"]);
}

#[test]
fn a_large_document_is_accepted() {
    let objects: Vec<String> = (0..60_000).map(|number| format!("\"user-{number}\"")).collect();
    let text = with("number", "string").replace("\"18\"", &objects.join(", "));
    assert!(text.len() > 800_000);
    assert!(yaml(&text).payload.is_some());
    let rules: String = (0..2_000)
        .map(|number| {
            format!("    - {{ name: r{number}, serve: {{ select: 1 }}, conditions: [{{ type: a, subject: b, predicate: c, objects: [d] }}] }}\n")
        })
        .collect();
    assert!(yaml(with("  rules:\n", &format!("  rules:\n{rules}"))).payload.is_some());
}

#[test]
fn bytes_that_are_not_utf8_are_pointed_at() {
    let mut bytes = with("adults", "adXlts").into_bytes();
    let at = bytes.iter().position(|byte| *byte == b'X').unwrap();
    bytes[at] = 0xff;
    assert_eq!(found(&yaml(bytes)), ["7:15 not-utf8"]);
    let utf16: Vec<u8> = GOOD.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(yaml([b"\xff\xfe".to_vec(), utf16].concat()).payload.is_none());
}

#[test]
fn a_file_full_of_mistakes_is_told_in_part() {
    let keys: String = (0..50_000).map(|number| format!("k{number}: 1\n")).collect();
    let document = yaml(format!("{GOOD}{keys}"));
    assert_eq!(document.diagnostics.len(), 101);
    assert_eq!(document.diagnostics[100].id, "too-many-findings");
    let long = yaml(with("adults", &"x".repeat(900_000)).replace("disabled: false", "disabeld: false"));
    assert!(render(&long.diagnostics, Color::Never).len() < 4_000);
}

#[test]
fn thousands_of_misspelt_names_are_told_in_part() {
    let variations: String = (0..5_000).map(|n| format!("    - {{ name: {n:060}, value: x }}\n")).collect();
    let rules: String = (0..5_000)
        .map(|n| format!("    - {{ name: r, conditions: [], serve: {{ variation: x{n:059} }} }}\n"))
        .collect();
    let text = with("  rules:\n", &format!("{variations}  rules:\n{rules}"));
    assert_eq!(yaml(&text).diagnostics.len(), 101);
}

proptest! {
    #[test]
    fn any_bytes_are_read(bytes in any::<Vec<u8>>()) {
        let document = yaml(&bytes);
        let has_error = document.diagnostics.iter().any(|one| one.severity == Severity::Error);
        prop_assert_eq!(document.payload.is_none(), has_error);
        let _ = render(&document.diagnostics, Color::Always);
    }

    #[test]
    fn anything_like_yaml_is_read(pieces in proptest::collection::vec(piece(), 0..40)) {
        let text = pieces.concat();
        let document = yaml(&text);
        let has_error = document.diagnostics.iter().any(|one| one.severity == Severity::Error);
        prop_assert_eq!(document.payload.is_none(), has_error);
        let _ = render(&document.diagnostics, Color::Never);
    }

    #[test]
    fn a_good_document_with_something_in_it_is_read(at in 0..GOOD.len(), piece in piece(), cut in 0..8_usize) {
        let end = (at + cut).min(GOOD.len());
        let text = format!("{}{piece}{}", &GOOD[..at], &GOOD[end..]);
        let document = yaml(&text);
        let has_error = document.diagnostics.iter().any(|one| one.severity == Severity::Error);
        prop_assert_eq!(document.payload.is_none(), has_error);
        let _ = render(&document.diagnostics, Color::Never);
    }
}

fn piece() -> impl Strategy<Value = String> {
    prop_oneof![
        prop::sample::select(vec![
            "disabled: ",
            "content:",
            "rules: ",
            "variations:",
            "select: 0",
            "true",
            "\n",
            "\n  ",
            "\n    - ",
            "- ",
            "? ",
            ": ",
            "{",
            "}",
            "[",
            "]",
            ", ",
            "\"",
            "'",
            "|",
            ">",
            "#",
            "&a ",
            "*a",
            "!t ",
            "<<: ",
            "---\n",
            "...\n",
            "%YAML 1.2\n",
            "\t",
            "\r",
            "\r\n",
            "~",
            "null",
            "\u{feff}",
            "\u{85}",
            "\\",
            "\0",
            "😀",
            "é",
            "@",
            "`",
        ])
        .prop_map(str::to_owned),
        any::<String>(),
    ]
}

/// Where a line is read again from each of its parts, or the document for each of its comments, these take minutes.
#[test]
fn a_document_in_one_line_and_one_of_waivers_are_explained_in_linear_time() {
    let variations: String =
        (0..20_000).map(|at| format!("{{\"name\":\"a{at}\",\"value\":{{\"x\":1}}}},")).collect();
    let json = format!("{{\"disabled\":false,\"content\":{{\"variations\":[{variations}");
    for (name, end) in [
        ("a missing comma", "{\"name\":\"b\"} {\"name\":\"c\"}]}}"),
        ("an extra bracket", "{\"name\":\"b\"}]}}}"),
        ("a list without its end", "{\"name\":\"b\"}}}"),
        ("a cut", "{\"name\":\"b"),
    ] {
        refused(&[(name, format!("{json}{end}"), "syntax")]);
    }
    let flow = "disabled: false\ncontent: { rules: [";
    refused(&[("a cut in braces", format!("{flow}{}", "{ name: a, serve: b }, ".repeat(40_000)), "syntax")]);
    let waivers = "    # gitoggle: allow(list-in-text) we know\n".repeat(20_000);
    let document = featureprobe(&with("    - name", &format!("{waivers}    - name")));
    assert!(document.payload.is_some());
    assert!(document.diagnostics.iter().any(|one| one.id == "unused-waiver"));
}
