//! Each style that other parsers accept is read with its findings, its waivers and its comments.

use super::*;

/// A document with one warning, whose waiver is in its first line of rules.
const WAIVED: &str = "disabled: false
content:
  variations:
    - { name: off, value: a }
    - { name: on, value: b }
  rules:
    - name: some
      conditions:
        - type: string
          subject: city
          predicate: is one of
          objects: [\"18\"]
      serve: { select: 1 }
    # gitoggle: allow(matches-everyone) on purpose
    - name: all
      conditions: []
      serve: { select: 0 }
  disabledServe: { select: 0 }
  defaultServe: { select: 0 }
";

/// Returns the styles that YAML 1.2 refuses, or that a parser could, with their names.
fn styles() -> Vec<(&'static str, String)> {
    [flow_styles(), scalar_styles()].concat()
}

/// Returns the example with `from` replaced.
fn waived_with(from: &str, to: &str) -> String {
    assert_eq!(WAIVED.matches(from).count(), 1, "{from}");
    WAIVED.replace(from, to)
}

fn objects(to: &str) -> String {
    waived_with("[\"18\"]", to)
}

fn flow_styles() -> Vec<(&'static str, String)> {
    vec![
        ("as it is", WAIVED.to_owned()),
        ("a bracket at the column of its key", objects("[\n            \"18\"\n          ]")),
        ("a bracket before the column of its key", objects("[\n \"18\",\nb\n]")),
        ("a brace at the column of its key", {
            waived_with("serve: { select: 1 }", "serve: {\n        select: 1\n      }")
        }),
        ("an indented tab in a flow list", objects("[\n\t \t\"18\"\n\t]")),
        ("a tab behind a colon", waived_with("{ name: on,", "{ name:\ton,")),
        ("a comment behind a comma", objects("[\"18\",# one & only\n b,# two\n ]# three")),
        ("a comment behind a bracket", objects("[# one & only\n \"18\"\n ]")),
    ]
}

fn scalar_styles() -> Vec<(&'static str, String)> {
    vec![
        ("a quoted scalar that goes on at the first column", objects("[\"18\n19\"]")),
        ("a quoted scalar that goes on after a tab", waived_with("name: some", "name: 'some\n\tmore'")),
        ("a plain scalar that goes on at the column of its key", objects("[a\n          b]")),
        ("a block scalar without a last line break", format!("{}  # no break", { WAIVED.trim_end() })),
        ("line breaks of Windows", objects("[\n            \"18\"\n          ]").replace('\n', "\r\n")),
        ("a byte order mark and markers", format!("\u{feff}--- # start\n{WAIVED}...\n")),
        ("an ampersand in a comment", format!("# a & b *c !d\n{}", objects("[\n\"18\"\n]"))),
        (
            "a no-break space at the start of a line of text",
            waived_with("name: some", "name: 'some\n        \u{a0}more'"),
        ),
        (
            "a no-break space at the end of a comment",
            waived_with("conditions: []", "conditions: [] # none\u{a0}"),
        ),
        ("a mark within a comment", waived_with("conditions: []", "conditions: [] # no\u{feff}ne")),
    ]
}

#[test]
fn every_style_is_read_with_its_waivers_and_formatted() {
    for (name, text) in styles() {
        let document = yaml(&text);
        assert!(document.payload.is_some(), "{name}: {document:?}");
        let [waived] = &document.diagnostics[..] else { panic!("{name}: {document:?}") };
        assert_eq!(waived.waived.as_deref(), Some("on purpose"), "{name}: {waived:?}");
        let blob = Blob::Content(text.clone().into_bytes());
        match format("a.yaml", &blob, ServiceKind::Documented) {
            Formatting::Changed(new) => {
                assert_eq!(yaml(&new).payload, document.payload, "{name}");
                assert!(new.contains("# gitoggle: allow"), "{name}");
                assert_eq!(new.matches('#').count(), text.matches('#').count(), "{name}");
            }
            other => panic!("{name}: {other:?}"),
        }
    }
}

#[test]
fn an_unknown_key_is_at_its_place_in_every_style() {
    for (name, text) in styles() {
        let text = text.replace("  disabledServe:", "  unknown: 1\n  disabledServe:");
        let line = text.lines().position(|line| line.starts_with("  unknown")).unwrap() + 1;
        let document = yaml(&text);
        let expected = format!("{line}:3 unknown-key");
        assert!(found(&document).contains(&expected), "{name}: {:?}", found(&document));
    }
}

#[test]
fn what_yaml_refuses_is_refused_with_its_error() {
    for (from, to, expected) in [
        ("    - name: adults", "\t- name: adults", "7:1 syntax"),
        ("rules:\n", "rules:\n\u{feff}", "7:1 syntax"),
        ("\"true\"", "*.example.com", "5:28 yaml-anchor"),
        ("\"true\"", "&a b", "5:28 yaml-anchor"),
        ("\"true\"", "!t b", "5:28 yaml-tag"),
    ] {
        let document = yaml(with(from, to));
        assert!(document.payload.is_none(), "{to}");
        assert_eq!(found(&document), [expected], "{to}");
    }
}

#[test]
fn a_text_with_very_many_repairs_is_read_in_bounded_time() {
    let objects = "a,#\n".repeat(200_000);
    let document = yaml(WAIVED.replace("[\"18\"]", &format!("[{objects}]")));
    assert!(document.payload.is_some() || !document.diagnostics.is_empty());
}

/// Compares the tree with another parser. Returns whether `text` is a document.
fn agrees(text: &str) -> bool {
    if yaml(text).payload.is_none() {
        return false;
    }
    // The other parser refuses some tabs, and a comment directly after a quote.
    if let Ok(value) = serde_yaml::from_str(text) {
        let tree = syntax::parse(text.strip_prefix('\u{feff}').unwrap_or(text));
        let root = tree.root.unwrap_or_else(|| panic!("{:?} of {text:?}", tree.findings));
        assert!(means(&root, &value), "{text:?}");
    }
    true
}

#[test]
fn random_edits_never_make_two_parsers_disagree() {
    const EDITS: [&str; 48] = [
        " ", "  ", "\n", "\n  ", "\n    ", "\n\n", "\t", "\r\n", "\r", " # c\n", " # & x\n", "#", "'", "\"",
        ",", "[", "]", "{", "}", "- ", "? ", ": ", ":", "---\n", "\n---\n", "\n...\n", "|\n", "|-\n", ">\n",
        "\u{feff}", "é", "\u{a0}", "\\", "\\/", "\\x41", "''", "%", "@", "`", "null", "~", "1_0", "|+\n   ",
        "\n#c\n", "\n \t\n", "\t\n", "\u{e000}", "😀",
    ];
    let cases = std::env::var("POSITION_CASES").map_or(5_000, |n| n.parse().expect("a number"));
    let seeds: Vec<String> = styles().into_iter().map(|(_, text)| text).collect();
    let (mut state, mut accepted) = (1_u64, 0);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits fit") % limit
    };
    for _ in 0..cases {
        let mut text: Vec<char> = seeds[below(seeds.len())].chars().collect();
        for _ in 0..1 + below(3) {
            let at = below(text.len());
            let removed = [0, 0, 1, 1 + below(4)][below(4)];
            let edit = ["", EDITS[below(EDITS.len())]][usize::from(below(4) > 0)];
            text.splice(at..(at + removed).min(text.len()), edit.chars());
        }
        accepted += usize::from(agrees(&String::from_iter(text)));
    }
    assert!(accepted > cases / 50, "{accepted}");
}
