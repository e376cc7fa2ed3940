//! Collects the changes of one commit of the applied ref.

use std::collections::{BTreeMap, BTreeSet};

use super::commit::Tip;
use crate::model::{
    Action, CommitId, DeploymentEffect, EnvironmentId, Format, ObjectId, Sent, SentNote, ToggleId,
};
use crate::state::journal::index::{JournalEntry, JournalTrim};

/// A change to the record without a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AppliedEdit {
    /// The document counts as applied: it was adopted, or has the same meaning as the recorded one.
    Put {
        id: ToggleId,
        /// The document's blob.
        object: ObjectId,
        /// The document's extension.
        format: Format,
        /// Why it counts as applied.
        effect: DeploymentEffect,
    },
    /// Removes the document, and an unknown outcome.
    Remove { id: ToggleId },
    /// Ends the asserted first pass of an environment.
    EndFirstPass { environment: EnvironmentId },
    /// Records only the revision, for other processes with the same shared state.
    Seen,
}

/// What a commit records of one toggle.
#[derive(Debug)]
pub(crate) struct RecordedChange {
    /// The new document: its extension and its blob, or none.
    pub(crate) document: Option<(Format, ObjectId)>,
    pub(crate) effect: DeploymentEffect,
}

#[derive(Debug, Default)]
pub(crate) struct CommitEdits {
    /// The changes; the last one of a toggle counts.
    pub(crate) changes: Vec<(ToggleId, RecordedChange)>,
    /// The toggles whose outcome this commit records in the tree.
    pub(crate) outcomes: BTreeSet<ToggleId>,
    /// The asserted first passes that the confirmed requests belong to, by environment.
    pub(crate) asserted: BTreeMap<EnvironmentId, CommitId>,
    /// The environments whose first pass ends.
    pub(crate) ended: BTreeSet<EnvironmentId>,
    /// Whether to record the revision.
    seen: bool,
    /// The entries that may leave the journal after the commit.
    pub(crate) trim: JournalTrim,
}

impl CommitEdits {
    /// Returns the asserted first passes that have not ended after a commit on `tip`. The newest decision counts.
    pub(crate) fn unfinished(&self, tip: Option<&Tip>) -> BTreeMap<EnvironmentId, CommitId> {
        let earlier = tip.into_iter().flat_map(|tip| &tip.asserted);
        let all = earlier.chain(&self.asserted);
        let unfinished = all.filter(|(environment, _)| !self.ended.contains(environment));
        unfinished.map(|(environment, revision)| (environment.clone(), *revision)).collect()
    }

    /// Returns whether to commit on `tip` even without changes.
    pub(crate) fn is_due(&self, tip: Option<&Tip>) -> bool {
        let ends = |tip: &Tip| tip.asserted.keys().any(|environment| self.ended.contains(environment));
        self.seen || tip.is_some_and(ends)
    }

    /// Adds a confirmed request.
    pub(crate) fn confirmed(&mut self, id: &ToggleId, entry: &JournalEntry) {
        let Sent { action, object, format, note, asserted, .. } = &entry.sent;
        let document = match action {
            // Without a document, a file that comes back is a create (DESIGN, section 4, *Orphans*).
            Action::Disable => None,
            Action::Adopt | Action::Create | Action::Update => Some((*format, *object)),
        };
        let effect = match (note, action) {
            (Some(SentNote::Converged), Action::Disable) => DeploymentEffect::Forget,
            (Some(SentNote::Converged), _) => DeploymentEffect::Converge,
            (Some(SentNote::Overwrites), Action::Create | Action::Update) => DeploymentEffect::Overwrite,
            _ => DeploymentEffect::of_action(*action),
        };
        self.changes.push((id.clone(), RecordedChange { document, effect }));
        if let Some(revision) = asserted {
            self.asserted.insert(id.environment(), *revision);
        }
        self.outcomes.insert(id.clone());
        self.trim.recorded.push(entry.number);
    }

    pub(crate) fn add(&mut self, edit: &AppliedEdit) {
        let (id, document, effect) = match edit {
            AppliedEdit::Put { id, object, format, effect } => {
                // What is adopted is not unknown anymore. Other edits leave a newer request on the list.
                match effect {
                    DeploymentEffect::Adopt => self.outcomes.insert(id.clone()),
                    _ => self.outcomes.remove(id),
                };
                (id, Some((*format, *object)), *effect)
            }
            AppliedEdit::Remove { id } => {
                self.outcomes.insert(id.clone());
                self.trim.forgotten.push(id.clone());
                (id, None, DeploymentEffect::Forget)
            }
            AppliedEdit::EndFirstPass { environment } => {
                self.ended.insert(environment.clone());
                return;
            }
            AppliedEdit::Seen => {
                self.seen = true;
                return;
            }
        };
        self.changes.push((id.clone(), RecordedChange { document, effect }));
    }
}
