//! Keeps failures and the last clean pass beside the record. Losing them costs a lookup, a line of `status`,
//! or the order of the next pass.

use std::collections::BTreeSet;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Error, files};
use crate::git::Failpoints;
use crate::model::{CommitId, EnvironmentId, HeldRequests, ObjectId};

const VERSION: u32 = 1;
const FAILURES: &str = "failures.json";
const LOST: &str = "lost.json";
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
    pub tries: HeldRequests,
}

pub(crate) fn failures(dir: &Path) -> Failures {
    or_ignored(&dir.join(FAILURES)).unwrap_or_default()
}

pub(crate) fn pass(dir: &Path) -> Option<CleanPass> {
    or_ignored(&dir.join(PASS))
}

/// The environments of which a folder before this one had records.
#[derive(Default, Deserialize, Serialize)]
struct LostRecords {
    environments: BTreeSet<EnvironmentId>,
}

pub(crate) fn lost(dir: &Path) -> BTreeSet<EnvironmentId> {
    or_ignored::<LostRecords>(&dir.join(LOST)).unwrap_or_default().environments
}

pub(crate) fn keep_lost(
    dir: &Path,
    environments: BTreeSet<EnvironmentId>,
    failpoints: &Failpoints,
) -> Result<(), Error> {
    let kept = (!environments.is_empty()).then_some(LostRecords { environments });
    keep(&dir.join(LOST), kept, failpoints)
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
        // A file of another version may have another meaning, so it is treated as unreadable.
        other => Err(serde::de::Error::custom(format!("unknown version {other}"))),
    }
}
