//! Checks the meaning of a document: errors that would break the toggle, and warnings about suspicious
//! content.
//!
//! Checks raw documents, so that a missing field does not hide other findings. Positions are paths; a
//! document without findings costs no allocation.

use std::collections::HashMap;

use super::check;
use super::check::{Check, SERVE_FORMS, STOPS, VANISHES, example};
use super::condition::{ConditionChecker, PatternChecker};
use super::exclusion;
use super::finding::{At, Finding, Part, Spot, add, is_affordable, shown, suggest};
use super::meant;
use super::node;
use super::node::PathStep;
use super::references;
use super::resolve::{
    NameError, RawContent, RawDocument, RawPrerequisite, RawRule, RawServe, RawSplit, RawVariation,
    ServeError, SplitError, Text, VariationNames,
};
use super::syntax;
use crate::model::{
    Payload, ReturnType, Sdks, Serve, ServiceKind, ServiceLimits, WHOLE, escaped, percent, variation_fits,
};

/// Returns all findings on the meaning of `document`.
pub(super) fn check(document: &RawDocument, kind: ServiceKind, sdks: Sdks) -> Vec<Finding> {
    let mut checker = MeaningChecker { findings: Vec::new(), kind, sdks };
    if let Some(content) = &document.content {
        checker.content(content, document.disabled);
    }
    checker.findings
}

struct MeaningChecker {
    findings: Vec<Finding>,
    kind: ServiceKind,
    sdks: Sdks,
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
        self.almost_values(variations, &list);
        self.folded_lists(variations, &list);
        if let Some(limits) = &self.kind.dialect().limits {
            variation_lengths(variations, limits, &list, &mut self.findings);
        }
        if let Some(finding) = size_of_splits(content, variations.len()) {
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
            let message = format!("another variation {}, too", named(name));
            let finding = repeated_name(&check::DUPLICATE_VARIATION, list, [first, again], message)
                .help("give each variation a unique name");
            self.add(finding);
        }
    }

    /// Warns about a value that makes a toggle of booleans, numbers or JSON one of text.
    fn almost_values(&mut self, variations: &[RawVariation], list: &At<'_>) {
        // A value that cannot be read has its own finding.
        let values = || variations.iter().map(|one| one.value.as_deref());
        for (index, value) in values().enumerate() {
            let Some(value) = value else { continue };
            let others = || values().take(MOST_COMPARED).flatten().filter(|other| *other != value);
            let Some((kind, help)) = almost_value(value, others) else { continue };
            let message = match value.is_empty() {
                true => format!("the empty text is not a {kind}, so the values are text"),
                false => format!("`{}` is not a {kind}, so the values are text", shown(value)),
            };
            let help = format!("{help}: one value that is not a {kind} makes a toggle one of text");
            let at = list.item(index);
            self.add(at.key("value").finding(&check::ALMOST_VALUE, Part::Value, message).help(help));
        }
    }

    /// Warns about a list that YAML has folded into one line, or that is a text beside JSON.
    fn folded_lists(&mut self, variations: &[RawVariation], list: &At<'_>) {
        let values = || variations.iter().map(|one| one.value.as_deref().unwrap_or_default());
        for (index, value) in values().enumerate() {
            let trimmed = value.trim();
            if !trimmed.starts_with("- ") {
                continue;
            }
            let is_folded = !trimmed.contains('\n') && meant::items(trimmed).is_some();
            let mut others = values().take(MOST_COMPARED).filter(|other| *other != value).peekable();
            let is_beside_json = others.peek().is_some() && others.all(|one| one.starts_with(['[', '{']));
            if !is_folded && !is_beside_json {
                continue;
            }
            let message = match is_folded {
                true => "this text was a list, whose lines are one now",
                false => "this text has the form of a list, and the other values are JSON",
            };
            let help = match json_of_block(&trimmed.replace(" - ", "\n- ")) {
                Some(json) => format!("write JSON as text: `value: {json}`"),
                None => "write JSON as text, in single quotes".to_owned(),
            };
            let at = list.item(index);
            self.add(at.key("value").finding(&check::LIST_IN_TEXT, Part::Value, message).help(help));
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
        // A toggle that was never configured has no default serve (src/service/featureprobe.md, "Reading").
        let default_if_empty = match (self.kind.can().unconfigured, disabled) {
            (true, Some(true)) => IfEmpty::Allowed,
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
                    sdks: self.sdks,
                    patterns: &mut patterns,
                };
                checker.check(condition, &conditions.item(index));
            }
            let is_evaluated = self.kind.can().evaluate;
            let all = rule.conditions.as_deref().filter(|_| is_evaluated).unwrap_or_default();
            if let Some(finding) = exclusion::check(all, &conditions) {
                self.add(finding);
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
        let hidden = if self.kind.can().evaluate { exclusion::hidden(rules) } else { Vec::new() };
        for (later, earlier) in
            hidden.into_iter().filter(|(later, _)| first.is_none_or(|first| first > *later))
        {
            let message = "unreachable rule: an earlier rule matches everyone whom this one matches";
            let at = list.item(later);
            let finding = at.key("name").finding(&check::UNREACHABLE_RULE, Part::Value, message);
            let earlier = list.item(earlier).key("conditions").spot(Part::Key);
            self.add(finding.related(earlier, "matches all of them"));
        }
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
        let list = at.key("variations");
        let all = variations.iter().enumerate();
        // An item that cannot be read has its own finding.
        let is_read = |variation: &RawVariation| variation.name.is_some() || variation.value.is_some();
        for (index, variation) in all.filter(|(index, one)| !is_served[*index] && is_read(one)) {
            let message = match variation.name.as_deref() {
                None | Some("") => format!("variation {index}, which has no name, is never served"),
                Some(name) => format!("variation `{}` is never served", shown(name)),
            };
            let item = list.item(index);
            self.add(item.key("name").finding(&check::UNUSED_VARIATION, Part::Value, message));
        }
    }

    fn same_serve(&mut self, content: &RawContent, names: &VariationNames<'_>, at: &At<'_>) {
        let all = all_serves(content, names);
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

/// Returns the end of a sentence about variations with a name.
fn named(name: &str) -> String {
    match name {
        "" => "has an empty name".to_owned(),
        name => format!("is named `{}`", shown(name)),
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
    let all = all_serves(content, names)?;
    let (ends, rest) = all.split_at(2.min(all.len()));
    let [disabled, default] = ends else {
        return None;
    };
    // `disabledServe` serves a variation, too.
    let mut served = vec![disabled];
    match content.rules.iter().flatten().position(matches_everyone) {
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

/// Returns all serves: the disabled one, the default one, then those of the rules. None if one of them cannot be
/// read, does not resolve or is empty: the variation that it will serve is not known yet.
fn all_serves(content: &RawContent, names: &VariationNames<'_>) -> Option<Vec<Serve>> {
    let rules = content.rules.as_ref()?.iter().map(|rule| rule.serve.as_ref());
    let all = [content.disabled_serve.as_ref(), content.default_serve.as_ref()].into_iter().chain(rules);
    all.map(|serve| names.resolve(serve?).ok().filter(|serve| *serve != Serve::Nothing)).collect()
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

/// Checks serves for one kind of service.
pub(super) struct ServeChecker<'a> {
    pub(super) findings: &'a mut Vec<Finding>,
    pub(super) kind: ServiceKind,
    pub(super) variations: &'a [RawVariation],
    pub(super) names: &'a VariationNames<'a>,
}

/// What happens if a serve serves nothing (src/service/featureprobe.md, "What breaks silently").
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IfEmpty {
    Allowed,
    /// The SDKs stop updating.
    Stops,
    /// The service does not deliver the toggle.
    Vanishes,
}

impl ServeChecker<'_> {
    pub(super) fn check(&mut self, serve: &RawServe, if_empty: IfEmpty, at: &At<'_>) {
        if serve.split.is_some() && !self.kind.can().split {
            let split = at.key("split");
            let finding = split.finding(&check::UNKNOWN_KEY, Part::Key, "a serve has no `split`");
            let kinds = ServiceKind::words_with(|can| can.split);
            return add(self.findings, finding.help(format!("a split needs `service_kind: {kinds}`")));
        }
        let error = match self.names.resolve(serve) {
            Ok(Serve::Nothing) if if_empty != IfEmpty::Allowed => return self.empty(if_empty, at),
            Ok(_) => return,
            Err(error) => error,
        };
        match error {
            ServeError::Choice => {
                let message = match self.kind.can().split {
                    true => "a serve has one of `select`, `variation` and `split`, not several",
                    false => "a serve has `select` or `variation`, not both",
                };
                let finding = at.finding(&check::SERVE_CHOICE, Part::Key, message);
                let help = self.one_of(serve);
                add(self.findings, finding.help(help));
            }
            ServeError::OutOfRange => {
                let select = serve.select.unwrap_or_default();
                let last = self.names.count().saturating_sub(1);
                let message = format!("`select` is {select}, but the last variation is {last}");
                let at = at.key("select");
                let finding = at.finding(&check::SELECT_OUT_OF_RANGE, Part::Value, message);
                add(self.findings, finding.help("the first variation is 0"));
            }
            ServeError::Split(errors) => {
                for error in errors {
                    self.split(serve.split.as_ref(), error, &at.key("split"));
                }
            }
            ServeError::Variation(error) => {
                let name = serve.variation.as_deref().unwrap_or_default();
                self.name(name, error, Part::Value, &at.key("variation"));
            }
        }
    }

    /// Returns the help on a serve with several choices: which of them to keep. One that is wrong itself is none.
    fn one_of(&self, serve: &RawServe) -> String {
        let RawServe { select, variation, split } = serve;
        let all = [
            variation.as_ref().map(|name| {
                let alone = RawServe { variation: Some(name.clone()), ..RawServe::default() };
                (alone, format!("`variation: {}`", node::quoted(&shown(name))))
            }),
            select.map(|index| {
                let alone = RawServe { select: Some(index), ..RawServe::default() };
                (alone, self.selected(index))
            }),
            split.as_ref().map(|split| {
                let alone = RawServe { split: Some(split.clone()), ..RawServe::default() };
                (alone, format!("`{}`", in_short(split)))
            }),
        ];
        let all: Vec<(Option<Serve>, String)> =
            all.into_iter().flatten().map(|(alone, text)| (self.names.resolve(&alone).ok(), text)).collect();
        let is_any = all.iter().all(|(serve, _)| serve.is_none());
        let kept: Vec<_> = all.iter().filter(|(serve, _)| is_any || serve.is_some()).collect();
        let texts: Vec<&str> = kept.iter().map(|(_, text)| text.as_str()).collect();
        let are_same = kept.iter().all(|(serve, _)| serve.is_some() && *serve == kept[0].0);
        let same = if are_same { ", which serve the same" } else { "" };
        match texts.as_slice() {
            [one] => format!("keep {one}, and remove the rest"),
            [one, other] => format!("keep one of the two: {one} or {other}{same}"),
            _ => format!("keep one of the three: {}{same}", texts.join(" or ")),
        }
    }

    /// Returns a `select` with the name of its variation.
    fn selected(&self, index: u32) -> String {
        let variation = usize::try_from(index).ok().and_then(|index| self.variations.get(index));
        match variation.and_then(|variation| variation.name.as_deref()).filter(|name| !name.is_empty()) {
            Some(name) => format!("`select: {index}` (`{}`)", shown(name)),
            None => format!("`select: {index}`"),
        }
    }

    fn empty(&mut self, if_empty: IfEmpty, at: &At<'_>) {
        let help = match self.kind.can().unconfigured {
            false => format!(
                "{SERVE_FORMS}; an empty `defaultServe` needs `service_kind: {}` and `disabled: true`",
                ServiceKind::words_with(|can| can.unconfigured)
            ),
            true if if_empty == IfEmpty::Stops => format!("{SERVE_FORMS}; {STOPS}"),
            true => format!("{SERVE_FORMS}; {VANISHES}"),
        };
        let message = match self.kind.can().split {
            true => "a serve needs one of `select`, `variation` and `split`",
            false => "a serve needs `select` or `variation`",
        };
        let finding = at.finding(&check::SERVE_CHOICE, Part::Key, message);
        add(self.findings, finding.help(help));
    }

    fn name(&mut self, name: &str, error: NameError, part: Part, at: &At<'_>) {
        let wanted = named(name);
        let (check, message, help) = match error {
            NameError::Ambiguous => (
                &check::AMBIGUOUS_VARIATION,
                format!("more than one variation {wanted}"),
                "give each variation a unique name".to_owned(),
            ),
            // The one that has no name that can be read is meant, perhaps, and has its own finding.
            NameError::Unknown if self.variations.iter().any(|variation| variation.name.is_none()) => return,
            NameError::Unknown => {
                let names = self.variations.iter().filter_map(|variation| variation.name.as_deref());
                let names = names.filter(|name| !name.is_empty());
                let help = suggest(self.findings, name, names.clone()).or_else(|| self.by_value(name));
                let help = help.unwrap_or_else(|| {
                    // A hostile document can have any number of names, so the help shows only the first ones.
                    let names: Vec<String> = names.take(8).map(|name| format!("`{}`", shown(name))).collect();
                    match names.as_slice() {
                        [] => "no variation has a name: give each one a `name`".to_owned(),
                        names => format!("the variations begin with {}", names.join(", ")),
                    }
                });
                (&check::UNKNOWN_VARIATION, format!("no variation {wanted}"), help)
            }
        };
        add(self.findings, at.finding(check, part, message).help(help));
    }

    /// Returns the help on the value of a variation in place of its name.
    fn by_value(&self, name: &str) -> Option<String> {
        let values = self.variations.iter().take(MOST_COMPARED);
        let mut same = values.filter(|variation| variation.value.as_deref() == Some(name));
        let own = same.next()?.name.as_deref().filter(|own| !own.is_empty())?;
        same.next().is_none().then(|| {
            format!("write `{}`, the name of the variation with this value", node::quoted(&shown(own)))
        })
    }

    fn split(&mut self, split: Option<&RawSplit>, error: SplitError, at: &At<'_>) {
        let finding = match (error, split) {
            (SplitError::Variation(index, error), Some(RawSplit::ByName(shares))) => {
                return self.name(&shares[index].0, error, Part::Key, &at.entry(index));
            }
            (SplitError::Share(index), Some(RawSplit::ByName(shares))) => self.share(shares, index, at),
            (SplitError::Share(index), Some(RawSplit::ByIndex(weights))) => self.weight(weights, index, at),
            (SplitError::TooMany(index), _) => self.too_many(split, index, at),
            (SplitError::Sum(sum), _) => self.sum(split, sum, at),
            // The others belong to a split by name.
            (SplitError::Variation(..) | SplitError::Share(_), _) => return,
        };
        add(self.findings, finding);
    }

    /// Returns the finding on a share that is not a percentage.
    fn share(&self, shares: &[(String, Text)], index: usize, at: &At<'_>) -> Finding {
        let message = format!("`{}` is not a percentage", shown(&shares[index].1.0));
        let all: Vec<&str> = shares.iter().map(|(_, share)| share.0.as_str()).collect();
        let one = |share: f64| format!("write `{share}`");
        let rounded = meant::percentages(&all).map(|all| one(all[index]));
        // In another unit, all of them are to be replaced.
        let help = rounded.or_else(|| self.in_percent(shares));
        let help = help.or_else(|| meant::percentage(all[index]).map(one)).unwrap_or_else(|| {
            "write a number from 0 to 100 with at most two decimals, such as `12.5`".to_owned()
        });
        at.entry(index).finding(&check::SPLIT_SHARE, Part::Value, message).help(help)
    }

    /// Returns the finding on a weight that is not one.
    fn weight(&self, weights: &[Text], index: usize, at: &At<'_>) -> Finding {
        let weight = &weights[index].0;
        let message = format!("`{}` is not a weight", shown(weight));
        let mut help = self.in_hundredths(weights).unwrap_or_else(|| {
            "write hundredths of a percent from 0 to 10000, or percentages by name, such as \
             `split: { \"on\": 12.5, \"off\": 87.5 }`"
                .to_owned()
        });
        if weight.starts_with('-') {
            help = format!("{help}; {STOPS}");
        }
        at.item(index).finding(&check::SPLIT_SHARE, Part::Value, message).help(help)
    }

    /// Returns the finding on the first weight beyond the last variation.
    fn too_many(&self, split: Option<&RawSplit>, index: usize, at: &At<'_>) -> Finding {
        let message = format!("this weight is number {}, but there are only {index} variations", index + 1);
        let halves = match split {
            // Each decimal comma ends an item.
            Some(RawSplit::ByIndex(weights)) if weights.len() == 2 * index => {
                let halves = weights.chunks(2).map(|pair| Text(format!("{},{}", pair[0].0, pair[1].0)));
                self.in_hundredths(&halves.collect::<Vec<_>>())
            }
            _ => None,
        };
        let help = halves
            .unwrap_or_else(|| "write one weight for each variation, or percentages by name".to_owned());
        at.item(index).finding(&check::SPLIT_SHARE, Part::Value, message).help(help)
    }

    /// Returns the finding on shares that are not the whole.
    fn sum(&self, split: Option<&RawSplit>, sum: u64, at: &At<'_>) -> Finding {
        let sum_in_percent = u32::try_from(sum).map_or_else(|_| "more than 100".to_owned(), percent);
        let message = match split {
            Some(RawSplit::ByIndex(_)) => format!("the weights add up to {sum}, not {WHOLE}"),
            _ => format!("the percentages add up to {sum_in_percent}, not 100"),
        };
        let help = match split {
            Some(RawSplit::ByIndex(weights)) => self.in_hundredths(weights),
            Some(RawSplit::ByName(shares)) => self.in_percent(shares),
            None => None,
        };
        let help = help.unwrap_or_else(|| {
            "every user needs a variation, and no user can have two: give the rest to one of them".to_owned()
        });
        at.finding(&check::SPLIT_SUM, Part::Key, message).help(help)
    }

    /// Returns the help on weights in another unit; none if they are not all of any.
    fn in_hundredths(&self, weights: &[Text]) -> Option<String> {
        let weights = weights.iter().map(|weight| weight.0.as_str());
        let weights = meant::hundredths(weights, self.variations.len())?;
        Some(format!("weights are hundredths of a percent: write `{weights:?}`"))
    }

    /// Returns the help on shares in another unit than percent, or on one without the rest.
    fn in_percent(&self, shares: &[(String, Text)]) -> Option<String> {
        const MOST_SHOWN: usize = 8;
        if let [(name, share)] = shares {
            // More than two need no names: no rest is known.
            let all = self.variations.iter().take(3);
            let all: Vec<String> = all.map(|one| one.name.clone().unwrap_or_default()).collect();
            let split = meant::with_rest(name, &share.0, &all);
            if let Some(split) = split {
                return Some(format!("write percentages: `{split}`"));
            }
        }
        let all = shares.iter().map(|(_, share)| share.0.as_str());
        let weights = meant::hundredths(all, self.variations.len())?;
        let percentages = shares.iter().zip(weights);
        let percentages: Vec<String> = percentages
            .map(|((name, _), weight)| format!("{}: {}", node::quoted(name), f64::from(weight) / 100.0))
            .collect();
        let text = escaped(&percentages.join(", ")).to_string();
        (shares.len() <= MOST_SHOWN).then(|| format!("write percentages: `{{ {text} }}`"))
    }
}

/// Returns a split as a document has it; only its key if it is long.
fn in_short(split: &RawSplit) -> String {
    let text = match split {
        RawSplit::ByIndex(weights) => {
            let weights: Vec<String> = weights.iter().map(|weight| shown(&weight.0)).collect();
            format!("split: [{}]", weights.join(", "))
        }
        RawSplit::ByName(shares) => {
            let share = |(name, share): &(String, Text)| {
                format!("{}: {}", node::quoted(&shown(name)), shown(&share.0))
            };
            format!("split: {{ {} }}", shares.iter().map(share).collect::<Vec<_>>().join(", "))
        }
    };
    if text.len() <= meant::LONGEST { text } else { "split".to_owned() }
}

/// Returns a block of YAML that is written as a text, as JSON in single quotes.
fn json_of_block(text: &str) -> Option<String> {
    if text.len() > meant::LONGEST {
        return None;
    }
    let tree = syntax::parse(text);
    let root = tree.root.filter(|root| {
        let is_list = matches!(&root.kind, node::NodeKind::Sequence(_)) && text.trim_start().starts_with('-');
        tree.findings.is_empty()
            && (is_list
                || matches!(&root.kind, node::NodeKind::Mapping(_)) && !text.trim_start().starts_with('{'))
    })?;
    meant::json(&root.kind)
}

/// The most values that are compared with each other value, so that all comparisons together are linear.
const MOST_COMPARED: usize = 100;

/// Returns the type that a value probably was meant to have, beside the other values, and what to write.
fn almost_value<'a, I: Iterator<Item = &'a str>>(
    value: &str,
    others: impl Fn() -> I,
) -> Option<(&'static str, String)> {
    if matches!(value, "true" | "false") || fits(ReturnType::Json, value) {
        return None;
    }
    if is_nearly_json(value, &others) {
        let help = meant::repaired_json(value).map(|json| format!("write `value: {json}`"));
        let reason = || match serde_json::from_str::<serde_json::Value>(value) {
            Err(error) => format!("correct it ({error}), or begin the text with another character"),
            Ok(_) => "write an object in braces, or begin the text with another character".to_owned(),
        };
        return Some(("JSON object", help.unwrap_or_else(reason)));
    }
    if value.contains(':') && others().next().is_some() && others().all(|other| fits(ReturnType::Json, other))
    {
        let json = json_of_block(value)?;
        return Some(("JSON object", format!("write JSON as text: `value: {json}`")));
    }
    if others().any(is_boolean) {
        return Some(("boolean", almost_boolean(value, others)?));
    }
    Some(("number", almost_number(value, others)?))
}

fn fits(kind: ReturnType, value: &str) -> bool {
    variation_fits(kind, value).is_ok()
}

/// Returns whether a value is a boolean in any case. A block has a line break at its end.
fn is_boolean(value: &str) -> bool {
    ["true", "false"].iter().any(|word| value.trim_end().eq_ignore_ascii_case(word))
}

/// Returns whether a value, which is not JSON, has the beginning and a part of an object or a list.
fn is_nearly_json<'a, I: Iterator<Item = &'a str>>(value: &str, others: impl Fn() -> I) -> bool {
    let is_repairable = |value: &str| meant::repaired_json(value).is_some();
    let is_json_at_all = || {
        value.contains('"')
            || others().any(|other| fits(ReturnType::Json, other))
            || others().next().is_some() && is_repairable(value) && others().all(is_repairable)
    };
    let begins_as_json = value.starts_with('{') && others().all(|other| other.starts_with('{'))
        || value.starts_with('[')
            && others().next().is_some()
            && others().all(|one| fits(ReturnType::Json, one));
    begins_as_json && is_json_at_all()
}

/// Returns the help on a value beside booleans; none if it may well be text.
fn almost_boolean<'a, I: Iterator<Item = &'a str>>(value: &str, others: impl Fn() -> I) -> Option<String> {
    let help = match meant::almost_boolean(value)? {
        Some(word) => format!("write `value: \"{word}\"`"),
        None => "write `value: \"true\"` or `value: \"false\"`".to_owned(),
    };
    let is_one = |other: &str| is_boolean(other) || meant::almost_boolean(other).is_some();
    others().all(is_one).then_some(help)
}

/// Returns the help on a value beside numbers; none if it is one, or may well be text.
fn almost_number<'a, I: Iterator<Item = &'a str>>(value: &str, others: impl Fn() -> I) -> Option<String> {
    if fits(ReturnType::Number, value) {
        return None;
    }
    let reading = meant::almost_number(value)?;
    let is_comma = reading.as_ref().is_some_and(|reading| {
        let decimal = value.replacen(',', ".", 1);
        decimal == reading.number || reading.other.as_ref() == Some(&decimal)
    });
    let is_one = |other: &str| fits(ReturnType::Number, other) || meant::almost_number(other).is_some();
    // Only its size makes it a text.
    let is_too_large = meant::is_decimal(value);
    let has_number =
        is_comma || is_too_large || others().any(|other| fits(ReturnType::Number, other.trim_end()));
    let help = match reading {
        Some(reading) => reading.help("value: "),
        None if is_too_large => "write a number of at most 1.79e308".to_owned(),
        None => "write a decimal number, such as `value: 1.5`".to_owned(),
    };
    (has_number && others().all(is_one)).then_some(help)
}

/// Reports prerequisites that the service cannot handle, or that it has no promise to handle.
pub(super) fn prerequisites(
    all: &[RawPrerequisite],
    kind: ServiceKind,
    list: &At<'_>,
    findings: &mut Vec<Finding>,
) {
    if !kind.can().refer {
        let message = "`content` has no `prerequisites`";
        let finding = list.finding(&check::UNKNOWN_KEY, Part::Key, message);
        let kinds = ServiceKind::words_with(|can| can.refer);
        return add(findings, finding.help(format!("prerequisites need `service_kind: {kinds}`")));
    }
    let mut first = HashMap::new();
    for (index, prerequisite) in all.iter().enumerate() {
        let at = list.item(index);
        one(prerequisite, &at, findings);
        let Some(key) = prerequisite.key.as_deref() else {
            continue;
        };
        // FeatureProbe compares keys without case (src/service/featureprobe.md, "Keys").
        let other = *first.entry(key.to_lowercase()).or_insert(index);
        if other != index {
            let message = format!("another prerequisite is the toggle `{}`, too", shown(key));
            let help =
                "keep one of the two: a toggle serves one value to a user, and every prerequisite must match";
            let finding = at.key("key").finding(&check::DUPLICATE_PREREQUISITE, Part::Value, message);
            let first = list.item(other).key("key").spot(Part::Value);
            add(findings, finding.help(help).related(first, "the first one"));
        }
    }
}

fn one(prerequisite: &RawPrerequisite, at: &At<'_>, findings: &mut Vec<Finding>) {
    let RawPrerequisite { key, value, kind } = prerequisite;
    if key.as_deref() == Some("") {
        let finding = at.key("key").finding(&check::EMPTY_TEXT, Part::Value, "`key` is empty");
        add(findings, finding.help(example("key")));
    }
    let Some(kind) = kind else { return };
    let type_finding = |check, message| at.key("type").finding(check, Part::Value, message);
    let Ok(return_type) = kind.parse::<ReturnType>() else {
        let help = references::meant_type(kind, is_affordable(findings));
        let message = references::no_type(kind);
        return add(findings, type_finding(&check::PREREQUISITE_TYPE, message).help(help));
    };
    if return_type == ReturnType::Json {
        let message = "the service's own pages do not offer toggles with JSON values as prerequisites";
        let help = "let a boolean toggle stand for the condition: SDKs may not agree on when two JSON values are equal";
        add(findings, type_finding(&check::JSON_PREREQUISITE, message.to_owned()).help(help));
    }
    if let Some((message, help)) = value.as_deref().and_then(|value| references::unfit(return_type, value)) {
        let finding = at.key("value").finding(&check::PREREQUISITE_VALUE, Part::Value, message);
        add(findings, finding.help(help));
    }
}

/// The maximum size of content whose splits are written out, in bytes of JSON, whatever the service.
pub(super) const LARGEST_CONTENT: usize = 1024 * 1024;

/// Reports names and values that the service cannot store.
fn variation_lengths(
    variations: &[RawVariation],
    limits: &ServiceLimits,
    list: &At<'_>,
    findings: &mut Vec<Finding>,
) {
    let ServiceLimits { variation_name: longest_name, variation_value: longest_value, .. } = *limits;
    for (index, variation) in variations.iter().enumerate() {
        let at = list.item(index);
        let name = variation.name.as_deref().unwrap_or_default().chars().count();
        if name > longest_name {
            let message = format!("this name has {name} characters, over the limit of {longest_name}");
            let finding = at.key("name").finding(&check::NAME_TOO_LONG, Part::Value, message);
            add(findings, finding.help("shorten it, and put the rest into `description`"));
        }
        let value = variation.value.as_deref().unwrap_or_default().len();
        if value > longest_value {
            let message = format!("this value has {value} bytes, over the limit of {longest_value}");
            let help = "serve a key or a URL instead, and keep the data where the application can fetch it";
            let finding = at.key("value").finding(&check::VALUE_TOO_LONG, Part::Value, message);
            add(findings, finding.help(help));
        }
    }
}

/// Returns an error if the splits alone make the content too large. As sent, each split has a weight for
/// every variation, so a small document could take gigabytes.
fn size_of_splits(content: &RawContent, variations: usize) -> Option<Finding> {
    let serves = content.rules.iter().flatten().map(|rule| &rule.serve);
    let serves = serves.chain([&content.disabled_serve, &content.default_serve]).flatten();
    let splits = serves.filter(|serve| serve.split.is_some()).count();
    let size = splits.saturating_mul(variations).saturating_mul("0,".len());
    (size > LARGEST_CONTENT).then(|| too_large(size, "at least ", LARGEST_CONTENT))
}

/// Returns an error if the content of `payload` is larger than the service accepts.
pub(super) fn size_as_sent(payload: &Payload, limits: &ServiceLimits) -> Option<Finding> {
    let size = payload.content_len();
    (size > limits.content).then(|| too_large(size, "", limits.content))
}

fn too_large(size: usize, at_least: &str, limit: usize) -> Finding {
    let message = format!("the content has {at_least}{size} bytes as sent, over the limit of {limit}");
    Finding::new(&check::CONTENT_TOO_LARGE, Spot::WholeFile, message)
        .help("split a long list into several toggles, or compare with a segment")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_in_a_text_keeps_its_types_or_has_no_suggestion() {
        for (text, expected) in [
            ("a: 1\nb: red\n", Some(r#"'{"a":1,"b":"red"}'"#)),
            ("- 1\n- True\n", Some("'[1,true]'")),
            ("a: 01", None),
            ("a: on", None),
            ("a: .nan", None),
            ("a: 1_000", None),
            ("text", None),
            ("{a: 1}", None),
        ] {
            assert_eq!(json_of_block(text).as_deref(), expected, "{text}");
        }
    }
}
