//! Groups the toggles that a pass withheld by state, environment and reason, and counts the others.
//!
//! The log, `/readyz`, the metrics, the page and the status JSON all render the same [`Withheld`] value, so
//! they always agree. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;

use serde::{Serialize, Serializer};

use crate::daemon::status::{Status, ToggleStatus};
use crate::model::{EnvironmentId, HoldKind, ToggleState, WayOut, hinted};

/// The toggles that are withheld in one state, in one environment, for one reason.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct WithheldGroup {
    pub state: ToggleState,
    pub environment: EnvironmentId,
    pub reason: HoldKind,
    pub count: usize,
}

/// All groups: drifted toggles first, then held ones, then failed ones, then those that stay pending; by
/// environment within a state.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Withheld(Vec<WithheldGroup>);

/// The states of withheld toggles, in the order in which they are reported.
const STATES: [ToggleState; 4] =
    [ToggleState::Drifted, ToggleState::Held, ToggleState::Failed, ToggleState::Pending];

impl Withheld {
    /// Groups the toggles that have a [kind](ToggleStatus::kind).
    pub(crate) fn of(toggles: &[ToggleStatus]) -> Self {
        let mut counts: BTreeMap<_, usize> = BTreeMap::new();
        for toggle in toggles {
            let order = STATES.iter().position(|state| *state == toggle.state());
            if let (Some(reason), Some(order)) = (toggle.kind(), order) {
                *counts.entry((order, toggle.toggle.environment(), reason)).or_default() += 1;
            }
        }
        let group = |((order, environment, reason), count)| WithheldGroup {
            state: STATES[order],
            environment,
            reason,
            count,
        };
        Self(counts.into_iter().map(group).collect())
    }

    pub(crate) fn groups(&self) -> &[WithheldGroup] {
        &self.0
    }

    /// Returns whether no toggle is withheld.
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the number of toggles that are withheld in `state`.
    pub(crate) fn in_state(&self, state: ToggleState) -> usize {
        self.count(|group| group.state == state)
    }

    /// Returns the number of toggles that are withheld for `reason`.
    pub(crate) fn because_of(&self, reason: HoldKind) -> usize {
        self.count(|group| group.reason == reason)
    }

    pub(crate) fn environments(&self) -> BTreeSet<&EnvironmentId> {
        self.0.iter().map(|group| &group.environment).collect()
    }

    /// Returns the names of the first `most` environments, and the number of the others.
    pub(crate) fn places(&self, most: usize) -> String {
        let environments = self.environments();
        let first: Vec<_> = environments.iter().take(most).map(ToString::to_string).collect();
        match environments.len().saturating_sub(most) {
            0 => first.join(", "),
            more => format!("{} and {more} more environments", first.join(", ")),
        }
    }

    fn count(&self, wanted: impl Fn(&WithheldGroup) -> bool) -> usize {
        let groups = self.0.iter().filter(|group| wanted(group));
        groups.map(|group| group.count).sum()
    }
}

impl Status {
    /// Returns one line for each kind of reason for which toggles are withheld: the reason of one of them,
    /// and what to do.
    pub(crate) fn explanations(&self) -> Vec<String> {
        let mut seen = BTreeSet::new();
        // A suspension is a remark, with its reason.
        let groups =
            self.withheld.groups().iter().filter(|group| group.reason.rule().way_out != Some(WayOut::Resume));
        let first_of_kind = groups.filter(|group| seen.insert(group.reason));
        first_of_kind
            .filter_map(|group| {
                let toggles = self.toggles_in(&group.environment);
                let toggle = toggles.iter().find(|toggle| group.has(toggle))?;
                let (id, kind, reason) = (&toggle.toggle, group.reason, toggle.explanation()?);
                Some(match self.withheld.because_of(kind) {
                    1 => format!("{kind}: {id}: {reason}"),
                    count => format!("{kind}: {id} and {} more: {reason}", count - 1),
                })
            })
            .collect()
    }
}

impl WithheldGroup {
    fn has(&self, toggle: &ToggleStatus) -> bool {
        toggle.state() == self.state && toggle.kind() == Some(self.reason)
    }
}

impl ToggleStatus {
    /// Returns the reason with what to do, which most reasons name.
    pub(crate) fn explanation(&self) -> Option<String> {
        let reason = self.reason()?;
        Some(match self.kind().and_then(|kind| kind.rule().way_out) {
            // Its reason has the advice, in every output.
            _ if self.hold.as_ref().is_some_and(|hold| hold.is_refused()) => reason,
            Some(WayOut::Retry(advice)) => format!("{reason}; {}", hinted(advice)),
            Some(WayOut::Import | WayOut::Resume) | None => reason,
        })
    }
}

impl fmt::Display for Withheld {
    /// One line: `279 held in 15 environments: first pass (270), rail (9)`, or `9 held in shop/production
    /// (rail)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for groups in self.0.chunk_by(|a, b| a.state == b.state) {
            write!(f, "{separator}{}", clause(groups))?;
            separator = ", ";
        }
        Ok(())
    }
}

/// Describes the groups of one state.
fn clause(groups: &[WithheldGroup]) -> String {
    let [first, ..] = groups else { return String::new() };
    let count: usize = groups.iter().map(|group| group.count).sum();
    let state = first.state.as_str();
    let environments: BTreeSet<_> = groups.iter().map(|group| &group.environment).collect();
    let reasons = reasons(groups);
    match (environments.len(), &reasons[..]) {
        // The reason would only repeat the state.
        (1, [(reason, _)]) if reason.as_str() == state => {
            format!("{count} {state} in {}", first.environment)
        }
        (1, [(reason, _)]) => format!("{count} {state} in {} ({reason})", first.environment),
        (1, _) => format!("{count} {state} in {}: {}", first.environment, listed(&reasons)),
        (many, _) => format!("{count} {state} in {many} environments: {}", listed(&reasons)),
    }
}

/// Returns the reasons with their counts, the most frequent first.
fn reasons(groups: &[WithheldGroup]) -> Vec<(HoldKind, usize)> {
    let mut counts: BTreeMap<_, usize> = BTreeMap::new();
    for group in groups {
        *counts.entry(group.reason).or_default() += group.count;
    }
    let mut reasons: Vec<_> = counts.into_iter().collect();
    reasons.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    reasons
}

fn listed(reasons: &[(HoldKind, usize)]) -> String {
    let parts: Vec<_> = reasons.iter().map(|(reason, count)| format!("{reason} ({count})")).collect();
    parts.join(", ")
}

#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct StateCounts([usize; ToggleState::ALL.len()]);

impl StateCounts {
    pub(crate) fn of(toggles: &[ToggleStatus]) -> Self {
        let mut counts = Self::default();
        for toggle in toggles {
            counts.0[toggle.state() as usize] += 1;
        }
        counts
    }

    /// Returns the number of toggles in `state`.
    pub(crate) fn in_state(&self, state: ToggleState) -> usize {
        self.0[state as usize]
    }

    /// Returns the number of all toggles.
    pub(crate) fn total(&self) -> usize {
        self.0.iter().sum()
    }

    /// Returns the states of at least one toggle, with its number, in display order.
    pub fn present(&self) -> impl Iterator<Item = (ToggleState, usize)> {
        let counts = ToggleState::ALL.into_iter().zip(self.0);
        counts.filter(|(_, count)| *count > 0)
    }
}

impl Serialize for StateCounts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(ToggleState::ALL.into_iter().zip(self.0))
    }
}

#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EnvironmentStatus {
    pub environment: EnvironmentId,
    pub counts: StateCounts,
    /// The place of its toggles in [`crate::daemon::status::Status::toggles`].
    #[serde(skip)]
    pub place: Range<usize>,
}

/// All environments with at least one toggle.
#[derive(Clone, Debug, Default, Eq, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Overview {
    /// By name.
    environments: Vec<EnvironmentStatus>,
    #[serde(skip)]
    counts: StateCounts,
}

impl Overview {
    /// Counts `toggles`, which are sorted.
    pub(crate) fn of(toggles: &[ToggleStatus]) -> Self {
        let key = |toggle: &ToggleStatus| {
            let name = toggle.toggle.as_str();
            name.rfind('/').unwrap_or(name.len())
        };
        let is_same =
            |a: &ToggleStatus, b: &ToggleStatus| a.toggle.as_str()[..key(a)] == b.toggle.as_str()[..key(b)];
        let mut start = 0;
        // The toggles of an environment are in one place, because they have the same beginning.
        let environments = toggles.chunk_by(is_same).map(|toggles| {
            let place = start..start + toggles.len();
            start = place.end;
            EnvironmentStatus {
                environment: toggles[0].toggle.environment(),
                counts: StateCounts::of(toggles),
                place,
            }
        });
        let mut environments: Vec<_> = environments.collect();
        environments.sort_unstable_by(|a, b| a.environment.cmp(&b.environment));
        Self { environments, counts: StateCounts::of(toggles) }
    }

    pub(crate) fn environments(&self) -> &[EnvironmentStatus] {
        &self.environments
    }

    pub(crate) fn environment(&self, id: &EnvironmentId) -> Option<&EnvironmentStatus> {
        let found = self.environments.binary_search_by(|one| one.environment.cmp(id));
        found.ok().map(|at| &self.environments[at])
    }

    /// Returns the numbers of all toggles.
    pub(crate) fn counts(&self) -> &StateCounts {
        &self.counts
    }
}

#[cfg(test)]
mod tests {
    mod withheld {
        use std::sync::Arc;

        use super::super::*;
        use crate::model::Hold;

        fn toggles(
            environment: &str,
            state: ToggleState,
            kind: Option<HoldKind>,
            count: usize,
        ) -> Vec<ToggleStatus> {
            let hold = Hold { kind, ..Hold::undecided(state, "in words") };
            let hold = (state != InSync).then(|| Arc::new(hold));
            let toggle =
                |number| ToggleStatus::new(format!("{environment}/t{number}").parse().unwrap(), hold.clone());
            (0..count).map(toggle).collect()
        }

        fn of(parts: &[Vec<ToggleStatus>]) -> Withheld {
            Withheld::of(&parts.concat())
        }

        use HoldKind::{FirstPass, Invalid, Rail, Refused, Suspended};
        use ToggleState::{Failed, Held, InSync, Pending};

        #[test]
        fn toggles_in_sync_or_pending_without_a_reason_are_not_withheld() {
            let withheld =
                of(&[toggles("shop/prod", InSync, None, 3), toggles("shop/test", Pending, None, 3)]);
            assert!(withheld.is_empty());
            assert_eq!(withheld.to_string(), "");
        }

        #[test]
        fn many_environments_are_counted_and_the_most_frequent_reason_comes_first() {
            let mut parts: Vec<_> =
                (0..14).map(|number| toggles(&format!("shop/e{number}"), Held, Some(FirstPass), 5)).collect();
            parts.push(toggles("shop/prod", Held, Some(Rail), 9));
            let withheld = of(&parts);
            assert_eq!(withheld.to_string(), "79 held in 15 environments: first pass (70), rail (9)");
            assert_eq!(withheld.places(3), "shop/e0, shop/e1, shop/e10 and 12 more environments");
        }

        #[test]
        fn one_environment_is_named() {
            let withheld = of(&[
                toggles("shop/prod", Held, Some(Rail), 9),
                toggles("shop/prod", Failed, Some(Refused), 2),
            ]);
            assert_eq!(withheld.to_string(), "9 held in shop/prod (rail), 2 failed in shop/prod (refused)");
            assert_eq!(withheld.places(3), "shop/prod");
            let withheld = of(&[
                toggles("shop/prod", Held, Some(Rail), 2),
                toggles("shop/prod", Held, Some(Invalid), 1),
            ]);
            assert_eq!(withheld.to_string(), "3 held in shop/prod: rail (2), invalid (1)");
        }

        #[test]
        fn suspended_toggles_are_reported_last() {
            let withheld = of(&[
                toggles("shop/prod", Pending, Some(Suspended), 2),
                toggles("shop/prod", Held, Some(Invalid), 1),
            ]);
            assert_eq!(
                withheld.to_string(),
                "1 held in shop/prod (invalid), 2 pending in shop/prod (suspended)"
            );
            assert_eq!(withheld.in_state(Pending), 2);
            assert_eq!(withheld.because_of(Suspended), 2);
        }

        #[test]
        fn a_reason_has_one_spelling() {
            for kind in HoldKind::ALL {
                assert_eq!(serde_json::to_value(kind).unwrap(), kind.as_str());
            }
        }
    }

    mod overview {
        use super::super::*;

        #[test]
        fn environments_are_counted_where_their_names_begin_alike() {
            let toggle = |(id, state): &(&str, ToggleState)| ToggleStatus::in_state(id, *state);
            let mut toggles: Vec<_> = [
                ("shop/prod/a", ToggleState::Held),
                ("shop/prod/b", ToggleState::InSync),
                ("shop/prod-2/a", ToggleState::InSync),
                ("shop/prod.1/a", ToggleState::Failed),
                ("shop-x/prod/a", ToggleState::InSync),
            ]
            .iter()
            .map(toggle)
            .collect();
            toggles.sort_by(|a, b| a.toggle.cmp(&b.toggle));
            let overview = Overview::of(&toggles);
            assert_eq!(overview.environments().len(), 4);
            for one in overview.environments() {
                let toggles = &toggles[one.place.clone()];
                assert!(toggles.iter().all(|toggle| toggle.toggle.is_in(&one.environment)));
                assert_eq!(StateCounts::of(toggles), one.counts);
            }
            let prod = overview.environment(&"shop/prod".parse().unwrap()).unwrap();
            assert_eq!((prod.counts.total(), prod.counts.in_state(ToggleState::Held)), (2, 1));
            assert_eq!(overview.environment(&"shop/none".parse().unwrap()), None);
            let present: Vec<_> = overview.counts().present().collect();
            let expected = [(ToggleState::Failed, 1), (ToggleState::Held, 1), (ToggleState::InSync, 3)];
            assert_eq!(present, expected);
            let json = serde_json::to_value(prod).unwrap();
            assert_eq!(json["counts"]["held"], 1);
        }
    }
}
