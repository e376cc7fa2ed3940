//! Records redirects of repositories, so that each is logged once and webhooks with the new name are accepted.
//!
//! The record belongs to the process, because connections are short-lived: both the daemon's passes and its lookups
//! between passes make them.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use super::connection::lock;
use crate::git::RepoUrl;

/// The target of the last connection's redirect, by the configured address. Contended by concurrent connections and by
/// webhooks, each for one lookup.
static MOVED: LazyLock<Mutex<BTreeMap<String, RepoUrl>>> = LazyLock::new(Mutex::default);

/// Returns the address that the last connection to `url` was redirected to.
#[must_use]
pub fn moved_to(url: &RepoUrl) -> Option<RepoUrl> {
    lock(&MOVED).get(&url.to_string()).cloned()
}

/// Records that `url` redirects to `to`, and logs a new target.
pub(super) fn record(url: &RepoUrl, to: &RepoUrl) {
    let known = lock(&MOVED).insert(url.to_string(), to.clone());
    if known.as_ref() != Some(to) {
        tracing::warn!(
            name: "repository_moved",
            repository = %url,
            to = %to,
            "the repository has moved; following the redirect; update its address in the settings"
        );
    }
}

/// Removes the record of `url`, which did not redirect.
pub(super) fn forget(url: &RepoUrl) {
    lock(&MOVED).remove(&url.to_string());
}
