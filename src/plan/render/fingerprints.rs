//! Fingerprints that identify findings across runs.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::model::hex;

/// Creates the fingerprints of one report. A fingerprint does not depend on the line, so that it survives an edit above
/// it, and is unique in its report.
#[derive(Default)]
pub(super) struct Fingerprints(BTreeMap<[u8; 32], usize>);

impl Fingerprints {
    /// Returns the fingerprint of the next finding, by its check, path and message.
    pub(super) fn next(&mut self, parts: [&str; 3]) -> String {
        let mut hash = Sha256::new();
        for part in parts {
            hash.update(part);
            // Without a separator, two different findings could have the same bytes.
            hash.update([0]);
        }
        let key: [u8; 32] = hash.clone().finalize().into();
        let count = self.0.entry(key).or_default();
        *count += 1;
        hash.update(count.to_string());
        hex(&hash.finalize())
    }
}
