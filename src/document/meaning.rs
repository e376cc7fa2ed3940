//! What a document says, checked: errors that would break the toggle and warnings about what looks odd.
//!
//! Runs over raw documents, so that a file with a missing field still hears about everything else. Positions
//! are paths here; nothing is allocated for a document in which nothing is found.

use std::collections::HashMap;

use super::check::{self, Check};
use super::finding::{At, Finding, MOST_KEPT, Part, Spot, add, did_you_mean, shown};
use super::node::Step;
use super::raw::{RawContent, RawDocument, RawRule, RawServe, RawVariation};
use super::select::{Names, Nowhere};
use crate::model::ServiceKind;

/// Returns all findings about what `document` says.
pub(super) fn check(document: &RawDocument, kind: ServiceKind) -> Vec<Finding> {
    let mut meaning = Meaning {
        findings: Vec::new(),
        kind,
    };
    if let Some(content) = &document.content {
        meaning.content(content, document.disabled);
    }
    meaning.findings
}

/// The checks of one document, and what they found so far.
pub(super) struct Meaning {
    findings: Vec<Finding>,
    pub(super) kind: ServiceKind,
}

impl Meaning {
    pub(super) fn report(
        &mut self,
        check: &'static Check,
        spot: Spot,
        message: impl Into<String>,
        help: Option<String>,
    ) {
        add(
            &mut self.findings,
            Finding::new(check, spot, message).maybe_help(help),
        );
    }

    /// Returns what `text` was probably meant to be, as a question. Comparing words is slow, and a hostile file could
    /// make it so very often: a file whose findings are full gets no more suggestions.
    pub(super) fn closest(&self, text: &str, candidates: &[&str]) -> Option<String> {
        let has_room = self.findings.len() < MOST_KEPT;
        has_room
            .then(|| did_you_mean(text, candidates.iter().copied()))
            .flatten()
    }

    fn content(&mut self, content: &RawContent, disabled: Option<bool>) {
        let at = At {
            parent: None,
            step: Step::Key("content"),
        };
        if let Some(rules) = &content.rules {
            self.rules(rules, &at.key("rules"));
        }
        let Some(variations) = &content.variations else {
            return;
        };
        let list = at.key("variations");
        if variations.is_empty() {
            let help = "list at least one, such as `{ name: \"on\", value: \"true\" }`";
            self.report(
                &check::NO_VARIATIONS,
                list.spot(Part::Key),
                "there are no variations to serve",
                Some(help.to_owned()),
            );
            return;
        }
        self.variation_names(variations, &list);
        if self.kind == ServiceKind::FeatureProbe {
            self.variation_limits(variations, &list);
        }
        let names = Names::new(variations);
        self.serves(content, &names, variations, &at);
        self.usage(content, &names, variations, &at);
        if disabled == Some(false) {
            self.same_serve(content, &names, &at);
        }
    }

    fn variation_names(&mut self, variations: &[RawVariation], list: &At<'_>) {
        let names = variations.iter().map(|variation| variation.name.as_deref());
        for (first, again, name) in repeated(names) {
            let at = list.item(again);
            let finding = Finding::new(
                &check::DUPLICATE_VARIATION,
                at.key("name").spot(Part::Value),
                format!("another variation is named `{}`, too", shown(name)),
            )
            .help("give each variation a name of its own")
            .related(list.item(first).key("name").spot(Part::Value), "the first one");
            add(&mut self.findings, finding);
        }
    }

    fn serves(&mut self, content: &RawContent, names: &Names<'_>, variations: &[RawVariation], at: &At<'_>) {
        let rules = at.key("rules");
        for (index, rule) in content.rules.iter().flatten().enumerate() {
            let rule_at = rules.item(index);
            self.serve(rule.serve.as_ref(), names, variations, &rule_at.key("serve"));
        }
        self.serve(
            content.disabled_serve.as_ref(),
            names,
            variations,
            &at.key("disabledServe"),
        );
        self.serve(
            content.default_serve.as_ref(),
            names,
            variations,
            &at.key("defaultServe"),
        );
    }

    fn serve(
        &mut self,
        serve: Option<&RawServe>,
        names: &Names<'_>,
        variations: &[RawVariation],
        at: &At<'_>,
    ) {
        let Some((serve, Err(nowhere))) = serve.map(|serve| (serve, names.find(serve))) else {
            return;
        };
        let wanted = shown(serve.variation.as_deref().unwrap_or_default());
        let candidates = variations
            .iter()
            .filter_map(|variation| variation.name.as_deref());
        match nowhere {
            Nowhere::Ambiguous => {
                let help = "give each variation a name of its own";
                let message = format!("more than one variation is named `{wanted}`");
                let spot = at.key("variation").spot(Part::Value);
                self.report(&check::AMBIGUOUS_VARIATION, spot, message, Some(help.to_owned()));
            }
            Nowhere::Choice => {
                let message = "a serve needs exactly one of `select` and `variation`";
                let help = "write `{ select: 0 }` or `{ variation: \"name\" }`";
                self.report(
                    &check::SERVE_CHOICE,
                    at.spot(Part::Key),
                    message,
                    Some(help.to_owned()),
                );
            }
            Nowhere::OutOfRange => {
                let select = serve.select.unwrap_or_default();
                let last = names.count().saturating_sub(1);
                let message = format!("`select` is {select}, but the last variation is {last}");
                let help = "the first variation is 0";
                let spot = at.key("select").spot(Part::Value);
                self.report(&check::SELECT_OUT_OF_RANGE, spot, message, Some(help.to_owned()));
            }
            Nowhere::Unknown => {
                // Comparing names is slow, and a hostile file could make it so very often.
                let meant = (self.findings.len() < MOST_KEPT).then(|| {
                    did_you_mean(serve.variation.as_deref().unwrap_or_default(), candidates.clone())
                });
                let help = meant.flatten().unwrap_or_else(|| {
                    let names: Vec<String> = candidates
                        .take(8)
                        .map(|name| format!("`{}`", shown(name)))
                        .collect();
                    format!("the variations begin with {}", names.join(", "))
                });
                let spot = at.key("variation").spot(Part::Value);
                self.report(
                    &check::UNKNOWN_VARIATION,
                    spot,
                    format!("no variation is named `{wanted}`"),
                    Some(help),
                );
            }
        }
    }

    fn rules(&mut self, rules: &[RawRule], list: &At<'_>) {
        for (index, rule) in rules.iter().enumerate() {
            let at = list.item(index);
            let conditions = at.key("conditions");
            for (index, condition) in rule.conditions.iter().flatten().enumerate() {
                self.condition(condition, &conditions.item(index));
            }
        }
        self.rule_names(rules, list);
        self.catch_all(rules, list);
    }

    fn rule_names(&mut self, rules: &[RawRule], list: &At<'_>) {
        let names = rules
            .iter()
            .map(|rule| rule.name.as_deref().filter(|name| !name.is_empty()));
        for (first, again, name) in repeated(names) {
            let at = list.item(again);
            let finding = Finding::new(
                &check::DUPLICATE_RULE_NAME,
                at.key("name").spot(Part::Value),
                format!("another rule is named `{}`, too", shown(name)),
            )
            .related(list.item(first).key("name").spot(Part::Value), "the first one");
            add(&mut self.findings, finding);
        }
    }

    /// Reports rules that match everyone, and the rules that nobody gets to because of the first of them.
    fn catch_all(&mut self, rules: &[RawRule], list: &At<'_>) {
        let first = rules.iter().position(matches_everyone);
        for (index, rule) in rules.iter().enumerate() {
            let at = list.item(index);
            if let Some(first) = first.filter(|first| *first < index) {
                let finding = Finding::new(
                    &check::UNREACHABLE_RULE,
                    at.key("name").spot(Part::Value),
                    "nobody gets to this rule: one before it matches everyone",
                )
                .related(
                    list.item(first).key("conditions").spot(Part::Key),
                    "matches everyone",
                );
                add(&mut self.findings, finding);
            } else if matches_everyone(rule) {
                let help = "`defaultServe` is for everyone whom no rule matches";
                let spot = at.key("conditions").spot(Part::Key);
                self.report(
                    &check::MATCHES_EVERYONE,
                    spot,
                    "a rule without conditions matches everyone",
                    Some(help.to_owned()),
                );
            }
        }
    }

    /// Warns about variations that nobody can get. Says nothing where a serve is broken: it might have been it.
    fn usage(&mut self, content: &RawContent, names: &Names<'_>, variations: &[RawVariation], at: &At<'_>) {
        let Some(served) = served(content, names) else {
            return;
        };
        let mut is_used = vec![false; variations.len()];
        for index in served {
            if let Some(used) = usize::try_from(index)
                .ok()
                .and_then(|index| is_used.get_mut(index))
            {
                *used = true;
            }
        }
        let list = at.key("variations");
        for (index, variation) in variations
            .iter()
            .enumerate()
            .filter(|(index, _)| !is_used[*index])
        {
            let name = shown(variation.name.as_deref().unwrap_or_default());
            let item = list.item(index);
            let spot = item.key("name").spot(Part::Value);
            self.report(
                &check::UNUSED_VARIATION,
                spot,
                format!("nobody can get the variation `{name}`"),
                None,
            );
        }
    }

    fn same_serve(&mut self, content: &RawContent, names: &Names<'_>, at: &At<'_>) {
        let all: Option<Vec<u32>> = all_serves(content)
            .map(|serve| serve.and_then(|serve| names.find(serve).ok()))
            .collect();
        if all.is_some_and(|all| all.windows(2).all(|pair| pair[0] == pair[1])) {
            let help = "serve another variation somewhere, or say `disabled: true` until it is meant to do something";
            let spot = at.key("defaultServe").spot(Part::Key);
            self.report(
                &check::SAME_SERVE,
                spot,
                "this toggle is enabled, but serves the same to everyone",
                Some(help.to_owned()),
            );
        }
    }
}

fn matches_everyone(rule: &RawRule) -> bool {
    rule.conditions.as_ref().is_some_and(Vec::is_empty)
}

/// Returns what somebody can get, or `None` where a serve leads nowhere.
fn served(content: &RawContent, names: &Names<'_>) -> Option<Vec<u32>> {
    // Every serve has to be readable, also those that nobody gets to.
    let all: Vec<u32> = all_serves(content)
        .map(|serve| names.find(serve?).ok())
        .collect::<Option<_>>()?;
    let rules = content.rules.as_ref()?;
    let (ends, rest) = all.split_at(2.min(all.len()));
    let &[disabled, default] = ends else {
        return None;
    };
    let mut served = vec![disabled];
    match rules.iter().position(matches_everyone) {
        Some(last) => served.extend(rest.iter().take(last + 1)),
        None => served.extend(rest.iter().chain([&default])),
    }
    Some(served)
}

/// Returns every serve: the disabled one, the default one, then the rules'.
fn all_serves(content: &RawContent) -> impl Iterator<Item = Option<&RawServe>> {
    [content.disabled_serve.as_ref(), content.default_serve.as_ref()]
        .into_iter()
        .chain(content.rules.iter().flatten().map(|rule| rule.serve.as_ref()))
}

/// Returns every name that was there before: the first index, this index and the name.
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
