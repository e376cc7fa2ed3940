//! The words for the parts of a targeting. All text from it is escaped.

use crate::model::{Between, Condition, Prerequisite, Rule, Serve, Variation, escaped, percent};

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
pub(super) fn subject_of(condition: &Condition) -> String {
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
    let name = |at: usize| {
        let variation = variations.get(at);
        variation.map_or_else(|| format!("number {at}"), |variation| quoted(&variation.name))
    };
    match serve {
        Serve::Select(index) => name(*index as usize),
        Serve::Split(weights) => {
            let shares: Vec<String> = (weights.iter().enumerate())
                .filter(|(_, weight)| **weight > 0)
                .map(|(at, weight)| format!("{} {}%", name(at), percent(*weight)))
                .collect();
            format!("split {}", list(shares.into_iter()))
        }
        Serve::Nothing => "nothing".to_owned(),
    }
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
const LONGEST: usize = 80;

/// Returns a text in backticks, escaped and cut.
pub(crate) fn quoted(text: &str) -> String {
    let short: String = text.chars().take(LONGEST).collect();
    let more = if short.len() < text.len() { "…" } else { "" };
    format!("`{}{more}`", escaped(&short))
}

/// Returns two texts in backticks. Long ones start shortly before the first difference, so that both look different.
pub(super) fn from_to(old: &str, word: &str, new: &str) -> String {
    const BEFORE: usize = 10;
    let common = old.chars().zip(new.chars()).take_while(|(old, new)| old == new);
    let common = common.count();
    if common < LONGEST {
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
