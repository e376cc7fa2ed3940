//! Segments of users.

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::content::SEGMENT_RULES;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::paging::PageRequest;
use super::shape::Shape;
use super::state::{StoredProject, StoredSegment, World};

const SEGMENT: Shape = Shape::Object(&[
    ("name", Shape::Text),
    ("key", Shape::Text),
    ("description", Shape::Text),
]);

const PUBLISH: Shape = Shape::Object(&[
    ("rules", SEGMENT_RULES),
    ("comment", Shape::Text),
    ("baseVersion", Shape::Long),
]);

/// `GET /projects/{p}/segments`.
pub(super) fn list(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let keyword = call.parameter("keyword").unwrap_or_default().to_lowercase();
    let project = world.projects.get(project);
    let segments = project
        .into_iter()
        .flat_map(|project| project.segments.iter().map(move |one| (project, one)));
    let mut wanted: Vec<_> = segments
        .filter(|(_, segment)| !segment.deleted && segment.name.to_lowercase().contains(&keyword))
        .collect();
    wanted.sort_by_key(|(_, segment)| std::cmp::Reverse(dates::kept(segment.created)));
    page.of_list(&wanted, |(project, segment)| Ok(written(project, segment)))
}

/// `GET /projects/{p}/segments/{s}`.
pub(super) fn read(world: &World, project: &str, key: &str) -> ApiAnswer {
    let found = world.projects.get(project).and_then(|project| {
        let segment = project.segments.get(key).filter(|segment| !segment.deleted)?;
        Some(written(project, segment))
    });
    found.ok_or_else(|| ApiRefusal::not_found("Segment", key))
}

/// `POST /projects/{p}/segments`: a segment without rules.
pub(super) fn create(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
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
        deleted: false,
        created: call.at,
        modified: dates::kept(call.at),
        modified_by: call.account.name.clone(),
    };
    found.segments.add(key, segment);
    read(world, project, key)
}

/// `PATCH /projects/{p}/segments/{s}/publish`: absent rules clear them.
pub(super) fn publish(world: &mut World, call: &Call, project: &str, key: &str) -> ApiAnswer {
    let request = call.json(&PUBLISH)?;
    let found = world.project_mut(project)?;
    let segment = found.segments.get_mut(key).filter(|segment| !segment.deleted);
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
    segment.modified = dates::kept(call.at);
    segment.modified_by.clone_from(&call.account.name);
    found.raise_all();
    read(world, project, key)
}

/// `DELETE /projects/{p}/segments/{s}`, unless a targeting refers to it.
pub(super) fn delete(world: &mut World, project: &str, key: &str) -> ApiAnswer {
    let answer = read(world, project, key)?;
    let project = world.project_mut(project)?;
    let mut targetings = project.environments.iter().flat_map(|one| one.targetings.iter());
    if targetings.any(|targeting| refers_to(&targeting.content, key)) {
        return Err(ApiRefusal::Invalid("resource.error.using"));
    }
    if let Some(segment) = project.segments.get_mut(key) {
        segment.deleted = true;
    }
    Ok(answer)
}

fn refers_to(content: &Value, key: &str) -> bool {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    list(&content["rules"])
        .iter()
        .flat_map(|rule| list(&rule["conditions"]))
        .any(|condition| {
            condition["type"] == "segment" && list(&condition["objects"]).iter().any(|object| object == key)
        })
}

fn written(project: &StoredProject, segment: &StoredSegment) -> Value {
    json!({
        "name": segment.name,
        "key": segment.key,
        "rules": segment.rules,
        "description": segment.description,
        "projectKey": project.key,
        "createdTime": dates::written(dates::kept(segment.created)),
        "modifiedTime": dates::written(segment.modified),
        "modifiedBy": segment.modified_by,
        "version": segment.version,
    })
}
