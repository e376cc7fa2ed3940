//! Mistakes that get the sentence that helps.

use super::*;

/// The findings of a document as `severity id: message; help`.
pub(super) fn lines(document: &Document) -> Vec<String> {
    let lines = |one: &Diagnostic| {
        let severity = match one.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let help = one.help.as_deref().unwrap_or_default();
        format!("{severity} {}: {}; {help}", one.id, one.message)
    };
    document.diagnostics.iter().map(lines).collect()
}

#[test]
fn a_misspelled_type_or_predicate_is_a_warning_unless_the_service_is_known() {
    for (from, to, sentence) in [
        (
            "type: number",
            "type: nubmer",
            "unknown-condition-type: `nubmer` is not a known type of condition; did you mean `number`?",
        ),
        (
            "\">\"",
            "\"=>\"",
            "unknown-predicate: `=>` is not a known predicate of a `number` condition; did you mean `>=`?",
        ),
        (
            "\">\"",
            "\"=<\"",
            "unknown-predicate: `=<` is not a known predicate of a `number` condition; did you mean `<=`?",
        ),
        (
            "\">\"",
            "\"==\"",
            "unknown-predicate: `==` is not a known predicate of a `number` condition; did you mean `=`?",
        ),
        (
            "\">\"",
            "\"greater than\"",
            "unknown-predicate: `greater than` is not a known predicate of a `number` condition; did you mean `>`?",
        ),
        (
            "type: number, subject: age, predicate: \">\"",
            "type: string, subject: age, predicate: is one off",
            "unknown-predicate: `is one off` is not a known predicate of a `string` condition; did you mean `is one of`?",
        ),
        (
            "type: number, subject: age, predicate: \">\"",
            "type: boolean, subject: age, predicate: \">\"",
            "unknown-condition-type: `boolean` is not a known type of condition; did you mean `string`?",
        ),
        (
            "type: number, subject: age, predicate: \">\"",
            "type: geo, subject: age, predicate: \">\"",
            "unknown-condition-type: `geo` is not a known type of condition; \
             the known types are `string`, `number`, `semver`, `datetime` and `segment`",
        ),
        (
            "type: number, subject: age, predicate: \">\"",
            "type: number, subject: age, predicate: STR_STARTS_WITH",
            "unknown-predicate: `STR_STARTS_WITH` is not a known predicate of a `number` condition; \
             a `number` condition has `=`, `!=`, `>`, `>=`, `<`, `<=` and `between`; it is `starts with` of `string` conditions",
        ),
    ] {
        let text = with(from, to);
        let documented = yaml(&text);
        assert_eq!(lines(&documented), [format!("warning {sentence}")]);
        assert!(documented.payload.is_some());
        let featureprobe = featureprobe(&text);
        let consequence = "the service accepts this, but its SDKs cannot decode it: no toggle of the environment is updated anymore";
        let separator = if sentence.ends_with('?') { "" } else { ";" };
        assert_eq!(lines(&featureprobe), [format!("error {sentence}{separator} {consequence}")]);
        assert!(featureprobe.payload.is_none());
    }
}

#[test]
fn thousands_of_misspelled_predicates_are_told_in_part_and_soon() {
    let condition =
        "        - { type: string, subject: a, predicate: is one of one of one of one of, objects: [x] }\n";
    let text = with("      conditions:\n", &format!("      conditions:\n{}", condition.repeat(10_000)));
    let document = yaml(text);
    assert!(document.payload.is_some());
    assert!(document.diagnostics.len() <= 101);
}

#[test]
fn a_percentage_rollout_is_told_what_it_needs() {
    for (rollout, split) in [
        ("{ select: [2500, 7500] }", "[2500, 7500]"),
        ("{ select: { \"on\": 25, \"off\": 75 } }", "{ \"on\": 25, \"off\": 75 }"),
        ("{ select: 25% }", "{ \"on\": 25, \"off\": 75 }"),
        ("{ split: 10 }", "{ \"on\": 10, \"off\": 90 }"),
    ] {
        for kind in [ServiceKind::Documented, ServiceKind::FeatureProbe] {
            let document = read_as(kind, with("{ select: 1 }", rollout));
            let lines = lines(&document);
            assert_eq!(lines.len(), 1, "{rollout}: {lines:?}");
            let help =
                format!("write a split, such as `split: {split}`, which needs `service_kind: featureprobe`");
            assert!(lines[0].ends_with(&help), "{rollout}: {lines:?}");
        }
    }
}

#[test]
fn conflict_markers_are_reported_as_such() {
    let conflict =
        with("disabled: false\n", "<<<<<<< HEAD\ndisabled: false\n=======\ndisabled: true\n>>>>>>> topic\n");
    for (text, at) in [
        (conflict.clone(), 1),
        (conflict.replace('\n', "\r\n"), 1),
        (with("content:\n", "content:\n>>>>>>> topic\n"), 3),
        (with("content:\n", "=======\ncontent:\n"), 2),
        (conflict.replace("=======", "||||||| base\n======="), 1),
    ] {
        let document = yaml(&text);
        assert_eq!(found(&document), [format!("{at}:1 conflict-marker")], "{text}");
    }
    let document = json("{\n<<<<<<< HEAD\n  \"disabled\": true\n=======\n}\n");
    assert_eq!(found(&document), ["2:1 conflict-marker"]);
    // Valid, if odd: a text over two lines.
    let odd = "{ disabled: false, content: { rules: [], variations: [ { name: on, value: \"a\n=======\" } ],\n\
               disabledServe: { select: 0 }, defaultServe: { select: 0 } } }\n";
    assert!(yaml(odd).payload.is_some(), "{:?}", found(&yaml(odd)));
}

#[test]
fn a_git_lfs_pointer_is_reported_as_such() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 12345\n";
    for document in [yaml(pointer), json(pointer)] {
        assert_eq!(found(&document), ["0:0 lfs-pointer"]);
        assert!(document.payload.is_none());
    }
}
