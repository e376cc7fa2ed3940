//! The common ancestor of two branches that were merged in both directions and have several merge bases.
//!
//! Neither merge base alone is right: each lacks changes that the other one has, and that both branches have since. Like
//! Git's merges, this module merges the merge bases to one tree, with their own merge bases as the base. A file that only
//! one of them changed has that version: if the branch has the other version, it reverted the change, and the plan must
//! show it. (A rule without that merge, "a change is what differs from all merge bases", would hide such a revert.) If both
//! changed a file in different ways, each branch decided when it was merged. Then a version that is equal to either one
//! is not a change of this branch; any other version is.
//!
//! Documents are compared by meaning, so that a reformatted file does not count as changed.

use std::collections::{BTreeMap, HashMap};

use crate::document::{self, LARGEST_DOCUMENT};
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{Blob, CommitId, EntryKind, Format, ObjectId, ServiceKind, Tree, TreeEntry, Trees};
use crate::pass::config::Rules;
use crate::source::{Error, Reader, Snapshot};

/// The longest chain of merges in both directions that is followed. Beyond it, a file that differs counts as changed on
/// both sides.
const DEEPEST: usize = 100;

/// The id of a file that both sides changed in different ways. No object has it.
const CONFLICT: ObjectId = ObjectId([0; 20]);

/// The id of a file whose version cannot be told, because a partial clone lacks one of those that decide. No object has it,
/// so that clone lacks it as well.
const MISSING: ObjectId = ObjectId([0xff; 20]);

/// An entry of a tree without its name.
type Entry = (u32, ObjectId);

/// Merges merge bases.
pub(super) struct Ancestor<'a> {
    snapshot: &'a Snapshot,
    kind: ServiceKind,
    reader: Reader,
    merged: HashMap<ObjectId, Tree>,
}

/// The versions of one file or folder.
#[derive(Clone, Copy, Debug)]
struct Versions {
    base: Option<Entry>,
    one: Option<Entry>,
    other: Option<Entry>,
    /// The version of the branch, which decides between versions that contradict each other; none for an inner merge.
    head: Option<Option<Entry>>,
}

impl<'a> Ancestor<'a> {
    /// Returns the merged tree of the root at `bases`, and the trees that no commit has.
    pub(super) fn of(
        bases: &[CommitId],
        snapshot: &'a Snapshot,
        rules: &Rules,
    ) -> Result<(Option<ObjectId>, HashMap<ObjectId, Tree>), Error> {
        let mut ancestor = Self {
            snapshot,
            kind: rules.kind,
            reader: snapshot.reader()?,
            merged: HashMap::new(),
        };
        let head = folder(snapshot.root_tree());
        let tree = ancestor.merge_commits(bases, Some(Some(head)), 0)?;
        Ok((tree, ancestor.merged))
    }

    fn merge_commits(
        &mut self,
        commits: &[CommitId],
        head: Option<Option<Entry>>,
        depth: usize,
    ) -> Result<Option<ObjectId>, Error> {
        let [first, rest @ ..] = commits else {
            return Ok(None);
        };
        let mut tree = self.snapshot.root_tree_at(*first)?;
        for (at, next) in rest.iter().enumerate() {
            let other = self.snapshot.root_tree_at(*next)?;
            if tree == other {
                continue;
            }
            let base = match depth < DEEPEST {
                true => {
                    let bases = self.snapshot.merge_bases(*next, &commits[..=at])?;
                    self.merge_commits(&bases, None, depth + 1)?
                }
                false => None,
            };
            let merged = self.merge(
                "",
                Versions {
                    base: base.map(folder),
                    one: tree.map(folder),
                    other: other.map(folder),
                    head,
                },
            )?;
            tree = merged.map(|(_, id)| id);
        }
        Ok(tree)
    }

    /// Merges the versions of the file or folder at `path`.
    fn merge(&mut self, path: &str, versions: Versions) -> Result<Option<Entry>, Error> {
        let Versions { base, one, other, .. } = versions;
        if one == other || base == other {
            return Ok(one);
        }
        if base == one {
            return Ok(other);
        }
        if [one, other]
            .iter()
            .flatten()
            .any(|entry| tree_id(Some(*entry)).is_some())
        {
            return self.merge_folders(path, versions);
        }
        match self.merge_files(path, versions) {
            // Missing content holds only its toggle (DESIGN, section 5).
            Err(Error::PartialClone(_)) => Ok(one.or(other).map(|(mode, _)| (mode, MISSING))),
            merged => merged,
        }
    }

    fn merge_files(&self, path: &str, versions: Versions) -> Result<Option<Entry>, Error> {
        let Versions {
            base,
            one,
            other,
            head,
        } = versions;
        if self.is_same(path, one, other)? || self.is_same(path, base, one)? {
            return Ok(other);
        }
        if self.is_same(path, base, other)? {
            return Ok(one);
        }
        match head {
            None => Ok(one.or(other).map(|(mode, _)| (mode, CONFLICT))),
            Some(head) if self.is_same(path, head, other)? => Ok(other),
            Some(_) => Ok(one),
        }
    }

    fn merge_folders(&mut self, path: &str, versions: Versions) -> Result<Option<Entry>, Error> {
        let Versions {
            base,
            one,
            other,
            head,
        } = versions;
        let mut names: BTreeMap<Vec<u8>, Versions> = BTreeMap::new();
        let nothing = Versions {
            base: None,
            one: None,
            other: None,
            head: head.map(|_| None),
        };
        for (side, folder) in [base, one, other, head.flatten()].into_iter().enumerate() {
            // A file in the place of a folder has no entries.
            let Some(id) = tree_id(folder) else { continue };
            for entry in self.tree(id)?.entries() {
                let versions = names.entry(entry.name.to_vec()).or_insert(nothing);
                let found = Some((entry.mode, entry.id));
                match side {
                    0 => versions.base = found,
                    1 => versions.one = found,
                    2 => versions.other = found,
                    _ => versions.head = Some(found),
                }
            }
        }
        let mut entries = Vec::new();
        for (name, versions) in names {
            let path = format!("{path}/{}", String::from_utf8_lossy(&name));
            entries.extend(self.merge(&path, versions)?.map(|entry| (name, entry)));
        }
        if entries.is_empty() {
            return Ok(None);
        }
        let tree = Tree::of(entries.iter().map(|(name, (mode, id))| TreeEntry {
            mode: *mode,
            name,
            id: *id,
        }));
        let id = id_of(ObjectKind::Tree, tree.bytes());
        self.merged.insert(id, tree);
        Ok(Some(folder(id)))
    }

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        match self.merged.get(&id) {
            Some(tree) => Ok(tree.clone()),
            None => self.reader.tree(id),
        }
    }

    /// Returns whether two versions of a file mean the same.
    fn is_same(&self, path: &str, one: Option<Entry>, other: Option<Entry>) -> Result<bool, Error> {
        let (Some((_, one)), Some((_, other))) = (one, other) else {
            return Ok(one == other);
        };
        if one == other || one == CONFLICT || other == CONFLICT {
            return Ok(one == other && one != CONFLICT);
        }
        let Some(format) = Format::of(path) else {
            return Ok(false);
        };
        let payload = |id| match self.reader.blob(id, LARGEST_DOCUMENT)? {
            Blob::Missing => Err(Error::PartialClone(id)),
            blob => Ok(document::read(path, format, &blob, self.kind).payload),
        };
        let one = payload(one)?;
        Ok(one.is_some() && one == payload(other)?)
    }
}

fn folder(id: ObjectId) -> Entry {
    (TreeEntry::folder(b"", id).mode, id)
}

/// Returns the tree of an entry if it is a folder.
fn tree_id(entry: Option<Entry>) -> Option<ObjectId> {
    let (mode, id) = entry?;
    let entry = TreeEntry { mode, name: b"", id };
    (entry.kind() == EntryKind::Tree).then_some(id)
}
