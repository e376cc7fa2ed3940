//! Remembers where repositories were redirected to: a redirect is reported once, and webhooks carry the new name.
//!
//! Valid for the whole process. Connections are short-lived, and both the daemon's passes and its lookups between
//! passes make them.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex};

use super::connection::lock;
use crate::git::RepoUrl;

/// The address that the last connection was redirected to, by the address as configured. Contended by connections that
/// are redirected at the same time, and by webhooks, for one lookup.
static MOVED: LazyLock<Mutex<BTreeMap<String, RepoUrl>>> = LazyLock::new(Mutex::default);

/// Returns the address that the last connection to `url` was redirected to.
#[must_use]
pub fn moved_to(url: &RepoUrl) -> Option<RepoUrl> {
    lock(&MOVED).get(&url.to_string()).cloned()
}

/// Remembers that `url` redirects to `to`, and reports it unless it is known.
pub(super) fn note(url: &RepoUrl, to: &RepoUrl) {
    let known = lock(&MOVED).insert(url.to_string(), to.clone());
    if known.as_ref() != Some(to) {
        tracing::warn!(
            name: "repository_moved",
            repository = %url,
            to = %to,
            "the repository has moved; following the redirect, update its address in the settings"
        );
    }
}

/// Forgets a redirect: `url` answered by itself.
pub(super) fn forget(url: &RepoUrl) {
    lock(&MOVED).remove(&url.to_string());
}
