//! Keeps failures, the last clean pass and the versions that are live beside the record. Losing them costs a lookup, a line
//! of `status`, or the order of the next pass.

use std::collections::BTreeMap;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Error;
use super::files;
use crate::git::Failpoints;
use crate::model::{CommitId, EnvironmentId, HeldRequest, Hold, ObjectId, ToggleId};

const VERSION: u32 = 1;
const FAILURES: &str = "failures.json";
const PASS: &str = "pass.json";

/// The last pass, if it left no toggle withheld, pending, failed or unknown.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct CleanPass {
    /// The source's tree under the root.
    pub root_tree: ObjectId,
    /// The digest of the settings that shape a plan.
    pub policy_digest: String,
    /// The tip of the state after the pass.
    pub tip: CommitId,
    pub revision: CommitId,
    /// The time, in seconds since 1970-01-01 UTC.
    pub at: i64,
}

#[derive(Deserialize, Serialize)]
struct VersionedFile<T> {
    version: u32,
    #[serde(flatten)]
    content: T,
}

/// What is remembered of the requests that the service has not confirmed.
#[derive(Clone, Debug, Default, Deserialize, Eq, PartialEq, Serialize)]
pub struct Failures {
    /// The last hold or try of each toggle.
    pub tries: BTreeMap<ToggleId, HeldRequest>,
}

pub(crate) fn failures(dir: &Path) -> Failures {
    or_ignored(&dir.join(FAILURES)).unwrap_or_default()
}

pub(crate) fn pass(dir: &Path) -> Option<CleanPass> {
    or_ignored(&dir.join(PASS))
}

pub(crate) fn keep_failures(dir: &Path, failures: Failures, failpoints: &Failpoints) -> Result<(), Error> {
    let kept = (failures != Failures::default()).then_some(failures);
    keep(&dir.join(FAILURES), kept, failpoints)
}

pub(crate) fn keep_pass(dir: &Path, pass: Option<CleanPass>, failpoints: &Failpoints) -> Result<(), Error> {
    keep(&dir.join(PASS), pass, failpoints)
}

/// Replaces the file by `content`, or removes it.
pub(crate) fn keep<T: Serialize>(
    path: &Path,
    content: Option<T>,
    failpoints: &Failpoints,
) -> Result<(), Error> {
    let Some(content) = content else {
        return files::remove(path);
    };
    let versioned = VersionedFile { version: VERSION, content };
    let text = serde_json::to_vec(&versioned).expect("all keys are strings");
    files::replace(path, &text, failpoints)
}

pub(crate) fn or_ignored<T: DeserializeOwned>(path: &Path) -> Option<T> {
    // Losing such a file costs less than a failed pass.
    let ignore = |error: &dyn std::fmt::Display| {
        tracing::warn!(name: "unreadable_file", path = %path.display(), %error, "ignored unreadable file");
    };
    let text = files::read(path).inspect_err(|error| ignore(error)).ok()??;
    parse(&text).inspect_err(|error| ignore(error)).ok()
}

pub(crate) fn parse<T: DeserializeOwned>(text: &[u8]) -> Result<T, serde_json::Error> {
    let VersionedFile { version, content } = serde_json::from_slice(text)?;
    match version {
        VERSION => Ok(content),
        // A file of another version may have another meaning, so it counts as unreadable.
        other => Err(serde::de::Error::custom(format!("unknown version {other}"))),
    }
}

// Keeps which versions on the service were compared with which applied documents, and found equal. Losing this cache
// costs one scan that reads every toggle.

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
    #[serde(default)]
    pub differences: BTreeMap<ToggleId, OtherVersion>,
}

/// A difference between the service and an applied document.
#[derive(Clone, Debug, Deserialize, Eq, PartialEq, Serialize)]
pub struct OtherVersion {
    /// The blob of the document.
    pub object: ObjectId,
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
        let drifted = OtherVersion { object, fact };
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
