//! What the service keeps.
//!
//! Content is JSON and not one of gitoggle's own types, so that a mistake in how gitoggle reads or writes it
//! is not made here a second time.

use std::collections::{BTreeMap, HashMap};

use axum::http::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::exchange::{ApiRefusal, ApiReply, Call, kept};
use crate::sandbox::featureprobe;

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

/// The data that a service starts with, unless there is a file with other data.
///
/// Names default to keys, and everything but keys, return types and variations may be left out. `targeting`
/// has, for each environment, the body of a publish or a list of them. A project without environments has one,
/// `online`.
pub(super) const SAMPLE: &str = include_str!("sample.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InitialData {
    projects: Vec<InitialProject>,
}

/// As JSON, it is the body of the request that makes it.
#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialProject {
    key: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default, skip_serializing)]
    environments: Vec<InitialEnvironment>,
    #[serde(default, skip_serializing)]
    segments: Vec<InitialSegment>,
    #[serde(default, skip_serializing)]
    toggles: Vec<InitialToggle>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialEnvironment {
    key: String,
    name: Option<String>,
    #[serde(default, skip_serializing)]
    enable_approval: bool,
    #[serde(default, skip_serializing)]
    reviewers: Vec<String>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialSegment {
    key: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default, skip_serializing)]
    rules: Vec<Value>,
}

#[derive(Deserialize, Serialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialToggle {
    key: String,
    name: Option<String>,
    desc: Option<String>,
    return_type: String,
    variations: Value,
    #[serde(default)]
    disabled_serve: u32,
    #[serde(default)]
    client_availability: bool,
    #[serde(default)]
    permanent: bool,
    /// The service does not create a toggle without them.
    #[serde(skip_deserializing)]
    tags: [(); 0],
    #[serde(default, skip_serializing)]
    archived: bool,
    /// By environment: the bodies of its publishes.
    #[serde(default, skip_serializing)]
    targeting: BTreeMap<String, OneOrMany>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    Many(Vec<Value>),
    One(Value),
}

/// Fills an empty world. The requests are those that a person would make, so that the data is what the
/// service accepts.
pub(super) fn load(world: &mut World, text: &str, at: Timestamp) -> Result<(), String> {
    let InitialData { projects } = serde_json::from_str(text).map_err(|error| error.to_string())?;
    let mut loader = Loader { world, at };
    projects.iter().try_for_each(|project| loader.project(project))
}

struct Loader<'a> {
    world: &'a mut World,
    at: Timestamp,
}

impl Loader<'_> {
    fn request(&mut self, method: Method, path: String, body: &Value) -> Result<(), String> {
        let call = Call::by_admin(method, path, body, self.at);
        let reply = ApiReply::new(featureprobe::as_account(self.world, &call), &call);
        if reply.status.is_success() {
            return Ok(());
        }
        Err(format!("{} {} was answered {}: {}", call.method, call.path(), reply.status, reply.body))
    }

    fn create(&mut self, path: String, resource: &impl Serialize) -> Result<(), String> {
        let mut body = serde_json::to_value(resource).map_err(|error| error.to_string())?;
        if body["name"].is_null() {
            body["name"] = body["key"].clone();
        }
        self.request(Method::POST, path, &body)
    }

    fn patch(&mut self, path: String, body: &Value) -> Result<(), String> {
        self.request(Method::PATCH, path, body)
    }

    fn project(&mut self, project: &InitialProject) -> Result<(), String> {
        let path = &format!("/api/projects/{}", project.key);
        self.create("/api/projects".to_owned(), project)?;
        for environment in &project.environments {
            self.environment(path, environment)?;
        }
        // Every project begins with this environment.
        let is_unwanted = project.environments.iter().all(|one| one.key != "online");
        if is_unwanted && !project.environments.is_empty() {
            self.patch(format!("{path}/environments/online/offline"), &Value::Null)?;
        }
        for segment in &project.segments {
            self.create(format!("{path}/segments"), segment)?;
            if !segment.rules.is_empty() {
                let publish = format!("{path}/segments/{}/publish", segment.key);
                self.patch(publish, &json!({ "rules": segment.rules }))?;
            }
        }
        project.toggles.iter().try_for_each(|toggle| self.toggle(path, toggle))
    }

    fn environment(&mut self, path: &str, environment: &InitialEnvironment) -> Result<(), String> {
        if environment.key != "online" {
            self.create(format!("{path}/environments"), environment)?;
        }
        let setting = json!({
            "environmentKey": environment.key,
            "enable": environment.enable_approval,
            "reviewers": environment.reviewers,
        });
        let body = json!({ "approvalSettings": [setting] });
        self.patch(format!("{path}/approvalSettings"), &body)
    }

    fn toggle(&mut self, path: &str, toggle: &InitialToggle) -> Result<(), String> {
        let key = &toggle.key;
        self.create(format!("{path}/toggles"), toggle)?;
        for (environment, publishes) in &toggle.targeting {
            let publishes = match publishes {
                OneOrMany::Many(publishes) => publishes,
                OneOrMany::One(publish) => std::slice::from_ref(publish),
            };
            for publish in publishes {
                let path = format!("{path}/environments/{environment}/toggles/{key}/targeting");
                self.patch(path, publish)?;
            }
        }
        if toggle.archived {
            self.patch(format!("{path}/toggles/{key}/offline"), &Value::Null)
        } else {
            Ok(())
        }
    }
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
