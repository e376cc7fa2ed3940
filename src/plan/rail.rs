//! The rails: limits on the changes that a pass may make to an environment (DESIGN, section 7).

use std::collections::BTreeMap;

use super::{Change, Policy, Trailer};
use crate::model::{Action, EnvironmentId, Override};

impl Policy {
    /// Returns the rail that the changes of one environment exceed, if any, whatever a run or an operator permits.
    pub(super) fn rail(
        &self,
        lane: &[Change],
        applied_counts: &BTreeMap<EnvironmentId, usize>,
    ) -> Option<Rail> {
        let environment = lane.first()?.id.environment();
        let (mut all, mut updates) = (0, 0);
        for change in lane {
            let is_allowed =
                self.trailer == Trailer::Allowed && change.attribution.allows(Override::MassChange);
            // What the rails let through before stays let through, and a trailer exempts the changes of its commit.
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
    ) -> Option<Rail> {
        /// With fewer toggles, one ordinary change would exceed the ratio.
        const FEWEST: usize = 10;
        // A division, not a multiplication: 3 / 30 yields the same float as the literal `0.1`.
        #[expect(clippy::cast_precision_loss, reason = "no environment has 2^52 toggles")]
        let is_over = applied >= FEWEST && changed as f64 / applied as f64 > self.max_change_ratio;
        is_over.then(|| Rail {
            environment: environment.clone(),
            changed,
            limit: Limit::Ratio {
                applied,
                max: self.max_change_ratio,
            },
            trailer: self.trailer,
        })
    }

    /// Returns the rail of `max_change_count` if `changed` changes exceed it.
    fn count_rail(&self, environment: &EnvironmentId, changed: usize) -> Option<Rail> {
        let max = self.max_change_count?;
        (changed as u64 > max).then(|| Rail {
            environment: environment.clone(),
            changed,
            limit: Limit::Count { max },
            trailer: self.trailer,
        })
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

/// A limit that an environment's changes exceed. Its text has the numbers, the setting and the ways to lift it.
#[derive(Clone, Debug, PartialEq)]
pub struct Rail {
    /// The held environment.
    pub environment: EnvironmentId,
    /// The number of changes that count.
    pub changed: usize,
    /// The exceeded limit.
    pub limit: Limit,
    /// Whether the trailer can lift it.
    pub trailer: Trailer,
}

/// The limit of a [`Rail`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Limit {
    /// `max_change_count`.
    Count {
        /// The setting's value.
        max: u64,
    },
    /// `max_change_ratio`.
    Ratio {
        /// The number of applied toggles in the environment.
        applied: usize,
        /// The setting's value.
        max: f64,
    },
}

impl std::fmt::Display for Rail {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            environment,
            changed,
            limit,
            trailer,
        } = self;
        match limit {
            Limit::Count { max } => write!(
                f,
                "{changed} changes are more than `max_change_count: {max}` allows"
            )?,
            Limit::Ratio { applied, max } => write!(
                f,
                "{changed} of {applied} applied toggles would be updated or disabled ({}), more than \
                 `max_change_ratio: {max}` allows",
                percent(*changed, *applied, *max)
            )?,
        }
        f.write_str("; if this is intended, pass `--allow-mass-change`, ")?;
        if *trailer == Trailer::Allowed {
            f.write_str("put the trailer `Gitoggle-Allow: mass-change` on the commit, ")?;
        }
        write!(
            f,
            "or run `gitoggle allow mass-change {environment}` for a running daemon"
        )
    }
}
