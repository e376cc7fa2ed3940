//! What the service keeps.
//!
//! Content is JSON and not one of gitoggle's own types, so that a mistake in how gitoggle reads or writes it is not
//! made here a second time.

use std::collections::HashMap;

use jiff::Timestamp;
use serde_json::Value;

use super::exchange::{ApiRefusal, kept};

/// A list in order of creation whose keys fold case, as the service's database does.
pub(super) struct Keyed<T> {
    items: Vec<T>,
    places: HashMap<String, usize>,
}

impl<T> Default for Keyed<T> {
    fn default() -> Self {
        Self { items: Vec::new(), places: HashMap::new() }
    }
}

impl<T> Keyed<T> {
    pub(super) fn get(&self, key: &str) -> Option<&T> {
        self.items.get(*self.places.get(&folded(key))?)
    }

    pub(super) fn get_mut(&mut self, key: &str) -> Option<&mut T> {
        self.items.get_mut(*self.places.get(&folded(key))?)
    }

    /// Adds an item whose key is free.
    pub(super) fn add(&mut self, key: &str, item: T) -> &mut T {
        self.places.insert(folded(key), self.items.len());
        self.items.push(item);
        self.items.last_mut().expect("an item was just added")
    }

    pub(super) fn remove(&mut self, key: &str) {
        if let Some(place) = self.places.remove(&folded(key)) {
            self.items.remove(place);
            for later in self.places.values_mut().filter(|other| **other > place) {
                *later -= 1;
            }
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &T> {
        self.items.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.items.iter_mut()
    }
}

fn folded(key: &str) -> String {
    key.to_lowercase()
}

/// Everything that the service keeps.
pub(super) struct World {
    pub(super) projects: Keyed<StoredProject>,
    /// By token.
    pub(super) accounts: HashMap<String, String>,
    /// A publish forgets to raise its environment's version, as two at the same time can.
    pub(super) loses_increment: bool,
}

pub(super) struct StoredProject {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) created: Timestamp,
    pub(super) environments: Keyed<StoredEnvironment>,
    pub(super) toggles: Keyed<StoredToggle>,
    pub(super) segments: Keyed<StoredSegment>,
}

pub(super) struct StoredEnvironment {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) created: Timestamp,
    pub(super) archived: bool,
    pub(super) approval: bool,
    pub(super) reviewers: Vec<String>,
    pub(super) server_key: String,
    pub(super) client_key: String,
    pub(super) version: u64,
    pub(super) targetings: Keyed<StoredTargeting>,
}

pub(super) struct StoredToggle {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: Option<String>,
    pub(super) return_type: String,
    pub(super) variations: Value,
    pub(super) disabled_serve: Value,
    pub(super) permanent: bool,
    pub(super) client_availability: bool,
    pub(super) archived: bool,
    pub(super) created: Timestamp,
    pub(super) modified: Timestamp,
    pub(super) modified_by: String,
}

pub(super) struct StoredSegment {
    pub(super) key: String,
    pub(super) name: String,
    pub(super) description: String,
    pub(super) rules: Value,
    pub(super) version: u64,
    pub(super) created: Timestamp,
    pub(super) modified: Timestamp,
    pub(super) modified_by: String,
}

/// A toggle's targeting in one environment.
pub(super) struct StoredTargeting {
    /// The toggle.
    pub(super) key: String,
    pub(super) disabled: bool,
    pub(super) content: Value,
    pub(super) version: u64,
    pub(super) release_status: &'static str,
    pub(super) published: Timestamp,
    pub(super) modified: Timestamp,
    pub(super) modified_by: String,
    /// Oldest first.
    pub(super) versions: Vec<StoredVersion>,
    /// The newest one.
    pub(super) draft: Option<StoredDraft>,
}

pub(super) struct StoredVersion {
    pub(super) version: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    pub(super) comment: String,
    pub(super) created: Timestamp,
    pub(super) created_by: String,
}

pub(super) struct StoredDraft {
    pub(super) base: u64,
    pub(super) disabled: bool,
    pub(super) content: Value,
    pub(super) reviewers: Vec<String>,
    pub(super) submitted_by: String,
    pub(super) submitted: Timestamp,
}

impl World {
    pub(super) fn new() -> Self {
        Self { projects: Keyed::default(), accounts: HashMap::new(), loses_increment: false }
    }

    pub(super) fn project(&self, key: &str) -> Result<&StoredProject, ApiRefusal> {
        let project = self.projects.get(key);
        project.ok_or_else(|| ApiRefusal::not_found("Project", key))
    }

    pub(super) fn project_mut(&mut self, key: &str) -> Result<&mut StoredProject, ApiRefusal> {
        let project = self.projects.get_mut(key);
        project.ok_or_else(|| ApiRefusal::not_found("Project", key))
    }

    /// Returns the environment, which is not archived, as the targeting endpoints look it up.
    pub(super) fn environment(&self, project: &str, key: &str) -> Result<&StoredEnvironment, ApiRefusal> {
        let found = self.projects.get(project).and_then(|project| project.environment(key));
        found.ok_or_else(|| ApiRefusal::not_found("Environment", format!("{project}-{key}")))
    }

    pub(super) fn environment_mut(
        &mut self,
        project: &str,
        key: &str,
    ) -> Result<&mut StoredEnvironment, ApiRefusal> {
        let found = self.projects.get_mut(project);
        found
            .and_then(|project| project.environments.get_mut(key))
            .filter(|environment| !environment.archived)
            .ok_or_else(|| ApiRefusal::not_found("Environment", format!("{project}-{key}")))
    }
}

impl StoredProject {
    pub(super) fn environment(&self, key: &str) -> Option<&StoredEnvironment> {
        self.environments.get(key).filter(|environment| !environment.archived)
    }

    /// Removes a toggle with its targetings.
    pub(super) fn delete_toggle(&mut self, key: &str) {
        self.toggles.remove(key);
        for environment in self.environments.iter_mut() {
            environment.targetings.remove(key);
        }
        self.raise_all();
    }

    /// Raises the version of every environment.
    pub(super) fn raise_all(&mut self) {
        self.environments.iter_mut().for_each(StoredEnvironment::raise);
    }
}

impl StoredEnvironment {
    /// Raises the version, which SDKs compare with theirs.
    pub(super) fn raise(&mut self) {
        self.version += 1;
    }
}

impl StoredTargeting {
    /// Stores the current values as a version.
    pub(super) fn record(&mut self, comment: &str) {
        self.versions.push(StoredVersion {
            version: self.version,
            disabled: self.disabled,
            content: self.content.clone(),
            comment: comment.to_owned(),
            created: kept(self.modified),
            created_by: self.modified_by.clone(),
        });
    }
}

/// Sorts as the service does: the newest second first, and within a second in order of creation.
pub(super) fn newest_first<T>(items: &mut [&T], created: impl Fn(&T) -> Timestamp) {
    items.sort_by_key(|item| std::cmp::Reverse(kept(created(item))));
}

/// Returns the object without its null members, as the service writes it.
pub(super) fn present(mut object: Value) -> Value {
    if let Value::Object(members) = &mut object {
        members.retain(|_, value| !value.is_null());
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_remains_after_a_removal_is_found() {
        let mut keyed = Keyed::default();
        for key in ["a", "B", "c"] {
            keyed.add(key, key);
        }
        keyed.remove("b");
        keyed.remove("nothing");
        assert_eq!((keyed.get("A"), keyed.get("b"), keyed.get("C")), (Some(&"a"), None, Some(&"c")));
        keyed.add("b", "again");
        assert_eq!(keyed.iter().copied().collect::<Vec<_>>(), ["a", "c", "again"]);
    }
}
