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

/// Returns the bounds of a range in one text: `21-30`, `1.0.0 - 2.0.0`, `2026-12-01/2026-12-24`.
pub(in crate::document) fn bounds(kind: &str, text: &str) -> Option<[Bound; 2]> {
    let compared = match kind {
        "number" => compared_number(text),
        "semver" => versions::compared(text.trim()),
        _ => None,
    };
    if let Some(ComparedObject::Range { low, high, is_open }) = compared {
        let above = Bound { predicate: Some(">="), ..Bound::new(low) };
        let below = Bound { predicate: Some(if is_open { "<" } else { "<=" }), ..Bound::new(high) };
        return Some([above, below]);
    }
    ["...", "..", "/", " to ", " and ", " – ", " - ", ","].into_iter().find_map(|sign| {
        let inner = text.trim().trim_matches(['[', ']', '(', ')']);
        let (low, high) = inner.split_once(sign)?;
        Some([bound(kind, low)?, bound(kind, high)?])
    })
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
