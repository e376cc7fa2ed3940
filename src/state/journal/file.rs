//! The file of the journal: its lines, which are appended in batches, and its replacement, which trims it.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use super::line::{JournalHeader, header_line, intent, outcome};
use super::{JournalCommand, JournalEntry, JournalIndex, JournalTrim};
use crate::git::Failpoints;
use crate::model::{Certainty, ToggleId};
use crate::state::folder::Lock;
use crate::state::{Error, files};

/// The most lines that share one sync.
const BATCH: usize = 4096;

enum BatchLine {
    Intent(Box<(ToggleId, JournalEntry)>),
    Outcome(u64, Certainty),
}

/// The file and its index, owned by the thread that writes.
pub(super) struct JournalAppender {
    path: PathBuf,
    header: JournalHeader,
    index: JournalIndex,
    file: File,
    /// The lines of the last batch, kept for its allocation.
    text: String,
    /// Set after a failed write. The end of the file may be incomplete, so nothing is appended until it is
    /// trimmed.
    failed: Option<Arc<std::io::Error>>,
    failpoints: Failpoints,
    _lock: Arc<Lock>,
}

impl JournalAppender {
    /// Replaces the journal at `path` by one with `index`.
    pub(super) fn start(
        path: PathBuf,
        header: JournalHeader,
        index: JournalIndex,
        lock: Arc<Lock>,
        failpoints: Failpoints,
    ) -> Result<Self, Error> {
        let file = rewrite(&path, &header, &index, &failpoints)?;
        Ok(Self { path, header, index, file, text: String::new(), failed: None, failpoints, _lock: lock })
    }

    /// Executes commands until the journal is closed.
    pub(super) fn run(&mut self, queue: &Receiver<JournalCommand>) {
        while let Ok(first) = queue.recv() {
            let mut next = Some(first);
            let mut batch = Vec::new();
            while let Some(command) = next.take() {
                // A control command ends the batch, so that it applies to all lines before it.
                if !matches!(command, JournalCommand::Begin(..) | JournalCommand::Finish(..)) {
                    next = Some(command);
                    break;
                }
                batch.push(command);
                if batch.len() < BATCH {
                    next = queue.try_recv().ok();
                }
            }
            let executed = self.append(batch).and_then(|()| match next {
                Some(command) => self.control(command),
                None => Ok(()),
            });
            if executed.is_err() {
                return;
            }
        }
    }

    /// Appends a batch with one write, and one sync if a lane waits for it. Fails only at a failpoint.
    fn append(&mut self, batch: Vec<JournalCommand>) -> Result<(), Error> {
        self.text.clear();
        let mut waiting = Vec::new();
        let mut recorded = Vec::new();
        for command in batch {
            match command {
                JournalCommand::Begin(line, entry, reply) => {
                    self.text.push_str(&line);
                    waiting.push(reply);
                    recorded.push(BatchLine::Intent(entry));
                }
                JournalCommand::Finish(number, finish) => {
                    self.text.push_str(&outcome(number, finish));
                    recorded.push(BatchLine::Outcome(number, finish));
                }
                JournalCommand::Close(_) | JournalCommand::Trim(..) | JournalCommand::Snapshot(_) => {}
            }
        }
        if self.text.is_empty() {
            return Ok(());
        }
        self.failpoints.at("journal: to be written")?;
        // Only intents need a sync: a lost outcome costs one request.
        self.write(!waiting.is_empty())?;
        self.failpoints.at("journal: written")?;
        // Requests may start before the index is updated.
        for reply in waiting {
            let answer = self.failed.as_ref().map_or(Ok(()), |source| Err(self.cannot_write(source)));
            // A lane that stopped waiting does not send its request, which stays unknown.
            let _ = reply.send(answer);
        }
        for line in recorded {
            match line {
                BatchLine::Intent(entry) if self.failed.is_none() => self.index.intend(entry.0, entry.1),
                // The lane received the error, so it does not send the request.
                BatchLine::Intent(_) => {}
                // The index keeps an outcome that the file lacks, so that the next commit records it.
                BatchLine::Outcome(number, finish) => self.index.finish(number, finish),
            }
        }
        Ok(())
    }

    /// Writes the batch, and syncs it if a lane waits for it. Fails only at a failpoint.
    fn write(&mut self, sync: bool) -> Result<(), Error> {
        if self.failed.is_some() {
            return Ok(());
        }
        let mut written = self.file.write_all(self.text.as_bytes());
        if sync && written.is_ok() {
            // Syncs the new length of the file but not its times.
            written = self.file.sync_data();
            self.failpoints.at("journal: synced")?;
        }
        self.failed = written.err().map(Arc::new);
        Ok(())
    }

    fn cannot_write(&self, source: &Arc<std::io::Error>) -> Error {
        Error::Io { doing: "write", path: self.path.clone(), source: Arc::clone(source) }
    }

    /// Fails only at a failpoint and when the journal is closed.
    fn control(&mut self, command: JournalCommand) -> Result<(), Error> {
        match command {
            JournalCommand::Begin(..) | JournalCommand::Finish(..) => {}
            JournalCommand::Close(reply) => {
                let _ = self.file.sync_data();
                drop(reply);
                return Err(Error::JournalClosed);
            }
            JournalCommand::Trim(trim, reply) => {
                let done = self.trim(&trim);
                let crashed = matches!(done, Err(Error::Crashed(_)));
                let _ = reply.send(done);
                if crashed {
                    return Err(Error::JournalClosed);
                }
            }
            JournalCommand::Snapshot(reply) => {
                if self.failed.is_none() {
                    self.failed = self.file.sync_data().err().map(Arc::new);
                }
                let _ = reply.send(self.index.clone());
            }
        }
        Ok(())
    }

    fn trim(&mut self, trim: &JournalTrim) -> Result<(), Error> {
        let mut index = self.index.clone();
        index.trim(trim);
        // Readers detect a trim by the id in the first line.
        self.header.id = super::fresh_id();
        self.file = rewrite(&self.path, &self.header, &index, &self.failpoints)?;
        self.index = index;
        // The new file does not have an incomplete end.
        self.failed = None;
        Ok(())
    }
}

/// Replaces the journal and returns it, open at its end.
pub(crate) fn rewrite(
    path: &Path,
    header: &JournalHeader,
    index: &JournalIndex,
    failpoints: &Failpoints,
) -> Result<File, Error> {
    let mut text = header_line(header);
    for (id, entry) in index.entries() {
        text.push_str(&intent(entry.number, id, entry.base, &entry.sent));
        if let Some(finish) = entry.outcome {
            text.push_str(&outcome(entry.number, finish));
        }
    }
    failpoints.at("journal: to be trimmed")?;
    files::replace(path, text.as_bytes(), failpoints)?;
    failpoints.at("journal: trimmed")?;
    File::options().append(true).open(path).map_err(Error::io("open", path))
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::time::Duration;

    use tokio::sync::oneshot;

    use super::*;
    use crate::model::Action;
    use crate::state::tests::{id, sent};

    #[test]
    fn a_full_disk_refuses_intents_and_keeps_outcomes() {
        let dir = tempfile::tempdir().unwrap();
        let lock = Lock::take(dir.path(), Duration::ZERO, 0).unwrap();
        let toggle = id("a/b/c");
        let entry =
            |number| JournalEntry { number, base: None, sent: sent(Action::Create, "one"), outcome: None };
        let mut index = JournalIndex::default();
        index.intend(toggle.clone(), entry(1));
        let mut appender = JournalAppender {
            path: dir.path().join("journal"),
            header: JournalHeader { id: "1".to_owned(), ..JournalHeader::default() },
            index,
            file: File::options().write(true).open("/dev/full").unwrap(),
            text: String::new(),
            failed: None,
            failpoints: Failpoints::default(),
            _lock: Arc::new(lock),
        };
        let (reply, mut answer) = oneshot::channel();
        let begin = JournalCommand::Begin("line\n".to_owned(), Box::new((toggle.clone(), entry(2))), reply);
        appender.append(vec![begin, JournalCommand::Finish(1, Certainty::Stored)]).unwrap();
        let error = answer.try_recv().unwrap().unwrap_err();
        assert!(error.hint().unwrap().contains("disk is full"), "{error:?}");
        assert_eq!(appender.index.settled().count(), 1);
        assert_eq!(appender.index.unknown().count(), 0);
        appender.trim(&JournalTrim::default()).unwrap();
        let (reply, mut answer) = oneshot::channel();
        let line = intent(2, &toggle, None, &entry(2).sent);
        appender.append(vec![JournalCommand::Begin(line, Box::new((toggle, entry(2))), reply)]).unwrap();
        answer.try_recv().unwrap().unwrap();
    }
}
