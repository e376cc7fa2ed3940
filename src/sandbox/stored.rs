//! The documents that were published to the documented endpoint: as JSON, and for the page.

use std::sync::Arc;

use axum::extract::{Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use serde::Deserialize;

use super::answer::json;
use super::document::StoredDocument;
use super::page::{PageSource, ShownToggle, ShownVersion};
use super::shared::SandboxState;
use crate::model::ToggleId;

#[derive(Deserialize)]
pub(super) struct StoredQuery {
    /// Only this toggle.
    toggle: Option<String>,
    /// Only documents with a number that is not smaller.
    from: Option<usize>,
}

/// `GET /api/sandbox/history`: every document that was stored, in order.
pub(super) async fn history(
    State(state): State<Arc<SandboxState>>,
    Query(wanted): Query<StoredQuery>,
) -> Response {
    let StoredQuery { toggle, from } = wanted;
    let stored = state.request_log.stored();
    let is_wanted = |published: &&Arc<StoredDocument>| {
        let toggle = toggle.as_deref();
        toggle.is_none_or(|toggle| published.toggle.as_str() == toggle)
    };
    let wanted = stored.iter().skip(from.unwrap_or_default()).filter(is_wanted);
    let wanted: Vec<&StoredDocument> = wanted.map(AsRef::as_ref).collect();
    json(
        StatusCode::OK,
        serde_json::to_string(&wanted).expect("text and numbers always have a JSON form"),
    )
}

impl PageSource for SandboxState {
    fn toggles(&self) -> Vec<ShownToggle> {
        let newest = self.request_log.newest().into_iter();
        let shown = newest.map(|document| ShownToggle {
            changed: document.at,
            version_count: usize::try_from(document.version).unwrap_or(usize::MAX),
            id: document.toggle.to_string(),
        });
        shown.collect()
    }

    fn versions(&self, toggle: &str, most: usize) -> Vec<ShownVersion> {
        let Ok(toggle) = toggle.parse::<ToggleId>() else {
            return Vec::new();
        };
        let versions = self.request_log.versions(&toggle, most).into_iter();
        versions.map(|document| shown(&document)).collect()
    }
}

fn shown(document: &StoredDocument) -> ShownVersion {
    let content = serde_json::to_value(&document.body.content);
    ShownVersion {
        number: document.version,
        at: document.at,
        author: None,
        comment: document.body.comment.clone(),
        disabled: document.body.disabled,
        content: content.expect("text and numbers always have a JSON form"),
    }
}
