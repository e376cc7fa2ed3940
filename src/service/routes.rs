//! The address of everything that gitoggle asks a service for, one function each.
//!
//! The first is the documented endpoint, which every kind of service has. The others are FeatureProbe's
//! (src/service/featureprobe.md); only a kind of service that can be read is asked for them.

use url::Url;

use super::base_url::BaseUrl;
use crate::model::ToggleId;

impl BaseUrl {
    /// The targeting of a toggle: where it is published.
    pub fn targeting(&self, id: &ToggleId) -> Url {
        let (project, environment, toggle) = (id.project(), id.environment_key(), id.toggle());
        self.below(&["api", "projects", project, "environments", environment, "toggles", toggle, "targeting"])
    }

    pub(super) fn projects(&self) -> Url {
        self.below(&["api", "projects"])
    }

    pub(super) fn environments(&self, project: &str) -> Url {
        self.below(&["api", "projects", project, "environments"])
    }

    /// The toggles of a project: where they are listed, and where one is created.
    pub(super) fn toggles(&self, project: &str) -> Url {
        self.below(&["api", "projects", project, "toggles"])
    }

    pub(super) fn toggle(&self, project: &str, toggle: &str) -> Url {
        self.below(&["api", "projects", project, "toggles", toggle])
    }

    /// What an SDK with the key of an environment reads.
    pub(super) fn delivered_toggles(&self) -> Url {
        self.below(&["internal", "server", "toggles"])
    }
}
