//! One attempt at a change: read the toggle, decide, publish on top of the version that was read, and resolve
//! a response that leaves doubt by reading again (src/pass/README.md, "Reading before a publish").
//!
//! Without `service_kind: featureprobe`, or with `on_drift: ignore`, an attempt is one PATCH. Invariant: with
//! it, no PATCH leaves without the base version that the decision was made on, and a repeated PATCH has the
//! same base version, so that the service stores at most one of them.

use std::borrow::Cow;

use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{Instrument as _, debug_span};

use super::dispatch::Job;
use super::{PublishJob, sent, stopped};
use crate::model::{
    Certainty, Hold, Live, LiveToggle, LiveVersion, OutcomeKind, ReturnType, Sent, SentNote, ToggleId,
};
use crate::pass::event::{Event, PublishAnswer};
use crate::pass::report::ChangeResult;
use crate::plan::{
    Before, Change, CircleSearch, ListedType, LiveDecision, Resolution, decide_by_versions, decide_live,
    hold, needed_id, needed_types, other_type, resolve,
};
use crate::service::{ErrorCode, Outcome};
use crate::state::{self, Begun};

/// The number of decisions in one attempt. Each follows a change that someone else made meanwhile.
const ROUNDS: usize = 4;

/// One attempt at a change. It owns what this pass knows of the change until it ends.
pub(super) struct Attempt<'a> {
    publish: &'a PublishJob,
    pub(super) job: Job,
    pub(super) progress: ChangeProgress,
    /// The number of token changes before its first request.
    pub(super) generation: u64,
    /// Why the change must not be sent: another one was not applied.
    wait: Option<Hold>,
    /// Becomes true when no further request may start.
    closed: watch::Receiver<bool>,
}

/// How an attempt ended.
#[derive(Debug)]
pub(super) enum AttemptEnd {
    /// The service has the desired targeting, and the journal records it. Nothing was sent.
    Converged,
    /// The last request, a read or a publish, ended like this.
    Ended(Outcome),
    /// The live state does not permit the change. Nothing was sent.
    Held(Hold),
}

#[derive(Debug)]
pub(super) enum Abandoned {
    /// The journal could not record a request. The pass must not send any more requests then.
    Journal(state::Error),
    PassEnded,
}

impl From<state::Error> for Abandoned {
    fn from(error: state::Error) -> Self {
        Self::Journal(error)
    }
}

/// What this pass has done for one change so far.
#[derive(Clone, Debug, Default)]
pub(super) struct ChangeProgress {
    pub(super) result: ChangeResult,
    /// What its last request was sent on top of.
    pub(super) base_version: Option<BaseVersion>,
    /// The version on the service that has its targeting, as far as it is known.
    pub(super) live_version: Option<u64>,
    /// Whether its toggle could not be read, so that what held the change before may still hold it.
    pub(super) is_unread: bool,
    /// Whether its toggle was created, perhaps in an earlier try.
    pub(super) is_created: bool,
    /// What its last request was sent over that someone changed on the service, unless the plan lists it.
    pub(super) overwritten: Option<Box<LiveToggle>>,
    /// The end of its last request.
    pub(super) answer: Option<PublishAnswer>,
}

/// The live version that a request replaces.
#[derive(Clone, Copy, Debug)]
pub(super) struct BaseVersion {
    pub(super) number: u64,
    /// Whether another program wrote it.
    pub(super) note: Option<SentNote>,
}

impl<'a> Attempt<'a> {
    pub(super) fn new(
        publish: &'a PublishJob,
        job: Job,
        progress: ChangeProgress,
        wait: Option<Hold>,
        closed: watch::Receiver<bool>,
    ) -> Self {
        Self { publish, job, progress, generation: 0, wait, closed }
    }

    pub(super) async fn run(mut self) -> (Self, Result<AttemptEnd, Abandoned>) {
        // Read before the request, so that a token that another attempt reads meanwhile is newer.
        self.generation = self.publish.service.token_generation();
        let end = self.make().await;
        (self, end)
    }

    async fn make(&mut self) -> Result<AttemptEnd, Abandoned> {
        if self.is_closed() {
            return Err(Abandoned::PassEnded);
        }
        let (change, publish) = (self.change(), self.publish);
        // A window may close during a pass, which then starts no further request (src/plan/README.md, "Order
        // and windows").
        let closed = hold::window(change, &publish.policy, publish.plan.overrides(), publish.clock.unix());
        if let Some(hold) = closed.filter(|_| publish.plan.is_request(change)) {
            return Ok(AttemptEnd::Held(hold));
        }
        match publish.policy.reads_live() {
            true => self.compare_and_set().await,
            false => self.send_blindly().await,
        }
    }

    fn change(&self) -> &'a Change {
        &self.publish.plan.changes()[self.job.change]
    }

    fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    fn report(&self, event: Event<'_>) {
        self.publish.context.report(event);
    }

    fn now(&self) -> Instant {
        self.publish.clock.instant()
    }

    async fn send_blindly(&mut self) -> Result<AttemptEnd, Abandoned> {
        if let Some(hold) = self.wait.take() {
            return Ok(AttemptEnd::Held(hold));
        }
        let outcome = self.patch(None).await?;
        Ok(AttemptEnd::Ended(outcome.expect("only a request with a base version has a conflict")))
    }

    async fn compare_and_set(&mut self) -> Result<AttemptEnd, Abandoned> {
        let mut change = Cow::Borrowed(self.change());
        // An earlier try of this pass was sent on top of this version, and may have been stored.
        let mut earlier = self.progress.base_version;
        let mut conflict = None;
        for _ in 0..ROUNDS {
            if self.is_closed() {
                return Err(Abandoned::PassEnded);
            }
            let is_created = self.progress.is_created;
            if is_created {
                // What was applied before is gone, so the version of the new toggle is not drift.
                change.to_mut().before = Before::Nothing;
            }
            let started = self.now();
            let looked = self.look(&change, earlier.take()).await;
            self.progress.is_unread = looked.is_err();
            let (decision, note) = match looked {
                Ok(found) => found,
                Err(failed) => return Ok(self.unpublished(failed, started)),
            };
            match decision {
                LiveDecision::Converged if !is_created => {
                    let note = Some(SentNote::Converged);
                    return self.record(&change, note, AttemptEnd::Converged).await;
                }
                // A toggle can be created with all that its document asks for.
                LiveDecision::Confirmed | LiveDecision::Converged => {
                    let applied = AttemptEnd::Ended(Outcome::applied(200));
                    return self.record(&change, None, applied).await;
                }
                LiveDecision::Hold(hold) => return Ok(AttemptEnd::Held(hold)),
                // The service reports that the toggle exists, but does not return it.
                LiveDecision::Create(_) if conflict.is_some() => break,
                LiveDecision::Create(return_type) => {
                    let created = self.create(&change, return_type).await?;
                    if created.kind == OutcomeKind::Applied {
                        self.progress.is_created = true;
                    } else if created.is_refused_with(ErrorCode::Taken) {
                        conflict = Some(name_taken(created));
                    } else {
                        return Ok(self.unpublished(created, started));
                    }
                }
                LiveDecision::Publish { base_version: number } => {
                    match self.patch(Some(BaseVersion { number, note })).await? {
                        None => self.progress.base_version = None,
                        Some(outcome) => {
                            let circle = match outcome.is_refused_with(ErrorCode::Invalid) {
                                true => self.circle(&change).await,
                                false => None,
                            };
                            return Ok(circle.map_or(AttemptEnd::Ended(outcome), AttemptEnd::Held));
                        }
                    }
                }
                LiveDecision::ReadVersions { .. } => unreachable!("`look` reads the versions"),
            }
        }
        Ok(AttemptEnd::Ended(conflict.unwrap_or_else(contended)))
    }

    /// Ends an attempt that failed before its publish.
    fn unpublished(&self, failed: Outcome, started: Instant) -> AttemptEnd {
        let took = self.now().saturating_duration_since(started);
        self.report(Event::Failed(&self.change().id, &failed, took));
        AttemptEnd::Ended(failed)
    }

    /// Reads the toggle, decides on the change, and returns the note of its request. An `earlier` request is
    /// decided on again as long as the service has its base version, because the toggle may have been
    /// archived since.
    async fn look(
        &mut self,
        change: &Change,
        earlier: Option<BaseVersion>,
    ) -> Result<(LiveDecision, Option<SentNote>), Outcome> {
        let live = self.publish.service.read(&change.id, self.now()).await?;
        let equal = match &live {
            Live::Toggle(live) if live.content.payload() == Some(&change.version.payload) => {
                Some(live.version)
            }
            _ => None,
        };
        self.progress.live_version = equal;
        if let (Some(BaseVersion { number, note }), Live::Toggle(live)) = (earlier, &live)
            && live.version != number
        {
            // The service refuses the request now, and its versions show whether it stored the earlier one.
            return Ok((LiveDecision::Publish { base_version: number }, note));
        }
        let decision = self.decide(change, &live).await?;
        let decision = self.restrict(change, decision).await?;
        let overwritten = live.overwritten_by(change);
        if let (LiveDecision::Publish { .. }, Some(live)) = (&decision, overwritten) {
            self.list_overwritten(change, live).await;
        }
        Ok((decision, overwritten.map(|_| SentNote::Overwrites)))
    }

    /// Decides on a change by the live state, and by the versions of the toggle where that is not enough.
    async fn decide(&self, change: &Change, live: &Live) -> Result<LiveDecision, Outcome> {
        let (policy, overrides) = (&self.publish.policy, self.publish.plan.overrides());
        match (decide_live(change, live, policy, overrides), live) {
            // The reason of a hold names who changed the toggle, which takes another read.
            (LiveDecision::Hold(hold), Live::Toggle(live)) if hold.version.is_some() => {
                let live = Live::Toggle(Box::new(self.with_events(change, live).await));
                match decide_live(change, &live, policy, overrides) {
                    LiveDecision::Hold(hold) => Ok(LiveDecision::Hold(hold)),
                    _ => Ok(LiveDecision::Hold(hold)),
                }
            }
            (LiveDecision::ReadVersions { after }, Live::Toggle(live)) => {
                let newer = self.publish.service.versions_from(&change.id, after + 1).await?;
                let mut live = LiveToggle::clone(live);
                match &change.before {
                    Before::Unknown { sent, applied } => {
                        live.add_events(&newer, sent.base_version, applied.as_deref());
                    }
                    _ => live.add_events(&newer, None, Some(&change.payload)),
                }
                Ok(decide_by_versions(change, &live, &newer, policy, overrides))
            }
            (decision, _) => Ok(decision),
        }
    }

    /// Holds what the live state permits, if the plan or another toggle does not permit it.
    async fn restrict(&self, change: &Change, decision: LiveDecision) -> Result<LiveDecision, Outcome> {
        let plan = &self.publish.plan;
        if matches!(decision, LiveDecision::Confirmed | LiveDecision::Converged) {
            return Ok(decision);
        }
        if let Some(hold) = plan.unless_equal(&change.id) {
            return Ok(LiveDecision::Hold(Hold::clone(hold)));
        }
        let permitted = match decision {
            LiveDecision::Create(own) => match plan.new_type(&change.id, own) {
                Ok(return_type) => LiveDecision::Create(return_type),
                Err(hold) => return Ok(LiveDecision::Hold(hold)),
            },
            LiveDecision::Publish { .. } => decision,
            decision => return Ok(decision),
        };
        Ok(self.obstacle(change).await?.map_or(permitted, LiveDecision::Hold))
    }

    /// Returns why a change may not be sent: a prerequisite has another type on the service, or is not there
    /// although it has a document, or another change was not applied.
    async fn obstacle(&self, change: &Change) -> Result<Option<Hold>, Outcome> {
        let is_gained = |id: &ToggleId| {
            let gained = change.gained();
            gained.iter().any(|one| needed_id(change, one).as_ref() == Some(id))
        };
        for (id, wanted) in needed_types(change) {
            let listed = self.publish.service.listed_type(&id, self.now()).await?;
            if let Some(hold) = other_type(&id, wanted, &listed) {
                return Ok(Some(hold));
            }
            if listed == ListedType::Missing && is_gained(&id) && self.publish.plan.has_document(&id) {
                return Ok(Some(hold::needs_missing(&id)));
            }
        }
        if self.wait.is_some() || !self.may_close_circle(change) {
            return Ok(self.wait.clone());
        }
        Ok(self.circle(change).await)
    }

    /// Returns whether the toggles of `change` may form a circle: with what was applied, or as this pass or an earlier one
    /// has seen. Most changes form none, and reading what their prerequisites lead to takes many requests.
    fn may_close_circle(&self, change: &Change) -> bool {
        self.publish.circles.contains(&change.id)
            || self.progress.result.hold().is_some_and(|held| hold::is_circle_on_service(held))
            || self.publish.plan.may_close_circle(change)
    }

    /// Returns the hold of a change with which prerequisites would form a circle with what the service has. Reads the
    /// toggles that the new prerequisites lead to.
    async fn circle(&self, change: &Change) -> Option<Hold> {
        // Only since a toggle was applied can somebody have closed a circle with it. A first publish is refused in the
        // words of the service.
        if !matches!(change.before, Before::Applied(_)) {
            return None;
        }
        let mut search = CircleSearch::of(change);
        while let Some(next) = search.next() {
            let Live::Toggle(live) = self.publish.service.read(&next, self.now()).await.ok()? else {
                continue;
            };
            let has_document = search.has_document(&self.publish.plan, &next);
            if search.closes(&live.needed_keys()) {
                return Some(self.publish.plan.circle_hold(&next, has_document));
            }
        }
        None
    }

    /// Reports what the next request replaces, unless the plan lists it, or an earlier try has reported it.
    async fn list_overwritten(&mut self, change: &Change, live: &LiveToggle) {
        let known = self.progress.overwritten.as_deref().or(change.overwrites());
        if known.is_some_and(|known| known.version == live.version) {
            return;
        }
        let live = self.with_events(change, live).await;
        self.report(Event::Overwrites(change, &live));
        self.progress.overwritten = Some(Box::new(live));
    }

    /// Adds who changed the toggle since the document was applied, and why, as far as that can be read.
    async fn with_events(&self, change: &Change, live: &LiveToggle) -> LiveToggle {
        let mut live = live.clone();
        if !live.events.is_empty() {
            return live;
        }
        // The version that this folder knows may be older than what another process has applied since.
        let folder = self.publish.versions.get(&change.id).copied();
        let (known, applied) = match &change.before {
            Before::Applied(applied) | Before::Live(applied) => (folder, Some(applied)),
            // The creation of a toggle makes its first version.
            Before::Nothing => (Some(1), None),
            Before::Unknown { sent, applied } => (sent.base_version, applied.as_deref()),
            Before::Unreadable => (folder, None),
        };
        let versions = self.publish.service.versions_from(&change.id, live.first_event(known)).await;
        let versions = versions.unwrap_or_default();
        let is_applied = |version: &LiveVersion| applied.is_some() && version.content.payload() == applied;
        let is_outdated = versions.iter().any(is_applied);
        let mut is_unread = false;
        let known = match (known.filter(|_| !is_outdated), applied) {
            (None, Some(applied)) => {
                let records = self.publish.records.read();
                is_unread = records.is_none();
                let recorded = records.and_then(|records| records.at(&change.id));
                recorded.and_then(|at| LiveVersion::number_applied(&versions, applied, at))
            }
            (known, _) => known,
        };
        live.add_events(&versions, known, applied);
        live.has_earlier_events |= is_unread;
        live
    }

    /// Records a change that needs no request.
    async fn record(
        &self,
        change: &Change,
        note: Option<SentNote>,
        end: AttemptEnd,
    ) -> Result<AttemptEnd, Abandoned> {
        let sent = Sent { note, ..sent(change, &self.publish.plan) };
        let begun = self.begin(&change.id, &sent).await?;
        Ok(match self.publish.journal.finish(begun, Certainty::Stored)? {
            Certainty::Stored => end,
            _ => AttemptEnd::Ended(too_late()),
        })
    }

    /// Journals the change and sends it, on top of `base` if there is one. Returns no outcome if another
    /// version was published on top of `base`, so that the service will never store the request.
    async fn patch(&mut self, base: Option<BaseVersion>) -> Result<Option<Outcome>, Abandoned> {
        let change = self.change();
        let sent = Sent {
            base_version: base.map(|base| base.number),
            note: base.and_then(|base| base.note),
            ..sent(change, &self.publish.plan)
        };
        self.report(Event::Sends(&change.id, &sent));
        let begun = self.begin(&change.id, &sent).await?;
        if base.is_some() {
            self.progress.base_version = base;
        }
        let started = self.now();
        let attempt = self.job.attempt;
        let published = self.publish.service.publish(&change.id, &sent);
        let outcome = published.instrument(debug_span!("publish", attempt)).await;
        let took = self.now().saturating_duration_since(started);
        self.progress.answer = Some(PublishAnswer { status: outcome.status, took });
        self.report(Event::Answered(&change.id, &outcome, took));
        let (outcome, certainty) = match sent.base_version.filter(|_| is_doubtful(&outcome)) {
            None => {
                let certainty = outcome.certainty;
                (Some(outcome), certainty)
            }
            Some(base) => {
                let newer = self.publish.service.versions_from(&change.id, base + 1).await;
                resolved(outcome, &sent, newer)
            }
        };
        if certainty == Certainty::Stored {
            // The service stores a request only as the version after its base.
            let stored = base.map(|base| base.number + 1);
            self.progress.live_version = stored;
        }
        match self.publish.journal.finish(begun, certainty) {
            Ok(Certainty::Unknown) if certainty == Certainty::Stored => Ok(Some(too_late())),
            Ok(_) => Ok(outcome),
            Err(error) => {
                // Once a request has left, the report has its result (src/pass/README.md, "What a pass
                // promises"), recorded or not.
                if let Some(outcome) = &outcome {
                    self.progress.result = ChangeResult::of(outcome);
                }
                Err(error.into())
            }
        }
    }

    async fn create(&self, change: &Change, return_type: ReturnType) -> Result<Outcome, Abandoned> {
        // Not journaled: the service creates a toggle once, however often it is asked to.
        self.granted().await?;
        Ok(self.publish.service.create(change, return_type).await)
    }

    /// Waits until the request may start, and journals it.
    async fn begin(&self, toggle: &ToggleId, sent: &Sent) -> Result<Begun, Abandoned> {
        loop {
            self.granted().await?;
            let begun = self.publish.journal.begin(toggle, sent);
            if let Some(begun) = self.publish.context.runtime.recorded(begun).await? {
                return Ok(begun);
            }
        }
    }

    /// Waits until a request may start.
    async fn granted(&self) -> Result<(), Abandoned> {
        if self.is_closed() {
            return Err(Abandoned::PassEnded);
        }
        tokio::select! {
            // First, so that a permitted request starts.
            biased;
            granted = self.publish.journal.granted() => Ok(granted?),
            () = stopped(self.closed.clone()) => Err(Abandoned::PassEnded),
        }
    }
}

/// Returns whether the versions of the toggle may show what the response does not.
fn is_doubtful(outcome: &Outcome) -> bool {
    match outcome.kind {
        OutcomeKind::Lost => true,
        // If the service asked for a pause, the next try finds out.
        OutcomeKind::Busy => outcome.retry_after.is_none() && outcome.certainty == Certainty::Unknown,
        // A stale base version and an invalid document have the same code (src/service/featureprobe.md,
        // "Publishing").
        OutcomeKind::Refused => outcome.status == Some(409) || outcome.is_refused_with(ErrorCode::Invalid),
        OutcomeKind::Applied
        | OutcomeKind::Forbidden
        | OutcomeKind::Misrouted
        | OutcomeKind::Unauthorized
        | OutcomeKind::Untrusted => false,
    }
}

/// Resolves a response that leaves doubt by the versions that are newer than the base version of the request.
/// Returns no outcome after a conflict.
fn resolved(
    outcome: Outcome,
    sent: &Sent,
    newer: Result<Vec<LiveVersion>, Outcome>,
) -> (Option<Outcome>, Certainty) {
    let newer = match newer {
        Ok(newer) => newer,
        // An earlier try may have been stored, even if the service has refused this one.
        Err(failed) => return (Some(failed), Certainty::Unknown),
    };
    match resolve(&sent.payload, &sent.comment, &newer) {
        Resolution::Confirmed => (Some(Outcome::applied(200)), Certainty::Stored),
        Resolution::Conflict => (None, Certainty::NotStored),
        Resolution::NotStored => {
            // The service may still execute a request whose response was lost.
            let certainty = outcome.certainty;
            (Some(outcome), certainty)
        }
    }
}

fn too_late() -> Outcome {
    let reason = "confirmed so late that another process may have taken over the shared state";
    Outcome::new(OutcomeKind::Lost, Certainty::Unknown, reason)
}

/// Adds the way out to the refusal to create a toggle that the service does not have.
fn name_taken(mut refusal: Outcome) -> Outcome {
    refusal.reason.push_str(
        "; another toggle of the project has this key as its name: rename that one, or create the toggle on the \
         service",
    );
    refusal
}

fn contended() -> Outcome {
    let reason = format!("the toggle was changed on the service {ROUNDS} times while it was being published");
    Outcome::new(OutcomeKind::Busy, Certainty::NotStored, reason)
}
