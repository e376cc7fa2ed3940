//! Facts for the operator about the step from the recorded revision and about uncommitted documents, which a
//! plan shows.

use super::planning::signer;
use crate::document::PathKind;
use crate::git::CommitVerifier;
use crate::pass::Error;
use crate::pass::config::{Config, Rules};
use crate::pass::staleness::{Circumstances, RevisionStep, StepDecision};
use crate::plan::hold::{self, Unapplied};
use crate::source::{self, Snapshot, SourceConfig};
use crate::state::folder::{self, Place};
use crate::state::{SharedRemote, StateSnapshot};

/// What a read-only command finds out about the step from the recorded revision.
pub(super) struct StepNotes {
    /// Whether it leads forward.
    pub(super) is_forward: bool,
    /// Whether a pass would refuse it, and send nothing.
    pub(super) is_refused: bool,
    pub(super) notes: Vec<String>,
}

/// Looks at the step from the recorded revision, at the signature, and at the place of the state.
pub(super) fn step_notes(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    config: &Config,
) -> Result<StepNotes, Error> {
    let step = RevisionStep::of(snapshot, view)?;
    let is_forward = step.is_none_or(|step| step.is_forward());
    let decision = step.map(|step| step.decide(Circumstances::of(config, false), config.history()));
    let holder = view.holder().map(|holder| {
        format!("{holder} has announced a pass on the shared state; the changes that it sends are shown as unknown until they are recorded")
    });
    let other_place = match &config.shared {
        Some(shared) => Place::of(Some(&shared.resolve(&config.source)?)),
        None => Place::of(None),
    };
    let other_place = folder::check_place(&config.state_dir, &other_place, view.is_fetched());
    let other_place = other_place.err().map(Error::from);
    let unsigned = signer(&mut CommitVerifier::new(config.trusted_keys.clone()), snapshot).err();
    let is_refused =
        matches!(decision, Some(StepDecision::Refuse(_))) || unsigned.is_some() || other_place.is_some();
    let notes = decision
        .and_then(StepDecision::into_note)
        .into_iter()
        .chain(unsigned.and_then(|error| StepDecision::Refuse(error).into_note()))
        .chain(other_place.and_then(|error| StepDecision::Refuse(error).into_note()))
        .chain(restorable_ref(view, config)?)
        .chain(holder);
    Ok(StepNotes { is_forward, is_refused, notes: notes.chain(deleted_ref(view, config)).collect() })
}

/// Returns a note on shared state whose ref was deleted, if the state folder has what it had.
fn restorable_ref(view: &StateSnapshot, config: &Config) -> Result<Option<String>, Error> {
    let Some(shared) = config.shared.as_ref().filter(|_| !view.is_fetched() && view.has_applied()) else {
        return Ok(None);
    };
    let SharedRemote { remote, name, .. } = shared.resolve(&config.source)?;
    // Otherwise, the state of the folder is about to move there.
    let is_deleted = folder::is_of_remote(&config.state_dir, &remote.to_string());
    Ok(is_deleted.then(|| {
        format!(
            "the ref of the shared state `{name}` was deleted; a pass with this state folder, which has what it had, restores it"
        )
    }))
}

/// Returns a note on a first pass on shared state. Its folder would restore a ref that it knows, so nothing here
/// shows whether the ref was deleted or never existed: the note names both, the usual case first.
pub(crate) fn deleted_ref(view: &StateSnapshot, config: &Config) -> Option<String> {
    // Requests without a known outcome are recorded in it as well.
    let is_blank = !view.has_applied() && view.settled().is_empty() && view.unknown().is_empty();
    let is_first = config.shared.is_some() && is_blank && config.rules.policy.first_pass.is_none();
    is_first.then(|| {
        format!(
            "nothing is recorded in the shared state yet; if this repository was applied before, the ref of its state was \
             deleted, as a push with `--mirror` into that repository does: {}",
            hold::first_pass_advice(Unapplied::Lost, &config.rules.policy)
        )
    })
}

/// Returns a note about uncommitted documents.
pub(super) fn uncommitted(config: &Config, snapshot: &Snapshot) -> Option<String> {
    match count(&config.source, &config.rules, snapshot)? {
        0 => None,
        1 => Some(
            "1 document in the work tree differs from the committed version; `--worktree` plans it"
                .to_owned(),
        ),
        count => Some(format!(
            "{count} documents in the work tree differ from the committed versions; `--worktree` plans them"
        )),
    }
}

/// Returns a note about uncommitted documents, which a comparison of revisions leaves out.
pub(crate) fn range_note(source: &SourceConfig, rules: &Rules, snapshot: &Snapshot) -> Option<String> {
    let count = count(source, rules, snapshot).filter(|count| *count > 0)?;
    let documents = match count {
        1 => "1 document in the work tree is".to_owned(),
        count => format!("{count} documents in the work tree are"),
    };
    Some(format!("{documents} not committed: only commits are compared"))
}

/// Returns the number of documents that differ between the work tree and the snapshot.
fn count(source: &SourceConfig, rules: &Rules, snapshot: &Snapshot) -> Option<usize> {
    let folder = source.location.local_path()?;
    // Errors are ignored, because the plan does not depend on the note.
    let differing = source::uncommitted(folder, snapshot.revision(), &source.root).ok()?;
    let root = match source.root.as_str() {
        "" => String::new(),
        root => format!("{root}/"),
    };
    let is_document = |path: &&Vec<u8>| {
        let inner = path.strip_prefix(root.as_bytes());
        inner.is_some_and(|inner| matches!(rules.layout.classify(inner), PathKind::Document { .. }))
    };
    Some(differing.iter().filter(is_document).count())
}
