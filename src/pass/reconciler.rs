//! One pass: look, plan, approve, publish, record. `apply` makes one and exits; the driver makes them for ever.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::Error;
use super::config::Rules;
use super::origin::SharedState;
use super::planning::history_guard::HistoryGuard;
use super::planning::{self, Planned};
use super::progress::Progress;
use super::publish::inherited::Inherited;
use super::publish::order::Remembered;
use super::publish::{Limits, PublishJob, PublishSummary, sent};
use super::record::{self, Documents};
use super::report::Report;
use crate::git::RepoUrl;
use crate::model::{Sent, ToggleId};
use crate::plan::{Approved, Parked, Plan};
use crate::service::{Client, ClientConfig};
use crate::source::{Snapshot, Source, SourceConfig};
use crate::state::{Journal, Options, PassHead, Store, View};

/// How often a pass starts because the source vanished or another process was faster. Each time, that process made
/// progress; with a few jobs at once, five starts were not always enough.
const STARTS: usize = 20;

/// How long a pass waits for another process that is publishing to the same shared state.
const SHARED_WAIT: Duration = Duration::from_secs(90);

/// Everything a pass needs to know.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where documents come from.
    pub source: SourceConfig,
    /// What shapes a plan.
    pub rules: Rules,
    /// Where state is kept.
    pub state_dir: PathBuf,
    /// Where state is shared, if it is.
    pub shared: Option<SharedState>,
    /// The service; a plan needs none.
    pub service: Option<ClientConfig>,
    /// How many requests may be open.
    pub limits: Limits,
}

/// What happens around a pass while it is under way.
#[derive(Clone)]
pub struct PassContext {
    /// Becomes true when nothing new may start.
    pub stop: watch::Receiver<bool>,
    /// Is told of the plan before the first request leaves, and of every request that ended.
    pub progress: Arc<dyn Progress>,
}

/// Makes passes. Owns the source and the state's lock; nobody else writes while it lives.
#[derive(Debug)]
pub struct Reconciler {
    config: Config,
    source: Source,
    store: Store,
    /// The remote that the state was opened on, where it is shared.
    remote: Option<RepoUrl>,
    inherited: Inherited,
    /// Toggles that are not tried again yet, with the reason; the driver's to fill.
    pub(crate) parked: BTreeMap<ToggleId, Parked>,
    /// What is known about moves of the ref; the driver's to fill.
    pub(crate) history: HistoryGuard,
}

/// What looking decided.
enum Looked {
    /// There is nothing to do, and that was known before looking closer.
    Same(Snapshot, Duration),
    /// This is the plan.
    Planned(Snapshot, Box<Planned>, Duration),
}

impl Reconciler {
    /// Takes the state's lock, waiting at most `wait` for whoever has it, and recovers what a crash left. Blocks.
    ///
    /// # Errors
    /// When another process is the writer, or the state cannot be used.
    pub fn open(config: Config, wait: Duration) -> Result<Self, Error> {
        let shared = config.shared.as_ref();
        let shared = shared.map(|shared| shared.resolve(&config.source)).transpose()?;
        let remote = shared.as_ref().map(|shared| shared.remote.clone());
        let options = Options {
            wait,
            base_url: config.rules.base_url.clone().unwrap_or_default(),
            now: now(),
            shared,
            crash: None,
        };
        let store = Store::open(&config.state_dir, options)?;
        let timeout = config.service.as_ref().map(|service| service.timeout);
        let ended_at = tokio::time::Instant::now() + timeout.unwrap_or_default();
        let inherited = Inherited::new(store.view().unknown().keys(), ended_at);
        let source = Source::new(config.source.clone());
        Ok(Self {
            config,
            source,
            store,
            remote,
            inherited,
            parked: BTreeMap::new(),
            history: HistoryGuard::default(),
        })
    }

    /// Returns whether the state's folder is still the one that was opened.
    pub(crate) fn is_in_place(&self) -> bool {
        self.store.is_in_place()
    }

    /// Returns whether state is still shared through the remote that was opened.
    pub(crate) fn is_same_remote(&self) -> bool {
        let shared = self.config.shared.as_ref().zip(self.remote.as_ref());
        shared.is_none_or(|(shared, remote)| shared.is_at(remote, &self.config.source))
    }

    /// Returns the state as it is recorded now.
    #[must_use]
    pub fn view(&self) -> &View {
        self.store.view()
    }

    /// Returns what a pass needs to know.
    #[must_use]
    pub fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the state, to suspend or resume it.
    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Makes one pass and gives the reconciler back, whatever came of it. What goes wrong with one toggle is in the
    /// report.
    ///
    /// # Errors
    /// Why there was no pass, or why it could not be finished.
    pub async fn pass(self, context: &PassContext) -> (Self, Result<Report, Error>) {
        let mut reconciler = self;
        let (mut starts, mut is_repaired) = (0, false);
        let mut earlier = None;
        loop {
            starts += 1;
            let (back, result) = reconciler.attempt(context).await;
            reconciler = back;
            let result = Report::after(earlier.take(), result);
            let error = match &result {
                Ok(report) => report.error.as_deref(),
                Err(error) => Some(error),
            };
            match error {
                Some(error)
                    if starts < STARTS
                        && !*context.stop.borrow()
                        && (error.is_transient() || reconciler.repairs(error, &mut is_repaired)) =>
                {
                    tracing::info!(name: "pass_restarted", reason = %error, "the pass starts over");
                    earlier = result.ok();
                }
                _ => return (reconciler, result),
            }
        }
    }

    /// Has a damaged mirror cloned again, once in a pass. Returns whether it does.
    fn repairs(&mut self, error: &Error, is_repaired: &mut bool) -> bool {
        let damage = error.source_damage().filter(|_| !*is_repaired);
        *is_repaired |= damage.is_some_and(|error| self.source.repair(error));
        *is_repaired && damage.is_some()
    }

    async fn attempt(self, context: &PassContext) -> (Self, Result<Report, Error>) {
        let (reconciler, looked) = blocking(self, Self::look).await;
        let (snapshot, look, looked) = match looked {
            Err(error) => return (reconciler, Err(error)),
            Ok(Looked::Planned(snapshot, look, took)) => (snapshot, *look, took),
            Ok(Looked::Same(snapshot, looked)) => {
                let rules = &reconciler.config.rules;
                let plan = Plan::nothing(planning::source_info(&snapshot, rules), rules.base_url.clone());
                return (reconciler, Ok(Report::nothing(plan, looked)));
            }
        };
        context.progress.looked(snapshot.revision());
        let plan = Arc::new(look.plan);
        let (reconciler, published) = reconciler.carry_out(&plan, &snapshot, context).await;
        let report = published.map(|published| {
            let PublishSummary {
                results,
                stopped,
                held_back,
                error,
            } = published;
            Report {
                plan,
                earlier: Vec::new(),
                results,
                stopped,
                error: error.map(Arc::new),
                held_back,
                notes: look.notes,
                looked,
            }
        });
        (reconciler, report)
    }

    fn look(&mut self) -> Result<Looked, Error> {
        // The state first: what others apply while it is waited for must not be newer than the source that is compared.
        // What they apply later is found when the pass announces itself.
        self.store.refresh(SHARED_WAIT, now())?;
        let began = Instant::now();
        let snapshot = self.source.look()?;
        let took = began.elapsed();
        let (view, rules) = (self.store.view(), &self.config.rules);
        planning::check_base_url(view, rules)?;
        let notes = self
            .history
            .check(&snapshot, view, &self.config, &mut self.source)?;
        let is_idle = notes.is_empty() && self.parked.is_empty();
        if is_idle && planning::is_same(&snapshot, view, rules)? {
            self.store.see(snapshot.revision());
            return Ok(Looked::Same(snapshot, took));
        }
        let suspensions = planning::suspensions(view, now());
        let plan = planning::look(&snapshot, view, rules, &self.parked, suspensions)?;
        Ok(Looked::Planned(snapshot, Box::new(Planned { plan, notes }), took))
    }

    /// Does what the plan says, as far as it is approved, and records it.
    async fn carry_out(
        self,
        plan: &Arc<Plan>,
        snapshot: &Snapshot,
        context: &PassContext,
    ) -> (Self, Result<PublishSummary, Error>) {
        // While an invalid document stops everything, nothing is published and nothing is recorded.
        let Ok(approved) = plan.approve() else {
            return (self, Ok(PublishSummary::nothing()));
        };
        let (reconciler, published) = match plan.has_changes() {
            true => self.publish(approved.clone(), snapshot, context).await,
            false => (self, Ok(PublishSummary::nothing())),
        };
        let published = match published {
            Ok(published) if published.error.is_none() => published,
            ended => return (reconciler, ended),
        };
        let snapshot = snapshot.clone();
        let recorded = blocking(reconciler, move |reconciler| {
            let Self { config, store, .. } = reconciler;
            let recorded = record::record(store, &approved, &snapshot, &published, &config.rules, now());
            Ok((recorded, published))
        });
        match recorded.await {
            (reconciler, Ok((Ok(()), published))) => (reconciler, Ok(published)),
            (reconciler, Ok((Err(error), published))) => reconciler.abandon(published, error).await,
            (reconciler, Err(error)) => (reconciler, Err(error)),
        }
    }

    async fn publish(
        self,
        plan: Approved,
        snapshot: &Snapshot,
        context: &PassContext,
    ) -> (Self, Result<PublishSummary, Error>) {
        let client = match self.config.service.clone().map(Client::new) {
            Some(Ok(client)) => client,
            Some(Err(error)) => return (self, Err(error.into())),
            None => return (self, Err(Error::NoService)),
        };
        let head = PassHead {
            revision: snapshot.revision(),
            now: now(),
        };
        let changes = plan.changes().iter();
        let changes: Vec<_> = changes
            .map(|change| (change.id.clone(), sent(change, head.revision)))
            .collect();
        let limits = self.config.limits;
        let documents = snapshot.clone();
        let (mut reconciler, journal) = blocking(self, move |reconciler| {
            start(&mut reconciler.store, head, &changes, &documents)
        })
        .await;
        let journal = match journal {
            Ok(journal) => journal,
            Err(error) => return (reconciler, Err(error)),
        };
        context.progress.begins(&plan);
        reconciler.inherited.expire(tokio::time::Instant::now());
        let remembered = Remembered::of(reconciler.store.view(), reconciler.inherited.clone());
        let (stop, progress) = (context.stop.clone(), Arc::clone(&context.progress));
        let publishing = PublishJob {
            plan,
            remembered,
            client,
            journal,
            limits,
            stop,
            progress,
        };
        reconciler.publish_and_fold(publishing, head).await
    }

    /// Closes the journal of a pass that an error ended. The journal keeps every outcome for the next pass, and the report
    /// keeps every result.
    pub(super) async fn abandon(
        self,
        published: PublishSummary,
        error: Error,
    ) -> (Self, Result<PublishSummary, Error>) {
        blocking(self, |reconciler| {
            if let Err(error) = record::abandon(&mut reconciler.store) {
                // The error that ended the pass is reported, and usually is the cause of this one.
                tracing::debug!(name: "journal_open", %error, "could not close the journal");
            }
            published.ended_by(error)
        })
        .await
    }
}

fn start(
    store: &mut Store,
    head: PassHead,
    changes: &[(ToggleId, Sent)],
    snapshot: &Snapshot,
) -> Result<Journal, Error> {
    let documents = Documents::new(snapshot)?;
    let started = store.start(&head, changes, |object| documents.read(object));
    started.map_err(record::unread)
}

/// Runs blocking work on the reconciler away from the async threads.
pub(super) async fn blocking<T: Send + 'static>(
    mut reconciler: Reconciler,
    work: impl FnOnce(&mut Reconciler) -> Result<T, Error> + Send + 'static,
) -> (Reconciler, Result<T, Error>) {
    let span = tracing::Span::current();
    let done = tokio::task::spawn_blocking(move || {
        let result = span.in_scope(|| work(&mut reconciler));
        (reconciler, result)
    });
    done.await
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic.into_panic()))
}

/// The time, in seconds since 1970-01-01 UTC. The conductor is where the clock is read.
pub(crate) fn now() -> i64 {
    jiff::Timestamp::now().as_second()
}
