//! What a history is made of.

use std::time::Duration;

use fastrand::Rng;

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
    pub(super) thresholds: Thresholds,
}

/// Draws the thresholds of a history: each is 1, 2 or 3, or as it is in production. They are not drawn from the history's own
/// random numbers, so that it is the same history with others.
pub(super) fn thresholds(seed: u64) -> Thresholds {
    let (mut rng, real) = (Rng::with_seed(!seed), Thresholds::default());
    let drawn = |rng: &mut Rng, real| [1, 2, 3, real][rng.usize(..4)];
    let seconds = [1, 2, 3, real.checkpoint.as_secs()][rng.usize(..4)];
    // Merging runs a program, which takes as long as ten passes.
    let merges = rng.u8(..8) == 0;
    Thresholds {
        few_documents: drawn(&mut rng, real.few_documents),
        most_packs: if merges { rng.usize(1..=3) } else { real.most_packs },
        checkpoint: Duration::from_secs(seconds),
        failures_in_a_row: drawn(&mut rng, real.failures_in_a_row),
        first_round: drawn(&mut rng, real.first_round),
        fewest_for_share: drawn(&mut rng, real.fewest_for_share),
        far: drawn(&mut rng, real.far),
        most_trees: drawn(&mut rng, real.most_trees),
        tree_bytes: drawn(&mut rng, real.tree_bytes),
        // A history has neither scans nor a mirror.
        scans: real.scans,
        most_mirror_packs: real.most_mirror_packs,
    }
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
    /// Jobs whose state lives in a folder, then at a remote, then at another address of it. Some are run with a folder of
    /// another place.
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
