//! The journal of a pass: no record, no publish.
//!
//! One thread writes for all lanes: it takes everything that waits, appends it with one write and one sync, and wakes
//! the lanes (group commit). A request may leave once [`Journal::begin`] returned, and not before.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::error::Error;
use super::journal_file::Writing;
use super::ledger::{Cut, Entry, Finish, Header, Ledger, intent_line};
use super::lock::Lock;
use crate::git::Failpoints;
use crate::model::{CommitId, Sent, ToggleId};

/// Where the lanes of a pass record what they are about to send and what came of it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    commands: Sender<Command>,
    shared: Arc<Common>,
}

#[derive(Debug)]
struct Common {
    next: AtomicU64,
    /// The tip that requests build on. Folding moves it while lanes read it.
    base: RwLock<Option<CommitId>>,
}

/// A request that is on record. Dropped without [`Journal::finish`], its outcome stays unknown.
#[derive(Debug)]
#[must_use = "a request without an outcome makes its toggle unknown"]
pub struct Begun {
    number: u64,
}

/// What the lanes and the store ask of the thread that writes.
pub(super) enum Command {
    Begin(String, Box<(ToggleId, Entry)>, oneshot::Sender<Result<(), Error>>),
    Close(Sender<()>),
    Cut(Cut, Sender<Result<(), Error>>),
    Finish(u64, Finish),
    Snapshot(Sender<Result<Ledger, Error>>),
}

impl Journal {
    /// Records that `sent` is about to be sent for `id`; durable when it returns.
    ///
    /// # Errors
    /// When it cannot be recorded: then the request must not be sent.
    pub async fn begin(&self, id: &ToggleId, sent: &Sent) -> Result<Begun, Error> {
        let number = self.shared.next.fetch_add(1, Ordering::Relaxed);
        let base = *self
            .shared
            .base
            .read()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let line = intent_line(number, id, base, sent);
        let entry = Entry {
            number,
            base,
            sent: sent.clone(),
            outcome: None,
        };
        let (reply, done) = oneshot::channel();
        let command = Command::Begin(line, Box::new((id.clone(), entry)), reply);
        self.commands.send(command).map_err(|_| Error::JournalClosed)?;
        done.await.map_err(|_| Error::JournalClosed)??;
        Ok(Begun { number })
    }

    /// Records what came of a request.
    ///
    /// It does not wait for the disk: an outcome that is lost makes its toggle unknown, which costs one more request,
    /// and folding and closing wait for all that was queued.
    ///
    /// # Errors
    /// When the journal is closed.
    #[expect(clippy::needless_pass_by_value, reason = "a request has one outcome")]
    pub fn finish(&self, begun: Begun, outcome: Finish) -> Result<(), Error> {
        self.commands
            .send(Command::Finish(begun.number, outcome))
            .map_err(|_| Error::JournalClosed)
    }

    /// Returns everything that is recorded so far, after a sync.
    pub(crate) fn snapshot(&self) -> Result<Ledger, Error> {
        self.ask(Command::Snapshot)?
    }

    /// Cuts the journal, durably. What was begun or finished meanwhile stays.
    pub(crate) fn cut(&self, cut: Cut) -> Result<(), Error> {
        self.ask(|reply| Command::Cut(cut, reply))?
    }

    /// Makes requests from here on build on `tip`.
    pub(crate) fn rebase(&self, tip: Option<CommitId>) {
        *self
            .shared
            .base
            .write()
            .unwrap_or_else(std::sync::PoisonError::into_inner) = tip;
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
#[derive(Debug)]
pub(crate) struct Writer {
    journal: Journal,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    /// Starts a journal at `path` with `ledger`, replacing what is there. `lock` is held as long as it writes.
    pub(crate) fn start(
        path: PathBuf,
        header: Header,
        ledger: Ledger,
        base: Option<CommitId>,
        lock: Arc<Lock>,
        failpoints: Failpoints,
    ) -> Result<Self, Error> {
        let next = ledger.highest() + 1;
        let mut writing = Writing::start(path, header, ledger, lock, failpoints)?;
        let (commands, queue) = mpsc::channel();
        let thread = thread::Builder::new()
            .name("journal".to_owned())
            .spawn(move || writing.run(&queue))
            .map_err(Error::io("start the writer of", Path::new("journal")))?;
        let shared = Common {
            next: AtomicU64::new(next),
            base: RwLock::new(base),
        };
        let journal = Journal {
            commands,
            shared: Arc::new(shared),
        };
        Ok(Self {
            journal,
            thread: Some(thread),
        })
    }

    pub(crate) fn journal(&self) -> &Journal {
        &self.journal
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        let _ = self.journal.ask(Command::Close);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
