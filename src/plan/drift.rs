//! What differs between the service and what was last applied (src/drift/README.md, "Scans").

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use super::{OnMissing, hold};
use crate::model::{
    Action, Content, EnvironmentId, Hold, Live, LiveContent, LiveToggle, LiveVersion, ObjectId, Payload,
    Targeting, ToggleId, Version, escaped, rfc3339,
};

/// The differences, each list sorted by toggle.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DriftReport {
    pub service: String,
    /// The number of applied toggles in scope.
    pub applied: usize,
    /// The number of applied toggles that were found equal.
    pub in_sync: usize,
    /// The time in seconds since 1970 up to which changes on the service are included.
    pub as_of: i64,
    /// How to fix what kept toggles from being read.
    pub hint: Option<&'static str>,
    /// The environments that were scanned, and those of toggles whose last outcome is unknown.
    pub environments: BTreeSet<EnvironmentId>,
    /// The toggles with other targeting than was last applied.
    pub drifted: Vec<DriftedToggle>,
    /// The applied toggles whose document was removed.
    pub orphans: BTreeSet<ToggleId>,
    /// The toggles with a document that was not applied yet, so that there is nothing to compare them with, and that are
    /// in no other list. Only `gitoggle drift` lists them.
    pub unapplied: Vec<ToggleId>,
    /// The documents whose toggles the service does not have.
    pub missing: Vec<MissingToggle>,
    /// The toggles on the service without a document.
    pub undocumented: Vec<ToggleId>,
    /// The toggles with a document and a draft that awaits approval.
    pub drafts: Vec<DraftedToggle>,
    pub archived: Vec<ToggleId>,
    /// The toggles that could not be compared.
    pub unread: Vec<UnreadToggle>,
    /// The globs of `--only` that match no toggle. Only `gitoggle drift` finds out.
    pub idle_globs: Vec<String>,
}

/// A toggle with other targeting than was last applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriftedToggle {
    pub applied: Version,
    pub live: LiveToggle,
    /// The version on the service that was applied, if it is known.
    pub since: Option<u64>,
    /// Whether the document of the source has the live targeting already, so that the next pass records it.
    /// Only `gitoggle drift` finds out.
    pub is_documented: bool,
}

/// A document whose toggle the service does not have.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct MissingToggle {
    #[serde(rename = "toggle")]
    pub id: ToggleId,
    /// What the service lacks.
    #[serde(rename = "lacks")]
    pub lack: Lack,
    /// The blob of the applied document; none if the document was not applied yet.
    #[serde(serialize_with = "is_some")]
    pub applied: Option<ObjectId>,
}

fn is_some<S: Serializer>(option: &Option<ObjectId>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bool(option.is_some())
}

/// What the service lacks of a toggle.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Lack {
    Targeting,
    Toggle,
}

/// A toggle with a draft that awaits approval.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct DraftedToggle {
    #[serde(rename = "toggle")]
    pub id: ToggleId,
    /// The account that submitted the draft.
    pub by: Option<String>,
}

/// A toggle that could not be compared.
#[derive(Clone, Debug, Eq, PartialEq, Serialize)]
pub struct UnreadToggle {
    #[serde(rename = "toggle")]
    pub id: ToggleId,
    pub reason: String,
}

/// What the service has of the toggles that differ from what was applied and may be published again.
pub type LiveDifferences = BTreeMap<ToggleId, Live>;

impl DriftReport {
    /// Returns the differences that a publish of the document ends.
    pub fn differences(&self) -> LiveDifferences {
        let drifted = self
            .drifted
            .iter()
            .map(|drifted| (drifted.applied.id.clone(), Live::Toggle(Box::new(drifted.live.clone()))));
        let is_gone = |missing: &&MissingToggle| missing.is_gone();
        let missing = self.missing.iter().filter(is_gone);
        let missing = missing.map(|missing| (missing.id.clone(), Live::Missing { needs_approval: false }));
        drifted.chain(missing).collect()
    }

    /// Returns whether the service differs from what was applied.
    pub fn has_drift(&self) -> bool {
        !self.drifted.is_empty() || self.missing.iter().any(|missing| missing.applied.is_some())
    }

    /// Returns the numbers of all lists that are not empty.
    pub fn summary(&self) -> String {
        let counts = [
            (self.drifted.len(), "drifted"),
            (self.missing.len(), "missing"),
            (self.unread.len(), "not compared"),
            (self.drafts.len(), "awaiting approval"),
            (self.archived().count(), "archived"),
            (self.undocumented.len(), "without a document"),
            (self.unapplied.len(), "not applied yet"),
            (self.in_sync, "in sync"),
        ];
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts.map(|(count, what)| format!("{count} {what}")).collect();
        // What was not compared may have drifted.
        if self.has_drift() || !self.unread.is_empty() {
            counts.join(" · ")
        } else {
            format!("no drift: {}", counts.join(" · "))
        }
    }

    /// Returns whether there is nothing to report.
    pub fn is_quiet(&self) -> bool {
        let lists = [self.drifted.len(), self.missing.len(), self.unread.len(), self.drafts.len()];
        lists.iter().sum::<usize>() + self.archived.len() == 0
    }

    /// Returns the archived toggles that have not drifted as well, so that each toggle counts once.
    pub(crate) fn archived(&self) -> impl Iterator<Item = &ToggleId> {
        let drifted: BTreeSet<&ToggleId> = self.drifted.iter().map(|drifted| &drifted.applied.id).collect();
        self.archived.iter().filter(move |id| !drifted.contains(id))
    }

    /// Takes note of the toggles whose document was removed. An archived one among them is as its repository asks, so
    /// it counts as in sync unless it has drifted as well.
    pub(crate) fn leave_out_archived(&mut self, orphans: BTreeSet<ToggleId>) {
        self.in_sync += self.archived().filter(|id| orphans.contains(*id)).count();
        self.archived.retain(|id| !orphans.contains(id));
        self.orphans = orphans;
    }

    /// Returns why not every toggle was compared.
    pub fn failure(&self) -> Option<String> {
        let first = self.unread.first()?;
        Some(match self.unread.len() {
            1 => format!("{} could not be compared with the service: {}", first.id, first.reason),
            count => format!(
                "{count} toggles could not be compared with the service, such as {}: {}",
                first.id, first.reason
            ),
        })
    }

    /// Sorts every list by toggle.
    pub fn sort(&mut self) {
        self.drifted.sort_unstable_by(|a, b| a.applied.id.cmp(&b.applied.id));
        self.missing.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        self.undocumented.sort_unstable();
        self.unapplied.sort_unstable();
        self.drafts.sort_unstable_by(|a, b| a.id.cmp(&b.id));
        self.archived.sort_unstable();
        self.unread.sort_unstable_by(|a, b| a.id.cmp(&b.id));
    }

    /// Returns the facts on toggles that differ from what was applied, by toggle.
    pub fn facts(&self, on_missing: OnMissing) -> BTreeMap<ToggleId, Hold> {
        let drifted = self.drifted.iter().map(|drifted| {
            let fact = hold::drift(&drifted.live, &drifted.to_string());
            (drifted.applied.id.clone(), fact)
        });
        let missing = self.missing.iter().filter(|missing| missing.applied.is_some());
        let missing = missing.map(|missing| {
            let may_create = missing.is_gone() && on_missing == OnMissing::Create;
            (missing.id.clone(), hold::gone(missing, may_create))
        });
        let archived = self.archived().map(|id| (id.clone(), hold::archived(Action::Update)));
        drifted.chain(missing).chain(archived).collect()
    }
}

impl DriftedToggle {
    /// Returns the live targeting, if a document can express it.
    pub fn targeting(&self) -> Option<Targeting> {
        self.live.content.payload().map(Payload::targeting)
    }

    /// Returns one sentence per difference, from what was applied to what is live.
    pub fn sentences(&self) -> Vec<String> {
        match &self.live.content {
            LiveContent::Inexpressible(reason) => {
                vec![format!("a document cannot express it: {}", escaped(reason))]
            }
            LiveContent::Known(live) => {
                super::sentences(Some(&self.applied.payload.targeting()), &live.targeting())
            }
        }
    }

    /// Returns the lines of the diff from what was applied to what is live, if a document can express that.
    pub(crate) fn diff(&self) -> Vec<String> {
        super::change::diff(Some(&self.applied.payload), self.live.content.payload())
    }

    /// Returns one or two lines for each change on the service since the document was applied. The first is
    /// about the only or the last one.
    pub(crate) fn events(&self) -> (String, Vec<String>) {
        match self.live.events.as_slice() {
            [] => (self.live.last_event(), Vec::new()),
            [one] => (self.live.author(), one.comment_line().into_iter().collect()),
            _ => {
                let head = format!("{} changes, the last {}", self.live.count(), self.live.author());
                (head, self.live.event_lines())
            }
        }
    }
}

impl fmt::Display for DriftedToggle {
    /// Formats who changed the toggle and when, with the comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "changed on the service: {}", self.live)
    }
}

impl MissingToggle {
    /// Returns whether the toggle was applied and the service does not have it anymore.
    pub fn is_gone(&self) -> bool {
        self.applied.is_some() && self.lack == Lack::Toggle
    }
}

impl fmt::Display for Lack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Targeting => "the toggle exists on the service, but has no targeting in this environment",
            Self::Toggle => "the service has no such toggle",
        })
    }
}

/// Returns the report as versioned JSON, ready to serialize.
pub fn drift_json(report: &DriftReport) -> DriftJson<'_> {
    DriftJson {
        version: 1,
        service: &report.service,
        as_of: rfc3339(report.as_of),
        summary: Summary {
            text: report.summary(),
            has_drift: report.has_drift(),
            applied: report.applied,
            environments: report.environments.len(),
            drifted: report.drifted.len(),
            missing: report.missing.len(),
            unread: report.unread.len(),
            drafts: report.drafts.len(),
            archived: report.archived.len(),
            undocumented: report.undocumented.len(),
            unapplied: report.unapplied.len(),
            in_sync: report.in_sync,
        },
        hint: report.hint,
        drifted: report.drifted.iter().map(DriftedJson::of).collect(),
        missing: &report.missing,
        unread: &report.unread,
        drafts: &report.drafts,
        archived: &report.archived,
        undocumented: &report.undocumented,
        unapplied: &report.unapplied,
    }
}

/// A drift report as JSON, created by [`drift_json`].
#[derive(Debug, Serialize)]
pub struct DriftJson<'a> {
    version: u32,
    service: &'a str,
    as_of: String,
    summary: Summary,
    hint: Option<&'static str>,
    drifted: Vec<DriftedJson<'a>>,
    missing: &'a [MissingToggle],
    unread: &'a [UnreadToggle],
    drafts: &'a [DraftedToggle],
    archived: &'a [ToggleId],
    undocumented: &'a [ToggleId],
    unapplied: &'a [ToggleId],
}

#[derive(Debug, Serialize)]
struct Summary {
    text: String,
    has_drift: bool,
    applied: usize,
    environments: usize,
    drifted: usize,
    missing: usize,
    unread: usize,
    drafts: usize,
    archived: usize,
    undocumented: usize,
    unapplied: usize,
    in_sync: usize,
}

/// A drifted toggle as JSON.
#[derive(Debug, Serialize)]
pub(in crate::plan) struct DriftedJson<'a> {
    toggle: &'a ToggleId,
    path: &'a str,
    version: u64,
    by: Option<&'a str>,
    at: Option<String>,
    /// The comment of that version.
    comment: Option<&'a str>,
    /// Every version since the document was applied, oldest first.
    events: Vec<EventJson<'a>>,
    /// Whether there may be earlier ones, because not all could be read.
    earlier_events: bool,
    sentences: Vec<String>,
    applied: &'a Payload,
    /// Whether the document has the live targeting already.
    documented: bool,
    /// The live targeting; absent if a document cannot express it.
    disabled: Option<bool>,
    content: Option<Content>,
    /// Why a document cannot express it.
    inexpressible: Option<&'a str>,
}

/// A version on the service as JSON.
#[derive(Debug, Serialize)]
struct EventJson<'a> {
    version: u64,
    by: Option<&'a str>,
    at: Option<String>,
    comment: &'a str,
}

impl<'a> EventJson<'a> {
    fn of(event: &'a LiveVersion) -> Self {
        let LiveVersion { version, content: _, comment, created_by, created_at } = event;
        Self { version: *version, by: created_by.as_deref(), at: created_at.map(rfc3339), comment }
    }
}

impl<'a> DriftedJson<'a> {
    pub(in crate::plan) fn of(drifted: &'a DriftedToggle) -> Self {
        let live = drifted.targeting();
        Self {
            toggle: &drifted.applied.id,
            path: &drifted.applied.path,
            version: drifted.live.version,
            by: drifted.live.modified_by.as_deref(),
            at: drifted.live.modified_at.map(rfc3339),
            comment: drifted.live.events.last().map(|event| event.comment.as_str()),
            events: drifted.live.events.iter().map(EventJson::of).collect(),
            earlier_events: drifted.live.has_earlier_events,
            sentences: drifted.sentences(),
            applied: &drifted.applied.payload,
            documented: drifted.is_documented,
            disabled: live.as_ref().map(|live| live.disabled),
            content: live.map(|live| live.content),
            inexpressible: match &drifted.live.content {
                LiveContent::Inexpressible(reason) => Some(reason),
                LiveContent::Known(_) => None,
            },
        }
    }
}
