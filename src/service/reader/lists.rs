//! Reads lists of the service: projects, environments, toggles, and the versions in the payload for SDKs.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::{Certainty, EnvironmentId, Key, KeyError, OutcomeKind, ReturnType};
use crate::service::Outcome;
use crate::service::connection::Authorization;
use crate::service::reader::{ByKey, LiveReader, is_500, parse, refused};
use crate::transport::Secret;

/// The number of toggles of a page at the first attempt.
const PAGE: usize = 1_000;

/// The number of attempts to read a list that changes while it is read.
const ATTEMPTS: usize = 4;

/// The maximum number of requests of one attempt.
const MOST_PAGES: usize = 1_000;

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Listing<T> {
    /// The entries with valid keys.
    pub entries: Vec<T>,
    /// The keys that are not valid in a repository, sorted.
    pub invalid: Vec<InvalidKey>,
}

/// A key of the service that is not valid in a repository.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct InvalidKey {
    /// The service's text. Escape it in output.
    pub text: String,
    pub error: KeyError,
}

#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EnvironmentInfo {
    /// The key in the service's spelling.
    pub key: Key,
    pub needs_approval: bool,
    pub server_sdk_key: Option<Secret>,
}

/// A toggle as lists show it. What the service does not report is absent.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct ListedToggle {
    /// The key in the service's spelling.
    pub key: Key,
    /// Whether the live targeting is disabled.
    pub is_disabled: Option<bool>,
    /// Whether a draft awaits approval.
    pub is_locked: Option<bool>,
    pub is_archived: bool,
    /// The type of its values, if it is a known one.
    pub return_type: Option<ReturnType>,
}

impl LiveReader {
    pub async fn projects(&self) -> Result<Listing<Key>, Outcome> {
        let url = self.base_url().projects();
        let projects: Vec<WireProject> = self.json(url, "a list of projects").await?;
        Ok(listing(projects.into_iter().map(|WireProject { key }| (key, ())), |key, ()| key))
    }

    /// Returns the environments of a project; none if the project does not exist.
    pub async fn environments(&self, project: &Key) -> Result<Listing<EnvironmentInfo>, Outcome> {
        let url = self.base_url().environments(project.as_str());
        let environments: Vec<WireEnvironment> = self.json(url, "a list of environments").await?;
        let entries = environments.into_iter().map(|wire| (wire.key.clone(), wire));
        let listing = listing(entries, |key, wire| EnvironmentInfo {
            key,
            needs_approval: wire.enable_approval,
            server_sdk_key: wire.server_sdk_key.map(Secret::new),
        });
        self.keep_sdk_keys(project, &listing.entries);
        Ok(listing)
    }

    /// Returns the toggles of an environment that are not archived.
    ///
    /// # Errors
    /// The outcome of the read that failed. *Refused* if the environment does not exist, *busy* if the list
    /// changed during every attempt.
    pub async fn toggles(&self, environment: &EnvironmentId) -> Result<Listing<ListedToggle>, Outcome> {
        let (project, key) = (&environment.project, environment.environment.as_str());
        match self.paged(project, &[("environmentKey", key)]).await {
            Ok(toggles) => Ok(listing(toggles, |key, wire| listed_toggle(key, &wire))),
            // One toggle without a targeting in this environment fails the whole list. The list of the
            // project contains the same toggles, without their states.
            Err(failure) if is_500(&failure) => self.toggles_of_project(project).await,
            Err(failure) => Err(failure),
        }
    }

    /// Returns the toggles of a project that are not archived, without their states in any environment.
    pub async fn toggles_of_project(&self, project: &Key) -> Result<Listing<ListedToggle>, Outcome> {
        let toggles = self.paged(project, &[]).await?;
        Ok(listing(toggles, |key, wire| ListedToggle {
            is_disabled: None,
            is_locked: None,
            ..listed_toggle(key, &wire)
        }))
    }

    pub async fn archived(&self, environment: &EnvironmentId) -> Result<Listing<ListedToggle>, Outcome> {
        let filter = [("environmentKey", environment.environment.as_str()), ("archived", "true")];
        let toggles = self.paged(&environment.project, &filter).await?;
        Ok(listing(toggles, |key, wire| ListedToggle { is_archived: true, ..listed_toggle(key, &wire) }))
    }

    /// Reads all pages of a list of toggles until they are consistent.
    async fn paged(
        &self,
        project: &Key,
        filter: &[(&str, &str)],
    ) -> Result<BTreeMap<String, WireToggle>, Outcome> {
        let mut size = PAGE;
        for _ in 0..ATTEMPTS {
            let mut found = BTreeMap::new();
            let total = self.pages(project, filter, size, &mut found).await?;
            match total {
                Some(total) if found.len() == total => return Ok(found),
                // Next, one page that holds all of them, which is consistent: the service sorts by seconds of
                // creation, so the pages of toggles that were created together overlap at random.
                _ => size = size.max(total.unwrap_or_default().max(found.len()).saturating_add(PAGE)),
            }
        }
        let reason = format!(
            "the service's list of the toggles of `{project}` changed while it was read, in all of {ATTEMPTS} attempts"
        );
        Err(Outcome::new(OutcomeKind::Busy, Certainty::NotStored, reason))
    }

    /// Reads every page once. Returns the number of toggles, if the pages agree on it.
    async fn pages(
        &self,
        project: &Key,
        filter: &[(&str, &str)],
        size: usize,
        found: &mut BTreeMap<String, WireToggle>,
    ) -> Result<Option<usize>, Outcome> {
        let mut url = self.base_url().toggles(project.as_str());
        let mut totals = Vec::new();
        for index in 0..MOST_PAGES {
            url.query_pairs_mut()
                .clear()
                .extend_pairs(filter)
                .append_pair("pageIndex", &index.to_string())
                .append_pair("pageSize", &size.to_string());
            let page: WirePage<WireToggle> = self.json(url.clone(), "a page of toggles").await?;
            totals.push(page.total_elements);
            let is_last = page.content.is_empty() || index + 1 >= page.total_pages;
            found.extend(page.content.into_iter().map(|toggle| (toggle.key.clone(), toggle)));
            if is_last {
                break;
            }
        }
        totals.dedup();
        Ok(match totals[..] {
            [total] => Some(total),
            _ => None,
        })
    }
}

/// Separates the entries whose keys are valid from the others.
fn listing<W, T>(wire: impl IntoIterator<Item = (String, W)>, convert: impl Fn(Key, W) -> T) -> Listing<T> {
    let mut listing = Listing { entries: Vec::new(), invalid: Vec::new() };
    for (text, wire) in wire {
        match text.parse() {
            Ok(key) => listing.entries.push(convert(key, wire)),
            Err(error) => listing.invalid.push(InvalidKey { text, error }),
        }
    }
    listing
}

pub(super) fn listed_toggle(key: Key, wire: &WireToggle) -> ListedToggle {
    ListedToggle {
        key,
        is_disabled: wire.disabled,
        is_locked: wire.locked,
        is_archived: wire.archived,
        return_type: wire.return_type.as_deref().and_then(|text| text.parse().ok()),
    }
}

/// A page of a list. Its `pageable` is an object or a text, so it is not read.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WirePage<T> {
    pub(super) content: Vec<T>,
    pub(super) total_elements: usize,
    pub(super) total_pages: usize,
}

#[derive(Deserialize)]
pub(super) struct WireProject {
    pub(super) key: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireEnvironment {
    pub(super) key: String,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) enable_approval: bool,
    pub(super) server_sdk_key: Option<String>,
}

/// A toggle, alone or in a list.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireToggle {
    pub(super) key: String,
    pub(super) return_type: Option<String>,
    pub(super) disabled: Option<bool>,
    pub(super) locked: Option<bool>,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) archived: bool,
}

/// The targeting of a toggle: live, or that of a draft if `locked`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireTargeting {
    pub(super) version: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) locked: bool,
    #[serde(default, deserialize_with = "false_if_null")]
    pub(super) enable_approval: bool,
    pub(super) modified_by: Option<String>,
    pub(super) modified_time: Option<String>,
    pub(super) publish_time: Option<String>,
    pub(super) submit_by: Option<String>,
}

#[derive(Deserialize)]
pub(super) struct WireVersions {
    pub(super) versions: Vec<WireVersion>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct WireVersion {
    pub(super) version: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    pub(super) comment: Option<String>,
    pub(super) created_by: Option<String>,
    pub(super) created_time: Option<String>,
}

/// The payload of an environment for SDKs.
#[derive(Deserialize)]
pub(super) struct WirePayload {
    pub(super) version: u64,
    pub(super) toggles: BTreeMap<String, WireDelivered>,
}

#[derive(Deserialize)]
pub(super) struct WireDelivered {
    pub(super) version: Option<u64>,
}

fn false_if_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The versions of the toggles that SDKs get.
#[derive(Clone, Debug, Eq, PartialEq)]
pub enum PayloadVersions {
    /// The environment has the known version. Its toggles may have changed nevertheless, if the service lost
    /// an increment of that version.
    Unchanged,
    /// The environment has another version.
    Versions {
        version: u64,
        /// The live version of each delivered toggle. Archived toggles and those that are broken for SDKs are
        /// missing.
        toggles: ByKey<u64>,
    },
}

impl LiveReader {
    /// Returns the versions of the delivered toggles, unless the environment still has the version `known`.
    /// The service updates its payload up to 1.3 s after a publish.
    ///
    /// Lists the environments of the project if the SDK key is not known yet or was reset.
    ///
    /// # Errors
    /// The outcome of the read that failed. *Refused* if the service does not accept the SDK key, which does
    /// not concern the token.
    pub async fn payload_versions(
        &self,
        environment: &EnvironmentId,
        known: Option<u64>,
    ) -> Result<PayloadVersions, Outcome> {
        let mut rejected = None;
        if let Some(key) = self.kept_sdk_key(environment) {
            match self.payload(environment, &key, known).await? {
                Ok(versions) => return Ok(versions),
                Err(status) => rejected = Some((key, status)),
            }
        }
        self.environments(&environment.project).await?;
        let key = self.kept_sdk_key(environment).ok_or_else(|| {
            let reason =
                format!("the service does not list an environment `{environment}` with a server SDK key");
            Outcome::new(OutcomeKind::Refused, Certainty::NotStored, reason)
        })?;
        let versions = match rejected {
            Some((old, status)) if old == key => Err(status),
            _ => self.payload(environment, &key, known).await?,
        };
        versions.map_err(|status| {
            let reason =
                format!("the service responded with {status} to the server SDK key of `{environment}`");
            refused(status, reason)
        })
    }

    /// Asks for the payload. The inner error is the status with which the service rejected the SDK key.
    async fn payload(
        &self,
        environment: &EnvironmentId,
        key: &Secret,
        known: Option<u64>,
    ) -> Result<Result<PayloadVersions, u16>, Outcome> {
        let mut url = self.base_url().delivered_toggles();
        if let Some(version) = known {
            url.query_pairs_mut().append_pair("version", &version.to_string());
        }
        let authorization = Authorization::new("", key.clone()).map_err(|_| {
            let reason = format!("the server SDK key of `{environment}` is not valid in an HTTP header");
            Outcome::new(OutcomeKind::Refused, Certainty::NotStored, reason)
        })?;
        let received = self.get(url, authorization).await?;
        match received.status {
            406 if known.is_some() => return Ok(Ok(PayloadVersions::Unchanged)),
            // FeatureProbe's status for an unknown key depends on where it caches payloads.
            status @ (400 | 401 | 403 | 404) => return Ok(Err(status)),
            _ => {}
        }
        let payload: WirePayload = parse(&received, "a payload for SDKs")?;
        let toggles = payload.toggles.into_iter().filter_map(|(key, toggle)| {
            // A toggle with an invalid key cannot have a document.
            Some((key.parse().ok()?, toggle.version?))
        });
        Ok(Ok(PayloadVersions::Versions { version: payload.version, toggles: toggles.collect() }))
    }

    /// Keeps the SDK keys of a project for later scans.
    pub(super) fn keep_sdk_keys(&self, project: &Key, environments: &[EnvironmentInfo]) {
        let keys = environments
            .iter()
            .filter_map(|environment| Some((environment.key.clone(), environment.server_sdk_key.clone()?)));
        self.sdk_keys.lock().insert(project.clone(), keys.collect());
    }

    fn kept_sdk_key(&self, environment: &EnvironmentId) -> Option<Secret> {
        let kept = self.sdk_keys.lock();
        let of_project = kept.get(&environment.project)?;
        of_project.get(environment.environment.as_str()).cloned()
    }
}
