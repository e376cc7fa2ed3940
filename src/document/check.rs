//! Lists all checks with their stable ids, and the help texts about keys.
//!
//! An id never changes its meaning, because scripts and CI annotations refer to it.

use std::sync::LazyLock;

use crate::model::ServiceKind;

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is invalid: nothing of it is published.
    Error,
    /// Suspicious, but applied; never changes an exit code.
    Warning,
}

impl Check {
    /// Returns whether a check with this id is about what a document says of others.
    pub(crate) fn is_about_others(id: &str) -> bool {
        CHECKS.iter().any(|check| check.id == id && check.subject == CheckSubject::Others)
    }

    /// Returns whether a check with this id is about what one document says, whoever reads it.
    pub(crate) fn is_about_one_document(id: &str) -> bool {
        let mut all = CHECKS.iter().filter(|check| check.id == id && **check != SDK_DISAGREEMENT);
        all.any(|check| check.subject == CheckSubject::Document)
    }

    /// Returns whether a check with this id can be about a prerequisite of type `string` on values that look like
    /// another type.
    pub(crate) fn is_unsure_type(id: &str) -> bool {
        PREREQUISITE_UNSURE_TYPE.id == id
    }
}

impl Severity {
    /// Returns `error` or `warning`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// A check of a document or of a tree of documents.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Check {
    /// The stable id in kebab case.
    pub id: &'static str,
    /// Whether it makes a document invalid.
    pub severity: Severity,
    pub(crate) subject: CheckSubject,
}

/// What a check is about. A warning can be waived if it is about what a document says.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum CheckSubject {
    /// What one document says.
    Document,
    /// What a document says of others, which is known once they are read.
    Others,
    /// What no line of a document says: a path, the number of findings, or a waiver.
    Outside,
}

macro_rules! checks {
    (errors { $($error:ident $error_id:literal $about:ident)* } warnings { $($warning:ident $id:literal $subject:ident)* }) => {
        $(pub(crate) const $error: Check =
            Check { id: $error_id, severity: Severity::Error, subject: CheckSubject::$about };)*
        $(pub(crate) const $warning: Check =
            Check { id: $id, severity: Severity::Warning, subject: CheckSubject::$subject };)*

        /// All checks: errors first, each group sorted by id.
        pub const CHECKS: &[Check] = &[$($error,)* $($warning),*];
    };
}

checks! {
    errors {
        AMBIGUOUS_VARIATION "ambiguous-variation" Document
        BAD_DATETIME "bad-datetime" Document
        BAD_KEY "bad-key" Outside
        BAD_REGEX "bad-regex" Document
        BAD_SEMVER "bad-semver" Document
        BETWEEN_FIELDS "between-fields" Document
        COMMENT_KEY "comment-key" Document
        CONFLICT_MARKER "conflict-marker" Document
        CONTENT_TOO_LARGE "content-too-large" Document
        DUPLICATE_KEY "duplicate-key" Document
        DUPLICATE_PREREQUISITE "duplicate-prerequisite" Document
        DUPLICATE_TEST "duplicate-test" Document
        DUPLICATE_TOGGLE "duplicate-toggle" Outside
        DUPLICATE_VARIATION "duplicate-variation" Document
        EMPTY_DOCUMENT "empty-document" Document
        EMPTY_TEXT "empty-text" Document
        LFS_POINTER "lfs-pointer" Document
        MERGE_KEY "merge-key" Document
        MISSING_CONTENT "missing-content" Document
        MISSING_FIELD "missing-field" Document
        NAME_TOO_LONG "name-too-long" Document
        NO_OBJECTS "no-objects" Document
        NO_VARIATIONS "no-variations" Document
        NOT_A_DOCUMENT "not-a-document" Document
        NOT_A_NUMBER "not-a-number" Document
        NOT_UTF8 "not-utf8" Document
        NULL_TEXT "null-text" Document
        PREREQUISITE_CASE "prerequisite-case" Others
        PREREQUISITE_CHAIN "prerequisite-chain" Others
        PREREQUISITE_CYCLE "prerequisite-cycle" Others
        PREREQUISITE_NO_VARIATION "prerequisite-no-variation" Others
        PREREQUISITE_OTHER_TYPE "prerequisite-other-type" Others
        PREREQUISITE_TYPE "prerequisite-type" Document
        PREREQUISITE_VALUE "prerequisite-value" Document
        RULE_WITHOUT_SERVE "rule-without-serve" Document
        SELECT_NEGATIVE "select-negative" Document
        SELECT_OUT_OF_RANGE "select-out-of-range" Document
        SERVE_CHOICE "serve-choice" Document
        SEVERAL_DOCUMENTS "several-documents" Document
        SPLIT_SHARE "split-share" Document
        SPLIT_SUM "split-sum" Document
        SUPERFLUOUS_FIELD "superfluous-field" Document
        SYNTAX "syntax" Document
        TEST_WITHOUT_TOGGLE "test-without-toggle" Outside
        TOO_DEEP "too-deep" Document
        TOO_LARGE "too-large" Document
        TOO_MANY_FILES "too-many-files" Outside
        UNKNOWN_CONDITION_TYPE "unknown-condition-type" Document
        UNKNOWN_KEY "unknown-key" Document
        UNKNOWN_PREDICATE "unknown-predicate" Document
        UNKNOWN_VARIATION "unknown-variation" Document
        VALUE_TOO_LONG "value-too-long" Document
        WRONG_TYPE "wrong-type" Document
        YAML_ANCHOR "yaml-anchor" Document
        YAML_TAG "yaml-tag" Document
    }
    warnings {
        ALMOST_VALUE "almost-value" Document
        BAD_WAIVER "bad-waiver" Outside
        CASE_ONLY_DIFFERENCE "case-only-difference" Outside
        DUPLICATE_RULE_NAME "duplicate-rule-name" Document
        ELSEWHERE "elsewhere" Outside
        EXTENSION_CASE "extension-case" Outside
        HIDDEN_CHARACTER "hidden-character" Document
        JSON_FILE "json-file" Outside
        JSON_PREREQUISITE "json-prerequisite" Document
        LINK "link" Outside
        LIST_IN_TEXT "list-in-text" Document
        MATCHES_EVERYONE "matches-everyone" Document
        NEVER_MATCHES "never-matches" Document
        // The id is that of the error, because a text may look like a number or like JSON.
        PREREQUISITE_UNSURE_TYPE "prerequisite-other-type" Others
        REGEX_LITERAL "regex-literal" Document
        SAME_SERVE "same-serve" Document
        SDK_DISAGREEMENT "sdk-disagreement" Document
        TEST_NOT_RUN "test-not-run" Outside
        TOO_MANY_FINDINGS "too-many-findings" Outside
        TYPE_DISAGREEMENT "type-disagreement" Others
        TYPOGRAPHIC_QUOTES "typographic-quotes" Document
        // The ids are those of the errors, because only the severity depends on the kind of service.
        UNDOCUMENTED_CONDITION_TYPE "unknown-condition-type" Document
        UNDOCUMENTED_PREDICATE "unknown-predicate" Document
        UNKNOWN_PREREQUISITE "unknown-prerequisite" Others
        UNREACHABLE_RULE "unreachable-rule" Document
        UNUSED_VARIATION "unused-variation" Document
        UNUSED_WAIVER "unused-waiver" Outside
    }
}

/// The help on a percentage rollout, in any notation.
pub(super) static ROLLOUT: LazyLock<String> = LazyLock::new(|| {
    let needs = needs_split();
    format!("write a split, such as `split: {{ \"on\": …, \"off\": … }}`{needs}")
});

/// Returns the end of the help on a split.
pub(super) fn needs_split() -> String {
    format!(", which needs `service_kind: {}`", ServiceKind::words_with(|can| can.split))
}

/// The help on a `datetime` condition without `subject`.
pub(super) const NOW: &str =
    "to compare the current time, name an attribute that users do not have, such as `subject: now`";

/// The help on a rule without conditions in which another key may stand for them.
pub(super) const CONDITIONS: &str = "write what the rule compares, such as `conditions: [{ type: …, subject: …, predicate: …, objects: […] }]`";

pub(super) const SERVE_FORMS: &str = "write `{ select: 0 }` or `{ variation: \"name\" }`";

/// What callers see of content that FeatureProbe accepts and then does not deliver
/// (src/service/featureprobe.md, "What breaks silently").
pub(super) const VANISHES: &str = "the service accepts this, but no longer delivers the toggle: callers get the default value in their code";

/// The same of content that the SDKs cannot decode.
pub(super) const STOPS: &str = "the service accepts this, but its SDKs cannot decode it: no toggle of the environment is updated anymore";

/// The same of content that the SDKs cannot evaluate.
const WRONG: &str = "the service accepts this, but callers get the default value in their code";

/// Returns what callers see if FeatureProbe gets a document that fails `check`, if the service accepts that.
pub(super) fn consequence(check: &Check) -> Option<&'static str> {
    let all = [
        (RULE_WITHOUT_SERVE, VANISHES),
        (PREREQUISITE_TYPE, VANISHES),
        (BETWEEN_FIELDS, STOPS),
        (SELECT_NEGATIVE, STOPS),
        (UNKNOWN_CONDITION_TYPE, STOPS),
        (UNKNOWN_PREDICATE, STOPS),
        (SELECT_OUT_OF_RANGE, WRONG),
        (SPLIT_SUM, WRONG),
    ];
    all.iter().find(|(one, _)| one == check).map(|(_, text)| *text)
}

/// Returns the help for a finding without more specific help.
pub(super) fn remedy(check: &Check) -> Option<&'static str> {
    let all = [
        (DUPLICATE_RULE_NAME, "give each rule its own name"),
        (TOO_MANY_FINDINGS, "fix these, then check the file again"),
        (UNREACHABLE_RULE, "move it before that rule, give that rule a condition, or remove one of them"),
        (UNUSED_VARIATION, "serve it, or remove it"),
    ];
    all.iter().find(|(one, _)| one == check).map(|(_, text)| *text)
}

/// Returns the help on a missing field of a condition of this type.
pub(super) fn condition_example(kind: Option<&str>, name: &str) -> &'static str {
    match (kind, name) {
        (Some("datetime"), "subject") => NOW,
        (Some("semver"), "subject") => "name the attribute to compare, such as `subject: version`",
        (Some("string"), "subject") => "name the attribute to compare, such as `subject: country`",
        // Each type has its own comparisons and objects.
        (None, "subject") => "name the attribute to compare",
        (None, "predicate") => "add the comparison; each type has its own",
        (None, "objects") => "list the values to compare with",
        (Some("datetime"), "predicate") => "add the comparison, such as `predicate: after`",
        (Some("segment"), "predicate") => "add the comparison, such as `predicate: is in`",
        (Some("string"), "predicate") => "add the comparison, such as `predicate: is one of`",
        (Some("datetime"), "objects") => {
            "list the times to compare with, such as `objects: [\"2026-12-01T09:00:00+00:00\"]`"
        }
        (Some("segment"), "objects") => "list the keys of segments, such as `objects: [staff]`",
        (Some("semver"), "objects") => "list the versions to compare with, such as `objects: [\"1.2.3\"]`",
        (Some("string"), "objects") => "list the texts to compare with, such as `objects: [\"AT\"]`",
        (_, name) => example(name),
    }
}

/// Returns the help on a missing field.
pub(super) fn example(name: &str) -> &'static str {
    match name {
        "conditions" => "write `conditions: []` for a rule that matches everyone",
        "content" => "every document has `disabled` and `content`",
        "defaultServe" => {
            "add the variation to serve when no rule matches, such as `defaultServe: { select: 0 }`"
        }
        "disabled" => "write `disabled: false` or `disabled: true`",
        "disabledServe" => {
            "add the variation to serve while the toggle is disabled, such as `disabledServe: { select: 0 }`"
        }
        "key" => "name the other toggle, such as `key: new-checkout`",
        "name" => "add a name, such as `name: \"on\"`",
        "objects" => "list the values to compare with, such as `objects: [\"18\"]`",
        "predicate" => "add the comparison, such as `predicate: \">\"`",
        "rules" => "write `rules: []` for none",
        "serve" => "add one, such as `serve: { select: 0 }`",
        "serves" => "name the variation that the user must get, such as `serves: \"on\"`",
        "subject" => "name the attribute to compare, such as `subject: age`",
        "type" => "name the type, such as `type: number`",
        "value" => "add the value to serve, such as `value: \"true\"`",
        "variations" => "list the values to serve, such as `variations: [{ name: \"on\", value: \"true\" }]`",
        _ => "every field is required, because the service does not define defaults",
    }
}

/// Returns the names in backticks.
pub(super) fn quoted(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_unique() {
        let order = |check: &Check| (check.severity, check.id.replace('-', "_"));
        assert!(CHECKS.windows(2).all(|pair| order(&pair[0]) < order(&pair[1])));
        for check in CHECKS {
            assert!(check.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-'));
        }
    }
}
