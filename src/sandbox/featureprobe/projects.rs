//! Projects with the approval settings of their environments; environments; segments of users.

use serde_json::{Value, json};

use super::content::{SEGMENT_RULES, initial};
use super::exchange::{ApiAnswer, ApiRefusal, Call, PageRequest, Shape, kept, name_and_key, timestamp};
use super::store::{Keyed, StoredEnvironment, StoredProject, StoredSegment, World, newest_first};
use super::toggles;

const PROJECT: Shape =
    Shape::Object(&[("name", Shape::Text), ("key", Shape::Text), ("description", Shape::Text)]);

const SETTINGS: Shape = Shape::Object(&[(
    "approvalSettings",
    Shape::List(&Shape::Object(&[
        ("environmentKey", Shape::Text),
        ("enable", Shape::Bool),
        ("reviewers", Shape::List(&Shape::Text)),
    ])),
)]);

/// `GET /projects`.
pub(super) fn list_projects(world: &World) -> Value {
    let mut projects: Vec<_> = world.projects.iter().collect();
    newest_first(&mut projects, |project| project.created);
    projects.into_iter().map(written_project).collect()
}

/// `POST /projects`: the new project has one environment.
pub(super) fn create_project(world: &mut World, call: &Call) -> ApiAnswer {
    let request = call.json(&PROJECT)?;
    let (name, key) = name_and_key(&request)?;
    if world.projects.get(key).is_some() || world.projects.iter().any(|project| project.name == name) {
        return Err(ApiRefusal::Conflict);
    }
    let project = world.projects.add(
        key,
        StoredProject {
            key: key.to_owned(),
            name: name.to_owned(),
            description: request["description"].as_str().unwrap_or_default().to_owned(),
            created: call.at,
            environments: Keyed::default(),
            toggles: Keyed::default(),
            segments: Keyed::default(),
        },
    );
    add_environment(project, "online", "online", call);
    Ok(written_project(project))
}

/// `GET /projects/{p}/approvalSettings`.
pub(super) fn approval_settings(world: &World, key: &str) -> ApiAnswer {
    let project = world.projects.get(key);
    let environments = project.into_iter().flat_map(|project| project.environments.iter());
    let settings = environments.filter(|one| !one.archived).map(|environment| {
        json!({
            "environmentKey": environment.key,
            "environmentName": environment.name,
            "enable": environment.approval,
            "reviewers": environment.reviewers,
            "locked": environment.targetings.iter().any(|one| one.draft.is_some()),
        })
    });
    Ok(settings.collect())
}

/// `PATCH /projects/{p}/approvalSettings`: environments that the list leaves out stay as they are.
pub(super) fn change_approval_settings(world: &mut World, call: &Call, key: &str) -> ApiAnswer {
    let request = call.json(&SETTINGS)?;
    let settings = request["approvalSettings"].as_array().ok_or(ApiRefusal::INTERNAL)?;
    if let Some(project) = world.projects.get_mut(key) {
        for setting in settings {
            let environment = setting["environmentKey"].as_str().unwrap_or_default();
            let Some(environment) = project.environments.get_mut(environment) else {
                continue;
            };
            environment.approval = setting["enable"].as_bool().unwrap_or(environment.approval);
            if let Some(reviewers) = setting["reviewers"].as_array() {
                let names = reviewers.iter().filter_map(Value::as_str);
                environment.reviewers = names.map(ToOwned::to_owned).collect();
            }
        }
    }
    approval_settings(world, key)
}

fn written_project(project: &StoredProject) -> Value {
    let mut environments: Vec<_> = project.environments.iter().filter(|one| !one.archived).collect();
    newest_first(&mut environments, |environment| environment.created);
    json!({
        "name": project.name,
        "key": project.key,
        "description": project.description,
        "environments": environments.into_iter().map(written_environment).collect::<Vec<_>>(),
    })
}

const NEW: Shape = Shape::Object(&[("name", Shape::Text), ("key", Shape::Text)]);

/// `GET /projects/{p}/environments`: empty for an unknown project.
pub(super) fn list_environments(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let archived = call.typed("archived")?.unwrap_or(false);
    let project = world.projects.get(project);
    let environments = project.into_iter().flat_map(|project| project.environments.iter());
    Ok(environments.filter(|one| one.archived == archived).map(written_environment).collect())
}

/// `POST /projects/{p}/environments`: every toggle gets a targeting in the new one.
pub(super) fn create_environment(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
    let request = call.json(&NEW)?;
    let (name, key) = name_and_key(&request)?;
    // Neither case is expected by the service.
    let project = world.projects.get_mut(project).ok_or(ApiRefusal::INTERNAL)?;
    if project.environments.get(key).is_some() {
        return Err(ApiRefusal::INTERNAL);
    }
    let toggles = project.toggles.iter().map(|toggle| {
        let content = initial(&toggle.variations, &toggle.disabled_serve);
        (toggle.key.clone(), content)
    });
    let contents: Vec<(String, Value)> = toggles.collect();
    let environment = add_environment(project, name, key, call);
    for (toggle, content) in contents {
        toggles::create_targeting(environment, &toggle, content, call);
    }
    Ok(written_environment(environment))
}

/// Adds an environment without toggles.
fn add_environment<'a>(
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
pub(super) fn archive_environment(world: &mut World, project: &str, key: &str, archived: bool) -> ApiAnswer {
    let project = world.projects.get_mut(project);
    let environment = project
        .and_then(|project| project.environments.get_mut(key))
        .filter(|environment| environment.archived != archived)
        .ok_or_else(|| ApiRefusal::not_found("Environment", key))?;
    environment.archived = archived;
    Ok(written_environment(environment))
}

fn written_environment(environment: &StoredEnvironment) -> Value {
    json!({
        "name": environment.name,
        "key": environment.key,
        "enableApproval": environment.approval,
        "serverSdkKey": environment.server_key,
        "clientSdkKey": environment.client_key,
    })
}

fn random(prefix: &str) -> String {
    let digits = (0..40).map(|_| fastrand::digit(16));
    prefix.chars().chain(digits).collect()
}

const SEGMENT: Shape =
    Shape::Object(&[("name", Shape::Text), ("key", Shape::Text), ("description", Shape::Text)]);

const PUBLISH_SEGMENT: Shape =
    Shape::Object(&[("rules", SEGMENT_RULES), ("comment", Shape::Text), ("baseVersion", Shape::Long)]);

/// `GET /projects/{p}/segments`.
pub(super) fn list_segments(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let found = world.projects.get(project).into_iter();
    let mut segments: Vec<_> = found.flat_map(|project| project.segments.iter()).collect();
    newest_first(&mut segments, |segment| segment.created);
    page.of_list(&segments, |segment| Ok(written_segment(project, segment)))
}

/// `POST /projects/{p}/segments`: a segment without rules.
pub(super) fn create_segment(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
    let request = call.json(&SEGMENT)?;
    let (name, key) = name_and_key(&request)?;
    let found = world.project_mut(project)?;
    if found.segments.get(key).is_some() || found.segments.iter().any(|segment| segment.name == name) {
        return Err(ApiRefusal::Conflict);
    }
    let segment = StoredSegment {
        key: key.to_owned(),
        name: name.to_owned(),
        description: request["description"].as_str().unwrap_or_default().to_owned(),
        rules: json!([]),
        version: 1,
        created: call.at,
        modified: kept(call.at),
        modified_by: call.account.clone(),
    };
    Ok(written_segment(project, found.segments.add(key, segment)))
}

/// `PATCH /projects/{p}/segments/{s}/publish`: absent rules clear them.
pub(super) fn publish_segment(world: &mut World, call: &Call, project: &str, key: &str) -> ApiAnswer {
    let request = call.json(&PUBLISH_SEGMENT)?;
    let found = world.project_mut(project)?;
    let segment = found.segments.get_mut(key);
    let segment = segment.ok_or_else(|| ApiRefusal::not_found("Segment", key))?;
    let base = request["baseVersion"].as_i64();
    if base.is_some_and(|base| u64::try_from(base) != Ok(segment.version)) {
        return Err(ApiRefusal::Invalid("validate.conflict_request"));
    }
    let rules = request.get("rules").cloned().unwrap_or_else(|| json!([]));
    if rules != segment.rules {
        segment.rules = rules;
        segment.version += 1;
    }
    segment.modified = kept(call.at);
    segment.modified_by.clone_from(&call.account);
    let answer = written_segment(project, segment);
    found.raise_all();
    Ok(answer)
}

fn written_segment(project: &str, segment: &StoredSegment) -> Value {
    json!({
        "name": segment.name,
        "key": segment.key,
        "rules": segment.rules,
        "description": segment.description,
        "projectKey": project,
        "createdTime": timestamp(kept(segment.created)),
        "modifiedTime": timestamp(segment.modified),
        "modifiedBy": segment.modified_by,
        "version": segment.version,
    })
}
