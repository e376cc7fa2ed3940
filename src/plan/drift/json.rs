//! Renders a drift report as versioned JSON.

use serde::Serialize;

use super::{DraftedToggle, DriftReport, DriftedToggle, MissingToggle, UnreadToggle};
use crate::model::{Content, LiveContent, Payload, ToggleId, rfc3339};

/// Returns the report, ready to serialize.
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
            in_sync: report.in_sync,
        },
        hint: report.hint,
        drifted: report.drifted.iter().map(DriftedJson::of).collect(),
        missing: &report.missing,
        unread: &report.unread,
        drafts: &report.drafts,
        archived: &report.archived,
        undocumented: &report.undocumented,
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
