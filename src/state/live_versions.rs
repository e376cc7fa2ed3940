//! Keeps which versions on the service were compared with which applied documents, and found equal. Losing
//! this cache costs one scan that reads every toggle.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Error;
use super::sidecar::{keep, or_ignored};
use crate::git::Failpoints;
use crate::model::{EnvironmentId, Hold, ObjectId, ToggleId};

const FILE: &str = "live.json";

/// What earlier scans for drift found out.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct LiveVersions {
    /// The service that was scanned.
    pub base_url: String,
    /// The number of scans of each environment since the last one that read every toggle.
    pub scans: BTreeMap<EnvironmentId, u32>,
    /// The version of each environment's payload for SDKs.
    pub payloads: BTreeMap<EnvironmentId, u64>,
    /// The toggles whose live targeting was the applied one. At most one entry for each applied toggle.
    pub toggles: BTreeMap<ToggleId, EqualVersion>,
    /// The toggles whose live targeting was another one.
    pub differences: BTreeMap<ToggleId, OtherVersion>,
}

/// A difference between the service and an applied document.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OtherVersion {
    /// The blob of the document.
    pub object: ObjectId,
    /// The version that had its targeting, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The difference, as it was reported.
    #[serde(flatten)]
    pub fact: Hold,
}

/// A version on the service with the targeting of an applied document.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct EqualVersion {
    #[serde(rename = "v")]
    pub version: u64,
    /// The blob of the document.
    #[serde(rename = "o")]
    pub object: ObjectId,
}

impl LiveVersions {
    /// Reads the cache in `dir`. It is empty if it is missing, unreadable or about another service.
    pub fn open(dir: &Path, base_url: &str) -> Self {
        let kept: Option<Self> = or_ignored(&dir.join(FILE));
        let kept = kept.filter(|kept| kept.base_url == base_url);
        kept.unwrap_or_else(|| Self { base_url: base_url.to_owned(), ..Self::default() })
    }

    /// Adds versions that a pass has published, or has read and recorded.
    pub(crate) fn settle(&mut self, equal: &BTreeMap<ToggleId, EqualVersion>) {
        self.differences.retain(|id, _| !equal.contains_key(id));
        self.toggles.extend(equal.iter().map(|(id, equal)| (id.clone(), *equal)));
    }

    /// Replaces the cache in `dir`.
    pub fn keep(&self, dir: &Path) -> Result<(), Error> {
        keep(&dir.join(FILE), Some(self), &Failpoints::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::HoldKind;

    fn versions() -> LiveVersions {
        let mut versions = LiveVersions::open(Path::new("/nowhere"), "https://a");
        let toggle = EqualVersion { version: 7, object: ObjectId([1; 20]) };
        versions.scans.insert("shop/prod".parse().unwrap(), 3);
        let fact = Hold::over(HoldKind::Drifted, 8, "changed on the service".to_owned());
        let object = ObjectId([2; 20]);
        let drifted = OtherVersion { object, since: Some(6), fact };
        versions.differences.insert("shop/prod/ship".parse().unwrap(), drifted);
        versions.toggles.insert("shop/prod/pay".parse().unwrap(), toggle);
        versions.payloads.insert("shop/prod".parse().unwrap(), 41);
        versions
    }

    #[test]
    fn the_cache_is_read_as_it_was_kept() {
        let dir = tempfile::tempdir().unwrap();
        versions().keep(dir.path()).unwrap();
        assert_eq!(LiveVersions::open(dir.path(), "https://a"), versions());
    }

    #[test]
    fn a_cache_of_another_service_or_a_damaged_one_counts_as_empty() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        versions().keep(dir.path()).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let empty = |url: &str| LiveVersions { base_url: url.to_owned(), ..LiveVersions::default() };
        assert_eq!(LiveVersions::open(dir.path(), "https://b"), empty("https://b"));
        for damaged in [&whole[..whole.len() / 2], b"", b"{\"version\":2}"] {
            std::fs::write(&path, damaged).unwrap();
            assert_eq!(LiveVersions::open(dir.path(), "https://a"), empty("https://a"));
        }
    }
}
