//! Keeps failures, the last clean pass, the versions that are live, and the orders of operators beside the
//! record. Losing the first three costs a lookup, a line of `status`, or the order of the next pass.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{Error, files};
use crate::git::Failpoints;
use crate::model::{
    Allowance, CommitId, EnvironmentId, HeldRequests, Hold, ObjectId, Suspension, SuspensionScope,
    Suspensions, ToggleId,
};

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

// Keeps which versions on the service were compared with which applied documents, and found equal. Losing
// this cache costs one scan that reads every toggle.

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

// Stores the orders of operators: suspensions, and allowances. An allowance is valid as long as its revision
// is the one to apply (src/model/README.md, "Decisions and holds").
//
// Losing an allowance costs the operator a second command. Losing a suspension would resume publishing, so an
// unreadable one is an error. Invariant: an order is complete on disk before it takes effect.

const ALLOWED: &str = "allowed.json";
const SUSPENDED: &str = "suspended.json";

/// Held while an order is read, changed and written: the driver may record an order while a pass removes
/// allowances.
static CHANGING: Mutex<()> = Mutex::new(());

/// The orders in one state folder. Only the process that holds the folder's lock changes them.
pub struct Orders {
    dir: PathBuf,
    failpoints: Failpoints,
}

/// An older version wrote one suspension, of everything. It reads a list as a suspension of everything.
#[derive(Deserialize, Serialize)]
#[serde(untagged)]
enum Suspended {
    Parts { suspensions: Suspensions },
    Everything(Suspension),
}

#[derive(Default, Deserialize, Serialize)]
struct Allowed {
    allowances: Vec<Allowance>,
}

impl Orders {
    /// Returns the orders in `dir`, without reading them.
    pub fn new(dir: &Path) -> Self {
        Self::with(dir, Failpoints::default())
    }

    pub(crate) fn with(dir: &Path, failpoints: Failpoints) -> Self {
        Self { dir: dir.to_owned(), failpoints }
    }

    /// Reads the suspensions, ended ones included.
    pub fn suspensions(&self) -> Result<Suspensions, Error> {
        suspensions(&self.dir)
    }

    /// Suspends publishing in `scope`.
    pub fn suspend(&self, scope: SuspensionScope, suspension: Suspension) -> Result<(), Error> {
        let _changing = changing();
        let mut suspensions = self.replaceable(&scope)?;
        suspensions.add(scope, suspension);
        self.keep_suspensions(suspensions)
    }

    /// Removes the suspension of `scope`, or all suspensions if `scope` is everything. Returns the resumed
    /// scopes.
    pub fn resume(&self, scope: &SuspensionScope) -> Result<Vec<SuspensionScope>, Error> {
        let _changing = changing();
        let mut suspensions = self.replaceable(scope)?;
        let resumed = suspensions.remove(scope);
        // Writes even if nothing was resumed, because a file that cannot be read is treated as empty here.
        if scope.is_everything() || !resumed.is_empty() {
            self.keep_suspensions(suspensions)?;
        }
        Ok(resumed)
    }

    /// Records an allowance. It replaces one for the same override.
    pub fn allow(&self, allowance: Allowance) -> Result<(), Error> {
        let _changing = changing();
        let mut allowances = allowances(&self.dir);
        allowances.retain(|other| !allowance.replaces(other));
        allowances.push(allowance);
        self.keep_allowances(allowances)
    }

    /// Removes the allowances of other revisions than the one to apply.
    pub fn expire(&self, revision: CommitId) -> Result<(), Error> {
        let _changing = changing();
        let (valid, expired): (Vec<_>, Vec<_>) =
            allowances(&self.dir).into_iter().partition(|one| one.revision == revision);
        for Allowance { what, environment, revision, .. } in &expired {
            tracing::info!(
                name: "allowance_expired",
                what = what.as_str(),
                environment = environment.as_ref().map(tracing::field::display),
                %revision,
                "allowance expired, the source is at another revision"
            );
        }
        if expired.is_empty() { Ok(()) } else { self.keep_allowances(valid) }
    }

    fn replaceable(&self, scope: &SuspensionScope) -> Result<Suspensions, Error> {
        match suspensions(&self.dir) {
            // Everything includes the suspensions that cannot be read, so the operator can replace the file.
            Err(_) if scope.is_everything() => Ok(Suspensions::default()),
            read => read,
        }
    }

    fn keep_suspensions(&self, suspensions: Suspensions) -> Result<(), Error> {
        let kept = (!suspensions.is_empty()).then_some(Suspended::Parts { suspensions });
        keep(&self.dir.join(SUSPENDED), kept, &self.failpoints)
    }

    fn keep_allowances(&self, allowances: Vec<Allowance>) -> Result<(), Error> {
        let kept = (!allowances.is_empty()).then_some(Allowed { allowances });
        keep(&self.dir.join(ALLOWED), kept, &self.failpoints)
    }
}

fn changing() -> MutexGuard<'static, ()> {
    CHANGING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Reads the suspensions in `dir`, ended ones included.
pub(crate) fn suspensions(dir: &Path) -> Result<Suspensions, Error> {
    let path = dir.join(SUSPENDED);
    let Some(text) = files::read(&path)? else {
        return Ok(Suspensions::default());
    };
    match parse(&text) {
        Ok(Suspended::Parts { suspensions }) => Ok(suspensions),
        Ok(Suspended::Everything(suspension)) => Ok(suspension.into()),
        // An unreadable suspension must not resume publishing.
        Err(source) => Err(Error::Suspension { path, source }),
    }
}

/// Reads the allowances in `dir`.
pub(crate) fn allowances(dir: &Path) -> Vec<Allowance> {
    // A lost allowance costs the operator a second command, so an unreadable file is not an error.
    or_ignored::<Allowed>(&dir.join(ALLOWED)).unwrap_or_default().allowances
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{HoldKind, ObjectId, Override};

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

    fn suspension(reason: &str) -> Suspension {
        Suspension { reason: Some(reason.to_owned()), until: None }
    }

    #[test]
    fn suspensions_of_parts_survive_on_their_own() {
        let folder = tempfile::tempdir().unwrap();
        let orders = Orders::new(folder.path());
        let (shop, web): (SuspensionScope, SuspensionScope) =
            ("shop/**".parse().unwrap(), "web/**".parse().unwrap());
        orders.suspend(shop.clone(), suspension("sale")).unwrap();
        orders.suspend(web.clone(), suspension("incident")).unwrap();
        assert_eq!(suspensions(folder.path()).unwrap().iter().count(), 2);
        assert_eq!(orders.resume(&shop).unwrap(), std::slice::from_ref(&shop));
        assert_eq!(orders.resume(&shop).unwrap(), []);
        assert_eq!(orders.resume(&SuspensionScope::everything()).unwrap(), [web]);
        assert!(!folder.path().join(SUSPENDED).exists());
    }

    #[test]
    fn what_an_older_version_suspended_is_everything() {
        let folder = tempfile::tempdir().unwrap();
        let text = r#"{"version":1,"reason":"freeze","until":5}"#;
        std::fs::write(folder.path().join(SUSPENDED), text).unwrap();
        let read = suspensions(folder.path()).unwrap();
        assert_eq!(read.everything().unwrap().until, Some(5));
        std::fs::write(folder.path().join(SUSPENDED), "{").unwrap();
        let orders = Orders::new(folder.path());
        assert!(orders.resume(&"shop/**".parse().unwrap()).is_err());
        assert_eq!(orders.resume(&SuspensionScope::everything()).unwrap(), []);
        assert!(suspensions(folder.path()).unwrap().is_empty());
    }

    #[test]
    fn an_allowance_is_kept_until_its_revision_is_not_the_one_to_apply() {
        let folder = tempfile::tempdir().unwrap();
        let orders = Orders::new(folder.path());
        let allowance = |what, at| Allowance {
            what,
            environment: Some("shop/prod".parse().unwrap()),
            revision: CommitId(ObjectId([1; 20])),
            by: "127.0.0.1:4711".to_owned(),
            at,
            versions: None,
        };
        let (assert, adopt) =
            (allowance(Override::FirstPassAssert, 1), allowance(Override::FirstPassAdopt, 2));
        let mass_change = allowance(Override::MassChange, 3);
        for order in [&assert, &mass_change, &adopt] {
            orders.allow(order.clone()).unwrap();
        }
        assert_eq!(allowances(folder.path()), [mass_change.clone(), adopt.clone()]);
        orders.expire(adopt.revision).unwrap();
        assert_eq!(allowances(folder.path()), [mass_change, adopt]);
        orders.expire(CommitId(ObjectId([2; 20]))).unwrap();
        assert!(!folder.path().join(ALLOWED).exists());
    }
}
