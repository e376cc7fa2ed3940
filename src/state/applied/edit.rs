//! Collects the changes of one commit of the applied ref.

use std::collections::BTreeMap;

use super::commit::EditReason;
use super::tree::DocumentEntry;
use crate::model::{Action, Format, ObjectId, Sent, ToggleId};
use crate::state::journal::index::{JournalEntry, JournalTrim};

/// A change to the record without a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AppliedEdit {
    /// The document counts as applied: it was adopted, or has the same meaning as the recorded one.
    Put {
        /// The toggle.
        id: ToggleId,
        /// The document's blob.
        object: ObjectId,
        /// The document's extension.
        format: Format,
    },
    /// Removes the document, and an unknown outcome.
    Remove {
        /// The toggle.
        id: ToggleId,
    },
    /// Records only the revision, for other processes with the same shared state.
    Seen,
}

/// The changes of one commit.
#[derive(Debug, Default)]
pub(crate) struct CommitEdits {
    /// The new document of each changed toggle.
    pub(crate) changes: BTreeMap<ToggleId, DocumentEntry>,
    pub(crate) reasons: BTreeMap<ToggleId, EditReason>,
    /// Whether to commit even without changes.
    pub(crate) seen: bool,
    /// The entries that may leave the journal after the commit.
    pub(crate) trim: JournalTrim,
}

impl CommitEdits {
    /// Returns the toggles whose outcome this commit records in the tree.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &ToggleId> {
        let outcomes = self
            .reasons
            .iter()
            .filter(|(_, reason)| **reason != EditReason::Recorded);
        outcomes.map(|(id, _)| id)
    }

    /// Adds a confirmed request.
    pub(crate) fn confirmed(&mut self, id: &ToggleId, entry: &JournalEntry) {
        let Sent {
            action,
            object,
            format,
            ..
        } = &entry.sent;
        let put = match action {
            // Without a document, a file that comes back is a create (DESIGN, section 4, *Orphans*).
            Action::Disable => None,
            Action::Adopt | Action::Create | Action::Update => Some((*format, *object)),
        };
        self.changes.insert(id.clone(), put);
        self.reasons.insert(id.clone(), EditReason::Sent(*action));
        self.trim.recorded.push(entry.number);
    }

    pub(crate) fn add(&mut self, edit: &AppliedEdit) {
        let (id, put, reason) = match edit {
            AppliedEdit::Put { id, object, format } => (id, Some((*format, *object)), EditReason::Recorded),
            AppliedEdit::Remove { id } => {
                self.trim.forgotten.push(id.clone());
                (id, None, EditReason::Forgotten)
            }
            AppliedEdit::Seen => {
                self.seen = true;
                return;
            }
        };
        self.changes.insert(id.clone(), put);
        self.reasons.insert(id.clone(), reason);
    }
}
