#![doc = include_str!("README.md")]

mod attribution;
mod compare;
mod config;
mod dependents;
mod documents;
mod error;
mod event;
mod history;
mod notes;
pub(crate) mod planning;
pub(crate) mod publish;
mod range;
mod read;
mod record;
mod references;
mod report;
mod reviews;
mod runtime;
#[cfg(test)]
mod simulation;
mod stale;
mod staleness;
mod validate;

pub(crate) use config::matches_something;
pub use config::{Config, OriginState, Rules, SharedState, check_scope};
pub use documents::{DocumentFiles, ReadDocument, TestFile};
pub use error::{Error, Stale};
pub use event::{Event, Observe, PassContext, PublishAnswer};
pub use history::{DeploymentHistory, DeploymentPart, DeploymentQuery, HistoryReader, name_subjects};
pub(crate) use notes::deleted_ref;
pub use planning::{Files, Planned, plan};
pub use publish::Limits;
pub use range::{BranchRange, FetchHints, MergedRange, QueueRange, Range, RangeError, plan_range};
pub(crate) use record::applied_tree;
pub use report::{Acceptance, ChangeResult, Report, StopReason};
pub(crate) use report::{CHECK_SERVICE, FRUITLESS};
pub(crate) use reviews::ReviewSource;
pub(crate) use runtime::cores;
pub use runtime::{Executor, Runtime};
pub(crate) use stale::{StaleQuery, stale};
pub use validate::{CheckTarget, Checked, Checks, check};

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::git::{CommitVerifier, RepoUrl};
use crate::model::{Allowance, HeldRequests, Hold, Live, ToggleId, chain};
use crate::plan::hold::is_circle_on_service;
use crate::plan::{Approved, LiveDifferences, Plan};
use crate::source::{Snapshot, Source};
use crate::state::{self, LiveVersions, Options, PassHead, SharedOptions, StateSnapshot, Store};
use compare::{AppliedSide, PlanFiles, attribute, compare, decide_all, hold};
use dependents::with_dependents;
use publish::order::{Inherited, Order};
use publish::{HttpServices, Services};
use publish::{PublishJob, Records, sent};
use record::{Documents, abandon, publish_with_checkpoints};
use report::PublishSummary;

/// How long a pass starts over because the source vanished or another process was faster.
// As long as a pass waits for another process that is publishing to the same shared state.
const RESTART_LIMIT: Duration = Duration::from_secs(120);

/// The pause before a pass starts over.
const RESTART_PAUSE: Duration = Duration::from_millis(50);

/// What one pass depends on besides its settings, the source, the state and the service.
#[derive(Clone, Debug, Default)]
pub struct PassInputs {
    /// Toggles that are not tried again yet, with the reason.
    pub parked: HeldRequests,
    /// The toggles that were changed or removed on the service, if that may be overwritten.
    pub drifted: LiveDifferences,
    /// What was read of them.
    pub scanned: BTreeMap<ToggleId, Live>,
    /// Decisions for this pass only.
    pub orders: Vec<Allowance>,
    /// Whether a daemon makes the pass, which looks up a ref again before it refuses it.
    pub is_daemon: bool,
}

/// Makes passes. It holds the lock of the state, so no other process writes to it.
#[derive(Debug)]
pub struct Reconciler {
    config: Config,
    source: Source,
    store: Store,
    /// The remote that the state was opened on, if it is shared.
    remote: Option<RepoUrl>,
    inherited: Inherited,
    verifier: CommitVerifier,
    services: Arc<dyn Services>,
}

impl Reconciler {
    /// Takes the lock of the state, waiting at most `wait` for the process that holds it, and recovers what a
    /// crash left. Blocks.
    pub fn open(config: Config, wait: Duration) -> Result<Self, Error> {
        let shared = config.shared.as_ref();
        let shared = shared.map(|shared| shared.resolve(&config.source)).transpose()?;
        let remote = shared.as_ref().map(|shared| shared.remote.clone());
        let timeout = config.service.as_ref().map(|service| service.timeout);
        let timeout = timeout.unwrap_or_default();
        let shared = shared.map(|remote| SharedOptions {
            remote,
            clock: Arc::clone(&config.clock),
            host: Arc::clone(&config.remote_ref),
        });
        let options = Options {
            wait,
            base_url: config.rules.base_url.clone().unwrap_or_default(),
            timeout,
            now: config.clock.unix(),
            shared,
            thresholds: config.thresholds,
            crash: None,
        };
        let store =
            Store::open(&config.state_dir, options).map_err(|error| planning::advised(error, &config))?;
        // A request of a killed process may be executed for one more timeout (src/state/README.md,
        // "Unknown").
        let ended_at = config.clock.instant() + store.longest_timeout();
        Ok(Self {
            inherited: Inherited::new(&store.inherited(), ended_at),
            source: Source::new(config.source.clone()),
            verifier: CommitVerifier::new(config.trusted_keys.clone()),
            config,
            store,
            remote,
            services: Arc::new(HttpServices),
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
    pub(crate) fn view(&self) -> &StateSnapshot {
        self.store.view()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.config
    }

    /// Returns the state, to suspend or resume it.
    pub(crate) fn store(&mut self) -> &mut Store {
        &mut self.store
    }

    /// Makes one pass. What goes wrong with one toggle is in the report. Blocks.
    pub fn pass(&mut self, context: &PassContext, mut inputs: PassInputs) -> Result<Report, Error> {
        self.store.give(std::mem::take(&mut inputs.orders));
        let clock = Arc::clone(&self.config.clock);
        let (began, mut is_repaired) = (clock.elapsed(), false);
        let mut earlier = None;
        loop {
            // Requests of an earlier attempt may have left, so its results must not be lost.
            let result = Report::after(earlier.take(), self.attempt(context, &mut inputs));
            let error = match &result {
                Ok(report) => report.error.as_deref(),
                Err(error) => Some(error),
            };
            let waited = clock.elapsed().saturating_sub(began);
            let may_restart = |error: &&Error| {
                // A process that lost the shared state queues again, however long it was suspended
                // (src/state/README.md, "Shared state").
                let is_suspended = matches!(error, Error::State(state::Error::TakenOver(_)));
                (waited < RESTART_LIMIT || is_suspended) && !context.is_stopped()
            };
            let restarts = |error: &&Error| {
                if error.is_transient() {
                    return true;
                }
                // A mirror is cloned again once in a pass.
                let may_be_repaired = !is_repaired && error.repairs(&mut self.source);
                is_repaired |= may_be_repaired;
                may_be_repaired
            };
            let Some(error) = error.filter(may_restart).filter(restarts) else {
                return self.hand_over(result, context);
            };
            tracing::info!(name: "pass_restarted", reason = %chain(&error), "the pass starts over");
            clock.sleep(RESTART_PAUSE);
            earlier = result.ok();
        }
    }

    /// Puts requests without an outcome on the list of the shared state before a pass ends that lost it.
    fn hand_over(&mut self, result: Result<Report, Error>, context: &PassContext) -> Result<Report, Error> {
        let has_failed = result.as_ref().map_or(true, |report| report.error.is_some());
        if !has_failed || !self.store.owes() {
            return result;
        }
        let now = self.config.clock.unix();
        // No other process knows about requests that this one sent late, so this waits for the ref as long as
        // it takes.
        let (view, config, source) = (self.store.view().clone(), &self.config, &mut self.source);
        let mut may_restore = |recorded| staleness::may_restore(recorded, &view, config, source);
        let listed = self.store.refresh(
            now,
            &|| context.is_stopped(),
            &|holder| context.report(Event::Queues(holder)),
            &mut may_restore,
        );
        match (listed, result) {
            // It names the toggles.
            (Err(error @ state::Error::InUse { .. }), Ok(report)) => {
                Ok(Report { error: Some(Arc::new(error.into())), ..report })
            }
            (Err(error @ state::Error::InUse { .. }), Err(_)) => Err(error.into()),
            (_, result) => result,
        }
    }

    /// Makes one pass. Its body is the order of the steps, whose reasons are in src/pass/README.md, "The order of things".
    fn attempt(&mut self, context: &PassContext, inputs: &mut PassInputs) -> Result<Report, Error> {
        self.refresh(context)?;
        let (snapshot, read_time) = self.snapshot()?;
        let notes = self.guard(&snapshot, inputs)?;
        let signer = planning::signer(&mut self.verifier, &snapshot)?;
        let (is_done, config) = (self.is_done(&snapshot, inputs, &notes)?, &self.config);
        let report = |plan| Report::new(plan, snapshot.commit().clone(), notes, read_time);
        if is_done {
            // Otherwise each pass would read the history from the last recorded revision to this one again.
            self.store.see(snapshot.revision());
            let source = planning::source_info(&snapshot, &config.rules);
            return Ok(report(Plan::nothing(source, config.rules.base_url.clone())));
        }
        let (files, applied) = (PlanFiles::committed(&snapshot), AppliedSide::state(self.store.view()));
        let compared = compare(&files, applied, &config.rules, &inputs.drifted, config.clock.unix())?;
        let decided = decide_all(&files, applied, &config.rules, compared)?;
        let held = hold(decided, &inputs.parked, applied, config);
        let mut plan = attribute(held, &files, applied, config)?;
        // Who needs the others is only shown by a plan: to find out, all documents of the environment are read.
        if plan.removes_toggles() {
            plan = with_dependents(plan, &files, &config.rules)?;
        }
        let mut report = report(plan);
        report.notes.extend(report.plan.order_notes());
        let (revision, subject) = (snapshot.revision(), snapshot.commit().subject());
        self.store.describe(revision, subject, signer.as_deref());
        context.report(Event::Looked(revision));
        // While an invalid document stops everything, nothing is published and nothing is recorded.
        let Ok(approved) = Arc::clone(&report.plan).approve() else {
            return Ok(report);
        };
        let published = self.publish(&approved, &snapshot, inputs, context)?;
        let recorded = self.record(&approved, &snapshot, published, context)?;
        drop(approved);
        Ok(report.with(recorded))
    }

    /// Fetches shared state.
    fn refresh(&mut self, context: &PassContext) -> Result<(), Error> {
        let allowed = self.store.view().clone();
        let (config, source) = (&self.config, &mut self.source);
        let mut may_restore = |recorded| staleness::may_restore(recorded, &allowed, config, source);
        let now = self.config.clock.unix();
        let queues = |holder: &str| context.report(Event::Queues(holder));
        Ok(self.store.refresh(now, &|| context.is_stopped(), &queues, &mut may_restore)?)
    }

    /// Reads the source. Returns the time that it took as well.
    fn snapshot(&mut self) -> Result<(Snapshot, Duration), Error> {
        let began = self.config.clock.elapsed();
        let snapshot = self.source.snapshot()?;
        Ok((snapshot, self.config.clock.elapsed().saturating_sub(began)))
    }

    /// Returns a note on shared state that has no record yet.
    pub(crate) fn deleted_ref(&self) -> Option<String> {
        deleted_ref(self.store.view(), &self.config)
    }

    /// Refuses the state of another service, and a revision that must not follow the recorded one. Returns
    /// notes for the operator.
    fn guard(&mut self, snapshot: &Snapshot, inputs: &PassInputs) -> Result<Vec<String>, Error> {
        let (view, config) = (self.store.view(), &self.config);
        planning::check_base_url(view, &config.rules)?;
        let mut notes = staleness::check(snapshot, view, config, inputs.is_daemon, &mut self.source)?;
        notes.extend(deleted_ref(view, config));
        Ok(notes)
    }

    /// Returns whether an earlier pass left nothing to do for this tree and these rules.
    fn is_done(&self, snapshot: &Snapshot, inputs: &PassInputs, notes: &[String]) -> Result<bool, Error> {
        let is_quiet = notes.is_empty() && inputs.parked.is_empty() && inputs.drifted.is_empty();
        Ok(is_quiet && planning::is_done(snapshot, self.store.view(), &self.config.rules)?)
    }

    /// Records what was published, and what needs no publish.
    fn record(
        &mut self,
        plan: &Plan,
        snapshot: &Snapshot,
        published: PublishSummary,
        context: &PassContext,
    ) -> Result<PublishSummary, Error> {
        // `abandon` has ended the pass already, and the journal keeps its outcomes for the next one.
        if published.error.is_some() {
            return Ok(published);
        }
        let head = self.head(snapshot);
        let stop = || context.is_stopped();
        let mut recorded = || -> Result<(), Error> {
            let rules = &self.config.rules;
            let (memory, failures) =
                record::record(&mut self.store, plan, snapshot, &published, rules, head, &stop)?;
            self.store.orders().expire(snapshot.revision())?;
            self.store.finish_pass(memory, failures)?;
            self.expire_inherited()
        };
        match recorded() {
            Ok(()) => Ok(published),
            Err(error) => abandon(&mut self.store, &head, published, error, &stop),
        }
    }

    fn head(&self, snapshot: &Snapshot) -> PassHead {
        PassHead { revision: snapshot.revision(), now: self.config.clock.unix() }
    }

    /// Forgets the requests of earlier processes once all of them have ended. Until then, the journal keeps
    /// them for the next process, whatever this one does.
    fn expire_inherited(&mut self) -> Result<(), Error> {
        match self.inherited.expire(self.config.clock.instant()) {
            true => Ok(self.store.forget_open()?),
            false => Ok(()),
        }
    }

    /// Announces and sends the changes.
    fn publish(
        &mut self,
        plan: &Approved,
        snapshot: &Snapshot,
        inputs: &mut PassInputs,
        context: &PassContext,
    ) -> Result<PublishSummary, Error> {
        if plan.changes().is_empty() {
            return Ok(PublishSummary::default());
        }
        let service = self.services.open(&self.config, plan, std::mem::take(&mut inputs.scanned))?;
        let head = self.head(snapshot);
        let changes = plan.changes().iter();
        let changes: Vec<_> = changes.map(|change| (change.id.clone(), sent(change, plan))).collect();
        let documents = Documents::new(snapshot)?;
        self.expire_inherited()?;
        self.store.let_through(plan.let_through());
        let started = self.store.start(&head, &changes, documents, &|| context.is_stopped());
        let journal = started.map_err(record::unread)?;
        context.report(Event::Begins(plan));
        let job = PublishJob {
            plan: plan.clone(),
            policy: self.config.rules.policy.clone(),
            order: Order::new(plan, self.store.view(), &self.inherited),
            held: held_before(plan, self.store.view(), Hold::is_live),
            circles: held_before(plan, self.store.view(), is_circle_on_service).into_keys().collect(),
            service,
            versions: self.versions(),
            records: Records::new(
                self.config.state_dir.clone(),
                plan.changes().iter().map(|change| change.id.clone()).collect(),
            ),
            journal,
            limits: self.config.limits,
            thresholds: self.config.thresholds,
            clock: Arc::clone(&self.config.clock),
            context: context.clone(),
        };
        publish_with_checkpoints(&mut self.store, job, head)
    }

    /// Returns the versions on the service that were published or found equal last, as far as this folder
    /// knows.
    fn versions(&self) -> BTreeMap<ToggleId, u64> {
        let service = self.config.service.as_ref().filter(|_| self.config.rules.policy.reads_live());
        let Some(service) = service else { return BTreeMap::new() };
        let versions = LiveVersions::open(&self.config.state_dir, &service.base_url.to_string());
        let others = versions.differences.into_iter();
        let others = others.filter_map(|(id, other)| Some((id, other.since?)));
        let equal = versions.toggles.into_iter().map(|(id, equal)| (id, equal.version));
        others.chain(equal).collect()
    }
}

/// Returns why earlier passes held changes of `plan`, if `is_wanted` accepts it, unless that was released since.
fn held_before(
    plan: &Plan,
    view: &StateSnapshot,
    is_wanted: impl Fn(&Hold) -> bool,
) -> BTreeMap<ToggleId, Arc<Hold>> {
    let tries = &view.failures().tries;
    let held = plan.changes().iter().filter_map(|change| {
        let hold = plan.held_before(change, tries.get(&change.id.folded())?)?;
        is_wanted(&hold).then(|| (change.id.clone(), Arc::new(hold)))
    });
    held.collect()
}
