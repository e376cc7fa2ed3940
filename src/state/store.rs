//! The writer's side of state: takes the lock, recovers what a process that died left, and records passes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use git2::Repository;

use super::error::Error;
use super::fold::{IfSame, document};
use super::journal::{Journal, Writer};
use super::ledger::{Cut, Header, Ledger, Replay};
use super::link::Link;
use super::lock::{self, Lock};
use super::memory::{self, Failures, PassMemory};
use super::orders::Orders;
use super::record::APPLIED;
use super::shared::Shared;
use super::view::{self, View};
use super::work::Record;
use super::{files, journal_file};
use crate::git::pack::{self, Kind, PackWriter};
use crate::git::{self, RepositoryPool, refs};
use crate::git::{FailpointHook, Failpoints};
use crate::model::{CommitId, ObjectId, Sent, ToggleId};

/// How to open a [`Store`].
#[derive(Clone)]
pub struct Options {
    /// How long to wait for another process that has the lock.
    pub wait: Duration,
    /// The service that state is about.
    pub base_url: String,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
    /// The remote that state is shared through, where it is.
    pub shared: Option<Shared>,
    /// For tests: asked at every crash point, where `true` makes the store behave as if the process died.
    pub crash: Option<FailpointHook>,
}

/// What a pass is about.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct PassHead {
    /// The source revision.
    pub revision: CommitId,
    /// The time, in seconds since 1970-01-01 UTC.
    pub now: i64,
}

/// State, open for writing: one per state folder.
pub struct Store {
    dir: PathBuf,
    pub(super) repository: Repository,
    pub(super) base_url: String,
    pub(super) view: View,
    /// What the journal holds while no pass writes to it.
    pub(super) ledger: Ledger,
    writer: Option<Writer>,
    pub(super) link: Option<Link>,
    /// Whether something is recorded here that the remote was not told.
    pub(super) unpublished: bool,
    pub(super) failpoints: Failpoints,
    lock: Arc<Lock>,
}

impl Store {
    /// Takes the lock of `dir` (created where it is missing), clears away what a process that died left, and records
    /// what it had confirmed but not recorded.
    ///
    /// # Errors
    /// [`Error::Locked`] when another process has it for longer than `options.wait`, [`Error::OtherBaseUrl`] when the
    /// state belongs to another service, and whatever keeps it from being written.
    pub fn open(dir: &Path, options: Options) -> Result<Self, Error> {
        lock::create(dir)?;
        let lock = Arc::new(Lock::take(dir, options.wait, options.now)?);
        let failpoints = Failpoints(options.crash);
        let repository = git::open_or_create(&dir.join("state.git"), &failpoints)?;
        let journal = files::read(&dir.join("journal"))?;
        let Replay { ledger, header } = view::parse_journal(dir, journal.as_deref().unwrap_or_default())?;
        let tip = view::tip(&repository, APPLIED)?;
        let handles = Arc::new(RepositoryPool::new(dir.join("state.git")));
        let pass = header.as_ref().and_then(|header| header.pass.clone());
        let replay = Replay {
            ledger: ledger.clone(),
            header,
        };
        let mut store = Self {
            view: View::new(dir, Some(handles), tip, replay)?,
            dir: dir.to_owned(),
            repository,
            base_url: options.base_url,
            ledger,
            writer: None,
            link: options.shared.map(|shared| Link::new(shared, pass)),
            unpublished: false,
            failpoints,
            lock,
        };
        if let Some(recorded) = store.view.base_url() {
            store.check_base_url(recorded)?;
        }
        store.fetch(options.wait, options.now)?;
        store.recover(options.now, journal.as_deref().unwrap_or_default())?;
        Ok(store)
    }

    pub(super) fn check_base_url(&self, recorded: &str) -> Result<(), Error> {
        match recorded == self.base_url {
            true => Ok(()),
            false => Err(Error::OtherBaseUrl {
                recorded: recorded.to_owned(),
                wanted: self.base_url.clone(),
            }),
        }
    }

    /// Records what was confirmed, and leaves a journal with no torn end.
    fn recover(&mut self, now: i64, journal: &[u8]) -> Result<(), Error> {
        let newest = self.ledger.settled().max_by_key(|(_, entry)| entry.number);
        let newest = newest.map(|(_, entry)| entry.sent.revision);
        let recorded = self
            .view
            .tip()
            .filter(|_| self.unpublished)
            .map(|tip| tip.revision);
        if let Some(revision) = newest.or(recorded) {
            let head = PassHead { revision, now };
            let nothing =
                |object| Err::<Vec<u8>, _>(std::io::Error::other(format!("document {object} was not kept")));
            let work = self.work(&self.ledger, &[])?;
            let cut = self.commit(&head, work, IfSame::Nothing, nothing)?;
            self.tell(&head, &self.ledger.clone(), &cut)?;
            self.ledger.cut(&cut);
            self.rewrite_journal()?;
        } else if !journal.is_empty() && !journal.ends_with(b"\n") {
            self.rewrite_journal()?;
        }
        self.view.replace_ledger(&self.ledger);
        Ok(())
    }

    /// Tells the remote what is recorded now, before it leaves the journal.
    fn tell(&mut self, head: &PassHead, ledger: &Ledger, cut: &Cut) -> Result<(), Error> {
        let Some(link) = &mut self.link else { return Ok(()) };
        link.head = Some(*head);
        if self.unpublished || !cut.is_empty() {
            let mut left = ledger.clone();
            left.cut(cut);
            self.publish(&left)?;
        }
        self.unpublished = false;
        Ok(())
    }

    /// Fetches shared state again, as a pass does before it plans; nothing where state is not shared.
    ///
    /// # Errors
    /// [`Error::InUse`] when another process is publishing for longer than `wait`, and what [`Store::open`] fails with.
    pub fn refresh(&mut self, wait: Duration, now: i64) -> Result<(), Error> {
        if self.link.is_none() || self.writer.is_some() {
            return Ok(());
        }
        self.fetch(wait, now)?;
        self.recover(now, b"")
    }

    pub(super) fn rewrite_journal(&self) -> Result<(), Error> {
        journal_file::rewrite(
            &self.dir.join("journal"),
            &self.header(),
            &self.ledger,
            &self.failpoints,
        )
        .map(drop)
    }

    fn header(&self) -> Header {
        Header {
            id: journal_file::fresh_id(),
            base_url: self.base_url.clone(),
            pass: self.link.as_ref().and_then(|link| link.pass.clone()),
        }
    }

    /// Returns whether the folder is still the one that was opened.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.lock.is_in_place()
    }

    /// Returns what is recorded, as of the last call that changed it.
    #[must_use]
    pub fn view(&self) -> &View {
        &self.view
    }

    /// Puts every document that is about to be published into the state as one synced pack, and opens the journal.
    ///
    /// `documents` gives a document's bytes by its object id, once each. A pass without changes, which only records,
    /// starts with none.
    ///
    /// # Errors
    /// When something cannot be recorded: then nothing may be sent.
    pub fn start<E>(
        &mut self,
        head: &PassHead,
        changes: &[(ToggleId, Sent)],
        documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
    ) -> Result<Journal, Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        if !changes.is_empty() {
            memory::keep_pass(&self.dir, None, &self.failpoints)?;
            self.view.replace_memory(&self.dir)?;
        }
        self.keep(changes.iter().map(|(_, sent)| sent.object), documents)?;
        let fresh = self.writer.is_none();
        if fresh {
            if let Some(link) = &mut self.link {
                link.pass = Some(journal_file::fresh_id());
            }
            let writer = Writer::start(
                self.dir.join("journal"),
                self.header(),
                self.ledger.clone(),
                self.view.tip().map(|tip| tip.commit),
                Arc::clone(&self.lock),
                self.failpoints.clone(),
            )?;
            self.writer = Some(writer);
        }
        if let Err(error) = self.announce(head, changes) {
            if fresh {
                self.writer = None;
            }
            return Err(error);
        }
        let writer = self.writer.as_ref().expect("it was just started");
        Ok(writer.journal().clone())
    }

    /// Puts the documents that are not there yet into one pack.
    fn keep<E>(
        &self,
        objects: impl Iterator<Item = ObjectId>,
        mut documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
    ) -> Result<(), Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let odb = self.repository.odb().map_err(self.broken())?;
        let missing = pack::missing(&odb, objects);
        if missing.is_empty() {
            return Ok(());
        }
        let folder = self.repository.path().join("objects/pack");
        let mut pack = PackWriter::new(&folder, missing.len(), &self.failpoints)?;
        for object in missing {
            pack.add(Kind::Blob, &document(object, &mut documents)?)?;
        }
        pack.finish()?;
        odb.refresh().map_err(self.broken())
    }

    /// Records outcomes, and `records` besides, as one commit of the applied ref, and cuts the journal. Lanes may go
    /// on meanwhile: what they begin or finish is recorded by the next call.
    ///
    /// # Errors
    /// When it cannot be recorded. Everything is still in the journal then.
    pub fn fold<E>(
        &mut self,
        head: &PassHead,
        records: &[Record],
        documents: impl FnMut(ObjectId) -> Result<Vec<u8>, E>,
    ) -> Result<(), Error>
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let journal = self.writer.as_ref().map(|writer| writer.journal().clone());
        let ledger = match &journal {
            Some(journal) => journal.snapshot()?,
            None => self.ledger.clone(),
        };
        let work = self.work(&ledger, records)?;
        let if_same = if self.unpublished {
            IfSame::Nothing
        } else {
            IfSame::Commit
        };
        let cut = self.commit(head, work, if_same, documents)?;
        self.tell(head, &ledger, &cut)?;
        self.ledger = ledger;
        self.ledger.cut(&cut);
        match journal {
            Some(journal) => {
                journal.rebase(self.view.tip().map(|tip| tip.commit));
                if !cut.is_empty() {
                    journal.cut(cut)?;
                }
            }
            None if cut.is_empty() => {}
            None => self.rewrite_journal()?,
        }
        self.view.replace_ledger(&self.ledger);
        match git::repack(&self.repository, &self.failpoints)? {
            true => self.reopen(),
            false => Ok(()),
        }
    }

    /// Lets go of packs, merged ones too: libgit2 keeps them open, files and memory, for as long as any handle lives that
    /// saw them.
    fn reopen(&mut self) -> Result<(), Error> {
        self.view.close();
        let path = self.dir.join("state.git");
        self.repository = git::open_bare(&path).map_err(Error::repository(&path))?;
        Ok(())
    }

    /// Takes in that a pass at `revision` found nothing that the last clean pass did not leave, so that the next one at this
    /// revision need not look at the history. It is not written to the disk: the next process looks once.
    pub fn see(&mut self, revision: CommitId) {
        self.view.see(revision);
    }

    /// Closes the journal and keeps what the pass leaves behind besides: `memory` for the next one where nothing was
    /// held, pending, failed or unknown, and the requests that the service has not confirmed.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn finish_pass(&mut self, memory: Option<PassMemory>, failures: Failures) -> Result<(), Error> {
        if let Some(writer) = self.writer.take() {
            self.ledger = writer.journal().snapshot()?;
            // What was confirmed must be known to the next pass, whatever else fails here.
            self.view.replace_ledger(&self.ledger);
            // What was read of the packs stays in memory for as long as they are open, and the next pass may be far. Where
            // there is no file descriptor for it, it stays as it is.
            let _ = self.reopen();
        }
        self.conclude()?;
        if failures != *self.view.failures() {
            memory::keep_failures(&self.dir, failures, &self.failpoints)?;
        }
        if memory.as_ref() != self.view.memory() {
            memory::keep_pass(&self.dir, memory, &self.failpoints)?;
        }
        self.view.replace_ledger(&self.ledger);
        self.view.replace_memory(&self.dir)
    }

    /// Returns the orders in this folder. What is changed there is known here after [`Store::reload`].
    #[must_use]
    pub fn orders(&self) -> Orders {
        Orders::with(&self.dir, self.failpoints.clone())
    }

    /// Reads what is remembered and ordered again.
    ///
    /// # Errors
    /// When the suspensions cannot be read.
    pub fn reload(&mut self) -> Result<(), Error> {
        self.view.replace_memory(&self.dir)
    }

    pub(super) fn broken(&self) -> impl FnOnce(git2::Error) -> Error + use<> {
        Error::repository(self.repository.path())
    }

    /// Returns whether `ancestor` is part of the history of `commit`, as far as it is here.
    pub(super) fn descends(&self, commit: CommitId, ancestor: CommitId) -> Result<bool, Error> {
        Ok(refs::descends(&self.repository, commit, ancestor)?)
    }
}

impl std::fmt::Debug for Store {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Store")
            .field("dir", &self.dir)
            .finish_non_exhaustive()
    }
}
