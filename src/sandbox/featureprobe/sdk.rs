//! What SDKs download: the toggles and segments of an environment, in their own form.

use axum::http::StatusCode;
use serde_json::{Map, Value, json};

use super::exchange::Call;
use super::exchange::{ApiAnswer, ApiRefusal};
use super::store::{StoredEnvironment, StoredProject, StoredTargeting, StoredToggle, World, present};
use crate::model::{CONDITION_TYPES, ConditionType, Predicate, delivered_time, delivered_value};

/// `GET /internal/server/toggles`, for which the authorization is an SDK key.
pub(super) fn toggles(world: &World, call: &Call) -> ApiAnswer {
    let known: Option<i64> = call.typed("version")?;
    let key = call.authorization.as_str();
    let (project, environment) = find(world, key).ok_or(ApiRefusal::Empty(StatusCode::NOT_FOUND))?;
    let version = environment.version;
    if known.is_some_and(|known| u64::try_from(known).is_ok_and(|known| known >= version)) {
        return Err(ApiRefusal::Empty(StatusCode::NOT_ACCEPTABLE));
    }
    Ok(payload(project, environment))
}

fn find<'a>(world: &'a World, key: &str) -> Option<(&'a StoredProject, &'a StoredEnvironment)> {
    world.projects.iter().find_map(|project| {
        let mut environments = project.environments.iter();
        let found = environments.find(|one| !one.archived && one.server_key == key)?;
        Some((project, found))
    })
}

/// Returns what SDKs get. Archived toggles are left out, and so are those that cannot be converted.
fn payload(project: &StoredProject, environment: &StoredEnvironment) -> Value {
    let live = project.toggles.iter().filter(|toggle| !toggle.archived);
    let toggles: Map<String, Value> = live
        .filter_map(|toggle| {
            let targeting = environment.targetings.get(&toggle.key)?;
            Some((toggle.key.clone(), converted(project, toggle, targeting)?))
        })
        .collect();
    let segments: Map<String, Value> = project
        .segments
        .iter()
        .filter_map(|segment| {
            let id = unique_id(project, &segment.key);
            let rules = segment_rules(&segment.rules, project)?;
            let segment = json!({ "uniqueId": id, "version": segment.version, "rules": rules });
            Some((id, segment))
        })
        .collect();
    json!({
        "version": environment.version,
        "debugUntilTime": 0,
        "toggles": toggles,
        "segments": segments,
        "events": {},
    })
}

fn unique_id(project: &StoredProject, segment: &str) -> String {
    format!("{}${segment}", project.key)
}

fn converted(project: &StoredProject, toggle: &StoredToggle, targeting: &StoredTargeting) -> Option<Value> {
    let content = &targeting.content;
    let disabled_serve = content.get("disabledServe").map(serve)?;
    let default_serve = match content.get("defaultServe").map_or(Value::Null, serve) {
        Value::Null if targeting.disabled => disabled_serve.clone(),
        Value::Null => return None,
        serve => serve,
    };
    let variations = content["variations"].as_array()?.iter();
    let variations: Vec<Value> = variations
        .map(|variation| typed(&toggle.return_type.to_lowercase(), variation["value"].as_str()))
        .collect::<Option<_>>()?;
    let prerequisites = content["prerequisites"].as_array().into_iter().flatten();
    let prerequisites: Vec<Value> = prerequisites
        .map(|one| {
            let value = typed(one["type"].as_str()?, one["value"].as_str())?;
            Some(present(json!({ "key": one["key"], "value": value })))
        })
        .collect::<Option<_>>()?;
    Some(present(json!({
        "key": toggle.key,
        "enabled": !targeting.disabled,
        "trackAccessEvents": false,
        "lastModified": targeting.published.as_millisecond(),
        "version": targeting.version,
        "disabledServe": disabled_serve,
        "defaultServe": default_serve,
        "rules": toggle_rules(&content["rules"], project)?,
        "variations": variations,
        "prerequisites": prerequisites,
        "forClient": toggle.client_availability,
    })))
}

/// Returns a serve as ranges of the hash, or null if it serves nothing.
fn serve(serve: &Value) -> Value {
    let Some(split) = serve["split"].as_array().filter(|split| !split.is_empty()) else {
        return match &serve["select"] {
            Value::Null => Value::Null,
            select => json!({ "select": select }),
        };
    };
    let mut end = 0;
    let ranges: Vec<Value> = split
        .iter()
        .map(|weight| {
            let start = end;
            end += weight.as_i64().unwrap_or_default();
            json!([[start, end]])
        })
        .collect();
    json!({ "split": { "distribution": ranges } })
}

/// Returns the value that SDKs get for a text, or nothing if the text does not have the type.
fn typed(kind: &str, text: Option<&str>) -> Option<Value> {
    match kind {
        // A missing text is null, and false.
        "string" if text.is_none() => Some(Value::Null),
        "boolean" if text.is_none() => Some(false.into()),
        kind => delivered_value(kind.parse().ok()?, text?),
    }
}

fn toggle_rules(rules: &Value, project: &StoredProject) -> Option<Vec<Value>> {
    let rules = rules.as_array().into_iter().flatten();
    rules
        .map(|rule| {
            let serve = serve(rule.get("serve")?);
            let conditions = conditions(rule, project)?;
            Some(present(json!({ "serve": serve, "conditions": conditions })))
        })
        .collect()
}

fn segment_rules(rules: &Value, project: &StoredProject) -> Option<Vec<Value>> {
    let rules = rules.as_array().into_iter().flatten();
    rules.map(|rule| Some(json!({ "conditions": conditions(rule, project)? }))).collect()
}

fn conditions(rule: &Value, project: &StoredProject) -> Option<Vec<Value>> {
    let conditions = rule["conditions"].as_array()?.iter();
    let converted = conditions.map(|condition| converted_condition(condition, project));
    Some(converted.collect::<Option<Vec<_>>>()?.concat())
}

/// Returns whether SDKs get a predicate: `between` becomes two others.
fn is_passed_on(predicate: &str) -> bool {
    let comparisons = CONDITION_TYPES.iter().filter_map(|kind| kind.comparison(predicate));
    comparisons.into_iter().any(|comparison| comparison != Predicate::Between)
}

/// Returns one condition, or the two that `between` stands for.
fn converted_condition(condition: &Value, project: &StoredProject) -> Option<Vec<Value>> {
    // The service passes on the types and predicates that it knows, in any pair; others vanish.
    let known = |value: &Value, is_known: fn(&str) -> bool| {
        let text = value.as_str().filter(|text| is_known(text));
        text.map_or(Value::Null, Value::from)
    };
    let one = |predicate: &Value, objects: Value| {
        present(json!({
            "type": known(&condition["type"], |name| ConditionType::find(name).is_some()),
            "subject": condition["subject"],
            "predicate": known(predicate, is_passed_on),
            "objects": objects,
        }))
    };
    let delivered = |objects: &Value| -> Option<Value> {
        Some(match condition["type"].as_str() {
            Some("segment") => {
                let ids = objects.as_array()?.iter().map(|key| {
                    let segment = project.segments.get(key.as_str()?)?;
                    Some(unique_id(project, &segment.key))
                });
                json!(ids.collect::<Option<Vec<_>>>()?)
            }
            Some("datetime") => {
                let seconds =
                    objects.as_array()?.iter().map(|text| Some(delivered_time(text.as_str()?)?.to_string()));
                json!(seconds.collect::<Option<Vec<_>>>()?)
            }
            _ => objects.clone(),
        })
    };
    let objects = delivered(&condition["objects"])?;
    if condition["predicate"] == "between" {
        let left = one(&condition["leftPredicate"], objects);
        let right = one(&condition["rightPredicate"], delivered(&condition["rightObjects"])?);
        return Some(vec![left, right]);
    }
    Some(vec![one(&condition["predicate"], objects)])
}
