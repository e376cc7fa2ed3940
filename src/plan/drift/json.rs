//! Renders a drift report as versioned JSON.

use serde::Serialize;

use super::{DriftReport, DriftedToggle, Lack};
use crate::model::{Content, LiveContent, Payload, ToggleId, rfc3339};

/// Returns the report, ready to serialize.
#[must_use]
pub fn drift_json(report: &DriftReport) -> DriftJson<'_> {
    DriftJson {
        version: 1,
        service: &report.service,
        summary: Summary {
            text: super::text::summary(report),
            has_drift: report.has_drift(),
            applied: report.applied,
            environments: report.environments.len(),
            drifted: report.drifted.len(),
            missing: report.missing.len(),
            unread: report.unread.len(),
            drafts: report.drafts.len(),
            archived: report.archived.len(),
            undocumented: report.undocumented.len(),
            in_sync: report.in_sync(),
        },
        drifted: report.drifted.iter().map(DriftedJson::of).collect(),
        missing: report
            .missing
            .iter()
            .map(|missing| MissingJson {
                toggle: &missing.id,
                lacks: match missing.lack {
                    Lack::Targeting => "targeting",
                    Lack::Toggle => "toggle",
                },
                applied: missing.applied.is_some(),
            })
            .collect(),
        unread: report
            .unread
            .iter()
            .map(|unread| UnreadJson {
                toggle: &unread.id,
                reason: &unread.reason,
            })
            .collect(),
        drafts: report
            .drafts
            .iter()
            .map(|draft| DraftJson {
                toggle: &draft.id,
                by: draft.by.as_deref(),
            })
            .collect(),
        archived: &report.archived,
        undocumented: &report.undocumented,
    }
}

/// A drift report as JSON, created by [`drift_json`].
#[derive(Debug, Serialize)]
pub struct DriftJson<'a> {
    version: u32,
    service: &'a str,
    summary: Summary,
    drifted: Vec<DriftedJson<'a>>,
    missing: Vec<MissingJson<'a>>,
    unread: Vec<UnreadJson<'a>>,
    drafts: Vec<DraftJson<'a>>,
    archived: &'a [ToggleId],
    undocumented: &'a [ToggleId],
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
    comment: Option<&'a str>,
    sentences: Vec<String>,
    applied: &'a Payload,
    /// The live targeting; absent if a document cannot express it.
    disabled: Option<bool>,
    content: Option<Content>,
    /// Why a document cannot express it.
    inexpressible: Option<&'a str>,
}

impl<'a> DriftedJson<'a> {
    pub(in crate::plan) fn of(drifted: &'a DriftedToggle) -> Self {
        let live = drifted.targeting();
        Self {
            toggle: &drifted.applied.id,
            path: &drifted.applied.path,
            version: drifted.live.version,
            by: drifted.live.by.as_deref(),
            at: drifted.live.at.map(rfc3339),
            comment: drifted.comment.as_deref(),
            sentences: drifted.sentences(),
            applied: &drifted.applied.payload,
            disabled: live.as_ref().map(|live| live.disabled),
            content: live.map(|live| live.content),
            inexpressible: match &drifted.live.content {
                LiveContent::Inexpressible(reason) => Some(reason),
                LiveContent::Known(_) => None,
            },
        }
    }
}

#[derive(Debug, Serialize)]
struct MissingJson<'a> {
    toggle: &'a ToggleId,
    lacks: &'static str,
    applied: bool,
}

#[derive(Debug, Serialize)]
struct UnreadJson<'a> {
    toggle: &'a ToggleId,
    reason: &'a str,
}

#[derive(Debug, Serialize)]
struct DraftJson<'a> {
    toggle: &'a ToggleId,
    by: Option<&'a str>,
}
