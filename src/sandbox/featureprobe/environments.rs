//! Environments and their SDK keys.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{Keyed, StoredEnvironment, StoredProject, World};
use super::{content, sdk, targeting, tokens};

const NEW: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("key", Shape::Text),
    ("copyFrom", Shape::Text),
]);

const UPDATE: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("resetServerSdk", Shape::Bool),
    ("resetClientSdk", Shape::Bool),
]);

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

/// `GET /projects/{p}/environments/{e}`.
pub(super) fn read(world: &World, project: &str, key: &str) -> ApiAnswer {
    let environment = world
        .project(project)
        .ok()
        .and_then(|project| project.environment(key));
    environment
        .map(written)
        .ok_or_else(|| ApiRefusal::not_found("Environment", key))
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
    let mut contents: Vec<(String, Value, bool)> = Vec::new();
    match request["copyFrom"].as_str().filter(|from| !from.is_empty()) {
        Some(from) => {
            let from = project.environments.get(from);
            let targetings = from.into_iter().flat_map(|from| from.targetings.iter());
            contents.extend(targetings.map(|one| (one.key.clone(), one.content.clone(), one.disabled)));
        }
        None => contents.extend(project.toggles.iter().map(|toggle| {
            let content = content::initial(&toggle.variations, &toggle.disabled_serve);
            (toggle.key.clone(), content, true)
        })),
    }
    let environment = add(project, name, key, call);
    for (toggle, content, disabled) in contents {
        targeting::create(environment, &toggle, content, disabled, call);
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
            server_key: tokens::random("server-"),
            client_key: tokens::random("client-"),
            version: 1,
            is_cached: true,
            former_payloads: HashMap::new(),
            targetings: Keyed::default(),
        },
    )
}

/// `PATCH /projects/{p}/environments/{e}`.
pub(super) fn update(world: &mut World, call: &Call, project: &str, key: &str) -> ApiAnswer {
    let request = call.json(&UPDATE)?;
    let missing = || ApiRefusal::not_found("Environment", key);
    let found = world.projects.get_mut(project).ok_or_else(missing)?;
    let current = found.environment(key).ok_or_else(missing)?;
    let name = request["name"].as_str().unwrap_or(&current.name).to_owned();
    if name != current.name && found.environments.iter().any(|one| one.name == name) {
        return Err(ApiRefusal::Conflict);
    }
    let payload = sdk::payload(found, current);
    let environment = found.environments.get_mut(key).ok_or_else(missing)?;
    environment.name = name;
    if request["resetServerSdk"] == true {
        // The cache keeps the payload of the old key, and gets one for the new key with the next change.
        let former = std::mem::replace(&mut environment.server_key, tokens::random("server-"));
        environment.former_payloads.insert(former, payload);
        environment.is_cached = false;
    }
    if request["resetClientSdk"] == true {
        environment.client_key = tokens::random("client-");
    }
    Ok(written(environment))
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
