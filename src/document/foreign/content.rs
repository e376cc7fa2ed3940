//! Keys of `content`, and those that belong there or beside it, in the notation of another tool.

use super::names::{first_of, meant_field, own_of, plain};
use super::restriction::Restriction;
use super::{ForeignKey, ReadVariations, UnknownKey};
use crate::document::finding::shown;
use crate::document::keys::{CONTENT, PREREQUISITE, RULE, SIMPLE_CONDITION, VARIATION};
use crate::document::modifier::truth;
use crate::document::node::{Node, NodeKind, field, scalar};

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
    pub(super) fn in_content(&self, variations: &ReadVariations) -> Option<ForeignKey> {
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
        if let Some(found) = (UnknownKey { beside, ..key }).in_content(variations) {
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

/// Returns the `disabled` that a switch of the whole toggle means.
pub(super) fn disabled(plain: &str, value: &Node) -> Option<bool> {
    match plain {
        "enabled" | "isenabled" | "on" | "active" | "isactive" | "state" | "status" => Some(!truth(value)?),
        "disabled" | "disable" | "isdisabled" | "off" | "inactive" => truth(value),
        _ => None,
    }
}

/// Returns the help on a switch of the whole toggle in `content`, beside which a document has `own`.
pub(in crate::document) fn switch(name: &str, value: &Node, own: Option<&Node>) -> Option<ForeignKey> {
    let disabled = disabled(&plain(name), value)?;
    Some(ForeignKey::only(match own {
        None if name == "disabled" => "write it beside `content`, not below".to_owned(),
        None => format!("write `disabled: {disabled}` instead, beside `content`, not below"),
        Some(own) if truth(own) == Some(disabled) => {
            format!("remove it: `disabled: {disabled}` beside `content` says the same")
        }
        Some(_) => format!(
            "keep one of the two: `{}` means `disabled: {disabled}`, and `disabled` is beside `content` as well",
            shown(name)
        ),
    }))
}

/// Returns whether `content` has a switch of the whole toggle.
pub(in crate::document) fn has_switch(content: &Node) -> bool {
    let NodeKind::Mapping(entries) = &content.kind else { return false };
    entries.iter().any(|(key, value)| scalar(key).is_some_and(|name| disabled(&plain(name), value).is_some()))
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
