//! What the page shows of the service.

use super::api::Api;
use super::state::StoredVersion;
use super::targeting::TargetingPath;
use crate::sandbox::page::{PageSource, ShownToggle, ShownVersion};

impl PageSource for Api {
    fn toggles(&self) -> Vec<ShownToggle> {
        self.read(|world| {
            let mut shown = Vec::new();
            for project in world.projects.iter() {
                for environment in project.environments.iter().filter(|one| !one.archived) {
                    shown.extend(environment.targetings.iter().map(|targeting| ShownToggle {
                        id: format!("{}/{}/{}", project.key, environment.key, targeting.key),
                        changed: targeting.published,
                        version_count: targeting.versions.len(),
                    }));
                }
            }
            shown
        })
    }

    fn versions(&self, toggle: &str, most: usize) -> Vec<ShownVersion> {
        let mut parts = toggle.splitn(3, '/');
        let (Some(project), Some(environment), Some(toggle)) = (parts.next(), parts.next(), parts.next())
        else {
            return Vec::new();
        };
        let path = TargetingPath {
            project,
            environment,
            toggle,
        };
        self.read(|world| {
            let all = path.find(world).map_or(&[][..], |targeting| &targeting.versions);
            all[all.len().saturating_sub(most)..].iter().map(shown).collect()
        })
    }
}

fn shown(version: &StoredVersion) -> ShownVersion {
    ShownVersion {
        number: version.version,
        at: version.created,
        author: Some(version.created_by.clone()),
        comment: version.comment.clone(),
        disabled: version.disabled,
        content: version.content.clone(),
    }
}
