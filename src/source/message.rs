//! Reads the messages of commits, and searches them for trailers.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

use super::error::Error;
use super::reader::Reader;
use super::{SourceConfig, resolve};
use crate::git::{commit, history};
use crate::model::{Commit, CommitId};

/// Reads each commit once.
pub(super) struct Messages<'a> {
    reader: &'a Reader,
    known: BTreeMap<CommitId, Arc<Commit>>,
}

impl<'a> Messages<'a> {
    pub(super) const fn new(reader: &'a Reader) -> Self {
        let known = BTreeMap::new();
        Self { reader, known }
    }

    pub(super) fn read(&mut self, id: CommitId) -> Result<Arc<Commit>, Error> {
        let found = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Arc::new(self.reader.commit(id)?)),
        };
        Ok(Arc::clone(found))
    }
}

/// Returns the subjects of those commits that the source, or the clone of a URL, has. Contacts no host, and writes nothing.
pub fn subjects(
    source: &SourceConfig,
    commits: impl Iterator<Item = CommitId>,
) -> BTreeMap<CommitId, String> {
    let clone = source.cache.as_deref();
    let path = source.location.local_path().or(clone);
    let Some(repository) = path.and_then(|path| resolve::open(path).ok()) else {
        return BTreeMap::new();
    };
    let subject = |id: CommitId| {
        let found = commit(&repository, id).ok()?;
        Some((id, found.subject().to_owned()))
    };
    commits.filter_map(subject).collect()
}

/// Returns whether any commit in the history of `start` has the trailer `key`.
pub(super) fn any_has_trailer(reader: &Reader, start: CommitId, key: &str) -> Result<bool, Error> {
    for id in history::commits(reader.repository(), &[start], &[])? {
        if !reader.commit(id?)?.trailers(key).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
