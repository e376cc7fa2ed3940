//! Conditions, compiled: each is one or two tests of an attribute (src/service/featureprobe.md,
//! "Evaluation").

use std::cmp::Ordering;
use std::str::FromStr;

use regex::Regex;
use semver::Version;
use serde_json::Value;

use super::evaluator::{SdkRules, Slots};
use crate::model::{
    Condition, ConditionType, ConditionValue, NumberEquality, OrderComparison, Polarity, Predicate,
    Prerequisite, ReturnType, TextComparison, TimeComparison, delivered_time, delivered_value,
    has_same_order, is_blank, is_same_json_in_floats, is_same_value, variation_fits,
};

#[derive(Debug)]
pub(super) enum Test {
    /// With the same test of numbers of 32 bits.
    Number(usize, OrderTest<f64>, OrderTest<ShortNumber>),
    Semver(usize, OrderTest<Version>),
    Text(usize, TextTest, Polarity),
    Time(usize, TimeTest),
    Undecidable(Doubt),
}

#[derive(Debug)]
pub(super) enum TextTest {
    Contains(Vec<String>),
    EndsWith(Vec<String>),
    /// The texts as words of the slot, sorted.
    IsOneOf(Vec<u32>),
    /// An invalid pattern matches nothing, so it is left out.
    Regex(Vec<Regex>),
    StartsWith(Vec<String>),
}

/// A comparison with any of several objects, reduced to what decides it.
#[derive(Debug)]
pub(super) enum OrderTest<T> {
    AtLeast(Option<T>),
    AtMost(Option<T>),
    Above(Option<T>),
    Below(Option<T>),
    Equal(Vec<T>),
    NoneEqual(Vec<T>),
}

/// A number of 32 bits. A larger one is an error, as it is in the Go SDK.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(super) struct ShortNumber(f32);

impl FromStr for ShortNumber {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let number: f32 = text.parse().map_err(|_| ())?;
        let is_too_large = number.is_infinite() && text.contains(|one: char| one.is_ascii_digit());
        if is_too_large { Err(()) } else { Ok(Self(number)) }
    }
}

#[derive(Debug)]
pub(super) struct TimeTest {
    /// The earliest object of `after`, the latest one of `before`.
    bound: Option<i64>,
    /// The same without the objects before 1970.
    late_bound: Option<i64>,
    is_after: bool,
    /// Whether an object is not in the service's format.
    is_unsure: bool,
}

/// Returns the kind of text that a condition compares if `value` is not of that kind, so that the condition
/// does not match.
pub(crate) fn misfit(rules: SdkRules, condition: &Condition, value: &str) -> Option<&'static str> {
    let is_misfit = |is_misfit: bool, wanted| is_misfit.then_some(wanted);
    match ConditionType::find(&condition.kind)?.value {
        ConditionValue::Number => is_misfit(value.parse::<f64>().is_err(), "a number"),
        ConditionValue::Semver => is_misfit(value.parse::<Version>().is_err(), "a semantic version"),
        ConditionValue::Time => {
            let is_time = time(value).is_some_and(|time| time >= 0 || rules.has_early_times);
            is_misfit(!is_time, "a time in seconds since 1970")
        }
        ConditionValue::Segment | ConditionValue::Text => None,
    }
}

/// Compiles a condition to tests that must all match.
pub(super) fn compile(condition: &Condition, slots: &mut Slots) -> Vec<Test> {
    let Condition { kind, subject, predicate, objects, between } = condition;
    match between {
        // The service sends SDKs a `between` as two conditions (src/service/featureprobe.md, "Conditions").
        Some(between) if predicate == "between" => vec![
            test(kind, subject, &between.left_predicate, objects, slots),
            test(kind, subject, &between.right_predicate, &between.right_objects, slots),
        ],
        _ => vec![test(kind, subject, predicate, objects, slots)],
    }
}

fn test(kind: &str, subject: &str, predicate: &str, objects: &[String], slots: &mut Slots) -> Test {
    let undocumented = Test::Undecidable(Doubt::Undocumented);
    let Some(kind) = ConditionType::find(kind) else {
        return undocumented;
    };
    let comparison = kind.comparison(predicate);
    if kind.value == ConditionValue::Segment {
        return comparison.map_or(undocumented, |_| Test::Undecidable(Doubt::Segment));
    }
    let slot = slots.intern(subject);
    let kinds = &mut slots.slots[slot];
    kinds.is_number |= kind.value == ConditionValue::Number;
    kinds.is_semver |= kind.value == ConditionValue::Semver;
    kinds.is_time |= kind.value == ConditionValue::Time;
    match comparison {
        Some(Predicate::Order(order)) if kind.value == ConditionValue::Semver => {
            Test::Semver(slot, OrderTest::new(order, objects))
        }
        Some(Predicate::Order(order)) => {
            Test::Number(slot, OrderTest::new(order, objects), OrderTest::new(order, objects))
        }
        Some(Predicate::Time(comparison)) => Test::Time(slot, TimeTest::new(comparison, objects)),
        Some(Predicate::Text(comparison, polarity)) => {
            Test::Text(slot, TextTest::new(comparison, objects, |object| kinds.intern(object)), polarity)
        }
        Some(Predicate::Between | Predicate::Membership) | None => undocumented,
    }
}

impl TextTest {
    fn new(comparison: TextComparison, objects: &[String], word: impl FnMut(&String) -> u32) -> Self {
        match comparison {
            TextComparison::IsOneOf => {
                let mut words: Vec<u32> = objects.iter().map(word).collect();
                words.sort_unstable();
                Self::IsOneOf(words)
            }
            TextComparison::Contains => Self::Contains(objects.to_vec()),
            TextComparison::EndsWith => Self::EndsWith(objects.to_vec()),
            TextComparison::StartsWith => Self::StartsWith(objects.to_vec()),
            TextComparison::Regex => {
                Self::Regex(objects.iter().filter_map(|object| Regex::new(object).ok()).collect())
            }
        }
    }

    fn matches(&self, text: &str, word: Option<u32>) -> bool {
        match self {
            Self::Contains(parts) => parts.iter().any(|part| text.contains(part.as_str())),
            Self::EndsWith(ends) => ends.iter().any(|end| text.ends_with(end.as_str())),
            Self::IsOneOf(words) => word.is_some_and(|word| words.binary_search(&word).is_ok()),
            Self::Regex(patterns) => patterns.iter().any(|pattern| pattern.is_match(text)),
            Self::StartsWith(starts) => starts.iter().any(|start| text.starts_with(start.as_str())),
        }
    }
}

impl<T: FromStr + PartialOrd> OrderTest<T> {
    /// Objects that cannot be parsed are skipped.
    fn new(comparison: OrderComparison, objects: &[String]) -> Self {
        let parsed = objects.iter().filter_map(|object| object.parse::<T>().ok());
        // NaN compares with nothing, itself included.
        let parsed = parsed.filter(|object| object.partial_cmp(object).is_some());
        // Any object may match, so the lowest one decides `>`, and the highest one `<`.
        let lower = |a: T, b: T| if b < a { b } else { a };
        let higher = |a: T, b: T| if b > a { b } else { a };
        match comparison {
            OrderComparison::Equal => Self::Equal(parsed.collect()),
            OrderComparison::NotEqual => Self::NoneEqual(parsed.collect()),
            OrderComparison::Above => Self::Above(parsed.reduce(lower)),
            OrderComparison::AtLeast => Self::AtLeast(parsed.reduce(lower)),
            OrderComparison::Below => Self::Below(parsed.reduce(higher)),
            OrderComparison::AtMost => Self::AtMost(parsed.reduce(higher)),
        }
    }

    fn matches(&self, value: &T) -> bool {
        self.matches_by(|object| value.partial_cmp(object))
    }

    /// Returns whether a value matches that compares with objects like this.
    fn matches_by(&self, order: impl Fn(&T) -> Option<Ordering>) -> bool {
        let is = |bound: &Option<T>, wanted: &[Ordering]| {
            bound.as_ref().and_then(&order).is_some_and(|order| wanted.contains(&order))
        };
        let equals = |object: &T| order(object) == Some(Ordering::Equal);
        match self {
            Self::Above(bound) => is(bound, &[Ordering::Greater]),
            Self::AtLeast(bound) => is(bound, &[Ordering::Greater, Ordering::Equal]),
            Self::AtMost(bound) => is(bound, &[Ordering::Less, Ordering::Equal]),
            Self::Below(bound) => is(bound, &[Ordering::Less]),
            Self::Equal(objects) => objects.iter().any(equals),
            Self::NoneEqual(objects) => !objects.iter().any(equals),
        }
    }
}

impl TimeTest {
    fn new(comparison: TimeComparison, objects: &[String]) -> Self {
        let is_after = comparison == TimeComparison::After;
        let seconds: Vec<Option<i64>> = objects.iter().map(|object| delivered_time(object)).collect();
        let bound = |from: i64| {
            let times = seconds.iter().flatten().copied().filter(|time| *time >= from);
            if is_after { times.min() } else { times.max() }
        };
        Self { bound: bound(i64::MIN), late_bound: bound(0), is_after, is_unsure: seconds.contains(&None) }
    }

    /// Returns whether a time matches. The Rust SDK reads seconds as an unsigned number, so it skips times before
    /// 1970.
    fn truth(&self, time: i128, rules: SdkRules) -> Truth {
        let (bound, is_read) = match rules.has_early_times {
            true => (self.bound, true),
            false => (self.late_bound, time >= 0),
        };
        if !is_read {
            return Truth::False;
        }
        let matches = bound
            .map(i128::from)
            .is_some_and(|bound| if self.is_after { time >= bound } else { time < bound });
        match matches {
            // Any object may match, so a known match decides.
            false if self.is_unsure => Truth::Unknown(Doubt::NotATime),
            _ => matches.into(),
        }
    }
}

impl Test {
    /// Returns whether the test matches a user of an SDK with these rules.
    pub(super) fn truth(&self, person: &Person<'_>, rules: SdkRules) -> Truth {
        match self {
            Self::Undecidable(doubt) => Truth::Unknown(*doubt),
            // A missing attribute matches no condition, not even a negative one.
            Self::Text(slot, test, polarity) => person
                .value(*slot)
                .filter(|value| !rules.skips_blanks || !is_blank(&value.text))
                .is_some_and(|value| {
                    test.matches(&value.text, value.word) == (*polarity == Polarity::Positive)
                })
                .into(),
            Self::Number(slot, .., short) if rules.has_short_numbers => {
                let number = person.value(*slot).and_then(|value| value.text.parse().ok());
                number.is_some_and(|number| short.matches(&number)).into()
            }
            Self::Number(slot, comparison, _) => person
                .value(*slot)
                .and_then(|value| value.number.as_ref())
                .is_some_and(|number| comparison.matches(number))
                .into(),
            Self::Semver(slot, comparison) => person
                .value(*slot)
                .and_then(|value| value.version.as_ref())
                .is_some_and(|version| match rules.compares_builds {
                    true => comparison.matches(version),
                    false => comparison.matches_by(|object| Some(version.cmp_precedence(object))),
                })
                .into(),
            Self::Time(slot, test) => match person.value(*slot) {
                Some(value) => value.time.map_or(Truth::False, |time| test.truth(time, rules)),
                None => match person.now() {
                    Some(now) => test.truth(now.into(), rules),
                    None => Truth::Unknown(Doubt::CurrentTime),
                },
            },
        }
    }
}

crate::model::words! {
    /// The reason why a result cannot be determined.
    Doubt {
        /// No time of evaluation is given.
        CurrentTime = "current-time",
        /// The bucket of a user with an empty key is random to an SDK that replaces it.
        EmptyKey = "empty-key",
        /// The bucket of a user without a key is random.
        NoKey = "no-key",
        /// An object of a `datetime` condition is not in the service's format.
        NotATime = "not-a-time",
        /// A segment, which the repository does not define.
        Segment = "segment",
        /// A type or predicate outside the vocabulary.
        Undocumented = "undocumented-condition",
        /// The result of a prerequisite cannot be determined.
        UnknownPrerequisite = "unknown-prerequisite",
        /// The toggle has no valid document in the repository.
        UnknownToggle = "unknown-toggle",
        /// The values are equal as numbers or as JSON, but not as text.
        UnsureEquality = "unsure-equality",
        /// The values of the toggle could be of several types.
        UnsureType = "unsure-type",
    }
}

impl Doubt {
    pub(crate) fn reason(self) -> &'static str {
        match self {
            Self::CurrentTime => "the attribute is missing, so the current time decides, and none is given",
            Self::EmptyKey => "the user's key is empty, so the SDK picks a random one",
            Self::NoKey => "the user has no key, so the SDK picks a random bucket",
            Self::NotATime => "the service does not accept a time in this notation",
            Self::Segment => "the repository does not define the segment",
            Self::Undocumented => "this type or predicate is not documented",
            Self::UnknownPrerequisite => "the value of the prerequisite's toggle cannot be determined",
            Self::UnknownToggle => "the toggle has no valid document in the repository",
            Self::UnsureEquality => "the two values differ only in notation",
            Self::UnsureType => "the values of the prerequisite's toggle do not say of which type it is",
        }
    }
}

/// The truth of a condition or of a rule for one user.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Truth {
    /// It does not match.
    False,
    True,
    /// It cannot be determined.
    Unknown(Doubt),
}

impl Truth {
    /// Returns whether both match, by Kleene's logic.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::False, _) | (_, Self::False) => Self::False,
            (Self::Unknown(doubt), _) | (_, Self::Unknown(doubt)) => Self::Unknown(doubt),
            (Self::True, Self::True) => Self::True,
        }
    }
}

impl From<bool> for Truth {
    fn from(is_true: bool) -> Self {
        if is_true { Self::True } else { Self::False }
    }
}

/// What a user gets if it is known.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Served {
    /// The default in the caller's code: the toggle has no variation for the user, or the SDKs do not get the
    /// toggle.
    CallerDefault,
    Variation(u32),
}

/// The result of an evaluation.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Verdict {
    /// The repository does not determine the result.
    CannotSay(Doubt),
    /// The user gets this.
    Known(Served),
}

/// Returns whether a prerequisite of this type is about a toggle of another one, which has these values here
/// and, as far as it is known, these types in all environments.
pub(super) fn has_other_type(
    kind: ReturnType,
    values: &[&str],
    elsewhere: impl FnOnce() -> Option<Vec<ReturnType>>,
) -> Truth {
    if values.iter().any(|value| variation_fits(kind, value).is_err()) {
        return Truth::True;
    }
    match (kind, ReturnType::of(values)) {
        (ReturnType::String, ReturnType::String) => Truth::False,
        // Texts rarely look like booleans, and never in one environment only.
        (ReturnType::String, ReturnType::Boolean) => match elsewhere() {
            Some(types) if types.iter().all(|other| *other == ReturnType::Boolean) => Truth::True,
            Some(_) => Truth::False,
            None => Truth::Unknown(Doubt::UnsureType),
        },
        (ReturnType::String, _) => Truth::Unknown(Doubt::UnsureType),
        // What fits the type has it, because the document of a text that looks like a number would be
        // invalid.
        _ => Truth::False,
    }
}

/// Returns whether a toggle that serves `value` meets `prerequisite`, if it has the type of the prerequisite.
pub(super) fn meets(prerequisite: &Prerequisite, value: &str) -> Truth {
    let Prerequisite { kind, value: expected, .. } = prerequisite;
    match is_same_value(*kind, value, expected) {
        Some(is_same) => is_same.into(),
        // Whether it is the same number depends on the SDK.
        None if [value, expected].iter().all(|text| delivered_value(*kind, text).is_some()) => {
            Truth::Unknown(Doubt::UnsureEquality)
        }
        None => Truth::Unknown(Doubt::UnknownPrerequisite),
    }
}

/// Returns whether the members of `value` are in the order of the JSON that `prerequisite` wants, which is the same
/// otherwise.
pub(super) fn order(prerequisite: &Prerequisite, value: &str) -> Truth {
    match has_same_order(value, &prerequisite.value) {
        Some(is_same) => is_same.into(),
        None => Truth::Unknown(Doubt::UnsureEquality),
    }
}

/// Returns to which SDKs `value` is what `prerequisite` wants, if they differ about its numbers: `1.0` instead of
/// `1`, also within JSON.
pub(super) fn equality(prerequisite: &Prerequisite, value: &str) -> NumberEquality {
    let Prerequisite { kind, value: expected, .. } = prerequisite;
    match kind {
        ReturnType::Number => NumberEquality::of(value, expected),
        ReturnType::Json if is_same_value(*kind, value, expected) != Some(true) => {
            match is_same_json_in_floats(value, expected) {
                true => NumberEquality::AsFloats,
                false => NumberEquality::Agreed,
            }
        }
        _ => NumberEquality::Agreed,
    }
}

/// Returns whether Python, which compares `str` of two values, takes a value of one type for one of another.
pub(super) fn is_same_in_python(prerequisite: &Prerequisite, kind: ReturnType, value: &str) -> bool {
    let text = |kind, text: &str| match delivered_value(kind, text)? {
        Value::Bool(true) => Some("True".to_owned()),
        Value::Bool(false) => Some("False".to_owned()),
        Value::Number(number) => Some(number.to_string()),
        Value::String(text) => Some(text),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    };
    let expected = text(prerequisite.kind, &prerequisite.value);
    expected.is_some() && expected == text(kind, value)
}

/// A user: a key and attributes. The values of a [`Person`] can be replaced, so that one serves a whole
/// audience.
#[derive(Clone, Debug)]
pub(crate) struct Person<'a> {
    slots: &'a Slots,
    key: Option<String>,
    now: Option<i64>,
    values: Vec<AttributeValue>,
}

/// The value of an attribute in the forms that conditions compare. A text that cannot be parsed has no such
/// form.
#[derive(Clone, Debug, Default)]
pub(super) struct AttributeValue {
    is_set: bool,
    pub(super) text: String,
    pub(super) word: Option<u32>,
    pub(super) number: Option<f64>,
    pub(super) version: Option<Version>,
    /// Seconds since 1970-01-01 UTC.
    pub(super) time: Option<i128>,
}

impl<'a> Person<'a> {
    pub(super) fn new(slots: &'a Slots, now: Option<i64>) -> Self {
        Self { slots, key: None, now, values: vec![AttributeValue::default(); slots.slots.len()] }
    }

    /// Removes all attributes and sets the key.
    pub(crate) fn reset(&mut self, key: Option<&str>) {
        match key {
            Some(key) => self.set_key(key),
            None => self.key = None,
        }
        for value in &mut self.values {
            value.is_set = false;
        }
    }

    pub(crate) fn set_key(&mut self, key: &str) {
        // One buffer serves a whole audience.
        let buffer = self.key.get_or_insert_default();
        buffer.clear();
        buffer.push_str(key);
    }

    /// Sets an attribute, which is ignored if no condition compares it. Returns whether it was set before.
    pub(crate) fn set(&mut self, name: &str, text: &str) -> bool {
        self.slots.find(name).is_some_and(|slot| self.set_slot(slot, text))
    }

    /// Returns the slot of the attribute `name`, if a condition compares it.
    pub(crate) fn slot(&self, name: &str) -> Option<usize> {
        self.slots.find(name)
    }

    /// Sets the attribute of a slot. Returns whether it was set before.
    ///
    /// # Panics
    /// If [`Self::slot`] did not return the slot.
    pub(crate) fn set_slot(&mut self, slot: usize, text: &str) -> bool {
        let kinds = &self.slots.slots[slot];
        let value = &mut self.values[slot];
        value.text.clear();
        value.text.push_str(text);
        value.word = kinds.word(text);
        // The same parsers as in the SDK: they define which texts are numbers, versions and times.
        if kinds.is_number {
            value.number = text.parse().ok();
        }
        if kinds.is_semver {
            value.version = text.parse().ok();
        }
        if kinds.is_time {
            value.time = time(text);
        }
        std::mem::replace(&mut value.is_set, true)
    }

    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    /// Returns the time of evaluation in seconds since 1970-01-01 UTC, if it is given.
    pub(super) fn now(&self) -> Option<i64> {
        self.now
    }

    pub(super) fn value(&self, slot: usize) -> Option<&AttributeValue> {
        self.values.get(slot).filter(|value| value.is_set)
    }
}

/// Returns the seconds in the value of an attribute. The Rust SDK reads an unsigned number of 128 bits; no object
/// is beyond 64.
fn time(text: &str) -> Option<i128> {
    let unsigned: Option<u128> = text.parse().ok();
    let unsigned = unsigned.map(|time| i128::try_from(time).unwrap_or(i128::MAX));
    unsigned.or_else(|| text.parse::<i64>().ok().map(i128::from))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CONDITION_TYPES, ReturnType};

    /// Returns whether a condition on the attribute `a` matches a user with this value of it.
    fn truth(kind: &str, predicate: &str, object: &str, value: &str) -> Truth {
        let condition = Condition {
            kind: kind.to_owned(),
            subject: "a".to_owned(),
            predicate: predicate.to_owned(),
            objects: vec![object.to_owned()],
            between: None,
        };
        let mut slots = Slots::default();
        let tests = compile(&condition, &mut slots);
        let mut person = Person::new(&slots, None);
        person.set("a", value);
        tests.iter().map(|test| test.truth(&person, SdkRules::RUST)).fold(Truth::True, Truth::and)
    }

    #[test]
    fn every_pair_of_type_and_predicate_is_evaluated_or_undocumented() {
        let (noon, after) = ("1970-01-02T00:00:00+00:00", "86400");
        // The type, the predicate, an object, a value that matches and one that does not.
        let evaluated = [
            ("string", "is one of", "ab", "ab", "a"),
            ("string", "is not any of", "ab", "a", "ab"),
            ("string", "starts with", "ab", "abc", "cab"),
            ("string", "does not start with", "ab", "cab", "abc"),
            ("string", "ends with", "ab", "cab", "abc"),
            ("string", "does not end with", "ab", "abc", "cab"),
            ("string", "contains", "ab", "cabc", "acb"),
            ("string", "does not contain", "ab", "acb", "cabc"),
            ("string", "matches regex", "^a+$", "aa", "ab"),
            ("string", "does not match regex", "^a+$", "ab", "aa"),
            ("number", "=", "10", "10.0", "9"),
            ("number", "!=", "10", "9", "10.0"),
            ("number", ">", "10", "10.5", "10"),
            ("number", ">=", "10", "10", "9.5"),
            ("number", "<", "10", "9.5", "10"),
            ("number", "<=", "10", "10", "10.5"),
            ("semver", "=", "1.10.0", "1.10.0", "1.9.0"),
            ("semver", "!=", "1.10.0", "1.9.0", "1.10.0"),
            ("semver", ">", "1.9.0", "1.10.0", "1.9.0"),
            ("semver", ">=", "1.9.0", "1.9.0", "1.9.0-rc.1"),
            ("semver", "<", "1.10.0", "1.9.0", "1.10.0"),
            ("semver", "<=", "1.10.0", "1.10.0", "1.10.1"),
            ("datetime", "after", noon, after, "86399"),
            ("datetime", "before", noon, "86399", after),
        ];
        let mut predicates: Vec<&str> = CONDITION_TYPES.iter().flat_map(ConditionType::predicates).collect();
        predicates.extend(["", "is", "IS ONE OF", "=="]);
        for kind in CONDITION_TYPES.iter().map(|kind| kind.name).chain(["", "boolean", "String"]) {
            for predicate in &predicates {
                let row = evaluated.iter().find(|row| (row.0, row.1) == (kind, predicate));
                match (row, kind, *predicate) {
                    (Some((.., object, matching, other)), ..) => {
                        let context = format!("{kind} {predicate}");
                        assert_eq!(truth(kind, predicate, object, matching), Truth::True, "{context}");
                        assert_eq!(truth(kind, predicate, object, other), Truth::False, "{context}");
                    }
                    (None, "segment", "is in" | "is not in") => {
                        assert_eq!(truth(kind, predicate, "s", "x"), Truth::Unknown(Doubt::Segment));
                    }
                    _ => {
                        let found = truth(kind, predicate, "1", "1");
                        assert_eq!(found, Truth::Unknown(Doubt::Undocumented), "{kind} {predicate}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_prerequisite_compares_values_of_its_type() {
        let equality = Truth::Unknown(Doubt::UnsureEquality);
        let unknown = Truth::Unknown(Doubt::UnknownPrerequisite);
        for (kind, expected, value, truth) in [
            (ReturnType::String, "a", "a", Truth::True),
            (ReturnType::String, "a", "A", Truth::False),
            (ReturnType::Boolean, "true", "TRUE", Truth::True),
            (ReturnType::Boolean, "false", "no", Truth::True),
            (ReturnType::Boolean, "true", "false", Truth::False),
            (ReturnType::Number, "1", "1", Truth::True),
            (ReturnType::Number, "1", "1.0", equality),
            (ReturnType::Number, "1", "2", Truth::False),
            (ReturnType::Number, "1", "one", unknown),
            (ReturnType::Json, r#"{"a":1,"b":2}"#, r#"{"b": 2, "a": 1}"#, Truth::True),
            (ReturnType::Json, r#"{"a":1}"#, r#"{"a":2}"#, Truth::False),
            (ReturnType::Json, r#"{"a":1,"b":null}"#, r#"{"a":1}"#, Truth::True),
            (ReturnType::Number, "9007199254740993", "9007199254740992", Truth::False),
            (ReturnType::Json, "[]", "[]", unknown),
        ] {
            let prerequisite = Prerequisite { key: "other".into(), value: expected.into(), kind };
            assert_eq!(meets(&prerequisite, value), truth, "{kind:?} {expected} {value}");
        }
    }
}
