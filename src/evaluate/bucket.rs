//! The bucket of a user in a split.

use sha1::{Digest, Sha1};

use crate::model::WHOLE;

/// Returns the bucket of a user, from 0 to 9,999: the last four bytes of the SHA-1 of the user's key and the toggle's key,
/// big-endian, modulo 10,000 (`featureprobe-behaviour.md`, section 6.2, *Split*).
#[must_use]
pub fn bucket(user_key: &str, toggle_key: &str) -> u32 {
    let digest = Sha1::new()
        .chain_update(user_key)
        .chain_update(toggle_key)
        .finalize();
    let last = digest.last_chunk().expect("a SHA-1 has 20 bytes");
    u32::from_be_bytes(*last) % WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bucket_is_that_of_the_sdks() {
        for (user, toggle, expected) in [
            ("key", "salt", 2647),
            ("13", "tutorial_rollout", 9558),
            ("15", "tutorial_rollout", 9900),
            ("16", "tutorial_rollout", 9632),
            ("user-1", "new_feature", 925),
            ("user-2", "new_feature", 6124),
            ("00001", "campaign_percentage_rollout", 5823),
        ] {
            assert_eq!(bucket(user, toggle), expected, "{user} {toggle}");
        }
    }
}
