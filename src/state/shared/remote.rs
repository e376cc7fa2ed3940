//! Reads and moves a ref of the repository through which processes share state, a path like any other address.
//!
//! A push moves the ref only if it still points to the expected commit. The remote's verdict for the ref decides; without
//! one, the ref is looked up again.

use std::path::Path;
use std::sync::Arc;

use git2::{Repository, RepositoryInitOptions};

use super::fault::RemoteFault;
#[cfg(test)]
use super::simulated_remote;
use crate::git::{self, Failpoints, GitAccess, Libgit2Error, PushVerdict, RepoUrl, RepositoryPool, refs};
use crate::model::CommitId;
use crate::state::Error;

/// Where a fetch puts the refs of one state.
const INCOMING: &str = "refs/gitoggle/remote";

/// The result of a push.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Pushed {
    /// The ref points to the new commit.
    Done,
    /// The ref points to this commit instead of the expected one.
    Moved(Option<CommitId>),
}

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
        check(remote)?;
        let refs = git::ls_remote(remote, access).map_err(failed(remote))?;
        let name =
            |found: &str| Some(found.strip_prefix("refs/gitoggle/")?.strip_suffix("/applied")?.to_owned());
        let mut names: Vec<String> = refs.iter().filter_map(|found| name(&found.name)).collect();
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
        #[cfg_attr(not(test), expect(unused_variables, reason = "only a simulation has a point here"))]
        failpoints: &Failpoints,
    ) -> Result<Option<CommitId>, Error> {
        #[cfg(test)]
        if let Some(simulated) = simulated_remote::of(self) {
            return simulated.fetch(into, &self.reference()?, failpoints);
        }
        self.fetch_to(into)
    }

    fn fetch_to(&self, into: &Repository) -> Result<Option<CommitId>, Error> {
        self.reference()?;
        check(&self.remote)?;
        // With a wildcard, a ref that does not exist is not an error, and its copy is removed.
        let refspec = format!("+refs/gitoggle/{}/*:{INCOMING}/*", self.name);
        git::fetch(into.path(), &self.remote, &self.access, &[refspec]).map_err(failed(&self.remote))?;
        Ok(refs::look_up(into, &format!("{INCOMING}/applied"))?)
    }

    /// Opens a remote at a path, or fetches another one into a temporary folder that borrows what `folder` has.
    pub(crate) fn open_to_read(
        &self,
        folder: &Path,
    ) -> Result<(RepositoryPool, Repository, Option<CommitId>), Error> {
        if let Some(path) = self.remote.local_path() {
            let remote = git::open(path).map_err(failed(&self.remote))?;
            let at = refs::look_up(&remote, &self.reference()?)?;
            return Ok((RepositoryPool::new(remote.commondir().to_owned()), remote, at));
        }
        // `plan` and `status` do not write to the state folder (DESIGN, section 3).
        let temporary =
            tempfile::tempdir().map_err(Error::io("create a folder in", &std::env::temp_dir()))?;
        let path = temporary.path();
        git::init(path, RepositoryInitOptions::new().bare(true)).map_err(Error::repository(path))?;
        let own =
            std::path::absolute(folder.join("state.git/objects")).ok().filter(|objects| objects.is_dir());
        if let Some(own) = own {
            let info = path.join("objects/info");
            std::fs::create_dir_all(&info)
                .and_then(|()| std::fs::write(info.join("alternates"), format!("{}\n", own.display())))
                .map_err(Error::io("write to", &info))?;
        }
        let repository = git::open_bare(path).map_err(Error::repository(path))?;
        let at = self.fetch_to(&repository)?;
        let pool = RepositoryPool::new(path.to_owned());
        Ok((pool.within(Some(Arc::new(temporary))), repository, at))
    }

    /// Moves the ref from `expected`, or from not existing, to `new` in `from`.
    pub(crate) fn push(
        &self,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error> {
        failpoints.at("shared: to be pushed")?;
        #[cfg(test)]
        if let Some(simulated) = simulated_remote::of(self) {
            return simulated.push(from, &self.reference()?, expected, new, failpoints);
        }
        let pushed = self.try_push(from, expected, new)?;
        failpoints.at("shared: pushed")?;
        Ok(pushed)
    }

    fn try_push(
        &self,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
    ) -> Result<Pushed, Error> {
        let name = self.reference()?;
        check(&self.remote)?;
        let pushed = git::push(from.path(), &self.remote, &self.access, &name, expected, new);
        let refusal: RemoteFault = match pushed {
            Ok(PushVerdict::Done) => return Ok(Pushed::Done),
            Ok(PushVerdict::Rejected(why)) => RemoteFault::Rejected(why),
            Err(error) => error.into(),
        };
        // The push was rejected, cut off, or got no verdict. The current ref distinguishes a lost race from a rejection.
        let Ok(now) = self.fetch_to(from) else {
            return Err(failed(&self.remote)(refusal));
        };
        match now {
            now if now == Some(new) => Ok(Pushed::Done),
            now if now != expected => Ok(Pushed::Moved(now)),
            _ => Err(failed(&self.remote)(refusal)),
        }
    }
}

/// Opens a remote at a path, so that what is wrong with it has its own error.
fn check(remote: &RepoUrl) -> Result<(), Error> {
    match remote.local_path() {
        Some(path) => git::open(path).map(drop).map_err(failed(remote)),
        None => Ok(()),
    }
}

pub(super) fn failed<E: Into<RemoteFault>>(remote: &RepoUrl) -> impl FnOnce(E) -> Error + use<E> {
    let remote = remote.to_string();
    move |source| Error::Remote { remote, source: source.into() }
}
