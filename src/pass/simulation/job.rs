//! What runs on a machine: an `apply` of one checkout, or a daemon that follows the branch.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::watch;

use super::machine::Machine;
use super::network::Network;
use super::options::Permissions;
use super::repository::Revisions;
use super::service::{Connection, TIMEOUT, ToggleService};
use super::world::lock;
use crate::daemon::{DriftScans, PassOutcome, Schedule};
use crate::git::simulated::{self, REFUSED};
use crate::git::{GitAccess, RepoUrl, UserConfig};
use crate::model::{Thresholds, chain};
use crate::pass::event::{Event, PassContext};
use crate::pass::publish::tries;
use crate::pass::report::ChangeResult;
use crate::pass::{Config, Error, PassInputs, Reconciler, Report, Runtime, SharedState, StopReason};
use crate::plan::{FirstPass, HistoryRule, OnDrift};
use crate::service::ClientConfig;
use crate::state::{Clock as _, SharedRemote, SimulatedRemote};
use crate::transport::{Network as Https, Secret, SecretSource};

/// How often a daemon looks at its source, and at whether the branch has moved.
const POLL_INTERVAL: Duration = Duration::from_secs(30);
const TICK: Duration = Duration::from_secs(1);

/// `--max-change-count` in histories in which not every process is permitted everything.
pub(super) const MOST_CHANGES: u64 = 1;

/// What the processes of a history have in common.
#[derive(Clone)]
pub(super) struct Site {
    pub(super) revisions: Arc<Revisions>,
    pub(super) service: ToggleService,
    /// Where state is shared, and its name there.
    pub(super) place: Option<(PathBuf, &'static str)>,
    /// Whether the state folder belongs to another place, so that nothing may be sent.
    pub(super) is_misplaced: bool,
    pub(super) network: Network,
    pub(super) permissions: Permissions,
    pub(super) thresholds: Thresholds,
    pub(super) on_drift: Arc<Mutex<OnDrift>>,
    /// The passes of daemons that are under way. A new commit stops them.
    pub(super) passes: Arc<Mutex<Vec<Underway>>>,
}

/// A pass of a daemon.
pub(super) struct Underway {
    halt: watch::Sender<bool>,
    /// The revision that it is about, once it has looked.
    about: Arc<Mutex<Option<usize>>>,
}

impl Site {
    fn config(&self, machine: &Machine, disk: &Path) -> Config {
        let mut config = Config::local(self.revisions.path(), disk.to_owned()).with_service(ClientConfig {
            kind: self.service.kind,
            base_url: "https://toggles.example.org".parse().expect("an address"),
            token: SecretSource::Value(Secret::new("token".to_owned())),
            network: Https::default(),
            timeout: TIMEOUT,
        });
        (config.clock, config.remote_ref) = (Arc::new(machine.clone()), Arc::new(SimulatedRemote));
        (config.thresholds, config.source.thresholds) = (self.thresholds, self.thresholds);
        config.rules.policy.fewest_for_ratio = self.thresholds.fewest_for_share;
        let policy = &mut config.rules.policy;
        if self.permissions == Permissions::All || self.service.permits() {
            (policy.first_pass, policy.allows_mass_change) = (Some(FirstPass::Assert), true);
        }
        if self.permissions == Permissions::Some {
            policy.max_change_count = Some(MOST_CHANGES);
        }
        config.rules.policy.on_drift = *lock(&self.on_drift);
        config.rules.kind = self.service.kind;
        config.rules.policy.is_readable = self.service.kind.can().read_live;
        config.limits.in_flight = 4;
        config.limits.in_flight_per_environment = 2;
        config.shared = self.place.as_ref().map(|(remote, name)| {
            SharedState::At(SharedRemote {
                remote: RepoUrl::local(remote),
                name: (*name).to_owned(),
                access: GitAccess {
                    network: Https::default(),
                    user_config: UserConfig::Ignored,
                    credentials: None,
                    timeout: Duration::from_secs(60),
                },
                holder: machine.name().to_owned(),
            })
        });
        config
    }

    /// Makes this thread the process of `machine`.
    fn enter(&self, machine: &Machine) {
        let (machine, network) = (machine.clone(), self.network.clone());
        simulated::enter(move |point| network.reach(&machine, point));
    }

    fn open(&self, machine: &Machine, config: Config, order: &Arc<AtomicUsize>) -> Result<Reconciler, Error> {
        let is_permitted = config.rules.policy.first_pass.is_some();
        let mut reconciler = Reconciler::open(config, Duration::from_secs(60))?;
        reconciler.services = Arc::new(Connection {
            service: self.service.clone(),
            machine: machine.clone(),
            revision: Arc::clone(order),
            is_permitted,
        });
        Ok(reconciler)
    }

    fn pass(
        &self,
        machine: &Machine,
        reconciler: &mut Reconciler,
        context: &PassContext,
        order: &AtomicUsize,
        inputs: PassInputs,
    ) -> Result<Report, Error> {
        let result = reconciler.pass(context, inputs);
        match &result {
            Ok(report) => {
                // A pass that only held changes withdraws its revision.
                let is_holding = report.has_held() || !report.plan.withheld().is_empty();
                let is_withdrawn = is_holding && report.count(ChangeResult::is_recorded) == 0;
                if report.is_complete() && !is_withdrawn {
                    self.service.done(order.load(Ordering::SeqCst));
                }
                machine.say(summary(report));
                if report.stopped == Some(StopReason::Interrupted) && !context.is_stopped() {
                    machine.fault("a pass that nobody stopped ends as interrupted");
                }
                let is_refused = report.error.as_ref().is_some_and(|error| chain(error).contains(REFUSED));
                if is_refused && !context.is_stopped() {
                    self.network.check_refusal(machine);
                }
                // A pass that lost the shared state may have read what its successor sent.
                for (change, result) in report.lines().filter(|_| report.error.is_none()) {
                    if let Some(hold) = result.hold().filter(|_| result.is_held()) {
                        self.service.check_hold(&change.id, hold);
                    }
                }
            }
            Err(error) => {
                // The folders of two runs of one seed have different names.
                let text = chain(error);
                let parts = text.split('`').map(|part| if part.starts_with('/') { "a folder" } else { part });
                machine.say(format_args!("fails: {}", parts.collect::<Vec<_>>().join("`")));
            }
        }
        let error = result.as_ref().map_or_else(Some, |report| report.error.as_deref());
        if let Some(error) = error {
            self.check_error(machine, error);
        }
        result
    }

    /// Checks that nothing fails once all trouble has ended, and that the state has what it relies on at any
    /// time.
    fn check_error(&self, machine: &Machine, error: &Error) {
        let text = chain(error);
        // A branch that was forced back is a stale checkout.
        let is_expected = self.is_misplaced || !machine.is_calm() || matches!(error, Error::Stale { .. });
        if !is_expected || text.contains("was not kept") {
            machine.fault(format_args!("fails without a reason: {text}"));
        }
    }

    /// Applies a revision with the state folder `disk`, as `gitoggle apply` does.
    pub(super) fn apply(&self, machine: &Machine, disk: &Path, revision: usize, job: Job) {
        self.enter(machine);
        let mut config = self.config(machine, disk);
        config.source.reference = Some(self.revisions.get(revision).commit.to_string());
        config.rules.history = job.history;
        let order = Arc::new(AtomicUsize::new(self.revisions.order(revision)));
        match self.open(machine, config, &order) {
            Ok(mut reconciler) => {
                let (own, is_misplaced, service) = (machine.clone(), self.is_misplaced, self.service.clone());
                let context = PassContext::new(runtime(machine), job.stop, move |event| match event {
                    Event::Begins(_) if is_misplaced => {
                        own.fault("a pass begins with the folder of another place");
                    }
                    Event::Sends(toggle, sent) => service.starts(toggle, sent),
                    _ => {}
                });
                drop(self.pass(machine, &mut reconciler, &context, &order, PassInputs::default()));
            }
            Err(error) => {
                machine.say(format_args!("cannot open the state: {}", chain(&error)));
                self.check_error(machine, &error);
            }
        }
    }

    /// Follows the branch with the state folder `disk`, as `gitoggle run` does, until it is asked to stop.
    pub(super) fn follow(&self, machine: &Machine, disk: &Path, stop: &watch::Receiver<bool>) {
        self.enter(machine);
        let order = Arc::new(AtomicUsize::new(0));
        let mut reconciler = match self.open(machine, self.config(machine, disk), &order) {
            Ok(reconciler) => reconciler,
            Err(error) => {
                machine.say(format_args!("cannot open the state: {}", chain(&error)));
                return self.check_error(machine, &error);
            }
        };
        let mut schedule = Schedule::new(POLL_INTERVAL, DriftScans::Off);
        let mut seen = None;
        while !*stop.borrow() {
            let now = machine.instant();
            let is_wanted = now >= schedule.due() || seen != Some(self.revisions.head());
            match is_wanted.then(|| schedule.held_until(now)) {
                Some(Some(until)) => schedule.defer(now, until),
                Some(None) => seen = self.follow_once(machine, &mut reconciler, &mut schedule, &order, stop),
                None => {}
            }
            machine.sleep(TICK);
        }
        machine.say("stops");
    }

    /// Makes a pass of a daemon. Returns the revision that it was about.
    fn follow_once(
        &self,
        machine: &Machine,
        reconciler: &mut Reconciler,
        schedule: &mut Schedule,
        order: &Arc<AtomicUsize>,
        stop: &watch::Receiver<bool>,
    ) -> Option<usize> {
        let inputs = PassInputs {
            parked: schedule.parked(tries::parked(&reconciler.view().failures().tries, machine.unix())),
            is_daemon: true,
            ..PassInputs::default()
        };
        let (halt, halted) = watch::channel(*stop.borrow());
        let looked = Arc::new(Mutex::new(None));
        lock(&self.passes).push(Underway { halt, about: Arc::clone(&looked) });
        let (revisions, about, order_now, service) =
            (Arc::clone(&self.revisions), Arc::clone(&looked), Arc::clone(order), self.service.clone());
        let context = PassContext::new(runtime(machine), halted, move |event| match event {
            Event::Looked(commit) => {
                let number = revisions.number(*commit).expect("a commit of the history");
                order_now.store(revisions.order(number), Ordering::SeqCst);
                *lock(&about) = Some(number);
            }
            Event::Sends(toggle, sent) => service.starts(toggle, sent),
            _ => {}
        });
        let head = self.revisions.head();
        let result = self.pass(machine, reconciler, &context, order, inputs);
        let now = machine.instant();
        schedule.on_pass_finished(&PassOutcome::of(&result), None, now, fastrand::f64());
        if let Some(wait) = tries::next_retry(&reconciler.view().failures().tries, machine.unix()) {
            schedule.retry_after(now, wait);
        }
        let looked = *lock(&looked);
        looked.or(Some(head))
    }

    /// Stops the passes of daemons that are under way: all, or those of another revision than the branch
    /// leads to.
    pub(super) fn halt(&self, all: bool) {
        let head = self.revisions.head();
        let is_outdated = |pass: &Underway| lock(&pass.about).is_some_and(|about| about != head);
        for pass in lock(&self.passes).extract_if(.., |pass| all || is_outdated(pass)) {
            pass.halt.send_replace(true);
        }
    }
}

fn runtime(machine: &Machine) -> Runtime {
    Runtime::new(machine.clone())
}

/// How a job is run.
pub(super) struct Job {
    pub(super) history: Option<HistoryRule>,
    pub(super) stop: watch::Receiver<bool>,
}

fn summary(report: &Report) -> String {
    let ended = match (&report.stopped, &report.error) {
        (_, Some(error)) => format!(": {}", chain(error.as_ref())),
        (Some(stopped), None) => format!(": {stopped}"),
        (None, None) => String::new(),
    };
    format!("ends, {} of {} applied{ended}", report.applied(), report.lines().count())
}
