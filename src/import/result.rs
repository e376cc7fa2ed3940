//! What an import did: with each toggle, and as a whole.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use crate::model::{OutcomeKind, ToggleId, words};
use crate::service::Outcome;

words! {
    /// Why a toggle was not imported although it could be read.
    SkipReason {
        /// Another id of the service differs from its id only in case.
        AmbiguousCase = "ambiguous_case",
        /// It is archived, so that no SDK gets it.
        Archived = "archived",
        /// Its live values are not known while a draft is pending.
        Draft = "draft",
        /// Several documents claim it.
        Duplicate = "duplicate",
        /// No document can have its content.
        Inexpressible = "inexpressible",
        /// Its key, or that of its project or environment, is not valid in a repository.
        InvalidKey = "invalid_key",
        /// It was deleted after it was listed.
        Missing = "missing",
        /// Its document is committed but not checked out.
        NotCheckedOut = "not_checked_out",
        /// It has no targeting in this environment.
        Untargeted = "untargeted",
    }
}

impl SkipReason {
    /// Returns a noun phrase for the counts.
    pub(crate) const fn label(self) -> &'static str {
        match self {
            Self::AmbiguousCase => "an id that differs only in case from another one",
            Self::Archived => "archived",
            Self::Draft => "a draft that hides the live values",
            Self::Duplicate => "several documents",
            Self::Inexpressible => "content that a document cannot express",
            Self::InvalidKey => "a key that is not valid here",
            Self::Missing => "deleted meanwhile",
            Self::NotCheckedOut => "a document that is not checked out",
            Self::Untargeted => "no targeting in the environment",
        }
    }
}

/// What an import did with one toggle. Paths are relative to the top of the work tree.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ImportResult {
    /// A document exists that means something else, and it stays.
    Different {
        path: String,
        /// How it differs.
        reason: &'static str,
        /// The spelling of the document if it differs from the service's in case.
        spelling: Option<ToggleId>,
    },
    /// The toggle could not be read, or its document could not be written.
    Failed(String),
    /// A document that meant something else was replaced.
    Replaced {
        path: String,
        /// See [`ImportResult::Different`].
        spelling: Option<ToggleId>,
    },
    /// The toggle was not imported, for this reason and with this explanation.
    Skipped(SkipReason, String),
    /// A document exists that means the same.
    Unchanged {
        path: String,
        /// See [`ImportResult::Different`].
        spelling: Option<ToggleId>,
    },
    Written {
        path: String,
    },
}

impl ImportResult {
    /// Returns the name of the variant.
    pub(crate) const fn as_str(&self) -> &'static str {
        match self {
            Self::Different { .. } => "different",
            Self::Failed(_) => "failed",
            Self::Replaced { .. } => "replaced",
            Self::Skipped(..) => "skipped",
            Self::Unchanged { .. } => "unchanged",
            Self::Written { .. } => "written",
        }
    }

    /// Returns the document, relative to the top of the work tree.
    pub(crate) fn path(&self) -> Option<&str> {
        match self {
            Self::Different { path, .. }
            | Self::Replaced { path, .. }
            | Self::Unchanged { path, .. }
            | Self::Written { path } => Some(path),
            Self::Failed(_) | Self::Skipped(..) => None,
        }
    }

    /// Returns the spelling of the document if it differs from the service's in case.
    pub(crate) const fn spelling(&self) -> Option<&ToggleId> {
        match self {
            Self::Different { spelling, .. }
            | Self::Replaced { spelling, .. }
            | Self::Unchanged { spelling, .. } => spelling.as_ref(),
            Self::Failed(_) | Self::Skipped(..) | Self::Written { .. } => None,
        }
    }

    /// Returns the explanation. It may contain text of the service.
    pub(crate) fn reason(&self) -> Option<&str> {
        match self {
            Self::Different { reason, .. } => Some(reason),
            Self::Failed(reason) | Self::Skipped(_, reason) => Some(reason),
            Self::Replaced { .. } | Self::Unchanged { .. } | Self::Written { .. } => None,
        }
    }
}

/// Why an import ended before it had tried every toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ImportStop {
    Disk(String),
    /// The import itself failed.
    Fault,
    /// The input could not be read.
    Input(String),
    /// The process was asked to stop.
    Interrupted,
    /// The service rejects the token, is not the service, or is unavailable.
    Service(Outcome),
}

impl ImportStop {
    /// Returns the way out.
    pub(crate) const fn hint(&self) -> &'static str {
        match self {
            Self::Disk(_) => "free some space, then run the command again",
            Self::Fault => "this is a bug, please report it with the message above",
            Self::Input(_) => "check the argument of `--from`",
            Self::Interrupted => {
                "run the command again to continue; documents that were written count as unchanged"
            }
            Self::Service(failure) => match failure.kind {
                OutcomeKind::Unauthorized | OutcomeKind::Forbidden => {
                    "check that the token is valid and may read these projects"
                }
                // A server that answers with a code is at that address, and lacks the lists.
                OutcomeKind::Misrouted if failure.code.is_none() => {
                    "check the path of `--base-url`, and the proxy settings"
                }
                OutcomeKind::Untrusted => "check `--base-url`, `--ca-file` and the proxy settings",
                OutcomeKind::Misrouted | OutcomeKind::Refused => {
                    "check `--base-url`, and that the service is a FeatureProbe (`--service-kind`)"
                }
                OutcomeKind::Applied | OutcomeKind::Busy | OutcomeKind::Lost => {
                    "run the command again when the service is available"
                }
            },
        }
    }
}

impl fmt::Display for ImportStop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Disk(reason) | Self::Input(reason) => f.write_str(reason),
            Self::Fault => f.write_str("reading failed inside gitoggle"),
            Self::Interrupted => f.write_str("interrupted"),
            Self::Service(outcome) => outcome.fmt(f),
        }
    }
}

#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) struct ImportReport {
    /// The top of the work tree.
    pub top: PathBuf,
    /// The results by toggle. The name of a result that concerns several toggles is an environment, a project
    /// or a place of the input, and any name may contain text of the service.
    pub results: BTreeMap<String, ImportResult>,
    /// The globs of the command that match no toggle.
    pub unmatched: Vec<String>,
    /// The globs of `--only` that match no toggle.
    pub unmatched_only: Vec<String>,
    /// The written documents that Git ignores, so that they are not committed.
    pub ignored: Vec<String>,
    /// Why the import ended early, if it did.
    pub stopped: Option<ImportStop>,
}

impl ImportReport {
    /// Returns the number of results for which `test` is true.
    pub(crate) fn count(&self, test: impl Fn(&ImportResult) -> bool) -> usize {
        self.results.values().filter(|result| test(result)).count()
    }
}
