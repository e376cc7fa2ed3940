//! Reads lists of the service: projects, environments and toggles.

use std::collections::BTreeMap;

use super::wire::{WireEnvironment, WirePage, WireProject, WireToggle};
use super::{LiveReader, is_500};
use crate::model::{Certainty, EnvironmentId, Key, KeyError, OutcomeKind, ReturnType};
use crate::service::Outcome;
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
