//! Adds the unknown requests in a folder's journal to those listed at the ref.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Sent, ToggleId};
use crate::state::journal::index::JournalIndex;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JournalAge {
    /// No other process has announced requests since.
    Current,
    /// Another process has taken over the ref since, with the requests in the journal on its list.
    Older,
}

/// Removes the requests that the announcement `mark` listed and that never started: its process, with the journal `index`,
/// has no intent of them, and they replaced no other unknown request.
pub(crate) fn unlist_unstarted(
    listed: &mut BTreeMap<ToggleId, Sent>,
    mark: Option<&str>,
    index: &JournalIndex,
) {
    let started: BTreeSet<&ToggleId> = index.entries().map(|(id, _)| id).collect();
    listed.retain(|id, sent| {
        sent.announced.as_deref() != mark
            || !sent.earlier.is_empty()
            || mark.is_none()
            || started.contains(id)
    });
}

/// Adds the `journaled` requests, whose outcome is unknown, to the `listed` ones.
pub(crate) fn merge(
    listed: &mut BTreeMap<ToggleId, Sent>,
    journaled: BTreeMap<ToggleId, Sent>,
    age: JournalAge,
) {
    for (toggle, mut sent) in journaled {
        match (age, listed.get_mut(&toggle)) {
            (JournalAge::Current, Some(other)) => sent.remember(other),
            (JournalAge::Current, None) => {}
            (JournalAge::Older, Some(newer)) => {
                newer.remember(&sent);
                continue;
            }
            // A toggle leaves the list only in the commit that records its outcome.
            (JournalAge::Older, None) => sent.overtaken = true,
        }
        listed.insert(toggle, sent);
    }
}
