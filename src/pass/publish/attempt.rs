//! One attempt at a change: read the toggle, decide, publish on top of the version that was read, and resolve
//! a response that leaves doubt by reading again (src/pass/README.md, "Reading before a publish").
//!
//! Without `service_kind: featureprobe`, or with `on_drift: ignore`, an attempt is one PATCH. Invariant: with it, no PATCH
//! leaves without the base version that the decision was made on, and a repeated PATCH has the same base version, so that
//! the service stores at most one of them.

use std::borrow::Cow;
use std::pin::pin;

use tokio::time::Instant;
use tracing::{Instrument as _, debug_span};

use super::dispatch::Job;
use super::sender::{Abandoned, Attempt, BaseVersion, Sender, to_change_result};
use super::{body, sent};
use crate::model::{Certainty, Hold, Live, LiveToggle, LiveVersion, ReturnType, Sent, SentNote, ToggleId};
use crate::pass::event::{Event, PublishAnswer};
use crate::plan::{Before, Change, LiveDecision, Resolution, decide_by_versions, decide_live, hold, resolve};
use crate::service::Outcome;
use crate::state::Begun;

/// The number of decisions in one attempt. Each follows a change that someone else made meanwhile.
const ROUNDS: usize = 4;

impl Sender {
    pub(super) async fn attempt(&self, job: Job) -> Result<Attempt, Abandoned> {
        let change = &self.changes()[job.change];
        // A window may close during a pass, which then starts no further request (src/plan/README.md, "Order
        // and windows").
        let closed = hold::window(change, self.policy(), self.job.plan.overrides(), self.job.clock.unix());
        if let Some(hold) = closed.filter(|_| self.job.plan.is_request(change)) {
            return Ok(Attempt::Held(hold));
        }
        match self.policy().reads_live() {
            true => self.compare_and_set(job).await,
            false => self.send_blindly(job).await,
        }
    }

    async fn send_blindly(&self, job: Job) -> Result<Attempt, Abandoned> {
        let outcome = self.patch(job, None).await?;
        Ok(Attempt::Ended(outcome.expect("only a request with a base version has a conflict")))
    }

    async fn compare_and_set(&self, job: Job) -> Result<Attempt, Abandoned> {
        let mut change = Cow::Borrowed(&self.changes()[job.change]);
        // An earlier try of this pass was sent on top of this version, and may have been stored.
        let mut earlier = self.update(job.change, |progress| progress.base_version);
        let mut conflict = None;
        for _ in 0..ROUNDS {
            if self.is_closed() {
                return Err(Abandoned::PassEnded);
            }
            let is_created = self.update(job.change, |progress| progress.is_created);
            if is_created {
                // What was applied before is gone, so the version of the new toggle is not drift.
                change.to_mut().before = Before::Nothing;
            }
            let started = self.now();
            let (decision, note) = match self.look(job, &change, earlier.take()).await {
                Ok(found) => found,
                Err(failed) => return Ok(self.unpublished(failed, started)),
            };
            match decision {
                LiveDecision::Converged if !is_created => {
                    let note = Some(SentNote::Converged);
                    return self.record(&change, note, Attempt::Converged).await;
                }
                // A toggle can be created with all that its document asks for.
                LiveDecision::Confirmed | LiveDecision::Converged => {
                    let applied = Attempt::Ended(Outcome::Applied { status: 200 });
                    return self.record(&change, None, applied).await;
                }
                LiveDecision::Hold(hold) => return Ok(Attempt::Held(hold)),
                // The service reports that the toggle exists, but does not return it.
                LiveDecision::Create(_) if conflict.is_some() => break,
                LiveDecision::Create(return_type) => match self.create(&change, return_type).await? {
                    Outcome::Applied { .. } => self.update(job.change, |progress| progress.is_created = true),
                    exists if has_code(&exists, "conflict") => conflict = Some(name_taken(exists)),
                    failed => return Ok(self.unpublished(failed, started)),
                },
                LiveDecision::Publish { base_version: number } => {
                    match self.patch(job, Some(BaseVersion { number, note })).await? {
                        None => self.update(job.change, |progress| progress.base_version = None),
                        Some(outcome) => return Ok(Attempt::Ended(outcome)),
                    }
                }
                LiveDecision::ReadVersions { .. } => unreachable!("`look` reads the versions"),
            }
        }
        Ok(Attempt::Ended(conflict.unwrap_or_else(contended)))
    }

    /// Ends an attempt that failed before its publish.
    fn unpublished(&self, failed: Outcome, started: Instant) -> Attempt {
        self.report(Event::Failed(&failed, self.now().saturating_duration_since(started)));
        Attempt::Ended(failed)
    }

    /// Reads the toggle, decides on the change, and returns the note of its request. An `earlier` request is decided on
    /// again as long as the service has its base version, because the toggle may have been archived since.
    async fn look(
        &self,
        job: Job,
        change: &Change,
        earlier: Option<BaseVersion>,
    ) -> Result<(LiveDecision, Option<SentNote>), Outcome> {
        let service = &self.job.service;
        let live = service.read(&change.id, self.now()).await?;
        let equal = match &live {
            Live::Toggle(live) if live.content.payload() == Some(&change.version.payload) => {
                Some(live.version)
            }
            _ => None,
        };
        self.update(job.change, |progress| progress.live_version = equal);
        if let (Some(BaseVersion { number, note }), Live::Toggle(live)) = (earlier, &live)
            && live.version != number
        {
            // The service refuses the request now, and its versions show whether it stored the earlier one.
            return Ok((LiveDecision::Publish { base_version: number }, note));
        }
        let decided = decide_live(change, &live, self.policy(), self.job.plan.overrides());
        let decision = match (decided, &live) {
            (LiveDecision::Hold(hold), Live::Toggle(live)) if hold.version.is_some() => {
                LiveDecision::Hold(self.with_events(change, live, hold).await)
            }
            (LiveDecision::ReadVersions { after }, Live::Toggle(live)) => {
                let newer = service.versions_from(&change.id, after + 1).await?;
                decide_by_versions(change, live, &newer)
            }
            (decision, _) => decision,
        };
        let decision = match (self.job.plan.unless_equal(&change.id), decision) {
            (Some(hold), decision)
                if !matches!(decision, LiveDecision::Confirmed | LiveDecision::Converged) =>
            {
                LiveDecision::Hold(Hold::clone(hold))
            }
            (_, decision) => decision,
        };
        let decision = match decision {
            LiveDecision::Create(own) => {
                let new_type = self.job.plan.new_type(&change.id, own);
                new_type.map_or_else(LiveDecision::Hold, LiveDecision::Create)
            }
            decision => decision,
        };
        Ok((decision, overwrites(change, &live).then_some(SentNote::Overwrites)))
    }

    /// Returns a hold because of changes on the service that names all of them, as far as they can be read.
    async fn with_events(&self, change: &Change, live: &LiveToggle, hold: Hold) -> Hold {
        let (Before::Applied(applied) | Before::Live(applied)) = &change.before else {
            return hold;
        };
        // The version that this folder knows may be older than what another process has applied since.
        let known = self.job.versions.get(&change.id).copied();
        if known.is_some_and(|known| known + 1 >= live.version) {
            return hold;
        }
        let versions = self.job.service.versions_from(&change.id, live.first_event(known)).await;
        let versions = versions.unwrap_or_default();
        let is_applied = |version: &LiveVersion| version.content.payload() == Some(applied);
        let known = known.filter(|_| !versions.iter().any(is_applied));
        let mut live = live.clone();
        live.add_events(&versions, known, applied);
        let live = Live::Toggle(Box::new(live));
        match decide_live(change, &live, self.policy(), self.job.plan.overrides()) {
            LiveDecision::Hold(hold) => hold,
            _ => hold,
        }
    }

    /// Records a change that needs no request.
    async fn record(
        &self,
        change: &Change,
        note: Option<SentNote>,
        attempt: Attempt,
    ) -> Result<Attempt, Abandoned> {
        let sent = Sent { note, ..sent(change, &self.job.plan) };
        let begun = self.begin(&change.id, &sent).await?;
        Ok(match self.job.journal.finish(begun, Certainty::Stored)? {
            Certainty::Stored => attempt,
            _ => Attempt::Ended(too_late()),
        })
    }

    /// Journals the change and sends it, on top of `base` if there is one. Returns no outcome if another version was
    /// published on top of `base`, so that the service will never store the request.
    async fn patch(&self, job: Job, base: Option<BaseVersion>) -> Result<Option<Outcome>, Abandoned> {
        let change = &self.changes()[job.change];
        let sent = Sent {
            base_version: base.map(|base| base.number),
            note: base.and_then(|base| base.note),
            ..sent(change, &self.job.plan)
        };
        #[cfg(test)]
        if let super::Service::Simulated(service) = &self.job.service {
            service.begins(&change.id, &body(&sent));
        }
        let begun = self.begin(&change.id, &sent).await?;
        if base.is_some() {
            self.update(job.change, |progress| progress.base_version = base);
        }
        let started = self.now();
        let attempt = job.attempt;
        let published = self.job.service.publish(&change.id, body(&sent));
        let outcome = published.instrument(debug_span!("publish", attempt)).await;
        let took = self.now().saturating_duration_since(started);
        let status = outcome.status();
        self.update(job.change, |progress| {
            progress.answer = Some(PublishAnswer { status, took });
        });
        self.report(Event::Answered(&outcome, took));
        let (outcome, certainty) = match sent.base_version.filter(|_| is_doubtful(&outcome)) {
            None => {
                let certainty = outcome.certainty();
                (Some(outcome), certainty)
            }
            Some(base) => {
                let newer = self.job.service.versions_from(&change.id, base + 1).await;
                resolved(outcome, &sent, newer)
            }
        };
        if certainty == Certainty::Stored {
            // The service stores a request only as the version after its base.
            let stored = base.map(|base| base.number + 1);
            self.update(job.change, |progress| progress.live_version = stored);
        }
        match self.job.journal.finish(begun, certainty) {
            Ok(Certainty::Unknown) if certainty == Certainty::Stored => Ok(Some(too_late())),
            Ok(_) => Ok(outcome),
            Err(error) => {
                // Once a request has left, the report has its result (src/pass/README.md, "What a pass
                // promises"), recorded or not.
                if let Some(outcome) = &outcome {
                    self.update(job.change, |progress| progress.result = to_change_result(outcome));
                }
                Err(error.into())
            }
        }
    }

    async fn create(&self, change: &Change, return_type: ReturnType) -> Result<Outcome, Abandoned> {
        // Not journaled: the service creates a toggle once, however often it is asked to.
        self.granted().await?;
        Ok(self.job.service.create(change, return_type).await)
    }

    /// Waits until the request may start, and journals it.
    async fn begin(&self, toggle: &ToggleId, sent: &Sent) -> Result<Begun, Abandoned> {
        loop {
            self.granted().await?;
            let begun = self.job.journal.begin(toggle, sent);
            if let Some(begun) = self.job.context.runtime.recorded(begun).await? {
                return Ok(begun);
            }
        }
    }

    /// Waits until a request may start.
    async fn granted(&self) -> Result<(), Abandoned> {
        loop {
            // Enabled before the check, so that an end in between is not missed.
            let mut changed = pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.is_closed() {
                return Err(Abandoned::PassEnded);
            }
            tokio::select! {
                // First, so that a permitted request starts.
                biased;
                granted = self.job.journal.granted() => return Ok(granted?),
                () = changed => {}
            }
        }
    }
}

/// Returns whether a request for `change` replaces targeting that another program wrote.
fn overwrites(change: &Change, live: &Live) -> bool {
    let Live::Toggle(live) = live else {
        return false;
    };
    match &change.before {
        Before::Applied(before) => live.content.payload() != Some(before),
        Before::Live(_) => true,
        // The creation of a toggle makes its first version.
        Before::Nothing => live.version > 1,
        Before::Unknown { .. } | Before::Unreadable => false,
    }
}

/// Returns whether the versions of the toggle may show what the response does not.
fn is_doubtful(outcome: &Outcome) -> bool {
    match outcome {
        // The service asked for a pause, so the next try finds out.
        Outcome::Busy { retry_after: Some(_), .. } => false,
        Outcome::Busy { certainty, .. } => *certainty == Certainty::Unknown,
        Outcome::Lost { .. } => true,
        // A stale base version and an invalid document have the same code (src/service/featureprobe.md,
        // "Publishing").
        Outcome::Refused { status, .. } => *status == 409 || has_code(outcome, "invalid_request"),
        Outcome::Applied { .. }
        | Outcome::Forbidden { .. }
        | Outcome::Misrouted { .. }
        | Outcome::Unauthorized { .. }
        | Outcome::Untrusted { .. } => false,
    }
}

fn has_code(outcome: &Outcome, expected: &str) -> bool {
    matches!(outcome, Outcome::Refused { code: Some(code), .. } if code == expected)
}

/// Resolves a response that leaves doubt by the versions that are newer than the base version of the request. Returns no
/// outcome after a conflict.
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
        Resolution::Confirmed => (Some(Outcome::Applied { status: 200 }), Certainty::Stored),
        Resolution::Conflict => (None, Certainty::NotStored),
        Resolution::NotStored => {
            // The service may still execute a request whose response was lost.
            let certainty = outcome.certainty();
            (Some(outcome), certainty)
        }
    }
}

fn too_late() -> Outcome {
    Outcome::Lost {
        reason: "confirmed so late that another process may have taken over the shared state".to_owned(),
    }
}

/// Adds the way out to the refusal to create a toggle that the service does not have.
fn name_taken(mut refusal: Outcome) -> Outcome {
    if let Outcome::Refused { reason, .. } = &mut refusal {
        reason.push_str(
            "; another toggle of the project has this key as its name: rename that one, or create the toggle on the \
             service",
        );
    }
    refusal
}

fn contended() -> Outcome {
    Outcome::Busy {
        status: None,
        retry_after: None,
        certainty: Certainty::NotStored,
        reason: format!("the toggle was changed on the service {ROUNDS} times while it was being published"),
    }
}
