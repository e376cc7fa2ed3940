//! What a pass leaves behind: the applied documents, the refusals, and whether the next one may be skipped.
//! While the requests of a long pass are sent, checkpoints record what was confirmed so far.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;

use super::runtime::Waited;
use crate::document::{LARGEST_DOCUMENT, Layout};
use crate::git::ObjectReader;
use crate::model::{
    Blob, DeploymentEffect, EntryKind, EnvironmentId, FoldedId, Format, HeldRequests, ObjectId, Scope,
    ToggleId, Trees,
};
use crate::pass::config::Rules;
use crate::pass::publish::{PublishJob, publish, tries};
use crate::pass::report::{ChangeResult, PublishSummary};
use crate::pass::{Error, planning};
use crate::plan::compare::join;
use crate::plan::{self, Plan};
use crate::source::{self, Snapshot};
use crate::state::{
    self, AppliedEdit, CleanPass, DocumentReader, Failures, PassHead, StateSnapshot, Stop, Store,
};

/// Records outcomes and what needs no publish. Returns the pass, if it left nothing to do, and what is
/// remembered of requests that were not confirmed.
pub(crate) fn record(
    store: &mut Store,
    plan: &Plan,
    snapshot: &Snapshot,
    published: &PublishSummary,
    rules: &Rules,
    head: PassHead,
    stop: Stop<'_>,
) -> Result<(Option<CleanPass>, Failures), Error> {
    let now = head.now;
    let mut edits: Vec<AppliedEdit> = plan.state_edits().iter().map(without_publish).collect();
    edits.extend(finished_first_passes(plan, published));
    let is_recorded = store.view().tip().is_some_and(|tip| tip.revision == head.revision);
    let is_allowed = plan.overrides().history.is_some() && !is_recorded;
    // The next commit records who allowed the revision and when, even without a change (src/state/README.md,
    // "Identity and history").
    if is_allowed || planning::must_be_recorded(snapshot, store.view())? {
        edits.push(AppliedEdit::Seen);
    }
    let documents = Documents::new(snapshot)?;
    let recorded = store.record(&head, &edits, documents, stop);
    recorded.map_err(match published.results.is_empty() {
        true => unread,
        false => Error::State,
    })?;
    let done = published.stopped.is_none()
        && published.results.iter().all(ChangeResult::is_recorded)
        && plan.leaves_nothing();
    let tip = store.view().tip().filter(|_| done);
    let memory = tip.map(|tip| planning::memory(snapshot, tip.commit, rules, now));
    // Every environment has records again, unless some were left out.
    if memory.is_some() && rules.policy.scope.is_everything() && !store.view().lost().is_empty() {
        store.lose(BTreeSet::new())?;
    }
    let failures = Failures { tries: tries(store, plan, published, &rules.policy.scope, now) };
    Ok((memory, failures))
}

/// Ends the asserted first passes whose documents were all tried.
fn finished_first_passes(plan: &Plan, published: &PublishSummary) -> impl Iterator<Item = AppliedEdit> {
    let results = plan.changes().iter().zip(&published.results);
    let untried = results.filter(|(_, result)| result.is_untried());
    let withheld = plan.withheld().iter().filter(|held| held.hold.is_untried());
    let withheld = withheld.filter_map(|held| held.change.as_deref());
    let untried: BTreeSet<EnvironmentId> = untried
        .map(|(change, _)| change)
        .chain(withheld)
        .filter(|change| change.overwrite.is_asserted())
        .map(|change| change.id.environment())
        .collect();
    let environments = plan.asserted().keys().cloned();
    let ended = environments.filter(move |environment| !untried.contains(environment));
    ended.map(|environment| AppliedEdit::EndFirstPass { environment })
}

fn without_publish(record: &plan::StateEdit) -> AppliedEdit {
    let (version, effect) = match record {
        plan::StateEdit::Adopt(version) => (version, DeploymentEffect::Adopt),
        plan::StateEdit::Converged(version) => (version, DeploymentEffect::Converge),
        plan::StateEdit::SameMeaning(version) => (version, DeploymentEffect::Record),
        plan::StateEdit::Forget { id } => return AppliedEdit::Remove { id: id.clone() },
    };
    AppliedEdit::Put { id: version.id.clone(), object: version.object, format: version.format, effect }
}

/// What is remembered of the requests that were held or not confirmed.
fn tries(store: &Store, plan: &Plan, published: &PublishSummary, scope: &Scope, now: i64) -> HeldRequests {
    let before = &store.view().failures().tries;
    let elsewhere = before.keys().map(FoldedId::spelled).filter(|id| !scope.contains(id));
    let lines = plan.changes().iter().zip(&published.results);
    let unconfirmed = lines.filter(|(_, result)| !result.is_recorded());
    let unconfirmed = unconfirmed.map(|(change, result)| (&change.id, change.request(), result));
    let left = plan.withheld().iter().map(|held| &held.id).chain(elsewhere);
    let end = tries::PassEnd {
        waits: &published.waits,
        still_held: &published.still_held,
        now,
        jitter: fastrand::f64(),
    };
    tries::remember(before, unconfirmed, left, end)
}

/// The bytes of the source's documents, for the state to keep.
pub(crate) struct Documents(source::Reader);

/// Why a document cannot be kept.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unreadable {
    /// The source no longer has it.
    #[error("document {0} is not in the source")]
    Absent(ObjectId),
    /// The source cannot be read.
    #[error(transparent)]
    Source(#[from] source::Error),
}

/// Reports a document that the source did not give as the error of the source that it is.
pub(crate) fn unread(error: state::Error) -> Error {
    let state::Error::Document { object, source } = error else {
        return error.into();
    };
    match source.downcast::<Unreadable>().map(|unreadable| *unreadable) {
        Ok(Unreadable::Source(error)) => Error::Source(error),
        Ok(absent @ Unreadable::Absent(_)) => {
            let source = Box::new(absent);
            Error::State(state::Error::Document { object, source })
        }
        Err(source) => Error::State(state::Error::Document { object, source }),
    }
}

impl Documents {
    pub(crate) fn new(snapshot: &Snapshot) -> Result<Self, Error> {
        Ok(Self(snapshot.reader()?))
    }
}

impl DocumentReader for Documents {
    type Error = Unreadable;

    fn read(&mut self, object: ObjectId) -> Result<Vec<u8>, Unreadable> {
        match self.0.blob(object, LARGEST_DOCUMENT)? {
            Blob::Content(bytes) => Ok(bytes),
            Blob::Missing | Blob::TooLarge(_) => Err(Unreadable::Absent(object)),
        }
    }

    fn repository(&self) -> Option<&Path> {
        Some(self.0.folder())
    }
}

/// Sends the requests of `job`, and records every few seconds what was confirmed so far.
pub(super) fn publish_with_checkpoints(
    store: &mut Store,
    job: PublishJob,
    head: PassHead,
) -> Result<PublishSummary, Error> {
    let (clock, context, checkpoint) =
        (Arc::clone(&job.clock), job.context.clone(), job.thresholds.checkpoint);
    // The lanes run beside this thread, which may hang in a checkpoint: they watch `stop` and the lease
    // themselves.
    let lanes = context.runtime.spawn(publish(job));
    let mut broken = None;
    let mut summary = loop {
        match context.runtime.wait(&lanes, checkpoint) {
            Waited::Done(summary) => break summary,
            // The journal has every outcome, so the next process records them.
            Waited::Cancelled => return Err(Error::Cancelled),
            // A push that fails for a moment is not an error, and the next checkpoint repeats it. After any
            // other failure, the journal keeps the outcomes for the next pass.
            Waited::Elapsed if broken.is_some() => {}
            Waited::Elapsed => {
                let now = clock.unix();
                broken = store.checkpoint(&PassHead { now, ..head }).err();
            }
        }
    };
    let failed = summary.error.take();
    // Lanes that may send no more requests do not know the cause.
    match broken.map(Error::from).or(failed) {
        None => Ok(summary),
        Some(error) => abandon(store, &head, summary, error, &|| context.is_stopped()),
    }
}

/// Closes the journal of a pass that an error ended. The journal keeps every outcome for the next pass, and
/// the report keeps every result.
pub(super) fn abandon(
    store: &mut Store,
    head: &PassHead,
    summary: PublishSummary,
    error: Error,
    stop: Stop<'_>,
) -> Result<PublishSummary, Error> {
    let error = match store.abandon(head, stop) {
        Ok(()) => error,
        Err(cause) if matches!(error, Error::State(state::Error::LeaseOver)) => cause.into(),
        Err(other) => {
            // The error that ended the pass is reported, and usually is the cause of this one.
            tracing::debug!(name: "journal_open", error = %other, "could not close the journal");
            error
        }
    };
    summary.ended_by(error)
}

/// Returns the documents in the applied tree of `view`, read with its reader.
pub(crate) fn applied_tree(
    view: &StateSnapshot,
    reader: Option<&ObjectReader>,
) -> Result<BTreeMap<ToggleId, (ObjectId, Format)>, Error> {
    let (Some(tip), Some(reader)) = (view.tip(), reader) else {
        return Ok(BTreeMap::new());
    };
    // The applied tree has the default layout, whatever that of the source is (src/state/README.md, "Parts").
    let layout = Layout::default();
    let mut documents = BTreeMap::new();
    let mut folders = vec![(String::new(), tip.tree)];
    while let Some((prefix, folder)) = folders.pop() {
        for entry in reader.tree(folder)?.entries() {
            let path = join(&prefix, &String::from_utf8_lossy(entry.name));
            match entry.kind() {
                EntryKind::Tree => folders.push((path, entry.id)),
                EntryKind::Blob => {
                    if let Some((id, format)) = layout.recorded(path.as_bytes()) {
                        documents.insert(id, (entry.id, format));
                    }
                }
                EntryKind::Other => {}
            }
        }
    }
    Ok(documents)
}
