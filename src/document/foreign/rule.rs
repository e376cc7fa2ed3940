//! Keys of a rule in the notation of another tool: what it serves, and whom it matches.

use super::condition::shorthand;
use super::names::{SHARES, first_of, is_note, meant_field, own_of, plain};
use super::restriction::{Restriction, USERS};
use super::serve::{needs, serve, shares};
use super::{ForeignKey, ReadVariations, UnknownKey};
use crate::document::check::quoted as in_backticks;
use crate::document::dialects;
use crate::document::keys::{CONTENT, RULE, SERVE, is_known_key};
use crate::document::meant;
use crate::document::modifier::{self, truth_of};
use crate::document::node::{Node, NodeKind, Style, field, is_null, scalar};
use crate::model::{closest, is_one_edit, listed};

/// Keys of a rule with its conditions in a language of their own.
pub(super) const EXPRESSIONS: &[&str] = &[
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

/// Keys of a rule that are about the rule, and not attributes of users, besides notes.
const ABOUT_THE_RULE: &[&str] = &[
    "active",
    "bucketby",
    "deleted",
    "disable",
    "disabled",
    "enabled",
    "featurename",
    "hashattribute",
    "hashversion",
    "kind",
    "match",
    "matchtype",
    "order",
    "parameters",
    "position",
    "priority",
    "rank",
    "rolloutcontextkind",
    "salt",
    "seed",
    "skip",
    "sortorder",
    "sticky",
    "stickiness",
];

impl Restriction {
    /// Returns what a key of a rule means, which can be an attribute with its values.
    fn of_rule(name: &str, value: &Node, beside: &[(Node, Node)]) -> Option<Self> {
        let plain = plain(name);
        if let Some(found) = Self::of(&plain, value) {
            return Some(found);
        }
        if EXPRESSIONS.contains(&plain.as_str()) {
            return Some(Self::Expression);
        }
        // Here, it says whether the rule is in use; in a condition, it is a part of a country.
        if matches!(plain.as_str(), "state" | "status") {
            return Some(Self::Setting);
        }
        if own_of("a rule", &plain).is_some() {
            return None;
        }
        if let Some(found) = Self::of_key(name, value) {
            return Some(found);
        }
        let is_attribute = is_attribute(name, beside);
        match is_attribute && has_values(value) {
            true => Some(shorthand(name, value).map_or(Self::Attribute(name.to_owned()), Self::Condition)),
            // Its keys may be attributes.
            false => (is_attribute && matches!(value.kind, NodeKind::Mapping(_) | NodeKind::Sequence(_)))
                .then_some(Self::Unknown),
        }
    }
}

fn is_about_the_rule(plain: &str) -> bool {
    ABOUT_THE_RULE.contains(&plain) || is_note("a rule", plain)
}

/// Returns whether a key of a rule is none of a document or of another tool.
fn is_attribute(name: &str, beside: &[(Node, Node)]) -> bool {
    let plain = plain(name);
    let is_there = |own: &str| beside.iter().any(|(key, _)| scalar(key) == Some(own));
    let is_of_others =
        ["a rule", "a condition", "`content`"].iter().any(|what| own_of(what, &plain).is_some());
    let is_misspelled = closest(name, RULE.iter().copied()).is_some()
        || RULE.iter().any(|own| !is_there(own) && is_one_edit(name, own));
    !is_of_others && !is_misspelled && !is_known_key(name) && !is_about_the_rule(&plain)
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

/// Returns the serve that the value of a key means which no table has: a variation, or shares of variations by name.
fn result(name: &str, value: &Node, variations: &ReadVariations) -> Option<String> {
    let plain = plain(name);
    let is_of_others = ["a rule", "a condition"].iter().any(|what| own_of(what, &plain).is_some())
        || own_of("`content`", &plain).is_some_and(|own| own.ends_with("Serve"));
    let is_own = RULE.contains(&name) || CONTENT.contains(&name) && name != "variations";
    if is_of_others || is_own || is_about_the_rule(&plain) || EXPRESSIONS.contains(&plain.as_str()) {
        return None;
    }
    let one = match &value.kind {
        NodeKind::Sequence(items) if items.len() == 1 => &items[0],
        _ => value,
    };
    match &one.kind {
        NodeKind::Scalar(text, Style::Plain) if plain.ends_with("index") => {
            let index = text.parse::<usize>().ok().filter(|index| *index < variations.names.len())?;
            Some(format!("{{ {} }}", variations.choice(index)))
        }
        // The name of a variation that is a truth value can be a switch: `on: true`.
        NodeKind::Scalar(text, _) if variations.has(name) && truth_of(text) == Some(true) => {
            Some(format!("{{ {} }}", variations.choice(variations.names.iter().position(|own| own == name)?)))
        }
        NodeKind::Scalar(text, _) => {
            let is_serve = variations.has(text)
                && (plain == "state" || Restriction::of_key(name, value).is_none())
                && modifier::key("a rule", &plain, value, &[]).is_none_or(|_| plain == "state");
            is_serve.then(|| serve(one, variations)).flatten()
        }
        NodeKind::Mapping(entries)
            if entries.len() == 1 && SERVE.iter().any(|own| field(entries, own).is_some()) =>
        {
            serve(one, variations)
        }
        NodeKind::Mapping(entries) => {
            let is_named = |(key, _): &(Node, Node)| scalar(key).is_some_and(|name| variations.has(name));
            let is_split = entries.len() > 1 && first_of(entries).iter().all(is_named);
            let split = is_split.then(|| meant::split(one, &variations.names)).flatten()?;
            Some(format!("{{ split: {split} }}"))
        }
        NodeKind::Refused | NodeKind::Sequence(_) => None,
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
    /// Returns the serve of a rule without one that a key means whose value names a variation, or that is the name of one
    /// with its share: whatever another tool calls it, this is what the rule serves.
    pub(super) fn serve_of_rule(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        const SERVE: &[&str] = &["serve"];
        if self.what != "a rule" || variations.names.is_empty() {
            return None;
        }
        let beside = first_of(self.beside);
        let is_named = |name: &str| {
            name == "serve" || name == "value" || own_of("a rule", &plain(name)) == Some(&"serve")
        };
        if beside.iter().any(|(key, _)| scalar(key).is_some_and(is_named)) {
            return None;
        }
        // `"on": 10` and `"off": 90`
        let is_share = |(key, value): &&(Node, Node)| {
            let is_share = meant::only_share(value).is_some() && scalar(value).is_some();
            scalar(key).is_some_and(|name| !RULE.contains(&name) && variations.has(name)) && is_share
        };
        let all: Vec<(Node, Node)> = beside.iter().filter(is_share).cloned().collect();
        if let Some((first, share)) = all.first() {
            if !all.iter().any(|(key, _)| scalar(key) == Some(self.name)) {
                return None;
            }
            let is_first = scalar(first) == Some(self.name);
            let mapping = Node { kind: NodeKind::Mapping(all.clone()), ..share.clone() };
            let help = match (is_first, all.len()) {
                (false, _) => String::new(),
                (true, 1) => {
                    format!("a rule has this in its `serve`: {}", variations.rollout(share, Some(first)))
                }
                (true, _) => match meant::split(&mapping, &variations.names) {
                    Some(split) => {
                        let serve = format!("{{ split: {split} }}");
                        let keys: Vec<&str> = all.iter().filter_map(|(key, _)| scalar(key)).collect();
                        format!(
                            "write `serve: {serve}` instead of {}{}",
                            listed(&in_backticks(&keys)),
                            needs(&serve)
                        )
                    }
                    None => variations.any_split(),
                },
            };
            return Some(ForeignKey { help, stands_for: SERVE });
        }
        let serve = result(self.name, self.value, variations)?;
        let others = beside
            .iter()
            .filter(|(key, value)| scalar(key).is_some_and(|name| result(name, value, variations).is_some()));
        let help = match others.count() {
            1 => format!("write `serve: {serve}` instead{}", needs(&serve)),
            _ => "write `serve` instead, with the variation to serve: more than one key here names one"
                .to_owned(),
        };
        Some(ForeignKey { help, stands_for: SERVE })
    }

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
