//! The only place that publishes: journal the intent, send, journal the outcome, decide what is next.
//!
//! Nothing is decided about *what* to send: that is the plan's. Who is next is [`Lanes`]', whether to try again is
//! [`retry`]'s. Invariant: no request leaves without a journalled intent, and none is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::{Notify, watch};
use tokio::task::JoinSet;
use tracing::Instrument as _;

use crate::model::{CommitId, EnvironmentId, RequestDigest, Sent, ToggleId};
use crate::plan::{Approved, Change, Plan};
use crate::service::retry::{self, Again, Breaker, Circuit, Pass, Token, World};
use crate::service::{Certainty, Client, Outcome, Session, TokenChange};
use crate::state::{self, Finish, Journal};

use super::Error;
use super::lanes::{Job, Lanes, Next};
use super::report::{Sending, StopReason};

/// How many requests may be open.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub struct Limits {
    /// Over everything.
    pub in_flight: usize,
    /// Within one environment.
    pub in_flight_per_environment: usize,
}

/// Is told of every request that ended, while others are under way.
pub trait Progress: Send + Sync {
    /// The pass has seen what it is about: the source at this revision.
    fn looked(&self, revision: CommitId) {
        let _ = revision;
    }

    /// The first request is about to leave.
    fn begins(&self, plan: &Plan) {
        let _ = plan;
    }

    /// `done` of `total` changes are dealt with; this one ended like `sending`.
    fn sent(&self, change: &Change, sending: &Sending, done: usize, total: usize);

    /// One request got an answer, or none, after `took`.
    fn answered(&self, outcome: &Outcome, took: Duration) {
        let _ = (outcome, took);
    }
}

/// Keeps nothing of what it is told.
#[derive(Clone, Copy, Debug)]
pub struct Quiet;

impl Progress for Quiet {
    fn sent(&self, _: &Change, _: &Sending, _: usize, _: usize) {}
}

/// What came of publishing: one entry per change of the plan, in its order, and why it ended early if it did.
#[derive(Debug)]
pub(crate) struct Published {
    pub(crate) sendings: Vec<Sending>,
    pub(crate) stopped: Option<StopReason>,
    /// For how long from now on the service wants to be left alone.
    pub(crate) held_back: Option<Duration>,
    /// The error that ended publishing or recording, if one did.
    pub(crate) error: Option<Error>,
}

impl Published {
    /// Nothing was to be published.
    pub(crate) fn nothing() -> Self {
        Self {
            sendings: Vec::new(),
            stopped: None,
            held_back: None,
            error: None,
        }
    }

    /// Adds an error that ended the pass. The first one counts: later ones follow from it. If no request has left, the
    /// error is all there is to report.
    ///
    /// # Errors
    /// The first error, if no change was tried.
    pub(crate) fn ended_by(mut self, error: impl Into<Error>) -> Result<Self, Error> {
        let error = self.error.take().unwrap_or_else(|| error.into());
        if self.sendings.iter().all(|sending| *sending == Sending::NotSent) {
            return Err(error);
        }
        self.error = Some(error);
        Ok(self)
    }
}

/// What publishing needs.
#[derive(Clone)]
pub(crate) struct Publishing {
    pub(crate) plan: Approved,
    /// Toggles that were tried before, without an answer that counts: they wait for the others.
    pub(crate) late: Late,
    pub(crate) client: Client,
    pub(crate) journal: Journal,
    pub(crate) limits: Limits,
    /// Becomes true when nothing new may start.
    pub(crate) stop: watch::Receiver<bool>,
    pub(crate) progress: Arc<dyn Progress>,
}

/// Publishes every change of an approved plan. An error of the journal ends publishing, because without a record there
/// is no publish; the open requests have ended by then, and the error is part of the result.
pub(crate) async fn publish(publishing: Publishing) -> Published {
    let worker = Arc::new(Worker::new(publishing));
    let mut stop = worker.publishing.stop.clone();
    if *stop.borrow() {
        // Before any worker could be faster than the order to end.
        worker.end(StopReason::Interrupted);
    }
    let mut workers = JoinSet::new();
    for _ in 0..worker.publishing.limits.in_flight.min(worker.total) {
        workers.spawn(Arc::clone(&worker).work().in_current_span());
    }
    let mut failure = None;
    loop {
        tokio::select! {
            ended = workers.join_next() => match ended {
                None => break,
                Some(Ok(Ok(()))) => {}
                Some(Ok(Err(error))) => { failure.get_or_insert(error); }
                Some(Err(panic)) => std::panic::resume_unwind(panic.into_panic()),
            },
            () = raised(&mut stop) => worker.end(StopReason::Interrupted),
        }
    }
    Published {
        error: failure.map(Error::from),
        ..worker.published()
    }
}

/// Waits until `stop` is raised; for ever where nobody is left to raise it, and once only.
pub(super) async fn raised(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_ok() {
        let (_never, quiet) = watch::channel(false);
        *stop = quiet;
        return;
    }
    std::future::pending::<()>().await;
}

/// What all workers share. The mutexes are held for a few instructions, by every worker, never across an `.await`.
struct Worker {
    publishing: Publishing,
    session: Session,
    lanes: Mutex<Lanes>,
    progress: Mutex<Standing>,
    done: AtomicUsize,
    total: usize,
    changed: Notify,
}

/// What is known so far.
struct Standing {
    sendings: Vec<Sending>,
    breaker: Breaker,
    forbidden: BTreeSet<String>,
    reloaded: bool,
    stopped: Option<StopReason>,
}

impl Worker {
    fn new(publishing: Publishing) -> Self {
        let order = sending_order(&publishing.plan, &publishing.late);
        let total = order.len();
        let Limits {
            in_flight,
            in_flight_per_environment,
        } = publishing.limits;
        let lanes = Lanes::new(order, in_flight, in_flight_per_environment);
        let standing = Standing {
            sendings: vec![Sending::NotSent; total],
            breaker: Breaker::default(),
            forbidden: BTreeSet::new(),
            reloaded: false,
            stopped: None,
        };
        Self {
            publishing,
            session: Session::default(),
            lanes: Mutex::new(lanes),
            progress: Mutex::new(standing),
            done: AtomicUsize::new(0),
            total,
            changed: Notify::new(),
        }
    }

    async fn work(self: Arc<Self>) -> Result<(), state::Error> {
        loop {
            let next = self.lanes().next(Instant::now());
            if let Next::Send(job) = next {
                self.send(job).await?;
                continue;
            }
            // Listening begins before looking again, so that what changes in between is not missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            let next = self.lanes().next(Instant::now());
            match next {
                Next::Done => {
                    self.changed.notify_waiters();
                    return Ok(());
                }
                Next::Send(job) => self.send(job).await?,
                Next::Wait => changed.await,
                Next::WaitUntil(at) => tokio::select! {
                    () = changed => {}
                    () = tokio::time::sleep_until(at.into()) => {}
                },
            }
        }
    }

    async fn send(&self, job: Job) -> Result<(), state::Error> {
        let change = &self.publishing.plan.changes()[job.change];
        if self.standing().forbidden.contains(change.id.project()) {
            let reason = format!("the token may not change the project `{}`", change.id.project());
            self.settle(job, Sending::Failed { reason });
            return Ok(());
        }
        let sent = sent(change, self.publishing.plan.source().revision);
        let begun = match self.publishing.journal.begin(&change.id, &sent).await {
            Ok(begun) => begun,
            Err(error) => return Err(self.abandon(job, error)),
        };
        let generation = self.publishing.client.token_generation();
        let started = Instant::now();
        let outcome = self
            .publishing
            .client
            .publish(&change.id, body(&sent), &self.session)
            .await;
        self.publishing.progress.answered(&outcome, started.elapsed());
        if let Err(error) = self.publishing.journal.finish(begun, finish(&outcome)) {
            self.standing().sendings[job.change] = ended(&outcome);
            return Err(self.abandon(job, error));
        }
        self.decide(job, &outcome, generation);
        Ok(())
    }

    fn decide(&self, job: Job, outcome: &Outcome, generation: u64) {
        let toggle = &self.publishing.plan.changes()[job.change].id;
        let world = World {
            tries: job.attempt,
            jitter: fastrand::f64(),
            token: self.token(generation),
        };
        let decision = retry::decide(outcome, world);
        if let Pass::HoldBack(wait) = decision.pass {
            self.lanes().hold(Instant::now() + wait);
        }
        match decision.toggle {
            Again::After(wait) => self.again(job, Instant::now() + wait, outcome),
            Again::Never => self.settle(job, ended(outcome)),
            Again::Now if decision.pass == Pass::ReloadToken && self.reload() == TokenChange::Same => {
                self.settle(job, ended(outcome));
                self.end(StopReason::from_outcome(outcome));
            }
            Again::Now => self.again(job, Instant::now(), outcome),
        }
        match decision.pass {
            Pass::End => self.end(StopReason::from_outcome(outcome)),
            Pass::EndFor(wait) => {
                self.lanes().hold(Instant::now() + wait);
                self.end(StopReason::from_outcome(outcome));
            }
            Pass::RefuseProject => drop(self.standing().forbidden.insert(toggle.project().to_owned())),
            Pass::GoOn | Pass::HoldBack(_) | Pass::ReloadToken => {}
        }
        if self.standing().breaker.note(toggle, outcome) == Circuit::Open {
            self.end(StopReason::Breaker(outcome.to_string()));
        }
    }

    fn again(&self, job: Job, at: Instant, outcome: &Outcome) {
        let toggle = &self.publishing.plan.changes()[job.change].id;
        let wait_s = at.saturating_duration_since(Instant::now()).as_secs_f64();
        tracing::debug!(name: "retry", %toggle, attempt = job.attempt, wait_s, reason = %outcome, "to be tried again");
        self.standing().sendings[job.change] = Sending::Pending {
            reason: outcome.to_string(),
        };
        self.lanes().retry(job, at);
    }

    /// What is known of the token that a request of `generation` was sent with.
    fn token(&self, generation: u64) -> Token {
        if self.publishing.client.token_generation() > generation {
            Token::Outdated
        } else if self.standing().reloaded {
            Token::Current
        } else {
            Token::Unchecked
        }
    }

    /// Reads the token again, once in a pass; one that cannot be read is the old one.
    fn reload(&self) -> TokenChange {
        self.standing().reloaded = true;
        self.publishing.client.reload_token().unwrap_or(TokenChange::Same)
    }

    fn settle(&self, job: Job, sending: Sending) {
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        let change = &self.publishing.plan.changes()[job.change];
        self.publishing.progress.sent(change, &sending, done, self.total);
        self.standing().sendings[job.change] = sending;
        self.lanes().settle(job);
    }

    /// Starts nothing more. The first reason is the one that is told.
    fn end(&self, reason: StopReason) {
        self.standing().stopped.get_or_insert(reason);
        self.lanes().close();
        self.changed.notify_waiters();
    }

    fn abandon(&self, job: Job, error: state::Error) -> state::Error {
        let mut lanes = self.lanes();
        lanes.close();
        lanes.settle(job);
        drop(lanes);
        self.changed.notify_waiters();
        error
    }

    fn published(&self) -> Published {
        let mut standing = self.standing();
        let held_until = self.lanes().held_until();
        Published {
            sendings: std::mem::take(&mut standing.sendings),
            stopped: standing.stopped.take(),
            held_back: held_until.and_then(|until| until.checked_duration_since(Instant::now())),
            error: None,
        }
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn standing(&self) -> MutexGuard<'_, Standing> {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// With which request toggles were tried last, and when, in numbers that grow; what was never tried is not there.
pub(crate) type Late = BTreeMap<ToggleId, (RequestDigest, (u64, u64))>;

/// The changes as indices, lane by lane, in the order in which the plan wants them sent. What was tried before waits at
/// the end of its lane, the last tried last, so that toggles that always fail do not end every pass before the others'
/// turn. Another request than the one that was tried is new.
fn sending_order(plan: &Plan, late: &Late) -> Vec<(usize, EnvironmentId)> {
    let changes = plan.changes();
    let index = |id: &ToggleId| changes.binary_search_by(|change| change.id.cmp(id));
    let mut order = Vec::with_capacity(changes.len());
    for lane in plan.lanes() {
        let mut indices: Vec<usize> = lane
            .changes
            .iter()
            .filter_map(|change| index(&change.id).ok())
            .collect();
        indices.sort_by_key(|index| {
            let change = &changes[*index];
            let tried = late
                .get(&change.id)
                .filter(|(tried, _)| *tried == change.request());
            tried.map(|(_, when)| *when)
        });
        order.extend(indices.into_iter().map(|index| (index, lane.environment.clone())));
    }
    order
}

/// What is journalled for a change before it is sent.
pub(crate) fn sent(change: &Change, revision: CommitId) -> Sent {
    let Change {
        id: _,
        action,
        payload,
        before: _,
        path,
        format,
        object,
        attribution: _,
        comment,
        resend: _,
    } = change;
    Sent {
        action: *action,
        payload: payload.clone(),
        comment: comment.clone(),
        object: *object,
        format: format.clone(),
        path: path.clone(),
        revision,
    }
}

fn body(sent: &Sent) -> Bytes {
    sent.payload.body(&sent.comment).into()
}

/// What the journal is told. It keeps an earlier try that may have been stored, whatever came of this one.
fn finish(outcome: &Outcome) -> Finish {
    match outcome.certainty() {
        Certainty::NotStored => Finish::NotApplied,
        Certainty::Stored => Finish::Applied,
        Certainty::Unknown => Finish::Unknown,
    }
}

fn ended(outcome: &Outcome) -> Sending {
    match outcome {
        Outcome::Applied { .. } => Sending::Applied,
        Outcome::Forbidden { reason, .. } | Outcome::Refused { reason, .. } => Sending::Failed {
            reason: reason.clone(),
        },
        Outcome::Busy { reason, .. }
        | Outcome::Lost { reason }
        | Outcome::Misrouted { reason, .. }
        | Outcome::Unauthorised { reason, .. } => Sending::Pending {
            reason: reason.clone(),
        },
    }
}
