//! Toggles and their targetings: lists, publishes, history, and drafts that wait for approval.

use serde_json::{Value, json};

use super::content::{
    CONTENT, LONGEST_COMMENT, VARIATIONS, check_columns, check_content, check_prerequisites, initial, merged,
};
use super::exchange::{ApiAnswer, ApiRefusal, Call, PageRequest, Shape, kept, name_and_key, timestamp};
use super::store::{
    StoredDraft, StoredEnvironment, StoredProject, StoredTargeting, StoredToggle, StoredVersion, World,
    newest_first, present,
};

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
pub(super) fn list_toggles(world: &World, call: &Call, project: &str) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let found = world.projects.get(project);
    let mut toggles: Vec<_> = found.into_iter().flat_map(|project| project.toggles.iter()).collect();
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
        "modifiedTime": timestamp(toggle.modified),
        "modifiedBy": toggle.modified_by,
        "locked": false,
    })
}

fn live_item(toggle: &StoredToggle, environment: &StoredEnvironment) -> ApiAnswer {
    // The service does not expect that there is none.
    let targeting = environment.targetings.get(&toggle.key).ok_or(ApiRefusal::INTERNAL)?;
    let mut item = item(toggle);
    item["disabled"] = targeting.disabled.into();
    item["releaseStatus"] = targeting.release_status.into();
    if let Some(draft) = &targeting.draft {
        item["locked"] = true.into();
        item["lockedBy"] = json!(draft.submitted_by);
        item["lockedTime"] = timestamp(draft.submitted).into();
    }
    Ok(present(item))
}

/// `GET /projects/{p}/toggles/{t}`, also for an archived one.
pub(super) fn read_toggle(world: &World, project: &str, key: &str) -> ApiAnswer {
    let project = world.projects.get(project);
    let toggle = project.and_then(|project| project.toggles.get(key));
    toggle.map(written_toggle).ok_or_else(|| ApiRefusal::not_found("Toggle", key))
}

/// `POST /projects/{p}/toggles`.
pub(super) fn create_toggle(world: &mut World, call: &Call, project: &str) -> ApiAnswer {
    let request = call.json(&TOGGLE)?;
    let (name, key) = name_and_key(&request)?;
    let needed = ["returnType", "clientAvailability", "disabledServe"];
    let has_variations = request["variations"].as_array().is_some_and(|list| !list.is_empty());
    if !has_variations || needed.iter().any(|name| request[*name].is_null()) {
        return Err(ApiRefusal::UNREADABLE);
    }
    if request["tags"].is_null() {
        return Err(ApiRefusal::InvalidText("Parameter value must not be null".to_owned()));
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
        modified: kept(call.at),
        modified_by: call.account.clone(),
    };
    create_everywhere(project, &toggle, call);
    Ok(written_toggle(project.toggles.add(key, toggle)))
}

/// `PATCH /projects/{p}/toggles/{t}/offline` and `/restore`.
pub(super) fn archive_toggle(
    world: &mut World,
    call: &Call,
    project: &str,
    key: &str,
    archived: bool,
) -> ApiAnswer {
    let project: &mut StoredProject = world.project_mut(project)?;
    let toggle = project.toggles.get_mut(key).filter(|toggle| toggle.archived != archived);
    let toggle = toggle.ok_or_else(|| ApiRefusal::not_found("Toggle", key))?;
    toggle.archived = archived;
    toggle.modified = kept(call.at);
    toggle.modified_by.clone_from(&call.account);
    let answer = written_toggle(toggle);
    project.raise_all();
    Ok(answer)
}

fn written_toggle(toggle: &StoredToggle) -> Value {
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
        "createdTime": timestamp(kept(toggle.created)),
        "modifiedTime": timestamp(toggle.modified),
        "modifiedBy": toggle.modified_by,
    }))
}

const PUBLISH: Shape = Shape::Object(&[
    ("content", CONTENT),
    ("disabled", Shape::Bool),
    ("comment", Shape::Text),
    ("baseVersion", Shape::Long),
]);

#[derive(Clone, Copy)]
pub(super) struct TargetingPath<'a> {
    pub(super) project: &'a str,
    pub(super) environment: &'a str,
    pub(super) toggle: &'a str,
}

impl TargetingPath<'_> {
    pub(super) fn not_found(self) -> ApiRefusal {
        let Self { project, environment, toggle } = self;
        ApiRefusal::not_found("Targeting", format!("{project}-{environment}-{toggle}"))
    }

    /// Returns the targeting, even of an archived environment.
    pub(super) fn find(self, world: &World) -> Option<&StoredTargeting> {
        let project = world.projects.get(self.project)?;
        project.environments.get(self.environment)?.targetings.get(self.toggle)
    }

    fn find_mut(self, world: &mut World) -> Result<&mut StoredTargeting, ApiRefusal> {
        let project = world.projects.get_mut(self.project);
        project
            .and_then(|project| project.environments.get_mut(self.environment))
            .and_then(|environment| environment.targetings.get_mut(self.toggle))
            .ok_or_else(|| self.not_found())
    }
}

/// `PATCH T`: publishes at once, whether or not there are approvals and drafts.
pub(super) fn publish(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let request = call.json(&PUBLISH)?;
    let prerequisites = request["content"]["prerequisites"].as_array();
    if let Some(prerequisites) = prerequisites.filter(|sent| !sent.is_empty()) {
        let environment = world.environment(path.project, path.environment).ok();
        let stored = environment.map(|environment| &environment.targetings);
        check_prerequisites(path.toggle, prerequisites, stored)?;
    }
    world.environment(path.project, path.environment)?;
    let at = call.at;
    let is_update = !request["content"].is_null() || !request["disabled"].is_null();
    if is_update {
        store(world, call, path, &request)?;
    }
    let targeting = path.find(world).ok_or_else(|| path.not_found())?;
    let mut answer = response(targeting);
    if is_update {
        // Only the database rounds to seconds.
        answer["modifiedTime"] = timestamp(at).into();
        answer["publishTime"] = timestamp(at).into();
    }
    answer["trackAccessEvents"] = false.into();
    if !std::mem::take(&mut world.loses_increment) {
        world.environment_mut(path.project, path.environment)?.raise();
    }
    Ok(answer)
}

/// Checks and stores the next version. An error changes nothing.
fn store(world: &mut World, call: &Call, path: TargetingPath, request: &Value) -> Result<(), ApiRefusal> {
    let stored = path.find(world).ok_or_else(|| path.not_found())?;
    let content = merged(&stored.content, request.get("content"));
    let base = request["baseVersion"].as_i64();
    if base.is_some_and(|base| u64::try_from(base) != Ok(stored.version)) {
        return Err(ApiRefusal::Invalid("validate.conflict_request"));
    }
    check_content(&content, &world.project(path.project)?.segments)?;
    let comment = request["comment"].as_str().unwrap_or_default();
    check_columns(&content, comment)?;
    let targeting = path.find_mut(world)?;
    targeting.content = content;
    targeting.disabled = request["disabled"].as_bool().unwrap_or(targeting.disabled);
    targeting.version += 1;
    targeting.release_status = "RELEASE";
    targeting.published = kept(call.at);
    touch(targeting, call);
    targeting.record(comment);
    Ok(())
}

/// Records who changed the targeting last.
pub(super) fn touch(targeting: &mut StoredTargeting, call: &Call) {
    targeting.modified = kept(call.at);
    targeting.modified_by.clone_from(&call.account);
}

/// The members that every response with a targeting has.
fn response(targeting: &StoredTargeting) -> Value {
    json!({
        "status": targeting.release_status,
        "enableApproval": false,
        "locked": false,
        "disabled": targeting.disabled,
        "content": targeting.content,
        "version": targeting.version,
        "modifiedTime": timestamp(targeting.modified),
        "modifiedBy": targeting.modified_by,
        "publishTime": timestamp(targeting.published),
    })
}

/// `GET T`: live values, or those of a pending draft.
pub(super) fn read_targeting(world: &World, path: TargetingPath) -> ApiAnswer {
    let environment = world.environment(path.project, path.environment)?;
    // The service does not expect that there is none.
    let targeting = environment.targetings.get(path.toggle).ok_or(ApiRefusal::INTERNAL)?;
    let mut answer = response(targeting);
    answer["status"] = "RELEASE".into();
    answer["enableApproval"] = environment.approval.into();
    answer["trackAccessEvents"] = false.into();
    answer["allowEnableTrackAccessEvents"] = false.into();
    match &targeting.draft {
        Some(draft) => {
            answer["content"] = draft.content.clone();
            answer["disabled"] = draft.disabled.into();
            answer["version"] = (draft.base + 1).into();
            answer["status"] = "PENDING".into();
            answer["reviewers"] = json!(draft.reviewers);
            answer["submitBy"] = json!(draft.submitted_by);
            answer["approvalBy"] = "".into();
            answer["locked"] = true.into();
            answer["lockedTime"] = timestamp(draft.submitted).into();
        }
        None if environment.approval => answer["reviewers"] = json!(environment.reviewers),
        None => {}
    }
    if answer["content"]["prerequisites"].is_null() {
        answer["content"]["prerequisites"] = json!([]);
    }
    Ok(present(answer))
}

/// Adds the first version of a new toggle to every environment that is not archived.
fn create_everywhere(project: &mut StoredProject, toggle: &StoredToggle, call: &Call) {
    for environment in project.environments.iter_mut().filter(|one| !one.archived) {
        let content = initial(&toggle.variations, &toggle.disabled_serve);
        create_targeting(environment, &toggle.key, content, call);
        environment.raise();
    }
}

/// Adds the first version of a toggle to an environment.
pub(super) fn create_targeting(
    environment: &mut StoredEnvironment,
    toggle: &str,
    content: Value,
    call: &Call,
) {
    let targeting = environment.targetings.add(
        toggle,
        StoredTargeting {
            key: toggle.to_owned(),
            disabled: true,
            content,
            version: 1,
            release_status: "RELEASE",
            published: kept(call.at),
            modified: kept(call.at),
            modified_by: call.account.clone(),
            versions: Vec::new(),
            draft: None,
        },
    );
    targeting.record("");
}

/// `GET T/versions`: pages in an order that is arbitrary within a second.
pub(super) fn page_of_versions(world: &World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let page = PageRequest::of(call)?;
    let targeting = path.find(world);
    let versions = targeting.into_iter().flat_map(|targeting| &targeting.versions);
    let mut versions: Vec<_> = versions.collect();
    newest_first(&mut versions, |version| version.created);
    page.of_list(&versions, |version| Ok(written_version(version, path, targeting)))
}

/// `GET T/versions/{n}`: this version and all after it, newest first.
pub(super) fn versions_from(world: &World, path: TargetingPath, version: &str) -> ApiAnswer {
    let from: i64 =
        version.parse().map_err(|_| ApiRefusal::InvalidText(format!("For input string: \"{version}\"")))?;
    let targeting = path.find(world);
    let all: &[StoredVersion] = targeting.map_or(&[], |targeting| &targeting.versions);
    let wanted = all.iter().rev().filter(|one| i64::try_from(one.version).is_ok_and(|one| one >= from));
    Ok(json!({
        "total": all.len(),
        "versions": wanted.map(|one| written_version(one, path, targeting)).collect::<Vec<_>>(),
    }))
}

fn written_version(
    version: &StoredVersion,
    path: TargetingPath,
    targeting: Option<&StoredTargeting>,
) -> Value {
    json!({
        "projectKey": path.project,
        "environmentKey": path.environment,
        "toggleKey": targeting.map_or(path.toggle, |targeting| &targeting.key),
        "comment": version.comment,
        "content": version.content,
        "disabled": version.disabled,
        "version": version.version,
        "createdTime": timestamp(version.created),
        "createdBy": version.created_by,
    })
}

const PROPOSAL: Shape =
    Shape::Object(&[("content", CONTENT), ("disabled", Shape::Bool), ("comment", Shape::Text)]);

/// `POST T/approval`: proposes content, which is not merged with what is stored.
pub(super) fn submit(world: &mut World, call: &Call, path: TargetingPath) -> ApiAnswer {
    let request = call.json(&PROPOSAL)?;
    let content = &request["content"];
    if let Some(project) = world.projects.get(path.project) {
        check_content(content, &project.segments)?;
    }
    let environment = world.environment(path.project, path.environment)?;
    if let Some(sent) = content["prerequisites"].as_array().filter(|sent| !sent.is_empty()) {
        check_prerequisites(path.toggle, sent, Some(&environment.targetings))?;
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
    if title.chars().count() > LONGEST_COMMENT {
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
        "approvalDate": timestamp(call.at),
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
        submitted: kept(call.at),
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
