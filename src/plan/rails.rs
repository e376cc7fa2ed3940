//! How many changes one pass may make (src/plan/README.md, "Rails").

use std::collections::BTreeMap;

use super::{Change, Policy, hold};
use crate::model::{Action, EnvironmentId, Hold, Override};

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
    let ratio = changed as f64 / applied as f64 * 100.0;
    let shown = |ratio: f64, digits| format!("{ratio:.digits$} %");
    let mut digits = (0..=MOST_DIGITS).map(|digits| (shown(ratio, digits), shown(max * 100.0, digits)));
    let differing = digits.find(|(ratio, max)| ratio != max);
    differing.map_or_else(|| shown(ratio, MOST_DIGITS), |(ratio, _)| ratio)
}
