//! The state remote of a simulated process: a repository at a path, which libgit2 reads and moves. No program
//! runs, so that a thousand histories take seconds, and each step takes the simulated time of a network.

use git2::{ObjectType, OdbLookupFlags, Repository};

use super::fault::RemoteFault;
use super::remote::{Pushed, RemoteRef, SharedRemote, failed};
use crate::git::refs::{self, Moved};
use crate::git::{self, Failpoints, GitError, object_id, oid, simulated};
use crate::model::{CommitId, ObjectId};
use crate::state::Error;

/// The remotes of simulated processes.
#[derive(Debug)]
pub(crate) struct SimulatedRemote;

impl RemoteRef for SimulatedRemote {
    fn fetch(
        &self,
        at: &SharedRemote,
        into: &Repository,
        failpoints: &Failpoints,
    ) -> Result<Option<CommitId>, Error> {
        let name = at.reference()?;
        step(at, "fetch")?;
        let remote = open(at)?;
        let tip = refs::look_up(&remote, &name)?;
        if let Some(tip) = tip {
            copy(&remote, into, tip, failpoints)?;
        }
        Ok(tip)
    }

    fn push(
        &self,
        at: &SharedRemote,
        from: &Repository,
        expected: Option<CommitId>,
        new: CommitId,
        failpoints: &Failpoints,
    ) -> Result<Pushed, Error> {
        let name = at.reference()?;
        step(at, "push")?;
        let remote = open(at)?;
        copy(from, &remote, new, failpoints)?;
        let moved = refs::move_ref(&remote, &name, expected, new, failpoints)?;
        failpoints.at("shared: pushed")?;
        match moved {
            Moved::Done => {
                step(at, "pushed")?;
                Ok(Pushed::Done)
            }
            Moved::Raced => {
                step(at, "raced")?;
                let now = refs::look_up(&remote, &name)?;
                match now == expected {
                    // A killed process left its lock.
                    true => Err(unreachable(at, "the ref is locked")),
                    false => Ok(Pushed::Moved(now)),
                }
            }
        }
    }
}

fn open(at: &SharedRemote) -> Result<Repository, Error> {
    let path = at.remote.local_path().expect("a simulated remote is a path");
    git::open(path).map_err(failed(&at.remote))
}

/// Makes a step on a simulated network, which takes time and fails now and then.
fn step(at: &SharedRemote, step: &'static str) -> Result<(), Error> {
    simulated::network(step).map_err(|error| match error {
        simulated::REFUSED => failed(&at.remote)(RemoteFault::Rejected(error.to_owned())),
        error => unreachable(at, error),
    })
}

fn unreachable(at: &SharedRemote, why: &str) -> Error {
    failed(&at.remote)(GitError::unreachable(at.remote.clone(), why))
}

/// Copies the objects that `tip` reaches and `to` lacks.
fn copy(from: &Repository, to: &Repository, tip: CommitId, failpoints: &Failpoints) -> Result<(), Error> {
    let broken = || Error::repository(from.path());
    let (source, target) = (from.odb().map_err(broken())?, to.odb().map_err(Error::repository(to.path()))?);
    target.refresh().map_err(Error::repository(to.path()))?;
    let mut missing: Vec<ObjectId> = Vec::new();
    let mut waiting = vec![tip.0];
    while let Some(id) = waiting.pop() {
        if missing.contains(&id) || target.exists_ext(oid(id), OdbLookupFlags::NO_REFRESH) {
            continue;
        }
        missing.push(id);
        match source.read(oid(id)).map_err(broken())?.kind() {
            ObjectType::Commit => {
                let commit = from.find_commit(oid(id)).map_err(broken())?;
                waiting.push(object_id(commit.tree_id()));
                waiting.extend(commit.parent_ids().map(object_id));
            }
            ObjectType::Tree => {
                let tree = from.find_tree(oid(id)).map_err(broken())?;
                waiting.extend(tree.iter().map(|entry| object_id(entry.id())));
            }
            _ => {}
        }
    }
    failpoints.at("remote: to be copied")?;
    // What an object names comes before it, so that an interrupted copy leaves nothing incomplete.
    for id in missing.into_iter().rev() {
        let object = source.read(oid(id)).map_err(broken())?;
        target.write(object.kind(), object.data()).map_err(Error::repository(to.path()))?;
    }
    Ok(())
}
