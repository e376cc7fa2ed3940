//! Traces one user through a toggle: every prerequisite, rule and condition with its result.

use super::compiler::{CompiledServe, CompiledToggle};
use super::condition::{Truth, Verdict};
use super::evaluator::{Evaluator, bucket, pick, rule_truth};
use super::person::Person;

/// The evaluation of a toggle for one user.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct ToggleTrace {
    /// What the user is served.
    pub verdict: Verdict,
    /// The part of the document that serves it; `None` if several are possible, or if SDKs do not get the toggle.
    pub place: Option<ServePlace>,
    /// The prerequisites, up to the first one that is not met. Empty for a disabled toggle.
    pub prerequisites: Vec<PrerequisiteTrace>,
    /// The rules that the evaluation may reach, in order.
    pub rules: Vec<RuleTrace>,
    /// The serves that are possible, in order; the last one is certain if all before it are not.
    pub serves: Vec<ServeTrace>,
}

/// A serve of a document.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum ServePlace {
    /// The rule with this index.
    Rule(usize),
    Default,
    Disabled,
}

/// The evaluation of a prerequisite.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct PrerequisiteTrace {
    /// Whether it is met.
    pub truth: Truth,
    /// What its toggle serves; `None` if the repository does not have it.
    pub verdict: Option<Verdict>,
}

/// The evaluation of a rule.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RuleTrace {
    /// Whether all of its conditions match.
    pub truth: Truth,
    /// Whether each of its conditions matches, in order.
    pub conditions: Vec<Truth>,
}

/// A serve that is possible.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct ServeTrace {
    pub place: ServePlace,
    /// What it gives the user.
    pub verdict: Verdict,
    /// The bucket, if the serve is a split and the user has a key.
    pub bucket: Option<u32>,
}

impl Evaluator {
    /// Traces the toggle with this index for a user.
    ///
    /// # Panics
    /// If the index is not one that the compiler returned.
    pub(crate) fn trace(&self, toggle: usize, person: &Person<'_>) -> ToggleTrace {
        let verdict = self.evaluate(toggle, person);
        let toggle = &self.toggles[toggle];
        let mut trace = ToggleTrace {
            verdict,
            place: None,
            prerequisites: Vec::new(),
            rules: Vec::new(),
            serves: Vec::new(),
        };
        if toggle.is_delivered {
            self.walk(toggle, person, &mut trace);
        }
        if let [only] = trace.serves.as_slice() {
            trace.place = Some(only.place);
        }
        trace
    }

    fn walk(&self, toggle: &CompiledToggle, person: &Person<'_>, trace: &mut ToggleTrace) {
        let serve = |place, serve| ServeTrace {
            place,
            verdict: pick(toggle, serve, person),
            bucket: match serve {
                CompiledServe::Always(_) => None,
                CompiledServe::Split(_) => person.key().map(|key| bucket(key, &toggle.key)),
            },
        };
        let disabled = serve(ServePlace::Disabled, &toggle.disabled_serve);
        if toggle.is_disabled {
            trace.serves.push(disabled);
            return;
        }
        for prerequisite in &toggle.prerequisites {
            let (truth, verdict) = self.prerequisite(prerequisite, person);
            trace.prerequisites.push(PrerequisiteTrace { truth, verdict });
            if truth != Truth::True && trace.serves.is_empty() {
                trace.serves.push(disabled);
            }
            if truth == Truth::False {
                return;
            }
        }
        for (index, rule) in toggle.rules.iter().enumerate() {
            let truth = rule_truth(rule, person);
            let mut conditions: Vec<Truth> = Vec::new();
            for (condition, test) in &rule.tests {
                let truth = test.truth(person);
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
        trace.serves.push(serve(ServePlace::Default, &toggle.default_serve));
    }
}
