//! A slow evaluator, written from the text of src/service/featureprobe.md, "Evaluation", without the code
//! that it checks.
//!
//! It is two-valued: an oracle decides what the repository does not define.

use sha1::{Digest, Sha1};

use super::{Served, Toggles, User};
use crate::model::{Condition, Prerequisite, ReturnType, Serve, Targeting};

/// Decides on the conditions that are not documented.
pub(super) type Oracle<'a> = &'a dyn Fn(&Condition) -> bool;

/// The error that ends an evaluation with the disabled serve of the outermost toggle.
struct End;

pub(super) fn evaluate(toggles: &Toggles, key: &str, user: &User, oracle: Oracle<'_>) -> Served {
    let Some(outermost) = toggles.get(key).filter(|toggle| is_delivered(toggle)) else {
        return Served::CallerDefault;
    };
    match value_of(toggles, key, user, oracle, 20) {
        Ok(served) => served,
        Err(End) => serve(&outermost.content.disabled_serve, outermost, key, user),
    }
}

fn is_delivered(toggle: &Targeting) -> bool {
    let content = &toggle.content;
    let mut needed: Vec<&Serve> = content.rules.iter().map(|rule| &rule.serve).collect();
    needed.push(&content.disabled_serve);
    if !toggle.disabled {
        needed.push(&content.default_serve);
    }
    !needed.contains(&&Serve::Nothing)
}

fn value_of(
    toggles: &Toggles,
    key: &str,
    user: &User,
    oracle: Oracle<'_>,
    depth: usize,
) -> Result<Served, End> {
    let toggle = toggles.get(key).filter(|toggle| is_delivered(toggle)).ok_or(End)?;
    let content = &toggle.content;
    if toggle.disabled {
        return Ok(serve(&content.disabled_serve, toggle, key, user));
    }
    if depth == 0 {
        return Err(End);
    }
    for prerequisite in content.prerequisites.iter().flatten() {
        let served = value_of(toggles, &prerequisite.key, user, oracle, depth - 1)?;
        let is_met = match served {
            Served::CallerDefault => false,
            Served::Variation(index) => {
                let variations = &toggles[&prerequisite.key].content.variations;
                // SDKs compare types as well.
                let is_boolean = variations.iter().all(|one| matches!(one.value.as_str(), "true" | "false"));
                !(is_boolean && prerequisite.kind == ReturnType::String)
                    && typed(prerequisite.kind, &variations[index as usize].value) == expected(prerequisite)
            }
        };
        if !is_met {
            return Ok(serve(&content.disabled_serve, toggle, key, user));
        }
    }
    let rule = content
        .rules
        .iter()
        .find(|rule| rule.conditions.iter().all(|condition| matches(condition, user, oracle)));
    Ok(serve(rule.map_or(&content.default_serve, |rule| &rule.serve), toggle, key, user))
}

fn expected(prerequisite: &Prerequisite) -> serde_json::Value {
    typed(prerequisite.kind, &prerequisite.value)
}

fn typed(kind: ReturnType, value: &str) -> serde_json::Value {
    match kind {
        ReturnType::Boolean => value.to_lowercase().eq("true").into(),
        ReturnType::String => value.into(),
        ReturnType::Number | ReturnType::Json => serde_json::from_str(value).unwrap(),
    }
}

fn serve(serve: &Serve, toggle: &Targeting, key: &str, user: &User) -> Served {
    let index = match serve {
        Serve::Nothing => None,
        Serve::Select(index) => Some(*index as usize),
        Serve::Split(weights) => {
            let text = format!("{}{key}", user.key.as_deref().unwrap());
            let digits = crate::model::hex(&Sha1::digest(text));
            let bucket = u32::from_str_radix(&digits[32..], 16).unwrap() % 10_000;
            let mut ranges = Vec::new();
            let mut start = 0;
            for weight in weights {
                ranges.push(start..start + weight);
                start += weight;
            }
            ranges.iter().position(|range| range.contains(&bucket))
        }
    };
    match index {
        Some(index) if index < toggle.content.variations.len() => {
            Served::Variation(u32::try_from(index).unwrap())
        }
        _ => Served::CallerDefault,
    }
}

fn matches(condition: &Condition, user: &User, oracle: Oracle<'_>) -> bool {
    if let Some(between) = condition.between.as_ref().filter(|_| condition.predicate == "between") {
        let side = |predicate: &String, objects: &Vec<String>| Condition {
            predicate: predicate.clone(),
            objects: objects.clone(),
            between: None,
            ..condition.clone()
        };
        return matches(&side(&between.left_predicate, &condition.objects), user, oracle)
            && matches(&side(&between.right_predicate, &between.right_objects), user, oracle);
    }
    let value = user.attributes.get(&condition.subject);
    let (kind, predicate) = (condition.kind.as_str(), condition.predicate.as_str());
    let any = |test: &dyn Fn(&str, &str) -> bool| {
        value.is_some_and(|value| condition.objects.iter().any(|object| test(value, object)))
    };
    let none = |test: &dyn Fn(&str, &str) -> bool| value.is_some() && !any(test);
    let regex =
        |value: &str, object: &str| regex::Regex::new(object).is_ok_and(|regex| regex.is_match(value));
    match (kind, predicate) {
        ("string", "is one of") => any(&|value, object| value == object),
        ("string", "is not any of") => none(&|value, object| value == object),
        ("string", "starts with") => any(&|value, object| value.starts_with(object)),
        ("string", "does not start with") => none(&|value, object| value.starts_with(object)),
        ("string", "ends with") => any(&|value, object| value.ends_with(object)),
        ("string", "does not end with") => none(&|value, object| value.ends_with(object)),
        ("string", "contains") => any(&|value, object| value.contains(object)),
        ("string", "does not contain") => none(&|value, object| value.contains(object)),
        ("string", "matches regex") => any(&regex),
        ("string", "does not match regex") => none(&regex),
        ("number", "=" | "!=" | ">" | ">=" | "<" | "<=") => {
            compared::<f64>(predicate, value, &condition.objects)
        }
        ("semver", "=" | "!=" | ">" | ">=" | "<" | "<=") => {
            compared::<semver::Version>(predicate, value, &condition.objects)
        }
        ("datetime", "after" | "before") => time(condition, user, predicate),
        _ => oracle(condition),
    }
}

fn compared<T: std::str::FromStr + PartialOrd>(
    predicate: &str,
    value: Option<&String>,
    objects: &[String],
) -> bool {
    let Some(value) = value.and_then(|value| value.parse::<T>().ok()) else {
        return false;
    };
    let any = |test: fn(&T, &T) -> bool| {
        objects.iter().flat_map(|object| object.parse()).any(|object| test(&value, &object))
    };
    match predicate {
        "=" => any(|a, b| a == b),
        "!=" => !any(|a, b| a == b),
        ">" => any(|a, b| a > b),
        ">=" => any(|a, b| a >= b),
        "<" => any(|a, b| a < b),
        _ => any(|a, b| a <= b),
    }
}

fn time(condition: &Condition, user: &User, predicate: &str) -> bool {
    let value = match user.attributes.get(&condition.subject) {
        Some(value) => value.parse::<u128>().ok(),
        None => Some(u128::try_from(user.now.unwrap()).unwrap()),
    };
    value.is_some_and(|value| {
        condition.objects.iter().any(|object| {
            let time: jiff::Timestamp = object.parse().unwrap();
            let object = u128::try_from(time.as_second()).unwrap();
            match predicate {
                "after" => value >= object,
                _ => value < object,
            }
        })
    })
}
