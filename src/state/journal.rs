//! The journal of a pass: no record, no publish.
//!
//! One thread writes for all lanes: it takes everything that waits, appends it with one write and one sync, and wakes
//! the lanes (group commit). A request may leave once [`Journal::begin`] returned, and not before.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, RwLock};
use std::thread::{self, JoinHandle};

use tokio::sync::oneshot;

use super::crash::Crash;
use super::error::Error;
use super::files;
use super::ledger::{Cut, Entry, Finish, Header, Ledger, header_line, intent_line, outcome_line};
use super::lock::Lock;
use crate::model::{CommitId, Sent, ToggleId};

/// The most lines that share one sync.
const BATCH: usize = 4096;

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

enum Command {
    Begin(String, Box<(ToggleId, Entry)>, oneshot::Sender<Result<(), Error>>),
    Close(Sender<()>),
    Cut(Cut, Sender<Result<(), Error>>),
    Finish(u64, Finish),
    Snapshot(Sender<Result<Ledger, Error>>),
}

/// One line of a batch, for the ledger.
enum Recorded {
    Intent(Box<(ToggleId, Entry)>),
    Outcome(u64, Finish),
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
        crash: Crash,
    ) -> Result<Self, Error> {
        let next = ledger.highest() + 1;
        let file = rewrite(&path, &header, &ledger, &crash)?;
        let (commands, queue) = mpsc::channel();
        let mut writing = Writing {
            path,
            header,
            ledger,
            file,
            text: String::new(),
            failed: None,
            crash,
            _lock: lock,
        };
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

struct Writing {
    path: PathBuf,
    header: Header,
    ledger: Ledger,
    file: File,
    /// The lines of the last batch: memory for those of the next.
    text: String,
    /// Set once the file could not be written: its end may be torn, so nothing is appended until it is cut.
    failed: Option<Arc<std::io::Error>>,
    crash: Crash,
    _lock: Arc<Lock>,
}

impl Writing {
    fn run(&mut self, queue: &Receiver<Command>) {
        while let Ok(first) = queue.recv() {
            let mut next = Some(first);
            let mut batch = Vec::new();
            while let Some(command) = next.take() {
                if !matches!(command, Command::Begin(..) | Command::Finish(..)) {
                    next = Some(command);
                    break;
                }
                batch.push(command);
                if batch.len() < BATCH {
                    next = queue.try_recv().ok();
                }
            }
            let gone = self.append(batch).and_then(|()| match next {
                Some(command) => self.control(command),
                None => Ok(()),
            });
            if gone.is_err() {
                return;
            }
        }
    }

    /// Appends a batch: one write, and one sync where somebody waits for it. Only a crash point is an error.
    fn append(&mut self, batch: Vec<Command>) -> Result<(), Error> {
        self.text.clear();
        let mut waiting = Vec::new();
        let mut recorded = Vec::new();
        for command in batch {
            match command {
                Command::Begin(line, entry, reply) => {
                    self.text.push_str(&line);
                    waiting.push(reply);
                    recorded.push(Recorded::Intent(entry));
                }
                Command::Finish(number, finish) => {
                    self.text.push_str(&outcome_line(number, finish));
                    recorded.push(Recorded::Outcome(number, finish));
                }
                Command::Close(_) | Command::Cut(..) | Command::Snapshot(_) => {}
            }
        }
        if self.text.is_empty() {
            return Ok(());
        }
        self.crash.at("journal: to be written")?;
        self.write(!waiting.is_empty());
        self.crash.at("journal: written")?;
        // Requests leave as soon as they may; the book is kept while they are under way.
        for reply in waiting {
            let answer = self
                .failed
                .as_ref()
                .map_or(Ok(()), |source| Err(self.cannot_write(source)));
            // A lane that no longer waits will not send: its intent stays, as unknown.
            let _ = reply.send(answer);
        }
        for line in recorded {
            match line {
                Recorded::Intent(entry) if self.failed.is_none() => self.ledger.intend(entry.0, entry.1),
                // What was not written will not be sent.
                Recorded::Intent(_) => {}
                Recorded::Outcome(number, finish) => self.ledger.finish(number, finish),
            }
        }
        Ok(())
    }

    fn write(&mut self, sync: bool) {
        if self.failed.is_some() {
            return;
        }
        let written = self
            .file
            .write_all(self.text.as_bytes())
            .and_then(|()| match sync {
                true => self.file.sync_data(),
                false => Ok(()),
            });
        self.failed = written.err().map(Arc::new);
    }

    fn cannot_write(&self, source: &Arc<std::io::Error>) -> Error {
        Error::Io {
            doing: "write",
            path: self.path.clone(),
            source: Arc::clone(source),
        }
    }

    /// Only a crash point, or the end, is an error.
    fn control(&mut self, command: Command) -> Result<(), Error> {
        match command {
            Command::Begin(..) | Command::Finish(..) => {}
            Command::Close(reply) => {
                let _ = self.file.sync_data();
                drop(reply);
                return Err(Error::JournalClosed);
            }
            Command::Cut(cut, reply) => {
                let done = self.cut(&cut);
                let crashed = matches!(done, Err(Error::Crashed(_)));
                let _ = reply.send(done);
                if crashed {
                    return Err(Error::JournalClosed);
                }
            }
            Command::Snapshot(reply) => {
                if self.failed.is_none() {
                    self.failed = self.file.sync_data().err().map(Arc::new);
                }
                let _ = reply.send(Ok(self.ledger.clone()));
            }
        }
        Ok(())
    }

    fn cut(&mut self, cut: &Cut) -> Result<(), Error> {
        let mut ledger = self.ledger.clone();
        ledger.cut(cut);
        self.header.id = fresh_id();
        self.file = rewrite(&self.path, &self.header, &ledger, &self.crash)?;
        self.ledger = ledger;
        self.failed = None;
        Ok(())
    }
}

/// Replaces the journal and returns it, open at its end.
pub(crate) fn rewrite(path: &Path, header: &Header, ledger: &Ledger, crash: &Crash) -> Result<File, Error> {
    let mut text = header_line(header);
    for (id, entry) in ledger.entries() {
        text.push_str(&intent_line(entry.number, id, entry.base, &entry.sent));
        if let Some(finish) = entry.outcome {
            text.push_str(&outcome_line(entry.number, finish));
        }
    }
    crash.at("journal: to be cut")?;
    files::replace(path, text.as_bytes(), crash)?;
    crash.at("journal: cut")?;
    File::options()
        .append(true)
        .open(path)
        .map_err(Error::io("open", path))
}

/// Returns an id that no other journal has.
pub(crate) fn fresh_id() -> String {
    format!("{:016x}{:016x}", fastrand::u64(..), fastrand::u64(..))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::super::tests::{id, sent};
    use super::*;
    use crate::model::Action;

    #[test]
    fn a_full_disk_lets_nothing_be_sent_and_forgets_no_outcome() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path(), std::time::Duration::ZERO, 0).unwrap();
        let toggle = id("a/b/c");
        let entry = |number| Entry {
            number,
            base: None,
            sent: sent(Action::Create, "one"),
            outcome: None,
        };
        let mut ledger = Ledger::default();
        ledger.intend(toggle.clone(), entry(1));
        let mut writing = Writing {
            path: dir.path().join("journal"),
            header: Header {
                id: fresh_id(),
                base_url: String::new(),
                pass: None,
            },
            ledger,
            file: File::options().write(true).open("/dev/full").unwrap(),
            text: String::new(),
            failed: None,
            crash: Crash::default(),
            _lock: Arc::new(lock),
        };
        let (reply, mut answer) = oneshot::channel();
        let begin = Command::Begin("line\n".to_owned(), Box::new((toggle.clone(), entry(2))), reply);
        writing
            .append(vec![begin, Command::Finish(1, Finish::Applied)])
            .unwrap();
        let error = answer.try_recv().unwrap().unwrap_err();
        assert!(error.hint().unwrap().contains("disk is full"), "{error:?}");
        assert_eq!(writing.ledger.settled().count(), 1);
        assert_eq!(writing.ledger.unknown().count(), 0);
        writing.cut(&Cut::default()).unwrap();
        let (reply, mut answer) = oneshot::channel();
        let line = intent_line(2, &toggle, None, &entry(2).sent);
        writing
            .append(vec![Command::Begin(line, Box::new((toggle, entry(2))), reply)])
            .unwrap();
        answer.try_recv().unwrap().unwrap();
    }
}
