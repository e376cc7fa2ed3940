//! Changes and compares applied trees. Reads and writes only the trees on the path to a change.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use git2::Repository;

use super::commit::Tip;
use crate::git;
use crate::git::pack::{Object, ObjectKind, id_of};
use crate::model::{
    Action, CommitId, DeploymentEffect, EntryKind, EnvironmentId, Format, ObjectId, Sent, SentNote, ToggleId,
    Tree, TreeEntry,
};
use crate::state::Error;
use crate::state::journal::{JournalEntry, JournalTrim};

/// Entries by name, folders with a trailing slash, which is the order of a Git tree.
type TreeEntries = BTreeMap<Vec<u8>, (u32, ObjectId)>;

/// Applies sorted `changes` to the tree `base`. Returns the id of the new tree and the new objects.
pub(crate) fn splice(
    repository: &Repository,
    base: Option<ObjectId>,
    changes: &[(ToggleId, RecordedChange)],
) -> Result<(ObjectId, Vec<Object>), Error> {
    let mut new = Vec::new();
    let mut root = entries(repository, base)?;
    for changes in changes.chunk_by(|(a, _), (b, _)| a.project() == b.project()) {
        let project = changes[0].0.project();
        let mut environments = folder(repository, &root, project)?;
        for changes in changes.chunk_by(|(a, _), (b, _)| a.environment_key() == b.environment_key()) {
            let environment = changes[0].0.environment_key();
            let mut toggles = folder(repository, &environments, environment)?;
            put_documents(&mut toggles, changes);
            put_folder(&mut environments, environment, &toggles, &mut new);
        }
        put_folder(&mut root, project, &environments, &mut new);
    }
    let root = write(&root, &mut new);
    Ok((root, new))
}

fn put_documents(toggles: &mut TreeEntries, changes: &[(ToggleId, RecordedChange)]) {
    let name = |id: &ToggleId, format: Format| [id.toggle(), ".", format.as_str()].concat().into_bytes();
    // The folder is new in a first pass.
    if !toggles.is_empty() {
        for (id, _) in changes {
            // The extension may have changed, and a toggle has only one document.
            for format in Format::ALL {
                toggles.remove(&name(id, format));
            }
        }
    }
    let documents = changes.iter().filter_map(|(id, change)| {
        let (format, object) = change.document?;
        Some((name(id, format), (TreeEntry::file(b"", object).mode, object)))
    });
    toggles.append(&mut documents.collect());
}

fn put_folder(parent: &mut TreeEntries, name: &str, content: &TreeEntries, new: &mut Vec<Object>) {
    let key = format!("{name}/").into_bytes();
    if content.is_empty() {
        // As in a work tree, a folder without documents does not exist.
        parent.remove(&key);
    } else {
        let id = write(content, new);
        parent.insert(key, (TreeEntry::folder(b"", id).mode, id));
    }
}

pub(super) fn folder(
    repository: &Repository,
    parent: &TreeEntries,
    name: &str,
) -> Result<TreeEntries, Error> {
    let folder = parent.get(format!("{name}/").as_bytes());
    entries(repository, folder.map(|(_, id)| *id))
}

fn entries(repository: &Repository, tree: Option<ObjectId>) -> Result<TreeEntries, Error> {
    let Some(tree) = tree else {
        return Ok(TreeEntries::new());
    };
    let tree = git::tree(repository, tree)?;
    // gitoggle writes two modes. Entries that another program wrote stay unchanged.
    let entries = tree.entries().map(|entry| match entry.kind() {
        EntryKind::Tree => ([entry.name, b"/"].concat(), (entry.mode, entry.id)),
        EntryKind::Blob | EntryKind::Other => (entry.name.to_vec(), (entry.mode, entry.id)),
    });
    Ok(entries.collect())
}

fn write(entries: &TreeEntries, new: &mut Vec<Object>) -> ObjectId {
    let tree = Tree::of(entries.iter().map(|(name, (mode, id))| TreeEntry {
        mode: *mode,
        name: name.strip_suffix(b"/").unwrap_or(name),
        id: *id,
    }));
    let object = Object::new(ObjectKind::Tree, tree.bytes().to_vec());
    let id = object.id;
    new.push(object);
    id
}

/// Reads the documents that the record does not have.
pub trait DocumentReader {
    type Error: std::error::Error + Send + Sync + 'static;

    /// Returns the content of `document`.
    fn read(&mut self, document: ObjectId) -> Result<Vec<u8>, Self::Error>;

    /// Returns the folder of the repository that many documents can be copied from.
    fn repository(&self) -> Option<&Path> {
        None
    }
}

impl<F, E> DocumentReader for F
where
    F: FnMut(ObjectId) -> Result<Vec<u8>, E>,
    E: std::error::Error + Send + Sync + 'static,
{
    type Error = E;

    fn read(&mut self, document: ObjectId) -> Result<Vec<u8>, E> {
        self(document)
    }
}

/// Fails: the repository has the document of a confirmed request since before the request.
pub(crate) fn unkept(object: ObjectId) -> Result<Vec<u8>, std::io::Error> {
    Err(std::io::Error::other(format!("document {object} was not kept")))
}

/// Returns the content of `object`, which must have that id.
pub(super) fn document(object: ObjectId, documents: &mut impl DocumentReader) -> Result<Vec<u8>, Error> {
    let found =
        documents.read(object).map_err(|source| Error::Document { object, source: Box::new(source) })?;
    // The source may be damaged, but the record must have exactly what was sent.
    match id_of(ObjectKind::Blob, &found) == object {
        true => Ok(found),
        false => Err(Error::WrongContent { object }),
    }
}

/// A change to the record without a request.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum AppliedEdit {
    /// The document is applied already: it was adopted, or has the same meaning as the recorded one.
    Put {
        id: ToggleId,
        /// The document's blob.
        object: ObjectId,
        /// The document's extension.
        format: Format,
        /// Why it is applied already.
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
    /// Returns the asserted first passes that have not ended after a commit on `tip`. The newest decision
    /// counts.
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
            // Without a document, a file that comes back is a create (src/plan/README.md, "Missing and
            // invalid documents").
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
