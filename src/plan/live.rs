//! Decides what the live state of a toggle means for a change (src/plan/README.md, "Live state").
//!
//! The live state is read just before a publish, so that it is as new as possible. These functions are pure;
//! the caller reads, sends, and reads again after a response that leaves doubt.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use super::{
    Before, Change, DriftReport, OnApproval, OnDrift, OnMissing, Overrides, Overwrite, Plan, Policy,
    StateEdit, WithheldToggle, hold,
};
use crate::model::{
    Action, Hold, HoldKind, Live, LiveContent, LiveToggle, LiveVersion, Payload, Prerequisite, ReturnType,
    Sent, ToggleId, escaped, rfc3339, variation_fits,
};

impl LiveToggle {
    /// The number of events that one sentence names.
    const MOST_NAMED: usize = 10;

    /// Returns the version, who made it, and when.
    pub(crate) fn author(&self) -> String {
        author(self.version, self.modified_by.as_deref(), self.modified_at)
    }

    /// Returns the newest version without its comment, and whether the versions could not be read.
    pub(super) fn last_event(&self) -> String {
        let unread = if self.has_earlier_events {
            ", but its comment and any change before it could not be read"
        } else {
            ""
        };
        format!("{}{unread}", self.author())
    }

    /// Returns how many events there are since it was applied, such as `more than 2`.
    pub(super) fn count(&self) -> String {
        let more = if self.has_earlier_events { "more than " } else { "" };
        format!("{more}{}", self.events.len())
    }

    /// Returns every event since it was applied; the newest ones if there are many.
    fn history(&self) -> String {
        let events = |events: &[LiveVersion]| {
            events.iter().map(LiveVersion::sentence).collect::<Vec<_>>().join("; then ")
        };
        match self.events.len() {
            0 => self.last_event(),
            1..=Self::MOST_NAMED if self.has_earlier_events => {
                format!("{}; any change before it could not be read", events(&self.events))
            }
            1..=Self::MOST_NAMED => events(&self.events),
            count => format!(
                "{} versions, the last {} of which are {}",
                self.count(),
                Self::MOST_NAMED,
                events(&self.events[count - Self::MOST_NAMED..])
            ),
        }
    }

    /// Returns a line for each event since it was applied; for the newest version, if they were not read.
    pub(super) fn event_lines(&self) -> Vec<String> {
        match self.events.as_slice() {
            [] => vec![self.last_event()],
            events => events.iter().map(LiveVersion::line).collect(),
        }
    }

    /// Returns the keys of its prerequisites, as far as they are known.
    pub(crate) fn needed_keys(&self) -> Vec<String> {
        let needed = self.content.payload().map(Payload::prerequisites).unwrap_or_default();
        needed.into_iter().map(|one| one.key).collect()
    }

    /// Returns how to keep it, as a request.
    pub(super) fn keep(&self) -> String {
        let toggle = &self.id;
        let import = format!("`gitoggle import {toggle} --overwrite` and commit");
        match self.content {
            LiveContent::Known(_) => format!("to keep that, {import}"),
            LiveContent::Inexpressible(_) => format!("to keep that, correct it there, then {import}"),
        }
    }
}

impl LiveVersion {
    /// Returns the version, who made it, and when.
    pub(crate) fn author(&self) -> String {
        author(self.version, self.created_by.as_deref(), self.created_at)
    }

    /// Returns its comment with the word for it, unless it is blank.
    pub(super) fn comment_line(&self) -> Option<String> {
        self.shown_comment().map(|comment| format!("comment: {}", escaped(comment)))
    }

    fn line(&self) -> String {
        match self.comment_line() {
            None => self.author(),
            Some(comment) => format!("{}, {comment}", self.author()),
        }
    }

    fn sentence(&self) -> String {
        match self.shown_comment() {
            None => self.author(),
            Some(comment) => format!("{}, with the comment \"{}\"", self.author(), escaped(comment)),
        }
    }
}

fn author(version: u64, by: Option<&str>, at: Option<i64>) -> String {
    let by = by.map(|by| format!(" by {}", escaped(by)));
    let at = at.map(|at| format!(" at {}", rfc3339(at)));
    format!("version {version}{}{}", by.unwrap_or_default(), at.unwrap_or_default())
}

impl Live {
    /// Returns the toggle if a request for `change` replaces other targeting that another program wrote.
    pub(crate) fn overwritten_by(&self, change: &Change) -> Option<&LiveToggle> {
        let Self::Toggle(live) = self else {
            return None;
        };
        let is_other = match &change.before {
            Before::Applied(before) => live.content.payload() != Some(before),
            Before::Live(_) => true,
            // The creation of a toggle makes its first version.
            Before::Nothing => live.version > 1,
            Before::Unknown { .. } | Before::Unreadable => false,
        };
        (is_other && live.content.payload() != Some(&change.payload)).then_some(live)
    }
}

impl fmt::Display for LiveToggle {
    /// Formats who made the changes since it was applied, when and why, without the targeting. Without its
    /// events, formats the newest one without its comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.history())?;
        match &self.content {
            LiveContent::Known(_) => Ok(()),
            LiveContent::Inexpressible(reason) => {
                write!(f, ", which a document cannot express: {}", escaped(reason))
            }
        }
    }
}

/// What the live state of a toggle means for a change to it.
#[derive(Clone, Debug, PartialEq)]
pub enum LiveDecision {
    /// The service stored the earlier request, whose outcome was unknown: record it, and send nothing.
    Confirmed,
    /// The service has the desired targeting already: record it, and send nothing.
    Converged,
    /// Create the toggle, then read it again.
    Create(ReturnType),
    /// Do not send the change.
    Hold(Hold),
    /// Send it, on top of this version.
    Publish {
        /// The version that the service must still have.
        base_version: u64,
    },
    /// Read the versions after this one, and decide with [`decide_by_versions`].
    ReadVersions {
        /// The number of a version; 0 for all of them.
        after: u64,
    },
}

impl LiveDecision {
    /// Returns the same, unless something is to be sent that `obstacle` holds.
    fn or_hold(self, obstacle: impl FnOnce() -> Option<Hold>) -> Self {
        match self {
            Self::Confirmed | Self::Converged | Self::Hold(_) => self,
            Self::Create(_) | Self::Publish { .. } | Self::ReadVersions { .. } => {
                obstacle().map_or(self, Self::Hold)
            }
        }
    }
}

/// A search for the circle that the new prerequisites of a change would close.
pub(crate) struct CircleSearch {
    own: ToggleId,
    open: Vec<ToggleId>,
    seen: BTreeSet<ToggleId>,
    /// Whether it followed a toggle with a document. The service may have that with other prerequisites, and what these
    /// lead to is not known.
    followed_document: bool,
}

impl CircleSearch {
    /// The most toggles that a search visits.
    const MOST_VISITED: usize = 128;

    pub(crate) fn of(change: &Change) -> Self {
        let open: Vec<ToggleId> = change.gained().iter().filter_map(|one| needed_id(change, one)).collect();
        let seen = open.iter().cloned().collect();
        Self { own: change.id.clone(), seen, open, followed_document: false }
    }

    /// Returns the next toggle to follow.
    pub(crate) fn next(&mut self) -> Option<ToggleId> {
        self.open.pop()
    }

    /// Returns whether a toggle has a document, if `plan` knows that. Call it once for each toggle.
    pub(crate) fn has_document(&mut self, plan: &Plan, id: &ToggleId) -> Option<bool> {
        let has_document = plan.has_document(id);
        let known = (has_document || !self.followed_document).then_some(has_document);
        self.followed_document |= has_document;
        known
    }

    /// Follows what the last toggle needs. Returns whether that closes a circle.
    pub(crate) fn closes(&mut self, keys: &[String]) -> bool {
        let id = |key: &String| ToggleId::new(self.own.project(), self.own.environment_key(), key).ok();
        for other in keys.iter().filter_map(id) {
            if self.seen.len() < Self::MOST_VISITED && self.seen.insert(other.clone()) {
                self.open.push(other);
            }
        }
        keys.iter().any(|key| key.eq_ignore_ascii_case(self.own.toggle()))
    }
}

/// Decides on `change` before it is sent.
pub fn decide_live(change: &Change, live: &Live, policy: &Policy, overrides: &Overrides) -> LiveDecision {
    explained(decide(change, live, policy, overrides), change, policy, overrides)
}

/// Returns a decision with the trailers that do not lift its hold.
fn explained(
    decision: LiveDecision,
    change: &Change,
    policy: &Policy,
    overrides: &Overrides,
) -> LiveDecision {
    match decision {
        LiveDecision::Hold(hold) if hold.has_trailer() => {
            let (commit, environment) = (std::iter::once(&change.attribution), change.id.environment());
            LiveDecision::Hold(overrides.explained(hold, commit, &environment, policy.allows_trailers))
        }
        decision => decision,
    }
}

fn decide(change: &Change, live: &Live, policy: &Policy, overrides: &Overrides) -> LiveDecision {
    let live = match live {
        // There is nothing left to disable.
        Live::Missing { .. } if change.action == Action::Disable => return LiveDecision::Converged,
        Live::Missing { needs_approval }
            if policy.on_missing == OnMissing::Create && change.action != Action::Adopt =>
        {
            // The publish that follows would be held, so the creation would only leave an empty toggle.
            if *needs_approval && policy.on_approval == OnApproval::Hold {
                return LiveDecision::Hold(hold::approval_required());
            }
            let targeting = change.payload.targeting();
            let values = targeting.content.variations.iter();
            let values: Vec<&str> = values.map(|variation| variation.value.as_str()).collect();
            return LiveDecision::Create(ReturnType::of(&values));
        }
        Live::Missing { .. } => return LiveDecision::Hold(hold::missing(change.action)),
        Live::Untargeted => return LiveDecision::Hold(hold::untargeted()),
        Live::Toggle(live) => live,
    };
    if live.content.payload() == Some(&change.payload) {
        return LiveDecision::Converged;
    }
    if change.action == Action::Adopt {
        // An archived toggle cannot be imported, so that is no way to keep it.
        return LiveDecision::Hold(match live.is_archived {
            true => hold::archived(change.action),
            false => hold::not_adopted(live),
        });
    }
    if let Some(hold) = unsendable(change, live, policy) {
        return LiveDecision::Hold(hold);
    }
    let allowed = overrides.overwrite_versions.get(&change.id).copied();
    if change.overwrite == Overwrite::Allowed || allowed == Some(live.version) {
        return LiveDecision::Publish { base_version: live.version };
    }
    match (decide_over(change, live, policy), allowed) {
        // The versions show whether the trailer was used.
        (LiveDecision::Hold(_), _) if may_replace_once(change) => {
            LiveDecision::ReadVersions { after: live.version.saturating_sub(LiveToggle::MOST_UNKNOWN) }
        }
        (LiveDecision::Hold(_), Some(allowed)) => LiveDecision::Hold(hold::changed_again(live, allowed)),
        // It is in the plan only because of the version that may be overwritten.
        (LiveDecision::Publish { .. }, Some(allowed)) if matches!(change.before, Before::Live(_)) => {
            LiveDecision::Hold(hold::changed_again(live, allowed))
        }
        (decision, _) => decision,
    }
}

/// Decides on `change` of a toggle that may have been changed on the service, without a permission to
/// overwrite that.
fn decide_over(change: &Change, live: &LiveToggle, policy: &Policy) -> LiveDecision {
    let publish = LiveDecision::Publish { base_version: live.version };
    match &change.before {
        Before::Applied(applied) | Before::Live(applied) => publish_over(Some(applied), change, live, policy),
        Before::Nothing => publish_over(None, change, live, policy),
        // The request or an earlier one was the last one, or it has not arrived.
        Before::Unknown { sent, .. }
            if may_be_ours(sent, &live.content) || sent.base_version == Some(live.version) =>
        {
            publish
        }
        Before::Unknown { sent, applied } if sent.overtaken => {
            publish_over(applied.as_deref(), change, live, policy)
        }
        Before::Unknown { sent, .. } => LiveDecision::ReadVersions { after: sent.base_version.unwrap_or(0) },
        // What was applied is not known, so it cannot be compared.
        Before::Unreadable => LiveDecision::Hold(hold::drifted(live, policy)),
    }
}

/// Decides on a change of a toggle whose last recorded targeting is `applied`; none if nothing is recorded.
fn publish_over(
    applied: Option<&Payload>,
    change: &Change,
    live: &LiveToggle,
    policy: &Policy,
) -> LiveDecision {
    let may_publish = match applied {
        Some(applied) => live.content.payload() == Some(applied),
        // The first version is the one that the creation of the toggle makes, so the toggle is not configured
        // yet.
        None => live.version <= 1 || replaces_any(change, Overwrite::Asserted),
    };
    match applied {
        _ if may_publish => LiveDecision::Publish { base_version: live.version },
        Some(_) => LiveDecision::Hold(hold::drifted(live, policy)),
        None => LiveDecision::Hold(hold::differs_from_live(live, policy)),
    }
}

/// Returns whether `change` has this permission, and nobody can have changed the toggle since it was read for it.
fn replaces_any(change: &Change, overwrite: Overwrite) -> bool {
    let was_read = match &change.before {
        Before::Unknown { sent, .. } => sent.base_version.is_some(),
        _ => false,
    };
    change.overwrite == overwrite && !was_read
}

/// Returns whether a trailer permits `change` to replace what the service has, until it was used.
fn may_replace_once(change: &Change) -> bool {
    let is_first = match &change.before {
        Before::Nothing => true,
        Before::Unknown { applied, .. } => applied.is_none(),
        _ => false,
    };
    change.overwrite == Overwrite::AllowedByCommit
        || (is_first && replaces_any(change, Overwrite::AssertedByCommit))
}

/// Returns why the trailer of `change` no longer counts: the service has had the document of the commit already,
/// and another one since. Of a long history, only the newest versions are read, so an older one may be that document
/// unless it was made before the commit.
fn used(change: &Change, live: &LiveToggle, versions: &[LiveVersion]) -> Option<&'static str> {
    /// How much the clocks of an author and of the service may differ, in seconds.
    const DAY: i64 = 86_400;
    let is_ours = |version: &LiveVersion| {
        version.version < live.version
            && version.content.payload() == Some(&change.payload)
            && version.comment == change.comment()
    };
    if versions.iter().any(is_ours) {
        return Some("no longer counts, because the service has had this document, and it was changed since");
    }
    let begun = change.attribution.commit().map(|commit| commit.committed_at.saturating_sub(DAY));
    let is_before =
        |oldest: &LiveVersion| oldest.created_at.zip(begun).is_some_and(|(made, begun)| made < begun);
    let is_cut = |oldest: &&LiveVersion| {
        oldest.version > 1 && live.version.saturating_sub(oldest.version) + 1 >= LiveToggle::MOST_UNKNOWN
    };
    let oldest = versions.last().filter(is_cut);
    oldest.filter(|oldest| !is_before(oldest)).map(|_| {
        "does not count, because so many versions were made since that it is unknown whether the service has had this \
         document"
    })
}

/// Returns whether the request, or one with an unknown outcome that it replaced, may have made a version with
/// this content.
fn may_be_ours(sent: &Sent, live: &LiveContent) -> bool {
    live.payload().is_some_and(|payload| sent.may_have_stored(payload))
}

/// Decides on `change` with the versions that [`LiveDecision::ReadVersions`] asks for: the service has
/// neither the base version of the earlier request nor its targeting.
pub fn decide_by_versions(
    change: &Change,
    live: &LiveToggle,
    newer: &[LiveVersion],
    policy: &Policy,
    overrides: &Overrides,
) -> LiveDecision {
    explained(by_versions(change, live, newer, policy), change, policy, overrides)
}

fn by_versions(change: &Change, live: &LiveToggle, newer: &[LiveVersion], policy: &Policy) -> LiveDecision {
    match without_trailer(change, live, newer, policy) {
        LiveDecision::Hold(hold) if may_replace_once(change) => match used(change, live, newer) {
            Some(why) => LiveDecision::Hold(hold.used(why)),
            None => LiveDecision::Publish { base_version: live.version },
        },
        decision => decision,
    }
}

/// Decides as [`by_versions`] does, as if no trailer permitted anything.
fn without_trailer(
    change: &Change,
    live: &LiveToggle,
    newer: &[LiveVersion],
    policy: &Policy,
) -> LiveDecision {
    let drifted = LiveDecision::Hold(hold::drifted(live, policy));
    let Before::Unknown { sent, applied } = &change.before else {
        return decide_over(change, live, policy);
    };
    match resolve(&sent.payload, &sent.comment, newer) {
        // The change on top of it is drift, which concerns the next change.
        Resolution::Confirmed if change.is_retry => LiveDecision::Confirmed,
        Resolution::Confirmed => drifted,
        // Nothing is recorded, but the service stored an earlier request, and then the change of someone
        // else.
        _ if applied.is_none() && newer.iter().any(|version| may_be_ours(sent, &version.content)) => drifted,
        // The service did not store the request, so what is recorded counts.
        Resolution::Conflict | Resolution::NotStored => {
            publish_over(applied.as_deref(), change, live, policy)
        }
    }
}

/// Returns why `change` may not be sent, whatever the toggle's targeting is.
fn unsendable(change: &Change, live: &LiveToggle, policy: &Policy) -> Option<Hold> {
    if live.is_archived {
        return Some(hold::archived(change.action));
    }
    if let Some(reason) = live.return_type.and_then(|kind| misfit(change, kind)) {
        return Some(hold::return_type(&reason));
    }
    // The service publishes over drafts and approvals without a question (src/service/featureprobe.md,
    // "Publishing").
    if policy.on_approval == OnApproval::Hold {
        if let Some(draft) = &live.draft {
            return Some(hold::awaits_approval(draft.submitted_by.as_deref()));
        }
        if live.needs_approval {
            return Some(hold::approval_required());
        }
    }
    None
}

/// Returns why a variation is not of the toggle's type.
fn misfit(change: &Change, kind: ReturnType) -> Option<String> {
    let variations = change.payload.targeting().content.variations;
    variations.into_iter().find_map(|variation| {
        let reason = variation_fits(kind, &variation.value).err()?;
        Some(format!("the value of the variation `{}` {reason}", variation.name))
    })
}

/// Returns the toggles whose types decide on whether `change` may be sent.
pub(crate) fn needed_types(change: &Change) -> Vec<(ToggleId, ReturnType)> {
    // Nothing changes for a toggle that is switched off.
    let needed = match change.action {
        Action::Disable | Action::Adopt => Vec::new(),
        _ => change.payload.prerequisites(),
    };
    needed.into_iter().filter_map(|one| Some((needed_id(change, &one)?, one.kind))).collect()
}

/// Returns the toggle that a prerequisite of `change` names.
pub(crate) fn needed_id(change: &Change, prerequisite: &Prerequisite) -> Option<ToggleId> {
    ToggleId::new(change.id.project(), change.id.environment_key(), &prerequisite.key).ok()
}

/// What the service's list says about the type of a toggle.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(crate) enum ListedType {
    /// The service does not have the toggle.
    Missing,
    /// It has the toggle, whose key it spells like this.
    Misspelled(String),
    /// It has the toggle, with this type.
    Typed(ReturnType),
    /// The type is not known, whether the service has the toggle or not.
    Untyped,
}

impl ListedType {
    /// Reads the type of a toggle that was looked up; none if the service does not have it.
    pub(crate) fn of(listed: Option<Option<ReturnType>>) -> Self {
        match listed {
            None => Self::Missing,
            Some(None) => Self::Untyped,
            Some(Some(kind)) => Self::Typed(kind),
        }
    }
}

/// Returns why a change that needs the toggle `needed` with the type `wanted` may not be sent, if the service
/// has it with another type or spelling: SDKs compare both, so the prerequisite is never met.
pub(crate) fn other_type(needed: &ToggleId, wanted: ReturnType, listed: &ListedType) -> Option<Hold> {
    if let ListedType::Misspelled(spelling) = listed {
        return Some(hold::needs_other_spelling(needed, spelling));
    }
    let ListedType::Typed(live) = listed else { return None };
    (*live != wanted).then(|| {
        let (live, wanted) = (live.as_str(), wanted.as_str());
        hold::return_type(&format!(
            "the type of the prerequisite `{}` is `{wanted}`, but `{live}` on the service",
            needed.toggle()
        ))
    })
}

/// Returns why a change may not be sent that needs one of the toggles that the same pass creates with these types.
fn needs_other_new_type(change: &Change, created: &BTreeMap<ToggleId, ReturnType>) -> Option<Hold> {
    let mut needed = needed_types(change).into_iter();
    let other = |(id, wanted): (ToggleId, ReturnType)| {
        other_type(&id, wanted, &ListedType::of(Some(created.get(&id).copied())))
    };
    needed.find_map(other)
}

/// The fate of a request whose response does not show whether the service stored it.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum Resolution {
    /// The service stored it.
    Confirmed,
    /// Another version was published on top of the request's base version, so the request can never be
    /// stored.
    Conflict,
    /// The service still has the base version. The request may be sent again with the same base version: an
    /// earlier copy that is executed late then conflicts with it.
    NotStored,
}

/// Resolves a request with `payload` and `comment` by the versions of the toggle that are newer than its base
/// version (src/pass/README.md, "Reading before a publish").
pub fn resolve(payload: &Payload, comment: &str, newer: &[LiveVersion]) -> Resolution {
    let is_ours =
        |version: &LiveVersion| version.content.payload() == Some(payload) && version.comment == comment;
    match newer {
        [] => Resolution::NotStored,
        newer if newer.iter().any(is_ours) => Resolution::Confirmed,
        _ => Resolution::Conflict,
    }
}

impl Plan {
    /// Records what the service has already, and withholds what its live state does not permit. A toggle that
    /// is not in `live` could not be read, and stays as it is. `newer` has the versions that decide on
    /// changes whose last outcome is unknown. `drift` loses the toggles that the plan lists itself.
    pub fn with_live(
        mut self,
        live: &BTreeMap<ToggleId, Live>,
        newer: &BTreeMap<ToggleId, Vec<LiveVersion>>,
        mut drift: DriftReport,
        policy: &Policy,
    ) -> Self {
        let changes = std::mem::take(&mut self.changes);
        let decide = |change: Change| {
            // With `--on-drift ignore`, a pass sends the change whatever the service has.
            let own = live.get(&change.id).filter(|_| policy.on_drift != OnDrift::Ignore);
            let decision = own.map(|own| self.decide_live(&change, own, live, newer, policy));
            (change, decision, own)
        };
        let decided: Vec<_> = changes.into_iter().map(decide).collect();
        // What needs a toggle that the pass creates is sent after that.
        let created = decided.iter().filter_map(|(change, decision, _)| match decision {
            Some(LiveDecision::Create(kind)) if !self.unless_equal.contains_key(&change.id) => {
                Some((change.id.clone(), *kind))
            }
            _ => None,
        });
        let created: BTreeMap<ToggleId, ReturnType> = created.collect();
        for (change, decision, own) in decided {
            let decision =
                decision.map(|decision| decision.or_hold(|| needs_other_new_type(&change, &created)));
            self.follow(change, decision, own);
        }
        self.hold_for_others(live, |plan, change, is_sent| {
            let is_read = policy.on_drift != OnDrift::Ignore && live.contains_key(&change.id);
            is_read.then(|| plan.circle_on_service(change, live, is_sent))?
        });
        self = self.hold_unless_equal();
        self.show_replaced(live);
        self.set_undecided(live);
        self.note_archived(live);
        self.withheld.sort_by(|a, b| a.id.cmp(&b.id));
        self.state_edits.sort_by(|a, b| a.id().cmp(b.id()));
        self.leave_out_listed(&mut drift, live);
        self.drift = Some(Box::new(drift));
        self
    }

    /// Returns what `own`, the live state of its toggle, means for a change. `live` has the toggles that it
    /// needs.
    fn decide_live(
        &self,
        change: &Change,
        own: &Live,
        live: &BTreeMap<ToggleId, Live>,
        newer: &BTreeMap<ToggleId, Vec<LiveVersion>>,
        policy: &Policy,
    ) -> LiveDecision {
        let decision = match (decide_live(change, own, policy, &self.overrides), own, newer.get(&change.id)) {
            (LiveDecision::ReadVersions { .. }, Live::Toggle(own), Some(newer)) => {
                decide_by_versions(change, own, newer, policy, &self.overrides)
            }
            (decision, ..) => decision,
        };
        let type_of = |id: &ToggleId| match live.get(id) {
            Some(Live::Toggle(live)) => match &live.spelling {
                Some(spelling) => ListedType::Misspelled(spelling.clone()),
                None => ListedType::of(Some(live.return_type)),
            },
            Some(Live::Missing { .. }) => ListedType::Missing,
            Some(Live::Untargeted) | None => ListedType::Untyped,
        };
        let needs_other_type = || {
            let needed = needed_types(change);
            needed.iter().find_map(|(id, wanted)| other_type(id, *wanted, &type_of(id)))
        };
        match decision.or_hold(needs_other_type) {
            LiveDecision::Create(own) => {
                self.new_type(&change.id, own).map_or_else(LiveDecision::Hold, LiveDecision::Create)
            }
            decision => decision,
        }
    }

    /// Returns the plan with these changes among those that are only recorded.
    pub(crate) fn record(mut self, recorded: &BTreeSet<&ToggleId>) -> Self {
        let changes = self.changes.extract_if(.., |change| recorded.contains(&change.id));
        self.state_edits.extend(changes.map(converged));
        self.state_edits.sort_by(|a, b| a.id().cmp(b.id()));
        self
    }

    /// Records, withholds or keeps a change, as its live state says; none if that is unknown.
    fn follow(&mut self, mut change: Change, decision: Option<LiveDecision>, live: Option<&Live>) {
        let unless_equal = self.unless_equal.get(&change.id);
        match decision {
            Some(LiveDecision::Confirmed | LiveDecision::Converged) => {
                self.state_edits.push(converged(change));
            }
            Some(LiveDecision::Hold(hold)) => {
                let hold = unless_equal.map_or(hold, |held| Hold::clone(held));
                self.withheld.push(WithheldToggle::of(Arc::new(hold), change));
            }
            Some(_) | None => {
                // What protects against sending holds only what the service does not have already.
                let replaced = live.filter(|_| unless_equal.is_none());
                if let Some(live) = replaced.and_then(|live| live.overwritten_by(&change)) {
                    change.replaces.get_or_insert_default().live.get_or_insert_with(|| live.clone());
                }
                self.changes.push(change);
            }
        }
    }

    /// Shows what an asserted first pass replaces to whoever decides on it.
    fn show_replaced(&mut self, live: &BTreeMap<ToggleId, Live>) {
        let is_first_pass = |held: &WithheldToggle| held.hold.kind.is_some_and(HoldKind::is_first_pass);
        let held = self.withheld.iter_mut().filter(|held| is_first_pass(held));
        for change in held.filter_map(|held| held.change.as_deref_mut()) {
            let replaced = live.get(&change.id).and_then(|live| live.overwritten_by(change));
            if let Some(replaced) = replaced {
                change.replaces.get_or_insert_default().live = Some(replaced.clone());
            }
        }
    }

    /// Takes out the changes of undecided first passes that the service has already: either decision records
    /// them, and publishes nothing.
    fn set_undecided(&mut self, live: &BTreeMap<ToggleId, Live>) {
        let is_undecided = |held: &WithheldToggle| {
            let compared = held.change.as_deref().zip(live.get(&held.id));
            held.hold.kind.is_some_and(HoldKind::is_first_pass)
                && compared.is_some_and(|(change, live)| is_same(change, live))
        };
        (self.undecided, self.withheld) =
            std::mem::take(&mut self.withheld).into_iter().partition(is_undecided);
    }

    /// Notes which of the held toggles are archived, if that is not why they are held.
    fn note_archived(&mut self, live: &BTreeMap<ToggleId, Live>) {
        let is_archived =
            |id: &ToggleId| matches!(live.get(id), Some(Live::Toggle(live)) if live.is_archived);
        for held in self.withheld.iter_mut().filter(|held| !held.hold.is_live() && is_archived(&held.id)) {
            let action = held.change.as_ref().map_or(Action::Update, |change| change.action);
            held.hold = Arc::new(hold::although_archived(&held.hold, action));
        }
    }

    /// Removes from `drift` the toggles that the plan, whose lists are sorted, names itself.
    fn leave_out_listed(&self, drift: &mut DriftReport, live: &BTreeMap<ToggleId, Live>) {
        let is_listed = |id: &ToggleId| {
            // What was applied differs from what the service has, but the document does not.
            let is_recorded =
                |edit: &StateEdit| matches!(edit, StateEdit::Converged(version) if version.id == *id);
            self.withheld.binary_search_by(|held| held.id.cmp(id)).is_ok()
                || self.state_edits.iter().any(is_recorded)
        };
        let is_changed = |id: &ToggleId| self.changes.binary_search_by(|change| change.id.cmp(id)).is_ok();
        // A change that overwrites drift does not show whose change is lost.
        drift.drifted.retain(|drifted| !is_listed(&drifted.applied.id));
        // One that was not applied was read for a change that needs it.
        drift.missing.retain(|missing| {
            missing.applied.is_some() && !is_listed(&missing.id) && !is_changed(&missing.id)
        });
        // A scan does not compare a toggle whose last outcome is unknown, but the plan has decided on it.
        drift.unread.retain(|unread| !live.contains_key(&unread.id));
    }

    /// Returns why a change may not be sent: with what the service has, as far as it was read, the prerequisites
    /// form a circle. `is_sent` returns whether the change of a toggle is sent before.
    fn circle_on_service(
        &self,
        change: &Change,
        live: &BTreeMap<ToggleId, Live>,
        is_sent: &dyn Fn(&ToggleId) -> bool,
    ) -> Option<Hold> {
        let needs = self.needs.get(&change.id.environment());
        let mut search = CircleSearch::of(change);
        while let Some(next) = search.next() {
            let known = search.has_document(self, &next);
            let has_document = known == Some(true);
            let of_service = live.get(&next).filter(|_| !has_document || !is_sent(&next));
            let is_closed = match (of_service, needs.and_then(|all| all.get(&next.toggle().to_lowercase()))) {
                (Some(Live::Toggle(own)), _) => search.closes(&own.needed_keys()),
                (Some(_), _) if !has_document => false,
                // Circles of documents have their own findings and waits.
                (_, Some(keys)) => search.closes(keys) && !has_document,
                (_, None) => false,
            };
            if is_closed {
                return Some(self.circle_hold(&next, known));
            }
        }
        None
    }

    /// Returns the hold of a change that would form a circle with what the service has of `other`.
    pub(crate) fn circle_hold(&self, other: &ToggleId, has_document: Option<bool>) -> Hold {
        let held = self.withheld.iter().filter_map(|held| held.change.as_deref());
        let is_changed = self.changes.iter().chain(held).any(|change| change.id == *other);
        // What is not applied yet need not be changed there.
        hold::circle_on_service(
            other.toggle(),
            has_document.filter(|has_document| !(*has_document && is_changed)),
        )
    }

    /// Returns whether the prerequisites of a change form a circle with what was applied of removed documents. Someone may
    /// have changed that on the service since.
    pub(crate) fn may_close_circle(&self, change: &Change) -> bool {
        self.kept.values().any(|kept| !kept.has_document)
            && self.circle_on_service(change, &BTreeMap::new(), &|_| false).is_some()
    }

    /// Returns the plan as it is shown if the service was not read: a pass reads there whether there is still a circle
    /// with what the service keeps of removed documents.
    pub(crate) fn shown(mut self) -> Self {
        if self.kept.values().any(|kept| !kept.has_document) {
            let circle = |change: &Change| self.circle_on_service(change, &BTreeMap::new(), &|_| false);
            let held = self.changes.iter().filter_map(|change| Some((change.id.clone(), circle(change)?)));
            let held = held.map(|(id, hold)| (id, Arc::new(hold))).collect();
            self = self.withhold(&held);
            self.hold_for_others(&BTreeMap::new(), |_, _, _| None);
        }
        self.hold_unless_equal()
    }

    /// Returns whether there is a document of a toggle that a change leads to, also through what the service keeps of
    /// another one.
    pub(crate) fn has_document(&self, id: &ToggleId) -> bool {
        let needs = self.needs.get(&id.environment());
        let is_led_to = needs.is_some_and(|needs| needs.contains_key(&id.toggle().to_lowercase()))
            && self.kept.get(id).is_none_or(|kept| kept.has_document);
        let change = self.changes.binary_search_by(|change| change.id.cmp(id));
        is_led_to || change.is_ok_and(|at| self.changes[at].action != Action::Disable)
    }

    /// Notes what changes were sent over.
    pub(crate) fn note_overwritten(&mut self, mut overwritten: BTreeMap<ToggleId, LiveToggle>) {
        for change in &mut self.changes {
            if let Some(live) = overwritten.remove(&change.version.id) {
                change.replaces.get_or_insert_default().live = Some(live);
            }
        }
    }

    /// Returns whether the document of a changed toggle asks for what the service has.
    pub(crate) fn is_wanted(&self, id: &ToggleId, live: &LiveToggle) -> bool {
        let held = self.withheld.iter().filter_map(|held| held.change.as_deref());
        let mut changes = self.changes.iter().chain(held);
        changes.any(|change| change.id == *id && live.content.payload() == Some(&change.payload))
    }

    /// Returns what differs on the service besides the changes, if the service was read.
    pub fn drift(&self) -> Option<&DriftReport> {
        self.drift.as_deref()
    }
}

fn is_same(change: &Change, live: &Live) -> bool {
    match live {
        Live::Toggle(live) => live.content.payload() == Some(&change.payload),
        Live::Missing { .. } | Live::Untargeted => false,
    }
}

/// Returns how a change is recorded that the service has already.
fn converged(change: Change) -> StateEdit {
    match change.action {
        Action::Disable => StateEdit::Forget { id: change.version.id },
        _ => StateEdit::Converged(change.version),
    }
}
