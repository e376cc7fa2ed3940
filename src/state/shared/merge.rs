//! Adds the unknown requests in a folder's journal to those listed at the ref.

use std::collections::BTreeMap;

use crate::model::{Sent, ToggleId};

/// The age of a journal.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum JournalAge {
    /// No other process has announced requests since.
    Current,
    /// Another process has taken over the ref since, with the requests in the journal on its list.
    Older,
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
