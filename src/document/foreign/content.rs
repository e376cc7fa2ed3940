//! Keys of `content`, and those that belong there or beside it, in the notation of another tool.

use super::names::{OF_A_DISABLED_TOGGLE, OF_EVERYONE_ELSE, first_of, is_note, meant_field, own_of, plain};
use super::restriction::{Restriction, words};
use super::serve::{needs, serve};
use super::{ForeignKey, ReadVariations, UnknownKey};
use crate::document::finding::shown;
use crate::document::keys::{CONTENT, PREREQUISITE, RULE, SERVE, SIMPLE_CONDITION, VARIATION};
use crate::document::modifier::{is_on, is_switch, truth};
use crate::document::node::{Node, NodeKind, Style, field, scalar};
use crate::model::closest;

/// Keys that change what is served at some time.
const SCHEDULES: &[&str] = &[
    "schedule",
    "schedules",
    "scheduledrollout",
    "scheduledrollouts",
    "scheduledchange",
    "scheduledchanges",
    "progressiverollout",
    "rolloutschedule",
    "releaseplan",
    "experiment",
    "experiments",
    "experimentation",
    "experimentationrollout",
];

/// The heading of the guide to rules that count from a time on.
const PAGE: &str = "Schedules and staged rollouts";

/// Keys that serve some users otherwise, in forms that no condition has.
const OVERRIDES: &[&str] =
    &["override", "overrides", "audience", "audiences", "exceptions", "forcedvariations"];

impl UnknownKey<'_> {
    /// Returns what a key of `content` means that decides who is served what, or when: a part of a rule.
    pub(super) fn of_rules_in_content(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        const RULES: &[&str] = &["rules"];
        let rule = own_of("a rule", self.plain);
        let help = match Restriction::of(self.plain, self.value) {
            Some(Restriction::Condition(condition)) => format!(
                "do not just remove it: write the condition `{{ {condition} }}` into each rule that it is about, or a rule \
                 with it"
            ),
            Some(found @ Restriction::Users) => {
                format!("do not just remove it: {}, and write a rule for them", found.words())
            }
            Some(found) => format!("do not just remove it: in a rule, {}", found.words()),
            None if SCHEDULES.contains(&self.plain) => format!(
                "do not just remove it: it decides when users are served what, and rules do so here, with conditions of type \
                 `datetime` on `subject: now`. `examples/README.md` has this as *{PAGE}*"
            ),
            None if OVERRIDES.contains(&self.plain) => {
                "do not just remove it: it decides who is served what, and rules do so here. Write a rule for these users"
                    .to_owned()
            }
            None if self.name == "conditions" || rule == Some(&"conditions") => self.conditions_of_content()?,
            // It belongs to the same rule.
            None if (RULE.contains(&self.name) || rule == Some(&"serve")) && self.is_of_a_rule() => String::new(),
            None if matches!(self.plain, "variation" | "variant") && scalar(self.value).is_some() => {
                return Self { plain: "serve", ..*self }.renamed(variations);
            }
            None => return None,
        };
        Some(ForeignKey { help, stands_for: RULES })
    }

    /// Returns the serve that a key of `content` means whose value names a variation, whatever another tool calls it: that
    /// which the name of the key tells, or else the only one that is missing.
    fn serve_of_content(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        const BOTH: &[&str] = &["defaultServe", "disabledServe"];
        /// Each is compared with all variations.
        const MOST_COMPARED: usize = 20;
        let serve = self.serve_written(variations)?;
        let beside = first_of(self.beside);
        let others: Vec<Option<&str>> = beside
            .iter()
            .take(MOST_COMPARED)
            .filter_map(|(key, value)| Some((scalar(key)?, value)))
            .filter(|(name, _)| *name != self.name)
            .filter_map(|(name, value)| {
                let key = UnknownKey { name, plain: &plain(name), value, ..*self };
                key.serve_written(variations).map(|_| told(name))
            })
            .collect();
        let is_missing =
            |own: &&&str| meant_field(beside, self.what, own).is_none() && !others.contains(&Some(**own));
        let missing: Vec<&&str> = BOTH.iter().filter(is_missing).collect();
        let told = told(self.name);
        let own = match (told, missing.as_slice()) {
            (Some(told), _) => BOTH.iter().find(|own| **own == told)?,
            (None, [own]) => own,
            (None, []) => return None,
            (None, _) => {
                let help = "write it as `defaultServe: …` or as `disabledServe: …`, whichever it means, and add the other";
                return Some(ForeignKey { help: help.to_owned(), stands_for: BOTH });
            }
        };
        if let Some(help) = self.kept(own) {
            return Some(ForeignKey::only(help));
        }
        let help = match others.contains(&told) {
            false => format!("write `{own}: {serve}` instead{}", needs(&serve)),
            true => format!("write `{own}: …` instead, once: more than one key here names a variation"),
        };
        Some(ForeignKey { help, stands_for: std::slice::from_ref(own) })
    }

    /// Returns the serve that the value of a key of `content` is: the name of a variation, or a mapping with one. If the
    /// name of the key tells a serve, the value can also be that of a variation.
    fn serve_written(&self, variations: &ReadVariations) -> Option<String> {
        // A key of another tool is a word.
        let is_word = self.name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | ' '));
        let is_of_others = !is_word
            || CONTENT.contains(&self.name)
            || !is_switch(self.plain) && closest(self.name, CONTENT.iter().copied()).is_some()
            || own_of(self.what, self.plain).is_some()
            || own_of("a rule", self.plain) == Some(&"conditions")
            || own_of("a rule", self.plain).is_some() && self.is_of_a_rule()
            || is_note(self.what, self.plain);
        let told = told(self.name);
        let is_served = match &self.value.kind {
            // `off: on` is a switch.
            NodeKind::Scalar(text, style) if is_switch(self.plain) => {
                told.is_some() && *style == Style::Quoted && variations.has(text)
            }
            NodeKind::Scalar(text, _) => told.is_some() || variations.has(text),
            NodeKind::Mapping(entries) => {
                told.is_some()
                    || matches!(entries.as_slice(), [(key, _)] if scalar(key).is_some_and(|key| SERVE.contains(&key)))
            }
            NodeKind::Refused | NodeKind::Sequence(_) => false,
        };
        if is_of_others || !is_served { None } else { serve(self.value, variations) }
    }

    /// Returns whether the only rule of a `content` has no list of rules around it.
    fn is_of_a_rule(&self) -> bool {
        let beside = first_of(self.beside);
        meant_field(beside, "`content`", "rules").is_none()
            && meant_field(beside, "a rule", "conditions").is_some_and(is_list_of_conditions)
    }

    /// Returns the help on the conditions of a rule in `content`.
    fn conditions_of_content(&self) -> Option<String> {
        if !is_list_of_conditions(self.value) {
            return None;
        }
        if meant_field(self.beside, "`content`", "rules").is_some() {
            return Some(
                "do not just remove it: write it into each rule that it is about, as `conditions`".to_owned(),
            );
        }
        let serve = meant_field(self.beside, "a rule", "serve").is_some();
        Some(match serve {
            true => "write `rules:` and `- name: …` above it, and indent it and the serve below, as `conditions` and `serve`",
            false => "write `rules:` and `- name: …` above it, indent it below as `conditions`, and add the `serve` of this rule",
        }.to_owned())
    }

    /// Returns the help on a key of a document that belongs below `content`.
    pub(super) fn below_content(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        let native = CONTENT.iter().find(|own| **own == self.name);
        let own = native.or_else(|| own_of("`content`", self.plain));
        let inner = match field(self.beside, "content").map(|content| &content.kind) {
            Some(NodeKind::Mapping(entries)) => entries.as_slice(),
            _ => &[],
        };
        let means = |name: &&str| {
            own.is_some_and(|own| name == own || own_of("`content`", &plain(name)) == Some(own))
        };
        if let Some(other) = first_of(inner).iter().filter_map(|(key, _)| scalar(key)).find(means) {
            return Some(ForeignKey::only(format!(
                "keep one of the two: `content` has `{}` as well",
                shown(other)
            )));
        }
        if let Some(own) = native {
            let help = "indent it below `content`".to_owned();
            return Some(ForeignKey { help, stands_for: std::slice::from_ref(own) });
        }
        if own_of(self.what, self.plain).is_some() {
            return None;
        }
        let key = UnknownKey { what: "`content`", ..*self };
        // What is already in `content` decides whether it has rules.
        let beside = first_of(if inner.is_empty() { self.beside } else { inner });
        if let Some(found) = (UnknownKey { beside, ..key }).of_rules_in_content(variations) {
            return Some(found);
        }
        let found = key.renamed(variations)?;
        let is_written = found.help.starts_with("write ");
        let below = if is_written { "; it belongs below `content`" } else { "" };
        Some(ForeignKey { help: format!("{}{below}", found.help), ..found })
    }

    /// Returns the help on a key of an item that belongs into `content`.
    pub(super) fn beside_list(&self, variations: &ReadVariations) -> Option<ForeignKey> {
        part_of_content(self.what, self.name, self.beside)?;
        let list = match self.what {
            "a prerequisite" => "prerequisites",
            "a variation" => "variations",
            _ => "rules",
        };
        let stands_for = not_missing(self.what, self.name, self.beside);
        let dash = if stands_for.is_empty() { "" } else { ", without the dash" };
        let help = match CONTENT.contains(&self.name) {
            true => format!("write it beside `{list}`, not below{dash}"),
            false => {
                let found = UnknownKey { what: "`content`", ..*self }.renamed(variations)?;
                format!("{}; it belongs beside `{list}`, not below{dash}", found.help)
            }
        };
        Some(ForeignKey { help, stands_for })
    }
}

/// Returns the part of `content` that a key of an item of one of its lists is. One in the notation of another tool is
/// alone, or has a name: `- else: …`.
pub(super) fn part_of_content(what: &str, name: &str, item: &[(Node, Node)]) -> Option<&'static str> {
    if !matches!(what, "a condition" | "a prerequisite" | "a rule" | "a variation") || name == "variations" {
        return None;
    }
    let native = CONTENT.iter().find(|own| **own == name);
    let plain = plain(name);
    let is_name =
        |key: &str| key == name || key == "name" || own_of(what, self::plain(key).as_str()) == Some(&"name");
    let is_last = what == "a rule"
        && item.len() <= 2
        && !RULE.contains(&name)
        && plain != "value"
        && own_of(what, &plain).is_none()
        && item.iter().all(|(key, _)| scalar(key).is_some_and(is_name));
    let foreign = || own_of("`content`", &plain).filter(|own| is_last && own.ends_with("Serve"));
    native.or_else(foreign).copied()
}

/// Returns the help on a part of `content` in an item of one of its lists, if it is one of `parts`, which `content` has.
pub(in crate::document) fn repeated_part(
    what: &str,
    name: &str,
    item: &[(Node, Node)],
    parts: &[&str],
) -> Option<ForeignKey> {
    let own = part_of_content(what, name, item).filter(|own| parts.contains(own))?;
    let help = format!("keep one of the two: `content` has `{own}` as well");
    Some(ForeignKey { help, stands_for: not_missing(what, name, item) })
}

/// Returns the keys of an item that are not missing beside the part `name` of `content`: all, because an item with
/// nothing else is not one. None if it has entries of its own.
fn not_missing(what: &str, name: &str, item: &[(Node, Node)]) -> &'static [&'static str] {
    let is_part = |(key, _): &(Node, Node)| scalar(key).is_some_and(|name| CONTENT.contains(&name));
    match what {
        _ if CONTENT.contains(&name) && !item.iter().all(is_part) => &[],
        "a condition" => SIMPLE_CONDITION,
        "a prerequisite" => PREREQUISITE,
        "a variation" => VARIATION,
        _ => RULE,
    }
}

/// Returns the help on a key of `content` that is more than one of its parts in another notation: a serve, or a switch of
/// the whole toggle. `disabled` is that of the document.
pub(in crate::document) fn in_content(
    name: &str,
    value: &Node,
    beside: &[(Node, Node)],
    disabled: Option<&Node>,
    variations: &ReadVariations,
) -> Option<ForeignKey> {
    let what = "`content`";
    let key = UnknownKey { what, name, plain: &plain(name), value, beside };
    key.serve_of_content(variations).or_else(|| switch(what, name, value, disabled))
}

/// Returns the help on a switch of the whole toggle in `what`: a document, or its `content`. `own` is the `disabled` of the
/// document.
pub(super) fn switch(what: &str, name: &str, value: &Node, own: Option<&Node>) -> Option<ForeignKey> {
    let disabled = !is_on(&plain(name), value)?;
    let (below, beside, here) = match what {
        "a document" => ("", "", "here"),
        _ => (", beside `content`, not below", " beside `content`", "beside `content`"),
    };
    let help = match own {
        None if name == "disabled" => "write it beside `content`, not below".to_owned(),
        None => format!("write `disabled: {disabled}` instead{below}"),
        Some(own) if truth(own) == Some(disabled) => {
            format!("remove it: `disabled: {disabled}`{beside} says the same")
        }
        Some(_) => format!(
            "keep one of the two: `{}` means `disabled: {disabled}`, and `disabled` is {here} as well",
            shown(name)
        ),
    };
    let stands_for: &[_] = if own.is_none() { &["disabled"] } else { &[] };
    Some(ForeignKey { help, stands_for })
}

/// Returns the serve that a word of a key tells.
fn told(name: &str) -> Option<&'static str> {
    let words = words(name);
    let has = |all: &[&str]| words.iter().any(|word| all.contains(&word.as_str()));
    match (has(OF_A_DISABLED_TOGGLE), has(OF_EVERYONE_ELSE)) {
        (true, _) => Some("disabledServe"),
        (false, true) => Some("defaultServe"),
        (false, false) => None,
    }
}

/// Returns whether `content` has a switch of the whole toggle.
pub(in crate::document) fn has_switch(content: &Node) -> bool {
    let NodeKind::Mapping(entries) = &content.kind else { return false };
    entries.iter().any(|(key, value)| scalar(key).is_some_and(|name| is_on(&plain(name), value).is_some()))
}

fn is_list_of_conditions(value: &Node) -> bool {
    let is_condition = |node: &Node| matches!(&node.kind, NodeKind::Mapping(entries) if !entries.is_empty());
    match &value.kind {
        NodeKind::Sequence(items) => items.iter().any(is_condition),
        _ => is_condition(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_that_a_help_names_is_in_the_guide() {
        assert!(include_str!("../../../examples/README.md").contains(&format!("\n### {PAGE}\n")));
    }
}
