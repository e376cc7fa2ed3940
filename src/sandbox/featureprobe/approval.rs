//! Drafts that wait for approval.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::{AccountRole, Call};
use super::content::CONTENT;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{ApprovalRecord, StoredDraft, StoredTargeting, World, present};
use super::targeting::{TargetingPath, raise, response, store, touch};
use super::validation;

const PROPOSAL: Shape = Shape::Object(&[
    ("content", CONTENT),
    ("disabled", Shape::Bool),
    ("comment", Shape::Text),
]);

const DECISION: Shape = Shape::Object(&[("status", Shape::Text), ("comment", Shape::Text)]);

/// `POST T/approval`: proposes content, which is not merged with what is stored.
pub(super) fn submit(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let request = call.json(&PROPOSAL)?;
    let content = &request["content"];
    if let Some(project) = world.projects.get(path.project) {
        validation::check(content, &project.segments)?;
    }
    let environment = world.environment(path.project, path.environment)?;
    if let Some(sent) = content["prerequisites"]
        .as_array()
        .filter(|sent| !sent.is_empty())
    {
        validation::check_prerequisites(path.toggle, sent, Some(&environment.targetings))?;
    }
    if !environment.approval {
        return Err(ApiRefusal::Invalid("validate.approval.disable"));
    }
    let reviewers = environment.reviewers.clone();
    let targeting = path.find_mut(world)?;
    if targeting.release_status == "PENDING_APPROVAL" {
        return Err(ApiRefusal::Invalid("validate.approval.repeat"));
    }
    let disabled = request["disabled"].as_bool().ok_or(ApiRefusal::INTERNAL)?;
    let title = request["comment"].as_str().unwrap_or_default();
    if title.chars().count() > validation::LONGEST_COMMENT {
        return Err(ApiRefusal::INTERNAL);
    }
    targeting.release_status = "PENDING_APPROVAL";
    touch(targeting, call);
    targeting.draft = Some(StoredDraft {
        base: targeting.version,
        disabled,
        content: content.clone(),
        title: title.to_owned(),
        is_pending: true,
        record: ApprovalRecord {
            status: "PENDING",
            reviewers,
            submitted_by: call.account.name.clone(),
            submitted: dates::kept(call.at),
            approved_by: String::new(),
            comment: None,
            modified: dates::kept(call.at),
        },
    });
    described(targeting, call, path)
}

/// `PATCH T/approvalStatus`: a decision about the draft.
pub(super) fn decide(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let request = call.json(&DECISION)?;
    let targeting = path.find_mut(world)?;
    let Some(draft) = &mut targeting.draft else {
        return Err(ApiRefusal::Mute);
    };
    let (status, release_status) = match request["status"].as_str() {
        Some("PASS") => ("PASS", "PENDING_RELEASE"),
        Some("REJECT") => ("REJECT", "REJECT"),
        Some("REVOKE") => ("REVOKE", "RELEASE"),
        Some("JUMP") => ("JUMP", "RELEASE"),
        _ => return Err(ApiRefusal::INTERNAL),
    };
    let is_allowed = match status {
        "PASS" | "REJECT" => draft.record.reviewers.contains(&call.account.name),
        _ => call.account.role == AccountRole::Owner,
    };
    if draft.record.status != "PENDING" || !is_allowed {
        return Err(ApiRefusal::Mute);
    }
    let before = draft.record.clone();
    draft.record.status = status;
    draft.record.comment = request["comment"].as_str().map(ToOwned::to_owned);
    draft.record.approved_by.clone_from(&call.account.name);
    draft.record.modified = dates::kept(call.at);
    draft.is_pending &= status != "REVOKE";
    if status == "JUMP" {
        let published = publish(world, call, path);
        if let (Err(refusal), Some(draft)) = (published, &mut path.find_mut(world)?.draft) {
            draft.record = before;
            return Err(refusal);
        }
    }
    let targeting = path.find_mut(world)?;
    targeting.release_status = release_status;
    touch(targeting, call);
    described(targeting, call, path)
}

/// `PATCH T/sketch/publish`: publishes the newest draft if its record allows that, even once more.
pub(super) fn publish(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    world.environment(path.project, path.environment)?;
    let draft = path.find(world).and_then(|targeting| targeting.draft.as_ref());
    let Some(draft) = draft.filter(|draft| ["PASS", "JUMP"].contains(&draft.record.status)) else {
        return Ok(Value::Null);
    };
    let request = json!({
        "content": draft.content,
        "disabled": draft.disabled,
        "comment": draft.title,
    });
    let record = Arc::new(draft.record.clone());
    store(world, call, path, &request, Some(record))?;
    raise(world, path)?;
    let targeting = path.find_mut(world)?;
    if let Some(draft) = &mut targeting.draft {
        draft.is_pending = false;
    }
    let mut answer = response(targeting);
    answer["trackAccessEvents"] = targeting.track_access_events.into();
    Ok(answer)
}

/// `PATCH T/sketch/cancel`: drops the newest draft.
pub(super) fn cancel(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    call.json(&DECISION)?;
    let targeting = path.find_mut(world)?;
    let Some(draft) = &mut targeting.draft else {
        return Ok(Value::Null);
    };
    draft.is_pending = false;
    targeting.release_status = "RELEASE";
    touch(targeting, call);
    Ok(response(targeting))
}

/// `GET T/diff`: the newest draft and the live values.
pub(super) fn difference(world: &World, path: TargetingPath) -> ApiAnswer {
    let targeting = path.find(world);
    let Some((targeting, draft)) = targeting.and_then(|one| Some((one, one.draft.as_ref()?))) else {
        return Ok(json!({}));
    };
    Ok(json!({
        "currentDisabled": draft.disabled,
        "currentContent": draft.content,
        "oldDisabled": targeting.disabled,
        "oldContent": targeting.content,
    }))
}

fn described(targeting: &StoredTargeting, call: &Call, path: TargetingPath) -> ApiAnswer {
    let draft = targeting.draft.as_ref().ok_or(ApiRefusal::INTERNAL)?;
    let record = &draft.record;
    Ok(present(json!({
        "title": draft.title,
        "projectKey": path.project,
        "environmentKey": path.environment,
        "toggleKey": targeting.key,
        "status": record.status,
        "submitBy": record.submitted_by,
        "approvalDate": dates::written(call.at),
        "comment": record.comment,
        "currentData": {
            "disabled": targeting.disabled,
            "content": CONTENT.write(&targeting.content),
        },
        "approvalData": {
            "disabled": draft.disabled,
            "content": CONTENT.write(&draft.content),
        },
    })))
}
