//! What differs between the service and what was last applied (DESIGN, section 8.4).

mod json;

pub(super) use json::DriftedJson;
pub use json::{DriftJson, drift_json};

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::{Serialize, Serializer};

use super::{LiveChange, OnMissing, hold};
use crate::model::{
    EnvironmentId, Hold, LiveContent, ObjectId, Payload, Targeting, ToggleId, Version, escaped,
};

/// The differences, each list sorted by toggle.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct DriftReport {
    /// The address of the service.
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
    /// The applied toggles whose document was removed. Only `gitoggle drift` lists them.
    pub orphans: BTreeSet<ToggleId>,
    /// The documents whose toggles the service does not have.
    pub missing: Vec<MissingToggle>,
    /// The toggles on the service without a document.
    pub undocumented: Vec<ToggleId>,
    /// The toggles with a document and a draft that awaits approval.
    pub drafts: Vec<DraftedToggle>,
    /// The toggles with a document that are archived.
    pub archived: Vec<ToggleId>,
    /// The toggles that could not be compared.
    pub unread: Vec<UnreadToggle>,
}

/// A toggle with other targeting than was last applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct DriftedToggle {
    /// The applied document.
    pub applied: Version,
    /// The newest change on the service.
    pub live: LiveChange,
    /// The comment of that change, if it could be read.
    pub comment: Option<String>,
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
    /// Its targeting in this environment.
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

/// What the service has of a toggle that differs from what was applied.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum LiveDifference {
    /// No such toggle.
    Missing,
    /// Other targeting.
    Other(Box<LiveChange>),
}

/// The toggles that differ from what was applied and may be published again.
pub type LiveDifferences = BTreeMap<ToggleId, LiveDifference>;

impl DriftReport {
    /// Returns the differences that a publish of the document ends.
    pub fn differences(&self) -> LiveDifferences {
        let drifted = self.drifted.iter().map(|drifted| {
            let live = Box::new(drifted.live.clone());
            (drifted.applied.id.clone(), LiveDifference::Other(live))
        });
        let is_gone = |missing: &&MissingToggle| missing.is_gone();
        let missing = self.missing.iter().filter(is_gone);
        let missing = missing.map(|missing| (missing.id.clone(), LiveDifference::Missing));
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
            (self.archived.len(), "archived"),
            (self.undocumented.len(), "without a document"),
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
        self.drifted.is_empty() && self.missing.is_empty() && self.unread.is_empty() && self.drafts.is_empty()
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
        self.drifted.sort_by(|a, b| a.applied.id.cmp(&b.applied.id));
        self.missing.sort_by(|a, b| a.id.cmp(&b.id));
        self.undocumented.sort();
        self.drafts.sort_by(|a, b| a.id.cmp(&b.id));
        self.archived.sort();
        self.unread.sort_by(|a, b| a.id.cmp(&b.id));
    }

    /// Returns the facts on toggles that differ from what was applied, by toggle.
    pub fn facts(&self, on_missing: OnMissing) -> BTreeMap<ToggleId, Hold> {
        let drifted = self.drifted.iter().map(|drifted| {
            let fact = hold::drift(&drifted.live, format!("{drifted}: {}", drifted.live.ways_out()));
            (drifted.applied.id.clone(), fact)
        });
        let missing = self.missing.iter().filter(|missing| missing.applied.is_some());
        let missing = missing.map(|missing| {
            let may_create = missing.is_gone() && on_missing == OnMissing::Create;
            (missing.id.clone(), hold::gone(missing.advice(), may_create))
        });
        drifted.chain(missing).collect()
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

    /// Returns the comment of the change without white space around it, unless it is blank.
    pub(crate) fn shown_comment(&self) -> Option<&str> {
        let comment = self.comment.as_deref().map(str::trim);
        comment.filter(|comment| !comment.is_empty())
    }
}

impl fmt::Display for DriftedToggle {
    /// Formats who changed the toggle and when, with the comment.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "changed on the service: {}", self.live)?;
        match self.shown_comment() {
            None => Ok(()),
            Some(comment) => write!(f, ", with the comment \"{}\"", escaped(comment)),
        }
    }
}

impl MissingToggle {
    /// Returns whether the toggle was applied and the service does not have it anymore.
    pub fn is_gone(&self) -> bool {
        self.applied.is_some() && self.lack == Lack::Toggle
    }

    /// Returns what the service lacks of an applied toggle, and what to do.
    fn advice(&self) -> String {
        match self.lack {
            Lack::Targeting => {
                "the toggle exists on the service, but has no targeting in this environment: restore that there".to_owned()
            }
            Lack::Toggle => format!(
                "the service does not have the toggle anymore: create it there, have it created from its document with \
                 `gitoggle apply --overwrite-drift --on-missing create --only {}`, or remove its document",
                self.id
            ),
        }
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
