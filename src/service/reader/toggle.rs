//! Reads one toggle: whether it exists, its live targeting and its history.

use serde::de::IgnoredAny;
use serde_json::Value;
use url::Url;

use super::LiveReader;
use super::answer::refused;
use super::lists::{ListedToggle, listed_toggle};
use super::wire::{WirePage, WireTargeting, WireToggle, WireVersion, WireVersions};

use crate::document::from_service;
use crate::model::{Live, LiveContent, LiveDraft, LiveToggle, LiveVersion, ServiceKind, ToggleId};
use crate::service::Outcome;

impl LiveReader {
    /// Returns the toggle of a project, archived or not; `None` if the service does not have it.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn toggle(&self, id: &ToggleId) -> Result<Option<ListedToggle>, Outcome> {
        let url = self
            .base_url()
            .below(&["api", "projects", id.project(), "toggles", id.toggle()]);
        let wire: WireToggle = match self.json(url, "a toggle").await {
            Ok(wire) => wire,
            Err(Outcome::Refused { code: Some(code), .. }) if code == "not_found" => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match wire.key.parse() {
            Ok(key) => Ok(Some(listed_toggle(key, &wire))),
            Err(_) => Err(refused(
                200,
                format!("the service responded with another toggle than `{}`", id.toggle()),
            )),
        }
    }

    /// Returns the live state of the toggle `id`, which is `listed` on the service. Never returns a draft as live.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn live(&self, id: &ToggleId, listed: &ListedToggle) -> Result<Live, Outcome> {
        let url = self.base_url().targeting(id);
        let targeting: WireTargeting = match self.json(url, "a targeting").await {
            Ok(targeting) => targeting,
            Err(
                failure @ Outcome::Busy {
                    status: Some(500), ..
                },
            ) => {
                return self.without_targeting(id, failure).await;
            }
            Err(failure) => return Err(failure),
        };
        let is_locked = targeting.locked;
        let (shown, mut live) = live(targeting, listed);
        if is_locked {
            // The service shows the draft, with the number after the version on which it is based.
            let newest = self.newest_version(id, shown.saturating_sub(1)).await?;
            live.version = newest.version;
            live.content = newest.content;
            live.modified_by = newest.created_by;
            live.modified_at = newest.created_at;
        }
        Ok(Live::Toggle(Box::new(live)))
    }

    /// Returns the versions of a toggle from `first` on, newest first.
    ///
    /// # Errors
    /// The outcome of the read that failed.
    pub async fn versions_from(&self, id: &ToggleId, first: u64) -> Result<Vec<LiveVersion>, Outcome> {
        let url = self.below_targeting(id, &["versions", &first.to_string()]);
        let WireVersions { versions } = self.json(url, "a list of versions").await?;
        let mut versions: Vec<LiveVersion> = versions.into_iter().map(version).collect();
        versions.sort_by_key(|version| std::cmp::Reverse(version.version));
        Ok(versions)
    }

    async fn newest_version(&self, id: &ToggleId, first: u64) -> Result<LiveVersion, Outcome> {
        let versions = self.versions_from(id, first).await?;
        versions.into_iter().next().ok_or_else(|| {
            let reason = format!("the service has a draft of `{id}`, but no version from number {first} on");
            refused(200, reason)
        })
    }

    /// Finds out why the targeting of `id` is answered with `failure`, a 500.
    ///
    /// The service answers like that if the toggle or its targeting does not exist, but also if it is overloaded.
    async fn without_targeting(&self, id: &ToggleId, failure: Outcome) -> Result<Live, Outcome> {
        let mut url = self.below_targeting(id, &["versions"]);
        url.query_pairs_mut()
            .append_pair("pageIndex", "0")
            .append_pair("pageSize", "1");
        // Every targeting has a version from the beginning.
        match self.json::<WirePage<IgnoredAny>>(url, "a page of versions").await {
            Ok(page) if page.total_elements == 0 => {}
            Ok(_) | Err(_) => return Err(failure),
        }
        Ok(match self.toggle(id).await? {
            None => Live::Missing {
                needs_approval: false,
            },
            Some(_) => Live::Untargeted,
        })
    }

    fn below_targeting(&self, id: &ToggleId, rest: &[&str]) -> Url {
        let mut url = self.base_url().targeting(id);
        url.path_segments_mut()
            .expect("an https URL has a path")
            .extend(rest);
        url
    }
}

/// Returns the version that the service shows, and the state without regard to a draft's content.
fn live(targeting: WireTargeting, listed: &ListedToggle) -> (u64, LiveToggle) {
    let WireTargeting {
        version,
        disabled,
        content: wire,
        locked,
        enable_approval,
        modified_by,
        modified_time,
        publish_time,
        submit_by,
    } = targeting;
    let live = LiveToggle {
        version,
        content: content(disabled, &wire),
        modified_by,
        // A draft changes `modifiedTime`, too.
        modified_at: publish_time.or(modified_time).as_deref().and_then(seconds),
        draft: locked.then_some(LiveDraft {
            submitted_by: submit_by,
        }),
        is_archived: listed.is_archived,
        needs_approval: enable_approval,
        return_type: listed.return_type,
    };
    (version, live)
}

fn version(wire: WireVersion) -> LiveVersion {
    let WireVersion {
        version,
        disabled,
        content: wire,
        comment,
        created_by,
        created_time,
    } = wire;
    LiveVersion {
        version,
        content: content(disabled, &wire),
        comment: comment.unwrap_or_default(),
        created_by,
        created_at: created_time.as_deref().and_then(seconds),
    }
}

fn content(disabled: bool, wire: &Value) -> LiveContent {
    match from_service(ServiceKind::FeatureProbe, disabled, wire) {
        Ok(payload) => LiveContent::Known(payload),
        Err(reason) => LiveContent::Inexpressible(reason.to_string()),
    }
}

/// Parses a date of the service.
fn seconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>()
        .ok()
        .map(jiff::Timestamp::as_second)
}
