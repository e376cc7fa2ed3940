//! Evaluates compiled toggles (src/service/featureprobe.md, "Evaluation").

use std::collections::HashMap;

use sha1::{Digest, Sha1};

use super::compiler::{CompiledPrerequisite, CompiledRule, CompiledServe, CompiledToggle};
use super::condition::Person;
use super::condition::{Doubt, Served, Truth, Verdict};
use crate::model::{NumberEquality, Sdk, WHOLE};

/// The number of toggles in a chain of prerequisites that the SDK evaluates.
const DEEPEST: u32 = 20;

/// What an SDK serves if a prerequisite is not met, as measured with the versions that `document` has with
/// the facts about SDKs.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum UnmetServe {
    /// The default serve of the toggle that has the prerequisite: Python, and Java before 2.3.
    Default,
    /// The disabled serve of the toggle that has the prerequisite: Rust, Go, and Java from 2.3 on.
    Disabled,
    /// The default serve of the toggle that is asked for, whichever has the prerequisite: Node.
    DefaultOfOutermost,
}

/// How an SDK evaluates, as far as SDKs differ and what they do is known exactly. What else they read in
/// another way, such as a pattern, is in `document`, which says that a condition may differ.
#[expect(clippy::struct_excessive_bools, reason = "each is a difference between two groups of SDKs")]
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct SdkRules {
    pub(crate) unmet: UnmetServe,
    /// When a value of another type than that of the prerequisite meets it.
    pub(crate) types: TypeComparison,
    /// When two numbers are the same.
    pub(crate) numbers: NumberComparison,
    /// When two JSON values are the same.
    pub(crate) json: JsonEquality,
    /// Whether numbers have 32 bits.
    pub(crate) has_short_numbers: bool,
    /// Whether versions compare their build metadata.
    pub(crate) compares_builds: bool,
    /// Whether there are times before 1970.
    pub(crate) has_early_times: bool,
    /// Whether a blank attribute is a missing one to a `string` condition.
    pub(crate) skips_blanks: bool,
    /// Whether a random key takes the place of an empty one.
    pub(crate) replaces_empty_keys: bool,
}

/// When a value of another type than that of a prerequisite meets it.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum TypeComparison {
    /// If Python prints the same of both.
    Printed,
    /// If it is written alike: Go.
    Texts,
    /// Never: Rust, Java and Node.
    Types,
}

/// When the number of a variation is that of a prerequisite.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum NumberComparison {
    /// Whole numbers if all of their digits are the same, and others as floats: Java and Python.
    Digits,
    /// All as floats: Go and Node.
    Floats,
    /// As integers of 64 bits if both are, and otherwise as floats: Rust.
    Integers,
}

impl NumberComparison {
    /// Returns whether two numbers are the same; none if all SDKs agree.
    fn is_same(self, equality: NumberEquality) -> Option<bool> {
        match equality {
            NumberEquality::Agreed => None,
            NumberEquality::AsFloats => Some(self == Self::Floats),
            NumberEquality::BeyondIntegers => Some(self != Self::Digits),
        }
    }
}

/// When an SDK takes two JSON values for the same.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JsonEquality {
    /// In any order of the members: Rust, Go and Java.
    AnyOrder,
    /// Node.
    Never,
    /// Only in the same order: Python.
    SameOrder,
}

impl SdkRules {
    pub(crate) const RUST: Self = Self {
        unmet: UnmetServe::Disabled,
        types: TypeComparison::Types,
        numbers: NumberComparison::Integers,
        json: JsonEquality::AnyOrder,
        has_short_numbers: false,
        compares_builds: true,
        has_early_times: false,
        skips_blanks: false,
        replaces_empty_keys: false,
    };
    /// That Go compares no types is what Go 2.3.0 was recorded to do once: a boolean toggle that serves `true`
    /// met a prerequisite of type `string` with the value `true`. No other pair of types was tried.
    pub(crate) const GO: Self = Self {
        types: TypeComparison::Texts,
        numbers: NumberComparison::Floats,
        has_short_numbers: true,
        compares_builds: false,
        has_early_times: true,
        replaces_empty_keys: true,
        ..Self::RUST
    };
    /// Java from 2.3 on.
    pub(crate) const JAVA: Self =
        Self { numbers: NumberComparison::Digits, has_early_times: true, ..Self::RUST };
    pub(crate) const NODE: Self = Self {
        unmet: UnmetServe::DefaultOfOutermost,
        types: TypeComparison::Types,
        numbers: NumberComparison::Floats,
        json: JsonEquality::Never,
        ..Self::PYTHON
    };
    pub(crate) const PYTHON: Self = Self {
        unmet: UnmetServe::Default,
        types: TypeComparison::Printed,
        numbers: NumberComparison::Digits,
        json: JsonEquality::SameOrder,
        compares_builds: false,
        has_early_times: true,
        skips_blanks: true,
        ..Self::RUST
    };
    /// Java before 2.3.
    pub(crate) const OLD_JAVA: Self = Self { unmet: UnmetServe::Default, skips_blanks: true, ..Self::JAVA };

    /// Returns the rules of the newest version of an SDK.
    pub(crate) fn of(sdk: Sdk) -> Self {
        match sdk {
            Sdk::Go => Self::GO,
            Sdk::Java => Self::JAVA,
            Sdk::Node => Self::NODE,
            Sdk::Python => Self::PYTHON,
            Sdk::Rust => Self::RUST,
        }
    }
}

/// Compiled toggles, created by [`Compiler`](super::Compiler).
#[derive(Debug)]
pub(crate) struct Evaluator {
    pub(super) slots: Slots,
    pub(super) toggles: Vec<CompiledToggle>,
}

/// The possible results of a toggle for one user.
#[derive(Clone, Copy, Debug)]
pub(super) struct Possibility {
    possible: Possible,
    /// The reason why the evaluation may end with the disabled serve of the outermost toggle, as it does if a
    /// prerequisite's toggle does not exist.
    may_end: Option<Doubt>,
}

#[derive(Clone, Copy, Debug)]
enum Possible {
    None,
    One(Served),
    Several(Doubt),
}

impl Possibility {
    const END: Self = Self { possible: Possible::None, may_end: None };

    /// Adds a possible result. `doubt` is the first reason why the result is not certain.
    fn add(&mut self, verdict: Verdict, doubt: Option<Doubt>) {
        self.possible = match (self.possible, verdict) {
            (Possible::None, Verdict::Known(served)) => Possible::One(served),
            (Possible::One(known), Verdict::Known(served)) if known == served => Possible::One(known),
            (Possible::Several(doubt), _) => Possible::Several(doubt),
            (_, Verdict::CannotSay(own)) => Possible::Several(doubt.unwrap_or(own)),
            // Two results are possible only after a doubt.
            (Possible::One(_), Verdict::Known(_)) => {
                Possible::Several(doubt.unwrap_or(Doubt::UnknownPrerequisite))
            }
        };
    }
}

impl Evaluator {
    /// Returns a user without attributes and key. `now` is the time of evaluation in seconds since 1970-01-01
    /// UTC; without it, what depends on the current time is unknown.
    pub(crate) fn person(&self, now: Option<i64>) -> Person<'_> {
        Person::new(&self.slots, now)
    }

    /// Returns what the toggle with this index serves to a user of an SDK with these rules.
    ///
    /// # Panics
    /// If the index is not one that the compiler returned.
    pub(crate) fn evaluate(&self, rules: SdkRules, toggle: usize, person: &Person<'_>) -> Verdict {
        let compiled = &self.toggles[toggle];
        if !compiled.is_delivered {
            return Verdict::Known(Served::CallerDefault);
        }
        let visit = &mut Visit::new(rules, self, person);
        let answer = visit.toggle(compiled, DEEPEST);
        conclude(compiled, answer, visit)
    }

    /// Returns whether a prerequisite is met, what its toggle serves if it exists, and whether the evaluation
    /// of the outermost toggle ends there.
    pub(super) fn prerequisite(
        &self,
        rules: SdkRules,
        prerequisite: &CompiledPrerequisite,
        person: &Person<'_>,
    ) -> (Truth, Option<Verdict>, bool) {
        let mut visit = Visit::new(rules, self, person);
        let met = visit.prerequisite(prerequisite, DEEPEST);
        let verdict = prerequisite.toggle.map(|toggle| self.evaluate(rules, toggle, person));
        let truth = match (met.truth, met.may_end) {
            // If a toggle further down does not exist, the disabled serve is next, as if the prerequisite
            // were not met.
            (Truth::True, Some(doubt)) => Truth::Unknown(doubt),
            (truth, _) => truth,
        };
        (truth, verdict, met.ends)
    }

    /// Returns the keys of the toggles of a circle that `toggle` leads to, the first one again at the end.
    pub(super) fn circle(&self, toggle: usize) -> Option<Vec<&str>> {
        let needs = |toggle: usize| {
            let toggle = &self.toggles[toggle];
            let all = if toggle.is_disabled { &[][..] } else { &toggle.prerequisites };
            all.iter().filter_map(|prerequisite| prerequisite.toggle)
        };
        let (mut is_seen, mut is_on_way) = (vec![false; self.toggles.len()], vec![false; self.toggles.len()]);
        // The toggles on the way, each with those that it needs and that are left to visit.
        let mut way = Vec::new();
        let mut next = Some(toggle);
        loop {
            match next {
                Some(next) if is_on_way[next] => {
                    let circle = way.iter().map(|(toggle, _)| *toggle).skip_while(|toggle| *toggle != next);
                    let circle = circle.chain([next]);
                    return Some(circle.map(|toggle| self.toggles[toggle].key.as_str()).collect());
                }
                Some(next) if !is_seen[next] => {
                    (is_seen[next], is_on_way[next]) = (true, true);
                    way.push((next, needs(next)));
                }
                Some(_) => {}
                None => is_on_way[way.pop()?.0] = false,
            }
            next = way.last_mut()?.1.next();
        }
    }
}

/// Returns the verdict of the outermost toggle.
fn conclude(toggle: &CompiledToggle, mut answer: Possibility, visit: &Visit<'_>) -> Verdict {
    let ends = matches!(answer.possible, Possible::None);
    if ends || answer.may_end.is_some() {
        answer.add(pick(toggle, visit.unmet_serve(toggle), visit.person, visit.rules), answer.may_end);
    }
    match answer.possible {
        Possible::One(served) => Verdict::Known(served),
        Possible::Several(doubt) => Verdict::CannotSay(doubt),
        Possible::None => unreachable!("a serve was added"),
    }
}

/// Returns what a serve of `toggle` gives a user.
pub(super) fn pick(
    toggle: &CompiledToggle,
    serve: &CompiledServe,
    person: &Person<'_>,
    rules: SdkRules,
) -> Verdict {
    match (serve, certain_key(person, rules)) {
        (CompiledServe::Always(served), _) => Verdict::Known(*served),
        (CompiledServe::Split(_), Err(doubt)) => Verdict::CannotSay(doubt),
        (CompiledServe::Split(ends), Ok(key)) => {
            let bucket = u64::from(bucket(key, &toggle.key));
            let range = ends.iter().find(|(end, _)| bucket < *end);
            Verdict::Known(range.map_or(Served::CallerDefault, |(_, served)| *served))
        }
    }
}

/// Returns the key that decides on the bucket, unless it is random.
pub(super) fn certain_key<'p>(person: &'p Person<'_>, rules: SdkRules) -> Result<&'p str, Doubt> {
    match person.key() {
        None => Err(Doubt::NoKey),
        Some("") if rules.replaces_empty_keys => Err(Doubt::EmptyKey),
        Some(key) => Ok(key),
    }
}

/// Returns whether all tests of a rule match.
pub(super) fn rule_truth(rule: &CompiledRule, person: &Person<'_>, rules: SdkRules) -> Truth {
    let mut truth = Truth::True;
    for (_, test) in &rule.tests {
        truth = truth.and(test.truth(person, rules));
        if truth == Truth::False {
            break;
        }
    }
    truth
}

struct Visit<'a> {
    rules: SdkRules,
    evaluator: &'a Evaluator,
    person: &'a Person<'a>,
    /// The results of prerequisites' toggles by index and depth. Toggles that share prerequisites would
    /// otherwise take time that is exponential in the depth.
    known: HashMap<(usize, u32), Possibility>,
}

/// The result of a prerequisite.
struct Met {
    truth: Truth,
    /// Whether the evaluation of the outermost toggle certainly ends here.
    ends: bool,
    may_end: Option<Doubt>,
}

impl<'a> Visit<'a> {
    fn new(rules: SdkRules, evaluator: &'a Evaluator, person: &'a Person<'a>) -> Self {
        Self { rules, evaluator, person, known: HashMap::new() }
    }

    /// Returns what `toggle` serves if a prerequisite is not met.
    fn unmet_serve<'t>(&self, toggle: &'t CompiledToggle) -> &'t CompiledServe {
        match self.rules.unmet {
            UnmetServe::Disabled => &toggle.disabled_serve,
            UnmetServe::Default | UnmetServe::DefaultOfOutermost => &toggle.default_serve,
        }
    }

    fn toggle(&mut self, toggle: &CompiledToggle, depth: u32) -> Possibility {
        let mut answer = Possibility::END;
        if toggle.is_disabled {
            answer.add(pick(toggle, &toggle.disabled_serve, self.person, self.rules), None);
            return answer;
        }
        if depth == 0 {
            return answer;
        }
        let mut doubt = None;
        for prerequisite in &toggle.prerequisites {
            let Met { truth, ends, may_end } = self.prerequisite(prerequisite, depth);
            answer.may_end = answer.may_end.or(may_end);
            if ends {
                // What was possible before this prerequisite stays possible, and so does the end.
                if !matches!(answer.possible, Possible::None) {
                    answer.may_end = answer.may_end.or(doubt);
                }
                return answer;
            }
            if truth != Truth::True {
                if let Truth::Unknown(reason) = truth {
                    doubt = doubt.or(Some(reason));
                }
                if self.rules.unmet == UnmetServe::DefaultOfOutermost {
                    // Certain only if nothing else was possible before.
                    let is_certain = truth == Truth::False && matches!(answer.possible, Possible::None);
                    let reason = doubt.unwrap_or(Doubt::UnknownPrerequisite);
                    answer.may_end = answer.may_end.or((!is_certain).then_some(reason));
                } else {
                    answer.add(pick(toggle, self.unmet_serve(toggle), self.person, self.rules), doubt);
                }
            }
            if truth == Truth::False {
                return answer;
            }
        }
        self.rules(toggle, &mut answer, doubt);
        answer
    }

    fn rules(&self, toggle: &CompiledToggle, answer: &mut Possibility, mut doubt: Option<Doubt>) {
        for rule in &toggle.rules {
            let truth = rule_truth(rule, self.person, self.rules);
            match truth {
                Truth::False => continue,
                Truth::True => {}
                Truth::Unknown(reason) => doubt = doubt.or(Some(reason)),
            }
            answer.add(pick(toggle, &rule.serve, self.person, self.rules), doubt);
            if truth == Truth::True {
                return;
            }
        }
        answer.add(pick(toggle, &toggle.default_serve, self.person, self.rules), doubt);
    }

    fn prerequisite(&mut self, prerequisite: &CompiledPrerequisite, depth: u32) -> Met {
        let Some(toggle) = prerequisite.toggle else {
            let doubt = Doubt::UnknownToggle;
            return Met { truth: Truth::Unknown(doubt), ends: false, may_end: Some(doubt) };
        };
        let answer = self.dependency(toggle, depth - 1);
        let truth = match answer.possible {
            Possible::None => Truth::False,
            Possible::One(Served::CallerDefault) => Truth::False,
            Possible::One(Served::Variation(index)) => {
                let index = index as usize;
                let SdkRules { numbers, types, .. } = self.rules;
                let truth = match (numbers.is_same(prerequisite.equalities[index]), types) {
                    (Some(is_same), _) => is_same.into(),
                    (None, TypeComparison::Types) => prerequisite.matches[index],
                    (None, TypeComparison::Texts) => prerequisite.matches_in_go[index],
                    (None, TypeComparison::Printed) => prerequisite.matches_in_python[index],
                };
                match self.rules.json {
                    JsonEquality::Never if prerequisite.is_json => Truth::False,
                    JsonEquality::SameOrder if prerequisite.is_json => truth.and(prerequisite.orders[index]),
                    _ => truth,
                }
            }
            Possible::Several(doubt) => Truth::Unknown(doubt),
        };
        Met { truth, ends: matches!(answer.possible, Possible::None), may_end: answer.may_end }
    }

    /// Returns the result of a prerequisite's toggle.
    fn dependency(&mut self, index: usize, depth: u32) -> Possibility {
        let toggle = &self.evaluator.toggles[index];
        if !toggle.is_delivered {
            // The SDK does not have such a toggle at all.
            return Possibility::END;
        }
        if toggle.prerequisites.is_empty() {
            return self.toggle(toggle, depth);
        }
        if let Some(known) = self.known.get(&(index, depth)) {
            return *known;
        }
        let answer = self.toggle(toggle, depth);
        self.known.insert((index, depth), answer);
        answer
    }
}

/// Returns the bucket of a user, from 0 to 9,999: the last four bytes of the SHA-1 of the user's key and the
/// toggle's key, big-endian, modulo 10,000 (src/service/featureprobe.md, "Evaluation").
pub(crate) fn bucket(user_key: &str, toggle_key: &str) -> u32 {
    let digest = Sha1::new().chain_update(user_key).chain_update(toggle_key).finalize();
    let last = digest.last_chunk().expect("a SHA-1 has 20 bytes");
    u32::from_be_bytes(*last) % WHOLE
}

/// The attributes that conditions compare.
#[derive(Debug, Default)]
pub(super) struct Slots {
    by_name: HashMap<String, usize>,
    pub(super) slots: Vec<Slot>,
}

#[derive(Debug, Default)]
pub(super) struct Slot {
    /// The texts that `is one of` and `is not any of` look for. A user's value is looked up once for all
    /// conditions.
    words: HashMap<String, u32>,
    pub(super) is_number: bool,
    pub(super) is_semver: bool,
    pub(super) is_time: bool,
}

impl Slots {
    /// Returns the slot of an attribute, which may be new.
    pub(super) fn intern(&mut self, name: &str) -> usize {
        if let Some(slot) = self.by_name.get(name) {
            return *slot;
        }
        let slot = self.slots.len();
        self.by_name.insert(name.to_owned(), slot);
        self.slots.push(Slot::default());
        slot
    }

    /// Returns the slot of an attribute that a condition compares.
    pub(super) fn find(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }
}

impl Slot {
    pub(super) fn intern(&mut self, word: &str) -> u32 {
        let next = u32::try_from(self.words.len()).expect("documents have fewer texts than 2^32");
        *self.words.entry(word.to_owned()).or_insert(next)
    }

    pub(super) fn word(&self, text: &str) -> Option<u32> {
        self.words.get(text).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_is_that_of_the_sdks() {
        for (user, toggle, expected) in [
            ("key", "salt", 2647),
            ("13", "tutorial_rollout", 9558),
            ("15", "tutorial_rollout", 9900),
            ("16", "tutorial_rollout", 9632),
            ("user-1", "new_feature", 925),
            ("user-2", "new_feature", 6124),
            ("00001", "campaign_percentage_rollout", 5823),
        ] {
            assert_eq!(bucket(user, toggle), expected, "{user} {toggle}");
        }
    }
}
