//! Outcomes as one commit of the applied ref: what may be believed of the journal, and how it is written.

use std::collections::HashMap;

use super::error::Error;
use super::ledger::{Cut, Entry, Ledger};
use super::record::{self, APPLIED, Origin, Tip, Why};
use super::store::{PassHead, Store};
use super::tree;
use super::work::{Record, Work};
use crate::git::pack::{self, Kind, Object};
use crate::git::refs::{self, Moved};
use crate::model::{CommitId, ObjectId, ToggleId};

impl Store {
    /// Works out what is to be recorded.
    pub(super) fn work(&self, ledger: &Ledger, records: &[Record]) -> Result<Work, Error> {
        let mut work = Work::default();
        let mut bases = HashMap::new();
        for (id, entry) in ledger.settled() {
            if self.is_trusted(entry, &mut bases)? {
                work.folded(id, entry);
            } else {
                work.cut.doubtful.push(entry.number);
            }
        }
        for record in records {
            work.recorded(record);
        }
        Ok(work)
    }

    /// Returns whether what `entry` was built on is part of what is recorded now.
    fn is_trusted(&self, entry: &Entry, known: &mut HashMap<CommitId, bool>) -> Result<bool, Error> {
        let Some(base) = entry.base else { return Ok(true) };
        let Some(tip) = self.view.tip() else {
            return Ok(false);
        };
        if base == tip.commit {
            return Ok(true);
        }
        if let Some(trusted) = known.get(&base) {
            return Ok(*trusted);
        }
        let trusted = self.descends(tip.commit, base)?;
        known.insert(base, trusted);
        Ok(trusted)
    }

    /// Writes the commit and moves the ref, and returns what may leave the journal.
    pub(super) fn commit<E>(
        &mut self,
        head: &PassHead,
        work: Work,
        if_same: IfSame,
        mut documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
    ) -> Result<Cut, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let Work {
            changes,
            why,
            seen,
            cut,
        } = work;
        if changes.is_empty() && !seen {
            return Ok(cut);
        }
        let odb = self.repository.odb().map_err(self.broken())?;
        let before = self.view.tip().map(|tip| (tip.commit, tip.tree));
        let (root, mut objects) = tree::splice(&self.repository, before.map(|(_, tree)| tree), &changes)?;
        if !seen && if_same == IfSame::Nothing && before.is_some_and(|(_, tree)| tree == root) {
            return Ok(cut);
        }
        let wanted = changes.values().flatten().map(|(_, object)| *object);
        for object in pack::missing(&odb, wanted) {
            objects.push(Object::new(Kind::Blob, document(object, &mut documents)?));
        }
        let origin = Origin {
            revision: head.revision,
            base_url: &self.base_url,
            allowances: self.view.allowances(),
        };
        let toggles: Vec<(ToggleId, Why)> = why.into_iter().collect();
        let message = record::message(&record::subject(&origin, &toggles), &origin, &toggles);
        let parents: Vec<CommitId> = before.iter().map(|(commit, _)| *commit).collect();
        let commit = record::commit(root, &parents, head.now, &message);
        let id = CommitId(commit.id);
        objects.push(commit);
        pack::write(
            &odb,
            &self.repository.path().join("objects/pack"),
            &objects,
            &self.failpoints,
        )?;
        odb.refresh().map_err(self.broken())?;
        let expected = before.map(|(commit, _)| commit);
        match refs::move_ref(&self.repository, APPLIED, expected, id, &self.failpoints)? {
            Moved::Raced => return Err(Error::Moved(APPLIED.to_owned())),
            Moved::Done => {}
        }
        self.view.replace_tip(Some(Tip {
            commit: id,
            tree: root,
            base_url: self.base_url.clone(),
            revision: head.revision,
        }));
        self.unpublished = self.link.is_some();
        Ok(cut)
    }
}

/// What to do where everything is recorded already.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum IfSame {
    /// It was applied again, and the history says so.
    Commit,
    /// It was recorded before the process died.
    Nothing,
}

/// Returns the bytes of `object`, which must be the ones it stands for.
pub(super) fn document<E>(
    object: ObjectId,
    documents: &mut impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
) -> Result<Vec<u8>, Error>
where
    E: std::error::Error + Send + Sync + 'static,
{
    let bytes = documents(object).map_err(|source| Error::Document {
        object,
        source: Box::new(source),
    })?;
    match pack::id_of(Kind::Blob, &bytes) == object {
        true => Ok(bytes),
        false => Err(Error::WrongContent { object }),
    }
}
