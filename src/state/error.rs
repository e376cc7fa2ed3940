//! What can go wrong with state, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::lock::Holder;
use crate::git::{GitError, ObjectError, ObjectFault, RepositoryError, is_full};
use crate::model::{ObjectId, ToggleId};

/// Why state could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The journal has a line that is neither whole nor the last.
    #[error("line {line} of the journal `{}` cannot be read", .path.display())]
    BrokenJournal {
        /// The journal.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
    },
    /// `state.git` cannot be used.
    #[error("the state repository `{}` cannot be used", .path.display())]
    BrokenRepository {
        /// The repository.
        path: PathBuf,
        /// What is wrong with it.
        source: ObjectFault,
    },
    /// A commit of the applied ref says nothing that gitoggle understands.
    #[error("commit {commit} of the applied ref was not written by gitoggle")]
    ForeignCommit {
        /// The commit.
        commit: ObjectId,
    },
    /// A test's crash point said so.
    #[error("crashed at `{0}`")]
    Crashed(&'static str),
    /// A document that is to be recorded could not be had.
    #[error("document {object} cannot be read")]
    Document {
        /// Its object id.
        object: ObjectId,
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// A document's content is not the one its id stands for.
    #[error("document {object} has the content of another one")]
    WrongContent {
        /// The object id it was asked for by.
        object: ObjectId,
    },
    /// Another process is publishing to the same shared state.
    #[error("the shared state `{name}` is in use by {holder}{}", owing(owed))]
    InUse {
        /// The state's name.
        name: String,
        /// Who publishes.
        holder: String,
        /// The toggles whose requests this process may have sent, and could not put on record there.
        owed: Vec<ToggleId>,
    },
    /// The disk said no.
    #[error("cannot {doing} `{}`", .path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// On what.
        path: PathBuf,
        /// Why not.
        #[source]
        source: Arc<io::Error>,
    },
    /// Another process writes to this state folder.
    #[error("the state folder `{}` is in use by {holder}", .dir.display())]
    Locked {
        /// The state folder.
        dir: PathBuf,
        /// Who has it.
        holder: Holder,
    },
    /// No request may start in this pass any more: another process holds the shared state, or it cannot be updated. The
    /// cause is reported by the checkpoint that found it.
    #[error("the shared state is not held any more; nothing more is sent")]
    LeaseOver,
    /// The journal of this pass is closed, after an error that was reported when it happened.
    #[error("the journal is closed")]
    JournalClosed,
    /// The applied ref was moved by someone who does not hold the lock.
    #[error("`{0}` was moved by another program meanwhile")]
    Moved(String),
    /// The state folder is the cache of another shared state, with requests whose outcome is not on record there.
    #[error(
        "this state folder has requests for the shared state `{other}` whose outcome is not recorded there yet"
    )]
    OtherState {
        /// Its name.
        other: String,
    },
    /// The state folder is something else.
    #[error("the state folder `{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    /// The state belongs to another service.
    #[error("this state belongs to `{recorded}`, not to `{wanted}`")]
    OtherBaseUrl {
        /// The base URL that is recorded.
        recorded: String,
        /// The one that was asked for.
        wanted: String,
    },
    /// Somebody else's push came first; nothing was sent.
    #[error("another process updated the shared state `{0}` first")]
    Raced(String),
    /// The state folder cannot be written.
    #[error("the state folder `{}` cannot be written", .dir.display())]
    ReadOnly {
        /// The state folder.
        dir: PathBuf,
        /// What the system says.
        #[source]
        source: Arc<io::Error>,
    },
    /// A lock file in the repository that shares the state.
    #[error("the state remote is locked by `{}`", .path.display())]
    RemoteLocked {
        /// The lock file.
        path: PathBuf,
    },
    /// The repository that shares the state cannot be used.
    #[error("the state remote `{remote}` cannot be used")]
    Remote {
        /// The remote, safe to print.
        remote: String,
        /// Why not.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The suspension cannot be read, so whether to write is not known.
    #[error("`{}` cannot be read, so it is not known whether publishing is suspended", .path.display())]
    Suspension {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

impl Error {
    /// Returns what to do about it, where there is something to say.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::BrokenJournal { path, .. } => format!(
                "it says what was sent and not yet recorded; after moving `{}` away, run `gitoggle apply` with \
                 `--first-pass assert` on a new state folder to be sure of every toggle",
                path.display()
            ),
            Self::BrokenRepository { path, .. } => format!(
                "run `git -C {} fsck`; if it cannot be repaired, move it away: what is applied is then not \
                 known, and `--first-pass` decides how to begin again",
                path.display()
            ),
            Self::ForeignCommit { .. } => {
                "somebody else wrote to the ref; point it back at a commit of gitoggle's".to_owned()
            }
            Self::Io { source, .. } if is_full(source) => {
                "the disk is full; nothing is sent that cannot be recorded".to_owned()
            }
            Self::OtherBaseUrl { .. } => {
                "give another `--state-dir` (or `--state-name`) for another service, or the recorded base URL"
                    .to_owned()
            }
            Self::ReadOnly { .. } | Self::NotAFolder(_) => {
                "give a folder that can be written with `--state-dir`; without a record nothing is sent"
                    .to_owned()
            }
            Self::Suspension { path, .. } => {
                format!("say `resume` or `suspend` again, or remove `{}`", path.display())
            }
            Self::OtherState { other } => format!(
                "run `gitoggle apply` with `--state-name {other}` once, or give another `--state-dir`"
            ),
            Self::RemoteLocked { path } => format!(
                "if no Git program is using that repository, one was killed there: remove `{}`",
                path.display()
            ),
            Self::InUse { .. } | Self::LeaseOver | Self::Locked { .. } | Self::Raced(_) => {
                "run it again when the other one is done".to_owned()
            }
            Self::Moved(_) => "leave that ref to gitoggle, and run it again".to_owned(),
            Self::Remote { source, .. } => match source.downcast_ref::<GitError>() {
                Some(error) => return error.hint(),
                None => "check `--state-remote`, and what this user may read and write there".to_owned(),
            },
            Self::Document { .. } | Self::WrongContent { .. } => {
                "run `git fsck` in the source; clone it anew if it is damaged".to_owned()
            }
            Self::Io { .. } | Self::Crashed(_) | Self::JournalClosed => return None,
        })
    }

    /// Returns whether another try in a moment may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::RemoteLocked { .. } => true,
            Self::Remote { source, .. } => source.downcast_ref().is_some_and(GitError::is_transient),
            _ => false,
        }
    }

    /// Makes `source` an error that says what was attempted on what.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io {
            doing,
            path,
            source: Arc::new(source),
        }
    }

    /// Makes an error of the repository at `path`, or of the disk that it is on.
    pub(crate) fn repository(path: &Path) -> impl FnOnce(git2::Error) -> Self + use<> {
        let error = RepositoryError::git(path);
        move |cause| error(cause).into()
    }
}

impl From<RepositoryError> for Error {
    fn from(error: RepositoryError) -> Self {
        match error {
            RepositoryError::Crashed(point) => Self::Crashed(point),
            RepositoryError::Io { doing, path, source } => Self::io(doing, &path)(source),
            RepositoryError::Object(ObjectError { folder, fault }) => Self::BrokenRepository {
                path: folder,
                source: fault,
            },
        }
    }
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        error.or_io().into()
    }
}

/// Names the toggles that a process owes to a shared state.
fn owing(owed: &[ToggleId]) -> String {
    if owed.is_empty() {
        return String::new();
    }
    let toggles: Vec<String> = owed.iter().map(|id| format!("`{id}`")).collect();
    format!(
        "; it does not know yet that requests may have been stored for {}",
        toggles.join(", ")
    )
}
