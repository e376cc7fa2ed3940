//! The settings that a plan depends on.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::change::same_environment;
use super::decide::{DraftChange, PassOrder};
use super::hold::Unapplied;
use super::{Change, Windows, hold};
use crate::model::{
    ALLOW_TRAILER, Action, Allowance, Attribution, Commit, CommitId, EnvironmentId, FIRST_PASS_TRAILER, Hold,
    HoldKind, Override, Scope, Suspensions, Thresholds, ToggleId, Trailer, escaped, hex, words,
};

/// The settings that a plan depends on.
#[derive(Clone, Debug)]
pub struct Policy {
    /// `--only`: the toggles in scope.
    pub scope: Scope,
    /// The action in an environment in which nothing is applied; `None` holds it.
    pub first_pass: Option<FirstPass>,
    /// The action on a toggle whose file was removed.
    pub on_remove: OnRemove,
    /// The effect of an invalid document on the others.
    pub on_invalid: OnInvalid,
    /// The largest share of an environment's applied toggles that one pass may update or disable.
    pub max_change_ratio: f64,
    /// The number of applied toggles from which on the ratio counts.
    pub fewest_for_ratio: usize,
    /// The most changes of any kind to one environment in one pass.
    pub max_change_count: Option<u64>,
    /// Whether the trailers of commits count (`--no-allow-trailer`).
    pub allows_trailers: bool,
    /// Whether the rails are lifted (`--allow-mass-change`).
    pub allows_mass_change: bool,
    pub windows: Windows,
    /// Whether the change windows are lifted (`--ignore-windows`).
    pub ignores_windows: bool,
    /// The maximum length of a comment, in Unicode scalar values.
    pub comment_max_chars: usize,
    /// What happens to a toggle that was changed on the service.
    pub on_drift: OnDrift,
    /// Whether a publish may bypass the approvals of an environment.
    pub on_approval: OnApproval,
    /// What happens to a document whose toggle does not exist on the service.
    pub on_missing: OnMissing,
    /// Whether the live state of toggles can be read (`service_kind: featureprobe`), or the service only
    /// stores.
    pub is_readable: bool,
}

words! {
    /// `--first-pass`.
    FirstPass {
        /// Publish everything.
        Assert = "assert",
        /// Record the documents as applied, and publish nothing.
        Adopt = "adopt",
    }
    /// `--on-remove`.
    #[derive(Default)]
    OnRemove {
        /// List the toggle.
        #[default]
        Keep = "keep",
        /// Publish the applied targeting again, disabled.
        Disable = "disable",
        /// Drop the toggle from the state without publishing.
        Forget = "forget",
    }
    /// `--on-invalid`.
    #[derive(Default)]
    OnInvalid {
        /// Hold the invalid documents; publish the others.
        #[default]
        Hold = "hold",
        /// Publish nothing while a document is invalid.
        Stop = "stop",
    }
    /// `--on-drift`.
    #[derive(Default)]
    OnDrift {
        /// Hold changes to a toggle that was changed on the service.
        #[default]
        Hold = "hold",
        /// Publish its document again.
        Overwrite = "overwrite",
        /// Do not read the toggle before a publish.
        Ignore = "ignore",
    }
    /// `--on-approval`.
    #[derive(Default)]
    OnApproval {
        /// Hold changes in an environment that needs approvals.
        #[default]
        Hold = "hold",
        /// Publish without an approval.
        Bypass = "bypass",
    }
    /// `--on-missing`.
    #[derive(Default)]
    OnMissing {
        /// Hold the document.
        #[default]
        Hold = "hold",
        /// Create the toggle before its first publish.
        Create = "create",
    }
    /// `--history`.
    HistoryRule {
        /// Follow a rewritten history, even to a commit older than the one that the shared state records.
        Follow = "follow",
        /// Stop the pass.
        Refuse = "refuse",
    }
}

impl Default for Policy {
    /// The defaults of deploy/settings.md, "Settings".
    fn default() -> Self {
        Self {
            scope: Scope::default(),
            first_pass: None,
            on_remove: OnRemove::default(),
            on_invalid: OnInvalid::default(),
            max_change_ratio: 0.3,
            fewest_for_ratio: Thresholds::default().fewest_for_share,
            max_change_count: None,
            allows_trailers: true,
            allows_mass_change: false,
            windows: Windows::default(),
            ignores_windows: false,
            comment_max_chars: 1024,
            on_drift: OnDrift::default(),
            on_approval: OnApproval::default(),
            on_missing: OnMissing::default(),
            is_readable: false,
        }
    }
}

impl Policy {
    /// Returns whether a toggle is read before it is published (src/pass/README.md, "Reading before a
    /// publish").
    pub fn reads_live(&self) -> bool {
        self.is_readable && self.on_drift != OnDrift::Ignore
    }

    /// Returns every scope besides that of the pass, with what it belongs to: a glob that matches no toggle
    /// is reported (src/plan/README.md, "Order and windows").
    pub(crate) fn scopes<'a>(
        &'a self,
        suspensions: &'a Suspensions,
    ) -> impl Iterator<Item = (String, &'a Scope)> {
        let windows = self.windows.scopes();
        let windows = windows.map(|(window, scope)| (format!("the change window {window}"), scope));
        let suspended = suspensions.iter().map(|(scope, _)| ("a suspension".to_owned(), scope.scope()));
        windows.chain(suspended)
    }

    /// Returns the SHA-256 of all settings in hexadecimal. A pass with another digest than the last one has
    /// to compare again even if the repository did not change.
    pub fn digest(&self) -> String {
        // Without `..`, so that a new setting cannot be left out of the digest.
        let Self {
            scope,
            first_pass,
            on_remove,
            on_invalid,
            max_change_ratio,
            // No setting.
            fewest_for_ratio: _,
            max_change_count,
            allows_trailers,
            allows_mass_change,
            windows,
            ignores_windows,
            comment_max_chars,
            on_drift,
            on_approval,
            on_missing,
            is_readable,
        } = self;
        let text = format!(
            "{:?} {first_pass:?} {on_remove:?} {on_invalid:?} {max_change_ratio:?} {max_change_count:?} {allows_trailers:?} \
             {allows_mass_change:?} {} {ignores_windows:?} {comment_max_chars} {on_drift:?} {on_approval:?} {on_missing:?} \
             {is_readable:?}",
            scope.globs(),
            windows.digest()
        );
        hex(&Sha256::digest(text))
    }
}

/// The decision on the first pass of an environment.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) enum FirstPassChoice {
    Decided(FirstPass),
    Undecided(Arc<Hold>),
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
            return FirstPassChoice::Decided(decided);
        }
        let requested = self.requested(lane);
        match requested.as_slice() {
            [one] => FirstPassChoice::Decided(*one),
            [] if self.compares_revisions => FirstPassChoice::Decided(FirstPass::Assert),
            // Two contradicting trailers decide nothing, because only one of them can be right.
            requested => {
                let why = match self.overrides.lost.contains(environment) {
                    true => Unapplied::Lost,
                    false => Unapplied::New,
                };
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
    /// The environments whose rails a trailer lifts, which stays in the repository.
    pub merged_mass_change: BTreeSet<EnvironmentId>,
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
                (Override::Window, Some(environment)) => {
                    overrides.windows.insert(environment);
                }
                (Override::History, _) => overrides.history = Some(revision),
                // An order of an older version lists nothing, so it covers nothing.
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
        self.merged_mass_change.extend(commit.mass_change_environments());
        self.idle_trailers.extend(idle.iter().map(|idle| of(&idle.line, &idle.why)));
        self.own_trailers.extend(own.into_iter().map(|trailer| (commit.id, trailer)));
    }

    /// Returns whether the rails of `environment` are lifted, by an operator or by a trailer. Ids that differ
    /// only in case are one.
    pub(crate) fn lifts_rails(&self, environment: &EnvironmentId) -> bool {
        let mut named = self.mass_change.iter().chain(&self.merged_mass_change);
        named.any(|named| named.is_same(environment))
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
        let is_rail = matches!(hold.kind, Some(HoldKind::Rail | HoldKind::Environment));
        let reason = |id: &CommitId, trailer: &Trailer| {
            let (is_own, what) = (seen.contains(id), trailer.decision()?);
            Some(match (hold.kind?, what) {
                (HoldKind::Rail, Override::MassChange) => {
                    "which counts only for the changes of that commit".to_owned()
                }
                (HoldKind::Environment, Override::MassChange) => {
                    format!(
                        "which counts here with the environment: `{ALLOW_TRAILER}: mass-change {environment}`"
                    )
                }
                (HoldKind::Window, Override::Window)
                | (HoldKind::DiffersFromLive | HoldKind::Drifted, Override::OverwriteDrift)
                    if !is_own =>
                {
                    "which counts only for the changes of that commit".to_owned()
                }
                (
                    HoldKind::FirstPass | HoldKind::StateLost,
                    Override::FirstPassAdopt | Override::FirstPassAssert,
                ) if !is_own => {
                    format!("which counts only on the newest commit of a document in `{environment}`")
                }
                _ => return None,
            })
        };
        why.extend(self.own_trailers.iter().filter_map(|(id, trailer)| {
            Some(format!("commit {} has `{trailer}`, {}", id.short(), reason(id, trailer)?))
        }));
        if is_rail {
            let named = self.merged_mass_change.union(&own.merged_mass_change);
            let others = named.filter(|named| !named.is_same(environment));
            why.extend(
                others.map(|named| {
                    format!("`{ALLOW_TRAILER}: mass-change {named}` is about another environment")
                }),
            );
        }
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

impl Policy {
    /// Returns the rail that the changes of one environment exceed, if any, whatever a run or an operator
    /// permits.
    pub(super) fn rail(
        &self,
        lane: &[Change],
        applied_counts: &BTreeMap<EnvironmentId, usize>,
    ) -> Option<Hold> {
        let environment = lane.first()?.id.environment();
        let (mut all, mut updates) = (0, 0);
        for change in lane {
            let is_allowed = self.allows_trailers && change.attribution.allows(Override::MassChange);
            // What the rails let through before stays let through, and a trailer exempts the changes of its
            // commit.
            if !change.is_let_through() && !is_allowed {
                all += 1;
                // Creates count for `max_change_count` only.
                updates += usize::from(change.action != Action::Create);
            }
        }
        let applied = applied_counts.get(&environment).copied().unwrap_or(0);
        let ratio = self.ratio_rail(&environment, updates, applied);
        ratio.or_else(|| self.count_rail(&environment, all))
    }

    /// Returns the rail of `max_change_ratio` if `changed` of `applied` toggles exceed it.
    pub(super) fn ratio_rail(
        &self,
        environment: &EnvironmentId,
        changed: usize,
        applied: usize,
    ) -> Option<Hold> {
        // A division, not a multiplication: 3 / 30 yields the same float as the literal `0.1`.
        #[expect(clippy::cast_precision_loss, reason = "no environment has 2^52 toggles")]
        let is_over =
            applied >= self.fewest_for_ratio && changed as f64 / applied as f64 > self.max_change_ratio;
        let max = self.max_change_ratio;
        let excess = || {
            let share = percent(changed, applied, max);
            format!(
                "{changed} of {applied} applied toggles would be updated or disabled ({share}), more than \
                 `max_change_ratio: {max}` allows"
            )
        };
        is_over.then(|| hold::rail(environment, self.allows_trailers, &excess()))
    }

    /// Returns the rail of `max_change_count` if `changed` changes exceed it.
    fn count_rail(&self, environment: &EnvironmentId, changed: usize) -> Option<Hold> {
        let max = self.max_change_count?;
        let excess = format!("{changed} changes are more than `max_change_count: {max}` allows");
        (changed as u64 > max).then(|| hold::rail(environment, self.allows_trailers, &excess))
    }
}

/// Formats the share of `changed` in `applied`, with enough digits to differ from the limit.
fn percent(changed: usize, applied: usize, max: f64) -> String {
    const MOST_DIGITS: usize = 4;
    #[expect(clippy::cast_precision_loss, reason = "no environment has 2^52 toggles")]
    let ratio = changed as f64 / applied as f64 * 100.0;
    let shown = |ratio: f64, digits| format!("{ratio:.digits$} %");
    let mut digits = (0..=MOST_DIGITS).map(|digits| (shown(ratio, digits), shown(max * 100.0, digits)));
    let differing = digits.find(|(ratio, max)| ratio != max);
    differing.map_or_else(|| shown(ratio, MOST_DIGITS), |(ratio, _)| ratio)
}
