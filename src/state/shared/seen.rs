//! Records in the state folder which shared state the folder caches, and the last commit seen at its ref. A ref that was
//! deleted is restored from that commit.

use crate::git::{oid, refs};
use crate::model::CommitId;
use crate::state::Error;
use crate::state::applied::AppliedRepository;
use crate::state::journal::JournalFile;
use crate::state::journal::index::JournalIndex;

const SEEN: &str = "refs/gitoggle/seen/";

pub(super) fn look_up(applied: &AppliedRepository, state: &str) -> Result<Option<CommitId>, Error> {
    Ok(refs::look_up(applied.repository(), &format!("{SEEN}{state}"))?)
}

pub(super) fn keep(applied: &AppliedRepository, state: &str, commit: CommitId) -> Result<(), Error> {
    let name = format!("{SEEN}{state}");
    let kept = applied.repository().reference(&name, oid(commit.0), true, "seen");
    kept.map(drop).map_err(applied.broken())
}

/// Empties a folder that caches a state other than `state`.
///
/// # Errors
/// [`Error::OtherState`] if requests of the other state have no recorded outcome yet.
pub(super) fn adopt_folder(
    state: &str,
    applied: &mut AppliedRepository,
    journal: &mut JournalFile,
) -> Result<(), Error> {
    let Some(other) = other_state(applied, state)? else {
        return Ok(());
    };
    if !journal.index().is_empty() {
        // Only this folder may know these requests, and they belong to the list of the other state.
        return Err(Error::OtherState { other });
    }
    journal.replace(JournalIndex::default())?;
    applied.adopt(None)?;
    // Removed last, so that the next process repeats an interrupted adoption.
    let found = applied.repository().find_reference(&format!("{SEEN}{other}"));
    found.and_then(|mut seen| seen.delete()).map_err(applied.broken())
}

/// Returns the name of the state that the folder caches; none if that is `state`.
fn other_state(applied: &AppliedRepository, state: &str) -> Result<Option<String>, Error> {
    let found = applied.repository().references_glob(&format!("{SEEN}*"));
    let mut others = Vec::new();
    for reference in found.map_err(applied.broken())? {
        let reference = reference.map_err(applied.broken())?;
        let seen = reference.name().unwrap_or_default();
        others.extend(seen.strip_prefix(SEEN).map(str::to_owned));
    }
    Ok(match others.iter().any(|other| other == state) {
        true => None,
        false => others.pop(),
    })
}
