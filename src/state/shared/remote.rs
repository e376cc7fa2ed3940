//! Reads and moves a ref of the repository through which processes share state.
//!
//! A push moves the ref only if it still points to the expected commit. The remote's verdict for the ref decides; without
//! one, the ref is looked up again.

use std::cell::{Cell, RefCell};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use git2::{ObjectType, OdbLookupFlags, PushOptions, RemoteCallbacks, Repository, RepositoryInitOptions};

use super::fault::RemoteFault;
use crate::git::Failpoints;
use crate::git::pack::{self, Object, ObjectKind};
use crate::git::refs::{self, Moved};
use crate::git::{
    self, GitAccess, HostMessage, Libgit2Error, RepoUrl, RepositoryPool, advertised, object_id, oid,
    with_remote,
};
use crate::model::{CommitId, ObjectId, escaped};
use crate::state::Error;

/// Local refs for a fetched commit and for a commit to push.
const INCOMING: &str = "refs/gitoggle/incoming";
const OUTGOING: &str = "refs/gitoggle/outgoing";

/// The result of a push.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Pushed {
    /// The ref points to the new commit.
    Done,
    /// The ref is locked by a program, which may be dead.
    Locked(RefLock),
    /// The ref points to this commit instead of the expected one.
    Moved(Option<CommitId>),
}

/// The lock of a ref in a local repository. A lock that is removed and taken again has another identity.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct RefLock {
    pub(crate) path: PathBuf,
    number: u64,
    changed: Option<SystemTime>,
}

impl RefLock {
    fn of(repository: &Repository, name: &str) -> Option<Self> {
        use std::os::unix::fs::MetadataExt;

        let path = repository.commondir().join(format!("{name}.lock"));
        let found = path.metadata().ok()?;
        Some(Self {
            path,
            number: found.ino(),
            changed: found.modified().ok(),
        })
    }
}

/// The most output of the remote's hooks that is kept, in bytes.
const MOST_PRINTED: usize = 16 << 10;

/// One state on a remote.
#[derive(Clone)]
pub struct SharedRemote {
    /// The URL of the repository.
    pub remote: RepoUrl,
    /// The name of the state in the repository.
    pub name: String,
    /// The network settings and credentials.
    pub access: GitAccess,
    /// The name of this process in announcements.
    pub holder: String,
}

impl std::fmt::Debug for SharedRemote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SharedRemote({} {})", self.remote, self.name)
    }
}

impl SharedRemote {
    /// Returns the names of the states on `remote`, sorted.
    ///
    /// # Errors
    /// If the remote cannot be read.
    pub fn list(remote: &RepoUrl, access: &GitAccess) -> Result<Vec<String>, Error> {
        let refs: Vec<String> = match remote.local_path() {
            Some(path) => {
                let repository = git::open(path).map_err(failed(remote))?;
                let names = repository
                    .references_glob("refs/gitoggle/*")
                    .and_then(|references| {
                        references
                            .map(|reference| Ok(reference?.name().unwrap_or_default().to_owned()))
                            .collect()
                    });
                names.map_err(|error| failed(remote)(Libgit2Error(error)))?
            }
            None => {
                let refs = advertised(remote, access, &["refs/gitoggle/"]).map_err(failed(remote))?;
                refs.into_iter().map(|reference| reference.name).collect()
            }
        };
        let name = |reference: &String| {
            Some(
                reference
                    .strip_prefix("refs/gitoggle/")?
                    .strip_suffix("/applied")?
                    .to_owned(),
            )
        };
        let mut names: Vec<String> = refs.iter().filter_map(name).collect();
        names.sort();
        Ok(names)
    }

    /// Returns the ref's full name.
    pub(crate) fn reference(&self) -> Result<String, Error> {
        let name = format!("refs/gitoggle/{}/applied", self.name);
        match git2::Reference::is_valid_name(&name) {
            true => Ok(name),
            false => {
                let error = git2::Error::from_str("the name of the state cannot be part of a ref");
                Err(failed(&self.remote)(Libgit2Error(error)))
            }
        }
    }

    /// Copies the commit at the ref with everything it reaches into `into`. Returns none if the ref does not exist.
    pub(crate) fn fetch(
        &self,
        into: &Repository,
        failpoints: &Failpoints,
    ) -> Result<Option<CommitId>, Error> {
        let name = self.reference()?;
        #[cfg(test)]
        self.simulate("fetch")?;
        let Some(path) = self.remote.local_path() else {
            return self.fetch_url(into, &name);
        };
        // libgit2's local transport takes ten seconds for 100,000 documents, so missing objects are copied.
        let remote = git::open(path).map_err(failed(&self.remote))?;
        let tip = refs::look_up(&remote, &name)?;
        if let Some(tip) = tip {
            copy(&remote, into, tip, failpoints)?;
        }
        Ok(tip)
    }

    /// Opens a local remote itself, or fetches another one into a temporary folder and opens that.
    pub(crate) fn open_to_read(&self) -> Result<(RepositoryPool, Repository), Error> {
        if let Some(path) = self.remote.local_path() {
            let remote = git::open(path).map_err(failed(&self.remote))?;
            return Ok((RepositoryPool::new(remote.commondir().to_owned()), remote));
        }
        // `plan` and `status` do not write to the state folder (DESIGN, section 3).
        let folder = tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        let repository = git::init(folder.path(), RepositoryInitOptions::new().bare(true));
        let repository = repository.map_err(Error::repository(folder.path()))?;
        self.fetch_url(&repository, &self.reference()?)?;
        let pool = RepositoryPool::new(folder.path().to_owned());
        Ok((pool.within(Some(Arc::new(folder))), repository))
    }

    /// Returns the commit at the ref when [`Self::open_to_read`] opened `repository`.
    pub(crate) fn seen(&self, repository: &Repository) -> Result<Option<CommitId>, Error> {
        match self.remote.local_path() {
            Some(_) => Ok(refs::look_up(repository, &self.reference()?)?),
            None => Ok(refs::look_up(repository, INCOMING)?),
        }
    }

    fn fetch_url(&self, into: &Repository, name: &str) -> Result<Option<CommitId>, Error> {
        let Some(seen) = self.advertised(name)? else {
            return Ok(None);
        };
        // A commit is stored together with everything that it reaches, so nothing is missing.
        if into.find_commit(oid(seen.0)).is_ok() {
            return Ok(Some(seen));
        }
        let refspec = format!("+{name}:{INCOMING}");
        with_remote(into, &self.remote, &self.access, |remote| {
            remote.fetch(&[&refspec], None, None)
        })
        .map_err(failed(&self.remote))?;
        Ok(refs::look_up(into, INCOMING)?)
    }

    fn advertised(&self, name: &str) -> Result<Option<CommitId>, Error> {
        let refs = advertised(&self.remote, &self.access, &[name]).map_err(failed(&self.remote))?;
        Ok(refs
            .into_iter()
            .find(|reference| reference.name == name)
            .map(|reference| CommitId(reference.id)))
    }

    /// Moves the ref from `expected`, or from not existing, to `new` in `from`.
    pub(crate) fn push(
        &self,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error> {
        let name = self.reference()?;
        failpoints.at("shared: to be pushed")?;
        #[cfg(test)]
        self.simulate("push")?;
        #[cfg(test)]
        let expected = match git::simulated::makes(git::simulated::Mutation::PushWithoutCompare) {
            true => self
                .seen(&git::open(self.remote.local_path().expect("a path")).map_err(failed(&self.remote))?)?,
            false => expected,
        };
        let pushed = match self.remote.local_path() {
            Some(path) => {
                // libgit2's local transport overwrites refs without a comparison, so this does not push.
                let remote = git::open(path).map_err(failed(&self.remote))?;
                copy(from, &remote, new, failpoints)?;
                self.move_local(&remote, &name, expected, new, failpoints)?
            }
            None => self.push_url(from, &name, expected, new)?,
        };
        failpoints.at("shared: pushed")?;
        #[cfg(test)]
        self.simulate("pushed")?;
        Ok(pushed)
    }

    /// Makes a step on a simulated network, which takes time and fails now and then.
    #[cfg(test)]
    fn simulate(&self, step: &'static str) -> Result<(), Error> {
        let made = git::simulated::network(step);
        made.map_err(|error| {
            let source = Libgit2Error(git2::Error::from_str(error));
            failed(&self.remote)(git::GitError::Git { source })
        })
    }

    fn move_local(
        &self,
        remote: &Repository,
        name: &str,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error> {
        if refs::move_ref(remote, name, expected, new, failpoints)? == Moved::Done {
            return Ok(Pushed::Done);
        }
        let now = refs::look_up(remote, name)?;
        Ok(match RefLock::of(remote, name) {
            Some(lock) if now == expected => Pushed::Locked(lock),
            _ => Pushed::Moved(now),
        })
    }

    fn push_url(
        &self,
        from: &Repository,
        name: &str,
        expected: Option<CommitId>,
        new: CommitId,
    ) -> Result<Pushed, Error> {
        let report = PushReport::default();
        let outgoing = from.reference(OUTGOING, oid(new.0), true, "push").map(drop);
        outgoing.map_err(Error::repository(from.path()))?;
        let pushed = with_remote(from, &self.remote, &self.access, |remote| {
            let mut options = PushOptions::new();
            options.remote_callbacks(report.callbacks(expected));
            // Forced, because a record does not descend from the announcement that it replaces.
            remote.push(&[format!("+{OUTGOING}:{name}")], Some(&mut options))
        });
        if pushed.is_ok() && report.verdict.borrow().as_ref().is_some_and(Result::is_ok) {
            return Ok(Pushed::Done);
        }
        // The push was rejected, cut off, or got no verdict. The current ref distinguishes a lost race from a rejection.
        let now = self.advertised(name)?;
        if now == Some(new) {
            return Ok(Pushed::Done);
        }
        if now != expected {
            return Ok(Pushed::Moved(now));
        }
        Err(failed(&self.remote)(
            match (pushed, report.verdict.into_inner()) {
                (Err(_), _) if report.has_moved.get() => {
                    RemoteFault::Rejected("the ref has moved".to_owned())
                }
                (Err(error), _) => error.into(),
                (Ok(()), Some(Err(message))) => rejection(&message, &report.printed.borrow()),
                (Ok(()), _) => {
                    Libgit2Error(git2::Error::from_str("it did not report the result of the push")).into()
                }
            },
        ))
    }
}

/// What a host reports while it receives a push.
#[derive(Default)]
struct PushReport {
    verdict: RefCell<Option<Result<(), String>>>,
    /// The output of its hooks.
    printed: RefCell<Vec<u8>>,
    /// Whether the ref was not as expected.
    has_moved: Cell<bool>,
}

impl PushReport {
    fn callbacks(&self, expected: Option<CommitId>) -> RemoteCallbacks<'_> {
        let mut callbacks = RemoteCallbacks::new();
        // The server compares only with the id that it advertised, so this compares it with the expected one.
        callbacks.push_negotiation(move |updates| {
            let was = expected.map_or(ObjectId([0; 20]), |commit| commit.0);
            match updates.iter().all(|update| object_id(update.src()) == was) {
                true => Ok(()),
                false => {
                    self.has_moved.set(true);
                    Err(git2::Error::from_str("the ref has moved"))
                }
            }
        });
        // `Remote::push` succeeds even if the server rejected the ref; only this callback receives the verdict.
        callbacks.push_update_reference(|_, message| {
            *self.verdict.borrow_mut() = Some(message.map_or(Ok(()), |message| Err(message.to_owned())));
            Ok(())
        });
        callbacks.sideband_progress(|bytes| {
            let mut printed = self.printed.borrow_mut();
            let left = MOST_PRINTED.saturating_sub(printed.len()).min(bytes.len());
            printed.extend_from_slice(&bytes[..left]);
            true
        });
        callbacks
    }
}

/// Returns the verdict of a host that rejected a push, with what it printed.
fn rejection(message: &str, printed: &[u8]) -> RemoteFault {
    let said = HostMessage::of_side_band(printed);
    let said = said.map_or_else(String::new, |said| format!(": {said}"));
    RemoteFault::Rejected(format!("{}{said}", escaped(message)))
}

fn failed<E: Into<RemoteFault>>(remote: &RepoUrl) -> impl FnOnce(E) -> Error + use<E> {
    let remote = remote.to_string();
    move |source| Error::Remote {
        remote,
        source: source.into(),
    }
}

/// Copies the objects that `tip` reaches and `to` lacks as one pack.
fn copy(from: &Repository, to: &Repository, tip: CommitId, failpoints: &Failpoints) -> Result<(), Error> {
    let broken = |error| Error::repository(from.path())(error);
    let (source, target) = (
        from.odb().map_err(broken)?,
        to.odb().map_err(Error::repository(to.path()))?,
    );
    target.refresh().map_err(Error::repository(to.path()))?;
    let mut objects = Vec::new();
    let mut seen = HashSet::new();
    let mut waiting = vec![tip.0];
    while let Some(id) = waiting.pop() {
        // Every writer adds an object together with everything it reaches, so nothing is missing below a present object.
        if !seen.insert(id) || target.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH) {
            continue;
        }
        let object = source.read(oid(id)).map_err(broken)?;
        let kind = match object.kind() {
            ObjectType::Commit => {
                let commit = from.find_commit(object.id()).map_err(broken)?;
                waiting.push(object_id(commit.tree_id()));
                waiting.extend(commit.parent_ids().map(object_id));
                ObjectKind::Commit
            }
            ObjectType::Tree => {
                let tree = from.find_tree(object.id()).map_err(broken)?;
                waiting.extend(tree.iter().map(|entry| object_id(entry.id())));
                ObjectKind::Tree
            }
            _ => ObjectKind::Blob,
        };
        objects.push(Object::new(kind, object.data().to_vec()));
    }
    let folder = to.commondir().join("objects/pack");
    std::fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
    pack::write(&folder, &objects, failpoints)?;
    target.refresh().map_err(Error::repository(to.path()))
}
