//! Drafts that wait for approval.

use serde_json::json;

use super::call::Call;
use super::content::CONTENT;
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{StoredDraft, World};
use super::targeting::{TargetingPath, touch};
use super::validation;

const PROPOSAL: Shape = Shape::Object(&[
    ("content", CONTENT),
    ("disabled", Shape::Bool),
    ("comment", Shape::Text),
]);

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
    let answer = json!({
        "title": title,
        "projectKey": path.project,
        "environmentKey": path.environment,
        "toggleKey": targeting.key,
        "status": "PENDING",
        "submitBy": call.account,
        "approvalDate": dates::written(call.at),
        "currentData": {
            "disabled": targeting.disabled,
            "content": CONTENT.write(&targeting.content),
        },
        "approvalData": {
            "disabled": disabled,
            "content": CONTENT.write(content),
        },
    });
    targeting.draft = Some(StoredDraft {
        base: targeting.version,
        disabled,
        content: content.clone(),
        reviewers,
        submitted_by: call.account.clone(),
        submitted: dates::kept(call.at),
    });
    Ok(answer)
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
