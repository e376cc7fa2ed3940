//! Why there was no pass. What goes wrong with one toggle is data, in the report.

use std::path::Path;

use crate::document::{Diagnostic, MOST_FILES};
use crate::git::{ObjectError, RepoUrlError};
use crate::model::{CommitId, chain, counted, escaped};
use crate::plan::compare::TooManyFiles;
use crate::service::ClientError;
use crate::{source, state};

/// Why there was no pass, or why it could not be finished.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime was shut down before the pass ended, because the process ends.
    #[error("the pass was given up because the process ends")]
    Cancelled,
    /// The source holds no document at all, which never means that everything was removed.
    #[error(
        "no file at {revision} is a document: read {} under `{root}`{}",
        counted(*files, "file"),
        told(findings)
    )]
    NoDocuments {
        /// The revision that was looked at.
        revision: CommitId,
        /// The root, `.` for the top.
        root: String,
        /// How many files were looked at.
        files: usize,
        /// What is wrong with their paths.
        findings: Vec<Diagnostic>,
    },
    /// The `origin` of the source is not an address that can be used.
    #[error("could not use the remote `origin` of the source")]
    BadOrigin(#[from] RepoUrlError),
    /// The source has no `origin` to share state through.
    #[error("the source has no remote `origin`")]
    NoOrigin,
    /// Globs of `--only` that match no toggle, neither in the source nor applied.
    #[error("no toggle matches `--only` {}", quoted(.0))]
    NothingMatches(Vec<String>),
    /// Something is to be published and no service is named.
    #[error("no service is named")]
    NoService,
    /// Uncommitted files of something that has no work tree.
    #[error("only a repository at a path has uncommitted files")]
    NoWorkTree,
    /// It is unknown whether history was rewritten, and `history: refuse` stops if it was.
    #[error(
        "`--history refuse` needs the whole history, which is cut here: {recorded} was applied, and may be an ancestor of \
         {found}"
    )]
    HistoryCut {
        /// The revision applied last.
        recorded: CommitId,
        /// The revision found now.
        found: CommitId,
    },
    /// The ref of a URL was moved between two lookups.
    #[error("the ref moved while it was looked up")]
    RefMoved,
    /// The history that was followed is not part of the new one, and `history: refuse` says to stop.
    #[error("history was rewritten: {recorded} was applied and is not an ancestor of {found}")]
    Rewritten {
        /// The revision applied last.
        recorded: CommitId,
        /// The revision found now.
        found: CommitId,
    },
    /// The service's client cannot be set up.
    #[error("cannot talk to the service")]
    Service(#[from] ClientError),
    /// The source cannot be read.
    #[error("cannot read the source")]
    Source(#[from] source::Error),
    /// An old checkout: what is recorded was applied from a later one, or from another history.
    #[error("{}", why.message(*recorded, *found))]
    Stale {
        /// The revision applied last.
        recorded: CommitId,
        /// The revision of the checkout.
        found: CommitId,
        /// What is known about it.
        why: Stale,
    },
    /// The state cannot be read or written.
    #[error("cannot use the state")]
    State(#[from] state::Error),
    /// More files than a repository of toggles has.
    #[error("there are more than {MOST_FILES} files or folders, the limit of a targeting repository")]
    TooManyFiles,
}

/// Why a checkout counts as stale.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stale {
    /// Its history is cut, so it is unknown whether it is stale.
    Cut,
    /// A daemon never saw it at the recorded revision.
    NeverSeen,
    /// The recorded revision is not an ancestor.
    Older,
}

impl Stale {
    fn message(self, recorded: CommitId, found: CommitId) -> String {
        match self {
            Self::Cut => format!(
                "this checkout may be stale: {recorded} was applied, and the history of {found} is cut before it"
            ),
            Self::NeverSeen => format!(
                "this checkout may be stale: {recorded} was applied, is not known to be an ancestor of {found}, and was \
                 never seen here"
            ),
            Self::Older => {
                format!("this checkout is stale: {recorded} was applied, and is not an ancestor of {found}")
            }
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Cut => {
                "fetch the whole history (`fetch-depth: 0`, `git fetch --unshallow`), or apply this checkout as it is \
                 with `--history follow`"
            }
            Self::NeverSeen => {
                "it may lag behind what another process applied, and is followed once it gets there; to continue from \
                 here, run `gitoggle allow history` (`POST /allow`), restart with `--history follow`, or fetch the whole \
                 history"
            }
            Self::Older => {
                "an old job was run again, or an old commit is checked out; to roll back, revert in Git; to apply this \
                 checkout as it is, pass `--history follow`"
            }
        }
    }
}

/// Says the first of `findings`, and how many there are.
fn told(findings: &[Diagnostic]) -> String {
    let [first, rest @ ..] = findings else {
        return String::new();
    };
    let more = match rest.len() {
        0 => String::new(),
        more => format!(" (and {more} more like it)"),
    };
    format!("; `{}`: {}{more}", escaped(&first.path), escaped(&first.message))
}

fn quoted(globs: &[String]) -> String {
    let quoted: Vec<String> = globs.iter().map(|glob| format!("`{}`", escaped(glob))).collect();
    quoted.join(", ")
}

impl Error {
    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoDocuments { .. } => Some("check `--ref`, `--root` and `--layout`; `gitoggle validate` says what is wrong with the files; nothing was changed".into()),
            Self::Rewritten { .. } => Some(
                "`--history follow` applies the rewritten history; in a running daemon, `gitoggle allow history` does"
                    .into(),
            ),
            Self::HistoryCut { .. } => Some(
                "fetch the whole history (`fetch-depth: 0`, `git fetch --unshallow`), or follow whatever comes with \
                 `--history follow`"
                    .into(),
            ),
            Self::Cancelled | Self::RefMoved => Some("run it again".into()),
            Self::Stale { why, .. } => Some(why.hint().into()),
            Self::Source(error) => error.hint(),
            Self::State(error) => error.hint(),
            Self::BadOrigin(_) | Self::NoOrigin => Some("give the URL of the repository as `--state-remote`".into()),
            Self::NothingMatches(_) => {
                Some("a glob is compared with all of `project/environment/toggle`: check its spelling".into())
            }
            Self::NoService => Some("give `--base-url` and a token".into()),
            Self::NoWorkTree => Some("leave `--worktree` out, or give a work tree as `--repo`".into()),
            Self::Service(error) => error.hint(),
            Self::TooManyFiles => Some("name a folder of them with `--root`".into()),
        }
    }

    /// Returns the path of the source where it holds no repository.
    pub(crate) fn missing_checkout(&self) -> Option<&Path> {
        match self {
            Self::Source(source::Error::NoRepository(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns whether this holds what there is to do rather than failing at it (exit 4 rather than 1).
    #[must_use]
    pub fn is_hold(&self) -> bool {
        matches!(
            self,
            Self::HistoryCut { .. }
                | Self::Rewritten { .. }
                | Self::Stale { .. }
                | Self::State(state::Error::OtherBaseUrl { .. })
        )
    }

    /// Returns the revision that was found, if it was refused because the recorded one is not its ancestor.
    pub(crate) fn refused_revision(&self) -> Option<CommitId> {
        match self {
            Self::HistoryCut { found, .. } | Self::Rewritten { found, .. } | Self::Stale { found, .. } => {
                Some(*found)
            }
            _ => None,
        }
    }

    /// Returns the error with its causes and its hint on one line.
    pub(crate) fn in_full(&self) -> String {
        let text = chain(self);
        match self.hint() {
            Some(hint) => format!("{text}; {hint}"),
            None => text,
        }
    }

    /// Returns the error of the source that may be the fault of a damaged mirror.
    pub(crate) fn source_damage(&self) -> Option<&source::Error> {
        match self {
            Self::Source(error) if error.is_damage() => Some(error),
            _ => None,
        }
    }

    /// Returns whether looking again at once is the answer: the source went away while it was read, or another
    /// process recorded something first. Nothing was sent in either case.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Source(error) => error.kind() == source::ErrorKind::Vanished,
            Self::State(error) => matches!(error, state::Error::Raced(_)),
            Self::RefMoved => true,
            _ => false,
        }
    }
}

/// The source's reader has an error of its own: an object that cannot be read by itself is one of the state.
impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        Self::State(error.into())
    }
}

impl From<TooManyFiles> for Error {
    fn from(_: TooManyFiles) -> Self {
        Self::TooManyFiles
    }
}
