//! Where the ref leads between and during passes: what tells the driver that a pass is due, or that an open one has
//! been overtaken. It only looks; what counts is what a pass sees.
//!
//! A repository on this machine is glanced at every second, for microseconds. One behind a URL is asked when the driver
//! says so, in the background and by one look-up of the ref.

use std::time::{Duration, SystemTime};

use tokio::task::JoinHandle;
use tokio::time::Instant;

use super::freshness::Freshness;
use crate::model::CommitId;
use crate::source::{CacheMode, Fetched, Source, SourceConfig};

/// How long a ref on this machine may be unreadable, as it is while the checkout is replaced.
const LOST_AFTER: Duration = Duration::from_secs(1);

/// Looks where the ref leads.
#[derive(Debug)]
pub(super) struct HeadProbe {
    config: SourceConfig,
    source: Source,
    asking: Option<JoinHandle<Option<CommitId>>>,
    /// Whether somebody asked again meanwhile, who may know of something newer than the answer.
    again: bool,
    /// When the source was last known to be current.
    fetched: Option<Fetched>,
    /// Since when a ref on this machine cannot be read.
    lost_at: Option<Instant>,
    freshness: Freshness,
}

impl HeadProbe {
    pub(super) fn new(config: SourceConfig, freshness: Freshness) -> Self {
        let config = SourceConfig {
            mode: CacheMode::Untouched,
            ..config
        };
        Self {
            source: Source::new(config.clone()),
            config,
            asking: None,
            again: false,
            fetched: None,
            lost_at: None,
            freshness,
        }
    }

    /// Returns whether the repository is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.source.is_local()
    }

    /// Returns where a ref on this machine leads now; nothing where it cannot be read, or is elsewhere.
    pub(super) fn local_head(&mut self) -> Option<CommitId> {
        let mut found = None;
        if self.is_local() {
            found = self.source.look_up().ok();
            self.fetched = self.source.fetched();
            self.lost_at = match found {
                Some(_) => None,
                None => self.lost_at.or(Some(Instant::now())),
            };
        }
        self.freshness.publish(self.fetched, SystemTime::now());
        found
    }

    /// Returns whether a ref on this machine could not be read for a second, which is longer than a swap of the checkout.
    pub(super) fn is_lost(&self) -> bool {
        self.lost_at.is_some_and(|at| at.elapsed() >= LOST_AFTER)
    }

    /// Notes that a repository behind a URL was looked up at `at`; of a local one, `FETCH_HEAD` shows more.
    pub(super) fn looked(&mut self, at: SystemTime) {
        if !self.is_local() {
            let at = self.fetched.map_or(at, |known| known.at.max(at));
            self.fetched = Some(Fetched { at, problem: None });
            self.freshness.publish(self.fetched, SystemTime::now());
        }
    }

    /// Asks a repository behind a URL; [`HeadProbe::finished`] waits for what comes of it.
    pub(super) fn start(&mut self) {
        if self.is_local() {
            return;
        }
        if self.asking.is_some() {
            self.again = true;
            return;
        }
        let mut source = Source::new(self.config.clone());
        self.asking = Some(tokio::task::spawn_blocking(move || source.look_up().ok()));
    }

    /// Waits for an answer, for ever where nobody was asked; nothing where the repository could not be reached. Can be
    /// given up and called again.
    pub(super) async fn finished(&mut self) -> Option<CommitId> {
        let Some(asking) = &mut self.asking else {
            return std::future::pending().await;
        };
        let found = asking.await;
        self.asking = None;
        if std::mem::take(&mut self.again) {
            self.start();
        }
        let found = found.unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()));
        if found.is_some() {
            self.looked(SystemTime::now());
        }
        found
    }
}
