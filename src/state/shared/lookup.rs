//! Looks up the shared ref, and relates its content to the state folder.

use super::head;
use super::head::SharedHead;
use super::remote::TrackedRef;
use crate::state::applied::{AppliedRepository, Tip};
use crate::state::{Error, Stop};

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
        let seen = head::look_up(applied, &tracked.remote.name)?;
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
