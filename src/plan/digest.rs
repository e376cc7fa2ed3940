//! The digests that a review is about.

use sha2::{Digest as _, Sha256};

use super::{Change, Plan};
use crate::model::{ChangeDigest, ReviewedChanges, hex};

impl Change {
    /// Returns the digest of what is sent.
    pub fn digest(&self) -> ChangeDigest {
        ChangeDigest::new(&self.id, &self.payload)
    }
}

impl Plan {
    /// Returns `sha256:` and the SHA-256 of the sorted digests of all requests.
    pub fn digest(&self) -> String {
        let mut digests: Vec<ChangeDigest> = self.requests().map(Change::digest).collect();
        digests.sort_unstable();
        let mut hash = Sha256::new();
        digests.iter().for_each(|digest| hash.update(digest.to_string()));
        format!("sha256:{}", hex(&hash.finalize()))
    }

    /// Returns what a reviewer of this plan has seen: all changes, with those that are held, because they are shown as
    /// well, and whoever releases them need not ask for another review.
    pub fn reviewed(&self) -> ReviewedChanges {
        let held = self.withheld.iter().filter_map(|held| held.change.as_deref());
        self.changes.iter().chain(held).map(Change::digest).collect()
    }
}
