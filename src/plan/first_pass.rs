//! First passes: what is done in an environment in which nothing is applied, and who decided that.
//!
//! An operator's decision comes first, given at run time or with `--first-pass`; then the trailer
//! `Gitoggle-First-Pass` of a commit that adds a document. Without a decision, the environment is held.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::decide::{Start, Wanted};
use super::value::same_environment;
use super::{FirstPass, Overrides, Policy, Trailer};
use crate::model::{Attribution, EnvironmentId};

/// The key of the trailer by which a commit decides.
pub const TRAILER: &str = "Gitoggle-First-Pass";

/// An environment in which nothing is applied and about which nothing is decided. Its text names the ways to decide.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Undecided {
    /// The environment.
    pub environment: EnvironmentId,
    /// Whether a commit's trailer can decide.
    pub trailer: Trailer,
    /// Whether the trailers of commits contradict each other.
    pub dispute: Dispute,
}

/// Whether the trailers of commits contradict each other.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Dispute {
    /// There is no trailer.
    None,
    /// Both `assert` and `adopt` are asked for.
    Trailers,
}

impl fmt::Display for Undecided {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            environment,
            trailer,
            dispute,
        } = self;
        f.write_str("nothing is applied here yet")?;
        if *dispute == Dispute::Trailers {
            write!(f, ", and commits ask for both `{TRAILER}: assert` and `adopt`")?;
        }
        f.write_str(
            ": `--first-pass assert` publishes everything, `--first-pass adopt` records it as already applied; \
             to decide for this environment only, ",
        )?;
        if *trailer == Trailer::Allowed {
            write!(
                f,
                "put the trailer `{TRAILER}: assert` or `adopt` on a commit, or "
            )?;
        }
        write!(
            f,
            "run `gitoggle allow first-pass-assert {environment}` or `first-pass-adopt` for a running daemon"
        )
    }
}

/// What is done in an environment in which nothing is applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum Choice {
    Decided(FirstPass),
    Undecided(Arc<Undecided>),
}

/// What is known of first passes besides the documents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Deciders<'a> {
    pub(super) policy: &'a Policy,
    pub(super) overrides: &'a Overrides,
    /// The commits of the documents, by path. The trailers of a guess do not count.
    pub(super) attributions: &'a BTreeMap<String, Attribution>,
}

impl Deciders<'_> {
    /// Decides for every environment with a first pass. `wanted` is sorted by toggle.
    pub(super) fn choices(&self, wanted: &[Wanted]) -> BTreeMap<EnvironmentId, Choice> {
        let lanes = wanted.chunk_by(|a, b| same_environment(&a.version.id, &b.version.id));
        lanes
            .filter_map(|lane| {
                let first = lane.iter().find(|one| one.start == Start::FirstPass)?;
                let environment = first.version.id.environment();
                Some((environment.clone(), self.choice(environment, lane)))
            })
            .collect()
    }

    fn choice(&self, environment: EnvironmentId, lane: &[Wanted]) -> Choice {
        if let Some(decided) = by_operator(self.policy, self.overrides, &environment) {
            return Choice::Decided(decided);
        }
        let asked = self.asked(lane);
        let dispute = match asked.as_slice() {
            [one] => return Choice::Decided(*one),
            [] => Dispute::None,
            _ => Dispute::Trailers,
        };
        Choice::Undecided(Arc::new(Undecided {
            environment,
            trailer: self.policy.trailer,
            dispute,
        }))
    }

    /// Returns what the trailers of an environment's commits ask for, each once.
    fn asked(&self, lane: &[Wanted]) -> Vec<FirstPass> {
        if self.policy.trailer == Trailer::Ignored {
            return Vec::new();
        }
        let mut seen = BTreeSet::new();
        let attributions = lane
            .iter()
            .filter_map(|one| self.attributions.get(&one.version.path));
        let mut asked: Vec<FirstPass> = attributions
            .filter(|attribution| !attribution.is_guessed())
            .filter(|attribution| seen.insert(attribution.commit().map(|commit| commit.id)))
            .flat_map(|attribution| attribution.trailers(TRAILER))
            .filter_map(|value| first_pass(&value))
            .collect();
        asked.sort_unstable();
        asked.dedup();
        asked
    }
}

/// Returns what an operator decided about the first pass of `environment`.
pub(super) fn by_operator(
    policy: &Policy,
    overrides: &Overrides,
    environment: &EnvironmentId,
) -> Option<FirstPass> {
    overrides
        .first_pass
        .get(environment)
        .copied()
        .or(policy.first_pass)
}

fn first_pass(word: &str) -> Option<FirstPass> {
    match word {
        "adopt" => Some(FirstPass::Adopt),
        "assert" => Some(FirstPass::Assert),
        _ => None,
    }
}
