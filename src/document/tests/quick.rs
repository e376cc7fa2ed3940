//! The quick parser reads what the tree has wherever it decides.

use super::super::quick::parse;
use super::super::{check, shape, syntax};

const SEED: &str = "# Owned\ndisabled: false\ncontent:\n  variations:\n    - { name: \"v0\", value: \"1\", description: \"a b\" }\n    - name: on, off\n      value: 1.10 # why\n  prerequisites:\n    - { key: other, value: a, type: string }\n  rules:\n    - name: rule-0\n      conditions:\n        - type: number\n          subject: city\n          predicate: between\n          leftPredicate: \"<\"\n          rightPredicate: \">\"\n          objects: [\"Paris\", 'x', 1.10]\n          rightObjects: [2]\n        - { type: number, subject: age, predicate: \">\", objects: [\"18\"] }\n      serve: { select: 1 }\n    - name: r\n      conditions: []\n      serve:\n        split:\n          \"on, off\": 12.5\n          v0: 87.5\n  disabledServe: { split: { 'v0': 100, on: 0 } }\n  defaultServe:\n    split: [2500, 7500]\n";

fn agrees(text: &str) -> bool {
    let Some(quick) = parse(text) else { return false };
    let tree = syntax::parse(text);
    let mut findings = tree.findings;
    let ordinary = tree.root.map(|root| shape::document(&root, &mut findings));
    assert_eq!(Some(quick), ordinary, "{text}");
    // Whether a field is missing is found later.
    let known = [check::MISSING_FIELD, check::RULE_WITHOUT_SERVE];
    findings.retain(|finding| !known.contains(finding.check));
    assert!(findings.is_empty(), "{findings:?} of {text}");
    true
}

#[test]
fn the_usual_document_is_read() {
    assert!(agrees(SEED));
}

#[test]
fn the_samples_are_read() {
    let files = [
        include_str!("../../../examples/toggles/shop/production/new-checkout.yaml"),
        include_str!("../../../examples/toggles/shop/production/free-shipping-from.yaml"),
        include_str!("../../../examples/toggles/shop/staging/new-checkout.yaml"),
        include_str!("../../../examples/toggles/search/production/ranking.yaml"),
    ];
    for text in files {
        assert!(agrees(text), "{text}");
    }
}

#[test]
fn an_edit_never_makes_the_parsers_disagree() {
    const EDITS: [&str; 24] = [
        " ", "  ", "\n", "\n  ", "- ", ": ", ":", "#", " #", ", ", "\"", "'", "[", "]", "{", "}", "-", "~",
        "null", "0", "? ", "---\n", "\t", "\n\n    ",
    ];
    let mut accepted = 0;
    for at in 0..=SEED.len() {
        for removed in 0..4 {
            let tail = SEED.get(at + removed..).unwrap_or_default();
            for edit in EDITS {
                accepted += usize::from(agrees(&format!("{}{edit}{tail}", &SEED[..at])));
            }
        }
    }
    assert!(accepted > 1000, "{accepted}");
}

#[test]
fn random_edits_never_make_the_parsers_disagree() {
    let marks = b" \n-:#,\"'[]{}~0ax?!&*|>%@`=<.+/\\\t";
    let cases = std::env::var("QUICK_CASES").map_or(5_000, |n| n.parse().expect("a number"));
    let (mut state, mut accepted) = (1_u64, 0);
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(state >> 33).expect("31 bits fit") % limit
    };
    for _ in 0..cases {
        let mut text = SEED.to_owned();
        for _ in 0..1 + below(3) {
            let (at, from) = (below(text.len()), below(text.len()));
            let to = text.len().min(from + below(40));
            match below(4) {
                0 => text.insert(at, char::from(marks[below(marks.len())])),
                1 => drop(text.remove(at)),
                2 => text.replace_range(at..=at, &char::from(marks[below(marks.len())]).to_string()),
                _ => {
                    let copy = text[from..to].to_owned();
                    text.insert_str(at, &copy);
                }
            }
        }
        accepted += usize::from(agrees(&text));
    }
    assert!(accepted > cases / 100, "{accepted}");
}
