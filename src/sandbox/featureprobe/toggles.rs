//! Toggles: their lists, their templates, and archiving.

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::content::VARIATIONS;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::paging::PageRequest;
use super::shape::Shape;
use super::state::{StoredEnvironment, StoredProject, StoredToggle, World, newest_first, present};
use super::targeting;

const TOGGLE: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("key", Shape::Text),
    ("returnType", Shape::Text),
    ("disabledServe", Shape::Integer),
    ("desc", Shape::Text),
    ("variations", VARIATIONS),
    ("clientAvailability", Shape::Bool),
    ("tags", Shape::List(&Shape::Text)),
    ("permanent", Shape::Bool),
]);

/// `GET /projects/{p}/toggles`: only with an environment does it show what is live there.
pub(super) fn list(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let found = world.projects.get(project);
    let mut toggles: Vec<_> = found
        .into_iter()
        .flat_map(|project| project.toggles.iter())
        .collect();
    newest_first(&mut toggles, |toggle| toggle.created);
    let Some(key) = call.parameter("environmentKey") else {
        toggles.retain(|toggle| !toggle.archived);
        return page.of_list(&toggles, |toggle| Ok(present(item(toggle))));
    };
    let environment = found.and_then(|project| project.environment(&key));
    let environment = environment.ok_or_else(|| ApiRefusal::not_found("Environment", key))?;
    let archived = call.typed("archived")?.unwrap_or(false);
    toggles.retain(|toggle| toggle.archived == archived);
    page.of_list(&toggles, |toggle| live_item(toggle, environment))
}

fn item(toggle: &StoredToggle) -> Value {
    json!({
        "name": toggle.name,
        "key": toggle.key,
        "permanent": toggle.permanent,
        "returnType": toggle.return_type,
        "desc": toggle.description,
        "modifiedTime": dates::written(toggle.modified),
        "modifiedBy": toggle.modified_by,
        "locked": false,
    })
}

fn live_item(toggle: &StoredToggle, environment: &StoredEnvironment) -> ApiAnswer {
    // The service does not expect that there is none.
    let targeting = environment
        .targetings
        .get(&toggle.key)
        .ok_or(ApiRefusal::INTERNAL)?;
    let mut item = item(toggle);
    item["disabled"] = targeting.disabled.into();
    item["releaseStatus"] = targeting.release_status.into();
    if let Some(draft) = &targeting.draft {
        item["locked"] = true.into();
        item["lockedBy"] = json!(draft.submitted_by);
        item["lockedTime"] = dates::written(draft.submitted).into();
    }
    Ok(present(item))
}

/// `GET /projects/{p}/toggles/{t}`, also for an archived one.
pub(super) fn read(world: &World, project: &str, key: &str) -> ApiAnswer {
    let project = world.projects.get(project);
    let toggle = project.and_then(|project| project.toggles.get(key));
    toggle
        .map(written)
        .ok_or_else(|| ApiRefusal::not_found("Toggle", key))
}

/// `POST /projects/{p}/toggles`.
pub(super) fn create(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
    let request = call.json(&TOGGLE)?;
    let (name, key) = name_and_key(&request)?;
    let needed = ["returnType", "clientAvailability", "disabledServe"];
    let has_variations = request["variations"]
        .as_array()
        .is_some_and(|list| !list.is_empty());
    if !has_variations || needed.iter().any(|name| request[*name].is_null()) {
        return Err(ApiRefusal::UNREADABLE);
    }
    if request["tags"].is_null() {
        return Err(ApiRefusal::InvalidText(
            "Parameter value must not be null".to_owned(),
        ));
    }
    let project = world.project_mut(project)?;
    if project.toggles.get(key).is_some() || project.toggles.iter().any(|toggle| toggle.name == name) {
        return Err(ApiRefusal::Conflict);
    }
    let toggle = StoredToggle {
        key: key.to_owned(),
        name: name.to_owned(),
        description: request["desc"].as_str().map(ToOwned::to_owned),
        return_type: request["returnType"].as_str().unwrap_or_default().to_owned(),
        variations: request["variations"].clone(),
        disabled_serve: request["disabledServe"].clone(),
        permanent: request["permanent"] == true,
        client_availability: request["clientAvailability"] == true,
        archived: false,
        created: call.at,
        modified: dates::kept(call.at),
        modified_by: call.account.clone(),
    };
    targeting::create_everywhere(project, &toggle, call);
    Ok(written(project.toggles.add(key, toggle)))
}

/// `PATCH /projects/{p}/toggles/{t}/offline` and `/restore`.
pub(super) fn archive(world: &mut World, call: &Call, project: &str, key: &str, archived: bool) -> ApiAnswer {
    let project: &mut StoredProject = world.project_mut(project)?;
    let toggle = project
        .toggles
        .get_mut(key)
        .filter(|toggle| toggle.archived != archived);
    let toggle = toggle.ok_or_else(|| ApiRefusal::not_found("Toggle", key))?;
    toggle.archived = archived;
    toggle.modified = dates::kept(call.at);
    toggle.modified_by.clone_from(&call.account);
    let answer = written(toggle);
    project.raise_all();
    Ok(answer)
}

fn written(toggle: &StoredToggle) -> Value {
    present(json!({
        "name": toggle.name,
        "key": toggle.key,
        "permanent": toggle.permanent,
        "returnType": toggle.return_type,
        "disabledServe": toggle.disabled_serve,
        "archived": toggle.archived,
        "desc": toggle.description,
        "variations": toggle.variations,
        "clientAvailability": toggle.client_availability,
        // The sandbox keeps no tags, and the service drops the names that it does not know.
        "tags": [],
        "createdTime": dates::written(dates::kept(toggle.created)),
        "modifiedTime": dates::written(toggle.modified),
        "modifiedBy": toggle.modified_by,
    }))
}
