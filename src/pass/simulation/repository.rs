//! The source of a history: a repository on the memory file system, with a commit for each revision.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;

use git2::{ObjectType, Oid, Repository, RepositoryInitOptions, Signature};

use super::world::lock;
use crate::git::{init, object_id};
use crate::model::{CommitId, ToggleId};

const BRANCH: &str = "refs/heads/main";

/// What a document means, and how it is written. The service only gets the meaning.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Document {
    pub(super) meaning: u8,
    pub(super) style: u8,
}

/// The documents of a revision.
pub(super) type Documents = BTreeMap<ToggleId, Document>;

/// The revisions, numbered in the order in which they were made.
pub(super) struct Revisions {
    folder: tempfile::TempDir,
    repository: Mutex<Repository>,
    revisions: Mutex<Vec<Revision>>,
    /// Which revisions the branch has led to, one after the other.
    moves: Mutex<Vec<usize>>,
}

#[derive(Clone)]
pub(super) struct Revision {
    pub(super) commit: CommitId,
    pub(super) documents: Documents,
}

impl Revisions {
    pub(super) fn new() -> Self {
        let folder = folder();
        let mut options = RepositoryInitOptions::new();
        let repository = init(folder.path(), options.bare(true).initial_head("main")).expect("a repository");
        Self {
            folder,
            repository: Mutex::new(repository),
            revisions: Mutex::default(),
            moves: Mutex::default(),
        }
    }

    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the revision that the branch leads to.
    pub(super) fn head(&self) -> usize {
        *lock(&self.moves).last().expect("a commit")
    }

    pub(super) fn get(&self, revision: usize) -> Revision {
        lock(&self.revisions)[revision].clone()
    }

    /// Returns a number that is greater the later the branch led to this revision.
    pub(super) fn order(&self, revision: usize) -> usize {
        let moves = lock(&self.moves);
        moves.iter().rposition(|other| *other == revision).expect("every revision was on the branch")
    }

    pub(super) fn number(&self, commit: CommitId) -> Option<usize> {
        lock(&self.revisions).iter().position(|revision| revision.commit == commit)
    }

    /// Moves the branch to a commit that is there already.
    pub(super) fn force(&self, revision: usize) {
        let repository = lock(&self.repository);
        let id = Oid::from_bytes(&self.get(revision).commit.0.0).expect("an id");
        repository.reference(BRANCH, id, true, "force").expect("a branch");
        lock(&self.moves).push(revision);
    }

    /// Makes a commit on top of `parent`, and moves the branch to it.
    pub(super) fn commit(&self, parent: Option<usize>, documents: Documents) -> usize {
        let repository = lock(&self.repository);
        let mut revisions = lock(&self.revisions);
        let number = revisions.len();
        let parent = parent.map(|parent| {
            let id = Oid::from_bytes(&revisions[parent].commit.0.0).expect("an id");
            repository.find_commit(id).expect("a commit")
        });
        let tree = repository.find_tree(tree(&repository, &documents)).expect("a tree");
        let seconds = i64::try_from(number).expect("few revisions");
        let author = Signature::new("Ann", "ann@example.org", &git2::Time::new(1_700_000_000 + seconds, 0));
        let author = author.expect("an author");
        let parents: Vec<_> = parent.iter().collect();
        let message = format!("revision {number}");
        let id = repository.commit(None, &author, &author, &message, &tree, &parents).expect("a commit");
        repository.reference(BRANCH, id, true, "commit").expect("a branch");
        let commit = CommitId(object_id(id));
        revisions.push(Revision { commit, documents });
        lock(&self.moves).push(number);
        number
    }
}

/// Returns a folder on the memory file system, if there is one.
pub(super) fn folder() -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
    folder.expect("a folder")
}

/// The files of each environment of a project.
type Environments<'a> = BTreeMap<&'a str, Vec<(String, Oid)>>;

fn tree(repository: &Repository, documents: &Documents) -> Oid {
    let mut folders: BTreeMap<&str, Environments> = BTreeMap::new();
    let odb = repository.odb().expect("a database");
    for (id, document) in documents {
        let blob = odb.write(ObjectType::Blob, document.text(id).as_bytes()).expect("a blob");
        let environments = folders.entry(id.project()).or_default();
        let files = environments.entry(id.environment_key()).or_default();
        files.push((format!("{}.yaml", id.toggle()), blob));
    }
    let write = |entries: Vec<(String, Oid, i32)>| {
        let mut builder = repository.treebuilder(None).expect("a tree");
        for (name, id, mode) in entries {
            builder.insert(name, id, mode).expect("an entry");
        }
        builder.write().expect("a tree")
    };
    let folder = |(name, id): (&str, Oid)| (name.to_owned(), id, 0o040_000);
    let project = |environments: Environments| {
        let environments = environments.into_iter().map(|(name, files)| {
            let files = files.into_iter().map(|(name, id)| (name, id, 0o100_644));
            folder((name, write(files.collect())))
        });
        write(environments.collect())
    };
    let projects = folders.into_iter();
    write(projects.map(|(name, environments)| folder((name, project(environments)))).collect())
}

impl Document {
    /// Each toggle has its own documents, so that a state has to keep as many as there are toggles.
    fn text(self, id: &ToggleId) -> String {
        let Self { meaning, style } = self;
        let comment = "# The same, written in another way.\n".repeat(usize::from(style));
        format!(
            "# {id}\n{comment}disabled: false\ncontent:\n  variations:\n    - {{ name: a, value: m{meaning} }}\n    - {{ name: b, value: other }}\n  \
             rules: []\n  disabledServe: {{ select: 0 }}\n  defaultServe: {{ select: 0 }}\n"
        )
    }
}
