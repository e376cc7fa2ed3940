//! Records each request before it is sent, and its outcome.
//!
//! During a pass, one thread writes for all lanes: it appends all waiting lines with one write and one sync,
//! and wakes the lanes (group commit). A request may start once [`Journal::begin`] has returned it, not
//! earlier.

mod file;
mod index;
pub(crate) mod line;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use file::JournalAppender;
pub(crate) use index::{JournalEntry, JournalIndex, JournalTrim};
use line::{JournalHeader, Replay};
use tokio::sync::oneshot;

use super::folder::Lock;
use super::shared::Lease;
use super::shared::protocol::{Permission, Term};
use super::{Error, files};
use crate::git::Failpoints;
use crate::model::{Certainty, CommitId, RequestDigest, Sent, ToggleId};

/// The file in the state folder.
const FILE: &str = "journal";

/// The journal of a state folder: its file, its index, and the thread that writes during a pass.
pub(crate) struct JournalFile {
    path: PathBuf,
    base_url: String,
    /// The first line, as last read or written.
    header: JournalHeader,
    /// The content of the file, as of the last refresh if a pass is writing.
    index: JournalIndex,
    writer: Option<JournalWriter>,
    failpoints: Failpoints,
    lock: Arc<Lock>,
}

impl JournalFile {
    /// Reads the journal in `dir`, and removes an incomplete last line. A request of this process ends within
    /// `timeout`.
    pub(crate) fn open(
        dir: &Path,
        base_url: String,
        timeout: Duration,
        lock: Arc<Lock>,
        failpoints: Failpoints,
    ) -> Result<Self, Error> {
        let path = dir.join(FILE);
        let bytes = files::read(&path)?.unwrap_or_default();
        let Replay { index, header } = parse(dir, &bytes)?;
        let mut header = header.unwrap_or_default();
        // Their process was killed, so the service may still execute them.
        header.open.extend(index.open().cloned());
        header.timeout = if header.open.is_empty() { timeout } else { timeout.max(header.timeout) };
        let mut journal = Self { path, base_url, header, index, writer: None, failpoints, lock };
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            // The next line must not be appended to the incomplete one.
            journal.rewrite()?;
        }
        Ok(journal)
    }

    /// Refuses requests of another service that may have been stored.
    pub(crate) fn check_base_url(&self) -> Result<(), Error> {
        if self.index.is_empty() {
            Ok(())
        } else {
            Error::check_base_url(&self.header.base_url, &self.base_url)
        }
    }

    /// Returns the mark of the announcement that the entries belong to, if state is shared.
    pub(crate) fn mark(&self) -> Option<&str> {
        self.header.mark.as_deref()
    }

    /// Returns the toggles that earlier processes left unknown or with a request that may still be open.
    pub(crate) fn inherited(&self) -> BTreeSet<ToggleId> {
        let unknown = self.index.unknown().map(|(id, _)| id);
        unknown.chain(&self.header.open).cloned().collect()
    }

    /// Returns the longest timeout of the requests of this process and of open ones of earlier processes.
    pub(crate) fn longest_timeout(&self) -> Duration {
        self.header.timeout
    }

    /// Forgets the requests of earlier processes, all of which have ended, unless a pass is writing.
    pub(crate) fn forget_open(&mut self) -> Result<(), Error> {
        if self.is_running() || self.header.open.is_empty() {
            return Ok(());
        }
        self.header.open.clear();
        self.rewrite()
    }

    /// Returns the index as of the last refresh.
    pub(crate) fn index(&self) -> &JournalIndex {
        &self.index
    }

    /// Returns the requests that the rails let through in the last pass that sent any.
    pub(crate) fn let_through(&self) -> &BTreeMap<ToggleId, RequestDigest> {
        &self.header.let_through
    }

    /// Replaces them, in the file when the next pass starts.
    pub(crate) fn set_let_through(&mut self, requests: BTreeMap<ToggleId, RequestDigest>) {
        self.header.let_through = requests;
    }

    pub(crate) fn is_running(&self) -> bool {
        self.writer.is_some()
    }

    /// Refuses all further requests of this pass.
    pub(crate) fn end_lease(&self) {
        if let Some(writer) = &self.writer {
            writer.journal.lease.end();
        }
    }

    /// Reads the index again while lanes continue.
    pub(crate) fn refresh(&mut self) -> Result<(), Error> {
        if let Some(writer) = &self.writer {
            self.index = writer.journal.snapshot()?;
        }
        Ok(())
    }

    /// Opens the journal for a pass, unless it is open.
    pub(crate) fn start(
        &mut self,
        mark: Option<String>,
        base: Option<CommitId>,
        lease: Lease,
    ) -> Result<Journal, Error> {
        if self.writer.is_none() {
            self.header = JournalHeader {
                id: fresh_id(),
                base_url: self.base_url.clone(),
                mark,
                ..self.header.clone()
            };
            let (path, header, index) = (self.path.clone(), self.header.clone(), self.index.clone());
            let (lock, failpoints) = (Arc::clone(&self.lock), self.failpoints.clone());
            let appender = JournalAppender::start(path, header, index, lock, failpoints)?;
            self.writer = Some(JournalWriter::start(
                appender,
                // The numbers of earlier entries, which outlive their pass, stay unique.
                self.index.highest() + 1,
                base,
                lease,
            )?);
        }
        let writer = self.writer.as_ref().expect("it was just started");
        Ok(writer.journal.clone())
    }

    /// Trims the journal. Later requests have the base `tip`.
    pub(crate) fn trim(&mut self, trim: JournalTrim, tip: Option<CommitId>) -> Result<(), Error> {
        self.index.trim(&trim);
        match &self.writer {
            Some(writer) => {
                writer.journal.rebase(tip);
                if trim.is_empty() { Ok(()) } else { writer.journal.trim(trim) }
            }
            None if trim.is_empty() => Ok(()),
            None => self.rewrite(),
        }
    }

    /// Replaces the content by `index`, without the mark of an announcement. No pass may be writing.
    pub(crate) fn replace(&mut self, index: JournalIndex) -> Result<(), Error> {
        if self.index == index && self.header.mark.is_none() {
            return Ok(());
        }
        (self.index, self.header.mark) = (index, None);
        self.rewrite()
    }

    pub(crate) fn close(&mut self) -> Result<(), Error> {
        let refreshed = self.refresh();
        // The thread ends even if the refresh failed.
        self.writer = None;
        refreshed
    }

    fn rewrite(&mut self) -> Result<(), Error> {
        self.header.id = fresh_id();
        file::rewrite(&self.path, &self.header, &self.index, &self.failpoints).map(drop)
    }
}

/// Reads a journal of the folder `dir`.
pub(crate) fn parse(dir: &Path, bytes: &[u8]) -> Result<Replay, Error> {
    line::replay(bytes).map_err(|line| Error::BrokenJournal { path: dir.join(FILE), line })
}

/// Returns an id that no other journal or announcement has.
pub(crate) fn fresh_id() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// The journal of a pass, in which lanes record their requests and outcomes. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    commands: Sender<JournalCommand>,
    lease: Lease,
    common: Arc<JournalCounters>,
}

#[derive(Debug)]
struct JournalCounters {
    next: AtomicU64,
    /// The tip that requests are based on. A checkpoint moves it while lanes read it.
    base: RwLock<Option<CommitId>>,
}

/// A recorded request. If it is dropped without [`Journal::finish`], its outcome stays unknown.
#[derive(Debug)]
#[must_use = "a request without an outcome makes its toggle unknown"]
pub struct Begun {
    number: u64,
}

/// A command of a lane or the store to the thread that writes.
enum JournalCommand {
    Begin(String, Box<(ToggleId, JournalEntry)>, oneshot::Sender<Result<(), Error>>),
    Close(Sender<()>),
    Finish(u64, Certainty),
    Snapshot(Sender<JournalIndex>),
    Trim(JournalTrim, Sender<Result<(), Error>>),
}

impl Journal {
    /// Waits until a request may start. On shared state, this waits for the next push if the term of the last
    /// one is over.
    ///
    /// # Errors
    /// If requests may no longer start in this pass.
    pub async fn granted(&self) -> Result<(), Error> {
        self.lease.granted().await
    }

    /// Waits until requests may no longer start in this pass.
    pub async fn ended(&self) {
        self.lease.ended().await;
    }

    /// Records durably that `sent` will be sent for `id`. Returns none if recording took so long that the
    /// request may not start; call [`Journal::granted`] again then.
    ///
    /// # Errors
    /// If the request cannot be recorded. It must not be sent then.
    pub async fn begin(&self, id: &ToggleId, sent: &Sent) -> Result<Option<Begun>, Error> {
        // Only uniqueness matters, so the relaxed ordering is enough.
        let number = self.common.next.fetch_add(1, Ordering::Relaxed);
        let base = *self.common.base.read().unwrap_or_else(PoisonError::into_inner);
        let line = line::intent(number, id, base, sent);
        let entry = JournalEntry { number, base, sent: sent.clone(), outcome: None };
        let (reply, done) = oneshot::channel();
        let command = JournalCommand::Begin(line, Box::new((id.clone(), entry)), reply);
        self.commands.send(command).map_err(|_| Error::JournalClosed)?;
        done.await.map_err(|_| Error::JournalClosed)??;
        let begun = Begun { number };
        // The clock is checked last, because the sync may have taken long.
        if self.lease.permission() == Permission::Granted {
            return Ok(Some(begun));
        }
        self.finish(begun, Certainty::NotStored)?;
        Ok(None)
    }

    /// Records the outcome of a request, and returns the recorded outcome.
    #[expect(clippy::needless_pass_by_value, reason = "a request has one outcome")]
    pub fn finish(&self, begun: Begun, outcome: Certainty) -> Result<Certainty, Error> {
        let outcome = match outcome {
            // The request may have started after the term, when another process may have sent a different
            // one.
            Certainty::Stored if self.lease.check(Term::is_late) => Certainty::Unknown,
            other => other,
        };
        // Not synced: a lost outcome makes the toggle unknown, which costs one request. Checkpoints sync all
        // outcomes.
        let command = JournalCommand::Finish(begun.number, outcome);
        self.commands.send(command).map_err(|_| Error::JournalClosed)?;
        Ok(outcome)
    }

    /// Syncs the file and returns the index.
    fn snapshot(&self) -> Result<JournalIndex, Error> {
        self.request(JournalCommand::Snapshot)
    }

    fn trim(&self, trim: JournalTrim) -> Result<(), Error> {
        self.request(|reply| JournalCommand::Trim(trim, reply))?
    }

    fn rebase(&self, tip: Option<CommitId>) {
        *self.common.base.write().unwrap_or_else(PoisonError::into_inner) = tip;
    }

    fn request<T>(&self, command: impl FnOnce(Sender<T>) -> JournalCommand) -> Result<T, Error> {
        let (reply, answer) = mpsc::channel();
        self.commands.send(command(reply)).map_err(|_| Error::JournalClosed)?;
        answer.recv().map_err(|_| Error::JournalClosed)
    }
}

/// The thread that writes, joined when dropped.
struct JournalWriter {
    journal: Journal,
    thread: Option<JoinHandle<()>>,
}

impl JournalWriter {
    fn start(
        mut appender: JournalAppender,
        next: u64,
        base: Option<CommitId>,
        lease: Lease,
    ) -> Result<Self, Error> {
        let (commands, queue) = mpsc::channel();
        // A sync blocks, so it does not run on a thread of the runtime.
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || appender.run(&queue))
            .map_err(Error::io("start the writer of", Path::new(FILE)))?;
        let common = JournalCounters { next: AtomicU64::new(next), base: RwLock::new(base) };
        let journal = Journal { commands, lease, common: Arc::new(common) };
        Ok(Self { journal, thread: Some(thread) })
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        let _ = self.journal.request(JournalCommand::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
