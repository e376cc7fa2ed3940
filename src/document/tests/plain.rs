//! serde_yaml reads what the syntax tree reads, wherever it decides.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::super::plain::{MOST_WORK, is_plain, work};
use super::*;

/// A document in many styles, without a finding.
const SEED: &str = r#"# Owned by shop & co
disabled: false
content:
  variations:
    - { name: "v0", value: "1", description: "a b" }
    - name: on, off
      value: 1.10 # why & how
  rules:
    - name: rule-0
      conditions:
        - type: number
          subject: city
          predicate: between
          leftPredicate: ">="
          rightPredicate: "<"
          objects: ['1.10']
          rightObjects: [1.20]
        - { type: number, subject: age, predicate: ">", objects: ["18"] }
      serve: { select: 1 }
    - name: r
      conditions:
      - type: string
        subject: s
        predicate: is one of
        objects:
        - Größe
        - it's
      serve:
        split:
          "on, off": 12.5
          v0: 87.5
  disabledServe: { split: { 'v0': 100, "on, off": 0 } }
  defaultServe:
    split: [2500, 7500]
"#;

/// A short document for FeatureProbe.
const SHORT: &str = r#"---
disabled: true # c
content:
  variations:
  - { name: a, value: "1" }
  - name: 'b'
    value: b c
  prerequisites: [{ key: k, value: a, type: string }]
  rules: []
  disabledServe: { select: 0 }
  defaultServe:
    variation: b
"#;

/// Returns whether serde_yaml reads `text`, and checks that the syntax tree has the same without a finding,
/// also if `text` takes more than the most work.
fn agrees(text: &str) -> bool {
    let kinds = [ServiceKind::Documented, ServiceKind::FeatureProbe];
    let agrees = |kind| {
        let file = |most_work| File { path: "a.yaml", text, kind, sdks: Sdks::ALL, most_work };
        let Some(targeting) = file(MOST_WORK).clean() else { return false };
        let (work, by_tree) = (work(text), file(0).checked(&syntax::parse(text)));
        let (below, at) = (file(work.saturating_sub(1)), file(work));
        assert_eq!((below.clean().is_some(), at.clean().is_some()), (work == 0, true), "{text}");
        for document in [below.read(), at.read(), by_tree] {
            assert_eq!(document.diagnostics, [], "{text}");
            assert_eq!(
                document.payload.as_ref().map(Payload::targeting).as_ref(),
                Some(&targeting),
                "{text}"
            );
            assert_eq!(document.outline, Outline::of(&targeting), "{text}");
        }
        true
    };
    kinds.map(agrees).contains(&true)
}

#[test]
fn usual_documents_are_read() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/toggles");
    let examples = examples::files(&examples).into_iter().map(|path| fs::read_to_string(path).unwrap());
    // The tree reads the offset of a time, which looks like another notation of numbers.
    let examples = examples.filter(|text| !text.contains("+0"));
    for text in [SEED, SHORT, GOOD].map(str::to_owned).into_iter().chain(examples) {
        assert!(agrees(&text), "{:?} of {text}", featureprobe(&text).diagnostics);
    }
}

#[test]
fn the_public_test_suite_of_yaml_is_read_the_same_whichever_work_is_the_most() {
    public_suite().into_values().for_each(|text| drop((yaml(&text), featureprobe(&text))));
}

#[test]
fn an_edit_never_makes_the_parsers_disagree() {
    const EDITS: [&str; 30] = [
        " ", "  ", "\n", "\n  ", "- ", ": ", ":", "#", " #", ", ", "\"", "'", "[", "]", "{", "}", "-", "~",
        "null", "0", "? ", "---\n", "\t", "\n\n    ", "\r", "é", "&a ", "!", ">", "|",
    ];
    let mut accepted = 0;
    for at in (0..=SHORT.len()).filter(|at| SHORT.is_char_boundary(*at)) {
        for removed in 0..3 {
            let tail = SHORT.get(at + removed..).unwrap_or_default();
            for edit in EDITS {
                accepted += usize::from(agrees(&format!("{}{edit}{tail}", &SHORT[..at])));
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn random_edits_never_make_the_parsers_disagree() {
    let marks: Vec<char> = " \n-:#,\"'[]{}~0ax?!&*|>%@`=<.+/\\\t\r\u{a0}\u{feff}\u{2028}".chars().collect();
    let cases = std::env::var("PLAIN_CASES").map_or(3_000, |n| n.parse().expect("a number"));
    let (mut state, mut accepted) = (1_u64, 0);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits fit") % limit
    };
    for _ in 0..cases {
        let mut text: Vec<char> = [SEED, SHORT][below(2)].chars().collect();
        for _ in 0..1 + below(3) {
            let (at, from) = (below(text.len()), below(text.len()));
            let to = text.len().min(from + below(40));
            match below(4) {
                0 => text.insert(at, marks[below(marks.len())]),
                1 => drop(text.remove(at)),
                2 => text[at] = marks[below(marks.len())],
                _ => drop(text.splice(at..at, text[from..to].to_vec())),
            }
        }
        accepted += usize::from(agrees(&String::from_iter(text)));
    }
    assert!(accepted > cases / 100, "{accepted}");
}

/// Returns the texts of <https://github.com/yaml/yaml-test-suite> by their ids.
fn public_suite() -> BTreeMap<String, String> {
    serde_json::from_str(include_str!("../../../tests/it/data/yaml-test-suite.json")).unwrap()
}

#[test]
fn the_public_test_suite_of_yaml_is_read_the_same() {
    let (mut read, mut wrong) = (0, Vec::new());
    for (id, text) in public_suite() {
        let Some(value) = serde_yaml::from_str(&text).ok().filter(|_| is_plain(&text)) else { continue };
        let tree = syntax::parse(&text);
        read += 1;
        if !tree.findings.is_empty() || !tree.root.as_ref().is_none_or(|root| means(root, &value)) {
            wrong.push(format!("{id}: {text:?} is {value:?}, not {:?}, {:?}", tree.root, tree.findings));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(read > 90, "{read}");
}

proptest! {
    #[test]
    fn printed_documents_are_read_the_same(targeting in any_targeting(ServiceKind::FeatureProbe)) {
        agrees(&print(&targeting, ServiceKind::FeatureProbe));
    }
}
