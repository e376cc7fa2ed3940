//! The journal: no record, no publish.
//!
//! During a pass, one thread writes for all lanes: it takes everything that waits, appends it with one write and one sync,
//! and wakes the lanes (group commit). A request may start once [`Journal::begin`] has returned it, and not before.

mod file;
pub(crate) mod index;
pub(crate) mod lines;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::lock::Lock;
use super::shared::Lease;
use super::shared::protocol::Permission;
use super::{Error, files};
use crate::git::Failpoints;
use crate::model::{Certainty, CommitId, Sent, ToggleId};
use file::JournalAppender;
use index::{Entry, JournalIndex, JournalTrim};
use lines::{Header, Replay};

/// The file in the state folder.
const FILE: &str = "journal";

/// The journal of a state folder: its file, what is in it, and the thread that writes during a pass.
pub(crate) struct JournalFile {
    path: PathBuf,
    base_url: String,
    /// The first line, as it was read or written last.
    header: Header,
    /// What the file holds while no pass writes to it.
    index: JournalIndex,
    writer: Option<JournalWriter>,
    failpoints: Failpoints,
    lock: Arc<Lock>,
}

impl JournalFile {
    /// Reads the journal in `dir`, and removes a torn end.
    pub(crate) fn open(
        dir: &Path,
        base_url: String,
        lock: Arc<Lock>,
        failpoints: Failpoints,
    ) -> Result<Self, Error> {
        let path = dir.join(FILE);
        let bytes = files::read(&path)?.unwrap_or_default();
        let Replay { index, header } = parse(dir, &bytes)?;
        let mut journal = Self {
            path,
            base_url,
            header: header.unwrap_or_default(),
            index,
            writer: None,
            failpoints,
            lock,
        };
        if !bytes.is_empty() && !bytes.ends_with(b"\n") {
            journal.rewrite()?;
        }
        Ok(journal)
    }

    /// Refuses requests of another service that may have been stored.
    pub(crate) fn check_base_url(&self) -> Result<(), Error> {
        match self.index.is_empty() || self.header.base_url == self.base_url {
            true => Ok(()),
            false => Err(Error::OtherBaseUrl {
                recorded: self.header.base_url.clone(),
                wanted: self.base_url.clone(),
            }),
        }
    }

    /// Returns the mark of the announcement that the entries belong to, if state is shared.
    pub(crate) fn mark(&self) -> Option<&str> {
        self.header.mark.as_deref()
    }

    /// Returns what the journal held when no pass wrote to it.
    pub(crate) fn index(&self) -> &JournalIndex {
        &self.index
    }

    pub(crate) fn is_running(&self) -> bool {
        self.writer.is_some()
    }

    /// Lets no further request start in this pass.
    pub(crate) fn end_lease(&self) {
        if let Some(writer) = &self.writer {
            writer.journal.lease.end();
        }
    }

    /// Reads the index again while lanes go on.
    pub(crate) fn refresh(&mut self) -> Result<&JournalIndex, Error> {
        if let Some(writer) = &self.writer {
            self.index = writer.journal.snapshot()?;
        }
        Ok(&self.index)
    }

    /// Opens the journal for a pass, or returns it if it is open.
    pub(crate) fn start(
        &mut self,
        mark: Option<String>,
        base: Option<CommitId>,
        lease: Lease,
    ) -> Result<Journal, Error> {
        if self.writer.is_none() {
            self.header = Header {
                id: fresh_id(),
                base_url: self.base_url.clone(),
                mark,
            };
            let (path, header, index) = (self.path.clone(), self.header.clone(), self.index.clone());
            let (lock, failpoints) = (Arc::clone(&self.lock), self.failpoints.clone());
            let appender = JournalAppender::start(path, header, index, lock, failpoints)?;
            self.writer = Some(JournalWriter::start(
                appender,
                self.index.highest() + 1,
                base,
                lease,
            )?);
        }
        let writer = self.writer.as_ref().expect("it was just started");
        Ok(writer.journal.clone())
    }

    /// Removes what is recorded elsewhere. Requests from here on build on `tip`.
    pub(crate) fn trim(&mut self, trim: JournalTrim, tip: Option<CommitId>) -> Result<(), Error> {
        self.index.trim(&trim);
        match &self.writer {
            Some(writer) => {
                writer.journal.rebase(tip);
                match trim.is_empty() {
                    true => Ok(()),
                    false => writer.journal.trim(trim),
                }
            }
            None if trim.is_empty() => Ok(()),
            None => self.rewrite(),
        }
    }

    /// Replaces everything by `index`, which belongs to no announcement. No pass may be writing.
    pub(crate) fn replace(&mut self, index: JournalIndex) -> Result<(), Error> {
        if self.index == index && self.header.mark.is_none() {
            return Ok(());
        }
        (self.index, self.header.mark) = (index, None);
        self.rewrite()
    }

    /// Closes the journal of a pass.
    pub(crate) fn close(&mut self) -> Result<(), Error> {
        if let Some(writer) = self.writer.take() {
            self.index = writer.journal.snapshot()?;
        }
        Ok(())
    }

    fn rewrite(&mut self) -> Result<(), Error> {
        self.header.id = fresh_id();
        file::rewrite(&self.path, &self.header, &self.index, &self.failpoints).map(drop)
    }
}

/// Reads a journal of the folder `dir`.
pub(crate) fn parse(dir: &Path, bytes: &[u8]) -> Result<Replay, Error> {
    lines::replay(bytes).map_err(|line| Error::BrokenJournal {
        path: dir.join(FILE),
        line,
    })
}

/// Returns an id that no other journal or announcement has.
pub(crate) fn fresh_id() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

/// Where the lanes of a pass record what they are about to send and what came of it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    commands: Sender<Command>,
    lease: Lease,
    common: Arc<Common>,
}

#[derive(Debug)]
struct Common {
    next: AtomicU64,
    /// The tip that requests build on. A checkpoint moves it while lanes read it.
    base: RwLock<Option<CommitId>>,
}

/// A request that is on record. Dropped without [`Journal::finish`], its outcome stays unknown.
#[derive(Debug)]
#[must_use = "a request without an outcome makes its toggle unknown"]
pub struct Begun {
    number: u64,
}

/// What the lanes and the store ask of the thread that writes.
enum Command {
    Begin(String, Box<(ToggleId, Entry)>, oneshot::Sender<Result<(), Error>>),
    Close(Sender<()>),
    Finish(u64, Certainty),
    Snapshot(Sender<Result<JournalIndex, Error>>),
    Trim(JournalTrim, Sender<Result<(), Error>>),
}

impl Journal {
    /// Waits until a request may start. On shared state, that is within one term of the last push; then the next push is
    /// waited for.
    ///
    /// # Errors
    /// If none may start in this pass any more.
    pub async fn granted(&self) -> Result<(), Error> {
        self.lease.granted().await
    }

    /// Waits until no request may start in this pass any more.
    pub async fn ended(&self) {
        self.lease.ended().await;
    }

    /// Records that `sent` is about to be sent for `id`; durable when it returns. Returns nothing if the request may not
    /// start after all, because recording it took too long: wait for [`Journal::granted`] again.
    ///
    /// # Errors
    /// When it cannot be recorded: then the request must not be sent.
    pub async fn begin(&self, id: &ToggleId, sent: &Sent) -> Result<Option<Begun>, Error> {
        let number = self.common.next.fetch_add(1, Ordering::Relaxed);
        let base = *self.common.base.read().unwrap_or_else(PoisonError::into_inner);
        let line = lines::intent(number, id, base, sent);
        let entry = Entry {
            number,
            base,
            sent: sent.clone(),
            outcome: None,
        };
        let (reply, done) = oneshot::channel();
        let command = Command::Begin(line, Box::new((id.clone(), entry)), reply);
        self.commands.send(command).map_err(|_| Error::JournalClosed)?;
        #[cfg(test)]
        let done = crate::git::simulated::received(done);
        done.await.map_err(|_| Error::JournalClosed)??;
        let begun = Begun { number };
        // The clock is checked as the last thing before the request.
        if self.lease.permission() == Permission::Granted {
            return Ok(Some(begun));
        }
        self.finish(begun, Certainty::NotStored)?;
        Ok(None)
    }

    /// Records what came of a request, and returns what was recorded. A confirmation that comes so late that the request
    /// may have started after the term, on shared state, counts as unknown: another process may have sent something else
    /// meanwhile.
    ///
    /// It does not wait for the disk: an outcome that is lost makes its toggle unknown, which costs one more request,
    /// and checkpoints and closing wait for all that was queued.
    ///
    /// # Errors
    /// When the journal is closed.
    #[expect(clippy::needless_pass_by_value, reason = "a request has one outcome")]
    pub fn finish(&self, begun: Begun, outcome: Certainty) -> Result<Certainty, Error> {
        let outcome = match outcome {
            Certainty::Stored if self.lease.is_late() => Certainty::Unknown,
            other => other,
        };
        let command = Command::Finish(begun.number, outcome);
        self.commands.send(command).map_err(|_| Error::JournalClosed)?;
        Ok(outcome)
    }

    /// Returns everything that is recorded so far, after a sync.
    fn snapshot(&self) -> Result<JournalIndex, Error> {
        self.ask(Command::Snapshot)?
    }

    /// Trims the journal, durably. What was begun or finished meanwhile stays.
    fn trim(&self, trim: JournalTrim) -> Result<(), Error> {
        self.ask(|reply| Command::Trim(trim, reply))?
    }

    fn rebase(&self, tip: Option<CommitId>) {
        *self.common.base.write().unwrap_or_else(PoisonError::into_inner) = tip;
    }

    fn ask<T>(&self, command: impl FnOnce(Sender<T>) -> Command) -> Result<T, Error> {
        let (reply, answer) = mpsc::channel();
        self.commands
            .send(command(reply))
            .map_err(|_| Error::JournalClosed)?;
        answer.recv().map_err(|_| Error::JournalClosed)
    }
}

/// The thread that writes.
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
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || appender.run(&queue))
            .map_err(Error::io("start the writer of", Path::new(FILE)))?;
        let common = Common {
            next: AtomicU64::new(next),
            base: RwLock::new(base),
        };
        let journal = Journal {
            commands,
            lease,
            common: Arc::new(common),
        };
        Ok(Self {
            journal,
            thread: Some(thread),
        })
    }
}

impl Drop for JournalWriter {
    fn drop(&mut self) {
        let _ = self.journal.ask(Command::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
