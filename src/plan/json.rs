//! Renders a plan as versioned JSON.
//!
//! Changes are serialized one at a time, because a plan can have a hundred thousand of them.

use std::collections::BTreeMap;
use std::iter::once;
use std::ops::Range;
use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::sentences::in_words;
use crate::document::Diagnostic;
use crate::evaluate::{Impact, UserImpact, Users};
use crate::model::{
    Action, Attribution, CommitId, Content, EnvironmentId, HoldKind, Payload, ToggleId, ToggleState, counted,
};
use crate::plan::drift::DriftedJson;
use crate::plan::{self, Dependents, Orphan, Plan, SourceInfo, StateEdit, WithheldToggle};

/// Returns `{version, digest, source, summary, changes, held, orphans, findings}`, ready to serialize.
/// Unchanged toggles are not listed.
pub fn json(plan: &Plan) -> PlanJson<'_> {
    json_for(plan, None)
}

/// Returns the same as [`json`], with the effect of each change on an audience.
pub fn json_for<'a>(plan: &'a Plan, users: Option<&'a UserImpact>) -> PlanJson<'a> {
    let counts = plan.counts();
    let source = plan.source();
    PlanJson {
        version: Plan::VERSION,
        digest: plan.has_changes().then(|| plan.digest()),
        source: Source {
            source,
            shallow: source.is_history_cut,
            history_note: plan.guess_note(),
            base_url: plan.base_url(),
        },
        summary: Summary {
            text: plan.summary(),
            changes: counts.changes,
            held: plan.withheld().len(),
            first_pass: counts.first_pass,
            orphans: plan.orphans().len(),
            invalid: counts.invalid,
            failed: plan.withheld_in(ToggleState::Failed),
            records: plan.state_edits().len() + plan.undecided().len(),
            guessed: plan.guesses(),
            held_environments: plan
                .environment_holds()
                .iter()
                .map(|(environment, hold)| (environment, hold.reason()))
                .collect(),
        },
        changes: Each::all(plan.changes(), users, Change::of),
        held: Each::all(plan.withheld(), users, WithheldJson::of),
        orphans: Each::all(plan.orphans(), None, OrphanToggle::of),
        next: None,
        findings: plan.findings().iter().collect(),
        waived: plan.waived().iter().collect(),
        audience: users.map(|users| &users.users),
        evaluated_as: users.map(|users| users.sdk.versioned()),
        drifted: plan.drift().map(|drift| drift.drifted.iter().map(DriftedJson::of).collect()),
        archived: plan.drift().map(|drift| drift.archived().collect()),
        unread: plan
            .drift()
            .map(|drift| drift.unread.iter().map(|unread| (&unread.id, unread.reason.as_str())).collect()),
    }
}

/// A plan as JSON, created by [`json`].
#[derive(Debug, Serialize)]
pub struct PlanJson<'a> {
    version: u32,
    /// Absent if nothing is to be published: it would be that of any such plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    digest: Option<String>,
    source: Source<'a>,
    summary: Summary<'a>,
    changes: Each<'a, plan::Change, Change<'a>>,
    held: Each<'a, WithheldToggle, WithheldJson<'a>>,
    orphans: Each<'a, Orphan, OrphanToggle<'a>>,
    findings: Vec<&'a Diagnostic>,
    /// The findings that comments accept; absent if there are none.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    waived: Vec<&'a Diagnostic>,
    /// Where the next page begins: after this toggle; null on the last page. Absent if the plan is not
    /// paginated.
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<Option<ToggleId>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a Users>,
    /// The SDK by whose rules the users are counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    evaluated_as: Option<&'static str>,
    /// The drifted toggles without a change; absent unless the service was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    drifted: Option<Vec<DriftedJson<'a>>>,
    /// The archived toggles with a document and without a change; absent unless the service was read.
    #[serde(skip_serializing_if = "Option::is_none")]
    archived: Option<Vec<&'a ToggleId>>,
    /// The toggles that could not be read, with the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    unread: Option<BTreeMap<&'a ToggleId, &'a str>>,
}

#[derive(Debug, Serialize)]
struct Source<'a> {
    #[serde(flatten)]
    source: &'a SourceInfo,
    shallow: bool,
    /// The effect of a cut history on comments, if there is one.
    history_note: Option<String>,
    base_url: Option<&'a str>,
}

#[derive(Debug, Serialize)]
struct Summary<'a> {
    text: String,
    changes: usize,
    held: usize,
    /// The number of held toggles that wait for a decision on a first pass.
    first_pass: usize,
    orphans: usize,
    invalid: usize,
    failed: usize,
    records: usize,
    guessed: usize,
    held_environments: BTreeMap<&'a EnvironmentId, String>,
}

/// The numbers of toggles of a pass that carried a plan out, each toggle once.
#[derive(Debug)]
pub(crate) struct PassCounts {
    /// The numbers in one line.
    pub(crate) text: String,
    /// Those that were to be published.
    pub(crate) changes: usize,
    pub(crate) failed: usize,
    pub(crate) held: usize,
    /// Those that were recorded without a publish.
    pub(crate) records: usize,
}

/// A part of a list whose items are created during serialization.
#[derive(Debug)]
struct Each<'a, T, S> {
    all: &'a [T],
    range: Range<usize>,
    users: Option<&'a UserImpact>,
    of: fn(&'a T, Option<&'a UserImpact>) -> S,
}

impl<'a, T, S> Each<'a, T, S> {
    fn all(all: &'a [T], users: Option<&'a UserImpact>, of: fn(&'a T, Option<&'a UserImpact>) -> S) -> Self {
        let range = 0..all.len();
        Self { all, range, users, of }
    }

    fn items(&self) -> &'a [T] {
        &self.all[self.range.clone()]
    }
}

impl<T, S: Serialize> Serialize for Each<'_, T, S> {
    fn serialize<Z: Serializer>(&self, serializer: Z) -> Result<Z::Ok, Z::Error> {
        // As a tree of values, a first pass of 100,000 toggles took 2.7 GB and 11 seconds.
        serializer.collect_seq(self.items().iter().map(|item| (self.of)(item, self.users)))
    }
}

#[derive(Debug, Serialize)]
struct Change<'a> {
    toggle: &'a ToggleId,
    action: Action,
    /// What `apply --reviewed` compares.
    digest: String,
    sentences: Vec<String>,
    commit: Option<Commit<'a>>,
    attribution: Option<&'static str>,
    comment: String,
    path: &'a str,
    disabled: bool,
    content: Content,
    before: Option<&'a Payload>,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a Impact>,
    /// The toggles that need this one; absent if none does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needed_by: Vec<DependentJson<'a>>,
}

/// A toggle that needs another one.
#[derive(Debug, Serialize)]
struct DependentJson<'a> {
    toggle: ToggleId,
    through_others: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    audience: Option<&'a Impact>,
}

impl<'a> DependentJson<'a> {
    fn all(id: &ToggleId, dependents: Option<&Dependents>, users: Option<&'a UserImpact>) -> Vec<Self> {
        let all = dependents.into_iter().flat_map(Dependents::all);
        let one = |(key, through_others)| {
            let toggle = ToggleId::new(id.project(), id.environment_key(), key).ok()?;
            let audience = users.and_then(|users| users.changes.get(&toggle));
            Some(Self { toggle, through_others, audience })
        };
        all.filter_map(one).collect()
    }
}

#[derive(Debug, Serialize)]
struct Commit<'a> {
    id: CommitId,
    subject: &'a str,
}

impl<'a> Change<'a> {
    fn of(change: &'a plan::Change, users: Option<&'a UserImpact>) -> Self {
        let before = change.replaced();
        let after = change.payload.targeting();
        Self {
            toggle: &change.id,
            action: change.action,
            digest: change.digest().to_string(),
            sentences: in_words(change, before.map(Payload::targeting).as_ref(), &after),
            commit: change
                .attribution
                .commit()
                .map(|commit| Commit { id: commit.id, subject: commit.subject() }),
            attribution: change.known_attribution().map(Attribution::as_str),
            comment: change.comment(),
            path: &change.path,
            disabled: after.disabled,
            content: after.content,
            before,
            audience: users.and_then(|users| users.changes.get(&change.id)),
            needed_by: DependentJson::all(&change.id, change.needed_by(), users),
        }
    }
}

#[derive(Debug, Serialize)]
struct WithheldJson<'a> {
    toggle: &'a ToggleId,
    state: &'static str,
    kind: &'static str,
    reason: String,
    change: Option<Change<'a>>,
}

impl<'a> WithheldJson<'a> {
    fn of(withheld: &'a WithheldToggle, users: Option<&'a UserImpact>) -> Self {
        let WithheldToggle { id, hold, change } = withheld;
        Self {
            toggle: id,
            state: hold.state.as_str(),
            kind: hold.kind.map_or("", HoldKind::as_str),
            reason: hold.reason(),
            change: change.as_deref().map(|change| Change::of(change, users)),
        }
    }
}

#[derive(Debug, Serialize)]
struct OrphanToggle<'a> {
    toggle: &'a ToggleId,
    path: &'a str,
    reason: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needed_by: Vec<DependentJson<'a>>,
}

impl<'a> OrphanToggle<'a> {
    fn of(orphan: &'a Orphan, _: Option<&'a UserImpact>) -> Self {
        Self {
            toggle: &orphan.id,
            path: &orphan.path,
            reason: orphan.explanation(),
            needed_by: DependentJson::all(&orphan.id, orphan.needed_by.as_deref(), None),
        }
    }
}

/// Returns the names of toggles in parentheses, if they are few.
pub(crate) fn if_few(toggles: &[&ToggleId]) -> String {
    const MOST_NAMED: usize = 3;
    match toggles.len() {
        1..=MOST_NAMED => {
            let names: Vec<&str> = toggles.iter().map(|id| id.as_str()).collect();
            format!(" ({})", names.join(", "))
        }
        _ => String::new(),
    }
}

impl Plan {
    /// Returns the number of withheld toggles in this state.
    fn withheld_in(&self, state: ToggleState) -> usize {
        self.withheld().iter().filter(|withheld| withheld.hold.state == state).count()
    }

    /// Returns the counts in one line.
    pub fn summary(&self) -> String {
        let adopted = self.adoptions();
        let changes = self.counts().changes;
        let mut kinds = Vec::new();
        for verb in ["create", "replace", "update", "disable"] {
            let number = self.requests().filter(|change| change.verb() == verb).count();
            if number > 0 {
                kinds.push(counted(number, verb));
            }
        }
        let mut parts = match changes {
            0 => vec!["nothing to publish".to_owned()],
            // The note above says why, and how to release it.
            _ if self.is_refused => vec![format!("nothing is sent, waiting: {}", kinds.join(", "))],
            number => vec![format!("{number} to publish: {}", kinds.join(", "))],
        };
        if adopted > 0 {
            parts.push(format!("{adopted} to record if the service has the same targeting"));
        }
        let drift = self.drift();
        let drifted = drift.map_or(0, |drift| drift.drifted.len() + drift.missing.len());
        let archived = drift.map_or(0, |drift| drift.archived().count());
        for state in [ToggleState::Drifted, ToggleState::Held, ToggleState::Pending, ToggleState::Failed] {
            let number = self.withheld_in(state);
            // Those that a change of their documents is withheld for, and the others.
            let others = match state {
                ToggleState::Drifted => drifted,
                ToggleState::Held => archived,
                _ => 0,
            };
            let number = number + others;
            if number > 0 {
                parts.push(format!("{number} {}", state.as_str()));
            }
        }
        if !self.orphans().is_empty() {
            parts.push(counted(self.orphans().len(), "orphan"));
        }
        if !self.state_edits().is_empty() {
            let ids: Vec<&ToggleId> = self.state_edits().iter().map(StateEdit::id).collect();
            parts.push(format!("{} to record without a publish{}", ids.len(), if_few(&ids)));
        }
        if !self.undecided().is_empty() {
            let ids: Vec<&ToggleId> = self.undecided().iter().map(|held| &held.id).collect();
            parts.push(format!("{} to record once the first pass is decided{}", ids.len(), if_few(&ids)));
        }
        if !self.waived().is_empty() {
            parts.push(format!("{} waived", self.waived().len()));
        }
        parts.join(" · ")
    }
}

/// Returns the JSON of [`PlanJson::page`] in pieces, of which a client that reads slowly holds few: the parts
/// around the lists, and each change, withheld toggle and orphan.
///
/// # Panics
/// Never: a plan always has a JSON form.
pub fn page_pieces(
    plan: Arc<Plan>,
    after: Option<&ToggleId>,
    limit: usize,
    toggle_of: &dyn Fn(&str) -> Option<ToggleId>,
) -> impl Iterator<Item = String> + Send + use<> {
    let mut page = json(&plan).page(after, limit, toggle_of);
    let changes = std::mem::take(&mut page.changes.range);
    let held = std::mem::take(&mut page.held.range);
    let orphans = std::mem::take(&mut page.orphans.range);
    let around = text(&page);
    // No string contains this, because quotes in strings are escaped.
    let lists = "\"changes\":[],\"held\":[],\"orphans\":[]";
    let (head, tail) = around.split_once(lists).expect("the lists follow each other");
    let (head, tail) = (head.to_owned(), format!("{tail}\n"));
    let (second, third) = (Arc::clone(&plan), Arc::clone(&plan));
    once(head)
        .chain(list("changes", changes, move |at| text(&Change::of(&plan.changes()[at], None))))
        .chain(once(",".to_owned()))
        .chain(list("held", held, move |at| text(&WithheldJson::of(&second.withheld()[at], None))))
        .chain(once(",".to_owned()))
        .chain(list("orphans", orphans, move |at| text(&OrphanToggle::of(&third.orphans()[at], None))))
        .chain(once(tail))
}

fn list(
    name: &'static str,
    items: Range<usize>,
    item: impl Fn(usize) -> String,
) -> impl Iterator<Item = String> {
    let first = items.start;
    let separated = move |at| format!("{}{}", if at > first { "," } else { "" }, item(at));
    once(format!("\"{name}\":[")).chain(items.map(separated)).chain(once("]".to_owned()))
}

fn text(value: &impl Serialize) -> String {
    serde_json::to_string(value).expect("a plan always has a JSON form")
}

impl<'a> PlanJson<'a> {
    /// Replaces the numbers of the plan by those of the pass that carried it out.
    pub(crate) fn carried_out(mut self, counts: PassCounts) -> Self {
        let PassCounts { text, changes, failed, held, records } = counts;
        self.summary = Summary { text, changes, failed, held, records, ..self.summary };
        self
    }

    /// Lists only the first `limit` toggles after `after`, in the order of their keys, each with its
    /// findings, and sets `next`. Findings that belong to no toggle are on the first page. `toggle_of`
    /// returns the toggle of a path.
    pub fn page(
        mut self,
        after: Option<&ToggleId>,
        limit: usize,
        toggle_of: impl Fn(&str) -> Option<ToggleId>,
    ) -> Self {
        let is_after = |id: &ToggleId| after.is_none_or(|after| id > after);
        let with_owner = |findings: Vec<&'a Diagnostic>| -> Vec<(Option<ToggleId>, &'a Diagnostic)> {
            let findings = findings.into_iter().map(|finding| (toggle_of(&finding.path), finding));
            let is_ahead = |owner: &Option<ToggleId>| owner.as_ref().map_or(after.is_none(), is_after);
            findings.filter(|(owner, _)| is_ahead(owner)).collect()
        };
        let (findings, waived) = (with_owner(self.findings), with_owner(self.waived));
        self.changes.skip(|change| !is_after(&change.id));
        self.held.skip(|held| !is_after(&held.id));
        self.orphans.skip(|orphan| !is_after(&orphan.id));
        let owners = findings.iter().chain(&waived).filter_map(|(owner, _)| owner.as_ref());
        let mut ids: Vec<&ToggleId> = owners.collect();
        // One more than a page, to know whether another one follows.
        ids.extend(self.changes.items().iter().take(limit + 1).map(|change| &change.id));
        ids.extend(self.held.items().iter().take(limit + 1).map(|held| &held.id));
        ids.extend(self.orphans.items().iter().take(limit + 1).map(|orphan| &orphan.id));
        ids.sort_unstable();
        ids.dedup();
        let last = (ids.len() > limit).then(|| ids[limit - 1].clone());
        let is_within = |id: &ToggleId| last.as_ref().is_none_or(|last| id <= last);
        self.changes.take(|change| is_within(&change.id));
        self.held.take(|held| is_within(&held.id));
        self.orphans.take(|orphan| is_within(&orphan.id));
        let of_page = |findings: Vec<(Option<ToggleId>, &'a Diagnostic)>| -> Vec<&'a Diagnostic> {
            let findings = findings.into_iter();
            let findings = findings.filter(|(owner, _)| owner.as_ref().is_none_or(is_within));
            findings.map(|(_, finding)| finding).collect()
        };
        (self.findings, self.waived) = (of_page(findings), of_page(waived));
        self.next = Some(last);
        self
    }
}

/// The items are sorted.
impl<T, S> Each<'_, T, S> {
    fn skip(&mut self, is_skipped: impl Fn(&T) -> bool) {
        self.range.start += self.items().partition_point(is_skipped);
    }

    fn take(&mut self, is_taken: impl Fn(&T) -> bool) {
        self.range.end = self.range.start + self.items().partition_point(is_taken);
    }
}
