//! For every check of FeatureProbe alone one document that it accepts and one that it refuses.

use super::checks::{Case, case, check};
use super::*;

const NUMBER: &str = r#"type: number, subject: age, predicate: ">", objects: ["18"]"#;
const SERVE: &str = "serve: { select: 1 }";
const BETWEEN: &str = r#"type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["18"], rightPredicate: "<", rightObjects: ["65"]"#;

/// Checks whose refused documents have no error with the documented kind.
pub(super) const FEATUREPROBE: &[Case] = &[
    case(
        "bad-datetime",
        NUMBER,
        "type: datetime, subject: t, predicate: after, objects: [\"2024-01-01T00:00:00+00:00\"]",
        "type: datetime, subject: t, predicate: after, objects: [2024-01-01]",
        "9:69",
    ),
    case(
        "bad-regex",
        NUMBER,
        "type: string, subject: c, predicate: matches regex, objects: [\"^a+$\"]",
        "type: string, subject: c, predicate: does not match regex, objects: [a, \"(\"]",
        "9:85",
    ),
    case(
        "bad-semver",
        NUMBER,
        "type: semver, subject: v, predicate: \"=\", objects: [1.2.3]",
        "type: semver, subject: v, predicate: \"=\", objects: [v1.2.3]",
        "9:65",
    ),
    case(
        "between-fields",
        NUMBER,
        BETWEEN,
        r#"type: number, subject: age, predicate: between, objects: ["18"]"#,
        "9:52",
    ),
    case("unknown-condition-type", "number", "number", "numbr", "9:19"),
    case("unknown-predicate", "\">\"", "\">=\"", "\"greater\"", "9:52"),
];

/// Checks of what the documented kind does not have.
pub(super) const VOCABULARY: &[Case] = &[
    case(
        "duplicate-prerequisite",
        "  rules:\n",
        "  prerequisites: [{ key: a, value: x, type: string }, { key: b, value: x, type: string }]\n  rules:\n",
        "  prerequisites: [{ key: a, value: x, type: string }, { key: A, value: y, type: string }]\n  rules:\n",
        "6:62",
    ),
    case(
        "json-prerequisite",
        "  rules:\n",
        "  prerequisites: [{ key: a, value: \"{}\", type: string }]\n  rules:\n",
        "  prerequisites: [{ key: a, value: \"{}\", type: json }]\n  rules:\n",
        "6:48",
    ),
    case(
        "prerequisite-type",
        "  rules:\n",
        "  prerequisites: [{ key: a, value: true, type: boolean }]\n  rules:\n",
        "  prerequisites: [{ key: a, value: true, type: Boolean }]\n  rules:\n",
        "6:48",
    ),
    case(
        "prerequisite-value",
        "  rules:\n",
        "  prerequisites: [{ key: a, value: 1.50, type: number }]\n  rules:\n",
        "  prerequisites: [{ key: a, value: one, type: number }]\n  rules:\n",
        "6:36",
    ),
    case(
        "split-share",
        SERVE,
        "serve: { split: { \"on\": 12.5, \"off\": 87.50 } }",
        "serve: { split: { \"on\": 12.5, \"off\": 87.500 } }",
        "10:44",
    ),
    case("split-share", SERVE, "serve: { split: [10000, 0] }", "serve: { split: [-1, 10001] }", "10:24"),
    case("split-share", SERVE, "serve: { split: [10000] }", "serve: { split: [5000, 0, 5000] }", "10:33"),
    case("split-sum", SERVE, "serve: { split: [2500, 7500] }", "serve: { split: [2500, 7499] }", "10:16"),
    case(
        "split-sum",
        SERVE,
        "serve: { split: { \"on\": 100 } }",
        "serve: { split: { \"on\": 99.99 } }",
        "10:16",
    ),
    case(
        "superfluous-field",
        NUMBER,
        BETWEEN,
        r#"type: number, subject: age, predicate: ">", objects: ["18"], rightObjects: ["65"]"#,
        "9:74",
    ),
    case(
        "unknown-variation",
        SERVE,
        "serve: { split: { \"on\": 100 } }",
        "serve: { split: { \"onn\": all } }",
        "10:25",
    ),
    case(
        "split-share",
        SERVE,
        "serve: { split: { \"on\": 100 } }",
        "serve: { split: { \"onn\": all } }",
        "10:32",
    ),
    case(
        "unknown-variation",
        SERVE,
        "serve: { split: { \"on\": 100 } }",
        "serve: { split: { \"onn\": 100 } }",
        "10:25",
    ),
    case(
        "duplicate-key",
        SERVE,
        "serve: { split: { \"on\": 50, \"off\": 50 } }",
        "serve: { split: { \"on\": 50, on: 50 } }",
        "10:35",
    ),
    case(
        "serve-choice",
        SERVE,
        "serve: { split: [5000, 5000] }",
        "serve: { split: [5000, 5000], select: 1 }",
        "10:7",
    ),
    case("serve-choice", SERVE, "serve: { select: 0x1 }", "serve: {}", "10:7"),
    case("null-text", SERVE, "serve: { split: { \"on\": 100 } }", "serve: { split: { ~: 100 } }", "10:25"),
    case("wrong-type", SERVE, "serve: { split: { \"on\": 100 } }", "serve: { split: { \"on\": } }", "10:25"),
    case("wrong-type", SERVE, "serve: { split: [10000] }", "serve: { split: 50 }", "10:23"),
    case("wrong-type", SERVE, "serve: { split: [10000] }", "serve: { split: [[10000]] }", "10:16"),
    case("missing-field", NUMBER, BETWEEN, "type: string, predicate: contains, objects: [x]", "9:13"),
    case(
        "missing-field",
        "  rules:\n",
        "  prerequisites: []\n  rules:\n",
        "  prerequisites: [{ key: a, value: x }]\n  rules:\n",
        "6:21",
    ),
    case(
        "empty-text",
        "  rules:\n",
        "  prerequisites: [{ key: a, value: \"\", type: string }]\n  rules:\n",
        "  prerequisites: [{ key: \"\", value: \"\", type: string }]\n  rules:\n",
        "6:26",
    ),
    case(
        "no-objects",
        NUMBER,
        BETWEEN,
        r#"type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["18"], rightPredicate: "<", rightObjects: []"#,
        "9:120",
    ),
    case(
        "not-a-number",
        NUMBER,
        BETWEEN,
        r#"type: number, subject: age, predicate: between, leftPredicate: ">=", objects: ["18"], rightPredicate: "<", rightObjects: [x]"#,
        "9:135",
    ),
    case(
        "unknown-predicate",
        NUMBER,
        BETWEEN,
        r#"type: number, subject: age, predicate: between, leftPredicate: "=>", objects: ["18"], rightPredicate: "<", rightObjects: ["65"]"#,
        "9:76",
    ),
];

#[test]
fn what_a_known_service_cannot_take_is_found_only_for_it() {
    for case in FEATUREPROBE {
        check(case, ServiceKind::FeatureProbe);
        let document = yaml(with(case.replaced, case.refused));
        let is_error = |one: &Diagnostic| one.severity == Severity::Error;
        assert!(!document.diagnostics.iter().any(is_error), "{}", case.id);
    }
}

#[test]
fn the_vocabulary_is_checked_at_its_place() {
    for case in VOCABULARY {
        check(case, ServiceKind::FeatureProbe);
    }
}
