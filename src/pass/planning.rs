//! Plans without side effects, for `plan` and `status`, and the checks before documents are compared.

use super::notes::{StepNotes, step_notes, uncommitted};
use super::validate::LIMITS;
use crate::git::CommitVerifier;
use crate::model::CommitId;
use crate::pass::Error;
use crate::pass::compare::{AppliedSide, PlanFiles, plan_files};
use crate::pass::config::{Config, Rules};
use crate::pass::staleness::RevisionStep;
use crate::plan::hold::{Unapplied, first_pass_advice};
use crate::plan::{LiveDifferences, Plan, SourceInfo};
use crate::source::{Relation, Snapshot, Source, SourceConfig};
use crate::state::{self, CleanPass, StateSnapshot};

/// A plan with its notes.
#[derive(Debug)]
pub struct Planned {
    pub plan: Plan,
    /// Facts for the operator that are not about one document.
    pub notes: Vec<String>,
    /// Whether the source descends from the recorded revision, or nothing is compared with the state.
    pub is_forward: bool,
}

/// The files that a plan compares with the applied state.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Files {
    Committed,
    WorkTree,
}

/// Plans without side effects: takes no lock, writes nothing, and sends nothing to the service
/// (src/cli/README.md, "Commands that only read").
pub fn plan(config: &Config, files: Files) -> Result<Planned, Error> {
    // State before source, as in a pass.
    let planned = plan_over(config, files, &view(config)?, &LiveDifferences::new())?;
    Ok(Planned { plan: planned.plan.shown(), ..planned })
}

/// Returns the plan of a pass with the state `view` that knows these `drifted` toggles, and its notes. Writes
/// nothing.
pub(crate) fn plan_over(
    config: &Config,
    files: Files,
    view: &StateSnapshot,
    drifted: &LiveDifferences,
) -> Result<Planned, Error> {
    with_snapshot(&config.source, |snapshot| match files {
        Files::Committed => {
            let mut planned = plan_read_only(snapshot, view, drifted, config)?;
            planned.notes.extend(uncommitted(config, snapshot));
            Ok(planned)
        }
        Files::WorkTree => plan_work_tree(snapshot, view, drifted, config),
    })
}

fn plan_work_tree(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    drifted: &LiveDifferences,
    config: &Config,
) -> Result<Planned, Error> {
    let rules = &config.rules;
    check_base_url(view, rules)?;
    let StepNotes { is_forward, is_refused, notes } = step_notes(snapshot, view, config)?;
    let source = &config.source;
    let folder = source.location.local_path().ok_or(Error::NoWorkTree)?;
    let files = PlanFiles::of_work_tree(folder, source, snapshot, LIMITS)?;
    let plan = plan_files(&files, AppliedSide::state(view), config, drifted)?.refused(is_refused);
    Ok(Planned { notes: notes.into_iter().chain(plan.order_notes()).collect(), plan, is_forward })
}

/// Reads the source and returns the result of `work` on its snapshot. Clones a damaged mirror again, once.
pub(crate) fn with_snapshot<T>(
    source: &SourceConfig,
    work: impl Fn(&Snapshot) -> Result<T, Error>,
) -> Result<T, Error> {
    let mut source = Source::new(source.clone());
    match source.snapshot().map_err(Error::from).and_then(|found| work(&found)) {
        Err(error) if error.repairs(&mut source) => work(&source.snapshot()?),
        result => result,
    }
}

pub(crate) fn view(config: &Config) -> Result<StateSnapshot, Error> {
    let view = match &config.shared {
        Some(shared) => StateSnapshot::fetch(&shared.resolve(&config.source)?, &config.state_dir),
        None => StateSnapshot::open(&config.state_dir),
    };
    Ok(view.map_err(|error| advised(error, config))?)
}

/// Adds what the kind of the service has to say about a state that is lost.
pub(super) fn advised(error: state::Error, config: &Config) -> state::Error {
    error.with_advice(first_pass_advice(Unapplied::Lost, &config.rules.policy))
}

pub(crate) fn plan_read_only(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    drifted: &LiveDifferences,
    config: &Config,
) -> Result<Planned, Error> {
    let rules = &config.rules;
    check_base_url(view, rules)?;
    let StepNotes { is_forward, is_refused, notes } = step_notes(snapshot, view, config)?;
    let is_same = notes.is_empty() && drifted.is_empty();
    let plan = match is_same && is_done(snapshot, view, rules)? {
        true => Plan::nothing(source_info(snapshot, rules), rules.base_url.clone()),
        false => plan_files(&PlanFiles::committed(snapshot), AppliedSide::state(view), config, drifted)?,
    };
    let plan = plan.refused(is_refused);
    Ok(Planned { notes: notes.into_iter().chain(plan.order_notes()).collect(), plan, is_forward })
}

/// Returns who signed the revision; none if no keys are configured.
///
/// # Errors
/// [`Error::Unverified`] if no trusted key signed it.
pub(crate) fn signer(verifier: &mut CommitVerifier, snapshot: &Snapshot) -> Result<Option<String>, Error> {
    if verifier.is_off() {
        return Ok(None);
    }
    Ok(Some(verifier.signer(snapshot.revision(), &snapshot.raw_commit()?)?))
}

/// Refuses a state that belongs to another service.
pub(crate) fn check_base_url(view: &StateSnapshot, rules: &Rules) -> Result<(), Error> {
    match (view.base_url(), &rules.base_url) {
        (Some(recorded), Some(wanted)) if recorded != wanted => {
            let (recorded, wanted) = (recorded.to_owned(), wanted.clone());
            Err(state::Error::OtherBaseUrl { recorded, wanted }.into())
        }
        // A plan without `--base-url` uses the state of any service (src/cli/README.md, "Commands that only
        // read").
        _ => Ok(()),
    }
}

/// Returns whether the tree and the rules are those of a pass that left no changes.
pub(crate) fn is_done(snapshot: &Snapshot, view: &StateSnapshot, rules: &Rules) -> Result<bool, Error> {
    let is_same = view.last_clean_pass().is_some_and(|memory| {
        memory.root_tree == snapshot.root_tree()
            && memory.policy_digest == rules.digest()
            // On shared state, another process may have recorded a pass since.
            && Some(memory.tip) == view.tip().map(|tip| tip.commit)
    });
    // An unknown toggle is always in the plan (src/plan/README.md, "Missing and invalid documents").
    let is_quiet = view.unknown().is_empty() && view.suspensions().is_empty();
    Ok(is_same && is_quiet && !must_be_recorded(snapshot, view)?)
}

/// Returns whether this revision must be recorded even without a change.
pub(crate) fn must_be_recorded(snapshot: &Snapshot, view: &StateSnapshot) -> Result<bool, Error> {
    let Some(step) = RevisionStep::of(snapshot, view)? else {
        return Ok(false);
    };
    Ok(match step.relation {
        Relation::Same => false,
        // Documents that differed at the recorded revision or since then may not have been applied. A
        // checkout of one of those commits must count as stale (src/pass/README.md, "Stale checkout").
        Relation::Descends => snapshot.differed_since(step.recorded)?,
        // A rewrite that was followed is recorded, so that it is not refused again (src/pass/README.md,
        // "Stale checkout").
        _ => true,
    })
}

pub(crate) fn source_info(snapshot: &Snapshot, rules: &Rules) -> SourceInfo {
    SourceInfo {
        repo: rules.repo.clone(),
        reference: snapshot.reference().to_owned(),
        revision: snapshot.revision(),
        base: None,
        is_history_cut: snapshot.is_cut(),
    }
}

/// Returns the record of a pass that left no changes.
pub(crate) fn memory(snapshot: &Snapshot, tip: CommitId, rules: &Rules, at: i64) -> CleanPass {
    CleanPass {
        root_tree: snapshot.root_tree(),
        policy_digest: rules.digest(),
        tip,
        revision: snapshot.revision(),
        at,
    }
}
