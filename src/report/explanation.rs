//! Why a user gets a variation.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::Serialize;

use crate::document::{MayDiffer, is_large_number, may_differ};
use crate::evaluate::{
    self, Doubt, Evaluator, JsonEquality, NumberComparison, PrerequisiteEnd, PrerequisiteTrace, SdkRules,
    ServePlace, ServeTrace, Served, ToggleTrace, Truth, TypeComparison, UnmetServe, Verdict,
};
use crate::model::{
    Condition, Prerequisite, ReturnType, Rule, Sdk, Sdks, Serve, Targeting, ToggleId, WHOLE, escaped,
    is_same_value, listed, rfc3339,
};
use crate::plan::sentences::{self, quoted};

/// The toggles of a circle that a note on an expectation names. `explain` names all of them.
const MOST_NOTED: usize = 24;

/// What is evaluated for whom.
pub(crate) struct Subject<'a> {
    pub(crate) id: &'a ToggleId,
    pub(crate) path: &'a str,
    pub(crate) targeting: &'a Targeting,
    pub(crate) key: Option<&'a str>,
    pub(crate) attributes: &'a BTreeMap<String, String>,
    /// The time of evaluation in seconds since 1970-01-01 UTC.
    pub(crate) at: Option<i64>,
    /// The SDKs that the team uses.
    pub(crate) sdks: Sdks,
    /// Finds the other toggles, which it may need.
    pub(crate) others: &'a dyn Fn(&ToggleId) -> Option<Targeting>,
}

impl Subject<'_> {
    /// Evaluates a toggle. Returns the place of the serve that decides, too.
    pub(crate) fn explain(&self, evaluator: &Evaluator, index: usize) -> (Explanation, Option<ServePlace>) {
        let mut person = evaluator.person(self.at);
        person.reset(self.key);
        for (name, value) in self.attributes {
            person.set(name, value);
        }
        let trace = evaluator.trace(SdkRules::of(self.sdks.first()), index, &person);
        let elsewhere = self.elsewhere(&trace, |rules| evaluator.evaluate(rules, index, &person));
        let mut explanation = Explanation { elsewhere, ..Explanation::new(self, &trace) };
        let traces = |toggle| evaluator.trace(SdkRules::of(self.sdks.first()), toggle, &person);
        self.add_needed(&mut explanation, &trace, &traces, &mut BTreeSet::from([index]));
        (explanation, trace.place)
    }

    /// Adds the conditions of the toggles that it needs, directly or through others, about which SDKs may
    /// disagree. `seen` has the toggles whose conditions were looked at.
    fn add_needed(
        &self,
        explanation: &mut Explanation,
        trace: &ToggleTrace,
        traces: &dyn Fn(usize) -> ToggleTrace,
        seen: &mut BTreeSet<usize>,
    ) {
        let prerequisites = self.targeting.content.prerequisites.iter().flatten().zip(&trace.prerequisites);
        for ((needed, found), explained) in prerequisites.zip(&mut explanation.prerequisites) {
            let Some(index) = found.toggle.filter(|index| seen.insert(*index)) else { continue };
            let id = ToggleId::new(self.id.project(), self.id.environment_key(), &needed.key);
            let other = id.ok().and_then(|id| Some(((self.others)(&id)?, id)));
            let Some((targeting, id)) = other else { continue };
            let (subject, trace) = (Subject { id: &id, targeting: &targeting, ..*self }, traces(index));
            let mut other = Explanation::new(&subject, &trace);
            subject.add_needed(&mut other, &trace, traces, seen);
            let own = other.own_doubts().into_iter().map(|doubt| format!("{}: {doubt}", quoted(&needed.key)));
            explained.doubts = own.collect();
            explained.doubts.extend(other.prerequisites.into_iter().flat_map(|one| one.doubts));
        }
    }

    /// Returns what other SDKs serve, as far as it is known and something else.
    fn elsewhere(&self, trace: &ToggleTrace, evaluate: impl Fn(SdkRules) -> Verdict) -> Vec<Elsewhere> {
        const JAVA: &str = "Java from 2.3 on";
        const UNDELIVERED: &str = "whole numbers have 32 bits where a caller asks for a number";
        const OTHERS: [(Sdk, &str, SdkRules); 6] = [
            (Sdk::Rust, "Rust", SdkRules::RUST),
            (Sdk::Node, "Node", SdkRules::NODE),
            (Sdk::Python, "Python", SdkRules::PYTHON),
            (Sdk::Java, JAVA, SdkRules::JAVA),
            (Sdk::Java, "Java before 2.3", SdkRules::OLD_JAVA),
            (Sdk::Go, "Go", SdkRules::GO),
        ];
        let mut all: Vec<Elsewhere> = Vec::new();
        if matches!(trace.verdict, Verdict::CannotSay(_)) {
            return all;
        }
        let own = SdkRules::of(self.sdks.first());
        for (sdk, name, rules) in OTHERS.into_iter().filter(|(sdk, ..)| self.sdks.has(*sdk)) {
            let evaluated = evaluate(rules);
            let (verdict, why) = match self.is_delivered(sdk, evaluated) {
                true => (evaluated, None),
                false => (Verdict::Known(Served::CallerDefault), Some(UNDELIVERED)),
            };
            // Only of a random bucket, it is certain that the SDK does something else.
            let is_unknown = match verdict {
                Verdict::CannotSay(doubt) => !matches!(doubt, Doubt::EmptyKey | Doubt::NoKey),
                Verdict::Known(_) => false,
            };
            if verdict == trace.verdict || is_unknown {
                continue;
            }
            let why = why.unwrap_or_else(|| why_other(own, rules, |one| evaluate(one) == verdict));
            match all.iter_mut().find(|other| other.verdict == verdict && other.why == why) {
                // It holds for each version.
                Some(other) if sdk == Sdk::Java && other.sdks.contains(&JAVA) => {
                    other.sdks.retain(|name| *name != JAVA);
                    other.sdks.push("Java");
                }
                Some(other) => other.sdks.push(name),
                None => {
                    let result = result(self.targeting, verdict);
                    all.push(Elsewhere { sdks: vec![name], result, verdict, why });
                }
            }
        }
        all
    }

    /// Returns whether an SDK gives a caller the value of the variation that it chose.
    fn is_delivered(&self, sdk: Sdk, verdict: Verdict) -> bool {
        let Verdict::Known(Served::Variation(index)) = verdict else { return true };
        let variations = &self.targeting.content.variations;
        sdk != Sdk::Java || !is_large_number(variations, index as usize)
    }
}

/// Returns the difference between two SDKs that decides: with it alone, `serves_the_same` is true.
fn why_other(own: SdkRules, other: SdkRules, serves_the_same: impl Fn(SdkRules) -> bool) -> &'static str {
    let unmet = match other.unmet {
        UnmetServe::Disabled => "the disabled serve is served if a prerequisite is not met",
        UnmetServe::Default | UnmetServe::DefaultOfOutermost => {
            "the default serve is served if a prerequisite is not met"
        }
    };
    let types = match other.types {
        TypeComparison::Types => "the types of prerequisites are compared",
        TypeComparison::Texts => "the values of prerequisites are compared, and not their types",
        TypeComparison::Printed => "`str` of the values of prerequisites is compared, and not their types",
    };
    let numbers_of_prerequisites = match (other.numbers, own.numbers) {
        (NumberComparison::Floats, NumberComparison::Integers) => "numbers such as `1` and `1.0` are equal",
        (NumberComparison::Floats, NumberComparison::Digits) => {
            "numbers are equal if their 64-bit floats are"
        }
        (NumberComparison::Integers, NumberComparison::Digits) => {
            "whole numbers of more than 64 bits are read as floats"
        }
        (NumberComparison::Digits, NumberComparison::Integers) => {
            "whole numbers of more than 64 bits are compared with all of their digits"
        }
        _ => "numbers such as `1` and `1.0` differ",
    };
    let json = match other.json {
        JsonEquality::AnyOrder => "JSON values are equal in any order",
        JsonEquality::Never => "no JSON value meets a prerequisite",
        JsonEquality::SameOrder => "JSON values are equal only in the same order",
    };
    let numbers = match other.has_short_numbers {
        true => "numbers have 32 bits",
        false => "numbers have 64 bits",
    };
    let builds = match other.compares_builds {
        true => "build metadata of versions is compared",
        false => "build metadata of versions is ignored",
    };
    let times = match other.has_early_times {
        true => "times before 1970 are compared",
        false => "times before 1970 match nothing",
    };
    let blanks = match other.skips_blanks {
        true => "a blank attribute is a missing one",
        false => "a blank attribute is compared",
    };
    let keys = match other.replaces_empty_keys {
        true => "an empty key is replaced",
        false => "an empty key is a key",
    };
    // What is not met serves something else as well.
    let unmet_as_other = SdkRules { unmet: other.unmet, ..own };
    [
        (unmet_as_other, unmet),
        (SdkRules { types: other.types, ..unmet_as_other }, types),
        (SdkRules { numbers: other.numbers, ..unmet_as_other }, numbers_of_prerequisites),
        (SdkRules { json: other.json, ..unmet_as_other }, json),
        (SdkRules { has_short_numbers: other.has_short_numbers, ..unmet_as_other }, numbers),
        (SdkRules { compares_builds: other.compares_builds, ..unmet_as_other }, builds),
        (SdkRules { has_early_times: other.has_early_times, ..unmet_as_other }, times),
        (SdkRules { skips_blanks: other.skips_blanks, ..unmet_as_other }, blanks),
        (SdkRules { replaces_empty_keys: other.replaces_empty_keys, ..unmet_as_other }, keys),
    ]
    .into_iter()
    .find(|(one, _)| *one != own && serves_the_same(*one))
    .map_or("more than one thing is treated in another way", |(_, why)| why)
}

/// What other SDKs serve a user.
#[derive(Debug, Serialize)]
struct Elsewhere {
    sdks: Vec<&'static str>,
    #[serde(flatten)]
    result: ExplainedResult,
    #[serde(skip)]
    verdict: Verdict,
    #[serde(skip)]
    why: &'static str,
}

impl Elsewhere {
    fn text(&self) -> String {
        let names: Vec<String> = self.sdks.iter().map(|name| (*name).to_owned()).collect();
        format!("{}: {}, because there, {}", listed(&names), sentence(&self.result), self.why)
    }
}

/// A trace with names. The texts of `condition`, `reason` and `label` are escaped, the others are not.
#[derive(Debug, Serialize)]
pub(crate) struct Explanation {
    toggle: ToggleId,
    file: String,
    key: Option<String>,
    attributes: BTreeMap<String, String>,
    at: Option<String>,
    disabled: bool,
    #[serde(flatten)]
    result: ExplainedResult,
    /// The serve that decides, if one is certain.
    served_by: Option<String>,
    prerequisites: Vec<ExplainedPrerequisite>,
    /// The errors of the document that are about others. Every pass holds it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) errors: Vec<String>,
    rules: Vec<ExplainedRule>,
    serves: Vec<ExplainedServe>,
    /// The SDK whose rules decide.
    evaluated_as: &'static str,
    elsewhere: Vec<Elsewhere>,
}

#[derive(Clone, Debug, Serialize)]
struct ExplainedResult {
    /// `variation`, `caller-default` or `cannot-say`.
    result: &'static str,
    variation: Option<ExplainedVariation>,
    reason: Option<&'static str>,
}

#[derive(Clone, Debug, Serialize)]
struct ExplainedVariation {
    index: u32,
    name: String,
    value: String,
}

#[derive(Debug, Serialize)]
struct ExplainedPrerequisite {
    label: String,
    matches: MatchResult,
    reason: Option<String>,
    /// The circle of toggles that ends the evaluation.
    #[serde(skip)]
    circle: Option<String>,
    /// The conditions of its toggle, and of those that it needs, about which SDKs may disagree.
    #[serde(rename = "may_differ", skip_serializing_if = "Vec::is_empty")]
    doubts: Vec<String>,
}

#[derive(Debug, Serialize)]
struct ExplainedRule {
    name: String,
    label: String,
    matches: MatchResult,
    conditions: Vec<ExplainedCondition>,
    serves: String,
}

#[derive(Debug, Serialize)]
struct ExplainedCondition {
    condition: String,
    matches: MatchResult,
    reason: Option<String>,
    /// The SDKs that may disagree; absent if none does.
    #[serde(skip_serializing_if = "Option::is_none")]
    may_differ: Option<MayDiffer>,
}

#[derive(Debug, Serialize)]
struct ExplainedServe {
    label: String,
    #[serde(flatten)]
    result: ExplainedResult,
    bucket: Option<u32>,
    ranges: Vec<ExplainedRange>,
}

/// The buckets of a variation in a split, end excluded.
#[derive(Debug, Serialize)]
struct ExplainedRange {
    from: u32,
    to: u32,
    variation: String,
}

/// The result of a rule or condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum MatchResult {
    /// It cannot be determined.
    CannotSay,
    /// At least one condition does not match.
    #[serde(rename = "does-not-match")]
    Differs,
    Matches,
    /// A rule before it matches, or the toggle serves its disabled serve.
    NotReached,
}

impl MatchResult {
    fn in_words(self) -> &'static str {
        match self {
            Self::CannotSay => "cannot say",
            Self::Differs => "does not match",
            Self::Matches => "matches",
            Self::NotReached => "not reached",
        }
    }
}

impl From<Truth> for MatchResult {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::False => Self::Differs,
            Truth::True => Self::Matches,
            Truth::Unknown(_) => Self::CannotSay,
        }
    }
}

impl ExplainedResult {
    /// Returns what a user gets in a few words.
    fn short(&self) -> String {
        match (&self.variation, self.reason) {
            (Some(variation), _) => quoted(&variation.name),
            (None, Some(reason)) => format!("cannot say: {reason}"),
            (None, None) => "the default in the caller's code".to_owned(),
        }
    }
}

impl Explanation {
    fn new(subject: &Subject<'_>, trace: &ToggleTrace) -> Self {
        let content = &subject.targeting.content;
        let prerequisites = content.prerequisites.iter().flatten().zip(&trace.prerequisites);
        let rules = content.rules.iter().enumerate();
        let rules_of_sdk = SdkRules::of(subject.sdks.first());
        Self {
            toggle: subject.id.clone(),
            file: subject.path.to_owned(),
            key: subject.key.map(str::to_owned),
            attributes: subject.attributes.clone(),
            at: subject.at.map(rfc3339),
            disabled: subject.targeting.disabled,
            result: result(subject.targeting, trace.verdict),
            served_by: trace.place.map(|place| serve_label(subject.targeting, place)),
            prerequisites: prerequisites
                .map(|(prerequisite, trace)| ExplainedPrerequisite {
                    label: sentences::prerequisite(prerequisite),
                    matches: trace.truth.into(),
                    reason: prerequisite_reason(prerequisite, trace, rules_of_sdk.json),
                    circle: circle(trace, MOST_NOTED),
                    doubts: Vec::new(),
                })
                .collect(),
            rules: rules.map(|(index, item)| rule(subject, trace, index, item)).collect(),
            serves: trace.serves.iter().map(|trace| serve(subject.targeting, trace)).collect(),
            evaluated_as: subject.sdks.first().versioned(),
            elsewhere: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub(crate) fn variation(&self) -> Option<&str> {
        self.result.variation.as_ref().map(|variation| variation.name.as_str())
    }

    /// Returns what the user gets, as the rest of a sentence.
    pub(crate) fn outcome(&self) -> String {
        match self.result.reason {
            Some(_) => self.result.short(),
            None => format!("served {}{}", self.result.short(), self.by()),
        }
    }

    pub(crate) fn text(&self) -> String {
        let mut out = String::new();
        let user = match &self.key {
            Some(key) => format!("the user {}", quoted(key)),
            None => "a user without a key".to_owned(),
        };
        let _ = writeln!(out, "{} for {user}\n  {}", self.toggle, escaped(&self.file));
        trace(&mut out, self);
        let _ = writeln!(out, "\n{}{}", sentence(&self.result), self.by());
        for other in self.elsewhere() {
            let _ = writeln!(out, "{other}");
        }
        for error in &self.errors {
            let _ = writeln!(out, "every pass holds this document, because it is invalid: {error}");
        }
        out
    }

    /// Returns the SDK by whose rules the toggle was evaluated.
    pub(crate) fn evaluated_as(&self) -> &'static str {
        self.evaluated_as
    }

    /// Returns the circle of prerequisites that ends the evaluation, if there is one.
    pub(crate) fn circle(&self) -> Option<&str> {
        self.prerequisites.iter().find_map(|prerequisite| prerequisite.circle.as_deref())
    }

    /// Returns what other SDKs serve, each in one line.
    pub(crate) fn elsewhere(&self) -> Vec<String> {
        self.elsewhere.iter().map(Elsewhere::text).collect()
    }

    /// Returns the conditions about which SDKs may disagree, each in one line: those of the toggles that it
    /// needs, and its own.
    pub(crate) fn doubts(&self) -> Vec<String> {
        let needed = self.prerequisites.iter().flat_map(|prerequisite| prerequisite.doubts.iter().cloned());
        needed.chain(self.own_doubts()).collect()
    }

    /// Returns its own conditions about which SDKs may disagree, unless another condition of the rule decides it.
    fn own_doubts(&self) -> Vec<String> {
        let is_open = |condition: &ExplainedCondition| {
            condition.matches != MatchResult::Differs || condition.may_differ.is_some()
        };
        let rules = self.rules.iter().filter(|rule| rule.conditions.iter().all(is_open));
        let conditions = rules.flat_map(|rule| &rule.conditions);
        let lines = conditions.filter_map(|condition| {
            Some(format!("{}: {}", condition.condition, doubt(condition.may_differ.as_ref()?)))
        });
        lines.collect()
    }

    fn by(&self) -> String {
        self.served_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"))
    }
}

fn result(targeting: &Targeting, verdict: Verdict) -> ExplainedResult {
    let (result, index, reason) = match verdict {
        Verdict::CannotSay(doubt) => ("cannot-say", None, Some(doubt.reason())),
        Verdict::Known(Served::CallerDefault) => ("caller-default", None, None),
        Verdict::Known(Served::Variation(index)) => ("variation", Some(index), None),
    };
    let variation = index.map(|index| {
        let variation = &targeting.content.variations[index as usize];
        ExplainedVariation { index, name: variation.name.clone(), value: variation.value.clone() }
    });
    ExplainedResult { result, variation, reason }
}

/// Returns the name of a serve, escaped.
pub(crate) fn serve_label(targeting: &Targeting, place: ServePlace) -> String {
    match place {
        ServePlace::Default => "the default serve".to_owned(),
        ServePlace::Disabled => "the disabled serve".to_owned(),
        ServePlace::Rule(index) => sentences::label(&targeting.content.rules[index], index),
    }
}

fn prerequisite_reason(
    prerequisite: &Prerequisite,
    trace: &PrerequisiteTrace,
    json: JsonEquality,
) -> Option<String> {
    match trace.truth {
        Truth::Unknown(doubt) => Some(doubt.reason().to_owned()),
        Truth::False => Some(unmet_reason(prerequisite, trace, json)),
        Truth::True => None,
    }
}

fn unmet_reason(prerequisite: &Prerequisite, trace: &PrerequisiteTrace, json: JsonEquality) -> String {
    let key = quoted(&prerequisite.key);
    let is_same = |value: &str| is_same_value(prerequisite.kind, value, &prerequisite.value) == Some(true);
    match (&trace.end, &trace.value) {
        (Some(PrerequisiteEnd::Circle(_)), _) => circle(trace, usize::MAX).unwrap_or_default(),
        (Some(PrerequisiteEnd::Other), _) => format!(
            "SDKs do not evaluate {key}: they do not get it or a toggle that it needs, one of those is not met, or the \
             chain of prerequisites is too long"
        ),
        (None, Some(value)) if prerequisite.kind == ReturnType::Json && is_same(value) => {
            let why = match json {
                JsonEquality::SameOrder => "with its members in another order, which this SDK compares",
                JsonEquality::AnyOrder | JsonEquality::Never => {
                    "but no JSON value meets a prerequisite in this SDK"
                }
            };
            format!("{key} serves {}, {why}", quoted(value))
        }
        (None, Some(value)) if *value == prerequisite.value => {
            let kind = prerequisite.kind.as_str();
            format!("{key} serves {}, but it is not a toggle of the type `{kind}`", quoted(value))
        }
        (None, Some(value)) => {
            let disabled = if trace.is_disabled { " is disabled and" } else { "" };
            let notation = if trace.is_other_number { ", which is another number to the SDK" } else { "" };
            format!("{key}{disabled} serves {}{notation}", quoted(value))
        }
        (None, None) => format!("{key} serves the default in the caller's code"),
    }
}

/// Returns the circle of prerequisites that ends an evaluation, as a sentence that names at most so many toggles.
fn circle(trace: &PrerequisiteTrace, most: usize) -> Option<String> {
    let Some(PrerequisiteEnd::Circle(keys)) = &trace.end else { return None };
    let names: Vec<String> = keys.iter().take(most).map(|key| quoted(key)).collect();
    let more = if keys.len() > most { " → …" } else { "" };
    Some(format!("these prerequisites form a circle: {}{more}", names.join(" → ")))
}

fn rule(subject: &Subject<'_>, trace: &ToggleTrace, index: usize, rule: &Rule) -> ExplainedRule {
    let variations = &subject.targeting.content.variations;
    let reached = trace.rules.get(index);
    let conditions = reached.iter().flat_map(|trace| &trace.conditions);
    ExplainedRule {
        name: rule.name.clone(),
        label: sentences::label(rule, index),
        matches: reached.map_or(MatchResult::NotReached, |trace| trace.truth.into()),
        conditions: rule
            .conditions
            .iter()
            .zip(conditions)
            .map(|(condition, truth)| ExplainedCondition {
                condition: sentences::condition(condition),
                matches: (*truth).into(),
                reason: reason(condition, *truth, subject),
                may_differ: subject
                    .attributes
                    .get(&condition.subject)
                    .and_then(|value| may_differ(condition, value, subject.sdks)),
            })
            .collect(),
        serves: sentences::served(&rule.serve, variations),
    }
}

fn reason(condition: &Condition, truth: Truth, subject: &Subject<'_>) -> Option<String> {
    if let Truth::Unknown(doubt) = truth {
        return Some(doubt.reason().to_owned());
    }
    let name = quoted(&condition.subject);
    let Some(value) = subject.attributes.get(&condition.subject) else {
        return match (condition.kind.as_str(), subject.at) {
            ("datetime", Some(at)) => {
                Some(format!("{name} is not given, so the time {} counts", rfc3339(at)))
            }
            _ => Some(format!("{name} is not given")),
        };
    };
    let expected = evaluate::misfit(SdkRules::of(subject.sdks.first()), condition, value);
    let value = quoted(value);
    Some(match expected {
        Some(kind) => format!("{name} is {value}, which is not {kind}"),
        None => format!("{name} is {value}"),
    })
}

fn serve(targeting: &Targeting, trace: &ServeTrace) -> ExplainedServe {
    let content = &targeting.content;
    let serve = match trace.place {
        ServePlace::Default => &content.default_serve,
        ServePlace::Disabled => &content.disabled_serve,
        ServePlace::Rule(index) => &content.rules[index].serve,
    };
    let ranges = match serve {
        Serve::Split(weights)
            if trace.bucket.is_some()
                || matches!(trace.verdict, Verdict::CannotSay(Doubt::EmptyKey | Doubt::NoKey)) =>
        {
            ranges(weights, targeting)
        }
        _ => Vec::new(),
    };
    ExplainedServe {
        label: serve_label(targeting, trace.place),
        result: result(targeting, trace.verdict),
        bucket: trace.bucket,
        ranges,
    }
}

fn ranges(weights: &[u32], targeting: &Targeting) -> Vec<ExplainedRange> {
    let mut from = 0_u32;
    let mut ranges = Vec::new();
    for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
        let to = from.saturating_add(*weight).min(WHOLE);
        let variation = targeting.content.variations.get(index);
        let variation = variation.map_or_else(String::new, |variation| variation.name.clone());
        ranges.push(ExplainedRange { from, to, variation });
        from = to;
    }
    ranges
}

fn trace(out: &mut String, explanation: &Explanation) {
    if explanation.disabled {
        let _ = writeln!(out, "  the toggle is disabled");
    }
    for prerequisite in &explanation.prerequisites {
        let reason = after(prerequisite.reason.as_deref());
        let _ = writeln!(out, "  prerequisite {}: {}{reason}", prerequisite.label, met(prerequisite.matches));
        for doubt in &prerequisite.doubts {
            let _ = writeln!(out, "    {doubt}");
        }
    }
    for rule in &explanation.rules {
        let _ = writeln!(out, "  {}: {}", rule.label, rule.matches.in_words());
        if rule.matches != MatchResult::NotReached && rule.conditions.is_empty() {
            let _ = writeln!(out, "    it has no conditions, so it matches everyone");
        }
        for condition in &rule.conditions {
            let reason = after(condition.reason.as_deref());
            let differs = after(condition.may_differ.as_ref().map(doubt).as_deref());
            let _ = writeln!(
                out,
                "    {}: {}{reason}{differs}",
                condition.condition,
                condition.matches.in_words()
            );
        }
    }
    for serve in &explanation.serves {
        serves(out, serve);
    }
}

/// Returns which SDKs may disagree about a condition, and why.
fn doubt(MayDiffer { sdks, about }: &MayDiffer) -> String {
    let [sdks, about] = [sdks, about].map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>());
    format!("may differ in {} ({})", listed(&sdks), listed(&about))
}

fn met(matches: MatchResult) -> &'static str {
    match matches {
        MatchResult::Matches => "met",
        MatchResult::Differs => "not met",
        MatchResult::CannotSay | MatchResult::NotReached => matches.in_words(),
    }
}

fn after(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!("; {reason}"))
}

fn serves(out: &mut String, serve: &ExplainedServe) {
    let _ = match serve.result.reason {
        Some(reason) => writeln!(out, "  {}: {}; {reason}", serve.label, MatchResult::CannotSay.in_words()),
        None => writeln!(out, "  {} serves {}", serve.label, serve.result.short()),
    };
    if serve.ranges.is_empty() {
        return;
    }
    let bucket = serve.bucket.map_or_else(|| "random bucket".to_owned(), |bucket| format!("bucket {bucket}"));
    let ranges: Vec<String> = serve
        .ranges
        .iter()
        .map(|range| format!("{} has {} to {}", quoted(&range.variation), range.from, range.to - 1))
        .collect();
    let _ = writeln!(out, "    {bucket}: {}", ranges.join(", "));
}

fn sentence(result: &ExplainedResult) -> String {
    match &result.variation {
        Some(variation) => {
            format!("served: {} (value {})", quoted(&variation.name), quoted(&variation.value))
        }
        None if result.reason.is_some() => result.short(),
        None => format!("served: {}", result.short()),
    }
}
