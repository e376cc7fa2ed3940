//! The bounds of a `between`, as a condition of its type can have them.

use super::number::{almost_number, compared_number, full_number, is_decimal};
use super::time::time;
use crate::document::compared::ComparedObject;
use crate::document::versions;
use crate::model::{delivered_time, is_accepted_time, is_semver, rfc3339};

/// One bound.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(in crate::document) struct Bound {
    /// What compares, if the text says it.
    pub(in crate::document) predicate: Option<&'static str>,
    pub(in crate::document) object: String,
    /// What a help has to say of the object.
    pub(in crate::document) doubt: Option<&'static str>,
}

impl Bound {
    fn new(object: impl Into<String>) -> Self {
        Self { predicate: None, object: object.into(), doubt: None }
    }

    /// Returns whether the text says that it is the upper bound.
    pub(in crate::document) fn is_upper(&self) -> bool {
        self.predicate.is_some_and(|predicate| predicate.starts_with('<'))
    }

    /// Returns whether the text says that it is the lower bound.
    fn is_lower(&self) -> bool {
        self.predicate.is_some_and(|predicate| predicate.starts_with('>'))
    }
}

/// Returns the bound that a text means in a condition of this type; none if it has no certain meaning.
pub(in crate::document) fn bound(kind: &str, text: &str) -> Option<Bound> {
    let text = text.trim();
    match kind {
        "number" if is_decimal(text) => Some(Bound::new(text)),
        "number" => match compared_number(text) {
            Some(ComparedObject::With(predicate, object)) if !matches!(predicate, "=" | "!=") => {
                Some(Bound { predicate: Some(predicate), ..Bound::new(object) })
            }
            Some(_) => None,
            None => {
                let number = almost_number(text).flatten().filter(|number| number.other.is_none());
                number.map(|number| number.number).or_else(|| full_number(text)).map(Bound::new)
            }
        },
        "semver" if is_semver(text) => Some(Bound::new(text)),
        "semver" => versions::complete(text).map(Bound::new),
        "datetime" if is_accepted_time(text) => Some(Bound::new(text)),
        "datetime" => {
            let time = time(text)?;
            let doubt = match (time.has_zone, time.has_fraction) {
                (false, _) => Some("the times are taken to be in UTC"),
                (true, true) => Some("times have whole seconds, so this drops the fraction"),
                (true, false) => None,
            };
            Some(Bound { doubt, ..Bound::new(rfc3339(time.seconds).replace('Z', "+00:00")) })
        }
        _ => None,
    }
}

/// What can stand between the bounds of a range. A sign that is a part of another one comes later.
const BETWEEN: &[&str] = &["...", "..", "…", "/", " to ", " TO ", " and ", " AND ", " – ", "–", " - ", ","];

/// Returns the bounds of a range in one text: `21-30`, `(21, 30]`, `21 <= x < 30`, `1.0.0 - 2.0.0`,
/// `2026-12-01/2026-12-24`. A bound has a predicate if the text says whether it is a part of the range.
pub(in crate::document) fn bounds(kind: &str, text: &str) -> Option<[Bound; 2]> {
    let text = text.trim();
    let text =
        ["between ", "BETWEEN ", "from "].iter().find_map(|word| text.strip_prefix(word)).unwrap_or(text);
    let compared = match kind {
        "number" => compared_number(text),
        "semver" => versions::compared(text),
        _ => None,
    };
    if let Some(ComparedObject::Range { low, high, is_open }) = compared {
        let [above, below] = if is_open { [Some(">="), Some("<")] } else { [None, None] };
        return Some([
            Bound { predicate: above, ..Bound::new(low) },
            Bound { predicate: below, ..Bound::new(high) },
        ]);
    }
    chain(kind, text)
        .or_else(|| interval(kind, text))
        .or_else(|| if kind == "number" { signed(text) } else { None })
        .or_else(|| BETWEEN.iter().find_map(|sign| divided(kind, text, sign)))
}

/// Returns the bounds on both sides of a sign.
fn divided(kind: &str, text: &str, sign: &str) -> Option<[Bound; 2]> {
    let (low, high) = text.split_once(sign)?;
    sorted([bound(kind, low)?, bound(kind, high)?])
}

/// Returns two bounds with the lower one first, as their predicates say; none if these are two of the same kind.
pub(in crate::document) fn sorted(bounds: [Bound; 2]) -> Option<[Bound; 2]> {
    let [one, other] = bounds;
    let [low, high] = if one.is_upper() || other.is_lower() { [other, one] } else { [one, other] };
    (!low.is_upper() && !high.is_lower()).then_some([low, high])
}

/// Returns the bounds of an interval: `(21, 30]`, `]21; 30]`, `[21, 30]`. In parentheses only, it may be a list.
fn interval(kind: &str, text: &str) -> Option<[Bound; 2]> {
    let first = text.chars().next().filter(|first| matches!(first, '[' | '(' | ']'))?;
    let last = text.chars().last().filter(|last| matches!(last, ']' | ')' | '['))?;
    let inner = text.strip_prefix(first)?.strip_suffix(last)?;
    let [mut low, mut high] =
        [";", ",", "...", "..", "…"].iter().find_map(|sign| divided(kind, inner, sign))?;
    let has_predicates = low.predicate.is_some() || high.predicate.is_some();
    let is_open = match (first, last) {
        _ if has_predicates => return Some([low, high]),
        ('(', ')') => return None,
        // A list is written in the same way.
        ('[', ']') => return Some([low, high]),
        _ => [first != '[', last != ']'],
    };
    let is_ordered = is_before(kind, &low.object, &high.object);
    if kind != "datetime" {
        low.predicate = Some(if is_open[0] { ">" } else { ">=" });
        high.predicate = Some(if is_open[1] { "<" } else { "<=" });
    }
    is_ordered.then_some([low, high])
}

/// Returns the bounds of a range of which one is negative: `-5-10`, `-5--1`.
fn signed(text: &str) -> Option<[Bound; 2]> {
    let ranges = text.match_indices('-').map(|(at, _)| (text[..at].trim(), text[at + 1..].trim()));
    let mut ranges = ranges.filter(|(low, high)| is_decimal(low) && is_decimal(high));
    let (low, high) = ranges.find(|(low, high)| is_before("number", low, high))?;
    Some([Bound::new(low), Bound::new(high)])
}

/// Returns the bounds in a text with two comparisons: `21 <= x < 30`, `>=21 <30`, `x >= 21 and x < 30`.
fn chain(kind: &str, text: &str) -> Option<[Bound; 2]> {
    if !matches!(kind, "number" | "semver") {
        return None;
    }
    let (before, first, rest) = compared_at(text)?;
    let (middle, second, after) = compared_at(rest)?;
    let one = |predicate, text: &str| {
        let bound = bound(kind, text).filter(|bound| bound.predicate.is_none())?;
        Some(Bound { predicate: Some(predicate), ..bound })
    };
    let is_name = |text: &str| {
        text.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
    };
    if is_name(middle) {
        let flipped = match first {
            "<" => ">",
            "<=" => ">=",
            ">" => "<",
            _ => "<=",
        };
        return sorted([one(flipped, before)?, one(second, after)?]);
    }
    if !before.is_empty() && !is_name(before) {
        return None;
    }
    let middle = middle.strip_suffix(before).map_or(middle, str::trim_end);
    let middle =
        ["and", "AND", "&&", ",", ";"].iter().find_map(|word| middle.strip_suffix(word)).unwrap_or(middle);
    sorted([one(first, middle)?, one(second, after)?])
}

/// Returns what is before the first comparison of a text, its predicate, and what is behind it.
fn compared_at(text: &str) -> Option<(&str, &'static str, &str)> {
    let at = text.find(['<', '>', '≤', '≥'])?;
    let (before, rest) = text.split_at(at);
    let signs = [("<=", "<="), (">=", ">="), ("≤", "<="), ("≥", ">="), ("<", "<"), (">", ">")];
    let (predicate, rest) =
        signs.into_iter().find_map(|(sign, predicate)| Some((predicate, rest.strip_prefix(sign)?)))?;
    Some((before.trim(), predicate, rest.trim()))
}

/// Returns whether one object of this type is certainly lower than another one.
pub(in crate::document) fn is_before(kind: &str, one: &str, other: &str) -> bool {
    fn is_lower<T: PartialOrd>(read: impl Fn(&str) -> Option<T>, one: &str, other: &str) -> bool {
        read(one).zip(read(other)).is_some_and(|(one, other)| one < other)
    }
    match kind {
        "number" => is_lower(|text| text.parse::<f64>().ok(), one, other),
        "semver" => is_lower(|text| text.parse::<semver::Version>().ok(), one, other),
        _ => is_lower(delivered_time, one, other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_in_one_text_has_two_bounds_or_none() {
        for (kind, text, expected) in [
            ("number", "21 AND 30", Some(" 21  30")),
            ("number", "BETWEEN 21 AND 30", Some(" 21  30")),
            ("number", "from 21 to 30", Some(" 21  30")),
            ("number", "21…30", Some(" 21  30")),
            ("number", "21 – 30", Some(" 21  30")),
            ("number", "-5-10", Some(" -5  10")),
            ("number", "-5--1", Some(" -5  -1")),
            ("number", "-5 - -1", Some(" -5  -1")),
            ("number", "1e-5-10", Some(" 1e-5  10")),
            ("number", "[21, 30]", Some(" 21  30")),
            ("number", "(21,30]", Some("> 21 <= 30")),
            ("number", "[21;30)", Some(">= 21 < 30")),
            ("number", "]21,30[", Some("> 21 < 30")),
            ("number", "(1,5; 2,5]", Some("> 1.5 <= 2.5")),
            ("number", "21 <= x < 30", Some(">= 21 < 30")),
            ("number", "30 >= age > 21", Some("> 21 <= 30")),
            ("number", ">=21 <30", Some(">= 21 < 30")),
            ("number", ">21, ≤30", Some("> 21 <= 30")),
            ("number", "<30 && >= 21", Some(">= 21 < 30")),
            ("number", "x >= 21 and x < 30", Some(">= 21 < 30")),
            ("number", "[>21, <=30]", Some("> 21 <= 30")),
            ("semver", ">1.2.0 <=2.0.0", Some("> 1.2.0 <= 2.0.0")),
            ("semver", "(1.2.0, 2.0.0]", Some("> 1.2.0 <= 2.0.0")),
            ("semver", "1.2.0 AND 2.0.0", Some(" 1.2.0  2.0.0")),
            // It could be a list.
            ("number", "(21, 30)", None),
            ("number", ">21 or <30", None),
            ("number", ">21 >30", None),
            ("number", "21 < 25 < 30", None),
            ("number", "(30, 21]", None),
            ("number", "10--5", None),
            ("number", "2024-12", None),
            ("number", "2026-12-01", None),
            ("number", "21:30", None),
            ("number", "21", None),
            ("number", "", None),
            ("datetime", "2026-12-01T09:00:00Z/P1M", None),
        ] {
            let found = bounds(kind, text).map(|both| {
                both.map(|one| format!("{} {}", one.predicate.unwrap_or_default(), one.object)).join(" ")
            });
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
