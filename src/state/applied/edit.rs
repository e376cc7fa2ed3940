//! The changes of one commit of the applied ref.

use std::collections::BTreeMap;

use super::commit::Why;
use super::tree::DocumentEntry;
use crate::model::{Action, Format, ObjectId, Sent, ToggleId};
use crate::state::journal::index::{Entry, JournalTrim};

/// A change to what is recorded that needs no request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AppliedEdit {
    /// The document counts as applied: it was adopted, or means the same as the one before.
    Put {
        /// The toggle.
        id: ToggleId,
        /// The document's blob.
        object: ObjectId,
        /// The document's extension.
        format: Format,
    },
    /// Nothing is applied any more, and nothing is unknown.
    Remove {
        /// The toggle.
        id: ToggleId,
    },
    /// Nothing else: the revision was dealt with, and others who share the state have to know.
    Seen,
}

/// The changes of one commit.
#[derive(Debug, Default)]
pub(crate) struct CommitEdits {
    /// What is put at each toggle's place.
    pub(crate) changes: BTreeMap<ToggleId, DocumentEntry>,
    pub(crate) why: BTreeMap<ToggleId, Why>,
    /// Whether there is a commit even if nothing is put anywhere.
    pub(crate) seen: bool,
    /// What may leave the journal once it is recorded.
    pub(crate) trim: JournalTrim,
}

impl CommitEdits {
    /// Returns the toggles whose outcome is in the tree with this commit.
    pub(crate) fn outcomes(&self) -> impl Iterator<Item = &ToggleId> {
        let outcomes = self.why.iter().filter(|(_, why)| **why != Why::Recorded);
        outcomes.map(|(id, _)| id)
    }

    /// Adds a request that was confirmed.
    pub(crate) fn confirmed(&mut self, id: &ToggleId, entry: &Entry) {
        let Sent {
            action,
            object,
            format,
            ..
        } = &entry.sent;
        let put = match action {
            Action::Disable => None,
            Action::Create | Action::Update => Some((*format, *object)),
        };
        self.changes.insert(id.clone(), put);
        self.why.insert(id.clone(), Why::Sent(*action));
        self.trim.recorded.push(entry.number);
    }

    /// Adds what needs no request.
    pub(crate) fn add(&mut self, edit: &AppliedEdit) {
        let (id, put, why) = match edit {
            AppliedEdit::Put { id, object, format } => (id, Some((*format, *object)), Why::Recorded),
            AppliedEdit::Remove { id } => {
                self.trim.forgotten.push(id.clone());
                (id, None, Why::Forgotten)
            }
            AppliedEdit::Seen => {
                self.seen = true;
                return;
            }
        };
        self.changes.insert(id.clone(), put);
        self.why.insert(id.clone(), why);
    }
}
