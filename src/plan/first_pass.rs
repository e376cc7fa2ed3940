//! Who decides on the first pass of an environment (src/plan/README.md, "First passes").

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::change::same_environment;
use super::decide::{DraftChange, PassOrder};
use super::hold::{self, Unapplied};
use super::{FirstPass, Overrides, Policy};
use crate::model::{Attribution, EnvironmentId, FIRST_PASS_TRAILER, Hold};

/// Who decides on a first pass.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum DecidedBy {
    /// The trailer of a commit.
    Commit,
    /// The settings, or an operator.
    Operator,
}

/// The decision on the first pass of an environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FirstPassChoice {
    Decided { first_pass: FirstPass, by: DecidedBy },
    Undecided(Arc<Hold>),
}

impl FirstPassChoice {
    const fn of_operator(first_pass: FirstPass) -> Self {
        Self::Decided { first_pass, by: DecidedBy::Operator }
    }

    pub(super) fn is(&self, decision: FirstPass) -> bool {
        matches!(self, Self::Decided { first_pass, .. } if *first_pass == decision)
    }
}

/// The sources of decisions on first passes.
#[derive(Clone, Copy, Debug)]
pub(super) struct FirstPassRules<'a> {
    pub(super) policy: &'a Policy,
    pub(super) overrides: &'a Overrides,
    /// The commits of the documents, by path. Trailers of guessed commits do not count.
    pub(super) attributions: &'a BTreeMap<String, Attribution>,
    /// Whether the plan compares revisions. An environment without documents at the base is then new, not
    /// unknown.
    pub(super) compares_revisions: bool,
}

impl FirstPassRules<'_> {
    /// Decides on every environment with a first pass. `changes` is sorted by toggle.
    pub(super) fn choices(&self, changes: &[Box<DraftChange>]) -> BTreeMap<EnvironmentId, FirstPassChoice> {
        let lanes = changes.chunk_by(|a, b| same_environment(&a.version.id, &b.version.id));
        lanes
            .filter_map(|lane| {
                let first = lane.iter().find(|one| one.pass == PassOrder::First)?;
                let environment = first.version.id.environment();
                let choice = self.choice(&environment, lane);
                Some((environment, choice))
            })
            .collect()
    }

    fn choice(&self, environment: &EnvironmentId, lane: &[Box<DraftChange>]) -> FirstPassChoice {
        if let Some(decided) = by_operator(self.policy, self.overrides, environment) {
            return FirstPassChoice::of_operator(decided);
        }
        let why = match self.overrides.lost.contains(environment) {
            true => Unapplied::Lost,
            false => Unapplied::New,
        };
        // The commits were applied before the state was lost, so their trailers decided about another first pass.
        let requested = if why == Unapplied::Lost { Vec::new() } else { self.requested(lane) };
        match requested.as_slice() {
            [one] => FirstPassChoice::Decided { first_pass: *one, by: DecidedBy::Commit },
            [] if self.compares_revisions => FirstPassChoice::of_operator(FirstPass::Assert),
            // Two contradicting trailers decide nothing, because only one of them can be right.
            _ => {
                let hold = hold::first_pass(environment, why, self.policy, !requested.is_empty());
                let commits = lane.iter().filter_map(|one| self.attributions.get(&*one.version.path));
                let hold = self.overrides.explained(hold, commits, environment, self.policy.allows_trailers);
                FirstPassChoice::Undecided(Arc::new(hold))
            }
        }
    }

    /// Returns the distinct decisions that the trailers of an environment's commits request.
    fn requested(&self, lane: &[Box<DraftChange>]) -> Vec<FirstPass> {
        if !self.policy.allows_trailers {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let attributions = lane.iter().filter_map(|one| self.attributions.get(&*one.version.path));
        let mut requested: Vec<FirstPass> = attributions
            .filter(|attribution| !attribution.is_guessed())
            // The documents of a commit share its message, which is parsed once.
            .filter(|attribution| seen.insert(attribution.commit().map(|commit| commit.id)))
            .flat_map(|attribution| attribution.trailers(FIRST_PASS_TRAILER))
            .filter_map(|value| value.parse().ok())
            .collect();
        requested.sort_unstable();
        requested.dedup();
        requested
    }
}

/// Returns an operator's decision on the first pass of `environment`.
pub(crate) fn by_operator(
    policy: &Policy,
    overrides: &Overrides,
    environment: &EnvironmentId,
) -> Option<FirstPass> {
    let decided = overrides.first_pass.get(environment).copied();
    // A decision at run time is about this environment, and the setting about all of them.
    decided.or(policy.first_pass)
}
