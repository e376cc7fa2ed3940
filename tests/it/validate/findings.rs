//! Every finding of `validate`, with its position.

use super::findings;
use crate::support::{World, doc};

/// A file, its content, and the id, line, and column of its finding. 0 is any line or column.
type Wrong = (&'static str, Vec<u8>, &'static str, u64, u64);

/// Every kind of invalid document with its finding and position.
fn wrong() -> Vec<Wrong> {
    [wrong_fields(), wrong_serves(), wrong_values(), wrong_yaml(), wrong_files()].concat()
}

/// Returns the example with `from` replaced.
fn edit(from: &str, to: &str) -> Vec<u8> {
    let good = doc(18);
    assert!(good.contains(from), "the example holds {from:?}");
    good.replacen(from, to, 1).into_bytes()
}

/// Fields that are missing, repeated, or unknown.
fn wrong_fields() -> Vec<Wrong> {
    vec![
        ("unknown-key", edit("  defaultServe", "  defualtServe"), "unknown-key", 12, 3),
        ("comment", edit("disabled: false", "comment: hello\ndisabled: false"), "comment-key", 1, 1),
        (
            "duplicate-key",
            edit("disabled: false\n", "disabled: false\ndisabled: true\n"),
            "duplicate-key",
            2,
            1,
        ),
        ("no-disabled", edit("disabled: false\n", ""), "missing-field", 0, 0),
        ("no-default", edit("  defaultServe: { select: 0 }\n", ""), "missing-field", 0, 0),
        ("no-disabled-serve", edit("  disabledServe: { select: 0 }\n", ""), "missing-field", 0, 0),
        ("no-variations", edit(VARIATIONS, "  variations: []\n"), "no-variations", 0, 0),
    ]
}

/// Serves and variations.
fn wrong_serves() -> Vec<Wrong> {
    vec![
        ("select-range", edit("{ select: 1 }", "{ select: 2 }"), "select-out-of-range", 10, 24),
        ("select-negative", edit("{ select: 1 }", "{ select: -1 }"), "select-negative", 10, 24),
        ("select-text", edit("{ select: 1 }", "{ select: on }"), "wrong-type", 10, 24),
        ("unknown-variation", edit("{ select: 1 }", "{ variation: \"onn\" }"), "unknown-variation", 10, 27),
        ("both", edit("{ select: 1 }", "{ select: 1, variation: \"on\" }"), "serve-choice", 0, 0),
        ("twins", edit("name: \"off\"", "name: \"on\""), "duplicate-variation", 0, 0),
        ("no-serve", edit("      serve: { select: 1 }\n", ""), "rule-without-serve", 7, 7),
    ]
}

/// Values that their fields do not take.
fn wrong_values() -> Vec<Wrong> {
    vec![
        ("yes", edit("disabled: false", "disabled: no"), "wrong-type", 1, 11),
        ("null", edit("name: \"off\"", "name: null"), "null-text", 4, 15),
        ("tilde", edit("value: \"true\"", "value: ~"), "null-text", 5, 28),
        ("no-objects", edit("objects: [\"18\"]", "objects: []"), "no-objects", 9, 57),
        ("hex", edit("objects: [\"18\"]", "objects: [0x12]"), "not-a-number", 9, 67),
        ("underscore", edit("objects: [\"18\"]", "objects: [1_000]"), "not-a-number", 9, 67),
        ("nan", edit("objects: [\"18\"]", "objects: [.nan]"), "not-a-number", 9, 67),
    ]
}

/// Texts that are not the YAML of a document.
fn wrong_yaml() -> Vec<Wrong> {
    let good = doc(18);
    vec![
        ("syntax", edit("content:", "content: ["), "syntax", 0, 0),
        ("tab", edit("  variations:", "\tvariations:"), "syntax", 3, 0),
        ("anchor", edit("disabled: false", "disabled: &d false"), "yaml-anchor", 1, 11),
        ("alias", edit("disabled: false", "x: &a 1\ny: *a\ndisabled: false"), "yaml-anchor", 1, 4),
        ("merge", edit("disabled: false", "<<: { disabled: false }"), "merge-key", 1, 1),
        ("tag", edit("disabled: false", "disabled: !!bool false"), "yaml-tag", 1, 11),
        ("two", format!("{good}---\n{good}").into_bytes(), "several-documents", 0, 0),
        ("list", b"- 1\n- 2\n".to_vec(), "not-a-document", 0, 0),
    ]
}

/// Files that are empty, too deep, too large, or not text.
fn wrong_files() -> Vec<Wrong> {
    let good = doc(18);
    let deep = format!("disabled: {}{}\n", "[".repeat(100_000), "]".repeat(100_000));
    let deep_maps = format!("disabled: {}\n", "{a: ".repeat(100_000));
    let mut latin = good.clone().into_bytes();
    latin[10] = 0xff;
    vec![
        ("empty", Vec::new(), "empty-document", 0, 0),
        ("only-a-comment", b"# nothing\n".to_vec(), "empty-document", 0, 0),
        ("deep", deep.into_bytes(), "too-deep", 1, 0),
        ("deep-maps", deep_maps.into_bytes(), "too-deep", 1, 0),
        ("deep-block", "- ".repeat(100_000).into_bytes(), "too-deep", 1, 0),
        ("bomb", bomb(), "yaml-anchor", 1, 0),
        ("large", format!("{good}# {}\n", "x".repeat(1024 * 1024)).into_bytes(), "too-large", 0, 0),
        ("latin", latin, "not-utf8", 0, 0),
    ]
}

const VARIATIONS: &str = "  variations:
    - { name: \"off\", value: \"false\", description: \"\" }
    - { name: \"on\", value: \"true\", description: \"New payment page\" }
";

/// Nine lists of nine aliases each: 3 GB when expanded.
fn bomb() -> Vec<u8> {
    let mut text = String::from("a0: &a0 [\"lol\"]\n");
    for level in 1..10 {
        let alias = format!("*a{}, ", level - 1).repeat(9);
        text.push_str(&format!("a{level}: &a{level} [{alias}]\n"));
    }
    text.into_bytes()
}

#[test]
fn every_problem_in_every_file_is_reported_with_its_position() {
    let world = World::new();
    let wrong = wrong();
    for (name, content, ..) in &wrong {
        world.repo.file(&format!("shop/prod/{name}.yaml"), content);
    }
    world.repo.file("shop/prod/fine.yaml", doc(18)).commit("Add all that is wrong");
    let json = world.validate().set("output", "json").exit(3).json();
    let findings = findings(&json);
    let mut surprises = Vec::new();
    for (name, _, id, line, column) in &wrong {
        let file = format!("shop/prod/{name}.yaml");
        let of_file: Vec<_> = findings.iter().filter(|finding| finding["file"] == file.as_str()).collect();
        let as_expected = of_file.iter().any(|finding| {
            finding["id"] == *id
                && finding["severity"] == "error"
                && (*line == 0 || finding["line"] == *line)
                && (*column == 0 || finding["column"] == *column)
                && finding["message"].as_str().is_some_and(|text| !text.is_empty())
        });
        if !as_expected {
            surprises.push(format!("{file}: no `{id}` at {line}:{column} in {of_file:?}"));
        }
    }
    assert!(surprises.is_empty(), "{}", surprises.join("\n"));
    let fine: Vec<_> = findings.iter().filter(|finding| finding["file"] == "shop/prod/fine.yaml").collect();
    assert!(fine.is_empty(), "{fine:?}");
}

#[test]
fn a_finding_has_its_position_its_line_and_a_hint() {
    let world = World::new();
    world.repo.file("shop/prod/pay.yaml", doc(18).replace("defaultServe", "defualtServe")).commit("Mistype");
    world.validate().exit(3).says(&[
        "shop/prod/pay.yaml:12:3",
        "unknown-key",
        "defualtServe: { select: 0 }",
        "did you mean `defaultServe`?",
    ]);
}
