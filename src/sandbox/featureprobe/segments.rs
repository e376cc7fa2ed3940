//! Segments of users.

use serde_json::{Value, json};

use super::call::{Call, name_and_key};
use super::content::SEGMENT_RULES;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::paging::PageRequest;
use super::shape::Shape;
use super::state::{StoredSegment, World, newest_first};

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
    let found = world.projects.get(project).into_iter();
    let mut segments: Vec<_> = found.flat_map(|project| project.segments.iter()).collect();
    newest_first(&mut segments, |segment| segment.created);
    page.of_list(&segments, |segment| Ok(written(project, segment)))
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
        created: call.at,
        modified: dates::kept(call.at),
        modified_by: call.account.clone(),
    };
    Ok(written(project, found.segments.add(key, segment)))
}

/// `PATCH /projects/{p}/segments/{s}/publish`: absent rules clear them.
pub(super) fn publish(world: &mut World, call: &Call, project: &str, key: &str) -> ApiAnswer {
    let request = call.json(&PUBLISH)?;
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
    segment.modified = dates::kept(call.at);
    segment.modified_by.clone_from(&call.account);
    let answer = written(project, segment);
    found.raise_all();
    Ok(answer)
}

fn written(project: &str, segment: &StoredSegment) -> Value {
    json!({
        "name": segment.name,
        "key": segment.key,
        "rules": segment.rules,
        "description": segment.description,
        "projectKey": project,
        "createdTime": dates::written(dates::kept(segment.created)),
        "modifiedTime": dates::written(segment.modified),
        "modifiedBy": segment.modified_by,
        "version": segment.version,
    })
}
