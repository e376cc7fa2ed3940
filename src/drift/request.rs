//! What a scan reads, and its result.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{Live, Scope, ToggleId};
use crate::plan::DriftReport;
use crate::state::StateSnapshot;

/// The toggles that a scan reads.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ScanDepth {
    /// Those that may have changed; every toggle if the last such scan is long ago.
    Changes,
    /// Every toggle.
    Everything,
}

/// What to scan.
#[derive(Clone, Copy, Debug)]
pub struct ScanRequest<'a> {
    /// What was applied.
    pub view: &'a StateSnapshot,
    /// The toggles to compare, of those that match `--only`; none for all of them.
    pub globs: Option<&'a Scope>,
    /// The toggles to read.
    pub depth: ScanDepth,
    /// The toggles with documents. If given, all lists are read, so that toggles without one are found.
    pub documents: Option<&'a BTreeSet<ToggleId>>,
    /// Further toggles to read, applied or not.
    pub wanted: Option<&'a BTreeSet<ToggleId>>,
}

impl<'a> ScanRequest<'a> {
    /// Returns whether the scan keeps the versions of payloads for SDKs. A command that runs once compares all versions
    /// instead: "unchanged" proves nothing after a lost increment, and its globs may leave out toggles of an environment.
    pub(super) const fn keeps_payloads(&self) -> bool {
        self.documents.is_none()
    }

    /// Compares every toggle of `view`, and reads those that may have changed.
    #[must_use]
    pub const fn of(view: &'a StateSnapshot) -> Self {
        Self {
            view,
            globs: None,
            depth: ScanDepth::Changes,
            documents: None,
            wanted: None,
        }
    }
}

/// The result of a scan.
#[derive(Clone, Debug)]
pub struct DriftScan {
    /// The differences.
    pub report: DriftReport,
    /// The live states of the wanted toggles that could be read.
    pub live: BTreeMap<ToggleId, Live>,
    /// Whether the scan was stopped before its end.
    pub is_interrupted: bool,
    /// Whether another process applied toggles while they were read.
    pub is_outrun: bool,
}
