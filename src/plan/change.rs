//! Changes: what a pass publishes, what that replaces, and edits of the state that need no publish.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::udiff::UnifiedHunkHeader;

use super::sentences::{list, quoted};
use super::{FETCH_ALL, Plan};
use crate::document::print;
use crate::model::{
    Action, Attribution, HistoryEvidence, LiveContent, LiveToggle, ObjectId, Payload, Prerequisite,
    RequestDigest, Sent, ServiceKind, ToggleId, Version, exact,
};

/// One publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Change {
    /// The targeting that is sent and the document that it comes from.
    pub version: Version,
    pub action: Action,
    /// The targeting that it replaces.
    pub before: Before,
    /// The commit that the change is attributed to.
    pub attribution: Attribution,
    /// The maximum length of the comment, in Unicode scalar values.
    pub comment_max_chars: u32,
    /// Whether it repeats the request with the unknown outcome, with the same body and comment.
    pub is_retry: bool,
    /// Whether it may replace a change that someone else made on the service.
    pub overwrite: Overwrite,
    /// What it replaces besides the targeting, and who needs its toggle, as far as that is known. Boxed,
    /// because a plan can have a million changes.
    pub replaces: Option<Box<Replaced>>,
    /// Whether the rails let this version through, now or in an earlier pass, without a permission of the
    /// run.
    pub passed: bool,
}

/// The toggles of an environment that need another one, by key, sorted.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Dependents {
    pub direct: Vec<String>,
    /// Those that need it only through others.
    pub indirect: Vec<String>,
}

impl Dependents {
    /// Returns who needs `what`, in words; none if no toggle does.
    pub(crate) fn sentence(&self, what: &str) -> Option<String> {
        let verb = match self.direct.len() {
            0 => return None,
            1 => "needs",
            _ => "need",
        };
        let names = |keys: &[String]| list(keys.iter().map(|key| quoted(key)));
        let mut text = format!("{} {verb} {what}", names(&self.direct));
        if !self.indirect.is_empty() {
            text.push_str(&format!(", and through others {}", names(&self.indirect)));
        }
        Some(text)
    }

    /// Returns the keys of all of them, and whether each needs it through others.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&str, bool)> {
        let direct = self.direct.iter().map(|key| (key.as_str(), false));
        direct.chain(self.indirect.iter().map(|key| (key.as_str(), true)))
    }
}

impl std::ops::Deref for Change {
    type Target = Version;

    fn deref(&self) -> &Version {
        &self.version
    }
}

impl Change {
    /// Returns the toggles that need the one it changes, if a plan that somebody reads has found any.
    pub(crate) fn needed_by(&self) -> Option<&Dependents> {
        self.replaces.as_ref()?.needed_by.as_ref()
    }

    /// Returns whether the document is applied, and only the service has something else.
    pub(crate) fn is_applied(&self) -> bool {
        self.replaces.as_ref().is_some_and(|replaced| replaced.is_applied)
    }

    /// Returns what it replaces that someone changed on the service; none if nothing is known to be replaced.
    pub fn overwrites(&self) -> Option<&LiveToggle> {
        self.replaces.as_ref()?.live.as_ref()
    }

    /// Returns the targeting that it replaces, as far as that is known: what someone changed on the service,
    /// or else what was last applied or sent.
    pub fn replaced(&self) -> Option<&Payload> {
        let live = self.overwrites().and_then(|live| live.content.payload());
        live.or_else(|| self.before.payload())
    }

    /// Returns what it does in a word. A toggle that people configured on the service is not a new one there.
    pub(crate) fn verb(&self) -> &'static str {
        match (self.action, self.overwrites()) {
            (Action::Create, Some(_)) => "replace",
            (action, _) => action.as_str(),
        }
    }

    /// Says what it replaces that people wrote on the service.
    pub(crate) fn over(&self, live: &LiveToggle) -> String {
        match self.before {
            // Nothing was applied, so nothing was changed since.
            Before::Nothing => format!("replaces {live}"),
            _ => format!("publishes over what was changed on the service: {live}"),
        }
    }

    /// Returns the attribution; none of an adoption, which is recorded without a comment, so that its commit
    /// is not looked up.
    pub fn known_attribution(&self) -> Option<&Attribution> {
        (self.action != Action::Adopt).then_some(&self.attribution)
    }

    /// Returns the comment, within the length limit.
    pub fn comment(&self) -> String {
        let max = usize::try_from(self.comment_max_chars).unwrap_or(usize::MAX);
        match (&self.before, self.action) {
            // A retry repeats the journaled comment, so that the service cannot end up with a third version.
            (Before::Unknown { sent, .. }, _) if self.is_retry => sent.comment.clone(),
            (_, Action::Disable) => removal_comment(&self.attribution, max),
            (_, Action::Adopt | Action::Create | Action::Update) => self.attribution.comment(max),
        }
    }

    /// Returns whether the rails have nothing to say about the change: it repeats a request that has started,
    /// or they let it through at this version before.
    pub(super) fn is_let_through(&self) -> bool {
        self.has_started() || self.passed
    }

    /// Returns whether it repeats a request that the service may have stored.
    pub(super) fn has_started(&self) -> bool {
        match &self.before {
            Before::Unknown { sent, .. } => sent.announced.is_none() && self.is_retry,
            _ => false,
        }
    }

    /// Returns whether it does nothing but disable the toggle.
    pub(super) fn only_switches_off(&self) -> bool {
        self.payload.is_disabled()
            && self.before.all().map(Payload::disabled).any(|before| before == self.payload)
    }

    /// Returns whether users get from it what they would get if it did nothing but disable the toggle: what else it
    /// changes has no effect until a later change enables the toggle.
    pub(super) fn switches_off(&self) -> bool {
        let is_same = |before: &Payload| !before.is_disabled() && before.is_same_when_disabled(&self.payload);
        self.only_switches_off() || (self.payload.is_disabled() && self.before.all().any(is_same))
    }

    pub fn request(&self) -> RequestDigest {
        RequestDigest::new(self.action, &self.payload)
    }

    /// Returns the keys of the toggles that its toggle needs, before the change or after it.
    pub(crate) fn needed_keys(&self) -> impl Iterator<Item = String> {
        let all = self.before.prerequisites().into_iter().chain(self.payload.prerequisites());
        all.map(|one| one.key)
    }

    /// Returns the prerequisites that its toggle does not have yet.
    pub(crate) fn gained(&self) -> Vec<Prerequisite> {
        let mut needed = match self.action {
            // Nothing changes for a toggle that is switched off.
            Action::Adopt | Action::Disable => Vec::new(),
            Action::Create | Action::Update => self.payload.prerequisites(),
        };
        if !needed.is_empty() {
            let before = self.certain_prerequisites();
            needed.retain(|one| !before.contains(one));
        }
        needed
    }

    /// Returns the prerequisites that the service certainly has of its toggle.
    fn certain_prerequisites(&self) -> Vec<Prerequisite> {
        let before = match &self.before {
            // The service may have either, so only what was applied is certain.
            Before::Unknown { applied, .. } => applied.as_deref(),
            before => before.payload(),
        };
        before.map(Payload::prerequisites).unwrap_or_default()
    }

    /// Returns whether `gained`, which it gains, only asks for another value of a toggle that it needs already, and
    /// that can serve it before the change of that toggle, `other`; without one, it stays as it is.
    pub(super) fn only_asks_otherwise(&self, gained: &Prerequisite, other: Option<&Self>) -> bool {
        let key = gained.key.to_lowercase();
        let is_needed = self.certain_prerequisites().iter().any(|one| one.key.to_lowercase() == key);
        is_needed && other.is_none_or(|other| other.before.can_meet(gained) == Some(true))
    }

    /// Returns the prerequisites that its toggle may have and does not need anymore, or not with this value.
    pub(super) fn lost(&self) -> Vec<Prerequisite> {
        let mut before = self.before.prerequisites();
        if !before.is_empty() {
            let needed = self.payload.prerequisites();
            before.retain(|one| !needed.contains(one));
        }
        before
    }

    /// Returns those that it loses of the toggle of `other` and can lose before `other` is sent: it needs that toggle
    /// no more, or asks for a value that it can serve already.
    pub(super) fn loses_before(&self, other: &Self) -> Vec<Prerequisite> {
        let key = other.id.toggle().to_lowercase();
        let of_other = |one: &Prerequisite| one.key.to_lowercase() == key;
        let mut lost = self.lost();
        lost.retain(of_other);
        if !lost.is_empty() {
            let mut gained = self.gained().into_iter().filter(of_other);
            if !gained.all(|one| self.only_asks_otherwise(&one, Some(other))) {
                lost.clear();
            }
        }
        lost
    }
}

/// What a change replaces besides the targeting, and who needs its toggle.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Replaced {
    /// What someone changed on the service, as last read.
    pub live: Option<LiveToggle>,
    /// The document's file, in the same format and with another targeting.
    pub file: Option<ReplacedFile>,
    /// The toggles that need the changed one.
    pub needed_by: Option<Dependents>,
    /// Whether the document is applied, and only the service has something else.
    pub is_applied: bool,
}

/// The targeting that a change replaces.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Before {
    Applied(Payload),
    /// Nothing: the change creates the toggle.
    Nothing,
    /// The live targeting of a drifted toggle, whose document is published again.
    Live(Payload),
    /// The targeting of the last request, whose outcome is unknown.
    Unknown {
        sent: Box<Sent>,
        /// What was applied before it, if that is known. Boxed, because a plan can have a million changes,
        /// few of them with an unknown outcome.
        applied: Option<Box<Payload>>,
    },
    /// An applied document that the current rules cannot read.
    Unreadable,
}

impl Before {
    /// Returns the live targeting of a drifted toggle, whose document is published again.
    pub fn of_live(content: &LiveContent) -> Self {
        content.payload().cloned().map_or(Self::Unreadable, Self::Live)
    }

    /// Returns the targeting that was last applied or sent, if it is readable.
    pub fn payload(&self) -> Option<&Payload> {
        match self {
            Self::Applied(payload) | Self::Live(payload) => Some(payload),
            Self::Unknown { sent, .. } => Some(&sent.payload),
            Self::Nothing | Self::Unreadable => None,
        }
    }

    /// Returns what the service may have, as far as that is known.
    fn all(&self) -> impl Iterator<Item = &Payload> {
        let applied = match self {
            Self::Unknown { applied, .. } => applied.as_deref(),
            _ => None,
        };
        self.payload().into_iter().chain(applied)
    }

    /// Returns the prerequisites that the toggle may have until the change is applied.
    pub(super) fn prerequisites(&self) -> Vec<Prerequisite> {
        self.all().flat_map(Payload::prerequisites).collect()
    }

    /// Returns whether the toggle may serve what `prerequisite` asks for until the change is applied; none if
    /// that is not known. A toggle that was never applied, which may just have been created, serves nothing.
    pub(super) fn can_meet(&self, prerequisite: &Prerequisite) -> Option<bool> {
        if matches!(self, Self::Nothing) {
            return Some(false);
        }
        self.all().map(|payload| payload.can_meet(prerequisite)).reduce(|one, other| one || other)
    }
}

/// Whether a change may replace what someone else changed on the service (src/plan/README.md, "Live state").
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Overwrite {
    /// The settings or an operator allow it.
    Allowed,
    /// The trailer of a commit allows it. A trailer stays in the history, so it counts until the service has had the
    /// document of its commit: what replaced that came later.
    AllowedByCommit,
    /// The settings or an operator assert the first pass of its environment.
    Asserted,
    /// The trailer of a commit asserts it. It counts until then, too.
    AssertedByCommit,
    /// The change is held instead.
    Held,
}

impl Overwrite {
    pub fn is_asserted(self) -> bool {
        matches!(self, Self::Asserted | Self::AssertedByCommit)
    }
}

/// A change of the state without a publish.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum StateEdit {
    /// Record a document as applied because of `--first-pass adopt`.
    Adopt(Version),
    /// Record a document that the service has already.
    Converged(Version),
    /// Drop the toggle.
    Forget { id: ToggleId },
    /// Record a document that means the same as the applied one.
    SameMeaning(Version),
}

impl StateEdit {
    pub fn id(&self) -> &ToggleId {
        match self {
            Self::Adopt(version) | Self::Converged(version) | Self::SameMeaning(version) => &version.id,
            Self::Forget { id } => id,
        }
    }
}

/// Compares the environments of two toggles without allocating.
pub(super) fn same_environment(a: &ToggleId, b: &ToggleId) -> bool {
    (a.project(), a.environment_key()) == (b.project(), b.environment_key())
}

/// Returns the removing commit's message and ` (file removed)`, together within `max` characters.
fn removal_comment(attribution: &Attribution, max: usize) -> String {
    const SUFFIX: &str = " (file removed)";
    match max.checked_sub(SUFFIX.len()) {
        // With a limit this small, the message matters more than the suffix.
        Some(rest) if rest > 0 => attribution.comment(rest) + SUFFIX,
        _ => attribution.comment(max),
    }
}

/// The most lines of one diff.
const MOST_LINES: usize = 80;

/// The number of unchanged lines around each change.
const CONTEXT: usize = 3;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ReplacedFile {
    pub object: ObjectId,
    /// Its text and that of the new file; none if the plan does not show them.
    pub texts: Option<(String, String)>,
}

impl ReplacedFile {
    pub(super) fn new(object: ObjectId) -> Self {
        Self { object, texts: None }
    }

    /// Returns the diff, with the line numbers of the files; none if it is not for readers.
    fn diff(&self) -> Option<Vec<String>> {
        /// A list on one line is readable only in canonical form.
        const LONGEST_LINE: usize = 400;
        let (before, after) = self.texts.as_ref()?;
        let lines = text_diff(before, after);
        let is_readable =
            lines.len() <= MOST_LINES && lines.iter().all(|line| line.chars().count() <= LONGEST_LINE);
        (is_readable && !lines.is_empty()).then_some(lines)
    }
}

impl Change {
    /// Returns the diff, which is empty for a create: of the document's file, as its author wrote it. If that
    /// is not known or not readable, it is the diff of the canonical forms, whose line numbers mean nothing
    /// to the author.
    pub fn diff(&self) -> Vec<String> {
        // The file that was applied is not what the service has if someone changed that.
        let replaced = self.replaces.as_ref().filter(|replaced| replaced.live.is_none());
        let of_file = replaced.and_then(|replaced| replaced.file.as_ref()?.diff());
        of_file.unwrap_or_else(|| {
            let lines = diff(self.replaced(), Some(&self.payload));
            lines.into_iter().map(without_numbers).collect()
        })
    }
}

impl Plan {
    /// Returns whether documents of applied toggles are gone.
    pub(crate) fn removes_toggles(&self) -> bool {
        let withheld = self.withheld.iter().filter_map(|held| held.change.as_deref());
        let mut changes = self.changes.iter().chain(withheld);
        !self.orphans.is_empty() || changes.any(|change| change.action == Action::Disable)
    }

    /// Sets the toggles that need those that change.
    pub(crate) fn set_dependents(&mut self, of: impl Fn(&ToggleId) -> Dependents) {
        let of = |id: &ToggleId| {
            let dependents = of(id);
            (dependents != Dependents::default()).then(|| Box::new(dependents))
        };
        let withheld = self.withheld.iter_mut().filter_map(|held| held.change.as_deref_mut());
        for change in self.changes.iter_mut().chain(withheld) {
            if let Some(needed_by) = of(&change.version.id) {
                change.replaces.get_or_insert_default().needed_by = Some(*needed_by);
            }
        }
        for orphan in &mut self.orphans {
            orphan.needed_by = of(&orphan.id);
        }
    }

    /// Reads the files of changes, in their order, as long as a page may show them.
    pub(crate) fn read_files<E>(
        &mut self,
        read: impl Fn(ObjectId, ObjectId) -> Result<Option<(String, String)>, E>,
    ) -> Result<(), E> {
        /// More than the diffs of the longest page, which is a job summary.
        const MOST_BYTES: usize = 4 * 1024 * 1024;
        let withheld = self.withheld.iter_mut().filter_map(|held| held.change.as_deref_mut());
        let mut bytes = 0;
        for change in self.changes.iter_mut().chain(withheld) {
            let Some(replaced) = change.replaces.as_mut().and_then(|replaced| replaced.file.as_mut()) else {
                continue;
            };
            if bytes > MOST_BYTES {
                break;
            }
            replaced.texts = read(replaced.object, change.version.object)?;
            bytes += replaced.texts.as_ref().map_or(0, |(before, after)| before.len() + after.len());
        }
        Ok(())
    }
}

/// Replaces the line numbers of a hunk.
fn without_numbers(line: String) -> String {
    match line.starts_with("@@ ") {
        true => "@@ canonical form @@".to_owned(),
        false => line,
    }
}

/// Returns the diff of two documents; empty unless both are known.
pub(super) fn diff(before: Option<&Payload>, after: Option<&Payload>) -> Vec<String> {
    match (before, after) {
        (Some(before), Some(after)) => text_diff(&document_text(before), &document_text(after)),
        _ => Vec::new(),
    }
}

/// Returns the text of a document for readers: the shortest form, whichever the service.
pub(crate) fn document_text(payload: &Payload) -> String {
    print(&payload.targeting(), ServiceKind::FeatureProbe)
}

/// Returns the escaped lines of a unified diff, each with its sign.
fn text_diff(before: &str, after: &str) -> Vec<String> {
    // A diff can take quadratic time, and a document may have a megabyte.
    const MOST_BYTES: usize = 256 * 1024;
    if before.len() + after.len() > MOST_BYTES {
        return vec![" (too large for a diff)".to_owned()];
    }
    let [old, new] = [before, after].map(|text| text.split_inclusive('\n').collect::<Vec<_>>());
    // Not `TextDiff`, whose other algorithms make the program half a megabyte larger.
    let mut diff = Compact::new(Replace::new(Capture::new()), &old, &new);
    let Ok(()) = myers::diff(&mut diff, &old, 0..old.len(), &new, 0..new.len());
    let mut all = Vec::new();
    let hunks = diff.into_inner().into_inner().into_grouped_ops(CONTEXT);
    for hunk in hunks.iter().filter(|hunk| !hunk.is_empty()) {
        all.push(UnifiedHunkHeader::new(hunk).to_string());
        for (tag, lines) in hunk.iter().flat_map(|change| change.iter_slices(&old, &new)) {
            for line in lines {
                all.push(format!("{tag}{}", line.trim_end_matches(['\r', '\n'])));
                if !line.ends_with('\n') {
                    all.push("\\ No newline at end of file".to_owned());
                }
            }
        }
    }
    let mut lines: Vec<String> = all.iter().take(MOST_LINES).map(|line| exact(line).to_string()).collect();
    if all.len() > MOST_LINES {
        lines.push(format!(" … and {} more lines", all.len() - MOST_LINES));
    }
    lines
}

/// An applied toggle whose file was removed.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Orphan {
    pub id: ToggleId,
    /// The path that its file had.
    pub path: String,
    /// Why it is only listed.
    pub reason: OrphanReason,
    /// Whether a request was sent, and the service may or may not have applied it.
    pub is_unknown: bool,
    /// The new toggle whose document is the removed file.
    pub renamed_to: Option<ToggleId>,
    /// The toggles that need this one.
    pub needed_by: Option<Box<Dependents>>,
}

impl Orphan {
    /// Returns the reason, and whether the last outcome is unknown, as one line of escaped text.
    pub fn explanation(&self) -> String {
        let reason = match &self.renamed_to {
            Some(id) => format!(
                "{}; the file was renamed to that of `{id}`, which is a new toggle, and the old one keeps serving",
                self.reason
            ),
            None => self.reason.to_string(),
        };
        let needed = self.needed_by.as_ref().and_then(|dependents| dependents.sentence("it"));
        let reason = needed.map_or_else(|| reason.clone(), |needed| format!("{reason}; {needed}"));
        match self.is_unknown {
            true => format!("{reason}; the outcome of its last publish is unknown"),
            false => reason,
        }
    }
}

/// Why an orphan is only listed.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum OrphanReason {
    /// `--on-remove disable`, but part of the source's history is missing, and the rest does not contain the
    /// applied document.
    HistoryCut,
    /// `--on-remove keep`.
    Keep,
    /// `--on-remove disable`, but the source's history does not contain the applied document.
    NotInHistory,
    /// `--on-remove disable`, but the applied document can no longer be read.
    Unreadable,
    /// `--on-remove disable`, but the document at the older of two revisions cannot be read. What is applied
    /// is unknown.
    UnreadableBase,
}

impl OrphanReason {
    /// Returns the reason why an orphan is not disabled, unless the history contains the applied document.
    pub(super) fn of(evidence: Option<&HistoryEvidence>) -> Option<Self> {
        match evidence {
            Some(HistoryEvidence::Found) => None,
            Some(HistoryEvidence::Unknown) => Some(Self::HistoryCut),
            Some(HistoryEvidence::Nowhere) | None => Some(Self::NotInHistory),
        }
    }
}

impl std::fmt::Display for OrphanReason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::HistoryCut => write!(
                f,
                "not disabled: the history is cut, and no available commit contains the applied document at this path; {FETCH_ALL}"
            ),
            Self::Keep => f.write_str("the file was removed; `--on-remove keep` leaves the toggle as it is"),
            Self::NotInHistory => f.write_str(
                "not disabled: the history of the source does not contain the applied document at this path",
            ),
            Self::Unreadable => f.write_str("not disabled: the applied document can no longer be read"),
            Self::UnreadableBase => f.write_str(
                "the document at the older revision cannot be read: `apply` disables the toggle if an earlier version of \
                 the document is applied",
            ),
        }
    }
}
