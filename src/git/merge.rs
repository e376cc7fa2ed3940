//! Merges two commits in memory: three ways, with renames, as `git merge` does. Writes nothing to the repository.
//!
//! A tree with a hundred thousand documents takes longer to list than to plan, so only the folders that differ are read. A
//! path that one side changed has that side's version. libgit2 decides about all others, from trees that contain nothing
//! but the paths in question: those that both sides changed, and the added and removed ones, which can be renames. With
//! several merge bases, the base is their own merge, as in Git.
//!
//! Renames of whole folders are not detected, unlike in Git: a file that one side adds to a folder that the other one
//! renamed stays where it was added.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use git2::{
    FileMode, Index, IndexEntry, IndexTime, MergeFileInput, MergeFileOptions, MergeOptions, Repository,
};

use super::commit;
use super::commit::CommitNode;
use super::commit::{object_id, oid};
use super::error::Libgit2Error;
use super::error::ObjectFault;
use super::pack::{ObjectKind, id_of};
use super::repository;
use super::repository::open_bare;
use crate::model::{CommitId, EntryKind, ObjectId, Tree, TreeDiff, TreeEntry};

/// The longest chain of merges in both directions that is followed.
const DEEPEST: usize = 100;

/// The id of a file whose merge needs a version that a partial clone lacks. No object has it, so the clone lacks it, too.
const MISSING: ObjectId = ObjectId([0xff; 20]);

/// An entry of a tree without its name.
type Entry = (u32, ObjectId);

/// What changes at each path: the new entry, or none if it is removed.
type Changes = BTreeMap<Vec<u8>, Option<Entry>>;

/// A change at a path below some folder.
type ChangeBelow<'p> = (&'p [u8], Option<Entry>);

/// The result of a merge. Its objects exist only here.
#[derive(Debug, Default)]
pub(crate) struct MergeResult {
    /// The top tree; none if it is empty.
    pub(crate) tree: Option<ObjectId>,
    pub(crate) trees: HashMap<ObjectId, Tree>,
    pub(crate) blobs: HashMap<ObjectId, Vec<u8>>,
    /// The paths that cannot be merged. Their files have conflict markers, those of the target first.
    pub(crate) conflicts: BTreeSet<String>,
}

/// The names of both sides, for conflict markers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideNames<'a> {
    pub(crate) target: &'a str,
    pub(crate) head: &'a str,
}

/// Merges `head` into `target`, in the repository whose objects are in exactly `folder`.
pub(crate) fn merge(
    folder: &Path,
    target: CommitId,
    head: CommitId,
    labels: SideNames<'_>,
) -> Result<MergeResult, ObjectFault> {
    // A handle of its own, because what it writes stays in its memory.
    let repository = open_bare(folder)?;
    repository.odb()?.add_new_mempack_backend(i32::MAX)?;
    let mut merger =
        Merger { repository: &repository, labels, is_inner: false, result: MergeResult::default() };
    let bases = commit::merge_bases(&repository, target, &[head])?;
    let base = merger.base(&bases, 0)?;
    let (ours, theirs) = (merger.top(target)?, merger.top(head)?);
    merger.is_inner = false;
    merger.result.conflicts.clear();
    merger.result.tree = merger.merge(base, Some(ours), Some(theirs))?;
    Ok(merger.result)
}

struct Merger<'a> {
    repository: &'a Repository,
    labels: SideNames<'a>,
    /// Whether two merge bases are merged: nobody resolves their conflicts.
    is_inner: bool,
    result: MergeResult,
}

impl Merger<'_> {
    fn top(&self, commit: CommitId) -> Result<ObjectId, ObjectFault> {
        let node = CommitNode::read(self.repository, commit);
        Ok(node.map_err(|error| ObjectFault::of(commit.0, error))?.tree)
    }

    fn tree(&self, id: Option<ObjectId>) -> Result<Tree, ObjectFault> {
        match id {
            None => Ok(Tree::empty()),
            Some(id) => match self.result.trees.get(&id) {
                Some(tree) => Ok(tree.clone()),
                None => repository::tree(self.repository, id).map_err(|error| error.fault),
            },
        }
    }

    /// Returns the tree of the only base, or the merge of several.
    fn base(&mut self, bases: &[CommitId], depth: usize) -> Result<Option<ObjectId>, ObjectFault> {
        let [first, rest @ ..] = bases else {
            return Ok(None);
        };
        let mut tree = Some(self.top(*first)?);
        for (at, next) in rest.iter().enumerate() {
            let other = Some(self.top(*next)?);
            let inner = match depth < DEEPEST {
                true => {
                    let bases = commit::merge_bases(self.repository, *next, &bases[..=at])?;
                    self.base(&bases, depth + 1)?
                }
                false => None,
            };
            self.is_inner = true;
            tree = self.merge(inner, tree, other)?;
        }
        Ok(tree)
    }

    fn merge(
        &mut self,
        base: Option<ObjectId>,
        ours: Option<ObjectId>,
        theirs: Option<ObjectId>,
    ) -> Result<Option<ObjectId>, ObjectFault> {
        if ours == theirs || base == theirs {
            return Ok(ours);
        }
        if base == ours {
            return Ok(theirs);
        }
        let (mut our_changes, mut their_changes) = (Changes::new(), Changes::new());
        self.changes(b"", (base, ours), &mut our_changes)?;
        self.changes(b"", (base, theirs), &mut their_changes)?;
        let base_tree = base;
        let is_contested = |path: &Vec<u8>| match (our_changes.get(path), their_changes.get(path)) {
            (Some(ours), Some(theirs)) => ours != theirs || ours.is_none(),
            _ => false,
        };
        let contested: BTreeSet<&Vec<u8>> = our_changes.keys().filter(|path| is_contested(path)).collect();
        let mut changes: Changes = their_changes.clone();
        if !contested.is_empty() {
            let moved = our_changes.iter().chain(&their_changes);
            let mut paths: BTreeSet<&Vec<u8>> = contested.clone();
            for (path, after) in moved {
                // Added and removed files can be the two ends of a rename.
                if after.is_none() || self.entry(base_tree, path)?.is_none() {
                    paths.insert(path);
                }
            }
            changes.extend(self.contest(&paths, [base, ours, theirs])?);
        }
        self.apply(ours, &changes.iter().map(|(path, entry)| (path.as_slice(), *entry)).collect::<Vec<_>>())
    }

    /// Adds the files below `prefix` that differ between two trees.
    fn changes(
        &self,
        prefix: &[u8],
        (before, after): (Option<ObjectId>, Option<ObjectId>),
        into: &mut Changes,
    ) -> Result<(), ObjectFault> {
        let (before, after) = (self.tree(before)?, self.tree(after)?);
        for (old, new) in TreeDiff::new(&before, &after) {
            let Some(name) = old.or(new).map(|entry| entry.name) else {
                continue;
            };
            let path = [prefix, if prefix.is_empty() { b"" } else { b"/" }, name].concat();
            let is_folder = |entry: &TreeEntry<'_>| entry.kind() == EntryKind::Tree;
            let folders = (old.filter(is_folder), new.filter(is_folder));
            if folders.0.or(folders.1).is_some() {
                self.changes(&path, (folders.0.map(|one| one.id), folders.1.map(|one| one.id)), into)?;
            }
            let files = (old.filter(|one| !is_folder(one)), new.filter(|one| !is_folder(one)));
            // A file that takes the place of a folder, or the reverse, is a change of its own.
            if files.0.or(files.1).is_some() {
                into.insert(path, files.1.map(|entry| (entry.mode, entry.id)));
            }
        }
        Ok(())
    }

    /// Returns the file at `path`.
    fn entry(&self, tree: Option<ObjectId>, path: &[u8]) -> Result<Option<Entry>, ObjectFault> {
        let mut folder = tree;
        let mut parts = path.split(|byte| *byte == b'/').peekable();
        while let Some(part) = parts.next() {
            let tree = self.tree(folder)?;
            let Some(entry) = tree.entries().find(|entry| entry.name == part) else {
                return Ok(None);
            };
            match (parts.peek().is_some(), entry.kind()) {
                (true, EntryKind::Tree) => folder = Some(entry.id),
                (false, EntryKind::Blob | EntryKind::Other) => return Ok(Some((entry.mode, entry.id))),
                _ => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Merges the files at `paths` by libgit2, and returns what becomes of them.
    fn contest(
        &mut self,
        paths: &BTreeSet<&Vec<u8>>,
        sides: [Option<ObjectId>; 3],
    ) -> Result<Changes, ObjectFault> {
        let mut changes: Changes = paths.iter().map(|path| ((*path).clone(), None)).collect();
        let mut indexes = [Index::new()?, Index::new()?, Index::new()?];
        let odb = self.repository.odb()?;
        for path in paths {
            let mut entries = [None; 3];
            for (entry, side) in entries.iter_mut().zip(sides) {
                *entry = self.entry(side, path)?;
            }
            let is_missing = |(mode, id): &Entry| {
                is_blob(*mode) && !odb.exists(oid(*id)) && !self.result.blobs.contains_key(id)
            };
            if let Some((mode, _)) = entries.iter().flatten().find(|entry| is_missing(entry)) {
                // Missing content holds only its toggle (src/source/README.md, "Which commit").
                changes.insert((*path).clone(), Some((*mode, MISSING)));
                continue;
            }
            for (index, entry) in indexes.iter_mut().zip(entries) {
                if let Some(entry) = entry {
                    index.add(&index_entry(path, entry))?;
                }
            }
        }
        let [base, ours, theirs] = &mut indexes;
        let mut merged = self.repository.merge_trees(
            &self.small_tree(base)?,
            &self.small_tree(ours)?,
            &self.small_tree(theirs)?,
            Some(MergeOptions::new().target_limit(1000)),
        )?;
        for entry in merged.iter().filter(|entry| stage(entry) == 0) {
            let id = object_id(entry.id);
            if is_blob(entry.mode) {
                self.keep(id)?;
            }
            changes.insert(entry.path, Some((entry.mode, id)));
        }
        let conflicts: Vec<_> = merged.conflicts()?.collect::<Result<_, _>>()?;
        for conflict in conflicts {
            let sides = [conflict.ancestor, conflict.our, conflict.their];
            self.conflict(&sides, &mut changes)?;
        }
        merged.clear()?;
        Ok(changes)
    }

    fn small_tree(&self, index: &mut Index) -> Result<git2::Tree<'_>, Libgit2Error> {
        let id = index.write_tree_to(self.repository)?;
        Ok(self.repository.find_tree(id)?)
    }

    /// Keeps a blob that the merge made.
    fn keep(&mut self, id: ObjectId) -> Result<(), ObjectFault> {
        if !self.result.blobs.contains_key(&id) {
            let bytes = repository::blob(self.repository, id).map_err(|error| error.fault)?;
            self.result.blobs.insert(id, bytes);
        }
        Ok(())
    }

    /// Decides about a file that both sides changed in ways that contradict each other.
    fn conflict(
        &mut self,
        sides: &[Option<IndexEntry>; 3],
        changes: &mut Changes,
    ) -> Result<(), ObjectFault> {
        let [base, ours, theirs] = sides;
        let Some(kept) = ours.as_ref().or(theirs.as_ref()) else {
            // Both renamed the file, to different names, which have conflicts of their own.
            return Ok(());
        };
        let path = kept.path.clone();
        if let (true, false) = (self.is_inner, ours.is_some() && theirs.is_some()) {
            // Like Git, which lets the merge of the merge bases have the version before.
            let before = base.as_ref().map(|entry| (entry.mode, object_id(entry.id)));
            changes.insert(path, before);
            return Ok(());
        }
        if !sides.iter().flatten().all(|entry| is_blob(entry.mode)) {
            changes.insert(path.clone(), Some((kept.mode, object_id(kept.id))));
            self.result.conflicts.insert(String::from_utf8_lossy(&path).into_owned());
            return Ok(());
        }
        let mut texts: [Vec<u8>; 3] = [Vec::new(), Vec::new(), Vec::new()];
        for (text, entry) in texts.iter_mut().zip(sides) {
            if let Some(entry) = entry {
                *text =
                    repository::blob(self.repository, object_id(entry.id)).map_err(|error| error.fault)?;
            }
        }
        let bytes = self.marked(&texts)?;
        let id = id_of(ObjectKind::Blob, &bytes);
        // The next merge, of which this is the base, reads it from the repository's memory.
        self.repository.blob(&bytes)?;
        self.result.blobs.insert(id, bytes);
        self.result.conflicts.insert(String::from_utf8_lossy(&path).into_owned());
        changes.insert(path, Some((kept.mode, id)));
        Ok(())
    }

    /// Returns both versions with conflict markers where they contradict each other.
    fn marked(&self, [base, ours, theirs]: &[Vec<u8>; 3]) -> Result<Vec<u8>, Libgit2Error> {
        let mut inputs = [MergeFileInput::new(), MergeFileInput::new(), MergeFileInput::new()];
        for (input, text) in inputs.iter_mut().zip([base, ours, theirs]) {
            input.content(text).mode(Some(FileMode::Blob));
        }
        let mut options = MergeFileOptions::new();
        options.our_label(self.labels.target).their_label(self.labels.head);
        let [base, ours, theirs] = &inputs;
        Ok(git2::merge_file(base, ours, theirs, Some(&mut options))?.content().to_vec())
    }

    /// Returns the tree with these changes, sorted by path; none if it is empty.
    fn apply(
        &mut self,
        tree: Option<ObjectId>,
        changes: &[ChangeBelow<'_>],
    ) -> Result<Option<ObjectId>, ObjectFault> {
        let old = self.tree(tree)?;
        let mut entries: BTreeMap<Vec<u8>, Entry> =
            old.entries().map(|entry| (entry.name.to_vec(), (entry.mode, entry.id))).collect();
        let mut below: BTreeMap<&[u8], Vec<ChangeBelow<'_>>> = BTreeMap::new();
        for (path, entry) in changes {
            match path.iter().position(|byte| *byte == b'/') {
                Some(slash) => below.entry(&path[..slash]).or_default().push((&path[slash + 1..], *entry)),
                None => {
                    let is_file = entries.get(*path).is_none_or(|(mode, _)| !is_folder(*mode));
                    match entry {
                        Some(entry) if is_file => drop(entries.insert(path.to_vec(), *entry)),
                        None if is_file => drop(entries.remove(*path)),
                        _ => {}
                    }
                }
            }
        }
        for (name, changes) in below {
            let folder = entries.get(name).filter(|(mode, _)| is_folder(*mode)).map(|(_, id)| *id);
            match (self.apply(folder, &changes)?, folder) {
                (Some(id), _) => {
                    entries.insert(name.to_vec(), (TreeEntry::folder(b"", id).mode, id));
                }
                (None, Some(_)) => {
                    entries.remove(name);
                }
                (None, None) => {}
            }
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let entries = entries.iter().map(|(name, (mode, id))| TreeEntry { mode: *mode, name, id: *id });
        let tree = Tree::of(entries);
        let id = id_of(ObjectKind::Tree, tree.bytes());
        self.result.trees.insert(id, tree);
        Ok(Some(id))
    }
}

fn is_folder(mode: u32) -> bool {
    mode & 0o170_000 == 0o040_000
}

fn is_blob(mode: u32) -> bool {
    mode & 0o170_000 == 0o100_000
}

fn stage(entry: &IndexEntry) -> u16 {
    (entry.flags >> 12) & 3
}

fn index_entry(path: &[u8], (mode, id): Entry) -> IndexEntry {
    IndexEntry {
        ctime: IndexTime::new(0, 0),
        mtime: IndexTime::new(0, 0),
        dev: 0,
        ino: 0,
        mode,
        uid: 0,
        gid: 0,
        file_size: 0,
        id: oid(id),
        flags: 0,
        flags_extended: 0,
        path: path.to_vec(),
    }
}
