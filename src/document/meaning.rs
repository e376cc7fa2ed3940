//! Checks the meaning of a document: errors that would break the toggle, and warnings about suspicious content.
//!
//! Checks raw documents, so that a missing field does not hide other findings. Positions are paths; a document without
//! findings costs no allocation.

use std::collections::HashMap;

use super::check::{self, Check};
use super::condition::ConditionChecker;
use super::finding::{At, Finding, Part, add, shown};
use super::limits;
use super::node::PathStep;
use super::pattern::PatternChecker;
use super::prerequisites::prerequisites;
use super::raw::{RawContent, RawDocument, RawRule, RawServe, RawVariation};
use super::serves::{IfEmpty, ServeChecker};
use super::variation_names::VariationNames;
use crate::model::{Serve, ServiceKind};

/// Returns all findings on the meaning of `document`.
pub(super) fn check(document: &RawDocument, kind: ServiceKind) -> Vec<Finding> {
    let mut checker = MeaningChecker { findings: Vec::new(), kind };
    if let Some(content) = &document.content {
        checker.content(content, document.disabled);
    }
    checker.findings
}

struct MeaningChecker {
    findings: Vec<Finding>,
    kind: ServiceKind,
}

impl MeaningChecker {
    fn add(&mut self, finding: Finding) {
        add(&mut self.findings, finding);
    }

    fn content(&mut self, content: &RawContent, disabled: Option<bool>) {
        let at = At { parent: None, step: PathStep::Key("content") };
        // Rules come first, so that their conditions are checked even if the variations are missing.
        if let Some(rules) = &content.rules {
            self.rules(rules, &at.key("rules"));
        }
        if let Some(all) = &content.prerequisites {
            prerequisites(all, self.kind, &at.key("prerequisites"), &mut self.findings);
        }
        let Some(variations) = &content.variations else {
            return;
        };
        let list = at.key("variations");
        if variations.is_empty() {
            let message = "there are no variations to serve";
            let finding = list.finding(&check::NO_VARIATIONS, Part::Key, message);
            // Without variations every serve would be out of range, which this finding explains.
            return self.add(finding.help("list at least one, such as `{ name: \"on\", value: \"true\" }`"));
        }
        self.variation_names(variations, &list);
        if self.kind == ServiceKind::FeatureProbe {
            limits::variations(variations, &list, &mut self.findings);
        }
        if let Some(finding) = limits::splits(content, variations.len()) {
            return self.add(finding);
        }
        let names = VariationNames::new(variations);
        self.serves(content, disabled, &names, variations, &at);
        self.usage(content, &names, variations, &at);
        if disabled == Some(false) {
            self.same_serve(content, &names, &at);
        }
    }

    fn variation_names(&mut self, variations: &[RawVariation], list: &At<'_>) {
        let names = variations.iter().map(|variation| variation.name.as_deref());
        for (first, again, name) in repeated(names) {
            let message = format!("another variation is named `{}`, too", shown(name));
            let finding = repeated_name(&check::DUPLICATE_VARIATION, list, [first, again], message)
                .help("give each variation a unique name");
            self.add(finding);
        }
    }

    fn serves(
        &mut self,
        content: &RawContent,
        disabled: Option<bool>,
        names: &VariationNames<'_>,
        variations: &[RawVariation],
        at: &At<'_>,
    ) {
        let mut checker = ServeChecker { findings: &mut self.findings, kind: self.kind, variations, names };
        // A toggle that was never configured has no default serve (`featureprobe-behaviour.md`, section 1.2).
        let default_if_empty = match (self.kind, disabled) {
            (ServiceKind::FeatureProbe, Some(true)) => IfEmpty::Allowed,
            _ => IfEmpty::Vanishes,
        };
        let rules = at.key("rules");
        for (index, rule) in content.rules.iter().flatten().enumerate() {
            if let Some(serve) = &rule.serve {
                checker.check(serve, IfEmpty::Stops, &rules.item(index).key("serve"));
            }
        }
        for (serve, if_empty, name) in [
            (&content.disabled_serve, IfEmpty::Vanishes, "disabledServe"),
            (&content.default_serve, default_if_empty, "defaultServe"),
        ] {
            if let Some(serve) = serve {
                checker.check(serve, if_empty, &at.key(name));
            }
        }
    }

    fn rules(&mut self, rules: &[RawRule], list: &At<'_>) {
        let mut patterns = PatternChecker::default();
        for (index, rule) in rules.iter().enumerate() {
            let at = list.item(index);
            let conditions = at.key("conditions");
            for (index, condition) in rule.conditions.iter().flatten().enumerate() {
                let mut checker = ConditionChecker {
                    findings: &mut self.findings,
                    kind: self.kind,
                    patterns: &mut patterns,
                };
                checker.check(condition, &conditions.item(index));
            }
        }
        self.rule_names(rules, list);
        self.catch_all(rules, list);
    }

    fn rule_names(&mut self, rules: &[RawRule], list: &At<'_>) {
        // A rule's name may be empty, so empty names are not repetitions.
        let names = rules.iter().map(|rule| rule.name.as_deref().filter(|name| !name.is_empty()));
        for (first, again, name) in repeated(names) {
            let message = format!("another rule is named `{}`, too", shown(name));
            self.add(repeated_name(&check::DUPLICATE_RULE_NAME, list, [first, again], message));
        }
    }

    /// Reports rules that match everyone, and the rules after the first of them.
    fn catch_all(&mut self, rules: &[RawRule], list: &At<'_>) {
        let first = rules.iter().position(matches_everyone);
        for (index, rule) in rules.iter().enumerate() {
            let at = list.item(index);
            if let Some(first) = first.filter(|first| *first < index) {
                let message = "unreachable rule: an earlier rule matches everyone";
                let finding = at.key("name").finding(&check::UNREACHABLE_RULE, Part::Value, message);
                let first = list.item(first).key("conditions").spot(Part::Key);
                self.add(finding.related(first, "matches everyone"));
            } else if matches_everyone(rule) {
                let message = "a rule without conditions matches everyone";
                let finding = at.key("conditions").finding(&check::MATCHES_EVERYONE, Part::Key, message);
                self.add(finding.help("use `defaultServe` for everyone whom no rule matches"));
            }
        }
    }

    /// Warns about variations that are never served, unless a serve does not resolve.
    fn usage(
        &mut self,
        content: &RawContent,
        names: &VariationNames<'_>,
        variations: &[RawVariation],
        at: &At<'_>,
    ) {
        // A serve that does not resolve might be the one that serves the variation.
        let Some(is_served) = served(content, names) else {
            return;
        };
        // A toggle without a default serve was never configured, so its variations are yet to be served.
        let default = content.default_serve.as_ref().map(|serve| names.resolve(serve));
        if default == Some(Ok(Serve::Nothing)) {
            return;
        }
        let list = at.key("variations");
        let all = variations.iter().enumerate();
        for (index, variation) in all.filter(|(index, _)| !is_served[*index]) {
            let name = shown(variation.name.as_deref().unwrap_or_default());
            let message = format!("variation `{name}` is never served");
            let item = list.item(index);
            self.add(item.key("name").finding(&check::UNUSED_VARIATION, Part::Value, message));
        }
    }

    fn same_serve(&mut self, content: &RawContent, names: &VariationNames<'_>, at: &At<'_>) {
        let all: Option<Vec<Serve>> = all_serves(content).map(|serve| names.resolve(serve?).ok()).collect();
        let mut served = all.iter().flatten().flat_map(Serve::variations);
        let first = served.next();
        if first.is_some() && served.all(|index| Some(index) == first) {
            let help = "serve another variation in a rule or by default, or write `disabled: true` until the toggle is in use";
            let message = "this toggle is enabled but serves the same variation to everyone";
            let finding = at.key("defaultServe").finding(&check::SAME_SERVE, Part::Key, message);
            self.add(finding.help(help));
        }
    }
}

/// Returns the finding about an item of `list` whose name an earlier item has.
fn repeated_name(
    check: &'static Check,
    list: &At<'_>,
    [first, again]: [usize; 2],
    message: String,
) -> Finding {
    let first = list.item(first).key("name").spot(Part::Value);
    let again = list.item(again);
    let finding = again.key("name").finding(check, Part::Value, message);
    finding.related(first, "the first one")
}

fn matches_everyone(rule: &RawRule) -> bool {
    rule.conditions.as_ref().is_some_and(Vec::is_empty)
}

/// Returns whether each variation can be served, or `None` if a serve does not resolve.
fn served(content: &RawContent, names: &VariationNames<'_>) -> Option<Vec<bool>> {
    // All serves have to resolve, including those of unreachable rules.
    let all: Vec<Serve> =
        all_serves(content).map(|serve| names.resolve(serve?).ok()).collect::<Option<_>>()?;
    let rules = content.rules.as_ref()?;
    let (ends, rest) = all.split_at(2.min(all.len()));
    let [disabled, default] = ends else {
        return None;
    };
    // `disabledServe` counts as serving a variation (DESIGN, section 2).
    let mut served = vec![disabled];
    match rules.iter().position(matches_everyone) {
        // The rules after a rule that matches everyone are unreachable, and so is the default serve.
        Some(last) => served.extend(rest.iter().take(last + 1)),
        None => served.extend(rest.iter().chain([default])),
    }
    let mut is_served = vec![false; names.count() as usize];
    for index in served.into_iter().flat_map(Serve::variations) {
        is_served[index as usize] = true;
    }
    Some(is_served)
}

/// Returns all serves: the disabled one, the default one, then those of the rules.
fn all_serves(content: &RawContent) -> impl Iterator<Item = Option<&RawServe>> {
    [content.disabled_serve.as_ref(), content.default_serve.as_ref()]
        .into_iter()
        .chain(content.rules.iter().flatten().map(|rule| rule.serve.as_ref()))
}

/// Returns all repetitions of a name: the first index, this index and the name.
fn repeated<'a>(names: impl Iterator<Item = Option<&'a str>>) -> Vec<(usize, usize, &'a str)> {
    let mut first = HashMap::new();
    let mut found = Vec::new();
    for (index, name) in names.enumerate() {
        let Some(name) = name else { continue };
        let at = *first.entry(name).or_insert(index);
        if at != index {
            found.push((at, index, name));
        }
    }
    found
}
