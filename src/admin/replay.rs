//! Detects repeated webhooks, in bounded memory.

use std::collections::{HashSet, VecDeque};

use sha2::{Digest as _, Sha256};

/// The latest deliveries, removed in order of arrival.
#[derive(Debug, Default)]
pub(super) struct Replays {
    seen: HashSet<Mark>,
    order: VecDeque<Mark>,
}

/// A digest, so that a long id costs no more than a short one.
type Mark = [u8; 32];

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Delivery {
    New,
    Repeated,
}

/// Far more authentic deliveries than any host sends while a timestamp is still accepted.
const REMEMBERED: usize = 20_000;

impl Replays {
    /// Records a delivery by its sender's `id`, and returns whether it is new.
    pub(super) fn record(&mut self, kind: &str, id: &[u8]) -> Delivery {
        let digest = Sha256::new()
            .chain_update(kind)
            // The zero byte keeps two pairs of kind and id from having the same bytes.
            .chain_update([0])
            .chain_update(id);
        let mark: Mark = digest.finalize().into();
        if !self.seen.insert(mark) {
            return Delivery::Repeated;
        }
        self.order.push_back(mark);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.seen.remove(&oldest);
        }
        Delivery::New
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delivery_is_new_once_and_memory_is_bounded() {
        let mut replays = Replays::default();
        assert_eq!(replays.record("github", b"a"), Delivery::New);
        assert_eq!(replays.record("github", b"a"), Delivery::Repeated);
        assert_eq!(replays.record("gitea", b"a"), Delivery::New);
        for number in 0..REMEMBERED {
            replays.record("github", number.to_string().as_bytes());
        }
        assert_eq!(
            (replays.seen.len(), replays.order.len()),
            (REMEMBERED, REMEMBERED)
        );
        assert_eq!(replays.record("github", b"a"), Delivery::New);
    }
}
