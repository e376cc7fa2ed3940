//! Lists all checks with their stable ids.
//!
//! An id never changes its meaning, because scripts and CI annotations refer to it.

/// The severity of a finding.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The document is invalid: the last applied version stays.
    Error,
    /// Suspicious, but applied; never changes an exit code.
    Warning,
}

impl Severity {
    /// Returns `error` or `warning`.
    pub const fn as_str(self) -> &'static str {
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
}

macro_rules! checks {
    ($($name:ident $severity:ident $id:literal)*) => {
        $(pub(crate) const $name: Check = Check { id: $id, severity: Severity::$severity };)*

        /// All checks: errors first, each group sorted by id.
        pub const CHECKS: &[Check] = &[$($name),*];
    };
}

checks! {
    AMBIGUOUS_VARIATION Error "ambiguous-variation"
    BAD_DATETIME Error "bad-datetime"
    BAD_KEY Error "bad-key"
    BAD_REGEX Error "bad-regex"
    BAD_SEMVER Error "bad-semver"
    BETWEEN_FIELDS Error "between-fields"
    COMMENT_KEY Error "comment-key"
    CONFLICT_MARKER Error "conflict-marker"
    CONTENT_TOO_LARGE Error "content-too-large"
    DUPLICATE_KEY Error "duplicate-key"
    DUPLICATE_PREREQUISITE Error "duplicate-prerequisite"
    DUPLICATE_TEST Error "duplicate-test"
    DUPLICATE_TOGGLE Error "duplicate-toggle"
    DUPLICATE_VARIATION Error "duplicate-variation"
    EMPTY_DOCUMENT Error "empty-document"
    EMPTY_TEXT Error "empty-text"
    LFS_POINTER Error "lfs-pointer"
    MERGE_KEY Error "merge-key"
    MISSING_CONTENT Error "missing-content"
    MISSING_FIELD Error "missing-field"
    NAME_TOO_LONG Error "name-too-long"
    NO_OBJECTS Error "no-objects"
    NO_VARIATIONS Error "no-variations"
    NOT_A_DOCUMENT Error "not-a-document"
    NOT_A_NUMBER Error "not-a-number"
    NOT_UTF8 Error "not-utf8"
    NULL_TEXT Error "null-text"
    PREREQUISITE_TYPE Error "prerequisite-type"
    PREREQUISITE_VALUE Error "prerequisite-value"
    RULE_WITHOUT_SERVE Error "rule-without-serve"
    SELECT_NEGATIVE Error "select-negative"
    SELECT_OUT_OF_RANGE Error "select-out-of-range"
    SERVE_CHOICE Error "serve-choice"
    SEVERAL_DOCUMENTS Error "several-documents"
    SPLIT_SHARE Error "split-share"
    SPLIT_SUM Error "split-sum"
    SUPERFLUOUS_FIELD Error "superfluous-field"
    SYNTAX Error "syntax"
    TEST_WITHOUT_TOGGLE Error "test-without-toggle"
    TOO_DEEP Error "too-deep"
    TOO_LARGE Error "too-large"
    TOO_MANY_FILES Error "too-many-files"
    UNKNOWN_CONDITION_TYPE Error "unknown-condition-type"
    UNKNOWN_KEY Error "unknown-key"
    UNKNOWN_PREDICATE Error "unknown-predicate"
    UNKNOWN_VARIATION Error "unknown-variation"
    VALUE_TOO_LONG Error "value-too-long"
    WRONG_TYPE Error "wrong-type"
    YAML_ANCHOR Error "yaml-anchor"
    YAML_TAG Error "yaml-tag"

    BAD_WAIVER Warning "bad-waiver"
    CASE_ONLY_DIFFERENCE Warning "case-only-difference"
    DUPLICATE_RULE_NAME Warning "duplicate-rule-name"
    ELSEWHERE Warning "elsewhere"
    EXTENSION_CASE Warning "extension-case"
    JSON_FILE Warning "json-file"
    JSON_PREREQUISITE Warning "json-prerequisite"
    LINK Warning "link"
    MATCHES_EVERYONE Warning "matches-everyone"
    SAME_SERVE Warning "same-serve"
    TOO_MANY_FINDINGS Warning "too-many-findings"
    // The ids are those of the errors, because only the severity depends on the kind of service.
    UNDOCUMENTED_CONDITION_TYPE Warning "unknown-condition-type"
    UNDOCUMENTED_PREDICATE Warning "unknown-predicate"
    UNREACHABLE_RULE Warning "unreachable-rule"
    UNUSED_VARIATION Warning "unused-variation"
    UNUSED_WAIVER Warning "unused-waiver"
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
