//! One pass: plan, approve, publish, record. `apply` makes one and exits; the daemon makes one after the other.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use super::Error;
use super::checkpoints::{abandon, publish_with_checkpoints};
use super::config::Config;
use super::context::{Event, PassContext};
use super::drift;
use super::planning::pass_plan::PassPlan;
use super::planning::{self, Precheck, staleness};
use super::publish::dispatch::Order;
use super::publish::inherited::Inherited;
use super::publish::service::Service;
use super::publish::{PublishJob, sent};
use super::record::{self, Documents};
use super::report::{PublishSummary, Report};
use crate::git::RepoUrl;
use crate::model::{Live, ToggleId, chain};
use crate::plan::{Approved, DriftReport, LiveDifferences, Parked, Plan};
use crate::service::Client;
use crate::source::{Snapshot, Source};
use crate::state::{self, Options, PassHead, SharedOptions, StateSnapshot, Stop, Store};

/// How long a pass starts over because the source vanished or another process was faster.
// As long as a pass waits for another process that is publishing to the same shared state.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pause before a pass starts over.
const PAUSE: Duration = Duration::from_millis(50);

/// Makes passes. It holds the lock of the state, so no other process writes to it.
#[derive(Debug)]
pub struct Reconciler {
    config: Config,
    source: Source,
    store: Store,
    /// The remote that the state was opened on, if it is shared.
    remote: Option<RepoUrl>,
    inherited: Inherited,
    /// Toggles that are not tried again yet, with the reason. The driver sets them before a pass.
    pub(crate) parked: BTreeMap<ToggleId, Parked>,
    /// The toggles that were changed or removed on the service, if that may be overwritten. Set before a pass.
    pub(crate) drifted: LiveDifferences,
    /// What [`Self::scan_drift`] has read of them, for the next pass.
    scanned: BTreeMap<ToggleId, Live>,
    /// Whether a daemon makes the passes, which looks up a ref again before it refuses it.
    pub(crate) is_daemon: bool,
    #[cfg(test)]
    pub(super) simulated: Option<Arc<dyn super::publish::service::SimulatedService>>,
}

impl Reconciler {
    /// Takes the lock of the state, waiting at most `wait` for the process that holds it, and recovers what a crash left.
    /// Blocks.
    ///
    /// # Errors
    /// When another process is the writer, or the state cannot be used.
    pub fn open(config: Config, wait: Duration) -> Result<Self, Error> {
        let shared = config.shared.as_ref();
        let shared = shared.map(|shared| shared.resolve(&config.source)).transpose()?;
        let remote = shared.as_ref().map(|shared| shared.remote.clone());
        let timeout = config.service.as_ref().map(|service| service.timeout);
        let timeout = timeout.unwrap_or_default();
        let shared = shared.map(|remote| SharedOptions {
            remote,
            clock: config.clock.clone(),
        });
        let options = Options {
            wait,
            base_url: config.rules.base_url.clone().unwrap_or_default(),
            timeout,
            now: config.clock.unix(),
            shared,
            crash: None,
        };
        let store = Store::open(&config.state_dir, options)?;
        // A request of a killed process may be executed for one more timeout (DESIGN, section 4, *Unknown*).
        let ended_at = config.clock.instant() + store.longest_timeout();
        Ok(Self {
            inherited: Inherited::new(store.inherited(), ended_at),
            source: Source::new(config.source.clone()),
            config,
            store,
            remote,
            parked: BTreeMap::new(),
            drifted: LiveDifferences::new(),
            scanned: BTreeMap::new(),
            is_daemon: false,
            #[cfg(test)]
            simulated: None,
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

    /// Reads what was changed on the service, so that the next pass may overwrite it. With `--overwrite-drift`, it may
    /// overwrite exactly the versions that this has read. Blocks.
    ///
    /// # Errors
    /// If the state cannot be read. A failed read of the service is part of the report.
    pub fn scan_drift(&mut self, context: &PassContext) -> Result<DriftReport, Error> {
        let view = planning::view(&self.config)?;
        let read = drift::overwritable(&self.config, &view, context)?;
        self.drifted = read.live;
        self.scanned = read.scanned;
        self.store.give(read.orders);
        Ok(read.report)
    }

    /// Makes one pass. What goes wrong with one toggle is in the report. Blocks.
    ///
    /// # Errors
    /// Why there was no pass, or why it could not be finished.
    pub fn pass(&mut self, context: &PassContext) -> Result<Report, Error> {
        let clock = self.config.clock.clone();
        let (began, mut is_repaired) = (clock.elapsed(), false);
        let mut earlier = None;
        loop {
            // Requests of an earlier attempt may have left, so its results must not be lost.
            let result = Report::after(earlier.take(), self.attempt(context));
            let error = match &result {
                Ok(report) => report.error.as_deref(),
                Err(error) => Some(error),
            };
            let waited = clock.elapsed().saturating_sub(began);
            let may_restart = |error: &&Error| {
                // A process that lost the shared state queues again, however long it was suspended (DESIGN, section 4,
                // *Losing the ref*).
                let is_suspended = matches!(error, Error::State(state::Error::TakenOver(_)));
                (waited < PATIENCE || is_suspended) && !context.is_stopped()
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
            clock.sleep(PAUSE);
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
        // No other process knows about requests that this one sent late, so this waits for the ref as long as it takes.
        let (view, config, source) = (self.store.view().clone(), &self.config, &mut self.source);
        let mut may_restore = |recorded| staleness::may_restore(recorded, &view, config, source);
        let listed = self
            .store
            .refresh(now, &|| context.is_stopped(), &mut may_restore);
        match (listed, result) {
            // It names the toggles.
            (Err(error @ state::Error::InUse { .. }), Ok(report)) => Ok(Report {
                error: Some(Arc::new(error.into())),
                ..report
            }),
            (Err(error @ state::Error::InUse { .. }), Err(_)) => Err(error.into()),
            (_, result) => result,
        }
    }

    fn attempt(&mut self, context: &PassContext) -> Result<Report, Error> {
        let PassPlan {
            snapshot,
            precheck,
            plan,
            notes,
            read_time,
        } = PassPlan::new(
            &mut self.store,
            &mut self.source,
            self.is_daemon,
            &self.parked,
            &self.drifted,
            &self.config,
            &|| context.is_stopped(),
        )?;
        let report = Report::new(plan, snapshot.commit().clone(), notes, read_time);
        if precheck == Precheck::Same {
            return Ok(report);
        }
        let plan = Arc::clone(&report.plan);
        self.store
            .describe(snapshot.revision(), snapshot.commit().subject());
        context.report(Event::Looked(snapshot.revision()));
        match plan.approve() {
            Ok(approved) => Ok(report.with(self.carry_out(&approved, &snapshot, context)?)),
            // While an invalid document stops everything, nothing is published and nothing is recorded.
            Err(_) => Ok(report),
        }
    }

    /// Carries out the approved part of the plan, and records it.
    fn carry_out(
        &mut self,
        plan: &Approved,
        snapshot: &Snapshot,
        context: &PassContext,
    ) -> Result<PublishSummary, Error> {
        let summary = match plan.changes().is_empty() {
            false => self.publish(plan, snapshot, context)?,
            true => PublishSummary::default(),
        };
        // `abandon` has ended the pass already, and the journal keeps its outcomes for the next one.
        if summary.error.is_some() {
            return Ok(summary);
        }
        let stop = || context.is_stopped();
        let head = PassHead {
            revision: snapshot.revision(),
            now: self.config.clock.unix(),
        };
        match self.record(plan, snapshot, &summary, head, &stop) {
            Ok(()) => Ok(summary),
            Err(error) => abandon(&mut self.store, &head, summary, error, &stop),
        }
    }

    fn record(
        &mut self,
        plan: &Plan,
        snapshot: &Snapshot,
        published: &PublishSummary,
        head: PassHead,
        stop: Stop<'_>,
    ) -> Result<(), Error> {
        let rules = &self.config.rules;
        let (memory, failures) =
            record::record(&mut self.store, plan, snapshot, published, rules, head, stop)?;
        self.store.orders().expire(snapshot.revision())?;
        self.store.finish_pass(memory, failures)?;
        self.expire_inherited()
    }

    /// Forgets the requests of earlier processes once all of them have ended. Until then, the journal keeps them for the
    /// next process, whatever this one does.
    fn expire_inherited(&mut self) -> Result<(), Error> {
        match self.inherited.expire(self.config.clock.instant()) {
            true => Ok(self.store.forget_open()?),
            false => Ok(()),
        }
    }

    fn publish(
        &mut self,
        plan: &Approved,
        snapshot: &Snapshot,
        context: &PassContext,
    ) -> Result<PublishSummary, Error> {
        let service = self.service(plan)?;
        let clock = self.config.clock.clone();
        let head = PassHead {
            revision: snapshot.revision(),
            now: clock.unix(),
        };
        let changes = plan.changes().iter();
        let changes: Vec<_> = changes
            .map(|change| (change.id.clone(), sent(change, plan)))
            .collect();
        let documents = Documents::new(snapshot)?;
        self.expire_inherited()?;
        self.store.let_through(plan.let_through());
        let started = self
            .store
            .start(&head, &changes, documents, &|| context.is_stopped());
        let journal = started.map_err(record::unread)?;
        context.report(Event::Begins(plan));
        let job = PublishJob {
            plan: plan.clone(),
            policy: self.config.rules.policy.clone(),
            order: Order::new(plan, self.store.view(), &self.inherited),
            service,
            journal,
            limits: self.config.limits,
            clock,
            context: context.clone(),
        };
        publish_with_checkpoints(&mut self.store, job, head)
    }

    fn service(&mut self, plan: &Approved) -> Result<Service, Error> {
        #[cfg(test)]
        if let Some(simulated) = &self.simulated {
            return Ok(Service::Simulated(Arc::clone(simulated)));
        }
        let config = self.config.service.clone().ok_or(Error::NoService)?;
        Ok(Service::http(
            Client::new(config)?,
            plan.changes(),
            std::mem::take(&mut self.scanned),
        ))
    }
}
