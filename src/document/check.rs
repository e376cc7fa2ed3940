//! The one list of everything that can be found, with the ids people filter and search by.
//!
//! An id never changes its meaning: other people's scripts and CI annotations know it.

use super::Severity;

/// One thing that can be wrong, or odd, with a document or a tree of them.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Check {
    /// The stable id, in kebab case.
    pub id: &'static str,
    /// Whether it makes a document invalid.
    pub severity: Severity,
    /// One line that says what it is about.
    pub explanation: &'static str,
}

macro_rules! checks {
    ($($name:ident $severity:ident $id:literal $explanation:literal)*) => {
        $(pub(crate) const $name: Check = Check { id: $id, severity: Severity::$severity, explanation: $explanation };)*

        /// Every check there is: errors first, each group in the order of its ids.
        pub const CHECKS: &[Check] = &[$($name),*];
    };
}

checks! {
    AMBIGUOUS_VARIATION Error "ambiguous-variation" "`variation` names a variation that exists more than once"
    BAD_DATETIME Error "bad-datetime" "a `datetime` condition compares with something the service does not read as a time"
    BAD_KEY Error "bad-key" "a path that matches the layout holds something that is no key"
    BAD_SEMVER Error "bad-semver" "a `semver` condition compares with something that is no semantic version"
    COMMENT_KEY Error "comment-key" "a document has a `comment`, which is the commit message's task"
    CONFLICT_MARKER Error "conflict-marker" "a file holds the markers of an unresolved merge conflict"
    CONTENT_TOO_LARGE Error "content-too-large" "the content is over 1 MiB as sent, which FeatureProbe refuses"
    DUPLICATE_KEY Error "duplicate-key" "a key appears twice in one mapping"
    DUPLICATE_TOGGLE Error "duplicate-toggle" "two files claim the same toggle; with FeatureProbe also if their keys differ only in case"
    DUPLICATE_VARIATION Error "duplicate-variation" "two variations have the same name"
    EMPTY_DOCUMENT Error "empty-document" "a file holds nothing, or only comments"
    EMPTY_TEXT Error "empty-text" "a text that must say something is empty"
    LFS_POINTER Error "lfs-pointer" "a file is a Git LFS pointer instead of a document"
    MERGE_KEY Error "merge-key" "a merge key (`<<`) brings in what a reviewer does not see"
    MISSING_CONTENT Error "missing-content" "a file is not in the partial clone"
    MISSING_FIELD Error "missing-field" "a field that every document states is not there"
    NAME_TOO_LONG Error "name-too-long" "the name of a variation is over 128 characters, which FeatureProbe cannot store"
    NO_OBJECTS Error "no-objects" "a condition compares with nothing"
    NO_VARIATIONS Error "no-variations" "a toggle has no variations, so there is nothing to serve"
    NOT_A_DOCUMENT Error "not-a-document" "a file at a toggle's path holds something else"
    NOT_A_NUMBER Error "not-a-number" "a `number` condition compares with something that is no decimal number"
    NOT_UTF8 Error "not-utf8" "a file, or its path, is not UTF-8"
    NULL_TEXT Error "null-text" "a null stands where text is wanted"
    RULE_WITHOUT_SERVE Error "rule-without-serve" "a rule does not say what it serves"
    SELECT_NEGATIVE Error "select-negative" "`select` is below zero"
    SELECT_OUT_OF_RANGE Error "select-out-of-range" "`select` points behind the last variation"
    SERVE_CHOICE Error "serve-choice" "a serve has both, or neither, of `select` and `variation`"
    SEVERAL_DOCUMENTS Error "several-documents" "one file holds several YAML documents"
    SYNTAX Error "syntax" "a file is not YAML, or not JSON"
    TOO_DEEP Error "too-deep" "a file is nested deeper than 32 levels"
    TOO_LARGE Error "too-large" "a file is larger than 1 MiB"
    TOO_MANY_FILES Error "too-many-files" "a tree holds more than 1,000,000 files or folders"
    UNKNOWN_CONDITION_TYPE Error "unknown-condition-type" "FeatureProbe does not know this type of condition; a warning with `service_kind: documented`"
    UNKNOWN_KEY Error "unknown-key" "a document has a key that means nothing"
    UNKNOWN_PREDICATE Error "unknown-predicate" "FeatureProbe does not know this predicate for this type of condition; a warning with `service_kind: documented`"
    UNKNOWN_VARIATION Error "unknown-variation" "`variation` names no variation"
    UNSUPPORTED_BETWEEN Error "unsupported-between" "a `between` condition needs fields that a document does not have"
    VALUE_TOO_LONG Error "value-too-long" "the value of a variation is over 65,535 bytes, which FeatureProbe cannot store"
    WRONG_TYPE Error "wrong-type" "a value is of another kind than the field wants"
    YAML_ANCHOR Error "yaml-anchor" "an anchor or alias hides what is applied from a reviewer"
    YAML_TAG Error "yaml-tag" "a tag changes what a value means"

    CASE_ONLY_DIFFERENCE Warning "case-only-difference" "two keys differ only in upper and lower case"
    DUPLICATE_RULE_NAME Warning "duplicate-rule-name" "two rules have the same name"
    ELSEWHERE Warning "elsewhere" "a YAML or JSON file does not match the layout"
    EXTENSION_CASE Warning "extension-case" "the extension of a file differs from `.yaml`, `.yml` or `.json` only in case, so the file is not read"
    MATCHES_EVERYONE Warning "matches-everyone" "a rule without conditions matches everyone"
    SAME_SERVE Warning "same-serve" "an enabled toggle serves the same to everyone"
    TOO_MANY_FINDINGS Warning "too-many-findings" "a file has more findings than are shown"
    UNDOCUMENTED_CONDITION_TYPE Warning "unknown-condition-type" "a type of condition is probably misspelled; an error with `service_kind: featureprobe`"
    UNDOCUMENTED_PREDICATE Warning "unknown-predicate" "a predicate is probably misspelled; an error with `service_kind: featureprobe`"
    UNREACHABLE_RULE Warning "unreachable-rule" "a rule comes after one that matches everyone"
    UNUSED_VARIATION Warning "unused-variation" "a variation is served to nobody"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_unique_and_explained() {
        let order = |check: &Check| (check.severity, check.id.replace('-', "_"));
        assert!(CHECKS.windows(2).all(|pair| order(&pair[0]) < order(&pair[1])));
        for check in CHECKS {
            assert!(
                check
                    .id
                    .chars()
                    .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
            );
            assert!(!check.explanation.is_empty() && !check.explanation.ends_with('.'));
        }
    }
}
