//! Writes and reads the commit at the shared ref.
//!
//! A record without unknown toggles is the applied commit itself. Every other commit wraps it: its tree is
//! the applied tree, its first parent is the applied commit, if one exists, and its last parent holds one
//! line per unknown toggle, which another process can send again. An announcement also has a term.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use super::protocol::{RefStatus, TERM, silence};
use super::remote::TrackedRef;
use crate::git::pack::{Object, ObjectKind};
use crate::git::{Repository, blob, object_id, oid, refs};
use crate::model::{CommitId, DeploymentEffect, Sent, ToggleId, escaped};
use crate::state::applied::commit::{self, CommitOrigin, trailer};
use crate::state::applied::{AppliedRepository, Tip};
use crate::state::journal::line;
use crate::state::{Error, Stop};

const LIST: &str = "intents.jsonl";

/// The content of the commit at the ref.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct SharedHead {
    /// None if nothing was ever applied.
    pub(crate) applied: Option<Tip>,
    pub(crate) unknown: BTreeMap<ToggleId, Sent>,
    /// The newest revision, announced or recorded.
    pub(crate) revision: Option<CommitId>,
    /// The process that is publishing; none in a record.
    pub(crate) announcement: Option<Announcement>,
}

/// The announcement of a process that is publishing.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) struct Announcement {
    /// Random, the same for all announcements of one pass.
    pub(crate) mark: String,
    pub(crate) holder: String,
    pub(crate) timeout: Duration,
    term: Duration,
    /// Makes each announcement of a pass another commit, whatever the wall clock shows.
    renewals: u64,
}

impl Announcement {
    pub(crate) fn new(mark: String, holder: String, timeout: Duration) -> Self {
        Self { mark, holder, timeout, term: TERM, renewals: 0 }
    }

    pub(crate) fn renew(&mut self) {
        self.renewals += 1;
    }
}

impl SharedHead {
    /// Returns the status for a process whose journal belongs to the announcement `mark`.
    pub(crate) fn status(&self, mark: Option<&str>) -> RefStatus {
        match &self.announcement {
            None => RefStatus::Free,
            Some(own) if Some(own.mark.as_str()) == mark => RefStatus::Own,
            Some(other) => RefStatus::Foreign(silence(other.term, other.timeout)),
        }
    }

    /// Returns whether the applied commit has all of the content.
    fn is_plain(&self) -> bool {
        let revision = self.applied.as_ref().map(|tip| tip.revision);
        self.applied.is_some()
            && self.unknown.is_empty()
            && self.announcement.is_none()
            && revision == self.revision
    }

    /// Returns the objects to write and the commit for the ref.
    pub(crate) fn objects(&self, base_url: &str, now: i64) -> (Vec<Object>, CommitId) {
        if let Some(tip) = self.applied.as_ref().filter(|_| self.is_plain()) {
            return (Vec::new(), tip.commit);
        }
        let mut objects = self.list(now);
        let list = objects.last().expect("a list ends in its commit").id;
        let empty = Object::new(ObjectKind::Tree, Vec::new());
        let applied = self.applied.as_ref();
        let tree = applied.map_or(empty.id, |tip| tip.tree);
        let parents: Vec<_> = applied
            .map(|tip| tip.commit)
            .into_iter()
            // The list is a parent, because a fetch copies only objects that the commit reaches.
            .chain([CommitId(list)])
            .collect();
        let wrapper = commit::commit(tree, &parents, now, &self.message(base_url, CommitId(list)));
        let id = CommitId(wrapper.id);
        objects.extend([empty, wrapper]);
        (objects, id)
    }

    fn message(&self, base_url: &str, list: CommitId) -> String {
        let count = crate::model::counted(self.unknown.len(), "toggle");
        let subject = match &self.announcement {
            Some(_) => format!("Send {count}"),
            None => format!("Keep {count} as unknown"),
        };
        let origin = CommitOrigin {
            revision: self.revision,
            revision_subject: None,
            signer: None,
            base_url,
            // The applied commits record the rest.
            allowances: &[],
            asserted: &BTreeMap::new(),
        };
        let mut message = commit::message(&origin.subject(&subject), &origin, &self.effects());
        let _ = writeln!(message, "Gitoggle-Intents: {list}");
        if let Some(tip) = &self.applied {
            let _ = writeln!(message, "Gitoggle-Applied: {}", tip.commit);
        }
        if let Some(announcement) = &self.announcement {
            let Announcement { mark, holder, timeout, term, renewals } = announcement;
            let _ = writeln!(message, "Gitoggle-Holder: {}", escaped(holder));
            let _ = writeln!(message, "Gitoggle-Mark: {mark}");
            let _ = writeln!(message, "Gitoggle-Term: {}", term.as_secs());
            // Rounded up: a successor must not wait for less than the timeout.
            let timeout = timeout.as_secs() + u64::from(timeout.subsec_nanos() > 0);
            let _ = writeln!(message, "Gitoggle-Timeout: {timeout}");
            let _ = writeln!(message, "Gitoggle-Renewals: {renewals}");
        }
        message
    }

    fn effects(&self) -> Vec<(ToggleId, DeploymentEffect)> {
        let unknown = self.unknown.iter();
        let effects = unknown.map(|(id, sent)| (id.clone(), DeploymentEffect::of_action(sent.action)));
        effects.collect()
    }

    /// Returns the objects of the commit that lists the unknown toggles, that commit last.
    fn list(&self, now: i64) -> Vec<Object> {
        let lines = self.unknown.iter().zip(1..);
        let text: String = lines.map(|((id, sent), number)| line::intent(number, id, None, sent)).collect();
        let blob = Object::new(ObjectKind::Blob, text.into_bytes());
        let tree = [format!("100644 {LIST}\0").as_bytes(), &blob.id.0].concat();
        let tree = Object::new(ObjectKind::Tree, tree);
        let count = crate::model::counted(self.unknown.len(), "toggle");
        let commit = commit::commit(tree.id, &[], now, &format!("List the requests of {count}\n"));
        vec![blob, tree, commit]
    }

    /// Reads `commit`. Once anything may have been stored, it must belong to `base_url`, if one is given.
    pub(crate) fn read(
        repository: &Repository,
        commit: CommitId,
        base_url: Option<&str>,
    ) -> Result<Self, Error> {
        let broken = Error::repository(repository.path());
        let found = repository.find_object(oid(commit.0), None).map_err(broken)?;
        let found = found.into_commit().map_err(|_| Error::ForeignCommit { commit: commit.0 })?;
        let message = found.message().unwrap_or_default();
        let head = match trailer(message, "Gitoggle-Intents") {
            None => Self::plain(commit::tip(&found)?),
            Some(list) => Self::wrapped(repository, &found, list)?,
        };
        let recorded = trailer(message, "Gitoggle-Base-Url").unwrap_or_default();
        // State is bound to a base URL once something may have been stored there (src/state/README.md, "One
        // writer, one place, one service").
        let is_bound = head.applied.is_some() || !head.unknown.is_empty();
        if let Some(wanted) = base_url.filter(|_| is_bound) {
            Error::check_base_url(recorded, wanted)?;
        }
        Ok(head)
    }

    fn plain(tip: Tip) -> Self {
        Self { revision: Some(tip.revision), applied: Some(tip), ..Self::default() }
    }

    fn wrapped(repository: &Repository, found: &git2::Commit<'_>, list: &str) -> Result<Self, Error> {
        let foreign = || Error::ForeignCommit { commit: object_id(found.id()) };
        let message = found.message().unwrap_or_default();
        let id = |text: &str| text.parse().map(CommitId).map_err(|_| foreign());
        let list = id(list)?;
        let applied = trailer(message, "Gitoggle-Applied").map(id).transpose()?;
        // A fetch copies parents. A commit that only a trailer names may be missing.
        let parents: Vec<CommitId> = found.parent_ids().map(|id| CommitId(object_id(id))).collect();
        if !parents.contains(&list) || applied.is_some_and(|applied| !parents.contains(&applied)) {
            return Err(foreign());
        }
        let seconds = |key| {
            let text = trailer(message, key)?;
            text.parse().ok().map(Duration::from_secs)
        };
        let text = |key| trailer(message, key).unwrap_or_default().to_owned();
        let announcement = seconds("Gitoggle-Term").map(|term| Announcement {
            mark: text("Gitoggle-Mark"),
            holder: text("Gitoggle-Holder"),
            timeout: seconds("Gitoggle-Timeout").unwrap_or_default(),
            term,
            renewals: 0,
        });
        Ok(Self {
            applied: applied.map(|applied| Tip::at(repository, applied)).transpose()?,
            unknown: listed(repository, list)?,
            revision: trailer(message, "Gitoggle-Revision").map(id).transpose()?,
            announcement,
        })
    }
}

/// Reads the requests of a list.
fn listed(repository: &Repository, list: CommitId) -> Result<BTreeMap<ToggleId, Sent>, Error> {
    let broken = || Error::repository(repository.path());
    let foreign = || Error::ForeignCommit { commit: list.0 };
    let commit = repository.find_commit(oid(list.0)).map_err(broken())?;
    let tree = commit.tree().map_err(broken())?;
    let entry = tree.get_name(LIST).ok_or_else(foreign)?;
    let text = blob(repository, object_id(entry.id()))?;
    let replay = line::replay(&text).map_err(|_| foreign())?;
    Ok(replay.index.unknown_requests())
}

/// The ref with the last commit seen at the shared ref, from which a deleted one is restored.
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

/// The result of a lookup.
pub(super) struct FoundState {
    pub(super) head: SharedHead,
    /// The tip that this process continues from: its own if the ref does not have more.
    pub(super) tip: Option<Tip>,
    pub(super) origin: StateOrigin,
}

/// The relation of the ref to the state folder.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum StateOrigin {
    /// The folder caches the state, but the ref no longer exists.
    Deleted,
    /// The folder never cached this state before.
    Foreign,
    /// The folder's own state is shared from now on.
    Local,
    /// The folder caches the state at the ref.
    Ref,
}

impl FoundState {
    pub(super) fn look_up(
        tracked: &mut TrackedRef,
        applied: &AppliedRepository,
        stop: Stop<'_>,
    ) -> Result<Self, Error> {
        let seen = look_up(applied, &tracked.remote.name)?;
        tracked.fetch(applied, stop)?;
        // A deleted ref is restored from the last commit that this folder saw.
        let head = match tracked.at.or(seen) {
            Some(commit) => SharedHead::read(applied.repository(), commit, Some(applied.base_url()))?,
            None => SharedHead::default(),
        };
        let origin = match (tracked.at, seen) {
            (Some(_), Some(_)) => StateOrigin::Ref,
            (Some(_), None) => match &head.applied {
                // The history of the folder contains the tip of the ref, so the folder has at least as much.
                Some(tip) if applied.descends_from(tip.commit)? => StateOrigin::Local,
                _ => StateOrigin::Foreign,
            },
            (None, Some(_)) => StateOrigin::Deleted,
            (None, None) => StateOrigin::Local,
        };
        let own = applied.tip().filter(|_| matches!(origin, StateOrigin::Deleted | StateOrigin::Local));
        if own.is_some() {
            // The record of this folder becomes the shared one.
            applied.check_base_url()?;
        }
        let tip = own.or(head.applied.as_ref()).cloned();
        Ok(Self { head, tip, origin })
    }
}
