//! The types of conditions and their predicates, as FeatureProbe knows them. The checks, the schema, the
//! evaluation and the sandbox read this table.

use super::ServiceKind;

/// A type of conditions: its name, how the attribute is read, and its predicates.
pub(crate) struct ConditionType {
    pub(crate) name: &'static str,
    pub(crate) value: ConditionValue,
    predicates: &'static [(&'static str, Predicate)],
}

/// How a condition reads the value of an attribute.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum ConditionValue {
    Number,
    Segment,
    Semver,
    Text,
    Time,
}

/// How a predicate compares the value of an attribute with the objects.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Predicate {
    /// Two comparisons, both of which must match. The service sends SDKs two conditions.
    Between,
    /// Whether the user is in one of the segments, which the service decides.
    Membership,
    Order(OrderComparison),
    Text(TextComparison, Polarity),
    Time(TimeComparison),
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum OrderComparison {
    Above,
    AtLeast,
    AtMost,
    Below,
    Equal,
    NotEqual,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TextComparison {
    Contains,
    EndsWith,
    IsOneOf,
    Regex,
    StartsWith,
}

/// Whether a condition wants a match or none.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Polarity {
    Negative,
    Positive,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TimeComparison {
    After,
    Before,
}

const ORDER: &[(&str, Predicate)] = &[
    ("=", Predicate::Order(OrderComparison::Equal)),
    ("!=", Predicate::Order(OrderComparison::NotEqual)),
    (">", Predicate::Order(OrderComparison::Above)),
    (">=", Predicate::Order(OrderComparison::AtLeast)),
    ("<", Predicate::Order(OrderComparison::Below)),
    ("<=", Predicate::Order(OrderComparison::AtMost)),
    ("between", Predicate::Between),
];

/// All types, in the order of messages.
pub(crate) const CONDITION_TYPES: &[ConditionType] = &[
    ConditionType {
        name: "string",
        value: ConditionValue::Text,
        predicates: &[
            ("is one of", Predicate::Text(TextComparison::IsOneOf, Polarity::Positive)),
            ("is not any of", Predicate::Text(TextComparison::IsOneOf, Polarity::Negative)),
            ("starts with", Predicate::Text(TextComparison::StartsWith, Polarity::Positive)),
            ("does not start with", Predicate::Text(TextComparison::StartsWith, Polarity::Negative)),
            ("ends with", Predicate::Text(TextComparison::EndsWith, Polarity::Positive)),
            ("does not end with", Predicate::Text(TextComparison::EndsWith, Polarity::Negative)),
            ("contains", Predicate::Text(TextComparison::Contains, Polarity::Positive)),
            ("does not contain", Predicate::Text(TextComparison::Contains, Polarity::Negative)),
            ("matches regex", Predicate::Text(TextComparison::Regex, Polarity::Positive)),
            ("does not match regex", Predicate::Text(TextComparison::Regex, Polarity::Negative)),
        ],
    },
    ConditionType { name: "number", value: ConditionValue::Number, predicates: ORDER },
    ConditionType { name: "semver", value: ConditionValue::Semver, predicates: ORDER },
    ConditionType {
        name: "datetime",
        value: ConditionValue::Time,
        predicates: &[
            ("after", Predicate::Time(TimeComparison::After)),
            ("before", Predicate::Time(TimeComparison::Before)),
            ("between", Predicate::Between),
        ],
    },
    ConditionType {
        name: "segment",
        value: ConditionValue::Segment,
        predicates: &[("is in", Predicate::Membership), ("is not in", Predicate::Membership)],
    },
];

impl ConditionType {
    /// Returns the type with this name.
    pub(crate) fn find(name: &str) -> Option<&'static Self> {
        CONDITION_TYPES.iter().find(|kind| kind.name == name)
    }

    /// Returns the names of its predicates.
    pub(crate) fn predicates(&self) -> Vec<&'static str> {
        self.predicates.iter().map(|(name, _)| *name).collect()
    }

    /// Returns whether a service of this kind has the type, or does not say that it has not.
    pub(crate) fn is_of(&self, service: ServiceKind) -> bool {
        service.can().refer || self.value != ConditionValue::Segment
    }

    /// Returns the names of the predicates that a service of this kind has.
    pub(crate) fn predicates_of(&self, service: ServiceKind) -> Vec<&'static str> {
        let predicates = self.predicates.iter();
        let known = predicates.filter(|(_, one)| service.can().between || *one != Predicate::Between);
        known.map(|(name, _)| *name).collect()
    }

    /// Returns the predicates that the two sides of its `between` can have; none if it has no `between`.
    pub(crate) fn sides(&self) -> Vec<&'static str> {
        let has_between = self.comparison("between").is_some();
        let sides = self.predicates.iter().filter(|(_, one)| has_between && *one != Predicate::Between);
        sides.map(|(name, _)| *name).collect()
    }

    /// Returns what `predicate` compares.
    pub(crate) fn comparison(&self, predicate: &str) -> Option<Predicate> {
        self.predicates.iter().find(|(name, _)| *name == predicate).map(|(_, comparison)| *comparison)
    }
}

/// Returns whether `text` is a semantic version (SemVer 2.0), without a leading `v`.
pub(crate) fn is_semver(text: &str) -> bool {
    // Build metadata is removed first, because it may contain the `-` that begins a prerelease.
    let (text, build) = match text.split_once('+') {
        Some((text, build)) => (text, Some(build)),
        None => (text, None),
    };
    let (core, pre) = match text.split_once('-') {
        Some((core, pre)) => (core, Some(pre)),
        None => (text, None),
    };
    let is_digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    // SemVer forbids leading zeros in the three numbers and in numeric identifiers of a prerelease.
    let is_number = |part: &str| is_digits(part) && (part == "0" || !part.starts_with('0'));
    let is_word = |part: &str| {
        !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    core.split('.').count() == 3
        && core.split('.').all(is_number)
        && pre.is_none_or(|pre| {
            pre.split('.').all(|part| is_word(part) && (!is_digits(part) || is_number(part)))
        })
        && build.is_none_or(|build| build.split('.').all(is_word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_semantic_version_has_three_numbers() {
        for good in
            ["1.2.3", "0.0.0", "1.2.3-rc.1+build.05", "1.2.3+build.01", "1.2.3-0a+x", "1.2.3--", "1.2.3+a-b"]
        {
            assert!(is_semver(good), "{good}");
        }
        for bad in ["", "v1.2.3", "1.2", "1.2.3.4", "01.2.3", "1.2.3-", "1.2.3-01", "1.2.3+", "1.2.3-a..b"] {
            assert!(!is_semver(bad), "{bad}");
        }
    }
}
