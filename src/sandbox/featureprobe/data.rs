//! The data that a service starts with, as in `sample.json`.
//!
//! Names default to keys, and everything but keys, return types and variations may be left out. `targeting` has, for
//! each environment, the body of a publish or a list of them. A project without environments has one, `online`.

use std::collections::BTreeMap;

use axum::http::Method;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::{Value, json};

use super::call::Call;
use super::reply::ApiReply;
use super::routes;
use super::state::World;

/// The data without a file of one's own.
pub(super) const SAMPLE: &str = include_str!("sample.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct InitialData {
    projects: Vec<InitialProject>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialProject {
    key: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    environments: Vec<InitialEnvironment>,
    #[serde(default)]
    segments: Vec<InitialSegment>,
    #[serde(default)]
    toggles: Vec<InitialToggle>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialEnvironment {
    key: String,
    name: Option<String>,
    #[serde(default)]
    enable_approval: bool,
    #[serde(default)]
    reviewers: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct InitialSegment {
    key: String,
    name: Option<String>,
    description: Option<String>,
    #[serde(default)]
    rules: Vec<Value>,
}

#[derive(Deserialize)]
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
    #[serde(default)]
    archived: bool,
    /// By environment: the bodies of its publishes.
    #[serde(default)]
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
    projects
        .into_iter()
        .try_for_each(|project| loader.project(project))
}

struct Loader<'a> {
    world: &'a mut World,
    at: Timestamp,
}

impl Loader<'_> {
    fn request(&mut self, method: Method, path: String, body: &Value) -> Result<(), String> {
        let call = Call::by_admin(method, path, body, self.at);
        let components = call.components();
        let path: Vec<&str> = components.iter().map(String::as_str).collect();
        let reply = ApiReply::new(routes::as_account(self.world, &call, &path[1..]), &call);
        if reply.status.is_success() {
            return Ok(());
        }
        Err(format!(
            "{} {} was answered {}: {}",
            call.method,
            call.path(),
            reply.status,
            reply.body
        ))
    }

    fn project(&mut self, project: InitialProject) -> Result<(), String> {
        let InitialProject {
            key,
            name,
            description,
            environments,
            segments,
            toggles,
        } = project;
        let path = format!("/api/projects/{key}");
        let body =
            json!({ "key": key, "name": name.unwrap_or_else(|| key.clone()), "description": description });
        self.request(Method::POST, "/api/projects".to_owned(), &body)?;
        let has_own = !environments.is_empty();
        let keeps_first = environments.iter().any(|environment| environment.key == "online");
        for environment in environments {
            self.environment(&path, environment)?;
        }
        // Every project begins with this environment.
        if has_own && !keeps_first {
            self.request(
                Method::PATCH,
                format!("{path}/environments/online/offline"),
                &Value::Null,
            )?;
        }
        for segment in segments {
            self.segment(&path, segment)?;
        }
        toggles
            .into_iter()
            .try_for_each(|toggle| self.toggle(&path, toggle))
    }

    fn environment(&mut self, path: &str, environment: InitialEnvironment) -> Result<(), String> {
        let InitialEnvironment {
            key,
            name,
            enable_approval,
            reviewers,
        } = environment;
        if key != "online" {
            let body = json!({ "key": key, "name": name.unwrap_or_else(|| key.clone()) });
            self.request(Method::POST, format!("{path}/environments"), &body)?;
        }
        let setting = json!({ "environmentKey": key, "enable": enable_approval, "reviewers": reviewers });
        let body = json!({ "approvalSettings": [setting] });
        self.request(Method::PATCH, format!("{path}/approvalSettings"), &body)
    }

    fn segment(&mut self, path: &str, segment: InitialSegment) -> Result<(), String> {
        let InitialSegment {
            key,
            name,
            description,
            rules,
        } = segment;
        let body =
            json!({ "key": key, "name": name.unwrap_or_else(|| key.clone()), "description": description });
        self.request(Method::POST, format!("{path}/segments"), &body)?;
        if rules.is_empty() {
            return Ok(());
        }
        let body = json!({ "rules": rules });
        self.request(Method::PATCH, format!("{path}/segments/{key}/publish"), &body)
    }

    fn toggle(&mut self, path: &str, toggle: InitialToggle) -> Result<(), String> {
        let InitialToggle {
            key,
            name,
            desc,
            return_type,
            variations,
            disabled_serve,
            client_availability,
            permanent,
            archived,
            targeting,
        } = toggle;
        let body = json!({
            "key": key,
            "name": name.unwrap_or_else(|| key.clone()),
            "desc": desc,
            "returnType": return_type,
            "variations": variations,
            "disabledServe": disabled_serve,
            "clientAvailability": client_availability,
            "permanent": permanent,
            "tags": [],
        });
        self.request(Method::POST, format!("{path}/toggles"), &body)?;
        for (environment, publishes) in targeting {
            let publishes = match publishes {
                OneOrMany::Many(publishes) => publishes,
                OneOrMany::One(publish) => vec![publish],
            };
            for publish in publishes {
                let path = format!("{path}/environments/{environment}/toggles/{key}/targeting");
                self.request(Method::PATCH, path, &publish)?;
            }
        }
        if archived {
            self.request(
                Method::PATCH,
                format!("{path}/toggles/{key}/offline"),
                &Value::Null,
            )?;
        }
        Ok(())
    }
}
