//! The content of a targeting: its shape, the content of a new toggle, how a publish changes it, and what is
//! refused.

use serde_json::{Value, json};

use super::exchange::{ApiRefusal, Shape};
use super::store::{Keyed, StoredSegment, StoredTargeting};
use crate::model::{is_accepted_time, is_semver};

const SERVE: Shape = Shape::Object(&[("select", Shape::Integer), ("split", Shape::List(&Shape::Integer))]);

const CONDITION: Shape = Shape::Object(&[
    ("type", Shape::Text),
    ("subject", Shape::Text),
    ("predicate", Shape::Text),
    ("leftPredicate", Shape::Text),
    ("objects", Shape::List(&Shape::Text)),
    ("rightPredicate", Shape::Text),
    ("rightObjects", Shape::List(&Shape::Text)),
]);

const RULE: Shape =
    Shape::Object(&[("conditions", Shape::List(&CONDITION)), ("name", Shape::Text), ("serve", SERVE)]);

const VARIATION: Shape =
    Shape::Object(&[("value", Shape::Text), ("name", Shape::Text), ("description", Shape::Text)]);

const PREREQUISITE: Shape =
    Shape::Object(&[("key", Shape::Text), ("value", Shape::Text), ("type", Shape::Text)]);

pub(super) const VARIATIONS: Shape = Shape::List(&VARIATION);

pub(super) const CONTENT: Shape = Shape::Object(&[
    ("rules", Shape::List(&RULE)),
    ("disabledServe", SERVE),
    ("defaultServe", SERVE),
    ("variations", VARIATIONS),
    ("prerequisites", Shape::List(&PREREQUISITE)),
]);

pub(super) const SEGMENT_RULES: Shape =
    Shape::List(&Shape::Object(&[("conditions", Shape::List(&CONDITION)), ("name", Shape::Text)]));

/// Returns the content of a new toggle.
pub(super) fn initial(variations: &Value, disabled_serve: &Value) -> Value {
    json!({
        "rules": [],
        "disabledServe": { "select": disabled_serve },
        "defaultServe": {},
        "variations": variations,
        "prerequisites": [],
    })
}

/// Returns `stored` with the members of `sent`. Nothing is merged inside of a member.
pub(super) fn merged(stored: &Value, sent: Option<&Value>) -> Value {
    let mut merged = stored.clone();
    if let (Value::Object(merged), Some(Value::Object(sent))) = (&mut merged, sent) {
        merged.extend(sent.iter().map(|(name, value)| (name.clone(), value.clone())));
    }
    merged
}

const LARGEST_CONTENT: usize = 1024 * 1024;
/// Limits of database columns, in characters; the value's is in bytes.
pub(super) const LONGEST_COMMENT: usize = 1024;
const LONGEST_VARIATION_NAME: usize = 128;
const LONGEST_VARIATION_VALUE: usize = 65_535;

/// How many levels of prerequisites the service follows.
const PREREQUISITE_DEPTH: usize = 20;

/// Checks content that is to be published or proposed.
pub(super) fn check_content(content: &Value, segments: &Keyed<StoredSegment>) -> Result<(), ApiRefusal> {
    if CONTENT.write(content).len() > LARGEST_CONTENT {
        return Err(ApiRefusal::Invalid("validate.targeting_content_over_limit"));
    }
    let rules = content["rules"].as_array().ok_or(ApiRefusal::INTERNAL)?;
    for rule in rules {
        if rule.is_null() {
            return Err(ApiRefusal::INTERNAL);
        }
        // A rule without conditions passes here; storing it fails.
        let conditions: &[Value] = rule["conditions"].as_array().map_or(&[], Vec::as_slice);
        for condition in conditions {
            check_condition(condition, segments)?;
        }
    }
    Ok(())
}

fn check_condition(condition: &Value, segments: &Keyed<StoredSegment>) -> Result<(), ApiRefusal> {
    type Test = fn(&str) -> bool;
    let (test, message): (Test, _) = match condition["type"].as_str() {
        _ if condition.is_null() => return Err(ApiRefusal::INTERNAL),
        Some("segment") => return check_segments(condition, segments),
        Some("number") => (is_number, "validate.number_format_error"),
        Some("datetime") => (is_accepted_time, "validate.datetime_format_error"),
        Some("semver") => (is_semver, "validate.version_format_error"),
        _ => return Ok(()),
    };
    for object in objects(condition)? {
        let text = object.as_str().ok_or(ApiRefusal::INTERNAL)?;
        if !test(text) {
            return Err(ApiRefusal::Invalid(message));
        }
    }
    Ok(())
}

fn check_segments(condition: &Value, segments: &Keyed<StoredSegment>) -> Result<(), ApiRefusal> {
    for object in objects(condition)? {
        let key = object.as_str().unwrap_or("null");
        if segments.get(key).is_none() {
            return Err(ApiRefusal::not_found("Segment", key));
        }
    }
    Ok(())
}

fn objects(condition: &Value) -> Result<&Vec<Value>, ApiRefusal> {
    condition["objects"].as_array().ok_or(ApiRefusal::INTERNAL)
}

/// Checks what the database cannot store, which surfaces as an internal error.
pub(super) fn check_columns(content: &Value, comment: &str) -> Result<(), ApiRefusal> {
    let rules = content["rules"].as_array().ok_or(ApiRefusal::INTERNAL)?;
    let variations = content["variations"].as_array().ok_or(ApiRefusal::INTERNAL)?;
    let text = |variation: &Value, name: &str| variation[name].as_str().unwrap_or_default().to_owned();
    let is_storable = rules.iter().all(|rule| rule["conditions"].is_array())
        && comment.chars().count() <= LONGEST_COMMENT
        && variations.iter().all(|variation| {
            variation.is_object()
                && text(variation, "name").chars().count() <= LONGEST_VARIATION_NAME
                && text(variation, "value").len() <= LONGEST_VARIATION_VALUE
        });
    is_storable.then_some(()).ok_or(ApiRefusal::INTERNAL)
}

/// Checks the prerequisites that are sent for `root` against those that are stored.
pub(super) fn check_prerequisites(
    root: &str,
    sent: &[Value],
    targetings: Option<&Keyed<StoredTargeting>>,
) -> Result<(), ApiRefusal> {
    let key = |one: &Value| one["key"].as_str().map(ToOwned::to_owned);
    let mut level: Vec<Option<String>> = sent.iter().map(key).collect();
    let mut depth = PREREQUISITE_DEPTH;
    while !level.is_empty() {
        if level.iter().flatten().any(|key| key == root) {
            return Err(ApiRefusal::Invalid("validate.prerequisite.dependency.cycle"));
        }
        let parents = level.iter().flatten().filter_map(|key| targetings?.get(key));
        level = parents
            .flat_map(|parent| parent.content["prerequisites"].as_array().into_iter().flatten())
            .map(key)
            .collect();
        level.sort_unstable();
        level.dedup();
        depth -= 1;
        if depth == 0 {
            return Err(ApiRefusal::Invalid("validate.prerequisite.deep.limit"));
        }
    }
    // Both are columns that are never null.
    let is_storable = sent.iter().all(|one| one["key"].is_string() && one["value"].is_string());
    is_storable.then_some(()).ok_or(ApiRefusal::INTERNAL)
}

/// Whether Java parses the text as a double, which allows more than SDKs do.
fn is_number(text: &str) -> bool {
    let text = text.trim_matches(|character| character <= ' ');
    let text = text.strip_prefix(['+', '-']).unwrap_or(text);
    if text == "NaN" || text == "Infinity" {
        return true;
    }
    let lower = text.to_ascii_lowercase();
    let text = lower.strip_suffix(['d', 'f']).unwrap_or(&lower);
    match lower.strip_prefix("0x") {
        Some(hex) => {
            hex.strip_suffix(['d', 'f']).unwrap_or(hex).split_once('p').is_some_and(|(mantissa, exponent)| {
                is_mantissa(mantissa, char::is_ascii_hexdigit) && is_exponent(exponent)
            })
        }
        None => match text.split_once('e') {
            Some((mantissa, exponent)) => {
                is_mantissa(mantissa, char::is_ascii_digit) && is_exponent(exponent)
            }
            None => is_mantissa(text, char::is_ascii_digit),
        },
    }
}

fn is_mantissa(text: &str, is_digit: fn(&char) -> bool) -> bool {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let mut digits = whole.chars().chain(fraction.chars()).peekable();
    digits.peek().is_some() && digits.all(|character| is_digit(&character))
}

fn is_exponent(text: &str) -> bool {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_what_java_parses() {
        for text in
            ["1", "-1.5", " 2 ", ".5", "5.", "1e3", "1E-3", "1d", "2.5F", "NaN", "-Infinity", "0x1.8p3"]
        {
            assert!(is_number(text), "{text}");
        }
        for text in ["", "many", "1,5", "e3", ".", "1e", "0x1", "1 2", "nan", "--1"] {
            assert!(!is_number(text), "{text}");
        }
    }

    #[test]
    fn datetimes_have_whole_seconds_and_a_positive_offset() {
        for text in ["2026-11-21T23:25:57+00:00", "2026-19-39T29:69:69+29:19"] {
            assert!(is_accepted_time(text), "{text}");
        }
        for text in [
            "2026-11-21T23:25:57Z",
            "2026-11-21T23:25:57-01:00",
            "2026-11-21T23:25:57+05:30",
            "2026-11-21T23:25:57.5+00:00",
            "2026-11-21 23:25:57+00:00",
        ] {
            assert!(!is_accepted_time(text), "{text}");
        }
    }
}
