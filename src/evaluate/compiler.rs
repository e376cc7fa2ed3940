//! Compiles toggles and the toggles that they depend on.

use std::collections::{HashMap, VecDeque};

use super::condition;
use super::condition::{Person, Served, Test, Truth, Verdict};
use super::evaluator::{Evaluator, SdkRules, Slots, UnmetServe, bucket, certain_key, pick, rule_truth};
use crate::model::{NumberEquality, Payload, ReturnType, Rule, Serve, Targeting, ToggleId, WHOLE};

/// Finds the targeting of a toggle in the repository.
type Find<'a> = dyn FnMut(&ToggleId) -> Option<Payload> + 'a;

/// Returns the types that the documents of a toggle have in all environments; none if that is not known.
type Elsewhere<'a> = dyn FnMut(&ToggleId) -> Option<Vec<ReturnType>> + 'a;

/// One consistent set of toggles, such as those of one revision. It looks up each toggle once.
pub(crate) struct Definitions<'a> {
    find: Box<Find<'a>>,
    elsewhere: Box<Elsewhere<'a>>,
    found: HashMap<ToggleId, Option<(usize, Targeting)>>,
}

impl<'a> Definitions<'a> {
    /// Creates a set whose toggles `find` returns; `None` for those without a valid document.
    pub(crate) fn new(find: impl FnMut(&ToggleId) -> Option<Payload> + 'a) -> Self {
        Self { find: Box::new(find), elsewhere: Box::new(|_| None), found: HashMap::new() }
    }

    /// Adds the types that documents have in all environments.
    pub(crate) fn with_types(self, elsewhere: impl FnMut(&ToggleId) -> Option<Vec<ReturnType>> + 'a) -> Self {
        Self { elsewhere: Box::new(elsewhere), ..self }
    }
}

/// Compiles toggles. Several sets of [`Definitions`] can share one, so that users are parsed once for both.
#[derive(Debug, Default)]
pub(crate) struct Compiler {
    slots: Slots,
    toggles: Vec<CompiledToggle>,
}

impl Compiler {
    /// Compiles a toggle with all its prerequisites and returns its index in the [`Evaluator`]; `None` if the
    /// definitions do not have it.
    pub(crate) fn toggle(&mut self, id: &ToggleId, definitions: &mut Definitions<'_>) -> Option<usize> {
        // A list instead of recursion, because a chain of prerequisites can be long.
        let mut open = VecDeque::new();
        let index = self.find(id, definitions, &mut open);
        while let Some(next) = open.pop_front() {
            let prerequisites = self.prerequisites(&next, definitions, &mut open);
            let (index, _) = definitions.found[&next].as_ref().expect("only found toggles are queued");
            self.toggles[*index].prerequisites = prerequisites;
        }
        index
    }

    /// Returns the evaluator of all compiled toggles.
    pub(crate) fn finish(self) -> Evaluator {
        let Self { slots, toggles } = self;
        Evaluator { slots, toggles }
    }

    fn find(
        &mut self,
        id: &ToggleId,
        definitions: &mut Definitions<'_>,
        open: &mut VecDeque<ToggleId>,
    ) -> Option<usize> {
        if let Some(found) = definitions.found.get(id) {
            return found.as_ref().map(|(index, _)| *index);
        }
        let found = (definitions.find)(id).map(|payload| {
            let targeting = payload.targeting();
            self.toggles.push(CompiledToggle::new(id, &targeting, &mut self.slots));
            open.push_back(id.clone());
            (self.toggles.len() - 1, targeting)
        });
        let index = found.as_ref().map(|(index, _)| *index);
        definitions.found.insert(id.clone(), found);
        index
    }

    fn prerequisites(
        &mut self,
        id: &ToggleId,
        definitions: &mut Definitions<'_>,
        open: &mut VecDeque<ToggleId>,
    ) -> Vec<CompiledPrerequisite> {
        let mut elsewhere = std::mem::replace(&mut definitions.elsewhere, Box::new(|_| None));
        let targeting = definitions.found[id].as_ref().map(|(_, targeting)| targeting);
        let listed = targeting.and_then(|targeting| targeting.content.prerequisites.clone());
        let prerequisites = listed.unwrap_or_default().into_iter().map(|prerequisite| {
            // A text that is not a key names no toggle of the repository.
            let other = ToggleId::new(id.project(), id.environment_key(), &prerequisite.key).ok();
            let toggle = other.as_ref().and_then(|other| self.find(other, definitions, open));
            let found = other.as_ref().and_then(|other| definitions.found.get(other)?.as_ref());
            let variations = found.map_or(&[][..], |(_, targeting)| &targeting.content.variations);
            let values: Vec<&str> = variations.iter().map(|variation| variation.value.as_str()).collect();
            let types = || other.as_ref().and_then(&mut elsewhere);
            let is_other = condition::has_other_type(prerequisite.kind, &values, types);
            let is_same = |value: &&str| -> Truth { (**value == prerequisite.value).into() };
            let meets = |value: &&str| condition::meets(&prerequisite, value);
            // Go compares texts, whatever the type, and Python what it prints.
            let matches = |if_other: &dyn Fn(&&str) -> Truth| {
                let matches = values.iter().map(|value| match is_other {
                    Truth::False => meets(value),
                    Truth::True => if_other(value),
                    Truth::Unknown(doubt) if [is_same(value), if_other(value)].contains(&Truth::True) => {
                        Truth::Unknown(doubt)
                    }
                    Truth::Unknown(_) => Truth::False,
                });
                matches.collect()
            };
            let equalities = values.iter().map(|value| match is_other {
                Truth::False => condition::equality(&prerequisite, value),
                _ => NumberEquality::Agreed,
            });
            let is_json = prerequisite.kind == ReturnType::Json;
            let orders =
                values.iter().filter(|_| is_json).map(|value| condition::order(&prerequisite, value));
            let kind = ReturnType::of(&values);
            let is_same_in_python =
                |value: &&str| -> Truth { condition::is_same_in_python(&prerequisite, kind, value).into() };
            CompiledPrerequisite {
                toggle,
                equalities: equalities.collect(),
                is_json,
                orders: orders.collect(),
                values: values.iter().map(|value| (*value).to_owned()).collect(),
                matches: matches(&|_| Truth::False),
                matches_in_go: matches(&is_same),
                matches_in_python: matches(&is_same_in_python),
            }
        });
        let prerequisites = prerequisites.collect();
        definitions.elsewhere = elsewhere;
        prerequisites
    }
}

/// A toggle whose conditions, serves and prerequisites are resolved.
#[derive(Debug)]
pub(super) struct CompiledToggle {
    /// The toggle's key, which decides on the bucket.
    pub(super) key: String,
    pub(super) is_disabled: bool,
    /// Whether SDKs get the toggle (src/service/featureprobe.md, "What breaks silently").
    pub(super) is_delivered: bool,
    pub(super) disabled_serve: CompiledServe,
    pub(super) default_serve: CompiledServe,
    pub(super) rules: Vec<CompiledRule>,
    pub(super) prerequisites: Vec<CompiledPrerequisite>,
}

#[derive(Debug)]
pub(super) struct CompiledRule {
    /// The tests with the index of their condition.
    pub(super) tests: Vec<(usize, Test)>,
    pub(super) serve: CompiledServe,
}

#[derive(Debug)]
pub(super) enum CompiledServe {
    /// The same for every user.
    Always(Served),
    /// The ends of the buckets' ranges and the results, in order; beyond the last, the caller's default.
    Split(Vec<(u64, Served)>),
}

#[derive(Debug)]
pub(super) struct CompiledPrerequisite {
    /// The index of the compiled toggle, if the repository has it.
    pub(super) toggle: Option<usize>,
    /// The values of that toggle's variations.
    pub(super) values: Vec<String>,
    /// Whether each variation of that toggle has the expected value.
    pub(super) matches: Vec<Truth>,
    /// The same for Go, which compares texts, whatever their types.
    pub(super) matches_in_go: Vec<Truth>,
    /// The same for Python, which compares what it prints of both.
    pub(super) matches_in_python: Vec<Truth>,
    /// Which SDKs take the number of each variation for the expected one.
    pub(super) equalities: Vec<NumberEquality>,
    pub(super) is_json: bool,
    /// Whether the JSON of each variation has its members in the order of the expected value; empty for other types.
    pub(super) orders: Vec<Truth>,
}

impl CompiledToggle {
    /// Compiles everything but the prerequisites.
    pub(super) fn new(id: &ToggleId, targeting: &Targeting, slots: &mut Slots) -> Self {
        let content = &targeting.content;
        let variations = content.variations.len();
        let serve = |serve: &Serve| CompiledServe::new(serve, variations);
        let is_empty = |serve: &Serve| *serve == Serve::Nothing;
        let needed = !targeting.disabled && is_empty(&content.default_serve);
        let mut rule = |rule: &Rule| CompiledRule { tests: tests(rule, slots), serve: serve(&rule.serve) };
        Self {
            key: id.toggle().to_owned(),
            is_disabled: targeting.disabled,
            is_delivered: !(needed
                || is_empty(&content.disabled_serve)
                || content.rules.iter().any(|rule| is_empty(&rule.serve))),
            disabled_serve: serve(&content.disabled_serve),
            default_serve: serve(&content.default_serve),
            rules: content.rules.iter().map(&mut rule).collect(),
            prerequisites: Vec::new(),
        }
    }
}

fn tests(rule: &Rule, slots: &mut Slots) -> Vec<(usize, Test)> {
    let conditions = rule.conditions.iter().enumerate();
    let tests = conditions.flat_map(|(index, item)| {
        let tests = condition::compile(item, slots);
        tests.into_iter().map(move |test| (index, test))
    });
    tests.collect()
}

impl CompiledServe {
    fn new(serve: &Serve, variations: usize) -> Self {
        let served = |index: usize| match u32::try_from(index) {
            Ok(index) if (index as usize) < variations => Served::Variation(index),
            _ => Served::CallerDefault,
        };
        let weights = match serve {
            Serve::Nothing => return Self::Always(Served::CallerDefault),
            Serve::Select(index) => return Self::Always(served(*index as usize)),
            Serve::Split(weights) => weights,
        };
        let mut ends: Vec<(u64, Served)> = Vec::new();
        let mut end = 0;
        for (index, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
            end += u64::from(*weight);
            ends.push((end, served(index)));
        }
        match ends.as_slice() {
            [] => Self::Always(Served::CallerDefault),
            // The first range has every bucket, so no user key is needed.
            [(end, served), ..] if *end >= u64::from(WHOLE) => Self::Always(*served),
            _ => Self::Split(ends),
        }
    }
}

/// The evaluation of a toggle for one user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ToggleTrace {
    /// What the user is served.
    pub verdict: Verdict,
    /// The part of the document that serves it; `None` if several are possible, or if SDKs do not get the
    /// toggle.
    pub place: Option<ServePlace>,
    /// The prerequisites, up to the first one that is not met. Empty for a disabled toggle.
    pub prerequisites: Vec<PrerequisiteTrace>,
    /// The rules that the evaluation may reach, in order.
    pub rules: Vec<RuleTrace>,
    /// The serves that are possible, in order; the last one is certain if all before it are not.
    pub serves: Vec<ServeTrace>,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum ServePlace {
    Rule(usize),
    Default,
    Disabled,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct PrerequisiteTrace {
    /// The toggle that it names, if the repository has it.
    pub toggle: Option<usize>,
    pub truth: Truth,
    /// What its toggle serves; `None` if the repository does not have it.
    pub verdict: Option<Verdict>,
    /// The value that its toggle serves, if that is certain.
    pub value: Option<String>,
    /// Whether its toggle is disabled.
    pub is_disabled: bool,
    /// Why the evaluation ends there, if it does.
    pub end: Option<PrerequisiteEnd>,
    /// Whether another SDK may take the value for the expected number.
    pub is_other_number: bool,
}

/// Why SDKs do not evaluate the toggle of a prerequisite.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum PrerequisiteEnd {
    /// Toggles need each other: their keys, the first one again at the end.
    Circle(Vec<String>),
    /// A chain of prerequisites is too long, SDKs do not get one of its toggles, or one of them is not met.
    Other,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RuleTrace {
    /// Whether all of its conditions match.
    pub truth: Truth,
    /// Whether each of its conditions matches, in order.
    pub conditions: Vec<Truth>,
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ServeTrace {
    pub place: ServePlace,
    /// What it gives the user.
    pub verdict: Verdict,
    /// The bucket, if the serve is a split and the user has a key.
    pub bucket: Option<u32>,
}

impl Evaluator {
    /// Traces the toggle with this index for a user of an SDK with these rules.
    ///
    /// # Panics
    /// If the index is not one that the compiler returned.
    pub(crate) fn trace(&self, rules: SdkRules, toggle: usize, person: &Person<'_>) -> ToggleTrace {
        let verdict = self.evaluate(rules, toggle, person);
        let toggle = &self.toggles[toggle];
        let mut trace = ToggleTrace {
            verdict,
            place: None,
            prerequisites: Vec::new(),
            rules: Vec::new(),
            serves: Vec::new(),
        };
        if toggle.is_delivered {
            self.walk(rules, toggle, person, &mut trace);
        }
        if let [only] = trace.serves.as_slice() {
            trace.place = Some(only.place);
        }
        trace
    }

    fn walk(&self, rules: SdkRules, toggle: &CompiledToggle, person: &Person<'_>, trace: &mut ToggleTrace) {
        let serve = |place, serve| ServeTrace {
            place,
            verdict: pick(toggle, serve, person, rules),
            bucket: match serve {
                CompiledServe::Always(_) => None,
                CompiledServe::Split(_) => {
                    certain_key(person, rules).ok().map(|key| bucket(key, &toggle.key))
                }
            },
        };
        let disabled = serve(ServePlace::Disabled, &toggle.disabled_serve);
        if toggle.is_disabled {
            trace.serves.push(disabled);
            return;
        }
        let default = serve(ServePlace::Default, &toggle.default_serve);
        let if_unmet = if rules.unmet == UnmetServe::Disabled { disabled } else { default };
        for prerequisite in &toggle.prerequisites {
            let (truth, verdict, ends) = self.prerequisite(rules, prerequisite, person);
            let value = match verdict {
                Some(Verdict::Known(Served::Variation(index))) => {
                    prerequisite.values.get(index as usize).cloned()
                }
                _ => None,
            };
            let is_disabled = prerequisite.toggle.is_some_and(|toggle| self.toggles[toggle].is_disabled);
            let index = prerequisite.values.iter().position(|other| Some(other) == value.as_ref());
            let end = ends.then(|| {
                let circle = prerequisite.toggle.and_then(|toggle| self.circle(toggle));
                let owned = |keys: Vec<&str>| keys.into_iter().map(str::to_owned).collect();
                circle.map_or(PrerequisiteEnd::Other, |keys| PrerequisiteEnd::Circle(owned(keys)))
            });
            trace.prerequisites.push(PrerequisiteTrace {
                toggle: prerequisite.toggle,
                truth,
                verdict,
                value,
                is_disabled,
                end,
                is_other_number: index
                    .is_some_and(|index| prerequisite.equalities[index] != NumberEquality::Agreed),
            });
            if truth != Truth::True && trace.serves.is_empty() {
                trace.serves.push(if_unmet);
            }
            if truth == Truth::False {
                return;
            }
        }
        for (index, rule) in toggle.rules.iter().enumerate() {
            let truth = rule_truth(rule, person, rules);
            let mut conditions: Vec<Truth> = Vec::new();
            for (condition, test) in &rule.tests {
                let truth = test.truth(person, rules);
                match conditions.get_mut(*condition) {
                    // A `between` condition has two tests.
                    Some(first) => *first = first.and(truth),
                    None => conditions.push(truth),
                }
            }
            trace.rules.push(RuleTrace { truth, conditions });
            if truth != Truth::False {
                trace.serves.push(serve(ServePlace::Rule(index), &rule.serve));
            }
            if truth == Truth::True {
                return;
            }
        }
        // It may be there already, for a prerequisite that may not be met.
        if !trace.serves.contains(&default) {
            trace.serves.push(default);
        }
    }
}
