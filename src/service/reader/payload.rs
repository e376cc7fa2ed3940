//! Reads the versions in the payload for SDKs, with the SDK key of an environment.

use super::wire::WirePayload;
use super::{ByKey, EnvironmentInfo, LiveReader, parse, refused};
use crate::model::{Certainty, EnvironmentId, Key, OutcomeKind};
use crate::service::Outcome;
use crate::service::connection::Authorization;
use crate::transport::Secret;

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
