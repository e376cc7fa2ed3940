//! The digest of a plan, which a review is about.

use std::collections::BTreeSet;

use sha2::{Digest as _, Sha256};

use super::{Change, Plan};
use crate::model::{Action, PlanDigest, ReviewedPlan, Version, hex};

/// The most combinations of creates and updates that are compared with a digest.
const MOST: usize = 1024;

impl Plan {
    /// Returns the digest of all requests. Commits and comments are not part of it, so a merge does not change it.
    #[must_use]
    pub fn digest(&self) -> PlanDigest {
        let mut hash = Sha256::new();
        for change in self.requests() {
            hash.update(part(&change.version, change.action));
        }
        digest(hash)
    }

    /// Returns the fingerprints of the requests.
    #[must_use]
    pub fn fingerprints(&self) -> BTreeSet<String> {
        let parts = self.requests().map(|change| part(&change.version, change.action));
        parts.map(|part| fingerprint(&part)).collect()
    }

    /// Returns whether this plan sends the requests that were reviewed, except for those that it holds, and those that
    /// `applied` documents show as done. A change counts as reviewed whether it was shown as a create or as an update: both
    /// send the same request, and two revisions do not show what is applied. The complete digest decides; fingerprints,
    /// which are short, only select the combinations to compare with it.
    #[must_use]
    pub fn is_reviewed(&self, reviewed: &ReviewedPlan, applied: &[Version]) -> bool {
        if self.digest() == reviewed.digest {
            return true;
        }
        let known = reviewed.changes.as_ref();
        let held = self.withheld.iter().filter_map(|held| held.change.as_deref());
        let applied = applied.iter().map(|version| (version, Action::Update));
        let others = held.map(request).chain(applied);
        let others =
            others.filter(|(version, action)| known.is_some_and(|known| is_among(known, version, *action)));
        let mut all: Vec<_> = self.requests().map(request).chain(others).collect();
        all.sort_by(|(a, _), (b, _)| a.id.cmp(&b.id));
        let mut hashes = vec![Sha256::new()];
        for (version, action) in all {
            let parts: Vec<_> = reviewed_as(version, action, known).collect();
            let longer = |hash: &Sha256| {
                let hash = hash.clone();
                parts.iter().map(move |part| hash.clone().chain_update(part))
            };
            hashes = hashes.iter().flat_map(longer).collect();
            if hashes.is_empty() || hashes.len() > MOST {
                return false;
            }
        }
        hashes.into_iter().any(|hash| digest(hash) == reviewed.digest)
    }
}

/// Returns whether the request for a version has one of the fingerprints `known`, as a create or as an update.
#[must_use]
pub fn is_among(known: &BTreeSet<String>, version: &Version, action: Action) -> bool {
    reviewed_as(version, action, Some(known)).next().is_some()
}

fn request(change: &Change) -> (&Version, Action) {
    (&change.version, change.action)
}

/// Returns the parts of a digest that a request may have been reviewed as.
fn reviewed_as<'a>(
    version: &'a Version,
    action: Action,
    known: Option<&'a BTreeSet<String>>,
) -> impl Iterator<Item = Vec<u8>> + 'a {
    let actions: &[Action] = match action {
        Action::Create | Action::Update => &[Action::Create, Action::Update],
        Action::Adopt => &[Action::Adopt],
        Action::Disable => &[Action::Disable],
    };
    let parts = actions.iter().map(|action| part(version, *action));
    parts.filter(move |part| known.is_none_or(|known| known.contains(&fingerprint(part))))
}

/// Returns the part of a request in the digest.
fn part(version: &Version, action: Action) -> Vec<u8> {
    // Without a separator, two different lists could have the same bytes.
    [
        version.id.as_str(),
        action.as_str(),
        &version.payload.to_json(),
        "",
    ]
    .join("\0")
    .into_bytes()
}

/// Returns the first eight digits of the hash of a part.
fn fingerprint(part: &[u8]) -> String {
    hex(&Sha256::digest(part)[..4])
}

fn digest(hash: Sha256) -> PlanDigest {
    PlanDigest::of_sha256(&hash.finalize().into())
}
