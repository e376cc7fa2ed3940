//! The files of a folder as trees in memory, so that uncommitted files are compared like committed ones.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sha2::{Digest as _, Sha256};

use super::Error;
use super::worktree::{self, WorkTree};
use crate::git::pack::{ObjectKind, id_of};
use crate::model::{Blob, Format, ObjectId, Tree, TreeEntry, Trees};

/// The files of a folder, read once. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Folder(Arc<Files>);

/// What is read of a folder. The rest stays without content, and its caller reports it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FolderLimits {
    /// In bytes.
    pub(crate) largest_file: usize,
    pub(crate) most_files: usize,
}

#[derive(Debug, Default)]
struct Files {
    trees: HashMap<ObjectId, Tree>,
    blobs: HashMap<ObjectId, Blob>,
    /// The paths of the files that are read only if somebody asks for them, below `folder`.
    others: HashMap<ObjectId, Vec<u8>>,
    folder: PathBuf,
}

impl Folder {
    /// Reads the folder `root` of `folder`.
    pub(crate) fn open(folder: &Path, root: &str, limits: FolderLimits) -> Result<Self, Error> {
        let tree = WorkTree::open(folder, root)?;
        let (files, links) = tree.files_and_links(|_| true)?;
        Self::read(tree.folder(), &files, &links, limits, |path| tree.content(path, limits.largest_file))
    }

    /// Reads the folder `root` of `folder`, and from `committed` the files that are not checked out: nobody
    /// removed them.
    pub(crate) fn with_left_out(
        folder: &Path,
        root: &str,
        committed: &impl Trees<Error = Error>,
        limits: FolderLimits,
    ) -> Result<Self, Error> {
        let tree = WorkTree::open(folder, root)?;
        let left_out = worktree::not_checked_out(folder, root)?;
        let (mut paths, links) = tree.files_and_links(|_| true)?;
        paths.extend(left_out.keys().cloned());
        Self::read(tree.folder(), &paths, &links, limits, |path| match left_out.get(path) {
            Some(id) => committed.blob(*id, limits.largest_file),
            None => Ok(as_committed(tree.content(path, limits.largest_file)?, committed, limits)),
        })
    }

    /// Reads only the file `path` of `folder`.
    pub(crate) fn of_file(folder: &Path, path: &str, limits: FolderLimits) -> Result<Self, Error> {
        let tree = WorkTree::open(folder, "")?;
        Self::read(tree.folder(), &[path.as_bytes().to_vec()], &[], limits, |path| {
            tree.content(path, limits.largest_file)
        })
    }

    fn read(
        folder: &Path,
        paths: &[Vec<u8>],
        links: &[Vec<u8>],
        limits: FolderLimits,
        content: impl Fn(&[u8]) -> Result<Blob, Error>,
    ) -> Result<Self, Error> {
        let mut files = Files { folder: folder.to_owned(), ..Files::default() };
        let mut folders: BTreeMap<Vec<u8>, Vec<Child>> = BTreeMap::from([(Vec::new(), Vec::new())]);
        // The comparison refuses too many files, whatever their contents.
        let is_read = |name| paths.len() <= limits.most_files && could_be_document(name);
        for path in paths {
            let (parent, name) = split(path);
            let id = match is_read(name) {
                true => files.keep(content(path)?, path),
                false => {
                    let id = path_id(b"file", path);
                    files.others.insert(id, path.clone());
                    id
                }
            };
            entries(&mut folders, parent).push(Child::File(name.to_vec(), id));
        }
        for path in links {
            let (parent, name) = split(path);
            entries(&mut folders, parent).push(Child::Link(name.to_vec(), path_id(b"link", path)));
        }
        files.trees = folders
            .into_iter()
            .map(|(path, children)| (path_id(b"tree", &path), Tree::of(children.iter().map(Child::entry))))
            .collect();
        Ok(Self(Arc::new(files)))
    }

    pub(crate) fn root_tree(&self) -> ObjectId {
        path_id(b"tree", b"")
    }
}

/// Returns a file with the line breaks of Git if it is committed with them: the work tree may have those of
/// Windows (`eol=crlf`).
fn as_committed(blob: Blob, committed: &impl Trees, limits: FolderLimits) -> Blob {
    let Blob::Content(bytes) = &blob else { return blob };
    let mut lines = bytes.split(|byte| *byte == b'\n').peekable();
    let mut plain = Vec::with_capacity(bytes.len());
    while let Some(line) = lines.next() {
        match lines.peek() {
            Some(_) => plain.extend([line.strip_suffix(b"\r").unwrap_or(line), b"\n"].concat()),
            None => plain.extend(line),
        }
    }
    let is_other = plain.len() != bytes.len();
    match is_other && committed.blob(id_of(ObjectKind::Blob, &plain), limits.largest_file).is_ok() {
        true => Blob::Content(plain),
        false => blob,
    }
}

impl Files {
    fn keep(&mut self, blob: Blob, path: &[u8]) -> ObjectId {
        let id = match &blob {
            Blob::Content(content) => id_of(ObjectKind::Blob, content),
            // Without content, the path identifies the file, so that two such files stay different.
            Blob::Missing | Blob::TooLarge(_) => path_id(b"file", path),
        };
        self.blobs.insert(id, blob);
        id
    }
}

impl Trees for Folder {
    type Error = Error;

    fn tree(&self, id: ObjectId) -> Result<Tree, Error> {
        self.find_tree(id).ok_or(Error::MissingObject(id))
    }

    fn find_tree(&self, id: ObjectId) -> Option<Tree> {
        self.0.trees.get(&id).cloned()
    }

    fn blob(&self, blob: ObjectId, limit: usize) -> Result<Blob, Error> {
        match (self.0.blobs.get(&blob), self.0.others.get(&blob)) {
            (Some(known), _) => Ok(known.clone()),
            (None, Some(path)) => worktree::content(&self.0.folder, path, limit),
            (None, None) => Err(Error::MissingObject(blob)),
        }
    }
}

/// An entry of a folder.
enum Child {
    File(Vec<u8>, ObjectId),
    Folder(Vec<u8>, ObjectId),
    Link(Vec<u8>, ObjectId),
}

impl Child {
    fn entry(&self) -> TreeEntry<'_> {
        match self {
            Self::File(name, id) => TreeEntry::file(name, *id),
            Self::Folder(name, id) => TreeEntry::folder(name, *id),
            Self::Link(name, id) => TreeEntry { mode: 0o120_000, name, id: *id },
        }
    }
}

/// Returns the entries of `folder`. Adds it and its parents if they are new.
fn entries<'a>(folders: &'a mut BTreeMap<Vec<u8>, Vec<Child>>, folder: &[u8]) -> &'a mut Vec<Child> {
    if !folders.contains_key(folder) {
        let (parent, name) = split(folder);
        let child = Child::Folder(name.to_vec(), path_id(b"tree", folder));
        entries(folders, parent).push(child);
    }
    folders.entry(folder.to_vec()).or_default()
}

fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => (b"", path),
    }
}

fn could_be_document(name: &[u8]) -> bool {
    let endings = Format::ALL.map(|format| format!(".{}", format.as_str()));
    endings.iter().any(|ending| name.ends_with(ending.as_bytes()))
}

fn path_id(kind: &[u8], path: &[u8]) -> ObjectId {
    let digest = Sha256::new()
        .chain_update(kind)
        // No path contains a zero byte, so a kind and a path have only one reading.
        .chain_update([0])
        .chain_update(path)
        .finalize();
    let mut id = [0; 20];
    id.copy_from_slice(&digest[..20]);
    ObjectId(id)
}
