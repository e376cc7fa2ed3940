//! The plan as a complete, immutable value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde::Serialize;
use sha2::{Digest as _, Sha256};

use super::change::same_environment;
use super::decide::Kept;
use super::order::{self, Needs, Turn};
use super::{Change, DriftReport, Orphan, Overrides, StateEdit, WithheldToggle};
use crate::document::{Diagnostic, Severity};
use crate::model::{
    Action, ChangeDigest, CommitId, EnvironmentId, Hold, HoldKind, Payload, Prerequisite, RequestDigest,
    ReturnType, ReviewedChanges, ToggleId, counted, hex,
};

/// Everything that one pass would do. All lists are sorted by toggle.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) source: SourceInfo,
    pub(super) base_url: Option<String>,
    pub(super) changes: Vec<Change>,
    /// The changes that are not sent, and why: they are only recorded, if the service has their targeting
    /// already.
    pub(super) unless_equal: BTreeMap<ToggleId, Arc<Hold>>,
    pub(super) withheld: Vec<WithheldToggle>,
    pub(super) orphans: Vec<Orphan>,
    pub(super) state_edits: Vec<StateEdit>,
    pub(super) undecided: Vec<WithheldToggle>,
    pub(super) asserted: BTreeMap<EnvironmentId, CommitId>,
    pub(super) environment_holds: BTreeMap<EnvironmentId, Arc<Hold>>,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) waived: Vec<Diagnostic>,
    pub(super) overrides: Overrides,
    /// What the toggles need that do not change, as far as changes lead to them.
    pub(super) needs: Needs,
    /// The toggles whose documents do not give them one type and one key.
    pub(super) mixed: BTreeMap<ToggleId, Mixed>,
    /// What the documents need that do not change and that are invalid because of a change.
    pub(super) broken: BTreeMap<ToggleId, Vec<Prerequisite>>,
    /// What those documents need, and what that needs.
    pub(super) dependents: Needs,
    /// The most steps of a chain of prerequisites.
    pub(super) longest_chain: usize,
    /// The toggles outside of the scope whose documents are not what is applied.
    pub(super) outside: BTreeSet<ToggleId>,
    /// What the service keeps of the toggles whose documents are not published.
    pub(super) kept: BTreeMap<ToggleId, Kept>,
    pub(super) stopped: Option<Stopped>,
    /// Whether a pass refuses the revision or the state, as a note says, and sends nothing.
    pub(super) is_refused: bool,
    /// What differs on the service; none if it was not read.
    pub(super) drift: Option<Box<DriftReport>>,
}

/// Why one document does not tell the type and the key of a new toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum Mixed {
    /// Its documents have values of different types, and a waiver in each of them accepts that.
    Waived,
    /// Its documents have values of different types.
    Refused,
    /// The document at this path spells the key in another way.
    Spelled(Arc<str>),
    /// The document at this path cannot be read.
    Unread(Arc<str>),
}

/// The numbers that decide an exit code.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub struct PlanCounts {
    /// The number of publishes.
    pub changes: usize,
    /// The number of invalid documents.
    pub invalid: usize,
    /// The number of toggles and whole environments that wait for a decision of an operator.
    pub held: usize,
    /// The number of held toggles that wait for a decision on a first pass.
    pub first_pass: usize,
    /// The number of toggles that the service refused.
    pub failed: usize,
}

/// The changes of one environment, in the order of publishing.
#[derive(Clone, Debug)]
pub struct Lane<'a> {
    pub environment: EnvironmentId,
    /// The changes: those that wait for others last, before them those that disable a toggle first, then by
    /// path.
    pub changes: Vec<&'a Change>,
    /// The turn of each change, in the order of `changes`.
    pub turns: Vec<Option<Turn>>,
}

impl<'a> Lane<'a> {
    /// Orders the changes of one environment.
    fn of(changes: &'a [Change], needs: &Needs) -> Self {
        let environment = changes[0].id.environment();
        let mut ordered: Vec<_> = changes.iter().zip(order::turns(changes, needs)).collect();
        // Toggles that get disabled go first, then path order (src/plan/README.md, "Order and windows").
        ordered.sort_by_key(|(change, turn)| {
            (turn.map_or(0, |turn| turn.level), !change.payload.is_disabled(), &change.path)
        });
        let (changes, turns) = ordered.into_iter().unzip();
        Self { environment, changes, turns }
    }
}

/// A plan that may be published. Only [`Plan::approve`] creates one, and publishing accepts nothing else.
///
/// ```compile_fail,E0423
/// # use std::sync::Arc;
/// # use gitoggle::plan::{Approved, Plan};
/// fn approved(plan: Arc<Plan>) -> Approved {
///     Approved(plan)
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Approved(Arc<Plan>);

impl std::ops::Deref for Approved {
    type Target = Plan;

    fn deref(&self) -> &Plan {
        &self.0
    }
}

/// `--on-invalid stop`, and at least one document is invalid.
#[derive(Clone, Copy, Debug, Eq, PartialEq, thiserror::Error)]
#[error("nothing is published because of `on_invalid: stop`: {} in scope", counted(*invalid, "invalid document"))]
pub struct Stopped {
    /// The number of invalid documents.
    pub invalid: usize,
}

impl Plan {
    /// The version of the JSON form.
    pub const VERSION: u32 = 1;

    /// Returns the plan of a pass that found out early that there is nothing to do.
    pub fn nothing(source: SourceInfo, base_url: Option<String>) -> Self {
        Self {
            source,
            base_url,
            changes: Vec::new(),
            unless_equal: BTreeMap::new(),
            withheld: Vec::new(),
            orphans: Vec::new(),
            state_edits: Vec::new(),
            undecided: Vec::new(),
            asserted: BTreeMap::new(),
            environment_holds: BTreeMap::new(),
            findings: Vec::new(),
            waived: Vec::new(),
            overrides: Overrides::default(),
            needs: Needs::new(),
            mixed: BTreeMap::new(),
            broken: BTreeMap::new(),
            dependents: Needs::new(),
            longest_chain: usize::MAX,
            outside: BTreeSet::new(),
            kept: BTreeMap::new(),
            stopped: None,
            is_refused: false,
            drift: None,
        }
    }

    /// Returns whether the next pass has nothing to report besides new changes: no toggle is withheld,
    /// invalid or an orphan, and every glob matches a toggle.
    pub fn leaves_nothing(&self) -> bool {
        self.withheld.is_empty()
            && self.orphans.is_empty()
            && self.environment_holds.is_empty()
            && self.overrides.idle_globs.is_empty()
            && !self.has_invalid()
    }

    /// Returns the plan of a pass that refuses the revision or the state.
    pub(crate) fn refused(self, is_refused: bool) -> Self {
        Self { is_refused, ..self }
    }

    pub(crate) fn is_refused(&self) -> bool {
        self.is_refused
    }

    pub fn source(&self) -> &SourceInfo {
        &self.source
    }

    /// Returns the service's URL, if it is configured.
    pub fn base_url(&self) -> Option<&str> {
        self.base_url.as_deref()
    }

    /// Returns the time at which the next change window opens for a withheld toggle, in seconds since
    /// 1970-01-01 UTC.
    pub(crate) fn opens_at(&self) -> Option<i64> {
        self.withheld.iter().filter_map(|held| held.hold.opens).min()
    }

    /// Returns the changes to publish and the documents to adopt after a comparison with the service, by
    /// toggle.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// Returns the toggles that are held only because nothing decides on their first pass: the service has
    /// their documents already, and any decision records them without a publish. Empty unless the service was
    /// read.
    pub fn undecided(&self) -> &[WithheldToggle] {
        &self.undecided
    }

    /// Returns the requests that the rails let through. A first pass has none, because nothing of it counts
    /// later.
    pub(crate) fn let_through(&self) -> BTreeMap<ToggleId, RequestDigest> {
        let withheld = self.withheld.iter().filter_map(|held| held.change.as_deref());
        let passed = self.changes.iter().chain(withheld);
        let passed = passed.filter(|change| change.passed && !change.overwrite.is_asserted());
        passed.map(|change| (change.id.clone(), change.request())).collect()
    }

    /// Returns the withheld toggles, sorted.
    pub fn withheld(&self) -> &[WithheldToggle] {
        &self.withheld
    }

    /// Returns the toggles whose file was removed and that the plan only lists.
    pub fn orphans(&self) -> &[Orphan] {
        &self.orphans
    }

    /// Returns the edits of the state without a publish.
    pub fn state_edits(&self) -> &[StateEdit] {
        &self.state_edits
    }

    /// Returns the environments whose first pass is asserted and has not ended, with the revision at which it
    /// was. Empty unless changes on the service are held.
    pub fn asserted(&self) -> &BTreeMap<EnvironmentId, CommitId> {
        &self.asserted
    }

    /// Returns the environments that are held as a whole, with the reason.
    pub fn environment_holds(&self) -> &BTreeMap<EnvironmentId, Arc<Hold>> {
        &self.environment_holds
    }

    /// Returns what operators allowed for this revision.
    pub fn overrides(&self) -> &Overrides {
        &self.overrides
    }

    /// Returns the globs of settings and orders that match no toggle, each with what it belongs to.
    pub(crate) fn idle_globs(&self) -> impl Iterator<Item = String> {
        self.overrides.idle_globs.iter().cloned()
    }

    /// Returns what was written and has another effect than its author may expect: trailers that do not count, each with
    /// its commit and the reason, globs that match no toggle, and trailers that let later changes through.
    pub(crate) fn order_notes(&self) -> impl Iterator<Item = String> {
        let Overrides { idle_trailers, released, .. } = &self.overrides;
        idle_trailers.iter().cloned().chain(self.idle_globs()).chain(released.iter().cloned())
    }

    /// Returns the findings that comments in the documents accept.
    pub fn waived(&self) -> &[Diagnostic] {
        &self.waived
    }

    /// Returns the findings in the documents, without the waived ones.
    pub fn findings(&self) -> &[Diagnostic] {
        &self.findings
    }

    /// Returns the changes per environment, in the order of publishing.
    pub fn lanes(&self) -> Vec<Lane<'_>> {
        self.changes
            .chunk_by(|a, b| same_environment(&a.id, &b.id))
            .map(|changes| Lane::of(changes, &self.needs))
            .collect()
    }

    /// Returns the numbers that decide an exit code.
    pub fn counts(&self) -> PlanCounts {
        let count =
            |test: fn(&Hold) -> bool| self.withheld.iter().filter(|toggle| test(&toggle.hold)).count();
        // What another change makes wait has the exit code of that change, which a plan has only in its scope.
        let outside: BTreeSet<EnvironmentId> = self.outside.iter().map(ToggleId::environment).collect();
        let waits =
            |held: &&WithheldToggle| held.hold.awaits_others() && outside.contains(&held.id.environment());
        let waiting = self.withheld.iter().filter(waits).count();
        let errors = self.findings.iter().filter(|finding| finding.severity == Severity::Error);
        let files: BTreeSet<&str> = errors.map(|finding| finding.path.as_str()).collect();
        // A file with a bad key has no toggle, and two files can claim one, so either count can be the
        // larger one.
        let invalid = count(Hold::is_invalid).max(files.len());
        let failed = count(Hold::is_refused);
        let held = (count(Hold::needs_decision) + waiting).max(self.environment_holds.len());
        // What waits for a toggle without a change, such as an orphan, waits until somebody changes a document.
        let is_alone = held + invalid + failed == 0;
        let held = if is_alone { count(Hold::awaits_others) } else { held };
        PlanCounts {
            changes: self.requests().count(),
            invalid,
            held,
            first_pass: count(|hold| hold.kind.is_some_and(HoldKind::is_first_pass)),
            failed,
        }
    }

    /// Returns what the service keeps of a toggle whose document is not published, as far as it is known.
    pub(crate) fn kept(&self, id: &ToggleId) -> Option<&Payload> {
        self.kept.get(id)?.payload.as_ref()
    }

    /// Returns the same of all such toggles.
    pub(crate) fn all_kept(&self) -> impl Iterator<Item = (&ToggleId, &Payload)> {
        self.kept.iter().filter_map(|(id, kept)| Some((id, kept.payload.as_ref()?)))
    }

    /// Returns the changes that are sent to the service.
    pub fn requests(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| self.is_request(change))
    }

    /// Returns whether a change of the plan may be sent.
    pub(crate) fn is_request(&self, change: &Change) -> bool {
        change.action != Action::Adopt && self.unless_equal(&change.id).is_none()
    }

    /// Returns the type with which a toggle is created whose document has values of `own` type. All of its
    /// documents have to agree on it and on the key: neither can be changed later.
    pub(crate) fn new_type(&self, id: &ToggleId, own: ReturnType) -> Result<ReturnType, Hold> {
        match self.mixed.get(id) {
            None => Ok(own),
            // Every value is a text.
            Some(Mixed::Waived) => Ok(ReturnType::String),
            Some(Mixed::Refused) => Err(super::hold::mixed_types()),
            Some(Mixed::Spelled(path)) => Err(super::hold::mixed_spellings(path)),
            Some(Mixed::Unread(path)) => Err(super::hold::unread_types(path)),
        }
    }

    /// Returns what the documents of a toggle do not tell that it is created with.
    pub(crate) fn untold(&self, id: &ToggleId) -> Option<&'static str> {
        match self.mixed.get(id)? {
            Mixed::Waived => None,
            Mixed::Refused | Mixed::Unread(_) => Some("type"),
            Mixed::Spelled(_) => Some("key"),
        }
    }

    /// Returns why a change is not sent, unless the service has its targeting already.
    pub(crate) fn unless_equal(&self, id: &ToggleId) -> Option<&Arc<Hold>> {
        self.unless_equal.get(id)
    }

    /// Returns the plan as it is shown: what is sent only if the service has it already is held.
    pub(super) fn hold_unless_equal(mut self) -> Self {
        let held = std::mem::take(&mut self.unless_equal);
        self.withhold(&held)
    }

    /// Returns the plan with these changes among the withheld ones.
    pub(crate) fn withhold(mut self, held: &BTreeMap<ToggleId, Arc<Hold>>) -> Self {
        let withheld = self.changes.extract_if(.., |change| held.contains_key(&change.id));
        let withheld = withheld.map(|change| WithheldToggle::of(Arc::clone(&held[&change.id]), change));
        self.withheld.extend(withheld);
        self.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self
    }

    /// Returns the number of documents that are recorded if the service has the same targeting.
    pub fn adoptions(&self) -> usize {
        self.changes.len() - self.requests().count()
    }

    /// Returns whether there is a change to publish.
    pub fn has_changes(&self) -> bool {
        self.requests().next().is_some()
    }

    pub fn has_invalid(&self) -> bool {
        self.counts().invalid > 0
    }

    /// Returns whether a file has a merge conflict.
    pub(crate) fn has_conflict(&self) -> bool {
        self.findings().iter().any(Diagnostic::is_conflict)
    }

    /// Returns whether an operator has to decide (exit code 4).
    pub fn has_held(&self) -> bool {
        self.counts().held > 0
    }

    /// Returns whether an operator has to decide on anything but first passes.
    pub fn has_held_besides_first_passes(&self) -> bool {
        let counts = self.counts();
        counts.held > counts.first_pass
    }

    /// Returns whether there is nothing to publish, record or show.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
            && self.withheld.is_empty()
            && self.orphans.is_empty()
            && self.state_edits.is_empty()
            && self.undecided.is_empty()
            && self.environment_holds.is_empty()
            && self.findings.is_empty()
            && self.drift.as_ref().is_none_or(|drift| drift.is_quiet())
    }

    /// Returns the reason why the plan must not be published, if there is one.
    pub fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Approves the plan for publishing.
    ///
    /// # Errors
    /// [`Stopped`] if a document is invalid and `--on-invalid stop` is given.
    pub fn approve(self: &Arc<Self>) -> Result<Approved, Stopped> {
        match self.stopped {
            Some(stopped) => Err(stopped),
            None => Ok(Approved(Arc::clone(self))),
        }
    }
}

/// The hint on fetching the missing part of a history.
pub const FETCH_ALL: &str = "fetch the whole history (`git fetch --unshallow`, `fetch-depth: 0` for actions/checkout, \
                             `--depth=0` for git-sync, a clone without `--filter`)";

/// The source of a plan's documents.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct SourceInfo {
    /// The repository as it was configured.
    pub repo: String,
    /// The resolved ref.
    #[serde(rename = "ref")]
    pub reference: String,
    pub revision: CommitId,
    /// The revision that the documents are compared with; none if it is the applied state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub base: Option<Base>,
    /// Whether part of its history is missing: the clone is shallow or partial, so comments can be guesses.
    #[serde(skip)]
    pub is_history_cut: bool,
}

/// The revision whose documents a plan compares with.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct Base {
    /// The branch or revision as it was given.
    #[serde(rename = "ref")]
    pub reference: String,
    /// The commit. Version 1 of the JSON has a list.
    pub revisions: [CommitId; 1],
}

impl SourceInfo {
    /// Returns the ref, or both ends of a comparison of revisions, as `from..to`.
    pub fn references(&self) -> String {
        match &self.base {
            None => self.reference.clone(),
            Some(base) => format!("{}..{}", base.reference, self.reference),
        }
    }

    /// Returns the short id of the commit, or of both ends of a comparison of revisions.
    pub fn short_revisions(&self) -> String {
        let to = self.revision.short();
        match &self.base {
            None => to,
            Some(base) => format!("{}..{to}", base.revisions[0].short()),
        }
    }
}

/// The consequence of a cut history.
pub const HISTORY_CUT: &str = "the history is cut: comments can be guesses, for which trailers do not count";

/// Says that the comments of this many changes come from guessed commits.
pub fn guessed(count: usize) -> String {
    match count {
        1 => "the history is cut: the comment of 1 change is a guess, and trailers do not count for it"
            .to_owned(),
        count => format!(
            "the history is cut: the comments of {count} changes are guesses, and trailers do not count for them"
        ),
    }
}

impl Plan {
    /// Returns whether part of the history that the plan needed is missing.
    pub fn is_history_cut(&self) -> bool {
        self.source.is_history_cut || self.guesses() > 0
    }

    /// Counts the guesses among all changes, including withheld ones.
    pub fn guesses(&self) -> usize {
        let withheld = self.withheld.iter().filter_map(|withheld| withheld.change.as_deref());
        self.changes.iter().chain(withheld).filter(|change| change.is_guess()).count()
    }

    /// Says how many comments are guesses, with the way out; none if there are no guesses.
    pub fn guess_note(&self) -> Option<String> {
        let count = self.guesses();
        (count > 0).then(|| format!("{}; {FETCH_ALL}", guessed(count)))
    }

    /// Counts the guesses among the changes to publish.
    pub fn sent_guesses(&self) -> usize {
        self.changes.iter().filter(|change| change.is_guess()).count()
    }
}

impl Change {
    fn is_guess(&self) -> bool {
        // A retry keeps its journaled comment, whatever its commit is assumed to be now.
        self.attribution.is_guessed() && !self.is_retry
    }

    /// Returns the digest of what a review of it lists.
    pub fn digest(&self) -> ChangeDigest {
        match self.action {
            Action::Disable => ChangeDigest::of_removal(&self.id),
            Action::Adopt | Action::Create | Action::Update => ChangeDigest::new(&self.id, &self.payload),
        }
    }
}

impl Plan {
    /// Returns `sha256:` and the SHA-256 of the sorted digests of all requests.
    pub fn digest(&self) -> String {
        let mut digests: Vec<ChangeDigest> = self.requests().map(Change::digest).collect();
        digests.sort_unstable();
        let mut hash = Sha256::new();
        digests.iter().for_each(|digest| hash.update(digest.to_string()));
        format!("sha256:{}", hex(&hash.finalize()))
    }

    /// Returns what a reviewer of this plan has seen: all changes, with those that are held, because they are
    /// shown as well, and whoever releases them need not ask for another review.
    pub fn reviewed(&self) -> ReviewedChanges {
        let held = self.withheld.iter().filter_map(|held| held.change.as_deref());
        self.changes.iter().chain(held).map(Change::digest).collect()
    }
}
