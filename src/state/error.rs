//! The errors of state, with a hint for each.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::folder::{Holder, Place};
use super::shared::RemoteFault;
use crate::git::{Libgit2Error, ObjectError, ObjectFault, RepositoryError, is_full};
use crate::model::{ObjectId, ServiceKind, ToggleId};

/// The cause that prevented reading or writing state.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not read line {line} of the journal `{}`", .path.display())]
    BrokenJournal { path: PathBuf, line: usize },
    #[error("could not use the state repository `{}`", .path.display())]
    BrokenRepository { path: PathBuf, source: ObjectFault },
    #[error("the record of what was applied is missing from the state folder `{}`", .dir.display())]
    RecordLost {
        dir: PathBuf,
        /// What to decide about the first pass without the record, for the kind of the service.
        advice: Option<&'static str>,
    },
    #[error("{commit}, to which the applied ref points, was not written by gitoggle")]
    ForeignCommit { commit: ObjectId },
    #[error("crashed at `{0}`")]
    Crashed(&'static str),
    #[error("could not read document {object}")]
    Document {
        object: ObjectId,
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    #[error("the content of document {object} does not match its object id")]
    WrongContent { object: ObjectId },
    #[error("the shared state `{name}` is in use by {holder}{}", owing(owed))]
    InUse { name: String, holder: String, owed: Vec<ToggleId> },
    #[error("could not {doing} `{}`", .path.display())]
    Io {
        doing: &'static str,
        path: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    #[error("the state folder `{}` is in use by {holder}", .dir.display())]
    Locked { dir: PathBuf, holder: Holder },
    #[error("this process no longer holds the shared state, so it sends no more requests")]
    LeaseOver,
    #[error("the journal is closed")]
    JournalClosed,
    #[error("another program moved `{0}`")]
    Moved(String),
    #[error("commit {commit} is not part of the deployment history")]
    NotDeployed { commit: ObjectId },
    #[error("the state folder `{}` belongs to {place}, not to {wanted}", .dir.display())]
    OtherPlace { dir: PathBuf, place: Place, wanted: Place },
    #[error("the state folder `{}` is not a folder", .0.display())]
    NotAFolder(PathBuf),
    #[error("this state belongs to `{recorded}`, not to `{wanted}`")]
    OtherBaseUrl { recorded: String, wanted: String },
    #[error("another process updated the shared state `{0}` first")]
    Raced(String),
    #[error("could not write to the state folder `{}`", .dir.display())]
    ReadOnly {
        dir: PathBuf,
        #[source]
        source: Arc<io::Error>,
    },
    #[error("could not use the state remote `{remote}`")]
    Remote { remote: String, source: RemoteFault },
    #[error(
        "another process took over the shared state `{0}` while this one was suspended or could not reach it"
    )]
    TakenOver(String),
    #[error("could not read `{}`, so publishing may be suspended", .path.display())]
    Suspension {
        path: PathBuf,
        #[source]
        source: serde_json::Error,
    },
}

impl Error {
    /// Returns the advice for the operator, if there is any.
    pub fn hint(&self) -> Option<String> {
        let readable = ServiceKind::words_with(|can| can.read_live);
        // No wildcard arm, so that each new error needs a decision.
        Some(match self {
            Self::BrokenJournal { path, .. } => format!(
                "the journal has the requests that are not recorded yet; move the state folder `{}` away: the next run \
                 is then a first pass, with `--first-pass adopt` for `--service-kind {readable}`, which compares, otherwise with \
                 `--first-pass assert`, which sends every toggle again",
                path.parent().unwrap_or(path).display()
            ),
            Self::BrokenRepository { path, .. } => format!(
                "run `git -C {} fsck`; if you cannot repair the repository, move the whole state folder away: the next run \
                 is then a first pass, with `--first-pass adopt` for `--service-kind {readable}`, otherwise with `assert`",
                path.display()
            ),
            Self::RecordLost { dir, advice } => format!(
                "restore `state.git` in it, whose ref `refs/gitoggle/applied` is the record; without it, move the whole state \
                 folder `{}` away: the next run is then a first pass{}",
                dir.display(),
                advice.map(|advice| format!("; {advice}")).unwrap_or_default()
            ),
            Self::ForeignCommit { .. } => {
                "another program wrote to the ref; reset it to a commit of gitoggle".to_owned()
            }
            Self::Io { source, .. } if is_full(source) => {
                "the disk is full; gitoggle sends no request that it cannot record".to_owned()
            }
            Self::Io { source, .. }
                if matches!(source.kind(), io::ErrorKind::IsADirectory | io::ErrorKind::NotADirectory) =>
            {
                "another program replaced it; restore it, or pass another folder with `--state-dir`: the next run is then \
                 a first pass"
                    .to_owned()
            }
            Self::OtherBaseUrl { .. } => {
                "for another service, pass another `--state-dir` or `--state-name`; otherwise, pass the recorded base URL"
                    .to_owned()
            }
            Self::ReadOnly { .. } | Self::NotAFolder(_) => {
                "pass a writable folder with `--state-dir`; gitoggle sends only what it can record".to_owned()
            }
            Self::Suspension { path, .. } => {
                format!("remove `{}`, and suspend again what is to stay suspended", path.display())
            }
            Self::OtherPlace { place, wanted, .. } => format!(
                "to continue with this folder, pass {}; for {wanted}, pass another `--state-dir`",
                place.settings()
            ),
            Self::InUse { .. }
            | Self::LeaseOver
            | Self::Locked { .. }
            | Self::Raced(_)
            | Self::TakenOver(_) => "run this again when the other process has ended".to_owned(),
            Self::Moved(_) => "do not move that ref with other programs, and run this again".to_owned(),
            Self::Remote { source, .. } => return source.hint(),
            Self::Document { .. } | Self::WrongContent { .. } => {
                "run `git fsck` in the source; if it is damaged, clone it again".to_owned()
            }
            Self::Io { .. } | Self::Crashed(_) | Self::JournalClosed | Self::NotDeployed { .. } => return None,
        })
    }

    /// Adds what to decide about a first pass, which depends on the service.
    pub(crate) fn with_advice(self, first_pass: &'static str) -> Self {
        match self {
            Self::RecordLost { dir, advice: _ } => Self::RecordLost { dir, advice: Some(first_pass) },
            other => other,
        }
    }

    /// Says of a state remote that is not there that the folder `dir` was used with it, if it was.
    pub(crate) fn of_folder(self, dir: &Path) -> Self {
        match self {
            Self::Remote { remote, source: RemoteFault::NoRepository }
                if super::folder::is_of_remote(dir, &remote) =>
            {
                Self::Remote { remote, source: RemoteFault::Vanished }
            }
            other => other,
        }
    }

    /// Returns whether only a person can end it: the folder cannot be written or read, or the host of the shared
    /// state does not accept this process.
    pub(crate) fn needs_someone(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_full(source),
            Self::Remote { source, .. } => source.needs_someone(),
            Self::BrokenJournal { .. }
            | Self::BrokenRepository { .. }
            | Self::RecordLost { .. }
            | Self::ForeignCommit { .. }
            | Self::NotAFolder(_)
            | Self::ReadOnly { .. }
            | Self::Suspension { .. } => true,
            _ => false,
        }
    }

    /// Returns whether a retry may succeed.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Remote { source, .. } => source.is_transient(),
            _ => false,
        }
    }

    /// Refuses state of another service.
    pub(crate) fn check_base_url(recorded: &str, wanted: &str) -> Result<(), Self> {
        if recorded == wanted {
            Ok(())
        } else {
            Err(Self::OtherBaseUrl { recorded: recorded.to_owned(), wanted: wanted.to_owned() })
        }
    }

    /// Returns a conversion of I/O errors that adds the operation and the path.
    pub(crate) fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self::Io { doing, path, source: Arc::new(source) }
    }

    /// Returns a conversion of errors of the repository at `path`, I/O errors included.
    pub(crate) fn repository<E: Into<Libgit2Error>>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let error = RepositoryError::git(path);
        move |cause| error(cause).into()
    }
}

impl From<RepositoryError> for Error {
    fn from(error: RepositoryError) -> Self {
        match error {
            RepositoryError::Crashed(point) => Self::Crashed(point),
            RepositoryError::Io { doing, path, source } => Self::io(doing, &path)(source),
            RepositoryError::Object(ObjectError { folder, fault }) => {
                Self::BrokenRepository { path: folder, source: fault }
            }
        }
    }
}

impl From<ObjectError> for Error {
    fn from(error: ObjectError) -> Self {
        error.or_io().into()
    }
}

/// Lists the toggles whose requests the shared state does not have.
fn owing(owed: &[ToggleId]) -> String {
    if owed.is_empty() {
        return String::new();
    }
    let toggles: Vec<String> = owed.iter().map(|id| format!("`{id}`")).collect();
    format!("; the state does not list the unknown outcomes of this process for {} yet", toggles.join(", "))
}
