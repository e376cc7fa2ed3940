//! `gitoggle explain`: traces one user through a toggle. It needs no network, state or token.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;

use super::args::ExplainArgs;
use super::failure::{ExitStatus, Failure};
use super::{note, print, show, validate};
use crate::config::{OutputFormat, Settings};
use crate::document;
use crate::evaluate::{
    self, Compiler, Definitions, Doubt, Evaluator, PrerequisiteTrace, ServePlace, ServeTrace, Served,
    ToggleTrace, Truth, Verdict,
};
use crate::model::{Condition, Payload, Rule, Serve, Targeting, ToggleId, WHOLE, closest, escaped, rfc3339};
use crate::pass::{DocumentFiles, ReadDocument};
use crate::plan::sentences;
use crate::plan::sentences::quoted;

pub(super) fn run(settings: &Settings, args: &ExplainArgs) -> Result<ExitStatus, Failure> {
    let attributes = attributes(args)?;
    let target = validate::everything(settings)?;
    let documents = DocumentFiles::open(&target, &settings.layout, settings.service_kind)?;
    let found = documents.read(&args.toggle)?.ok_or_else(|| unknown(&args.toggle, &documents))?;
    let targeting = valid(&args.toggle, &found)?;
    let mut compiler = Compiler::default();
    let mut lookup = Lookup::new(&documents);
    let index = compiler.toggle(&args.toggle, &mut Definitions::new(|id| lookup.find(id)));
    lookup.finish()?;
    let index = index.expect("the document of the toggle is valid");
    let evaluator = compiler.finish();
    let now = args.at.unwrap_or_else(|| jiff::Timestamp::now().as_second());
    let subject = Subject {
        id: &args.toggle,
        path: &found.path,
        targeting: &targeting,
        key: args.key.as_deref(),
        attributes: &attributes,
        at: Some(now),
    };
    let (explanation, _) = subject.explain(&evaluator, index);
    match settings.output {
        OutputFormat::Human => print(&text(&explanation))?,
        OutputFormat::Json => show::json(&explanation.versioned())?,
        _ => return Err(super::unsupported_output(settings.output)),
    }
    Ok(ExitStatus::Clean)
}

fn attributes(args: &ExplainArgs) -> Result<Attributes, Failure> {
    let mut attributes = Attributes::new();
    for (name, value) in &args.attributes {
        if attributes.insert(name.clone(), value.clone()).is_some() {
            let message = format!("the attribute `{}` is given twice", escaped(name));
            return Err(Failure::new(ExitStatus::Usage, message).hint("give each `--attr` once"));
        }
    }
    Ok(attributes)
}

fn unknown(id: &ToggleId, documents: &DocumentFiles) -> Failure {
    let failure = Failure::failed(format!("there is no document for `{id}`"));
    // Toggles of the same environment come first, because the suggestion looks at a limited number.
    let (near, far): (Vec<_>, Vec<_>) = documents.toggles().partition(|other| other.is_in(&id.environment()));
    let candidates = near.into_iter().chain(far).map(ToggleId::as_str);
    match closest(id.as_str(), candidates) {
        Some(similar) => failure.hint(format!("did you mean `{similar}`?")),
        None => failure.hint(
            "check the name, `--root` and `--layout`; `gitoggle validate` shows whether documents are found",
        ),
    }
}

/// Returns the targeting of a document, or prints its findings.
fn valid(id: &ToggleId, found: &ReadDocument) -> Result<Targeting, Failure> {
    if let Some(payload) = &found.document.payload {
        return Ok(payload.targeting());
    }
    note(&document::render(&found.document.diagnostics, crate::model::Color::Never))?;
    Err(Failure::new(
        ExitStatus::Invalid,
        format!("the document of `{id}` is invalid, so it cannot be evaluated"),
    ))
}

/// Finds valid documents, and keeps the first error of a read.
pub(super) struct Lookup<'a> {
    documents: &'a DocumentFiles,
    error: Option<crate::pass::Error>,
}

impl<'a> Lookup<'a> {
    pub(super) fn new(documents: &'a DocumentFiles) -> Self {
        let error = None;
        Self { documents, error }
    }

    pub(super) fn find(&mut self, id: &ToggleId) -> Option<Payload> {
        match self.documents.read(id) {
            Ok(found) => found?.document.payload,
            Err(error) => {
                self.error.get_or_insert(error);
                None
            }
        }
    }

    pub(super) fn finish(self) -> Result<(), Failure> {
        self.error.map_or(Ok(()), |error| Err(error.into()))
    }
}

pub(super) type Attributes = BTreeMap<String, String>;

/// What is evaluated for whom.
pub(super) struct Subject<'a> {
    pub(super) id: &'a ToggleId,
    pub(super) path: &'a str,
    pub(super) targeting: &'a Targeting,
    pub(super) key: Option<&'a str>,
    pub(super) attributes: &'a Attributes,
    /// The time of evaluation in seconds since 1970-01-01 UTC.
    pub(super) at: Option<i64>,
}

impl Subject<'_> {
    /// Evaluates a toggle. Returns the place of the serve that decides, too.
    pub(super) fn explain(&self, evaluator: &Evaluator, index: usize) -> (Explanation, Option<ServePlace>) {
        let mut person = evaluator.person(self.at);
        person.reset(self.key);
        for (name, value) in self.attributes {
            person.set(name, value);
        }
        let trace = evaluator.trace(index, &person);
        (Explanation::new(self, &trace), trace.place)
    }
}

/// A trace with names. The texts of `condition`, `reason` and `label` are escaped, the others are not.
#[derive(Debug, Serialize)]
pub(super) struct Explanation {
    toggle: ToggleId,
    file: String,
    key: Option<String>,
    attributes: Attributes,
    at: Option<String>,
    disabled: bool,
    #[serde(flatten)]
    result: ExplainedResult,
    /// The serve that decides, if one is certain.
    served_by: Option<String>,
    prerequisites: Vec<ExplainedPrerequisite>,
    rules: Vec<ExplainedRule>,
    serves: Vec<ExplainedServe>,
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
        Self {
            toggle: subject.id.clone(),
            file: subject.path.to_owned(),
            key: subject.key.map(str::to_owned),
            attributes: subject.attributes.clone(),
            at: subject.at.map(rfc3339),
            disabled: subject.targeting.disabled,
            result: result(subject.targeting, trace.verdict),
            served_by: trace.place.map(|place| label(subject.targeting, place)),
            prerequisites: prerequisites
                .map(|(prerequisite, trace)| ExplainedPrerequisite {
                    label: sentences::prerequisite(prerequisite),
                    matches: trace.truth.into(),
                    reason: prerequisite_reason(trace),
                })
                .collect(),
            rules: rules.map(|(index, item)| rule(subject, trace, index, item)).collect(),
            serves: trace.serves.iter().map(|trace| serve(subject.targeting, trace)).collect(),
        }
    }

    pub(super) fn variation(&self) -> Option<&str> {
        self.result.variation.as_ref().map(|variation| variation.name.as_str())
    }

    /// Returns what the user gets, as the rest of a sentence.
    pub(super) fn outcome(&self) -> String {
        match self.result.reason {
            Some(_) => self.result.short(),
            None => format!("served {}{}", self.result.short(), self.by()),
        }
    }

    fn by(&self) -> String {
        self.served_by.as_ref().map_or_else(String::new, |by| format!(" by {by}"))
    }

    fn versioned(&self) -> impl Serialize {
        #[derive(Serialize)]
        struct Versioned<'a> {
            version: u32,
            #[serde(flatten)]
            explanation: &'a Explanation,
        }
        Versioned { version: 1, explanation: self }
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
pub(super) fn label(targeting: &Targeting, place: ServePlace) -> String {
    match place {
        ServePlace::Default => "the default serve".to_owned(),
        ServePlace::Disabled => "the disabled serve".to_owned(),
        ServePlace::Rule(index) => sentences::label(&targeting.content.rules[index], index),
    }
}

fn prerequisite_reason(trace: &PrerequisiteTrace) -> Option<String> {
    match (trace.truth, trace.verdict) {
        (Truth::Unknown(doubt), _) => Some(doubt.reason().to_owned()),
        (Truth::False, _) => {
            Some("the toggle serves another value, or too many toggles depend on each other".to_owned())
        }
        (Truth::True, _) => None,
    }
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
            })
            .collect(),
        serves: sentences::served(&rule.serve, variations),
    }
}

fn reason(condition: &Condition, truth: Truth, subject: &Subject<'_>) -> Option<String> {
    match truth {
        Truth::Unknown(doubt) => return Some(doubt.reason().to_owned()),
        Truth::False | Truth::True => {}
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
    let expected = evaluate::misfit(condition, value);
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
            if trace.bucket.is_some() || trace.verdict == Verdict::CannotSay(Doubt::NoKey) =>
        {
            ranges(weights, targeting)
        }
        _ => Vec::new(),
    };
    ExplainedServe {
        label: label(targeting, trace.place),
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

pub(super) fn text(explanation: &Explanation) -> String {
    let mut out = String::new();
    let user = match &explanation.key {
        Some(key) => format!("the user {}", quoted(key)),
        None => "a user without a key".to_owned(),
    };
    let _ = writeln!(out, "{} for {user}\n  {}", explanation.toggle, escaped(&explanation.file));
    trace(&mut out, explanation);
    let _ = writeln!(out, "\n{}{}", sentence(&explanation.result), explanation.by());
    out
}

fn trace(out: &mut String, explanation: &Explanation) {
    if explanation.disabled {
        let _ = writeln!(out, "  the toggle is disabled");
    }
    for prerequisite in &explanation.prerequisites {
        let reason = after(prerequisite.reason.as_deref());
        let _ = writeln!(out, "  prerequisite {}: {}{reason}", prerequisite.label, met(prerequisite.matches));
    }
    for rule in &explanation.rules {
        let _ = writeln!(out, "  {}: {}", rule.label, rule.matches.in_words());
        if rule.matches != MatchResult::NotReached && rule.conditions.is_empty() {
            let _ = writeln!(out, "    it has no conditions, so it matches everyone");
        }
        for condition in &rule.conditions {
            let reason = after(condition.reason.as_deref());
            let _ = writeln!(out, "    {}: {}{reason}", condition.condition, condition.matches.in_words());
        }
    }
    for serve in &explanation.serves {
        serves(out, serve);
    }
}

fn met(matches: MatchResult) -> &'static str {
    match matches {
        MatchResult::Matches => "met",
        MatchResult::Differs => "not met",
        MatchResult::CannotSay => "cannot say",
        MatchResult::NotReached => "not reached",
    }
}

fn after(reason: Option<&str>) -> String {
    reason.map_or_else(String::new, |reason| format!("; {reason}"))
}

fn serves(out: &mut String, serve: &ExplainedServe) {
    let _ = writeln!(out, "  {} serves {}", serve.label, serve.result.short());
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
