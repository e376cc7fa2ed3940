//! What an author meant by a key or a value in the notation of another tool: Unleash, LaunchDarkly, GO Feature
//! Flag, Flipt and flagd.
//!
//! A key of another tool stands for one of a document, which is then not missing as well. An author who followed both
//! helps would get, for example, a rule without its conditions.

mod condition;
mod content;
mod expectation;
mod expression;
mod list;
pub(super) mod names;
mod place;
mod prerequisite;
mod renamed;
mod restriction;
mod rule;
mod serve;
mod unexplained;

pub(super) use condition::{missing_type, object, share, takes, types, values};
pub(super) use content::{has_switch, in_content, repeated_part};
pub(super) use expectation::{attributes, is_compared, nested_user};
pub(super) use expression::{condition_of, variable};
pub(super) use list::{list_of, not_a_list};
pub(super) use place::{Misplaced, expectations, is_in_items, wrapped};
pub(super) use prerequisite::{missing_return_type, missing_value, one_value};
pub(super) use serve::{
    ReadVariations, bare_split, chosen, missing_in_variation, not_a_serve, select, variation,
};
pub(super) use unexplained::{is_named, is_note, loss, missing_beside};

use self::condition::{comparison, segment};
use self::expression::logic;
use self::names::{SEGMENTS, SHARES, meant_field, own_of, plain};
use self::prerequisite::prerequisite;
use self::restriction::Restriction;
use super::finding::shown;
use super::keys::{PREREQUISITE, SIMPLE_CONDITION};
use super::modifier::{self, truth, truth_of};
use super::node::{Node, NodeKind, field, quoted, scalar};

/// What an unknown key means.
pub(super) struct ForeignKey {
    /// Empty if another key of its mapping has the help on both.
    pub(super) help: String,
    /// The keys in whose place it stands.
    pub(super) stands_for: &'static [&'static str],
}

impl ForeignKey {
    /// Returns whether the help says all that the key means.
    pub(super) fn is_certain(&self) -> bool {
        !self.help.starts_with("do not just")
    }

    /// Returns the help on a key that stands for no other.
    pub(super) fn only(help: impl Into<String>) -> Self {
        Self { help: help.into(), stands_for: &[] }
    }
}

/// Returns what the unknown key `name` of `what` means. `beside` has all entries of its mapping.
pub(super) fn key(
    what: &str,
    name: &str,
    value: &Node,
    beside: &[(Node, Node)],
    variations: &ReadVariations,
) -> Option<ForeignKey> {
    let plain = plain(name);
    let key = UnknownKey { what, name, plain: &plain, value, beside };
    key.serve_of_rule(variations)
        .or_else(|| modifier::key(what, &plain, value, beside))
        .or_else(|| key.beside_list(variations))
        .or_else(|| match what {
            "`content`" if plain == "disabled" => {
                Some(ForeignKey::only("write it beside `content`, not below"))
            }
            "`content`" => key.of_rules_in_content(variations),
            "a condition" => key.in_condition(variations),
            "a document" => key.in_document(variations),
            "a prerequisite" => key.in_prerequisite(),
            "a serve" => key.in_serve(variations),
            "a variation" => key.in_variation(variations),
            "an expectation" => key.in_expectation(variations),
            "a rule" => key.in_rule(variations),
            _ => None,
        })
        .or_else(|| key.renamed(variations))
}

/// A key that `what` does not have, with its value and all entries of its mapping.
#[derive(Clone, Copy)]
struct UnknownKey<'a> {
    what: &'a str,
    name: &'a str,
    /// The name in lower case, without `_` and `-`.
    plain: &'a str,
    value: &'a Node,
    beside: &'a [(Node, Node)],
}

impl UnknownKey<'_> {
    /// Returns the `disabled` that a switch of the whole toggle means, or the part of `content` that a key is.
    fn in_document(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let is_misspelled = matches!(self.plain, "disabled" | "disable");
        let switch = || content::switch(self.what, self.name, self.value, field(self.beside, "disabled"));
        if is_misspelled { None } else { switch() }.or_else(|| self.below_content(variations))
    }

    fn in_condition(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        match self.plain {
            "fractional" | "percentage" | "percent" | "rollout" | "rolloutpercentage" | "split" => {
                let help = format!(
                    "a rule has this in its `serve`, not in a condition: {}",
                    variations.rollout(self.value, None)
                );
                let is_alone = self.beside.len() == 1;
                let stands_for = if is_alone { SIMPLE_CONDITION } else { &[] };
                Some(ForeignKey { help, stands_for })
            }
            "serve" | "conditions" => Some(ForeignKey::only("write it beside `conditions`, not below")),
            _ if SEGMENTS.contains(&self.plain) => {
                segment(self.value, self.beside).or_else(|| self.restriction())
            }
            _ => self
                .logic()
                .or_else(|| self.restriction())
                .or_else(|| comparison(self.name, self.plain, self.value, self.beside))
                .or_else(|| self.boolean())
                .or_else(|| self.beside_condition()),
        }
    }

    /// Returns what the only key of a condition means that is more than the name of an attribute.
    fn restriction(&self) -> Option<ForeignKey> {
        let is_list = matches!(self.value.kind, NodeKind::Sequence(_));
        let is_part = own_of(self.what, self.plain).is_some() && (self.plain != "key" || is_list);
        if self.beside.len() != 1 || is_part {
            return None;
        }
        let help = match Restriction::of_key(self.name, self.value)? {
            Restriction::Condition(condition) => format!("write `{condition}`"),
            other => format!("do not just remove it: {}", other.words()),
        };
        Some(ForeignKey { help, stands_for: SIMPLE_CONDITION })
    }

    /// Returns the help on a key beside those of a condition that changes whom it matches, and has no form in it.
    fn beside_condition(&self) -> Option<ForeignKey> {
        if self.beside.len() == 1 || own_of(self.what, self.plain).is_some() {
            return None;
        }
        let found = Restriction::of_key(self.name, self.value)?;
        let is_certain = matches!(
            found,
            Restriction::Negation | Restriction::Setting | Restriction::Share | Restriction::Users
        );
        is_certain.then(|| ForeignKey::only(format!("do not just remove it: {}", found.words())))
    }

    /// Returns the condition that a key of JsonLogic means.
    fn logic(&self) -> Option<ForeignKey> {
        let help = logic(self.name, self.value).filter(|_| self.beside.len() == 1)?;
        Some(ForeignKey { help, stands_for: SIMPLE_CONDITION })
    }

    /// Returns the comparison that a boolean in place of a predicate means, as Flipt has it.
    fn boolean(&self) -> Option<ForeignKey> {
        let is_predicate = own_of(self.what, self.plain) == Some(&"predicate");
        let value = scalar(self.value).filter(|word| is_predicate && matches!(*word, "true" | "false"))?;
        let has = |own| meant_field(self.beside, self.what, own).is_some();
        let is_alone = field(self.beside, "predicate").is_none() && !has("objects");
        is_alone.then(|| {
            let help = format!("write `predicate: is one of, objects: [\"{value}\"]` instead");
            ForeignKey { help, stands_for: &["predicate", "objects"] }
        })
    }

    fn in_variation(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        match self.plain {
            "weight" | "percentage" | "percent" | "share" | "rollout" => {
                let help = format!(
                    "remove it: rules and `defaultServe` have the shares ({})",
                    variations.any_split()
                );
                Some(ForeignKey::only(help))
            }
            "default" | "isdefault" => {
                let help = "remove it: `defaultServe` names the variation for everyone whom no rule matches";
                Some(ForeignKey::only(help))
            }
            // The key can be the name of the variation: `{ green: "#0f0" }`.
            _ if self.beside.len() == 1 && own_of(self.what, self.plain).is_none() => {
                let (name, value) = (quoted(&shown(self.name)), quoted(&shown(scalar(self.value)?)));
                let help = format!("write `name: {name}, value: {value}`");
                Some(ForeignKey { help, stands_for: &["name", "value"] })
            }
            _ => None,
        }
    }

    fn in_prerequisite(&self) -> Option<ForeignKey> {
        match self.plain {
            "variation" | "variant" | "variations" | "variants" | "serves" | "serve" | "returns" => {
                self.variation_of_prerequisite()
            }
            _ => self.toggle_of_prerequisite().or_else(|| self.value_of_prerequisite()),
        }
    }

    /// Returns the help on the only key of a prerequisite, which can be that of the other toggle: `{ feature: true }`.
    fn toggle_of_prerequisite(&self) -> Option<ForeignKey> {
        let is_toggle = own_of(self.what, self.plain).is_none() || truth(self.value).is_some();
        let is_alone = is_toggle && self.beside.len() == 1;
        let (written, otherwise) = prerequisite(self.name, Some(scalar(self.value).filter(|_| is_alone)?));
        Some(ForeignKey { help: format!("write `{written}`{otherwise}"), stands_for: PREREQUISITE })
    }

    /// Returns the help on a key of a prerequisite without value that no table has: it may say what is its value.
    fn value_of_prerequisite(&self) -> Option<ForeignKey> {
        let is_missing = |own| meant_field(self.beside, self.what, own).is_none();
        if own_of(self.what, self.plain).is_some()
            || names::is_note(self.what, self.plain)
            || !is_missing("value")
        {
            return None;
        }
        let kind = if is_missing("type") { ", and its type as `type: …`" } else { "" };
        Some(ForeignKey {
            help: format!(
                "do not just remove it: write what the other toggle must serve as `value: …`{kind}"
            ),
            stands_for: &["value", "type"],
        })
    }

    /// Returns the help on a variation of the other toggle, of which a document names the value.
    fn variation_of_prerequisite(&self) -> Option<ForeignKey> {
        if let Some(help) = self.kept("value") {
            return Some(ForeignKey::only(help));
        }
        let word = scalar(self.value.alone());
        // A wrong value would reverse the prerequisite.
        if let Some(is_on) = word.and_then(truth_of) {
            return modifier::value_if(is_on, self.beside);
        }
        let of = word.map(|word| format!(" `{}`", shown(word))).unwrap_or_default();
        let help = format!(
            "write `value` instead, with the value of the variation{of} of that toggle, and its `type`"
        );
        Some(ForeignKey { help, stands_for: &["value", "type"] })
    }

    fn in_serve(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let is_set = self.value.is_null() || truth(self.value) == Some(true);
        let help = match self.plain {
            _ if variations.has(self.name) && is_set => {
                format!("write `variation: {}`", quoted(&shown(self.name)))
            }
            "variations" => {
                let name = scalar(self.value).filter(|name| variations.has(name))?;
                format!("write `variation: {}` instead", quoted(&shown(name)))
            }
            "value" => match scalar(self.value).and_then(|text| variations.with_value(text)) {
                Some(index) => format!("write `{}` instead", variations.choice(index)),
                None => format!("write `variation` instead, with the name of one{}", variations.beginning()),
            },
            _ if self.is_rule_within() => {
                "do not just remove it: a serve has no conditions. Write a rule with its `conditions`, and with what it \
                 serves"
                    .to_owned()
            }
            _ if SHARES.contains(&self.plain) => {
                let chosen = chosen(self.beside);
                let both = if chosen.is_some() { "one `split` says both: " } else { "" };
                format!("{both}{}", variations.rollout(self.value, chosen))
            }
            _ => return None,
        };
        Some(ForeignKey::only(help))
    }

    /// Returns whether a key of a serve says who is served it, or when, or what others are.
    fn is_rule_within(&self) -> bool {
        let is_own = own_of(self.what, self.plain).is_some();
        let is_other = own_of("`content`", self.plain).is_some_and(|own| own.ends_with("Serve"));
        !is_own
            && (own_of("a rule", self.plain) == Some(&"conditions")
                || self.name == "conditions"
                || rule::EXPRESSIONS.contains(&self.plain)
                || is_other && own_of("a rule", self.plain).is_none()
                || matches!(
                    Restriction::of_key(self.name, self.value),
                    Some(
                        Restriction::Condition(_)
                            | Restriction::Negation
                            | Restriction::Segments
                            | Restriction::Setting
                            | Restriction::Time
                            | Restriction::Users
                    )
                ))
    }
}
