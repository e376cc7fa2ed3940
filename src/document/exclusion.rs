//! Warns about rules that no user can match, because their conditions on one attribute exclude each other.
//!
//! All conditions of a rule must match, and `between` is two of them (src/service/featureprobe.md,
//! "Conditions"). A condition with several objects matches if any of them does.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt;

use semver::Version;

use super::check;
use super::dialects;
use super::finding::{At, Finding, Part, shown};
use super::meant::{self, Bound};
use super::node::quoted;
use super::resolve::{RawCondition, RawRule, Text};
use crate::model::{
    ConditionType, ConditionValue, OrderComparison, Polarity, Predicate, TextComparison, TimeComparison,
    delivered_time, listed,
};

/// The most comparisons of one rule that are checked, so that a hostile rule takes linear time.
const MOST_CHECKED: usize = 64;

/// One comparison of an attribute: a condition, or one side of `between`.
#[derive(Clone, Copy)]
struct Comparison<'a> {
    kind: &'static ConditionType,
    subject: &'a str,
    /// The name of the predicate, and what it compares.
    name: &'a str,
    predicate: Predicate,
    objects: &'a [Text],
    /// The index of its condition.
    condition: usize,
    /// Where its objects are.
    list: &'static str,
}

/// Returns the warning about a rule with these conditions, which are at `list`.
pub(super) fn check(conditions: &[RawCondition], list: &At<'_>) -> Option<Finding> {
    // Most rules have one condition that is no `between`.
    if conditions.len() < 2 && conditions.iter().all(|one| one.right_objects.is_none()) {
        return None;
    }
    let all = conditions.iter().enumerate().flat_map(|(index, condition)| comparisons(index, condition));
    let all: Vec<Comparison<'_>> = all.flatten().take(MOST_CHECKED).collect();
    (1..all.len()).find_map(|last| {
        let one = all[last];
        let same = |other: &&Comparison<'_>| other.kind.name == one.kind.name && other.subject == one.subject;
        let before: Vec<Comparison<'_>> = all[..last].iter().filter(same).copied().collect();
        let is_impossible = !before.is_empty() && !is_possible(before.iter().chain([&one]));
        is_impossible.then(|| finding(&before, one, list))
    })
}

/// Returns the comparisons of a condition. One with another finding has none.
fn comparisons(index: usize, condition: &RawCondition) -> [Option<Comparison<'_>>; 2] {
    let RawCondition {
        kind,
        subject,
        predicate,
        objects,
        left_predicate: left,
        right_predicate: right,
        right_objects,
        has_unread: _,
    } = condition;
    let known = kind.as_deref().and_then(ConditionType::find).zip(subject.as_deref());
    let Some((kind, subject)) = known else { return [None; 2] };
    let (predicate, objects, right_objects) =
        (predicate.as_deref(), objects.as_deref().unwrap_or_default(), right_objects.as_deref());
    let one = |name, objects, list| {
        let predicate = kind.comparison(name)?;
        Some(Comparison { kind, subject, name, predicate, objects, condition: index, list })
    };
    match (predicate, left.as_deref(), right.as_deref()) {
        (Some("between"), Some(left), Some(right)) => {
            [one(left, objects, "objects"), one(right, right_objects.unwrap_or_default(), "rightObjects")]
        }
        (Some(predicate), ..) => [one(predicate, objects, "objects"), None],
        (None, ..) => [None; 2],
    }
}

/// Returns whether a value of an attribute can match all of these comparisons, which have one type.
fn is_possible<'a>(all: impl IntoIterator<Item = &'a Comparison<'a>>) -> bool {
    let all: Vec<_> = all.into_iter().collect();
    match all.first().map(|one| one.kind.value) {
        Some(ConditionValue::Number) => has_values(&all, Number::read),
        Some(ConditionValue::Semver) => has_values(&all, |object| object.parse::<Version>().ok()),
        Some(ConditionValue::Time) => has_values(&all, delivered_time),
        Some(ConditionValue::Text) => has_values(&all, |object| Some(object.to_owned())),
        Some(ConditionValue::Segment) | None => true,
    }
}

/// Returns the rules that nobody reaches, each with an earlier rule that matches everyone whom it matches. Rules
/// with very many objects are not compared.
pub(super) fn hidden(rules: &[RawRule]) -> Vec<(usize, usize)> {
    const MOST_OBJECTS: usize = 100;
    fn of_rule(rule: &RawRule) -> Option<Vec<Comparison<'_>>> {
        let conditions = rule.conditions.as_deref().filter(|conditions| !conditions.is_empty())?;
        let all = conditions.iter().enumerate().flat_map(|(index, condition)| {
            let [first, second] = comparisons(index, condition);
            let count = if condition.predicate.as_deref() == Some("between") { 2 } else { 1 };
            [first, second].into_iter().take(count)
        });
        let all: Vec<Comparison<'_>> = all.collect::<Option<_>>()?;
        (all.iter().map(|one| one.objects.len()).sum::<usize>() <= MOST_OBJECTS).then_some(all)
    }
    let all: Vec<Option<Vec<Comparison<'_>>>> = rules.iter().take(MOST_CHECKED).map(of_rule).collect();
    let mut hidden = Vec::new();
    for (later, own) in all.iter().enumerate() {
        let Some(own) = own else { continue };
        let hides = |earlier: &Vec<Comparison<'_>>| earlier.iter().all(|one| is_implied(own, one));
        if let Some(earlier) = all[..later].iter().position(|earlier| earlier.as_ref().is_some_and(hides)) {
            hidden.push((later, earlier));
        }
    }
    hidden
}

/// Returns whether each value that matches all of `own` certainly matches `one`.
fn is_implied(own: &[Comparison<'_>], one: &Comparison<'_>) -> bool {
    let same = |other: &&Comparison<'_>| other.kind.name == one.kind.name && other.subject == one.subject;
    let own: Vec<&Comparison<'_>> = own.iter().filter(same).collect();
    if own.is_empty() {
        return false;
    }
    match one.kind.value {
        ConditionValue::Number => implies(&own, one, Number::read),
        ConditionValue::Semver => implies(&own, one, |object| object.parse::<Version>().ok()),
        ConditionValue::Time => implies(&own, one, delivered_time),
        ConditionValue::Text => implies(&own, one, |object| Some(object.to_owned())),
        ConditionValue::Segment => false,
    }
}

fn implies<T: Ord>(own: &[&Comparison<'_>], one: &Comparison<'_>, read: impl Fn(&str) -> Option<T>) -> bool {
    if matches!(one.predicate, Predicate::Text(comparison, _) if comparison != TextComparison::IsOneOf) {
        return false;
    }
    let (mut values, mut wanted) = (Values::default(), Values::default());
    for one in own {
        let Some(objects) = one.values(&read) else { return false };
        values.restrict(one.predicate, objects);
    }
    let Some(objects) = one.values(&read) else { return false };
    wanted.restrict(one.predicate, objects);
    values.is_within(&wanted)
}

/// Does the same as [`is_possible`] for a type whose objects `read` reads. What cannot be read has another finding.
fn has_values<T: Ord>(all: &[&Comparison<'_>], read: impl Fn(&str) -> Option<T>) -> bool {
    let mut values = Values::default();
    for one in all {
        match one.values(&read) {
            Some(objects) => values.restrict(one.predicate, objects),
            None => return true,
        }
    }
    !values.is_empty()
}

/// A number in its order, without those that are not numbers.
struct Number(f64);

impl Number {
    /// Reads a decimal number, which another check asks for.
    fn read(object: &str) -> Option<Self> {
        object.parse().ok().filter(|_| meant::is_decimal(object)).map(Self)
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.partial_cmp(&other.0).unwrap_or(Ordering::Equal)
    }
}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

/// The values that match some comparisons.
struct Values<T> {
    /// The lowest one, and whether it matches itself.
    low: Option<(T, bool)>,
    high: Option<(T, bool)>,
    /// The only ones, if they are listed.
    only: Option<BTreeSet<T>>,
    without: BTreeSet<T>,
}

impl<T> Default for Values<T> {
    fn default() -> Self {
        Self { low: None, high: None, only: None, without: BTreeSet::new() }
    }
}

impl<T: Ord> Values<T> {
    fn restrict(&mut self, predicate: Predicate, mut objects: BTreeSet<T>) {
        // Any object may match, so the lowest one decides `>`, and the highest one `<`.
        match predicate {
            Predicate::Order(OrderComparison::Equal)
            | Predicate::Text(TextComparison::IsOneOf, Polarity::Positive) => {
                self.only = Some(match self.only.take() {
                    Some(only) => only.into_iter().filter(|one| objects.contains(one)).collect(),
                    None => objects,
                });
            }
            Predicate::Order(OrderComparison::NotEqual)
            | Predicate::Text(TextComparison::IsOneOf, Polarity::Negative) => self.without.extend(objects),
            Predicate::Order(OrderComparison::Above) => self.raise(objects.pop_first(), false),
            Predicate::Order(OrderComparison::AtLeast) | Predicate::Time(TimeComparison::After) => {
                self.raise(objects.pop_first(), true);
            }
            Predicate::Order(OrderComparison::Below) | Predicate::Time(TimeComparison::Before) => {
                self.lower(objects.pop_last(), false);
            }
            Predicate::Order(OrderComparison::AtMost) => self.lower(objects.pop_last(), true),
            Predicate::Text(..) | Predicate::Between | Predicate::Membership => {}
        }
    }

    fn raise(&mut self, bound: Option<T>, is_within: bool) {
        let Some(bound) = bound else { return };
        let is_higher = |(low, was_within): &(T, bool)| match bound.cmp(low) {
            Ordering::Greater => true,
            Ordering::Equal => *was_within && !is_within,
            Ordering::Less => false,
        };
        if self.low.as_ref().is_none_or(is_higher) {
            self.low = Some((bound, is_within));
        }
    }

    fn lower(&mut self, bound: Option<T>, is_within: bool) {
        let Some(bound) = bound else { return };
        let is_lower = |(high, was_within): &(T, bool)| match bound.cmp(high) {
            Ordering::Less => true,
            Ordering::Equal => *was_within && !is_within,
            Ordering::Greater => false,
        };
        if self.high.as_ref().is_none_or(is_lower) {
            self.high = Some((bound, is_within));
        }
    }

    fn has(&self, value: &T) -> bool {
        let is_high_enough = match &self.low {
            Some((low, is_within)) => value > low || (*is_within && value == low),
            None => true,
        };
        let is_low_enough = match &self.high {
            Some((high, is_within)) => value < high || (*is_within && value == high),
            None => true,
        };
        let is_listed = self.only.as_ref().is_none_or(|only| only.contains(value));
        is_high_enough && is_low_enough && is_listed && !self.without.contains(value)
    }

    fn is_empty(&self) -> bool {
        match (&self.only, &self.low, &self.high) {
            (Some(only), ..) => !only.iter().any(|value| self.has(value)),
            (None, Some((low, _)), Some((high, _))) if low == high => !self.has(low),
            (None, Some((low, _)), Some((high, _))) => low > high,
            (None, ..) => false,
        }
    }

    /// Returns whether `other` certainly has all of these values.
    fn is_within(&self, other: &Self) -> bool {
        if let Some(only) = &self.only {
            return only.iter().filter(|value| self.has(value)).all(|value| other.has(value));
        }
        let is_above = match (&self.low, &other.low) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((own, has_own)), Some((low, has_low))) => {
                own > low || (own == low && (*has_low || !has_own))
            }
        };
        let is_below = match (&self.high, &other.high) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some((own, has_own)), Some((high, has_high))) => {
                own < high || (own == high && (*has_high || !has_own))
            }
        };
        is_above && is_below && other.only.is_none() && !other.without.iter().any(|value| self.has(value))
    }
}

/// Returns the warning about the comparison `last`, which excludes those before it.
fn finding(before: &[Comparison<'_>], last: Comparison<'_>, list: &At<'_>) -> Finding {
    let noun = match last.kind.value {
        ConditionValue::Number => "number",
        ConditionValue::Semver => "version",
        ConditionValue::Time => "time",
        ConditionValue::Text | ConditionValue::Segment => "text",
    };
    let other = before.iter().copied().find(|other| !is_possible([other, &last]));
    let message = match other {
        Some(other) => {
            format!("no {noun} matches both {other} and {last}, so nobody matches this rule")
        }
        None => format!(
            "no {noun} matches this and the conditions on `{}` before it, so nobody matches this rule",
            shown(last.subject)
        ),
    };
    let help = match other {
        Some(other) if other.condition == last.condition => between_help(other, last),
        Some(other) => one_list(other, last).unwrap_or_else(|| ONE_EACH.to_owned()),
        None => ONE_EACH.to_owned(),
    };
    let spot = |one: Comparison<'_>| list.item(one.condition).key(one.list).item(0).spot(Part::Value);
    let finding = Finding::new(&check::NEVER_MATCHES, spot(last), message).help(help);
    match other {
        Some(other) => finding.related(spot(other), "excluded by this"),
        None => finding,
    }
}

/// The help on conditions that exclude each other.
const ONE_EACH: &str = "all conditions of a rule must match: write a rule for each of them, or remove one";

/// Returns the help on the sides of a `between`: the first correction with which a value can match.
fn between_help<'a>(left: Comparison<'a>, right: Comparison<'a>) -> String {
    let written = [left, right];
    let swapped =
        [Comparison { objects: right.objects, ..left }, Comparison { objects: left.objects, ..right }];
    let all = [swapped, written.map(Comparison::with_bound), swapped.map(Comparison::with_bound)];
    let Some([new_left, new_right]) = all.into_iter().find(|sides| is_possible(sides)) else {
        return "both sides must match: write a lower and a higher bound".to_owned();
    };
    let mut fields = Vec::new();
    for (old, new, name) in [(left, new_left, "leftPredicate"), (right, new_right, "rightPredicate")] {
        if old.name != new.name {
            fields.push(format!("`{name}: \"{}\"`", new.name));
        }
        if old.objects != new.objects {
            let objects: Vec<String> = new.objects.iter().map(|Text(object)| object.clone()).collect();
            match meant::list(&objects) {
                Some(objects) => fields.push(format!("`{}: [{objects}]`", new.list)),
                None => return "exchange `objects` and `rightObjects`".to_owned(),
            }
        }
    }
    let outside = match left.is_upper() && !right.is_upper() {
        true => "; for what lies outside, write a rule for each side",
        false => "",
    };
    format!("write {}{outside}", listed(&fields))
}

/// Returns the help on a `between` that lacks fields, with the predicates and the bounds that its author wrote. Where one
/// is not known, it has `…`.
pub(super) fn sides_help(condition: &RawCondition, kind: Option<&'static ConditionType>) -> String {
    const UNKNOWN: &str = "…";
    let kind = kind.filter(|kind| !kind.sides().is_empty()).or_else(|| ConditionType::find("number"));
    let name = kind.map(|kind| kind.name).unwrap_or_default();
    let usual = if name == "datetime" { ["after", "before"] } else { [">=", "<"] };
    let given = [&condition.left_predicate, &condition.right_predicate];
    let objects = condition.objects.as_deref().unwrap_or_default();
    let right_objects = condition.right_objects.as_deref().unwrap_or_default();
    let own = objects.iter().chain(right_objects).map(|Text(object)| meant::bound(name, object));
    let own: Option<Vec<Bound>> = own.take(3).collect();
    let sides = match own.unwrap_or_default().as_slice() {
        [one, other] => {
            meant::sorted([one.clone(), other.clone()]).map_or([None, None], |both| both.map(Some))
        }
        [one] if right_objects.is_empty() && !one.is_upper() => [Some(one.clone()), None],
        [one] => [None, Some(one.clone())],
        // Only the author knows them, or which belong to which side.
        _ => [None, None],
    };
    let predicate = |side: usize| {
        let of_text = sides[side].as_ref().and_then(|bound| bound.predicate);
        match given[side].as_deref().filter(|word| !word.is_empty()) {
            Some(word) => dialects::exact(name, word)
                .filter(|own| of_text.is_none_or(|of_text| of_text == *own))
                .unwrap_or(UNKNOWN),
            None => of_text.unwrap_or(usual[side]),
        }
    };
    let [left, right] = [predicate(0), predicate(1)];
    let object = |side: usize| sides[side].as_ref().map_or(UNKNOWN, |bound| &bound.object);
    let [low, high] = [object(0), object(1)];
    let is_range = kind.is_none_or(|kind| {
        let texts = [low, high].map(|object| [Text(object.to_owned())]);
        let one = |name, objects| {
            let predicate = kind.comparison(name)?;
            Some(Comparison { kind, subject: "", name, predicate, objects, condition: 0, list: "" })
        };
        one(left, &texts[0]).zip(one(right, &texts[1])).is_none_or(|(one, other)| is_possible([&one, &other]))
    });
    let [low, high] = if is_range { [low, high] } else { [high, low] }.map(shown);
    let quoted =
        |text: &str| if text.chars().all(char::is_alphabetic) { text.to_owned() } else { quoted(text) };
    format!(
        "write `leftPredicate: {}`, `objects: [{}]`, `rightPredicate: {}` and `rightObjects: [{}]`",
        quoted(left),
        quoted(&low),
        quoted(right),
        quoted(&high)
    )
}

/// Returns the help on two conditions of which each has a list of values.
fn one_list(one: Comparison<'_>, other: Comparison<'_>) -> Option<String> {
    let is_list = |one: Comparison<'_>| {
        matches!(
            one.predicate,
            Predicate::Text(TextComparison::IsOneOf, Polarity::Positive)
                | Predicate::Order(OrderComparison::Equal)
        )
    };
    let all = one.objects.iter().chain(other.objects).map(|Text(object)| object.clone());
    let all = (is_list(one) && is_list(other)).then(|| meant::list(&all.collect::<Vec<_>>()))??;
    Some(format!("all conditions of a rule must match: write one condition with `objects: [{all}]`"))
}

impl Comparison<'_> {
    /// Reads the objects with `read`; none if there are none, or if one cannot be read.
    fn values<T: Ord>(&self, read: impl Fn(&str) -> Option<T>) -> Option<BTreeSet<T>> {
        let values: Option<BTreeSet<T>> = self.objects.iter().map(|Text(object)| read(object)).collect();
        values.filter(|values| !values.is_empty())
    }

    fn is_upper(&self) -> bool {
        matches!(
            self.predicate,
            Predicate::Order(OrderComparison::Below | OrderComparison::AtMost)
                | Predicate::Time(TimeComparison::Before)
        )
    }

    /// Returns the same as a bound that matches itself: the upper one if it is on the right.
    fn with_bound(self) -> Self {
        let Predicate::Order(order) = self.predicate else { return self };
        let is_upper = match order {
            OrderComparison::Above | OrderComparison::AtLeast => false,
            OrderComparison::Below | OrderComparison::AtMost => true,
            OrderComparison::Equal | OrderComparison::NotEqual => self.list == "rightObjects",
        };
        let name = if is_upper { "<=" } else { ">=" };
        let predicate = self.kind.comparison(name).unwrap_or(self.predicate);
        Self { name, predicate, ..self }
    }
}

impl fmt::Display for Comparison<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const MOST_SHOWN: usize = 3;
        let objects = self.objects.iter().take(MOST_SHOWN).map(|Text(object)| shown(object));
        let objects: Vec<String> = objects.collect();
        let more = if self.objects.len() > MOST_SHOWN { ", …" } else { "" };
        write!(f, "`{} {}{more}`", self.name, objects.join(", "))
    }
}
