//! Describes changes in sentences.

use std::collections::{HashMap, VecDeque};
use std::hash::Hash;

use super::{Before, Change};
use crate::model::{
    Between, Condition, Content, Payload, Prerequisite, Rule, Serve, Targeting, Variation, counted,
    datetime_numbers, delivered_time, escaped, exact, percent,
};

/// Returns one sentence per difference, each one line of escaped text; for a new toggle, its description.
///
/// Empty exactly if both are equal.
pub fn sentences(before: Option<&Targeting>, after: &Targeting) -> Vec<String> {
    let Some(before) = before else {
        return summary(after);
    };
    let Targeting { disabled, content } = after;
    let mut out = Vec::new();
    if before.disabled != *disabled {
        out.push(format!("{} → {}", state(before), state(after)));
    }
    compare(&before.content, content, &mut out);
    out
}

impl Change {
    pub fn sentences(&self) -> Vec<String> {
        let before = self.replaced().map(Payload::targeting);
        in_words(self, before.as_ref(), &self.payload.targeting())
    }
}

/// Describes a change in sentences.
pub(super) fn in_words(change: &Change, before: Option<&Targeting>, after: &Targeting) -> Vec<String> {
    let mut out = Vec::new();
    match &change.before {
        Before::Unknown { sent, .. } if sent.announced.is_some() && change.is_retry => {
            out.push("announced by another process, which may have sent it".to_owned());
        }
        Before::Unknown { .. } if change.is_retry => {
            out.push("sent before with an unknown outcome: retried unchanged".to_owned());
        }
        Before::Unknown { .. } => {
            out.push(
                "the outcome of the last publish is unknown; compared with the last request:".to_owned(),
            );
        }
        Before::Unreadable => out.push("the document that it replaces cannot be read".to_owned()),
        Before::Live(_) => {
            let over = change.overwrites().map(|live| format!(" over {live}"));
            let over = over.unwrap_or_default();
            out.push(format!("changed on the service; the document is published again{over}"));
        }
        Before::Applied(_) | Before::Nothing => {}
    }
    if let Some(live) = change.overwrites().filter(|_| !matches!(change.before, Before::Live(_))) {
        out.push(change.over(live));
    }
    out.extend(sentences(before, after));
    out.extend(change.needed_by().and_then(|dependents| dependents.sentence("this")));
    out
}

fn state(targeting: &Targeting) -> &'static str {
    if targeting.disabled { "DISABLED" } else { "ENABLED" }
}

fn summary(targeting: &Targeting) -> Vec<String> {
    let Content { rules, disabled_serve, default_serve, variations, prerequisites } = &targeting.content;
    let mut out = vec![format!("new, {}", state(targeting))];
    out.push(format!(
        "variations {}",
        list(variations.iter().map(|v| format!("{} = {}", quoted(&v.name), quoted(&v.value))))
    ));
    let required = prerequisites.iter().flatten();
    out.extend(required.map(|one| format!("prerequisite {}", prerequisite(one))));
    for (at, rule) in rules.iter().enumerate() {
        let served = served(&rule.serve, variations);
        out.push(match schedule(rule, variations) {
            Some(schedule) => format!("{} serves {schedule}", label(rule, at)),
            None => format!("{} serves {served}: {}", label(rule, at), conditions(rule)),
        });
    }
    out.push(format!("default serve {}", served(default_serve, variations)));
    out.push(format!("disabled serve {}", served(disabled_serve, variations)));
    out
}

fn compare(before: &Content, after: &Content, out: &mut Vec<String>) {
    let Content { rules: _, disabled_serve, default_serve, variations, prerequisites } = after;
    let map = compare_variations(&before.variations, variations, out);
    compare_prerequisites(before.prerequisites.as_deref(), prerequisites.as_deref(), out);
    // Serves are compared by the variations that they mean, because reordering the list changes only indices.
    let serve = |b: &Serve, a: &Serve| {
        (!serves_the_same(b, a, &map))
            .then(|| format!("{} → {}", served(b, &before.variations), served(a, variations)))
    };
    for (what, b, a) in [
        ("default", &before.default_serve, default_serve),
        ("disabled", &before.disabled_serve, disabled_serve),
    ] {
        out.extend(serve(b, a).map(|text| format!("{what} serve: {text}")));
    }
    compare_rules(&before.rules, after, serve, out);
}

/// Returns whether two serves mean the same. `map` has the new index of each old variation.
fn serves_the_same(before: &Serve, after: &Serve, map: &[Option<usize>]) -> bool {
    let new = |old: usize| map.get(old).copied().unwrap_or(Some(old));
    match (before, after) {
        (Serve::Select(before), Serve::Select(after)) => new(*before as usize) == Some(*after as usize),
        (Serve::Split(before), Serve::Split(after)) => {
            let shares = |weights: &[u32], new: &dyn Fn(usize) -> Option<usize>| {
                let shares = weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
                let mut shares: Vec<_> = shares.map(|(at, weight)| (new(at), *weight)).collect();
                shares.sort_unstable();
                shares
            };
            shares(before, &new) == shares(after, &Some)
        }
        (Serve::Nothing, Serve::Nothing) => true,
        _ => false,
    }
}

fn compare_prerequisites(
    before: Option<&[Prerequisite]>,
    after: Option<&[Prerequisite]>,
    out: &mut Vec<String>,
) {
    match (before, after) {
        (None, Some([])) => out.push("prerequisites: as on the service → none".to_owned()),
        (Some(_), None) => return out.push("prerequisites: as on the service from now on".to_owned()),
        _ => {}
    }
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    let mut pairs = Pairs::new(before.len(), after.len());
    pairs.by(before, after, Some);
    pairs.by(before, after, |one| Some(&one.key));
    let changed = |old: &_, now: &_| format!("{} → {}", prerequisite(old), prerequisite(now));
    pairs.describe("prerequisite", (before, after), prerequisite, changed, out);
    if pairs.moved().contains(&true) {
        out.push("prerequisites reordered".to_owned());
    }
}

/// Describes changes of rules. `serve` describes the change of a serve, if there is one.
fn compare_rules(
    before: &[Rule],
    after: &Content,
    serve: impl Fn(&Serve, &Serve) -> Option<String>,
    out: &mut Vec<String>,
) {
    let Content { rules, variations, .. } = after;
    let mut pairs = Pairs::new(before.len(), rules.len());
    // The surest match comes first, so that an edited or renamed rule is one change, not a removal and an
    // addition.
    pairs.by(before, rules, |rule| Some((&rule.name, &rule.conditions)));
    pairs.by(before, rules, |rule| (!rule.name.is_empty()).then_some(&rule.name));
    pairs.by(before, rules, |rule| Some(&rule.conditions));
    // Empty names do not identify a rule, so they pair last.
    pairs.by(before, rules, |rule| rule.name.is_empty().then_some(()));
    for at in pairs.removed() {
        out.push(format!("{} removed", label(&before[at], at)));
    }
    let moved = pairs.moved();
    for (at, rule) in rules.iter().enumerate() {
        let label = label(rule, at);
        let Some(from) = pairs.before[at] else {
            out.push(match schedule(rule, variations) {
                Some(schedule) => format!("{label} added, serves {schedule}"),
                None => {
                    format!("{label} added, serves {}: {}", served(&rule.serve, variations), conditions(rule))
                }
            });
            continue;
        };
        let old = &before[from];
        let Rule { name, serve: now, conditions: _ } = rule;
        if old.name != *name {
            out.push(format!("{label} renamed from {}", quoted(&old.name)));
        }
        if moved[at] && from != at {
            out.push(format!("{label} moved from position {} to {}", from + 1, at + 1));
        } else if moved[at] {
            // Its position is unchanged only because other rules moved past it.
            let last = at.checked_sub(1).map(|last| self::label(&rules[last], last));
            let place = last.map_or_else(|| "the first".to_owned(), |last| format!("behind {last}"));
            out.push(format!("{label} is now {place}"));
        }
        let served = serve(&old.serve, now);
        // A new share, too, is one from a time on.
        let is_new = served.is_some() || old.conditions != rule.conditions;
        out.extend(served.map(|text| format!("{label} serves: {text}")));
        compare_conditions(&label, &old.conditions, &rule.conditions, out);
        if let Some(schedule) = schedule(rule, variations).filter(|_| is_new) {
            out.push(format!("{label} now serves {schedule}"));
        }
    }
}

/// Describes changes of variations. Returns the new index of each old variation.
fn compare_variations(
    before: &[Variation],
    after: &[Variation],
    out: &mut Vec<String>,
) -> Vec<Option<usize>> {
    let mut pairs = Pairs::new(before.len(), after.len());
    // A variation that moves keeps its name, so the position comes second.
    pairs.by(before, after, |variation| Some(&variation.name));
    pairs.by(&positions(before), &positions(after), Some);
    for at in pairs.removed() {
        out.push(format!("variation {} removed", quoted(&before[at].name)));
    }
    for (at, variation) in after.iter().enumerate() {
        let Variation { value, name, description } = variation;
        let Some(from) = pairs.before[at] else {
            out.push(format!("variation {} added with value {}", quoted(name), quoted(value)));
            continue;
        };
        let old = &before[from];
        if old.name != *name {
            out.push(format!("variation {}", from_to(&old.name, "renamed to", name)));
        }
        if old.value != *value {
            out.push(format!("variation {} value: {}", quoted(name), from_to(&old.value, "→", value)));
        }
        if old.description != *description {
            out.push(format!(
                "variation {} description: {}",
                quoted(name),
                from_to(&old.description, "→", description)
            ));
        }
    }
    if pairs.moved().contains(&true) {
        out.push(format!("variations reordered: {}", list(after.iter().map(|v| quoted(&v.name)))));
    }
    let mut map = vec![None; before.len()];
    for (at, from) in pairs.before.iter().enumerate() {
        if let Some(from) = from {
            map[*from] = Some(at);
        }
    }
    map
}

/// Returns a key for variations whose names are not unique: position, value and description.
fn positions(variations: &[Variation]) -> Vec<(usize, &str, &str)> {
    let positions = variations.iter().enumerate();
    positions.map(|(at, variation)| (at, variation.value.as_str(), variation.description.as_str())).collect()
}

fn compare_conditions(rule: &str, before: &[Condition], after: &[Condition], out: &mut Vec<String>) {
    let mut pairs = Pairs::new(before.len(), after.len());
    // As with rules, the surest match comes first.
    pairs.by(before, after, Some);
    pairs.by(before, after, |condition| Some((&condition.subject, &condition.predicate)));
    pairs.by(before, after, |condition| Some(&condition.subject));
    let what = format!("{rule}: condition");
    pairs.describe(&what, (before, after), condition, changed, out);
    if pairs.moved().contains(&true) {
        out.push(format!("{rule}: conditions reordered"));
    }
}

fn changed(before: &Condition, after: &Condition) -> String {
    let Condition { kind, subject, predicate, objects, between } = after;
    // A change of a long list usually concerns few objects, so only those are shown.
    let same = (&before.kind, &before.subject, &before.predicate, &before.between);
    let is_list = same == (kind, subject, predicate, between) && before.objects.len().max(objects.len()) > 1;
    if !is_list {
        return format!("{} → {}", condition(before), condition(after));
    }
    let mut pairs = Pairs::new(before.objects.len(), objects.len());
    pairs.by(&before.objects, objects, Some);
    let mut parts = Vec::new();
    let added: Vec<&String> =
        objects.iter().zip(&pairs.before).filter(|(_, from)| from.is_none()).map(|(o, _)| o).collect();
    let removed: Vec<&String> = pairs.removed().map(|at| &before.objects[at]).collect();
    for (word, objects) in [("added", added), ("removed", removed)] {
        if !objects.is_empty() {
            let names = list(objects.iter().map(|object| quoted(object)));
            parts.push(format!("{} {word} ({names})", counted(objects.len(), "object")));
        }
    }
    if pairs.moved().contains(&true) {
        parts.push("objects reordered".to_owned());
    }
    format!("{}{} …: {}", subject_of(after), escaped(predicate), parts.join(", "))
}

/// The pairs of old and new items.
pub(super) struct Pairs {
    /// The old index of each new item.
    pub(super) before: Vec<Option<usize>>,
    /// Whether each old item has a new one.
    taken: Vec<bool>,
}

impl Pairs {
    pub(super) fn new(before: usize, after: usize) -> Self {
        Self { before: vec![None; after], taken: vec![false; before] }
    }

    /// Pairs the items that have no partner yet by equal keys, in order.
    pub(super) fn by<'t, T, K: Eq + Hash>(
        &mut self,
        before: &'t [T],
        after: &'t [T],
        key: impl Fn(&'t T) -> Option<K>,
    ) {
        let mut free: HashMap<K, VecDeque<usize>> = HashMap::new();
        for (at, item) in before.iter().enumerate().filter(|(at, _)| !self.taken[*at]) {
            if let Some(key) = key(item) {
                free.entry(key).or_default().push_back(at);
            }
        }
        for (slot, item) in self.before.iter_mut().zip(after).filter(|(slot, _)| slot.is_none()) {
            // Equal keys pair in order, so that repeated items do not look moved.
            *slot = key(item).and_then(|key| free.get_mut(&key)?.pop_front());
            if let Some(at) = *slot {
                self.taken[at] = true;
            }
        }
    }

    pub(super) fn removed(&self) -> impl Iterator<Item = usize> {
        self.taken.iter().enumerate().filter(|(_, taken)| !**taken).map(|(at, _)| at)
    }

    /// Describes each item that was removed, added or changed.
    pub(super) fn describe<T: PartialEq>(
        &self,
        what: &str,
        (before, after): (&[T], &[T]),
        show: impl Fn(&T) -> String,
        changed: impl Fn(&T, &T) -> String,
        out: &mut Vec<String>,
    ) {
        for at in self.removed() {
            out.push(format!("{what} removed: {}", show(&before[at])));
        }
        for (from, now) in self.before.iter().zip(after) {
            match from.map(|from| &before[from]) {
                None => out.push(format!("{what} added: {}", show(now))),
                Some(old) if old != now => out.push(format!("{what} changed: {}", changed(old, now))),
                Some(_) => {}
            }
        }
    }

    /// Returns whether each new item moved. Marks the smallest set of items that explains the new order: all
    /// that are not in a longest increasing subsequence of old indices.
    pub(super) fn moved(&self) -> Vec<bool> {
        let mut tails: Vec<usize> = Vec::new();
        let mut previous = vec![None; self.before.len()];
        for (at, from) in self.before.iter().enumerate() {
            let Some(from) = from else { continue };
            let place = tails.partition_point(|tail| self.before[*tail] < Some(*from));
            previous[at] = place.checked_sub(1).map(|place| tails[place]);
            if place == tails.len() {
                tails.push(at);
            } else {
                tails[place] = at;
            }
        }
        let mut moved: Vec<bool> = self.before.iter().map(Option::is_some).collect();
        let mut at = tails.last().copied();
        while let Some(stays) = at {
            moved[stays] = false;
            at = previous[stays];
        }
        moved
    }
}

pub(crate) fn conditions(rule: &Rule) -> String {
    if rule.conditions.is_empty() {
        return "everyone".to_owned();
    }
    list(rule.conditions.iter().map(condition))
}

pub(crate) fn condition(condition: &Condition) -> String {
    let Condition { kind, subject: _, predicate, objects, between } = condition;
    let values = |objects: &[String]| list(objects.iter().map(|object| quoted(object)));
    let comparison = match between.as_deref() {
        None => format!("{} {}", escaped(predicate), values(objects)),
        Some(Between { left_predicate, right_predicate, right_objects }) => format!(
            "{} {} {} and {} {}",
            escaped(predicate),
            escaped(left_predicate),
            values(objects),
            escaped(right_predicate),
            values(right_objects)
        ),
    };
    format!("{}{comparison} ({})", subject_of(condition), escaped(kind))
}

/// Returns the attribute with a space after it, or nothing for a segment, which has none.
fn subject_of(condition: &Condition) -> String {
    match (condition.kind.as_str(), condition.subject.as_str()) {
        ("segment", "") => String::new(),
        (_, subject) => format!("{} ", quoted(subject)),
    }
}

pub(crate) fn prerequisite(prerequisite: &Prerequisite) -> String {
    let Prerequisite { key, value, kind } = prerequisite;
    format!("{} must serve {} ({})", quoted(key), quoted(value), kind.as_str())
}

/// Returns what a serve serves: one variation, the share of each variation of a split, or nothing.
pub(crate) fn served(serve: &Serve, variations: &[Variation]) -> String {
    match serve {
        Serve::Select(index) => name(*index as usize, variations),
        Serve::Split(weights) => {
            format!("split {}", list(shares(weights, variations).into_iter()))
        }
        Serve::Nothing => "nothing".to_owned(),
    }
}

/// Returns the share of each variation of a split that has one.
fn shares(weights: &[u32], variations: &[Variation]) -> Vec<String> {
    let weights = weights.iter().enumerate().filter(|(_, weight)| **weight > 0);
    weights.map(|(at, weight)| format!("{} {}%", name(at, variations), percent(*weight))).collect()
}

fn name(at: usize, variations: &[Variation]) -> String {
    let variation = variations.get(at);
    variation.map_or_else(|| format!("number {at}"), |variation| quoted(&variation.name))
}

/// Describes a rule that compares a time: `from 2026-12-01 09:00 +01:00: `on` 25%, …`, with its other
/// conditions. None for a rule without such a condition.
fn schedule(rule: &Rule, variations: &[Variation]) -> Option<String> {
    let (mut times, mut others) = (Vec::new(), Vec::new());
    let mut subject = None;
    for condition in &rule.conditions {
        match period(condition).filter(|_| subject.is_none_or(|subject| subject == condition.subject)) {
            Some(period) => {
                subject = Some(condition.subject.as_str());
                times.push(period);
            }
            None => others.push(self::condition(condition)),
        }
    }
    let served = match &rule.serve {
        Serve::Split(weights) => list(shares(weights, variations).into_iter()),
        serve => served(serve, variations),
    };
    let others = match others.is_empty() {
        true => String::new(),
        false => format!(" if {}", list(others.into_iter())),
    };
    Some(format!("{}: {served}{others} (for users without {})", times.join(" "), quoted(subject?)))
}

/// Returns the period in which a condition matches, in words; none if it does not compare with one.
fn period(condition: &Condition) -> Option<String> {
    let Condition { kind, subject: _, predicate, objects, between } = condition;
    match (predicate.as_str(), between.as_deref()) {
        _ if kind != "datetime" => None,
        ("between", Some(between)) => {
            let right = bound(&between.right_predicate, &between.right_objects)?;
            Some(format!("{} {right}", bound(&between.left_predicate, objects)?))
        }
        (predicate, None) => bound(predicate, objects),
        _ => None,
    }
}

/// Returns one side of a period in words.
fn bound(predicate: &str, objects: &[String]) -> Option<String> {
    let is_after = match predicate {
        "after" => true,
        "before" => false,
        _ => return None,
    };
    let times: Option<Vec<(i64, &String)>> =
        objects.iter().map(|object| Some((delivered_time(object)?, object))).collect();
    // The Rust SDK skips times before 1970, which are shown as a condition.
    let times = times.filter(|times| times.iter().all(|(time, _)| *time >= 0))?;
    // Any of several may match, so the earliest one decides `after`, and the latest one `before`.
    let (_, object) = if is_after { times.iter().min()? } else { times.iter().max()? };
    // `2026-12-01T09:00:00+01:00`; any other text is shown as a condition.
    datetime_numbers(object)?;
    let (day, time) = object.split_once('T')?;
    let (time, offset) = time.split_once('+')?;
    let time = time.strip_suffix(":00").unwrap_or(time);
    let (word, which) = if is_after { ("from", "earliest") } else { ("until", "latest") };
    let others = match times.len() {
        1 => String::new(),
        count => format!(" (the {which} of {count} times)"),
    };
    Some(format!("{word} {day} {time} +{offset}{others}"))
}

/// Joins the first items and counts the others.
pub(super) fn list(items: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 5;
    let more = items.len().saturating_sub(SHOWN);
    let shown: Vec<String> = items.take(SHOWN).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// The maximum number of characters of a text that are shown.
const LONGEST_TEXT: usize = 80;

/// Returns a text in backticks, escaped and cut.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(LONGEST_TEXT).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", exact(&short))
}

/// Returns two texts in backticks. Long ones start shortly before the first difference, so that both look
/// different.
fn from_to(old: &str, word: &str, new: &str) -> String {
    const BEFORE: usize = 10;
    let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new);
    let common = common.count();
    if common < LONGEST_TEXT {
        return format!("{} {word} {}", quoted(old), quoted(new));
    }
    let part = |text: &str| {
        let rest: String = text.chars().skip(common - BEFORE).collect();
        quoted(&rest).replacen('`', "`…", 1)
    };
    format!("{} {word} {}", part(old), part(new))
}

pub(crate) fn label(rule: &Rule, at: usize) -> String {
    match rule.name.as_str() {
        "" => format!("rule {}", at + 1),
        name => format!("rule {}", quoted(name)),
    }
}
