//! What orders and trailers release at the revision of a plan.

use std::collections::{BTreeMap, BTreeSet};

use super::FirstPass;
use crate::model::{
    ALLOW_TRAILER, Allowance, Attribution, Commit, CommitId, EnvironmentId, Hold, Override, ToggleId,
    Trailer, TrailerReach, escaped,
};

/// The overrides that are valid for the revision of a plan (src/model/README.md, "Decisions and holds").
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Overrides {
    /// The environments of which the state had records and lost them.
    pub lost: BTreeSet<EnvironmentId>,
    /// The decisions on first passes, by environment.
    pub first_pass: BTreeMap<EnvironmentId, FirstPass>,
    /// The revision that may be applied although it does not descend from the recorded one.
    pub history: Option<CommitId>,
    /// Environments whose rails are lifted.
    pub mass_change: BTreeSet<EnvironmentId>,
    /// Environments in which the toggles of renamed documents may be disabled.
    pub renames: BTreeSet<EnvironmentId>,
    /// Environments whose change windows are lifted.
    pub windows: BTreeSet<EnvironmentId>,
    /// Live versions that may be overwritten.
    pub overwrite_versions: BTreeMap<ToggleId, u64>,
    /// The globs of settings and orders that match no toggle, each with what it belongs to.
    pub idle_globs: BTreeSet<String>,
    /// The trailers of the commits to apply that do not count, each with its commit and the reason.
    pub idle_trailers: BTreeSet<String>,
    /// The trailers of these commits that count for the changes of their own commit.
    pub own_trailers: BTreeSet<(CommitId, Trailer)>,
    /// The decisions of trailers that name an environment, which stay in the repository, each with its newest commit.
    pub named: BTreeMap<(Override, EnvironmentId), CommitId>,
    /// What such a trailer lets through that is newer than its commit.
    pub(crate) released: BTreeSet<String>,
}

impl Overrides {
    /// Collects the allowances that are valid at `revision`.
    pub fn at(revision: CommitId, allowances: &[Allowance]) -> Self {
        let mut overrides = Self::default();
        // An allowance is valid at its revision only (src/model/README.md, "Decisions and holds"), so it
        // cannot release a later change.
        for allowance in allowances.iter().filter(|one| one.revision == revision) {
            match (allowance.what, allowance.environment.clone()) {
                (Override::FirstPassAdopt, Some(environment)) => {
                    overrides.first_pass.insert(environment, FirstPass::Adopt);
                }
                (Override::FirstPassAssert, Some(environment)) => {
                    overrides.first_pass.insert(environment, FirstPass::Assert);
                }
                (Override::MassChange, Some(environment)) => {
                    overrides.mass_change.insert(environment);
                }
                (Override::Rename, Some(environment)) => {
                    overrides.renames.insert(environment);
                }
                (Override::Window, Some(environment)) => {
                    overrides.windows.insert(environment);
                }
                (Override::History, _) => overrides.history = Some(revision),
                // An order that lists no versions covers nothing.
                (Override::OverwriteDrift, _) => {
                    overrides.overwrite_versions.extend(allowance.versions.clone().into_iter().flatten());
                }
                (_, None) => {}
            }
        }
        overrides
    }

    /// Adds what a commit between the recorded revision and the one to apply allows, whether it changes a
    /// toggle or not.
    pub(crate) fn add_trailers(&mut self, commit: &Commit, allows_trailers: bool) {
        let of = |line: &str, why: &str| {
            format!(
                "commit {} has `{}`, which does not count: {}",
                commit.id.short(),
                escaped(line),
                escaped(why)
            )
        };
        let (idle, own) = (commit.idle_trailers(), commit.own_trailers());
        if !allows_trailers {
            let lines = idle.into_iter().map(|idle| idle.line);
            let lines = lines.chain(own.iter().map(ToString::to_string));
            let off = "trailers are turned off (`--no-allow-trailer`)";
            return self.idle_trailers.extend(lines.map(|line| of(&line, off)));
        }
        for decision in commit.named_decisions() {
            // The newest commit comes first.
            self.named.entry(decision).or_insert(commit.id);
        }
        self.idle_trailers.extend(idle.iter().map(|idle| of(&idle.line, &idle.why)));
        self.own_trailers.extend(own.into_iter().map(|trailer| (commit.id, trailer)));
    }

    /// Returns whether the rails of `environment` are lifted, by an operator or by a trailer.
    pub(crate) fn lifts_rails(&self, environment: &EnvironmentId) -> bool {
        self.decides(Override::MassChange, &self.mass_change, environment)
    }

    /// Returns the commit whose trailer lifts the rails of `environment`; none if an operator did, or nobody.
    pub(crate) fn lifting_commit(&self, environment: &EnvironmentId) -> Option<CommitId> {
        if self.mass_change.iter().any(|place| place.is_same(environment)) {
            return None;
        }
        let is_here = |(what, place): &(Override, EnvironmentId)| {
            *what == Override::MassChange && place.is_same(environment)
        };
        self.named.iter().find(|(decision, _)| is_here(decision)).map(|(_, commit)| *commit)
    }

    /// Returns whether the toggles of renamed documents in `environment` may be disabled, likewise.
    pub(crate) fn allows_renames(&self, environment: &EnvironmentId) -> bool {
        self.decides(Override::Rename, &self.renames, environment)
    }

    /// Returns whether an operator, for the environments `ordered`, or a trailer decided on `what` in an
    /// environment. Ids that differ only in case are one.
    fn decides(
        &self,
        what: Override,
        ordered: &BTreeSet<EnvironmentId>,
        environment: &EnvironmentId,
    ) -> bool {
        let named = self.named.keys().filter(|(named, _)| *named == what).map(|(_, place)| place);
        ordered.iter().chain(named).any(|place| place.is_same(environment))
    }

    /// Returns `hold`, which a trailer can lift, with the trailers of these changes and of the commits to
    /// apply that do not.
    pub(crate) fn explained<'c>(
        &self,
        mut hold: Hold,
        commits: impl Iterator<Item = &'c Attribution>,
        environment: &EnvironmentId,
        allows_trailers: bool,
    ) -> Hold {
        const MOST: usize = 3;
        let mut own = Self::default();
        let mut why = BTreeSet::new();
        let mut seen = BTreeSet::new();
        for attribution in commits {
            let Some(commit) = attribution.commit().filter(|commit| seen.insert(commit.id)) else {
                continue;
            };
            own.add_trailers(commit, allows_trailers);
            if attribution.is_guessed() && !own.own_trailers.is_empty() {
                why.insert(format!(
                    "the trailers of commit {} do not count, because the history is cut and the commit is a guess",
                    commit.id.short()
                ));
            }
        }
        why.extend(self.own_trailers.iter().filter_map(|(id, trailer)| {
            let reason = why_it_does_not_lift(&hold, trailer, seen.contains(id), environment)?;
            Some(format!("commit {} has `{trailer}`, {reason}", id.short()))
        }));
        let others = self
            .named
            .keys()
            .chain(own.named.keys())
            .filter(|(what, named)| hold.trailer(*what).is_some() && !named.is_same(environment));
        why.extend(
            others.map(|(what, named)| {
                format!("`{ALLOW_TRAILER}: {what} {named}` is about another environment")
            }),
        );
        why.extend(self.idle_trailers.union(&own.idle_trailers).cloned());
        if !why.is_empty() {
            hold.advice.get_or_insert_default().remarks.extend(why.into_iter().take(MOST));
        }
        hold
    }

    /// Returns whether an operator allows to replace what someone else changed on the service, at least one
    /// version of it.
    pub fn may_overwrite(&self, id: &ToggleId) -> bool {
        self.overwrite_versions.contains_key(id)
    }
}

/// Returns why a trailer does not lift `hold`, although the hold has such trailers; none if it does. `is_own`:
/// it is on the commit of a change that is held.
fn why_it_does_not_lift(
    hold: &Hold,
    trailer: &Trailer,
    is_own: bool,
    environment: &EnvironmentId,
) -> Option<String> {
    match hold.trailer(trailer.decision()?)? {
        TrailerReach::OwnCommit | TrailerReach::NewestCommit if is_own => None,
        TrailerReach::OwnCommit | TrailerReach::OwnCommitOfMany => {
            Some("which counts only for the changes of that commit".to_owned())
        }
        TrailerReach::Named => Some(format!(
            "which counts here with the environment: `{ALLOW_TRAILER}: mass-change {environment}`"
        )),
        TrailerReach::NewestCommit => {
            Some(format!("which counts only on the newest commit of a document in `{environment}`"))
        }
    }
}
