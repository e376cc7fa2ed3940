//! The source at one commit, with its history.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::history::{FoundCommit, last_changes, last_commits};
use super::history_end::HistoryEnd;
use super::reader::{Reader, ReaderCache};
use super::revisions::Resolved;
use super::{Error, Parents, SourceConfig, revisions, search};
use crate::git::{CommitNode, authored, commit};
use crate::model::{
    Attribution, AuthoredCommit, Commit, CommitId, EntryKind, EnvironmentId, HistoryEvidence, LastChange,
    ObjectId, Override, Trees,
};

/// One commit of the source and its history. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Snapshot {
    reference: String,
    commit: Commit,
    root: String,
    root_tree: ObjectId,
    parents: Parents,
    is_shallow: bool,
    cache: Arc<ReaderCache>,
}

/// The relation of another commit to a snapshot's commit.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Relation {
    /// The snapshot's commit is an ancestor of the other one.
    Behind,
    /// The other commit is an ancestor of the snapshot's.
    Descends,
    /// Neither is an ancestor of the other, and they have a common ancestor.
    Diverged,
    /// Unknown: the other commit is not in this repository, and no host sent it.
    Missing,
    /// Both are the same commit.
    Same,
    /// Unknown, because the history of the snapshot ends before the other commit.
    Unclear,
    /// They have no common ancestor.
    Unrelated,
}

impl Snapshot {
    /// Returns which parents of a merge its history has.
    pub fn parents(&self) -> Parents {
        self.parents
    }

    /// Takes the snapshot of a commit, or of the top tree `merged` that merging the commit gives.
    pub(super) fn take(
        cache: ReaderCache,
        resolved: Resolved,
        root: &str,
        parents: Parents,
        merged: Option<ObjectId>,
    ) -> Result<Self, Error> {
        let cache = Arc::new(cache);
        let reader = Reader::open(Arc::clone(&cache))?;
        let id = resolved.commit;
        let mut node = reader.node(id)?;
        node.tree = merged.unwrap_or(node.tree);
        let root = components(root).ok_or_else(|| no_root(root, id))?;
        let root_tree = root_tree(&reader, &node, &root)?;
        Ok(Self {
            reference: resolved.reference,
            commit: reader.commit(id)?,
            root,
            root_tree,
            parents,
            is_shallow: reader.repository().is_shallow(),
            cache,
        })
    }

    pub(crate) const fn revision(&self) -> CommitId {
        self.commit.id
    }

    /// Returns the ref: its full name, a commit id, or `HEAD (detached)`.
    pub(crate) fn reference(&self) -> &str {
        &self.reference
    }

    /// Returns the tree of the root folder at another commit; `None` if the commit has no such folder.
    pub(crate) fn root_tree_at(&self, other: CommitId) -> Result<Option<ObjectId>, Error> {
        self.query(|reader, _| match root_tree(reader, &reader.node(other)?, &self.root) {
            Err(Error::NoRoot { .. } | Error::RootNotFolder { .. }) => Ok(None),
            found => found.map(Some),
        })
    }

    /// As [`Snapshot::root_tree_at`], and `None` if the clone does not have the commit.
    pub(crate) fn known_root_tree(&self, other: CommitId) -> Result<Option<ObjectId>, Error> {
        match self.root_tree_at(other) {
            Err(Error::MissingObject(_) | Error::PartialClone(_)) => Ok(None),
            found => found,
        }
    }

    pub(crate) const fn root_tree(&self) -> ObjectId {
        self.root_tree
    }

    pub(crate) const fn commit(&self) -> &Commit {
        &self.commit
    }

    /// Returns whether the clone is shallow, so that [`Snapshot::last_commits`] may return guesses.
    pub(crate) const fn is_shallow(&self) -> bool {
        self.is_shallow
    }

    /// Returns whether part of the history is known to be missing: the clone is shallow, or lacks the tree of
    /// a parent.
    pub(crate) fn is_cut(&self) -> bool {
        self.is_shallow() || self.reader().is_ok_and(|reader| search::lacks_trees(&reader, self.revision()))
    }

    /// Returns whether [`Snapshot::last_commits`] may have to guess: the clone is shallow or partial.
    pub(crate) fn may_guess(&self) -> Result<bool, Error> {
        Ok(self.is_shallow() || self.reader()?.is_partial())
    }

    /// Returns whether any commit in the history has the trailer `key`.
    pub(crate) fn has_trailer(&self, key: &str) -> Result<bool, Error> {
        self.query(|reader, start| any_has_trailer(reader, start, key))
    }

    /// Returns the bytes of the commit, which its signature covers.
    pub(crate) fn raw_commit(&self) -> Result<Vec<u8>, Error> {
        self.query(Reader::raw_commit)
    }

    /// Opens the repository for reading. Each thread needs its own reader.
    ///
    /// # Errors
    /// [`Error::Vanished`] if the repository was removed.
    pub fn reader(&self) -> Result<Reader, Error> {
        Reader::open(Arc::clone(&self.cache))
    }

    /// Runs `read`, and explains the errors of libgit2, which reads the history itself.
    fn query<T>(&self, read: impl FnOnce(&Reader, CommitId) -> Result<T, Error>) -> Result<T, Error> {
        let reader = self.reader()?;
        read(&reader, self.revision()).map_err(|error| reader.explain(error))
    }

    /// Returns for each of `paths` (relative to the root) the newest commit that changed its meaning. This is
    /// the commit that `git log -1 REVISION -- path` names, unless `is_same` accepts the version before it,
    /// too. `is_same` compares a version of a path with its current one.
    ///
    /// A deleted path has the commit that deleted it. A path that never existed is not in the result. If the
    /// history ends before the commit, the result is a guess: the oldest commit that touched the path, or
    /// this snapshot's own.
    pub fn last_commits(
        &self,
        paths: &BTreeSet<String>,
        mut is_same: impl FnMut(&str, ObjectId) -> Result<bool, Error>,
    ) -> Result<BTreeMap<String, Attribution>, Error> {
        let full: Vec<String> = paths.iter().map(|path| self.full(path)).collect();
        let full: Vec<&str> = full.iter().map(String::as_str).collect();
        let names: Vec<&String> = paths.iter().collect();
        let mut is_same = |number: usize, version| is_same(names[number], version);
        self.query(|reader, start| {
            let found = last_commits(reader, start, &full, self.parents, &mut is_same)?;
            let mut messages = Messages::new(reader);
            let head = Arc::new(self.commit.clone());
            let mut answer = BTreeMap::new();
            for (path, found) in paths.iter().zip(found) {
                let attribution = match found {
                    None => continue,
                    Some(FoundCommit::Commit(id)) => Attribution::Known(messages.read(id)?),
                    Some(FoundCommit::Cut(Some(id))) => Attribution::Guessed(messages.read(id)?),
                    // HEAD's message stands in for a missing history (src/source/README.md, "Which commit").
                    Some(FoundCommit::Cut(None)) => Attribution::Guessed(Arc::clone(&head)),
                };
                answer.insert(path.clone(), attribution);
            }
            Ok(answer)
        })
    }

    /// Returns for each of `paths` (relative to the top) when the last change of its meaning reached this
    /// branch, and who made it. `is_same` compares a version of a path, by number, with its current one. A
    /// path that never existed has none.
    pub(crate) fn last_changes(
        &self,
        paths: &[&str],
        mut is_same: impl FnMut(usize, ObjectId) -> Result<bool, Error>,
    ) -> Result<Vec<Option<LastChange>>, Error> {
        self.query(|reader, start| {
            let mut commits = BTreeMap::new();
            let mut read = |id: CommitId| -> Result<Arc<AuthoredCommit>, Error> {
                Ok(match commits.entry(id) {
                    Entry::Occupied(known) => Arc::clone(known.get()),
                    Entry::Vacant(new) => {
                        Arc::clone(new.insert(Arc::new(authored(reader.repository(), id)?)))
                    }
                })
            };
            let found = last_changes(reader, start, paths, &mut is_same)?.into_iter();
            found
                .map(|found| {
                    let Some(found) = found else { return Ok(None) };
                    let at = read(found.reached)?.commit.committed_at;
                    Ok(Some(LastChange { at, commit: found.by.map(&mut read).transpose()? }))
                })
                .collect()
        })
    }

    /// Returns the file at `path` (relative to the top).
    pub(crate) fn top_file(&self, path: &str) -> Result<Option<ObjectId>, Error> {
        self.query(|reader, start| search::file_at(reader, start, path))
    }

    /// Returns the newest commit that removed the file at `path` (relative to the root). It may be a merge
    /// that [`Snapshot::last_commits`] misses.
    pub(crate) fn removal(&self, path: &str) -> Result<Option<Commit>, Error> {
        self.query(|reader, start| {
            let found = search::removal(reader, start, &self.full(path), self.parents)?;
            found.map(|id| reader.commit(id)).transpose()
        })
    }

    /// Returns whether `object`, or any file if none is given, was at `path` beside the file at `removed` in one of
    /// the `recorded` revisions.
    /// If none of them is known here: already before that file was removed, and false if no commit is known to
    /// have removed it. Both paths are relative to the root.
    pub(crate) fn was_beside(
        &self,
        removed: &str,
        path: &str,
        object: Option<ObjectId>,
        recorded: &[CommitId],
    ) -> Result<bool, Error> {
        self.query(|reader, start| {
            let (removed, path) = (self.full(removed), self.full(path));
            let known: Vec<CommitId> =
                recorded.iter().copied().filter(|commit| reader.node(*commit).is_ok()).collect();
            let before = match search::file_at(reader, start, &removed)? {
                _ if !known.is_empty() => known,
                // No commit has removed it yet.
                Some(_) => vec![start],
                None => match search::removal(reader, start, &removed, self.parents)? {
                    Some(commit) => reader.node(commit)?.parents(self.parents).to_vec(),
                    None => return Ok(false),
                },
            };
            for commit in before {
                let found = search::file_at(reader, commit, &path)?;
                let is_there = found.is_some_and(|found| object.is_none_or(|object| found == object));
                if is_there && search::file_at(reader, commit, &removed)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        })
    }

    /// Returns the blob at `path` (relative to the root).
    pub fn file_at(&self, path: &str) -> Result<Option<ObjectId>, Error> {
        self.query(|reader, start| search::file_at(reader, start, &self.full(path)))
    }

    /// Searches the history for a commit with `object` at `path`, which is relative to the root.
    pub(crate) fn evidence(&self, path: &str, object: ObjectId) -> Result<HistoryEvidence, Error> {
        self.query(|reader, start| search::evidence(reader, start, &self.full(path), object))
    }

    /// Returns whether `since`, or a commit between it and this one, may have other documents under the root
    /// than this one. Compares only the folders that may contain documents.
    pub(crate) fn differed_since(&self, since: CommitId) -> Result<bool, Error> {
        self.query(|reader, start| search::differed_since(reader, start, since, &self.root))
    }

    /// Returns the history back to all of `ends`. Goes further back if `ends` are on branches that have their
    /// common ancestor there.
    pub(crate) fn history_since(&self, ends: &BTreeSet<CommitId>) -> Result<HistoryEnd, Error> {
        self.query(|reader, start| Ok(HistoryEnd::read(reader.repository(), start, ends)?))
    }

    /// Returns for each of `paths` (relative to the root, and with commits of `history`) those of its commits
    /// in which the path means something else than now. `means_the_same` compares a version of a path, by number,
    /// with its current one.
    pub(crate) fn differing(
        &self,
        history: &HistoryEnd,
        paths: &[(&str, &BTreeSet<CommitId>)],
        mut means_the_same: impl FnMut(usize, Option<ObjectId>) -> Result<bool, Error>,
    ) -> Result<Vec<BTreeSet<CommitId>>, Error> {
        self.query(|reader, start| {
            let mut trees = search::TreeCache::new(reader);
            let (tree, mut differing) = (reader.node(start)?.tree, Vec::with_capacity(paths.len()));
            for (number, (path, among)) in paths.iter().enumerate() {
                let path = self.full(path);
                let mut is_same = |version| means_the_same(number, version);
                let commits = &history.commits;
                differing.push(search::differing(&mut trees, commits, among, &path, tree, &mut is_same)?);
            }
            Ok(differing)
        })
    }

    /// Returns `commit` and its ancestors, as far as they are not before `history`; none if the clone lacks
    /// `commit`.
    pub(crate) fn ancestors_in(
        &self,
        history: &HistoryEnd,
        commit: CommitId,
    ) -> Result<Option<BTreeSet<CommitId>>, Error> {
        self.query(|reader, _| match reader.node(commit) {
            Err(Error::MissingObject(_) | Error::PartialClone(_)) => Ok(None),
            Err(error) => Err(error),
            Ok(_) => {
                let commits = commit::commits(reader.repository(), &[commit], &history.before)?;
                Ok(Some(commits.collect::<Result<_, _>>()?))
            }
        })
    }

    /// Returns this snapshot's commit, and the other ones of its history that are not in that of `since`, as
    /// far as the clone has them.
    pub(crate) fn commits_since(&self, since: Option<CommitId>) -> Result<Vec<Commit>, Error> {
        self.query(|reader, start| {
            let repository = reader.repository();
            let mut found = vec![reader.commit(start)?];
            // Without a known end, that would be the whole history.
            let Some(since) = since.filter(|since| *since != start && reader.node(*since).is_ok()) else {
                return Ok(found);
            };
            for id in commit::newest_first(repository, start, Parents::All, &[since])? {
                let Ok(id) = id else { break };
                if id != start {
                    found.push(reader.commit(id)?);
                }
            }
            Ok(found)
        })
    }

    /// Returns those of `commits` that are in the history of a commit whose trailer decides on `what` in
    /// `environment`, or are that commit.
    pub(crate) fn decided_by_name(
        &self,
        what: Override,
        environment: &EnvironmentId,
        commits: &BTreeSet<CommitId>,
    ) -> Result<BTreeSet<CommitId>, Error> {
        self.query(|reader, start| {
            let repository = reader.repository();
            let (mut open, mut deciding) = (commits.clone(), Vec::new());
            // Children come first, so what decides on the last of them was seen before.
            for id in commit::newest_first(repository, start, Parents::All, &[])? {
                let Ok(id) = id else { break };
                if open.is_empty() {
                    break;
                }
                open.remove(&id);
                let decides =
                    |(named, place): &(_, EnvironmentId)| *named == what && place.is_same(environment);
                if reader.commit(id)?.named_decisions().iter().any(decides) {
                    deciding.push(id);
                }
            }
            let mut covered = BTreeSet::new();
            for id in commits {
                for by in &deciding {
                    if by == id || commit::is_descendant(repository, *by, *id)? {
                        covered.insert(*id);
                        break;
                    }
                }
            }
            Ok(covered)
        })
    }

    /// Returns the relation of `other` to this snapshot's commit.
    pub(crate) fn relation(&self, other: CommitId) -> Result<Relation, Error> {
        if other == self.revision() {
            return Ok(Relation::Same);
        }
        self.query(|reader, own| {
            match reader.node(other) {
                Ok(_) => {}
                // The commit is missing, unless another process replaced the repository. That says nothing
                // about the history: a clone of a branch lacks what the branch had before it was rewritten.
                Err(Error::MissingObject(_) | Error::PartialClone(_)) => {
                    if self.is_shallow || !self.cache.fetch(other)? {
                        return Ok(self.unless_cut(Relation::Missing));
                    }
                }
                Err(error) => return Err(error),
            }
            if commit::is_descendant(reader.repository(), own, other)? {
                return Ok(Relation::Descends);
            }
            if commit::is_descendant(reader.repository(), other, own)? {
                return Ok(Relation::Behind);
            }
            let bases = commit::merge_bases(reader.repository(), own, &[other])?;
            Ok(self.unless_cut(if bases.is_empty() { Relation::Unrelated } else { Relation::Diverged }))
        })
    }

    /// Returns `relation`, unless the other commit may be beyond the end of a shallow history.
    fn unless_cut(&self, relation: Relation) -> Relation {
        match self.is_shallow {
            true => Relation::Unclear,
            false => relation,
        }
    }

    fn full(&self, path: &str) -> String {
        match self.root.as_str() {
            "" => path.to_owned(),
            root => format!("{root}/{path}"),
        }
    }
}

/// Returns `root` without outer slashes and `.`; `None` if it contains `..`.
pub(super) fn components(root: &str) -> Option<String> {
    let parts: Vec<&str> = root.split('/').filter(|part| !matches!(*part, "" | ".")).collect();
    // A root must not lead out of the repository.
    (!parts.contains(&"..")).then(|| parts.join("/"))
}

fn no_root(root: &str, revision: CommitId) -> Error {
    let root = root.to_owned();
    Error::NoRoot { root, revision }
}

fn root_tree(reader: &Reader, commit: &CommitNode, root: &str) -> Result<ObjectId, Error> {
    let mut tree = commit.tree;
    for part in root.split('/').filter(|part| !part.is_empty()) {
        let folder = reader.tree(tree)?;
        let entry = folder.get(part).ok_or_else(|| no_root(root, commit.id))?;
        if entry.kind() != EntryKind::Tree {
            return Err(Error::RootNotFolder { root: root.to_owned(), revision: commit.id });
        }
        tree = entry.id;
    }
    // Read here, so that a missing tree is reported before the pass starts.
    reader.tree(tree)?;
    Ok(tree)
}

/// Reads each commit once.
struct Messages<'a> {
    reader: &'a Reader,
    known: BTreeMap<CommitId, Arc<Commit>>,
}

impl<'a> Messages<'a> {
    const fn new(reader: &'a Reader) -> Self {
        let known = BTreeMap::new();
        Self { reader, known }
    }

    fn read(&mut self, id: CommitId) -> Result<Arc<Commit>, Error> {
        let found = match self.known.entry(id) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(Arc::new(self.reader.commit(id)?)),
        };
        Ok(Arc::clone(found))
    }
}

/// Returns the subjects of those commits that the source, or the clone of a URL, has. Contacts no host, and
/// writes nothing.
pub fn subjects(
    source: &SourceConfig,
    commits: impl Iterator<Item = CommitId>,
) -> BTreeMap<CommitId, String> {
    let clone = source.cache.as_deref();
    let path = source.location.local_path().or(clone);
    let Some(repository) = path.and_then(|path| revisions::open(path).ok()) else {
        return BTreeMap::new();
    };
    let subject = |id: CommitId| {
        let found = commit(&repository, id).ok()?;
        Some((id, found.subject().to_owned()))
    };
    commits.filter_map(subject).collect()
}

/// Returns whether any commit in the history of `start` has the trailer `key`.
fn any_has_trailer(reader: &Reader, start: CommitId, key: &str) -> Result<bool, Error> {
    for id in commit::commits(reader.repository(), &[start], &[])? {
        if !reader.commit(id?)?.trailers(key).is_empty() {
            return Ok(true);
        }
    }
    Ok(false)
}
