//! Records in the state folder the last commit seen at the ref. A ref that was deleted is restored from that commit.

use crate::git::{Repository, oid, refs};
use crate::model::CommitId;
use crate::state::Error;
use crate::state::applied::AppliedRepository;

const SEEN: &str = "refs/gitoggle/seen/";

pub(super) fn look_up(applied: &AppliedRepository, state: &str) -> Result<Option<CommitId>, Error> {
    Ok(refs::look_up(applied.repository(), &format!("{SEEN}{state}"))?)
}

pub(super) fn keep(applied: &AppliedRepository, state: &str, commit: CommitId) -> Result<(), Error> {
    let name = format!("{SEEN}{state}");
    let kept = applied.repository().reference(&name, oid(commit.0), true, "seen");
    kept.map(drop).map_err(applied.broken())
}

/// Returns the name of the state that the folder caches.
pub(crate) fn cached(repository: &Repository) -> Result<Option<String>, Error> {
    let names =
        refs::short_names(repository, &format!("{SEEN}*")).map_err(Error::repository(repository.path()))?;
    Ok(names.iter().find_map(|name| name.rsplit('/').next().map(str::to_owned)))
}
