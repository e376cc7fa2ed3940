//! Counts the toggles of each environment by state, so that no request has to count all toggles. Pure.

use std::ops::Range;

use serde::{Serialize, Serializer};

use super::ToggleStatus;
use crate::model::{EnvironmentId, ToggleState};

/// Numbers of toggles by state.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct StateCounts([usize; ToggleState::ALL.len()]);

impl StateCounts {
    /// Counts toggles.
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

/// One environment.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct EnvironmentStatus {
    /// The project and the environment.
    pub environment: EnvironmentId,
    /// Its toggles by state.
    pub counts: StateCounts,
    /// The place of its toggles in [`super::Status::toggles`].
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
        environments.sort_by(|a, b| a.environment.cmp(&b.environment));
        Self {
            environments,
            counts: StateCounts::of(toggles),
        }
    }

    /// Returns the environments, by name.
    pub(crate) fn environments(&self) -> &[EnvironmentStatus] {
        &self.environments
    }

    /// Returns an environment.
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
    use super::*;

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
        assert_eq!(
            (prod.counts.total(), prod.counts.in_state(ToggleState::Held)),
            (2, 1)
        );
        assert_eq!(overview.environment(&"shop/none".parse().unwrap()), None);
        let present: Vec<_> = overview.counts().present().collect();
        let expected = [
            (ToggleState::Failed, 1),
            (ToggleState::Held, 1),
            (ToggleState::InSync, 3),
        ];
        assert_eq!(present, expected);
        let json = serde_json::to_value(prod).unwrap();
        assert_eq!(json["counts"]["held"], 1);
    }
}
