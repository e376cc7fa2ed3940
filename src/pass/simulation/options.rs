//! What a history is made of.

use super::service::Exceptions;
use crate::model::{ServiceKind, Thresholds};

/// How a history is drawn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Options {
    pub(super) seed: u64,
    pub(super) kind: Kind,
    pub(super) exceptions: Exceptions,
    pub(super) service: ServiceKind,
    pub(super) kills: Kills,
    pub(super) permissions: Permissions,
    /// Not drawn from the history's own random numbers, so that it is the same history with others.
    pub(super) thresholds: Thresholds,
}

/// What the processes of a history are permitted.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Permissions {
    /// Each has `--first-pass assert` and `--allow-mass-change`.
    All,
    /// Some have both, and some neither.
    Some,
}

/// How often processes are killed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kills {
    /// As drawn for the history.
    Drawn,
    /// Often, and others take their place within one timeout.
    InARow,
}

/// Who works with which state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Kind {
    /// Jobs, one after the other, with one disk.
    Jobs,
    /// A daemon that is killed and started again. The branch is also forced back.
    Daemon,
    /// Jobs on several machines, with or without a disk, that share the state.
    SharedJobs,
    /// Two daemons and jobs that share the state.
    SharedDaemons,
    /// Jobs whose state lives in a folder, then at a remote, then at another address of it. Some are run with
    /// a folder of another place.
    Moving,
}

impl Kind {
    pub(super) fn is_shared(self) -> bool {
        matches!(self, Self::SharedJobs | Self::SharedDaemons | Self::Moving)
    }

    pub(super) fn has_daemon(self, disk: usize) -> bool {
        match self {
            Self::Jobs | Self::SharedJobs | Self::Moving => false,
            Self::Daemon => true,
            Self::SharedDaemons => disk < 2,
        }
    }
}
