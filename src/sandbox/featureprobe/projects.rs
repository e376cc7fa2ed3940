//! Projects and the approval settings of their environments.

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::environments;
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{Keyed, StoredProject, World, newest_first};

const PROJECT: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("key", Shape::Text),
    ("description", Shape::Text),
]);

const SETTINGS: Shape = Shape::Object(&[(
    "approvalSettings",
    Shape::List(&Shape::Object(&[
        ("environmentKey", Shape::Text),
        ("enable", Shape::Bool),
        ("reviewers", Shape::List(&Shape::Text)),
    ])),
)]);

/// `GET /projects`.
pub(super) fn list(world: &World) -> Value {
    let mut projects: Vec<_> = world.projects.iter().collect();
    newest_first(&mut projects, |project| project.created);
    projects.into_iter().map(written).collect()
}

/// `POST /projects`: the new project has one environment.
pub(super) fn create(world: &mut World, call: &Call) -> ApiAnswer {
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
    environments::add(project, "online", "online", call);
    Ok(written(project))
}

/// `GET /projects/{p}/approvalSettings`.
pub(super) fn approval_settings(world: &World, key: &str) -> ApiAnswer {
    let project = world.projects.get(key);
    let environments = project
        .into_iter()
        .flat_map(|project| project.environments.iter());
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
    let settings = request["approvalSettings"]
        .as_array()
        .ok_or(ApiRefusal::INTERNAL)?;
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

fn written(project: &StoredProject) -> Value {
    let mut environments: Vec<_> = project.environments.iter().filter(|one| !one.archived).collect();
    newest_first(&mut environments, |environment| environment.created);
    json!({
        "name": project.name,
        "key": project.key,
        "description": project.description,
        "environments": environments.into_iter().map(environments::written).collect::<Vec<_>>(),
    })
}
