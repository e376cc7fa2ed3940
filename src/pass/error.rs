//! Defines the errors that prevent a pass or end it. A problem with one toggle is a line in the report
//! instead.

use std::path::Path;

use crate::document::{Diagnostic, MOST_FILES};
use crate::git::{ObjectError, RepoUrlError, UnverifiedCommit};
use crate::model::{CommitId, chain, counted, escaped, hinted};
use crate::pass::range::RangeError;
use crate::plan::compare::TooManyFiles;
use crate::plan::hold::STATE_LOST;
use crate::service::ClientError;
use crate::source::Source;
use crate::{source, state};

/// An error that prevented a pass, or ended it early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The runtime was shut down before the pass ended, because the process ends.
    #[error("the pass was abandoned because the process is stopping")]
    Cancelled,
    /// The source has no document. That never means that every toggle was removed.
    #[error(
        "no file at {revision} is a document: read {} under `{root}`{}",
        counted(*files, "file"),
        first_finding(findings)
    )]
    NoDocuments {
        revision: CommitId,
        /// The root, `.` for the top.
        root: String,
        files: usize,
        /// Findings about their paths.
        findings: Vec<Diagnostic>,
    },
    #[error("{STATE_LOST}, and there is nothing to compare the service with")]
    AppliedLost { advice: String },
    #[error("could not use the remote `origin` of the source")]
    BadOrigin(#[from] RepoUrlError),
    /// The source has no `origin`, and the state is to be shared there.
    #[error("the source has no remote `origin`")]
    NoOrigin,
    #[error("nothing is applied yet, so there is nothing to compare the service with")]
    NothingApplied {
        /// Whether the state that has nothing is shared with other processes.
        is_shared: bool,
        /// What it may mean that the shared state has nothing.
        note: Option<String>,
    },
    #[error("no applied toggle matches {}", quoted(.0))]
    NothingAppliedMatches(Vec<String>),
    #[error("no toggle matches `--only` {}", quoted(.0))]
    NothingMatches(Vec<String>),
    #[error("no toggle matches {}", quoted(.0))]
    NoToggleMatches(Vec<String>),
    /// A change is to be published, and no service is configured.
    #[error("no service is configured")]
    NoService,
    #[error("only a repository at a path has uncommitted files")]
    NoWorkTree,
    /// `history: refuse` is set, and the history is too short to decide whether it was rewritten.
    #[error(
        "`--history refuse` needs the whole history, which is cut here: {recorded} was applied, and may be an ancestor of \
         {found}"
    )]
    HistoryCut { recorded: CommitId, found: CommitId },
    #[error(transparent)]
    Range(#[from] RangeError),
    #[error("could not read the reviews on `{}`", escaped(repository))]
    Reviews {
        repository: String,
        hint: String,
        #[source]
        error: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the ref moved between two lookups")]
    RefMoved,
    /// `history: refuse` is set, and the revision applied last is not an ancestor of the new one.
    #[error("history was rewritten: {recorded} was applied and is not an ancestor of {found}")]
    Rewritten { recorded: CommitId, found: CommitId },
    #[error("could not create the client of the service")]
    Service(#[from] ClientError),
    #[error("could not read the source")]
    Source(#[from] source::Error),
    #[error("{}", why.message(*recorded, *found))]
    Stale {
        recorded: CommitId,
        found: CommitId,
        why: Stale,
        /// Whether the state is shared, so that another repository or branch may be the one that recorded it.
        is_shared: bool,
    },
    #[error("could not use the state")]
    State(#[from] state::Error),
    #[error(transparent)]
    Unverified(#[from] UnverifiedCommit),
    #[error("the source has more than {MOST_FILES} files or folders, the limit of a targeting repository")]
    TooManyFiles,
}

/// Why a checkout is stale.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Stale {
    /// Its history is cut, so whether it is stale is unknown.
    Cut,
    /// The recorded revision is not an ancestor.
    Older,
    /// The recorded revision is not in this clone, and the host did not send it.
    Unknown,
    /// The recorded revision is in no history that this repository has in common with it.
    Unrelated,
}

impl Stale {
    fn message(self, recorded: CommitId, found: CommitId) -> String {
        match self {
            Self::Cut => format!(
                "this checkout may be stale: {recorded} was applied, and the history of {found} is cut before it"
            ),
            Self::Older => {
                format!("this checkout is stale: {recorded} was applied, and is not an ancestor of {found}")
            }
            Self::Unknown => format!(
                "cannot tell how {found} relates to {recorded}, which was applied and is missing here"
            ),
            Self::Unrelated => format!(
                "this checkout is stale, or the repository was replaced: {recorded} was applied, and has no history in \
                 common with {found}"
            ),
        }
    }

    fn hint(self) -> &'static str {
        match self {
            Self::Cut => {
                "fetch the whole history (`fetch-depth: 0`, `git fetch --unshallow`), or apply this checkout as it is \
                 with `--history follow`"
            }
            Self::Older => {
                "an old job was run again, an old commit is checked out, or a replica lags behind, which continues once \
                 it has caught up; to roll back, revert in Git; to apply this checkout as it is, such as after a squash or a \
                 rebase of the applied commit, pass `--history follow`, or run `gitoggle allow history` (`POST /allow`) for a \
                 daemon"
            }
            Self::Unknown => {
                "nothing was sent, and no state was written; an old checkout lacks newer commits: check out the \
                 newest one; after a force push, a host may not send the old commits anymore: to publish this one over what was \
                 applied, pass `--history follow`, or run `gitoggle allow history` (`POST /allow`) for a daemon; check that \
                 `--repo` names the right repository"
            }
            Self::Unrelated => {
                "nothing was sent, and no state was written; check that `--repo` names the right \
                 repository; to publish this one over what was applied, pass `--history follow`, or run `gitoggle allow \
                 history` (`POST /allow`) for a daemon"
            }
        }
    }
}

/// What to do if the recorded revision is that of another source.
const OTHER_SOURCE: &str = "if another repository or branch shares its state under the same name, give each its own \
                            `--state-name`";

/// Describes the first of `findings` and their number.
fn first_finding(findings: &[Diagnostic]) -> String {
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
    /// Returns the way out, if one exists, with the flags of this run.
    pub(crate) fn hint(&self) -> Option<String> {
        self.way_out().map(|hint| hinted(&hint).into_owned())
    }

    fn way_out(&self) -> Option<String> {
        match self {
            Self::NoDocuments { .. } => Some("check `--ref`, `--root` and `--layout`; run `gitoggle validate` to check the files; nothing was changed".into()),
            Self::Rewritten { .. } => Some(
                "`--history follow` applies the rewritten history; in a running daemon, `gitoggle allow history` does; with \
                 `--allowed-signers` or `--gpg-keyring`, `--history refuse` is the default, because nobody signs a move of \
                 the branch"
                    .into(),
            ),
            Self::HistoryCut { .. } => Some(
                "fetch the whole history (`fetch-depth: 0`, `git fetch --unshallow`), or follow any revision with \
                 `--history follow`"
                    .into(),
            ),
            Self::AppliedLost { advice } => Some(advice.clone()),
            Self::Cancelled | Self::RefMoved => Some("run it again".into()),
            Self::Stale { why: why @ (Stale::Older | Stale::Unrelated), is_shared: true, .. } => {
                Some(format!("{}; {OTHER_SOURCE}", why.hint()))
            }
            Self::Stale { why, .. } => Some(why.hint().into()),
            Self::Unverified(error) => Some(error.hint().to_owned()),
            Self::Source(error) => error.hint(),
            Self::State(error) => error.hint(),
            Self::Range(error) => Some(error.hint()),
            Self::BadOrigin(_) | Self::NoOrigin => Some("pass the URL of the repository as `--state-remote`".into()),
            Self::NothingApplied { is_shared, note } => {
                let adopt = "record the documents of existing toggles with `gitoggle apply --first-pass adopt`, or publish \
                             them with `--first-pass assert`";
                // Another process may have applied everything, and a second first pass would publish it again.
                let shared = "if jobs or a daemon publish from this repository, name the state that they share, such as \
                              `--state-remote origin`; else ";
                let note = note.iter().map(|note| format!("; {note}"));
                Some(format!("{}{adopt}{}", if *is_shared { "" } else { shared }, note.collect::<String>()))
            }
            Self::NoToggleMatches(_) | Self::NothingAppliedMatches(_) | Self::NothingMatches(_) => {
                Some("check the spelling; a glob is compared with the whole of `project/environment/toggle`, in this order".into())
            }
            Self::NoService => Some("pass `--base-url` and a token".into()),
            Self::Reviews { hint, .. } => Some(hint.clone()),
            Self::NoWorkTree => Some("omit `--worktree`, or pass a work tree as `--repo`".into()),
            Self::Service(error) => error.hint(),
            Self::TooManyFiles => Some("select one of the folders with `--root`".into()),
        }
    }

    /// Returns the path of the source if no repository exists there.
    pub(crate) fn missing_checkout(&self) -> Option<&Path> {
        match self {
            Self::Source(source::Error::NoRepository(path)) => Some(path),
            _ => None,
        }
    }

    /// Returns whether the pass deliberately held the changes (exit 4 instead of 1).
    pub(crate) fn is_hold(&self) -> bool {
        matches!(
            self,
            // Another try has the same result until an operator decides (src/pass/README.md, "Stale
            // checkout").
            Self::HistoryCut { .. }
                | Self::Rewritten { .. }
                | Self::Stale { .. }
                | Self::Unverified(_)
                | Self::State(state::Error::OtherBaseUrl { .. } | state::Error::OtherPlace { .. })
        )
    }

    /// Returns whether only a person can end it, as opposed to an outage.
    pub(crate) fn needs_someone(&self) -> bool {
        self.is_hold()
            || match self {
                // A file of secrets or certificates.
                Self::NoDocuments { .. } | Self::Service(_) => true,
                Self::Source(error) => error.needs_someone(),
                Self::State(error) => error.needs_someone(),
                _ => false,
            }
    }

    /// Returns the found revision if it was refused because the recorded one is not its ancestor.
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

    /// Requests a new clone of the mirror if its damage may be the cause. Returns whether the work may start
    /// over.
    pub(crate) fn repairs(&self, source: &mut Source) -> bool {
        matches!(self, Self::Source(error) if source.repair(error))
    }

    /// Returns whether the pass may start over immediately: the source vanished while it was read, or another
    /// process moved the shared state first.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Source(error) => error.kind() == source::ErrorKind::Vanished,
            Self::State(error) => matches!(error, state::Error::Raced(_) | state::Error::TakenOver(_)),
            // The next lookup may find a ref that has moved forward (src/pass/README.md, "Stale checkout").
            Self::RefMoved => true,
            _ => false,
        }
    }
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        // The source's reader has its own error, so an object error always concerns the state.
        Self::State(error.into())
    }
}

impl From<TooManyFiles> for Error {
    fn from(_: TooManyFiles) -> Self {
        Self::TooManyFiles
    }
}
