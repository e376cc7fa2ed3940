//! Records applied documents: each commit of `refs/gitoggle/applied` in `state.git` has a tree of exactly the
//! applied documents.

mod changes;
pub(crate) mod commit;
mod history;
#[cfg(test)]
mod history_tests;
mod revisions;
pub(crate) mod tree;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};

use git2::Repository;

use super::Error;
use super::journal::{JournalEntry, JournalIndex, JournalTrim};
use crate::git::pack::{self, Object, ObjectKind, PackMerge, PackWriter};
use crate::git::refs::{self, Moved};
use crate::git::{self, Failpoints, Libgit2Error};
use crate::model::{Allowance, CommitId, DeploymentEffect, ObjectId, Thresholds, ToggleId};
use commit::{APPLIED, CommitOrigin};
use tree::document;
use tree::{CommitEdits, RecordedChange};

pub use commit::Tip;
pub use history::{AppliedHistory, DeploymentQuery, DocumentPair, RecordsSince};
pub use revisions::{AppliedRevision, Revisions};
pub use tree::AppliedEdit;
pub use tree::DocumentReader;
pub(crate) use tree::unkept;

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PassHead {
    pub revision: CommitId,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
}

/// The commit of unchanged trees.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum SkipIfUnchanged {
    /// The history shows that a document was applied again.
    No,
    /// The process died after it recorded the requests.
    Yes,
}

/// The repository of the applied documents, open for writing.
pub(crate) struct AppliedRepository {
    path: PathBuf,
    repository: Repository,
    base_url: String,
    tip: Option<Tip>,
    /// The subject and the signer of the source commit that the current pass applies.
    described: Option<(CommitId, String, Option<String>)>,
    /// More packs are merged.
    most_packs: usize,
    thresholds: Thresholds,
    failpoints: Failpoints,
}

impl AppliedRepository {
    pub(crate) fn open(
        dir: &Path,
        base_url: String,
        thresholds: Thresholds,
        failpoints: Failpoints,
    ) -> Result<Self, Error> {
        let path = dir.join("state.git");
        let repository = git::open_or_create(&path, &failpoints)?;
        Ok(Self {
            tip: Tip::of(&repository)?,
            path,
            repository,
            base_url,
            described: None,
            most_packs: thresholds.most_packs,
            thresholds,
            failpoints,
        })
    }

    /// Merges packs if there are too many. After a merge that failed, there may be twice as many before the next
    /// one. Returns whether packs were merged.
    pub(crate) fn merge_packs(&mut self) -> Result<bool, Error> {
        let merge = pack::repack(&self.repository, self.most_packs)?;
        self.most_packs = match merge {
            PackMerge::None => self.most_packs,
            PackMerge::Merged => self.thresholds.most_packs,
            PackMerge::Failed(packs) => packs.saturating_mul(2),
        };
        Ok(merge == PackMerge::Merged)
    }

    /// Closes all packs.
    pub(crate) fn reopen(&mut self) -> Result<(), Error> {
        // libgit2 keeps the files and memory of packs, merged ones too, for as long as a handle lives that
        // used them.
        self.repository = git::open_bare(&self.path).map_err(Error::repository(&self.path))?;
        Ok(())
    }

    /// Returns whether the ref is where this process left it. One that cannot be read is reported by the next use.
    pub(crate) fn is_in_place(&self) -> bool {
        let found = refs::look_up(&self.repository, APPLIED);
        self.path.exists() && found.map_or(true, |found| found == self.tip().map(|tip| tip.commit))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn repository(&self) -> &Repository {
        &self.repository
    }

    pub(crate) fn base_url(&self) -> &str {
        &self.base_url
    }

    pub(crate) fn tip(&self) -> Option<&Tip> {
        self.tip.as_ref()
    }

    /// Adds the subject and the signer of `revision` to the commits of that revision.
    pub(crate) fn describe(&mut self, revision: CommitId, subject: &str, signer: Option<&str>) {
        self.described = Some((revision, subject.to_owned(), signer.map(str::to_owned)));
    }

    /// Moves the ref to the tip of the shared state.
    pub(crate) fn adopt(&mut self, tip: Option<&Tip>) -> Result<(), Error> {
        if self.tip.as_ref() == tip {
            return Ok(());
        }
        match tip {
            Some(new) => self.move_to(new.commit)?,
            None => {
                let found = self.repository.find_reference(APPLIED);
                found.and_then(|mut reference| reference.delete()).map_err(self.broken())?;
            }
        }
        self.tip = tip.cloned();
        Ok(())
    }

    fn move_to(&self, new: CommitId) -> Result<(), Error> {
        // Compare-and-set detects programs that ignore the lock.
        let expected = self.tip.as_ref().map(|tip| tip.commit);
        match refs::move_ref(&self.repository, APPLIED, expected, new, &self.failpoints)? {
            Moved::Done => Ok(()),
            Moved::Raced => Err(Error::Moved(APPLIED.to_owned())),
        }
    }

    /// Writes missing documents as one synced pack.
    pub(crate) fn keep(
        &self,
        objects: impl Iterator<Item = ObjectId>,
        documents: impl DocumentReader,
    ) -> Result<(), Error> {
        self.write_pack(&[], objects, documents)
    }

    /// Returns the changes for the confirmed requests of `index` that are not in `committed`, and for
    /// `edits`.
    pub(crate) fn edits(
        &self,
        index: &JournalIndex,
        committed: &JournalTrim,
        edits: &[AppliedEdit],
    ) -> Result<CommitEdits, Error> {
        let mut all = CommitEdits::default();
        let mut bases = HashMap::new();
        for (id, entry) in index.settled() {
            // The tree has it already; it stays in the journal until the shared ref has it.
            if committed.recorded.contains(&entry.number) {
                continue;
            }
            if self.is_trusted(entry, &mut bases)? {
                all.confirmed(id, entry);
            } else {
                // An outcome whose base is not in the history is unknown (src/state/README.md,
                // "Journal").
                all.trim.doubtful.push(entry.number);
            }
        }
        for edit in edits {
            all.add(edit);
        }
        Ok(all)
    }

    /// Returns whether the base of `entry` is part of the recorded history.
    fn is_trusted(&self, entry: &JournalEntry, known: &mut HashMap<CommitId, bool>) -> Result<bool, Error> {
        let Some(base) = entry.base else { return Ok(true) };
        let Some(tip) = &self.tip else { return Ok(false) };
        if base == tip.commit {
            return Ok(true);
        }
        if let Some(trusted) = known.get(&base) {
            return Ok(*trusted);
        }
        let trusted = self.descends_from(base)?;
        known.insert(base, trusted);
        Ok(trusted)
    }

    /// Returns whether the tip is `ancestor` or one of its descendants.
    pub(crate) fn descends_from(&self, ancestor: CommitId) -> Result<bool, Error> {
        match &self.tip {
            None => Ok(false),
            Some(tip) if tip.commit == ancestor => Ok(true),
            Some(tip) => Ok(git::commit::descends(&self.repository, tip.commit, ancestor)?),
        }
    }

    /// Returns whether `tip` continues the record of this folder.
    pub(crate) fn is_continued_by(&self, tip: Option<&Tip>) -> Result<bool, Error> {
        match (&self.tip, tip) {
            (None, _) => Ok(true),
            (Some(_), None) => Ok(false),
            (Some(own), Some(tip)) if own.commit == tip.commit => Ok(true),
            (Some(own), Some(tip)) => Ok(git::commit::descends(&self.repository, tip.commit, own.commit)?),
        }
    }

    /// Writes the commit and moves the ref. Returns the entries that may leave the journal.
    pub(crate) fn commit(
        &mut self,
        head: &PassHead,
        edits: CommitEdits,
        allowances: &[Allowance],
        skip: SkipIfUnchanged,
        documents: impl DocumentReader,
    ) -> Result<JournalTrim, Error> {
        let asserted = edits.unfinished(self.tip.as_ref());
        let is_due = edits.is_due(self.tip.as_ref());
        let CommitEdits { changes, trim, .. } = edits;
        // The last edit of a toggle counts. A map that is built at once from sorted edits compares each only
        // once.
        let changes: BTreeMap<ToggleId, RecordedChange> = changes.into_iter().collect();
        let changes: Vec<(ToggleId, RecordedChange)> = changes.into_iter().collect();
        if changes.is_empty() && !is_due {
            return Ok(trim);
        }
        let before = self.tip.as_ref().map(|tip| (tip.commit, tip.tree));
        let (root, mut objects) = tree::splice(&self.repository, before.map(|(_, tree)| tree), &changes)?;
        if !is_due && skip == SkipIfUnchanged::Yes && before.is_some_and(|(_, tree)| tree == root) {
            return Ok(trim);
        }
        let described = self.described.as_ref().filter(|(revision, ..)| *revision == head.revision);
        let origin = CommitOrigin {
            revision: Some(head.revision),
            revision_subject: described.map(|(_, subject, _)| subject.as_str()),
            signer: described.and_then(|(.., signer)| signer.as_deref()),
            base_url: &self.base_url,
            allowances,
            asserted: &asserted,
        };
        let toggles = changes.iter().map(|(id, change)| (id.clone(), change.effect));
        let toggles: Vec<(ToggleId, DeploymentEffect)> = toggles.collect();
        let message = commit::message(&commit::subject(&origin, &toggles), &origin, &toggles);
        let parents: Vec<CommitId> = before.iter().map(|(commit, _)| *commit).collect();
        let commit = commit::commit(root, &parents, head.now, &message);
        let id = CommitId(commit.id);
        objects.push(commit);
        // The objects are durable before the ref points to them.
        let documents_of = |(_, change): &(ToggleId, RecordedChange)| change.document;
        let wanted = changes.iter().filter_map(documents_of).map(|(_, object)| object);
        self.write_pack(&objects, wanted, documents)?;
        self.move_to(id)?;
        self.tip = Some(Tip {
            commit: id,
            tree: root,
            base_url: self.base_url.clone(),
            revision: head.revision,
            asserted,
        });
        Ok(trim)
    }

    /// Writes objects as one synced pack.
    pub(crate) fn write(&self, objects: &[Object]) -> Result<(), Error> {
        self.write_pack(objects, std::iter::empty(), unkept)
    }

    /// Writes the missing ones of `objects` and `documents` as one synced pack.
    fn write_pack(
        &self,
        objects: &[Object],
        documents: impl Iterator<Item = ObjectId>,
        mut reader: impl DocumentReader,
    ) -> Result<(), Error> {
        let odb = self.repository.odb().map_err(self.broken())?;
        let objects: BTreeMap<ObjectId, &Object> = objects.iter().map(|object| (object.id, object)).collect();
        let given = pack::missing(&odb, objects.keys().copied());
        let documents: BTreeSet<ObjectId> = documents.filter(|id| !objects.contains_key(id)).collect();
        // A checkpoint and a recovery have no source: they rely on what an earlier call has kept.
        let mut documents = pack::missing(&odb, documents);
        if documents.len() > self.thresholds.few_documents
            && let Some(source) = reader.repository()
        {
            pack::copy(source, self.repository.path(), &documents)?;
            odb.refresh().map_err(self.broken())?;
            documents = pack::missing(&odb, documents);
        }
        let count = given.len() + documents.len();
        if count == 0 {
            return Ok(());
        }
        // A pack needs the same few syncs for any number of documents; loose objects need two each.
        let folder = self.repository.path().join("objects/pack");
        let mut pack = PackWriter::new(&folder, count, &self.failpoints)?;
        for id in documents {
            pack.add(ObjectKind::Blob, &document(id, &mut reader)?)?;
        }
        for object in given.iter().map(|id| objects[id]) {
            pack.add(object.kind, &object.bytes)?;
        }
        pack.finish()?;
        odb.refresh().map_err(self.broken())
    }

    /// Refuses a tip that belongs to another service.
    pub(crate) fn check_base_url(&self) -> Result<(), Error> {
        match &self.tip {
            None => Ok(()),
            Some(tip) => Error::check_base_url(&tip.base_url, &self.base_url),
        }
    }

    pub(crate) fn broken<E: Into<Libgit2Error>>(&self) -> impl FnOnce(E) -> Error + use<E> {
        Error::repository(self.repository.path())
    }
}
