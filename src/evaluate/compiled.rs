//! A toggle in the form that is evaluated.

use super::condition::{self, Test};
use super::slots::Slots;
use super::truth::{Served, Truth};
use crate::model::{Rule, Serve, Targeting, ToggleId, WHOLE};

/// A toggle whose conditions, serves and prerequisites are resolved.
#[derive(Debug)]
pub(super) struct CompiledToggle {
    /// The toggle's key, which decides on the bucket.
    pub(super) key: String,
    pub(super) is_disabled: bool,
    /// Whether SDKs get the toggle (`featureprobe-behaviour.md`, section 5.6, *Level 1*).
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
    /// Whether each variation of that toggle has the expected value.
    pub(super) matches: Vec<Truth>,
}

impl CompiledToggle {
    /// Compiles everything but the prerequisites.
    pub(super) fn new(id: &ToggleId, targeting: &Targeting, slots: &mut Slots) -> Self {
        let content = &targeting.content;
        let variations = content.variations.len();
        let serve = |serve: &Serve| CompiledServe::new(serve, variations);
        let is_empty = |serve: &Serve| *serve == Serve::Nothing;
        let needed = !targeting.disabled && is_empty(&content.default_serve);
        let mut rule = |rule: &Rule| CompiledRule {
            tests: tests(rule, slots),
            serve: serve(&rule.serve),
        };
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
