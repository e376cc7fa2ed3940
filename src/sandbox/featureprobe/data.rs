//! The data that a service starts with, as in `sample.json`.
//!
//! Names default to keys, and everything but keys, return types and variations may be left out. `targeting` has, for
//! each environment, the body of a publish or a list of them. A project without environments has one, `online`.

use std::collections::BTreeMap;

use axum::http::Method;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::exchange::ApiReply;
use super::exchange::Call;
use super::routes;
use super::store::World;

/// The data without a file of one's own.
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

/// Fills an empty world. The requests are those that a person would make, so that the data is what the service accepts.
///
/// # Errors
/// What is wrong with the text.
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
        let reply = ApiReply::new(routes::as_account(self.world, &call), &call);
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
