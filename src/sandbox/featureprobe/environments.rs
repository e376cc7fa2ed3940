//! Environments and their SDK keys.

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{Keyed, StoredEnvironment, StoredProject, World};
use super::{content, targeting};

const NEW: Shape = Shape::Object(&[("name", Shape::Text), ("key", Shape::Text)]);

/// `GET /projects/{p}/environments`: empty for an unknown project.
pub(super) fn list(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let archived = call.typed("archived")?.unwrap_or(false);
    let project = world.projects.get(project);
    let environments = project
        .into_iter()
        .flat_map(|project| project.environments.iter());
    Ok(environments
        .filter(|one| one.archived == archived)
        .map(written)
        .collect())
}

/// `POST /projects/{p}/environments`: every toggle gets a targeting in the new one.
pub(super) fn create(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
    let request = call.json(&NEW)?;
    let (name, key) = name_and_key(&request)?;
    // Neither case is expected by the service.
    let project = world.projects.get_mut(project).ok_or(ApiRefusal::INTERNAL)?;
    if project.environments.get(key).is_some() {
        return Err(ApiRefusal::INTERNAL);
    }
    let toggles = project.toggles.iter().map(|toggle| {
        let content = content::initial(&toggle.variations, &toggle.disabled_serve);
        (toggle.key.clone(), content)
    });
    let contents: Vec<(String, Value)> = toggles.collect();
    let environment = add(project, name, key, call);
    for (toggle, content) in contents {
        targeting::create(environment, &toggle, content, call);
    }
    Ok(written(environment))
}

/// Adds an environment without toggles.
pub(super) fn add<'a>(
    project: &'a mut StoredProject,
    name: &str,
    key: &str,
    call: &Call,
) -> &'a mut StoredEnvironment {
    project.environments.add(
        key,
        StoredEnvironment {
            key: key.to_owned(),
            name: name.to_owned(),
            created: call.at,
            archived: false,
            approval: false,
            reviewers: Vec::new(),
            server_key: random("server-"),
            client_key: random("client-"),
            version: 1,
            targetings: Keyed::default(),
        },
    )
}

/// `PATCH …/environments/{e}/offline` and `/restore`.
pub(super) fn archive(world: &mut World, project: &str, key: &str, archived: bool) -> ApiAnswer {
    let project = world.projects.get_mut(project);
    let environment = project
        .and_then(|project| project.environments.get_mut(key))
        .filter(|environment| environment.archived != archived)
        .ok_or_else(|| ApiRefusal::not_found("Environment", key))?;
    environment.archived = archived;
    Ok(written(environment))
}

pub(super) fn written(environment: &StoredEnvironment) -> Value {
    json!({
        "name": environment.name,
        "key": environment.key,
        "enableApproval": environment.approval,
        "serverSdkKey": environment.server_key,
        "clientSdkKey": environment.client_key,
    })
}

/// Returns a new random key.
fn random(prefix: &str) -> String {
    let digits = (0..40).map(|_| fastrand::digit(16));
    prefix.chars().chain(digits).collect()
}
