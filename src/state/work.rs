//! What one commit of the applied ref is about.

use std::collections::BTreeMap;

use super::ledger::{Cut, Entry};
use super::record::Why;
use super::tree::Put;
use crate::model::{Action, Format, ObjectId, Sent, ToggleId};

/// A change to what is recorded that needs no request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Record {
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

/// What one commit is about.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// What is put at each toggle's place.
    pub(crate) changes: BTreeMap<ToggleId, Put>,
    pub(crate) why: BTreeMap<ToggleId, Why>,
    /// Whether there is a commit even if nothing is put anywhere.
    pub(crate) seen: bool,
    /// What may leave the journal once it is recorded.
    pub(crate) cut: Cut,
}

impl Work {
    /// Adds a request that was confirmed.
    pub(crate) fn folded(&mut self, id: &ToggleId, entry: &Entry) {
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
        self.cut.folded.push(entry.number);
    }

    /// Adds what needs no request.
    pub(crate) fn recorded(&mut self, record: &Record) {
        let (id, put, why) = match record {
            Record::Put { id, object, format } => (id, Some((*format, *object)), Why::Recorded),
            Record::Remove { id } => {
                self.cut.forgotten.push(id.clone());
                (id, None, Why::Forgotten)
            }
            Record::Seen => {
                self.seen = true;
                return;
            }
        };
        self.changes.insert(id.clone(), put);
        self.why.insert(id.clone(), why);
    }
}
