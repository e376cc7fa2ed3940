//! Reads and moves a ref of the repository through which processes share state, a path like any other
//! address.
//!
//! A push moves the ref only if it still points to the expected commit. The remote's verdict for the ref
//! decides; without one, the ref is looked up again.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use git2::{Repository, RepositoryInitOptions};

use super::SharedOptions;
use super::fault::RemoteFault;
use super::head;
use super::head::SharedHead;
use crate::git::{
    self, Failpoints, GitAccess, Libgit2Error, PushVerdict, RepoUrl, RepositoryPool, TemporaryFolder, refs,
};
use crate::model::{CommitId, chain};
use crate::state::applied::AppliedRepository;
use crate::state::{Clock, Error, Stop};

/// Where a fetch puts the refs of one state.
const INCOMING: &str = "refs/gitoggle/remote";

#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Pushed {
    /// The ref points to the new commit.
    Done,
    /// The ref points to this commit instead of the expected one.
    Moved(Option<CommitId>),
}

#[derive(Clone)]
pub struct SharedRemote {
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

/// Reads and moves the ref of a shared state.
pub(crate) trait RemoteRef: std::fmt::Debug + Send + Sync {
    /// Copies the commit at the ref with everything it reaches into `into`. Returns none if the ref does not
    /// exist.
    fn fetch(
        &self,
        remote: &SharedRemote,
        into: &Repository,
        failpoints: &Failpoints,
    ) -> Result<Option<CommitId>, Error>;

    /// Moves the ref from `expected`, or from not existing, to `new` in `from`.
    fn push(
        &self,
        remote: &SharedRemote,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error>;
}

/// The `git` program.
#[derive(Debug)]
pub(crate) struct GitProgram;

impl RemoteRef for GitProgram {
    fn fetch(
        &self,
        remote: &SharedRemote,
        into: &Repository,
        _: &Failpoints,
    ) -> Result<Option<CommitId>, Error> {
        remote.fetch_to(into)
    }

    fn push(
        &self,
        remote: &SharedRemote,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error> {
        let pushed = remote.try_push(from, expected, new)?;
        failpoints.at("shared: pushed")?;
        Ok(pushed)
    }
}

impl SharedRemote {
    /// Returns the names of the states on `remote`, sorted.
    pub fn list(remote: &RepoUrl, access: &GitAccess) -> Result<Vec<String>, Error> {
        check(remote)?;
        let refs = git::ls_remote(remote, access, &[]).map_err(failed(remote))?;
        let name =
            |found: &str| Some(found.strip_prefix("refs/gitoggle/")?.strip_suffix("/applied")?.to_owned());
        let mut names: Vec<String> = refs.iter().filter_map(|found| name(&found.name)).collect();
        names.sort_unstable();
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

    /// Copies the commit at the ref with everything it reaches into `into`. Returns none if the ref does not
    /// exist.
    fn fetch_to(&self, into: &Repository) -> Result<Option<CommitId>, Error> {
        self.reference()?;
        check(&self.remote)?;
        // With a wildcard, a ref that does not exist is not an error, and its copy is removed.
        let refspec = format!("+refs/gitoggle/{}/*:{INCOMING}/*", self.name);
        git::fetch(into.path(), &self.remote, &self.access, &[refspec]).map_err(failed(&self.remote))?;
        Ok(refs::look_up(into, &format!("{INCOMING}/applied"))?)
    }

    /// Opens a remote at a path, or fetches another one into a clone that borrows what the state folder
    /// `folder` has.
    pub(crate) fn open_to_read(
        &self,
        folder: &Path,
    ) -> Result<(RepositoryPool, Repository, Option<CommitId>), Error> {
        if let Some(path) = self.remote.local_path() {
            let remote = git::open(path).map_err(failed(&self.remote))?;
            let at = refs::look_up(&remote, &self.reference()?)?;
            return Ok((RepositoryPool::new(remote.commondir().to_owned()), remote, at));
        }
        // `plan` and `status` do not change the state (src/cli/README.md, "Commands that only
        // read"). Their clone is on its disk, which was sized for one.
        let temporary =
            TemporaryFolder::create(Some(folder)).map_err(Error::io("create a folder in", folder))?;
        let path = temporary.path();
        git::init(path, RepositoryInitOptions::new().bare(true)).map_err(Error::repository(path))?;
        let own = std::path::absolute(folder.join("state.git")).ok();
        if let Some(own) = own.filter(|own| own.join("objects").is_dir()) {
            git::borrow_objects(path, &own).map_err(Error::io("write to", path))?;
        }
        let repository = git::open_bare(path).map_err(Error::repository(path))?;
        let at = self.fetch_to(&repository)?;
        let pool = RepositoryPool::new(path.to_owned());
        Ok((pool.within(Some(Arc::new(temporary))), repository, at))
    }

    /// Moves the ref from `expected`, or from not existing, to `new` in `from`.
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
        // The push was rejected, cut off, or got no verdict. The current ref distinguishes a lost race from a
        // rejection.
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
pub(super) fn check(remote: &RepoUrl) -> Result<(), Error> {
    match remote.local_path() {
        Some(path) => git::open(path).map(drop).map_err(failed(remote)),
        None => Ok(()),
    }
}

pub(super) fn failed<E: Into<RemoteFault>>(remote: &RepoUrl) -> impl FnOnce(E) -> Error + use<E> {
    let remote = remote.to_string();
    move |source| Error::Remote { remote, source: source.into() }
}

/// The time between two lookups of a held ref, and between two tries of a push.
pub(super) const REF_POLL: Duration = Duration::from_secs(1);

/// How often a rejected push is repeated while the ref is as it was.
const REJECTIONS: u32 = 2;

/// How long temporary failures of a lookup are retried.
pub(super) const RETRY: Duration = Duration::from_secs(8);

/// How long the first push of a pass is retried, before which nothing is sent.
const FIRST_PUSH: Duration = Duration::from_secs(90);

/// What is retried, and for how long.
#[derive(Clone, Copy)]
pub(super) struct Patience {
    limit: Duration,
    refusals: RetriedRefusals,
}

/// The refusals that are retried.
#[derive(Clone, Copy)]
enum RetriedRefusals {
    None,
    /// Those of access, such as a 403.
    Access,
    /// Those of hooks as well.
    All,
}

impl Patience {
    /// Temporary failures.
    pub(super) const fn failures(limit: Duration) -> Self {
        Self { limit, refusals: RetriedRefusals::None }
    }

    /// The first push of a pass: the host has just let this process read.
    pub(super) const fn first_push() -> Self {
        Self { limit: FIRST_PUSH, refusals: RetriedRefusals::Access }
    }

    /// Refusals, too: once a request was sent, its outcome must reach the ref.
    pub(super) const fn refusals_too(limit: Duration) -> Self {
        Self { limit, refusals: RetriedRefusals::All }
    }

    fn has(self, error: &Error) -> bool {
        let Error::Remote { source, .. } = error else { return error.is_transient() };
        match self.refusals {
            RetriedRefusals::None => source.is_transient(),
            RetriedRefusals::Access => source.is_transient() || source.is_refusal(),
            RetriedRefusals::All => true,
        }
    }
}

/// The shared ref as this process saw it last.
pub(super) struct TrackedRef {
    pub(super) remote: SharedRemote,
    pub(super) clock: Arc<dyn Clock>,
    host: Arc<dyn RemoteRef>,
    /// The commit at the ref; none if the ref does not exist.
    pub(super) at: Option<CommitId>,
    /// The content of that commit.
    pub(super) head: SharedHead,
    pub(super) failpoints: Failpoints,
    /// Commits that were pushed without a verdict, and the start of the first push of each. If the ref points
    /// to one of them, that push succeeded.
    unconfirmed: BTreeMap<CommitId, Duration>,
    /// Why the host refuses pushes, as it was logged.
    refusal: Option<String>,
}

impl TrackedRef {
    pub(super) fn new(options: SharedOptions, failpoints: Failpoints) -> Self {
        let SharedOptions { remote, clock, host } = options;
        Self {
            remote,
            clock,
            host,
            at: None,
            head: SharedHead::default(),
            failpoints,
            unconfirmed: BTreeMap::new(),
            refusal: None,
        }
    }

    /// Looks up the ref, and copies its commit into the state folder.
    pub(super) fn fetch(&mut self, into: &AppliedRepository, stop: Stop<'_>) -> Result<(), Error> {
        self.at = self.retry(Patience::failures(RETRY), stop, |tracked| {
            tracked.host.fetch(&tracked.remote, into.repository(), &tracked.failpoints)
        })?;
        self.unconfirmed.clear();
        Ok(())
    }

    /// Pushes as [`TrackedRef::push`], and retries.
    pub(super) fn push_within(
        &mut self,
        patience: Patience,
        applied: &AppliedRepository,
        head: &SharedHead,
        now: i64,
        stop: Stop<'_>,
    ) -> Result<Duration, Error> {
        self.retry(patience, stop, |tracked| tracked.push(applied, head, now))
    }

    /// Moves the ref from the commit that was seen last. Returns the start of the first push of that content,
    /// at which the term begins.
    ///
    /// # Errors
    /// [`Error::Raced`] if another process moved the ref, and the cause if the push failed or got no verdict.
    pub(super) fn push(
        &mut self,
        applied: &AppliedRepository,
        head: &SharedHead,
        now: i64,
    ) -> Result<Duration, Error> {
        let (objects, new) = head.objects(applied.base_url(), now);
        applied.write(&objects)?;
        let mut rejections = 0_u32;
        loop {
            // Before the push: another process may see the commit long before this one receives the verdict.
            let began = self.unconfirmed.get(&new).copied();
            let began = began.unwrap_or_else(|| self.clock.elapsed());
            let pushed = self.failpoints.at("shared: to be pushed").map_err(Error::from).and_then(|()| {
                self.host.push(&self.remote, applied.repository(), self.at, new, &self.failpoints)
            });
            match pushed {
                Ok(Pushed::Done) => {
                    (self.at, self.head) = (Some(new), head.clone());
                    self.unconfirmed.clear();
                    self.refusal = None;
                    head::keep(applied, &self.remote.name, new)?;
                    return Ok(began);
                }
                // A push without a verdict had succeeded, and no other process has moved the ref since.
                Ok(Pushed::Moved(Some(found))) if self.unconfirmed.contains_key(&found) => {
                    self.at = Some(found);
                }
                Ok(Pushed::Moved(_)) => return Err(Error::Raced(self.remote.name.clone())),
                // Another process may have moved the ref and withdrawn its announcement since, so a lost race
                // can look like a refusal. The verdict of a host that refuses does not change.
                Err(Error::Remote { source: RemoteFault::Rejected(_), .. }) if rejections < REJECTIONS => {
                    rejections += 1;
                    self.clock.sleep(REF_POLL);
                }
                Err(error) => {
                    // The remote may have moved the ref although no verdict arrived.
                    self.unconfirmed.insert(new, began);
                    return Err(error);
                }
            }
        }
    }

    fn retry<T>(
        &mut self,
        patience: Patience,
        stop: Stop<'_>,
        mut work: impl FnMut(&mut Self) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let began = self.clock.elapsed();
        loop {
            let error = match work(self) {
                Err(error) if patience.has(&error) && !stop() => error,
                result => return result,
            };
            if self.clock.elapsed().saturating_sub(began) >= patience.limit {
                return Err(error);
            }
            self.log_retry(&error);
            self.clock.sleep(REF_POLL);
        }
    }

    /// Logs that a failure is retried. A refusal may hold publishing back for long, and only the host's words
    /// explain it.
    pub(super) fn log_retry(&mut self, error: &Error) {
        let reason = chain(error);
        if error.is_transient() {
            tracing::debug!(name: "shared_state_retry", reason, "could not reach the shared state; retrying");
        } else if self.refusal.as_ref() != Some(&reason) {
            tracing::warn!(name: "shared_state_refused", reason, "the host of the shared state refuses a push; retrying, and sending nothing meanwhile");
            self.refusal = Some(reason);
        }
    }
}
