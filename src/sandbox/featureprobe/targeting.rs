//! A toggle's targeting: publish and read.

use serde_json::{Value, json};

use super::call::Call;
use super::content::{CONTENT, initial, merged};
use super::dates;
use super::errors::{ApiAnswer, ApiRefusal};
use super::shape::Shape;
use super::state::{StoredEnvironment, StoredProject, StoredTargeting, StoredToggle, World, present};
use super::validation;

const PUBLISH: Shape = Shape::Object(&[
    ("content", CONTENT),
    ("disabled", Shape::Bool),
    ("comment", Shape::Text),
    ("baseVersion", Shape::Long),
]);

/// The path of a targeting.
#[derive(Clone, Copy)]
pub(super) struct TargetingPath<'a> {
    pub(super) project: &'a str,
    pub(super) environment: &'a str,
    pub(super) toggle: &'a str,
}

impl TargetingPath<'_> {
    pub(super) fn not_found(self) -> ApiRefusal {
        let Self {
            project,
            environment,
            toggle,
        } = self;
        ApiRefusal::not_found("Targeting", format!("{project}-{environment}-{toggle}"))
    }

    /// Returns the targeting, even of an archived environment.
    pub(super) fn find(self, world: &World) -> Option<&StoredTargeting> {
        let project = world.projects.get(self.project)?;
        project
            .environments
            .get(self.environment)?
            .targetings
            .get(self.toggle)
    }

    pub(super) fn find_mut(self, world: &mut World) -> Result<&mut StoredTargeting, ApiRefusal> {
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
        validation::check_prerequisites(path.toggle, prerequisites, stored)?;
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
        answer["modifiedTime"] = dates::written(at).into();
        answer["publishTime"] = dates::written(at).into();
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
    validation::check(&content, &world.project(path.project)?.segments)?;
    let comment = request["comment"].as_str().unwrap_or_default();
    validation::check_columns(&content, comment)?;
    let targeting = path.find_mut(world)?;
    targeting.content = content;
    targeting.disabled = request["disabled"].as_bool().unwrap_or(targeting.disabled);
    targeting.version += 1;
    targeting.release_status = "RELEASE";
    targeting.published = dates::kept(call.at);
    touch(targeting, call);
    targeting.record(comment);
    Ok(())
}

/// Records who changed the targeting last.
pub(super) fn touch(targeting: &mut StoredTargeting, call: &Call) {
    targeting.modified = dates::kept(call.at);
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
        "modifiedTime": dates::written(targeting.modified),
        "modifiedBy": targeting.modified_by,
        "publishTime": dates::written(targeting.published),
    })
}

/// `GET T`: live values, or those of a pending draft.
pub(super) fn read(world: &World, path: TargetingPath) -> ApiAnswer {
    let environment = world.environment(path.project, path.environment)?;
    // The service does not expect that there is none.
    let targeting = environment
        .targetings
        .get(path.toggle)
        .ok_or(ApiRefusal::INTERNAL)?;
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
            answer["lockedTime"] = dates::written(draft.submitted).into();
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
pub(super) fn create_everywhere(project: &mut StoredProject, toggle: &StoredToggle, call: &Call) {
    for environment in project.environments.iter_mut().filter(|one| !one.archived) {
        let content = initial(&toggle.variations, &toggle.disabled_serve);
        create(environment, &toggle.key, content, call);
        environment.raise();
    }
}

/// Adds the first version of a toggle to an environment.
pub(super) fn create(environment: &mut StoredEnvironment, toggle: &str, content: Value, call: &Call) {
    let targeting = environment.targetings.add(
        toggle,
        StoredTargeting {
            key: toggle.to_owned(),
            disabled: true,
            content,
            version: 1,
            release_status: "RELEASE",
            published: dates::kept(call.at),
            modified: dates::kept(call.at),
            modified_by: call.account.clone(),
            versions: Vec::new(),
            draft: None,
        },
    );
    targeting.record("");
}
