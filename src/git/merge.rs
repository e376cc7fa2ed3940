//! Merges two commits with `git merge-tree`, so that the result is that of `git merge` and of the host.
//!
//! Git writes into an empty repository in a temporary folder, which borrows the objects of the other one. So
//! nothing is written to the repository, and no configuration, hook or merge driver of it is used. The
//! program downloads nothing: content that a partial clone lacks takes part in the merge as a text that
//! equals no other, and only its files cannot be merged.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use flate2::Compression;
use flate2::write::ZlibEncoder;
use git2::build::TreeUpdateBuilder;
use git2::{ErrorClass, FileMode, ObjectType, Repository};

use super::commit::{object_id, oid};
use super::error::{Libgit2Error, ObjectFault};
use super::host_error::{GitError, GitFailure, GitFault};
use super::process::{Output, local, run, version};
use super::process_group::StepKind;
use super::repository::{borrow_objects, init_bare, open_bare};
use super::temporary_folder::TemporaryFolder;
use super::words::GitWords;
use super::{RepoUrl, blob};
use crate::model::{CommitId, ObjectId};

/// The first version of Git that has `merge-tree --write-tree`.
const SINCE: (u32, u32) = (2, 38);

/// How long the program may take.
const MERGE_TIMEOUT: Duration = Duration::from_secs(300);

/// The id of a file whose merge needs content that the clone lacks. No object has it.
const MISSING: ObjectId = ObjectId([0xff; 20]);

/// The content of a file that cannot be merged, and in which Git writes no markers: it is renamed here and
/// removed there.
const UNMERGED: &[u8] = b"<<<<<<<\n=======\n>>>>>>>\n";

/// The result of a merge.
#[derive(Debug)]
pub(crate) struct MergeResult {
    pub(crate) tree: ObjectId,
    /// The repository with the objects that the merge made.
    pub(crate) repository: Arc<TemporaryFolder>,
    /// The paths that cannot be merged, with the kind of the conflict unless it is one of contents. Their
    /// files have conflict markers, those of the target first.
    pub(crate) conflicts: BTreeMap<String, Option<String>>,
}

/// The names of both sides, for conflict markers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SideNames<'a> {
    pub(crate) target: &'a str,
    pub(crate) head: &'a str,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum MergeError {
    #[error(transparent)]
    Object(#[from] ObjectFault),
    #[error(transparent)]
    Program(#[from] GitError),
}

impl From<Libgit2Error> for MergeError {
    fn from(error: Libgit2Error) -> Self {
        Self::Object(error.into())
    }
}

impl From<git2::Error> for MergeError {
    fn from(error: git2::Error) -> Self {
        Self::Object(error.into())
    }
}

impl From<std::io::Error> for MergeError {
    fn from(source: std::io::Error) -> Self {
        Self::Program(GitError::Io { doing: "write the temporary repository of the merge", source })
    }
}

/// Merges `head` into `target`, in the repository whose objects are in exactly `lender`. A document that is a
/// folder on one side is a file that cannot be merged.
pub(crate) fn merge(
    lender: &Path,
    target: CommitId,
    head: CommitId,
    names: SideNames<'_>,
    is_document: &dyn Fn(&[u8]) -> bool,
) -> Result<MergeResult, MergeError> {
    check_version()?;
    let folder = TemporaryFolder::create(None)?;
    init_bare(folder.path())?;
    borrow_objects(folder.path(), lender)?;
    // Without it, Git looks for the parents of the oldest commits of a shallow clone.
    if lender.join("shallow").exists() {
        fs::copy(lender.join("shallow"), folder.path().join("shallow"))?;
    }
    let mut merger =
        Merger { folder: folder.path(), repository: open_bare(folder.path())?, absent: BTreeSet::new() };
    let sides = [merger.name_side(names.target, target), merger.name_side(names.head, head)];
    let merged = merger.run(lender, &sides)?;
    // libgit2 refuses a tree with a file whose content does not exist, so each has a content until the end.
    merger.absent.insert(MISSING);
    merger.replace(MISSING)?;
    let (tree, conflicts) = merger.resolve(merged, is_document)?;
    // From here on, reading them is an error.
    for id in &merger.absent {
        fs::remove_file(merger.loose(*id))?;
    }
    Ok(MergeResult { tree, conflicts, repository: Arc::new(folder) })
}

/// Checks that the program can merge.
fn check_version() -> Result<(), GitError> {
    let (fact, source) = match version() {
        Ok(found) if found >= SINCE => return Ok(()),
        Ok((major, minor)) => (format!("`git` is version {major}.{minor}"), None),
        Err(GitError::NoGit(error)) => ("could not run `git`".to_owned(), Some(error)),
        Err(error) => return Err(error),
    };
    Err(GitError::CannotMerge { fact, source })
}

struct Merger<'a> {
    folder: &'a Path,
    repository: Repository,
    /// The contents that the clone lacks and Git needs, as long as others are in their places.
    absent: BTreeSet<ObjectId>,
}

/// What `git merge-tree -z` printed.
struct Printed {
    tree: ObjectId,
    /// The paths that cannot be merged, with the versions of their files.
    paths: BTreeMap<Vec<u8>, Vec<ObjectId>>,
    /// The kinds of their conflicts, such as `rename/delete`.
    kinds: BTreeMap<Vec<u8>, String>,
    /// The paths of folders of which Git cannot tell where their new files belong, with the kinds of these
    /// conflicts.
    unclear: Vec<(Vec<u8>, String)>,
    /// The paths of files that Git has moved out of the way of a folder, with the paths that they had.
    moved: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Merger<'_> {
    /// Creates a branch of this name for Git to merge and to name in conflict markers. Returns the name, or the
    /// id of `commit` if it cannot be that of a branch.
    fn name_side(&self, name: &str, commit: CommitId) -> String {
        let is_usual = name.starts_with(|c: char| c.is_ascii_alphabetic()) && name != "HEAD";
        let branch = || self.repository.reference(&format!("refs/heads/{name}"), oid(commit.0), false, "");
        if is_usual && branch().is_ok() { name.to_owned() } else { commit.to_string() }
    }

    fn run(&mut self, lender: &Path, sides: &[String; 2]) -> Result<Printed, MergeError> {
        loop {
            let mut command = local(self.folder);
            // The objects need not survive a crash.
            command.args(["-c", "core.fsync=none", "merge-tree", "--write-tree", "-z"]).args(sides);
            let output = run(command, StepKind::Read, MERGE_TIMEOUT, lender.display())?;
            // Older versions exit as after a merge if a tree is missing.
            let mut missing = output.stderr.split_whitespace().filter_map(|word| word.parse().ok());
            let Some(id) = missing.find(|id| self.is_absent(*id)) else {
                return parsed(&output.stdout).ok_or_else(|| failed(lender, &output).into());
            };
            if !self.absent.insert(id) {
                // Another content did not help, so it is not a file.
                return Err(ObjectFault::Missing(id).into());
            }
            self.replace(id)?;
        }
    }

    fn is_absent(&self, id: ObjectId) -> bool {
        let exists = |odb: git2::Odb<'_>| odb.exists(oid(id));
        self.absent.contains(&id) || !self.repository.odb().is_ok_and(exists)
    }

    /// Puts a file without any line in common with another one in the place of the missing `id`.
    fn replace(&self, id: ObjectId) -> Result<(), MergeError> {
        let content = format!("{id} is not in the partial clone\n");
        let path = self.loose(id);
        fs::create_dir_all(path.parent().unwrap_or(self.folder))?;
        let mut encoder = ZlibEncoder::new(fs::File::create(path)?, Compression::fast());
        write!(encoder, "blob {}\0{content}", content.len())?;
        encoder.finish()?;
        Ok(())
    }

    fn loose(&self, id: ObjectId) -> PathBuf {
        let id = id.to_string();
        self.folder.join("objects").join(&id[..2]).join(&id[2..])
    }

    /// Returns the merged tree, in which the file at each path that cannot be merged has conflict markers,
    /// and these paths.
    fn resolve(
        &self,
        mut merged: Printed,
        is_document: &dyn Fn(&[u8]) -> bool,
    ) -> Result<(ObjectId, BTreeMap<String, Option<String>>), MergeError> {
        let mut tree = self.repository.find_tree(oid(merged.tree))?;
        let mut conflicts = BTreeMap::new();
        for (folder, kind) in &merged.unclear {
            for path in self.files_at(&tree, folder)? {
                merged.paths.entry(path.clone()).or_default();
                merged.kinds.entry(path).or_insert_with(|| kind.clone());
            }
        }
        for (path, versions) in &merged.paths {
            let original = merged.moved.get(path);
            if let Some(original) = original.filter(|original| is_document(original)) {
                for path in [path, original] {
                    tree = self.updated(tree, |update| _ = update.remove(path.as_slice()))?;
                }
            }
            let path = original.unwrap_or(path);
            let shown = String::from_utf8_lossy(path).into_owned();
            let file = match versions.iter().any(|id| self.absent.contains(id)) {
                // Only its own toggle is withheld, as for any content that the clone lacks.
                true => oid(MISSING),
                false => {
                    let is_marked = self.is_marked(&tree, &super::os_path(path));
                    let kind = merged.kinds.get(path).filter(|_| !is_marked);
                    conflicts.insert(shown.clone(), kind.cloned());
                    if is_marked {
                        continue;
                    }
                    self.repository.blob(UNMERGED)?
                }
            };
            tree = self.updated(tree, |update| _ = update.upsert(path.as_slice(), file, FileMode::Blob))?;
        }
        Ok((object_id(tree.id()), conflicts))
    }

    /// Changes `tree`, which stays as it is where it does not fit: a file that is not there, or a folder in the
    /// place of a file.
    fn updated<'a>(
        &'a self,
        tree: git2::Tree<'a>,
        change: impl FnOnce(&mut TreeUpdateBuilder),
    ) -> Result<git2::Tree<'a>, git2::Error> {
        let mut update = TreeUpdateBuilder::new();
        change(&mut update);
        match update.create_updated(&self.repository, &tree) {
            Ok(updated) => self.repository.find_tree(updated),
            Err(error) if error.class() == ErrorClass::Tree => Ok(tree),
            Err(error) => Err(error),
        }
    }

    /// Returns the paths of the files at or below `path`; `path` itself if nothing is there.
    fn files_at(&self, tree: &git2::Tree<'_>, path: &[u8]) -> Result<Vec<Vec<u8>>, git2::Error> {
        let entry = tree.get_path(&super::os_path(path)).ok();
        let Some(entry) = entry.filter(|entry| entry.kind() == Some(ObjectType::Tree)) else {
            return Ok(vec![path.to_vec()]);
        };
        let mut files = Vec::new();
        for entry in &self.repository.find_tree(entry.id())? {
            files.extend(self.files_at(tree, &[path, b"/", entry.name_bytes()].concat())?);
        }
        Ok(files)
    }

    /// Returns whether the file at `path` has conflict markers.
    fn is_marked(&self, tree: &git2::Tree<'_>, path: &Path) -> bool {
        let entry = tree.get_path(path).ok().filter(|entry| entry.kind() == Some(ObjectType::Blob));
        let content = entry.and_then(|entry| blob(&self.repository, object_id(entry.id())).ok());
        content.is_some_and(|content| {
            content.split(|byte| *byte == b'\n').any(|line| line.starts_with(b"<<<<<<< "))
        })
    }
}

fn failed(lender: &Path, output: &Output) -> GitError {
    let words = GitWords::of(&output.words());
    GitError::Failed(Box::new(GitFailure {
        url: RepoUrl::local(lender),
        fault: GitFault::Other,
        ca_file: None,
        words,
    }))
}

/// Reads the output of `git merge-tree -z`: the tree, a record `MODE ID STAGE\tPATH` for each version of a
/// path that cannot be merged, an empty record, and messages, each with the number of its paths, the paths,
/// its kind and its text.
fn parsed(output: &[u8]) -> Option<Printed> {
    let mut records = output.split(|byte| *byte == 0);
    let text = |record: &[u8]| String::from_utf8_lossy(record).into_owned();
    let tree = text(records.next()?).parse().ok()?;
    let (paths, kinds, moved) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
    let mut printed = Printed { tree, paths, kinds, unclear: Vec::new(), moved };
    for record in records.by_ref().take_while(|record| !record.is_empty()) {
        let tab = record.iter().position(|byte| *byte == b'\t')?;
        let id = text(&record[..tab]).split(' ').nth(1)?.parse().ok()?;
        printed.paths.entry(record[tab + 1..].to_vec()).or_default().push(id);
    }
    while let Some(count) = records.next().and_then(|record| text(record).parse().ok()) {
        let paths: Vec<&[u8]> = records.by_ref().take(count).collect();
        let (kind, _message) = (text(records.next()?), records.next()?);
        // One of the kinds has no space before the bracket.
        let Some(kind) = kind.strip_prefix("CONFLICT").map(|kind| kind.trim_matches([' ', '(', ')'])) else {
            continue;
        };
        if let ("file/directory", [moved, original]) = (kind, paths.as_slice()) {
            printed.moved.insert(moved.to_vec(), original.to_vec());
        }
        if !paths.iter().any(|path| printed.paths.contains_key(*path)) {
            printed.unclear.extend(paths.iter().map(|path| (path.to_vec(), kind.to_owned())));
        }
        for path in paths {
            printed.kinds.entry(path.to_vec()).or_insert_with(|| kind.to_owned());
        }
    }
    Some(printed)
}
