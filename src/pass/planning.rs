//! Plans without side effects, for `plan` and `status`, and the checks before documents are compared.

use super::validate::Folder;
use crate::document::PathKind;
use crate::forge::ForgeReviews;
use crate::git::CommitVerifier;
use crate::model::{CommitId, ReviewedChanges, Reviews, escaped};
use crate::pass::Error;
use crate::pass::compare::{AppliedSide, PlanFiles, plan_files};
use crate::pass::config::{Config, Rules};
use crate::pass::staleness::{Circumstances, RevisionStep, StepDecision};
use crate::plan::{Change, LiveDifferences, Plan, SourceInfo};
use crate::source::{self, Relation, Snapshot, Source, SourceConfig};
use crate::state::folder::{self, Place};
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

/// Plans without side effects: takes no lock, writes nothing, and sends nothing to the service (DESIGN, section 3, `plan`).
pub fn plan(config: &Config, files: Files) -> Result<Planned, Error> {
    // State before source, as in a pass.
    plan_over(config, files, &view(config)?, &LiveDifferences::new())
}

/// Returns the plan of a pass with the state `view` that knows these `drifted` toggles, and its notes. Writes nothing.
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
    let (is_forward, notes) = step_notes(snapshot, view, config)?;
    let source = &config.source;
    let folder = source.location.local_path().ok_or(Error::NoWorkTree)?;
    let folder = Folder::with_left_out(folder, &source.root, &snapshot.reader()?)?;
    let files = PlanFiles { snapshot, work_tree: Some(folder) };
    let plan = plan_files(&files, AppliedSide::state(view), config, drifted)?;
    Ok(Planned { plan, notes, is_forward })
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
    Ok(match &config.shared {
        Some(shared) => StateSnapshot::fetch(&shared.resolve(&config.source)?, &config.state_dir)?,
        None => StateSnapshot::open(&config.state_dir)?,
    })
}

pub(crate) fn plan_read_only(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    drifted: &LiveDifferences,
    config: &Config,
) -> Result<Planned, Error> {
    let rules = &config.rules;
    check_base_url(view, rules)?;
    let (is_forward, notes) = step_notes(snapshot, view, config)?;
    let is_same = notes.is_empty() && drifted.is_empty();
    let plan = match is_same && is_done(snapshot, view, rules)? {
        true => Plan::nothing(source_info(snapshot, rules), rules.base_url.clone()),
        false => plan_files(&PlanFiles::committed(snapshot), AppliedSide::state(view), config, drifted)?,
    };
    Ok(Planned { plan, notes, is_forward })
}

/// Returns whether the step from the recorded revision leads forward, and the notes of a read-only command about it.
fn step_notes(
    snapshot: &Snapshot,
    view: &StateSnapshot,
    config: &Config,
) -> Result<(bool, Vec<String>), Error> {
    let step = RevisionStep::of(snapshot, view)?;
    let is_forward = step.is_none_or(|step| step.is_forward());
    let decision = step.map(|step| step.decide(Circumstances::of(config, false), config.rules.history));
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
    let notes = decision
        .and_then(StepDecision::into_note)
        .into_iter()
        .chain(unsigned.and_then(|error| StepDecision::Refuse(error).into_note()))
        .chain(other_place.and_then(|error| StepDecision::Refuse(error).into_note()))
        .chain(holder);
    Ok((is_forward, notes.chain(deleted_ref(view, config)).collect()))
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

/// Returns a warning about a first pass on shared state: the ref may have been deleted.
pub(crate) fn deleted_ref(view: &StateSnapshot, config: &Config) -> Option<String> {
    let is_first = config.shared.is_some() && !view.has_applied() && config.rules.policy.first_pass.is_none();
    is_first.then(|| {
        "nothing is recorded in the shared state; if it had records, its ref was deleted, as a push with `--mirror` into \
         that repository does: `--first-pass adopt` would then record documents that the service may not have, so use \
         `--first-pass assert`"
            .to_owned()
    })
}

/// Refuses a state that belongs to another service.
pub(crate) fn check_base_url(view: &StateSnapshot, rules: &Rules) -> Result<(), Error> {
    match (view.base_url(), &rules.base_url) {
        (Some(recorded), Some(wanted)) if recorded != wanted => {
            let (recorded, wanted) = (recorded.to_owned(), wanted.clone());
            Err(state::Error::OtherBaseUrl { recorded, wanted }.into())
        }
        // A plan without `--base-url` uses the state of any service (DESIGN, section 4, *Identity*).
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
    // An unknown toggle is always in the plan (DESIGN, section 4, *Unknown*).
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
        // Documents that differed at the recorded revision or since then may not have been applied. A checkout of one of
        // those commits must count as stale (DESIGN, section 4, *Stale checkout*).
        Relation::Descends => snapshot.differed_since(step.recorded)?,
        // A rewrite that was followed is recorded, so that it is not refused again (DESIGN, section 5).
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

/// Returns a note about uncommitted documents.
fn uncommitted(config: &Config, snapshot: &Snapshot) -> Option<String> {
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

// The reviews that count for a pass (`apply --reviewed`).
//
// On a forge, they are those of every pull request merged since the recorded revision: a job that did not run, or two
// quick merges, need nobody. A change that an earlier pass did not get done is older than the recorded revision, so the
// search also goes back to the commit of each change.

/// Where the reviews of changes are.
#[derive(Clone, Debug)]
pub(crate) enum ReviewSource {
    /// In a file that `plan -o json` wrote.
    File {
        /// The path as it was given.
        name: String,
        changes: ReviewedChanges,
    },
    /// In the comments on pull requests.
    Forge(Box<ForgeReviews>),
}

impl ReviewSource {
    /// Reads the reviews of `changes`. `recorded` is the revision that was applied last.
    pub(super) fn read(
        &self,
        changes: &[Change],
        snapshot: &Snapshot,
        recorded: Option<CommitId>,
    ) -> Result<Reviews, Error> {
        let forge = match self {
            Self::File { name, changes } => {
                let mut reviews =
                    Reviews::none(format!("which the review `{}` does not list", escaped(name)));
                reviews.add(changes.clone());
                return Ok(reviews);
            }
            Self::Forge(forge) => forge,
        };
        let commits = changes.iter().filter_map(|change| Some(change.attribution.commit()?.id));
        let ends = commits.chain(recorded).collect();
        let history = snapshot.history_since(&ends)?;
        let is_enough = |reviews: &Reviews| changes.iter().all(|change| reviews.list(change.digest()));
        forge.read(&history, &is_enough).map_err(|error| Error::Reviews {
            repository: forge.repository().to_owned(),
            hint: error.hint(forge.api()),
            error: error.into(),
        })
    }
}
