//! Selects faults at random, but the same ones for the same seed.

use std::hash::{Hash, Hasher as _};
use std::time::Duration;

/// The faults of a sandbox; none by default. Rates are probabilities in `0.0..=1.0`.
#[derive(Clone, Debug, PartialEq)]
pub struct Faults {
    /// How often a request is answered 500 or 503, half of each, without storing.
    pub fail_rate: f64,
    /// The delay of every request before it is processed.
    pub latency: Duration,
    /// How often the connection ends without an answer after the document was stored.
    pub drop_after_store_rate: f64,
    /// How often a request is answered 429, without storing.
    pub too_many_rate: f64,
    /// The `Retry-After` of such a 429, in whole seconds.
    pub retry_after: Duration,
    /// The same seed strikes the same attempts for the same toggles, in any order of arrival.
    pub seed: u64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            fail_rate: 0.0,
            latency: Duration::ZERO,
            drop_after_store_rate: 0.0,
            too_many_rate: 0.0,
            retry_after: Duration::from_secs(1),
            seed: 0,
        }
    }
}

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Fault {
    DropAfterStore,
    Internal,
    None,
    TooMany,
    Unavailable,
}

impl Faults {
    /// Returns the fault that strikes the `nth` request for `target`.
    pub(super) fn strike(&self, target: &impl Hash, nth: u64) -> Fault {
        let Self { fail_rate, latency: _, drop_after_store_rate, too_many_rate, retry_after: _, seed } = self;
        // This hasher has fixed keys, so that a seed selects the same faults in every process.
        let mut hasher = std::hash::DefaultHasher::new();
        // The faults must not depend on the order of arrival, so they are drawn for each request separately.
        (seed, target, nth).hash(&mut hasher);
        let mut random = fastrand::Rng::with_seed(hasher.finish());
        // One number decides among all faults, so that their rates add up.
        let drawn = random.f64();
        if drawn < *fail_rate {
            return if random.bool() { Fault::Internal } else { Fault::Unavailable };
        }
        if drawn < fail_rate + too_many_rate {
            return Fault::TooMany;
        }
        if drawn < fail_rate + too_many_rate + drop_after_store_rate {
            return Fault::DropAfterStore;
        }
        Fault::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strikes(faults: &Faults) -> Vec<Fault> {
        let id: crate::model::ToggleId = "p/e/t".parse().unwrap();
        (0..1000).map(|nth| faults.strike(&id, nth)).collect()
    }

    #[test]
    fn the_same_seed_strikes_the_same_requests() {
        let faults =
            Faults { fail_rate: 0.2, drop_after_store_rate: 0.1, too_many_rate: 0.1, ..Faults::default() };
        assert_eq!(strikes(&faults), strikes(&faults));
        assert_ne!(strikes(&faults), strikes(&Faults { seed: 1, ..faults.clone() }));
        let count = |fault| strikes(&faults).iter().filter(|drawn| **drawn == fault).count();
        assert!((60..140).contains(&count(Fault::TooMany)), "{}", count(Fault::TooMany));
        assert!((60..140).contains(&count(Fault::Internal)), "{}", count(Fault::Internal));
        assert!((60..140).contains(&count(Fault::DropAfterStore)));
    }

    #[test]
    fn nothing_strikes_by_default_and_everything_at_rate_one() {
        assert!(strikes(&Faults::default()).iter().all(|fault| *fault == Fault::None));
        let all = Faults { too_many_rate: 1.0, ..Faults::default() };
        assert!(strikes(&all).iter().all(|fault| *fault == Fault::TooMany));
    }
}
