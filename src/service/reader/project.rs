//! Reads the toggles of a project and of an environment, with the state that is live.

use std::time::Duration;

use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;
use url::Url;

use crate::document::from_service;

use crate::model::{
    EnvironmentId, Key, Live, LiveContent, LiveDraft, LiveToggle, LiveVersion, ServiceKind, ToggleId,
};
use crate::service::reader::lists::{InvalidKey, ListedToggle, listed_toggle};
use crate::service::reader::wire::{WirePage, WireTargeting, WireToggle, WireVersion, WireVersions};
use crate::service::reader::{ByKey, LiveReader, is_500, refused};
use crate::service::{ErrorCode, Outcome};

/// The age at which a list is read again. A toggle that someone archives is held from then on.
const LIST_LIFE: Duration = Duration::from_secs(10);

/// A list that takes long to read is used for this many times as long, so that reading it takes little of a
/// pass.
const LIFE_PER_READ: u32 = 10;

/// The toggles of one project during one pass.
#[derive(Debug)]
pub struct ProjectReader {
    reader: LiveReader,
    project: Key,
    demand: ToggleDemand,
    // Locked while the list is read, so that workers who wait for it do not read it, too.
    list: Mutex<Option<KeptList>>,
}

/// How many toggles of a project a pass looks up.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ToggleDemand {
    /// One, perhaps in several environments. The toggle itself is read each time.
    One,
    /// Several. The list of all toggles of the project is read.
    Several,
}

#[derive(Debug)]
struct KeptList {
    toggles: ByKey<ListedToggle>,
    read_again_at: Instant,
}

impl ProjectReader {
    /// Returns a reader of `project` that has read nothing yet.
    pub fn new(reader: LiveReader, project: Key, demand: ToggleDemand) -> Self {
        Self { reader, project, demand, list: Mutex::default() }
    }

    /// Returns a toggle of this project at `now`, archived or not; `None` if the service does not have it. Of
    /// several toggles, one that was archived in the last 10 s, or in ten times the time that the list takes
    /// to read, may be returned as not archived.
    ///
    /// # Errors
    /// The outcome of the read that failed; the next call reads again.
    pub async fn find(&self, id: &ToggleId, now: Instant) -> Result<Option<ListedToggle>, Outcome> {
        if self.demand == ToggleDemand::Several {
            let mut list = self.list.lock().await;
            if list.as_ref().is_none_or(|list| list.read_again_at <= now) {
                *list = None;
                *list = Some(self.read(now).await?);
            }
            let listed = list.as_ref().and_then(|list| list.toggles.get(id.toggle()));
            if let Some(listed) = listed {
                return Ok(Some(listed.clone()));
            }
        }
        // Not kept: the toggle may be created or restored during the pass.
        self.reader.toggle(id).await
    }

    async fn read(&self, now: Instant) -> Result<KeptList, Outcome> {
        let started = Instant::now();
        let listing = self.reader.toggles_of_project(&self.project).await?;
        let toggles = listing.entries.into_iter();
        Ok(KeptList {
            toggles: toggles.map(|toggle| (toggle.key.clone(), toggle)).collect(),
            read_again_at: now + LIST_LIFE.max(started.elapsed() * LIFE_PER_READ),
        })
    }
}

/// The toggles of one environment during one pass. Reads their list once.
#[derive(Debug)]
pub struct EnvironmentReader {
    reader: LiveReader,
    environment: EnvironmentId,
    list: OnceCell<ToggleIndex>,
    needs_approval: OnceCell<bool>,
}

/// The toggles of an environment that are not archived.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ToggleIndex {
    pub toggles: ByKey<ListedToggle>,
    /// The keys that are not valid in a repository, sorted.
    pub invalid: Vec<InvalidKey>,
}

impl EnvironmentReader {
    /// Returns a reader of `environment` that has read nothing yet.
    pub fn new(reader: LiveReader, environment: EnvironmentId) -> Self {
        Self { reader, environment, list: OnceCell::new(), needs_approval: OnceCell::new() }
    }

    /// Returns the toggles that are not archived.
    ///
    /// # Errors
    /// The outcome of the read that failed; the next call reads again.
    pub async fn index(&self) -> Result<&ToggleIndex, Outcome> {
        self.list
            .get_or_try_init(|| async {
                let listing = self.reader.toggles(&self.environment).await?;
                let toggles = listing.entries.into_iter();
                Ok(ToggleIndex {
                    toggles: toggles.map(|toggle| (toggle.key.clone(), toggle)).collect(),
                    invalid: listing.invalid,
                })
            })
            .await
    }

    /// Returns a toggle of this environment, archived or not; `None` if the service does not have it.
    pub async fn find(&self, id: &ToggleId) -> Result<Option<ListedToggle>, Outcome> {
        if let Some(listed) = self.index().await?.toggles.get(id.toggle()) {
            return Ok(Some(listed.clone()));
        }
        // Not kept: the toggle may be created or restored during the pass.
        self.reader.toggle(id).await
    }

    pub async fn live(&self, id: &ToggleId) -> Result<Live, Outcome> {
        match self.find(id).await? {
            Some(listed) => self.live_of(id, &listed).await,
            None => self.missing().await,
        }
    }

    /// Returns the live state of the toggle `id`, which is `listed` on the service.
    pub async fn live_of(&self, id: &ToggleId, listed: &ListedToggle) -> Result<Live, Outcome> {
        match self.reader.live(id, listed).await? {
            Live::Missing { .. } => self.missing().await,
            live => Ok(live),
        }
    }

    /// Returns the live state of a toggle of this environment that the service does not have.
    ///
    /// # Errors
    /// The outcome of the read that failed. *Refused* if the environment does not exist: a toggle is not
    /// missing there, and must not be created.
    pub async fn missing(&self) -> Result<Live, Outcome> {
        let needs_approval = self.needs_approval.get_or_try_init(|| async {
            let listing = self.reader.environments(&self.environment.project).await?;
            let environments = listing.entries.into_iter();
            let environments: ByKey<bool> =
                environments.map(|found| (found.key, found.needs_approval)).collect();
            match environments.get(self.environment.environment.as_str()) {
                Some(needs_approval) => Ok(*needs_approval),
                None => {
                    // The service describes what is missing.
                    self.index().await?;
                    let reason = format!("the service does not list an environment `{}`", self.environment);
                    Err(refused(200, reason))
                }
            }
        });
        Ok(Live::Missing { needs_approval: *needs_approval.await? })
    }
}

impl LiveReader {
    /// Returns the toggle of a project, archived or not; `None` if the service does not have it.
    pub async fn toggle(&self, id: &ToggleId) -> Result<Option<ListedToggle>, Outcome> {
        let url = self.base_url().toggle(id.project(), id.toggle());
        let wire: WireToggle = match self.json(url, "a toggle").await {
            Ok(wire) => wire,
            Err(failure) if failure.is_refused_with(ErrorCode::Missing) => return Ok(None),
            Err(failure) => return Err(failure),
        };
        match wire.key.parse() {
            Ok(key) => Ok(Some(listed_toggle(key, &wire))),
            Err(_) => {
                Err(refused(200, format!("the service responded with another toggle than `{}`", id.toggle())))
            }
        }
    }

    /// Returns the live state of the toggle `id`, which is `listed` on the service. Never returns a draft as
    /// live.
    pub async fn live(&self, id: &ToggleId, listed: &ListedToggle) -> Result<Live, Outcome> {
        let url = self.base_url().targeting(id);
        let targeting: WireTargeting = match self.json(url, "a targeting").await {
            Ok(targeting) => targeting,
            Err(failure) if is_500(&failure) => {
                return self.without_targeting(id, failure).await;
            }
            Err(failure) => return Err(failure),
        };
        let is_locked = targeting.locked;
        let (shown, mut live) = live(self.kind(), id, targeting, listed);
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
    pub async fn versions_from(&self, id: &ToggleId, first: u64) -> Result<Vec<LiveVersion>, Outcome> {
        let url = self.below_targeting(id, &["versions", &first.to_string()]);
        let WireVersions { versions } = self.json(url, "a list of versions").await?;
        let mut versions: Vec<LiveVersion> =
            versions.into_iter().map(|wire| version(self.kind(), wire)).collect();
        versions.sort_unstable_by_key(|version| std::cmp::Reverse(version.version));
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
    /// The service answers like that if the toggle or its targeting does not exist, but also if it is
    /// overloaded.
    async fn without_targeting(&self, id: &ToggleId, failure: Outcome) -> Result<Live, Outcome> {
        let mut url = self.below_targeting(id, &["versions"]);
        url.query_pairs_mut().append_pair("pageIndex", "0").append_pair("pageSize", "1");
        // Every targeting has a version from the beginning.
        match self.json::<WirePage<IgnoredAny>>(url, "a page of versions").await {
            Ok(page) if page.total_elements == 0 => {}
            Ok(_) | Err(_) => return Err(failure),
        }
        Ok(match self.toggle(id).await? {
            None => Live::Missing { needs_approval: false },
            Some(_) => Live::Untargeted,
        })
    }

    fn below_targeting(&self, id: &ToggleId, rest: &[&str]) -> Url {
        let mut url = self.base_url().targeting(id);
        url.path_segments_mut().expect("an https URL has a path").extend(rest);
        url
    }
}

/// Returns the version that the service shows, and the state without regard to a draft's content.
fn live(
    kind: ServiceKind,
    id: &ToggleId,
    targeting: WireTargeting,
    listed: &ListedToggle,
) -> (u64, LiveToggle) {
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
        id: id.clone(),
        spelling: (listed.key.as_str() != id.toggle()).then(|| listed.key.to_string()),
        version,
        content: content(kind, disabled, &wire),
        modified_by,
        // A draft changes `modifiedTime`, too.
        modified_at: publish_time.or(modified_time).as_deref().and_then(seconds),
        draft: locked.then_some(LiveDraft { submitted_by: submit_by }),
        is_archived: listed.is_archived,
        needs_approval: enable_approval,
        return_type: listed.return_type,
        events: Vec::new(),
        has_earlier_events: false,
    };
    (version, live)
}

fn version(kind: ServiceKind, wire: WireVersion) -> LiveVersion {
    let WireVersion { version, disabled, content: wire, comment, created_by, created_time } = wire;
    LiveVersion {
        version,
        content: content(kind, disabled, &wire),
        comment: comment.unwrap_or_default(),
        created_by,
        created_at: created_time.as_deref().and_then(seconds),
    }
}

fn content(kind: ServiceKind, disabled: bool, wire: &Value) -> LiveContent {
    match from_service(kind, disabled, wire) {
        Ok(payload) => LiveContent::Known(payload),
        Err(reason) => LiveContent::Inexpressible(reason.to_string()),
    }
}

/// Parses a date of the service.
fn seconds(text: &str) -> Option<i64> {
    text.parse::<jiff::Timestamp>().ok().map(jiff::Timestamp::as_second)
}
