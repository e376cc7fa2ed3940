//! What a key with values says besides the name of an attribute: a time, users, segments, a negation or a comparison.

use super::condition::{compared_with, in_words, is_plain, is_unquoted};
use super::expression::{compared_key, items};
use super::names::{SEGMENTS, SHARES, plain};
use crate::document::dialects;
use crate::document::meant;
use crate::document::modifier::truth_of;
use crate::document::node::{Node, is_null, scalar};
use crate::model::rfc3339;

/// Keys of the time from which something counts.
const START: &[&str] = &[
    "from",
    "start",
    "starts",
    "startdate",
    "startsat",
    "starttime",
    "since",
    "notbefore",
    "activefrom",
    "after",
    "validfrom",
    "validafter",
    "validsince",
];

/// Keys of the time until which something counts.
const END: &[&str] = &[
    "expires",
    "expiresat",
    "expiry",
    "expirydate",
    "expirationdate",
    "until",
    "to",
    "end",
    "ends",
    "enddate",
    "endsat",
    "endtime",
    "notafter",
    "activeuntil",
    "before",
    "validto",
    "validuntil",
    "validbefore",
];

/// Keys with the keys of users.
pub(super) const USERS: &[&str] = &[
    "user",
    "users",
    "userid",
    "userids",
    "targetingkey",
    "targets",
    "usertargets",
    "contexttargets",
    "individualtargets",
    "allowlist",
    "whitelist",
    "denylist",
    "blocklist",
    "blacklist",
];

/// Keys whose values say when, in forms that no condition has.
const TIMES: &[&str] = &[
    "now",
    "date",
    "dates",
    "time",
    "times",
    "datetime",
    "timestamp",
    "today",
    "day",
    "days",
    "weekday",
    "weekdays",
    "hour",
    "hours",
    "cron",
    "calendar",
    "period",
    "timewindow",
    "window",
    "timerange",
    "daterange",
    "schedule",
    "schedules",
    "valid",
    "validity",
];

/// Keys with which other tools change how conditions are compared, or whose attributes these have.
const SETTINGS: &[&str] = &[
    "all",
    "any",
    "combine",
    "combination",
    "context",
    "contextkind",
    "contextkinds",
    "contexts",
    "missing",
    "missingsome",
    "mode",
    "quantifier",
    "some",
];

/// Words in a key that deny what follows.
const DENYING: &[&str] = &[
    "arent",
    "doesnt",
    "except",
    "exception",
    "exceptions",
    "exclude",
    "excluded",
    "excludes",
    "excluding",
    "exclusion",
    "exclusions",
    "isnt",
    "ne",
    "neq",
    "never",
    "nin",
    "non",
    "none",
    "nor",
    "not",
    "unless",
    "without",
];

/// Words that deny the values of a key, unless its value says whether: `isBlocked: true`.
const BLOCKING: &[&str] = &[
    "ban",
    "banned",
    "block",
    "blocked",
    "denied",
    "deny",
    "disallow",
    "disallowed",
    "forbidden",
    "ignored",
    "no",
];

/// Words that compare, before an attribute.
const COMPARING: &[&str] = &["above", "below", "max", "maximum", "min", "minimum", "over", "under"];

/// What a key says about when, or for whom, what is beside it counts.
pub(super) enum Restriction {
    /// Values of this attribute, in a form that could mean several conditions.
    Attribute(String),
    /// A comparison that no condition has in this form.
    Comparison,
    /// The condition that says the same.
    Condition(String),
    /// Conditions in another language.
    Expression,
    /// Values that are not meant.
    Negation,
    Segments,
    /// How conditions are compared.
    Setting,
    /// A share of users.
    Share,
    Time,
    /// Parts that may be conditions.
    Unknown,
    Users,
}

impl Restriction {
    /// Returns what a key means that has a time, users or segments, whatever is beside it.
    pub(super) fn of(plain: &str, value: &Node) -> Option<Self> {
        let time = |predicate: &str| {
            let time = meant::time(scalar(value)?).filter(|time| time.has_zone && !time.has_fraction)?;
            let time = rfc3339(time.seconds).replace('Z', "+00:00");
            Some(format!("type: datetime, subject: now, predicate: {predicate}, objects: [\"{time}\"]"))
        };
        let segment = |predicate: &str| {
            let objects = compared_with(value, "is in")
                .filter(|_| items(value).iter().filter_map(scalar).all(is_plain))?;
            Some(format!("type: segment, predicate: {predicate}, objects: [{objects}]"))
        };
        let (condition, otherwise) = match plain {
            _ if START.contains(&plain) => (time("after"), Self::Time),
            _ if END.contains(&plain) => (time("before"), Self::Time),
            _ if USERS.contains(&plain) => (None, Self::Users),
            _ => (segment(of_segments(plain)?), Self::Segments),
        };
        Some(condition.map_or(otherwise, Self::Condition))
    }

    /// Returns what a key with values means that is more than an attribute; none if it is one. What is not evident is none
    /// of the conditions, because one that looks right and matches others is worse than none.
    pub(super) fn of_key(name: &str, value: &Node) -> Option<Self> {
        let plain = plain(name);
        if let Some(found) = Self::of(&plain, value) {
            return Some(found);
        }
        // A boolean is not compared.
        let text = scalar(value).filter(|text| !is_null(text));
        let is_switch = text.is_some_and(|text| truth_of(text).is_some() && is_unquoted(value));
        let is_number = || text.is_some_and(|text| text.trim_end_matches('%').trim().parse::<f64>().is_ok());
        if let Some(condition) = compared_key(name, value) {
            return Some(Self::Condition(condition));
        }
        let words = words(name);
        let word = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
        let denies =
            ["except", "exclude", "unless", "without", "!"].iter().any(|sign| plain.starts_with(sign));
        if denies || word(DENYING) || !is_switch && word(BLOCKING) {
            return Some(Self::Negation);
        }
        if matches!(plain.as_str(), "id" | "key") && text.is_some() {
            return Some(Self::Users);
        }
        if TIMES.contains(&plain.as_str()) || plain.starts_with("schedule") {
            return Some(Self::Time);
        }
        if (SHARES.contains(&plain.as_str()) || plain.contains("percent")) && is_number() {
            return Some(Self::Share);
        }
        if SETTINGS.contains(&plain.as_str()) {
            return Some(Self::Setting);
        }
        let is_compared = || {
            words.first().is_some_and(|word| COMPARING.contains(&word.as_str()))
                || (0..words.len()).any(|at| is_comparison(&words[at..].concat()))
        };
        let has_sign = name.contains(['=', '<', '>', '~', '≠', '≤', '≥', '^', '*', '%', '|', '&', '!', '+']);
        (has_sign || !is_switch && is_compared()).then_some(Self::Comparison)
    }

    /// Returns what to do where no condition says exactly the same.
    pub(super) fn words(&self) -> String {
        let words = match self {
            Self::Attribute(name) => return in_words(name),
            Self::Condition(condition) => return format!("write the condition `{{ {condition} }}`"),
            Self::Comparison => {
                "it compares as well as names. Write a condition with the attribute as `subject`, and the comparison as \
                 `predicate`"
            }
            Self::Expression => {
                "write each of its comparisons as a condition below `conditions`, with `type`, `subject`, `predicate` and \
                 `objects`"
            }
            Self::Negation => {
                "it says who is not meant. Write conditions with the predicates that say the opposite, such as `is not any of`"
            }
            Self::Segments => {
                "write a condition of type `segment`, with the keys of the segments as `objects`"
            }
            Self::Setting => {
                "it can change whom a rule matches, and only `conditions` do so here, all of which must match"
            }
            Self::Share => "it is a share of users, which a rule has in its `serve`, as a `split`",
            Self::Time => {
                "write a condition of type `datetime` on `subject: now`, and the time with its zone"
            }
            Self::Unknown => {
                "if it says whom the rule matches, or when, write this as `conditions`; a rule has `name`, `serve` and \
                 `conditions`"
            }
            Self::Users => {
                "it names users, and conditions compare attributes. Give these users an attribute, or a segment"
            }
        };
        words.to_owned()
    }
}

/// Returns the other words of a key in lower case if one of them denies what follows.
pub(super) fn undenied(name: &str) -> Option<Vec<String>> {
    let (denying, others): (Vec<_>, Vec<_>) =
        words(name).into_iter().partition(|word| DENYING.contains(&word.as_str()));
    (!denying.is_empty()).then_some(others)
}

/// Returns the predicate of a key in lower case, without `_` and `-`, that names segments.
fn of_segments(plain: &str) -> Option<&'static str> {
    const DENIED: &[&str] = &["!", "not ", "not", "excluded", "excludes", "exclude", "without"];
    if SEGMENTS.contains(&plain) {
        return Some("is in");
    }
    let mut denied = DENIED.iter().filter_map(|sign| plain.strip_prefix(sign));
    if denied.any(|denied| SEGMENTS.contains(&denied.trim())) {
        return Some("is not in");
    }
    plain.contains("segment").then(|| dialects::exact("segment", plain)).flatten()
}

/// Returns whether a word in lower case is a predicate elsewhere.
fn is_comparison(word: &str) -> bool {
    word == "to" || !dialects::other_types("", word).is_empty()
}

/// Returns the words of a key in lower case: `not`, `Country` of `notCountry`.
pub(super) fn words(name: &str) -> Vec<String> {
    /// A longer key is that of a hostile document.
    const MOST_READ: usize = 100;
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars().take(MOST_READ) {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        was_lower = c.is_lowercase() || c.is_numeric();
        if c.is_alphanumeric()
            && let Some(word) = words.last_mut()
        {
            word.extend(c.to_lowercase());
        }
    }
    words.retain(|word| !word.is_empty());
    words
}
