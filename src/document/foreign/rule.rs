//! Keys of a rule in the notation of another tool: what it serves, and whom it matches.

use super::condition::{compared_with, in_words, shorthand};
use super::names::{SHARES, first_of, meant_field, own_of, plain};
use super::serve::{needs, serve, shares};
use super::{ForeignKey, ReadVariations, UnknownKey};
use crate::document::check::quoted as in_backticks;
use crate::document::dialects;
use crate::document::keys::{RULE, is_known_key};
use crate::document::meant;
use crate::document::modifier;
use crate::document::node::{Node, NodeKind, is_null, scalar};
use crate::model::{closest, is_one_edit, listed, rfc3339};

/// Keys of segments.
pub(super) const SEGMENTS: &[&str] = &["segment", "segments", "segmentkey", "segmentkeys"];

/// Keys of the time from which something counts.
const START: &[&str] =
    &["from", "start", "starts", "startdate", "startsat", "starttime", "since", "notbefore", "activefrom"];

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

/// Keys of a rule with its conditions in a language of their own.
const EXPRESSIONS: &[&str] = &[
    "query",
    "expression",
    "expr",
    "script",
    "formula",
    "jsonlogic",
    "cel",
    "targeting",
    "properties",
    "audience",
    "audiences",
];

/// Keys of a rule that are about the rule, and not attributes of users.
const ABOUT_THE_RULE: &[&str] = &[
    "active",
    "archived",
    "bucketby",
    "comment",
    "comments",
    "contextkind",
    "createdat",
    "createdby",
    "deleted",
    "disable",
    "disabled",
    "enabled",
    "featurename",
    "generation",
    "hashattribute",
    "hashversion",
    "issue",
    "kind",
    "match",
    "matchtype",
    "note",
    "notes",
    "order",
    "owner",
    "owners",
    "parameters",
    "position",
    "priority",
    "rank",
    "ref",
    "rolloutcontextkind",
    "salt",
    "seed",
    "skip",
    "sortorder",
    "sticky",
    "stickiness",
    "tag",
    "tags",
    "ticket",
    "track",
    "trackevents",
    "updatedat",
    "updatedby",
    "uuid",
];

/// What a key says about when, or for whom, the rules beside it count.
pub(super) enum Restriction {
    /// The condition that says the same.
    Condition(String),
    /// Values of this attribute, in a form that could mean several conditions.
    Attribute(String),
    /// Conditions in another language.
    Expression,
    /// Segments that are not given by their keys.
    Segments,
    /// A time without a zone, or in another notation.
    Time,
    /// Keys of users, which no condition compares.
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
        let segment = || {
            Some(format!("type: segment, predicate: is in, objects: [{}]", compared_with(value, "is in")?))
        };
        let (condition, otherwise) = match plain {
            _ if SEGMENTS.contains(&plain) => (segment(), Self::Segments),
            _ if START.contains(&plain) => (time("after"), Self::Time),
            _ if END.contains(&plain) => (time("before"), Self::Time),
            _ if USERS.contains(&plain) => (None, Self::Users),
            _ => return None,
        };
        Some(condition.map_or(otherwise, Self::Condition))
    }

    /// Returns what a key of a rule means, which can be an attribute with its values.
    fn of_rule(name: &str, value: &Node, beside: &[(Node, Node)]) -> Option<Self> {
        let plain = plain(name);
        if let Some(found) = Self::of(&plain, value) {
            return Some(found);
        }
        if EXPRESSIONS.contains(&plain.as_str()) {
            return Some(Self::Expression);
        }
        if !is_attribute(name, beside) || !has_values(value) {
            return None;
        }
        Some(shorthand(name, value).map_or_else(|| Self::Attribute(name.to_owned()), Self::Condition))
    }

    /// Returns what to do where no condition says exactly the same.
    pub(super) fn words(&self) -> String {
        match self {
            Self::Attribute(name) => in_words(name),
            Self::Condition(condition) => format!("write the condition `{{ {condition} }}`"),
            Self::Expression => {
                "write each of its comparisons as a condition below `conditions`, with `type`, `subject`, `predicate` and \
                 `objects`"
                    .to_owned()
            }
            Self::Segments => {
                "write a condition of type `segment`, with the keys of the segments as `objects`".to_owned()
            }
            Self::Time => {
                "write a condition of type `datetime` on `subject: now`, and the time with its zone".to_owned()
            }
            Self::Users => {
                "it names users, and conditions compare attributes. Give these users an attribute, or a segment"
                    .to_owned()
            }
        }
    }
}

/// Returns whether a key of a rule is none of a document or of another tool.
fn is_attribute(name: &str, beside: &[(Node, Node)]) -> bool {
    let plain = plain(name);
    let is_there = |own: &str| beside.iter().any(|(key, _)| scalar(key) == Some(own));
    let is_of_others =
        ["a rule", "a condition", "`content`"].iter().any(|what| own_of(what, &plain).is_some());
    let is_misspelled = closest(name, RULE.iter().copied()).is_some()
        || RULE.iter().any(|own| !is_there(own) && is_one_edit(name, own));
    !is_of_others && !is_misspelled && !is_known_key(name) && !ABOUT_THE_RULE.contains(&plain.as_str())
}

/// Returns whether an attribute can be compared with a value: texts, or predicates with theirs.
fn has_values(value: &Node) -> bool {
    let is_text = |node: &Node| scalar(node).is_some_and(|text| !is_null(text));
    match &value.kind {
        NodeKind::Scalar(..) => is_text(value),
        NodeKind::Sequence(items) => !items.is_empty() && items.iter().all(is_text),
        NodeKind::Mapping(entries) => {
            let is_predicate =
                |key: &Node| scalar(key).is_some_and(|key| !dialects::other_types("", key).is_empty());
            !entries.is_empty() && entries.iter().all(|(key, _)| is_predicate(key))
        }
        NodeKind::Refused => false,
    }
}

/// Returns the help on a share of the users who get a variation.
fn both(share: &Node, chosen: &Node, variations: &ReadVariations) -> String {
    let help = match shares(share, Some(chosen), variations) {
        Some(split) => format!("write `serve: {{ split: {split} }}` instead of both{}", needs("split:")),
        None => variations.any_split(),
    };
    format!("one `serve` says both: {help}")
}

impl UnknownKey<'_> {
    /// Returns the serve that several keys of another tool mean, or one that can be something else as well.
    pub(super) fn in_rule(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        const SERVE: &[&str] = &["serve"];
        let is_serve = |name: &str| own_of("a rule", &plain(name)) == Some(&"serve");
        let names = || self.beside.iter().filter_map(|(key, value)| Some((scalar(key)?, value)));
        let is_share = |name: &str| SHARES.contains(&plain(name).as_str());
        match self.plain {
            "value" if !names().any(|(name, _)| name == "serve" || is_serve(name)) => {
                let help = format!("write `serve: {}` instead", serve(self.value, variations)?);
                return Some(ForeignKey { help, stands_for: SERVE });
            }
            "parameters" => return self.parameters(variations),
            _ if !is_serve(self.name) => return self.condition_of_rule(),
            _ => {}
        }
        // A variation, and how many users get it.
        let (share, share_value) = names().find(|(name, _)| is_share(name))?;
        let (choice, chosen) =
            names().find(|(name, _)| *name == "serve" || is_serve(name) && !is_share(name))?;
        // The other key has the help, or is right.
        let is_first = names().find(|(name, _)| *name == share || *name == choice && choice != "serve");
        let has_help = is_first.is_some_and(|(name, _)| name == self.name);
        let help = if has_help { both(share_value, chosen, variations) } else { String::new() };
        Some(ForeignKey { help, stands_for: SERVE })
    }

    /// Returns what the parameters of a strategy mean: a share of users, or their keys.
    fn parameters(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let NodeKind::Mapping(entries) = &self.value.kind else { return None };
        let part = |known: &[&str]| {
            let is_known = |key: &Node| scalar(key).is_some_and(|key| known.contains(&plain(key).as_str()));
            entries.iter().find(|(key, _)| is_known(key)).map(|(_, value)| value)
        };
        let Some(share) = part(SHARES) else {
            let users = part(USERS).map(|_| Restriction::Users)?;
            let help = format!("do not just remove it: {}", users.words());
            return Some(ForeignKey { help, stands_for: &["conditions"] });
        };
        let Some(chosen) = meant_field(self.beside, self.what, "serve") else {
            return Self { plain: "rollout", value: share, ..*self }.renamed(variations);
        };
        Some(ForeignKey::only(both(share, chosen, variations)))
    }

    /// Returns the condition that a key of a rule means: users in segments, a time, or an attribute with its values.
    fn condition_of_rule(&self) -> Option<ForeignKey> {
        let condition = match Restriction::of_rule(self.name, self.value, self.beside)? {
            Restriction::Condition(condition) => condition,
            other => {
                let help = format!("do not just remove it: {}", other.words());
                return Some(ForeignKey { help, stands_for: &["conditions"] });
            }
        };
        if self.has_conditions() {
            let help =
                format!("do not just remove it: write it below `conditions`, as `- {{ {condition} }}`");
            return Some(ForeignKey::only(help));
        }
        let help = match self.conditions() {
            // The first of several keys has the help on all of them.
            Some((names, _)) if names[0] != self.name => String::new(),
            Some((names, all)) => {
                format!("write `conditions: [{all}]` instead of {}", listed(&in_backticks(&names)))
            }
            None => format!("write `conditions: [{{ {condition} }}]` instead"),
        };
        Some(ForeignKey { help, stands_for: &["conditions"] })
    }

    /// Returns whether a rule has conditions, whatever other tools call them.
    fn has_conditions(&self) -> bool {
        let is_quantifier = |(key, value): &(Node, Node)| {
            let meant = scalar(key).and_then(|key| modifier::key(self.what, &plain(key), value, self.beside));
            meant.is_some_and(|meant| meant.stands_for.contains(&"conditions"))
        };
        let beside = first_of(self.beside);
        meant_field(beside, self.what, "conditions").is_some() || beside.iter().any(is_quantifier)
    }

    /// Returns the keys of a rule that mean a condition, and these conditions; none if this key is the only one.
    fn conditions(&self) -> Option<(Vec<&str>, String)> {
        /// A hostile rule can have any number of keys.
        const MOST_READ: usize = 20;
        let read = &self.beside[..self.beside.len().min(MOST_READ)];
        if !read.iter().any(|(key, _)| scalar(key) == Some(self.name)) {
            return None;
        }
        let all = read.iter().filter_map(|(key, value)| {
            let name = scalar(key).filter(|name| !RULE.contains(name))?;
            match Restriction::of_rule(name, value, self.beside)? {
                Restriction::Condition(condition) => Some((name, format!("{{ {condition} }}"))),
                _ => None,
            }
        });
        let (names, all): (Vec<&str>, Vec<String>) = all.unzip();
        (names.len() > 1).then(|| (names, all.join(", ")))
    }
}
